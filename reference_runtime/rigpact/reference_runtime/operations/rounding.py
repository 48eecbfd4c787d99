"""The rounding model that every bound is derived from.

Every float32 operation has a relative error of at most u = 2⁻²⁴ (IEEE 754, round to nearest; Higham, Accuracy and Stability of
Numerical Algorithms, ch. 3), k of them in a row gamma(k) = k·u / (1 - k·u); a library tanh, sqrt, sin or atan2 counts as 4.
"""

UNIT_ROUNDOFF = 2.0**-24


def gamma(operations: float) -> float:
    """Relative error bound of a chain of float32 operations."""
    return operations * UNIT_ROUNDOFF / (1.0 - operations * UNIT_ROUNDOFF)
