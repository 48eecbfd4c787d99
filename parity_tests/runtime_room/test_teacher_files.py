"""Teacher files as drivers of the loop and as recordings: rows are used as they are, poses come back from z-scores."""

import json
from dataclasses import replace

import numpy as np
import pytest

from rigpact.contract.errors import UnusableInput
from rigpact.reference_runtime import ReplayNetwork, open_run, read_clip, read_recording, run_frames, write_trace
from rigpact.reference_runtime.graph.bounds import stage_tolerances
from rigpact.reference_runtime.recordings.clip import RecordedInputs, recorded_poses
from rigpact.reference_runtime.recordings.prediction import write_prediction
from rigpact.reference_runtime.systems.enemy_animation.ground_contacts import FeetInWorld

from . import scalar_oracle as oracle
from . import tiny_character as tiny

STORE = 2.0**-24
OUTPUTS = np.array([tiny.wave(18, 0.1, 1.2, 0.9 * frame) for frame in range(8)], np.float32)
STEPS = 6


class Session:
    """A clip, the run over it, and the teacher file that was written of it."""

    def __init__(self, folder):
        self.folder, self.contract, self.clip = folder, tiny.contract(folder), tiny.clip(folder)
        self.trace = self.run(self.clip)
        self.path = folder / "Walk_prediction.json"
        last = self.clip.rotations6d[-1]
        write_prediction(self.trace, self.contract, self.path, model="m", source="Walk.json", last_target=last)

    def run(self, clip, mode="teacher", frames=STEPS, **conventions):
        contract = self.contract.with_conventions(conventions)
        runner = open_run(contract, ReplayNetwork(OUTPUTS), clip, mode, engine="numpy")
        return run_frames(runner, range(frames), "Walk", mode)

    def changed(self, **changes):
        document = json.loads(self.path.read_text()) | changes
        path = self.folder / "changed.json"
        path.write_text(json.dumps(document))
        return path


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    return Session(tmp_path_factory.mktemp("teacher"))


def test_recorded_rows_are_used_bit_for_bit(session):
    """The engine feeds a teacher's rows unchanged: recomputing them would hide that they are wrong."""
    got = session.run(read_clip(session.path)).stages
    for name in ("state", "cond", "contacts", "angvel", "pose_hist", "y_norm", "y_raw", "delta6d"):
        np.testing.assert_array_equal(got[name], session.trace.stages[name], err_msg=name)
    assert "pose_hist_raw" not in got


def test_poses_of_a_teacher_file_come_back_from_its_states(session):
    """The delta is applied to them: a pose that is off turns every prediction."""
    got, want = session.run(read_clip(session.path)).stages, session.trace.stages
    bounds = stage_tolerances(
        session.contract, {name: want[name] for name in ("y_norm", "y_raw", "delta6d", "next6d", "y_out")}
    )
    # the pose went through a z-score: u |z| std and u |pose| more than stored once
    limit = bounds["y_out"] + 8 * STORE
    assert (np.abs(got["y_out"] - want["y_out"]) <= limit).all()


def test_auxiliary_rows_are_found_at_the_root_too(session):
    """The rollout tool writes them there; `teacher` is where the engine looks, and it wins."""
    document = json.loads(session.path.read_text())
    auxiliary = document["teacher"].pop("aux_inputs")
    read = read_clip(session.changed(teacher=document["teacher"]))
    np.testing.assert_array_equal(read.angvel_norm, np.array(auxiliary["angvel_norm"], np.float32))
    other = {name: (np.array(rows) + 1.0).tolist() for name, rows in auxiliary.items()}
    both = read_clip(session.changed(aux_inputs=other))
    np.testing.assert_array_equal(both.contacts, np.array(auxiliary["contacts"], np.float32))


@pytest.mark.parametrize(("name", "rows"), [("cond", [[0.0] * 7] * 5), ("cond", [[0.0] * 7] * 5 + [[0.0] * 6])])
def test_rows_that_do_not_pair_up_are_refused(session, name, rows):
    """The engine skips or zero-fills them: from there on every row is driven by its neighbour's intent."""
    teacher = json.loads(session.path.read_text())["teacher"]
    with pytest.raises(UnusableInput, match="cond"):
        read_clip(session.changed(teacher=teacher | {name: rows}))


