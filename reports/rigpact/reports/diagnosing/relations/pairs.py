"""Two mistakes on one way that was not recorded: neither explains anything alone.

The first is an edit without a number: another word of a convention, a squash, fewer bits, an older or a held frame, another
vector of the same width. What stood in a vector behind it is known from the answer; what should stand there follows from the
edit. So the second is an edit of that vector, looked for as one alone is. Only a pair that explains every value is said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from rigpact.contract.errors import OwnFunctionFailed, UnusableInput
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.graph.replayed import Evidence, ReplayedFrames
from rigpact.reports.diagnosing.relations.families.maps import to_float16
from rigpact.reports.diagnosing.relations.relation import CandidateEdit, Relation
from rigpact.reports.diagnosing.relations.subject import DivergentStage
from rigpact.reports.diagnosing.relations.target import Target
from rigpact.reports.diagnosing.stage_error import stage_error

Second = Callable[[DivergentStage, Iterator[CandidateEdit]], Relation | None]
"""The first of some readings that explains every value of a stage."""
_LAGS, _HELD = (1, 2), (2,)
_MOST_CHANNELS = 64
"""A vector of more channels has too many readings to be read once for each first edit."""
_MOST_WORDS, _MOST_EDITS = 24, 36
"""First edits that are looked behind: of more, the last ones are on the vectors that are farthest from the answer."""
_WIDE = 32
"""A vector of more channels gets half as many."""
_TOGETHER, _PAIR = "both together", "pair"


@dataclass(frozen=True, eq=False)
class _First:
    """A first edit, in words, with the evidence and the changed conventions. name: the vector that is changed, or empty."""

    name: str
    words: str
    evidence: Evidence
    changes: Mapping[str, Any]


def pairs(
    subject: DivergentStage,
    every: Sequence[Target],
    of_target: Callable[[Target], Iterator[CandidateEdit]],
    of_stage: Callable[[DivergentStage], Iterator[CandidateEdit]],
    second: Second,
) -> list[Relation]:
    """The first pair of edits that explains every value of a stage; none where none does.

    every: its targets without a first edit. of_target: the readings of one target; of_stage: all that say much of a stage.
    """
    if subject.recorded.shape[1] > _MOST_CHANNELS:
        return []
    stage = subject.stage.name
    for first in subject.budget.within(_firsts(subject), f"pairs of relations of {stage}"):
        if subject.wanted is not None and (_PAIR, first.words) not in subject.wanted:
            continue
        try:
            left = _under(subject, first)
            if left is None:
                continue
            found = second(left, _behind(left, every, of_target) if first.name else of_stage(left))
        except OwnFunctionFailed:
            raise
        except UnusableInput:  # a word that this contract cannot have
            continue
        if found is not None:
            return [_relation(left, first), replace(found, words=f"{found.words} ({_TOGETHER})")]
    return []


def _under(subject: DivergentStage, first: _First) -> DivergentStage | None:
    """The stage under a first edit; None where that changes nothing, or explains everything."""
    contract = subject.contract.with_conventions(first.changes) if first.changes else subject.contract
    error = stage_error(ReplayedFrames(first.evidence, contract), subject.stage.name)
    if error is None or error.ok or np.array_equal(error.replayed, subject.error.replayed):
        return None
    left = subject.of_stage(first.evidence, contract, error)
    return left if left.failing.any() else None


def _behind(
    left: DivergentStage, every: Sequence[Target], of_target: Callable[[Target], Iterator[CandidateEdit]]
) -> Iterator[CandidateEdit]:
    """The readings of each vector behind the first edit: what stood there is as without it, what should stand there is not."""
    for target in every:
        found = left.before.get(target.name) if target.name else left.replayed
        own = target.own if found is None else found.astype(np.float64)
        if own.shape == target.held.shape and not np.array_equal(own, target.own):
            failing = np.abs(target.held - own) > target.bound
            if failing.any():
                yield from of_target(replace(target, subject=left, own=own, failing=failing, is_narrow=True))


def _relation(left: DivergentStage, first: _First) -> Relation:
    frames = int(np.count_nonzero(~np.isnan(left.error.excess).all(axis=1)))
    stage, words = left.stage.name, f"{first.words} ({_TOGETHER})"
    return Relation(
        stage, stage, _PAIR, words, frames, frames, 0.0, source=first.name, excess=left.error.excess,
        family=(_PAIR, first.words),
    )  # fmt: skip


def _firsts(subject: DivergentStage) -> Iterator[_First]:
    share = 2 if subject.recorded.shape[1] > _WIDE else 1
    yield from islice(_words(subject), _MOST_WORDS // share)
    yield from islice(_edits_before(subject), _MOST_EDITS // share)


def _edits_before(subject: DivergentStage) -> Iterator[_First]:
    """What is done to each vector on the way, the nearest first."""
    for name, rows in subject.before.items():
        exact = rows.astype(np.float64)
        for words, change in _edits(subject, name).items():
            recorded = {**subject.evidence.recorded, name: change(exact).astype(np.float32)}
            yield _First(name, f"computed from {words}", replace(subject.evidence, recorded=recorded), {})


def _words(subject: DivergentStage) -> Iterator[_First]:
    """Every other word of a convention that the stage, or one on its way, reads."""
    graph, conventions = subject.contract.system.graph, subject.contract.conventions
    on_the_way = {subject.stage.name, *(name for name in subject.before if name not in subject.evidence.recorded)}
    for name, knob in subject.contract.system.knobs.items():
        for value in knob.values if not knob.is_benign and on_the_way.intersection(graph.stages_of(name)) else ():
            if value != conventions[name]:
                yield _First("", f"computed with {name} = {value}", subject.evidence, {name: value})


def _edits(subject: DivergentStage, name: str) -> Mapping[str, Callable[[FloatArray], FloatArray]]:
    """What is done to a vector, in words."""
    shape = subject.before[name].shape
    older = {f"the {name} of frame t-{lag}": partial(_older, subject, lag) for lag in _LAGS}
    held = {f"the {name} held for {count} frames at a time": partial(_held, count) for count in _HELD}
    others = {
        f"{other} in place of {name}": partial(_instead, rows)
        for other, rows in {**subject.others, **subject.before}.items()
        if other != name and rows.shape == shape and other not in subject.echoes  # a second edit may be of later frames
    }
    return {
        **others,
        f"tanh({name})": np.tanh,
        f"a {name} that was rounded to float16": to_float16,
        f"-1 times {name}": np.negative,
        **older,
        **held,
    }


def _older(subject: DivergentStage, lag: int, rows: FloatArray) -> FloatArray:
    return subject.shifted(rows, -lag)


def _held(count: int, rows: FloatArray) -> FloatArray:
    return rows[np.arange(len(rows)) // count * count]


def _instead(other: FloatArray, _rows: FloatArray) -> FloatArray:
    return other.astype(np.float64)
