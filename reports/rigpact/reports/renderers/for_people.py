"""The formats that people read: a terminal's text, a job summary in GitHub's Markdown, an answer as a comment.

In Markdown all text from outside goes through `escaped`. It replaces punctuation with a meaning in Markdown or HTML by character
references, which are shown and never read as markup. It also breaks up mentions and issue numbers.
"""

import itertools
import re
from collections import Counter
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

from rich.console import Console

from rigpact.contract.findings import EXIT_FINDINGS, EXIT_PASS, Finding, Severity, Verdict, number_of
from rigpact.contract.version import rigpact_version
from rigpact.reports.gate.report import SEVERITIES, GateReport, Mistake, Part
from rigpact.reports.terminal import (
    STYLES,
    VERDICT_STYLES,
    Answer,
    Sentence,
    account_text,
    plain,
    print_answer,
    severities_text,
    template,
)


# Texts that several formats share. Each is one line without control characters; the formats add the markup.
def is_failing(finding: Finding, *, strict: bool) -> bool:
    """Whether a finding alone fails the run: an error always, a warning if strict."""
    severity = finding.rule.severity
    return severity is Severity.ERROR or (strict and severity is Severity.WARNING)


def unanswered(gate: GateReport, *, with_told: bool = True) -> list[tuple[str, str]]:
    """(title, reason) of each part without an answer; of the whole gate if nothing was compared.

    with_told: also the parts whose findings give the reason, which formats that show all findings leave out.
    """
    if gate.verdict == "undetermined" and all(part.verdict == "pass" for part in gate.parts):
        return [("The gate", "compared nothing; this is not a pass")]
    parts = [part for part in gate.parts if part.verdict == "undetermined"]
    return [
        (plain(part.title), unjudged_text(part)) for part in parts if with_told or not part.report.count(Severity.ERROR)
    ]


def unjudged_text(part: Part) -> str:
    """Why an undetermined part has no answer: its own reason, or its account."""
    reason = part.report.summary.get("not_judged")
    if reason:
        return f"could not be judged: {plain(reason)}"
    ledger = part.report.ledger
    if ledger.compared:
        return f"not judged to the end: {account_text(ledger)}; this is not a pass"
    return f"could not be judged: 0 of {ledger.declared} declared values were compared; this is not a pass"


def _parts_text(gate: GateReport) -> str:
    verdicts = [part.verdict for part in gate.parts]
    warned = [part for part in gate.parts if part.verdict == "pass" and part.report.count(Severity.WARNING)]
    failed, unjudged = verdicts.count("fail") + (len(warned) if gate.strict else 0), verdicts.count("undetermined")
    told = [f"{failed} failed" + (" (warnings fail a strict gate)" if gate.strict and warned else "")] if failed else []
    told += [f"{unjudged} could not be judged"] if unjudged else []
    whole = number_of(len(verdicts), "part")
    return ", ".join(told).replace(" ", f" of {whole} ", 1) or whole


def part_word(part: Part) -> str:
    """The part's verdict, or the word for a waived part."""
    return "waived" if part.is_waived else part.verdict


def part_text(part: Part) -> str:
    """The text after a part's verdict: its account, the reason for a missing answer, or its waiver."""
    if part.verdict == "undetermined":
        return "could not be judged; its finding says why" if part.report.count(Severity.ERROR) else unjudged_text(part)
    if part.is_waived:
        return "; ".join(plain(finding.message) for finding in part.report.findings) or account_text(part.report.ledger)
    summary, told = part.report.summary, account_text(part.report.ledger)
    diagnosis = summary.get("diagnosis")
    seen = diagnosis.get("seen") if isinstance(diagnosis, dict) and diagnosis.get("verdict") == "agrees" else None
    if isinstance(seen, dict):  # how far the diagnosis saw that agrees
        told += f"; {plain(seen.get('sentence', ''))}"
    enough, unseen = (summary.get(name, ()) for name in ("smallest_set", "inseparable"))
    if 0 < len(enough) < len(summary.get("separated", ())):
        told += f"; {', '.join(map(plain, enough))} show{'s' if len(enough) == 1 else ''} as much as all clips"
    if unseen:
        told += f"; no clip can show {', '.join(plain(f'{knob}={value}') for knob, value in unseen)}"
    return told


def cause_text(cause: Mistake) -> str:
    """Where and what: the first file, and the sentence that names it."""
    return f"{cause.side}, {plain(cause.lead.place)}: {plain(cause.title)}"


def found_text(cause: Mistake) -> str:
    """By which rules it was found, how often, in how many files."""
    codes = ", ".join(f"{code} ×{count}" if count > 1 else code for code, count in cause.codes.items())
    return codes if len(cause.files) == 1 else f"{codes}; in {len(cause.files)} files: {plain(', '.join(cause.files))}"


