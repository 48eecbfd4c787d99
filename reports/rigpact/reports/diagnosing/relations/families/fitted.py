"""Numbers of the contract that are others in the engine: each is worked back from what was recorded, then named.

Every number of a table is fitted to all values that come from it. What stands there then is compared with what people put there
by mistake: another table, the next entry, one number for all, degrees, the inverse.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.graph.replayed import ReplayedFrames
from rigpact.reports.diagnosing.relations.contract_arrays import Array, arrays_of
from rigpact.reports.diagnosing.relations.lines import almost_all, roundest
from rigpact.reports.diagnosing.relations.pulled_back import MOST_TOGETHER, STORED, SURE, of_channels, told_by_digits
from rigpact.reports.diagnosing.relations.relation import CandidateEdit, Channels, listed, names_of
from rigpact.reports.diagnosing.relations.subject import FEW, ROUGHLY, DivergentStage
from rigpact.reports.diagnosing.stage_error import NEARLY

_ROUNDS = 8
"""One for what is linear in a number or in its inverse, some more for what is nearly so."""
_MOVE = 2.0**-5
"""How far a number is moved, in parts of its size, to see what comes from it."""
_SMALLEST = float(np.finfo(np.float32).tiny)
_WHOLE = ("as zeros", "as ones")
"""Said of a whole table only; of some entries the number is said."""
_ENOUGH = 3
"""Values that must agree on a number before it is one."""


def _at_least(floor: float, values: FloatArray) -> FloatArray:
    return np.maximum(np.abs(values), floor)


CHANGES: Mapping[str, Callable[[FloatArray], FloatArray]] = {
    "doubled": lambda values: 2.0 * values,
    "halved": lambda values: 0.5 * values,
    "squared (a variance)": np.square,
    "as its root": lambda values: np.sqrt(np.abs(values)),
    "inverted": lambda values: np.divide(1.0, values, out=np.zeros_like(values), where=values != 0.0),
    "in degrees": lambda values: values * (180.0 / math.pi),
    "in radians": lambda values: values * (math.pi / 180.0),
    "in centimetres": lambda values: 100.0 * values,
    "as zeros": np.zeros_like,
    "as ones": np.ones_like,
    "with the opposite sign": np.negative,
    "of the next channel": lambda values: np.roll(values, -1),
    "of the channel before": lambda values: np.roll(values, 1),
    **{f"no smaller than {floor:g}": partial(_at_least, floor) for floor in (1e-5, 1e-4, 1e-3, 1e-2, 0.05, 0.1, 1.0)},
}
"""What is done to an array of a contract by mistake."""


@dataclass(frozen=True, eq=False)
class _Table:
    """An array of the contract and what the values of the stage leave open of its entries, (N,) each.

    known: which were told. of: the entry that each channel of the stage comes from, (W,); -1 where that is none or several.
    """

    array: Array
    low: FloatArray
    high: FloatArray
    known: NDArray[np.bool_]
    of: NDArray[np.intp]

    @property
    def differs(self) -> NDArray[np.bool_]:
        """(N,): the entries that are others than declared."""
        declared = self.array.values
        return np.asarray(self.known & ((declared < self.low) | (declared > self.high)))

    def allows(self, values: FloatArray, where: NDArray[np.bool_]) -> bool:
        """Whether every entry of some may be that of `values`."""
        return bool((values >= self.low)[where].all() and (values <= self.high)[where].all())

    @property
    def roundest(self) -> FloatArray:
        """The declared numbers, with the roundest possible ones where others stood."""
        values = self.array.values.copy()
        for place in np.flatnonzero(self.differs):
            values[place] = roundest(float(self.low[place]), float(self.high[place]))
        return values


def fitted_numbers(subject: DivergentStage) -> Iterator[CandidateEdit]:
    """Every array of the contract with other numbers in it: worked back, or changed where each number goes to many channels."""
    yield from _readings(subject, lambda fitted: fitted <= 1)


def fitted_tables(subject: DivergentStage) -> Iterator[CandidateEdit]:
    """The same with a number of its own in each entry that differs."""
    yield from _readings(subject, lambda fitted: fitted > 1)


def _readings(subject: DivergentStage, wanted: Callable[[int], bool]) -> Iterator[CandidateEdit]:
    """wanted: by how many numbers are fitted."""
    arrays = list(arrays_of(subject.contract))
    for array in arrays:
        if array.name not in subject.worked_back:
            subject.worked_back[array.name] = _worked_back(subject, array)
        table = subject.worked_back[array.name]
        if table is not None:
            namings = _namings(subject, table, arrays) if table.differs.any() else ()
            yield from _first_of(subject, array, (naming for naming in namings if wanted(naming[2])))
        is_told = table is not None and subject.evidence.precision is None  # few digits may not tell the entries
        if wanted(0) and not is_told and not subject.stage.is_answer and _may_mend(subject, array):
            for word, change in CHANGES.items():
                yield from _first_of(subject, array, [(word, change(array.values), 0)])


def _may_mend(subject: DivergentStage, array: Array) -> bool:
    """Whether almost all that differs stands in channels that an array has a part in."""
    reached = subject.failing & _reached(subject, array)
    return bool(np.count_nonzero(reached) >= NEARLY * np.count_nonzero(subject.failing))


def _reached(subject: DivergentStage, array: Array) -> NDArray[np.bool_]:
    """The channels of a few frames that other numbers in an array change, (W,); all of them where none can be tried."""
    few = subject.few_rows(FEW)
    own, moved = (_rows(subject, array, values, few) for values in (array.values, array.values + _moves(array.values)))
    if own is None or moved is None or own.shape != moved.shape:
        return np.ones(subject.failing.shape[1], bool)
    return np.asarray(((own != moved) & ~np.isnan(own)).any(axis=0))


def _worked_back(subject: DivergentStage, array: Array) -> _Table | None:
    """What the stage tells of an array; None where it tells nothing of one that differs."""
    if not np.isfinite(subject.recorded).all() or not _reached(subject, array).any():
        return None
    entries = None if subject.stage.is_answer else _entries(subject, array)
    return _together(subject, array) if entries is None else _table(subject, array, entries)


def _first_of(
    subject: DivergentStage, array: Array, namings: Iterable[tuple[str, FloatArray, int]]
) -> Iterator[CandidateEdit]:
    """The reading of the first naming that is near what was recorded."""
    for words, values, fitted in namings:
        contract = None if np.array_equal(values, array.values) else array.replaced(values)
        if contract is not None:
            found = subject.recomputed("numbers", f"computed with {array.name} {words}", _nothing, contract, fitted)
            if found is not None:
                yield replace(found, is_rule=not (fitted and _acts_on_what_stands_still(subject, contract)))
                return


def _acts_on_what_stands_still(subject: DivergentStage, contract: Contract) -> bool:
    """Whether numbers act only on vectors that are one row, as what these are computed from is: any number would fit that."""
    graph, under = contract.system.graph, ReplayedFrames(subject.evidence, contract)
    others = {name: rows for name in subject.before if (rows := under.get(name)) is not None}
    changed = {name for name, rows in others.items() if not np.array_equal(rows, subject.before[name], equal_nan=True)}
    acted_on = [name for name in changed if changed.isdisjoint(graph[name].needs)]
    looked_at = {each for name in acted_on for each in (name, *graph[name].needs)} & others.keys()
    return bool(acted_on) and not any(np.ptp(others[name], axis=0).any() for name in looked_at)


def _nothing(_known: DivergentStage) -> Mapping[str, FloatArray]:
    """The change that leaves every input as it is."""
    return {}


def _rows(
    subject: DivergentStage, array: Array, values: FloatArray, few: Sequence[int] | None = None
) -> FloatArray | None:
    contract = array.replaced(values)
    return None if contract is None else subject.rows_under(contract, few)


def _moves(values: FloatArray) -> FloatArray:
    return np.asarray(_MOVE * np.where(values == 0.0, max(float(np.abs(values).max()), 1.0), values))


def _entries(subject: DivergentStage, array: Array) -> NDArray[np.intp] | None:
    """For each channel of the stage the entry that it comes from, below 0 for none or several; None if none that differs does."""
    few = subject.few_rows(FEW)
    base, moves = _rows(subject, array, array.values, few), _moves(array.values)
    if base is None:
        return None
    told = told_by_digits(
        len(array.values), base, lambda chosen: _rows(subject, array, array.values + moves * chosen, few)
    )
    found = None if told is None else of_channels(told)
    return found if found is not None and (found[subject.failing.any(axis=0)] >= 0).any() else None


def _table(subject: DivergentStage, array: Array, entries: NDArray[np.intp]) -> _Table | None:
    """Newton's method for each entry, on all values that come from it; then what almost all of them leave open."""
    channels = np.flatnonzero(entries >= 0)
    of, count = entries[channels], len(array.values)
    failing = subject.failing[:, channels]
    touched = np.zeros(count, bool)
    touched[of[failing.any(axis=0)]] = True
    found = _newton(subject, array, of, channels, touched)
    if found is None:
        return None
    values, left, slope = found
    with np.errstate(divide="ignore", invalid="ignore"):
        middle = values[of] + left / slope
        reach = (subject.bound[:, channels] + STORED * np.abs(subject.recorded[:, channels])) / np.abs(slope)
    tells = np.isfinite(middle) & np.isfinite(reach)
    low, high, known = np.full(count, -np.inf), np.full(count, np.inf), np.zeros(count, bool)
    for entry in np.flatnonzero(touched):
        mine = tells & (of == entry)
        if np.count_nonzero(mine) < _ENOUGH:
            continue
        lowest, highest = almost_all((middle - reach)[mine], (middle + reach)[mine])
        if lowest <= highest:
            slack = STORED * abs(values[entry])
            low[entry], high[entry], known[entry] = lowest - slack, highest + slack, True
    return _Table(array, low, high, known, entries) if known.any() else None


