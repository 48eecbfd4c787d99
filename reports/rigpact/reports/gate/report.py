"""The gate's answer as data: one part for each question, and one verdict over all parts.

A part that was asked for but could not be answered is `undetermined`, which is not a pass. A part that the project did
not ask for (no engine trace, no base revision) is absent; `not_asked` gives the reason.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from rigpact.contract.as_json import AsJson
from rigpact.contract.documents import Kind
from rigpact.contract.findings import (
    EXIT_CANNOT_JUDGE,
    EXIT_FINDINGS,
    EXIT_PASS,
    Finding,
    FindingsReport,
    Ledger,
    Severity,
    Verdict,
)
from rigpact.contract.rules.family import answers

if TYPE_CHECKING:
    from rigpact.reports.gate.measured import ComparedRun


@dataclass(frozen=True)
class Part(AsJson):
    """One question of the gate and its answer.

    name: stable and kebab-case, for machines (`files`, `teacher/walk`, `engine-trace/walk`). title: for people.
    is_waived: one finding with owner, reason and day replaces all others. run: what can be drawn of it.
    """

    KEYS = "name title verdict findings: report.findings ledger: report.ledger summary: report.summary"
    name: str
    title: str
    report: FindingsReport
    is_waived: bool = False
    run: ComparedRun | None = None

    @property
    def verdict(self) -> Verdict:
        """The part's own verdict; a part that is waived as a whole passes."""
        return "pass" if self.is_waived else self.report.verdict


CONTRACT, MODEL, ENGINE, TRAINING, CLIPS, PROJECT = "contract", "model", "engine", "training", "clips", "project"
SEVERITIES = tuple(Severity)


@dataclass(frozen=True)
class Mistake(AsJson):
    """One mistake. side: who makes it. findings: what it shows itself in; the first names it."""

    KEYS = "severity side title effect files codes findings: fingerprints"
    side: str
    findings: tuple[Finding, ...]

    @property
    def lead(self) -> Finding:
        """The finding that says what is wrong."""
        return self.findings[0]

    @property
    def severity(self) -> Severity:
        """That of its worst finding."""
        return min((each.rule.severity for each in self.findings), key=SEVERITIES.index)

    @property
    def files(self) -> tuple[str, ...]:
        """The files that it is in, each once."""
        return tuple(dict.fromkeys(finding.file for finding in self.findings))

    @property
    def title(self) -> str:
        """What is wrong, in a sentence."""
        if self.lead.rule.code != answers.CONVENTION_DIFFERS.code:
            return self.lead.message
        return "{stage} was computed with {changes}: with it {effect}".format_map(self.lead.values)

    @property
    def name(self) -> str:
        """What is wrong, in as few words as say it."""
        if self.lead.rule.code == answers.CONVENTION_DIFFERS.code:
            return f"{self.lead.values['changes']} in {self.lead.file}"
        return self.lead.message

    @property
    def effect(self) -> str:
        """What it does to the character, as far as it was measured."""
        said = (str(each.values["on_character"]) for each in self.findings if each.values.get("on_character"))
        return next(said, "")

    @property
    def advice(self) -> str:
        """What to do about it: the lines to change, where they are known, else its rule's hint."""
        patch = self.lead.values.get("patch")
        return "; ".join(map(str, patch)) if patch else self.lead.rule.hint

    @property
    def fingerprints(self) -> list[str]:
        """Those of its findings."""
        return [each.fingerprint for each in self.findings]

    @property
    def codes(self) -> dict[str, int]:
        """How often each rule found it."""
        found = [finding.rule.code for finding in self.findings]
        return {code: found.count(code) for code in dict.fromkeys(found)}


