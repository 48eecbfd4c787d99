"""Recorded columns as vectors and stages of a draft: each is given, taken over from the frame before, or made of others.

A column is made of columns that stand before it in the file: a loop records what it computes in order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, groupby, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.recordings.precision import Precision
from rigpact.reports.importing.columns_by_value import StatisticsPair, is_near
from rigpact.reports.importing.draft import Draft, Entry, word
from rigpact.reports.importing.observation import Block, ObservationLayout, VectorBlock, infer_layout
from rigpact.reports.importing.segments import Piece, Source, Turn, is_quaternion, sources_of


# What a recording calls the numbers of its vectors: by names of joints and axes, or by their places
def own_names(column: str, labels: Sequence[str]) -> tuple[str, ...]:
    """The names of a vector's numbers, `knee` of `q.knee`; empty where the file counts them."""
    tails = tuple(label.removeprefix(column)[1:] for label in labels)
    is_named = all(tails) and not any(re.fullmatch(r"\d+\]?", tail) for tail in tails)
    return tails if is_named and len(set(tails)) == len(tails) else ()


def is_read_by(column: str, labels: Sequence[str], names: Sequence[str]) -> bool:
    """Whether a contract finds the numbers under the vector's own name: counted, or by the names of its numbers."""
    tails = [label.removeprefix(column) for label in labels]
    counted = ([f"{before}{place}{behind}" for place in range(len(tails))] for before, behind in _COUNTED)
    named = ([f"{mark}{name}" for name in names] for mark in "./")
    return any(tails == each for each in ([""], *counted, *named))


_COUNTED = (("[", "]"), (".", ""), ("/", ""), ("_", ""))


GUESS = "GUESSED: the recording holds these numbers in every frame"
_NARROW = 4
"""Up to so many numbers need no names: x, y, z, w."""


