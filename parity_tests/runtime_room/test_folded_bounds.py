"""Bounds of stages that nobody recorded, in a graph of four small stages: what each adds is worked out by hand."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from rigpact.contract.systems.layout import Field, FieldKind, FieldLayout
from rigpact.contract.systems.stage import Graph, Stage
from rigpact.reference_runtime.graph.bounds import replay_bound, stage_bound
from rigpact.reference_runtime.graph.replayed import Evidence, ReplayedFrames

from .bounds_by_hand import close, g

ONE = FieldLayout((Field("x", 0, 1, FieldKind.RAW),))
OFF = 0.5
"""The bound that `half` gives itself."""


def of(name, needs=(), compute=None, **said):
    return Stage(name, ONE, needs=tuple(needs), compute=compute, **said)


def frames_of(stages, recorded, mode="teacher", frame=(0, 1, 2)):
    widths = {each.name: None for each in stages}
    system = SimpleNamespace(graph=Graph(tuple(stages)), knobs={})
    contract = SimpleNamespace(system=system, stage_widths=widths, conventions={}, numbers={})
    rows = {name: np.array(numbers, np.float32)[:, None] for name, numbers in recorded.items()}
    return ReplayedFrames(Evidence(np.array(frame), 60.0, mode, rows), contract)


START = of("start")
HALF = of("half", ["start"], lambda frames: frames["start"] / 2, bound=lambda *_: np.full((3, 1), OFF))
TRIPLE = of("triple", ["half"], lambda frames: 3 * frames["half"])
SUM = of("sum", ["triple", "start"], lambda frames: frames["triple"] + frames["start"])
CHAIN = (START, HALF, TRIPLE, SUM)


def bound_by_hand(frames, stage):
    return replay_bound(frames, stage, frames.computed(stage))[:, 0]


def test_a_recorded_input_adds_nothing_and_an_unrecorded_one_all_that_it_may_be_wrong_by():
    """A recording of poses alone: the bound of every stage between them is inherited, and no recorded one's."""
    start = np.array([2.0, -4.0, 8.0])
    triple = 1.5 * start
    known = frames_of(CHAIN, {"start": start, "half": start / 2, "triple": triple})
    close(bound_by_hand(known, "sum"), g(2) * np.abs(triple + start))
    close(bound_by_hand(known, "triple"), g(2) * np.abs(triple))
    close(bound_by_hand(known, "half"), [OFF] * 3)
    unknown = frames_of(CHAIN, {"start": start})
    of_triple = g(2) * np.abs(triple) + 3 * OFF
    np.testing.assert_allclose(bound_by_hand(unknown, "triple"), of_triple, rtol=1e-6)
    np.testing.assert_allclose(bound_by_hand(unknown, "sum"), g(2) * np.abs(triple + start) + of_triple, rtol=1e-6)
    # one that was recorded on the way ends the inheritance
    kept = frames_of(CHAIN, {"start": start, "triple": triple})
    close(bound_by_hand(kept, "sum"), g(2) * np.abs(triple + start))


def test_a_bound_of_its_own_is_told_which_inputs_are_exact():
    """A stage that derives what its inputs lead to reads every one of them: exact ones are zero, and none is left out."""
    told, before = {}, {}

    def bound(_frames, rows, upstream):
        told.update({name: each.copy() for name, each in upstream.items()})
        return np.zeros(rows.shape)

    def first_bound(_frames, rows, upstream):
        before.update(upstream)
        return np.full(rows.shape, OFF)

    half = replace(HALF, bound=first_bound, is_propagated=True)
    last = of(
        "last", ["triple", "start"], lambda frames: frames["triple"] + frames["start"], bound=bound, is_propagated=True
    )
    found = bound_by_hand(frames_of((START, half, TRIPLE, last), {"start": [1.0, 2.0, 4.0]}), "last")
    assert not found.any()
    np.testing.assert_allclose(told["triple"][:, 0], g(2) * np.array([1.5, 3.0, 6.0]) + 3 * OFF, rtol=1e-6)
    assert told["start"].tolist() == [[0.0]] * 3
    np.testing.assert_allclose(told["half"], [[OFF]] * 3)
    assert {name: rows.tolist() for name, rows in before.items()} == {"start": [[0.0]] * 3}


