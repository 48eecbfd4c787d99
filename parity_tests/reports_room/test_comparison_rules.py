"""Every rule about two recordings fires on its defect, and on nothing in a run compared with itself.

golden/ holds the finding of each rule. RIGPACT_REGENERATE=1 writes them anew; read the difference before it is committed.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rigpact.contract.rules.answers import comparison
from rigpact.reference_runtime.graph.native import agreement
from rigpact.reference_runtime.systems.enemy_animation import runs

GOLDEN = Path(__file__).parent / "golden"
REGENERATE = bool(os.environ.get("RIGPACT_REGENERATE"))
Lines = list[dict[str, Any]]


def write_copy(run: Path, edit: Callable[[Lines], Lines | None]) -> Path:
    """A copy of a recording with some of its lines changed; line 0 is the header."""
    lines = [json.loads(line) for line in run.read_text(encoding="utf-8").splitlines()]
    lines = edit(lines) or lines
    copy = run.with_name("edited.trace.jsonl")
    copy.write_text("\n".join(json.dumps(line) for line in lines) + "\n", encoding="utf-8")
    return copy


def swapped_bones(lines: Lines) -> None:
    for line in lines[1:]:
        pose = line["stages"]["y_out"]
        pose[0:6], pose[6:12] = pose[6:12], pose[0:6]


def without_stage(lines: Lines) -> None:
    for line in lines:
        del line["stages"]["y_out"]


def narrower(lines: Lines) -> None:
    lines[0]["stages"]["contacts"] = 1
    for line in lines[1:]:
        line["stages"]["contacts"] = line["stages"]["contacts"][:1]


def not_a_number(lines: Lines) -> None:
    lines[4]["stages"]["y_out"][7] = "NaN"


def other_bundle(lines: Lines) -> None:
    lines[0]["contract"] = {"bundle_sha256": "0" * 64}


def other_model(lines: Lines) -> None:
    lines[0]["contract"]["model_sha256"] = "0" * 64


def says_nothing(lines: Lines) -> None:
    lines[0]["contract"] = {"bundle_sha256": None, "model_sha256": lines[0]["contract"].get("model_sha256")}


def twice_as_slow(lines: Lines) -> None:
    for line in lines[1:]:
        line["time"] *= 2.0


def with_a_gap(lines: Lines) -> Lines:
    lines[0]["mode"] = "free"
    return [*lines[:5], *lines[7:]]


def in_four_decimals(lines: Lines) -> None:
    for line in lines[1:]:
        line["stages"] = {name: [float(f"{number:.4f}") for number in row] for name, row in line["stages"].items()}


def at_the_threshold(lines: Lines) -> None:
    """A first axis of ΔR of length 1e-4, where one engine keeps it and another replaces it."""
    stages = lines[4]["stages"]
    stages["y_raw"][:3] = [-1.0, 1e-4, 0.0]
    stages["delta6d"][:6] = [0.0, 1.0, 0.0, 0.0, 0.0, 1.0]


def of_three_bones(lines: Lines) -> None:
    lines[0]["bones"] = [0, 1, 2]
    lines[0]["stages"]["quat"] = 12
    for line in lines[1:]:
        line["stages"]["quat"] = line["stages"]["quat"][:12]


EDITS: dict[str, Callable[[Lines], Lines | None]] = {
    "RP801": swapped_bones,
    "RP802": without_stage,
    "RP803": lambda lines: lines[:-3],
    "RP804": not_a_number,
    "RP805": narrower,
    "RP806": lambda lines: lines[0].update(fps=30),
    "RP807": other_bundle,
    "RP830": at_the_threshold,
    "RP810": other_model,
    "RP811": says_nothing,
    "RP812": twice_as_slow,
    "RP813": lambda lines: lines[0].update(fps=30),
    "RP814": with_a_gap,
    "RP816": in_four_decimals,
    "RP815": of_three_bones,
}


@pytest.fixture
def compared(command: Any, demo_run: Path, demo_bundle: Path) -> Callable[[Path], list[dict[str, Any]]]:
    """Compare a recording with the run; the findings, their paths without folders."""

    def compare(other: Path) -> list[dict[str, Any]]:
        bundle = demo_bundle / "norm_template.json"
        answer = command("diff", demo_run, other, "--contract", bundle, "--format", "json")
        return with_short_paths(json.loads(answer.out)["findings"])

    return compare


def with_short_paths(findings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**finding, "file": Path(finding["file"]).name} for finding in findings]


def judge(code: str, findings: list[dict[str, Any]]) -> None:
    """The rule fired once, as in its golden file."""
    found = [finding for finding in findings if finding["code"] == code]
    path, text = GOLDEN / f"{code}.json", json.dumps(found, indent=1, ensure_ascii=False) + "\n"
    missing = not path.is_file()
    if REGENERATE or missing:
        GOLDEN.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")

    assert len(found) == 1
    assert REGENERATE or not missing, f"{path} was missing; it is written now: read it"
    assert text == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("code", EDITS)
def test_the_defect_is_reported(compared: Any, demo_run: Path, code: str) -> None:
    """A plain comparison of arrays passes each of these, or stops with a traceback."""
    judge(code, compared(write_copy(demo_run, EDITS[code])))


def test_a_recording_cut_off_is_reported(compared: Any, demo_run: Path) -> None:
    """The missing part shows what the engine did just before the crash."""
    copy = demo_run.with_name("edited.trace.jsonl")
    text = demo_run.read_text(encoding="utf-8")
    copy.write_text(text[: text.rindex('"y_out"')], encoding="utf-8")

    judge("RP808", compared(copy))


def test_an_input_cut_to_size_is_reported(command: Any, demo_run: Path, demo_bundle: Path, demo_clip: Path) -> None:
    """Without contacts the state is two numbers short: the engine pads it silently."""
    bundle = json.loads((demo_bundle / "norm_template.json").read_text(encoding="utf-8"))
    del bundle["meta"]["state_layout"]["Contacts"], bundle["input_dim"]
    bundle["MuX"], bundle["StdX"] = bundle["MuX"][:-2], bundle["StdX"][:-2]
    short = demo_run.with_name("short.json")
    short.write_text(json.dumps(bundle), encoding="utf-8")
    words = ("--onnx", demo_bundle / "model.onnx", demo_clip, "-o", demo_run.with_name("short.trace.jsonl"))

    answer = command("run", "--contract", short, *words, "--format", "json")

    judge("RP809", with_short_paths(json.loads(answer.out)["findings"]))


def test_a_loop_in_cpp_that_differs_is_reported(
    command: Any, demo_run: Path, demo_bundle: Path, demo_clip: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run goes on in numpy; who asked for speed hears why there is none."""
    monkeypatch.setattr(agreement, "library", lambda: None)
    monkeypatch.setattr(runs, "disagreement", lambda _contract: "state at frame 0, channel 3: 1, by numpy 2")
    words = ("--onnx", demo_bundle / "model.onnx", demo_clip, "-o", demo_run.with_name("free.trace.jsonl"))
    words += ("--contract", demo_bundle / "norm_template.json")

    answer = command("run", *words, "--mode", "free", "--frames", "2", "--format", "json")

    judge("RP817", with_short_paths(json.loads(answer.out)["findings"]))


def test_a_run_compared_with_itself_has_no_finding(compared: Any, demo_run: Path) -> None:
    """The passing case of every rule above."""
    assert compared(write_copy(demo_run, lambda lines: None)) == []


def test_every_comparison_rule_is_exercised() -> None:
    """A rule without a test case may never fire."""
    assert {path.stem for path in GOLDEN.glob("RP8*.json")} == {rule.code for rule in comparison.TEXTS.rules}
