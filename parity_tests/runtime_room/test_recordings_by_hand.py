"""What a file is as a recording: its stages, its poses, its bones; worked out by hand for a character of three bones."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from rigpact.contract.character import Character
from rigpact.contract.errors import UnusableInput
from rigpact.contract.systems.layout import Field, FieldKind, FieldLayout
from rigpact.reference_runtime import TraceHeader, write_trace
from rigpact.reference_runtime.recordings import recording
from rigpact.reference_runtime.recordings.recording import cut_to, held_stages, read_recording
from rigpact.reference_runtime.recordings.trace_model import Trace

from . import tiny_character as tiny
from .trace_files import lines

STORED = 2.0**-23
"""A float32 next to a number: twice the half unit by which storing moves it."""


def trace(mode="free", frames=(0, 1), bones=None, system=None, **stages):
    numbers = np.array(frames)
    rows = {name: np.asarray(values, np.float32) for name, values in stages.items()}
    return Trace(TraceHeader(60.0, mode, bones=bones, system=system), numbers, numbers / 60.0, rows)


def saved(folder, held, name="run.trace.jsonl"):
    write_trace(held, folder / name)
    return folder / name


def refused(ask, *given):
    with pytest.raises(UnusableInput) as error:
        ask(*given)
    return error.value


def numbers(*shape):
    """0, 1, 2, …"""
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


# --- clips and teacher files ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("frames", "is_refused"), [(1, True), (2, False)])
def test_a_clip_of_one_frame_has_no_pose_after_the_first(tmp_path, frames, is_refused):
    """Nothing compared is not a pass."""
    path = lines(tmp_path / "Walk.json", tiny.clip_document(frames))
    if is_refused:
        with pytest.raises(UnusableInput, match="one frame"):
            recording.read_recording(path, None)
    else:
        assert len(recording.read_recording(path, None).trace.frame) == 1


def test_a_clip_of_other_bones_says_how_many_it_has(tmp_path):
    """Two characters share a folder more often than not."""
    document = tiny.clip_document()
    for each in document["Frames"]:
        each |= {name: 2 * each[name] for name in ("BoneRotations", "BoneAngularVelocities")}
    with pytest.raises(UnusableInput) as refused:
        recording.read_recording(lines(tmp_path / "Walk.json", document), tiny.contract(tmp_path))
    assert (refused.value.found, refused.value.expected) == ("6 bones", "3")


def test_the_bones_of_a_clip_are_those_that_it_names():
    """Bones that are guessed move the wrong limb."""
    names = recording._declared_bones
    assert names({"skeleton": {"bone_names": ["a", 1]}}) == ("a", "1")
    for meta in (None, {}, {"skeleton": 1}, {"skeleton": {}}, {"skeleton": {"bone_names": "ab"}}):
        assert names(meta) is None


def test_the_pose_after_a_row_is_that_of_the_next_frame():
    """Across a gap nobody knows the next pose: the row after it is another moment."""
    assert recording._following(np.array([3, 4, 6, 7, 8])).tolist() == [1, -1, 3, 4, -1]
    poses = np.arange(10, dtype=np.float32).reshape(5, 2)
    trace = SimpleNamespace()
    held = recording.Recording("x", "trace", trace, frozenset(), poses6d=poses, target_rows=np.array([1, -1, 3, 4, 0]))
    np.testing.assert_array_equal(held.targets_at(np.array([0, 1, 4])), [[2, 3], [np.nan, np.nan], [0, 1]])
    np.testing.assert_array_equal(held.copied_at(np.array([0, 4])), [[0, 1], [8, 9]])
    for other in ({"poses6d": poses}, {"target_rows": np.array([1])}, {}):
        with pytest.raises(UnusableInput):
            recording.Recording("x", "trace", trace, frozenset(), **other).targets_at(np.array([0]))


def test_some_bones_of_a_recording_keep_their_own_numbers(tmp_path):
    """An engine that draws two of three bones: the hand must not get the numbers of the foot."""
    contract = tiny.contract(tmp_path)
    poses, numbers = np.arange(36, dtype=np.float32).reshape(2, 18), np.arange(2)
    trace = Trace(TraceHeader(60.0, "free"), numbers, numbers / 60.0, {"y_out": poses})
    held = recording.Recording("x", "trace", trace, frozenset(), poses6d=poses, bone_names=contract.numbers.bone_names)
    two = recording.of_bones(held, contract, (2, 0))
    expected = np.concatenate((poses[:, 12:], poses[:, :6]), axis=1)
    np.testing.assert_array_equal(two.poses6d, expected)
    np.testing.assert_array_equal(two.trace.stages["y_out"], expected)
    assert (two.bones, two.bone_names) == ((2, 0), None)
    one = recording.of_bones(two, contract, (0,))
    np.testing.assert_array_equal(one.poses6d, poses[:, :6])
    assert recording.of_bones(one, contract, (0,)) is one


def test_all_bones_of_a_recording_of_some_are_what_it_holds_of_them():
    """Nothing of all bones is None, and not an empty recording that agrees with everything."""
    numbers, rows = np.arange(2), np.zeros((2, 7), np.float32)
    trace = Trace(TraceHeader(60.0, "free"), numbers, numbers / 60.0, {"cond": rows[:, :3]})
    some = recording.Recording("x", "trace", trace, frozenset(), bones=(1, 2), whole={"cond": rows})
    whole = recording.with_all_bones(some)
    assert (whole.bones, whole.whole, whole.trace.stages["cond"].shape) == ((), {}, (2, 7))
    assert recording.with_all_bones(whole) is None


def test_a_clip_is_the_answer_that_it_asks_for(tmp_path):
    """Row t answers the input of frame t, so it is the pose of frame t + 1; with a contract the inputs are there too."""
    path = lines(tmp_path / "Walk.json", tiny.clip_document(4))
    poses = np.array([frame["BoneRotations"] for frame in tiny.clip_document(4)["Frames"]], np.float32).reshape(4, 18)
    alone, whole = read_recording(path), read_recording(path, tiny.contract(tmp_path))
    for held in (alone, whole):
        assert (held.is_the_clip, held.is_of_training, held.bone_names) == (True, False, None)
        assert held.target_rows.tolist() == [1, 2, 3]
        np.testing.assert_array_equal(held.poses6d, poses)
        np.testing.assert_array_equal(held.trace.stages["y_out"], poses[1:])
        header = held.trace.header
        assert (header.fps, header.mode, header.clip, header.producer) == (30.0, "teacher", "Walk", "Walk.json")
        assert (held.trace.frame.tolist(), held.trace.time_s.tolist()) == ([0, 1, 2], [0.0, 1 / 30.0, 2 / 30.0])
    assert (alone.possible, set(alone.trace.stages)) == ({"y_out"}, {"y_out"})
    assert (whole.possible, set(whole.trace.stages)) == ({"x_raw", "y_out"}, {"x_raw", "y_out"})
    x_raw = whole.trace.stages["x_raw"]
    np.testing.assert_array_equal(x_raw[:, 6:24], poses[:3])
    np.testing.assert_allclose(x_raw[:, 0], [0.0, 0.1, 0.2], rtol=STORED)


def teacher_file(folder, **prediction):
    """A teacher file of three steps; its z-scores are 0, 1, -1 in every number of the state."""
    rows = np.array([0.0, 1.0, -1.0])[:, None]
    document = {
        "fps": 30,
        "teacher": {"state_norm": (rows * np.ones(33)).tolist(), "cond": np.zeros((3, 7)).tolist(),
                    "aux_inputs": {"contacts": (rows * np.ones(2)).tolist()}},
        "prediction": {name: (value * np.ones((3, 18))).tolist() for name, value in prediction.items()},
    }  # fmt: skip
    return lines(folder / "Walk_prediction.json", document)


def test_the_poses_of_a_teacher_file_are_its_states_restored(tmp_path):
    """z · std + mean of the rotations' numbers; the row after the last is not known."""
    contract, document = tiny.contract(tmp_path), tiny.bundle()
    held = read_recording(teacher_file(tmp_path, y_raw=0.25), contract)
    mean, std = (np.array(document[name][6:24]) for name in ("MuX", "StdX"))
    np.testing.assert_allclose(held.poses6d, [mean, mean + std, mean - std], rtol=0, atol=2 * STORED)
    assert (held.target_rows.tolist(), held.is_of_training, held.is_the_clip) == ([1, 2, -1], True, False)
    assert held.possible == {"state", "cond", "contacts", "angvel", "pose_hist", "y_out"}
    assert set(held.trace.stages) == {"state", "cond", "contacts", "y_out"}
    assert (held.trace.stages["contacts"].tolist(), held.title) == ([[0, 0], [1, 1], [-1, -1]], "teacher prediction")


