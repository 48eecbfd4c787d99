"""What a file is as a recording: its stages, poses, bones; teacher files, written, read back and driving. Numbers are by hand."""

import json
import math
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from rigpact import reference_runtime as runtime
from rigpact.contract.bundle import load_contract
from rigpact.contract.character import character_of
from rigpact.contract.errors import UnusableInput, shown
from rigpact.reference_runtime.recordings import recording
from rigpact.reference_runtime.recordings.clip import RecordedInputs, recorded_poses, write_prediction
from rigpact.reference_runtime.recordings.recording import read_recording
from rigpact.reference_runtime.recordings.trace import Trace
from rigpact.reference_runtime.systems.enemy_animation.floor import FeetInWorld

from ..every_case import every_case
from . import scalar_oracle as oracle
from . import tiny_character as tiny
from .trace_files import lines, refused

STORE, STEPS = 2.0**-24, 6
OUTPUTS = np.array([tiny.wave(18, 0.1, 1.2, 0.9 * frame) for frame in range(8)], np.float32)
POSES = [[x for rotation in tiny.pose(frame) for x in oracle.encode_xz(rotation)] for frame in range(7)]


def trace(mode="free", frames=(0, 1), bones=None, system=None, **stages):
    numbers = np.array(frames)
    rows = {name: np.asarray(values, np.float32) for name, values in stages.items()}
    return Trace(runtime.TraceHeader(60.0, mode, bones=bones, system=system), numbers, numbers / 60.0, rows)


def saved(folder, held, name="run.trace.jsonl"):
    runtime.write_trace(held, folder / name)
    return folder / name


def held_by(stages, **more):
    return recording.Recording("x", "trace", trace(**stages), frozenset(), **more)


def numbers(*shape):
    """0, 1, 2, …"""
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


class Session:
    """A clip, the run over it, and the teacher file that was written of it."""

    def __init__(self, folder):
        self.folder, self.contract, self.clip = folder, tiny.contract(folder), tiny.clip(folder)
        self.trace, self.path = self.run(self.clip), folder / "Walk_prediction.json"
        self.document = self.written(self.trace, self.clip.rotations6d[-1])

    def run(self, clip, mode="teacher", frames=STEPS, **conventions):
        contract = self.contract.with_conventions(conventions)
        return runtime.run_frames(
            runtime.open_run(contract, runtime.ReplayNetwork(OUTPUTS), clip, mode, engine="numpy"),
            range(frames),
            "Walk",
            mode,
        )

    def written(self, held, last, name="Walk_prediction.json"):
        write_prediction(held, self.contract, self.folder / name, model="m.onnx", source="Walk.json", last_target=last)
        return json.loads((self.folder / name).read_text())

    def changed(self, **changes):
        return lines(self.folder / "changed.json", self.document | changes)


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    return Session(tmp_path_factory.mktemp("teacher"))


def test_a_prediction_describes_the_run_and_is_read_back(session):
    """The training side's loader trusts its counts; auxiliary inputs stand where the rollout tool and where the engine looks."""
    document, stages = session.document, session.trace.stages
    assert document["num_pairs"] == STEPS == len(document["teacher"]["state_norm"])
    assert document["dims"] == {"Dx": 33, "Dy": 18, "Dc": 7, "contacts": 2, "angvel": 9, "pose_hist": 54}
    assert document["layouts"] == {"state": tiny.layout(tiny.WIDTHS), "output": tiny.layout({"BoneRotations6D": 18})}
    said = {"fps": tiny.FPS, "clip": "Walk", "model": "m.onnx", "source_json": "Walk.json"}
    assert {name: document[name] for name in said} == said
    assert document["aux_inputs"] == document["teacher"]["aux_inputs"]
    back = runtime.read_clip(session.path)
    assert isinstance(back, runtime.TeacherFile)
    for name, stage in (("state_norm", "state"), ("cond", "cond"), ("contacts", "contacts"), ("angvel_norm", "angvel"),
                        ("pose_hist_norm", "pose_hist"), ("y_raw", "y_out")):  # fmt: skip
        np.testing.assert_array_equal(getattr(back, name), stages[stage], err_msg=name)
    # y_norm is the pose, not the network's output: stored once, the product is off by u |y_norm| std
    y_norm = np.array(document["prediction"]["y_norm"])
    std, mean = (np.array(tiny.bundle()[name], np.float32).astype(float) for name in ("StdY", "MuY"))
    limit = 2 * STORE * (np.abs(y_norm * std) + np.abs(mean))
    assert (np.abs(y_norm * std + mean - stages["y_out"]) <= limit).all()