# The causes behind a gate's findings: findings share a cause only if one edit explains them, whatever their rules
_REACH = {CONTRACT: 0, MODEL: 0, ENGINE: 0, TRAINING: 1, CLIPS: 2, PROJECT: 3}
"""Whose mistake reaches furthest comes first: contract, model and engine are in every frame of the game."""
_SIDE_OF_KIND: Mapping[str, str] = {
    Kind.TEACHER_PREDICTION.value: TRAINING, Kind.TEACHER_BATCH.value: TRAINING, Kind.RAW_CLIP.value: CLIPS, "trace": CLIPS,
    "model": MODEL,
}  # fmt: skip
_SIDE_OF_PART = {"teacher": TRAINING, "engine-trace": ENGINE, "model": MODEL, "adequacy": CLIPS, "waivers": PROJECT}
_OF_MANY_FILES = frozenset({ENGINE, TRAINING, CLIPS})
"""Sides that write many files in one way: an index in one of them is a frame or a row, not a place of its own."""
_NAMED = (answers.CONVENTION_DIFFERS.code, answers.RELATION_DIFFERS.code)
Key = tuple[object, ...]
Edit = tuple[str, str]
Edits = frozenset[Edit]
Said = dict[tuple[str, str, Edit], dict[Edits, None]]
"""A side, a file and one edit -> what the findings there say that hold this edit, in their order."""


def causes_of(parts: Sequence[Part]) -> tuple[Mistake, ...]:
    """Every finding under one cause, the worst cause first."""
    groups: dict[Key, list[Finding]] = {}
    for key, finding in _keyed(parts):
        groups.setdefault(key, []).append(finding)

    def leads(finding: Finding) -> tuple[bool, int]:
        return finding.rule.code not in _NAMED, SEVERITIES.index(finding.rule.severity)

    causes = [Mistake(str(side), tuple(sorted(found, key=leads))) for (side, *_), found in groups.items()]
    return tuple(sorted(causes, key=_rank))


def _keyed(parts: Sequence[Part]) -> Iterator[tuple[Key, Finding]]:
    """Each finding with the side that it is on and the edit that explains it."""
    placed = [list(_on_sides(part)) for part in parts]
    said: Said = {}
    for side, finding in itertools.chain.from_iterable(placed):
        edits = _edits(finding)
        for edit in edits:
            said.setdefault((side, finding.file, edit), {})[edits] = None
    for part, findings in zip(parts, placed, strict=True):
        rows = (part.report.summary.get("diagnosis") or {}).get("stages", ())
        verdicts = {row["stage"]: row["ok"] for row in rows}
        firsts: dict[
            str, dict[tuple[str, str], Finding]
        ] = {}  # a file has thousands of findings, and few rules and stages
        for each in part.report.findings:
            firsts.setdefault(each.file, {}).setdefault((each.rule.code, _stage(each)), each)
        for side, finding in findings:
            leading = _leader(finding, firsts[finding.file], verdicts) if finding.rule.follows else finding
            yield (side, *_edit_of(leading, side, said)), finding


def _on_sides(part: Part) -> Iterator[tuple[str, Finding]]:
    own = _SIDE_OF_PART.get(part.name.partition("/")[0])
    kinds = {each["path"]: each["kind"] for each in part.report.summary.get("files", ())}
    for finding in part.report.findings:
        yield own or _SIDE_OF_KIND.get(kinds.get(finding.file, ""), CONTRACT), finding


def _edits(finding: Finding) -> Edits:
    return frozenset((str(what), str(value)) for what, value in finding.says.items())


def _edit_of(finding: Finding, side: str, said: Said) -> Key:
    """The edit that explains a finding: the widest of those said of its side and file that has its own in it."""
    if own := _edits(finding):
        return (max((each for each in said[side, finding.file, next(iter(own))] if own <= each), key=len),)
    if finding.about:
        return (finding.about,)
    code, nobody = finding.rule.code, answers.NOT_EXPLAINED.code
    if side in _OF_MANY_FILES and nobody not in (code, *finding.rule.follows):
        return code, *(name for name in finding.pointer.split("/") if not name.isdigit())
    return code, finding.file, finding.pointer


def _leader(finding: Finding, firsts: Mapping[tuple[str, str], Finding], verdicts: Mapping[str, object]) -> Finding:
    """What a finding follows from: of its stage, else nearest before it in the loop; itself, where nothing is said or known.

    A stage that differs by itself, or that nobody could judge, does not follow from another one.
    """
    beside = [each for (code, _), each in firsts.items() if code in finding.rule.follows]
    stage = _stage(finding)
    same = [each for each in beside if _stage(each) == stage]
    if same or not beside or not verdicts.get(stage, True):
        return (same or [finding])[0]
    before = list(itertools.takewhile(lambda name: name != stage, verdicts))
    return max(beside, key=lambda each: before.index(_stage(each)) if _stage(each) in before else -1)


def _stage(finding: Finding) -> str:
    return str(finding.values.get("stage", ""))


