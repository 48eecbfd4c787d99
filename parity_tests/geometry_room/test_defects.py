"""Every way in which a training side's function goes wrong is named, and nothing else is said of it.

golden/ holds the first report of each rule. RIGPACT_REGENERATE=1 writes them anew; read the difference before it is committed.
"""

import json
import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from rigpact.contract.rules.answers import geometry as rules

from .defects import DEFECTS, Defect

GOLDEN = Path(__file__).parent / "golden"
REGENERATE = bool(os.environ.get("RIGPACT_REGENERATE"))
HAS_TORCH = find_spec("torch") is not None
if HAS_TORCH:
    from .torch_defects import TORCH_DEFECTS
else:
    TORCH_DEFECTS = []
ALL = (*DEFECTS, *TORCH_DEFECTS)
FIRST = {defect.code: defect for defect in reversed(ALL)}


@pytest.mark.parametrize("defect", ALL, ids=lambda defect: f"{defect.library}-{defect.name}")
def test_the_defect_is_named_whatever_the_seed(examined: Any, defect: Defect) -> None:
    """Each of these trains without an error and plays wrong in the game; users ignore a finding that depends on the seed."""
    report = examined(defect.function, defect.role, defect.library)

    found = [finding for finding in report.findings if finding.rule.code == defect.code]
    assert any(defect.says in finding.message for finding in found)
    assert all(finding.pointer == f"/{defect.role}" for finding in report.findings)
    if defect.alone:
        assert {finding.rule.code for finding in report.findings} == {defect.code}
    again = examined(defect.function, defect.role, defect.library, 1)
    assert defect.code in {finding.rule.code for finding in again.findings}


@pytest.mark.parametrize("code", sorted(rule.code for rule in rules.TEXTS.rules))
def test_the_finding_reads_as_it_did(examined: Any, code: str) -> None:
    """Review must show a message without its number before users see it."""
    if code not in FIRST:
        pytest.skip("the defect needs torch, which is not installed")
    defect = FIRST[code]
    report = examined(defect.function, defect.role, defect.library)
    findings = [finding.to_json() for finding in report.findings if finding.rule.code == code]
    path, text = GOLDEN / f"{code}.json", json.dumps(findings, indent=1, ensure_ascii=False) + "\n"
    missing = not path.is_file()
    if REGENERATE or missing:
        GOLDEN.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")

    assert REGENERATE or not missing, f"{path} was missing; it is written now: read it"
    assert _without_digits(text) == _without_digits(path.read_text(encoding="utf-8"))


def _without_digits(text: str) -> str:
    """Measured errors are rounding: their last digits are the machine's."""
    lines = [f"{finding['code']} {finding['message']}" for finding in json.loads(text)]
    return "\n".join("".join(each for each in line if not each.isdigit() and each not in "+-.e") for line in lines)


def test_every_rule_has_its_defect() -> None:
    """A rule without a test case may never fire."""
    exercised = set(FIRST) | (set() if HAS_TORCH else {"RP881"})
    assert exercised == {rule.code for rule in rules.TEXTS.rules}
    assert {path.stem for path in GOLDEN.glob("*.json")} == {rule.code for rule in rules.TEXTS.rules}
