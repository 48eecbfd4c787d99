"""The pose: how far each bone turns, composed, as the engine publishes it, as quaternions, and what the next frame takes over.

Engine: `FPoseMailbox`; for each output slice whose name and size match a state slice, copy; everything else keeps its old value.
To add a way to write back: a row in `WRITEBACK`. The arithmetic of poses: `OutputStages` in answer.py.
"""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from rigpact.contract.character import bone_permutation, character_of
from rigpact.contract.conventions import Knob
from rigpact.contract.layout import ANGULAR_VELOCITIES, ROOT_POSITION, ROOT_VELOCITY, ROTATIONS
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract, Frames
from rigpact.contract.systems.layout import FieldKind
from rigpact.contract.systems.plan import TARGET, Chosen, Read, Step, chosen, moved
from rigpact.contract.systems.stage import Bounds, Measure, NotKnown
from rigpact.reference_runtime.operations.geometry import angular_velocity, quaternion_angle_rad, rotation_angle_rad
from rigpact.reference_runtime.operations.scalars import compute_dtype, gamma, stored
from rigpact.reference_runtime.operations.six_numbers import (
    GRAM_SCHMIDT,
    ROTATION_RANGE,
    Replacement,
    Rot6d,
    gram_schmidt_bound,
    rotation_errors,
)
from rigpact.reference_runtime.systems.enemy_animation import answer
from rigpact.reference_runtime.systems.enemy_animation.answer import (
    IS_RESIDUAL,
    REPROJECTS,
    OutputStages,
    network_unseen,
)
from rigpact.reference_runtime.systems.enemy_animation.past_poses import poses_at
from rigpact.reference_runtime.systems.enemy_animation.shared import (
    AFFINE,
    AXES,
    CODEC,
    COMPOSITION,
    COPY,
    DERIVED_AXIS,
    MATH,
    QUATERNION,
    bone_fields,
    known,
    of_character,
    output_fields,
    spread,
    state_fields,
)
from rigpact.reference_runtime.systems.enemy_animation.state import raw_state_bound


def rotations_of(contract: Contract) -> slice:
    """Where the rotations of an output stand."""
    return character_of(contract).output[ROTATIONS].range


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
    conventions, start = frames.contract.conventions, frames.numbers.output[ROTATIONS].start
    if conventions.output_mode == "absolute":
        raise NotKnown("delta6d")  # the answer is the pose itself
    reprojects = REPROJECTS[conventions.reproject][0]
    words = (*chosen(frames, MATH, *AXES), reprojects, IS_RESIDUAL[conventions.output_mode], start)
    return Step("turn", (Read("y_raw"), Read("y_out", -1)), words)


def _delta6d_bound(frames: Frames, rows: FloatArray, bounds: Bounds) -> FloatArray:
    """Bound after Gram–Schmidt of the denormalised answer."""
    conventions, place = frames.contract.conventions, rotations_of(frames.contract)
    codec = Rot6d(conventions)
    if frames.get("y_raw") is None:
        return gram_schmidt_bound(codec, rows, gamma(COPY), delta_axes(frames, codec))
    # the conditioning depends on the vector before it was made orthonormal
    offset = codec.identity(frames.numbers.bone_count) if IS_RESIDUAL[conventions.output_mode] else 0.0
    six, upstream = frames["y_raw"][..., place] + offset, bounds["y_raw"][..., place]
    return gram_schmidt_bound(codec, six, upstream, delta_axes(frames, codec))


def delta_axes(frames: Frames, codec: Rot6d) -> Replacement:
    """What stands for a lost axis of ΔR."""
    return Replacement(codec.delta_guard, partial(spare_axes, frames, codec, keeps=codec.delta_keeps_axes))


def spare_axes(frames: Frames, codec: Rot6d, *, keeps: bool) -> FloatArray:
    """The axes that stand for lost ones, (T, 6·B)."""
    return published_before(frames, codec) if keeps else codec.identity(frames.numbers.bone_count)


