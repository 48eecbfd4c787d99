"""A job summary in GitHub's Markdown: verdict, next steps, parts, causes; findings and details are folded.

All text from outside goes through `escaped`. It replaces punctuation with a meaning in Markdown or HTML by character
references, which are shown and never read as markup. It also breaks up mentions and issue numbers.
"""

import re
from collections import Counter
from collections.abc import Iterator

from rigpact.contract.findings import Finding, Verdict
from rigpact.reports.gate.answer.cause import Cause
from rigpact.reports.gate.answer.report import GateReport
from rigpact.reports.renderers import wording as words
from rigpact.reports.renderers.wording import hint_text, message_text, place_text
from rigpact.reports.terminal import account_text, number_of, plain, severities_text

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
    return "\n".join(_lines(gate)) + "\n"


def _lines(gate: GateReport) -> Iterator[str]:
    found = Counter(finding.rule.severity for finding in gate.findings)
    strictly = "; warnings fail it too" if gate.strict else ""
    yield f"## {_SIGNS[gate.verdict]} rigpact: {gate.verdict}"
    yield f"\n{severities_text(lambda severity: found[severity])}; {account_text(gate.ledger)}{strictly}"
    if gate.next_steps:
        yield "\n### Next steps"
        yield from (f"{number}. {escaped(step)}" for number, step in enumerate(gate.next_steps, 1))
    yield "\n### Parts\n| part | verdict | |\n|---|---|---|"
    for part in gate.parts:
        verdict = f"{_SIGNS[part.verdict]} {words.part_word(part)}"
        yield f"| {escaped(part.title)} | {verdict} | {escaped(words.part_text(part))} |"
    yield from (f"| {escaped(name)} | not asked | {escaped(why)} |" for name, why in gate.not_asked.items())
    yield from _causes(gate)
    yield from _findings(words.worst_first(gate.findings))
    read = (f"| {escaped(name)} | {escaped(value)} |" for name, value in gate.provenance.items())
    yield from _folded("Files", _within(_LIMIT_BYTES // 2, read), "| | |\n|---|---|")


def _causes(gate: GateReport) -> Iterator[str]:
    head = "| | severity | cause | found by |\n|---|---|---|---|"
    rows = [_cause_row(number, cause) for number, cause in enumerate(gate.causes, 1)]
    if rows:
        yield f"\n### Causes\n{head}"
        yield from rows[:CAUSES_SHOWN]
        yield from _folded(number_of(len(rows) - CAUSES_SHOWN, "more cause"), rows[CAUSES_SHOWN:], head)


def _cause_row(number: int, cause: Cause) -> str:
    effect = f"<br>on the character: {escaped(cause.effect)}" if cause.effect else ""
    cells = (f"{escaped(words.cause_text(cause))}{effect}", escaped(words.found_text(cause)))
    return f"| {number} | {cause.severity.value} | {' | '.join(cells)} |"


def _findings(found: list[Finding]) -> Iterator[str]:
    if not found:
        return
    head = "| severity | rule | place | what |\n|---|---|---|---|"
    rows = _within(_LIMIT_BYTES, (_row(finding) for finding in found))
    yield from _folded(number_of(len(rows), "finding"), rows, head)
    if len(rows) < len(found):
        left = number_of(len(found) - len(rows), "more finding")
        yield f"\nNot shown here: {left}; see the other reports of this run."


def _within(limit: int, rows: Iterator[str]) -> list[str]:
    """The first rows that fit into `limit` bytes together."""
    sizes = 0
    kept: list[str] = []
    for row in rows:
        sizes += len(row.encode("utf-8")) + 1
        if sizes > limit:
            break
        kept.append(row)
    return kept


def _row(finding: Finding) -> str:
    place, message, hint = (escaped(text) for text in (place_text(finding), message_text(finding), hint_text(finding)))
    severity, rule = finding.rule.severity.value, words.rule_text(finding)
    return f"| {severity} | {rule} | <code>{place}</code> | {message}<br>hint: {hint} |"


def _folded(title: str, rows: list[str], head: str) -> Iterator[str]:
    if rows:
        yield f"\n<details><summary>{title}</summary>\n\n{head}"
        yield from rows
        yield "\n</details>"
