"""The answers of an opened model with their bounds: derived from its operations, or measured where one is not known."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from pathlib import Path

import numpy as np

from rigpact.contract.systems.stage import NotKnown
from rigpact.reference_runtime.network_rounding.arithmetic import Array
from rigpact.reference_runtime.network_rounding.rounding_of_network import (
    PROBES,
    BoundedAnswer,
    NetworkRounding,
    bounded,
)
from rigpact.reference_runtime.operations.rounding import UNIT_ROUNDOFF

Run = Callable[[Sequence[Array]], Sequence[Array]]
KEPT = 2
"""Answers that are kept: those of the two sides of a comparison."""
STEPS = 16.0
"""Size of a measured disturbance, in roundings of an input or of 1, whichever is larger: it has to be well above the
rounding of the model itself, which is measured with it."""


def _cannot_run(_inputs: Sequence[Array]) -> Sequence[Array]:
    raise NotKnown("network")


class BoundedModel:
    """The model of a file, and a function that runs it."""

    def __init__(self, path: str | Path, run: Run, *, takes_one_row: bool) -> None:
        """takes_one_row: the export fixed the batch to 1."""
        self._path, self._run, self._takes_one_row = path, run, takes_one_row
        self._rounding: NetworkRounding | None = None
        self._kept: list[tuple[list[Array], BoundedAnswer]] = []

    @property
    def rounding(self) -> NetworkRounding:
        """The model's operations, read when they are first needed. Its `reason` says why a bound is only measured."""
        if self._rounding is None:
            self._rounding = NetworkRounding(self._path)
        return self._rounding

    def variants(self) -> Iterator[tuple[str, BoundedModel]]:
        """The model with one edit, each in words. A variant cannot be run, only evaluated."""
        for words, rounding in self.rounding.variants():
            other = copy(self)
            other._run, other._rounding, other._kept = _cannot_run, rounding, []
            yield words, other

    def answer(self, inputs: Sequence[Array], moved: Sequence[Array]) -> BoundedAnswer:
        """The answer to inputs that are known up to `moved`, with its bounds."""
        asked = [np.array(each) for each in (*inputs, *moved)]
        for key, kept in self._kept:
            if all(np.array_equal(one, other, equal_nan=True) for one, other in zip(key, asked, strict=True)):
                return kept
        found = self._answer(inputs, moved)
        self._kept = [*self._kept[-KEPT + 1 :], (asked, found)]
        return found

    def _answer(self, inputs: Sequence[Array], moved: Sequence[Array]) -> BoundedAnswer:
        count = len(inputs[0])
        if count > 1 and self._takes_one_row and not self.rounding.is_row_by_row():
            rows = [slice(row, row + 1) for row in range(count)]
            answers = [self._answer([each[row] for each in inputs], [each[row] for each in moved]) for row in rows]
            return BoundedAnswer.joined(answers)
        return self.rounding.answer(inputs, moved) or self._measured(inputs, moved)

    def _measured(self, inputs: Sequence[Array], moved: Sequence[Array]) -> BoundedAnswer:
        """Disturb the inputs only, and run the model itself.

        A backward-stable evaluation is the exact answer to inputs that differ by a few roundings. That every operation
        of the model is such is an assumption here, so this bound is measured, not derived.
        """
        exact = [np.asarray(each, np.float64) for each in self._run(inputs)]
        return BoundedAnswer(exact, lambda: bounded(exact, list(self._disturbed(inputs, moved))))

    def _disturbed(self, inputs: Sequence[Array], moved: Sequence[Array]) -> Iterator[list[Array]]:
        rng = np.random.default_rng(0)
        for _ in range(PROBES):
            shifted = []
            for each, by in zip(inputs, moved, strict=True):
                size = np.hypot(by, STEPS * UNIT_ROUNDOFF * np.maximum(np.abs(each), 1.0))
                signs = 2.0 * rng.integers(0, 2, (1, *each.shape[1:])) - 1.0
                shifted.append((each + signs * size).astype(np.float32))
            yield [np.asarray(each, np.float64) for each in self._run(shifted)]
