"""`rigpact diff` of two predictions of one clip: which is better, by how much, where, and whether either is worth shipping.

The degrees are derived again here, number by number in float64, and share no code with rigpact.
"""

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest

from rigpact.reports.comparing.pose_meter import bone_groups

from .demo import BUNDLE, CLIP, CONTRACT, DEMO, MODEL, PREDICTION, RUN_F, load

TURN_DEG, TURNED_FRAMES, SHELL_CM = 10.0, range(5, 10), 3.0
POSES = [frame["BoneRotations"] for frame in load(CLIP)["Frames"]]
NAMES = load(BUNDLE)["meta"]["bone_names"]


@pytest.fixture
def predicted(tmp_path):
    """A prediction file whose poses are the clip's next ones, changed bone by bone."""
    source, statistics = load(PREDICTION), load(BUNDLE)

    def write(name, edit):
        rows = [
            [number for bone, six in enumerate(pose) for number in edit(frame, bone, [*six])]
            for frame, pose in enumerate(POSES[1:])
        ]
        normalised = (np.array(rows) - statistics["MuY"]) / statistics["StdY"]
        prediction = {**source["prediction"], "y_raw": rows, "y_norm": normalised.tolist()}
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps({**source, "prediction": prediction, "diagnostics": {}}), encoding="utf-8")
        return path

    return write


@pytest.fixture
def diff(command):
    """`rigpact diff` under the demo bundle, the demo clip as the teacher: the answer, and its baseline."""

    def call(a, b):
        answer = command("diff", a, b, *CONTRACT, "--teacher", CLIP, "--format", "json")
        return answer, json.loads(answer.out)["summary"]["baseline"]

    return call


def cross(a, b):
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def turned_about_x(numbers, degrees):
    """R·Rx of two columns X and Z: X stays, Z leans."""
    x, z = numbers[:3], numbers[3:]
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return [*x, *(c * along - s * across for along, across in zip(z, cross(z, x), strict=True))]


def as_it_is(_frame, _bone, numbers):
    return numbers


def everywhere(degrees):
    return lambda _frame, _bone, numbers: turned_about_x(numbers, degrees)


def test_the_better_one_is_named_with_degrees_and_centimetres(diff, predicted, command):
    """One leaf is turned in five frames: every number of the answer follows from that. A worse checkpoint is not shipped."""

    def worse(frame, bone, numbers):
        turns = bone == NAMES.index("ball_l") and frame in TURNED_FRAMES
        return turned_about_x(numbers, TURN_DEG) if turns else numbers

    files = predicted("right", as_it_is), predicted("wrong", worse)
    _, baseline = diff(*files)
    frames = len(POSES) - 1
    share = len(TURNED_FRAMES) / (frames * len(NAMES))
    # of three points 3 cm off the bone along its axes, two move by the chord of the turn
    chord_cm = 2 * SHELL_CM * math.sin(math.radians(TURN_DEG / 2))
    assert (baseline["frames"], baseline["better"], baseline["frames_nearer"]["a"]) == (frames, "a", len(TURNED_FRAMES))
    # numbers of seven digits: each of 46 bones by less than 1e-5 degrees
    assert (baseline["b_deg"], baseline["b_cm"]) == pytest.approx((TURN_DEG * share, chord_cm * share), abs=1e-5)
    assert (baseline["a_deg"], baseline["a_cm"]) == pytest.approx((0.0, 0.0), abs=1e-5)
    stretch = baseline["parting"][0]
    assert (stretch["first"], stretch["last"]) == (TURNED_FRAMES[0], TURNED_FRAMES[-1])
    assert (stretch["nearer"], stretch["bone"]) == ("a", "ball_l")
    assert stretch["bone_by_deg"] == pytest.approx(TURN_DEG, abs=1e-3)
    legs = next(group for group in baseline["groups"] if "ball_l" in group["bones"])
    assert legs["group"] == "legs"
    assert legs["b_deg"] == pytest.approx(TURN_DEG * len(TURNED_FRAMES) / (frames * len(legs["bones"])), abs=1e-4)
    shown = command("diff", *files, *CONTRACT, "--teacher", CLIP).out
    assert re.search(rf"all \({len(NAMES)}\)\W+0\.0000\W+{TURN_DEG * share:.4f}\W", shown), shown