@pytest.mark.parametrize(("prediction", "answer"), [({"y_raw": 0.25}, "raw"), ({"y_norm": 2.0}, "norm"), ({}, None)])
def test_the_answer_of_a_teacher_file_is_its_pose(tmp_path, prediction, answer):
    """`y_norm` holds a pose, which only the contract can restore; without an answer there is none."""
    contract, document, path = tiny.contract(tmp_path), tiny.bundle(), teacher_file(tmp_path, **prediction)
    alone, whole = (read_recording(path, of).trace.stages.get("y_out") for of in (None, contract))
    restored = 2.0 * np.array(document["StdY"]) + np.array(document["MuY"])
    expected = {"raw": np.full(18, 0.25), "norm": restored}.get(answer)
    if expected is None:
        assert whole is None
    else:
        np.testing.assert_allclose(whole, np.tile(expected, (3, 1)), rtol=0, atol=2 * STORED)
    assert (alone is None) is (answer != "raw")
    assert read_recording(path).poses6d is None


def test_a_teacher_file_of_another_state_is_refused(tmp_path):
    """Poses cut out of another layout are another character's."""
    path = teacher_file(tmp_path, y_raw=0.25)
    document = json.loads(path.read_text())
    document["teacher"]["state_norm"] = np.zeros((3, 32)).tolist()
    error = refused(read_recording, lines(path, document), tiny.contract(tmp_path))
    assert error.place.endswith("#/teacher/state_norm/0")
    assert (error.found, error.expected) == ("32 numbers", "33")


