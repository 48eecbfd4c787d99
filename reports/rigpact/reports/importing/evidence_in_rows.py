"""What recorded numbers show by themselves: which columns a vector is made of, which is the answer of the frame before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.reports.importing.draft import word

_SAME = 2.0**-18
"""Relative to the largest number: a float32 that went through a mean and a std and back, and a little more."""


@dataclass(frozen=True)
class Block:
    """Columns start:stop of a vector hold a recorded vector."""

    name: str
    start: int
    stop: int


def blocks_of(rows: FloatArray, others: Mapping[str, FloatArray]) -> list[Block]:
    """Where each of the other vectors stands in `rows`, in order; one that stands nowhere, or never changes, is left out."""
    found: list[Block] = []
    for name, values in sorted(others.items(), key=lambda each: -each[1].shape[1]):
        width = values.shape[1]
        if not np.any(values != values[0]):
            continue
        for start in range(rows.shape[1] - width + 1):
            is_free = all(start + width <= each.start or each.stop <= start for each in found)
            if is_free and is_same(rows[:, start : start + width], values):
                found.append(Block(name, start, start + width))
                break
    return sorted(found, key=lambda block: block.start)


def is_same(one: FloatArray, other: FloatArray) -> bool:
    """Whether two recorded vectors hold the same numbers, but for rounding."""
    largest = float(np.abs(other).max(initial=0.0))
    return bool(np.allclose(one, other, rtol=_SAME, atol=_SAME * largest))


def previous_of(rows: FloatArray, recorded: Mapping[str, FloatArray], outputs: Sequence[str]) -> str | None:
    """The answer whose numbers of the frame before these rows hold."""
    for name, values in recorded.items():
        if word(name, "output") not in outputs or values.shape != rows.shape or len(rows) < 3:
            continue
        if np.any(values[1:] != values[0]) and np.array_equal(rows[1:], values[:-1]):
            return word(name, "output")
    return None


def is_unit_length(rows: FloatArray) -> bool:
    """Whether each row has the length 1, within what storing as float32 rounds."""
    return bool(np.all(np.abs(np.linalg.norm(rows, axis=1) - 1.0) < 1e-4))
