"""What a comparison needs around a piece of frames, and what an unseen difference may grow to, worked out by hand."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from rigpact.contract.systems.layout import Field, FieldKind, FieldLayout
from rigpact.contract.systems.stage import Graph, Stage
from rigpact.reports.comparing import allowance as module
from rigpact.reports.comparing.allowance import Allowance, _without_long_gaps

from ..every_case import every_case

ONE = FieldLayout((Field("x", 0, 1, FieldKind.RAW),))


@every_case(
    ("frames", "reach", "expected"),
    [
        ([], 3, []), ([0], 3, [0]), ([5], 3, [1]), ([0, 1, 2], 0, [0, 1, 2]), ([0, 2, 3], 0, [0, 2, 3]), ([0, 3], 0, [0, 2]),
        ([7, 8, 11, 12], 1, [1, 2, 5, 6]), ([7, 8, 13], 1, [1, 2, 5]), ([1, 2, 10**9], 2, [1, 2, 6]), ([0, 4, 9], 3, [0, 4, 9]),
    ],
)  # fmt: skip
def test_a_gap_is_as_long_as_stages_reach_across_and_one_more(frames, reach, expected):
    """A gap of an hour must not take memory; a short one must stay as long as it is: a stage looks across it."""
    assert _without_long_gaps(np.array(frames, np.int64), reach).tolist() == expected


def column(numbers):
    return np.array(numbers, float)[:, None]


def contract_of(*reaches):
    stages = tuple(Stage(f"s{place}", ONE, reach=reach) for place, reach in enumerate(reaches))
    return SimpleNamespace(system=SimpleNamespace(stages=stages, graph=Graph(stages)))


def test_frames_around_a_piece_are_those_that_any_stage_reaches():
    """Too few, and the first frames of every piece are judged by something else."""
    frames = np.arange(3)
    allowance = Allowance(contract_of((0, 0), (3, 0), (1, 2)), frames, is_free=False)
    assert (allowance.back, allowance.ahead) == (3, 2)
    assert Allowance(contract_of((3, 0), (1, 2)), np.array([0, 50]), is_free=False)._frames.tolist() == [0, 7]
    for nothing in (None, contract_of()):
        allowance = Allowance(nothing, frames, is_free=False)
        assert (allowance.back, allowance.ahead) == (0, 0)


@pytest.mark.parametrize(("is_free", "factors"), [(False, [1, 1, 1]), (True, [5, 6, 7])])
def test_an_unseen_difference_of_a_free_run_may_be_the_rounding_of_all_frames_before(is_free, factors):
    """Frame 4 is the fifth: five frames have rounded. A clip's frames start anew each time."""
    allowance = Allowance(None, np.arange(10), is_free=is_free)
    bound = np.full((3, 2), 0.5)
    found = allowance._unseen(Stage("s", ONE), bound, slice(4, 7))
    np.testing.assert_array_equal(found, bound * np.array(factors)[:, None])


@every_case(
    ("error", "bound", "inherited", "expected", "is_noted"),
    [
        ([1, 0], [math.inf, math.inf], [2, 3], [2, 3], True),
        ([1, 0], [math.inf, math.inf], [math.inf, 3], [math.inf, 3], False),
        ([0, 1], [math.inf, math.inf], [math.inf, math.inf], [math.inf, math.inf], False),
        ([1, 0], [0.5, 0.5], [2, 0], [2, 0.5], True), ([1, 0], [0.5, 0.5], [0.25, 0], [0.5, 0.5], False),
        ([1, 1], [0.5, math.inf], [0.5, 4], [0.5, 4], True), ([0.25, 1], [0.5, math.inf], [0.25, 4], [0.5, 4], True),
        ([0.5, 0.25], [0.5, 0.5], [2, 2], [0.5, 0.5], False),
    ],
)  # fmt: skip
def test_a_difference_of_the_stages_before_is_noted_where_it_widens_a_bound(
    monkeypatch, error, bound, inherited, expected, is_noted
):
    """It comes from the stage before: that must be said of a stage that would be blamed otherwise, and of no other."""
    allowance, stage = Allowance(None, np.arange(2), is_free=False), Stage("s", ONE)
    monkeypatch.setattr(module, "_bound", lambda *_: column(bound))
    monkeypatch.setattr(allowance, "_inherited", lambda *_: column(inherited))
    found = allowance._tolerance_of(stage, SimpleNamespace(), SimpleNamespace(), column(error), slice(0, 2))
    np.testing.assert_array_equal(found, column(expected))
    assert allowance.inheriting == ({"s"} if is_noted else set())