def _newton(
    subject: DivergentStage, array: Array, of: NDArray[np.intp], channels: Channels, touched: NDArray[np.bool_]
) -> tuple[FloatArray, FloatArray, FloatArray] | None:
    """The numbers (N,) that bring the channels nearest to what was recorded, what is left of them and the slopes, (T, C).

    A number that the stage divides by is worked back as its inverse, in which the stage is linear.
    """
    wanted, bound = subject.recorded[:, channels], subject.bound[:, channels]
    values: FloatArray = array.values.copy()
    is_divided = False
    for turn in range(_ROUNDS):
        moves = _moves(values)
        rows = [_rows(subject, array, values + step * moves) for step in (0, 1, 2)]
        if rows[0] is None or rows[1] is None or rows[2] is None:
            return None
        answer, beside, beyond = (each[:, channels] for each in rows if each is not None)
        if turn == 0:
            bend = np.abs(beyond - 2.0 * beside + answer)
            is_divided = bool(
                touched[values == 0.0].sum() == 0 and bend.max() > ROUGHLY * np.abs(beside - answer).max()
            )
        left, slope = wanted - answer, (beside - answer) / moves[of]
        if is_divided:
            inverse = 1.0 / np.where(values == 0.0, 1.0, values)
            by_inverse = (beside - answer) / (1.0 / np.where(values == 0.0, 1.0, values + moves) - inverse)[of]
            moved = inverse + _best_steps(of, left, by_inverse, bound, len(values))
            changed = np.divide(1.0, moved, out=np.full(len(values), np.inf), where=moved != 0.0)
        else:
            changed = values + _best_steps(of, left, slope, bound, len(values))
        changed = np.where(touched, changed, values)
        if not np.isfinite(changed).all():
            return None
        if (np.abs(changed - values) <= STORED * np.abs(values)).all():
            return values, left, slope
        values = changed
    return None


