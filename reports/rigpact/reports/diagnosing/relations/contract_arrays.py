"""The arrays of numbers that a contract computes with, each with the contract that has another in its place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from rigpact.contract.character import is_character
from rigpact.contract.errors import UnusableInput
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract


@dataclass(frozen=True, eq=False)
class Array:
    """An array of a contract. put: the contract with another in its place; None if there can be no such contract."""

    name: str
    values: FloatArray
    put: Callable[[FloatArray], Contract | None]

    def replaced(self, values: FloatArray) -> Contract | None:
        """The contract with other numbers; None where no contract has them."""
        try:
            return self.put(values)
        except UnusableInput:
            return None


def arrays_of(contract: Contract) -> Iterator[Array]:
    """Every array of numbers that a contract computes with: a bundle's, or those among the constants of a contract file."""
    if is_character(contract):
        yield from _in_dataclass(contract.numbers, "", contract.with_numbers)
    else:
        yield from _in_constants(contract, contract.constants)


def _in_dataclass(value: Any, prefix: str, put: Callable[[Any], Any]) -> Iterator[Array]:
    for field in fields(value):
        part, name = getattr(value, field.name), f"{prefix}{field.name}"

        def replaced(changed: Any, field: Any = field) -> Any:
            return put(replace(value, **{field.name: changed}))

        if isinstance(part, np.ndarray) and part.dtype.kind == "f" and part.ndim == 1:
            yield Array(name, part.astype(np.float64), partial(_as_float32, replaced))
        elif is_dataclass(part) and _holds_arrays(part):
            yield from _in_dataclass(part, f"{name}.", replaced)


def _as_float32(put: Callable[[Any], Any], values: FloatArray) -> Any:
    return put(values.astype(np.float32))


def _holds_arrays(part: Any) -> bool:
    return any(
        isinstance(getattr(part, field.name), np.ndarray) or is_dataclass(getattr(part, field.name))
        for field in fields(part)
    )


def _in_constants(contract: Contract, constants: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[Array]:
    """Numbers and lists of numbers among the constants, and among the tables in them. Whole numbers are counts or indices."""
    for name, value in constants.items():
        place = (*path, name)
        if isinstance(value, Mapping):
            yield from _in_constants(contract, value, place)
        elif isinstance(value, float) or _is_list_of_floats(value):
            yield Array(".".join(place), np.atleast_1d(np.asarray(value)), partial(_with_constant, contract, place))


def _is_list_of_floats(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, float) for each in value)


def _with_constant(contract: Contract, path: Sequence[str], values: FloatArray) -> Contract | None:
    """The contract with other numbers; None if they are such that it is not a contract."""
    constants = _with_value(contract.constants, path, values.tolist())
    if any(True for _ in contract.system.problems_of(constants)):
        return None
    return replace(contract, constants=constants)


def _with_value(table: Mapping[str, Any], path: Sequence[str], values: list[float]) -> dict[str, Any]:
    name, *rest = path
    old = table[name]
    new = _with_value(old, rest, values) if rest else values if isinstance(old, list) else values[0]
    return {**table, name: new}