def test_playback_of_a_prediction_shows_its_poses(session):
    """`y_raw` of a prediction is the pose, not the network's output."""
    got = session.run(read_clip(session.path), "playback", STEPS + 1).stages["y_out"]
    want = session.trace.stages["y_out"]
    np.testing.assert_allclose(got, np.concatenate((want, want[:1])), rtol=0, atol=8 * STORE)


def test_free_run_from_a_teacher_file_starts_at_its_first_state(session):
    """`ResetARState` seeds from a clip or from a teacher file: the same frame either way."""
    clip, file = (session.run(driver, "free", 4).stages for driver in (session.clip, read_clip(session.path)))
    np.testing.assert_allclose(file["x_raw"][0], clip["x_raw"][0], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(file["y_out"], clip["y_out"], rtol=0, atol=400 * STORE)


def test_teacher_file_of_one_row_is_refused_where_a_target_is_needed(session):
    """A seed pose saved as a teacher file has no next frame to leak."""
    document = json.loads(session.path.read_text())
    teacher = {"state_norm": document["teacher"]["state_norm"][:1], "cond": document["teacher"]["cond"][:1]}
    path = session.changed(teacher=teacher, aux_inputs=None, prediction={}, num_pairs=1)
    with pytest.raises(UnusableInput):
        session.run(read_clip(path), "free", 2, previous_pose_lag="+1")


# --- as recordings ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["clip", "prediction", "trace"])
def test_recording_of_any_kind_pairs_each_frame_with_the_next_pose(session, kind):
    """Row t is judged against the pose of frame t + 1; against its own it would be copy-last."""
    paths = {"clip": session.clip.path, "prediction": session.path, "trace": session.folder / "r.trace.jsonl"}
    write_trace(session.trace, paths["trace"])
    recording = read_recording(paths[kind], session.contract)
    pose = [[x for rotation in tiny.pose(frame) for x in oracle.encode_xz(rotation)] for frame in range(7)]
    rows = STEPS if kind == "clip" else STEPS - 1  # only the clip itself knows the pose after its last step
    limit = 16 * STORE  # stored once, and through a z-score for the prediction
    frames = np.arange(len(recording.trace.frame))
    targets = recording.targets_at(frames)
    np.testing.assert_allclose(targets[:rows], pose[1 : rows + 1], rtol=0, atol=limit)
    np.testing.assert_allclose(recording.copied_at(frames), pose[:STEPS], rtol=0, atol=limit)
    if kind != "clip":
        assert np.isnan(targets[-1]).all()
        np.testing.assert_allclose(recording.trace.stages["y_out"], session.trace.stages["y_out"], rtol=0, atol=limit)


def test_gap_in_a_trace_has_no_target(session):
    """The frame after a gap is not the next one: pairing them would measure the gap."""
    kept = np.array([0, 1, 3, 4])
    stages = {name: rows[kept] for name, rows in session.trace.stages.items()}
    trace = replace(session.trace, frame=session.trace.frame[kept], time_s=session.trace.time_s[kept], stages=stages)
    write_trace(trace, session.folder / "gap.trace.safetensors")
    recording = read_recording(session.folder / "gap.trace.safetensors", session.contract)
    assert np.isnan(recording.targets_at(np.arange(4))).all(axis=1).tolist() == [False, True, False, True]


# --- what cannot be a clip --------------------------------------------------------------------------------------------


def damaged(session, edit):
    """The tiny clip with one damage, as a recording under its contract."""
    document = tiny.clip_document()
    edit(document)
    path = session.folder / "damaged.json"
    path.write_text(json.dumps(document))
    return path


def nothing_but(count):
    return lambda document: document.__setitem__("Frames", document["Frames"][:count])


def each_frame(edit):
    return lambda document: [edit(frame) for frame in document["Frames"]]


def one_bone_less(frame):
    del frame["BoneRotations"][-1], frame["BoneAngularVelocities"][-1]


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (nothing_but(0), "found no frames, expected a list of frames"),
        (lambda document: document.__setitem__("Frames", {}), "found no frames, expected a list of frames"),
        (nothing_but(1), "found one frame, expected at least two"),
        (each_frame(lambda frame: frame.__setitem__("BoneRotations", [])), "found no bones"),
        (each_frame(one_bone_less), "found 2 bones, expected 3"),
        (each_frame(lambda frame: frame["BoneRotations"].pop()), "found 3 × 3 numbers, expected 2 × 3 numbers"),
        (each_frame(lambda frame: frame["RootPosition"].pop()), "RootPosition"),
    ],
)
def test_a_clip_that_holds_no_motion_of_this_character_is_refused(session, edit, words):
    """Frames of another character, or none: a comparison with them would be one of air."""
    with pytest.raises(UnusableInput, match=words):
        read_recording(damaged(session, edit), session.contract)


