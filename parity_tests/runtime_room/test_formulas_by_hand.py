"""Formulas on one number at a time, readings of quaternions and lengths: each beside numbers worked out by hand."""

import math

import numpy as np
import pytest

from rigpact.reference_runtime.operations.definitions import quaternions
from rigpact.reference_runtime.operations.definitions.scaling import (
    CLIPPED,
    FUNCTIONS,
    LENGTHS,
    MEANS,
    STDS,
    stretched,
    unscored,
    zscored,
)  # fmt: skip

from ..every_case import every_case

LN2, LN3, E, PI = math.log(2.0), math.log(3.0), math.e, math.pi
A_FEW_ROUNDINGS = 16 * 2.0**-53
"""A formula is at most four operations, of one unit in the last place each; so is what the expected number was computed by."""
IX, JY, KZ, ONE = np.eye(4)
QUARTER = math.sqrt(0.5) * (KZ + ONE)


def near(found, expected, atol=0.0):
    np.testing.assert_allclose(found, expected, rtol=A_FEW_ROUNDINGS, atol=atol)


SOFT_ROWS = [[[0.0, LN3], [1000.0, 1000.0]], [[LN2, 0.0], [-1000.0, 1000.0]]]


@every_case(
    ("name", "given", "expected"),
    [
        ("tanh", [0.0, LN2, -LN2], [0.0, 0.6, -0.6]), ("sigmoid", [0.0, LN3, -LN3], [0.5, 0.75, 0.25]),
        ("softplus", [0.0, LN3, -LN3, 800.0], [LN2, 2.0 * LN2, math.log(4.0 / 3.0), 800.0]),
        ("exp", [0.0, 1.0, -1.0, LN2], [1.0, E, 1.0 / E, 2.0]),
        ("log", [1.0, 2.0, E], [0.0, LN2, 1.0]), ("arctanh", [0.0, 0.6, -0.6], [0.0, LN2, -LN2]),
        ("arcsin", [0.0, 0.5, -1.0, 7.0, -7.0], [0.0, PI / 6.0, -PI / 2.0, PI / 2.0, -PI / 2.0]),
        ("elu", [2.0, 0.5, 0.0, -LN2], [2.0, 0.5, 0.0, -0.5]),
        ("relu", [2.0, 0.5, 0.0, -0.5], [2.0, 0.5, 0.0, 0.0]),
        ("softmax", SOFT_ROWS, [[[0.25, 0.75], [0.5, 0.5]], [[2.0 / 3.0, 1.0 / 3.0], [0.0, 1.0]]]),
    ],
)  # fmt: skip
def test_functions(name, given, expected):
    """With another function, axis or an overflow every number of the answer is another, or characters of a crowd mix."""
    near(FUNCTIONS[name](np.array(given)), expected)


def test_scores_and_misread_statistics():
    """(7 - 1) / 2 is 3, and back; a mean that is left out or added; a deviation that is left out, a variance, or its root."""
    mean, std, values = np.array([1.0, -2.0]), np.array([2.0, 0.5]), np.array([4.0, -9.0])
    near(zscored(np.array([[7.0, -1.0]]), mean, std), [[3.0, 2.0]])
    near(unscored(np.array([[3.0, 2.0]]), mean, std), [[7.0, -1.0]])
    assert {name: MEANS[name](values).tolist() for name in ("none", "added")} == {"none": [0, 0], "added": [-4, 9]}
    found = {name: STDS[name](values).tolist() for name in ("none", "variance", "root")}
    assert found == {"none": [1, 1], "variance": [16, 81], "root": [2, 3]}


def test_ranges_and_lengths():
    """-1 … 1 becomes 2 … 6, or the numbers stop at one end, at both, at none; (2, -3, 6) is 7 long, and each bone has its own."""
    low, high, rows = np.array(2.0), np.array(6.0), np.array([-1.0, 0.5, 1.0, 4.0, 9.0])
    near(stretched(rows, low, high), [2.0, 5.0, 6.0, 12.0, 22.0])
    assert {name: clipped(rows, low, high).tolist() for name, clipped in CLIPPED.items()} == {
        "clamped": [2, 2, 2, 4, 6], "none": [-1, 0.5, 1, 4, 9], "scaled_to_range": [2, 5, 6, 12, 22],
        "low_only": [2, 2, 2, 4, 9],
        "high_only": [-1, 0.5, 1, 4, 6],
    }  # fmt: skip
    vectors = np.array([[[2.0, -3.0, 6.0], [0.0, 4.0, -3.0]], [[1.0, 0.0, 0.0], [-8.0, 1.0, 4.0]]])
    assert {name: measure(vectors).tolist() for name, measure in LENGTHS.items()} == {
        "euclidean": [[7, 5], [1, 9]], "squared": [[49, 25], [1, 81]], "absolute_sum": [[11, 7], [1, 13]], "largest": [[6, 4],
        [1, 8]],
    }  # fmt: skip


