"""Relations: what a stage that no convention explains still is, in simple terms, of what it should be.

A convention has a name and a fix. A relation has a fit: "y_norm is the answer of frame t-1: explains 86 of 86 frames". One
module is one family of readings. To add a reading: a function that yields `Reading`s, and its name in a tuple of search.py.
"""
