"""Contacts from forward kinematics, slide and timing."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rigpact.contract.layout import CONTACTS
from rigpact.reference_runtime.files.subject import Subject
from rigpact.reference_runtime.recordings.clip import RawClip
from rigpact.reference_runtime.recordings.trace import read_trace
from rigpact.reference_runtime.systems.enemy_animation.ground_contacts import (
    FloorContacts,
    RootPath,
    contact_flags,
    feet_positions_cm,
)
from rigpact.reference_runtime.systems.enemy_animation.investigating.floor import f1_score, foot_slide
from rigpact.reports.command_line import run_command_line


def test_a_clips_feet_touch_when_its_own_evidence_says_so(demo_subject: Subject) -> None:
    """Contacts at the wrong time lock a foot in the air."""
    rows = demo_subject.rows()
    clip = demo_subject.clip
    assert isinstance(clip, RawClip)
    assert clip.contact_scores is not None
    flags = contact_flags(rows.poses, demo_subject.contract, rows)
    assert f1_score(flags, clip.contact_scores >= 0.5) > 0.9


def test_standing_feet_are_on_the_floor_and_do_not_slide(demo_subject: Subject) -> None:
    """The sole stands 2 cm below the ball joint: a foot in contact is there, not in the floor."""
    rows = demo_subject.rows()
    feet = feet_positions_cm(rows.poses, demo_subject.contract, rows)
    clip = demo_subject.clip
    assert isinstance(clip, RawClip)
    assert clip.contact_scores is not None
    standing = clip.contact_scores[: len(feet)] > 0.9
    assert np.abs(feet[..., 2][standing] - 2.0).max() < 1.0


def test_both_flags_start_true_and_leave_after_fifty_milliseconds() -> None:
    """Without the delay a foot that brushes past toggles each frame."""
    contacts = FloorContacts(100.0)
    lifted = np.array([[0.0, 10.0, 30.0], [0.0, -10.0, 2.0]])
    flags = [contacts.update(lifted, np.zeros(3)) for _ in range(7)]
    assert [bool(pair[0]) for pair in flags] == [True, True, True, True, False, False, False]
    assert all(pair[1] for pair in flags)


def test_the_roots_path_goes_on_where_the_lap_ended(demo_subject: Subject) -> None:
    """A jump back to the clip's start would count as metres of foot slide."""
    rows = demo_subject.rows()
    path = RootPath(demo_subject.contract, rows)
    places = np.array([path.at(frame)[0] for frame in range(3 * rows.steps)])
    steps = np.linalg.norm(np.diff(places[:, :2], axis=0), axis=-1)
    speed = np.linalg.norm(rows.x_raw[:, 3:5], axis=-1).max()
    assert steps.max() <= speed / rows.fps * 1.001


def test_the_way_of_a_steady_walk_is_its_speed_times_its_time(demo_subject: Subject) -> None:
    """Drift is given for each metre of it: 1.5 m/s along y, for longer than the clip lasts."""
    rows = demo_subject.rows()
    walked = rows.x_raw.copy()
    walked[:, 3:5] = 0.0, 1.5
    frames = 2 * rows.steps + 7
    found = RootPath(demo_subject.contract, replace(rows, x_raw=walked)).distance_m(frames)
    # 1.5 is exact; each step is a difference of places up to the whole way
    rounding = 16 * frames * np.finfo(np.float64).eps
    assert found == pytest.approx(1.5 * frames / rows.fps, rel=rounding)


def test_slide_is_the_path_of_a_foot_while_it_touches() -> None:
    """Worked by hand: two steps of 3 and 4 cm while touching, one of 100 while not."""
    feet = np.zeros((5, 2, 3))
    feet[:, 0, 0] = [0.0, 3.0, 3.0, 103.0, 103.0]
    feet[:, 0, 1] = [0.0, 0.0, 4.0, 4.0, 4.0]
    flags = np.array([[1, 1], [1, 1], [1, 1], [0, 1], [0, 1]], float)
    total, longest, net = foot_slide(feet, flags)
    assert (total, longest, net) == (7.0, 7.0, 5.0)


def test_f1_counts_hits_misses_and_false_alarms() -> None:
    """By hand: 2 hits, 1 missed, 1 too many."""
    found = np.array([1, 1, 1, 0, 0])
    truth = np.array([1, 1, 0, 1, 0])
    assert f1_score(found, truth) == pytest.approx(2 * 2 / (3 + 3))


def test_floor_contacts_are_whitened_into_the_slice_that_the_schema_has(demo_subject: Subject) -> None:
    """A flag of 1 where training saw z-scores is an input that it never saw."""
    contract = demo_subject.contract
    place = contract.numbers.state[CONTACTS].range
    loop = replace(demo_subject, on_floor=True).start()
    statistics = contract.numbers.state_statistics
    for _ in range(20):
        stages = loop.step()
        flags = stages["x_raw"][place]
        assert set(flags.tolist()) <= {0.0, 1.0}
        expected = (flags - statistics.mean[place]) / np.maximum(np.abs(statistics.std[place]), 1e-6)
        assert stages["contacts"] == pytest.approx(expected, rel=1e-6)


def test_without_the_option_contacts_are_the_clips(demo_subject: Subject) -> None:
    """The default must not change for existing users."""
    clip = demo_subject.clip
    assert isinstance(clip, RawClip)
    assert clip.contact_scores is not None
    loop = demo_subject.start()
    for frame in range(5):
        assert np.array_equal(loop.step()["contacts"], clip.contact_scores[frame])


def test_run_takes_contacts_from_the_floor_only_when_asked(demo_bundle: Path, tmp_path: Path) -> None:
    """A trace that is meant for a diff must say what the engine did, not what it could have done."""
    words = ["run", "--contract", demo_bundle / "norm_template.json"]
    words += ["--companion", demo_bundle / "pretrain_template.json"]
    words += ["--onnx", demo_bundle / "model.onnx", demo_bundle / "clips" / "Sneak_Turn.json"]
    words += ["--mode", "free", "--frames", 10]
    traces = []
    for name, more in (("plain", ()), ("floor", ("--floor-contacts",))):
        out = tmp_path / f"{name}.trace.jsonl"
        assert run_command_line([str(word) for word in (*words, *more, "-o", out)]) == 0
        traces.append(read_trace(out).stages["contacts"])
    assert not np.array_equal(*traces)
    teacher = [*words, "--mode", "teacher", "--floor-contacts", "-o", tmp_path / "t.trace.jsonl"]
    assert run_command_line([str(word) for word in teacher]) == 2
