"""Clips, teacher files and recorded inputs field by field: what is read, what stays unknown, where what is neither is refused."""

import json
from itertools import chain

import numpy as np

from rigpact.reference_runtime import Trace, TraceHeader, read_clip
from rigpact.reference_runtime.recordings.clip import float_rows, recorded_inputs
from rigpact.reference_runtime.recordings.recording import read_recording

from ..contract_room.edits import drop, put
from ..every_case import every_case
from . import tiny_character as tiny
from .trace_files import refused

ROWS = [[0.5, 1.0], [0.25, 2.0]]


def saved(folder, document):
    (folder / "a.json").write_text(json.dumps(document), encoding="utf-8")
    return folder / "a.json"


@every_case(
    ("rows", "shape"),
    [([1, 2.5], ()), ([[1], [2]], (1,)), ([[1, 2], [3, 4]], (-1,)), ([[[1, 2]], [[3, 4]]], (-1, 2)), ([[], []], (-1,)),
    ([np.inf, -np.inf], ())],
)  # fmt: skip
def test_rows_of_the_wanted_shape_are_read_as_float32(rows, shape):
    """-1 is any length; a number beyond float32 becomes infinite: it is reported where numbers are judged."""
    read = float_rows([1e39 if each == np.inf else -1e39 if each == -np.inf else each for each in rows], shape, str)
    assert (read.dtype, read.tolist()) == (np.float32, rows)


NONE = "something else than numbers"


@every_case(
    ("rows", "shape", "row", "found", "expected"),
    [
        ([[1, 2], [1, 2, 3]], (2,), 1, "3 numbers", "2 numbers"), ([[1, 2], [1], [1]], (-1,), 1, "1 numbers", "2 numbers"),
        ([[1, 2], [1, 2], 3], (-1,), 2, "one number", "2 numbers"), ([[1, 2], [1, 2]], (3,), 0, "2 numbers", "3 numbers"),
        ([[1, 2], [1, 2, 3]], (3,), 0, "2 numbers", "3 numbers"), ([[1, 2, 3], [1, 2]], (3,), 1, "2 numbers", "3 numbers"),
        ([[[1, 2]], [[1, 2]]], (2, 2), 0, "1 × 2 numbers", "2 × 2 numbers"), ([1, [1]], (), 1, "1 numbers", "one number"),
        ([[[1, 2]], [[1, 2], [3, 4]]], (-1, 2), 1, "2 × 2 numbers", "1 × 2 numbers"), ([1, "x"], (), 1, NONE, "one number"),
        ([[1, 2], [1, 2]], (-1, 2), 0, "2 numbers", "any × 2 numbers"), (["x", 1], (), 0, NONE, "one number"),
        ([{}, [1]], (-1,), 0, NONE, "any numbers"), ([[1, 10**400]], (2,), 0, NONE, "2 numbers"),
        ([[[1], [1, 2]]], (2, 1), 0, NONE, "2 × 1 numbers"),
    ],
)  # fmt: skip
def test_the_first_row_of_another_shape_is_named(rows, shape, row, found, expected):
    """Nothing is padded or cut, as the engine would."""
    assert refused(lambda: float_rows(rows, shape, "row {}".format)) == (f"row {row}", found, expected)


@every_case(
    ("rates", "expected"),
    [
        ({"fps": 24}, 24.0), ({"FPS": 59.94}, 59.94), ({"fps": 24, "FPS": 60}, 24.0), ({"fps": True, "FPS": 60}, 60.0),
        ({"fps": 0, "FPS": 60}, 60.0), ({"fps": -30, "FPS": 60}, 60.0), ({"fps": "30", "FPS": 60}, 60.0),
        ({"fps": None, "FPS": 0.5}, 0.5),
        ({"fps": float("inf"), "FPS": 60}, 60.0), ({"fps": float("nan"), "FPS": 1}, 1.0), ({}, None), ({"fps": True}, None),
        ({"FPS": 0}, None),
        ({"fps": -1, "FPS": "60"}, None),
    ],
)  # fmt: skip
def test_the_frame_rate_is_the_first_that_can_be_one(tmp_path, rates, expected):
    """A time lapse has less than one frame a second; a guess would scale every velocity."""
    path = saved(tmp_path, {name: value for name, value in tiny.clip_document().items() if name != "FPS"} | rates)
    if expected is None:
        assert refused(read_clip, path)[:2] == ("#", "no fps")
    else:
        assert read_clip(path).fps == expected


