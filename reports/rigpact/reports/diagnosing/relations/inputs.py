"""The stage is computed correctly, from another input than it should be: other channels, frame, stage, bits or values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.reports.diagnosing.relations.numbers import arrays_of
from rigpact.reports.diagnosing.relations.relation import Reading
from rigpact.reports.diagnosing.relations.rotations import codec_of, transposed
from rigpact.reports.diagnosing.relations.scaled import ROUNDINGS, factors_of
from rigpact.reports.diagnosing.relations.subject import Group, Place, Subject, groups_of

_FARTHEST = 12
"""Channels by which a slice may be read too early or too late; beyond, only whole bones and fields."""


def inputs(subject: Subject, place: Place) -> Iterator[Reading]:
    """Every reading of the inputs of a stage, one input at a time, and all together where bits are lost."""
    if not place.is_whole:
        return
    yield from _rounded(subject)
    for name, rows in subject.inputs.items():
        yield from _late(subject, name, rows)
        yield from _offset(subject, name, rows)
        yield from _scaled(subject, name, rows)
        for group in groups_of(subject.contract.fields(name)):
            yield from _elsewhere(subject, name, rows, group)
            yield from _inverted(subject, name, rows, group)
            yield from _with_constants(subject, name, rows, group)
        yield from _squashed(subject, name, rows)


def _try(subject: Subject, words: str, changed: Mapping[str, FloatArray]) -> Iterator[Reading]:
    found = subject.recomputed("input", f"computed from {words}", changed)
    if found is not None:
        yield found


def _rounded(subject: Subject) -> Iterator[Reading]:
    for name, rounded in ROUNDINGS.items():
        changed = {stage: rounded(rows) for stage, rows in subject.inputs.items()}
        yield from _try(subject, f"inputs that were rounded to {name}", changed)
        for stage, rows in changed.items() if len(changed) > 1 else ():
            yield from _try(subject, f"a {stage} that was rounded to {name}", {stage: rows})


def _late(subject: Subject, name: str, rows: FloatArray) -> Iterator[Reading]:
    for lag in (-1, 1, -2, 2):
        yield from _try(subject, f"the {name} of frame t{lag:+d}", {name: subject.shifted(rows, lag)})
    first = int(subject.evidence.frame[0])
    yield from _try(
        subject, f"the {name} of frame {first}, in every frame", {name: np.broadcast_to(rows[:1], rows.shape)}
    )


def _offset(subject: Subject, name: str, rows: FloatArray) -> Iterator[Reading]:
    groups = groups_of(subject.contract.fields(name))
    steps = set(range(1, _FARTHEST + 1)) | {each.part for each in groups} | {each.start for each in groups}
    for step in sorted(steps - {0}):
        if step >= rows.shape[1]:
            continue
        for offset, word in ((step, "too late"), (-step, "too early")):
            words = f"{name} read {step} channels {word}"
            yield from _try(subject, words, {name: np.roll(rows, -offset, axis=1)})


def _scaled(subject: Subject, name: str, rows: FloatArray) -> Iterator[Reading]:
    for word, factor in factors_of(subject.evidence.fps).items():
        yield from _try(subject, f"{word} times {name}", {name: factor * rows})
    yield from _try(subject, f"zeros in place of {name}", {name: np.zeros(rows.shape)})


def _elsewhere(subject: Subject, name: str, rows: FloatArray, group: Group) -> Iterator[Reading]:
    """A slice of the input taken from another slice of the same size and kind, of the input itself or of another stage."""
    for other, values in {name: rows, **subject.inputs, **subject.others}.items():
        for source in groups_of(subject.contract.fields(other)):
            if (source.stop - source.start, source.kind) != (group.stop - group.start, group.kind):
                continue
            for lag in (0, -1) if other != name else (0,) if source != group else ():
                if not subject.may_be_read(other, lag):
                    continue
                changed = rows.astype(np.float64)
                moved = subject.frames.shifted(values[:, source.range].astype(np.float32), lag)
                changed[:, group.range] = np.where(np.isnan(moved), rows[:, group.range], moved)
                when = "" if lag == 0 else f" of frame t{lag:+d}"
                what = f"{other}[{source.name}]{when} in place of {name}[{group.name}]"
                yield from _try(subject, what, {name: changed})


def _inverted(subject: Subject, name: str, rows: FloatArray, group: Group) -> Iterator[Reading]:
    codec = codec_of(group, subject.contract)
    if codec is None:
        return
    changed = rows.astype(np.float64)
    changed[:, group.range] = codec.encode(transposed(codec.decode(changed[:, group.range])))
    yield from _try(subject, f"the inverse (transposed) rotations of {name}[{group.name}]", {name: changed})


def _with_constants(subject: Subject, name: str, rows: FloatArray, group: Group) -> Iterator[Reading]:
    """1 more or less in one or two components of every rotation: an identity that is forgotten, or stands in other columns."""
    codec = codec_of(group, subject.contract)
    if codec is None:
        return
    signs = [(place, sign) for place in range(codec.size) for sign in (1.0, -1.0)]
    chosen = [(each,) for each in signs] + [pair for pair in combinations(signs, 2) if pair[0][0] != pair[1][0]]
    for constants in chosen:
        added = np.zeros(codec.size)
        for place, sign in constants:
            added[place] = sign
        changed = rows.astype(np.float64)
        changed[:, group.range] += np.tile(added, (group.stop - group.start) // codec.size)
        shown = ", ".join(f"{value:+.0f}" if value else "0" for value in added)
        yield from _try(subject, f"{name} with ({shown}) added to each rotation", {name: changed})


def _squashed(subject: Subject, name: str, rows: FloatArray) -> Iterator[Reading]:
    """tanh before the tanh that the stage has, by every array of the contract that fits."""
    yield from _try(subject, f"tanh({name})", {name: np.tanh(rows)})
    for array in arrays_of(subject.contract):
        if array.values.shape == (rows.shape[1],) and np.all(array.values > 0.0):
            changed = np.tanh(rows / array.values)
            yield from _try(
                subject, f"tanh({name} / {array.name}): it is squashed once more than it should be", {name: changed}
            )
