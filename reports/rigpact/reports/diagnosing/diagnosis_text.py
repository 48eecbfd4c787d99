"""A diagnosis in words, once for all formats: what is known before the search, what it found, and the answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rigpact.contract.findings import number_of
from rigpact.reports.diagnosing.diagnosis import Cause, Diagnosis, Divergence, StageVerdict
from rigpact.reports.diagnosing.opened import answered_text
from rigpact.reports.diagnosing.relations.relation import frames_words
from rigpact.reports.terminal import Answer, Figures, Sentence, number_text, ratio_text

_EQUIVALENTS_SHOWN = 6
_ELSEWHERE = "If it still moves wrong, look outside the contract: physics, undocumented gains, latency, the task."


def answer_of_diagnosis(diagnosis: Diagnosis, notes: Sequence[str] = ()) -> Answer:
    """All of it as one answer. notes: about the files."""
    differ = [each for each in diagnosis.stages if each.ok is False and each.ratio is not None]
    rows = [(each.stage, _sized(each.local_error or 0.0, each.unit), ratio_text(each.ratio)) for each in differ]
    body = (
        *known_body(diagnosis.stages, diagnosis.first_divergence, diagnosis.supposition, notes),
        *_found(diagnosis),
        Figures("", ("stages that differ", "own error", "in tolerances"), rows, is_short=True),
    )
    return Answer(diagnosis.word, headline_text(diagnosis), diagnosis.exit_code, body)


def known_body(
    stages: Sequence[StageVerdict], first: Divergence | None, supposition: str | None = None, notes: Sequence[str] = ()
) -> Iterator[Sentence | Figures]:
    """What is known before anything is searched: every stage, who differs and when, and where it begins.

    supposition: the other choice of files under which they were judged. notes: about the files.
    """
    yield from (Sentence(f"note: {note}", "yellow", 9) for note in notes)
    judged = [stage for stage in stages if stage.ok is not None]
    if judged:
        supposed = "" if supposition is None else f", supposing that {supposition}"
        columns = ("stage", "own error", "inherited", "in tolerances", "")
        yield Figures(f"Stages, each replayed from its own recorded inputs{supposed}", columns, [*map(_row, judged)])
    for stage in stages:
        if stage.needs is not None:
            yield Sentence(f"  {stage.stage}: not judged; {stage.needs}", "dim", 7)
        if stage.sampled is not None:
            yield Sentence(f"  {stage.stage}: {stage.sampled.words}", "dim", 8)
    for stage in stages:
        if stage.differs is not None:
            yield Sentence(f"{stage.stage} differs: {stage.differs.sentence}", "", 5)
    if first is not None:
        yield Sentence(f"First divergence: {divergence_text(first)}", "bold", 0)


def _row(stage: StageVerdict) -> tuple[str, ...]:
    errors = ("" if size is None else _sized(size, stage.unit) for size in (stage.local_error, stage.inherited_error))
    name = stage.stage if stage.held_by is None else f"{stage.stage}, held by {stage.held_by}"
    return name, *errors, ratio_text(stage.ratio), "ok" if stage.ok else "DIFFERS"


def _found(diagnosis: Diagnosis) -> Iterator[Sentence]:
    if diagnosis.supposition is not None:
        yield Sentence(f"Supposing that {diagnosis.supposition}:", "bold")
    for cause in diagnosis.causes:
        yield Sentence(f"With {changes_text(cause.changes)} {effect_text(cause)}", "", 1)
        yield from (Sentence(f"  {hint}", "cyan", 1) for hint in cause.code_hints)
        if words := "; ".join(map(changes_text, cause.equivalents[:_EQUIVALENTS_SHOWN])):
            yield Sentence(f"  The same on this data: {words}", "", 1)
    for place, relation in enumerate(diagnosis.relations):
        is_headline = not place and not diagnosis.causes
        yield Sentence(f"Relation: {relation.sentence}", "", None if is_headline else 2)
    yield from (Sentence(f"Against the contract: {each}", "bold", 6) for each in diagnosis.contradictions)
    yield from _left(diagnosis)


def _left(diagnosis: Diagnosis) -> Iterator[Sentence]:
    """What nothing that was found explains, and what all of it rests on."""
    agrees, first = diagnosis.verdict == "agrees", diagnosis.first_unexplained
    if untold := ", ".join(f"{knob}={shown_value(value)}" for knob, value in diagnosis.indistinguishable):
        yield Sentence(f"Not told apart by this data: {untold}", "dim", 3 if agrees else None)
    yield from (Sentence(f"Remains: {words}", "", 3) for words in remains_texts(diagnosis))
    if first is not None and (diagnosis.verdict == "partly_explained" or diagnosis.is_cut):
        yield Sentence(f"First unexplained: {divergence_text(first)}", "bold")
    if agrees:
        yield Sentence(_ELSEWHERE, "", 3)
    elif diagnosis.answered:
        yield Sentence(f"Left open, and answered by this recording: {answered_text(diagnosis.answered)}")
    if diagnosis.rests_on is not None:
        yield Sentence(f"Rests on {diagnosis.rests_on.words}", "bold")
    if diagnosis.search is not None and not diagnosis.search.is_complete:
        yield Sentence(diagnosis.search.sentence, "yellow", 4)


def remains_texts(diagnosis: Diagnosis) -> list[str]:
    """Of each stage, what nothing that was found explains: who and when; nothing where nothing was found."""
    if diagnosis.verdict != "partly_explained" and not diagnosis.is_cut:
        return []
    return [f"{stage.stage}: {stage.remains.sentence}" for stage in diagnosis.stages if stage.remains is not None]


def headline_text(diagnosis: Diagnosis) -> str:
    """The answer in a sentence without an end: the causes by name, or what stands in their place; and what it rests on."""
    supposed = "" if diagnosis.supposition is None else f"supposing that {diagnosis.supposition}, "
    return f"{supposed}{_named(diagnosis) or _unnamed(diagnosis)}{_rests(diagnosis)}"


def _named(diagnosis: Diagnosis) -> str:
    """What explains it, by name, and of which stages something remains; '' where nothing does."""
    said = [changes_text(cause.changes) for cause in diagnosis.causes]
    if not said and diagnosis.relations:
        more = len(diagnosis.relations) - 1
        said = [diagnosis.relations[0].sentence, *([f"and {number_of(more, 'relation')} more"] if more else [])]
    left = [stage.stage for stage in diagnosis.stages if stage.remains is not None]
    if diagnosis.verdict == "partly_explained" and left:
        said = [*(said or ["a part is explained"]), f"of {', '.join(left)} remains what it says above"]
    return "; ".join(said)


def _unnamed(diagnosis: Diagnosis) -> str:
    first, stages = diagnosis.first_divergence, diagnosis.stages
    is_sound = all(stage.ok is not False for stage in stages) and not diagnosis.contradictions
    if diagnosis.answered and diagnosis.verdict == "agrees":
        return f"open: {answered_text(diagnosis.answered)}; everything else agrees"
    if diagnosis.verdict == "agrees" or (diagnosis.supposition is not None and is_sound):
        return "every stage that could be judged computes what the contract says"
    if diagnosis.verdict == "undetermined":
        return "it differs, and not everything was tried that may say why" if diagnosis.is_cut else _needed(diagnosis)
    if diagnosis.verdict == "partly_explained":
        return "a part is explained, and something remains"
    where = "it" if first is None else f"{first.stage} from frame {first.frame} on"
    return f"no known convention or relation explains {where}"


def _needed(diagnosis: Diagnosis) -> str:
    if not diagnosis.stages:
        return "only what comes from outside was recorded: record a stage that the contract computes"
    is_part = any(stage.ok for stage in diagnosis.stages)
    what = f"nothing judged all of {', '.join(diagnosis.unjudged)}" if is_part else "not enough could be judged"
    return f"{what}: record or give what is named above, or --allow-unjudged STAGE"


def _rests(diagnosis: Diagnosis) -> str:
    """What a verdict rests on: of an agreement, how far it saw; else the recorded stages that were judged."""
    if diagnosis.verdict == "agrees" and diagnosis.seen is not None:
        return f". {diagnosis.seen.sentence}"
    recorded = sum(stage.held_by is None for stage in diagnosis.stages)
    return f" ({recorded - len(diagnosis.unjudged)} of {number_of(recorded, 'recorded stage')} judged)"


def divergence_text(first: Divergence) -> str:
    """The place of a divergence, and its size."""
    size = "a value that is not finite" if first.error is None else _sized(first.error, first.unit)
    return f"frame {first.frame}, stage {first.stage}, {first.address}: {size}"


def effect_text(cause: Cause) -> str:
    """What the changes of a cause do to the error of its stage: bring it within rounding, or only partly."""
    fall = (
        f"the error of {cause.stage} falls from {cause.error_before:.3g} to {_sized(cause.error_after, cause.unit, 2)}"
    )
    if not cause.is_partial:
        alone = f", but only there: {', '.join(cause.breaks)} would differ with it" if cause.breaks else ""
        return f"{fall}, everywhere within rounding (ratio {number_text(cause.ratio)}){alone}"
    within = f"{cause.stage} is partly explained: {cause.frames_explained} of {cause.frames} frames are within rounding"
    return f"{within}, all but {frames_words(cause.frames_left)}; {fall}, still {ratio_text(cause.ratio)} tolerances"


def changes_text(changes: dict[str, Any]) -> str:
    """Changes of conventions in words: `compose_order = prev_delta and …`."""
    return " and ".join(f"{knob} = {shown_value(value)}" for knob, value in changes.items())


def shown_value(value: Any) -> str:
    """A convention's value as text."""
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _sized(error: float, unit: str, digits: int = 3) -> str:
    return f"{error:.{digits}g}" + ("" if unit == "raw" else f" {unit}")