# The gate's answer at a terminal. Colour adds no information.
_VERDICT_WIDTH = len("UNDETERMINED")
CAUSES_SHOWN = 12
"""Most causes at a terminal, so that the parts stay visible, and in the table of a summary; other formats hold all findings."""


def answer_of_gate(gate: GateReport) -> Answer:
    """Its parts, the causes of the findings, the next steps; in the last line the account and the worst cause."""
    first = f"; first: {gate.causes[0].name}" if gate.verdict == "fail" and gate.causes else ""
    said = f"{_parts_text(gate)}; {account_text(gate.ledger)}{first}"
    return Answer(gate.verdict.upper(), said, gate.exit_code, tuple(_body(gate)))


def _body(gate: GateReport) -> Iterator[Sentence]:
    for part in gate.parts:
        number, style = len(part.report.findings), "bold cyan" if part.is_waived else VERDICT_STYLES[part.verdict]
        is_counted = number and part.verdict != "undetermined" and not part.is_waived
        told = f"  {part.title}: {number_of(number, 'finding') + '; ' if is_counted else ''}{part_text(part)}"
        yield Sentence(told, style, word=f"{part_word(part).upper():{_VERDICT_WIDTH}}")
    for name, reason in gate.not_asked.items():
        yield Sentence(f"{'not asked':{_VERDICT_WIDTH}}  {name}: {reason}", "dim")
    if gate.causes:
        findings, causes = number_of(len(gate.findings), "finding"), number_of(len(gate.causes), "cause")
        yield Sentence(f"{findings}, {causes}; the worst first")
    for number, cause in enumerate(gate.causes[:CAUSES_SHOWN], 1):
        yield Sentence(f" {cause_text(cause)}", STYLES[cause.severity], word=f"{number}. {cause.severity.value}")
        if cause.effect:
            yield Sentence(f"   on the character: {cause.effect}")
        yield Sentence(f"   {found_text(cause)}", "dim")
    more = len(gate.causes) - CAUSES_SHOWN
    if more > 0:
        yield Sentence(f"… and {number_of(more, 'more cause')}, less severe; --format json has every finding")
    for number, step in enumerate(gate.next_steps, 1):
        yield Sentence(f"next {number}. {step}")


def print_gate(gate: GateReport, console: Console) -> None:
    """Print the report."""
    print_answer(answer_of_gate(gate), console)


def render_text(gate: GateReport) -> str:
    """Render the report as plain text without colour."""
    stream = StringIO()
    print_gate(gate, Console(file=stream, soft_wrap=True, highlight=False, no_color=True, force_terminal=False))
    return stream.getvalue()


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
_LIMIT_BYTES = 600_000
"""Size limit for the findings; half of it is for the files read. GitHub refuses a summary above 1 MiB."""
TEXT_LIMIT = 600
"""Largest number of characters of one text."""


def escaped(text: str) -> str:
    """Text that Markdown shows literally, on one line."""
    shown = _WWW.sub(lambda found: f"{found[1]}&#{ord(found[2])};", _cut(text).translate(_MARKUP))
    for reference, broken_up in _SPLIT.items():
        shown = shown.replace(reference, broken_up)
    return shown


def render_markdown(gate: GateReport) -> str:
    """Render the report."""
    found = Counter(finding.rule.severity for finding in gate.findings)
    worst_first = sorted(gate.findings, key=lambda finding: SEVERITIES.index(finding.rule.severity))
    findings = _within(_LIMIT_BYTES, map(_row, worst_first))
    files = _within(
        _LIMIT_BYTES // 2, (f"| {escaped(name)} | {escaped(sha)} |" for name, sha in gate.provenance.items())
    )
    return template(_FOLDER / "markdown.md.j2").render(
        gate=gate, signs=_SIGNS, shown=CAUSES_SHOWN, text=escaped, account=account_text(gate.ledger), findings=findings,
        files=files, cause_text=cause_text, found_text=found_text, part_text=part_text, part_word=part_word, number_of=number_of,
        counts=severities_text(lambda severity: found[severity]),
    )  # fmt: skip


def _within(limit: int, rows: Iterator[str]) -> list[str]:
    sizes = itertools.accumulate((kept := list(rows)), lambda size, row: size + len(row.encode("utf-8")) + 1, initial=0)
    return [row for row, size in zip(kept, itertools.islice(sizes, 1, None), strict=False) if size <= limit]


def _row(finding: Finding) -> str:
    place, message, hint = (escaped(text) for text in (finding.place, finding.message, finding.rule.hint))
    severity, rule = finding.rule.severity.value, f"{finding.rule.code} {finding.rule.name}"
    return f"| {severity} | {rule} | <code>{place}</code> | {message}<br>hint: {hint} |"