def test_a_stage_that_only_looks_at_an_input_is_moved_with_it():
    """An input that a stage reads where it is known moves the stage as any other does."""
    looking = of(
        "looking", ["triple"], lambda frames: frames.get("triple") + (0.0 if frames.get("other") is None else 1.0)
    )
    found = bound_by_hand(frames_of((START, HALF, TRIPLE, looking, of("other")), {"start": [2.0, 4.0, 8.0]}), "looking")
    triple = np.array([3.0, 6.0, 12.0])
    np.testing.assert_allclose(found, g(2) * triple + g(2) * triple + 3 * OFF, rtol=1e-6)


OWN = 0.125
BACK = of(
    "back", carried="half", start=lambda _contract: np.array([1.0], np.float32), bound=lambda *_: np.full((3, 1), OWN)
)
NEXT = of("next", ["back", "start"], lambda frames: frames["back"] + frames["start"])


@pytest.mark.parametrize("frame", [(0, 1, 2), (4, 5, 7)])
def test_what_a_frame_takes_over_has_the_bound_that_it_had_there(frame):
    """An engine that recorded poses alone feeds its own rounding back: the bound of one frame is that of the next."""
    start = np.array([2.0, -4.0, 8.0])
    stages = (START, BACK, HALF, NEXT)
    frames = frames_of(stages, {"start": start}, "free", frame)
    back = frames.computed("back")[:, 0].astype(np.float64)
    inherited = [0.0, OFF, OFF if frame[0] == 0 else 0.0]  # nothing is known of the frame before a gap
    if frame[0] == 0:
        assert back.tolist() == [1.0, 1.0, -2.0]
    known = np.isfinite(back)
    expected = OWN + np.array(inherited) + g(2) * np.abs(back + start)
    np.testing.assert_allclose(bound_by_hand(frames, "next")[known], expected[known], rtol=1e-6)
    # recorded, the stage that is taken over adds nothing
    kept = frames_of(stages, {"start": start, "half": start / 2}, "free", frame)
    expected = OWN + g(2) * np.abs(back + start)
    np.testing.assert_allclose(bound_by_hand(kept, "next")[known], expected[known], rtol=1e-6)


def test_a_measured_bound_takes_the_largest_of_six_patterns_of_signs():
    """All inputs up, all down, and four drawn ones, the same ones every time: a bound must not change from run to run."""
    tried = []

    def difference(frames):
        tried.append((frames["x"].copy(), frames["y"].copy()))
        return frames["x"] * frames["x"] - frames["y"]

    stage = of("stage", ["x", "y"], difference)
    values, moved = np.linspace(1.0, 2.0, 8, dtype=np.float32)[:, None], np.full((8, 1), 0.25)
    held = {"x": values, "y": values}
    rows = values * values - values
    frames = dict(held)
    found = stage_bound(stage, frames, rows, {"x": moved, "y": moved})
    rng, largest = np.random.default_rng(0), np.zeros((8, 1))
    for pattern in range(6):
        signs = [(1.0, -1.0)[pattern]] * 2 if pattern < 2 else [rng.choice((-1.0, 1.0), (8, 1)) for _ in range(2)]
        x, y = ((values + sign * 0.25).astype(np.float32).astype(np.float64) for sign in signs)
        largest = np.maximum(largest, np.abs(x * x - y - rows))
    assert len(tried) == 6
    np.testing.assert_allclose(found - g(2) * np.abs(rows, dtype=np.float64), largest, rtol=1e-6)
    tried.clear()
    stage_bound(stage, frames, rows, {"x": np.zeros((8, 1))})
    assert not tried  # exact inputs are not moved
