"""Every rule fires on the one defect it is about, at the right place, and on nothing else of the sample.

The defects stand in the `…_cases.py` files beside this one, what is said of each in golden.txt, from which the examples of
docs/rules.md are made. RIGPACT_REGENERATE=1 writes both anew; read the difference before it is committed.
"""

import json
import os
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from rigpact.contract.errors import Wrong
from rigpact.contract.findings import Severity
from rigpact.contract.rules import family as rules_of
from rigpact.contract.rules.catalogue import ALL_RULES, FAMILIES, MEASURED, RETIRED, check, refusals
from rigpact.contract.rules.family import Artefacts, Rules
from rigpact.contract.rules.structure import check_against_schema

from ..every_case import every_case
from . import bundle_cases, clip_cases, model_cases, teacher_cases
from .near_misses import NEAR_MISSES

CASES = (*bundle_cases.CASES, *model_cases.CASES, *clip_cases.CASES, *teacher_cases.CASES)
FIRST_CASE = {case.code: case for case in reversed(CASES)}
ROOMS = Path(__file__).parents[1]
GOLDEN, REGENERATE = Path(__file__).with_name("golden.txt"), bool(os.environ.get("RIGPACT_REGENERATE"))


ELSEWHERE = {
    room: tuple(rule for name in names.split() for rule in Rules(name.split(".")[0]).families[name.split(".")[1]].rules)
    for room, names in {
        "reports_room": "answers.COMPARISON", "contract_room": "answers.BASELINE", "gate_room": "answers.GATE",
        "trust_room": "answers.RUN answers.READING", "geometry_room": "geometry.TEXTS",
        "systems_room": "contract_files.LOADING contract_files.HOSTED contract_files.RECORDED",
        "declared_room": "contract_files.DECLARED model_graph.STAMPED declared_contract.FAMILY declared_models.FAMILY"
        " recorded_sizes.FAMILY",
    }.items()
}  # fmt: skip
"""Rules about two recordings, a model that runs, waivers, a whole project, a commit and functions have their cases there."""


def blocks():
    """The golden text, one block a case, in the order of the cases."""
    return GOLDEN.read_text(encoding="utf-8").split("\n\n") if GOLDEN.is_file() else []


def told(case, report, folder):
    """The verdict, the account and every finding, without what differs between machines."""
    head = f"# {case.code} {case.artefact}{case.pointer}: {report.verdict}, {report.ledger.compared} of {report.ledger.declared}"
    lines = [f"{f.rule.code} {f.rule.severity} {f.file}#{f.pointer}: {f.message}" for f in report.findings]
    return "\n".join([head, *lines]).replace(f"{folder}{os.sep}", "")


def place(finding):
    return finding.rule.code, finding.file, finding.pointer, finding.message


SAID = blocks()


def test_the_sample_checks_clean(sample):
    """Users switch off a validator that reports defects in a sound character."""
    report = sample.check()
    assert [place(finding) for finding in report.findings] == []
    assert (report.verdict, report.ledger.missing) == ("pass", 0)


@every_case("number", range(len(CASES)), ids=lambda number: f"{CASES[number].code}{CASES[number].pointer}")
def test_the_defect_is_found_where_it_is_and_told_as_it_was(sample, number):
    """With each of these, the game plays on without a message, or the character does not move."""
    case = CASES[number]
    case.edit(sample)
    subject = sample.subject()
    report = check(subject)
    if REGENERATE:
        SAID[number:] = [told(case, report, sample.folder)]
        GOLDEN.write_text("\n\n".join(SAID), encoding="utf-8", newline="\n")
    assert told(case, report, sample.folder) == SAID[number].rstrip("\n")
    found = [(Path(each.file).stem, each.pointer) for each in report.findings if each.rule.code == case.code]
    assert found == [(case.artefact, case.pointer)]
    if number % 7 == 0:
        assert list(check_against_schema(report.to_json(), "findings_report")) == []
    if subject.bundle is not None:  # a contract is refused for what the check finds, and for nothing else
        own = {str(document.path) for document in (subject.bundle, subject.companion) if document is not None}
        shown = [each for each in report.findings if each.rule.engine_refuses and each.file in own]
        assert sorted(map(place, refusals(Artefacts(subject.bundle, subject.companion)))) == sorted(map(place, shown))


def golden_examples():
    """The first finding of each rule: of the golden text, and of the other rooms' golden files."""
    found = {}
    for path in sorted(ROOMS.glob("*/golden/RP*.json")):
        read: Any = json.loads(path.read_text(encoding="utf-8"))
        findings = read["findings"] if isinstance(read, dict) else read
        first = next(each for each in findings if each["code"] == path.stem)
        where = f"{first['file']}#{first['pointer']}" if first["pointer"] else first["file"]
        found[path.stem] = {"place": where, "message": first["message"]}
    for block in reversed(blocks()):
        code = block.split()[1]
        where, _, message = re.search(rf"^{code} \w+ (.*?): (.*)$", block, re.MULTILINE)[0].partition(": ")  # type: ignore[index]
        found[code] = {"place": where.split(" ", 2)[2].removesuffix("#"), "message": message}
    return found


