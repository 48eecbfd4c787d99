"""Numbers of the contract that are others in the engine: each is worked back from what was recorded, then named.

Every number of a table is fitted to all values that come from it. What stands there then is compared with what people put there
by mistake: another table, the next entry, one number for all, degrees, the inverse.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.errors import UnusableInput
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.reports.diagnosing.relations.moved import told_by_digits
from rigpact.reports.diagnosing.relations.numbers import CHANGES, Array, arrays_of, nothing
from rigpact.reports.diagnosing.relations.relation import Reading
from rigpact.reports.diagnosing.relations.round_numbers import roundest
from rigpact.reports.diagnosing.relations.subject import Subject, names_of

_ROUNDS = 5
_MOVE = 2.0**-5
_LISTED = 4
_FEW_ROWS = 6
_WHOLE = ("as zeros", "as ones")
"""Said of a whole table only; of some entries the number is said."""
_ENOUGH = 3
"""Values that must agree on a number before it is one."""


@dataclass(frozen=True, eq=False)
class _Table:
    """An array of the contract and what the values of the stage leave open of its entries, (N,) each; known: which were told."""

    array: Array
    low: FloatArray
    high: FloatArray
    known: NDArray[np.bool_]

    @property
    def differs(self) -> NDArray[np.bool_]:
        """(N,): the entries that are others than declared."""
        declared = self.array.values
        return np.asarray(self.known & ((declared < self.low) | (declared > self.high)))

    def allows(self, values: FloatArray) -> bool:
        """Whether every entry that is another may be that of `values`."""
        differs = self.differs
        return bool((values >= self.low)[differs].all() and (values <= self.high)[differs].all())

    @property
    def roundest(self) -> FloatArray:
        """The declared numbers, with the roundest possible ones where others stood."""
        values = self.array.values.copy()
        for place in np.flatnonzero(self.differs):
            values[place] = roundest(float(self.low[place]), float(self.high[place]))
        return values


def fitted_numbers(subject: Subject) -> Iterator[Reading]:
    """Every array of the contract with other numbers in it."""
    if subject.stage.is_answer or not np.isfinite(subject.recorded).all():
        return
    arrays = list(arrays_of(subject.contract))
    for array in arrays:
        entries = _entries(subject, array)
        table = None if entries is None else _table(subject, array, entries)
        if table is None or not table.differs.any():
            continue
        for words, values, numbers_in_words in _namings(subject, table, arrays):
            contract = _contract(array, values)
            if contract is None:
                continue
            said = f"computed with {array.name} {words}"
            fitted = numbers_in_words
            reading = subject.recomputed("numbers", said, nothing, contract, fitted)
            if reading is not None:
                yield reading
                break


def _contract(array: Array, values: FloatArray) -> Contract | None:
    try:
        found: Contract | None = array.put(values)
    except UnusableInput:
        return None
    return found


def _rows(subject: Subject, array: Array, values: FloatArray, few: Sequence[int] | None = None) -> FloatArray | None:
    contract = _contract(array, values)
    return None if contract is None else subject.rows_under(contract, few)


def _moves(values: FloatArray) -> FloatArray:
    return np.asarray(_MOVE * np.where(values == 0.0, max(float(np.abs(values).max()), 1.0), values))


def _entries(subject: Subject, array: Array) -> NDArray[np.intp] | None:
    """For each channel of the stage the entry that it comes from, below 0 for none or several; None if none that differs does."""
    few = subject.few_rows(_FEW_ROWS)
    base, moves = _rows(subject, array, array.values, few), _moves(array.values)
    if base is None:
        return None
    found = told_by_digits(
        len(array.values), base, lambda chosen: _rows(subject, array, array.values + moves * chosen, few)
    )
    return found if found is not None and (found[subject.failing.any(axis=0)] >= 0).any() else None


def _table(subject: Subject, array: Array, entries: NDArray[np.intp]) -> _Table | None:
    """Newton's method for each entry, on the value that tells it best; then what all its values leave open."""
    values: FloatArray = array.values.copy()
    count = len(values)
    channels = np.flatnonzero(entries >= 0)
    of, wanted, bound = entries[channels], subject.recorded[:, channels], subject.bound[:, channels]
    failing = subject.failing[:, channels]
    touched = np.zeros(count, bool)
    touched[of[failing.any(axis=0)]] = True
    slope: FloatArray = np.zeros_like(wanted)
    answer: FloatArray = subject.replayed[:, channels]
    for _ in range(_ROUNDS):
        moves = _moves(values)
        beside = _rows(subject, array, values + moves)
        found = _rows(subject, array, values)
        if beside is None or found is None:
            return None
        answer = found[:, channels]
        slope = (beside[:, channels] - answer) / moves[of]
        steps = _best_steps(of, (wanted - answer), slope, bound, count)
        values = np.where(touched, values + steps, values)
        if not np.isfinite(values).all():
            return None
        if (np.abs(steps) <= 1e-7 * np.abs(values)).all():
            break
    with np.errstate(divide="ignore", invalid="ignore"):
        middle = values[of] + (wanted - answer) / slope
        reach = (bound + 2.0**-22 * np.abs(wanted)) / np.abs(slope)
    tells = np.isfinite(middle) & np.isfinite(reach)
    low, high, known = np.full(count, -np.inf), np.full(count, np.inf), np.zeros(count, bool)
    for entry in np.flatnonzero(touched):
        mine = tells & (of == entry)
        if np.count_nonzero(mine) < _ENOUGH:
            continue
        # a tenth may be off: other things are wrong in some frames
        low[entry] = np.quantile((middle - reach)[mine], 0.95)
        high[entry] = np.quantile((middle + reach)[mine], 0.05)
        if low[entry] > high[entry]:
            low[entry], high[entry] = -np.inf, np.inf
            continue
        slack = 2.0**-22 * abs(values[entry])
        low[entry], high[entry], known[entry] = low[entry] - slack, high[entry] + slack, True
    return _Table(array, low, high, known) if known.any() else None


