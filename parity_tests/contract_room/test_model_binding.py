"""Which input orders survive a check of byte sizes, and vectors that tell the orders apart."""

from itertools import permutations

import numpy as np
import pytest

from rigpact.contract.model.binding import (
    ORDERS,
    Misfit,
    accepted_orders,
    canary_inputs,
    interchangeable_pairs,
    misfits,
)

DEPLOYED = {"state": 420, "cond": 7, "contacts": 2, "angvel": 138, "pose_hist": 828}
TWO_BONES = {"state": 24, "cond": 7, "contacts": 2, "angvel": 6, "pose_hist": 24}
"""Two bones, two frames of history, no contacts slice: 3 + 2 + 1 + 12 + 6 state channels, 2 × 2 × 6 of history."""
NAMES = tuple(DEPLOYED)


def test_all_orders_are_there_and_the_contract_comes_first() -> None:
    """A table without one order would accept exactly that order from an exporter."""
    assert len(set(ORDERS)) == 120
    assert ORDERS[0] == NAMES


def test_different_widths_leave_one_order() -> None:
    """On the deployed character an engine that compares byte sizes cannot be fooled."""
    assert accepted_orders(DEPLOYED) == (NAMES,)
    assert interchangeable_pairs(DEPLOYED) == ()


def test_two_inputs_of_one_width_can_change_places() -> None:
    """A small character whose history is as wide as its state: swapped, it plays noise and nothing complains."""
    swapped = ("pose_hist", "cond", "contacts", "angvel", "state")

    assert set(accepted_orders(TWO_BONES)) == {NAMES, swapped}
    assert interchangeable_pairs(TWO_BONES) == (("state", "pose_hist"),)


@pytest.mark.parametrize(("equal", "orders"), [(1, 1), (2, 2), (3, 6), (4, 24), (5, 120)])
def test_the_count_is_that_of_the_permutations_of_equal_widths(equal: int, orders: int) -> None:
    """The number that the hazard table prints must be the number of ways to be wrong, plus one."""
    widths = {name: 50 if place < equal else 100 + place for place, name in enumerate(NAMES)}

    assert len(accepted_orders(widths)) == orders
    assert len(interchangeable_pairs(widths)) == equal * (equal - 1) // 2


def test_an_unknown_width_fits_anything() -> None:
    """A dynamic axis takes every vector: the size check is blind there."""
    assert len(accepted_orders(DEPLOYED, dict.fromkeys(NAMES))) == 120


def test_the_accepted_orders_are_those_that_brute_force_accepts() -> None:
    """Re-derived without the library: widths compared place by place."""
    vectors = {"state": 4, "cond": 7, "contacts": 4, "angvel": 7, "pose_hist": 9}
    fits = {order for order in permutations(NAMES) if [vectors[n] for n in order] == [4, 7, 4, 7, 9]}

    assert set(accepted_orders(vectors)) == fits


def test_a_misfit_says_what_the_engine_does_in_silence() -> None:
    """The engine's `AlignInputVec` cuts or pads silently; the message must describe it."""
    found = misfits(("state", "contacts", "cond", "angvel", "pose_hist"), DEPLOYED)

    assert found == (Misfit(1, "cond", "contacts", 2, 7), Misfit(2, "contacts", "cond", 7, 2))
    assert [each.action for each in found] == ["padded by 5", "cut by 5"]


def test_canary_vectors_are_distinct_and_exact() -> None:
    """An engine types them in from text: they must be the same numbers there, and no two places alike."""
    first, again = canary_inputs(DEPLOYED), canary_inputs(DEPLOYED)

    for name, rows in first.items():
        assert np.array_equal(rows, again[name])
        assert (rows.dtype, rows.shape) == (np.float32, (4, DEPLOYED[name]))
        assert np.array_equal(rows * 64, np.round(rows * 64))
        assert np.abs(rows).max() < 0.8
        assert not np.any(np.diff(rows, axis=1) == 0)
    heads = {tuple(rows[row, :2]) for rows in first.values() for row in range(4)}
    assert len(heads) == 20
