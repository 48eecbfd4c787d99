"""From a motion network's answer to the next pose: its stages, how C++ has them, their bounds; arithmetic: output_stages.py.

The engine cuts a vector that is too long for its position of the network, and fills up one that is too short: see
`network.aligned`.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from rigpact.contract.character import character_of
from rigpact.contract.conventions import InputOrder
from rigpact.contract.layout import ANGULAR_VELOCITIES, INPUTS, ROOT_VELOCITY, ROOT_YAW, ROTATIONS
from rigpact.contract.statistics import STD_FLOOR, FloatArray
from rigpact.contract.systems.contract import Contract, Frames
from rigpact.contract.systems.layout import FieldKind
from rigpact.contract.systems.plan import TARGET, Read, Step, chosen, moved
from rigpact.contract.systems.stage import Bounds, Measure, NotKnown
from rigpact.reference_runtime.network import aligned
from rigpact.reference_runtime.operations.geometry import rotation_angle_rad
from rigpact.reference_runtime.operations.scalars import gamma
from rigpact.reference_runtime.operations.six_numbers import (
    ROTATION_RANGE,
    Replacement,
    Rot6d,
    gram_schmidt_bound,
    rotation_errors,
)
from rigpact.reference_runtime.vocabulary.character.output_stages import (
    COMPOSE_ORDER,
    DELTA_DIRECTION,
    DENORMALISATION,
    IS_RESIDUAL,
    OUTPUT_MODE,
    PREVIOUS_POSE_LAG,
    REPROJECT,
    REPROJECTS,
    OutputStages,
    affine,
)
from rigpact.reference_runtime.vocabulary.character.past_poses import poses_at
from rigpact.reference_runtime.vocabulary.character.shared import (
    AFFINE,
    AXES,
    COMPOSITION,
    COPY,
    MATH,
    TANH,
    bone_fields,
    of_character,
    output_fields,
    spread,
)
from rigpact.reference_runtime.vocabulary.character.state import FEATURES

INPUT_ORDER = InputOrder("input_order", {",".join(INPUTS): INPUTS}, items=INPUTS)


def rotations_of(contract: Contract) -> slice:
    """Where the rotations of an output stand."""
    return character_of(contract).output[ROTATIONS].range


# The network's answer


def _y_norm(frames: Frames) -> FloatArray:
    """The network's answer to its inputs, in the order in which they are bound."""
    vectors = [frames[name] for name in frames.contract.conventions.input_order]
    network = frames.network
    return np.asarray(network.run(aligned(vectors, network.bound_widths), int(frames.frame[0])))


def _in_place(frames: Frames) -> Callable[[], None] | None:
    """What makes the network read and write the very memory of these frames; None where a vector must be made to fit."""
    vectors, network = [frames[name] for name in frames.contract.conventions.input_order], frames.network
    if any(width not in (None, rows.shape[1]) for width, rows in zip(network.bound_widths, vectors, strict=True)):
        return None
    found: Callable[[], None] | None = network.bound_to(vectors, frames["y_norm"])
    return found


def _y_norm_bound(frames: Frames, rows: FloatArray, _bounds: Bounds) -> FloatArray:
    """Same weights and inputs, another summation order: inner products are as long as all inputs together."""
    largest = np.abs(rows, dtype=np.float64).max(axis=1, keepdims=True)
    return np.asarray(np.broadcast_to(_of_network(frames.contract) * largest, rows.shape))


def _of_network(contract: Contract) -> float:
    """Rounding of the longest inner product that the network can have at its inputs: all vectors together."""
    return gamma(sum(width for width in contract.numbers.input_widths.values() if width))


ORDERED_NETWORK = of_character(
    "ordered_network", "a model's answer to vectors bound by position, in an order that sides confuse", (INPUT_ORDER,),
    output_fields, _y_norm, _y_norm_bound, 0, measure=Measure("z"), is_answer=True, is_propagated=True,
    source="--onnx with the model, and record its five inputs", in_place=_in_place,
)  # fmt: skip

# Denormalised: times StdY plus MuY, or without MuY where the rotations are residuals


def _y_raw_planned(frames: Frames) -> Step:
    numbers = frames.numbers
    spans = [
        (numbers.output[name].start, numbers.output[name].size) if name in numbers.output else (0, 0)
        for name in (ROOT_YAW, ROOT_VELOCITY, ANGULAR_VELOCITIES)
    ]
    scales = zip((numbers.rootvel_scales, numbers.angvel_scales), spans[1:], strict=True)
    own = [np.abs(each)[:size] for each, (_, size) in scales]
    words = (*chosen(frames, *FEATURES), *(number for span in spans for number in span))
    return Step("denormalised_output", (Read("y_norm"),), words, np.concatenate((*affine(frames.contract), *own)))


