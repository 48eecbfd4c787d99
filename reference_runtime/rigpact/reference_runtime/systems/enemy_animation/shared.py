"""What the operations of a character's network share: fields of its vectors, conventions of several stages, bounds.

They serve the page of one system and know its stages by their names; a schema bundle brings layouts and statistics.

How far two correct implementations differ: the rounding model is in operations/scalars.py. Errors are multiplied by the
conditioning of the next operation: 1/std of a z-score, 1/|a| and |b|/|b⊥| of Gram–Schmidt, fps of a finite difference. If a
decision is within rounding of its threshold, both results are correct: the bound of a wrapped heading includes both, that of
a rotation whose axis may be lost is infinite, and the value is not judged. A bound is computed from recorded values, so a
near-constant channel gets a wide bound and a well-conditioned one a narrow bound.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from rigpact.contract.conventions import Knob
from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.skeleton import COLUMN_PAIRS
from rigpact.contract.statistics import AUXILIARY_SCALE_FLOOR, FloatArray, SquashedStatistics, Statistics
from rigpact.contract.systems.contract import Contract, Frames
from rigpact.contract.systems.layout import Field, FieldKind, FieldLayout
from rigpact.contract.systems.stage import Bound, Compute
from rigpact.reference_runtime.operations.scalars import COMPUTE_DTYPE, FUNCTIONS, gamma, unscored, zscored_by
from rigpact.reference_runtime.operations.six_numbers import DERIVED_SIGN, LOST_AXES, PACKING
from rigpact.reference_runtime.vocabulary.building import of_result

Fields = Callable[[Use, Contract], FieldLayout]
"""What a page says of a stage, and a contract -> its fields."""
OF_CLIP: Mapping[str, Any] = {
    "is_propagated": True,
    "source": "--clip with the raw clip that drove the run",
    "from_clip": True,
}
"""What a `Built` says of a stage whose rows a clip brings."""


def of_character(
    name: str,
    summary: str,
    shared: tuple[Knob, ...],
    fields: Fields,
    compute: Compute,
    bound: Bound,
    inputs: int = 1,
    **built: Any,
) -> Operation:
    """An operation of this system's page alone; `built` is what else a `Built` says."""

    def build(use: Use) -> Built:
        return Built(partial(fields, use), compute, bound, **built)

    return Operation(name, summary, build, inputs=(inputs, inputs), shared=shared, only_on_pages=True)


# Fields: the slices of a character's vectors in the order of the bundle, as many bones as it has


def bone_fields(name: str, kind: FieldKind, size: int, slice_name: str = "") -> Fields:
    """One field of `size` numbers for every bone, or for every bone of a slice of the state."""

    def fields(_use: Use, contract: Contract) -> FieldLayout:
        numbers = contract.numbers
        count = numbers.state[slice_name].size // size if slice_name else numbers.bone_count
        return FieldLayout(tuple(_of_bones(name, 0, _names(contract, count), size, kind)))

    return fields


def history_fields(_use: Use, contract: Contract) -> FieldLayout:
    """Past poses; empty if only the network gives their number."""
    names = _names(contract, contract.numbers.bone_count)
    found: list[Field] = []
    for entry in range(contract.numbers.pose_history_length or 0):
        found += _of_bones(f"history[{entry}]", entry * 6 * len(names), names, 6, FieldKind.ROT6D)
    return FieldLayout(tuple(found))


