"""The next steps: at most three sentences, each an action on a named side and file.

The worst cause first; between the causes stand parts that could not be judged. Causes that are only information give no step.
"""

from collections.abc import Iterator, Mapping

from rigpact.contract.findings import Severity
from rigpact.reports.gate.answer.report import CLIPS, CONTRACT, ENGINE, MODEL, TRAINING, Cause, GateReport, Part

MOST = 3
NO_FEEDBACK = "this system does not feed itself"
IMPOSSIBLE = frozenset({NO_FEEDBACK})
"""Reasons that no setting can change; the next steps do not mention such parts."""
_SIDES = {
    CONTRACT: "the export of the contract", MODEL: "the export of the model", ENGINE: "the engine",
    TRAINING: "the training side", CLIPS: "the clips",
}  # fmt: skip
NEXT_QUESTIONS: Mapping[str, str] = {
    "engine-trace": "name a trace of the engine in [[gate.trace]]: until then the engine's numbers are unknown",
    "teacher": "name a teacher prediction in [[gate.teacher]]: until then training's numbers are unknown",
    "model": "name the model in [gate]: until then nothing is run",
    "order of inputs": "name a prediction, clip or recording in [gate]: until then nothing says in which order inputs are bound",
    "breaking": 'set base = "origin/main" in [gate]: then breaking changes of the bundle are seen before they are merged',
    "budget": "declare a [gate.budget] so that a larger model is a decision and not an accident",
}
"""Advice for parts that were not asked, when all asked parts pass; the most useful part first."""


def next_steps(report: GateReport) -> tuple[str, ...]:
    """At most three steps, the most useful first. When all parts pass: advice about parts that were not asked."""
    words = [_step(cause) for cause in report.causes if cause.severity is Severity.ERROR]
    words += [step for part in report.parts for step in _missing(part)]
    words += [_step(cause) for cause in report.causes if cause.severity is Severity.WARNING]
    if not words:
        open_questions = {name for name, reason in report.not_asked.items() if reason not in IMPOSSIBLE}
        words = [words for name, words in NEXT_QUESTIONS.items() if name in open_questions]
    return tuple(dict.fromkeys(words))[:MOST]


def _missing(part: Part) -> Iterator[str]:
    """A step for values that were not compared and have no finding."""
    missing = part.report.ledger.missing
    if part.verdict != "pass" and not part.report.count(Severity.ERROR) and not part.is_waived:
        yield f"{part.title}: {missing} declared values were not compared; record them or waive them"


def _step(cause: Cause) -> str:
    """The side, the file, what to do there."""
    lead = cause.lead
    more = cause.codes[lead.rule.code] - 1
    others = f" (and {more} more of {lead.rule.code})" if more else ""
    side = f"{_SIDES[cause.side]}, " if cause.side in _SIDES else ""
    if lead.values.get("patch"):
        return f"{side}{lead.file}{others}: {cause.advice}"
    place = f"{lead.file}#{lead.pointer}" if lead.pointer else lead.file
    return f"{side}{place}{others}: {lead.message}; {cause.advice}"