# --- quaternions ------------------------------------------------------------------------------------------------------


@every_case(
    ("a", "b", "expected"),
    [(IX, JY, KZ), (JY, IX, -KZ), (JY, KZ, IX), (KZ, JY, -IX), (KZ, IX, JY), (IX, KZ, -JY), (IX, IX, -ONE), (JY, JY, -ONE),
    (KZ, KZ, -ONE),
     (ONE, JY, JY), (KZ, ONE, KZ), (2.0 * IX + 3.0 * ONE, 5.0 * JY - ONE, 10.0 * KZ - 2.0 * IX + 15.0 * JY - 3.0 * ONE)],
)  # fmt: skip
def test_products_of_the_units_are_hamiltons(a, b, expected):
    """ij = k = -ji and i² = -1: a product in the other order turns a bone about its parent's axes."""
    np.testing.assert_array_equal(quaternions.product(a[None], b[None]), expected[None])


def test_a_quaternion_without_a_direction_is_no_turn_where_the_convention_says_so():
    """A recorder's first frame is often four zeros; the limit is a length of 1e-8."""
    rows = np.array([[0.0, 0.0, 0.0, 0.0], [0.0, 3.0, 0.0, 4.0]])
    near(quaternions.unit_or_identity(rows), [[0, 0, 0, 1], [0, 0.6, 0, 0.8]], 1e-15)
    near(quaternions.unit(rows), [[math.nan] * 4, [0, 0.6, 0, 0.8]], 1e-15)
    near(quaternions.unit_or_identity(np.array([[0.49e-8] * 4, [0.51e-8] * 4])), [[0, 0, 0, 1], [0.5] * 4], 1e-15)
    near(quaternions.unit_or_identity(1e-8 * IX), IX)


@pytest.mark.filterwarnings("error")
def test_the_exponential_of_half_a_rotation_vector():
    """Half an angle of 0.5 about (0.6, 0, 0.8); one that is too small for its sine; none."""
    half = np.array([[0.3, 0.0, 0.4], [0.0, -2e-9, 1e-9], [0.0, 0.0, 0.0], [0.0, 0.0, -1e-7]])
    turned = [0.6 * math.sin(0.5), 0.0, 0.8 * math.sin(0.5), math.cos(0.5)]
    near(
        quaternions.exponential(half),
        [turned, [0.0, -2e-9, 1e-9, 1.0], [0, 0, 0, 1.0], [0.0, 0.0, -1e-7, math.cos(1e-7)]],
    )


def test_which_product_turn_and_order_a_side_takes():
    """The readings that sides confuse differ in a sign, or are one of the two; w may be written first."""
    a, b = IX + 0.5 * ONE, JY + 0.25 * ONE
    expected = {
        "first_second": KZ + 0.25 * IX + 0.5 * JY + 0.125 * ONE, "second_first": -KZ + 0.25 * IX + 0.5 * JY + 0.125 * ONE,
        "inverse_of_first": -KZ - 0.25 * IX + 0.5 * JY + 0.125 * ONE,
        "inverse_of_second": -KZ + 0.25 * IX - 0.5 * JY + 0.125 * ONE,
        "first_only": a, "second_only": b,
    }  # fmt: skip
    found = {name: read(a, b).tolist() for name, read in quaternions.PRODUCTS.items()}
    assert found == {name: q.tolist() for name, q in expected.items()}
    q = np.array([1.0, -2.0, 3.0, 4.0])
    turns = {"forward": q.tolist(), "inverse": [-1.0, 2.0, -3.0, 4.0], "none": [0.0, 0.0, 0.0, 1.0]}
    assert {name: turn(q).tolist() for name, turn in quaternions.TURNS.items()} == turns
    for order, written in (("xyzw", [1, 2, 3, 4]), ("wxyz", [4, 1, 2, 3])):
        assert np.array(written)[quaternions.TO_XYZW[order]].tolist() == [1, 2, 3, 4]
        assert np.array([1, 2, 3, 4])[quaternions.FROM_XYZW[order]].tolist() == written


def test_points_in_and_out_of_a_frame():
    """A frame at (1, 2, 3), turned by a quarter about z: (x, y) becomes (-y, x), and back (y, -x)."""
    expected = {
        "into_frame": [2, -4, 7], "out_of_frame": [-3, 7, 13], "into_frame_origin_kept": [4, -5, 10],
        "into_frame_turned_forward": [-2, 4, 7], "into_frame_not_turned": [4, 2, 7], "out_of_frame_not_turned": [6, 6, 13],
    }  # fmt: skip
    assert set(quaternions.FRAMES) == set(expected)
    for name, numbers in expected.items():
        near(quaternions.FRAMES[name](np.array([5.0, 4.0, 10.0]), np.array([1.0, 2.0, 3.0]), QUARTER), numbers, 1e-14)
