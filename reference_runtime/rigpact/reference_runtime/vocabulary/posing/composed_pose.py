"""Composed pose: R_next = ΔR · R_prev of each bone, encoded; or the answer itself, where it is the pose.

Engine: the delta composition. To add a value of a convention: a row in its table.
"""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from rigpact.contract.conventions import CodeHint, Knob
from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.layout import ROTATIONS
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.plan import TARGET, Read, Step, chosen, moved
from rigpact.contract.systems.stage import Bounds
from rigpact.reference_runtime.operations.geometry import compose as composed
from rigpact.reference_runtime.operations.geometry import transposed
from rigpact.reference_runtime.operations.precision import QUIETLY, compute_dtype, stored
from rigpact.reference_runtime.operations.rot6d import Rot6d
from rigpact.reference_runtime.operations.rotation_bounds import gram_schmidt_bound, rotation_errors
from rigpact.reference_runtime.operations.rounding import gamma
from rigpact.reference_runtime.vocabulary.character.bone_rates import LAG
from rigpact.reference_runtime.vocabulary.character.bounds import COPY
from rigpact.reference_runtime.vocabulary.character.codec import MATH
from rigpact.reference_runtime.vocabulary.character.pose_history import Poses
from rigpact.reference_runtime.vocabulary.posing.denormalised_output import OUTPUT_MODE, network_unseen
from rigpact.reference_runtime.vocabulary.posing.turn import (
    AXES,
    REPROJECT,
    REPROJECTS,
    delta_axes,
    pose_fields,
    pose_measure,
    spread,
)

