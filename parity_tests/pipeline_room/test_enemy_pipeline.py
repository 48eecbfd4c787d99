"""What holds for every contract of the enemy animation: drawn bones, slices, history, statistics, clips and conventions."""

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from rigpact.contract.errors import UnusableInput
from rigpact.contract.layout import ROTATIONS
from rigpact.contract.pages.registry import find_system
from rigpact.reference_runtime import ReplayNetwork, open_run, run_frames
from rigpact.reference_runtime.files.run import Crowd
from rigpact.reference_runtime.graph.bounds import stage_tolerances
from rigpact.reference_runtime.graph.native_plan import NativeFrames
from rigpact.reference_runtime.native.library import library
from rigpact.reference_runtime.recordings.clip import RawClip
from rigpact.reference_runtime.systems.enemy_animation.runs import clip_rows, free_frames

from .drawn import FRAMES, Case, cases, each_profile, for_all

KNOBS = find_system("enemy_animation").knobs

U = 2.0**-24
"""Half the distance from one float32 to the next, relative."""
INPUT_STAGES = ("x_raw", "state", "cond", "contacts", "angvel", "pose_hist")
ROTATION_KNOBS = (
    "rot6d_columns", "compose_order", "delta_direction", "denorm", "mirror", "quaternion_order", "math",
)  # fmt: skip
INPUT_KNOBS = (
    "rootvel_squash", "angvel_squash", "yaw_encoding", "pose_history_order", "pose_history_phase", "pose_history_norm",
    "pose_history_start", "condition_norm", "angvel_source", "angvel_angle", "angvel_frame",
    "writeback",
)  # fmt: skip


def ran(case: Case, mode: str, clip: RawClip | None = None, **conventions: Any) -> dict[str, Any]:
    """The stages of a run with the drawn answers, each (T, width)."""
    contract = case.contract.with_conventions(conventions)
    with np.errstate(all="ignore"):
        run = open_run(contract, ReplayNetwork(case.y_norm), clip or case.clip, mode, engine="numpy")
        return run_frames(run, range(FRAMES), None, mode).stages


def same_bits(ours: Any, theirs: Any, name: str) -> None:
    assert ours.tobytes() == theirs.tobytes(), name


@each_profile
def test_a_perfect_answer_reproduces_the_next_state(examples: int) -> None:
    """With a perfect network the free run must be the clip; what the write-back loses, no training brings back.

    Bound: normalising and denormalising the pose rounds three times, each by u of |p - mu| <= 2, and float32 stores |p| <= 1;
    Gram-Schmidt doubles what is off, each frame once: 32u.
    """

    def holds(case: Case) -> None:
        statistics = case.contract.numbers.output_statistics
        place = case.contract.numbers.output[ROTATIONS].range
        target = case.clip.rotations6d[1 : FRAMES + 1].astype(np.float64)
        answers = ((target - statistics.mean[place]) / statistics.std[place]).astype(np.float32)
        perfect = replace(case, y_norm=np.ascontiguousarray(answers))
        stages = ran(perfect, "free", output_mode="absolute")
        pose = case.contract.numbers.state[ROTATIONS].range
        following = stages["x_raw"][1:, pose] - case.clip.rotations6d[1:FRAMES]
        assert np.abs(following).max() <= 32 * U
        assert np.abs(stages["y_out"][:, place] - target).max() <= 32 * U

    for_all(cases(), examples, holds)


@each_profile
@pytest.mark.parametrize("mode", ["teacher", "free"])
def test_the_next_frame_changes_no_input_of_this_one(mode: str, examples: int) -> None:
    """A runtime cannot look ahead. A reference that does agrees with no engine, or worse: with a recording only."""

    def holds(drawn: tuple[Case, int]) -> None:
        case, now = drawn
        later = {
            each.name: _changed_after(rows, now)
            for each in fields(case.clip)
            if isinstance(rows := getattr(case.clip, each.name), np.ndarray)
        }
        answers = replace(case, y_norm=_changed_after(case.y_norm, now - 1))
        conventions = case.contract.conventions
        ahead = {"angvel_source": "rotations", "pose_history_start": "first_target"}  # these look ahead, on purpose
        changes = {
            name: KNOBS[name].default if conventions[name] == value else conventions[name]
            for name, value in ahead.items()
        }
        one, other = ran(case, mode, **changes), ran(answers, mode, clip=replace(case.clip, **later), **changes)
        for name in INPUT_STAGES:
            if name in one:
                same_bits(one[name][: now + 1], other[name][: now + 1], f"{name} up to frame {now}")

    for_all(st.tuples(cases(knobs=INPUT_KNOBS), st.integers(0, FRAMES - 1)), examples, holds)


def _changed_after(rows: Any, now: int) -> Any:
    """The rows, with others after a frame."""
    made = rows.copy()
    made[now + 1 :] = np.roll(made[now + 1 :], 1, axis=-1) + np.float32(0.25)
    return made


@each_profile
def test_a_clip_in_one_go_is_its_frames(examples: int) -> None:
    """The batch is what the gate judges, the frames are what a game runs: given the same answers, not one bit may differ."""

    def holds(case: Case) -> None:
        run = open_run(case.contract, ReplayNetwork(case.y_norm), _cut(case.clip), "teacher")
        with np.errstate(all="ignore"):
            steps = [run.step() for _ in range(FRAMES)]
        for name, rows in ran(case, "teacher", clip=_cut(case.clip)).items():
            same_bits(np.stack([step[name] for step in steps]), rows, name)

    for_all(cases(knobs=ROTATION_KNOBS + INPUT_KNOBS), examples, holds)


def _cut(clip: RawClip) -> RawClip:
    """The clip with as many steps as there are answers."""
    rows = {each.name: getattr(clip, each.name) for each in fields(clip)}
    return replace(clip, **{name: each[: FRAMES + 1] for name, each in rows.items() if isinstance(each, np.ndarray)})


@each_profile
def test_the_compiled_loop_is_the_loop_to_rounding(examples: int) -> None:
    """The loop that engines include reads a contract differently from the one that judges them."""
    try:
        library()
    except UnusableInput as error:
        pytest.skip(error.one_line())

    def holds(case: Case) -> None:
        expected = ran(case, "free")
        with np.errstate(all="ignore"):
            starts = clip_rows(case.clip, case.contract).x_raw[:1]
            found = _native(case, starts).step()
            bounds = stage_tolerances(
                case.contract, {name: rows[:1] for name, rows in expected.items()}, given=("y_norm",), mode="free"
            )
        for name, rows in expected.items():
            ours, theirs = found[name][0].astype(np.float64), rows[0].astype(np.float64)
            if name == "quat":  # q and -q are one rotation
                theirs = theirs.reshape(-1, 4)
                theirs = (theirs * np.where((theirs * ours.reshape(-1, 4)).sum(-1) < 0, -1.0, 1.0)[:, None]).ravel()
            assert (np.abs(ours - theirs) - bounds[name][0]).max() <= 0.0, name

    for_all(cases(knobs=(*ROTATION_KNOBS, *INPUT_KNOBS)), examples, holds)


def _native(case: Case, starts: Any) -> Any:
    rows = clip_rows(case.clip, case.contract)
    return Crowd(free_frames(case.contract, ReplayNetwork(case.y_norm), [rows], starts, kind=NativeFrames))
