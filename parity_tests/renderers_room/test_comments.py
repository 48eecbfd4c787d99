"""`--format markdown` and `--format html` of diff, explain and nan: one screen, the answer first."""

from __future__ import annotations

import html
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from rigpact.contract.findings import EXIT_FINDINGS, EXIT_PASS
from rigpact.reports.commenting.comment import Comment, to_html, to_markdown

SCREEN = 25
HOSTILE = "calf_l | <script>alert(1)</script> [x](y) @someone #7 `"


class Tags(HTMLParser):
    """The tags of a page in order, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_a_long_answer_still_fits_a_screen() -> None:
    """A comment that must be scrolled is not read; what is left out is counted."""
    comment = Comment("it differs", EXIT_FINDINGS, [f"line {n}" for n in range(40)], ("a", "b"), [("1", "2")] * 40)
    lines = to_markdown(comment).splitlines()

    assert len(lines) <= SCREEN
    assert lines[0] == "### ❌ it differs"
    assert "63 more in --format json" in lines[-1]


def test_text_of_a_file_is_no_markup() -> None:
    """A bone's name must not mention people, open a link or run a script on the page of a pull request."""
    comment = Comment(HOSTILE, EXIT_PASS, (HOSTILE,), ("bone",), ((HOSTILE,),))
    markdown, page = to_markdown(comment), Tags(to_html(comment))

    assert not re.search(r"<script|@someone|\]\(|#7", markdown)
    assert markdown.count("|") == len("| bone |".replace(" bone ", "")) * 3
    assert "script" not in page.tags
    assert page.text.count("<script>alert(1)</script>") == 4  # title, heading, line, cell


@pytest.fixture
def answers(command: Any, demo_bundle: Path, tmp_path: Path) -> dict[str, tuple[Any, ...]]:
    """Words of each command, with the first words of its answer."""
    bundle, companion = demo_bundle / "norm_template.json", demo_bundle / "pretrain_template.json"
    clip, knob = demo_bundle / "clips" / "Sneak_Turn.json", ("--set", "compose_order=prev_delta")
    words = ("--companion", companion, "--onnx", demo_bundle / "model.onnx", "--clip", clip)
    run, other = tmp_path / "run.trace.jsonl", tmp_path / "other.trace.jsonl"
    assert command("run", bundle, *words, "-o", run).status == 0
    assert command("run", bundle, *words, *knob, "-o", other).status == 0
    files = ("--bundle", bundle, "--companion", companion)
    return {
        "diff": ("The recordings differ from frame", "diff", run, other, *files),
        "explain": ("EXPLAINED: compose_order = prev_delta", "explain", other, *files),
        "nan": ("NONFINITE: produced at frame 3", "nan", bundle, *words, "--frames", "9", "--perturb", "state@3=nan"),
        "drift": ("FINITE: 9 frames", "nan", bundle, *words, "--frames", "9", "--drift"),
    }


@pytest.mark.parametrize("name", ["diff", "explain", "nan", "drift"])
def test_the_answer_is_the_first_line(command: Any, answers: Any, name: str) -> None:
    """Who reads one line of a pull request reads the cause."""
    said, *words = answers[name]
    text, markdown = command(*words), command(*words, "--format", "markdown")
    page = command(*words, "--format", "html")
    lines = markdown.out.decode("utf-8").splitlines()

    assert text.status == markdown.status == page.status
    assert len(lines) <= SCREEN
    found = Tags(page.out.decode("utf-8"))
    heading = next(each for each in found.text.splitlines() if each.startswith(("❌", "✅")))
    assert said in heading
    assert said.split(":")[0].split(" ")[0] in lines[0]
    assert found.tags[: found.tags.index("h1")].count("p") == 0
    assert not {"script", "link", "img"} & set(found.tags)


@pytest.mark.parametrize("form", ["markdown", "html"])
def test_what_is_supposed_stands_in_the_first_line(command: Any, demo_bundle: Path, tmp_path: Path, form: str) -> None:
    """ "Explained: no known convention explains it" leaves out the one thing that was found."""
    for name in ("Sneak_Turn.json", "Run_F.json"):
        shutil.copy(demo_bundle / "clips" / name, tmp_path)
    bundle, words = demo_bundle / "norm_template.json", ("--companion", demo_bundle / "pretrain_template.json")
    words = (*words, "--onnx", demo_bundle / "model.onnx", "--clip")
    run = tmp_path / "run.trace.jsonl"
    assert command("run", bundle, *words, tmp_path / "Sneak_Turn.json", "--frames", "12", "-o", run).status == 0

    answer = command("explain", run, "--bundle", bundle, *words, tmp_path / "Run_F.json", "--format", form)

    shown = html.unescape(answer.out.decode("utf-8")).replace("\\", "")
    said = (
        "EXPLAINED: supposing that Sneak_Turn.json drove it, not Run_F.json, every stage that could be judged computes"
    )
    assert said in shown
    assert "no known convention explains it" not in shown