def unit(vector):
    return [value / math.hypot(*vector) for value in vector]


def angle_deg(one, other):
    """The geodesic angle between two rotations of six numbers, columns X and Z."""
    columns = []
    for numbers in (one, other):
        x = unit(numbers[:3])
        along = sum(a * b for a, b in zip(x, numbers[3:], strict=True))
        z = unit([b - along * a for a, b in zip(x, numbers[3:], strict=True)])
        columns.append((x, cross(z, x), z))
    between = [[sum(a[k] * b[k] for k in range(3)) for b in columns[1]] for a in columns[0]]
    turn = (between[2][1] - between[1][2], between[0][2] - between[2][0], between[1][0] - between[0][1])
    return math.degrees(math.atan2(math.hypot(*turn) / 2, (sum(between[k][k] for k in range(3)) - 1) / 2))


def test_every_mean_is_the_one_derived_by_hand(diff, predicted):
    """A score that is off by a bone or a frame ships the wrong checkpoint."""
    random = np.random.default_rng(3)
    shifts = {side: random.normal(0, size, (len(POSES), 46, 6)) for side, size in (("a", 0.05), ("b", 0.02))}
    files = {
        side: predicted(side, lambda frame, bone, six, by=by: [*map(float, np.array(six) + by[frame, bone])])
        for side, by in shifts.items()
    }
    _, baseline = diff(files["a"], files["b"])
    guesses = {
        side: [np.reshape(row, (-1, 6)).tolist() for row in load(path)["prediction"]["y_raw"]]
        for side, path in files.items()
    }
    guesses["copy_last"] = POSES[:-1]
    errors = {
        side: np.array([[angle_deg(*pair) for pair in zip(*both, strict=True)] for both in zip(rows, POSES[1:], strict=True)])
        for side, rows in guesses.items()
    }  # fmt: skip
    for side, error in errors.items():
        # float32 of numbers about 1: 6e-8, seen through a column as an angle of less than 1e-5 degrees
        assert baseline[f"{side}_deg"] == pytest.approx(float(error.mean()), abs=1e-5), side
        for group in baseline["groups"]:
            rows = [NAMES.index(name) for name in group["bones"]]
            assert group[f"{side}_deg"] == pytest.approx(float(error[:, rows].mean()), abs=1e-5), group["group"]
    nearer = errors["b"].mean(axis=1) < errors["a"].mean(axis=1)
    assert baseline["better"] == "b"
    assert baseline["frames_nearer"] == {"a": int((~nearer).sum()), "b": int(nearer.sum())}
    assert sum(len(group["bones"]) for group in baseline["groups"]) == 46


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("a", "b", "better", "beaten", "degrees", "says"),
    [
        (everywhere(30.0), everywhere(50.0), "a", ["a", "b"], (30.0, 50.0), "NEITHER BEATS COPY-LAST"),
        (as_it_is, everywhere(30.0), "a", ["b"], (0.0, 30.0), "b (second.json) LOSES TO COPY-LAST"),
        (everywhere(3.0), everywhere(3.0), None, [], (3.0, 3.0), ""),
        # one frame that is far off decides a mean; in all others the same checkpoint was nearer
        (lambda frame, _, six: turned_about_x(six, 60.0 * (frame == 9)), everywhere(1.0), None, ["a", "b"], (1.875, 1.0), ""),
    ],
    ids=["both lose", "one loses", "the same", "one frame"],
)  # fmt: skip
def test_a_checkpoint_is_better_only_where_that_is_progress(
    command, diff, predicted, a, b, better, beaten, degrees, says
):
    """The better of two networks that a statue beats is not progress; two names of one are not ranked by rounding."""
    files = predicted("first", a), predicted("second", b)
    _, baseline = diff(*files)
    assert (baseline["better"], baseline["beaten_by_copy_last"]) == (better, beaten)
    assert (baseline["a_deg"], baseline["b_deg"]) == pytest.approx(degrees, abs=1e-4)
    if says:
        assert command("diff", *files, *CONTRACT, "--teacher", CLIP).out.startswith(says)


