"""The definitions that functions are held against, held against mpmath with 50 digits."""

import mpmath
import numpy as np

from rigpact.reference_runtime.operations.geometry import rotation_angle_rad, rotation_vector, to_matrix
from rigpact.reports.geometry_parity.roles import defect, exp_map, half_turns, vectors

from ..every_case import every_case

ANGLES = (0.0, 1e-12, 1e-7, 1e-4, 0.01, 0.5, 1.5, 2.9, 3.1, np.pi - 1e-6)
ROUNDING = 16 * 2.0**-53
"""A dozen float64 operations on numbers of size 1."""


def exact_exp(vector):
    """The matrix exponential of the cross-product matrix, by its series, in 50 digits."""
    with mpmath.workdps(50):
        x, y, z = (mpmath.mpf(float(value)) for value in vector)
        result = mpmath.expm(mpmath.matrix([[0, -z, y], [z, 0, -x], [-y, x, 0]]))
        return np.array(result.tolist(), dtype=float)


def drawn():
    """Vectors of every direction at each angle."""
    directions = vectors(np.random.default_rng(8), (3,))
    return [angle * each / np.linalg.norm(each) for angle in ANGLES for each in directions]


@every_case("vector", drawn(), ids=lambda vector: f"{np.linalg.norm(vector):.3g}")
def test_the_exponential_is_exact(vector):
    """A wrong reference blames a correct function."""
    assert np.abs(exp_map(vector) - exact_exp(vector)).max() <= ROUNDING


@every_case("vector", drawn(), ids=lambda vector: f"{np.linalg.norm(vector):.3g}")
def test_logarithm_and_angle_are_exact(vector):
    """The matrix is rounded to float64 before its logarithm is taken, so its rounding bounds the answer."""
    matrix = exact_exp(vector)

    assert np.abs(rotation_vector(matrix) - vector).max() <= 4 * ROUNDING
    assert abs(rotation_angle_rad(np.eye(3), matrix) - np.linalg.norm(vector)) <= 4 * ROUNDING


def test_quaternions_are_exact():
    """q = (axis · sin θ/2, cos θ/2), the scalar last."""
    assert len(drawn()) == 3 * len(ANGLES)
    for vector in drawn():
        angle = float(np.linalg.norm(vector))
        axis = vector / angle if angle else np.array([1.0, 0.0, 0.0])
        with mpmath.workdps(50):
            sine, cosine = float(mpmath.sin(mpmath.mpf(angle) / 2)), float(mpmath.cos(mpmath.mpf(angle) / 2))
        quat = np.array([*(axis * sine), cosine])

        assert np.abs(to_matrix(quat) - exact_exp(vector)).max() <= 2 * ROUNDING


def test_half_turns_are_rotations_by_half_a_turn():
    """Simple formulas divide by zero at half turns."""
    turns = half_turns()

    assert defect(turns).max() <= ROUNDING
    assert np.abs(rotation_angle_rad(np.broadcast_to(np.eye(3), turns.shape), turns) - np.pi).max() <= ROUNDING
    axes = [1, -1, -1], [-1, 1, -1], [-1, -1, 1]
    diagonals = (
        [[0, 1, 0], [1, 0, 0], [0, 0, -1]],
        [[-1 / 3, -2 / 3, 2 / 3], [-2 / 3, -1 / 3, -2 / 3], [2 / 3, -2 / 3, -1 / 3]],
    )
    np.testing.assert_allclose(turns, [*map(np.diag, axes), *diagonals], rtol=0, atol=2 * ROUNDING)


def test_what_is_no_rotation_is_told():
    """A mirror, a stretch and a NaN must not count as a rotation."""
    mirror, stretch, nan = np.diag([1.0, 1.0, -1.0]), 1.01 * np.eye(3), np.full((3, 3), np.nan)

    assert defect(np.stack([np.eye(3), mirror, stretch, nan])).tolist()[0] == 0.0
    assert (defect(np.stack([mirror, stretch, nan])) > 0.02).all()
