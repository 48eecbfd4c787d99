"""Defects of a raw clip, alone and against the bundle."""

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from .rule_cases import META, Case, Edit, both, drop, each_frame, put
from .small_character import rot6d, swing_rad

CLIP_SKELETON = ("clip", "meta", "skeleton")
FOOT = "/Frames/{}/FootEvidence/{}/{}"
SPIN = "/Frames/2/BoneAngularVelocities"
Vector = list[float]


def times(factor: float, vector: Vector) -> Vector:
    return [factor * value for value in vector]


def add(amount: float, values: Vector, index: int) -> None:
    values[index] += amount


def leaning(z: Vector, x: Vector) -> Vector:
    """z, leaned towards x by a tenth; unit length."""
    leaned = [a + 0.1 * b for a, b in zip(z, x, strict=True)]
    length = math.sqrt(sum(value * value for value in leaned))
    return [value / length for value in leaned]


def bone(frame: int, index: int, change: Callable[[Vector, Vector], Vector]) -> Edit:
    """An edit of one bone's two columns in one frame."""

    def edit(sample: Any) -> None:
        rotations = sample.clip["Frames"][frame]["BoneRotations"]
        rotations[index] = change(rotations[index][:3], rotations[index][3:])

    return edit


def repeated_frame(sample: Any) -> None:
    frames = sample.clip["Frames"]
    frames[5]["BoneRotations"] = frames[4]["BoneRotations"]


def foot(frame: int, side: str, **fields: Any) -> Edit:
    return lambda sample: sample.clip["Frames"][frame]["FootEvidence"][side].update(fields)


def planted(first: int, last: int, **fields: Any) -> Edit:
    """An edit that gives the left foot contact with the ground for some frames, its speed as it is or as said."""
    contact = {"soft_contact_score": 0.9, "hit_flag": 1, "dist_to_ground_m": 0.0, "vxy_mps": 0.0, **fields}
    return both(*(foot(frame, "L", **contact) for frame in range(first, last)))


def spinning(change: Callable[[int, Vector], Vector]) -> Edit:
    """An edit of every angular velocity of the clip."""

    def edit(index: int, frame: dict[str, Any]) -> None:
        frame["BoneAngularVelocities"] = [change(index, vector) for vector in frame["BoneAngularVelocities"]]

    return each_frame(edit)


def little_motion(sample: Any) -> None:
    """Statistics of limbs that hardly move, so that 17 degrees tell two of them apart."""
    sample.bundle["StdX"] = [*sample.bundle["StdX"][:6], *[0.03] * 18, *sample.bundle["StdX"][24:]]


def rows_read(change: Callable[[list[Vector]], list[Vector]]) -> Edit:
    """An edit of the three rows of every frame."""

    def edit(sample: Any) -> None:
        little_motion(sample)
        for frame in sample.clip["Frames"]:
            frame["BoneRotations"] = change(frame["BoneRotations"])

    return edit


def transposed(row: Vector) -> Vector:
    """Columns X and Z of the inverse."""
    x, z = row[:3], row[3:]
    y = [z[1] * x[2] - z[2] * x[1], z[2] * x[0] - z[0] * x[2], z[0] * x[1] - z[1] * x[0]]
    return [x[0], y[0], z[0], x[2], y[2], z[2]]


def lagging(sample: Any) -> None:
    frames = sample.clip["Frames"]
    for frame, following in pairwise(frames):
        frame["BoneAngularVelocities"] = following["BoneAngularVelocities"]


