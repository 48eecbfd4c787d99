"""Rigs: what a network for inverse kinematics is told, the limits of its joints, the bones that it moves."""
