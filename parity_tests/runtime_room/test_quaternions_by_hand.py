"""Quaternions beside numbers worked out by hand: the product, what it turns, and the readings that sides confuse."""

import math

import numpy as np
import pytest

from rigpact.reference_runtime.operations.definitions import quaternions

A_FEW_ROUNDINGS = 16 * 2.0**-53
"""Each number is a sum of at most five products of at most two roundings, scaled and divided once."""
IX, JY, KZ, ONE = np.eye(4)


def test_products_of_the_units_are_hamiltons():
    """ij = k = -ji and i² = -1: a product in the other order turns a bone about its parent's axes."""
    table = {
        ("i", "j"): KZ, ("j", "i"): -KZ, ("j", "k"): IX, ("k", "j"): -IX, ("k", "i"): JY, ("i", "k"): -JY,
        ("i", "i"): -ONE, ("j", "j"): -ONE, ("k", "k"): -ONE, ("1", "j"): JY, ("k", "1"): KZ,
    }  # fmt: skip
    units = {"i": IX, "j": JY, "k": KZ, "1": ONE}
    for (a, b), expected in table.items():
        np.testing.assert_array_equal(quaternions.product(units[a][None], units[b][None]), expected[None])
    both = quaternions.product(2.0 * IX + 3.0 * ONE, 5.0 * JY - ONE)
    np.testing.assert_array_equal(both, 10.0 * KZ - 2.0 * IX + 15.0 * JY - 3.0 * ONE)
    np.testing.assert_array_equal(quaternions.conjugate(2.0 * IX - 3.0 * KZ + ONE), -2.0 * IX + 3.0 * KZ + ONE)
    # a quarter turn about z takes x to y, and y to -x
    quarter = math.sqrt(0.5) * (KZ + ONE)
    np.testing.assert_allclose(quaternions.rotated(quarter, np.array([1.0, 0.0, 2.0])), [0.0, 1.0, 2.0], atol=1e-15)
    np.testing.assert_allclose(quaternions.rotated(quarter, np.array([0.0, 1.0, 0.0])), [-1.0, 0.0, 0.0], atol=1e-15)


def test_a_quaternion_without_a_direction_is_no_turn_where_the_convention_says_so():
    """A recorder's first frame is often four zeros."""
    rows = np.array([[0.0, 0.0, 0.0, 0.0], [0.0, 3.0, 0.0, 4.0]])
    np.testing.assert_allclose(quaternions.unit_or_identity(rows), [[0, 0, 0, 1], [0, 0.6, 0, 0.8]], atol=1e-15)
    found = quaternions.unit(rows)
    assert np.isnan(found[0]).all()
    np.testing.assert_allclose(found[1], [0, 0.6, 0, 0.8], atol=1e-15)
    below, above = np.full(4, 0.49e-8), np.full(4, 0.51e-8)
    np.testing.assert_array_equal(quaternions.unit_or_identity(below), [0, 0, 0, 1])
    np.testing.assert_allclose(quaternions.unit_or_identity(above), [0.5] * 4)
    np.testing.assert_allclose(quaternions.unit_or_identity(1e-8 * IX), IX, rtol=2.0**-52)


def near(found, expected):
    np.testing.assert_allclose(found, expected, rtol=A_FEW_ROUNDINGS, atol=A_FEW_ROUNDINGS)


def test_the_order_of_the_numbers():
    """(x, y, z, w) is (1, 2, 3, 4), or written w first (4, 1, 2, 3)."""
    numbers = {"xyzw": np.array([1, 2, 3, 4]), "wxyz": np.array([4, 1, 2, 3])}
    for order, written in numbers.items():
        assert written[quaternions.TO_XYZW[order]].tolist() == [1, 2, 3, 4]
        assert numbers["xyzw"][quaternions.FROM_XYZW[order]].tolist() == written.tolist()


def test_the_matrix_of_a_quaternion_whose_entries_are_whole_thirtieths():
    """(1, 2, 3, 4) is √30 long."""
    q = np.array([1.0, 2.0, 3.0, 4.0]) / math.sqrt(30.0)
    near(quaternions.to_matrix(q) * 30.0, [[4, -20, 22], [28, 10, 4], [-10, 20, 20]])
    near(quaternions.rotated(q, np.array([1.0, 0.0, 0.0])) * 30.0, [4, 28, -10])
    near(quaternions.rotated(q, np.array([0.0, 1.0, 1.0])) * 30.0, [2, 14, 40])


@pytest.mark.filterwarnings("error")
def test_the_exponential_of_half_a_rotation_vector():
    """Half an angle of 0.5 about (0.6, 0, 0.8); one that is too small for its sine; none."""
    half = np.array([[0.3, 0.0, 0.4], [0.0, -2e-9, 1e-9], [0.0, 0.0, 0.0], [0.0, 0.0, -1e-7]])
    expected = [
        [0.6 * math.sin(0.5), 0.0, 0.8 * math.sin(0.5), math.cos(0.5)],
        [0.0, -2e-9, 1e-9, 1.0], [0.0, 0.0, 0.0, 1.0], [0.0, 0.0, -1e-7, math.cos(1e-7)],
    ]  # fmt: skip
    np.testing.assert_allclose(quaternions.exponential(half), expected, rtol=A_FEW_ROUNDINGS, atol=0)


def test_which_product_a_side_takes():
    """i and j, each with half of 1: the four readings differ in a sign, or are one of the two."""
    a, b = IX + 0.5 * ONE, JY + 0.25 * ONE
    expected = {
        "first_second": KZ + 0.25 * IX + 0.5 * JY + 0.125 * ONE,
        "second_first": -KZ + 0.25 * IX + 0.5 * JY + 0.125 * ONE,
        "inverse_of_first": -KZ - 0.25 * IX + 0.5 * JY + 0.125 * ONE,
        "inverse_of_second": -KZ + 0.25 * IX - 0.5 * JY + 0.125 * ONE,
        "first_only": a, "second_only": b,
    }  # fmt: skip
    assert {name: read(a, b).tolist() for name, read in quaternions.PRODUCTS.items()} == {
        name: q.tolist() for name, q in expected.items()
    }


def test_which_rotation_turns_a_vector():
    """The one that is written, its inverse, or none."""
    q = np.array([1.0, -2.0, 3.0, 4.0])
    found = {name: turn(q).tolist() for name, turn in quaternions.TURNS.items()}
    assert found == {"forward": q.tolist(), "inverse": [-1.0, 2.0, -3.0, 4.0], "none": [0.0, 0.0, 0.0, 1.0]}


def test_points_in_and_out_of_a_frame():
    """A frame at (1, 2, 3), turned by a quarter about z: (x, y) becomes (-y, x), and back (y, -x)."""
    quarter, origin, point = math.sqrt(0.5) * (KZ + ONE), np.array([1.0, 2.0, 3.0]), np.array([5.0, 4.0, 10.0])
    expected = {
        "into_frame": [2, -4, 7], "out_of_frame": [-3, 7, 13], "into_frame_origin_kept": [4, -5, 10],
        "into_frame_turned_forward": [-2, 4, 7], "into_frame_not_turned": [4, 2, 7], "out_of_frame_not_turned": [6, 6, 13],
    }  # fmt: skip
    assert set(quaternions.FRAMES) == set(expected)
    for name, numbers in expected.items():
        near(quaternions.FRAMES[name](point, origin, quarter), numbers)
