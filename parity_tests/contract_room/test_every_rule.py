"""Every rule fires on the one defect it is about, at the right place, and on nothing else of the sample.

The failing cases stand in the `…_cases.py` files beside this one, the whole report of each in golden/. RIGPACT_REGENERATE=1
writes the reports anew; read the difference before it is committed.
"""

import importlib
import inspect
import json
import os
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rigpact.contract.rules
from rigpact.contract.findings import Finding, FindingsReport, Severity
from rigpact.contract.rules import ALL_RULES, FAMILIES, MEASURED, RETIRED, check
from rigpact.contract.rules.answers import baseline, comparison, gate, geometry, reading, run
from rigpact.contract.rules.catalogue import refusals
from rigpact.contract.rules.hosted import (
    declarations,
    declared_metadata,
    declared_models,
    declared_numbers,
    declared_orders,
    declared_profile,
    declared_stages,
    recorded_sizes,
    system_data,
    system_loading,
    systems,
)
from rigpact.contract.rules.model import canary, stamp
from rigpact.contract.rules.subject import Subject

from ..every_case import every_case
from . import bundle_cases, clip_cases, model_cases, signature_cases, teacher_cases
from .near_misses import NEAR_MISSES
from .rule_cases import Case

CASES: tuple[Case, ...] = (
    *bundle_cases.CASES,
    *signature_cases.CASES,
    *(Case(code, "model", pointer, edit, says) for code, pointer, edit, says in model_cases.CASES),
    *clip_cases.CASES,
    *teacher_cases.CASES,
)


def test_the_sample_checks_clean(sample: Any) -> None:
    """Users switch off a validator that reports defects in a sound character."""
    report = sample.check()

    assert [(finding.rule.code, finding.pointer) for finding in report.findings] == []
    assert report.verdict == "pass"
    assert report.ledger.missing == 0


FIRST_CASE = {case.code: case for case in reversed(CASES)}
GOLDEN = Path(__file__).parent / "golden"
REGENERATE = bool(os.environ.get("RIGPACT_REGENERATE"))
ELSEWHERE = {
    "reports_room/test_comparison_rules.py": comparison.TEXTS.rules,
    "reports_room/test_canary.py": canary.TEXTS.rules,
    "contract_room/test_configuration.py": baseline.TEXTS.rules,
    "trust_room/test_run_measures.py": run.TEXTS.rules,
    "gate_room/test_gate_rules.py": gate.TEXTS.rules,
    "trust_room/test_files_of_a_commit.py": reading.TEXTS.rules,
    "geometry_room/defects.py": tuple(
        rule for rule in geometry.TEXTS.rules if rule is not geometry.GRADIENT_NOT_FINITE
    ),
    "geometry_room/torch_defects.py": (geometry.GRADIENT_NOT_FINITE,),
    "systems_room/system_rule_cases.py": (
        *system_loading.FAMILY.rules,
        *systems.FAMILY.rules,
        *system_data.FAMILY.rules,
    ),
    "declared_room/test_recorded_sizes.py": recorded_sizes.FAMILY.rules,
    "declared_room/declared_rule_cases.py": (
        *declarations.FAMILY.rules,
        *declared_profile.FAMILY.rules,
        *declared_orders.FAMILY.rules,
        *declared_numbers.FAMILY.rules,
        *declared_stages.FAMILY.rules,
        *declared_models.FAMILY.rules,
        *declared_metadata.FAMILY.rules,
        *stamp.FAMILY.rules,
    ),
}
"""Rules about two recordings, a model that runs, waivers, a whole project, a commit and functions have their cases there."""
HERE = {rule.code for rule in ALL_RULES} - {rule.code for rules in ELSEWHERE.values() for rule in rules}


def as_golden(report: FindingsReport, folder: Path) -> str:
    """The report without what differs between machines."""
    document = report.to_json()
    del document["summary"]
    return json.dumps(document, indent=1, ensure_ascii=False).replace(f"{folder}{os.sep}", "") + "\n"


