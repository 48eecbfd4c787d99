"""Which recorded vectors stand side by side in the numbers of one frame: columns, scales, what is taken off, order.

Of several vectors that say the same, the one of which least has to be said: a copy before a factor before an offset.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.operations.geometry import rotated
from rigpact.reference_runtime.recordings.precision import Precision
from rigpact.reports.diagnosing.relations.lines import roundest
from rigpact.reports.importing.affine import FEW, Bools, Line, clipped_line, line_between, near_columns

# Sources of a recorded vector: the other vectors, answers of the frame before, vectors turned by a quaternion
_MOST = 1024
"""Numbers of a vector that are looked at."""


@dataclass(frozen=True)
class Turn:
    """A vector turned by a quaternion. vector: the name of a recorded one, None for the direction of gravity, 0 0 -1."""

    quaternion: str
    order: str
    direction: str
    vector: str | None


@dataclass(frozen=True, eq=False)
class Source:
    """A vector that may stand in another one. rows (T, w), NaN where it is not known. is_before: it is of the frame before.

    written (T, w): how far writing may have moved each number.
    """

    name: str
    rows: FloatArray
    is_before: bool = False
    turn: Turn | None = None
    written: FloatArray | None = None

    @property
    def slack(self) -> FloatArray:
        """(T, w): the same, zeros where every bit was kept."""
        return np.zeros(self.rows.shape) if self.written is None else self.written

    def without(self, rows: Bools) -> Source:
        """The same, not known at some rows."""
        return replace(self, rows=np.where(rows[:, None], np.nan, self.rows))

    @property
    def sizes(self) -> FloatArray:
        """(w,): the largest number that each column was computed with: of a turned vector, its length."""
        if self.turn is not None:
            return np.full(self.rows.shape[1], np.linalg.norm(self.rows, axis=1).max(initial=0.0))
        return np.asarray(np.nan_to_num(np.abs(self.rows)).max(axis=0, initial=0.0))


def sources_of(
    recorded: Mapping[str, FloatArray], answers: Sequence[str], follows: Bools, precision: Precision | None = None
) -> list[Source]:
    """Every vector, the answers one frame later, and each vector of three numbers turned by each quaternion, in two orders.

    precision: of the recorded numbers; what was written more coarsely than six digits tells no constants.
    """
    found = _exact_sources(recorded, answers, follows)
    if precision is None or precision.is_coarse:
        return found
    error = {name: precision.error(rows) for name, rows in recorded.items()}
    return [replace(each, written=_written(each, error)) for each in found]


def _written(source: Source, error: Mapping[str, FloatArray]) -> FloatArray:
    own = error[source.name]
    if source.turn is None:
        return np.vstack([own[:1], own[:-1]]) if source.is_before else own
    of_vector = 0.0 if source.turn.vector is None else float(error[source.turn.vector].max())
    # a turned vector is of degree two in four components
    return np.full(source.rows.shape, 8.0 * float(own.max()) * float(source.sizes.max(initial=0.0)) + 2.0 * of_vector)


def _exact_sources(recorded: Mapping[str, FloatArray], answers: Sequence[str], follows: Bools) -> list[Source]:
    narrow = {name: rows for name, rows in recorded.items() if rows.shape[1] <= _MOST}
    found = [Source(name, rows) for name, rows in narrow.items() if name not in answers]
    for name in answers:
        before = np.full(recorded[name].shape, np.nan)
        before[follows] = recorded[name][np.flatnonzero(follows) - 1]
        found.append(Source(name, before, is_before=True))
    return [*found, *_turned(narrow)]


def is_quaternion(rows: FloatArray) -> bool:
    """Whether rows (T, 4) have the length 1, within what storing as float32, or printing four digits, rounds."""
    return rows.shape[1] == 4 and bool(np.all(np.abs(np.linalg.norm(rows, axis=1) - 1.0) < 1e-3))


def _turned(recorded: Mapping[str, FloatArray]) -> Iterator[Source]:
    down = np.array([0.0, 0.0, -1.0])
    vectors = [(None, down), *((name, rows) for name, rows in recorded.items() if rows.shape[1] == 3)]
    for name, quaternions in recorded.items():
        if not is_quaternion(quaternions):
            continue
        for order in ("wxyz", "xyzw"):
            xyzw = np.roll(quaternions, -1, axis=1) if order == "wxyz" else quaternions
            for direction, sign in (("inverse", -1.0), ("forward", 1.0)):
                turn = xyzw * np.array([sign, sign, sign, 1.0])
                for vector, rows in vectors:
                    turned = rotated(turn, np.broadcast_to(rows, (len(turn), 3)))
                    yield Source(name, turned, turn=Turn(name, order, direction, vector))


_ROWS = 512
"""Frames, spread over the recording, that columns are looked for in; every frame tests what is found."""
_MANY = 8
"""So many different values lie on a line of another column only where that column is what they are made of."""
_LIKELY = 48
"""Columns that one column may be a line of; more of them say that it hardly moves."""


@dataclass(frozen=True)
class ColumnLine:
    """A column is a line of one channel of a source. is_sure: no other channel says the same, and it moves."""

    channel: int
    line: Line
    is_sure: bool = True


@dataclass(frozen=True, eq=False)
class Piece:
    """Columns start:stop of a frame, one `ColumnLine` each; source None where nothing is known of them."""

    start: int
    source: Source | None
    columns: tuple[ColumnLine | None, ...]

    @property
    def stop(self) -> int:
        """The column behind its last one."""
        return self.start + len(self.columns)

    @property
    def is_whole(self) -> bool:
        """Whether each of its columns is known or guessed."""
        return self.source is not None and all(self.columns)


Candidates = list[dict[int, list[ColumnLine]]]
"""Of each column, the index of a source -> what the column may be of it, the simplest first."""


def pieces_of(held: FloatArray, sources: Sequence[Source], slack: FloatArray) -> list[Piece]:
    """The pieces of a frame, end to end. held (T, n); slack (T, n): how far writing may have moved each number."""
    candidates = _candidates(held, sources, slack)
    many = [len(np.unique(column)) >= _MANY for column in held.T]
    moves = np.ptp(held, axis=0) > 0.0
    found: list[Piece] = []
    at = 0
    while at < held.shape[1]:
        runs = [_run(at, index, candidates, moves) for index in candidates[at]]
        piece = None if not runs else min(runs, key=lambda run: _rank(run, sources))
        if piece is None:
            found.append(Piece(at, None, (None,)))
            at += 1
            continue
        index, columns = piece
        rivals = [run for run in runs if run[0] != index and _cost(run) <= _cost(piece) and len(run[1]) >= len(columns)]
        is_alike = all(_is_same(sources[index], sources[other[0]], columns, other[1]) for other in rivals)
        if not is_alike and not all(many[at : at + len(columns)]):
            columns = tuple(each and replace(each, is_sure=False) for each in columns)
        found.append(Piece(at, sources[index], columns))
        at += len(columns)
    return list(_joined(map(_completed, _trimmed(found)), moves))


def _is_same(one: Source, other: Source, own: Sequence[ColumnLine | None], others: Sequence[ColumnLine | None]) -> bool:
    pairs = [(a.channel, b.channel) for a, b in zip(own, others, strict=False) if a is not None and b is not None]
    return all(np.array_equal(one.rows[:, a], other.rows[:, b], equal_nan=True) for a, b in pairs)


Run = tuple[int, tuple[ColumnLine | None, ...]]


def _run(at: int, index: int, candidates: Candidates, moves: Bools) -> Run:
    """Columns from `at` on that one source may fill, each of its channels once; columns that stand still are passed over."""
    taken: dict[int, None] = {}
    columns: list[ColumnLine | None] = []
    last = 0
    for column in range(at, len(candidates)):
        if not moves[column]:
            columns.append(None)
            continue
        free = [each for each in candidates[column].get(index, ()) if each.channel not in taken]
        if not free:
            break
        after = next(reversed(taken), -1) + 1
        least = [each for each in free if each.line.cost == free[0].line.cost]
        chosen = next((each for each in least if each.channel == after), least[0])
        taken[chosen.channel] = None
        columns.append(chosen)
        last = len(columns)
    return index, tuple(columns[:last])


def _cost(run: Run) -> float:
    known = [each.line.cost for each in run[1] if each is not None]
    return sum(known) / max(len(known), 1)


def _rank(run: Run, sources: Sequence[Source]) -> tuple[float, ...]:
    """The longest run first, then the one of which least has to be said; what was recorded before what is made of it."""
    known = [each for each in run[1] if each is not None]
    turned = sum(b.channel <= a.channel for a, b in pairwise(known))
    source = sources[run[0]]
    numbers = (number for each in known for number in (each.line.scale, each.line.subtract, each.line.offset))
    digits = sum(len(f"{number:.9g}") for number in numbers)
    return (-len(known), _cost(run), digits, turned, source.turn is not None, source.is_before, -run[0])


def _candidates(held: FloatArray, sources: Sequence[Source], slack: FloatArray) -> Candidates:
    found: Candidates = [{} for _ in range(held.shape[1])]
    for is_before in (False, True):
        group = [(index, each) for index, each in enumerate(sources) if each.is_before == is_before]
        if not group:
            continue
        known = np.hstack([each.rows for _, each in group])
        sizes = np.hstack([each.sizes for _, each in group])
        written = np.hstack([each.slack for _, each in group])
        owner = [(index, channel) for index, each in group for channel in range(each.rows.shape[1])]
        rows = np.flatnonzero(np.isfinite(known).all(axis=1) & np.isfinite(held).all(axis=1))
        if len(rows) < 2 * FEW:
            continue
        known, own, loose, written = known[rows], held[rows], slack[rows], written[rows]
        some = np.unique(np.linspace(0, len(rows) - 1, min(_ROWS, len(rows))).astype(int))
        near = near_columns(own[some], known[some])
        for column in np.flatnonzero(np.ptp(own, axis=0) > 0.0):
            _lines_of(found[column], own[:, column], (known, written), loose[:, column], near[column], sizes, owner)
    return found


def _lines_of(
    found: dict[int, list[ColumnLine]],
    held: FloatArray,
    sources: tuple[FloatArray, FloatArray],
    slack: FloatArray,
    near: Bools,
    sizes: FloatArray,
    owner: Sequence[tuple[int, int]],
) -> None:
    places = np.flatnonzero(near)
    fit, (known, written) = line_between, sources
    if not len(places):
        lowest, highest = held.min(), held.max()
        inside = (held > lowest) & (held < highest)
        if np.count_nonzero(~inside) < FEW or np.count_nonzero(inside) < FEW:
            return
        places = np.flatnonzero(near_columns(held[inside][:, None], known[inside])[0])
        fit = clipped_line
    fitted = []
    for place in places[:_LIKELY]:
        slope = float(np.ptp(held)) / max(float(np.ptp(known[:, place])), 1e-30)
        loose = slack + slope * written[:, place]
        fitted.append((owner[place], fit(known[:, place], held, loose, float(sizes[place]))))
    lines = [(each, line) for each, line in fitted if line is not None]
    few = len(np.unique(held)) < _MANY
    for (index, channel), line in lines:
        rivals = [other for (source, place), other in lines if source == index and place != channel]
        is_sure = not any(other.cost <= max(line.cost, int(few)) for other in rivals)
        found.setdefault(index, []).append(ColumnLine(channel, line, is_sure))
    for each in found.values():
        each.sort(key=lambda one: one.line.cost)


def _trimmed(found: Sequence[Piece]) -> Iterator[Piece]:
    for is_open, run in groupby(found, lambda piece: piece.source is None):
        pieces = list(run)
        yield from [Piece(pieces[0].start, None, (None,) * len(pieces))] if is_open else pieces


def _joined(pieces: Iterable[Piece], moves: Bools) -> Iterator[Piece]:
    """A piece takes the columns beside it that stand still where its source has just the channels that are left."""
    kept = list(pieces)
    for place, other in ((each, each + step) for each in range(len(kept)) for step in (-1, 1)):
        piece, beside = kept[place], kept[other] if 0 <= other < len(kept) else None
        if piece.source is None or beside is None or beside.source is not None:
            continue
        known = [each.channel for each in piece.columns if each is not None]
        in_order = len(known) > 1 and known == list(range(known[0], known[-1] + 1))
        room = known[0] if other < place else piece.source.rows.shape[1] - 1 - known[-1]
        if in_order and room == len(beside.columns) and not moves[beside.start : beside.stop].any():
            columns = (*beside.columns, *piece.columns) if other < place else (*piece.columns, *beside.columns)
            kept[place] = _completed(Piece(min(piece.start, beside.start), piece.source, columns))
            kept[other] = Piece(beside.start, None, ())
    yield from (piece for piece in kept if piece.columns)


def _completed(piece: Piece) -> Piece:
    """The columns inside a piece that stand still: the channel that the order or the others leave, a guess."""
    if piece.source is None or all(piece.columns):
        return piece
    known = {place: each.channel for place, each in enumerate(piece.columns) if each is not None}
    left = sorted(set(range(piece.source.rows.shape[1])) - set(known.values()))
    columns = list(piece.columns)
    shifts = {channel - place for place, channel in known.items()}
    for place in (place for place, each in enumerate(columns) if each is None):
        channel = place + min(shifts) if len(shifts) == 1 else left[0] if len(left) == 1 else None
        if channel is not None and channel in left:
            columns[place] = ColumnLine(channel, Line(1.0, 0.0), is_sure=False)
    return Piece(piece.start, piece.source, tuple(columns))


def with_constants(piece: Piece, held: FloatArray) -> Piece:
    """The guessed columns of a piece with what they take off, such that they say what was recorded."""
    if piece.source is None:
        return piece
    scales = {each.line.scale for each in piece.columns if each is not None and each.line != Line(1.0, 0.0)} or {1.0}
    columns: list[ColumnLine | None] = []
    for place, each in enumerate(piece.columns):
        own = held[:, piece.start + place]
        if each is None or np.ptp(own) > 0.0:
            columns.append(each)
            continue
        rows = piece.source.rows[:, each.channel]
        rows = rows[np.isfinite(rows)]
        scale = next(iter(scales)) if len(scales) == 1 else 1.0
        if np.ptp(rows) > 0.0:
            columns.append(None)
            continue
        off = float(rows[0] - own[0] / scale)
        bound = 2.0**-21 * max(abs(float(rows[0])), abs(float(own[0] / scale)), 1e-30)
        taken = 0.0 if abs(off) <= bound else roundest(off - bound, off + bound)
        columns.append(ColumnLine(each.channel, Line(scale, taken), is_sure=False))
    return Piece(piece.start, piece.source, tuple(columns))
