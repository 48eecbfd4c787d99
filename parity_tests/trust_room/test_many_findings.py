"""Thousands of findings in one file

A file of a megabyte can hold a mistake in each of its twenty thousand slices. The answer must come within seconds and fit a log.
"""

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from rigpact.contract.documents import read_document
from rigpact.reports.checking.check import CheckRequest, check_files
from rigpact.reports.terminal import print_report

from ..contract_room import small_character
from .tried import refused

Slices = Callable[[int], dict[str, object]]
SLICES: dict[str, Slices] = {
    "behind the end": lambda number: {"start": 3 * number, "size": 3},
    "all in one place": lambda number: {"start": 0, "size": 35},
    "of another type": lambda number: {"start": number, "size": "three"},
}
SHOWN = 50
"""Findings of one rule on the screen."""


def bundle_with(slices: Slices, count: int, path: Path) -> Path:
    """The small character's bundle with so many slices more."""
    document = small_character.bundle_document()
    document["meta"]["state_layout"] |= {f"S{number}": slices(number) for number in range(count)}
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


@pytest.mark.sampled(2)
@refused(
    "20,000 mistakes of one kind in a bundle", "the first fifty, and how many more there are; `--format json` has all"
)
@pytest.mark.parametrize("kind", SLICES)
def test_the_screen_shows_the_first_ones_and_counts_the_rest(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A log of eighty thousand lines hides the one line that matters, and takes longer to print than the check took."""
    report = check_files(CheckRequest([read_document(bundle_with(SLICES[kind], 2_000, tmp_path / "bundle.json"))]))
    print_report(report)
    text = capsys.readouterr().out
    found = Counter(finding.rule.code for finding in report.findings)
    shown = Counter(re.findall(r"^\S+: (RP\d+) ", text, re.MULTILINE))
    more = {code: int(number) for number, code in re.findall(r"^(\d+) more of (RP\d+) ", text, re.MULTILINE)}
    assert max(found.values()) >= 1_900
    assert max(shown.values()) == SHOWN
    assert {code: shown[code] + more.get(code, 0) for code in found} == dict(found)
