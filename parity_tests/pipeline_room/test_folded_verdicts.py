"""Folding: a stage with a wrong convention that was not recorded is judged in the next recorded one, never passed over."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from rigpact.reference_runtime.graph.replayed import Evidence
from rigpact.reference_runtime.graph.run import run_clip
from rigpact.reports.diagnosing.diagnose import diagnose

from .drawn import each_quick_profile, for_all
from .drawn_declared import FRAMES, Declared, declared

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
    rows = range(int(np.argmin(known)) if not known.all() else FRAMES)
    evidence = Evidence(np.arange(FRAMES), 50.0, "teacher", {name: wrong[name] for name in names}).at_rows(rows)
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
