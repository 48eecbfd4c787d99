"""Recordings of real programs with mistakes in them, and what `rigpact explain` answers; see `__main__`."""
