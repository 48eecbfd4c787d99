"""Mistakes that are planted in programs that share no code with rigpact: what is true of each, and what was answered.

A program has its own table of `Planted` and records a run with each; all else is here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from rigpact.reports.diagnosing.diagnosis import Cause, Diagnosis

from .claims import has

FREE, TEACHER = "free", "teacher"


@dataclass(frozen=True)
class Truth:
    """One right answer: a convention `KNOB=VALUE`, or a relation whose sentence has these words and numbers."""

    convention: str = ""
    relation: tuple[str | float, ...] = ()

    def is_said_by(self, sentence: str) -> bool:
        """Whether a relation's sentence says it."""
        return bool(self.relation) and has(sentence, *self.relation)


@dataclass(frozen=True)
class Planted:
    """A mistake. name: as in the program; stages: where it shows first; truths: the right answers, if any.

    also: what is true of its recording, and does not name it.
    """

    name: str
    stages: tuple[str, ...]
    truths: tuple[Truth, ...] = ()
    mode: str = TEACHER
    number: int = 0
    frames: int | None = None
    also: tuple[Truth, ...] = ()


Way = str | tuple[str | float, ...]


def mistake(
    name: str, stages: str, *ways: Way, also: tuple[Way, ...] = (), mode: str = TEACHER, frames: int | None = None
) -> Planted:
    """A row of a table. ways: the right answers: a convention, or the patterns and numbers of a relation."""
    truths, beside = (tuple(map(_truth, each)) for each in (ways, also))
    return Planted(name, tuple(stages.split()), truths, mode, frames=frames, also=beside)


def _truth(way: Way) -> Truth:
    return Truth(convention=way) if isinstance(way, str) else Truth(relation=way)


@dataclass(frozen=True, eq=False)
class Answer:
    """What was said of one mistake. said: every convention and relation, in words; untrue: those that are not true of it."""

    planted: Planted
    first: str
    said: tuple[str, ...]
    untrue: tuple[str, ...]
    is_located: bool
    is_named: bool

    @property
    def word(self) -> str:
        """One word for it."""
        if self.untrue:
            return "misleading"
        if self.is_named:
            return "named"
        if self.is_located:
            return "located"
        return "elsewhere" if self.first else "silent"


def judged(planted: Planted, diagnosis: Diagnosis) -> Answer:
    """Compare an answer with what is true of a mistake."""
    every = [each for each in _sayings(diagnosis) if each[1] in (None, *planted.stages)]
    true = [words for words, _, is_said_by in every if any(map(is_said_by, (*planted.truths, *planted.also)))]
    names = [words for words, _, is_said_by in every if any(map(is_said_by, planted.truths))]
    said = tuple(words for words, _, _ in _sayings(diagnosis))
    first = "" if diagnosis.first_divergence is None else diagnosis.first_divergence.stage
    untrue = tuple(words for words in said if words not in true)
    located = diagnosis.verdict not in ("agrees", "undetermined") and first in planted.stages
    return Answer(planted, first, said, untrue, located, located and bool(names) and not untrue)


def _sayings(diagnosis: Diagnosis) -> Iterator[tuple[str, str | None, Callable[[Truth], bool]]]:
    """Everything that a diagnosis says, the stage that it is said of (None for one of the files), and whether a truth is that."""
    if diagnosis.supposition is not None:
        yield diagnosis.supposition, None, _is_sentence(diagnosis.supposition)
    for cause in diagnosis.causes:
        yield f"{_words(cause.changes)} at {cause.stage}", cause.stage, partial(_names, cause)
    for relation in diagnosis.relations:
        yield relation.sentence, relation.stage, _is_sentence(relation.sentence)


def _is_sentence(sentence: str) -> Callable[[Truth], bool]:
    return lambda truth: truth.is_said_by(sentence)


def _names(cause: Cause, truth: Truth) -> bool:
    readings = (cause.changes, *cause.equivalents)
    return any(set(truth.convention.split()) == set(_words(changes).split(" and ")) for changes in readings)


def _words(changes: dict[str, object]) -> str:
    return " and ".join(f"{name}={value}" for name, value in changes.items())
