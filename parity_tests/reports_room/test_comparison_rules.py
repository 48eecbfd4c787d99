"""`rigpact diff` of two recordings: every rule on its defect, and what is the same.

golden/ holds the finding of each rule. RIGPACT_REGENERATE=1 writes them anew; read the difference before it is committed.
"""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from rigpact.contract.rules.family import answers
from rigpact.reference_runtime.graph import native_agreement as agreement
from rigpact.reference_runtime.systems.enemy_animation import runs

from ..every_case import every_case
from ..golden_findings import check_golden
from .demo import BUNDLE, CLIP, CONTRACT, DEMO, MODEL, PREDICTION, RUN_F, edited, load, without_contacts

GOLDEN = Path(__file__).parent / "golden"


def write_copy(run, edit, name="edited.trace.jsonl"):
    """A copy of a recording with some of its lines changed; line 0 is the header."""
    lines = [json.loads(line) for line in run.read_text(encoding="utf-8").splitlines()]
    lines = edit(lines) or lines
    copy = run.with_name(name)
    copy.write_text("\n".join(json.dumps(line) for line in lines) + "\n", encoding="utf-8")
    return copy


def of_stages(change):
    """An edit of every frame's stages."""

    def edit(lines):
        for line in lines[1:]:
            change(line["stages"])

    return edit


def swapped_bones(stages):
    pose = stages["y_out"]
    pose[0:6], pose[6:12] = pose[6:12], pose[0:6]


def without_stage(lines):
    for line in lines:
        del line["stages"]["y_out"]


def cut_to(name, width):
    def edit(lines):
        lines[0]["stages"][name] = width
        of_stages(lambda stages: stages.update({name: stages[name][:width]}))(lines)

    return edit


def not_a_number(lines):
    lines[4]["stages"]["y_out"][7] = "NaN"


def says_nothing(lines):
    lines[0]["contract"] = {"bundle_sha256": None, "model_sha256": lines[0]["contract"].get("model_sha256")}


def twice_as_slow(lines):
    for line in lines[1:]:
        line["time"] *= 2.0


def with_a_gap(lines):
    lines[0]["mode"] = "free"
    return [*lines[:5], *lines[7:]]


def in_four_decimals(stages):
    stages |= {name: [float(f"{number:.4f}") for number in row] for name, row in stages.items()}


def at_the_threshold(lines):
    """A first axis of ΔR of length 1e-4, where one engine keeps it and another replaces it."""
    stages = lines[4]["stages"]
    stages["y_raw"][:3] = [-1.0, 1e-4, 0.0]
    stages["delta6d"][:6] = [0.0, 1.0, 0.0, 0.0, 0.0, 1.0]


def of_three_bones(lines):
    lines[0]["bones"] = [0, 1, 2]
    cut_to("quat", 12)(lines)


EDITS = {
    "RP801": of_stages(swapped_bones), "RP802": without_stage, "RP803": lambda lines: lines[:-3],
    "RP804": not_a_number, "RP805": cut_to("contacts", 1), "RP806": lambda lines: lines[0].update(fps=30),
    "RP807": lambda lines: lines[0].update(contract={"bundle_sha256": "0" * 64}), "RP830": at_the_threshold,
    "RP810": lambda lines: lines[0]["contract"].update(model_sha256="0" * 64), "RP811": says_nothing,
    "RP812": twice_as_slow, "RP813": lambda lines: lines[0].update(fps=30), "RP814": with_a_gap,
    "RP815": of_three_bones, "RP816": of_stages(in_four_decimals),
}  # fmt: skip
FAIL = ("RP801", "RP802", "RP803", "RP804", "RP805", "RP806")


@pytest.fixture
def diff(command, demo_run):
    """Compare a recording with the run; the status, and the answer as data."""

    def compare(other, *words, of=demo_run):
        answer = command("diff", of, other, "--contract", BUNDLE, "--format", "json", *words)
        return answer.status, json.loads(answer.out)

    return compare


def judge(code, report, folder):
    """The rule fired once, as in its golden file."""
    found = [finding for finding in report["findings"] if finding["code"] == code]
    assert len(found) == 1
    check_golden(GOLDEN, code, found, folder)


@every_case("code", EDITS)
def test_the_defect_is_reported(diff, demo_run, code):
    """A plain comparison of arrays passes each of these, or stops with a traceback."""
    status, report = diff(write_copy(demo_run, EDITS[code]))
    judge(code, report, demo_run.parent)
    assert status == 1 or code not in FAIL


def test_a_recording_cut_off_is_reported(diff, demo_run):
    """The missing part shows what the engine did just before the crash."""
    copy, text = demo_run.with_name("edited.trace.jsonl"), demo_run.read_text(encoding="utf-8")
    copy.write_text(text[: text.rindex('"y_out"')], encoding="utf-8")
    judge("RP808", diff(copy)[1], demo_run.parent)


