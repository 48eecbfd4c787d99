"""`rigpact diff`: what counts as the same, and everything that must never pass."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Lines = list[dict[str, Any]]


def _edited(run: Path, edit: Callable[[Lines], Lines | None]) -> Path:
    """A copy of a JSON-lines trace with some lines changed; line 0 is the header."""
    lines = [json.loads(line) for line in run.read_text(encoding="utf-8").splitlines()]
    lines = edit(lines) or lines
    copy = run.with_name("edited.trace.jsonl")
    copy.write_text("\n".join(json.dumps(line) for line in lines) + "\n", encoding="utf-8")
    return copy


def _codes(answer: Any) -> set[str]:
    return {finding["code"] for finding in json.loads(answer.out)["findings"]}


def _diff(command: Any, a: Path, b: Path, demo_bundle: Path, *more: object) -> Any:
    return command("diff", a, b, "--contract", demo_bundle / "norm_template.json", "--format", "json", *more)


def test_a_run_agrees_with_itself(command: Any, demo_run: Path, demo_bundle: Path) -> None:
    """Users switch off a gate that fails on equal runs."""
    answer = _diff(command, demo_run, _edited(demo_run, lambda lines: None), demo_bundle)
    document = json.loads(answer.out)
    assert (answer.status, document["verdict"], document["findings"]) == (0, "pass", [])
    assert document["ledger"]["missing"] == 0
    values = sum(len(row) for row in json.loads(demo_run.read_text().splitlines()[1])["stages"].values())
    assert document["ledger"]["declared"] == values * document["summary"]["frames"]


def test_the_runtime_agrees_with_the_training_side(
    command: Any, demo_run: Path, demo_bundle: Path, demo_clip: Path
) -> None:
    """The prediction was computed in torch, the run in numpy and onnxruntime: two implementations of one contract."""
    prediction = demo_bundle / "teacher_predictions" / "Sneak_Turn_prediction.json"
    own, bundle = demo_run.with_name("own_prediction.json"), demo_bundle / "norm_template.json"
    given = ["--companion", demo_bundle / "pretrain_template.json", "--onnx", demo_bundle / "model.onnx"]
    assert command("run", "--contract", bundle, *given, demo_clip, "-o", own).status == 0
    answer = _diff(command, prediction, own, demo_bundle)
    stages = {entry["stage"]: entry["ok"] for entry in json.loads(answer.out)["summary"]["stages"]}
    assert answer.status == 0
    assert stages == dict.fromkeys(("state", "cond", "contacts", "angvel", "pose_hist", "y_out"), True)


def test_an_engine_and_the_training_side_take_another_direction_from_a_raw_clip(
    command: Any, demo_run: Path, demo_bundle: Path, demo_clip: Path
) -> None:
    """The one stage in which a correct engine and its training differ by design must not be hidden by a default."""
    prediction = demo_bundle / "teacher_predictions" / "Sneak_Turn_prediction.json"
    answer = _diff(command, prediction, demo_run, demo_bundle)
    stages = {entry["stage"]: entry["ok"] for entry in json.loads(answer.out)["summary"]["stages"]}
    assert (answer.status, stages["cond"]) == (1, False)
    bundle, companion = demo_bundle / "norm_template.json", demo_bundle / "pretrain_template.json"
    given = ["--contract", bundle, "--companion", companion, "--clip", demo_clip, "--format", "json"]
    verdicts = [json.loads(command("explain", file, *given).out) for file in (prediction, demo_run)]
    cond = [next(stage for stage in found["stages"] if stage["stage"] == "cond")["ok"] for found in verdicts]
    assert cond == [True, True]
    taken = demo_run.with_name("velocity.trace.jsonl")
    run = ["run", "--contract", bundle, "--companion", companion, "--onnx", demo_bundle / "model.onnx", demo_clip]
    assert command(*run, "--set", "condition_direction=velocity", "-o", taken).status == 0
    found = json.loads(command("explain", taken, *given).out)
    assert [cause["changes"] for cause in found["causes"]] == [{"condition_direction": "velocity"}]


def test_float32_maths_is_no_difference(command: Any, demo_run: Path, demo_bundle: Path, demo_clip: Path) -> None:
    """UE 4 computes in float32, UE 5 in float64; neither is wrong."""
    other = demo_run.with_name("f32.trace.jsonl")
    bundle, model = demo_bundle / "norm_template.json", demo_bundle / "model.onnx"
    assert (
        command("run", "--contract", bundle, "--onnx", model, demo_clip, "--set", "math=f32", "-o", other).status == 0
    )
    assert _diff(command, demo_run, other, demo_bundle).status == 0


def _without_y_out(lines: Lines) -> None:
    del lines[0]["stages"]["y_out"]
    for line in lines[1:]:
        del line["stages"]["y_out"]


def _without_last_frames(lines: Lines) -> Lines:
    return lines[:-3]


def _without_a_middle_frame(lines: Lines) -> Lines:
    return lines[:5] + lines[6:]


def _narrower(lines: Lines) -> None:
    lines[0]["stages"]["contacts"] = 1
    for line in lines[1:]:
        line["stages"]["contacts"] = line["stages"]["contacts"][:1]


def _with_nan(lines: Lines) -> None:
    lines[4]["stages"]["y_out"][7] = "NaN"


def _with_two_bones_swapped(lines: Lines) -> None:
    for line in lines[1:]:
        pose = line["stages"]["y_out"]
        pose[0:6], pose[6:12] = pose[6:12], pose[0:6]


def _with_another_rate(lines: Lines) -> None:
    lines[0]["fps"] = 30


@pytest.mark.parametrize(
    ("edit", "code"),
    [
        (_without_y_out, "RP802"),
        (_without_last_frames, "RP803"),
        (_without_a_middle_frame, "RP803"),
        (_narrower, "RP805"),
        (_with_nan, "RP804"),
        (_with_two_bones_swapped, "RP801"),
        (_with_another_rate, "RP806"),
    ],
)
def test_a_defective_recording_never_passes(
    command: Any, demo_run: Path, demo_bundle: Path, edit: Callable[[Lines], Lines | None], code: str
) -> None:
    """Common comparators pass dropped outputs, missing frames and NaN on both sides."""
    answer = _diff(command, demo_run, _edited(demo_run, edit), demo_bundle)
    assert answer.status == 1
    assert code in _codes(answer)


def test_nan_on_both_sides_never_passes(command: Any, demo_run: Path, demo_bundle: Path, tmp_path: Path) -> None:
    """If both sides hold NaN, the comparison must not pass."""
    broken = _edited(demo_run, _with_nan)
    twin = tmp_path / "twin.trace.jsonl"
    twin.write_bytes(broken.read_bytes())
    answer = _diff(command, broken, twin, demo_bundle)
    assert (answer.status, _codes(answer)) == (1, {"RP801", "RP804"})


def test_nothing_in_common_cannot_be_judged(command: Any, demo_run: Path, demo_bundle: Path) -> None:
    """A comparison of nothing finds no difference; that must not be a pass."""

    def later(lines: Lines) -> None:
        for line in lines[1:]:
            line["frame"] += 1000

    answer = _diff(command, demo_run, _edited(demo_run, later), demo_bundle)
    assert (answer.status, json.loads(answer.out)["verdict"]) == (2, "undetermined")


def test_the_worst_error_has_bone_frame_degrees_and_centimetres(
    command: Any, demo_run: Path, demo_bundle: Path
) -> None:
    """`max abs at (4, 163)` does not help an animator; bone, frame and degrees do."""
    contract = json.loads((demo_bundle / "norm_template.json").read_text(encoding="utf-8"))
    bone, frame, turn_rad = contract["meta"]["bone_names"].index("calf_l"), 11, math.radians(5.0)

    def turned(lines: Lines) -> None:
        pose = lines[1 + frame]["stages"]["y_out"]
        place = slice(6 * bone, 6 * bone + 6)
        x, z = np.array(pose[place][:3]), np.array(pose[place][3:])
        # about the bone's own z axis: x turns towards y = z × x, z stays
        pose[place] = [*(math.cos(turn_rad) * x + math.sin(turn_rad) * np.cross(z, x)), *z]

    answer = _diff(command, demo_run, _edited(demo_run, turned), demo_bundle)
    summary = json.loads(answer.out)["summary"]
    worst = summary["bones"][0]
    assert summary["first_divergence"] == {"frame": frame, "stage": "y_out"}
    assert (worst["bone"], worst["frame"]) == ("calf_l", frame)
    assert worst["max_deg"] == pytest.approx(5.0, abs=1e-3)
    # a point 3 cm off the joint, at right angles to the axis, moves by the chord
    assert worst["max_cm"] == pytest.approx(2 * 3.0 * math.sin(turn_rad / 2), abs=1e-3)
    foot = next(entry for entry in summary["bones"] if entry["bone"] == "foot_l")
    assert foot["max_deg"] < 1e-3
    assert foot["max_cm"] > 2.0, "the foot hangs on the calf"


def test_every_bone_and_frame_can_be_written_as_a_table(command: Any, demo_run: Path, demo_bundle: Path) -> None:
    """Users look at the errors with their own tools."""
    table = demo_run.with_name("errors.csv")
    answer = _diff(command, demo_run, _edited(demo_run, _with_two_bones_swapped), demo_bundle, "--table", table)
    lines = table.read_text(encoding="utf-8").splitlines()
    document = json.loads(answer.out)
    assert lines[0] == "frame,time_s,bone,deg,cm"
    assert len(lines) == 1 + document["summary"]["frames"] * len(document["summary"]["bones"])
    worst = max((line.split(",") for line in lines[1:]), key=lambda row: float(row[3]))
    assert worst[2] == document["summary"]["bones"][0]["bone"]
    assert float(worst[3]) == pytest.approx(document["summary"]["bones"][0]["max_deg"])
    assert _diff(command, demo_run, demo_run, demo_bundle, "--table", table.with_suffix(".xls")).status == 2


def test_quaternion_signs_do_not_count(command: Any, demo_run: Path, demo_bundle: Path) -> None:
    """q and -q are one rotation; a comparison that disagrees invents parity errors."""

    def negated(lines: Lines) -> None:
        for line in lines[1:]:
            line["stages"]["quat"] = [-value for value in line["stages"]["quat"]]

    assert _diff(command, demo_run, _edited(demo_run, negated), demo_bundle).status == 0


def test_single_stages_can_be_asked_for(command: Any, demo_run: Path, demo_bundle: Path) -> None:
    """The ledger must name the stages that were left out."""
    answer = _diff(command, demo_run, _edited(demo_run, _without_y_out), demo_bundle, "--stage", "y_raw")
    document = json.loads(answer.out)
    assert answer.status == 0
    assert document["ledger"]["waived"] > document["ledger"]["compared"] > 0
    assert document["summary"]["waived"]["y_out"] == "not asked for"


def test_raw_clips_compare_without_a_bundle(command: Any, demo_bundle: Path) -> None:
    """Two exports of one clip are compared before any training."""
    clip = demo_bundle / "clips" / "Run_F.json"
    assert command("diff", clip, clip).status == 0
    other = command("diff", clip, demo_bundle / "clips" / "Walk_Spin.json")
    assert other.status == 1
    assert "DIFFERS" in other.out


def test_real_checkpoints_are_told_apart(command: Any, real_data: Path) -> None:
    """Two checkpoints of a deployed character, beside the baseline that neither beats."""
    answer = command(
        "diff",
        real_data / "Walk_F_prediction.json",
        real_data / "Walk_F_prediction_best.json",
        "--contract",
        real_data / "norm_template.json",
    )
    assert answer.status == 1
    for words in ("max deg", "max cm", "calf_l", "copy-last", "the recordings differ from frame 0, stage y_out on"):
        assert words in answer.out
