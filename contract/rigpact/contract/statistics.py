"""Means, standard deviations and tanh scales, as the engine holds them: float32, read-only.

The rules of rules/bundle_statistics.py judge statistics; the reference runtime applies them.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.floating[Any]]
STD_FLOOR = 1e-6
"""The engine divides by max(|std|, 1e-6)."""
TANH_SCALE_FLOOR = 1e-3
"""The engine divides by max(|scale|, 1e-3) for root and angular velocity of the state."""
AUXILIARY_SCALE_FLOOR = 1e-6
"""The floor of the pose-history and angular-velocity scales."""


def frozen_float32(values: Any) -> NDArray[np.float32]:
    """Copy numbers into a read-only float32 array, rounded as the engine rounds on reading."""
    with np.errstate(over="ignore"):
        array = np.array(values, dtype=np.float64).astype(np.float32)
    array.setflags(write=False)
    return array


@dataclass(frozen=True, eq=False)
class Statistics:
    """Mean and standard deviation of one vector; both (width,)."""

    mean: NDArray[np.float32]
    std: NDArray[np.float32]

    @property
    def std_floored(self) -> NDArray[np.float32]:
        """max(|std|, 1e-6): what the engine divides by."""
        return np.maximum(np.abs(self.std), np.float32(STD_FLOOR))


@dataclass(frozen=True, eq=False)
class SquashedStatistics:
    """tanh scale, mean and std of an auxiliary input: z = (tanh(v / scale) - mean) / std.

    scale, mean, std: (width,). `origin` names the file that holds them; None means the engine's silent fallback
    (scale 1, mean 0, std 1).
    """

    scale: NDArray[np.float32]
    statistics: Statistics
    origin: str | None

    @property
    def width(self) -> int:
        """Number of channels."""
        return int(self.scale.size)


def unit_statistics(width: int) -> SquashedStatistics:
    """The engine's fallback when pose-history statistics are absent: scale 1, mean 0, std 1."""
    ones, zeros = frozen_float32(np.ones(width)), frozen_float32(np.zeros(width))
    return SquashedStatistics(ones, Statistics(zeros, ones), origin=None)
