"""The rules' own rotation arithmetic against Rodrigues' formula, element by element."""

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigpact.contract.skeleton import identity_rot6d, matrix_to_rot6d, rot6d_defect, rot6d_to_matrix, rotation_angle_rad

COLUMNS = ["".join(pair) for pair in permutations("xyz", 2)]
UNIT = st.integers(-100, 100).map(lambda value: (value or 50) / 100)


@given(axis=st.tuples(UNIT, UNIT, UNIT), angle=st.floats(0, math.pi), columns=st.sampled_from(COLUMNS))
def test_a_rotation_keeps_its_angle_and_decodes_to_itself(axis, angle, columns):
    """A mean pose decoded with the wrong third axis mirrors the character; 'mean pose, not a step' rests on the angle."""
    x, y, z = (value / math.hypot(*axis) for value in axis)
    c, s, t = math.cos(angle), math.sin(angle), 1 - math.cos(angle)
    matrix = np.array([
        [t * x * x + c, t * x * y - s * z, t * x * z + s * y],
        [t * x * y + s * z, t * y * y + c, t * y * z - s * x],
        [t * x * z - s * y, t * y * z + s * x, t * z * z + c],
    ])  # fmt: skip
    encoded = matrix_to_rot6d(matrix, columns)
    # eight float64 operations a component, condition 1
    np.testing.assert_allclose(rot6d_to_matrix(encoded, columns), matrix, atol=16 * 2.0**-53)
    assert rot6d_defect(encoded) <= 16 * 2.0**-53
    assert rotation_angle_rad(matrix) == pytest.approx(angle, abs=1e-15 + 64 * 2.0**-53)
    assert rotation_angle_rad(rot6d_to_matrix(identity_rot6d(columns), columns)) == 0


@pytest.mark.parametrize("values", [[0.0] * 6, [1, 0, 0, 1, 0, 0], [0, 0, 1, 0, 0, 0]])
def test_numbers_without_a_rotation_are_seen_as_such(values):
    """Broken poses must be judged, not crashed on."""
    array = np.array(values, dtype=float)
    assert np.isfinite(rot6d_to_matrix(array)).all()
    assert rot6d_defect(array) >= 1