COMPOSITION = 32
"""Operations on the longest path of a product of two rotations."""
COMPOSE: Mapping[str, Callable[[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]] = {
    # the left and the right factor of R_next. The engine's `FMatrix` holds axes as rows, so a literal `DeltaM * PrevM`
    # there is the other order. Source: contract document, section 3; training `compose_rot6d_delta`
    "delta_prev": lambda delta, previous: (delta, previous),
    "prev_delta": lambda delta, previous: (previous, delta),
}
DIRECTION: Mapping[str, Callable[[FloatArray], FloatArray]] = {
    # of a matrix (..., 3, 3)
    "forward": lambda delta: delta,
    "inverse": transposed,
}
COMPOSE_ORDER = Knob(
    "compose_order", COMPOSE, "R_next = ΔR · R_prev or R_prev · ΔR (columns are axes)", {
        "delta_prev": CodeHint("PrevM * DeltaM", "r_next = delta @ r_prev", "with row vectors that is ΔR·R_prev"),
        "prev_delta": CodeHint("DeltaM * PrevM", "r_next = r_prev @ delta", "swap the factors"),
    },
)  # fmt: skip
DELTA_DIRECTION = Knob(
    "delta_direction", DIRECTION, "whether ΔR leads to the next pose or back from it", {
        "forward": CodeHint("DeltaM as decoded", "delta"),
        "inverse": CodeHint("DeltaM.GetTransposed(): rows taken for columns somewhere?", "delta.transpose(-1, -2)"),
    },
)  # fmt: skip
PREVIOUS_POSE_LAG = Knob(
    "previous_pose_lag", LAG, "which frame ΔR is applied to; +1 is the target itself, a leak", {
        "0": CodeHint("PrevM from the raw state of this frame", "r_prev = pose[t]"),
        "-1": CodeHint("PrevM one frame stale: cached before the state was replaced", "r_prev = pose[t - 1]"),
        "+1": CodeHint("PrevM is the target frame: a leak", "r_prev = pose[t + 1]  # the target"),
    },
)  # fmt: skip


class ComposedPose:
    """ΔR · R_prev under one contract. `codec` stands for that of the conventions."""

    def __init__(self, contract: Contract, codec: Rot6d | None = None) -> None:
        """Look every convention up once."""
        conventions = contract.conventions
        self._dtype, self._codec = compute_dtype(conventions), codec or Rot6d(conventions)
        is_reprojected, _ = REPROJECTS[conventions.reproject]
        self._decode = self._codec.decode if is_reprojected else self._codec.decode_as_is
        self._factors, self._direct = COMPOSE[conventions.compose_order], DIRECTION[conventions.delta_direction]

    @QUIETLY
    def __call__(self, delta6d: FloatArray, previous6d: FloatArray) -> FloatArray:
        """ΔR · R_prev, encoded, both (..., 6·B); ΔR is used unchanged if the conventions do not reproject it."""
        delta = self._decode(delta6d.astype(self._dtype))
        previous = self._codec.decode(previous6d.astype(self._dtype))
        return stored(self._codec.encode(composed(*self._factors(self._direct(delta), previous))))


def previous_pose(poses: Poses, frames: Frames) -> FloatArray:
    """The pose that ΔR is applied to, (N, 6·B)."""
    lag = int(frames.contract.conventions.previous_pose_lag)
    if lag > 0 and frames.mode == "free":
        targets = frames.of_clip(poses.raw, lambda rows, frame: rows[frame % (len(rows) - 1) + 1])
        return targets[:, frames.numbers.state[ROTATIONS].range]
    return poses.at(frames, np.maximum(frames.frame + lag, 0))


def build(use: Use) -> Built:
    """The next pose; the answer itself where that is the pose."""
    delta, state = (each.name for each in use.inputs)
    raw, poses, published = use.word("answer"), Poses(state, use.word("else_from")), use.word("published")

    def compute(frames: Frames) -> FloatArray:
        """R_next = ΔR · R_prev, encoded."""
        if frames.contract.conventions.output_mode == "absolute":
            return frames[raw][..., frames.numbers.output[ROTATIONS].range]
        return np.asarray(frames.built(ComposedPose)(frames[delta], previous_pose(poses, frames)))

    own = partial(bound, delta, raw, published)
    planned = partial(_planned, delta, state, raw)
    return Built(pose_fields, compute, own, (1, 1), pose_measure, is_propagated=True, may_use=(raw,), planned=planned)


def _planned(delta: str, state: str, raw: str, frames: Frames) -> Step:
    numbers, conventions = frames.numbers, frames.contract.conventions
    if conventions.output_mode == "absolute":
        return moved([Read(raw)], [numbers.output.width], range(numbers.output.width)[numbers.output[ROTATIONS].range])
    lag = int(conventions.previous_pose_lag)
    words = (
        *chosen(frames, MATH, *AXES), REPROJECTS[conventions.reproject][0], *chosen(frames, COMPOSE_ORDER, DELTA_DIRECTION),
        numbers.state[ROTATIONS].start,
    )  # fmt: skip
    return Step("composed_pose", (Read(delta), Read(state, lag, TARGET if lag > 0 else "first")), words)


def bound(delta: str, raw: str, published: str, frames: Frames, rows: FloatArray, bounds: Bounds) -> FloatArray:
    """The angle error of ΔR·R_prev is that of ΔR, because R_prev is given. An absolute pose is a copy."""
    contract, place = frames.contract, frames.numbers.output[ROTATIONS].range
    if contract.conventions.output_mode == "absolute":
        return bounds[raw][..., place] if raw in bounds else gamma(COPY) * np.abs(rows)
    codec = Rot6d(contract.conventions)
    if delta in bounds:
        return spread(rotation_errors(codec, bounds[delta]) + gamma(COMPOSITION), 6)
    unseen = network_unseen(contract, rows.astype(np.float64), place)
    return gram_schmidt_bound(codec, rows, unseen + gamma(COMPOSITION), delta_axes(published, frames, codec))


OPERATION = Operation(
    "composed_pose", "each bone's turn applied to its last rotation; reads turns and the raw state", build,
    {
        "answer": "the denormalised answer, which may be the pose itself",
        "else_from": "the stage of the state's z-scores, from which poses are taken where raw states are not known",
        "published": "the stage that publishes poses",
    },
    (2, 2), shared=(OUTPUT_MODE, *AXES, COMPOSE_ORDER, DELTA_DIRECTION, REPROJECT, PREVIOUS_POSE_LAG, MATH),
    only_on_pages=True,
)  # fmt: skip
