"""What an archive holds reads back as it was: findings, values, diagnoses, arrays."""

import json
import string
from typing import Any

import numpy as np

from rigpact.contract.findings import Finding
from rigpact.contract.rules.catalogue import ALL_RULES
from rigpact.reports.comparing.stage_comparison import Address
from rigpact.reports.diagnosing.diagnosis import Diagnosis, Divergence, RestsOn, StageVerdict
from rigpact.reports.diagnosing.relations.relation import Relation
from rigpact.reports.gate.kept_values import from_plain, to_plain

from ..every_case import every_case


def again(kind: Any, value: Any) -> Any:
    """A value without arrays, written and read."""
    return from_plain(kind, json.loads(json.dumps(to_plain(kind, value, {}))), {})


def said_of(finding: Finding) -> Any:
    try:
        return finding.to_json()
    except (ValueError, TypeError, KeyError):
        return None


def test_findings_of_most_rules_read_back():
    """The archive must keep every message of a rule unchanged; the messages of a few want other values than a number."""
    address, findings = Address("y_out", 3, bone="hand_l"), []
    for rule in ALL_RULES:
        names = {name.split(".")[0].split("[")[0] for _, name, _, _ in string.Formatter().parse(rule.message) if name}
        values = dict.fromkeys(names, np.float32(1.5)) | {"address": address, "tuple": (1, "a")}
        findings.append(Finding(rule, "a.json", "/x", values))
    findings = [finding for finding in findings if said_of(finding) is not None]
    assert len(findings) > 0.7 * len(ALL_RULES)
    for before in findings:
        after = again(Finding, before)
        assert (said_of(after), after.values["address"], after.values["tuple"]) == (said_of(before), address, (1, "a"))


@every_case("value", [float("nan"), float("inf"), -float("inf"), 1e300, 0, True, None, "$x", [1, [2]], (), {"a": (1,)}])
def test_a_value_reads_back(value):
    """Numbers that are not finite are what a report is about; JSON has none."""
    assert repr(again(Any, value)) == repr(value)


def test_a_diagnosis_reads_back():
    """A relation that became text on its way made the report of its recording an internal error."""
    relation = Relation("quat", "quat of hand_l", "turned", "turned by 90° about z", 24, 24, 0.3)
    stage = StageVerdict("quat", 1.0, None, 1.0, 0.1, 10.0, ok=False, unit="deg")
    place = Divergence(3, "quat", Address("quat", 3, bone="hand_l"), 90.0, "deg")
    rests_on = RestsOn(("hand_l",), ("head",), ())
    says = {"relations": (relation,), "first_unexplained": place, "rests_on": rests_on}
    before = Diagnosis("unexplained", place, (stage,), (), (("fps", 60),), **says)  # type: ignore[arg-type]
    after = again(Diagnosis, before)
    assert after.to_json() == before.to_json()
    assert after.relations[0].sentence == relation.sentence
