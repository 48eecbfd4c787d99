"""Find where a NaN first appears: producers, precursors, guards, reduced reproductions.

To add a guard: a row in guards.GUARDS.
"""
