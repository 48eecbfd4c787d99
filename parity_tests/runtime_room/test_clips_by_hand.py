"""Clips and teacher files field by field: what is read, what stays unknown, and the words for what is neither."""

import json
from itertools import chain

import numpy as np
import pytest

from rigpact.contract.errors import UnusableInput
from rigpact.reference_runtime import Trace, TraceHeader, read_clip
from rigpact.reference_runtime.recordings.clip import float_rows, recorded_inputs

from ..every_case import every_case
from . import tiny_character as tiny

ROWS = [[0.5, 1.0], [0.25, 2.0]]


def place_of(index):
    return f"row {index}"


def saved(folder, document):
    path = folder / "a.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def teacher_document(**changed):
    """A teacher batch of two steps."""
    return {"fps": 30, "teacher": {"state_norm": ROWS, "cond": ROWS}, "num_pairs": 2} | changed


def refused(ask, *given):
    with pytest.raises(UnusableInput) as error:
        ask(*given)
    return error.value.place, error.value.found, error.value.expected


# --- rows of numbers --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "shape"),
    [([1, 2.5], ()), ([[1], [2]], (1,)), ([[1, 2], [3, 4]], (-1,)), ([[[1, 2]], [[3, 4]]], (-1, 2)), ([[], []], (-1,))],
)
def test_rows_of_the_wanted_shape_are_read_as_float32(rows, shape):
    """-1 is any length."""
    read = float_rows(rows, shape, place_of)
    assert (read.dtype, read.tolist()) == (np.float32, rows)


def test_a_number_beyond_float32_becomes_infinite():
    """It is reported where numbers are judged; the file is read."""
    assert float_rows([1e39, -1e39], (), place_of).tolist() == [np.inf, -np.inf]


@every_case(
    ("rows", "shape", "row", "found", "expected"),
    [
        ([[1, 2], [1, 2, 3]], (2,), 1, "3 numbers", "2 numbers"),
        ([[1, 2], [1], [1]], (-1,), 1, "1 numbers", "2 numbers"),
        ([[1, 2], [1, 2], 3], (-1,), 2, "one number", "2 numbers"),
        ([[1, 2], [1, 2]], (3,), 0, "2 numbers", "3 numbers"),
        ([[1, 2], [1, 2, 3]], (3,), 0, "2 numbers", "3 numbers"),
        ([[1, 2, 3], [1, 2]], (3,), 1, "2 numbers", "3 numbers"),
        ([[[1, 2]], [[1, 2]]], (2, 2), 0, "1 × 2 numbers", "2 × 2 numbers"),
        ([[[1, 2]], [[1, 2], [3, 4]]], (-1, 2), 1, "2 × 2 numbers", "1 × 2 numbers"),
        ([[1, 2], [1, 2]], (-1, 2), 0, "2 numbers", "any × 2 numbers"),
        ([1, [1]], (), 1, "1 numbers", "one number"),
        ([1, "x"], (), 1, "something else than numbers", "one number"),
        (["x", 1], (), 0, "something else than numbers", "one number"),
        ([{}, [1]], (-1,), 0, "something else than numbers", "any numbers"),
        ([[1, 10**400]], (2,), 0, "something else than numbers", "2 numbers"),
        ([[[1], [1, 2]]], (2, 1), 0, "something else than numbers", "2 × 1 numbers"),
    ],
)
def test_the_first_row_of_another_shape_is_named(rows, shape, row, found, expected):
    """Nothing is padded or cut, as the engine would."""
    assert refused(float_rows, rows, shape, place_of) == (f"row {row}", found, expected)


# --- raw clips --------------------------------------------------------------------------------------------------------


