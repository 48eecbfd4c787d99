"""Z-scores by the statistics of a contract, with the engine's floors."""

import numpy as np

from rigpact.contract.statistics import AUXILIARY_SCALE_FLOOR, FloatArray, SquashedStatistics, Statistics
from rigpact.reference_runtime.operations.definitions.scaling import FUNCTIONS, zscored


def zscored_by(value: FloatArray, statistics: Statistics) -> FloatArray:
    """(value - mean) / max(|std|, 1e-6), in the precision of `value`."""
    return zscored(value, statistics.mean.astype(value.dtype), statistics.std_floored.astype(value.dtype))


def squashed_zscored(value: FloatArray, auxiliary: SquashedStatistics) -> FloatArray:
    """(tanh(value / max(|scale|, 1e-6)) - mean) / max(|std|, 1e-6) of an auxiliary input (..., width), in its own precision."""
    scale = np.maximum(np.abs(auxiliary.scale), np.float32(AUXILIARY_SCALE_FLOOR)).astype(value.dtype)
    return zscored_by(FUNCTIONS["tanh"](value / scale), auxiliary.statistics)
