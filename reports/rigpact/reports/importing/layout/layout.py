"""The layout of a network's input, inferred from a recording: history, then the pieces of the newest frame.

What is ambiguous is withheld: an unsure column says so, a block that two readings cut differently is not told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.recordings.precision import Precision
from rigpact.reports.importing.layout.pieces import Piece, pieces_of, with_constants
from rigpact.reports.importing.layout.shifts import Block, Shifts, Start, find_shifts
from rigpact.reports.importing.layout.sources import Source

_SELDOM = 0.1
"""The share of frames that may be resets."""


@dataclass(frozen=True, eq=False)
class Part:
    """A block of the vector, and what its newest frame is made of; its pieces count from the block's first column."""

    block: Block
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, eq=False)
class Layout:
    """parts: end to end; none where even the history is not told. start: what stands before the rows that begin anew."""

    parts: tuple[Part, ...]
    start: Start | None


def infer_layout(
    held: FloatArray,
    sources: Sequence[Source],
    follows: NDArray[np.bool_],
    slack: FloatArray | None = None,
    *,
    is_history: bool = True,
    precision: Precision | None = None,
) -> Layout:
    """held (T, W): the recorded vector. follows (T,): whether the row before is the frame before. slack (T, W): as of a `Line`.

    is_history: whether it may hold several frames. precision: of the recorded numbers.
    """
    loose = np.zeros(held.shape) if slack is None else slack
    if precision is not None and not precision.is_coarse:
        loose = loose + precision.error(held)
    shifts = find_shifts(held, follows) if is_history else Shifts((Block(0, held.shape[1], 1, None),), (), None)
    begins = np.isin(np.arange(len(held)), shifts.resets) | _falls_to_zero(held)
    sources = [each.without(begins) if each.is_before else each for each in sources]
    parts = [_part(held, block, sources, loose) for block in shifts.blocks or ()]
    return Layout(tuple(parts), shifts.start)


def _part(held: FloatArray, block: Block, sources: Sequence[Source], slack: FloatArray) -> Part:
    newest = held[:, block.newest]
    pieces = [with_constants(each, newest) for each in pieces_of(newest, sources, slack[:, block.newest])]
    return Part(block, tuple(pieces))


def _falls_to_zero(held: FloatArray) -> NDArray[np.bool_]:
    """(T,): rows, few of them, in which many columns are zero at once that otherwise are not: an answer that a reset cleared."""
    moving = held[:, np.ptp(held, axis=0) > 0.0]
    zeros = (moving == 0.0).sum(axis=1)
    falls = zeros > np.median(zeros) + 2
    return np.asarray(falls if falls.mean() <= _SELDOM else np.zeros(len(held), bool))