@every_case(
    ("rates", "expected"),
    [
        ({"fps": 24}, 24.0), ({"FPS": 59.94}, 59.94), ({"fps": 24, "FPS": 60}, 24.0), ({"fps": True, "FPS": 60}, 60.0),
        ({"fps": 0, "FPS": 60}, 60.0), ({"fps": -30, "FPS": 60}, 60.0), ({"fps": "30", "FPS": 60}, 60.0),
        ({"fps": None, "FPS": 0.5}, 0.5), ({"fps": float("inf"), "FPS": 60}, 60.0), ({"fps": float("nan"), "FPS": 1}, 1.0),
    ],
)  # fmt: skip
def test_the_frame_rate_is_the_first_that_can_be_one(tmp_path, rates, expected):
    """A time lapse has less than one frame a second; true, text, nothing and infinity are not rates."""
    document = {name: value for name, value in tiny.clip_document().items() if name != "FPS"}
    assert read_clip(saved(tmp_path, document | rates)).fps == expected


@pytest.mark.parametrize("rates", [{}, {"fps": True}, {"FPS": 0}, {"fps": -1, "FPS": "60"}])
def test_a_clip_without_a_frame_rate_is_refused(tmp_path, rates):
    """A guess would scale every velocity."""
    document = {name: value for name, value in tiny.clip_document().items() if name != "FPS"}
    path = saved(tmp_path, document | rates)
    assert refused(read_clip, path) == (f"{path}#", "no fps", "a positive root `fps` or `FPS`")


def test_a_clip_is_read_frame_by_frame(tmp_path):
    """Each bone's numbers follow those of the bone before, in every frame."""
    document = tiny.clip_document(2)
    clip = read_clip(saved(tmp_path, document))
    assert (clip.frame_count, clip.root_yaw_rad.shape, clip.trajectory_direction.shape) == (2, (2, 1), (2, 3, 2))
    for index, frame in enumerate(document["Frames"]):
        flat = {
            "rotations6d": [*chain(*frame["BoneRotations"])],
            "angular_velocity_rad_s": [*chain(*frame["BoneAngularVelocities"])],
            "root_position_m": frame["RootPosition"],
            "root_velocity_m_s": frame["RootVelocityXY"],
            "root_yaw_rad": [frame["RootYaw"]],
            "action_bits": frame["ActionBits"],
            "contact_scores": [frame["FootEvidence"][foot]["soft_contact_score"] for foot in ("L", "R")],
        }
        for name, numbers in flat.items():
            np.testing.assert_array_equal(getattr(clip, name)[index], np.array(numbers, np.float32), err_msg=name)


@every_case(
    ("frame", "field", "value", "place", "found", "expected"),
    [
        (1, "FootEvidence", None, "/1/FootEvidence", "no object", "an object with L"),
        (1, "FootEvidence", {"L": {"soft_contact_score": 1}}, "/1/FootEvidence", "no R", "an object with R"),
        (
            0,
            "FootEvidence",
            {"L": {}},
            "/0/FootEvidence/L",
            "no soft_contact_score",
            "an object with soft_contact_score",
        ),
        (0, "FootEvidence", {"L": 1, "R": 1}, "/0/FootEvidence/L", "no object", "an object with soft_contact_score"),
        (0, "BoneRotations", {"a": 1}, "/0/BoneRotations", "no bones", "six numbers for each bone"),
        (1, "BoneAngularVelocities", [[0, 0, 0]] * 2, "/1/BoneAngularVelocities", "2 × 3 numbers", "3 × 3 numbers"),
        (1, "RootYaw", [1, 2], "/1/RootYaw", "2 numbers", "one number"),
        (1, "ActionBits", "walk", "/1/ActionBits", "something else than numbers", "4 numbers"),
        (1, "TrajectoryDir", [[1, 0]], "/1/TrajectoryDir", "1 × 2 numbers", "3 × 2 numbers"),
    ],
)
def test_a_frame_that_differs_is_named_with_its_field(tmp_path, frame, field, value, place, found, expected):
    """Somebody opens the file there."""
    document = tiny.clip_document(2)
    document["Frames"][frame][field] = value
    path = saved(tmp_path, document)
    assert refused(read_clip, path) == (f"{path}#/Frames{place}", found, expected)