def _together(subject: DivergentStage, array: Array) -> _Table | None:
    """Gauss-Newton for the few entries of an array that every channel comes from together; what the values leave open of them."""
    count, differs = len(array.values), subject.failing
    if count > MOST_TOGETHER or not differs.any():
        return None
    bound = (subject.bound + STORED * np.abs(subject.recorded))[differs]
    values: FloatArray = array.values.copy()
    for _ in range(_ROUNDS):
        moves = _moves(values)
        rows = [_rows(subject, array, values + moves * entry) for entry in (np.zeros(count), *np.eye(count))]
        known = [each[differs] / bound for each in rows if each is not None]
        if len(known) < len(rows) or not np.isfinite(known).all():
            return None
        left, slopes = subject.recorded[differs] / bound - known[0], np.stack(known[1:], axis=1) - known[0][:, None]
        is_told = np.any(slopes != 0.0, axis=0)
        inverse = np.linalg.pinv(slopes[:, is_told] / moves[is_told], rcond=SURE)
        step, reach = np.zeros(count), np.full(count, np.inf)
        step[is_told] = inverse @ left
        values = values + step
        reach[is_told] = np.abs(inverse).sum(axis=1) + STORED * np.abs(values[is_told])
        if (np.abs(step) <= reach).all():
            reads = np.stack(
                [slopes[np.nonzero(differs)[1] == channel].any(axis=0) for channel in range(differs.shape[1])]
            )
            of = np.where(reads.sum(axis=1) == 1, reads.argmax(axis=1), -1)
            return _Table(array, values - reach, values + reach, is_told, of)
    return None


