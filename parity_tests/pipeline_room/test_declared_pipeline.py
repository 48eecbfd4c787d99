"""What holds for every declared contract: drawn graphs of up to twelve operations, their knobs and clips, some with feedback."""

from collections.abc import Mapping
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


SEEN = 0.01
"""A share of a stage's largest number that no rounding reaches: each operation drawn here enlarges what enters it at most a few
times (the largest scale is 2, a rate of 50 frames a second comes last), so twelve of them leave float32 a thousandth."""


FEWEST = 4
"""Operations of a contract: fewer leave nothing behind a stage to fold it into."""


@st.composite
def folded(draw: st.DrawFn) -> tuple[Declared, Mapping[str, Any], list[str]]:
    """A contract, one changed convention, and the stages that were recorded: the one with the convention is not.

    Where there is such a stage, one that is computed from it was recorded.
    """
    drawn = draw(declared(feedback=False, fewest=FEWEST))
    knobs, behind = drawn.contract.system.knobs, _behind(drawn)
    names = [name for name, knob in knobs.items() if len(knob.values) > 1]
    knob = draw(st.sampled_from([name for name in names if behind[_stage_of(name)]] or names))
    stage, change = _stage_of(knob), {knob: draw(st.sampled_from(knobs[knob].values[1:]))}
    kept = {name for name in behind if name != stage and draw(st.booleans())}
    kept |= {draw(st.sampled_from(sorted(behind[stage])))} if behind[stage] else set()
    return drawn, change, [name for name in behind if name in kept]


def _stage_of(knob: str) -> str:
    return knob.partition(".")[0]


def _behind(drawn: Declared) -> dict[str, set[str]]:
    """Of each computed stage: the stages that are computed from it."""
    stages = [stage for stage in drawn.contract.system.stages if stage.compute is not None]
    found: dict[str, set[str]] = {stage.name: set() for stage in stages}
    for stage in stages:
        for name, after in found.items():
            if any(need == name or need in after for need in stage.needs):
                after.add(stage.name)
    return found


def recorded(drawn: Declared, change: Mapping[str, Any], kept: list[str]) -> tuple[Evidence, dict[str, Any]]:
    """What an engine of the changed convention records of the clip, without the rows that it does not know; what is right."""
    right = run_clip(drawn.contract, drawn.clip).stages
    wrong = run_clip(drawn.contract.with_conventions(change), drawn.clip).stages
    names = [*drawn.clip, *kept]
    known = np.all([np.isfinite(each[name]).all(axis=1) for each in (right, wrong) for name in names], axis=0)
    rows = range(int(np.argmin(known)) if not known.all() else STEPS)
    evidence = Evidence(np.arange(STEPS), 50.0, "teacher", {name: wrong[name] for name in names}).at_rows(rows)
    return evidence, {name: right[name][list(rows)] for name in kept}


def differs(evidence: Evidence, right: Mapping[str, Any], ahead: Mapping[str, int]) -> bool:
    """Whether a recorded stage is clearly off in a frame of which everything that it looks at was recorded."""
    for name, rows in right.items():
        end = len(rows) - ahead[name]
        off = np.abs(evidence.recorded[name][:end].astype(np.float64) - rows[:end])
        if off.size and off.max() > SEEN * max(1.0, float(np.abs(rows).max())):
            return True
    return False


@pytest.mark.nightly
@each_quick_profile
def test_folding_never_hides_a_wrong_convention_and_alarms_for_none_that_is_unseen(examples: int) -> None:
    """An engine records four of its stages, the fifth is wrong, and the knees bend backwards; what cannot show is no alarm."""
    told = []

    def holds(case: tuple[Declared, Mapping[str, Any], list[str]]) -> None:
        drawn, change, kept = case
        evidence, right = recorded(drawn, change, kept)
        if not kept or not len(evidence.frame):
            return
        if differs(evidence, right, drawn.ahead):
            told.append(diagnose(evidence, drawn.contract).verdict)
            assert told[-1] != "agrees", change
        elif all(right[name].tobytes() == evidence.recorded[name].tobytes() for name in kept):
            told.append("")
            assert diagnose(evidence, drawn.contract).verdict in ("agrees", "undetermined")

    for_all(folded(), examples, holds)
    assert told.count("explained") >= examples // 10, told  # else nothing was tried
    assert "" in told, told
