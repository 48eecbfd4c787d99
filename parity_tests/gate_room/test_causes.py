"""Causes: what one mistake does in several files, rules and comparisons is said once, the worst first."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from rigpact.contract.findings import FindingsReport, Ledger, Severity
from rigpact.contract.rules.catalogue import ALL_RULES
from rigpact.contract.rules.family import answers
from rigpact.reports.diagnosing.diagnosis import Diagnosis, StageVerdict
from rigpact.reports.diagnosing.relations.relation import Relation
from rigpact.reports.gate.recordings import Recorded, about_diagnosis
from rigpact.reports.gate.report import Part, causes_of

from ..every_case import every_case
from .conftest import FILES, TRACE, codes, gated, record
from .test_gate_rules import other_convention

BY_CODE = {rule.code: rule for rule in ALL_RULES}
_NUMBERS = {"error": 0.0, "tolerance": 1.0, "frame": 0, "worst_frame": 0, "channels": 1, "total": 2, "address": "hip"}


def named(file: str, stage: str, **says: str) -> Any:
    says = says or {"angvel_angle": "half"}
    values = {"recording": file, "stage": stage, "changes": str(says), "effect": "it falls", "code": "", "error": 3.0}
    return answers.CONVENTION_DIFFERS.at(file, f"/stages/{stage}", says=says, **values)


def related(file: str, stage: str, place: str, words: str) -> Any:
    """What the gate says of a recording of which a relation is found."""
    relation = Relation(stage, place, "map", words, frames_explained=9, frames=9, ratio=0.1)
    row = StageVerdict(stage, 1.0, None, 1.0, 0.1, 10.0, ok=False, unit="raw")
    found = Diagnosis("explained", None, (row,), (), (), relations=(relation,))
    (finding,) = about_diagnosis(found, Recorded(Path(file), "cpp", None, lambda _: {}))  # type: ignore[arg-type]
    return finding


def nobody_knows(file: str, stage: str) -> Any:
    values = {"recording": file, "frame": 0, "stage": stage, "address": "hip", "size": "1", "relation": ""}
    return answers.NOT_EXPLAINED.at(file, f"/stages/{stage}", **values)


def differs(file: str, stage: str) -> Any:
    return answers.STAGE_DIFFERS.at(file, f"/stages/{stage}", stage=stage, **_NUMBERS)


def half(file: str) -> Any:
    return BY_CODE["RP550"].at(
        file, "/aux/angvel", array="angvel", slope=0.5, guess="", count=1, rest=0.0, says={"angvel_angle": "half"}
    )


def rate(file: str, found: float) -> Any:
    return answers.RATE_NOT_OF_BUNDLE.at(file, "/fps", holder=file, found=found, expected=60.0)


def left_open(place: str) -> Any:
    return BY_CODE["RP749"].at("c.toml", f"/stages/{place}", knob=place, assumed="sdk", others="policy")


def part(name: str, *findings: Any, judged: Mapping[str, bool | None] | None = None, **kinds: str) -> Part:
    files = [{"path": path.replace("_json", ".json"), "kind": kind} for path, kind in kinds.items()]
    stages = [{"stage": stage, "ok": ok} for stage, ok in (judged or {}).items()]
    summary = {"files": files, "diagnosis": {"stages": stages}}
    return Part(name, name, FindingsReport(findings, Ledger(1, 1), summary))


def of(file: str, *findings: Any) -> Part:
    return part(f"engine-trace/{file}", *findings)


_KNEES = ("target", "target of left_knee", "what it should be with left_knee and right_knee exchanged")
_TRAINING = "teacher_prediction"
_MORE = {"angvel_angle": "half", "angvel_lag": "+1"}
_TWO = {"a_json": _TRAINING, "b_json": _TRAINING}
_SIX = (
    part("files", half("a.json"), half("b.json"), **_TWO),
    part("teacher/a", named("a.json", "angvel"), differs("a.json", "angvel")),
)
_COPYING = [BY_CODE["RP635"].at(file, "", model_deg=0.5, copy_deg=0.3) for file in ("a.json", "b.json")]
_LEAK = BY_CODE["RP633"].at("a.json", "", slope=1.6, spread=0.1, error_deg=0.5)
CASES: Mapping[str, tuple[Sequence[Part], int | str]] = {
    "one exchange in two recordings": ((of("a", related("a", *_KNEES)), of("b", related("b", *_KNEES))), 1),
    "one exchange that shows in two stages": ((of("a", related("a", *_KNEES)), of("b", related("b", "obs", *_KNEES[1:]))), 1),
    "another place": ((of("a", related("a", *_KNEES)), of("b", related("b", "target", "target of hip", _KNEES[2]))), 2),
    "other words": ((of("a", related("a", *_KNEES)), of("b", related("b", *_KNEES[:2], "1.01 times what it should be"))), 2),
    "another number": ([of(each, related(each, "q", "q", f"1.0{each} times what it should be")) for each in "12"], 2),
    "two edits of one stage": ((of("a", related("a", *_KNEES), related("a", "target", "target", "1.01 times it")),), 2),
    "a difference that nobody explains": ([of(each, nobody_knows(each, "obs"), differs(each, "obs")) for each in "ab"], 2),
    "only compared": ([of(each, differs(each, "obs")) for each in "ab"], 2),
    "two conventions left open": ((part("files", left_open("13/order"), left_open("14/order")),), 2),
    "two rates": ((of("a", rate("a", 30.0)), of("b", rate("b", 25.0)), of("c", rate("c", 30.0))), 2),
    "more than a rule found": ((part("files", half("a"), a=_TRAINING), part("teacher/a", named("a", "w", **_MORE))), 1),
    "more, elsewhere": ((part("files", half("b"), b=_TRAINING), part("teacher/a", named("a", "w", **_MORE))), 2),
    "a stage that nobody judged": ((part("t", named("a", "w"), differs("a", "kp"), judged={"w": False, "kp": None}),), 2),
    "a rule and a comparison about one stage": (_SIX, "training RP961 RP550 RP550 RP801"),
    "the same words on two sides": ([part(f"{each}/a", named("a.json", "w")) for each in ("teacher", "engine-trace")],
                                    "engine RP961; training RP961"),
    "later stages of a named one": ((of("a", named("a", "w"), differs("a", "y_norm"), differs("a", "y_out")),),
                                    "engine RP961 RP801 RP801"),
    "a stage that nobody named": ((of("a", differs("a", "y_norm")),), "engine RP801"),
    "what follows in the same file, and elsewhere": ((part("files", _LEAK, *_COPYING, **_TWO),),
                                                     "training RP633 RP635; training RP635"),
    "a stage that inherits": ((part("t", named("a", "w"), differs("a", "y"), judged={"w": False, "y": True}),), 1),
}  # fmt: skip
"""Parts, and how many causes their findings have; or which, each with its side and the codes of its findings."""


@every_case("case", CASES)
def test_findings_share_a_cause_only_where_one_edit_explains_them(case):
    """Two mistakes under one sentence: the second is in nobody's list; a finding that no cause holds is lost to its reader."""
    parts, causes = CASES[case]
    found = causes_of(parts)
    said = "; ".join(f"{cause.side} {' '.join(each.rule.code for each in cause.findings)}" for cause in found)
    assert causes in (len(found), said), said
    held = [id(finding) for cause in found for finding in cause.findings]
    assert sorted(held) == sorted(id(finding) for each in parts for finding in each.report.findings)


