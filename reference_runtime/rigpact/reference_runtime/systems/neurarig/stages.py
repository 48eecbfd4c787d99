"""The stages of NeuraRig; knobs.py has the variants of other conventions.

Every function takes frames and returns float32 rows (N, width); the arithmetic in between is float64. Centimetres.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.neurarig import BONES, ENGINE_POSE, JOINTS, SIDES
from rigpact.contract.systems.neurarig import PACKET as _FRAME
from rigpact.contract.systems.stage import Bounds, Frames
from rigpact.reference_runtime.operations.definitions.quaternions import product, rotated, unit_or_identity
from rigpact.reference_runtime.operations.definitions.scaling import LENGTHS
from rigpact.reference_runtime.operations.precision import stored
from rigpact.reference_runtime.operations.rounding import gamma
from rigpact.reference_runtime.systems.neurarig import knobs
from rigpact.reference_runtime.systems.neurarig.knobs import LEG_BEGIN, LEG_END
from rigpact.reference_runtime.vocabulary.rounding_bounds import of_result

_POSITIONS = np.array([field.unit == "cm" for field in _FRAME for _ in range(field.size)])
_QUATERNIONS = [field.start for field in _FRAME if field.name.endswith("_quat")]
_PELVIS, _PELVIS_QUAT = _FRAME["pelvis_pos"].range, _FRAME["pelvis_quat"].range
TURNED_FIELDS = tuple(f"{bone}_quat" for bone in BONES)
"""The fields of the engine's pose that receive the reply's rotations, in the reply's order."""
_TURNED = [channel for name in TURNED_FIELDS for channel in range(ENGINE_POSE[name].start, ENGINE_POSE[name].stop)]
_ROTATE, _KINEMATICS, _NORMALISE = 24, 96, 12
"""Operations of the longest chains: a rotated difference; two joints of a leg; a length, its root, a quotient."""


def packet(frames: Frames) -> FloatArray:
    """The sent packet, (N, 63): targets and normals in the pelvis' space, all other fields as in the engine's pose."""
    frame = frames["engine_pose"].astype(np.float64)
    p, q = frame[:, _PELVIS], unit_or_identity(frame[:, _PELVIS_QUAT])
    sent: FloatArray = frame.copy()
    for side in SIDES:
        target, normal = _FRAME[f"foot_{side}_target"].range, _FRAME[f"ground_normal_{side}"].range
        sent[:, target] = frames.pick(knobs.TARGET_SPACE)(frame[:, target], p, q)
        sent[:, normal] = rotated(frames.pick(knobs.NORMAL_SPACE)(q), frame[:, normal])
    for start in _QUATERNIONS:
        sent[:, start : start + 2] *= frames.pick(knobs.HANDEDNESS)
    sent = _reordered(sent, _QUATERNIONS, frames.pick(knobs.QUATERNION_ORDER))
    sent[:, _POSITIONS] *= frames.pick(knobs.UNIT)
    sent[:, LEG_BEGIN:LEG_END] = np.roll(sent[:, LEG_BEGIN:LEG_END], frames.pick(knobs.CHAIN_ORDER), axis=1)
    sent[:, LEG_END:] = sent[:, frames.pick(knobs.TAIL_ORDER)]
    return stored(sent)


def _reordered(rows: FloatArray, starts: Iterable[int], order: Sequence[int]) -> FloatArray:
    """Rows in which the four numbers from each start are reordered."""
    result = rows.copy()
    for start in starts:
        result[:, start : start + 4] = rows[:, start : start + 4][:, order]
    return result


def packet_bound(frames: Frames, rows: FloatArray, _upstream: Bounds) -> FloatArray:
    """A target is a rotated difference of two positions: its error is the rounding of the positions."""
    frame = np.abs(frames["engine_pose"].astype(np.float64))
    largest = frame[:, _PELVIS].sum(axis=1, keepdims=True)
    reach = np.maximum(*(frame[:, _FRAME[f"foot_{side}_target"].range].sum(axis=1, keepdims=True) for side in SIDES))
    bound = gamma(2) * np.abs(rows.astype(np.float64))
    turned = np.arange(rows.shape[1]) >= LEG_END
    return np.where(turned, bound + gamma(_ROTATE) * np.where(_POSITIONS, largest + reach, 2.0), bound)


