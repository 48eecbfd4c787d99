"""Formulas on one number at a time, and lengths of vectors: each beside numbers worked out by hand."""

import math

import numpy as np

from rigpact.reference_runtime.operations.definitions.scaling import (
    CLIPPED,
    FUNCTIONS,
    LENGTHS,
    MEANS,
    STDS,
    stretched,
    unscored,
    zscored,
)

from ..every_case import every_case

LN2, LN3, E = math.log(2.0), math.log(3.0), math.e
A_FEW_ROUNDINGS = 16 * 2.0**-53
"""A formula is at most four operations, of one unit in the last place each; so is what the expected number was computed by."""


def near(found, expected):
    np.testing.assert_allclose(found, expected, rtol=A_FEW_ROUNDINGS, atol=0)


@every_case(
    ("name", "given", "expected"),
    [
        ("tanh", [0.0, LN2, -LN2], [0.0, 0.6, -0.6]),
        ("sigmoid", [0.0, LN3, -LN3], [0.5, 0.75, 0.25]),
        ("softplus", [0.0, LN3, -LN3, 800.0], [LN2, 2.0 * LN2, math.log(4.0 / 3.0), 800.0]),
        ("exp", [0.0, 1.0, -1.0, LN2], [1.0, E, 1.0 / E, 2.0]),
        ("log", [1.0, 2.0, E], [0.0, LN2, 1.0]),
        ("arctanh", [0.0, 0.6, -0.6], [0.0, LN2, -LN2]),
        ("arcsin", [0.0, 0.5, -1.0, 7.0, -7.0], [0.0, math.pi / 6.0, -math.pi / 2.0, math.pi / 2.0, -math.pi / 2.0]),
        ("elu", [2.0, 0.5, 0.0, -LN2], [2.0, 0.5, 0.0, -0.5]),
        ("relu", [2.0, 0.5, 0.0, -0.5], [2.0, 0.5, 0.0, 0.0]),
    ],
)
def test_functions_of_one_number(name, given, expected):
    """A network's last layer: with another function every number of the answer is another."""
    near(FUNCTIONS[name](np.array(given)), expected)


def test_shares_of_a_row_are_those_of_its_own_numbers_however_large():
    """A softmax over another axis, or one whose exponential overflows, mixes the characters of a crowd or is NaN."""
    soft = FUNCTIONS["softmax"]
    near(soft(np.array([[0.0, LN3], [LN2, 0.0]])), [[0.25, 0.75], [2.0 / 3.0, 1.0 / 3.0]])
    rows = np.array([[[0.0, LN3], [1000.0, 1000.0]], [[LN2, 0.0], [-1000.0, 1000.0]]])
    near(soft(rows), [[[0.25, 0.75], [0.5, 0.5]], [[2.0 / 3.0, 1.0 / 3.0], [0.0, 1.0]]])


def test_scores_and_values():
    """(7 - 1) / 2 is 3, and back."""
    mean, std = np.array([1.0, -2.0]), np.array([2.0, 0.5])
    near(zscored(np.array([[7.0, -1.0]]), mean, std), [[3.0, 2.0]])
    near(unscored(np.array([[3.0, 2.0]]), mean, std), [[7.0, -1.0]])


def test_misread_statistics():
    """A mean that is left out or added; a standard deviation that is left out, a variance, or the root of one."""
    values = np.array([4.0, -9.0])
    near(MEANS["none"](values), [0.0, 0.0])
    near(MEANS["added"](values), [-4.0, 9.0])
    near(STDS["none"](values), [1.0, 1.0])
    near(STDS["variance"](values), [16.0, 81.0])
    near(STDS["root"](values), [2.0, 3.0])


def test_what_a_range_does_to_numbers_beside_it_and_in_it():
    """-1 … 1 becomes 2 … 6, or the numbers stop at one end, at both, at none."""
    low, high, rows = np.array(2.0), np.array(6.0), np.array([-1.0, 0.5, 1.0, 4.0, 9.0])
    near(stretched(rows, low, high), [2.0, 5.0, 6.0, 12.0, 22.0])
    found = {name: clipped(rows, low, high).tolist() for name, clipped in CLIPPED.items()}
    assert found == {
        "clamped": [2.0, 2.0, 2.0, 4.0, 6.0],
        "none": [-1.0, 0.5, 1.0, 4.0, 9.0],
        "scaled_to_range": [2.0, 5.0, 6.0, 12.0, 22.0],
        "low_only": [2.0, 2.0, 2.0, 4.0, 9.0],
        "high_only": [-1.0, 0.5, 1.0, 4.0, 6.0],
    }


def test_lengths_of_vectors():
    """(2, -3, 6) is 7 long, and each bone has its own length."""
    vectors = np.array([[[2.0, -3.0, 6.0], [0.0, 4.0, -3.0]], [[1.0, 0.0, 0.0], [-8.0, 1.0, 4.0]]])
    found = {name: measure(vectors).tolist() for name, measure in LENGTHS.items()}
    assert found == {
        "euclidean": [[7.0, 5.0], [1.0, 9.0]],
        "squared": [[49.0, 25.0], [1.0, 81.0]],
        "absolute_sum": [[11.0, 7.0], [1.0, 13.0]],
        "largest": [[6.0, 4.0], [1.0, 8.0]],
    }