def _y_raw_bound(frames: Frames, rows: FloatArray, bounds: Bounds) -> FloatArray:
    """Bound of y_norm · StdY + MuY, including the error of y_norm."""
    numbers = frames.numbers
    own = numbers.output_statistics
    std, mean = np.abs(own.std, dtype=np.float64), np.abs(own.mean, dtype=np.float64)
    value = rows.astype(np.float64)
    upstream = bounds["y_norm"] * std if "y_norm" in bounds else network_unseen(frames.contract, value, slice(None))
    found = gamma(AFFINE) * (np.abs(value) + mean) + upstream
    if len(numbers.output.slices) == 1:
        return np.asarray(found)
    # slices that invert a feature, which is at most 1: atanh is steep near its limit, so both ends of the interval are computed
    stages, moved_by = OutputStages(frames.contract), gamma(AFFINE) * (1.0 + mean) + upstream
    y_norm = frames.get("y_norm")
    if y_norm is None:
        y_norm = stages.y_norm(rows)
    moved_z = moved_by / np.maximum(std, STD_FLOOR)
    middle, low, high = (stages.y_raw(y_norm + sign * moved_z).astype(np.float64) for sign in (0.0, -1.0, 1.0))
    undone = np.maximum(np.abs(high - middle), np.abs(low - middle)) + gamma(TANH) * np.abs(middle)
    return np.asarray(np.maximum(found, undone))


def network_unseen(contract: Contract, value: FloatArray, place: slice) -> FloatArray:
    """Bound of y_norm·std if the network's output was not recorded: the resulting pose gives its z.

    value: (T, width) of the output's channels `place`. Channels without spread give no z.
    """
    own = contract.numbers.output_statistics
    std, mean = np.abs(own.std[place], dtype=np.float64), own.mean[place].astype(np.float64)
    z = np.abs(value - mean) / np.maximum(std, STD_FLOOR)
    return np.asarray(_of_network(contract) * z.max(axis=1, keepdims=True) * std)


DENORMALISED_OUTPUT = of_character(
    "denormalised_output", "a network's answer in the units of a character", (OUTPUT_MODE, DENORMALISATION, MATH),
    output_fields, lambda frames: np.asarray(frames.built(OutputStages).y_raw(frames["y_norm"])), _y_raw_bound,
    is_propagated=True, planned=_y_raw_planned,
)  # fmt: skip

# Turn: ΔR of each bone out of the answer, orthonormalised


def published_before(frames: Frames, codec: Rot6d) -> FloatArray:
    """The rotations published one frame before each frame, (N, 6·B): the identity at frame 0, NaN if not known."""
    rows = frames.left_before("y_out")[:, rotations_of(frames.contract)].copy()
    rows[frames.frame == 0] = codec.identity(frames.numbers.bone_count)
    return rows


def angles_deg(
    place: Callable[[Contract], slice], contract: Contract, recorded: FloatArray, computed: FloatArray
) -> FloatArray:
    """Angle between the rotations of each bone, (T, B) degrees; place: where they stand."""
    codec = Rot6d(contract.conventions)
    a, b = (codec.decode(rows[:, place(contract)].astype(np.float64)) for rows in (recorded, computed))
    return np.degrees(rotation_angle_rad(a, b))


def _delta6d(frames: Frames) -> FloatArray:
    """ΔR of each bone, reprojected."""
    stages = frames.built(OutputStages)
    before = published_before(frames, stages.codec) if stages.codec.delta_keeps_axes else None
    rows = stages.delta6d(frames["y_raw"], before)
    if rows is None:
        raise NotKnown("delta6d")  # the answer is the pose itself
    return np.asarray(rows)


def _delta6d_planned(frames: Frames) -> Step:
    conventions = frames.contract.conventions
    if conventions.output_mode == "absolute":
        raise NotKnown("delta6d")  # the answer is the pose itself
    words = (
        *chosen(frames, MATH, *AXES), REPROJECTS[conventions.reproject][0], IS_RESIDUAL[conventions.output_mode],
        frames.numbers.output[ROTATIONS].start,
    )  # fmt: skip
    return Step("turn", (Read("y_raw"), Read("y_out", -1)), words)


