"""The stages of a network's input: its pieces, their history, and what is left open as columns of the recording itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.recordings.precision import Precision
from rigpact.reports.importing.draft import Draft, word
from rigpact.reports.importing.layout.pieces import Piece, Source, pieces_of, with_constants
from rigpact.reports.importing.layout.shifts import Block, Shifts, Start, find_shifts

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


GUESS = "GUESSED: the recording holds these numbers in every frame"


class Columns(Protocol):
    """Recorded columns as vectors of a draft."""

    draft: Draft

    def vector_of_piece(self, piece: Piece, wish: str) -> str:
        """The vector that a piece is."""

    def is_usable(self, piece: Piece) -> bool:
        """Whether stages can say it."""


def lay_out(columns: Columns, layout: Layout, column: str, name: str) -> None:
    """Pieces, their histories, and what is left open as columns of the recording itself."""
    draft = columns.draft
    parts: list[tuple[Part, list[str]]] = []
    for part in layout.parts:
        shift = part.block.newest.start
        vectors = []
        for piece in part.pieces if part.block.is_told else (Piece(0, None, ()),):
            if piece.is_whole and columns.is_usable(piece):
                vectors.append(columns.vector_of_piece(piece, f"{name}_{_wish(piece)}"))
            else:
                own = (shift + piece.start, shift + piece.stop)
                place = own if part.block.is_told else (part.block.start, part.block.stop)
                vectors.append(_left_open(draft, column, name, *place))
        parts.append((part, vectors))
    told = [part.block for part, _ in parts if part.block.is_told]
    kinds = {(block.length, block.order) for block in told}
    comments = [GUESS]
    if not layout.start and kinds != {(1, None)}:
        comments.append("LEFT OPEN: start, the recording does not begin with it")

    def history(own: str, of: list[str], block: Block, *, is_frame_major: bool) -> str:
        how = {"layout": "frame_major" if is_frame_major else "term_major", "order": block.order, "start": layout.start}
        return draft.compute(own, "history", of, *comments, length=block.length, **how)

    is_one = len(kinds) == 1 and len(told) == len(parts)
    if is_one and told[0].length > 1 and (len(parts) == 1 or all(len(vectors) == 1 for _, vectors in parts)):
        every = [each for _, vectors in parts for each in vectors]
        history(name, every, told[0], is_frame_major=len(parts) == 1 and len(every) > 1)
        return
    ends: list[str] = []
    for part, vectors in parts:
        if part.block.length == 1 or not part.block.is_told:
            ends += vectors
            continue
        wish = draft.free_name(f"{name}_{part.block.start}_frames")
        ends.append(history(wish, vectors, part.block, is_frame_major=len(vectors) > 1))
    if len(ends) == 1:
        draft.compute(name, "affine", ends[0], GUESS, scale=1.0)
    else:
        draft.compute(name, "concatenate", ends, comments[0])


def _left_open(draft: Draft, column: str, name: str, start: int, stop: int) -> str:
    said = "come from nothing that was recorded, or from several things alike"
    comment = f"LEFT OPEN: {column}[{start}] to [{stop - 1}] {said}"
    vector = draft.give(
        draft.free_name(f"{name}_{start}_to_{stop - 1}"), comment, size=stop - start, left_open=["operation"]
    )
    draft.recordings[vector] = [f"{column}[{each}]" for each in range(start, stop)]
    return vector


def _wish(piece: Piece) -> str:
    source = piece.source
    if source is None:
        return "open"
    return "gravity" if source.turn is not None and source.turn.vector is None else word(source.name, "term")
