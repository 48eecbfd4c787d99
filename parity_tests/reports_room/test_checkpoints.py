"""`rigpact diff` of two predictions of one clip: which is better, by how much, where, and whether either is worth shipping.

The degrees are derived again here, number by number in float64, and share no code with rigpact.
"""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rigpact.reports.comparing.checkpoints.ranking import bone_groups

Vector = list[float]
Edit = Callable[[int, int, Vector], Vector]
"""The six numbers of a bone in a frame, changed."""
TURN_DEG, TURNED_FRAMES = 10.0, range(5, 10)
SHELL_CM = 3.0


@pytest.fixture
def clip(demo_bundle: Path) -> Any:
    return json.loads((demo_bundle / "clips" / "Sneak_Turn.json").read_text(encoding="utf-8"))


@pytest.fixture
def predicted(demo_bundle: Path, tmp_path: Path, clip: Any) -> Callable[[str, Edit], Path]:
    """A prediction file whose poses are the clip's next ones, changed."""
    source = json.loads(
        (demo_bundle / "teacher_predictions" / "Sneak_Turn_prediction.json").read_text(encoding="utf-8")
    )
    statistics = json.loads((demo_bundle / "norm_template.json").read_text(encoding="utf-8"))

    def write(name: str, edit: Edit) -> Path:
        rows = []
        for frame, following in enumerate(clip["Frames"][1:]):
            six = [edit(frame, bone, [*numbers]) for bone, numbers in enumerate(following["BoneRotations"])]
            rows.append([number for numbers in six for number in numbers])
        normalised = (np.array(rows) - statistics["MuY"]) / statistics["StdY"]
        prediction = {**source["prediction"], "y_raw": rows, "y_norm": normalised.tolist()}
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps({**source, "prediction": prediction, "diagnostics": {}}), encoding="utf-8")
        return path

    return write


@pytest.fixture
def diff(command: Any, demo_bundle: Path) -> Callable[..., Any]:
    """`rigpact diff` under the demo bundle, the demo clip as the teacher."""
    teacher = demo_bundle / "clips" / "Sneak_Turn.json"
    bundle = ("--contract", demo_bundle / "norm_template.json", "--companion", demo_bundle / "pretrain_template.json")
    return lambda a, b, *words: command("diff", a, b, *bundle, "--teacher", teacher, *words)


def baseline_of(answer: Any) -> Any:
    return json.loads(answer.out)["summary"]["baseline"]


def turned_about_x(numbers: Vector, degrees: float) -> Vector:
    """R·Rx of two columns X and Z: X stays, Z leans."""
    x, z = numbers[:3], numbers[3:]
    y = cross(z, x)
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return [*x, *(c * along - s * across for along, across in zip(z, y, strict=True))]


def cross(a: Vector, b: Vector) -> Vector:
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def as_it_is(_frame: int, _bone: int, numbers: Vector) -> Vector:
    return numbers


