"""Text of user files in formats for people: shown, never executed. Each oracle reads like the format's reader."""

import re

import cmarkgfm
from cmarkgfm.cmark import Options
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from rigpact.contract.findings import Severity
from rigpact.reports.renderers import render

from .gates import HOSTILE, Page, finding, gate, hostile_gate, part

TEXTS = st.lists(st.sampled_from(HOSTILE) | st.text(max_size=8), min_size=1, max_size=3).map("".join)
ALLOWED_TAGS = {
    "h2", "h3", "p", "ol", "li", "table", "thead", "tbody", "tr", "th", "td", "code", "br", "span", "details",
    "summary",
}  # fmt: skip


def commands(log):
    """(command, properties, message) of every workflow command in a log, as GitHub's runner takes them apart."""
    for line in re.split(r"\r\n|\r|\n", log):
        if not line.lstrip().startswith("::"):
            continue
        head, end, message = line.lstrip()[2:].partition("::")
        assert end
        name, _, rest = head.partition(" ")
        properties = dict(pair.split("=", 1) for pair in rest.split(",") if "=" in pair)
        yield name, {key: _unescaped(value) for key, value in properties.items()}, _unescaped(message, colons=False)


def _unescaped(text, *, colons=True):
    for code, character in (
        ("%0D", "\r"), ("%0A", "\n"), *((("%3A", ":"), ("%2C", ",")) if colons else ()), ("%25", "%"),
    ):  # fmt: skip
        text = text.replace(code, character)
    return text


def shown(text):
    """The text that a reader must see; unprintable characters are escaped."""
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in text)


@settings(deadline=None)
@given(text=TEXTS, file=TEXTS)
def test_annotations_are_one_command_each_and_come_back_whole(text, file):
    """A bone name with a newline would give orders to the runner of the build."""
    (annotation,) = commands(render(gate(part(finding(text, f"clips/{file}.json", "/a"))), "github"))
    name, properties, message = annotation
    assert name == "error"
    assert set(properties) == {"file", "title"}
    if "/" not in file:  # else the path is tidied
        assert properties["file"].endswith(f"clips/{shown(file)}.json")
    assert properties["title"] == "RP990 made-up-error"
    assert message == f"/a: {shown(text)}\nhint: do {{{{what}}}} is right"


def test_github_hears_how_many_annotations_it_does_not_show():
    """GitHub silently drops the eleventh annotation of a step."""
    many = [finding(f"n{index}", severity=Severity.WARNING) for index in range(25)]
    found = list(commands(render(gate(part(*many, finding("bad"))), "github")))
    assert [name for name, _, _ in found] == ["error"] + ["warning"] * 10
    assert found[-1][2].startswith("16 more")


def page(markdown):
    """A page as GitHub's own parser makes it of Markdown, before the tags that GitHub removes are removed."""
    return Page(cmarkgfm.github_flavored_markdown_to_html(markdown, options=Options.CMARK_OPT_UNSAFE))


@settings(deadline=None)
@given(text=TEXTS)
def test_a_summary_shows_text_and_never_runs_it(text):
    """A pull request from outside could put its own link or table into the summary of a build."""
    report = gate(part(finding(text, f"clips/{text}", f"/{text}"), title=text), not_asked={text: text})
    found = page(render(report, "markdown"))
    assert set(found.tags) <= ALLOWED_TAGS
    assert found.attributes == []
    if len(shown(text)) < 500 and shown(text).strip() == shown(text):
        assert shown(text) in found.text
    assert not re.search(r"@\w|(?<!\w)#\d", render(report, "markdown").replace("&#", "")), (
        "a mention, or an issue's number"
    )


def test_every_hostile_text_at_once_leaves_the_table_as_it_is():
    """One `|` shifts every column after it."""
    report = hostile_gate()
    found = page(render(report, "markdown"))
    assert set(found.tags) <= ALLOWED_TAGS
    summary = render(report, "markdown")
    rows = [line for line in summary.splitlines() if line.startswith("| ")]
    assert {line.count("|") for line in rows} == {3, 4, 5}  # read; parts; findings
    assert summary.splitlines().count("</details>") == summary.count("<details>") == 3  # read; causes; findings


def test_a_summary_stays_below_what_github_takes():
    """GitHub refuses a summary beyond 1 MiB whole, and the job has none."""
    many = [finding("@" * 5000, "bundle.json", "/" + "|" * 5000) for _ in range(300)]
    summary = render(gate(part(*many)), "markdown")
    assert len(summary.encode("utf-8")) < 1 << 20
    assert re.search(r"\d+ more findings", summary)


@settings(deadline=None)
@given(text=TEXTS)
def test_the_terminal_gets_text_only(text):
    """An escape sequence in a clip's bone name could retitle the window or hide the verdict."""
    report = gate(part(finding(text, text, text), title=text), not_asked={text: text})
    told = render(report, "text")
    assert "".join(told.splitlines()).isprintable()
    assert len(told.splitlines()) == 8  # part, not asked, counts, cause, its rules, two steps, verdict
    assert shown(text) in told


@settings(deadline=None)
@given(text=TEXTS)
def test_xml_gives_back_what_a_reader_is_to_see(text):
    """XML knows no escape for most control characters: one of them and the whole report is refused."""
    root = etree.fromstring(render(gate(part(finding(text, pointer="/a"), title=text)), "junit").encode("utf-8"))
    (failure,) = root.iter("failure")
    assert failure.get("message") == shown(text)
    assert failure.text is not None
    assert shown(text) in failure.text


def test_the_terminal_shows_the_worst_cause_first():
    """Four hundred warnings scroll the one error away."""
    many = [finding(f"n{index}", severity=Severity.WARNING) for index in range(25)]
    told = render(gate(part(*many, finding("bad"))), "text")
    assert "26 findings, 2 causes; the worst first" in told
    assert next(line for line in told.splitlines() if line.startswith("1. ")).endswith(": bad")
    assert "   RP991 ×25" in told
