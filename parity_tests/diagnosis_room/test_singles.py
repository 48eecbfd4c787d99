"""Every value of every knob, one at a time: named, or truly the same on the clip at hand."""

from typing import Any

import numpy as np
import pytest

from rigpact.contract.pages.registry import find_system
from rigpact.fixtures.mutants import single_changes, words

from ..every_case import every_case
from ..scene import demo_contract
from .conftest import Doctor, names

KNOBS = find_system("enemy_animation").knobs

SINGLES = list(single_changes(demo_contract()))
NEARLY_NOTHING = 1e-5
"""Absolute; these mutants change rotations, unit directions or z-scores by far more, or by rounding only."""


@pytest.mark.sampled(6)
@pytest.mark.parametrize("truth", SINGLES, ids=words)
def test_every_single_change_is_named(scene: Any, honest: Any, doctor: Doctor, truth: dict[str, Any]) -> None:
    """`explain` that blames the wrong convention sends an engineer into the wrong file for a day."""
    mutant = scene.record(truth)
    diagnosis = doctor(mutant.stages)
    if diagnosis.verdict == "agrees":
        assert max(np.abs(mutant.stages[name] - rows).max() for name, rows in honest.stages.items()) < NEARLY_NOTHING
    else:
        assert diagnosis.verdict == "explained"
        assert len(diagnosis.causes) == 1
        assert truth in names(diagnosis)
        assert diagnosis.causes[0].error_after < diagnosis.causes[0].error_before


@pytest.mark.sampled(3)
@pytest.mark.parametrize("truth", SINGLES[::6], ids=words)
def test_the_published_pose_alone_is_enough_with_clip_and_model(
    scene: Any, doctor: Doctor, truth: dict[str, Any]
) -> None:
    """Most engines log nothing but the pose: what the pose depends on must be found from it."""
    mutant = scene.record(truth)
    diagnosis = doctor(mutant.stages, ("y_out",))
    assert diagnosis.verdict in ("agrees", "explained")
    assert (truth in names(diagnosis)) == (diagnosis.verdict == "explained")


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "truth",
    [
        {"compose_order": "prev_delta", "rot6d_columns": "xy"},
        {"mirror": "y", "bone_order": "left_right_swapped"},
        {"angvel_angle": "half", "angvel_lag": "+1"},
        {"pose_history_order": "newest_first", "pose_history_phase": "excludes_current"},
    ],
    ids=words,
)
def test_pairs_are_found_together(scene: Any, doctor: Doctor, truth: dict[str, Any]) -> None:
    """Two defects at one stage hide each other from a search that mends one at a time."""
    diagnosis = doctor(scene.record(truth).stages)
    assert diagnosis.verdict == "explained"
    found = {knob: value for cause in diagnosis.causes for knob, value in cause.changes.items()}
    assert found == truth or truth in names(diagnosis)


def test_an_honest_run_agrees(doctor: Doctor, honest: Any) -> None:
    """After a false alarm on a correct engine, people ignore the next alarm."""
    diagnosis = doctor(honest.stages)
    assert (diagnosis.verdict, diagnosis.first_divergence, diagnosis.causes) == ("agrees", None, ())
    assert ("writeback", "none") in diagnosis.indistinguishable  # a teacher-driven run writes nothing back


@every_case("knob", KNOBS.values(), ids=lambda knob: knob.name)
def test_every_value_says_what_it_looks_like_in_code(knob: Any) -> None:
    """A cause without a code hint does not tell an engineer where to look."""
    values = [tuple(knob.values[0].split(","))] if knob.name == "input_order" else list(knob.values)
    hints = [knob.hint(value) for value in values]
    assert [hint for hint in hints if not ("C++: " in hint and "; Python: " in hint and "\n" not in hint)] == []
    assert len(set(hints)) == len(values)
