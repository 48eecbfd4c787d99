"""The formats that people read: a terminal's text, a job summary in GitHub's Markdown, an answer as a comment.

In Markdown all text from outside goes through `escaped`. It replaces punctuation with a meaning in Markdown or HTML by character
references, which are shown and never read as markup. It also breaks up mentions and issue numbers.
"""

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.text import Text

from rigpact.contract.findings import EXIT_FINDINGS, EXIT_PASS, Finding, Severity, Verdict, number_of
from rigpact.contract.version import rigpact_version
from rigpact.reports.gate.report import GateReport, Mistake, Part
from rigpact.reports.terminal import (
    STYLES,
    Answer,
    account_text,
    plain,
    severities_text,
    sum_up,
    template,
    verdict_word,
)

# Texts that several formats share. Each is one line without control characters; the formats add the markup.
_WORST_FIRST = tuple(Severity)


def is_failing(finding: Finding, *, strict: bool) -> bool:
    """Whether a finding alone fails the run: an error always, a warning if strict."""
    severity = finding.rule.severity
    return severity is Severity.ERROR or (strict and severity is Severity.WARNING)


def unanswered(gate: GateReport) -> list[tuple[str, str]]:
    """(title, reason) of each part without an answer; of the whole gate if nothing was compared."""
    return _unanswered(gate, gate.parts)


def unexplained(gate: GateReport) -> list[tuple[str, str]]:
    """`unanswered` without the parts whose findings already give the reason, for formats that show all findings."""
    return _unanswered(gate, [part for part in gate.parts if not part.report.count(Severity.ERROR)])


def _unanswered(gate: GateReport, parts: Iterable[Part]) -> list[tuple[str, str]]:
    if gate.verdict == "undetermined" and all(part.verdict == "pass" for part in gate.parts):
        return [("The gate", "compared nothing; this is not a pass")]
    return [(plain(part.title), unjudged_text(part)) for part in parts if part.verdict == "undetermined"]


def unjudged_text(part: Part) -> str:
    """Why an undetermined part has no answer: its own reason, or its account."""
    reason = part.report.summary.get("not_judged")
    if reason:
        return f"could not be judged: {plain(reason)}"
    ledger = part.report.ledger
    if ledger.compared:
        return f"not judged to the end: {account_text(ledger)}; this is not a pass"
    return f"could not be judged: 0 of {ledger.declared} declared values were compared; this is not a pass"


def parts_text(gate: GateReport) -> str:
    """How many of the parts failed, also by warnings where those fail the gate, and how many could not be judged."""
    verdicts = [part.verdict for part in gate.parts]
    warned = [part.verdict == "pass" and part.report.count(Severity.WARNING) for part in gate.parts if gate.strict]
    failed = verdicts.count("fail") + sum(map(bool, warned))
    why = "failed (warnings fail a strict gate)" if any(warned) else "failed"
    told = [
        (count, words)
        for count, words in ((failed, why), (verdicts.count("undetermined"), "could not be judged"))
        if count
    ]
    whole = number_of(len(verdicts), "part")
    return (
        ", ".join(f"{count}{'' if place else f' of {whole}'} {words}" for place, (count, words) in enumerate(told))
        or whole
    )


def part_word(part: Part) -> str:
    """The part's verdict, or the word for a waived part."""
    return "waived" if part.is_waived else part.verdict


def part_text(part: Part) -> str:
    """The text after a part's verdict: its account, the reason for a missing answer, or its waiver."""
    if part.verdict == "undetermined":
        told = part.report.count(Severity.ERROR) > 0
        return "could not be judged; its finding says why" if told else unjudged_text(part)
    if part.is_waived:
        return "; ".join(plain(finding.message) for finding in part.report.findings) or account_text(part.report.ledger)
    return f"{account_text(part.report.ledger)}{_seen_text(part)}{_clips_text(part)}"


def _seen_text(part: Part) -> str:
    """How far the diagnosis of a recording saw that agrees; empty for every other part."""
    diagnosis = part.report.summary.get("diagnosis")
    seen = diagnosis.get("seen") if isinstance(diagnosis, dict) and diagnosis.get("verdict") == "agrees" else None
    return f"; {plain(seen.get('sentence', ''))}" if isinstance(seen, dict) else ""


