"""Comparisons of two runs, diagnoses, the gate, the renderers and the command line.

Reads findings, traces and contracts. No other folder of the package imports this one.
"""
