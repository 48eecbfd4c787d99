"""Published pose: the composed pose orthonormalised, in the engine's order of bones and handedness, and the rest of the output.

Engine: `FPoseMailbox`. To add a value of a convention: a row in its table.
"""

from collections.abc import Mapping
from functools import partial

import numpy as np

from rigpact.contract.character import bone_permutation, character_of
from rigpact.contract.conventions import ChannelOrder, CodeHint, Knob
from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.layout import ROTATIONS
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.plan import Read, Step, chosen
from rigpact.contract.systems.stage import Bounds, Measure, NotKnown
from rigpact.reference_runtime.operations.precision import QUIETLY, compute_dtype, stored
from rigpact.reference_runtime.operations.rot6d import Rot6d
from rigpact.reference_runtime.operations.rotation_bounds import (
    GRAM_SCHMIDT,
    ROTATION_RANGE,
    Replacement,
    gram_schmidt_bound,
)
from rigpact.reference_runtime.operations.rounding import gamma
from rigpact.reference_runtime.vocabulary.character.bounds import AFFINE, known
from rigpact.reference_runtime.vocabulary.character.codec import MATH
from rigpact.reference_runtime.vocabulary.character.vectors import vector_fields
from rigpact.reference_runtime.vocabulary.posing.composed_pose import COMPOSITION
from rigpact.reference_runtime.vocabulary.posing.denormalised_output import network_unseen
from rigpact.reference_runtime.vocabulary.posing.turn import (
    AXES,
    REPROJECT,
    REPROJECTS,
    angles_deg,
    published_before,
    spare_axes,
)

MIRROR: Mapping[str, tuple[float, float, float] | None] = {
    "none": None,
    "x": (-1.0, 1.0, 1.0),
    "y": (1.0, -1.0, 1.0),
    "z": (1.0, 1.0, -1.0),
}
BONE_ORDER = ChannelOrder(
    "bone_order", dict.fromkeys(("as_declared", "left_right_swapped")),
    "which rotation each published bone takes; also any permutation: slot i takes bone order[i]",
)  # fmt: skip
MIRROR_AXIS = Knob(
    "mirror", MIRROR, "change of handedness of the published pose: R becomes S·R·S with S = diag(±1)", {
        "none": CodeHint("no change of handedness", "R"),
        "x": CodeHint("x negated: S·R·S, S = diag(-1,1,1)", "S @ R @ S"),
        "y": CodeHint("y negated: S·R·S, S = diag(1,-1,1)", "S @ R @ S"),
        "z": CodeHint("z negated: S·R·S, S = diag(1,1,-1)", "S @ R @ S"),
    },
)  # fmt: skip


class PublishedPose:
    """The published output under one contract. `codec` stands for that of the conventions."""

    def __init__(self, contract: Contract, codec: Rot6d | None = None) -> None:
        """Look every convention up once."""
        conventions = contract.conventions
        self._dtype, self.codec = compute_dtype(conventions), codec or Rot6d(conventions)
        self._rotations, self._order = contract.numbers.output[ROTATIONS].range, bone_permutation(contract)
        _, self._reprojects = REPROJECTS[conventions.reproject]
        self._signs = MIRROR[conventions.mirror]

    @QUIETLY
    def __call__(self, y_raw: FloatArray, next6d: FloatArray, published6d: FloatArray) -> FloatArray:
        """The output that the engine publishes as `Y_denorm`: reprojected rotations in its bone order and handedness."""
        six = next6d.astype(self._dtype)
        if self._reprojects:
            six = self.codec.reproject(six, published6d)
        if self._signs is not None:
            six = self._mirrored(six, np.array(self._signs, self._dtype))
        if self._order is not None:
            six = six.reshape(*six.shape[:-1], -1, 6)[..., list(self._order), :].reshape(six.shape)
        published = y_raw.copy()
        published[..., self._rotations] = stored(six)
        return published

    def _mirrored(self, six: FloatArray, signs: FloatArray) -> FloatArray:
        """S·R·S with S = diag(signs): entry i of axis j takes both signs."""
        a, b = self.codec.split(six)
        return self.codec.join(a * signs * signs[self.codec.first], b * signs * signs[self.codec.second])