def _best_steps(of: NDArray[np.intp], left: FloatArray, slope: FloatArray, bound: FloatArray, count: int) -> FloatArray:
    """The step of each entry, weighted by how sharply each value tells it."""
    weight = np.where(np.isfinite(slope), slope / np.maximum(bound, _SMALLEST) ** 2, 0.0)
    top, below = np.zeros(count), np.zeros(count)
    np.add.at(top, of, (weight * left).sum(axis=0))
    np.add.at(below, of, (weight * np.where(np.isfinite(slope), slope, 0.0)).sum(axis=0))
    return np.divide(top, below, out=np.zeros(count), where=below > 0.0)


def _namings(subject: DivergentStage, table: _Table, arrays: Sequence[Array]) -> Iterator[tuple[str, FloatArray, int]]:
    """What stands in a table, in words, all its numbers, and how many of them were fitted; rules without a number first."""
    declared, differs = table.array.values, table.differs
    where = "" if differs.all() else f" at {_entry_names(subject, table, np.flatnonzero(differs))}"
    for words, other in (*_changed(table), *_in_place(table, arrays), *_rolled(table), *_exchanged(table)):
        if np.isfinite(other).all() and table.allows(other, differs):
            if not differs.all() and table.allows(other, table.known):
                yield words, other, 0  # of the others the digits tell nothing, or the same
            few = np.flatnonzero(differs)[:2] if np.count_nonzero(differs) <= 2 else ()
            shown = f" ({', '.join(f'{other[each]:.6g} for {declared[each]:.6g}' for each in few)})" if len(few) else ""
            yield f"{words}{shown}{where}", np.where(differs, other, declared), 0
    yield _as_numbers(subject, table, where)