def test_a_clip_is_read_frame_by_frame(tmp_path):
    """Each bone's numbers follow those of the bone before, in every frame."""
    document = tiny.clip_document(2)
    clip = read_clip(saved(tmp_path, document))
    assert (clip.frame_count, clip.root_yaw_rad.shape, clip.trajectory_direction.shape) == (2, (2, 1), (2, 3, 2))
    for index in (0, 1):
        frame = document["Frames"][index]
        flat = {
            "rotations6d": [*chain(*frame["BoneRotations"])],
            "angular_velocity_rad_s": [*chain(*frame["BoneAngularVelocities"])],
            "root_position_m": frame["RootPosition"], "root_velocity_m_s": frame["RootVelocityXY"],
            "root_yaw_rad": [frame["RootYaw"]],
            "action_bits": frame["ActionBits"],
            "contact_scores": [frame["FootEvidence"][foot]["soft_contact_score"] for foot in ("L", "R")],
        }  # fmt: skip
        for name, numbers in flat.items():
            np.testing.assert_array_equal(getattr(clip, name)[index], np.array(numbers, np.float32), err_msg=name)


FEET = {"L": {"soft_contact_score": 1}}


def each(edit):
    return lambda document: [edit(frame) for frame in document["Frames"]]


def at(frame, field, value):
    return put(value, "Frames", frame, field)


def other_bones(rotations, velocities):
    def edit(frame):
        frame["BoneRotations"] = frame["BoneRotations"][:rotations]
        frame["BoneAngularVelocities"] = [[0, 0, 0]] * velocities

    return each(edit)


F = "#/Frames"


@every_case(
    ("edit", "place", "found", "expected"),
    [
        (at(1, "FootEvidence", None), f"{F}/1/FootEvidence", "no object", "an object with L"),
        (at(1, "FootEvidence", FEET), f"{F}/1/FootEvidence", "no R", "an object with R"),
        (at(0, "FootEvidence", {"L": {}}), f"{F}/0/FootEvidence/L", "no soft_contact_score", None),
        (at(0, "FootEvidence", {"L": 1, "R": 1}), f"{F}/0/FootEvidence/L", "no object", None),
        (at(0, "BoneRotations", {"a": 1}), f"{F}/0/BoneRotations", "no bones", None),
        (at(1, "RootYaw", [1, 2]), f"{F}/1/RootYaw", "2 numbers", "one number"),
        (at(1, "BoneAngularVelocities", [[0, 0, 0]] * 2), f"{F}/1/BoneAngularVelocities", "2 × 3 numbers", "3 × 3 numbers"),
        (at(1, "ActionBits", "walk"), f"{F}/1/ActionBits", NONE, "4 numbers"),
        (at(1, "TrajectoryDir", [[1, 0]]), f"{F}/1/TrajectoryDir", "1 × 2 numbers", "3 × 2 numbers"),
        (put([None], "Frames"), f"{F}/0", "no object", None), (put([{}], "Frames"), f"{F}/0", "no BoneRotations", None),
        (put([], "Frames"), F, "no frames", None), (put({}, "Frames"), F, "no frames", None),
        (drop("Frames", 1), None, "one frame", None),
        (drop("Frames", 1, "FootEvidence"), f"{F}/1", "no FootEvidence", "an object with FootEvidence"),
        (other_bones(1, 2), f"{F}/0/BoneAngularVelocities", "2 × 3 numbers", "1 × 3 numbers"),
        (other_bones(2, 2), None, "2 bones", "3"),
        (each(lambda frame: frame["BoneRotations"].pop()), f"{F}/0/BoneAngularVelocities", "3 × 3 numbers", "2 × 3 numbers"),
        (other_bones(0, 0), f"{F}/0/BoneRotations", "no bones", None),
        (each(lambda frame: frame["RootPosition"].pop()), f"{F}/0/RootPosition", "2 numbers", "3 numbers"),
        (lambda document: (document.clear(), document.update(tiny.bundle())), None, None, None),
    ],
    ids=lambda value: str(value)[:40],
)  # fmt: skip
def test_a_clip_that_holds_no_motion_of_this_character_is_refused_at_its_place(tmp_path, edit, place, found, expected):
    """Somebody opens the file there: frames of another character, or a frame that was cut, would be compared with air."""
    document = tiny.clip_document(2)
    edit(document)
    said = refused(read_recording, saved(tmp_path, document), tiny.contract(tmp_path))
    assert (place or said[0], found or said[1], expected or said[2]) == said


