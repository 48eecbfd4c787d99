"""Causes: what one mistake does in several files, rules and comparisons is said once, the worst first."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rigpact.contract.findings import FindingsReport, Ledger, Severity
from rigpact.contract.rules.answers import comparison, gate
from rigpact.contract.rules.clips import angular_velocity
from rigpact.contract.rules.teacher import prediction
from rigpact.reports.gate.answer.causes import causes_of
from rigpact.reports.gate.answer.part import Part

from .conftest import FILES, TRACE, gated, record
from .test_gate_rules import other_convention

Command = Callable[..., Any]
_NUMBERS = {"error": 0.0, "tolerance": 1.0, "frame": 0, "worst_frame": 0, "channels": 1, "total": 2, "address": "hip"}


def named(file: str, stage: str, changes: str = "angvel_angle = half") -> Any:
    return gate.CONVENTION_DIFFERS.at(
        file, f"/stages/{stage}", recording=file, stage=stage, changes=changes, effect="it falls", code="", error=3.0
    )


def differs(file: str, stage: str) -> Any:
    return comparison.STAGE_DIFFERS.at(file, f"/stages/{stage}", stage=stage, **_NUMBERS)


def half(file: str) -> Any:
    (rule,) = [rule for rule in angular_velocity.FAMILY.rules if rule.code == "RP550"]
    return rule.at(file, "/aux_inputs/angvel_norm", array="angvel_norm", slope=0.5, guess="", count=1, rest=0.0)


def part(name: str, *findings: Any, **kinds: str) -> Part:
    files = [{"path": path.replace("_json", ".json"), "kind": kind} for path, kind in kinds.items()]
    return Part(name, name, FindingsReport(findings, Ledger(1, 1), {"files": files}))


def grouped(*parts: Part) -> list[tuple[str, list[str]]]:
    return [(cause.side, [each.rule.code for each in cause.findings]) for cause in causes_of(parts)]


def test_a_rule_and_a_comparison_about_one_stage_have_one_cause() -> None:
    """Three sentences about the same half angle make a reader look for three mistakes."""
    files = part("files", half("a.json"), half("b.json"), a_json="teacher_prediction", b_json="teacher_prediction")
    compared = part("teacher/a", named("a.json", "angvel"), differs("a.json", "angvel"))
    assert grouped(files, compared) == [("training", ["RP961", "RP550", "RP550", "RP801"])]


def test_the_same_words_on_two_sides_are_two_causes() -> None:
    """Training and engine can make the same mistake; mending one does not mend the other."""
    parts = [part(name, named("a.json", "angvel")) for name in ("teacher/a", "engine-trace/a")]
    assert [side for side, _ in grouped(*parts)] == ["engine", "training"]


def test_a_stage_that_differs_because_an_earlier_one_does_is_no_cause_of_its_own() -> None:
    """A wrong input makes every later stage differ; a list of all of them hides it."""
    compared = part("engine-trace/a", named("a", "angvel"), differs("a", "y_norm"), differs("a", "y_out"))
    assert grouped(compared) == [("engine", ["RP961", "RP801", "RP801"])]
    assert grouped(part("engine-trace/a", differs("a", "y_norm"))) == [("engine", ["RP801"])]


def test_what_follows_in_the_same_file_goes_with_it_and_elsewhere_not() -> None:
    """A prediction that loses to copying because it was composed with its target is one mistake; a bad network is another."""
    rules = {rule.code: rule for rule in prediction.FAMILY.rules}
    target = rules["RP633"].at("a.json", "", slope=1.6, spread=0.1, error_deg=0.5)
    copying = [rules["RP635"].at(file, "", model_deg=0.5, copy_deg=0.3) for file in ("a.json", "b.json")]
    found = part("files", target, *copying, a_json="teacher_prediction", b_json="teacher_prediction")
    assert grouped(found) == [("training", ["RP633", "RP635"]), ("training", ["RP635"])]


def test_every_finding_stands_under_one_cause() -> None:
    """A finding that no cause holds is lost to whoever reads causes alone."""
    parts = [
        part("files", half("a.json"), a_json="raw_clip"),
        part("engine-trace/a", named("a", "angvel"), differs("a", "state")),
    ]
    held = [finding for cause in causes_of(parts) for finding in cause.findings]
    assert sorted(map(id, held)) == sorted(id(finding) for each in parts for finding in each.report.findings)


@pytest.mark.usefixtures("real_project")
def test_the_files_of_a_deployed_character_have_their_causes_once_and_the_worst_first(command: Command) -> None:
    """A page of 62 findings is closed; four sentences are read."""
    assert command("init").status == 0
    screen = command("gate")
    shown = [line for line in screen.out.splitlines() if re.match(r"\d+\. ", line)]
    expected = (
        "MuY is a mean pose",
        "pose-history statistics",
        "angvel_angle = half and angvel_lag = +1",
        "composed with the target pose",
    )
    assert [words for line in shown for words in expected if words in line] == list(expected)
    assert [sum(words in line for words in expected) for line in shown[:4]] == [1, 1, 1, 1]

    steps = [line for line in screen.out.splitlines() if line.startswith("next ")]
    assert len(steps) == len(set(steps)) == 3
    assert "the export of the contract, norm_template.json#/MuY" in steps[0]
    assert "declare meta.rot6d_spec.output_mode" in steps[0]
    assert "the training side" in steps[2]
    assert "change `so3_log_map(R) / 2  # legacy` to `so3_log_map(R)`" in steps[2]
    assert "C++" not in steps[2]  # the training side is Python

    causes = json.loads(command("gate", "--format", "json").out)["causes"]
    assert causes[2]["codes"] == {"RP961": 3, "RP550": 3, "RP553": 3, "RP801": 3}
    assert len(causes[2]["files"]) == 3


def test_a_cause_says_what_it_does_to_the_character(project: Path) -> None:
    """Who decides whether a release waits wants degrees and centimetres, not standard deviations."""
    report = other_convention(project)
    worst = report.causes[0]
    assert (worst.severity, worst.side) == (Severity.ERROR, "engine")
    assert "compose_order = prev_delta" in worst.title
    degrees, centimetres = re.fullmatch(r".* is up to (\S+)° and (\S+) cm off", worst.effect).groups()  # type: ignore[union-attr]
    assert 1.0 < float(degrees) <= 180.0
    assert 1.0 < float(centimetres) < 200.0
    assert "change `DeltaM * PrevM" in report.next_steps[0]
    assert "Python" not in report.next_steps[0]


def test_a_cause_that_moves_no_bone_says_so_and_stands_behind(project: Path) -> None:
    """Quaternions in another order leave the pose as it is; an angle made up for them would hide what bends a knee."""
    record(project, TRACE, quaternion_order="wxyz")
    (worst, *_) = gated(project, FILES).causes
    assert "quaternion_order = wxyz" in worst.title
    assert worst.effect == "the pose itself stays as it is"
    assert worst.lead.values["angle_deg"] == 0.0
