"""A run of the reference runtime as commands give it."""
