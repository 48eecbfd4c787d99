"""The tutorial and the how-tos: every command as written, in its order, with the output that the page shows.

Set RIGPACT_REGENERATE=1 to write the outputs into the pages and their translations anew.
"""

import re
import shutil
from datetime import date

import pytest

from rigpact.contract.settings import table

from ..shown_output import FENCES, follow

FOLLOWED = {
    "tutorial.md": "demo 0, check 0, run 0, convert 0, explain 1, init 0, gate 1, run 0, convert 0, gate 0",
    "howto/first-gate.md": "demo 0, last_year.py 0, init 0, gate 1, exporter.py 0, gate 1, gate 1",
    "howto/compare-checkpoints.md": "demo 0, candidate.py 0, run 0, run 0, diff 1, sweep 0",
    "howto/free-run-explodes.md": "demo 0, wrong_export.py 0, nan 1, check 1, mended_export.py 0, nan 0, nan 1, nan 0",
    "howto/recorder.md": "demo 0, codegen 0, c++ 0, ./hero 0, explain 1, c++ 0, ./hero 0, explain 0",
    "howto/capture.md": "capture_it.py 0, explain 0, robot.py 0, explain 1",
    "howto/triage.md": (
        "demo 0, run 0, convert 0, slips.py 0, explain 0, explain 1, explain 1, explain 1, explain 2, diff 2, check 2"
    ),
}
"""Each page under docs/ and the exit status of its commands: what the page says of them in words."""
TRANSLATED = ("tutorial.md", "howto/triage.md")
OFTEN = {"tutorial.md": (), "howto/capture.md": ()}
"""Pages that guard a merge; the others are followed each night."""
NEEDS = {"howto/recorder.md": "c++"}
THE_PAGES_DAY = date(2026, 12, 1)
"""The pages let something be until a day within a year of this one."""


def in_chinese(page):
    """The translation beside a page."""
    return page.with_suffix(".zh-CN.md")


@pytest.mark.parametrize("name", [pytest.param(each, marks=OFTEN.get(each, pytest.mark.nightly)) for each in FOLLOWED])
def test_a_page_shows_what_its_commands_print(command, checkout, tmp_path, monkeypatch, name):
    """A reader who sees another output than the page shows stops there, and thinks that the character is at fault."""
    if name in NEEDS and shutil.which(NEEDS[name]) is None:
        pytest.skip(f"no {NEEDS[name]} on this machine")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(table, "today", lambda: THE_PAGES_DAY)
    page = checkout / "docs" / name
    ran = follow(page, command, *([in_chinese(page)] if name in TRANSLATED else []))
    assert ", ".join(f"{each.name} {each.status}" for each in ran) == FOLLOWED[name]


def test_every_how_to_is_followed(checkout):
    """A page whose commands nothing runs is wrong after the next release."""
    pages = (checkout / "docs" / "howto").glob("*.md")
    names = {f"howto/{page.name}" for page in pages if not page.name.endswith(".zh-CN.md")}
    assert names == {name for name in FOLLOWED if name.startswith("howto/")}


@pytest.mark.parametrize("name", TRANSLATED)
def test_both_languages_show_the_same(checkout, name):
    """A translation that falls behind sends its readers to commands that are gone."""
    page = checkout / "docs" / name
    english, chinese = (each.read_text(encoding="utf-8") for each in (page, in_chinese(page)))
    assert FENCES.findall(english) == FENCES.findall(chinese)
    for marks in (r"^##+ ", r"^\| "):
        assert len(re.findall(marks, english, re.MULTILINE)) == len(re.findall(marks, chinese, re.MULTILINE))
    links = [
        set(re.findall(r"\]\(([^)]+\.md)[^)]*\)", text.replace(".zh-CN.md", ".md"))) for text in (english, chinese)
    ]
    assert links[0] == links[1]
