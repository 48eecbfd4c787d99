"""The numbers of a contract by their names in the file, to read and to replace one by one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract


def json_numbers(contract: Contract) -> dict[str, FloatArray]:
    """Every number and list of numbers among a contract file's constants, by its path."""
    return dict(_numbers(contract.constants, ""))


def _numbers(value: Any, path: str) -> Iterator[tuple[str, FloatArray]]:
    if isinstance(value, Mapping):
        for name, each in value.items():
            yield from _numbers(each, f"{path}.{name}" if path else str(name))
        return
    try:
        array = np.atleast_1d(np.array(value, np.float64))
    except (TypeError, ValueError):
        return  # words, or a list of several lengths
    if array.size and not isinstance(value, str | bool | None):
        yield path, array.reshape(-1)


def with_json_numbers(contract: Contract, name: str, values: FloatArray) -> Contract:
    """The contract with other numbers at a path."""
    return replace(contract, constants=_replaced(contract.constants, name.split("."), values))


def _replaced(value: Any, path: list[str], values: FloatArray) -> Any:
    if path:
        return {**value, path[0]: _replaced(value[path[0]], path[1:], values)}
    shape = np.shape(value)
    return values.reshape(shape).tolist() if shape else float(values[0])
