"""Files just within a rule's threshold: none may be reported, or users switch the rule off, and it never fires."""

import math
from itertools import pairwise

from .edits import (
    META,
    SKELETON,
    Edit,
    both,
    drop,
    each_frame,
    foot,
    little_motion,
    more,
    planted,
    put,
    rows_read,
    scaled,
    spinning,
    times,
)  # fmt: skip
from .model_cases import branch, clipped, dropout, graph, node, opset, weight
from .small_character import predicted_pose, rot6d, swing_rad
from .teacher_cases import RESIDUAL, SHORTER_CLIP, condition, predicting, recorded, remembered, rounded


def third_bone(angle):
    """One bone is turned beyond its motion, by so many radians in each frame."""
    return each_frame(lambda n, frame: frame["BoneRotations"].__setitem__(2, rot6d(swing_rad(2, n) + angle(n))))


def three_decimals(_, frame):
    frame["BoneRotations"] = [[round(number, 3) for number in six] for six in frame["BoneRotations"]]


def held_pose(sample):
    """The character holds a pose for three frames."""
    frames = sample.clip["Frames"]
    frames[5]["BoneRotations"] = frames[6]["BoneRotations"] = frames[4]["BoneRotations"]


def forward_differences(sample):
    for frame, following in pairwise(sample.clip["Frames"]):
        pairs = zip(frame["RootPosition"][:2], following["RootPosition"][:2], strict=True)
        frame["RootVelocityXY"] = [60 * (after - before) for before, after in pairs]


def ahead(angle_deg):
    return [math.cos(math.radians(angle_deg)), math.sin(math.radians(angle_deg))]


def of_the_next_frame(sample):
    """Condition rows of the frame that `cond_to_y` declares, shifted within the file; the last one is repeated."""
    sample.bundle["meta"]["alignment"]["cond_to_y"] = {"mode": "match_y", "offset": 1}
    for rows in (sample.batch["teacher"], sample.prediction["teacher"]):
        rows["cond"] = [*rows["cond"][1:], rows["cond"][-1]]


def pushed(first, last):
    """4 cm aside in these frames."""
    return both(*(more(0.04, "clip", "Frames", frame, "RootPosition", 1) for frame in range(first, last)))


