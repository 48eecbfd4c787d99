"""The stages of a network's input: its pieces, their history, and what is left open as columns of the recording itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.recordings.precision import Precision
from rigpact.reports.importing.segments import Piece, Source, pieces_of, with_constants

# The history inside a recorded vector, found in exact copies: column i of a frame is column j of the frame before.
Bools = NDArray[np.bool_]
Order = Literal["oldest_first", "newest_first"]
Start = Literal["first", "zeros"]
_PAIRS = 256
"""So many pairs of frames find the copies; all frames test them."""
_MOST = 4096
"""Columns: every column is held against every other one."""
_WAYS = 8
"""Ways to lay the blocks that are looked at."""
_ALMOST = 0.9
"""A copy that fails in more frames than this leaves is none; those in which most fail together are resets."""


@dataclass(frozen=True)
class Block:
    """Columns start:stop hold `length` frames of `width` numbers. order: None where the columns do not say it.

    is_told: whether their history is known; columns that never change may belong to their neighbours.
    """

    start: int
    width: int
    length: int
    order: Order | None
    is_told: bool = True

    @property
    def stop(self) -> int:
        """The column behind its last one."""
        return self.start + self.width * self.length

    @property
    def newest(self) -> slice:
        """The columns of the frame itself."""
        start = self.start + (self.length - 1) * self.width if self.order == "oldest_first" else self.start
        return slice(start, start + self.width)


@dataclass(frozen=True, eq=False)
class Shifts:
    """blocks: end to end, None where they are ambiguous. resets: the rows at which a history begins anew, the first included."""

    blocks: tuple[Block, ...] | None
    resets: tuple[int, ...]
    start: Start | None


@dataclass(frozen=True)
class _Chain:
    base: int
    stride: int
    length: int


def find_shifts(rows: FloatArray, follows: Bools) -> Shifts:
    """rows (T, W); follows (T,): whether the row before is the frame directly before."""
    if len(rows) < 3 or not 0 < rows.shape[1] <= _MOST:
        return Shifts(None, (0,), None)
    copies, resets = _copies(rows, follows)
    moving = np.flatnonzero(np.ptp(rows, axis=0) > 0.0)
    goes_on = follows.copy()
    goes_on[list(resets)] = False
    chains = _chains(copies, moving, rows, np.flatnonzero(goes_on))
    blocks = None if chains is None else _tiled(rows, chains, moving)
    first = tuple(int(row) for row in np.flatnonzero(~follows)) + resets
    return Shifts(blocks, first, None if blocks is None else _start(rows, blocks, first))


def _copies(rows: FloatArray, follows: Bools) -> tuple[Bools, tuple[int, ...]]:
    """(W, W): whether column i holds in every frame what column j held in the one before; the rows that are resets."""
    later = np.flatnonzero(follows)
    some = later[np.unique(np.linspace(0, len(later) - 1, min(_PAIRS, len(later))).astype(int))]
    same = np.zeros((rows.shape[1], rows.shape[1]), np.int32)
    for row in some:
        same += rows[row][:, None] == rows[row - 1][None, :]
    changes = (rows[later] != rows[later - 1]).any(axis=0)
    same[~changes], same[:, ~changes] = 0, 0
    np.fill_diagonal(same, 0)
    place = np.argwhere(same >= _ALMOST * len(some))
    if not len(place):
        return np.zeros(same.shape, bool), ()
    holds = rows[later][:, place[:, 0]] == rows[later - 1][:, place[:, 1]]
    often = holds.mean(axis=0) >= _ALMOST
    breaks = holds[:, often].mean(axis=1) < 0.5 if often.any() else np.zeros(len(later), bool)
    copies = np.zeros(same.shape, bool)
    exact = holds[~breaks].all(axis=0)
    copies[place[exact, 0], place[exact, 1]] = True
    return copies, tuple(int(row) for row in later[breaks])


def _chains(copies: Bools, moving: NDArray[np.intp], rows: FloatArray, later: NDArray[np.intp]) -> list[_Chain] | None:
    """Each moving column with its copies; None where a stride changes on the way.

    A column that stands still is the newest of older ones that were zero at the start.
    """
    targets = {int(column): np.flatnonzero(copies[column]) for column in moving}
    strides = [int(found[0]) - column for column, found in targets.items() if len(found) == 1]
    following: dict[int, int] = {}
    for column, found in targets.items():
        if len(found):  # two columns that are equal in every frame: the stride that most columns have
            following[column] = int(max(found, key=lambda each: strides.count(int(each) - column)))
    still = set(range(rows.shape[1])) - {int(column) for column in moving}
    for column in set(targets) - following.keys():
        beside = {stride for stride in strides if column + stride in still}
        held = [each for each in beside if np.array_equal(rows[later, column], rows[later - 1, column + each])]
        if held:
            following[column] = column + max(held, key=strides.count)
    if len(set(following.values())) < len(following):
        return None
    chains = []
    for first in following.keys() - set(following.values()):
        path = [first]
        while path[-1] in following:
            path.append(following[path[-1]])
        steps = set(np.diff(path).tolist())
        if len(steps) > 1:
            return None
        chains.append(_Chain(min(path), steps.pop(), len(path)))
    is_whole = sum(chain.length for chain in chains) == len(following.keys() | set(following.values()))
    return chains if is_whole else None


@dataclass(eq=False)
class _Tiling:
    """Ways to lay blocks of history, and single columns, end to end. moving (W,): the columns that change."""

    rows: FloatArray
    moving: Bools
    chains: Sequence[_Chain]

    def __post_init__(self) -> None:
        self.width = self.rows.shape[1]
        self.kinds = {(abs(each.stride), each.length, each.stride > 0) for each in self.chains}
        self.in_chain = np.zeros(self.width, bool)
        for chain in self.chains:
            self.in_chain[chain.base + np.arange(chain.length) * abs(chain.stride)] = True

    def ways(self) -> list[tuple[Block, ...]]:
        """Every way with the fewest constant columns outside a block, up to eight."""
        best: dict[int, tuple[int, list[tuple[Block, ...]]]] = {self.width: (0, [()])}
        for at in reversed(range(self.width)):
            found: list[tuple[int, tuple[Block, ...]]] = []
            for block in self._blocks_at(at):
                cost, rest = best[block.stop]
                found += [(cost, (block, *each)) for each in rest]
            if not self.in_chain[at]:
                cost, rest = best[at + 1]
                found += [(cost + (not self.moving[at]), (Block(at, 1, 1, None), *each)) for each in rest]
            least = min((cost for cost, _ in found), default=0)
            best[at] = least, [way for cost, way in found if cost == least][:_WAYS]
        return best[0][1]

    def _blocks_at(self, at: int) -> Iterator[Block]:
        for stride, length, is_forward in self.kinds:
            block = Block(at, stride, length, "oldest_first" if is_forward else "newest_first")
            if block.stop <= self.width and self.moving[at : block.stop].any() and self._holds(block, is_forward):
                yield block

    def _holds(self, block: Block, is_forward: bool) -> bool:  # noqa: FBT001 - the sign of a stride
        """Whether each moving column of the block is a chain of its own, and each other one the same number throughout."""
        for columns in np.arange(block.start, block.stop).reshape(block.length, block.width).T:
            if self.moving[columns].any():
                wanted = _Chain(int(columns[0]), block.width if is_forward else -block.width, block.length)
                if wanted not in self.chains:
                    return False
            elif np.ptp(self.rows[0, columns]) > 0.0:
                return False
        return True


def _tiled(rows: FloatArray, chains: Sequence[_Chain], moving: NDArray[np.intp]) -> tuple[Block, ...] | None:
    """The blocks that every way to lay them end to end has; what they leave is not told."""
    is_moving = np.zeros(rows.shape[1], bool)
    is_moving[moving] = True
    ways = _Tiling(rows, is_moving, chains).ways()
    if not ways:
        return None
    common = [block for block in ways[0] if all(block in way for way in ways)]
    return tuple(_merged(common, is_moving, {each.length for each in chains}))


def _merged(common: Sequence[Block], is_moving: Bools, lengths: set[int]) -> Iterator[Block]:
    """Single columns side by side as one block; constant ones between histories are a history too, where that can be."""
    at, run = 0, 0
    for block in (*common, Block(len(is_moving), 0, 1, None)):
        if block.start == at and block.length == 1 and block.width:
            at, run = block.stop, run + 1
            continue
        if run:
            yield _side_by_side(at - run, run, is_moving, lengths)
        if block.start > at:
            yield Block(at, block.start - at, 1, None, is_told=False)
        at, run = block.stop, int(block.length == 1 and block.width > 0)
        if block.length > 1:
            yield block


def _side_by_side(start: int, count: int, is_moving: Bools, lengths: set[int]) -> Block:
    length = next(iter(lengths)) if len(lengths) == 1 else 1
    if is_moving[start : start + count].any() or not lengths or count % length:
        return Block(start, count, 1, None)
    return Block(start, count // length, length, None, is_told=False)


def _start(rows: FloatArray, blocks: Sequence[Block], resets: Sequence[int]) -> Start | None:
    """What stands before the first frame, where every reset that says anything says the same."""
    said: set[Start] = set()
    for row in resets:
        older, newest = [], []
        for block in (each for each in blocks if each.length > 1 and each.order is not None):
            slots = rows[row, block.start : block.stop].reshape(block.length, block.width)
            slots = slots[::-1] if block.order == "oldest_first" else slots
            older.append(slots[1:].reshape(-1))
            newest.append(np.tile(slots[0], block.length - 1))
        if not older or not np.concatenate(newest).any():
            continue
        before, now = np.concatenate(older), np.concatenate(newest)
        if not before.any():
            said.add("zeros")
        elif np.array_equal(before, now):
            said.add("first")
    return said.pop() if len(said) == 1 else None


_SELDOM = 0.1
"""The share of frames that may be resets."""


@dataclass(frozen=True, eq=False)
class VectorBlock:
    """A block of the vector, and what its newest frame is made of; its pieces count from the block's first column."""

    block: Block
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, eq=False)
class ObservationLayout:
    """parts: end to end; none where even the history is not told. start: what stands before the rows that begin anew."""

    parts: tuple[VectorBlock, ...]
    start: Start | None


def infer_layout(
    held: FloatArray,
    sources: Sequence[Source],
    follows: NDArray[np.bool_],
    slack: FloatArray | None = None,
    *,
    is_history: bool = True,
    precision: Precision | None = None,
) -> ObservationLayout:
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
    return ObservationLayout(tuple(parts), shifts.start)


def _part(held: FloatArray, block: Block, sources: Sequence[Source], slack: FloatArray) -> VectorBlock:
    newest = held[:, block.newest]
    pieces = [with_constants(each, newest) for each in pieces_of(newest, sources, slack[:, block.newest])]
    return VectorBlock(block, tuple(pieces))


def _falls_to_zero(held: FloatArray) -> NDArray[np.bool_]:
    """(T,): rows, few of them, in which many columns are zero at once that otherwise are not: an answer that a reset cleared."""
    moving = held[:, np.ptp(held, axis=0) > 0.0]
    zeros = (moving == 0.0).sum(axis=1)
    falls = zeros > np.median(zeros) + 2
    return np.asarray(falls if falls.mean() <= _SELDOM else np.zeros(len(held), bool))