def test_a_clip_without_evidence_of_its_feet_has_no_scores(session):
    """Contacts that nobody recorded must stay unknown; zeros would say that both feet are in the air."""
    assert session.clip.contact_scores is not None
    read = read_clip(damaged(session, each_frame(lambda frame: frame.pop("FootEvidence"))))
    assert read.contact_scores is None
    with_contacts = tiny.contract(session.folder, tiny.bundle(contacts=True))
    with pytest.raises(UnusableInput, match="no data for the state slice Contacts"):
        read.state_rows(with_contacts.numbers.state)
    with pytest.raises(UnusableInput, match=r"found 12 numbers for BoneRotations6D, expected 18"):
        read_clip(damaged(session, each_frame(one_bone_less))).state_rows(session.contract.numbers.state)


def test_a_teacher_file_that_drives_nothing_is_refused(session):
    """Rows without their condition say what the network saw, and not what it was asked for."""
    teacher = json.loads(session.path.read_text())["teacher"]
    without = {name: rows for name, rows in teacher.items() if name != "cond"}
    with pytest.raises(UnusableInput, match="no cond"):
        read_clip(session.changed(teacher=without))
    narrow = teacher | {"state_norm": [row[:-1] for row in teacher["state_norm"]]}
    with pytest.raises(UnusableInput, match="found 32 numbers, expected 33"):
        read_recording(session.changed(teacher=narrow), session.contract)


def test_a_recording_without_poses_has_no_next_pose(session):
    """An answer of the network alone cannot be held against the clip; zeros would be a pose of broken bones."""
    only = {"y_norm": session.trace.stages["y_norm"]}
    path = session.folder / "answers.trace.safetensors"
    write_trace(replace(session.trace, stages=only), path)
    recording = read_recording(path, session.contract)
    for ask in (recording.targets_at, recording.copied_at):
        with pytest.raises(UnusableInput, match="no poses of the clip"):
            ask(np.arange(2))


def test_what_holds_no_poses_is_not_played_back(session):
    """Playback of nothing is a character that stands still, and looks like a run."""
    stages = session.trace.stages
    driven = [stages[name] for name in ("x_raw", "cond_raw", "contacts")]
    for published in (None, stages["y_out"]):
        recorded = RecordedInputs(session.path, 30.0, *driven, y_out=published)
        if published is None:
            with pytest.raises(UnusableInput, match="no y_out"):
                recorded_poses(recorded, session.contract)
        else:
            assert recorded_poses(recorded, session.contract) is published
    document = json.loads(session.path.read_text())
    teacher = {name: document["teacher"][name] for name in ("state_norm", "cond")}
    bare = session.changed(teacher=teacher, prediction={}, aux_inputs=None)
    with pytest.raises(UnusableInput, match="no prediction and no target_norm"):
        recorded_poses(read_clip(bare), session.contract)


def test_feet_need_a_skeleton_that_has_them(session):
    """Contacts of a character without feet would be those of another one."""
    with pytest.raises(UnusableInput, match="no skeleton with ball_l and ball_r"):
        FeetInWorld(session.contract)