def test_a_stage_goes_with_the_nearest_cause_before_it():
    """The action is wrong because of what the network was given; what is done with it afterwards cannot be why."""
    stages = {"obs": False, "action": True, "target": False, "sent": True}
    scaled = [related("a", each, each, f"{each} times it") for each in ("target", "obs")]
    found = part("engine-trace/a", *scaled, differs("a", "action"), differs("a", "sent"), judged=stages)
    held = [[each.values["stage"] for each in cause.findings] for cause in causes_of([found])]
    assert held == [["target", "sent"], ["obs", "action"]]


@pytest.mark.nightly
@pytest.mark.usefixtures("real_project")
def test_the_files_of_a_deployed_character_have_their_causes_once_and_the_worst_first(command):
    """A page of 62 findings is closed; four sentences are read."""
    assert command("init").status == 0
    answer = json.loads(command("gate", "--format", "json").out)
    causes = answer["causes"]
    expected = ("MuY is a mean pose", "pose-history statistics", "angvel_angle = half and angvel_lag = +1",
                "composed with the target pose")  # fmt: skip
    assert [words for cause in causes for words in expected if words in cause["title"]] == list(expected)
    assert (causes[2]["codes"], len(causes[2]["files"])) == ({"RP961": 3, "RP550": 3, "RP553": 3, "RP801": 3}, 3)
    assert "declare meta.rot6d_spec.output_mode" in answer["next_steps"][0]
    assert "change `so3_log_map(R) / 2  # legacy` to `so3_log_map(R)`" in answer["next_steps"][2]
    assert "C++" not in answer["next_steps"][2]  # the training side is Python


@pytest.mark.nightly
def test_a_cause_says_what_it_does_to_the_character(project):
    """Who decides about a release wants degrees and centimetres; of later stages that inherit it there is one step."""
    report = other_convention(project)
    worst = report.causes[0]
    assert (worst.severity, worst.side) == (Severity.ERROR, "engine")
    assert "compose_order = prev_delta" in worst.title
    degrees, centimetres = re.fullmatch(r".* is up to (\S+)° and (\S+) cm off", worst.effect).groups()  # type: ignore[union-attr]
    assert 1.0 < float(degrees) <= 180.0
    assert 1.0 < float(centimetres) < 200.0
    assert "RP801" in codes(report)
    (step,) = report.next_steps
    assert ("change `DeltaM * PrevM` to `PrevM * DeltaM`" in step, "Python" in step) == (True, False)
    record(project, TRACE, quaternion_order="wxyz")  # an angle made up for it would hide what bends a knee
    worst = gated(project, FILES).causes[0]
    assert ("quaternion_order = wxyz" in worst.title, worst.effect) == (True, "the pose itself stays as it is")
    assert worst.lead.values["angle_deg"] == 0.0
