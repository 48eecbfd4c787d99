"""An input that is turned by the same rotation in every frame: a sensor mounted askew, a heading that was not aligned.

The turn is fitted through the stage itself: what is computed from the turned input is brought to what was recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.graph.bounds import signed_alike
from rigpact.reports.diagnosing.relations.families.turned import about, in_whole_degrees, turn_words
from rigpact.reports.diagnosing.relations.relation import CandidateEdit, ChannelSet, Group, groups_of
from rigpact.reports.diagnosing.relations.rotations import Codec, codec_of
from rigpact.reports.diagnosing.relations.subject import DivergentStage

_PIECES, _FRAMES = 3, 10
"""The turn is fitted to so many pieces of so many frames, as some stages remember a few, and judged in all."""
_ROUNDS, _STEP = 12, 2.0**-12
_PATIENCE, _WORSE = 3, 0.7
"""A start from which so many steps leave this part of the error leads nowhere."""
_NEAR = 2.0**-12
"""The part of the error that may be left of a fit: a wrong turn leaves more, a right one is judged by its bound."""
Turn = Callable[[FloatArray, FloatArray], FloatArray]
"""Rows (T, W) and a rotation (3, 3) to turned rows."""


@dataclass(frozen=True, eq=False)
class _Turning:
    """How a slice of an input is turned. name: of the input, and of the slice where it is not all of it."""

    source: str
    name: str
    words: str
    group: Group
    turn: Turn

    def change(self, rotation: FloatArray, known: DivergentStage) -> Mapping[str, FloatArray]:
        return {self.source: self.rows(known.before[self.source].astype(np.float64), rotation)}

    def rows(self, own: FloatArray, rotation: FloatArray) -> FloatArray:
        changed = own.copy()
        changed[:, self.group.range] = self.turn(own[:, self.group.range], rotation)
        return changed


def turned_inputs(subject: DivergentStage, names: Sequence[str]) -> Iterator[CandidateEdit]:
    """The turns of inputs that explain the stage; those that do the same are one reading, whose words name each."""
    found = list[tuple[str, CandidateEdit]]()
    for name in names:
        for edit in _edits(subject, name) if np.isfinite(subject.before[name]).all() else ():
            rotation = _fitted(subject, edit)
            for one, fitted in () if rotation is None else ((in_whole_degrees(rotation), 1), (rotation, 3)):
                words = f"{edit.name} {edit.words} {turn_words(one)}"
                reading = subject.recomputed("input", words, partial(edit.change, one), fitted=fitted)
                if turn_words(one) and reading is not None:
                    source = ChannelSet(name, np.arange(edit.group.start, edit.group.stop))
                    found.append((words, replace(reading, source=source)))
                    break
    if found:
        least = min(reading.fitted for _, reading in found)
        said = [(words, reading) for words, reading in found if reading.fitted == least]
        yield replace(said[0][1], words=f"computed from {' or from '.join(words for words, _ in said)}")


def _edits(subject: DivergentStage, name: str) -> Iterator[_Turning]:
    groups = groups_of(subject.contract.fields(name))
    for group in filter(partial(subject.can_mend, name), groups):
        said = name if len(groups) == 1 else f"{name}[{group.name}]"
        codec = codec_of(group, subject.contract)
        if codec is not None:
            yield _Turning(name, said, "turned by", group, partial(_turned, codec))
            yield _Turning(name, said, "turned, in its own axes, by", group, partial(_turned_in_its_axes, codec))
        elif group.part == 3:
            yield _Turning(name, said, "turned by", group, _vectors_turned)


def _turned(codec: Codec, rows: FloatArray, by: FloatArray) -> FloatArray:
    return codec.encode(by @ codec.decode(rows))


def _turned_in_its_axes(codec: Codec, rows: FloatArray, by: FloatArray) -> FloatArray:
    return codec.encode(codec.decode(rows) @ by)


def _vectors_turned(rows: FloatArray, by: FloatArray) -> FloatArray:
    return np.asarray((rows.reshape(len(rows), -1, 3) @ by.T).reshape(rows.shape))


def _fitted(subject: DivergentStage, edit: _Turning) -> FloatArray | None:
    """The turn by Gauss-Newton, from no turn and from quarter and half turns about each axis; None where none is near."""
    last = len(subject.evidence.frame) - 1
    few = sorted({min(last, start + step) for start in subject.few_rows(_PIECES) for step in range(_FRAMES)})
    own, recorded = subject.before[edit.source][few].astype(np.float64), subject.recorded[few]
    differs, stage = subject.failing[few], subject.stage

    def left(rotation: FloatArray) -> FloatArray | None:
        rows = subject.rows_from(edit.source, edit.rows(own, rotation), few)
        if rows is None:
            return None
        apart = (recorded - signed_alike(stage.measure, recorded, rows))[:, differs.any(axis=0)].ravel()
        return np.where(np.isfinite(apart), apart, 0.0)

    before = left(np.eye(3))
    some = left(_rotation(np.array((0.7, -0.4, 0.5))))
    if before is None or some is None or not before.any() or np.array_equal(some, before):
        return None
    axes = [axis * sign for axis, sign in product(np.eye(3), (1.0, -1.0))]
    starts = [np.eye(3), *(_rotation(axis * angle) for axis in axes for angle in (0.5 * np.pi, np.pi))]
    errors = [
        (float(np.linalg.norm(error)), place) for place, each in enumerate(starts) if (error := left(each)) is not None
    ]
    for _, place in sorted(errors)[:2]:
        found = _nearest(left, starts[place], np.eye(3), before)
        if found is not None:  # a turn about one axis says it too where what is turned is an axis itself
            quarters = product(np.eye(3), (0.0, 0.5 * np.pi, np.pi, 1.5 * np.pi))
            about_one = (_nearest(left, _rotation(axis * angle), axis[None], before) for axis, angle in quarters)
            return next((each for each in about_one if each is not None), found)
    return None


def _nearest(
    left: Callable[[FloatArray], FloatArray | None], rotation: FloatArray, axes: FloatArray, before: FloatArray
) -> FloatArray | None:
    """The turn that Gauss-Newton reaches from one by turns about some axes, (A, 3); None where it leaves too much."""
    for turn in range(_ROUNDS):
        error = left(rotation)
        if turn == _PATIENCE and error is not None and np.linalg.norm(error) > _WORSE * np.linalg.norm(before):
            return None
        moved = [left(_rotation(_STEP * axis) @ rotation) for axis in axes]
        if error is None or any(each is None for each in moved):
            return None
        slopes = np.stack([(each - error) / _STEP for each in moved if each is not None], axis=1)
        step = axes.T @ np.linalg.lstsq(slopes, -error, rcond=None)[0]
        rotation = _rotation(step * min(1.0, 1.0 / max(float(np.linalg.norm(step)), _STEP))) @ rotation
    error = left(rotation)
    return rotation if error is not None and np.linalg.norm(error) <= _NEAR * np.linalg.norm(before) else None


def _rotation(vector: FloatArray) -> FloatArray:
    """Axis times angle, (3,), to a matrix."""
    angle = float(np.linalg.norm(vector))
    return np.asarray(about(vector / angle, np.array([angle]))[0]) if angle else np.eye(3)
