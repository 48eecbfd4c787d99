"""Files just within a rule's threshold: none of these may be reported.

Users switch off a rule that fires too early, and then it never fires.
"""

import math
from itertools import pairwise
from typing import Any

from . import model_cases
from .clip_cases import add, foot, little_motion, planted, rows_read, spinning, times
from .rule_cases import META, SKELETON, Edit, both, drop, each_frame, put, scaled
from .small_character import predicted_pose, rot6d, swing_rad
from .teacher_cases import condition, others_output, predicting, recorded_output, remembered, residual_prediction


def three_decimals(sample: Any) -> None:
    for frame in sample.clip["Frames"]:
        frame["BoneRotations"] = [[round(number, 3) for number in six] for six in frame["BoneRotations"]]


def held_pose(sample: Any) -> None:
    """The character holds a pose for three frames."""
    frames = sample.clip["Frames"]
    frames[5]["BoneRotations"] = frames[6]["BoneRotations"] = frames[4]["BoneRotations"]


def quick_turn(sample: Any) -> None:
    """One bone turns by 80 degrees in a frame: a slap, no flipped column."""
    for index in range(6, 13):
        sample.clip["Frames"][index]["BoneRotations"][2] = rot6d(swing_rad(2, index) + 1.3)


def pushed_bone(angle_deg: float) -> Edit:
    """One bone leaves its motion for one frame."""
    return put(rot6d(swing_rad(2, 6) + math.radians(angle_deg)), "clip", "Frames", 6, "BoneRotations", 2)


def shivering(sample: Any) -> None:
    """One bone shakes by 40 degrees in every frame."""
    for index, frame in enumerate(sample.clip["Frames"]):
        frame["BoneRotations"][2] = rot6d(swing_rad(2, index) + math.radians(20.0) * (-1) ** index)


def forward_differences(sample: Any) -> None:
    frames = sample.clip["Frames"]
    for frame, following in pairwise(frames):
        pairs = zip(frame["RootPosition"][:2], following["RootPosition"][:2], strict=True)
        frame["RootVelocityXY"] = [60 * (after - before) for before, after in pairs]


def turned(angle_deg: float) -> list[float]:
    return [math.cos(math.radians(angle_deg)), math.sin(math.radians(angle_deg))]


def of_the_next_frame(sample: Any) -> None:
    """Condition rows of the frame that `cond_to_y` declares, shifted within the file."""
    sample.bundle["meta"]["alignment"]["cond_to_y"] = {"mode": "match_y", "offset": 1}
    for rows in (sample.batch["teacher"], sample.prediction["teacher"]):
        rows["cond"] = [*rows["cond"][1:], rows["cond"][-1]]


