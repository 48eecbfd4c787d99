"""Families of readings: each module one kind of edit, of a target or of a stage. `search.py` has their order."""
