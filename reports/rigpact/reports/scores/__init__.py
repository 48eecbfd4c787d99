"""Figures that the documentation states: how much of what was planted is named."""