def test_who_drove_and_who_computes_wrongly_are_no_rivals(diff, command, demo_run, predicted):
    """An engine records no target: the clip gives it. A clip beats every prediction of it, and a wrong loop is not a model."""
    _, baseline = diff(demo_run, predicted("right", as_it_is))
    assert (baseline["better"], baseline["b_deg"]) == ("b", pytest.approx(0.0, abs=1e-4))
    assert diff(CLIP, predicted("some", everywhere(3.0)))[1]["better"] is None
    other, knob = demo_run.with_name("other.trace.jsonl"), ("--set", "compose_order=prev_delta")
    assert command("run", "--contract", BUNDLE, "--onnx", MODEL, CLIP, *knob, "-o", other).status == 0
    assert diff(other, demo_run)[1]["better"] == "b", "poses may only follow an earlier stage; a player sees them"
    own = command("diff", other, demo_run, "--contract", BUNDLE, "--format", "json")
    assert json.loads(own.out)["summary"]["baseline"]["better"] is None, (
        "without a teacher nobody asked who predicts better"
    )


def test_a_teacher_of_other_poses_or_without_them_is_refused(command, predicted):
    """Errors against another motion rank checkpoints by chance; without the bundle a batch is normalised numbers."""
    files = predicted("one", as_it_is), predicted("two", everywhere(3.0))
    answer = command("diff", *files, "--contract", BUNDLE, "--teacher", RUN_F)
    assert (answer.status, "Run_F.json" in answer.err) == (2, True)
    answer = command("diff", *files, "--teacher", DEMO / "teacher_batches" / "Sneak_Turn_teacher.json")
    assert (answer.status, "--contract" in answer.err) == (2, True)


def test_no_bone_is_guessed_into_a_group():
    """A weapon counted as an arm hides what the arm does."""
    names = (
        "hips", "LeftUpLeg", "RUpArmTwist_l_01", "mixamorig:LeftHandIndex1", "head_end", "sword", "joint_7", "string",
    )  # fmt: skip
    assert bone_groups(names) == {
        "torso": [0], "head": [4], "arms": [2], "fingers": [3], "legs": [1], "other": [5, 6, 7],
    }  # fmt: skip


def test_the_deployed_checkpoints_both_lose_in_degrees(command, real_data):
    """The exporter's own diagnostics (0.546 and 0.457 degrees, of an acos) say nothing of who does not move."""
    files = [real_data / f"Walk_F{name}.json" for name in ("_prediction", "_prediction_best", "")]
    contract = ("--contract", real_data / "norm_template.json", "--companion", real_data / "pretrain_template.json")
    answer = command("diff", *files[:2], "--teacher", files[2], *contract, "--format", "json")
    baseline = json.loads(answer.out)["summary"]["baseline"]
    assert (baseline["better"], baseline["beaten_by_copy_last"]) == (None, ["a", "b"])
    composed = [each["file"] for each in json.loads(answer.out)["findings"] if each["code"] == "RP633"]
    assert [Path(file).name for file in composed] == ["Walk_F_prediction.json", "Walk_F_prediction_best.json"]
    # acos of a clamped cosine in float32 cannot see 0.02 degrees
    assert (baseline["a_deg"], baseline["b_deg"]) == pytest.approx((0.546, 0.457), abs=0.02)
    assert baseline["copy_last_deg"] < baseline["b_deg"]
    assert baseline["b_cm"] < baseline["copy_last_cm"] < baseline["a_cm"]


def matrix(six):
    """The rotation whose columns X and Z are given."""
    x, z = np.array(six[:3]), np.array(six[3:])
    return np.stack((x, np.cross(z, x), z), axis=1)


def test_predictions_that_were_composed_with_their_target_are_not_ranked(diff, predicted):
    """`check` says of both that the error is the size of the network's turn; "17% better" chose a checkpoint by it."""

    def composed(strength):
        def edit(frame, bone, six):
            now, following = matrix(POSES[frame][bone]), matrix(six)
            both = following + strength * (following - now)  # twice the step, to first order
            x = both[:, 0] / np.linalg.norm(both[:, 0])
            z = both[:, 2] - x * (x @ both[:, 2])
            return [*x, *(z / np.linalg.norm(z))]

        return edit

    answer, baseline = diff(predicted("twice", composed(1.0)), predicted("half", composed(0.5)))
    said = {(Path(each["file"]).stem, each["code"]) for each in json.loads(answer.out)["findings"]}
    assert {("twice", "RP633"), ("half", "RP633")} <= said
    assert (baseline["better"], baseline["parting"]) == (None, [])
