"""The table of positions in a model: found by its numbers, because exporters rename it."""

from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.files import read_bytes
from rigpact.contract.model.program import read_program

_NEAR = 1e-6
"""Sines of single precision: those of small angles differ between libraries by an ulp of 1 or two."""


def without_positions(path: Path) -> bytes | None:
    """The model's file with zeros in place of its table of positions; None where it holds no such table, or several."""
    content = read_bytes(path)
    tables = [values for values in read_program(path).constants.values() if _is_table(values)]
    if len(tables) != 1:
        return None
    numbers = np.ascontiguousarray(tables[0], "<f4").tobytes()
    return content.replace(numbers, bytes(len(numbers))) if content.count(numbers) == 1 else None


def _is_table(values: Any) -> bool:
    """Whether the rows are sines and cosines of 0, 1, 2 …: the first row is 0, 1, 0, 1, the first pair has frequency 1."""
    rows = np.squeeze(np.asarray(values))
    if rows.dtype != np.float32 or rows.ndim != 2 or len(rows) < 3 or rows.shape[1] < 4 or rows.shape[1] % 2:
        return False
    first = np.tile([0.0, 1.0], rows.shape[1] // 2)
    places = np.arange(len(rows), dtype=np.float64)
    pairs = np.stack([np.sin(places), np.cos(places)], axis=1)
    return bool(np.array_equal(rows[0], first) and np.abs(rows[:, :2] - pairs).max() <= _NEAR)
