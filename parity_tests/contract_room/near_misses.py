"""Files just within a rule's threshold: none may be reported, or users switch the rule off, and it never fires."""

import math
from itertools import pairwise

from . import model_cases, teacher_cases
from .edits import (
    Edit,
    both,
    each_frame,
    edit_of,
    foot,
    more,
    planted,
    put,
    rows_of,
    rows_read,
    spinning,
    times,
)  # fmt: skip
from .model_cases import branch, clipped, dropout, graph, node, opset, weight
from .small_character import predicted_pose, rot6d, swing_rad
from .teacher_cases import condition, predicting, recorded, remembered, rounded


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
_NAMES = vars(model_cases) | vars(teacher_cases) | globals()
NEAR_MISSES: tuple[tuple[str, str, Edit], ...] = (
    ("RP510", "three decimals", each_frame(three_decimals)),
    ("RP511", "three decimals", each_frame(three_decimals)),
    ("RP513", "75 degrees in a frame", third_bone(lambda n: 1.3 if n >= 6 else 0.0)),
    ("RP513", "40 degrees there and back", third_bone(lambda n: math.radians(40.0) if n == 6 else 0.0)),
    ("RP513", "40 degrees there and back in every frame", third_bone(lambda n: math.radians(20.0) * (-1) ** n)),
    ("RP516", "a wrap from pi to -pi", each_frame(lambda n, f: f.update(RootYaw=3.1 if n < 6 else -3.1))),
    ("RP517", "three turns", each_frame(lambda _, f: f.update(RootYaw=19.0))),
    ("RP526", "40 degrees aside", each_frame(lambda _, f: f.update(TrajectoryDir=[ahead(40.0)] * 5))),
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
    ("RP616", "two decimals of a walk", condition(lambda c: [*c[:6], round(c[6], 2)])),
    ("RP617", "five degrees", condition(lambda c: [*c[:4], *ahead(math.degrees(0.5) + 5), c[6]])),
    ("RP633", "15 percent too far", predicting(lambda f: predicted_pose(f, 1.15))),
    ("RP635", "hardly better than copying", predicting(lambda f: predicted_pose(f, 0.01))),
    ("RP637", "one part in a hundred missing", predicting(lambda f: predicted_pose(f, 0.99))),
    ("RP904", "eight deviations", both(*(more(8.0, "clip", "Frames", n, "RootPosition", 0) for n in range(13)))),
    ("RP620", "a pose as it should be", predicting(predicted_pose)),
    *((code, what, edit_of(said, _NAMES)) for code, what, said in rows_of("near_misses")),
)