def test_the_better_one_is_named_with_degrees_and_centimetres(
    diff: Any, predicted: Any, clip: Any, demo_bundle: Path
) -> None:
    """One leaf is turned in five frames: every number of the answer follows from that. A worse checkpoint is not shipped."""
    bones = json.loads((demo_bundle / "norm_template.json").read_text(encoding="utf-8"))["meta"]["bone_names"]
    ball = bones.index("ball_l")

    def worse(frame: int, bone: int, numbers: Vector) -> Vector:
        return turned_about_x(numbers, TURN_DEG) if bone == ball and frame in TURNED_FRAMES else numbers

    baseline = baseline_of(diff(predicted("right", as_it_is), predicted("wrong", worse), "--format", "json"))

    frames = len(clip["Frames"]) - 1
    share = len(TURNED_FRAMES) / (frames * len(bones))
    # of three points 3 cm off the bone along its axes, two move by the chord of the turn
    chord_cm = 2 * SHELL_CM * math.sin(math.radians(TURN_DEG / 2))
    assert baseline["frames"] == frames
    assert baseline["better"] == "a"
    assert baseline["frames_nearer"]["a"] == len(TURNED_FRAMES)
    # numbers of seven digits: each of 46 bones by less than 1e-5 degrees
    assert baseline["b_deg"] == pytest.approx(TURN_DEG * share, abs=1e-5)
    assert baseline["b_cm"] == pytest.approx(chord_cm * share, abs=1e-5)
    assert (baseline["a_deg"], baseline["a_cm"]) == pytest.approx((0.0, 0.0), abs=1e-5)
    stretch = baseline["parting"][0]
    assert (stretch["first"], stretch["last"]) == (TURNED_FRAMES[0], TURNED_FRAMES[-1])
    assert (stretch["nearer"], stretch["bone"]) == ("a", "ball_l")
    assert stretch["bone_by_deg"] == pytest.approx(TURN_DEG, abs=1e-3)
    legs = next(group for group in baseline["groups"] if "ball_l" in group["bones"])
    assert legs["group"] == "legs"
    assert legs["b_deg"] == pytest.approx(TURN_DEG * len(TURNED_FRAMES) / (frames * len(legs["bones"])), abs=1e-4)


def angle_deg(one: Vector, other: Vector) -> float:
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


def unit(vector: Vector) -> Vector:
    return [value / math.hypot(*vector) for value in vector]


def test_every_mean_is_the_one_derived_by_hand(diff: Any, predicted: Any, clip: Any) -> None:
    """A score that is off by a bone or a frame ships the wrong checkpoint."""
    random = np.random.default_rng(3)
    shifts = {side: random.normal(0, size, (len(clip["Frames"]), 46, 6)) for side, size in (("a", 0.05), ("b", 0.02))}

    def noisy(side: str) -> Edit:
        return lambda frame, bone, numbers: [
            n + float(d) for n, d in zip(numbers, shifts[side][frame, bone], strict=True)
        ]

    files = {side: predicted(side, noisy(side)) for side in ("a", "b")}
    baseline = baseline_of(diff(files["a"], files["b"], "--format", "json"))

    poses = [frame["BoneRotations"] for frame in clip["Frames"]]
    guesses: dict[str, Any] = {
        side: [np.reshape(row, (-1, 6)).tolist() for row in json.loads(path.read_text())["prediction"]["y_raw"]]
        for side, path in files.items()
    }
    guesses["copy_last"] = poses[:-1]
    errors = {
        side: np.array(
            [[angle_deg(*pair) for pair in zip(*both, strict=True)] for both in zip(rows, poses[1:], strict=True)]
        )
        for side, rows in guesses.items()
    }
    for side, error in errors.items():
        # float32 of numbers about 1: 6e-8, seen through a column as an angle of less than 1e-5 degrees
        assert baseline[f"{side}_deg"] == pytest.approx(float(error.mean()), abs=1e-5), side
        for group in baseline["groups"]:
            rows = [clip["meta"]["skeleton"]["bone_names"].index(name) for name in group["bones"]]
            assert group[f"{side}_deg"] == pytest.approx(float(error[:, rows].mean()), abs=1e-5), group["group"]
    nearer = errors["b"].mean(axis=1) < errors["a"].mean(axis=1)
    assert baseline["better"] == "b"
    assert baseline["frames_nearer"] == {"a": int((~nearer).sum()), "b": int(nearer.sum())}
    assert sum(len(group["bones"]) for group in baseline["groups"]) == 46


def everywhere(degrees: float) -> Edit:
    return lambda _frame, _bone, numbers: turned_about_x(numbers, degrees)


