"""What a comparison needs around a piece of frames, and what an unseen difference may grow to, worked out by hand."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from rigpact.contract.systems.layout import Field, FieldKind, FieldLayout
from rigpact.contract.systems.stage import Graph, Stage
from rigpact.reports.comparing.allowance import Allowance, _without_long_gaps

ONE = FieldLayout((Field("x", 0, 1, FieldKind.RAW),))


@pytest.mark.parametrize(
    ("frames", "reach", "expected"),
    [
        ([], 3, []), ([0], 3, [0]), ([5], 3, [1]), ([0, 1, 2], 0, [0, 1, 2]), ([0, 2, 3], 0, [0, 2, 3]), ([0, 3], 0, [0, 2]),
        ([7, 8, 11, 12], 1, [1, 2, 5, 6]), ([7, 8, 13], 1, [1, 2, 5]), ([1, 2, 10**9], 2, [1, 2, 6]), ([0, 4, 9], 3, [0, 4, 9]),
    ],
)  # fmt: skip
def test_a_gap_is_as_long_as_stages_reach_across_and_one_more(frames, reach, expected):
    """A gap of an hour must not take memory; a short one must stay as long as it is: a stage looks across it."""
    assert _without_long_gaps(np.array(frames, np.int64), reach).tolist() == expected


def contract_of(*reaches):
    stages = tuple(Stage(f"s{place}", ONE, reach=reach) for place, reach in enumerate(reaches))
    return SimpleNamespace(system=SimpleNamespace(stages=stages, graph=Graph(stages)))


def test_frames_around_a_piece_are_those_that_any_stage_reaches():
    """Too few, and the first frames of every piece are judged by something else."""
    frames = np.arange(3)
    allowance = Allowance(contract_of((0, 0), (3, 0), (1, 2)), frames, is_free=False)
    assert (allowance.back, allowance.ahead) == (3, 2)
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
