"""Formulas that operations and systems share, each written once: numpy, any leading axes, no contract.

To add a formula: a function or a row here; then both sides import it. `parity_tests/repository/test_layout.py` finds a
formula that is written a second time.
"""
