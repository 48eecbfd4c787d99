"""A job summary in GitHub's Markdown: verdict, next steps, parts, causes; findings and details are folded.

All text from outside goes through `escaped`. It replaces punctuation with a meaning in Markdown or HTML by character
references, which are shown and never read as markup. It also breaks up mentions and issue numbers.
"""

import itertools
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from rigpact.contract.findings import EXIT_FINDINGS, EXIT_PASS, Finding, Verdict, number_of
from rigpact.contract.version import rigpact_version
from rigpact.reports.answer import Answer
from rigpact.reports.gate.answer.report import GateReport
from rigpact.reports.renderers import wording as words
from rigpact.reports.templates import template
from rigpact.reports.terminal import account_text, plain, severities_text

_FOLDER = Path(__file__).parent

# An answer as a comment on a change: one screen, the answer first; as Markdown for a pull request, or as a page.
LINES, ROWS = 8, 9
"""With the heading, the table's head, empty lines and the foot, these are 25 lines: what a screen shows."""
_STATUS_SIGNS = {EXIT_PASS: "✅", EXIT_FINDINGS: "❌"}


def comment(answer: Answer, form: str) -> str:
    """The answer as `markdown`, at most 25 lines, or as `html`, a page without script that loads nothing."""
    is_page = form == "html"
    rows = [] if answer.figures is None else answer.figures.rows
    hidden = max(len(answer.lines) - LINES, 0) + max(len(rows) - ROWS, 0)
    path = _FOLDER / f"comment.{'html' if is_page else 'md'}.j2"
    return template(path, is_page=is_page, text=_cut if is_page else escaped).render(
        sign=_STATUS_SIGNS.get(answer.exit_code, "⚠️"),
        headline=f"{answer.word}: {answer.headline}" if answer.word else answer.headline,
        lines=answer.lines[:LINES],
        columns=() if answer.figures is None else answer.figures.columns,
        rows=rows[:ROWS],
        foot=f"{hidden} more in --format json; rigpact {rigpact_version()}"
        if hidden
        else f"rigpact {rigpact_version()}",
    )


def _cut(text: str) -> str:
    shown = plain(text)
    return shown if len(shown) <= TEXT_LIMIT else shown[:TEXT_LIMIT] + "…"


_SIGNS: dict[Verdict, str] = {"pass": "✅", "fail": "❌", "undetermined": "⚠️"}
_MARKUP = {ord(character): f"&#{ord(character)};" for character in "&<>\"'`*_{}[]()#~|\\@:$^=!+"}
_SPLIT = {"&#64;": "<span>&#64;</span>", "&#35;": "<span>&#35;</span>"}
_WWW = re.compile(r"(www|[Gg][Hh])([.-])")
CAUSES_SHOWN = 12
"""Causes in the table; the others, and the findings, are folded."""
_LIMIT_BYTES = 600_000
"""Size limit for the findings; half of it is for the files read. GitHub refuses a summary above 1 MiB."""
TEXT_LIMIT = 600
"""Largest number of characters of one text."""


def escaped(text: str) -> str:
    """Text that Markdown shows literally, on one line."""
    shown = plain(text)
    shown = shown if len(shown) <= TEXT_LIMIT else shown[:TEXT_LIMIT] + "…"
    shown = _WWW.sub(lambda found: f"{found[1]}&#{ord(found[2])};", shown.translate(_MARKUP))
    for reference, broken_up in _SPLIT.items():
        shown = shown.replace(reference, broken_up)
    return shown


def render(gate: GateReport) -> str:
    """Render the report."""
    found = Counter(finding.rule.severity for finding in gate.findings)
    findings = _within(_LIMIT_BYTES, map(_row, words.worst_first(gate.findings)))
    return template(_FOLDER / "markdown.md.j2").render(
        gate=gate, signs=_SIGNS, words=words, shown=CAUSES_SHOWN, text=escaped, account=account_text(gate.ledger),
        counts=severities_text(lambda severity: found[severity]), number_of=number_of, findings=findings,
        files=_within(_LIMIT_BYTES // 2, (f"| {escaped(name)} | {escaped(sha)} |" for name, sha in gate.provenance.items())),
    )  # fmt: skip


def _within(limit: int, rows: Iterator[str]) -> list[str]:
    """The first rows that fit into `limit` bytes together."""
    sizes = itertools.accumulate((kept := list(rows)), lambda size, row: size + len(row.encode("utf-8")) + 1, initial=0)
    return [row for row, size in zip(kept, itertools.islice(sizes, 1, None), strict=False) if size <= limit]


def _row(finding: Finding) -> str:
    place, message, hint = (escaped(text) for text in (finding.place, finding.message, finding.rule.hint))
    severity, rule = finding.rule.severity.value, f"{finding.rule.code} {finding.rule.name}"
    return f"| {severity} | {rule} | <code>{place}</code> | {message}<br>hint: {hint} |"