# --- traces -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "names", "has_targets"),
    [("teacher", ("x_raw", "y_out"), True), ("free", ("x_raw", "y_out"), False), ("teacher", ("y_out",), False)],
)
def test_the_states_of_a_teacher_driven_trace_are_the_clips_poses(tmp_path, mode, names, has_targets):
    """In a free run they are what the character made of itself: no target for anything."""
    stages = {"x_raw": numbers(4, 33), "y_out": numbers(4, 18)}
    path = saved(tmp_path, trace(mode, (3, 4, 6, 7), **{name: stages[name] for name in names}))
    held = read_recording(path, tiny.contract(tmp_path))
    assert (held.title, held.is_of_training, held.bones, dict(held.whole)) == ("trace", False, (), {})
    assert (held.poses6d is not None) is has_targets
    if has_targets:
        np.testing.assert_array_equal(held.poses6d, stages["x_raw"][:, 6:24])
        assert held.target_rows.tolist() == [1, -1, 3, -1]
    assert read_recording(path).poses6d is None


@pytest.mark.parametrize("system", [None, "enemy_animation", "rig_inversion", "My-Rig"])
def test_a_trace_of_another_system_needs_its_own_contract(tmp_path, system):
    """Its stages have other names and other numbers."""
    stages = {"mesh": numbers(2, 24)} if system in ("rig_inversion", "My-Rig") else {"y_out": numbers(2, 18)}
    path = saved(tmp_path, trace(system=system, **stages))
    if system in (None, "enemy_animation"):
        assert read_recording(path).trace.stages.keys() == stages.keys()
    else:
        error = refused(read_recording, path)
        assert (error.place, error.found) == (str(path), f"a trace of the system {system}")
        assert error.expected == f"the contract of {system} beside it"


def test_columns_say_nothing_without_a_contract(tmp_path):
    """Only the contract says what they are."""
    (tmp_path / "run.csv").write_text("q[0],q[1]\n1,2\n", encoding="utf-8")
    error = refused(read_recording, tmp_path / "run.csv")
    assert (error.place, error.found) == ("--contract", "none")
    assert error.expected.startswith("the contract: run.csv holds columns")


def test_a_resolution_is_kept_in_its_words_and_none_changes_nothing():
    """What is not a resolution is refused before anything is compared."""
    held = recording.Recording("x", "trace", trace(y_out=numbers(2, 18)), frozenset())
    assert held.with_resolution(None) is held
    assert held.with_resolution("4 decimals").trace.resolution == "4 decimals"
    assert refused(held.with_resolution, "many digits").place == "--resolution"


def test_some_stages_of_a_recording_are_those_that_are_named():
    """Of what it holds of all bones as well."""
    held = recording.Recording(
        "x",
        "trace",
        trace(cond=numbers(2, 7), y_out=numbers(2, 12)),
        frozenset(),
        bones=(0, 2),
        whole={"cond": numbers(2, 7), "y_out": numbers(2, 18)},
    )
    some = recording.with_stages(held, ["y_out"])
    assert (list(some.trace.stages), list(some.whole)) == (["y_out"], ["y_out"])


# --- some bones -------------------------------------------------------------------------------------------------------


