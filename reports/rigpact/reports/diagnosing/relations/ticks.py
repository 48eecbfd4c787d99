"""The ticks of the loop that computes a vector: a recording may have several rows for each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.statistics import FloatArray


@dataclass(frozen=True, eq=False)
class Ticks:
    """When a vector is computed: its first row of each tick, (N,), the tick of each row, (T,), and the time between, s."""

    starts: NDArray[np.intp]
    of: NDArray[np.intp]
    step: int
    seconds: float

    @classmethod
    def of_rows(
        cls, rows: FloatArray, fps: float, held: FloatArray | None = None, bound: FloatArray | float = 0.0
    ) -> Ticks:
        """From when the numbers of a vector change: a loop that runs slower than the recording holds them between.

        held: what stood there instead, whose changes beyond its bound count too.
        """
        moves = (np.diff(rows, axis=0) != 0.0).any(axis=1)
        if held is not None:
            wide = np.broadcast_to(bound, held.shape)
            moves |= (np.abs(np.diff(held, axis=0)) > wide[1:] + wide[:-1]).any(axis=1)
        changes = np.flatnonzero(moves) + 1
        step = int(np.gcd.reduce(np.diff(changes))) if len(changes) > 1 else 1
        first = int(changes[0]) % step if len(changes) else 0
        starts = np.unique([0, *range(first, len(rows), step)])
        of = np.searchsorted(starts, np.arange(len(rows)), side="right") - 1
        return cls(starts, of, step, step / fps)

    def best(self, held: FloatArray, bound: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Of each tick the row that is known best, (N, C), and its bound."""
        row = np.minimum(
            self.starts[:, None] + np.arange(self.step), np.append(self.starts[1:], len(held))[:, None] - 1
        )
        least = np.nanargmin(np.where(np.isnan(bound), np.inf, bound)[row], axis=1)
        chosen = np.take_along_axis(row, least, axis=1)
        columns = np.arange(held.shape[1])
        return held[chosen, columns], bound[chosen, columns]