def build(use: Use) -> Built:
    """Rotations of the composed pose; everything else of the denormalised answer."""
    pose, raw = use.inputs[0].name, use.word("answer")

    def compute(frames: Frames) -> FloatArray:
        """The published output: reprojected, in the engine's bone order and handedness."""
        next6d, y_raw, publish = frames[pose], frames.get(raw), frames.built(PublishedPose)
        if y_raw is None:
            if frames.numbers.output.width != next6d.shape[1]:
                raise NotKnown(raw)
            y_raw = next6d  # every output channel is a rotation and is replaced
        return np.asarray(publish(y_raw, next6d, published_before(use.stage, frames, publish.codec)))

    own = partial(bound, use.stage, pose, raw)
    return Built(
        vector_fields(use, "output"), compute, own, (1, 0), _MEASURE, is_propagated=True, may_use=(raw,),
        earlier=(use.stage,), planned=partial(_planned, use.stage, pose, raw),
    )  # fmt: skip


def _planned(stage: str, pose: str, raw: str, frames: Frames) -> Step:
    rotations, order = frames.numbers.output[ROTATIONS], bone_permutation(frames.contract)
    words = (
        *chosen(frames, MATH, *AXES), REPROJECTS[frames.contract.conventions.reproject][1], *chosen(frames, MIRROR_AXIS),
        rotations.start, rotations.size, order is not None, *(order or ()),
    )  # fmt: skip
    return Step("published_pose", (Read(pose), Read(raw), Read(stage, -1)), words)


def _rotations(contract: Contract) -> slice:
    return character_of(contract).output[ROTATIONS].range


_MEASURE = Measure(
    "deg", partial(angles_deg, _rotations), range=ROTATION_RANGE, parts=lambda contract: (_rotations(contract), 6)
)


def bound(stage: str, pose: str, raw: str, frames: Frames, rows: FloatArray, bounds: Bounds) -> FloatArray:
    """Bound after Gram–Schmidt of the composed pose; other slices are copied."""
    contract, place = frames.contract, _rotations(frames.contract)
    codec = Rot6d(contract.conventions)
    found = gamma(AFFINE) * np.abs(rows, dtype=np.float64)
    if raw in bounds:  # other slices come from the answer: inverted features may have larger errors
        found = np.maximum(found, bounds[raw])
    if pose in bounds and contract.conventions.output_mode != "absolute":
        found[..., place] = bounds[pose] + gamma(GRAM_SCHMIDT)
        return found
    six = known(frames, pose, rows[..., place])
    unseen = network_unseen(contract, six.astype(np.float64), place)
    before = bounds[pose] if pose in bounds else unseen + gamma(COMPOSITION)
    spares = partial(spare_axes, stage, frames, codec, keeps=codec.pose_keeps_axes)
    found[..., place] = gram_schmidt_bound(codec, six, before, Replacement(codec.reproject_guard, spares))
    return found


def pose_tolerance_without_contract(poses: FloatArray) -> FloatArray:
    """Bound of published poses (T, 6·B) without a bundle and its statistics.

    The six numbers of a rotation are in [-1, 1], so their std is at most 1 and the network's rounding is not reduced;
    2048 is the longest inner product assumed.
    """
    return np.full(poses.shape, gamma(2048) + gamma(COMPOSITION) + gamma(GRAM_SCHMIDT))


OPERATION = Operation(
    "published_pose", "a pose as the engine publishes it, with the rest of the output", build,
    {"answer": "the denormalised answer, which holds the rest of the output"},
    shared=(*AXES, REPROJECT, BONE_ORDER, MIRROR_AXIS, MATH), only_on_pages=True,
)  # fmt: skip
