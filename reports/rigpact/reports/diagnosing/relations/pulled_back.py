"""What stood in a vector, worked back from what was computed from it.

A stage is inverted by what it does, whatever it is. Which number of its input each number of its answer comes from, and from
which frame, is told by moving inputs in the trials that the binary digits of their places name. Where each comes from one
number, it is solved by itself; where a few come from as many, as in a rotation or a mixer, they are solved together. What a
limit hides is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.operations.scalars import gamma
from rigpact.reports.diagnosing.stage_error import NEARLY

STORED = gamma(2)
"""What storing a number as float32 on both sides may change of it, in parts of its size."""
ROUGHLY = 1e-3
"""What is solved so nearly is judged by its bound afterwards."""
_PROBE = 2.0**-6
"""How far an input is moved, in parts of its size: the answer's rounding must stay small beside what the move does."""
_BASES = (1.0, 2.0**-6, 2.0**6)
"""Parts of an input's own numbers at which is looked: a limit lets the small ones pass, and a threshold the large ones."""
_ROUNDS = 12
"""Newton's steps: one for what is linear, more from where a function is flat."""
_BACK = 0.25
"""The part of a step that is tried next where a step went too far."""
MOST_TOGETHER = 12
"""Numbers that are solved together; a matrix of more is a network's."""
_MOST_COLUMNS = 64
"""An input of more numbers is moved by digits only, number by number it would cost too much."""
SURE = 2.0**-10
"""A matrix with a singular value below this part of the largest tells some direction badly."""
_NONE, _SEVERAL = -1, -2
_SMALLEST = float(np.finfo(np.float32).tiny)


@dataclass(frozen=True, eq=False)
class Stood:
    """What stood in a vector, (T, K), and how far it may be off: inf where nothing tells it."""

    held: FloatArray
    bound: FloatArray
    holds: bool = False
    """Whether the stage between only holds its numbers, from wherever and whenever."""
    by_number: bool = False
    """Whether it makes each of its numbers of one number."""


def told_by_digits(
    count: int, base: FloatArray, moved: Callable[[NDArray[np.int_]], FloatArray | None]
) -> NDArray[np.intp] | None:
    """For each number of `base` which of `count` it comes from, in its shape: -1 for none, -2 for several.

    moved: the rows where those are moved that have a 1, (count,). Each is moved in the trials that the binary digits of its place
    name: what changes tells the digits. None where a trial gives no rows.
    """
    numbers, bits = np.arange(count), max(1, int(count - 1).bit_length())
    ones, zeros = np.zeros(base.shape, int), np.zeros(base.shape, int)
    for bit in range(bits):
        digit = (numbers >> bit) & 1
        with_one, with_zero = moved(digit), moved(1 - digit)
        if with_one is None or with_zero is None or with_one.shape != base.shape or with_zero.shape != base.shape:
            return None
        ones += (with_one != base).astype(int) << bit
        zeros += (with_zero != base).astype(int) << bit
    is_one = ((ones & zeros) == 0) & ((ones | zeros) == (1 << bits) - 1)
    return np.where(is_one, ones, np.where((ones | zeros) > 0, _SEVERAL, _NONE))


def of_channels(sources: NDArray[np.intp]) -> NDArray[np.intp]:
    """The source of each channel, (W,), from those of its numbers, (T, W): several where frames differ."""
    highest, lowest = sources.max(axis=0), np.where(sources == _NONE, np.iinfo(int).max, sources).min(axis=0)
    return np.where((highest == lowest) | (highest == _NONE), highest, _SEVERAL)


def channel_reach(own: FloatArray) -> FloatArray:
    """How far the numbers of each channel are moved, (1, K): a part of its size."""
    return np.asarray(_PROBE * np.maximum(np.nanmax(np.abs(own), axis=0, keepdims=True), ROUGHLY))


