"""Sources of a recorded vector: the other vectors, answers of the frame before, vectors turned by a quaternion."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.operations.definitions.quaternions import rotated
from rigpact.reference_runtime.recordings.precision import Precision

_MOST = 1024
"""Numbers of a vector that are looked at."""


@dataclass(frozen=True)
class Turn:
    """A vector turned by a quaternion. vector: the name of a recorded one, None for the direction of gravity, 0 0 -1."""

    quaternion: str
    order: str
    direction: str
    vector: str | None


@dataclass(frozen=True, eq=False)
class Source:
    """A vector that may stand in another one. rows (T, w), NaN where it is not known. is_before: it is of the frame before.

    written (T, w): how far writing may have moved each number.
    """

    name: str
    rows: FloatArray
    is_before: bool = False
    turn: Turn | None = None
    written: FloatArray | None = None

    @property
    def slack(self) -> FloatArray:
        """(T, w): the same, zeros where every bit was kept."""
        return np.zeros(self.rows.shape) if self.written is None else self.written

    def without(self, rows: NDArray[np.bool_]) -> Source:
        """The same, not known at some rows."""
        return replace(self, rows=np.where(rows[:, None], np.nan, self.rows))

    @property
    def sizes(self) -> FloatArray:
        """(w,): the largest number that each column was computed with: of a turned vector, its length."""
        if self.turn is not None:
            return np.full(self.rows.shape[1], np.linalg.norm(self.rows, axis=1).max(initial=0.0))
        return np.asarray(np.nan_to_num(np.abs(self.rows)).max(axis=0, initial=0.0))


def sources_of(
    recorded: Mapping[str, FloatArray],
    answers: Sequence[str],
    follows: NDArray[np.bool_],
    precision: Precision | None = None,
) -> list[Source]:
    """Every vector, the answers one frame later, and each vector of three numbers turned by each quaternion, in two orders.

    precision: of the recorded numbers; what was written more coarsely than six digits tells no constants.
    """
    found = _exact_sources(recorded, answers, follows)
    if precision is None or precision.is_coarse:
        return found
    error = {name: precision.error(rows) for name, rows in recorded.items()}
    return [replace(each, written=_written(each, error)) for each in found]


def _written(source: Source, error: Mapping[str, FloatArray]) -> FloatArray:
    own = error[source.name]
    if source.turn is None:
        return np.vstack([own[:1], own[:-1]]) if source.is_before else own
    of_vector = 0.0 if source.turn.vector is None else float(error[source.turn.vector].max())
    # a turned vector is of degree two in four components
    return np.full(source.rows.shape, 8.0 * float(own.max()) * float(source.sizes.max(initial=0.0)) + 2.0 * of_vector)


def _exact_sources(
    recorded: Mapping[str, FloatArray], answers: Sequence[str], follows: NDArray[np.bool_]
) -> list[Source]:
    narrow = {name: rows for name, rows in recorded.items() if rows.shape[1] <= _MOST}
    found = [Source(name, rows) for name, rows in narrow.items() if name not in answers]
    for name in answers:
        before = np.full(recorded[name].shape, np.nan)
        before[follows] = recorded[name][np.flatnonzero(follows) - 1]
        found.append(Source(name, before, is_before=True))
    return [*found, *_turned(narrow)]


def is_quaternion(rows: FloatArray) -> bool:
    """Whether rows (T, 4) have the length 1, within what storing as float32, or printing four digits, rounds."""
    return rows.shape[1] == 4 and bool(np.all(np.abs(np.linalg.norm(rows, axis=1) - 1.0) < 1e-3))


def _turned(recorded: Mapping[str, FloatArray]) -> Iterator[Source]:
    down = np.array([0.0, 0.0, -1.0])
    vectors = [(None, down), *((name, rows) for name, rows in recorded.items() if rows.shape[1] == 3)]
    for name, quaternions in recorded.items():
        if not is_quaternion(quaternions):
            continue
        for order in ("wxyz", "xyzw"):
            xyzw = np.roll(quaternions, -1, axis=1) if order == "wxyz" else quaternions
            for direction, sign in (("inverse", -1.0), ("forward", 1.0)):
                turn = xyzw * np.array([sign, sign, sign, 1.0])
                for vector, rows in vectors:
                    turned = rotated(turn, np.broadcast_to(rows, (len(turn), 3)))
                    yield Source(name, turned, turn=Turn(name, order, direction, vector))