def _as_numbers(subject: DivergentStage, table: _Table, where: str) -> tuple[str, FloatArray, int]:
    """The numbers that stand in a table: one for all, or each beside the declared one."""
    declared, differs, values = table.array.values, table.differs, table.roundest
    low, high = table.low[differs].max(), table.high[differs].min()
    if low <= high and np.count_nonzero(differs) > 1:
        value = roundest(float(low), float(high))
        if table.known.all() and ((value >= table.low) & (value <= table.high)).all():
            return f"{value:.6g} in every channel where the file has a table", np.full_like(declared, value), 1
        old = np.unique(declared[differs])
        instead = f" for {old[0]:.6g}" if len(old) == 1 else ""
        return f"{value:.6g}{instead}{where}", np.where(differs, value, declared), 1
    shown = [
        f"{values[place]:.6g} for {declared[place]:.6g}"
        + ("" if len(declared) == 1 else f" at {_entry_names(subject, table, [int(place)])}")
        for place in np.flatnonzero(differs)
    ]
    return listed(shown), values, len(shown)


def _changed(table: _Table) -> Iterator[tuple[str, FloatArray]]:
    """Every change of a whole table that people make."""
    for word, change in CHANGES.items():
        if word not in _WHOLE or table.differs.all():
            with np.errstate(all="ignore"):
                yield word, change(table.array.values)


def _in_place(table: _Table, arrays: Sequence[Array]) -> Iterator[tuple[str, FloatArray]]:
    """So many neighbouring entries of another table, or of the same from another place on. A single number tells nothing.

    Where one entry differs the others are asked too.
    """
    width = len(table.array.values)
    asked = table.differs if np.count_nonzero(table.differs) > 1 else table.known
    for other in arrays if np.count_nonzero(asked) > 1 else ():
        for start in range(len(other.values) - width + 1):
            is_other = start or other.name != table.array.name
            if is_other and table.allows(other.values[start : start + width], asked):
                part = "" if len(other.values) == width else f"[{start}:{start + width}]"
                yield f"in whose place {other.name}{part} stands", other.values[start : start + width]


def _rolled(table: _Table) -> Iterator[tuple[str, FloatArray]]:
    """Entries of others some places on, in the whole table or around in the run of those that differ, one place wider or not."""
    declared, places = table.array.values, np.flatnonzero(table.differs)
    if len(places) < _ENOUGH:
        return
    for first in (places[0], places[0] - 1):
        for last in (places[-1], places[-1] + 1):
            for sign, word in ((1, "before"), (-1, "after")):
                if first >= 0 and last < len(declared):
                    other = declared.copy()
                    other[first : last + 1] = np.roll(declared[first : last + 1], sign)
                    yield f"shifted by one: of the channel {word}, around in {first} to {last},", other
    for step in range(2, len(declared)):
        for sign in (1, -1):
            yield f"of the channel {-sign * step:+d} places on", np.roll(declared, sign * step)


def _exchanged(table: _Table) -> Iterator[tuple[str, FloatArray]]:
    """Entries in each other's place."""
    places, declared = np.flatnonzero(table.differs), table.array.values
    taken: list[np.intp] = []
    for place in places:
        fits = [
            each for each in places if each not in taken and table.low[place] <= declared[each] <= table.high[place]
        ]
        taken += fits[:1]
    if 2 <= len(taken) == len(places):
        other = declared.copy()
        other[places] = declared[taken]
        shown = listed([f"[{place}] from [{source}]" for place, source in zip(places, taken, strict=True)])
        yield "exchanged" if len(places) == 2 else f"in another order, {shown},", other


def _entry_names(subject: DivergentStage, table: _Table, places: Sequence[int] | NDArray[np.intp]) -> str:
    """Entries of a table by the fields of the stage that come from them, else by number."""
    if not np.isin(places, table.of).all():
        return listed([f"[{place}]" for place in places])
    channels = np.flatnonzero(np.isin(table.of, places))
    words = names_of(subject.contract.fields(subject.stage.name), channels)
    is_said = len(channels) < _ENOUGH or "(channels" in words
    return words if is_said else f"{words} (channels {min(channels)} to {max(channels)})"
