"""The stage is computed correctly, with other numbers of the contract: doubled, in degrees, with another floor, squared."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np

from rigpact.contract.errors import UnusableInput
from rigpact.contract.statistics import FloatArray
from rigpact.reports.diagnosing.relations.relation import Reading
from rigpact.reports.diagnosing.relations.subject import Place, Subject

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
    **{
        f"no smaller than {floor:g}": lambda values, floor=floor: np.maximum(np.abs(values), floor)
        for floor in (1e-5, 1e-4, 1e-3, 1e-2, 0.05, 0.1, 1.0)
    },
}
"""What is done to an array of a contract by mistake."""
_LEAST = 2
"""An array; a single number is read by the stages that scale."""


@dataclass(frozen=True, eq=False)
class Array:
    """An array of a contract, and the contract with another in its place."""

    name: str
    values: FloatArray
    put: Callable[[FloatArray], Any]


def numbers(subject: Subject, place: Place) -> Iterator[Reading]:
    """Every array of the contract, changed; the stage must have other rows then."""
    if not place.is_whole or subject.stage.is_answer:
        return
    for array in arrays_of(subject.contract):
        for word, changed in CHANGES.items():
            other = changed(array.values)
            if np.array_equal(other, array.values):
                continue
            try:
                contract = array.put(other)
            except (UnusableInput, ValueError):
                continue
            found = subject.recomputed("numbers", f"computed with {array.name} {word}", {}, contract)
            if found is not None:
                yield found


def arrays_of(contract: Any) -> Iterator[Array]:
    """Every array of numbers that a contract computes with: a bundle's, or those among the constants of a contract file."""
    constants = getattr(contract, "constants", None)
    if constants is None:
        yield from _in_dataclass(contract, "", lambda changed: changed)
    else:
        yield from _in_constants(contract, constants)


def _in_dataclass(value: Any, prefix: str, put: Callable[[Any], Any]) -> Iterator[Array]:
    for field in fields(value):
        part, name = getattr(value, field.name), f"{prefix}{field.name}"

        def replaced(changed: Any, field: Any = field) -> Any:
            return put(replace(value, **{field.name: changed}))

        if isinstance(part, np.ndarray) and part.dtype.kind == "f" and part.ndim == 1 and len(part) >= _LEAST:
            yield Array(name, part.astype(np.float64), lambda new, put=replaced: put(new.astype(np.float32)))
        elif is_dataclass(part) and _holds_arrays(part):
            yield from _in_dataclass(part, f"{name}.", replaced)


def _holds_arrays(part: Any) -> bool:
    return any(
        isinstance(getattr(part, field.name), np.ndarray) or is_dataclass(getattr(part, field.name))
        for field in fields(part)
    )


def _in_constants(contract: Any, constants: Mapping[str, Any]) -> Iterator[Array]:
    for name, value in constants.items():
        if not isinstance(value, list) or len(value) < _LEAST or not all(isinstance(x, int | float) for x in value):
            continue
        yield Array(
            name,
            np.asarray(value, np.float64),
            lambda new, name=name: replace(contract, constants={**constants, name: new.tolist()}),
        )
