"""What users really have: one stage, one frame, another bone order, a NaN, the wrong bundle."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rigpact.contract.statistics import Statistics

from ..scene import generated_scene
from .conftest import Doctor, names

BONES = 46


def permuted(rows: np.ndarray, order: tuple[int, ...], width: int) -> np.ndarray:
    """Slot i takes bone order[i]."""
    flat = rows.reshape(len(rows), BONES, width)[:, list(order)]
    return flat.reshape(len(rows), -1)


def test_a_pose_alone_cannot_be_judged_and_says_what_is_missing(doctor: Doctor, honest: Any) -> None:
    """Without this, a broken engine that logs too little would pass."""
    diagnosis = doctor(honest.stages, ("y_out",), drive=None, network=None)
    assert (diagnosis.verdict, diagnosis.exit_code) == ("undetermined", 2)
    (stage,) = diagnosis.stages
    assert stage.ok is None
    assert stage.needs is not None
    assert "record next6d" in stage.needs
    assert "--clip" in stage.needs


SWAPPED = (*range(7), 30, *range(8, 30), 7, *range(31, BONES))
SHUFFLED = tuple(np.random.default_rng(11).permutation(BONES).tolist())


@pytest.mark.parametrize(("order", "stage"), [(SWAPPED, "quat"), (SHUFFLED, "y_out")], ids=["two", "any"])
def test_bones_in_another_order_are_matched(doctor: Doctor, honest: Any, order: tuple[int, ...], stage: str) -> None:
    """The engine's bone table comes from another asset than the exporter's: poses are right, on the wrong bones."""
    six = permuted(honest.stages["y_out"], order, 6)
    stages = {**honest.stages, "y_out": six, "quat": permuted(honest.stages["quat"], order, 4)}
    if stage == "quat":
        del stages["y_out"]
    diagnosis = doctor(stages)
    assert diagnosis.verdict == "explained"
    assert diagnosis.causes[0].changes == {"bone_order": order}


def test_one_honest_frame_agrees(doctor: Doctor, honest: Any) -> None:
    """Frame 0 has no earlier frames for lags and histories; a correct recording of it must still agree.

    What follows the last recorded frame nobody can judge, so a recording that holds it is not said to agree.
    """
    first = {name: rows[:1] for name, rows in honest.stages.items()}
    assert doctor({name: rows for name, rows in first.items() if name != "x_raw_next"}).verdict == "agrees"
    assert doctor(first).verdict == "undetermined"


def test_a_nan_is_placed_and_never_explained(doctor: Doctor, honest: Any, scene: Any) -> None:
    """If a convention were blamed, the NaN would come back after the fix; of nothing but NaN no rotation is left to compare."""
    pose = honest.stages["y_out"].copy()
    pose[5:, 6 * scene.contract.numbers.bone_names.index("hand_r") + 2] = np.nan
    nothing = {name: np.full_like(honest.stages[name], np.nan) for name in ("y_norm", "y_raw", "y_out", "quat")}
    for spoilt, place in (({"y_out": pose}, (5, "y_out", "hand_r", None)), (nothing, (0, "y_norm", "pelvis", None))):
        found = doctor({**honest.stages, **spoilt})
        first = found.first_divergence
        assert (found.verdict, found.causes) == ("unexplained", ())
        assert first is not None
        assert (first.frame, first.stage, first.address.bone, first.error) == place


def test_other_statistics_are_no_convention(doctor: Doctor, scene: Any) -> None:
    """A bundle of last week: no knob explains it, and two numbers for each channel say what stands there, not why."""
    numbers = scene.contract.numbers
    own, moved = numbers.state_statistics, np.linspace(-0.25, 0.25, numbers.state.width, dtype=np.float32)
    stale = replace(numbers, state_statistics=Statistics(own.mean + own.std * moved, own.std * (1.5 + moved)))
    diagnosis = doctor(replace(scene, contract=scene.contract.with_numbers(stale)).record().stages)
    assert (diagnosis.verdict, diagnosis.causes) == ("unexplained", ())
    told = [(each.stage, each.kind, each.is_rule, each.frames_left) for each in diagnosis.relations]
    assert told == [("state", "statistics", False, ())]  # held in every frame: "as with other statistics"
    assert diagnosis.first_divergence.stage == "state"


@pytest.mark.parametrize(
    ("frames", "truth"),
    [(slice(0, 6), {"angvel_source": "rotations", "angvel_lag": "+1"}), (slice(4, 10), {"previous_pose_lag": "+1"})],
    ids=["stopped early", "from the middle"],
)
def test_a_recording_of_a_part_looks_ahead_in_the_clip(frames: slice, truth: dict[str, str]) -> None:
    """Recorders are stopped before the clip ends: the frame after the last is in the clip, not a copy of the last."""
    scene = generated_scene("run_turn", frames=14)
    part = {name: rows[frames] for name, rows in scene.record(truth).stages.items()}
    frame = np.arange(14, dtype=np.int64)[frames]
    diagnosis = Doctor(scene)(part, frame=frame)
    assert diagnosis.verdict == "explained"
    assert truth in names(diagnosis)


def test_what_cannot_be_looked_at_explains_nothing(doctor: Doctor, honest: Any) -> None:
    """From the middle of a run a window's z-score cannot be recomputed: it must not become the cause of a broken input."""
    stages = {name: rows[4:] for name, rows in honest.stages.items()}
    stages["cond"] = stages["cond"] + np.float32(0.25)
    stages["angvel"] = stages["angvel"] * np.float32(1.3)
    diagnosis = doctor(stages, drive=None, network=None, frame=np.arange(4, 16, dtype=np.int64))
    assert (diagnosis.verdict, diagnosis.causes) == ("explained", ())
    assert {each.stage for each in diagnosis.relations} == {"cond", "angvel"}