@dataclass(frozen=True, eq=False)
class Inverse:
    """One stage, or several that follow one another, as a function of one input.

    rows_of: of rows of the input, (T, K), what is computed, (T, W), on some frames, or on all where none are named. own: the
    input as it should be. looks_around: whether an answer may come from the numbers of other frames.
    """

    rows_of: Callable[[FloatArray, Sequence[int] | None], FloatArray | None]
    own: FloatArray
    few: Sequence[int]
    looks_around: bool

    def stood(
        self, wanted: FloatArray, bound: FloatArray, failing: NDArray[np.bool_], *, in_part: bool = False
    ) -> Stood | None:
        """The input that gives what was recorded, `wanted` within `bound`, (T, W); None where no input does.

        failing: where the answer is not what it should be. in_part: whether some of it may come from elsewhere.
        """
        base = self.rows_of(self.own, None)
        of = None if base is None or base.shape != wanted.shape else self._channels()
        if base is None or of is None or ((of[failing.any(axis=0)] == _NONE).any() and not in_part):
            return None
        failing = failing & (of != _NONE)
        if (of == _SEVERAL).any():
            return None if self.looks_around else _Block(self, base, wanted, bound, failing).stood()
        frame = self._frames(base) if self.looks_around else np.arange(len(base))[:, None]
        if frame is None:
            return None
        source = np.where((of >= 0) & (frame >= 0), frame * self.own.shape[1] + of, _NONE)
        return _Numbers.of(self, base, source, wanted, bound, failing).stood()

    def _channels(self) -> NDArray[np.intp] | None:
        """The channel of the input that each channel of the answer comes from, (W,)."""
        few = None if self.looks_around else self.few
        some, found = self.own if few is None else self.own[list(few)], list[NDArray[np.intp]]()
        for scale in _BASES:
            rows, reach = scale * some, scale * channel_reach(self.own)
            base = self.rows_of(rows, few)
            moved = partial(self._moved, rows, reach, few)
            told = None if base is None else told_by_digits(rows.shape[1], base, moved)
            if told is None:
                return None
            found.append(of_channels(told))
        return of_channels(np.stack(found))

    def _moved(
        self, rows: FloatArray, reach: FloatArray, few: Sequence[int] | None, digit: NDArray[np.int_]
    ) -> FloatArray | None:
        return self.rows_of(rows + reach * digit, few)

    def _frames(self, base: FloatArray) -> NDArray[np.intp] | None:
        """The frame that each number of the answer comes from, (T, W)."""
        reach = channel_reach(self.own)
        return told_by_digits(len(base), base, lambda digit: self._moved(self.own, reach, None, digit[:, None]))