def _delta6d_bound(frames: Frames, rows: FloatArray, bounds: Bounds) -> FloatArray:
    """Bound after Gram–Schmidt of the denormalised answer."""
    conventions, place = frames.contract.conventions, rotations_of(frames.contract)
    codec = Rot6d(conventions)
    if frames.get("y_raw") is None:
        return gram_schmidt_bound(codec, rows, gamma(COPY), _delta_axes(frames, codec))
    # the conditioning depends on the vector before it was made orthonormal
    offset = codec.identity(frames.numbers.bone_count) if IS_RESIDUAL[conventions.output_mode] else 0.0
    six, upstream = frames["y_raw"][..., place] + offset, bounds["y_raw"][..., place]
    return gram_schmidt_bound(codec, six, upstream, _delta_axes(frames, codec))


def _delta_axes(frames: Frames, codec: Rot6d) -> Replacement:
    """What stands for a lost axis of ΔR."""
    return Replacement(codec.delta_guard, partial(spare_axes, frames, codec, keeps=codec.delta_keeps_axes))


def spare_axes(frames: Frames, codec: Rot6d, *, keeps: bool) -> FloatArray:
    """The axes that stand for lost ones, (T, 6·B)."""
    return published_before(frames, codec) if keeps else codec.identity(frames.numbers.bone_count)


_POSE_FIELDS = bone_fields(ROTATIONS, FieldKind.ROT6D, 6)
_WHOLE_POSE = Measure("deg", partial(angles_deg, lambda _contract: slice(None)), range=ROTATION_RANGE)
TURN = of_character(
    "turn", "how far each bone turns, six numbers made a rotation", (OUTPUT_MODE, *AXES, REPROJECT, MATH),
    _POSE_FIELDS, _delta6d, _delta6d_bound, reach=(1, 0), measure=_WHOLE_POSE, is_propagated=True, earlier=("y_out",),
    planned=_delta6d_planned,
)  # fmt: skip

# Composed: R_next = ΔR · R_prev of each bone; or the answer itself, where it is the pose


def previous_pose(frames: Frames) -> FloatArray:
    """The pose that ΔR is applied to, (N, 6·B)."""
    lag = int(frames.contract.conventions.previous_pose_lag)
    if lag > 0 and frames.mode == "free":
        targets = frames.of_clip("x_raw", lambda rows, frame: rows[frame % (len(rows) - 1) + 1])
        return targets[:, frames.numbers.state[ROTATIONS].range]
    return poses_at(frames, np.maximum(frames.frame + lag, 0))


def _next6d(frames: Frames) -> FloatArray:
    """R_next = ΔR · R_prev, encoded."""
    if frames.contract.conventions.output_mode == "absolute":
        return frames["y_raw"][..., rotations_of(frames.contract)]
    return np.asarray(frames.built(OutputStages).compose(frames["delta6d"], previous_pose(frames)))


def _next6d_planned(frames: Frames) -> Step:
    numbers, conventions = frames.numbers, frames.contract.conventions
    if conventions.output_mode == "absolute":
        width = numbers.output.width
        return moved([Read("y_raw")], [width], range(width)[rotations_of(frames.contract)])
    lag = int(conventions.previous_pose_lag)
    words = (
        *chosen(frames, MATH, *AXES), REPROJECTS[conventions.reproject][0], *chosen(frames, COMPOSE_ORDER, DELTA_DIRECTION),
        numbers.state[ROTATIONS].start,
    )  # fmt: skip
    return Step("composed_pose", (Read("delta6d"), Read("x_raw", lag, TARGET if lag > 0 else "first")), words)


def _next6d_bound(frames: Frames, rows: FloatArray, bounds: Bounds) -> FloatArray:
    """The angle error of ΔR·R_prev is that of ΔR, because R_prev is given. An absolute pose is a copy."""
    contract, place = frames.contract, rotations_of(frames.contract)
    if contract.conventions.output_mode == "absolute":
        return bounds["y_raw"][..., place] if "y_raw" in bounds else gamma(COPY) * np.abs(rows)
    codec = Rot6d(contract.conventions)
    if "delta6d" in bounds:
        return spread(rotation_errors(codec, bounds["delta6d"]) + gamma(COMPOSITION), 6)
    unseen = network_unseen(contract, rows.astype(np.float64), place)
    return gram_schmidt_bound(codec, rows, unseen + gamma(COMPOSITION), _delta_axes(frames, codec))


COMPOSED_POSE = of_character(
    "composed_pose", "each bone's turn applied to its last rotation; reads turns and the raw state",
    (OUTPUT_MODE, *AXES, COMPOSE_ORDER, DELTA_DIRECTION, REPROJECT, PREVIOUS_POSE_LAG, MATH), _POSE_FIELDS, _next6d,
    _next6d_bound, 2, reach=(1, 1), measure=_WHOLE_POSE, is_propagated=True, may_use=("y_raw",), planned=_next6d_planned,
)  # fmt: skip
