"""Words that a contract leaves open, answered by a recording: what only an assumed word explains is not a mistake of anybody."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice, product
from typing import Any

from rigpact.contract.systems.contract import Contract
from rigpact.reports.diagnosing.diagnosis import Diagnosis
from rigpact.reports.diagnosing.evidence import Gathered, JudgedPart
from rigpact.reports.diagnosing.hypotheses import Changes, Hypotheses

Answered = dict[str, tuple[Any, ...]]
"""A convention that was left open -> the values that fit the recording, the one that is taken first."""
_MOST = 256
"""Choices of the open words of one stage that are tried, those with the fewest changes first."""


def with_answered_words(gathered: Gathered) -> tuple[Gathered, Answered]:
    """What was gathered, under the words that the recording answers; nothing of a recording of some bones."""
    if gathered.recording.bones or len(gathered.parts) != 1:
        return gathered, {}
    (part,) = gathered.parts
    knobs = open_knobs(part.contract)
    if not knobs:
        return gathered, {}
    hypotheses = Hypotheses(part.evidence, part.contract)
    words = _words(hypotheses, knobs)
    answered = {knob: values for knob in knobs if (values := tuple(_fitting(hypotheses, knob, words)))}
    told = {knob: values for knob, values in answered.items() if knob in words or len(values) == 1}
    changed = (
        replace(gathered, parts=(JudgedPart(part.evidence, part.contract.with_conventions(words)),))
        if words
        else gathered
    )
    return changed, told


def open_knobs(contract: Contract) -> list[str]:
    """The conventions that a contract leaves open, without those that were set beside it."""
    knobs = contract.system.knobs
    return [name for name in contract.system.left_open if contract.conventions[name] == knobs[name].default]


def open_words_in(diagnosis: Diagnosis, contract: Contract) -> Changes:
    """What a diagnosis changes of words that were left open, beside mistakes of the same stage."""
    known = open_knobs(contract)
    causes = [cause for cause in diagnosis.causes if not (cause.breaks or cause.is_partial)]
    return {knob: value for cause in causes for knob, value in cause.changes.items() if knob in known}


def _words(hypotheses: Hypotheses, knobs: Sequence[str]) -> Changes:
    """The fewest other words with which stages that differ fit, and none differs that did not before."""
    words: Changes = {}
    for stage in hypotheses.judged:
        if hypotheses.fits(stage, words):
            continue
        before = set(hypotheses.failing(words))
        for changes in _choices(hypotheses, [knob for knob in knobs if hypotheses.matters(knob, stage)], words):
            if hypotheses.fits(stage, changes) and set(hypotheses.failing(changes)) < before:
                words = changes
                break
    return words


def _choices(hypotheses: Hypotheses, knobs: Sequence[str], words: Changes) -> Iterator[Changes]:
    known = {**dict(hypotheses.contract.conventions), **words}
    values = [hypotheses.contract.system.knobs[knob].values for knob in knobs]
    choices = list(islice(product(*values), _MOST))
    changed = [
        {knob: value for knob, value in zip(knobs, each, strict=True) if value != known[knob]} for each in choices
    ]
    return ({**words, **each} for each in sorted(changed, key=len) if each)


def _fitting(hypotheses: Hypotheses, knob: str, words: Changes) -> Iterator[Any]:
    """The values of an open word that fit as well as the one that is taken, that one first; none where nothing tells."""
    taken = words.get(knob, hypotheses.contract.conventions[knob])
    failing = set(hypotheses.failing(words))
    others = [value for value in hypotheses.contract.system.knobs[knob].values if value != taken]
    if not any(hypotheses.matters(knob, stage) for stage in hypotheses.judged if stage not in failing):
        return
    yield taken
    yield from (value for value in others if set(hypotheses.failing({**words, knob: value})) <= failing)


def answered_text(answered: Mapping[str, Sequence[Any]]) -> str:
    """`projected_gravity.quaternion_order is wxyz`, one after the other."""
    return ", ".join(f"{knob} is {' or '.join(map(str, values))}" for knob, values in answered.items())