def test_a_frame_without_a_field_and_a_frame_that_is_none_are_refused(tmp_path):
    """Half a frame is a file that was cut."""
    for frame, found in ((None, "no object"), ({}, "no BoneRotations")):
        document = tiny.clip_document(1)
        document["Frames"][0] = frame
        path = saved(tmp_path, document)
        assert refused(read_clip, path) == (f"{path}#/Frames/0", found, "an object with BoneRotations")


def test_feet_are_known_where_the_first_frame_knows_them(tmp_path):
    """A later frame without them was cut; a first frame without them is a clip that nobody looked at the feet of."""
    for index in (0, 1):
        document = tiny.clip_document(2)
        del document["Frames"][index]["FootEvidence"]
        path = saved(tmp_path, document)
        if index == 0:
            assert read_clip(path).contact_scores is None
        else:
            expected = f"{path}#/Frames/1", "no FootEvidence", "an object with FootEvidence"
            assert refused(read_clip, path) == expected


def test_one_bone_with_the_turns_of_two_is_refused(tmp_path):
    """A count of one is not a sign for any count."""
    document = tiny.clip_document(2)
    for frame in document["Frames"]:
        frame["BoneRotations"], frame["BoneAngularVelocities"] = frame["BoneRotations"][:1], [[0, 0, 0]] * 2
    path = saved(tmp_path, document)
    place = f"{path}#/Frames/0/BoneAngularVelocities"
    assert refused(read_clip, path) == (place, "2 × 3 numbers", "1 × 3 numbers")


def test_a_bundle_is_no_clip(tmp_path):
    """Two file names in the wrong order."""
    place, found, expected = refused(read_clip, saved(tmp_path, tiny.bundle()))
    assert place.endswith("a.json#")
    assert "bundle" in found
    assert expected == "a raw clip, a teacher batch or a teacher prediction"


# --- teacher files ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "without", [{}, {"aux_inputs": None, "prediction": None}, {"aux_inputs": {"contacts": None}, "prediction": {"y_raw": None}},
                {"aux_inputs": [1], "prediction": [1]}],
)  # fmt: skip
def test_rows_that_a_teacher_file_does_not_have_stay_unknown(tmp_path, without):
    """A batch has no prediction, and null says the same."""
    read = read_clip(saved(tmp_path, teacher_document(**without)))
    assert (read.step_count, read.state_norm.tolist(), read.cond.tolist()) == (2, ROWS, ROWS)
    for name in ("contacts", "angvel_norm", "pose_hist_norm", "target_norm", "y_norm", "y_raw"):
        assert getattr(read, name) is None, name


def test_every_row_of_a_teacher_file_stands_where_its_name_says(tmp_path):
    """Two arrays of one shape are easily taken for each other."""
    named = {name: [[float(k)], [k + 0.5]] for k, name in enumerate(("contacts", "angvel_norm", "pose_hist_norm"))}
    teacher = {"state_norm": ROWS, "cond": [[3], [4]], "target_norm": [[5], [6]]}
    document = teacher_document(
        teacher=teacher, aux_inputs=named, prediction={"y_norm": [[7], [8]], "y_raw": [[9], [10]]}
    )
    read = read_clip(saved(tmp_path, document))
    for name, rows in (named | teacher | document["prediction"]).items():
        assert getattr(read, name).tolist() == rows, name


