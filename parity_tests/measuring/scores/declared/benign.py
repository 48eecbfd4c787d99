"""Correct recordings that differ from each other as two correct runtimes and recorders do. None of them is to raise an alarm."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np

from .plain import Maths

MATHS = {
    "float32": Maths(), "float64": Maths(np.float64), "fused multiply-add": Maths(is_fused=True),
    "sums from the other end": Maths(is_reversed=True),
    "float64, sums from the other end": Maths(np.float64, is_reversed=True),
    "fused, sums from the other end": Maths(is_fused=True, is_reversed=True),
}  # fmt: skip
_PRINTED = {"as they are": None, "printed with 9 digits": 9, "printed with 12 digits": 12}


def benign_variants(record: Any, seeds: int = 6) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Each variant by name, with its recording: nine digits bring every float32 back."""
    for seed, (name, maths) in product(range(seeds), MATHS.items()):
        rows = record({}, seed, maths)
        for words, digits in _PRINTED.items():
            yield f"{name}, {words}, run {seed}", {stage: _printed(each, digits) for stage, each in rows.items()}


def _printed(rows: Any, digits: int | None) -> Any:
    if digits is None:
        return rows
    words = np.array([f"{value:.{digits}g}" for value in rows.astype(np.float64).reshape(-1)])
    return words.astype(np.float64).reshape(rows.shape).astype(np.float32)