@dataclass(eq=False)
class Columns:
    """What was recorded, and which of it the draft has already. answers: column -> what adds the network that gives it.

    pending: given vectors, and the columns that they take over. statistics: pairs that may stand between two columns. refused:
    columns that a trial showed to be made of nothing that was found. labels: what the file calls the numbers of each column.
    """

    draft: Draft
    rows: Mapping[str, FloatArray]
    labels: Mapping[str, tuple[str, ...]]
    follows: NDArray[np.bool_]
    statistics: Sequence[StatisticsPair]
    refused: Collection[str]
    precision: Precision | None
    answers: dict[str, Callable[[], None]] = field(default_factory=dict)
    made: dict[str, str] = field(default_factory=dict)
    busy: set[str] = field(default_factory=set)
    turned: dict[str, str] = field(default_factory=dict)
    pending: list[tuple[str, str]] = field(default_factory=list)

    # --- a column of its own ------------------------------------------------------------------------------------

    def vector_of(self, column: str) -> str:
        """The vector of a column; it is added, and what it is made of before it."""
        if column in self.made:
            return self.made[column]
        if column in self.answers:
            self.answers[column]()
            return self.made[column]
        self.busy.add(column)
        self.made[column] = self._added(column, word(column, "column"))
        self.busy.discard(column)
        return self.made[column]

    def _added(self, column: str, name: str) -> str:
        if (before := self._before(column)) is not None:
            start = None if self.rows[column][~self.follows].any() else "zeros"
            said = "GUESSED: in the recording it is the answer of the frame before"
            said += "" if start else ". LEFT OPEN: start, its value in the first frame"
            self.pending.append((name, before))
            numbers = self.numbers_of(column, int(self.rows[column].shape[1]))
            return self.draft.give(name, said, **numbers, carried=word(before, "column"), start=start)
        if (scored := self._scored(column)) is not None:
            operation, source, statistics = scored
            return statistics.stage(self.draft, name, operation, self.vector_of(source), GUESS)
        pieces = self._pieces_of(column)
        if pieces is None:
            return self._given(column, name)
        if len(pieces) > 1:
            vectors = [self.vector_of_piece(piece, f"{column}_{piece.start}") for piece in pieces]
            return self.draft.compute(name, "concatenate", vectors, GUESS)
        vector = self.vector_of_piece(pieces[0], column)
        return vector if vector == name else self.draft.compute(name, "affine", vector, GUESS, scale=1.0)

    def _scored(self, column: str) -> tuple[str, str, StatisticsPair] | None:
        held = self.rows[column]
        before = [name for name in list(self.rows)[: self._place(column)] if self.rows[name].shape == held.shape]
        fitting = [each for each in self.statistics if each.width == held.shape[1] and column not in self.refused]
        for statistics, name in product(fitting, before):
            rows = self.rows[name]
            with np.errstate(divide="ignore", invalid="ignore"):
                if is_near(held, (rows - statistics.mean) / statistics.std):
                    return "normalise", name, statistics
            if is_near(held, rows * statistics.std + statistics.mean):
                return "denormalise", name, statistics
        return None

    def _pieces_of(self, column: str) -> list[Piece] | None:
        """What a column is made of, where all of it is known; None for one that comes from outside, or never changes."""
        held = self.rows[column]
        if column in self.refused or not np.ptp(held, axis=0).any() or is_quaternion(held):
            return None
        sources = self.sources(column)
        (part,) = infer_layout(held, sources, self.follows, is_history=False, precision=self.precision).parts
        known = all(piece.is_whole and self.is_usable(piece) for piece in part.pieces)
        is_sure = all(any(each is not None and each.is_sure for each in piece.columns) for piece in part.pieces)
        return list(part.pieces) if known and is_sure else None

    def sources(self, column: str) -> list[Source]:
        """What a column may be made of: columns before it, answers, answers of the frame before."""
        own = self._place(column)
        names = [name for name in self.rows if name not in self.busy and name != column]
        known = [name for name in names if self._place(name) < own or (name in self.answers and name in self.made)]
        before = [name for name in self.answers if name != column]
        found = self._sources_of(known, before)
        now = [each for each in found if (each.turn is None if each.name in before else each.name in known)]
        return [each for each in found if each.is_before or each in now]

    def _sources_of(self, known: Sequence[str], answers: Sequence[str]) -> list[Source]:
        """Columns, answers of the frame before, and answers of this one that are there already."""
        rows = {name: self.rows[name] for name in dict.fromkeys((*known, *answers))}
        now = [Source(name, self.rows[name]) for name in answers if name in self.made]
        return [*sources_of(rows, answers, self.follows, self.precision), *now]

    def _place(self, column: str) -> int:
        return list(self.rows).index(column)

    def is_usable(self, piece: Piece) -> bool:
        """Whether stages can say it: a turned vector is taken whole."""
        source = piece.source
        channels = [each.channel for each in piece.columns if each is not None]
        whole = source is not None and channels == list(range(source.rows.shape[1]))
        return source is not None and (whole or source.turn is None)

    def _given(self, column: str, name: str) -> str:
        rows = self.rows[column]
        if is_quaternion(rows):
            said = 'GUESSED: a quaternion (its length is 1). LEFT OPEN: kind = "quaternion_wxyz" or "quaternion_xyzw"'
            return self.draft.give(name, said, size=4)
        return self.draft.give(name, **self.numbers_of(column, int(rows.shape[1])))

    def numbers_of(self, column: str, width: int, wish: str = "joints") -> dict[str, Any]:
        """The names that the file gives the numbers of a column, else how many there are."""
        names = own_names(column, self.labels.get(column, ()))
        wish = wish if width > _NARROW else word(column, "column")
        return {"names": self.draft.list_of(names, wish)} if names else {"size": width}

    def _before(self, column: str) -> str | None:
        held, later = self.rows[column], np.flatnonzero(self.follows)
        for name, rows in self.rows.items():
            if name == column or rows.shape != held.shape or len(later) < 2 or np.array_equal(rows, held):
                continue
            if np.any(rows[later - 1] != rows[later[0] - 1]) and np.array_equal(held[later], rows[later - 1]):
                return name
        return None

    def finish(self) -> None:
        """Columns that are taken over, and all others that are made of something: what comes from outside is left out."""
        while self.pending:
            name, before = self.pending.pop()
            if before not in self.made and before not in self.answers and not self.is_made(before):
                place = next(place for place, each in enumerate(self.draft.given) if each.table["name"] == name)
                table = self.draft.given[place].table
                self.draft.given[place] = Entry({key: table[key] for key in table if key not in ("carried", "start")})
            else:
                self.vector_of(before)
        for column in self.rows:
            if column not in self.made and column not in self.busy and self.is_made(column):
                self.vector_of(column)
        if self.pending:
            self.finish()

    def is_made(self, column: str) -> bool:
        """Whether a column is made of others, or taken over."""
        found = (self._before(column), self._scored(column), self._pieces_of(column))
        return any(each is not None for each in found)

    # --- a piece of a column ------------------------------------------------------------------------------------

    def vector_of_piece(self, piece: Piece, wish: str) -> str:
        """The vector that a piece is: its source, and the stages that select, take off, scale and keep within a range."""
        source = piece.source
        if source is None:
            raise ValueError(f"{wish} has no source")
        found = [each for each in piece.columns if each is not None]
        limited = [
            list(run) for _, run in groupby(found, lambda each: (each.line.lowest is None, each.line.highest is None))
        ]
        if len(limited) > 1:  # a limit that some of the numbers have
            starts = [0, *accumulate(map(len, limited))]
            runs = [Piece(piece.start + at, source, tuple(run)) for at, run in zip(starts, limited, strict=False)]
            vectors = [self.vector_of_piece(run, f"{wish}_{run.start}") for run in runs]
            return self.draft.compute(self.draft.free_name(word(wish, "term")), "concatenate", vectors, GUESS)
        channels = [each.channel for each in found]
        steps: list[tuple[str, dict[str, Any]]] = []
        if source.turn is not None:
            vector = self._turn(source.turn)
        else:
            vector = self._last(source.name) if source.is_before else self.vector_of(source.name)
        guesses = sum(not each.is_sure for each in found)
        comments = [GUESS, *([f"GUESSED more: {guesses} of its numbers stand still here"] if guesses else ())]
        if channels != list(range(source.rows.shape[1])):
            names = self._named(vector, int(source.rows.shape[1]), channels)
            taken = [names[each] for each in channels]
            steps.append(("select", {"take": self.draft.list_of(taken, "policy") if len(taken) > _NARROW else taken}))
        names_of = steps[-1][1]["take"] if steps else self.draft.names_of(vector)
        scale = _one_or_list([each.line.scale for each in found])
        adds = any(each.line.offset for each in found)
        key = "offset" if adds else "subtract"
        constants = [
            each.line.offset - each.line.subtract * each.line.scale if adds else each.line.subtract for each in found
        ]
        if any(constants) or scale != 1.0:
            constant: Any = _one_or_list(constants) if len(set(constants)) == 1 or len(constants) <= _NARROW else None
            if constant is None:
                order = names_of if isinstance(names_of, str) else None
                constant = self.draft.number_of(f"{word(source.name, 'column')}_{key}", constants, order)
            used = {key: constant if any(constants) else None, "scale": None if scale == 1.0 else scale}
            steps.append(("affine", used))
        ends = {"lowest": [each.line.lowest for each in found], "highest": [each.line.highest for each in found]}
        kept = {end: _one_or_list(numbers) for end, numbers in ends.items() if None not in numbers}
        if kept:
            steps.append(("clip", kept))
        for operation, table in steps[:-1]:
            name = self.draft.free_name(f"{vector}_{_STEPS[operation]}")
            vector = self.draft.compute(name, operation, vector, **table)
        for operation, table in steps[-1:]:
            vector = self.draft.compute(self.draft.free_name(word(wish, "term")), operation, vector, *comments, **table)
        return vector

    def _turn(self, turn: Turn) -> str:
        quaternion = self.vector_of(turn.quaternion)
        self._say_order(quaternion, turn)
        of: Any = quaternion if turn.vector is None else [quaternion, self.vector_of(turn.vector)]
        wish = "gravity" if turn.vector is None else f"{word(turn.vector, 'column')}_turned"
        table = {"vector": [0, 0, -1]} if turn.vector is None else {}
        key = f"{of} {turn.direction}"
        if key not in self.turned:
            name, how = self.draft.free_name(wish), {"direction": turn.direction, **table}
            self.turned[key] = self.draft.compute(name, "rotate", of, GUESS, **how)
        return self.turned[key]

    def _say_order(self, quaternion: str, turn: Turn) -> None:
        for place, entry in enumerate(self.draft.given):
            if entry.table["name"] == quaternion and "size" in entry.table:
                rest = {key: value for key, value in entry.table.items() if key not in ("name", "size")}
                said = f"GUESSED: in the order {turn.order} its numbers make another column of the recording"
                table = {"name": quaternion, "kind": f"quaternion_{turn.order}", **rest}
                self.draft.given[place] = Entry(table, (said,))

    def _last(self, answer: str) -> str:
        key = f"last {answer}"
        if key not in self.made:
            name = self.draft.free_name(f"last_{word(answer, 'answer')}")
            said = "GUESSED: the recorded input holds the answer of the frame before"
            self.made[key] = self.draft.give(
                name,
                said,
                **self.numbers_of(answer, self.rows[answer].shape[1], "policy"),
                carried=word(answer, "output"),
                start="zeros",
            )
        return self.made[key]

    def _named(self, vector: str, width: int, channels: Sequence[int]) -> Sequence[str]:
        """The names of a vector's numbers. One that has none gets joint_0, joint_1, …; what is made of an answer, and leaves
        in another order, leaves in the order of the joints."""
        said = self.draft.names_of(vector)
        if said is not None:
            return self.draft.names[said] if isinstance(said, str) else said
        root = self.draft.root_of(vector).table
        prefix = "joint" if width > _NARROW else vector
        names = tuple(f"{prefix}_{each}" for each in range(width))
        if "operation" in root and sorted(channels) == list(range(width)):
            names = tuple(names[channels.index(each)] for each in range(width))
        self.draft.change(root["name"], names=self.draft.list_of(names, "joints" if width > _NARROW else vector))
        return names

    # --- the network's input ------------------------------------------------------------------------------------

    def input_of(self, column: str, name: str, held: FloatArray, slack: FloatArray) -> bool:
        """The stages of a recorded input under `name`; False where nothing in it is known. held: before statistics."""
        layout = self._layout(held, slack)
        pieces = [piece for part in layout.parts for piece in part.pieces]
        source = pieces[0].source if len(pieces) == 1 else None
        if source is not None and not source.is_before and self._place(source.name) > self._place(column):
            return False  # it is made of the input
        if column in self.refused or not any(piece.is_whole for part in layout.parts for piece in part.pieces):
            return False
        _lay_out(self, layout, column, name)
        return True

    def cost_of(self, held: FloatArray, slack: FloatArray) -> tuple[int, float]:
        """How many numbers of an input nothing explains, and how much has to be said of the others."""
        parts = self._layout(held, slack).parts
        columns = [each for part in parts for piece in part.pieces for each in piece.columns]
        known = [each for each in columns if each is not None]
        missing = len(columns) - len(known) if columns else held.shape[1]
        return missing, float(sum(each.line.cost for each in known))

    def _layout(self, held: FloatArray, slack: FloatArray) -> ObservationLayout:
        found = self._sources_of([each for each in self.rows if each not in self.busy], list(self.answers))
        return infer_layout(held, found, self.follows, slack, precision=self.precision)


_STEPS = {"affine": "relative", "select": "policy", "clip": "clipped"}


def _one_or_list(numbers: Sequence[Any]) -> Any:
    return numbers[0] if len(set(numbers)) == 1 else list(numbers)


def _lay_out(columns: Columns, layout: ObservationLayout, column: str, name: str) -> None:
    draft = columns.draft
    parts: list[tuple[VectorBlock, list[str]]] = []
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