def model_input(frames: Frames) -> FloatArray:
    """The network's inputs from the packet, (N, 63)."""
    rows = first_bytes(frames["packet"], frames.pick(knobs.INPUT_COPY))
    scale = frames.pick(knobs.INPUT_SCALE)(frames.numbers.position_scale)
    return stored(np.where(_POSITIONS, scale, 1.0) * rows.astype(np.float64))


def first_bytes(rows: FloatArray, count: int) -> FloatArray:
    """Rows of float32 with only the first `count` bytes copied (little-endian); the rest is zero."""
    raw = np.ascontiguousarray(rows, "<f4").view(np.uint8).copy()
    raw[:, count:] = 0
    return raw.view("<f4").astype(np.float32)


copied_bound = of_result(3)
"""Copied, or times a constant."""


def rotations(frames: Frames) -> FloatArray:
    """The network's quaternions as the runtime uses them, (N, 24): unit, w not negative."""
    raw = frames["raw_rotations"].astype(np.float64)
    unit = frames.pick(knobs.NORMALISATION)(raw.reshape(len(raw), -1, 4))
    return stored(frames.pick(knobs.QUATERNION_SIGN)(unit).reshape(len(raw), -1))


def rotations_bound(_frames: Frames, rows: FloatArray, _upstream: Bounds) -> FloatArray:
    """Roundings of a unit quaternion. If w is zero within rounding, the sign is undefined and not judged."""
    quats = rows.astype(np.float64).reshape(len(rows), -1, 4)
    bound = np.broadcast_to(gamma(_NORMALISE) * np.maximum(np.abs(quats).max(axis=2, keepdims=True), 1.0), quats.shape)
    undecided = np.abs(quats[..., 3:]) <= gamma(_NORMALISE)
    return np.where(undecided, np.nan, bound).reshape(rows.shape)


def reply(frames: Frames) -> FloatArray:
    """The reply as the engine reads it, (N, 24)."""
    rows = frames["rotations"]
    rows = _reordered(rows, range(0, rows.shape[1], 4), frames.pick(knobs.REPLY_ORDER))
    rows = np.roll(rows, frames.pick(knobs.REPLY_LEGS), axis=1)
    rows[:, frames.pick(knobs.REPLY_LENGTH) :] = 0.0
    return rows


def joints(frames: Frames) -> FloatArray:
    """Hip, knee and foot of both legs under the reply, (N, 18) in world space."""
    frame, answer, rig = frames["engine_pose"].astype(np.float64), frames["reply"].astype(np.float64), frames.numbers
    pelvis = frames.pick(knobs.FK_SPACE)(frame[:, _PELVIS], unit_or_identity(frame[:, _PELVIS_QUAT]))
    lengths = frames.pick(knobs.LEG_LENGTHS)(rig.femur_cm, rig.tibia_cm)
    axes = frames.pick(knobs.BONE_AXIS)(rig.bone_axes)
    offset, ways = frames.pick(knobs.HIP_OFFSET), _ways(frames)
    legs = []
    for leg, side in enumerate(SIDES):
        start = _FRAME[f"thigh_{side}_pos"].start + offset
        hip = frame[:, start : start + 3]
        turns = [unit_or_identity(answer[:, 4 * place : 4 * place + 4]) for place in range(3 * leg, 3 * leg + 3)]
        bones = [axes[leg] * float(length[leg]) for length in lengths]
        legs.append(leg_joints(pelvis, hip, turns, bones, ways))
    return stored(np.hstack(legs))


def _ways(frames: Frames) -> Ways:
    return Ways(frames.pick(knobs.MULTIPLICATION), frames.pick(knobs.TURNING), frames.pick(knobs.BONE_TURN))


class Ways(NamedTuple):
    """How kinematics of a leg are done.

    multiply: parent and local; read: a quaternion as the formula that turns a vector reads it; placed_by: the bones whose
    rotations place knee and foot, counted from the thigh; -1 is the pelvis.
    """

    multiply: Callable[[FloatArray, FloatArray], FloatArray] = product
    read: Callable[[FloatArray], FloatArray] = lambda q: q
    placed_by: Sequence[int] = (0, 1)