def test_both_losing_to_copy_last_is_the_headline(diff: Any, predicted: Any) -> None:
    """The better of two networks that a statue beats is not progress."""
    files = predicted("bad", everywhere(30.0)), predicted("worse", everywhere(50.0))

    answer = diff(*files)
    assert answer.out.startswith("NEITHER BEATS COPY-LAST")
    assert "a (bad.json) is better: 30.0000°" in answer.out.splitlines()[1]
    baseline = baseline_of(diff(*files, "--format", "json"))
    assert (baseline["better"], baseline["beaten_by_copy_last"]) == ("a", ["a", "b"])
    assert (baseline["a_deg"], baseline["b_deg"]) == pytest.approx((30.0, 50.0), abs=1e-4)


def test_a_lower_mean_alone_is_no_better_checkpoint(diff: Any, predicted: Any) -> None:
    """One frame that is far off decides a mean; in all others the same checkpoint was nearer."""

    def once(frame: int, _bone: int, numbers: Vector) -> Vector:
        return turned_about_x(numbers, 60.0) if frame == 9 else numbers

    answer = diff(predicted("once", once), predicted("always", everywhere(1.0)))

    assert "Neither is better: a 1.8750°, b 1.0000°" in answer.out
    assert "a is nearer in 31 of 32 frames, b in 1" in answer.out


def test_one_that_loses_to_copy_last_is_named(diff: Any, predicted: Any) -> None:
    """The other one may be shipped."""
    answer = diff(predicted("good", as_it_is), predicted("bad", everywhere(30.0)))

    assert answer.out.startswith("b (bad.json) LOSES TO COPY-LAST")
    assert "a (good.json) is better" in answer.out


def test_the_same_prediction_is_no_better(diff: Any, predicted: Any) -> None:
    """Two names of one checkpoint must not be ranked by rounding."""
    answer = diff(predicted("one", everywhere(3.0)), predicted("two", everywhere(3.0)))

    assert answer.status == 0
    assert "is better" not in answer.out


def test_traces_of_two_checkpoints_are_judged_by_a_clip(
    diff: Any, command: Any, demo_bundle: Path, demo_run: Path, predicted: Any
) -> None:
    """An engine records no target; the clip that it was driven by gives it."""
    answer = diff(demo_run, predicted("right", as_it_is), "--format", "json")

    baseline = baseline_of(answer)
    assert baseline["better"] == "b"
    assert baseline["b_deg"] == pytest.approx(0.0, abs=1e-4)


def test_a_pose_that_inherits_its_difference_is_ranked_too(
    diff: Any, command: Any, demo_bundle: Path, demo_run: Path
) -> None:
    """Poses may only follow an earlier stage; they are what a player sees, and a teacher was named to judge them."""
    other = demo_run.with_name("other.trace.jsonl")
    clip, knob = demo_bundle / "clips" / "Sneak_Turn.json", ("--set", "compose_order=prev_delta")
    words = ("--onnx", demo_bundle / "model.onnx", clip, *knob, "-o", other)
    assert command("run", "--contract", demo_bundle / "norm_template.json", *words).status == 0

    assert baseline_of(diff(other, demo_run, "--format", "json"))["better"] == "b"
    # without a teacher it is a question of who computes it wrongly, not of who predicts better
    own = command("diff", other, demo_run, "--contract", demo_bundle / "norm_template.json", "--format", "json")
    assert baseline_of(own)["better"] is None


def test_the_clip_itself_is_no_rival(diff: Any, predicted: Any, demo_bundle: Path) -> None:
    """A clip beats every prediction of it."""
    answer = diff(demo_bundle / "clips" / "Sneak_Turn.json", predicted("some", everywhere(3.0)), "--format", "json")

    assert baseline_of(answer)["better"] is None


def test_another_clip_as_the_teacher_is_refused(command: Any, predicted: Any, demo_bundle: Path) -> None:
    """Errors against another motion rank checkpoints by chance."""
    files = predicted("one", as_it_is), predicted("two", everywhere(3.0))
    bundle = ("--contract", demo_bundle / "norm_template.json")
    answer = command("diff", *files, *bundle, "--teacher", demo_bundle / "clips" / "Run_F.json")

    assert answer.status == 2
    assert "Run_F.json" in answer.err
    assert "the clip that both sides were made with" in answer.err


