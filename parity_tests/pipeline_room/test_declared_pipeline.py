"""What holds for every declared contract: drawn graphs of up to twelve operations, their knobs and clips, some with feedback."""

from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from rigpact.contract.errors import UnusableInput
from rigpact.reference_runtime.graph.native_agreement import first_difference
from rigpact.reference_runtime.graph.native_plan import NativeFrames
from rigpact.reference_runtime.graph.replayed import Evidence, ReplayedFrames
from rigpact.reference_runtime.graph.run import ClipDrive, LiveFrames, run_clip
from rigpact.reference_runtime.native.library import library
from rigpact.reports.diagnosing.diagnose import diagnose

from ..side_by_side import run_lanes
from .drawn import STEPS, Declared, declared, each_quick_profile, for_all


def at_once(drawn: Declared, clip: dict[str, Any] | None = None) -> dict[str, Any]:
    return dict(run_clip(drawn.contract, clip or drawn.clip).stages)


def same_until(ours: dict[str, Any], theirs: dict[str, Any], drawn: Declared, frames: int = STEPS) -> None:
    """The same bits of every stage in the first frames, less those for which it looks ahead."""
    assert list(ours) == list(theirs)
    for name, rows in ours.items():
        known = max(frames - drawn.ahead.get(name, 0), 0)
        assert rows[:known].tobytes() == theirs[name][:known].tobytes(), name


def free(drawn: Declared, kind: type[LiveFrames] = LiveFrames) -> dict[str, Any]:
    """The free run."""
    (trace,) = run_lanes(drawn.contract, [drawn.clip], None, STEPS, "free", kind)
    return dict(trace.stages)


@each_quick_profile
def test_a_run_that_is_given_what_the_free_run_fed_itself_is_the_free_run(examples: int) -> None:
    """A teacher run is what people debug, a free run is what a game plays: only what is fed back may tell them apart."""

    def holds(drawn: Declared) -> None:
        expected = free(drawn)
        same_until(at_once(drawn, drawn.clip | {"last": expected["last"]}), expected, drawn)

    for_all(declared(feedback=True), examples, holds)


@each_quick_profile
def test_a_declared_clip_in_one_go_is_its_frames_and_its_crowd(examples: int) -> None:
    """The gate judges a batch, a game runs frames, a sweep runs crowds: no bit may differ, no member feel another."""

    def holds(drawn: Declared) -> None:
        whole = at_once(drawn)
        other = {name: np.roll(rows, 1, axis=0) for name, rows in drawn.clip.items()}
        for trace in run_lanes(drawn.contract, [drawn.clip, other, drawn.clip], None, STEPS, "teacher")[::2]:
            same_until(whole, dict(trace.stages), drawn)
        if drawn.feeds_itself:
            apart = drawn.clip | {"last": drawn.clip["last"] + np.float32(1)}
            crowd = run_lanes(drawn.contract, [apart, drawn.clip], None, STEPS, "free")
            same_until(dict(crowd[1].stages), free(drawn), drawn)

    for_all(declared(), examples, holds)


@each_quick_profile
def test_the_compiled_plan_is_the_contract_to_its_bounds(examples: int) -> None:
    """An engine that includes the headers must compute each stage as the contract says, from the same stages before it."""
    try:
        library()
    except UnusableInput as error:
        pytest.skip(error.one_line())

    def holds(drawn: Declared) -> None:
        stages, expected = free(drawn, NativeFrames), free(drawn)
        assert list(stages) == list(expected)
        with np.errstate(all="ignore"):
            assert first_difference(ReplayedFrames(evidence_of(drawn, stages, "free"), drawn.contract), stages) == ""

    for_all(declared(feedback=True), examples, holds)


def evidence_of(drawn: Declared, stages: dict[str, Any], mode: str) -> Evidence:
    return Evidence(np.arange(STEPS), 50.0, mode, stages, lambda _contract: ClipDrive(drawn.clip))


@each_quick_profile
def test_the_next_frame_changes_no_declared_stage_of_this_one(examples: int) -> None:
    """A runtime cannot look ahead: only what a contract takes from a later frame may depend on it."""

    def holds(case: tuple[Declared, int]) -> None:
        drawn, now = case
        later = {name: rows.copy() for name, rows in drawn.clip.items()}
        for rows in later.values():
            rows[now + 1 :] = np.roll(rows[now + 1 :], 1, axis=-1)
        same_until(at_once(drawn), at_once(drawn, later), drawn, now + 1)

    for_all(st.tuples(declared(), st.integers(0, STEPS - 2)), examples, holds)


@pytest.mark.sampled(2)
@each_quick_profile
@pytest.mark.parametrize("mode", ["teacher", "free"])
def test_explain_agrees_with_the_contracts_own_run(mode: str, examples: int) -> None:
    """An alarm about a right engine costs a day, and the next alarm is not believed."""

    def holds(drawn: Declared) -> None:
        stages = at_once(drawn) if mode == "teacher" else free(drawn)
        known = STEPS - max(drawn.ahead.values())  # behind the clip's end a stage that looks ahead is not known
        evidence = evidence_of(drawn, stages, mode).at_rows(range(known))
        assert diagnose(evidence, drawn.contract).verdict == "agrees"

    for_all(declared(feedback=mode == "free" or None), examples, holds)