def test_diagnostics_are_rederived_from_the_clip(session):
    """The score on the pull request: against the next frame, in degrees, beside holding the pose."""
    std = np.array(tiny.bundle()["StdY"], np.float32).tolist()
    totals = {name: [] for name in ("MSEnormY", "GeoDeg", "CopyLastMSEnormY", "CopyLastGeoDeg")}
    for row in range(STEPS):
        target = POSES[row + 1]
        for prefix, guess in (("", session.trace.stages["y_out"][row].tolist()), ("CopyLast", POSES[row])):
            totals[f"{prefix}MSEnormY"] += [((g - t) / s) ** 2 for g, t, s in zip(guess, target, std, strict=True)]
            for start in range(0, 18, 6):
                a, b = (oracle.decode_xz(flat[start : start + 6]) for flat in (guess, target))
                totals[f"{prefix}GeoDeg"].append(math.degrees(oracle.angle_between(a, b)))
    # differences of stored entries, u each, over a mean of angles and of squares near 1
    expected = {name: math.fsum(values) / len(values) for name, values in totals.items()}
    assert {name: session.document["diagnostics"][name] for name in totals} == pytest.approx(expected, rel=1e-5)


def cut(held, frames):
    stages = {name: rows[frames] for name, rows in held.stages.items()}
    return replace(held, frame=held.frame[frames], time_s=held.time_s[frames], stages=stages)


def test_rows_without_a_target_are_not_scored(session):
    """A made-up target would flatter the last prediction, and 0 would be the best score there is."""
    own = session.written(session.trace, None, "p.json")["diagnostics"]
    shorter = session.written(cut(session.trace, slice(0, STEPS - 1)), session.clip.rotations6d[STEPS - 1], "p.json")[
        "diagnostics"
    ]
    assert own == pytest.approx(shorter, rel=1e-12)
    assert set(session.written(cut(session.trace, slice(0, 1)), None, "p.json")["diagnostics"].values()) == {None}


@every_case("mode", ["free", "playback"])
def test_run_of_another_mode_or_without_inputs_is_no_prediction(session, mode):
    """Its rows would pair states and targets that do not belong together."""
    held = session.run(session.clip, mode)
    without = replace(held, header=replace(held.header, mode="teacher"), stages={"y_out": held.stages["y_out"]})
    missing = " without x_raw, state, cond, contacts, angvel, pose_hist"
    for each, found in ((held, f"a {mode} run" + missing * (mode == "playback")), (without, f"a teacher run{missing}")):
        assert refused(lambda of: session.written(of, None, "none.json"), each)[1].startswith(found)
    assert not (session.folder / "none.json").exists()