@dataclass(frozen=True, eq=False)
class _Numbers:
    """Newton's method for each number of an input by itself, on the number of the answer that tells it best.

    told: the places of those numbers in the input, and at: of their tellers in the answer, (N,) each. goal, wide and differs:
    what was recorded there, its bound, and whether it is not what should be there. start: what should be there.
    """

    inverse: Inverse
    told: NDArray[np.intp]
    at: NDArray[np.intp]
    goal: FloatArray
    wide: FloatArray
    differs: NDArray[np.bool_]
    start: FloatArray

    @classmethod
    def of(
        cls,
        inverse: Inverse,
        base: FloatArray,
        source: NDArray[np.intp],
        wanted: FloatArray,
        bound: FloatArray,
        failing: NDArray[np.bool_],
    ) -> _Numbers:
        """source: the place in the input that each number of the answer comes from, (T, W), below 0 for none."""
        tells = (source >= 0) & np.isfinite(wanted) & np.isfinite(bound) & np.isfinite(base)
        best_last = np.flatnonzero(tells)[np.argsort(-bound[tells], kind="stable")]
        teller = np.full(inverse.own.size, -1)
        teller[source.ravel()[best_last]] = best_last
        told = np.flatnonzero(teller >= 0)
        at = teller[told]
        goal, wide, differs, start = (each.ravel()[at] for each in (wanted, bound, failing, base))
        return cls(inverse, told, at, goal, wide, differs, start)

    def stood(self) -> Stood | None:
        """The input, and how far it may be off; None where most of what differs comes from no number."""
        own, reach = self.inverse.own, self._reach
        solution = self._solved(*self._begun())
        beside = None if solution is None else [self._answer(solution[0] + step * reach) for step in (1.0, -1.0)]
        if solution is None or beside is None or beside[0] is None or beside[1] is None:
            return None
        (held, found), above, below = solution, beside[0], beside[1]
        is_flat = (above == found) | (below == found)  # a limit hides what is beyond it
        solved = np.abs(found - self.goal) <= np.maximum(self.wide, ROUGHLY * np.abs(self.goal))
        judged = self.differs & ~is_flat
        if np.count_nonzero(solved & judged) < NEARLY * np.count_nonzero(judged) or judged.any() < self.differs.any():
            return None
        slope = np.maximum(np.minimum(np.abs(above - found), np.abs(found - below)) / reach, _SMALLEST)
        off = np.full(own.size, np.inf)
        with np.errstate(over="ignore"):
            off[self.told] = np.where(solved & ~is_flat, 2.0 * self.wide / slope + STORED * np.abs(held), np.inf)
        holds = bool((found == held.astype(np.float32))[~is_flat].all())
        return Stood(self._rows(held), off.reshape(own.shape), holds, by_number=True)

    @property
    def _reach(self) -> FloatArray:
        own = self.inverse.own
        return np.broadcast_to(channel_reach(own), own.shape).ravel()[self.told]

    def _rows(self, values: FloatArray) -> FloatArray:
        rows = self.inverse.own.copy()
        rows.ravel()[self.told] = values
        return rows

    def _answer(self, values: FloatArray) -> FloatArray | None:
        found = self.inverse.rows_of(self._rows(values), None)
        return None if found is None else found.ravel()[self.at].astype(np.float64)

    def _begun(self) -> tuple[FloatArray, FloatArray]:
        """Numbers to begin with, and their answer: where a limit holds what should be there, what was there lies within it."""
        held, found = self.inverse.own.ravel()[self.told], self.start.astype(np.float64)
        other = self._answer(self.goal)
        if other is None:
            return held, found
        nearer = self.differs & (np.abs(other - self.goal) < np.abs(found - self.goal))
        return np.where(nearer, self.goal, held), np.where(nearer, other, found)

    def _solved(self, held: FloatArray, found: FloatArray) -> tuple[FloatArray, FloatArray] | None:
        """The numbers after some of Newton's steps, and their answer."""
        share, reach = np.ones(len(self.told)), self._reach
        for turn in range(_ROUNDS):
            if (np.abs(found - self.goal) <= self.wide)[self.differs].all():
                break
            beside = self._answer(held + reach)
            if beside is None:
                return None
            slope = (beside - found) / reach
            # a channel's own size at first: where a function is flat a step would go anywhere
            most = 2.0**turn * reach / _PROBE
            step = np.divide(self.goal - found, slope, where=self.differs & (slope != 0.0), out=np.zeros(len(found)))
            tried = held + share * np.where(np.isfinite(step), np.clip(step, -most, most), 0.0)
            reached = self._answer(tried)
            if reached is None:
                return None
            is_nearer = np.abs(reached - self.goal) <= np.abs(found - self.goal)
            share = np.where(is_nearer, 1.0, _BACK * share)
            held, found = np.where(is_nearer, tried, held), np.where(is_nearer, reached, found)
        return held, found