POSE_FIELDS = bone_fields(ROTATIONS, FieldKind.ROT6D, 6)
WHOLE_POSE = Measure("deg", partial(angles_deg, lambda _contract: slice(None)), range=ROTATION_RANGE)
TURN = of_character(
    "turn", "how far each bone turns, six numbers made a rotation", (answer.OUTPUT_MODE, *AXES, answer.REPROJECT, MATH),
    POSE_FIELDS, _delta6d, _delta6d_bound, reach=(1, 0), measure=WHOLE_POSE, is_propagated=True, earlier=("y_out",),
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
        *chosen(frames, MATH, *AXES), REPROJECTS[conventions.reproject][0],
        *chosen(frames, answer.COMPOSE_ORDER, answer.DELTA_DIRECTION), numbers.state[ROTATIONS].start,
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
    return gram_schmidt_bound(codec, rows, unseen + gamma(COMPOSITION), delta_axes(frames, codec))


COMPOSED_POSE = of_character(
    "composed_pose", "each bone's turn applied to its last rotation; reads turns and the raw state",
    (
        answer.OUTPUT_MODE, *AXES, answer.COMPOSE_ORDER, answer.DELTA_DIRECTION, answer.REPROJECT,
        answer.PREVIOUS_POSE_LAG, MATH,
    ),
    POSE_FIELDS, _next6d, _next6d_bound, 2, reach=(1, 1), measure=WHOLE_POSE, is_propagated=True, may_use=("y_raw",),
    planned=_next6d_planned,
)  # fmt: skip

# Published: rotations of the composed pose; everything else of the denormalised answer


def _y_out(frames: Frames) -> FloatArray:
    """The published output: reprojected, in the engine's bone order and handedness."""
    next6d, y_raw, stages = frames["next6d"], frames.get("y_raw"), frames.built(OutputStages)
    if y_raw is None:
        if frames.numbers.output.width != next6d.shape[1]:
            raise NotKnown("y_raw")
        y_raw = next6d  # every output channel is a rotation and is replaced
    return np.asarray(stages.y_out(y_raw, next6d, published_before(frames, stages.codec)))


def _y_out_planned(frames: Frames) -> Step:
    rotations, order = frames.numbers.output[ROTATIONS], bone_permutation(frames.contract)
    words = (
        *chosen(frames, MATH, *AXES), REPROJECTS[frames.contract.conventions.reproject][1], *chosen(frames, answer.MIRROR_AXIS),
        rotations.start, rotations.size, order is not None, *(order or ()),
    )  # fmt: skip
    return Step("published_pose", (Read("next6d"), Read("y_raw"), Read("y_out", -1)), words)


def _y_out_bound(frames: Frames, rows: FloatArray, bounds: Bounds) -> FloatArray:
    """Bound after Gram–Schmidt of the composed pose; other slices are copied."""
    contract, place = frames.contract, rotations_of(frames.contract)
    codec = Rot6d(contract.conventions)
    found = gamma(AFFINE) * np.abs(rows, dtype=np.float64)
    if "y_raw" in bounds:  # other slices come from the answer: inverted features may have larger errors
        found = np.maximum(found, bounds["y_raw"])
    if "next6d" in bounds and contract.conventions.output_mode != "absolute":
        found[..., place] = bounds["next6d"] + gamma(GRAM_SCHMIDT)
        return found
    six = known(frames, "next6d", rows[..., place])
    unseen = network_unseen(contract, six.astype(np.float64), place)
    before = bounds["next6d"] if "next6d" in bounds else unseen + gamma(COMPOSITION)
    spares = partial(spare_axes, frames, codec, keeps=codec.pose_keeps_axes)
    found[..., place] = gram_schmidt_bound(codec, six, before, Replacement(codec.reproject_guard, spares))
    return found


def pose_tolerance_without_contract(poses: FloatArray) -> FloatArray:
    """Bound of published poses (T, 6·B) without a bundle and its statistics.

    The six numbers of a rotation are in [-1, 1], so their std is at most 1 and the network's rounding is not reduced;
    2048 is the longest inner product assumed.
    """
    return np.full(poses.shape, gamma(2048) + gamma(COMPOSITION) + gamma(GRAM_SCHMIDT))


PUBLISHED_POSE = of_character(
    "published_pose", "a pose as the engine publishes it, with the rest of the output",
    (*AXES, answer.REPROJECT, answer.BONE_ORDER, answer.MIRROR_AXIS, MATH), output_fields, _y_out, _y_out_bound, reach=(1, 0),
    measure=Measure(
        "deg", partial(angles_deg, rotations_of), range=ROTATION_RANGE, parts=lambda contract: (rotations_of(contract), 6)
    ),
    is_propagated=True, may_use=("y_raw",), earlier=("y_out",), planned=_y_out_planned,
)  # fmt: skip

# Quaternions: the published rotations as unit quaternions, parent space


def _quat_planned(frames: Frames) -> Step:
    proper = Chosen(DERIVED_AXIS.name, "second_cross_first", 0)
    codec = (proper if knob is DERIVED_AXIS else chosen(frames, knob)[0] for knob in AXES)
    words = (
        *chosen(frames, MATH),
        *codec,
        *chosen(frames, answer.QUATERNION_ORDER),
        frames.numbers.output[ROTATIONS].start,
    )
    return Step("pose_quaternions", (Read("y_out"),), words)


def _quat_bound(frames: Frames, rows: FloatArray, bounds: Bounds) -> FloatArray:
    """A quaternion changes by half the angle error of its rotation."""
    if "y_out" not in bounds:
        return np.full(rows.shape, gamma(QUATERNION) + gamma(COMPOSITION))
    turned = rotation_errors(Rot6d(frames.contract.conventions), bounds["y_out"][..., rotations_of(frames.contract)])
    return spread(gamma(QUATERNION) + 0.5 * turned, 4)


POSE_QUATERNIONS = of_character(
    "pose_quaternions", "the published rotations as unit quaternions",
    (*AXES, answer.BONE_ORDER, answer.MIRROR_AXIS, answer.QUATERNION_ORDER, MATH), bone_fields("", FieldKind.QUATERNION_XYZW, 4),
    lambda frames: np.asarray(frames.built(OutputStages).quat(frames["y_out"])), _quat_bound,
    measure=Measure(
        "deg", lambda _contract, a, b: np.degrees(quaternion_angle_rad(a.astype(np.float64), b.astype(np.float64))),
        has_signless_quaternions=True, range=0.5 * ROTATION_RANGE,
        parts=lambda _contract: (slice(None), 4),
    ),
    is_propagated=True, planned=_quat_planned,
)  # fmt: skip

# Written back: the slices of a free run's raw state that its output updates; the clip's next state where a clip drives


def _output_slices(frames: Frames) -> FloatArray:
    """Copy every output slice whose name and size match a state slice."""
    following: FloatArray = frames["x_raw"].copy()
    for entry in answer.shared_slices(frames.contract):
        following[..., frames.numbers.state[entry.name].range] = frames["y_out"][..., entry.range]
    return following


def _everything(frames: Frames) -> FloatArray:
    """Output slices, and values derived from them: angular velocity of the last step, the new root position."""
    state, following, conventions = frames.numbers.state, _output_slices(frames), frames.contract.conventions
    place, codec, dtype = state[ROTATIONS].range, Rot6d(conventions), compute_dtype(conventions)
    before, after = (codec.decode(x[..., place].astype(dtype)) for x in (frames["x_raw"], following))
    omega = angular_velocity(before, after, frames.fps)
    following[..., state[ANGULAR_VELOCITIES].range] = stored(omega.reshape(*omega.shape[:-2], -1))
    if ROOT_POSITION in state:
        start = state[ROOT_POSITION].start
        following[..., start : start + 2] += following[..., state[ROOT_VELOCITY].range] / np.float32(frames.fps)
    return following


WRITEBACK: Mapping[str, Callable[[Frames], FloatArray]] = {
    "output_slices": _output_slices,
    "none": lambda frames: frames["x_raw"],
    "all": _everything,
}
WRITTEN = Knob("writeback", WRITEBACK)


def _x_raw_next(frames: Frames) -> FloatArray:
    """The next raw state: written back in a free run, the clip's next frame in a teacher-driven run."""
    if frames.mode == "free":
        return np.asarray(frames.pick(WRITTEN)(frames))
    following = np.full((len(frames.frame), frames.numbers.state.width), np.nan, np.float32)
    consecutive = np.flatnonzero(np.diff(frames.frame) == 1)  # what follows the last frame is not known to an engine
    following[consecutive] = (frames.driven if frames.has_drive else frames.__getitem__)("x_raw")[consecutive + 1]
    if not np.isfinite(following).any():
        raise NotKnown("x_raw_next")
    return following


def _written_planned(frames: Frames) -> Step:
    state, shared = frames.numbers.state, answer.shared_slices(frames.contract)
    places = [state[name].start for name in (ROTATIONS, ANGULAR_VELOCITIES, ROOT_VELOCITY)]
    position = state[ROOT_POSITION].start if ROOT_POSITION in state and state[ROOT_POSITION].size >= 2 else -1
    words = (
        *chosen(frames, MATH, *AXES, WRITTEN), *places, position, len(shared),
        *(number for entry in shared for number in (entry.start, state[entry.name].start, entry.size)),
        state[ROTATIONS].size,
    )  # fmt: skip
    return Step("write_back", (Read("x_raw"), Read("y_out"), Read("x_raw", 1, TARGET)), words, (frames.fps,))


def _written_bound(frames: Frames, rows: FloatArray, bounds: Bounds) -> FloatArray:
    """A copy of the state, and of the published slices that the state also has; a driven run has the clip's next state."""
    state, is_free = frames.numbers.state, frames.mode == "free"
    found = gamma(AFFINE) * np.abs(rows, dtype=np.float64)
    if not is_free:
        found = np.maximum(found, raw_state_bound(frames, rows, {}))
    for entry in answer.shared_slices(frames.contract) if "y_out" in bounds else ():
        place = state[entry.name].range
        found[..., place] = np.maximum(found[..., place], bounds["y_out"][..., entry.range])
    if is_free and frames.contract.conventions.writeback == "all":
        _add_derived_motion(frames, frames["x_raw"], rows, found)
    return found


def _add_derived_motion(frames: Frames, x_raw: FloatArray, rows: FloatArray, found: FloatArray) -> None:
    """What follows from the new pose: fps times an angle whose error is that of both poses, however small it is; the root.

    A bone that turns by half a turn turns either way round: within the error of it, the vector may have the other sign.
    """
    state, fps = frames.numbers.state, frames.fps
    codec, place = Rot6d(frames.contract.conventions), state[ROTATIONS].range
    spare = Replacement(codec.delta_guard, lambda: codec.identity(frames.numbers.bone_count))
    poses = (x_raw[..., place], 0.0), (rows[..., place], found[..., place])
    before, after = (rotation_errors(codec, gram_schmidt_bound(codec, pose, error, spare)) for pose, error in poses)
    error, rates = before + after + gamma(COMPOSITION) + gamma(QUATERNION), state[ANGULAR_VELOCITIES].range
    angle = np.linalg.norm(rows[..., rates].reshape(*error.shape, 3).astype(np.float64), axis=-1) / fps
    either_way = spread(angle + error >= np.pi, 3) * 2.0 * np.abs(rows[..., rates], dtype=np.float64)
    found[..., rates] += spread(fps * error, 3) + either_way
    if ROOT_POSITION in state:
        root, velocity = state[ROOT_POSITION].start, found[..., state[ROOT_VELOCITY].range]
        placed = gamma(AFFINE) * np.abs(x_raw[..., root : root + 2], dtype=np.float64)
        found[..., root : root + 2] += placed + velocity / fps


WRITE_BACK = of_character(
    "write_back", "the next raw state, from the raw state and the published output",
    (*CODEC, answer.BONE_ORDER, answer.MIRROR_AXIS, WRITTEN, MATH), state_fields, _x_raw_next, _written_bound, 2, reach=(0, 1),
    is_propagated=True, driven_ahead=1, planned=_written_planned,
)  # fmt: skip