def _rank(cause: Mistake) -> tuple[float, ...]:
    refused = any(each.rule.engine_refuses and each.rule.severity is Severity.ERROR for each in cause.findings)
    size = max(_size(each) for each in cause.findings)
    return SEVERITIES.index(cause.severity), not refused, _REACH[cause.side], -size, -len(cause.findings)


def _size(finding: Finding) -> float:
    """How large an error is: in degrees, or in standard deviations of an input; 0 where it has no number of the kind."""
    for key in ("angle_deg", "model_deg", "error_deg", "error"):
        value = finding.values.get(key)
        if isinstance(value, int | float):
            return float(value)
    return 0.0


WAIVERS = "waivers"
"""The part about the waivers and thresholds themselves, which does not count as a judgement."""


@dataclass(frozen=True)
class GateReport(AsJson):
    """All parts, the questions that were not asked, the next steps, and the provenance.

    provenance: SHA-256 of each file that was read, and the version of rigpact. The same provenance gives the same
    answer.
    """

    FORMAT = "rigpact-gate"
    KEYS = "verdict parts causes not_asked ledger next_steps provenance"
    parts: tuple[Part, ...]
    provenance: Mapping[str, str]
    not_asked: Mapping[str, str] = field(default_factory=dict)
    next_steps: tuple[str, ...] = ()
    strict: bool = False

    @cached_property
    def causes(self) -> tuple[Mistake, ...]:
        """Every finding under the one mistake that it comes from, the worst mistake first."""
        return causes_of(self.parts)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings of all parts, in order."""
        return tuple(finding for part in self.parts for finding in part.report.findings)

    @property
    def ledger(self) -> Ledger:
        """The sum of the parts' ledgers."""
        ledgers = [part.report.ledger for part in self.parts]
        return Ledger(*(sum(getattr(each, name) for each in ledgers) for name in ("declared", "compared", "waived")))

    @property
    def verdict(self) -> Verdict:
        """`fail` if a part fails (a warning too if strict); `undetermined` if a part is or nothing was compared."""
        verdicts = {part.verdict for part in self.parts}
        if "fail" in verdicts or (self.strict and any(part.report.count(Severity.WARNING) for part in self.parts)):
            return "fail"
        judged = any(part.report.ledger.compared for part in self.parts if part.name != WAIVERS)
        return "undetermined" if "undetermined" in verdicts or not judged else "pass"

    @property
    def exit_code(self) -> int:
        """0 pass, 1 findings, 2 something that was asked could not be judged."""
        return {"pass": EXIT_PASS, "fail": EXIT_FINDINGS, "undetermined": EXIT_CANNOT_JUDGE}[self.verdict]


# The next steps: at most three sentences, each an action on a named side and file.
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
    "breaking": 'set base = "origin/main" in [gate]: then breaking changes of the bundle are seen before they are merged',
    "budget": "declare a [gate.budget] so that a larger model is a decision and not an accident",
}
"""Advice for parts that were not asked, when all asked parts pass; the most useful part first."""


def next_steps(report: GateReport) -> tuple[str, ...]:
    """At most three steps, the most useful first. When all parts pass: advice about parts that were not asked."""
    words = [_step(cause) for cause in report.causes if cause.severity is Severity.ERROR]
    for part in report.parts:
        if part.verdict != "pass" and not part.report.count(Severity.ERROR) and not part.is_waived:
            missing = part.report.ledger.missing
            words.append(f"{part.title}: {missing} declared values were not compared; record them or waive them")
    words += [_step(cause) for cause in report.causes if cause.severity is Severity.WARNING]
    if not words:
        open_questions = {name for name, reason in report.not_asked.items() if reason not in IMPOSSIBLE}
        words = [words for name, words in NEXT_QUESTIONS.items() if name in open_questions]
    return tuple(dict.fromkeys(words))[:MOST]


def _step(cause: Mistake) -> str:
    """The side, the file, what to do there."""
    lead = cause.lead
    more = cause.codes[lead.rule.code] - 1
    others = f" (and {more} more of {lead.rule.code})" if more else ""
    side = f"{_SIDES[cause.side]}, " if cause.side in _SIDES else ""
    if lead.values.get("patch"):
        return f"{side}{lead.file}{others}: {cause.advice}"
    return f"{side}{lead.place}{others}: {lead.message}; {cause.advice}"