def _best_steps(of: NDArray[np.intp], left: FloatArray, slope: FloatArray, bound: FloatArray, count: int) -> FloatArray:
    """The step of each entry, weighted by how sharply each value tells it."""
    weight = np.where(np.isfinite(slope), slope / np.maximum(bound, 1e-30) ** 2, 0.0)
    top, below = np.zeros(count), np.zeros(count)
    np.add.at(top, of, (weight * left).sum(axis=0))
    np.add.at(below, of, (weight * np.where(np.isfinite(slope), slope, 0.0)).sum(axis=0))
    return np.divide(top, below, out=np.zeros(count), where=below > 0.0)


def _namings(subject: Subject, table: _Table, arrays: Sequence[Array]) -> Iterator[tuple[str, FloatArray, int]]:
    """What stands in a table, in words, all its numbers, and how many of them were fitted; rules without a number first."""
    declared, differs = table.array.values, table.differs
    where = "" if differs.all() else f" at {_entry_names(subject, table, np.flatnonzero(differs))}"
    for words, other in (*_changed(table), *_in_place(table, arrays), *_rolled(table), *_exchanged(table)):
        if np.isfinite(other).all() and table.allows(other):
            yield f"{words}{where}", np.where(differs, other, declared), 0
    yield _as_numbers(subject, table, where)


def _as_numbers(subject: Subject, table: _Table, where: str) -> tuple[str, FloatArray, int]:
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
    more = f" and {len(shown) - _LISTED} more" if len(shown) > _LISTED else ""
    return f"{', '.join(shown[:_LISTED])}{more}", values, len(shown)


def _changed(table: _Table) -> Iterator[tuple[str, FloatArray]]:
    """Every change of a whole table that people make."""
    for word, change in CHANGES.items():
        if word not in _WHOLE or table.differs.all():
            with np.errstate(all="ignore"):
                yield word, change(table.array.values)


def _in_place(table: _Table, arrays: Sequence[Array]) -> Iterator[tuple[str, FloatArray]]:
    """So many neighbouring entries of another table, or of the same from another place on. A single number tells nothing."""
    width = len(table.array.values)
    for other in arrays if width > 1 else ():
        for start in range(len(other.values) - width + 1):
            if start or other.name != table.array.name:
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
    """Two entries in each other's place."""
    places = np.flatnonzero(table.differs)
    if len(places) == 2:
        other = table.array.values.copy()
        other[places] = other[places[::-1]]
        yield "exchanged", other


def _entry_names(subject: Subject, table: _Table, places: Sequence[int] | NDArray[np.intp]) -> str:
    """Entries of a table by the fields of the stage or of an input that is as wide, else by number."""
    layouts = [subject.stage.fields(subject.contract), *(subject.contract.fields(name) for name in subject.inputs)]
    layout = next((each for each in layouts if each.width == len(table.array.values)), None)
    if layout is not None:
        among = f" (channels {min(places)} to {max(places)})" if len(places) > _LISTED else ""
        words = names_of(layout, places)
        return words if "(channels" in words else f"{words}{among}"
    return ", ".join(map(str, places[:_LISTED])) + (" …" if len(places) > _LISTED else "")
