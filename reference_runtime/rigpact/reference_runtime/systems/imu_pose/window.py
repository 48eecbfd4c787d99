"""A stream of samples as the windows that the network wants.

The network is no causal filter: its first answer depends on its last sample. So a runtime keeps the last samples and evaluates
all of them; the newest row of the answer is the pose of now, with a whole window behind it and nothing ahead.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rigpact.contract.errors import UnusableInput
from rigpact.contract.statistics import FloatArray


class SampleWindow:
    """The last `length` rows of a stream, oldest first."""

    def __init__(self, length: int, width: int) -> None:
        """Begin empty; nothing is padded."""
        if length < 2:
            raise UnusableInput("window", f"{length} samples", "at least two")
        self._rows = np.zeros((2 * length, width), np.float32)  # every row twice: the window is always one piece
        self.length, self._count = length, 0

    @property
    def full(self) -> bool:
        """Whether as many samples have come as a window has; before that there is no answer."""
        return self._count >= self.length

    def push(self, row: FloatArray) -> None:
        """Take the next sample, (width,)."""
        place = self._count % self.length
        self._rows[place] = self._rows[place + self.length] = row
        self._count += 1

    @property
    def rows(self) -> FloatArray:
        """The window, (length, width), a view that the next `push` changes; UnusableInput while it is not full."""
        if not self.full:
            raise UnusableInput("window", f"{self._count} samples", f"{self.length}", "a short window is never padded")
        place = self._count % self.length
        return self._rows[place : place + self.length]


def stream(
    samples: FloatArray, length: int, evaluate: Callable[[FloatArray], FloatArray], hop: int = 1
) -> tuple[FloatArray, FloatArray]:
    """Evaluate every `hop`-th full window of a stream as it comes: the index of each newest sample (N,), its row (N, width).

    evaluate: a window (length, width) -> its rows (length, out).
    """
    window = SampleWindow(length, samples.shape[1])
    newest: list[int] = []
    rows: list[FloatArray] = []
    for index, sample in enumerate(samples):
        window.push(sample)
        if window.full and (index + 1 - length) % hop == 0:
            newest.append(index)
            rows.append(evaluate(window.rows)[-1])
    if not rows:
        raise UnusableInput("samples", f"{len(samples)}", f"at least {length}, one window")
    return np.array(newest), np.stack(rows)
