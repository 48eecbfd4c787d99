"""docs/rules.md and `rigpact show`: what they show is what the rules really say."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from rigpact.contract.rules import ALL_RULES
from rigpact.contract.rules.model import canary
from rigpact.reports.command_line import run_command_line
from rigpact.reports.describing.shown import rule_section

from ..measuring.pages.rules_page import rules_page

ROOMS = Path(__file__).parents[1]
HEADINGS = ("### What it does", "### Why it is bad", "### Example", "### How to fix")


def golden_examples() -> dict[str, dict[str, str]]:
    """The first finding of each rule in its golden report."""
    found = {}
    for path in sorted(ROOMS.glob("*/golden/RP*.json")):
        read: Any = json.loads(path.read_text(encoding="utf-8"))
        findings = read["findings"] if isinstance(read, dict) else read
        finding = next(finding for finding in findings if finding["code"] == path.stem)
        place = f"{finding['file']}#{finding['pointer']}" if finding["pointer"] else finding["file"]
        found[path.stem] = {"place": place, "message": finding["message"]}
    return dict(sorted(found.items()))


def test_the_examples_are_the_golden_findings(checkout: Path) -> None:
    """An example that differs from the tool's output misleads readers. RIGPACT_REGENERATE=1 copies the findings."""
    path = checkout / "contract" / "rigpact" / "contract" / "rules" / "examples.json"
    text = json.dumps(golden_examples(), indent=1, ensure_ascii=False) + "\n"
    if os.environ.get("RIGPACT_REGENERATE"):
        path.write_text(text, encoding="utf-8")

    assert path.read_text(encoding="utf-8") == text


def test_every_rule_has_an_example() -> None:
    """People search the page for the text of a finding."""
    run_by_canary = {rule.code for rule in canary.TEXTS.rules}  # these show their message without numbers

    assert {rule.code for rule in ALL_RULES} - set(golden_examples()) == run_by_canary


def test_a_section_has_its_four_headings() -> None:
    """The page is read by search: the same question stands under the same words everywhere."""
    page = rules_page()
    for rule in ALL_RULES:
        section = rule_section(rule)
        assert [line for line in section.splitlines() if line.startswith("###")] == list(HEADINGS), rule.code
        assert section in page, rule.code


def test_one_rule_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """The rule's text must be readable in the terminal, without a browser."""
    status = run_command_line(["show", "rp104"])
    by_code = capsys.readouterr().out
    run_command_line(["show", "std-not-positive"])

    assert status == 0
    assert by_code.startswith("## RP104 std-not-positive\n")
    assert "a standard deviation must be > 0" in by_code
    assert capsys.readouterr().out == by_code


@pytest.mark.parametrize(
    ("word", "near"),
    [("RP10", "RP10"), ("RP999", "RP9"), ("std-not-postive", "std-not-positive"), ("x", "lists all names")],
)
def test_an_unknown_code_is_one_line_with_what_is_near(
    word: str, near: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A code is copied by hand from a build log."""
    status = run_command_line(["show", word])
    output = capsys.readouterr()

    assert (status, output.out) == (2, "")
    assert output.err.count("\n") == 1
    assert near in output.err
