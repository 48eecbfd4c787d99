"""Who differs and when, from masks made by hand."""

from __future__ import annotations

import numpy as np

from rigpact.contract.systems.layout import Field, FieldKind, FieldLayout
from rigpact.reports.diagnosing.extent import Extent, extent_of, frames_in_words

from ..every_case import every_case

UE = (
    "pelvis", "spine_01", "neck_01", "head", "clavicle_l", "upperarm_l", "lowerarm_l", "hand_l", "index_01_l", "clavicle_r",
    "upperarm_r", "lowerarm_r", "hand_r", "index_01_r", "thigh_l", "calf_l", "foot_l", "thigh_r", "calf_r", "foot_r",
)  # fmt: skip
ROBOT = (
    "left_hip_pitch", "left_knee", "left_ankle_roll", "right_hip_pitch", "right_knee", "right_ankle_roll", "waist_yaw",
    "left_shoulder_roll", "left_wrist_roll", "left_wrist_yaw", "right_shoulder_roll", "right_wrist_roll", "right_wrist_yaw",
)  # fmt: skip
MIXAMO = ("Hips", "LeftUpLeg", "LeftFoot", "RightUpLeg", "RightFoot", "LeftForeArm", "LeftHand", "RightForeArm")


def _bones(names: tuple[str, ...], size: int = 6) -> FieldLayout:
    return FieldLayout(
        tuple(Field("rotation", size * at, size, FieldKind.ROT6D, bone=name) for at, name in enumerate(names))
    )


def _joints(names: tuple[str, ...]) -> FieldLayout:
    return FieldLayout(tuple(Field(name, at, 1, FieldKind.SCALAR) for at, name in enumerate(names)))


def _extent(layout: FieldLayout, wrong: set[str]) -> Extent:
    """One channel of each wrong part differs in all of three frames."""
    differs = np.zeros((3, layout.width), bool)
    for field in layout:
        if (field.bone or field.name) in wrong:
            differs[:, field.start] = True
    found = extent_of(differs, np.ones_like(differs), layout, np.arange(3))
    assert found is not None
    return found


@every_case(
    ("wrong", "who"),
    [
        ({"clavicle_r", "upperarm_r", "lowerarm_r", "hand_r", "index_01_r"}, "5 of 20 bones: the right arm"),
        ({"thigh_l", "calf_l", "foot_l"}, "3 of 20 bones: the left leg"),
        ({"thigh_l", "calf_l", "foot_l", "thigh_r", "calf_r", "foot_r"}, "6 of 20 bones: both legs"),
        ({"hand_l", "hand_r"}, "2 of 20 bones: both hands"),
        ({"neck_01", "head"}, "2 of 20 bones: the neck and head"),
        ({"upperarm_r", "lowerarm_r"}, "2 of 20 bones: the right upperarm and the right lowerarm"),
        ({"pelvis", "hand_r"}, "2 of 20 bones: pelvis, hand_r"),
        (set(UE) - {"pelvis"}, "19 of 20 bones: spine_01, neck_01 and 17 more"),
        ({name for name in UE if name.endswith("_l")}, "8 of 20 bones: the left side"),
        (set(UE), "all 20 bones"),
    ],
)
def test_a_limb_is_named_where_it_is_what_differs(wrong: set[str], who: str) -> None:
    """13 names of bones do not say at a glance that it is the right arm; a limb that differs in part must not be named whole."""
    assert _extent(_bones(UE), wrong).who == who


def test_joints_of_a_robot_and_names_without_separators_have_sides() -> None:
    """Left and right wrists that are exchanged read as a list of joints; a rig of another tool writes LeftUpLeg."""
    wrists = {name for name in ROBOT if "wrist" in name}
    assert _extent(_joints(ROBOT), wrists).who == "4 of 13 channels: both wrists"
    assert _extent(_joints(ROBOT), {"waist_yaw"}).who == "1 of 13 channels: waist_yaw"
    assert _extent(_joints(ROBOT), {"left_hip_pitch", "left_knee", "left_ankle_roll"}).where == "the left leg"
    assert _extent(_bones(MIXAMO), {"LeftUpLeg", "LeftFoot"}).who == "2 of 8 bones: the left leg"
    assert _extent(_bones(MIXAMO), {"RightForeArm", "LeftForeArm", "LeftHand"}).who == "3 of 8 bones: both arms"


def test_a_vector_of_one_field_has_its_numbers_as_parts() -> None:
    """One wrong component of a gravity vector would read as all of it."""
    layout = FieldLayout((Field("gravity", 0, 3, FieldKind.VECTOR),))
    differs = np.array([[False, True, False]])
    found = extent_of(differs, np.ones_like(differs), layout, np.array([7]))
    assert found is not None
    assert found.sentence == "1 of 3 channels: gravity[1]; in frame 7, the only one"
    assert extent_of(np.zeros_like(differs), np.ones_like(differs), layout, np.array([7])) is None


@every_case(
    ("over", "words"),
    [
        ("1111111111", "in all 10 frames"),
        ("0001000000", "only in frame 103"),
        ("1110000000", "only in the first 3 frames"),
        ("0000111111", "from frame 104 on"),
        ("0001110000", "in frames 103 to 105"),
        ("0101010101", "in every second frame, from frame 101 on"),
        ("1010101010", "in every second frame, from frame 100 on"),
        ("0010010010", "in every 3rd frame, from frame 102 on"),
        ("1111111110", "only in the first 9 frames"),
        ("1111011111", "in all of 10 frames but 104"),
        ("0100110010", "in 4 of 10 frames, the first of them 101"),
    ],
)
def test_frames_in_words(over: str, words: str) -> None:
    """A read that begins to be late at frame 200 and one that is always late are looked for in different places."""
    assert frames_in_words(np.array([each == "1" for each in over]), np.arange(100, 110)) == words


def test_frames_without_a_verdict_do_not_count() -> None:
    """A history that is not full for five frames would make a defect of every frame one "from frame 5 on"."""
    layout = _joints(("a", "b"))
    differs, judged = np.zeros((10, 2), bool), np.zeros((10, 2), bool)
    differs[5:, 0] = judged[5:] = True

    found = extent_of(differs, judged, layout, np.arange(10))

    assert found is not None
    assert (found.when, found.frames, found.of_frames, found.first, found.last) == ("in all 5 frames", 5, 5, 5, 9)
