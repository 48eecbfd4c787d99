"""Squashed z-score: (tanh(v / scale) - mean) / std of past poses, and what sides leave out of it.

Engine: `NormalizePoseHistoryRaw`. To add a reading: a row in `NORMALISE`.
"""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from rigpact.contract.conventions import CodeHint, Knob
from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.statistics import AUXILIARY_SCALE_FLOOR, FloatArray, SquashedStatistics, unit_statistics
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.plan import Read, Step, chosen
from rigpact.contract.systems.stage import Z_SCORE, Bounds
from rigpact.reference_runtime.operations.definitions.scaling import FUNCTIONS
from rigpact.reference_runtime.operations.normalisation import squashed_zscored, zscored_by
from rigpact.reference_runtime.operations.precision import QUIETLY, compute_dtype, stored
from rigpact.reference_runtime.operations.rounding import gamma
from rigpact.reference_runtime.vocabulary.character.bounds import (
    AFFINE,
    TANH,
    floored_scale,
    squashed_bound,
    squashed_numbers,
    zscore_bound,
)
from rigpact.reference_runtime.vocabulary.character.codec import MATH
from rigpact.reference_runtime.vocabulary.character.pose_history import history_length
from rigpact.reference_runtime.vocabulary.character.vectors import history_fields


def _scaled(value: FloatArray, auxiliary: SquashedStatistics) -> FloatArray:
    return value / np.maximum(np.abs(auxiliary.scale), np.float32(AUXILIARY_SCALE_FLOOR)).astype(value.dtype)


NORMALISE: Mapping[str, Callable[[FloatArray, SquashedStatistics], FloatArray]] = {
    "tanh_zscore": lambda value, auxiliary: squashed_zscored(value, auxiliary, AUXILIARY_SCALE_FLOOR),
    "linear": lambda value, auxiliary: zscored_by(_scaled(value, auxiliary), auxiliary.statistics),
    "tanh": lambda value, auxiliary: FUNCTIONS["tanh"](_scaled(value, auxiliary)),
    "tanh_unit_scale": lambda value, _auxiliary: FUNCTIONS["tanh"](value),
    "raw": lambda value, _auxiliary: value,
}
HISTORY_NORM = Knob(
    "pose_history_norm", NORMALISE,
    "how the history is normalised; tanh_unit_scale is the engine's fallback without statistics", {
        "tanh_zscore": CodeHint("(Tanh(V / Scale) - Mu) / Std", "(tanh(v / scale) - mu) / std"),
        "linear": CodeHint("(V / Scale - Mu) / Std; // without Tanh", "(v / scale - mu) / std"),
        "tanh": CodeHint("Tanh(V / Scale); // Mu and Std absent", "tanh(v / scale)"),
        "tanh_unit_scale": CodeHint("Tanh(V); // no statistics in the bundle: the engine's fallback", "tanh(v)"),
        "raw": CodeHint("V; // not normalised", "v"),
    },
)  # fmt: skip


class HistoryNormaliser:
    """The normalisation of past poses under one contract."""

    def __init__(self, contract: Contract) -> None:
        """Look the conventions up once. UnusableInput if no file gives the number of frames."""
        self._dtype = compute_dtype(contract.conventions)
        width = history_length(contract) * contract.numbers.bone_count * 6
        self._statistics = contract.numbers.pose_history or unit_statistics(width)
        self._normalise = NORMALISE[contract.conventions.pose_history_norm]

    @QUIETLY
    def __call__(self, raw: FloatArray) -> FloatArray:
        """z of a raw feature (..., H·6·B)."""
        return stored(self._normalise(raw.astype(self._dtype), self._statistics))


def build(use: Use) -> Built:
    """With the statistics of the bundle; without them the scale is 1, the mean 0, the deviation 1."""
    raw = use.inputs[0].name

    def compute(frames: Frames) -> FloatArray:
        """The history, squashed and z-scored."""
        return np.asarray(frames.built(HistoryNormaliser)(frames[raw]))

    def planned(frames: Frames) -> Step:
        width = history_length(frames.contract) * frames.numbers.bone_count * 6
        statistics = frames.numbers.pose_history or unit_statistics(width)
        return Step("squashed_zscore", (Read(raw),), chosen(frames, MATH, HISTORY_NORM), squashed_numbers(statistics))

    return Built(history_fields, compute, partial(bound, raw), measure=Z_SCORE, is_propagated=True, planned=planned)


def bound(raw: str, frames: Frames, rows: FloatArray, bounds: Bounds) -> FloatArray:
    """Bound of the squashed z-score of the raw history, including the error of the raw history where it is not recorded."""
    contract = frames.contract
    error = gamma(AFFINE) + bounds.get(raw, np.zeros(()))
    auxiliary = contract.numbers.pose_history or unit_statistics(rows.shape[1])
    if contract.conventions.pose_history_norm == "tanh_zscore":
        return squashed_bound(rows, auxiliary, error)
    if contract.conventions.pose_history_norm == "linear":
        return zscore_bound(rows, auxiliary.statistics, error / floored_scale(auxiliary))
    return np.asarray(error / np.minimum(floored_scale(auxiliary), 1.0) + gamma(TANH) * np.abs(rows))


OPERATION = Operation(
    "squashed_zscore",
    "past poses, squashed by tanh and z-scored",
    build,
    shared=(HISTORY_NORM, MATH),
    only_on_pages=True,
)
