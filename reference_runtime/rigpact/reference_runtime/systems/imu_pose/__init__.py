"""Pose from one inertial sensor: the stages before and after the network, and the window of samples."""
