"""Contacts from forward kinematics, slide and timing."""

from dataclasses import replace

import numpy as np
import pytest

from rigpact.contract.layout import CONTACTS
from rigpact.reference_runtime.recordings.opened import read_trace
from rigpact.reference_runtime.systems.enemy_animation.floor import (
    FloorContacts,
    RootPath,
    contact_flags,
    f1_score,
    feet_positions_cm,
    foot_slide,
)


def test_a_clips_feet_touch_when_its_own_evidence_says_so_and_stand_on_the_floor(demo_subject):
    """Contacts at the wrong time lock a foot in the air. The sole stands 2 cm below the ball joint."""
    rows, scores = demo_subject.rows(), demo_subject.clip.contact_scores
    assert scores is not None
    assert f1_score(contact_flags(rows.poses, demo_subject.contract, rows), scores >= 0.5) > 0.9
    feet = feet_positions_cm(rows.poses, demo_subject.contract, rows)
    assert np.abs(feet[..., 2][scores[: len(feet)] > 0.9] - 2.0).max() < 1.0


def test_both_flags_start_true_and_leave_after_fifty_milliseconds():
    """Without the delay a foot that brushes past toggles each frame."""
    contacts = FloorContacts(100.0)
    lifted = np.array([[0.0, 10.0, 30.0], [0.0, -10.0, 2.0]])
    flags = [contacts.update(lifted, np.zeros(3)) for _ in range(7)]
    assert [bool(pair[0]) for pair in flags] == [True, True, True, True, False, False, False]
    assert [bool(pair[1]) for pair in flags] == [True] * 7


def test_the_roots_path_goes_on_where_the_lap_ended(demo_subject):
    """A jump back to the clip's start would count as metres of foot slide; drift is given for each metre of the way."""
    rows = demo_subject.rows()
    path = RootPath(demo_subject.contract, rows)
    places = np.array([path.at(frame)[0] for frame in range(3 * rows.steps)])
    speed = np.linalg.norm(rows.x_raw[:, 3:5], axis=-1).max()
    assert np.linalg.norm(np.diff(places[:, :2], axis=0), axis=-1).max() <= speed / rows.fps * 1.001
    walked, frames = rows.x_raw.copy(), 2 * rows.steps + 7
    walked[:, 3:5] = 0.0, 1.5  # 1.5 m/s along y, exact; each step is a difference of places up to the whole way
    found = RootPath(demo_subject.contract, replace(rows, x_raw=walked)).distance_m(frames)
    assert found == pytest.approx(1.5 * frames / rows.fps, rel=16 * frames * np.finfo(np.float64).eps)


def test_slide_and_f1_by_hand():
    """Two steps of 3 and 4 cm while touching, one of 100 while not; 2 hits, 1 missed, 1 too many."""
    feet = np.zeros((5, 2, 3))
    feet[:, 0, 0] = [0.0, 3.0, 3.0, 103.0, 103.0]
    feet[:, 0, 1] = [0.0, 0.0, 4.0, 4.0, 4.0]
    flags = np.array([[1, 1], [1, 1], [1, 1], [0, 1], [0, 1]], float)
    assert foot_slide(feet, flags) == (7.0, 7.0, 5.0)
    assert f1_score(np.array([1, 1, 1, 0, 0]), np.array([1, 1, 0, 1, 0])) == pytest.approx(2 * 2 / (3 + 3))


def test_floor_contacts_are_whitened_into_the_slice_that_the_schema_has(demo_subject):
    """A flag of 1 where training saw z-scores is an input that it never saw; without the option contacts are the clip's."""
    contract, scores = demo_subject.contract, demo_subject.clip.contact_scores
    place, statistics = contract.numbers.state[CONTACTS].range, contract.numbers.state_statistics
    loop, plain = replace(demo_subject, on_floor=True).start(), demo_subject.start()
    for frame in range(20):
        stages = loop.step()
        flags = stages["x_raw"][place]
        assert set(flags.tolist()) <= {0.0, 1.0}
        expected = (flags - statistics.mean[place]) / np.maximum(np.abs(statistics.std[place]), 1e-6)
        assert stages["contacts"] == pytest.approx(expected, rel=1e-6)
        assert np.array_equal(plain.step()["contacts"], scores[frame])


def test_run_takes_contacts_from_the_floor_only_when_asked(command, demo_bundle, tmp_path):
    """A trace that is meant for a diff must say what the engine did, not what it could have done."""
    files = {"--contract": "norm_template.json", "--companion": "pretrain_template.json", "--onnx": "model.onnx"}
    words = ["run", *(word for option, name in files.items() for word in (option, demo_bundle / name)), "--frames", 10]
    words += [demo_bundle / "clips" / "Sneak_Turn.json"]
    traces = []
    for name, more in (("plain", ()), ("floor", ("--floor-contacts",))):
        out = tmp_path / f"{name}.trace.jsonl"
        assert command(*words, "--mode", "free", *more, "-o", out).status == 0
        traces.append(read_trace(out).stages["contacts"])
    assert not np.array_equal(*traces)
    assert command(*words, "--mode", "teacher", "--floor-contacts", "-o", tmp_path / "t.trace.jsonl").status == 2