def test_an_input_cut_to_size_and_a_loop_in_cpp_that_differs_are_reported(command, tmp_path, monkeypatch):
    """The engine pads a short state silently; who asked for speed hears why there is none."""
    short = edited(BUNDLE, tmp_path / "short.json", without_contacts)
    words = ("--onnx", MODEL, CLIP, "-o", tmp_path / "short.trace.jsonl", "--format", "json", "--frames", 2)
    judge("RP809", json.loads(command("run", "--contract", short, *words).out), tmp_path)
    monkeypatch.setattr(agreement, "library", lambda: None)
    monkeypatch.setattr(runs, "disagreement", lambda _contract: "state at frame 0, channel 3: 1, by numpy 2")
    words = (*words[:4], tmp_path / "free.trace.jsonl", *words[5:], "--mode", "free")
    judge("RP817", json.loads(command("run", "--contract", BUNDLE, *words).out), DEMO)


def test_every_comparison_rule_is_exercised():
    """A rule without a test case may never fire."""
    assert {path.stem for path in GOLDEN.glob("RP8*.json")} == {
        rule.code for rule in answers.families["COMPARISON"].rules
    }


def test_a_run_agrees_with_itself_and_every_value_is_counted(diff, demo_run):
    """Users switch off a gate that fails on equal runs."""
    status, report = diff(write_copy(demo_run, lambda lines: None))
    assert (status, report["verdict"], report["findings"], report["ledger"]["missing"]) == (0, "pass", [], 0)
    values = sum(len(row) for row in json.loads(demo_run.read_text().splitlines()[1])["stages"].values())
    assert report["ledger"]["declared"] == values * report["summary"]["frames"]


def stages_of(report):
    return {entry["stage"]: entry["ok"] for entry in report["summary"]["stages"]}


def test_the_training_side_agrees_but_for_the_direction_of_a_raw_clip(command, diff, demo_run):
    """Torch against numpy and onnxruntime; the one stage that differs by design must not be hidden by a default."""
    own = demo_run.with_name("own_prediction.json")
    assert command("run", *CONTRACT, "--onnx", MODEL, CLIP, "-o", own).status == 0
    status, report = diff(own, of=PREDICTION)
    assert status == 0
    assert stages_of(report) == dict.fromkeys(("state", "cond", "contacts", "angvel", "pose_hist", "y_out"), True)
    status, report = diff(demo_run, of=PREDICTION)
    assert (status, stages_of(report)["cond"]) == (1, False)


def later(lines):
    for line in lines[1:]:
        line["frame"] += 1000


def test_nan_on_both_sides_and_nothing_in_common_never_pass(diff, demo_run):
    """A comparison of nothing finds no difference; that must not be a pass."""
    broken, twin = (write_copy(demo_run, not_a_number, f"{name}.trace.jsonl") for name in ("broken", "twin"))
    status, report = diff(broken, of=twin)
    assert (status, {finding["code"] for finding in report["findings"]}) == (1, {"RP801", "RP804"})
    status, report = diff(write_copy(demo_run, later))
    assert (status, report["verdict"]) == (2, "undetermined")


def test_the_worst_error_has_bone_frame_degrees_and_centimetres(diff, demo_run):
    """`max abs at (4, 163)` does not help an animator; bone, frame and degrees do, and a table for his own tools."""
    bone, frame, turn_rad = load(BUNDLE)["meta"]["bone_names"].index("calf_l"), 11, math.radians(5.0)

    def turned(lines):
        pose, place = lines[1 + frame]["stages"]["y_out"], slice(6 * bone, 6 * bone + 6)
        x, z = np.array(pose[place][:3]), np.array(pose[place][3:])
        # about the bone's own z axis: x turns towards y = z × x, z stays
        pose[place] = [*(math.cos(turn_rad) * x + math.sin(turn_rad) * np.cross(z, x)), *z]

    table = demo_run.with_name("errors.csv")
    _, report = diff(write_copy(demo_run, turned), "--table", table)
    summary = report["summary"]
    worst = summary["bones"][0]
    assert summary["first_divergence"] == {"frame": frame, "stage": "y_out"}
    assert (worst["bone"], worst["frame"]) == ("calf_l", frame)
    assert worst["max_deg"] == pytest.approx(5.0, abs=1e-3)
    # a point 3 cm off the joint, at right angles to the axis, moves by the chord
    assert worst["max_cm"] == pytest.approx(2 * 3.0 * math.sin(turn_rad / 2), abs=1e-3)
    foot = next(entry for entry in summary["bones"] if entry["bone"] == "foot_l")
    assert foot["max_deg"] < 1e-3
    assert foot["max_cm"] > 2.0, "the foot hangs on the calf"
    head, *rows = (line.split(",") for line in table.read_text(encoding="utf-8").splitlines())
    assert (head, len(rows)) == (["frame", "time_s", "bone", "deg", "cm"], summary["frames"] * len(summary["bones"]))
    largest = max(rows, key=lambda row: float(row[3]))
    assert (largest[0], largest[2], float(largest[3])) == (str(frame), "calf_l", pytest.approx(5.0, abs=1e-3))


def test_single_stages_can_be_asked_for(diff, demo_run):
    """The ledger must name the stages that were left out."""
    status, report = diff(write_copy(demo_run, without_stage), "--stage", "y_raw")
    assert status == 0
    assert report["ledger"]["waived"] > report["ledger"]["compared"] > 0
    assert report["summary"]["waived"]["y_out"] == "not asked for"


def test_raw_clips_compare_without_a_bundle(command):
    """Two exports of one clip are compared before any training."""
    assert command("diff", RUN_F, RUN_F).status == 0
    assert command("diff", RUN_F, DEMO / "clips" / "Walk_Spin.json").status == 1
