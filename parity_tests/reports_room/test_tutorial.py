"""The tutorial, in both languages: every command as written, in its order, with the output that the page shows.

Set RIGPACT_REGENERATE=1 to write the outputs into both pages anew.
"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from ..shown_output import masked
from .test_readme import CONSOLE, FENCES

PAGES = ("tutorial.md", "tutorial.zh-CN.md")
STATUS = {"check": 0, "run": 0, "convert": 0, "explain": 1, "init": 0, "gate": 1, "demo": 0}


def test_the_tutorial_leads_to_a_caught_defect_and_out_again(
    command: Any, checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first ten minutes decide whether anybody spends an eleventh."""
    page = checkout / "docs" / "tutorial.md"
    text = page.read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    statuses = []
    for block in FENCES.findall(text):
        if block.startswith("```toml"):
            with Path("rigpact.toml").open("a", encoding="utf-8") as settings:
                settings.write("\n" + block.removeprefix("```toml\n").removesuffix("```\n"))
            continue
        shown = CONSOLE.fullmatch(block)
        assert shown is not None, block
        words = shlex.split(shown["command"])
        if words[0] == "cd":
            monkeypatch.chdir(words[1])
        if words[0] != "rigpact":
            continue
        answer = command(*words[1:])
        statuses.append((words[1], answer.status))
        if os.environ.get("RIGPACT_REGENERATE"):
            text = text.replace(block, f"```console\n$ {shown['command']}\n{answer.out}```\n", 1)
        else:
            assert masked(shown["output"]) == masked(answer.out), shown["command"]
    assert statuses[-1] == ("gate", 0)
    assert all(status == STATUS[name] for name, status in statuses[:-1]), statuses
    if os.environ.get("RIGPACT_REGENERATE"):
        for name in PAGES:
            old = (checkout / "docs" / name).read_text(encoding="utf-8")
            current = iter(FENCES.findall(text))
            new = FENCES.sub(lambda _, blocks=current: next(blocks), old)
            (checkout / "docs" / name).write_text(new, encoding="utf-8", newline="\n")


def test_both_languages_show_the_same(checkout: Path) -> None:
    """A translation that falls behind sends its readers to commands that are gone."""
    english, chinese = ((checkout / "docs" / name).read_text(encoding="utf-8") for name in PAGES)
    assert FENCES.findall(english) == FENCES.findall(chinese)
    assert len(re.findall(r"^## ", english, re.MULTILINE)) == len(re.findall(r"^## ", chinese, re.MULTILINE))