@dataclass(frozen=True, eq=False)
class _Block:
    """Gauss-Newton's method for the numbers of each frame that depend on one another: a rotation, a product, a mixer."""

    inverse: Inverse
    base: FloatArray
    wanted: FloatArray
    bound: FloatArray
    failing: NDArray[np.bool_]

    def stood(self) -> Stood | None:
        """The input, solved in the frames that differ."""
        own = self.inverse.own
        depends = self._depends()
        groups = [] if depends is None else _groups(depends)
        if not groups or any(len(inputs) > min(len(answers), MOST_TOGETHER) for inputs, answers in groups):
            return None
        held, found = own.copy(), self.base
        size = 2.0 * np.maximum(channel_reach(own)[0] / _PROBE, ROUGHLY)
        differs: NDArray[np.bool_] = np.any(self.failing, axis=1, keepdims=True)
        use = self.failing & self._counted
        for _ in range(_ROUNDS):
            slopes = self._slopes(groups, held, found)
            if slopes is None:
                return None
            step, off = self._step(groups, slopes, held, found)
            if (np.abs(self.wanted - found) <= self.bound)[use].all() and found is not self.base:
                break
            held = held + np.where(differs, np.clip(step, -size, size), 0.0)
            answer = self.inverse.rows_of(held, None)
            if answer is None:
                return None
            found = answer
        solved = np.abs(found - self.wanted) <= np.maximum(self.bound, ROUGHLY * np.abs(self.wanted).max(axis=0))
        if np.count_nonzero(solved & use) < NEARLY * np.count_nonzero(use) or not use.any():
            return None
        for inputs, answers in groups:
            off[:, inputs] += np.where(solved[:, answers].all(axis=1)[:, None], 0.0, np.inf)
        return Stood(held, off)

    @property
    def _counted(self) -> NDArray[np.bool_]:
        return np.isfinite(self.bound) & np.isfinite(self.wanted) & np.isfinite(self.base)

    def _depends(self) -> NDArray[np.bool_] | None:
        """Which number of the input each number of the answer depends on, (K, W)."""
        own, few = self.inverse.own, list(self.inverse.few)
        columns, reach = np.eye(own.shape[1]), channel_reach(own)[0]
        if len(columns) > _MOST_COLUMNS:
            return None
        depends = list[NDArray[np.bool_]]()
        for column in columns:
            moved = self.inverse.rows_of(own[few] + reach * column, few)
            if moved is None:
                return None
            depends.append(np.any(moved != self.base[few], axis=0))
        return np.array(depends)

    def _slopes(
        self, groups: Sequence[tuple[list[int], list[int]]], held: FloatArray, found: FloatArray
    ) -> FloatArray | None:
        """What the first, the second, … input of each group does to its answers, (T, W, k): one trial for each place."""
        reach = channel_reach(self.inverse.own)[0]
        slopes = []
        for place in range(max(len(inputs) for inputs, _ in groups)):
            moved = np.zeros(held.shape[1])
            for inputs, _ in groups:
                moved[inputs[place : place + 1]] = 1.0
            beside = self.inverse.rows_of(held + reach * moved, None)
            if beside is None:
                return None
            slopes.append(beside - found)
        return np.stack(slopes, axis=-1)

    def _step(
        self, groups: Sequence[tuple[list[int], list[int]]], slopes: FloatArray, held: FloatArray, found: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Newton's step, (T, K), and how far what is solved may be off; inf where the answer tells a direction badly."""
        reach, counted = channel_reach(self.inverse.own)[0], self._counted
        step, off = np.zeros(held.shape), np.full(held.shape, np.inf)
        left, wide = (np.where(counted, each, 0.0) for each in (self.wanted - found, self.bound))
        for inputs, answers in groups:
            matrix = slopes[:, answers, : len(inputs)] / reach[inputs] * counted[:, answers, None]
            matrix = np.nan_to_num(matrix, posinf=0.0, neginf=0.0)
            sizes = np.linalg.svd(matrix, compute_uv=False)
            back = np.linalg.pinv(matrix, rcond=SURE)
            step[:, inputs] = np.einsum("tio,to->ti", back, left[:, answers])
            reached = 2.0 * np.einsum("tio,to->ti", np.abs(back), wide[:, answers])
            reached += STORED * np.abs(held[:, inputs]).max(axis=1, keepdims=True)
            off[:, inputs] = np.where(sizes[:, -1:] > SURE * sizes[:, :1], reached, np.inf)
        return step, off


def _groups(depends: NDArray[np.bool_]) -> list[tuple[list[int], list[int]]]:
    """The numbers of an input, and those of the answer, that depend on one another: depends is (K, W)."""
    left, groups = set(range(len(depends))), []
    while left:
        inputs, answers = {min(left)}, set[int]()
        while True:
            more = {int(each) for each in np.flatnonzero(depends[sorted(inputs)].any(axis=0))}
            reached = {int(each) for each in np.flatnonzero(depends[:, sorted(more)].any(axis=1))} if more else set()
            if more == answers and reached <= inputs:
                break
            inputs, answers = inputs | reached, more
        left -= inputs
        if answers:
            groups.append((sorted(inputs), sorted(answers)))
    return groups