def test_a_trace_of_some_bones_is_read_as_these_bones_and_as_all_where_it_has_all(tmp_path):
    """The network has all inputs, whatever is drawn; what is drawn is the two legs, the right one first."""
    contract, whole = tiny.contract(tmp_path), numbers(2, 33)
    path = saved(tmp_path, trace("teacher", bones=(2, 1), x_raw=whole, y_out=numbers(2, 12), cond=numbers(2, 7)))
    assert refused(read_recording, path).place == f"{path}#/bones"
    held = read_recording(path, contract)
    columns = [*range(6), *range(18, 24), *range(12, 18), 30, 31, 32, 27, 28, 29]
    assert (held.bones, set(held.whole)) == ((2, 1), {"x_raw", "cond"})
    np.testing.assert_array_equal(held.trace.stages["x_raw"], whole[:, columns])
    np.testing.assert_array_equal(held.trace.stages["y_out"], numbers(2, 12))
    np.testing.assert_array_equal(held.whole["x_raw"], whole)
    np.testing.assert_array_equal(held.poses6d, whole[:, columns][:, 6:18])
    judged = recording.judging_contract(held, contract)
    assert judged.numbers.bone_names == ("thigh_r", "thigh_l")
    assert (
        recording.judging_contract(read_recording(saved(tmp_path, trace(y_out=numbers(2, 18)))), contract) is contract
    )


KNEE, HIP = "knee", "hip"
OF_TWO_BONES = FieldLayout(
    (
        Field("root", 0, 1, FieldKind.SCALAR),
        Field("turn", 1, 2, FieldKind.SCALAR, bone=KNEE),
        Field("turn", 3, 2, FieldKind.SCALAR, bone=HIP),
    )
)
OF_NO_BONE = FieldLayout((Field("phase", 0, 3, FieldKind.SCALAR),))
CONTRACT = SimpleNamespace(
    read_numbers=Character((KNEE, HIP), *[None] * 10),
    fields={"q": OF_TWO_BONES, "p": OF_NO_BONE, "free": FieldLayout(()), "r": OF_TWO_BONES}.__getitem__,
)


def held_of(bones, **widths):
    return held_stages(
        trace(bones=bones, **{name: numbers(1, width) for name, width in widths.items()}), CONTRACT, "run"
    )


def test_what_a_trace_of_some_bones_holds():
    """The numbers of these bones, of all, of none of them, and a stage of which the contract says nothing."""
    assert held_of(None, q=5) is None
    held = held_of((HIP,), q=5, p=3, free=4)
    assert {name: rows.tolist() for name, rows in held.some.items()} == {
        "q": [[0, 3, 4]], "p": [[0, 1, 2]], "free": [[0, 1, 2, 3]],
    }  # fmt: skip
    assert {name: rows.tolist() for name, rows in held.whole.items()} == {"q": [[0, 1, 2, 3, 4]], "p": [[0, 1, 2]]}
    assert held.bones == (1,)
    only_some = held_of((0,), q=3, p=3)
    assert {name: rows.tolist() for name, rows in only_some.some.items()} == {"q": [[0, 1, 2]], "p": [[0, 1, 2]]}
    assert (dict(only_some.whole), only_some.bones) == ({}, (0,))
    # all bones, in the order of the contract, are no other numbers than the whole: nothing is held of all beside them
    assert dict(held_of((0, 1), q=5, p=3).whole) == {}
    error = refused(lambda: held_of((HIP,), q=4))
    assert (error.place, error.found) == ("run#/stages/q", "4 numbers")
    assert error.expected == "3 for the 1 bones of the header, or 5 for all"


@pytest.mark.parametrize(
    ("bone", "expected", "hint"),
    [
        ("hipp", "one of the contract's 2", "did you mean hip?"),
        ("tail", "one of the contract's 2", "is it the right --contract?"),
        ("nee", "one of the contract's 2", "did you mean knee?"),
        (2, "an index from 0 to 1", ""), (-1, "an index from 0 to 1", ""),
    ],
)  # fmt: skip
def test_a_bone_that_the_contract_does_not_have_is_refused(bone, expected, hint):
    """The nearest name is said: most are misspelt."""
    error = refused(lambda: held_of((1 if isinstance(bone, int) else HIP, bone), q=5))
    assert (error.place, error.expected, error.hint) == ("run#/bones/1", expected, hint)


def test_of_several_bones_that_are_near_the_nearest_is_said(tmp_path):
    """Left and right differ by a letter."""
    path = saved(tmp_path, trace(bones=("thigh_ll",), y_out=numbers(2, 6)))
    assert refused(read_recording, path, tiny.contract(tmp_path)).hint == "did you mean thigh_l?"


def test_stages_are_cut_to_bones():
    """A stage of which the contract says nothing stays as it is."""
    stages = {"q": numbers(2, 5), "free": numbers(2, 4)}
    found = cut_to(stages, CONTRACT, (1,))
    assert {name: rows.tolist() for name, rows in found.items()} == {
        "q": [[0, 3, 4], [5, 8, 9]],
        "free": numbers(2, 4).tolist(),
    }
