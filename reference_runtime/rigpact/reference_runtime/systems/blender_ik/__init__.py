"""Blender full-body IK at run time: context, scaling, network, limits, forward kinematics."""
