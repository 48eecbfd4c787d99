"""Hypothesis strategies of this folder: vectors, rotations and numbers that shrink to simple values."""

from hypothesis import strategies as st

from .scalar_oracle import length, rodrigues

components = st.floats(-4.0, 4.0, allow_subnormal=False, width=32)
vectors = st.tuples(components, components, components)
axes = vectors.filter(lambda v: length(v) > 1e-2)
angles = st.floats(-3.1415926, 3.1415926, allow_subnormal=False)
rotations = st.builds(rodrigues, axes, angles)
QUARTER_TURN_Z = rodrigues((0.0, 0.0, 1.0), 1.5707963267948966)
FIVE_DEGREES_X = rodrigues((1.0, 0.0, 0.0), 0.08726646259971647)