def test_contacts_that_nobody_recorded_stay_unknown(tmp_path):
    """Zeros would say that both feet are in the air; a first frame without them is a clip that nobody looked at the feet of."""
    document, state = tiny.clip_document(2), tiny.contract(tmp_path).numbers.state
    del document["Frames"][0]["FootEvidence"]
    read = read_clip(saved(tmp_path, document))
    assert read.contact_scores is None
    with_contacts = tiny.contract(tmp_path, tiny.bundle(contacts=True)).numbers.state
    assert "state slice Contacts" in "".join(refused(lambda: read.state_rows(with_contacts)))
    other_bones(2, 2)(document)
    assert refused(read_clip(saved(tmp_path, document)).state_rows, state)[1] == "12 numbers for BoneRotations6D"


# --- teacher files ----------------------------------------------------------------------------------------------------


def teacher_document(**changed):
    """A teacher batch of two steps."""
    return {"fps": 30, "teacher": {"state_norm": ROWS, "cond": ROWS}, "num_pairs": 2} | changed


@every_case(
    "without", [{}, {"aux_inputs": None, "prediction": None}, {"aux_inputs": {"contacts": None}, "prediction": {"y_raw": None}},
                {"aux_inputs": [1], "prediction": [1]}],
)  # fmt: skip
def test_rows_that_a_teacher_file_does_not_have_stay_unknown(tmp_path, without):
    """A batch has no prediction, and null says the same."""
    read = read_clip(saved(tmp_path, teacher_document(**without)))
    assert (read.step_count, read.state_norm.tolist(), read.cond.tolist()) == (2, ROWS, ROWS)
    unknown = ("contacts", "angvel_norm", "pose_hist_norm", "target_norm", "y_norm", "y_raw")
    assert [getattr(read, name) for name in unknown] == [None] * 6


@every_case("is_in_teacher", [False, True])
def test_every_row_of_a_teacher_file_stands_where_its_name_says(tmp_path, is_in_teacher):
    """Two arrays of one shape are easily taken for each other; what stands under `teacher`, where the engine looks, wins."""
    auxiliary = {name: [[float(k)], [k + 0.5]] for k, name in enumerate(("contacts", "angvel_norm", "pose_hist_norm"))}
    teacher = {"state_norm": ROWS, "cond": [[3], [4]], "target_norm": [[5], [6]]}
    prediction, others = {"y_norm": [[7], [8]], "y_raw": [[9], [10]]}, {key: [[11], [12]] for key in auxiliary}
    held = (
        {"teacher": teacher | {"aux_inputs": auxiliary}, "aux_inputs": others}
        if is_in_teacher
        else {"teacher": teacher, "aux_inputs": auxiliary}
    )
    read = read_clip(saved(tmp_path, teacher_document(**held, prediction=prediction)))
    expected = auxiliary | teacher | prediction
    assert {name: getattr(read, name).tolist() for name in expected} == expected


T, LISTED = "#/teacher", {"state_norm": ROWS, "cond": ROWS}