def _slices(vector: str, use: Use, contract: Contract, unit: str | None = None) -> FieldLayout:
    """The slices of a vector of the bundle; unit: in place of their own."""
    layout = getattr(contract.numbers, vector)
    found: list[Field] = []
    for entry in layout:
        said = use.slices.get(entry.name, {})
        kind, own_unit = FieldKind(said.get("kind", "scalar")), unit or said.get("unit", "")
        size = said.get("of_a_bone")
        if size:
            found += _of_bones(entry.name, entry.start, _names(contract, entry.size // size), size, kind, own_unit)
        else:
            found.append(Field(entry.name, entry.start, entry.size, kind, own_unit))
    end = max((entry.stop for entry in layout), default=0)
    if end < layout.width:
        found.append(Field("unused", end, layout.width - end, FieldKind.RAW))
    return FieldLayout(tuple(found))


state_fields: Fields = partial(_slices, "state")
"""The fields of the raw state; of its z-scores; of the output."""
state_z_fields: Fields = partial(_slices, "state", unit="z")
output_fields: Fields = partial(_slices, "output")


def _names(contract: Contract, count: int) -> list[str]:
    """A name for each bone of a slice: the bundle may name more or fewer (RP220)."""
    bones = contract.numbers.bone_names
    return [bones[place] if place < len(bones) else f"bone {place}" for place in range(count)]


def _of_bones(name: str, start: int, bones: Sequence[str], size: int, kind: FieldKind, unit: str = "") -> list[Field]:
    places = enumerate(bones)
    return [Field(name, start + place * size, size, kind, unit, "parent bone", bone=bone) for place, bone in places]


# Conventions of several stages; what to look for in code stands on the page

DERIVED_AXIS = Knob("derived_axis", DERIVED_SIGN)
MATH = Knob("math", COMPUTE_DTYPE, is_benign=True)
CODEC = (Knob("rot6d_columns", dict.fromkeys(COLUMN_PAIRS)), Knob("rot6d_packing", PACKING), DERIVED_AXIS)
"""The conventions of the six numbers of a rotation."""
AXES = (*CODEC, Knob("degenerate_axis", LOST_AXES))


@dataclass(frozen=True)
class Squashing:
    """How a number is squashed: by which tanh, and whether its scale has a floor. Engines with a defect have another."""

    tanh: Callable[[FloatArray], FloatArray] = FUNCTIONS["tanh"]
    has_floor: bool = True

    def scale(self, own: FloatArray, floor: float) -> FloatArray:
        """What the argument of tanh is divided by."""
        return np.maximum(np.abs(own), np.float32(floor if self.has_floor else 0.0))

    def auxiliary_scale(self, auxiliary: SquashedStatistics) -> FloatArray:
        """The same of an auxiliary input, float64."""
        return self.scale(auxiliary.scale, AUXILIARY_SCALE_FLOOR).astype(np.float64)

    def zscored(self, value: FloatArray, auxiliary: SquashedStatistics) -> FloatArray:
        """(tanh(value / scale) - mean) / max(|std|, 1e-6) of an auxiliary input (..., width), in its own precision."""
        squashed = self.tanh(value / self.auxiliary_scale(auxiliary).astype(value.dtype))
        return zscored_by(squashed, auxiliary.statistics)


ENGINE = Squashing()

# Bounds

COPY, AFFINE, TANH = 2, 4, 8
"""Operations on the longest path of each stage: a copy is stored twice; tanh(v/s) is a division, a tanh and a store; …"""
COMPOSITION, QUATERNION = 32, 24
"""The same of a product of two rotations, and from six numbers to a quaternion."""
copied = of_result(COPY)
"""Bound of a value that is stored once on each side."""


def known(frames: Frames, stage: str, otherwise: FloatArray) -> FloatArray:
    """A stage's rows where they are known, else others."""
    rows = frames.get(stage)
    return otherwise if rows is None else rows


def spread(per_bone: FloatArray, count: int) -> FloatArray:
    """(T, B, 1) to (T, count·B)."""
    return np.repeat(per_bone, count).reshape(len(per_bone), -1)


def between(function: Callable[[FloatArray], FloatArray], middle: FloatArray, moved: FloatArray) -> FloatArray:
    """The largest change of a monotone function within `moved` of `middle`."""
    at = function(middle.astype(np.float64)).astype(np.float64)
    ends = [function(middle + sign * moved).astype(np.float64) for sign in (-1.0, 1.0)]
    return np.maximum(*(np.abs(end - at) for end in ends))


def zscore_bound(z: FloatArray, statistics: Statistics, feature_error: FloatArray | float = 0.0) -> FloatArray:
    """Bound of (p - mean) / std: p and mean have their rounding errors, and the difference is divided by std.

    feature_error: absolute error of p beyond its own rounding.
    """
    z = z.astype(np.float64)
    mean, std = statistics.mean.astype(np.float64), statistics.std_floored.astype(np.float64)
    error = gamma(TANH) * np.abs(unscored(z, mean, std)) + gamma(COPY) * np.abs(mean) + feature_error
    return np.asarray(error / std + gamma(AFFINE) * np.abs(z))


def squashed_bound(z: FloatArray, auxiliary: SquashedStatistics, raw_error: FloatArray) -> FloatArray:
    """Bound of a squashed z-score whose raw value has the absolute error `raw_error`: tanh' = 1 - tanh²."""
    own = auxiliary.statistics
    feature = np.minimum(np.abs(unscored(z.astype(np.float64), own.mean, own.std_floored)), 1.0)
    shifted = np.minimum(raw_error / ENGINE.auxiliary_scale(auxiliary), 1.0)
    # the slope is taken at the end of the interval nearest to 0, where it is largest
    slope = 1.0 - np.maximum(feature - shifted, 0.0) ** 2
    return zscore_bound(z, own, slope * shifted)


def squashed_numbers(auxiliary: SquashedStatistics) -> FloatArray:
    """Scales, means and deviations end to end, as a step takes them."""
    own = auxiliary.statistics
    return np.concatenate((ENGINE.auxiliary_scale(auxiliary), own.mean, own.std_floored))
