"""Additions of a system to the description of its contract: facts, places of declared knobs, tables of its own numbers.

`rigpact show` builds the tables that every system has from its stages. The tables here are those that only one kind of
contract file can fill. Nothing here judges a number; that is `rigpact check`'s.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Row = tuple[str, ...]
_SHOWN_CHARACTERS = 120


@dataclass(frozen=True)
class Section:
    """One table with its title and the sentences that stand before it."""

    title: str
    lines: tuple[str, ...] = ()
    columns: Row = ()
    rows: tuple[Row, ...] = ()


def declared_conventions(root: Mapping[str, Any]) -> Mapping[str, str]:
    """The knobs that a system's contract file declares, each with its place in the file."""
    return {knob: f"conventions.{knob}" for knob in root.get("conventions", {})}


def constants_section(contract: Any, _model: Any) -> Iterator[Section]:
    """Yield the table of the constants that a system's contract file declares."""
    rows = tuple((name, *_glance(value)) for name, value in contract.constants.items())
    yield Section("Constants", () if rows else ("The file declares none.",), ("name", "holds", "value"), rows)


def _no_facts(_contract: Any, _root: Mapping[str, Any]) -> Sequence[Row]:
    return ()


@dataclass(frozen=True, eq=False)
class Description:
    """Functions that describe what only this system's contract has.

    facts: contract, JSON root of its file -> rows (name, value) of the first table. declared: JSON root -> each knob that the
    file declares, with its place. sections: contract, model or None -> tables of the system's own numbers.
    """

    facts: Callable[[Any, Mapping[str, Any]], Sequence[Row]] = _no_facts
    declared: Callable[[Mapping[str, Any]], Mapping[str, str]] = declared_conventions
    sections: Callable[[Any, Any], Iterator[Section]] = constants_section


def _glance(value: Any) -> Row:
    """What a constant holds, and its value or its range."""
    if not isinstance(value, list | tuple):
        return ("" if not isinstance(value, Mapping) else f"{len(value)} entries"), _short(value)
    try:
        shape = " × ".join(map(str, np.shape(value)))
    except ValueError:  # rows of several lengths
        shape = str(len(value))
    numbers, text = list(_numbers(value)), str(value)
    if len(numbers) <= 1 or len(text) <= _SHOWN_CHARACTERS:
        return shape if value else "empty", _short(value) if len(numbers) <= 1 else text
    return shape, f"{min(numbers):.7g} … {max(numbers):.7g}"


def _numbers(value: Any) -> Iterator[float]:
    if isinstance(value, list | tuple):
        for each in value:
            yield from _numbers(each)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield value


def _short(value: Any) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"