@every_case(
    ("changed", "place", "found"),
    [
        ({"teacher": []}, T, "a list"), ({"teacher": {"cond": ROWS}}, T, "no state_norm"),
        ({"teacher": {"state_norm": [], "cond": []}}, f"{T}/state_norm", "no rows"),
        ({"teacher": {"state_norm": {"a": 1}, "cond": []}}, f"{T}/state_norm", "no rows"),
        ({"teacher": {"state_norm": ROWS, "cond": None}}, T, "no cond"),
        ({"teacher": {"state_norm": ROWS}}, T, "no cond"),
        ({"teacher": {"state_norm": [[1, 2], [1]], "cond": ROWS}}, f"{T}/state_norm/1", "1 numbers"),
        ({"teacher": {"state_norm": ROWS, "cond": [[0, 0], [0]]}}, f"{T}/cond/1", "1 numbers"),
        ({"teacher": {"state_norm": ROWS, "cond": ROWS[:1]}}, f"{T}/cond", "1 rows"),
        ({"aux_inputs": {"contacts": ROWS[:1]}}, "#/aux_inputs/contacts", "1 rows"),
        ({"aux_inputs": {"contacts": [ROWS[0], 3]}}, "#/aux_inputs/contacts/1", "one number"),
        ({"prediction": {"y_raw": ROWS * 2}}, "#/prediction/y_raw", "4 rows"),
        ({"teacher": LISTED | {"aux_inputs": {"contacts": []}}}, f"{T}/aux_inputs/contacts", "no rows"),
    ],
)  # fmt: skip
def test_rows_of_a_teacher_file_that_do_not_fit_are_named(tmp_path, changed, place, found):
    """The engine skips or zero-fills them silently."""
    assert refused(read_clip, saved(tmp_path, teacher_document(**changed)))[:2] == (place, found)


# --- what an engine recorded of its own inputs ------------------------------------------------------------------------


def recorded(frames=(0, 1, 2), **changed):
    """A trace of an engine that recorded what drove it."""
    numbers, widths = np.array(frames), {"x_raw": 4, "cond_raw": 2, "contacts": 2}
    stages = {
        name: np.full((len(frames), width), k, np.float32) for k, (name, width) in enumerate(widths.items())
    } | changed
    stages = {name: rows for name, rows in stages.items() if rows is not None}
    return Trace(TraceHeader(50.0, "free"), numbers, numbers / 50.0, stages)


def test_recorded_inputs_are_those_of_the_trace(tmp_path):
    """The run is driven by what the engine saw, bit for bit."""
    trace, published = recorded(), np.zeros((3, 4), np.float32)
    read = recorded_inputs(trace, tmp_path)
    assert (read.path, read.fps, read.step_count, read.after, read.y_out) == (tmp_path, 50.0, 3, None, None)
    assert [getattr(read, name) is trace.stages[name] for name in ("x_raw", "cond_raw", "contacts")] == [True] * 3
    assert recorded_inputs(recorded(y_out=published), tmp_path).y_out is published


@every_case("unknown", [None, 1, 2])
def test_the_state_after_the_last_step_is_the_last_that_was_recorded(tmp_path, unknown):
    """A last step that was not finished leaves NaN there, and an earlier one does not matter."""
    following = np.arange(12, dtype=np.float32).reshape(3, 4)
    if unknown is not None:
        following[unknown, 1] = np.nan
    after = recorded_inputs(recorded(x_raw_next=following), tmp_path).after
    assert (None if after is None else after.tolist()) == (None if unknown == 2 else [8, 9, 10, 11])


@every_case(
    ("frames", "missing", "place", "found"),
    [((0, 1, 2), ("x_raw",), "#/stages", "no x_raw"), ((0, 1, 2), ("contacts",), "#/stages", "no contacts"),
     ((0, 1, 2), ("contacts", "cond_raw"), "#/stages", "no cond_raw, contacts"),
     ((1, 2), (), "", "no frame 0"), ((0, 1, 3), (), "", "no frame 2"), ((0, 2, 4), (), "", "no frame 1")],
)  # fmt: skip
def test_inputs_and_frames_that_were_not_recorded_are_named(tmp_path, frames, missing, place, found):
    """Each frame is computed from the one before; the engineer switches these on, and records again."""
    trace = recorded(frames, **dict.fromkeys(missing))
    assert refused(recorded_inputs, trace, tmp_path)[:2] == (f"{tmp_path}{place}", found)
