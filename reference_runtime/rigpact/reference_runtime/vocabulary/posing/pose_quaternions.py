"""Pose quaternions: the published rotations as unit quaternions, parent space."""

from functools import partial

import numpy as np

from rigpact.contract.conventions import CodeHint, Knob
from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.layout import ROTATIONS
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.layout import FieldKind
from rigpact.contract.systems.plan import Chosen, Read, Step, chosen
from rigpact.contract.systems.stage import Bounds, Measure
from rigpact.reference_runtime.operations.definitions.quaternions import FROM_XYZW
from rigpact.reference_runtime.operations.geometry import quaternion_angle_rad
from rigpact.reference_runtime.operations.precision import compute_dtype, stored
from rigpact.reference_runtime.operations.rot6d import Rot6d
from rigpact.reference_runtime.operations.rotation_bounds import ROTATION_RANGE, rotation_errors
from rigpact.reference_runtime.operations.rounding import gamma
from rigpact.reference_runtime.vocabulary.character.codec import DERIVED_AXIS, MATH
from rigpact.reference_runtime.vocabulary.character.vectors import bone_fields
from rigpact.reference_runtime.vocabulary.posing.composed_pose import COMPOSITION
from rigpact.reference_runtime.vocabulary.posing.published_pose import BONE_ORDER, MIRROR_AXIS
from rigpact.reference_runtime.vocabulary.posing.turn import AXES, spread

QUATERNION = 24
"""Operations on the longest path from six numbers to a quaternion."""
QUATERNION_ORDER = Knob(
    "quaternion_order", FROM_XYZW, "component order of published quaternions", {
        "xyzw": CodeHint("FQuat(X, Y, Z, W)", "quat[..., [0, 1, 2, 3]]"),
        "wxyz": CodeHint("W first", "quat[..., [3, 0, 1, 2]]"),
    },
)  # fmt: skip


class PoseQuaternions:
    """Quaternions of a published output, under one contract. `codec` stands for that of the conventions."""

    def __init__(self, contract: Contract) -> None:
        """Look every convention up once."""
        conventions = contract.conventions
        self._dtype, self._rotations = compute_dtype(conventions), contract.numbers.output[ROTATIONS].range
        self._proper_codec = Rot6d(conventions.replaced({"derived_axis": "second_cross_first"}))
        self._components = FROM_XYZW[conventions.quaternion_order]

    def __call__(self, y_out: FloatArray) -> FloatArray:
        """Local rotations as unit quaternions, (..., 4·B); a reflection is first made a proper rotation."""
        quats = self._proper_codec.decode_to_quat(y_out[..., self._rotations].astype(self._dtype))
        return stored(quats[..., self._components].reshape(*quats.shape[:-2], -1))


def build(use: Use) -> Built:
    """A quaternion for every bone."""
    published = use.inputs[0].name

    def compute(frames: Frames) -> FloatArray:
        """Local rotations as unit quaternions."""
        return np.asarray(frames.built(PoseQuaternions)(frames[published]))

    fields = bone_fields("", FieldKind.QUATERNION_XYZW, 4)

    def planned(frames: Frames) -> Step:
        proper = Chosen(DERIVED_AXIS.name, "second_cross_first", 0)
        codec = (proper if knob is DERIVED_AXIS else chosen(frames, knob)[0] for knob in AXES)
        words = (
            *chosen(frames, MATH),
            *codec,
            *chosen(frames, QUATERNION_ORDER),
            frames.numbers.output[ROTATIONS].start,
        )
        return Step("pose_quaternions", (Read(published),), words)

    return Built(fields, compute, partial(bound, published), measure=_MEASURE, is_propagated=True, planned=planned)


def _angles_deg(_contract: Contract, recorded: FloatArray, computed: FloatArray) -> FloatArray:
    """Angle between the quaternions of each bone, (T, B) degrees."""
    return np.degrees(quaternion_angle_rad(recorded.astype(np.float64), computed.astype(np.float64)))


_MEASURE = Measure(
    "deg", _angles_deg, has_signless_quaternions=True, range=0.5 * ROTATION_RANGE,
    parts=lambda _contract: (slice(None), 4),
)  # fmt: skip


def bound(published: str, frames: Frames, rows: FloatArray, bounds: Bounds) -> FloatArray:
    """A quaternion changes by half the angle error of its rotation."""
    if published not in bounds:
        return np.full(rows.shape, gamma(QUATERNION) + gamma(COMPOSITION))
    of_rotations = bounds[published][..., frames.numbers.output[ROTATIONS].range]
    turned = rotation_errors(Rot6d(frames.contract.conventions), of_rotations)
    return spread(gamma(QUATERNION) + 0.5 * turned, 4)


OPERATION = Operation(
    "pose_quaternions", "the published rotations as unit quaternions", build,
    shared=(*AXES, BONE_ORDER, MIRROR_AXIS, QUATERNION_ORDER, MATH), only_on_pages=True,
)  # fmt: skip
