"""Runs of the reference runtime, as the commands start them."""