def leg_joints(
    pelvis: tuple[FloatArray, FloatArray],
    hip_cm: FloatArray,
    turns: Sequence[FloatArray],
    bones_cm: Sequence[FloatArray],
    ways: Ways | None = None,
) -> FloatArray:
    """Hip, knee and foot (N, 9) of one leg: pelvis (p, q), the hip in its space, local rotations of thigh and calf.

    hip = p + R(q) h; each next joint = the one before + R(Q) b with Q = parent times local, b along the bone.
    """
    ways = ways or Ways()
    (place, turn), found = pelvis, []
    chain = [turn]
    for local in turns:
        chain.append(unit_or_identity(ways.multiply(chain[-1], local)))
    place = place + rotated(ways.read(turn), hip_cm)
    found.append(place)
    for bone, placed_by in zip(bones_cm, ways.placed_by, strict=True):
        place = place + rotated(ways.read(chain[placed_by + 1]), bone)
        found.append(place)
    return np.concatenate(found, axis=-1)


def joints_bound(frames: Frames, rows: FloatArray, _upstream: Bounds) -> FloatArray:
    """The bound of a position: the roundings of all terms in its sum."""
    frame = np.abs(frames["engine_pose"].astype(np.float64))
    hips = [frame[:, _FRAME[f"thigh_{side}_pos"].range].sum(axis=1) for side in SIDES]
    reach = float((frames.numbers.femur_cm + frames.numbers.tibia_cm).max())
    largest = frame[:, _PELVIS].sum(axis=1) + np.maximum(*hips) + reach
    return np.broadcast_to(gamma(_KINEMATICS) * largest[:, None], rows.shape)


def foot_error(frames: Frames) -> FloatArray:
    """Distance of each foot from its target, (N, 2)."""
    frame, sent, places = (frames[name].astype(np.float64) for name in ("engine_pose", "packet", "joints"))
    p, q = frame[:, _PELVIS], unit_or_identity(frame[:, _PELVIS_QUAT])
    errors = []
    for side in SIDES:
        start, target = 3 * JOINTS.index(f"foot_{side}"), _FRAME[f"foot_{side}_target"].range
        wanted = frames.pick(knobs.ERROR_TARGET)(frame[:, target], sent[:, target], p, q)
        errors.append(frames.pick(knobs.ERROR_LENGTH)(places[:, start : start + 3] - wanted))
    return stored(np.stack(errors, axis=1))


def error_bound(frames: Frames, rows: FloatArray, _upstream: Bounds) -> FloatArray:
    """The distance of two stored positions has the rounding error of the larger one; a square 2 d times that."""
    places, frame = (np.abs(frames[name].astype(np.float64)) for name in ("joints", "engine_pose"))
    bounds = []
    for side in SIDES:
        start = 3 * JOINTS.index(f"foot_{side}")
        # a target that is turned back into the world is moved by the pelvis
        target = (frame[:, _FRAME[f"foot_{side}_target"].range] + frame[:, _PELVIS]).sum(axis=1)
        bounds.append(gamma(_ROTATE) * (places[:, start : start + 3].sum(axis=1) + target))
    bound: FloatArray = np.stack(bounds, axis=1)
    if frames.pick(knobs.ERROR_LENGTH) is LENGTHS["squared"]:
        return np.asarray((2.0 * np.sqrt(rows.astype(np.float64)) + bound) * bound + gamma(1) * rows)
    return bound


def network_bound(_frames: Frames, rows: FloatArray, _upstream: Bounds) -> FloatArray:
    """Another order of summation of 64 products, three layers deep; sums stay within a few times the largest answer."""
    largest = np.abs(rows.astype(np.float64)).max(axis=1, keepdims=True)
    return np.broadcast_to(1e-5 * (1.0 + largest), rows.shape)


def engine_pose_next(frames: Frames) -> FloatArray:
    """The engine's pose with the rotations of the reply, (N, 63); all other fields stay unchanged."""
    rows = frames["engine_pose"].copy()
    rows[:, _TURNED] = frames["reply"]
    return rows
