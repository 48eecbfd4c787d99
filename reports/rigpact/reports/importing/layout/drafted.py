"""Recorded columns as vectors and stages of a draft: each is given, taken over from the frame before, or made of others.

A column is made of columns that stand before it in the file: a loop records what it computes in order.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.recordings.precision import Precision
from rigpact.reports.importing.draft import Draft, Entry, word
from rigpact.reports.importing.layout.laid_out import GUESS, lay_out
from rigpact.reports.importing.layout.layout import Layout, infer_layout
from rigpact.reports.importing.layout.pieces import Piece
from rigpact.reports.importing.layout.sources import Source, Turn, is_quaternion, sources_of
from rigpact.reports.importing.statistics_beside import Statistics, is_near

_LARGEST = 3.0e38
"""A declaration has finite numbers; float32 has none beyond these."""
_NARROW = 4
"""Up to so many numbers need no names: x, y, z, w."""


@dataclass(eq=False)
class Columns:
    """What was recorded, and which of it the draft has already. answers: column -> what adds the network that gives it.

    pending: given vectors, and the columns that they take over. statistics: pairs that may stand between two columns. refused:
    columns that a trial showed to be made of nothing that was found.
    """

    draft: Draft
    rows: Mapping[str, FloatArray]
    follows: NDArray[np.bool_]
    answers: Mapping[str, Callable[[], None]]
    made: dict[str, str] = field(default_factory=dict)
    busy: set[str] = field(default_factory=set)
    turned: dict[str, str] = field(default_factory=dict)
    pending: list[tuple[str, str]] = field(default_factory=list)
    statistics: Sequence[Statistics] = ()
    refused: Collection[str] = ()
    precision: Precision | None = None

    # --- a column of its own ------------------------------------------------------------------------------------

    def vector_of(self, column: str) -> str:
        """The vector of a column; it is added, and what it is made of before it."""
        if column in self.made:
            return self.made[column]
        if column in self.answers:
            self.answers[column]()
            return self.made[column]
        self.busy.add(column)
        self._add(column)
        self.busy.discard(column)
        return self.made[column]

    def _add(self, column: str) -> None:
        before = self._before(column)
        if before is not None:
            self._carry(column, before)
            return
        if (scored := self._scored(column)) is not None:
            operation, source, statistics = scored
            statistics.add_to(self.draft)
            self.made[column] = self.draft.compute(
                word(column, "column"),
                operation,
                self.vector_of(source),
                GUESS,
                mean=statistics.mean_name,
                std=statistics.std_name,
            )
            return
        pieces = self._pieces_of(column)
        if pieces is None:
            self.made[column] = self._give(column)
            return
        vectors = [
            self.vector_of_piece(piece, column if len(pieces) == 1 else f"{column}_{piece.start}") for piece in pieces
        ]
        if len(vectors) > 1:
            self.made[column] = self.draft.compute(word(column, "column"), "concatenate", vectors, GUESS)
        elif vectors[0] != word(column, "column"):
            self.made[column] = self.draft.compute(word(column, "column"), "affine", vectors[0], GUESS, scale=1.0)
        else:
            self.made[column] = vectors[0]

    def _scored(self, column: str) -> tuple[str, str, Statistics] | None:
        """The operation, the column and the statistics that a column is normalised or denormalised with."""
        held = self.rows[column]
        for statistics in self.statistics if column not in self.refused else ():
            for name, rows in self.rows.items():
                if (
                    rows.shape == held.shape
                    and self._place(name) < self._place(column)
                    and statistics.width == held.shape[1]
                ):
                    with np.errstate(divide="ignore", invalid="ignore"):
                        made = {
                            "normalise": (rows - statistics.mean) / statistics.std,
                            "denormalise": rows * statistics.std + statistics.mean,
                        }
                    for operation, values in made.items():
                        if is_near(held, values):
                            return operation, name, statistics
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
        found = sources_of(
            {name: self.rows[name] for name in dict.fromkeys((*known, *before))}, before, self.follows, self.precision
        )
        now = [Source(name, self.rows[name]) for name in before if name in self.made]
        return [*(each for each in found if each.is_before or (each.name in known and each.name not in before)), *now]

    def _place(self, column: str) -> int:
        return list(self.rows).index(column)

    def is_usable(self, piece: Piece) -> bool:
        """Whether stages can say it: a turned vector is taken whole."""
        source = piece.source
        channels = [each.channel for each in piece.columns if each is not None]
        whole = source is not None and channels == list(range(source.rows.shape[1]))
        return source is not None and (whole or source.turn is None)

    def _give(self, column: str) -> str:
        rows, name = self.rows[column], word(column, "column")
        comments = []
        if is_quaternion(rows) and column not in self.turned:
            comments.append(
                'GUESSED: a quaternion (its length is 1). LEFT OPEN: kind = "quaternion_wxyz" or "quaternion_xyzw"'
            )
        return self.draft.give(name, *comments, size=int(rows.shape[1]))

    def _before(self, column: str) -> str | None:
        """The column whose numbers of the frame before these are."""
        held, later = self.rows[column], np.flatnonzero(self.follows)
        for name, rows in self.rows.items():
            if name == column or rows.shape != held.shape or len(later) < 2 or np.array_equal(rows, held):
                continue
            if np.any(rows[later - 1] != rows[later[0] - 1]) and np.array_equal(held[later], rows[later - 1]):
                return name
        return None

    def _carry(self, column: str, before: str) -> None:
        first = self.rows[column][~self.follows]
        start = {} if first.any() else {"start": "zeros"}
        said = "GUESSED: in the recording it is the answer of the frame before"
        said += "" if start else ". LEFT OPEN: start, its value in the first frame"
        name = word(column, "column")
        self.made[column] = name
        table = {"name": name, "size": int(self.rows[column].shape[1]), "carried": word(before, "column"), **start}
        self.draft.given.append(Entry(table, (said,)))
        self.pending.append((name, before))

    def finish(self) -> None:
        """Columns that are taken over, and all others that are made of something: what comes from outside is left out."""
        while self.pending:
            name, before = self.pending.pop()
            if before not in self.made and before not in self.answers and not self.is_made(before):
                place = next(place for place, each in enumerate(self.draft.given) if each.table["name"] == name)
                table = {
                    key: value
                    for key, value in self.draft.given[place].table.items()
                    if key not in ("carried", "start")
                }
                self.draft.given[place] = Entry(table)
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
        channels = [each.channel for each in found]
        steps: list[tuple[str, dict[str, Any]]] = []
        if source.turn is not None:
            vector = self._turn(source.turn)
        elif source.is_before:
            vector = self._last(source.name)
        else:
            vector = self.vector_of(source.name)
        guesses = [place for place, each in enumerate(found) if not each.is_sure]
        comments = [GUESS] if not guesses else [GUESS, f"GUESSED more: {len(guesses)} of its numbers stand still here"]
        if channels != list(range(source.rows.shape[1])):
            names = self._named(vector, int(source.rows.shape[1]), channels)
            steps.append(("select", {"take": self.draft.list_of((names[each] for each in channels), "policy")}))
        names_of = steps[-1][1]["take"] if steps else self._names_of(vector)
        scale = _one_or_list([each.line.scale for each in found])
        adds = any(each.line.offset for each in found)
        key = "offset" if adds else "subtract"
        constants = [
            each.line.offset - each.line.subtract * each.line.scale if adds else each.line.subtract for each in found
        ]
        if any(constants) or scale != 1.0:
            constant: Any = _one_or_list(constants) if len(set(constants)) == 1 or len(constants) <= _NARROW else None
            if constant is None:
                constant = self.draft.number_of(f"{word(source.name, 'column')}_{key}", constants, names_of)
            steps.append(
                ("affine", {key: constant if any(constants) else None, "scale": None if scale == 1.0 else scale})
            )
        low, high = ([getattr(each.line, end) for each in found] for end in ("lowest", "highest"))
        if any(each is not None for each in (*low, *high)):
            ends = [
                [edge if each is None else each for each in side] for side, edge in ((low, -_LARGEST), (high, _LARGEST))
            ]
            steps.append(("clip", {"lowest": _one_or_list(ends[0]), "highest": _one_or_list(ends[1])}))
        for place, (operation, table) in enumerate(steps):
            is_last = place == len(steps) - 1
            name = word(wish, "term") if is_last else f"{vector}_{_STEPS[operation]}"
            vector = self.draft.compute(
                self.draft.free_name(name), operation, vector, *(comments if is_last else ()), **table
            )
        return vector

    def _turn(self, turn: Turn) -> str:
        quaternion = self.vector_of(turn.quaternion)
        self._say_order(quaternion, turn)
        of: Any = quaternion if turn.vector is None else [quaternion, self.vector_of(turn.vector)]
        wish = "gravity" if turn.vector is None else f"{word(turn.vector, 'column')}_turned"
        table = {"vector": [0, 0, -1]} if turn.vector is None else {}
        key = f"{of} {turn.direction}"
        if key not in self.turned:
            self.turned[key] = self.draft.compute(
                self.draft.free_name(wish), "rotate", of, GUESS, direction=turn.direction, **table
            )
        return self.turned[key]

    def _say_order(self, quaternion: str, turn: Turn) -> None:
        for place, entry in enumerate(self.draft.given):
            if entry.table["name"] == quaternion and "size" in entry.table:
                rest = {key: value for key, value in entry.table.items() if key not in ("name", "size")}
                said = f"GUESSED: in the order {turn.order} its numbers make another column of the recording"
                self.draft.given[place] = Entry(
                    {"name": quaternion, "kind": f"quaternion_{turn.order}", **rest}, (said,)
                )

    def _last(self, answer: str) -> str:
        """The answer of the frame before, as a vector that is taken over."""
        key = f"last {answer}"
        if key not in self.made:
            name = self.draft.free_name(f"last_{word(answer, 'answer')}")
            self.made[key] = name
            self.draft.given.append(
                Entry(
                    {
                        "name": name,
                        "size": int(self.rows[answer].shape[1]),
                        "carried": word(answer, "output"),
                        "start": "zeros",
                    },
                    ("GUESSED: the recorded input holds the answer of the frame before",),
                )
            )
        return self.made[key]

    def _named(self, vector: str, width: int, channels: Sequence[int]) -> tuple[str, ...]:
        """The names of a vector's numbers. One that has none gets joint_0, joint_1, …; what is made of an answer, and leaves
        in another order, leaves in the order of the joints."""
        is_given = any(each.table["name"] == vector for each in self.draft.given)
        entries = self.draft.given if is_given else self.draft.stages
        place = next(place for place, each in enumerate(entries) if each.table["name"] == vector)
        table = dict(entries[place].table)
        if isinstance(said := table.get("names", table.get("take")), str):
            return self.draft.names[said]
        names = tuple(f"joint_{each}" for each in range(width))
        if not is_given and sorted(channels) == list(range(width)):
            names = tuple(names[channels.index(each)] for each in range(width))
        table.pop("size", None)
        entries[place] = Entry({**table, "names": self.draft.list_of(names, "joints")}, entries[place].comments)
        return names

    def _names_of(self, vector: str) -> str | None:
        entry = next((each for each in (*self.draft.given, *self.draft.stages) if each.table["name"] == vector), None)
        names = None if entry is None else entry.table.get("names", entry.table.get("take"))
        return names if isinstance(names, str) else None

    # --- the network's input ------------------------------------------------------------------------------------

    def input_of(self, column: str, held: FloatArray, name: str, slack: FloatArray) -> bool:
        """The stages of a recorded input under `name`; False where nothing in it is known. held: before statistics."""
        layout = self._layout(held, slack)
        pieces = [piece for part in layout.parts for piece in part.pieces]
        source = pieces[0].source if len(pieces) == 1 else None
        if source is not None and not source.is_before and self._place(source.name) > self._place(column):
            return False  # it is made of the input
        if column in self.refused or not any(piece.is_whole for part in layout.parts for piece in part.pieces):
            return False
        lay_out(self, layout, column, name)
        return True

    def cost_of(self, column: str, held: FloatArray, slack: FloatArray) -> tuple[int, float]:
        """How many numbers of an input nothing explains, and how much has to be said of the others."""
        pieces = [piece for part in self._layout(held, slack).parts for piece in part.pieces]
        known = [each.line.cost for piece in pieces for each in piece.columns if each is not None]
        return held.shape[1] if not pieces else sum(each is None for piece in pieces for each in piece.columns), float(
            sum(known)
        )

    def _layout(self, held: FloatArray, slack: FloatArray) -> Layout:
        before = list(self.answers)
        now = [each for each in self.rows if each not in self.busy]
        found = sources_of(
            {each: self.rows[each] for each in dict.fromkeys((*now, *before))}, before, self.follows, self.precision
        )
        now_too = [Source(each, self.rows[each]) for each in before if each in self.made]
        return infer_layout(held, [*found, *now_too], self.follows, slack, precision=self.precision)


_STEPS = {"affine": "relative", "select": "policy", "clip": "clipped"}


def _one_or_list(numbers: Sequence[float]) -> Any:
    return numbers[0] if len(set(numbers)) == 1 else list(numbers)