ROW = ("batch", "teacher", "state_norm", 5, 0)
ENGINES_START = remembered(lambda f: (max(f - 1, 0), f))
OTHERS_OUTPUT = both(recorded(rounded), put("an earlier checkpoint", "batch", "model"))
THIGH_HELD = rows_read(lambda rows: [rows[0], rows[1], rows[1]])
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
    ("RP118", "a third of a deviation", more(0.08, "bundle", "MuY", 6)),
    ("RP131", "six digits", put(3.14159, "bundle", "s_eff_X", 5)),
    ("RP134", "on the declared floor", put(1e-3, "bundle", "StdY", 3)),
    ("RP228", "a giant of 9 m", scaled(10.0, *SKELETON, "ref_local_offsets_m")),
    ("RP229", "1.5 percent", put([0.0, -0.1015, 0.0], *SKELETON, "ref_local_offsets_m", 1)),
    ("RP240", "metres by another name", put("Metres", *META, "units")),
    ("RP241", "no word on rot6d's handedness", drop(*META, "rot6d_spec", "handedness")),
    ("RP510", "three decimals", each_frame(three_decimals)),
    ("RP511", "three decimals", each_frame(three_decimals)),
    ("RP513", "75 degrees in a frame", third_bone(lambda n: 1.3 if n >= 6 else 0.0)),
    ("RP513", "40 degrees there and back", third_bone(lambda n: math.radians(40.0) if n == 6 else 0.0)),
    ("RP513", "40 degrees there and back in every frame", third_bone(lambda n: math.radians(20.0) * (-1) ** n)),
    ("RP514", "a pose held for three frames", held_pose),
    ("RP515", "a push of 4 cm", pushed(6, 13)),
    ("RP515", "4 cm there and back", pushed(6, 7)),
    ("RP516", "a wrap from pi to -pi", each_frame(lambda n, f: f.update(RootYaw=3.1 if n < 6 else -3.1))),
    ("RP516", "9 degrees there and back", put(0.5 + math.radians(9.0), "clip", "Frames", 6, "RootYaw")),
    ("RP517", "three turns", each_frame(lambda _, f: f.update(RootYaw=19.0))),
    ("RP518", "forward differences", forward_differences),
    ("RP525", "no direction at rest", put([0.0, 0.0], "clip", "Frames", 3, "TrajectoryDir", 1)),
    ("RP526", "40 degrees aside", each_frame(lambda _, f: f.update(TrajectoryDir=[ahead(40.0)] * 5))),
    ("RP528", "an action that has no bit", put("EAction::Swim", "clip", "ClipAction")),
    ("RP530", "a score that is a whole number", foot(4, "L", soft_contact_score=0)),
    ("RP532", "no ground, so no distance", foot(4, "L", soft_contact_score=0.9, hit_flag=0, dist_to_ground_m=1e7)),
    ("RP533", "two frames of landing", planted(3, 5, vxy_mps=1.2)),
    ("RP550", "one percent", spinning(lambda _, v: times(1.01, v))),
    ("RP425", "inputs behind what a branch reads from outside", graph(branch)),
    ("RP426", "a dropout that an exporter left in", graph(*dropout())),
    ("RP426", "a dropout that says that it does not train", graph(*dropout(False))),
    (
        "RP430",
        "a clamp of what the model computed",
        graph(weight("low", -2.0), weight("high", 2.0), node("Clip", "all low high", "c")),
    ),
    ("RP450", "the contract's own operator set", graph(opset(18))),
    ("RP613", "a graph that clamps at 64", both(clipped("state low high", low=-64.0, high=64.0), put(17.0, *ROW))),
    ("RP613", "exactly 16", put(16.0, *ROW)),
    ("RP613", "a graph that cuts nothing", both(graph(), put(17.0, *ROW))),
    ("RP616", "two decimals of a walk", condition(lambda c: [*c[:6], round(c[6], 2)])),
    ("RP617", "five degrees", condition(lambda c: [*c[:4], *ahead(math.degrees(0.5) + 5), c[6]])),
    ("RP632", "a pose without y_raw", put(None, "prediction", "prediction", "y_raw")),
    ("RP633", "15 percent too far", predicting(lambda f: predicted_pose(f, 1.15))),
    ("RP635", "hardly better than copying", predicting(lambda f: predicted_pose(f, 0.01))),
    ("RP637", "one part in a hundred missing", predicting(lambda f: predicted_pose(f, 0.99))),
    ("RP643", "the engine's own start", ENGINES_START),
    ("RP644", "the engine's own start", ENGINES_START),
    ("RP902", "half a millimetre", put([0.0, -0.1005, 0.0], "clip", "meta", "skeleton", "ref_local_offsets_m", 1)),
    ("RP904", "eight deviations", both(*(more(8.0, "clip", "Frames", n, "RootPosition", 0) for n in range(13)))),
    ("RP560", "limbs that move as in training", little_motion),
    ("RP561", "a thigh that is held elsewhere", THIGH_HELD),
    ("RP562", "a thigh that is held as the other one", THIGH_HELD),
    ("RP912", "a thigh that is held as the other one", THIGH_HELD),
    ("RP907", "the declared frame t+1", of_the_next_frame),
    ("RP908", "the declared frame t+1", of_the_next_frame),
    ("RP907", "a row beyond a clip that was cut", both(SHORTER_CLIP, more(0.5, "batch", "teacher", "cond", 11, 6))),
    ("RP616", "the declared frame t+1", of_the_next_frame),
    ("RP621", "a residual that is called one", RESIDUAL),
    ("RP622", "output and poses in one order", recorded()),
    ("RP624", "output and poses in one order", recorded()),
    ("RP624", "the output of another network", OTHERS_OUTPUT),
    ("RP620", "a pose as it should be", predicting(predicted_pose)),
    ("RP908", "nothing declared", drop(*META, "alignment", "cond_to_y")),
)