def _clips_text(part: Part) -> str:
    """Which clips show as much as all of them, and what no clip can show; empty for every part that is not about clips."""
    summary = part.report.summary
    enough, unseen = (summary.get(name, ()) for name in ("smallest_set", "inseparable"))
    told = ""
    if 0 < len(enough) < len(summary.get("separated", ())):
        told = f"; {', '.join(map(plain, enough))} show{'s' if len(enough) == 1 else ''} as much as all clips"
    if unseen:
        told += f"; no clip can show {', '.join(plain(f'{knob}={value}') for knob, value in unseen)}"
    return told


def worst_first(findings: tuple[Finding, ...]) -> list[Finding]:
    """Errors, then warnings, then information; each in the original order."""
    return sorted(findings, key=lambda finding: _WORST_FIRST.index(finding.rule.severity))


def cause_text(cause: Mistake) -> str:
    """Where and what: the first file, and the sentence that names it."""
    return f"{cause.side}, {plain(cause.lead.place)}: {plain(cause.title)}"


def found_text(cause: Mistake) -> str:
    """By which rules it was found, how often, in how many files."""
    codes = ", ".join(f"{code} ×{count}" if count > 1 else code for code, count in cause.codes.items())
    return codes if len(cause.files) == 1 else f"{codes}; in {len(cause.files)} files: {plain(', '.join(cause.files))}"


# The gate's answer at a terminal: parts, the causes of the findings, account, next steps. Colour adds no information.
_VERDICT_WIDTH = len("UNDETERMINED")
CAUSES_IN_TEXT = 12
"""Most causes, so that the parts stay visible; the other formats hold all findings."""


def render_text(gate: GateReport) -> str:
    """Render the report as plain text without colour."""
    stream = StringIO()
    print_gate(gate, Console(file=stream, soft_wrap=True, highlight=False, no_color=True, force_terminal=False))
    return stream.getvalue()


def print_gate(gate: GateReport, console: Console) -> None:
    """Print the report."""
    for part in gate.parts:
        _print_part(part, console)
    for name, reason in gate.not_asked.items():
        console.print(Text(f"{'not asked':{_VERDICT_WIDTH}}  {plain(name)}: {plain(reason)}", style="dim"))
    _print_causes(gate, console)
    for number, step in enumerate(gate.next_steps, 1):
        console.print(Text(f"next {number}. {plain(step)}"))
    line = verdict_word(gate.verdict)
    first = f"; first: {plain(gate.causes[0].name)}" if gate.verdict == "fail" and gate.causes else ""
    line.append(f": {parts_text(gate)}; {account_text(gate.ledger)}{first}", style="default")
    sum_up(line, console)


def _print_causes(gate: GateReport, console: Console) -> None:
    """The worst causes, each with what it does to the character and the rules that found it."""
    if gate.causes:
        findings, causes = number_of(len(gate.findings), "finding"), number_of(len(gate.causes), "cause")
        console.print(f"{findings}, {causes}; the worst first")
    for number, cause in enumerate(gate.causes[:CAUSES_IN_TEXT], 1):
        line = Text(f"{number}. ")
        line.append(cause.severity.value, style=STYLES[cause.severity])
        console.print(line.append(f" {cause_text(cause)}", style="default"))
        if cause.effect:
            console.print(f"   on the character: {plain(cause.effect)}")
        console.print(Text(f"   {found_text(cause)}", style="dim"))
    more = len(gate.causes) - CAUSES_IN_TEXT
    if more > 0:
        console.print(f"… and {number_of(more, 'more cause')}, less severe; --format json has every finding")


def _print_part(part: Part, console: Console) -> None:
    word = Text("WAIVED", style="bold cyan") if part.is_waived else verdict_word(part.verdict)
    word.pad_right(_VERDICT_WIDTH - len(word))
    number = len(part.report.findings)
    told = f"{number_of(number, 'finding')}; " if number and part.verdict != "undetermined" else ""
    about = part_text(part) if part.is_waived else told + part_text(part)
    console.print(word.append(f"  {plain(part.title)}: {about}", style="default"))


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


def render_markdown(gate: GateReport) -> str:
    """Render the report."""
    found = Counter(finding.rule.severity for finding in gate.findings)
    findings = _within(_LIMIT_BYTES, map(_row, worst_first(gate.findings)))
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