def test_a_teacher_file_drives_the_loop_as_the_clip_did(session):
    """The engine feeds a teacher's rows unchanged: recomputing them would hide that they are wrong."""
    file, stages = runtime.read_clip(session.path), session.trace.stages
    got = session.run(file).stages
    for name in ("state", "cond", "contacts", "angvel", "pose_hist", "y_norm", "y_raw", "delta6d"):
        np.testing.assert_array_equal(got[name], stages[name], err_msg=name)
    assert "pose_hist_raw" not in got
    # the pose went through a z-score, u |z| std and u |pose|, and a composition of 60 roundings
    np.testing.assert_allclose(got["y_out"], stages["y_out"], rtol=0, atol=100 * STORE)
    played = session.run(file, "playback", STEPS + 1).stages["y_out"]  # `y_raw` of a prediction is the pose
    np.testing.assert_allclose(played, np.concatenate((stages["y_out"], stages["y_out"][:1])), rtol=0, atol=8 * STORE)
    of_clip, of_file = (session.run(driver, "free", 4).stages for driver in (session.clip, file))
    np.testing.assert_allclose(of_file["x_raw"][0], of_clip["x_raw"][0], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(of_file["y_out"], of_clip["y_out"], rtol=0, atol=400 * STORE)


def test_what_holds_no_poses_is_not_played_back_and_one_row_has_no_next_frame(session):
    """Playback of nothing is a character that stands still, and looks like a run."""
    stages, teacher = session.trace.stages, session.document["teacher"]
    driven = [stages[name] for name in ("x_raw", "cond_raw", "contacts")]
    assert refused(recorded_poses, RecordedInputs(session.path, 30.0, *driven, y_out=None), session.contract)
    assert (
        recorded_poses(RecordedInputs(session.path, 30.0, *driven, y_out=stages["y_out"]), session.contract)
        is stages["y_out"]
    )
    bare = {"prediction": {}, "aux_inputs": None}
    path = session.changed(teacher={name: teacher[name] for name in ("state_norm", "cond")}, **bare)
    assert refused(recorded_poses, runtime.read_clip(path), session.contract)[1] == "no prediction and no target_norm"
    path = session.changed(teacher={name: teacher[name][:1] for name in ("state_norm", "cond")}, num_pairs=1, **bare)
    assert refused(lambda: session.run(runtime.read_clip(path), "free", 2, previous_pose_lag="+1"))
    assert refused(FeetInWorld, session.contract)[1] == "no skeleton with ball_l and ball_r"


@every_case(("kind", "known"), [("clip", STEPS), ("prediction", STEPS - 1), ("trace", STEPS - 1)])
def test_recording_of_any_kind_pairs_each_frame_with_the_next_pose(session, kind, known):
    """Row t is judged against the pose of frame t + 1; against its own it would be copy-last. Only a clip knows the last."""
    path = {"clip": session.clip.path, "prediction": session.path}.get(kind) or saved(session.folder, session.trace)
    held, limit = (
        read_recording(path, session.contract),
        16 * STORE,
    )  # stored once, and through a z-score for the prediction
    frames = np.arange(len(held.trace.frame))
    targets = held.targets_at(frames)
    np.testing.assert_allclose(targets[:known], POSES[1 : known + 1], rtol=0, atol=limit)
    np.testing.assert_allclose(held.copied_at(frames), POSES[:STEPS], rtol=0, atol=limit)
    assert np.isnan(targets[known:]).all()
    y_out = POSES[1:] if kind == "clip" else session.trace.stages["y_out"]
    np.testing.assert_allclose(held.trace.stages["y_out"], y_out, rtol=0, atol=limit)


def test_a_clip_is_the_answer_that_it_asks_for(session):
    """Row t answers the input of frame t, so it is the pose of frame t + 1; with a contract the inputs are there too."""
    for held, names in (
        (read_recording(session.clip.path), {"y_out"}),
        (read_recording(session.clip.path, session.contract), {"x_raw", "y_out"}),
    ):
        assert (held.is_the_clip, held.is_of_training, held.bone_names) == (True, False, None)
        header = held.trace.header
        assert (header.fps, header.mode, header.clip, header.producer) == (30.0, "teacher", "Walk", "Walk.json")
        assert (held.trace.frame.tolist(), held.trace.time_s.tolist()) == ([*range(6)], [k / 30.0 for k in range(6)])
        assert (held.possible, set(held.trace.stages)) == (names, names)
    np.testing.assert_array_equal(held.trace.stages["x_raw"][:, 6:24], np.array(POSES[:6], np.float32))
    np.testing.assert_allclose(held.trace.stages["x_raw"][:, 0], [0.1 * k for k in range(6)], rtol=2 * STORE)


def teacher_file(folder, width=33, **prediction):
    """A teacher file of three steps; its z-scores are 0, 1, -1 in every number of the state."""
    rows = np.array([0.0, 1.0, -1.0])[:, None]
    teacher = {"state_norm": (rows * np.ones(width)).tolist(), "cond": np.zeros((3, 7)).tolist()}
    teacher["aux_inputs"] = {"contacts": (rows * np.ones(2)).tolist()}
    said = {name: (value * np.ones((3, 18))).tolist() for name, value in prediction.items()}
    return lines(folder / "Walk_prediction.json", {"fps": 30, "teacher": teacher, "prediction": said})


@every_case(("prediction", "answer"), [({"y_raw": 0.25}, "raw"), ({"y_norm": 2.0}, "norm"), ({}, None)])
def test_a_teacher_file_is_its_states_restored_and_its_answer(tmp_path, prediction, answer):
    """z · std + mean of the rotations' numbers; `y_norm` holds a pose, which only the contract can restore."""
    contract, document, path = tiny.contract(tmp_path), tiny.bundle(), teacher_file(tmp_path, **prediction)
    alone, held = read_recording(path), read_recording(path, contract)
    mean, std = (np.array(document[name][6:24]) for name in ("MuX", "StdX"))
    np.testing.assert_allclose(held.poses6d, [mean, mean + std, mean - std], rtol=0, atol=4 * STORE)
    assert (held.target_rows.tolist(), held.is_of_training, held.is_the_clip) == ([1, 2, -1], True, False)
    assert held.possible == {"state", "cond", "contacts", "angvel", "pose_hist", "y_out"}
    assert set(held.trace.stages) == {"state", "cond", "contacts"} | ({"y_out"} if answer else set())
    assert (held.trace.stages["contacts"].tolist(), held.title) == ([[0, 0], [1, 1], [-1, -1]], "teacher prediction")
    restored = 2.0 * np.array(document["StdY"]) + np.array(document["MuY"])
    if answer:
        expected = np.tile({"raw": np.full(18, 0.25), "norm": restored}[answer], (3, 1))
        np.testing.assert_allclose(held.trace.stages["y_out"], expected, rtol=0, atol=4 * STORE)
    assert (("y_out" in alone.trace.stages), alone.poses6d) == (answer == "raw", None)


@every_case(
    ("mode", "names", "has_targets"),
    [("teacher", ("x_raw", "y_out"), True), ("free", ("x_raw", "y_out"), False), ("teacher", ("y_out",), False)],
)
def test_the_states_of_a_teacher_driven_trace_are_the_clips_poses(tmp_path, mode, names, has_targets):
    """In a free run they are what the character made of itself: no target for anything."""
    stages = {"x_raw": numbers(4, 33), "y_out": numbers(4, 18)}
    path = saved(tmp_path, trace(mode, (3, 4, 6, 7), **{name: stages[name] for name in names}))
    held = read_recording(path, tiny.contract(tmp_path))
    assert (held.title, held.is_of_training, held.bones, dict(held.whole)) == ("trace", False, (), {})
    assert (held.poses6d is None, read_recording(path).poses6d) == (not has_targets, None)
    if has_targets:
        np.testing.assert_array_equal(held.poses6d, stages["x_raw"][:, 6:24])
        assert held.target_rows.tolist() == [1, -1, 3, -1]


def test_what_needs_a_contract_is_refused_without_it_and_what_is_another_characters(tmp_path):
    """Its stages have other names and other numbers, and only the contract says what columns are."""
    (tmp_path / "run.csv").write_text("q[0],q[1]\n1,2\n", encoding="utf-8")
    for system in ("rig_inversion", "My-Rig"):
        said = refused(read_recording, saved(tmp_path, trace(system=system, mesh=numbers(2, 24))))
        assert said == ("", f"a trace of the system {system}", f"the contract of {system} beside it")
    for system in (None, "enemy_animation"):
        assert set(read_recording(saved(tmp_path, trace(system=system, y_out=numbers(2, 18)))).trace.stages) == {
            "y_out"
        }
    assert refused(read_recording, tmp_path / "run.csv")[:2] == ("--contract", "none")
    assert refused(read_recording, teacher_file(tmp_path, 32, y_raw=0.25), tiny.contract(tmp_path)) == (
        "#/teacher/state_norm/0",
        "32 numbers",
        "33",
    )


def test_a_resolution_is_kept_in_its_words_and_stages_are_those_that_are_named():
    """What is not a resolution is refused before anything is compared; none changes nothing."""
    held = held_by(
        {"cond": numbers(2, 7), "y_out": numbers(2, 12)},
        bones=(0, 2),
        whole={"cond": numbers(2, 7), "y_out": numbers(2, 18)},
    )
    assert held.with_resolution(None) is held
    assert held.with_resolution("4 decimals").trace.resolution == "4 decimals"
    assert refused(held.with_resolution, "many digits")[0] == "--resolution"
    some = recording.with_stages(held, ["y_out"])
    assert (list(some.trace.stages), list(some.whole)) == (["y_out"], ["y_out"])


def _is_rounded(*values: float) -> bool:
    from rigpact.contract.rules.declared_contract import is_rounded

    return is_rounded(np.array(values))


EDGES: dict[str, tuple[Callable[[], Any], Any]] = {
    "the longest word that is shown whole": (lambda: shown("x" * 58), repr("x" * 58)),
    "a word that is one longer": (lambda: shown("x" * 59), "'" + "x" * 59 + "…"),
    "four numbers of three digits": (lambda: _is_rounded(0.251, 0.33, 1.25, 7.0), True),
    "three of them, and zeros and ones": (lambda: _is_rounded(0.251, 0.33, 1.25, 0.0, 1.0, 1.0, 0.0), False),
    "one with all its digits": (lambda: _is_rounded(0.251, 0.33, 1.25, 7.0, 0.123456789), False),
}


@every_case("name", EDGES)
def test_the_edge_is_where_it_is_said(name: str) -> None:
    """A limit that is off by one, or a sign, is the difference between a hint and a wrong one."""
    call, expected = EDGES[name]
    assert call() == expected


@pytest.mark.parametrize("parent", [-1, -2, 99])
def test_a_parent_that_is_no_bone_makes_no_skeleton(parent: int, demo_bundle: Path, tmp_path: Path) -> None:
    """Positions computed with bone -2 as parent are those of another character."""
    document = json.loads((demo_bundle / "norm_template.json").read_text(encoding="utf-8"))
    document["meta"]["skeleton"]["parents"][-1] = parent
    path = tmp_path / "norm_template.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    assert (character_of(load_contract(path)).skeleton is None) is (parent != -1)


@pytest.mark.parametrize(
    ("kind", "size"), [("float32", 12), ("float64", 24), ("float16", 6), ("int32", 12), ("bool", 3)]
)
def test_the_bytes_of_a_weight_are_counted(kind: str, size: int, tmp_path: Path) -> None:
    """A limit on bytes that are counted wrongly refuses a sound model."""
    from rigpact.contract.model.graph import open_model

    weight = numpy_helper.from_array(np.ones(3, kind), "w")
    value = helper.make_tensor_value_info("y", weight.data_type, [3])
    graph = helper.make_graph([helper.make_node("Identity", ["w"], ["y"])], "g", [], [value], [weight])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10), tmp_path / "m.onnx")
    (found,) = open_model(tmp_path / "m.onnx").weights
    assert (found.dtype, found.bytes) == (kind, size)


def test_a_companion_of_a_system_without_one_is_named(demo_bundle: Path, tmp_path: Path) -> None:
    """The error must say which of two files has no place here."""
    from rigpact.contract.compatibility.compare import compare_contracts
    from rigpact.contract.documents import read_document

    page = read_document(demo_bundle.parent / "blender_ik" / "blender_ik.json")
    other = tmp_path / "other.json"
    shutil.copy(demo_bundle / "pretrain_template.json", other)
    companions = read_document(demo_bundle / "pretrain_template.json"), read_document(other)
    with pytest.raises(UnusableInput) as refused:
        compare_contracts(page, page, companions)
    assert refused.value.found == str(other)
