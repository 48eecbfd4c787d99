"""A stream of samples as windows for the network.

The network is not a causal filter: its first row depends on its last sample. So a runtime keeps the last samples and
evaluates them all. The newest row of the answer is the current pose; it depends on a full window of past samples and on
no future sample.
"""

from collections.abc import Callable

import numpy as np

from rigpact.contract.errors import UnusableInput
from rigpact.contract.statistics import FloatArray


class SampleWindow:
    """The last `length` rows of a stream, oldest first."""

    def __init__(self, length: int, width: int) -> None:
        """Start empty; the window is not padded."""
        if length < 2:
            raise UnusableInput("window", f"{length} samples", "at least two")
        self._rows = np.zeros((2 * length, width), np.float32)  # every row is stored twice: the window is contiguous
        self.length, self._count = length, 0

    @property
    def full(self) -> bool:
        """Whether the window has received enough samples; before that there is no answer."""
        return self._count >= self.length

    def push(self, row: FloatArray) -> None:
        """Take the next sample, (width,)."""
        place = self._count % self.length
        self._rows[place] = self._rows[place + self.length] = row
        self._count += 1

    @property
    def rows(self) -> FloatArray:
        """The window, (length, width): a view that the next `push` changes. UnusableInput while it is not full."""
        if not self.full:
            raise UnusableInput("window", f"{self._count} samples", f"{self.length}", "a short window is never padded")
        place = self._count % self.length
        return self._rows[place : place + self.length]


def stream(
    samples: FloatArray, length: int, evaluate: Callable[[FloatArray], FloatArray], hop: int = 1
) -> tuple[FloatArray, FloatArray]:
    """Evaluate every `hop`-th full window of a stream. Returns the index of each newest sample (N,) and its row (N,
    width).

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
