"""Mistakes of an engine at one stage that are not conventions, for any system; later stages use the wrong rows.

To add one: a row in `SLIPS`, with a name for what happens to the stage.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from rigpact.contract.statistics import FloatArray

Spoil = Callable[[FloatArray], FloatArray]


def _late(rows: FloatArray) -> FloatArray:
    return np.concatenate((rows[:1], rows[:-1]))


def _frame_lost(rows: FloatArray) -> FloatArray:
    half = len(rows) // 2
    return np.concatenate((rows[:half], rows[half + 1 :], rows[-1:]))


def _sign(rows: FloatArray) -> FloatArray:
    changed, channel = rows.copy(), int(np.argmax(np.abs(np.nan_to_num(rows)).max(axis=0)))
    changed[:, channel] *= -1.0
    return changed


def _noisy(rows: FloatArray) -> FloatArray:
    size = 1e-3 * np.abs(np.nan_to_num(rows)).max()
    return rows + np.random.default_rng(3).normal(0.0, size, rows.shape)


SLIPS: Mapping[str, Spoil] = {
    "one frame late": _late,
    "a frame lost": _frame_lost,
    "stuck at its first frame": lambda rows: np.repeat(rows[:1], len(rows), axis=0),
    "in float16": lambda rows: rows.astype(np.float16),
    "scaled by 1.01": lambda rows: rows * np.float32(1.01),
    "channels off by one": lambda rows: np.roll(rows, 1, axis=1),
    "one channel's sign": _sign,
    "never written": np.zeros_like,
    "noise": _noisy,
}
"""Name -> function that changes the rows (T, width) of a stage."""