def test_the_examples_are_the_golden_findings(checkout):
    """An example that differs from the tool's output misleads readers of docs/rules.md."""
    path, found = checkout / "contract/rigpact/contract/rules/examples.json", golden_examples()
    examples = json.loads(path.read_text(encoding="utf-8"))
    if REGENERATE:
        examples = dict(sorted({**examples, **found}.items()))
        rows = (f"{json.dumps(code)}: {json.dumps(each, ensure_ascii=False)}" for code, each in examples.items())
        path.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8", newline="\n")
    assert {code: examples.get(code) for code in found} == found
    assert set(examples) == {rule.code for rule in ALL_RULES}


@every_case(("code", "what", "edit"), NEAR_MISSES, ids=lambda value: value if isinstance(value, str) else "")
def test_a_near_miss_is_not_reported(sample, code, what, edit):
    """Users switch off a rule with false alarms, and then it misses real defects."""
    edit(sample)
    assert sample.findings(code) == []


def test_every_code_is_exercised():
    """A rule without a test file may never fire; a golden block of a rule that is gone suggests a check that is not there."""
    cases = {room: [*(ROOMS / room).rglob("*.py"), *(ROOMS / room).rglob("*.yaml")] for room in ELSEWHERE}
    texts = {room: "".join(path.read_text("utf-8") for path in paths) for room, paths in cases.items()}
    tried = {rule.code for room, rules in ELSEWHERE.items() for rule in rules if rule.code in texts[room]}
    assert tried == {rule.code for rules in ELSEWHERE.values() for rule in rules}
    assert set(FIRST_CASE) == {rule.code for rule in ALL_RULES} - tried
    assert len(SAID) == len(CASES)


TEXTS = tomllib.loads(Path(rules_of.__file__).with_name("rules.toml").read_text(encoding="utf-8"))


def test_every_rule_has_its_texts_and_every_text_its_rule(checkout):
    """A check that says another name fails on the one file that it is for; a text that nobody says promises a check."""
    said = {
        module: {name for own in families.values() for name in own if name != "about"}
        for module, families in TEXTS.items()
    }
    called: dict[str, set[str]] = {module: set() for module in TEXTS}
    called["contract_files"] |= {kind.name for kind in Wrong}
    for path in (each for root in ("contract", "reports") for each in (checkout / root).rglob("*.py")):
        text = path.read_text(encoding="utf-8") if path.name != "family.py" else ""
        own = re.search(r'Rules\("(\w+)"\)|import (answers|geometry) as rules', text)
        for holder, name in re.findall(
            r"\b(?:(\w+?)(?:_rules|\.rules)|rules|answers|geometry)\.([A-Z][A-Z_0-9]{2,})\b", text
        ):
            named = re.search(rf"\b(answers|geometry)\.{name}\b", text)
            called[holder or (named or own)[1] or own[2]].add(name)
    assert called == said


def test_every_rule_stands_in_one_family_of_the_catalogue():
    """A forgotten family is never checked; a code that changes its meaning silences the wrong finding."""
    families = {(about["about"], len(about) - 1) for own in TEXTS.values() for about in own.values()}
    assert {(each.about, len(each.rules)) for each in (*FAMILIES, *MEASURED)} == families
    codes = [rule.code for rule in ALL_RULES]
    assert codes == sorted(set(codes))
    assert len({rule.name for rule in ALL_RULES}) == len(codes) >= 130
    assert not set(codes) & set(RETIRED)
    assert {rule.severity for rule in ALL_RULES if rule.engine_refuses} == {Severity.ERROR}


@every_case("rule", ALL_RULES, ids=lambda rule: rule.code)
def test_every_rule_says_what_why_and_how(rule):
    """An animator needs the number, the reason and the next step in the message."""
    assert re.fullmatch(r"RP\d{3}", rule.code)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", rule.name)
    assert "{" not in rule.hint.replace('{"', "") + rule.why
    assert all((rule.hint, rule.why, rule.message))


@pytest.mark.parametrize("change", [
    lambda report: report.pop("ledger"), lambda report: report.update(verdict="ok"),
    lambda report: report["findings"][0].update(severity="fatal"), lambda report: report["findings"][0].pop("message"),
    lambda report: report["findings"][0].update(pointer="StdX/12"),
    lambda report: report["findings"][0].update(fingerprint="abc"),
])  # fmt: skip
def test_a_report_of_another_shape_is_refused_by_the_schema(sample, change):
    """A schema that accepts anything promises nothing."""
    sample.bundle["StdX"][12] = 0.0
    report = sample.check().to_json()
    change(report)
    assert list(check_against_schema(report, "findings_report"))
