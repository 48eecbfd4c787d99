"""Upstream's formulas of hosted systems, transcribed, with mistakes that real ports had, and what `rigpact explain` says."""