TRIED = {
    "rounding": (False, None, False, [0.25, 0.5], [0.5, 0.5], [1, 1], [0.5, 0.5], False),
    "rounding with a model": (False, "model", False, [0.25, 0.5], [0.5, 0.5], [1, 1], [0.5, 0.5], False),
    "rounding where a piece before inherited": (False, None, True, [0.25, 1], [4, 4], [0.25, 1], [0.25, 1], True),
    "more than is inherited": (False, None, True, [0.25, 2], [1, 1], [0.5, 0.5], [1, 1], True),
    "nothing to inherit from": (False, None, True, [0.25, 2], [1, 1], None, [3, 3], True),
    "an answer": (True, "model", False, [0.5, 2], [0.5, 4], [1, 1], [1, 1], False),
    "an answer beyond its bound": (True, "model", False, [0.25, 0.75], [0.5, 0.5], [1, 1], [1, 1], True),
    "a wrong answer": (True, "model", False, [8, 8], [0.5, 0.5], [1, 1], [1, 1], True),
    "an answer without its inputs": (True, "model", False, [8, 8], [0.5, 0.5], None, [3, 3], False),
    "an answer without its model": (True, None, False, [8, 8], [0.5, 0.5], None, [7, 7], False),
    "a stage after an answer": (False, None, False, [8, 8], [0.5, 0.5], None, [3, 3], False),
}


@every_case("case", TRIED)
def test_what_is_allowed_where_values_differ(monkeypatch, case):
    """With its model an answer has exactly what its inputs lead to; without it something is assumed, for answers alone."""
    is_answer, network, is_known, error, bound, inherited, expected, is_noted = TRIED[case]
    allowance, stage = (
        Allowance(None, np.arange(2), is_free=False, network=network),
        Stage("s", ONE, is_answer=is_answer),
    )
    allowance.inheriting |= {"s"} if is_known else set()
    monkeypatch.setattr(module, "_bound", lambda *_: column(bound))
    monkeypatch.setattr(module, "_assumed", lambda *_: column([7, 7]))
    monkeypatch.setattr(allowance, "_inherited", lambda *_: None if inherited is None else column(inherited))
    monkeypatch.setattr(allowance, "_propagated", lambda *_: column([3, 3]))
    found = allowance._tolerance_of(stage, SimpleNamespace(), SimpleNamespace(), column(error), slice(0, 2))
    np.testing.assert_array_equal(found, column(expected))
    assert allowance.inheriting == ({"s"} if is_noted else set())


@pytest.mark.parametrize(
    ("is_answer", "found", "expected"),
    [
        (False, [0.5, 2, 0.25], [0.5, 2, 0.25]), (False, [math.inf, 2, 0.25], [0, 2, 0.25]),
        (False, [math.inf] * 3, [0, math.inf, 0]), (False, [0.5, math.inf, 0.25], [0.5, math.inf, 0.25]),
        (True, [math.inf] * 3, [math.inf] * 3), (True, [0.5, 2, 0.25], [0.5, 2, 0.25]),
    ],
)  # fmt: skip
def test_equal_values_agree_where_nothing_can_be_judged(monkeypatch, is_answer, found, expected):
    """But for answers, which may be equal by chance: the network's inputs differ."""
    allowance, stage = Allowance(None, np.arange(3), is_free=False), Stage("s", ONE, is_answer=is_answer)
    monkeypatch.setattr(allowance, "_tolerance_of", lambda *_: column(found))
    a, b = (SimpleNamespace(values={"s": column(numbers)}) for numbers in ([1, 2, 3], [1, 4, 3]))
    np.testing.assert_array_equal(allowance._tolerance(stage, a, b, slice(0, 3)), column(expected))
