"""How a function behaves, whatever it computes: types, axes, NaN, repetition, and where formulas divide by zero.

behaviour.py looks at ordinary inputs, degenerate.py at the singular ones.
"""