def test_a_teacher_without_poses_is_refused(command: Any, predicted: Any, demo_bundle: Path) -> None:
    """Without the bundle a batch is normalised numbers."""
    files = predicted("one", as_it_is), predicted("two", everywhere(3.0))
    answer = command("diff", *files, "--teacher", demo_bundle / "teacher_batches" / "Sneak_Turn_teacher.json")

    assert answer.status == 2
    assert "--contract" in answer.err


def test_no_bone_is_guessed_into_a_group() -> None:
    """A weapon counted as an arm hides what the arm does."""
    names = (
        "hips",
        "LeftUpLeg",
        "RUpArmTwist_l_01",
        "mixamorig:LeftHandIndex1",
        "head_end",
        "sword",
        "joint_7",
        "string",
    )
    assert bone_groups(names) == {
        "torso": [0], "head": [4], "arms": [2], "fingers": [3], "legs": [1], "other": [5, 6, 7],
    }  # fmt: skip


def test_the_deployed_checkpoints_both_lose_in_degrees(command: Any, real_data: Path) -> None:
    """The exporter's own diagnostics (0.546 and 0.457 degrees, of an acos) say nothing of who does not move."""
    answer = command(
        "diff",
        real_data / "Walk_F_prediction.json",
        real_data / "Walk_F_prediction_best.json",
        "--teacher",
        real_data / "Walk_F.json",
        "--contract",
        real_data / "norm_template.json",
        "--companion",
        real_data / "pretrain_template.json",
        "--format",
        "json",
    )
    baseline = baseline_of(answer)

    assert (baseline["better"], baseline["beaten_by_copy_last"]) == (None, ["a", "b"])
    composed = [each["file"] for each in json.loads(answer.out)["findings"] if each["code"] == "RP633"]
    assert [Path(file).name for file in composed] == ["Walk_F_prediction.json", "Walk_F_prediction_best.json"]
    # acos of a clamped cosine in float32 cannot see 0.02 degrees
    assert (baseline["a_deg"], baseline["b_deg"]) == pytest.approx((0.546, 0.457), abs=0.02)
    assert baseline["copy_last_deg"] < baseline["b_deg"]
    assert baseline["b_cm"] < baseline["copy_last_cm"] < baseline["a_cm"]


def matrix(six: Vector) -> Any:
    """The rotation whose columns X and Z are given."""
    x, z = np.array(six[:3]), np.array(six[3:])
    return np.stack((x, np.cross(z, x), z), axis=1)


def test_predictions_that_were_composed_with_their_target_are_not_ranked(
    diff: Any, predicted: Any, clip: Any, command: Any, demo_bundle: Path
) -> None:
    """`check` says of both that the error is the size of the network's turn; "17% better" chose a checkpoint by it."""

    def composed(strength: float) -> Edit:
        def edit(frame: int, bone: int, six: Vector) -> Vector:
            now, following = matrix(clip["Frames"][frame]["BoneRotations"][bone]), matrix(six)
            both = following + strength * (following - now)  # twice the step, to first order
            x = both[:, 0] / np.linalg.norm(both[:, 0])
            z = both[:, 2] - x * (x @ both[:, 2])
            return [*x, *(z / np.linalg.norm(z))]

        return edit

    files = predicted("twice", composed(1.0)), predicted("half", composed(0.5))
    answer = diff(*files, "--format", "json")
    said = {(Path(each["file"]).stem, each["code"]) for each in json.loads(answer.out)["findings"]}
    assert {("twice", "RP633"), ("half", "RP633")} <= said
    assert (baseline_of(answer)["better"], baseline_of(answer)["parting"]) == (None, [])
    bundle = ("--contract", demo_bundle / "norm_template.json", "--companion", demo_bundle / "pretrain_template.json")
    assert "note: RP633 in twice.json" in command("explain", files[0], *bundle).out
