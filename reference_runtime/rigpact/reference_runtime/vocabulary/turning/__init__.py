"""Rotations: rotate a vector, convert between forms, compose, look from a frame."""
