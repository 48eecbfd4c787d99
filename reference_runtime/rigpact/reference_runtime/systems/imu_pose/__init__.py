"""Pose from one inertial sensor: what stands before and behind the network, and the window that feeds it."""