CASES = (
    Case("RP020", "clip", "/Frames/1", put(None, "clip", "Frames", 1), "null"),
    Case("RP021", "clip", "/Frames/2", drop("clip", "Frames", 2, "RootYaw"), "'RootYaw'"),
    Case("RP022", "clip", "/Frames/3/BoneRotations/1", put([1, 0, 0, 0, 0], "clip", "Frames", 3, "BoneRotations", 1),
         "5 numbers where 6"),
    Case("RP500", "clip", "/NumFrames", put(9, "clip", "NumFrames"), "9, Frames holds 13"),
    Case("RP501", "clip", "/Frames", both(lambda s: s.clip.update(NumFrames=1, Frames=s.clip["Frames"][:1])), "1 frames"),
    Case("RP502", "clip", "/Frames/2/BoneRotations", lambda s: s.clip["Frames"][2]["BoneRotations"].pop(), "2 bones"),
    Case("RP503", "clip", "/Frames/1/BoneAngularVelocities/2/0",
         put(1e39, "clip", "Frames", 1, "BoneAngularVelocities", 2, 0), "thigh_r"),
    Case("RP505", "clip", "/FPS", put(30, "clip", "FPS"), "30"),
    Case("RP506", "clip", "", drop("clip", "FPS")),
    Case("RP507", "clip", "/FPS", put(-60, "clip", "FPS"), "-60"),
    Case("RP508", "clip", "/FPS", put(30, "clip", "fps"), "fps = 30 and FPS = 60"),
    Case("RP510", "clip", "/Frames/4/BoneRotations/1", bone(4, 1, lambda x, z: [*times(1.1, x), *times(1.1, z)]), "1.1 long"),
    Case("RP511", "clip", "/Frames/4/BoneRotations/1", bone(4, 1, lambda x, z: [*x, *leaning(z, x)]), "84.289°"),
    Case("RP512", "clip", "/Frames/4/BoneRotations/1", bone(4, 1, lambda x, z: [*x, 0.0, 0.0, 0.0]), "column 2 has no length"),
    Case("RP512", "clip", "/Frames/4/BoneRotations/1", bone(4, 1, lambda x, z: [*x, *x]), "parallel"),
    Case("RP513", "clip", "/Frames/6/BoneRotations/2", bone(6, 2, lambda x, z: [*times(-1, x), *z]), "turns 1"),
    Case("RP513", "clip", "/Frames/6/BoneRotations/2",
         put(rot6d(swing_rad(2, 6) + math.radians(60.0)), "clip", "Frames", 6, "BoneRotations", 2), "and back in the next"),
    Case("RP514", "clip", "/Frames/5/BoneRotations", repeated_frame, "1 such frames of 13"),
    Case("RP515", "clip", "/Frames/6/RootPosition", each_frame(
         lambda index, frame: add(2.0 if index >= 6 else 0.0, frame["RootPosition"], 1)), "m in one frame"),
    Case("RP515", "clip", "/Frames/6/RootPosition", lambda s: add(2.0, s.clip["Frames"][6]["RootPosition"], 1), "and back"),
    Case("RP516", "clip", "/Frames/6/RootYaw", put(1.5, "clip", "Frames", 6, "RootYaw"), "in one frame and back in the next"),
    Case("RP516", "clip", "/Frames/6/RootYaw", each_frame(
         lambda index, frame: frame.update(RootYaw=1.5 if index >= 6 else 0.5)), "turns 57.3°"),
    Case("RP517", "clip", "/Frames/0/RootYaw", each_frame(lambda _, frame: frame.update(RootYaw=45.0)), "7.2 turns"),
    Case("RP518", "clip", "/Frames/1/RootVelocityXY", each_frame(
         lambda _, frame: frame.update(RootVelocityXY=times(100, frame["RootVelocityXY"]))), "it is in cm/s"),
    Case("RP518", "clip", "/Frames/1/RootVelocityXY", each_frame(
         lambda _, frame: frame["RootVelocityXY"].reverse()), "the axes are swapped"),
    Case("RP519", "clip", "/Frames/9/RootPosition", each_frame(
         lambda _, frame: frame.update(RootPosition=times(100, frame["RootPosition"]))), "in centimetres"),
    Case("RP525", "clip", "/Frames/3/TrajectoryDir/1", put([2.0, 0.0], "clip", "Frames", 3, "TrajectoryDir", 1), "is 2 long"),
    Case("RP526", "clip", "/Frames/0/TrajectoryDir", each_frame(
         lambda _, frame: frame.update(TrajectoryDir=[[0.0, 1.0]] * 5)), "points 90.0° away"),
    Case("RP527", "clip", "/Frames/2/ActionBits", put([0, 0.5, 0.5, 0], "clip", "Frames", 2, "ActionBits"), "0.5"),
    Case("RP528", "clip", "/Frames/0/ActionBits", put("EAction::Run", "clip", "ClipAction"), "say walk"),
    Case("RP529", "clip", "/Frames/3/TrajectoryDir", put([[1.0, 0.0]] * 6, "clip", "Frames", 3, "TrajectoryDir"), "6 entries"),
    Case("RP530", "clip", "/Frames/4", drop("clip", "Frames", 4, "FootEvidence"), "1 of 13"),
    Case("RP530", "clip", "/Frames/0", both(drop(*META, "state_layout", "Contacts"),
         each_frame(lambda _, frame: frame.pop("FootEvidence"))), "13 of 13"),
    Case("RP531", "clip", FOOT.format(4, "L", "soft_contact_score"), foot(4, "L", soft_contact_score=1.5), "= 1.5"),
    Case("RP532", "clip", FOOT.format(4, "L", "dist_to_ground_m"),
         foot(4, "L", soft_contact_score=0.9, hit_flag=1), "0.90 at 86"),
    Case("RP533", "clip", FOOT.format(3, "L", "vxy_mps"), planted(3, 8, vxy_mps=1.2), "120 cm/s"),
    Case("RP534", "clip", FOOT.format(4, "R", "hit_flag"), foot(4, "R", soft_contact_score=0.9), "0.90"),
    Case("RP535", "clip", FOOT.format(4, "R", "ground_normal"), foot(4, "R", ground_normal=[0.0, 0.0, -1.0]), "up"),
    Case("RP536", "clip", "/Frames/1/RootVelocityXY", planted(3, 8), "slide at 83 cm/s"),
    Case("RP550", "clip", SPIN, spinning(lambda _, v: times(0.5, v)), "half the angle"),
    Case("RP550", "clip", SPIN, spinning(lambda _, v: times(-1, v)), "the other way round"),
    Case("RP551", "clip", SPIN, spinning(lambda _, v: times(math.degrees(1.0), v)), "57.30 times"),
    Case("RP552", "clip", SPIN, spinning(lambda _, v: [0.0, v[2] * math.sin(0.4), v[2] * math.cos(0.4)]), "own frame"),
    Case("RP553", "clip", SPIN, lagging, "the next frame"),
    Case("RP554", "clip", SPIN, spinning(lambda frame, v: times((-1) ** frame, v)), "% of it over"),

    Case("RP900", "clip", "/meta/skeleton/bone_names/1",
         put(["pelvis", "thigh_r", "thigh_l"], *CLIP_SKELETON, "bone_names"), "'thigh_r' in the clip"),
    Case("RP901", "clip", "/meta/skeleton/parents/2", put(1, *CLIP_SKELETON, "parents", 2), "is 1 in the clip"),
    Case("RP902", "clip", "/meta/skeleton/ref_local_offsets_m/1",
         put([0.0, -0.11, 0.0], *CLIP_SKELETON, "ref_local_offsets_m", 1), "10.0 mm"),
    Case("RP903", "clip", "/meta/units", put("centimeters", "clip", "meta", "units"), "'centimeters' in the clip"),
    Case("RP904", "clip", "/Frames", each_frame(lambda _, frame: add(100.0, frame["RootPosition"], 0)), "RootPosition"),
    Case("RP613", "clip", "/Frames/4", lambda s: add(50.0, s.clip["Frames"][4]["RootPosition"], 0), "RootPosition"),
    Case("RP560", "clip", "/Frames/0/BoneRotations", rows_read(lambda rows: [row[3:] + row[:3] for row in rows]), "Z and X"),
    Case("RP561", "clip", "/Frames/0/BoneRotations", rows_read(lambda rows: [transposed(row) for row in rows]), "transposed"),
    Case("RP562", "clip", "/Frames/0/BoneRotations/0", rows_read(lambda rows: [rows[2], rows[1], rows[0]]), "pelvis and thigh_r"),
    Case("RP912", "clip", "/Frames/0/BoneRotations/1", rows_read(lambda rows: [rows[0], rows[2], rows[1]]), "exchanged"),
    Case("RP905", "clip", "/Frames/0/RootVelocityXY", put([0.2, 0.2], "bundle", "tanh_scales_rootvel"), "5.38 times"),
)  # fmt: skip