@every_case("case", CASES, ids=lambda case: f"{case.code}{case.pointer.replace('/', '-')}")
def test_the_defect_is_found_where_it_is_and_told_as_it_was(sample: Any, case: Case) -> None:
    """With each of these, the game plays on without a message, or the character does not move."""
    case.edit(sample)
    subject = sample.subject()
    report = check(subject)
    if case is FIRST_CASE[case.code]:
        _judge_golden(GOLDEN / f"{case.code}.json", as_golden(report, sample.folder))

    found = [finding for finding in report.findings if finding.rule.code == case.code]
    assert [(finding.file.rpartition("/")[2].partition(".")[0], finding.pointer) for finding in found] == [
        (case.artefact, case.pointer)
    ]
    assert case.says in found[0].message
    if subject.bundle is not None:
        own = {str(document.path) for document in (subject.bundle, subject.companion) if document is not None}
        shown = [each for each in report.findings if each.rule.engine_refuses and each.file in own]
        refused = refusals(Subject(subject.bundle, subject.companion))
        assert sorted(map(_place, refused)) == sorted(map(_place, shown)), (
            "a contract is refused for what the check finds"
        )


def _judge_golden(path: Path, found: str) -> None:
    """Review must show a message without its number, or a new extra finding, before users see it."""
    wanted = path.read_text(encoding="utf-8") if path.is_file() else None
    if REGENERATE or wanted is None:
        GOLDEN.mkdir(exist_ok=True)
        path.write_text(found, encoding="utf-8")

    assert REGENERATE or wanted is not None, f"{path} was missing; it is written now: read it"
    assert REGENERATE or found == wanted


def test_no_golden_report_is_left_over() -> None:
    """A golden report of a removed rule suggests a check that does not exist."""
    waivers = {rule.code for rule in baseline.TEXTS.rules}
    assert {path.stem for path in GOLDEN.glob("*.json")} == set(FIRST_CASE) | waivers


@every_case(("code", "what", "edit"), NEAR_MISSES, ids=lambda value: value if isinstance(value, str) else "")
def test_a_near_miss_is_not_reported(sample: Any, code: str, what: str, edit: Any) -> None:
    """Users switch off a rule with false alarms, and then it misses real defects."""
    edit(sample)

    assert sample.findings(code) == []


def test_every_code_is_exercised(capsys: pytest.CaptureFixture[str]) -> None:
    """A rule without a test file may never fire."""
    exercised = {case.code for case in CASES}
    rooms = Path(__file__).parents[1]
    texts = {name: (rooms / name).read_text(encoding="utf-8") for name in ELSEWHERE}
    tried = {rule.code for name, rules in ELSEWHERE.items() for rule in rules if f'"{rule.code}"' in texts[name]}
    share = len(exercised | tried) / len(ALL_RULES)
    with capsys.disabled():
        print(f"\nrules: {len(ALL_RULES)}, exercised by failing cases: {share:.0%}")  # noqa: T201 - for people

    assert exercised == HERE
    assert tried == {rule.code for rules in ELSEWHERE.values() for rule in rules}
    assert len(ALL_RULES) >= 130


def test_codes_and_names_are_unique_and_sorted() -> None:
    """Baselines and suppressions name codes: a code that changes its meaning silences the wrong finding."""
    codes = [rule.code for rule in ALL_RULES]

    assert codes == sorted(set(codes))
    assert len({rule.name for rule in ALL_RULES}) == len(ALL_RULES)
    assert not set(codes) & set(RETIRED)


def _rules_by_module() -> Iterator[tuple[str, list[str]]]:
    """Every module under rules/ that makes a rule, whoever imports it, with the codes that it makes."""
    for found in pkgutil.walk_packages(rigpact.contract.rules.__path__, f"{rigpact.contract.rules.__name__}."):
        module = importlib.import_module(found.name)
        names = re.findall(r"^(\w+) = Rule\(", inspect.getsource(module), flags=re.MULTILINE)
        if names:
            yield found.name, sorted(getattr(module, name).code for name in names)


def test_every_rule_stands_in_one_family_of_the_catalogue() -> None:
    """A forgotten family is never checked, and every test view looks as if it had passed."""
    listed = {family.module: sorted(rule.code for rule in family.rules) for family in (*FAMILIES, *MEASURED)}

    assert listed == dict(_rules_by_module())


def test_only_errors_keep_an_engine_from_loading() -> None:
    """The first refusal is what a caller reads: it must not be a warning."""
    assert {rule.severity for rule in ALL_RULES if rule.engine_refuses} == {Severity.ERROR}


def _place(finding: Finding) -> tuple[str, str, str, str]:
    return finding.rule.code, finding.file, finding.pointer, finding.message


def test_every_rule_says_what_why_and_how() -> None:
    """An animator needs the number, the reason and the next step in the message."""
    for rule in ALL_RULES:
        assert re.fullmatch(r"RP\d{3}", rule.code)
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", rule.name), rule.code
        assert "{" not in rule.hint.replace('{"', ""), rule.code
        assert "{" not in rule.why, rule.code
        assert all((rule.hint, rule.why, rule.message)), rule.code
