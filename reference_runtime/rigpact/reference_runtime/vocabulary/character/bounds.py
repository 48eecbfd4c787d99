"""How far two correct implementations differ in what a motion network is given: what its operations' bounds share.

The rounding model is in operations/rounding.py. Errors are multiplied by the conditioning of the next operation: 1/std of a
z-score, 1/|a| and |b|/|b⊥| of Gram–Schmidt, fps of a finite difference. If a decision is within rounding of its threshold, both
results are correct: the bound of a wrapped heading includes both, that of a rotation whose axis may be lost is infinite, and the
value is not judged. A bound is computed from recorded values, so a near-constant channel gets a wide bound and a well-conditioned
one a narrow bound.
"""

from collections.abc import Callable

import numpy as np

from rigpact.contract.statistics import AUXILIARY_SCALE_FLOOR, FloatArray, SquashedStatistics, Statistics
from rigpact.contract.systems.frames import Frames
from rigpact.reference_runtime.operations.definitions.scaling import unscored
from rigpact.reference_runtime.operations.rounding import gamma
from rigpact.reference_runtime.vocabulary.rounding_bounds import of_result

COPY, AFFINE, TANH = 2, 4, 8
"""Operations on the longest path of each stage: a copy is stored twice; tanh(v/s) is a division, a tanh and a store; …"""
copied = of_result(COPY)
"""Bound of a value that is stored once on each side."""


def known(frames: Frames, stage: str, otherwise: FloatArray) -> FloatArray:
    """A stage's rows where they are known, else others."""
    rows = frames.get(stage)
    return otherwise if rows is None else rows


def between(function: Callable[[FloatArray], FloatArray], middle: FloatArray, moved: FloatArray) -> FloatArray:
    """The largest change of a monotone function within `moved` of `middle`."""
    at = function(middle.astype(np.float64)).astype(np.float64)
    ends = [function(middle + sign * moved).astype(np.float64) for sign in (-1.0, 1.0)]
    return np.maximum(*(np.abs(end - at) for end in ends))


def zscore_bound(z: FloatArray, statistics: Statistics, feature_error: FloatArray | None = None) -> FloatArray:
    """Bound of (p - mean) / std: p and mean have their rounding errors, and the difference is divided by std.

    feature_error: absolute error of p beyond its own rounding.
    """
    z = z.astype(np.float64)
    mean, std = statistics.mean.astype(np.float64), statistics.std_floored.astype(np.float64)
    feature = np.abs(unscored(z, mean, std))
    error = gamma(TANH) * feature + gamma(COPY) * np.abs(mean)
    if feature_error is not None:
        error = error + feature_error
    return np.asarray(error / std + gamma(AFFINE) * np.abs(z))


def squashed_bound(z: FloatArray, auxiliary: SquashedStatistics, raw_error: FloatArray) -> FloatArray:
    """Bound of a squashed z-score whose raw value has the absolute error `raw_error`: tanh' = 1 - tanh²."""
    own = auxiliary.statistics
    feature = np.minimum(np.abs(unscored(z.astype(np.float64), own.mean, own.std_floored)), 1.0)
    shifted = np.minimum(raw_error / floored_scale(auxiliary), 1.0)
    # the slope is taken at the end of the interval nearest to 0, where it is largest
    slope = 1.0 - np.maximum(feature - shifted, 0.0) ** 2
    return zscore_bound(z, own, slope * shifted)


def squashed_numbers(auxiliary: SquashedStatistics) -> FloatArray:
    """Scales, means and deviations end to end, as a step takes them."""
    own = auxiliary.statistics
    return np.concatenate((floored_scale(auxiliary), own.mean, own.std_floored))


def floored_scale(auxiliary: SquashedStatistics) -> FloatArray:
    """What the argument of tanh is divided by, float64."""
    return np.maximum(np.abs(auxiliary.scale), AUXILIARY_SCALE_FLOOR).astype(np.float64)
