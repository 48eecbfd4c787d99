"""A diagnosis in sentences for the page; diagnosing/diagnosis_text.py is the version for a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rigpact.reports.diagnosing.diagnosis import Cause, Diagnosis, Verdict
from rigpact.reports.diagnosing.diagnosis_text import effect_text, remains_texts
from rigpact.reports.diagnosing.hypotheses import Changes
from rigpact.reports.terminal import plain

_HEADLINE: dict[Verdict, str] = {
    "agrees": "Every stage that could be judged computes what the contract says.",
    "explained": "What is named below explains every value that differs ({judged} of {recorded} stages judged).",
    "partly_explained": "What is named below explains a part. Look at what remains.",
    "unexplained": "No known convention or relation explains it. Look at the first divergence.",
    "undetermined": "Not everything could be judged: nothing says what all of {unjudged} should be.",
}
_ONE_SET = "{side} computes with {changes}. That explains every stage that was judged ({judged} of {recorded})."
NOT_DIAGNOSED = "Why they differ was not looked into."
AGREES = "It agrees with the reference in every stage that was compared."
_EQUIVALENTS_SHOWN = 6


@dataclass(frozen=True)
class CauseWords:
    """One cause: the changes, the knob's meaning, hints for the code, and equivalent changes."""

    sentence: str
    hints: tuple[str, ...]
    equivalents: str


@dataclass(frozen=True)
class DiagnosisWords:
    """A headline, the causes, and further lines."""

    headline: str
    causes: tuple[CauseWords, ...] = ()
    lines: tuple[str, ...] = ()


def diagnosis_words(
    diagnosis: Diagnosis | None, meanings: Mapping[str, str], side: str = "engine", *, agrees: bool = False
) -> DiagnosisWords:
    """A diagnosis in words; None if a recording was not diagnosed. meanings: the meaning of each convention.

    side: who recorded it. agrees: whether nothing was found in it, so that nothing had to be diagnosed.
    """
    if diagnosis is None:
        return DiagnosisWords(AGREES if agrees else NOT_DIAGNOSED)
    everything = {knob: value for cause in diagnosis.causes for knob, value in cause.changes.items()}
    causes = (_cause(cause, meanings) for cause in diagnosis.causes)
    judged = sum(stage.ok is not None for stage in diagnosis.stages)
    is_one_set = diagnosis.is_one_set_of_conventions and bool(diagnosis.causes)
    headline = (_ONE_SET if is_one_set else _HEADLINE[diagnosis.verdict]).format(
        side="Training" if side == "training" else "The engine",
        changes=_changes(everything),
        judged=judged,
        recorded=len(diagnosis.stages),
        unjudged=plain(", ".join(diagnosis.unjudged) or "it"),
    )
    return DiagnosisWords(headline, tuple(causes), tuple(_lines(diagnosis)))


def _cause(cause: Cause, meanings: Mapping[str, str]) -> CauseWords:
    meaning = "; ".join(f"{knob}: {meanings[knob]}" for knob in cause.changes if knob in meanings)
    sentence = f"With {_changes(cause.changes)} {effect_text(cause)}." + (f" ({meaning}.)" if meaning else "")
    equivalents = "; ".join(_changes(changes) for changes in cause.equivalents[:_EQUIVALENTS_SHOWN])
    return CauseWords(sentence, cause.code_hints, equivalents)


def _lines(diagnosis: Diagnosis) -> list[str]:
    lines = []
    if diagnosis.verdict == "agrees" and diagnosis.seen is not None:
        lines.append(f"{diagnosis.seen.sentence}.")
    first = diagnosis.first_divergence
    if first is not None:
        size = "a value that is not finite" if first.error is None else f"{first.error:.3g} {first.unit}"
        lines.append(f"First divergence: frame {first.frame}, stage {first.stage}, {plain(first.address)}: {size}.")
    lines += [
        f"{plain(each.stage)} differs: {plain(each.differs.sentence)}." for each in diagnosis.stages if each.differs
    ]
    lines += [
        f"Relation: {plain('. '.join((relation.sentence, *relation.hints)))}." for relation in diagnosis.relations
    ]
    lines += [f"Remains: {plain(words)}." for words in remains_texts(diagnosis)]
    if diagnosis.search is not None and not diagnosis.search.is_complete:
        lines.append(f"{plain(diagnosis.search.sentence)}.")
    lines += [f"{plain(each.stage)}: {each.sampled.words}." for each in diagnosis.stages if each.sampled is not None]
    if diagnosis.indistinguishable:
        choices = ", ".join(f"{knob}={_shown(value)}" for knob, value in diagnosis.indistinguishable)
        lines.append(f"This data cannot tell apart: {choices}.")
    return lines


def _changes(changes: Changes) -> str:
    return " and ".join(f"{knob} = {_shown(value)}" for knob, value in changes.items())


def _shown(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