NEAR_MISSES: tuple[tuple[str, str, Edit], ...] = (
    ("RP072", "240 frames a second", put(240, "bundle", "fps")),
    ("RP080", "raw conditions", put("Raw", "bundle", "cond_norm_config", "mode")),
    ("RP082", "null, as exporters write it", put(None, "bundle", "cond_norm_config", "size")),
    ("RP102", "a mean of exactly 1", put(1.0, "bundle", "MuX", 5)),
    ("RP104", "the smallest normal float32", put(1.2e-38, "bundle", "StdX", 12)),
    ("RP105", "numpy's float32 of 1e-6", put(9.999999974752427e-07, "bundle", "StdX", 12)),
    ("RP107", "numpy's float32 of 1e-3", put(0.0010000000474974513, "bundle", "tanh_scales_angvel", 0)),
    ("RP108", "a step of half a deviation", both(put(3000.0, "bundle", "MuX", 0), put(5e-4, "bundle", "StdX", 0))),
    ("RP109", "a little above the floor", put(1.1e-6, "bundle", "StdX", 2)),
    ("RP110", "a course of 8 km", put(8190.0, "bundle", "MuX", 0)),
    ("RP111", "49 m/s", put(49.0, "bundle", "tanh_scales_rootvel", 0)),
    ("RP112", "just below half a turn a frame", put(188.0, "bundle", "tanh_scales_angvel", 3)),
    ("RP114", "all but one", put([0.0] * 8 + [0.01], "bundle", "MuAngVel")),
    ("RP116", "a deviation of 0.3 for 0.25", put(0.3, "bundle", "StdX", 6)),
    ("RP118", "a third of a deviation", lambda sample: add(0.08, sample.bundle["MuY"], 6)),
    ("RP131", "six digits", put(3.14159, "bundle", "s_eff_X", 5)),
    ("RP134", "on the declared floor", put(1e-3, "bundle", "StdY", 3)),
    ("RP228", "a giant of 9 m", scaled(10.0, *SKELETON, "ref_local_offsets_m")),
    ("RP229", "1.5 percent", put([0.0, -0.1015, 0.0], *SKELETON, "ref_local_offsets_m", 1)),
    ("RP240", "metres by another name", put("Metres", *META, "units")),
    ("RP241", "no word on rot6d's handedness", drop(*META, "rot6d_spec", "handedness")),
    ("RP510", "three decimals", three_decimals),
    ("RP511", "three decimals", three_decimals),
    ("RP513", "80 degrees in a frame", quick_turn),
    ("RP514", "a pose held for three frames", held_pose),
    ("RP515", "a push of 4 cm", each_frame(lambda i, f: add(0.04 if i >= 6 else 0.0, f["RootPosition"], 1))),
    ("RP516", "a wrap from pi to -pi", each_frame(lambda i, f: f.update(RootYaw=3.1 if i < 6 else -3.1))),
    ("RP517", "three turns", each_frame(lambda _, f: f.update(RootYaw=19.0))),
    ("RP518", "forward differences", forward_differences),
    ("RP525", "no direction at rest", put([0.0, 0.0], "clip", "Frames", 3, "TrajectoryDir", 1)),
    ("RP526", "40 degrees aside", each_frame(lambda _, f: f.update(TrajectoryDir=[turned(40.0)] * 5))),
    ("RP528", "an action that has no bit", put("EAction::Swim", "clip", "ClipAction")),
    ("RP513", "40 degrees there and back", pushed_bone(40.0)),
    ("RP513", "40 degrees there and back in every frame", shivering),
    ("RP515", "4 cm there and back", lambda sample: add(0.04, sample.clip["Frames"][6]["RootPosition"], 1)),
    ("RP516", "9 degrees there and back", put(0.5 + math.radians(9.0), "clip", "Frames", 6, "RootYaw")),
    ("RP530", "a score that is a whole number", foot(4, "L", soft_contact_score=0)),
    ("RP532", "no ground, so no distance", foot(4, "L", soft_contact_score=0.9, hit_flag=0, dist_to_ground_m=1e7)),
    ("RP533", "two frames of landing", planted(3, 5, vxy_mps=1.2)),
    ("RP550", "one percent", spinning(lambda _, v: times(1.01, v))),
    ("RP450", "the contract's own operator set", model_cases.graph(opsets={"": 18})),
    ("RP613", "a graph that clamps at 64",
     both(model_cases.clipped("state low high", low=-64.0, high=64.0), put(17.0, "batch", "teacher", "state_norm", 5, 0))),
    ("RP613", "exactly 16", put(16.0, "batch", "teacher", "state_norm", 5, 0)),
    ("RP613", "a graph that cuts nothing", both(model_cases.graph(), put(17.0, "batch", "teacher", "state_norm", 5, 0))),
    ("RP616", "two decimals of a walk", condition(lambda c: [*c[:6], round(c[6], 2)])),
    ("RP617", "five degrees", condition(lambda c: [*c[:4], *turned(math.degrees(0.5) + 5), c[6]])),
    ("RP632", "a pose without y_raw", put(None, "prediction", "prediction", "y_raw")),
    ("RP633", "15 percent too far", predicting(lambda f: predicted_pose(f, 1.15))),
    ("RP635", "hardly better than copying", predicting(lambda f: predicted_pose(f, 0.01))),
    ("RP637", "one part in a hundred missing", predicting(lambda f: predicted_pose(f, 0.99))),
    ("RP643", "the engine's own start", remembered(lambda f: (max(f - 1, 0), f))),
    ("RP644", "the engine's own start", remembered(lambda f: (max(f - 1, 0), f))),
    ("RP902", "half a millimetre", put([0.0, -0.1005, 0.0], "clip", "meta", "skeleton", "ref_local_offsets_m", 1)),
    ("RP904", "nine deviations", each_frame(lambda _, f: add(8.0, f["RootPosition"], 0))),
    ("RP560", "limbs that move as in training", little_motion),
    ("RP561", "a thigh that is held elsewhere", rows_read(lambda rows: [rows[0], rows[1], rows[1]])),
    ("RP562", "a thigh that is held as the other one", rows_read(lambda rows: [rows[0], rows[1], rows[1]])),
    ("RP912", "a thigh that is held as the other one", rows_read(lambda rows: [rows[0], rows[1], rows[1]])),
    ("RP907", "the declared frame t+1, the last row repeated", of_the_next_frame),
    ("RP908", "the declared frame t+1, the last row repeated", of_the_next_frame),
    ("RP616", "the declared frame t+1, the last row repeated", of_the_next_frame),
    ("RP621", "a residual that is called one", residual_prediction),
    ("RP622", "output and poses in one order", recorded_output),
    ("RP624", "output and poses in one order", recorded_output),
    ("RP624", "the output of another network", others_output),
    ("RP620", "a pose as it should be", predicting(predicted_pose)),
    ("RP908", "nothing declared", drop(*META, "alignment", "cond_to_y")),
)  # fmt: skip
