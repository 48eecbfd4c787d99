"""The stages of a network's input: its pieces, their history, and what is left open as columns of the recording itself."""

from __future__ import annotations

from typing import Protocol

from rigpact.reports.importing.draft import Draft, word
from rigpact.reports.importing.layout.layout import Layout, Part
from rigpact.reports.importing.layout.pieces import Piece

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
                stop = part.block.stop if not part.block.is_told else shift + piece.stop
                start = part.block.start if not part.block.is_told else shift + piece.start
                vectors.append(_left_open(draft, column, name, start, stop))
        parts.append((part, vectors))
    told = [part.block for part, _ in parts if part.block.is_told]
    kinds = {(block.length, block.order) for block in told}
    start = {"start": layout.start} if layout.start else {}
    comments = (
        [GUESS]
        if layout.start or kinds == {(1, None)}
        else [GUESS, "LEFT OPEN: start, the recording does not begin with it"]
    )
    is_one = len(kinds) == 1 and len(told) == len(parts)
    if is_one and told[0].length > 1 and (len(parts) == 1 or all(len(vectors) == 1 for _, vectors in parts)):
        how = "frame_major" if len(parts) == 1 and len(parts[0][1]) > 1 else "term_major"
        of = [each for _, vectors in parts for each in vectors]
        draft.compute(name, "history", of, *comments, length=told[0].length, layout=how, order=told[0].order, **start)
        return
    ends: list[str] = []
    for part, vectors in parts:
        if part.block.length == 1 or not part.block.is_told:
            ends += vectors
            continue
        how = "frame_major" if len(vectors) > 1 else "term_major"
        ends.append(
            draft.compute(
                draft.free_name(f"{name}_{part.block.start}_frames"),
                "history",
                vectors,
                *comments,
                length=part.block.length,
                layout=how,
                order=part.block.order,
                **start,
            )
        )
    if len(ends) == 1:
        draft.compute(name, "affine", ends[0], GUESS, scale=1.0)
    else:
        draft.compute(name, "concatenate", ends, comments[0])


def _left_open(draft: Draft, column: str, name: str, start: int, stop: int) -> str:
    vector = draft.give(
        draft.free_name(f"{name}_{start}_to_{stop - 1}"),
        f"LEFT OPEN: {column}[{start}] to [{stop - 1}] come from nothing that was recorded, or from several things alike",
        size=stop - start,
    )
    draft.recordings[vector] = [f"{column}[{each}]" for each in range(start, stop)]
    return vector


def _wish(piece: Piece) -> str:
    source = piece.source
    if source is None:
        return "open"
    return "gravity" if source.turn is not None and source.turn.vector is None else word(source.name, "term")