@every_case(
    ("changed", "place", "found", "expected"),
    [
        ({"teacher": []}, "#/teacher", "a list", "an object with state_norm and cond"),
        ({"teacher": {"cond": ROWS}}, "#/teacher", "no state_norm", "an object with state_norm"),
        ({"teacher": {"state_norm": [], "cond": []}}, "#/teacher/state_norm", "no rows", "one row for each step"),
        ({"teacher": {"state_norm": {"a": 1}, "cond": []}}, "#/teacher/state_norm", "no rows", "one row for each step"),
        ({"teacher": {"state_norm": ROWS, "cond": None}}, "#/teacher", "no cond", "a condition row for each state row"),
        ({"teacher": {"state_norm": [[1, 2], [1]], "cond": ROWS}}, "#/teacher/state_norm/1", "1 numbers", "2 numbers"),
        ({"aux_inputs": {"contacts": ROWS[:1]}}, "#/aux_inputs/contacts", "1 rows", "2, as many as state_norm"),
        ({"aux_inputs": {"contacts": [ROWS[0], 3]}}, "#/aux_inputs/contacts/1", "one number", "2 numbers"),
        ({"prediction": {"y_raw": ROWS * 2}}, "#/prediction/y_raw", "4 rows", "2, as many as state_norm"),
        (
            {"teacher": {"state_norm": ROWS, "cond": ROWS, "aux_inputs": {"contacts": []}}},
            "#/teacher/aux_inputs/contacts", "no rows", "one row for each step",
        ),
    ],
)  # fmt: skip
def test_rows_of_a_teacher_file_that_do_not_fit_are_named(tmp_path, changed, place, found, expected):
    """The engine skips or zero-fills them silently."""
    path = saved(tmp_path, teacher_document(**changed))
    assert refused(read_clip, path) == (f"{path}{place}", found, expected)


# --- what an engine recorded of its own inputs ------------------------------------------------------------------------


def recorded(frames=(0, 1, 2), **changed):
    """A trace of an engine that recorded what drove it."""
    numbers = np.array(frames)
    stages = {"x_raw": np.full((len(frames), 4), 1.0, np.float32), "cond_raw": np.full((len(frames), 2), 2.0, np.float32),
              "contacts": np.full((len(frames), 2), 3.0, np.float32)} | changed  # fmt: skip
    stages = {name: rows for name, rows in stages.items() if rows is not None}
    return Trace(TraceHeader(50.0, "free"), numbers, numbers / 50.0, stages)


def test_recorded_inputs_are_those_of_the_trace(tmp_path):
    """The run is driven by what the engine saw, bit for bit."""
    trace = recorded()
    read = recorded_inputs(trace, tmp_path)
    assert (read.path, read.fps, read.step_count, read.after, read.y_out) == (tmp_path, 50.0, 3, None, None)
    assert all(getattr(read, name) is trace.stages[name] for name in ("x_raw", "cond_raw", "contacts"))
    published = np.zeros((3, 4), np.float32)
    assert recorded_inputs(recorded(y_out=published), tmp_path).y_out is published


@pytest.mark.parametrize("unknown", [None, 1, 2])
def test_the_state_after_the_last_step_is_the_last_that_was_recorded(tmp_path, unknown):
    """A last step that was not finished leaves NaN there, and an earlier one does not matter."""
    following = np.arange(12, dtype=np.float32).reshape(3, 4)
    if unknown is not None:
        following[unknown, 1] = np.nan
    after = recorded_inputs(recorded(x_raw_next=following), tmp_path).after
    assert (None if after is None else after.tolist()) == (None if unknown == 2 else [8, 9, 10, 11])


@pytest.mark.parametrize(
    ("missing", "found"),
    [(("x_raw",), "no x_raw"), (("contacts",), "no contacts"), (("contacts", "cond_raw"), "no cond_raw, contacts")],
)
def test_inputs_that_were_not_recorded_are_named(tmp_path, missing, found):
    """The engineer switches these on, and records again."""
    expected = "the inputs that drove it: x_raw, cond_raw, contacts"
    trace = recorded(**dict.fromkeys(missing))
    assert refused(recorded_inputs, trace, tmp_path) == (f"{tmp_path}#/stages", found, expected)


@pytest.mark.parametrize(("frames", "first"), [((1, 2), 0), ((0, 1, 3), 2), ((0, 2, 4), 1)])
def test_the_first_frame_that_was_not_recorded_is_named(tmp_path, frames, first):
    """Each frame is computed from the one before."""
    expected = "every frame from the first step on"
    assert refused(recorded_inputs, recorded(frames), tmp_path) == (str(tmp_path), f"no frame {first}", expected)
