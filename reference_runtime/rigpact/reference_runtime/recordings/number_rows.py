"""Rows of named numbers, one for each frame, as one array for each name. A row of another shape is refused at its place."""

import math
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.errors import UnusableInput

UNNAMED = ""
"""The name of an array that has none."""
_NOT_FINITE = {
    **dict.fromkeys(("nan", "-nan", "+nan", "nan(ind)", "-nan(ind)", "1.#qnan", "1.#ind", "-1.#ind"), math.nan),
    **dict.fromkeys(("inf", "+inf", "infinity", "1.#inf"), math.inf),
    **dict.fromkeys(("-inf", "-infinity", "-1.#inf"), -math.inf),
}
"""Values that are not finite, as writers of JSON, Python, C and C++ print them."""
Columns = Mapping[str, NDArray[Any]]
"""Names -> (T,) or (T, …) numbers."""


@dataclass(frozen=True, eq=False)
class Table:
    """The columns of a file, and what it says of the whole recording: fps, mode, clip.

    is_text: its numbers were printed, and may have lost digits. truncation: where a file that was cut off ends.
    partial: columns that stand in some rows only, and in how many: they are left out. notes: how its rows were made, in words.
    """

    columns: Columns
    said: Mapping[str, Any] = field(default_factory=dict)
    is_text: bool = False
    truncation: str | None = None
    partial: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def about(self) -> tuple[str, ...]:
        """How its rows were made, and what was left out, in words."""
        return (*self.notes, *(f"{name} stands in {where}: it is left out" for name, where in self.partial.items()))


def table_of_rows(
    rows: Iterable[Mapping[str, Any]], path: Path, said: Mapping[str, Any] | None = None, truncation: str | None = None
) -> Table:
    """The columns that every row has; UnusableInput where there is none."""
    columns: dict[str, list[Any]] = {}
    count = 0
    for row in rows:
        count += 1
        for key, value in row.items():
            columns.setdefault(key, []).append(value)
    if not columns:
        raise UnusableInput(path, "no row of numbers", "one row for each frame")
    whole = {name: values for name, values in columns.items() if len(values) == count}
    if not whole:
        raise UnusableInput(
            path, f"{len(columns)} names, each in some of the {count} frames only", "names that every frame has"
        )
    partial = {name: f"{len(values)} of {count} frames" for name, values in columns.items() if name not in whole}
    stacks = {name: stacked(values, f"{path}#{name}") for name, values in whole.items()}
    return Table(stacks, said or {}, is_text=True, truncation=truncation, partial=partial)


def stacked(values: list[Any], place: str) -> NDArray[Any]:
    """(T, …) numbers of T frames; UnusableInput for a frame of another shape, or one that holds something else."""
    if _are_floats(values):
        return np.array(values, np.float64)
    flat: list[float] = []
    shape: tuple[int, ...] | None = None
    for index, value in enumerate(values, 1):
        own = _collected(value, flat, f"{place}, frame {index} of the file")
        if shape not in (None, own):
            found, wanted = math.prod(own), math.prod(shape or ())
            raise UnusableInput(
                f"{place}, frame {index} of the file", f"{found} numbers", f"{wanted}, as in the first frame"
            )
        shape = own
    return np.array(flat, np.float64).reshape(len(values), *(shape or ()))


def _are_floats(values: list[Any]) -> bool:
    """Whether nothing is to be asked of each value; most lists of a recording hold nothing else."""
    return set(map(type, values)) == {float}


def _collected(value: Any, flat: list[float], place: str) -> tuple[int, ...]:
    """Append the numbers of nested lists; returns their shape."""
    if not isinstance(value, list):
        if not is_number(value) and value is not None:
            raise UnusableInput(place, repr(value)[:60], "a number")
        flat.append(to_number(value))
        return ()
    if _are_floats(value):
        flat += value
        return (len(value),)
    inner = {_collected(each, flat, place) for each in value}
    if len(inner) > 1:
        raise UnusableInput(place, "rows of different lengths", "as many numbers in each row")
    return (len(value), *(inner.pop() if inner else ()))


def is_number(value: Any) -> bool:
    """Whether a value of JSON is a number, or the word for one that is not finite. An integer beyond every float is none."""
    if isinstance(value, str):
        return value.strip().lower() in _NOT_FINITE
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return isinstance(value, float) or abs(value) <= sys.float_info.max


def to_number(value: Any) -> float:
    """The number; null is NaN."""
    if isinstance(value, str):
        return _NOT_FINITE[value.strip().lower()]
    return math.nan if value is None else float(value)


def text_number(word: str) -> float | None:
    """The number that a word of text is; None where it is none."""
    try:
        return to_number(word) if is_number(word) else float(word)
    except ValueError:
        return None


_IN_BRACKETS = re.compile(r"\[\d+\]$")
_SHOWN = 8


def left_out(table: Table, names: Iterable[str], used: Collection[str]) -> Iterator[str]:
    """What of a table no vector of a contract takes, in words. names: the table's columns; used: those that are taken."""
    yield from table.about
    known = {*used, *(_IN_BRACKETS.sub("", name) for name in used)}
    others = [
        name
        for name in dict.fromkeys(_IN_BRACKETS.sub("", name) for name in names)
        if name not in known and not any(name.startswith((f"{each}.", f"{each}/")) for each in known)
    ]
    if others:
        more = f" and {len(others) - _SHOWN} more" if len(others) > _SHOWN else ""
        yield f"the contract does not know {', '.join(others[:_SHOWN])}{more}: not judged"
