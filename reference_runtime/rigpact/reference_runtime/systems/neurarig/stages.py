"""The stages of NeuraRig, each with the variants of other conventions.

Every function takes frames and returns float32 rows (N, width); the arithmetic in between is float64. Centimetres.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from rigpact.contract.conventions import Knob
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.neurarig import BONES, ENGINE_POSE, JOINTS, SIDES
from rigpact.contract.systems.neurarig import PACKET as _FRAME
from rigpact.contract.systems.stage import Bounds, Frames
from rigpact.reference_runtime.operations.definitions.quaternions import (
    FRAMES,
    FROM_XYZW,
    PRODUCTS,
    TURNS,
    product,
    rotated,
    unit_or_identity,
)
from rigpact.reference_runtime.operations.definitions.scaling import LENGTHS
from rigpact.reference_runtime.operations.precision import stored
from rigpact.reference_runtime.operations.rounding import gamma
from rigpact.reference_runtime.vocabulary.rounding_bounds import of_result

_POSITIONS = np.array([field.unit == "cm" for field in _FRAME for _ in range(field.size)])
_QUATERNIONS = [field.start for field in _FRAME if field.name.endswith("_quat")]
_PELVIS, _PELVIS_QUAT = _FRAME["pelvis_pos"].range, _FRAME["pelvis_quat"].range
_LEG_BEGIN, _LEG_END = _FRAME["thigh_r_pos"].start, _FRAME["ground_normal_r"].start
TURNED_FIELDS = tuple(f"{bone}_quat" for bone in BONES)
"""The fields of the engine's pose that receive the reply's rotations, in the reply's order."""
_TURNED = [channel for name in TURNED_FIELDS for channel in range(ENGINE_POSE[name].start, ENGINE_POSE[name].stop)]
_ROTATE, _KINEMATICS, _NORMALISE = 24, 96, 12
"""Operations of the longest chains: a rotated difference; two joints of a leg; a length, its root, a quotient."""


def _tail(*names: str) -> list[int]:
    return [channel for name in names for channel in range(_FRAME[name].start, _FRAME[name].stop)]


def _by_side(*names: str) -> list[int]:
    return _tail(*(name.format(side) for side in SIDES for name in names))


TARGET_SPACE = Knob(
    "target_space",
    {
        "pelvis": FRAMES["into_frame"],
        "world": lambda target, _p, _q: target,
        "forward_transform": FRAMES["into_frame_turned_forward"],
        "relative_not_turned": FRAMES["into_frame_not_turned"],
    },
    "the space in which foot targets are sent",
    {
        "world": "targets are sent in the pelvis' space: R(q)^-1 (target - p)",
        "forward_transform": "into the pelvis' space is the inverse rotation, not the rotation",
        "relative_not_turned": "the pelvis' rotation is missing: R(q)^-1 (target - p)",
    },
)
NORMAL_SPACE = Knob(
    "normal_space",
    {"pelvis": TURNS["inverse"], "world": TURNS["none"]},
    "the space in which ground normals are sent",
    {"world": "ground normals are sent in the pelvis' space, turned and not moved"},
)
QUATERNION_ORDER = Knob(
    "quaternion_order", FROM_XYZW, "the order of a quaternion's components in the packet",
    {"wxyz": "w is last; glm and Eigen constructors take it first"},
)  # fmt: skip
HANDEDNESS = Knob(
    "handedness", {"unreal": 1.0, "right_handed": -1.0}, "the sign of x and y of every quaternion that is sent",
    {"right_handed": "Unreal's rotator to quaternion has x and y negated against the right-handed formula"},
)  # fmt: skip
UNIT = Knob(
    "unit", {"cm": 1.0, "m": 0.01}, "the unit of positions in the packet", {"m": "positions are sent in centimetres"}
)
TAIL_ORDER = Knob(
    "tail_order",
    {
        "normals_hits_targets": list(range(_LEG_END, _FRAME.width)),
        "targets_normals_hits_by_side": _by_side("foot_{}_target", "ground_normal_{}", "has_hit_{}"),
    },
    "the order of the ground and the targets behind the bones",
    {"targets_normals_hits_by_side": "an older schema of as many floats: normals and hits come before both targets"},
)
CHAIN_ORDER = Knob(
    "chain_order", {"right_first": 0, "left_first": (_LEG_END - _LEG_BEGIN) // 2}, "the leg whose bones are sent first",
    {"left_first": "the right leg is first, in what is sent and in the reply"},
)  # fmt: skip
INPUT_COPY = Knob(
    "input_copy", {"whole": 4 * _FRAME.width, "63_bytes": 63}, "how many bytes of the packet the server copies",
    {"63_bytes": "memcpy counts bytes: 63 floats are 252; the rest stays zero, and training 'converges' at once"},
)  # fmt: skip
INPUT_SCALE = Knob(
    "input_scale", {"hundredth": lambda scale: scale, "none": lambda _scale: 1.0}, "the factor of positions before the network",
    {"none": "the network was trained on metres: positions times 0.01"},
)  # fmt: skip
NORMALISATION = Knob(
    "normalisation", {"unit": unit_or_identity, "none": lambda raw: raw}, "whether the network's quaternions are made unit",
    {"none": "the network's quaternions are not unit: normalise before any use"},
)  # fmt: skip
QUATERNION_SIGN = Knob(
    "quaternion_sign",
    {"w_not_negative": lambda unit: np.where(unit[..., 3:] < 0.0, -unit, unit), "as_it_comes": lambda unit: unit},
    "which of q and -q is sent back",
    {"as_it_comes": "q and -q are one rotation: flip where w < 0, or interpolation takes the long way"},
)
REPLY_LENGTH = Knob(
    "reply_length", {"97_bytes": 24, "25_bytes": 6}, "how many of the reply's numbers arrive",
    {"25_bytes": "the reply is 1 + 24 * 4 bytes; size() counts floats, so only six arrive"},
)  # fmt: skip
REPLY_ORDER = Knob(
    "reply_order", FROM_XYZW, "the order of a quaternion's components in the reply",
    {"wxyz": "the reply has w last"},
)  # fmt: skip
BONE_AXIS = Knob(
    "bone_axis",
    {
        "x_mirrored": lambda axes: axes,
        "x_both": lambda axes: np.stack([axes[0], axes[0]]),
        "minus_z": lambda axes: np.broadcast_to(np.array([0.0, 0.0, -1.0]), axes.shape),
    },
    "the axis of its parent along which a leg's next bone lies",
    {"x_both": "the left leg's bones run along -x", "minus_z": "this rig's bones run along x, not along -z"},
)
MULTIPLICATION = Knob(
    "multiplication", {"parent_child": product, "child_parent": PRODUCTS["second_first"]},
    "the order in which a parent's rotation and a local one are multiplied",
    {"child_parent": "world = parent * local; for quaternions too"},
)  # fmt: skip
FK_SPACE = Knob(
    "fk_space",
    {
        "world": lambda p, q: (p, q),
        "pelvis": lambda p, q: (np.zeros_like(p), np.broadcast_to((0.0, 0.0, 0.0, 1.0), q.shape)),
    },
    "the space in which kinematics place the joints",
    {"pelvis": "positions are in world space: p + R(q) v"},
)
LEG_LENGTHS = Knob(
    "leg_lengths",
    {
        "declared": lambda femur, tibia: (femur, tibia),
        "rounded": lambda femur, tibia: (np.round(femur - 0.0021, 2), np.round(tibia - 0.0055, 2)),
        "swapped": lambda femur, tibia: (tibia, femur),
    },
    "the lengths of thigh and calf that kinematics take",
    {"rounded": "45.75 and 41.70 are rounded; use the contract's lengths", "swapped": "femur first, tibia second"},
)
ERROR_TARGET = Knob(
    "error_target", {"world": "engine_pose", "pelvis_target_as_world": "packet"}, "the stage that holds the feet's targets",
    {"pelvis_target_as_world": "compare with the target in world space: p + R(q) target"},
)  # fmt: skip


def packet(frames: Frames) -> FloatArray:
    """The sent packet, (N, 63): targets and normals in the pelvis' space, all other fields as in the engine's pose."""
    frame = frames["engine_pose"].astype(np.float64)
    p, q = frame[:, _PELVIS], unit_or_identity(frame[:, _PELVIS_QUAT])
    sent: FloatArray = frame.copy()
    for side in SIDES:
        target, normal = _FRAME[f"foot_{side}_target"].range, _FRAME[f"ground_normal_{side}"].range
        sent[:, target] = frames.pick(TARGET_SPACE)(frame[:, target], p, q)
        sent[:, normal] = rotated(frames.pick(NORMAL_SPACE)(q), frame[:, normal])
    for start in _QUATERNIONS:
        sent[:, start : start + 2] *= frames.pick(HANDEDNESS)
    sent = _reordered(sent, _QUATERNIONS, frames.pick(QUATERNION_ORDER))
    sent[:, _POSITIONS] *= frames.pick(UNIT)
    sent[:, _LEG_BEGIN:_LEG_END] = np.roll(sent[:, _LEG_BEGIN:_LEG_END], frames.pick(CHAIN_ORDER), axis=1)
    sent[:, _LEG_END:] = sent[:, frames.pick(TAIL_ORDER)]
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
    turned = np.arange(rows.shape[1]) >= _LEG_END
    return np.where(turned, bound + gamma(_ROTATE) * np.where(_POSITIONS, largest + reach, 2.0), bound)


def model_input(frames: Frames) -> FloatArray:
    """The network's inputs from the packet, (N, 63)."""
    rows = first_bytes(frames["packet"], frames.pick(INPUT_COPY))
    scale = frames.pick(INPUT_SCALE)(frames.numbers.position_scale)
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
    unit = frames.pick(NORMALISATION)(raw.reshape(len(raw), -1, 4))
    return stored(frames.pick(QUATERNION_SIGN)(unit).reshape(len(raw), -1))


def rotations_bound(_frames: Frames, rows: FloatArray, _upstream: Bounds) -> FloatArray:
    """Roundings of a unit quaternion. If w is zero within rounding, the sign is undefined and not judged."""
    quats = rows.astype(np.float64).reshape(len(rows), -1, 4)
    bound = np.broadcast_to(gamma(_NORMALISE) * np.maximum(np.abs(quats).max(axis=2, keepdims=True), 1.0), quats.shape)
    undecided = np.abs(quats[..., 3:]) <= gamma(_NORMALISE)
    return np.where(undecided, np.nan, bound).reshape(rows.shape)


def reply(frames: Frames) -> FloatArray:
    """The reply as the engine reads it, (N, 24)."""
    rows = frames["rotations"]
    rows = _reordered(rows, range(0, rows.shape[1], 4), frames.pick(REPLY_ORDER))
    rows[:, frames.pick(REPLY_LENGTH) :] = 0.0
    return rows


def joints(frames: Frames) -> FloatArray:
    """Hip, knee and foot of both legs under the reply, (N, 18) in world space."""
    frame, answer, rig = frames["engine_pose"].astype(np.float64), frames["reply"].astype(np.float64), frames.numbers
    pelvis = frames.pick(FK_SPACE)(frame[:, _PELVIS], unit_or_identity(frame[:, _PELVIS_QUAT]))
    lengths = frames.pick(LEG_LENGTHS)(rig.femur_cm, rig.tibia_cm)
    axes = frames.pick(BONE_AXIS)(rig.bone_axes)
    legs = []
    for leg, side in enumerate(SIDES):
        hip = frame[:, _FRAME[f"thigh_{side}_pos"].range]
        turns = [unit_or_identity(answer[:, 4 * place : 4 * place + 4]) for place in (3 * leg, 3 * leg + 1)]
        bones = [axes[leg] * float(length[leg]) for length in lengths]
        legs.append(leg_joints(pelvis, hip, turns, bones, frames.pick(MULTIPLICATION)))
    return stored(np.hstack(legs))


def leg_joints(
    pelvis: tuple[FloatArray, FloatArray],
    hip_cm: FloatArray,
    turns: Sequence[FloatArray],
    bones_cm: Sequence[FloatArray],
    multiply: Callable[[FloatArray, FloatArray], FloatArray] = product,
) -> FloatArray:
    """Hip, knee and foot (N, 9) of one leg: pelvis (p, q), the hip in its space, local rotations of thigh and calf.

    hip = p + R(q) h; each next joint = the one before + R(Q) b with Q = parent times local, b along the bone.
    """
    (place, turn), found = pelvis, []
    place = place + rotated(turn, hip_cm)
    found.append(place)
    for local, bone in zip(turns, bones_cm, strict=True):
        turn = unit_or_identity(multiply(turn, local))
        place = place + rotated(turn, bone)
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
    places, source = (frames[name].astype(np.float64) for name in ("joints", frames.pick(ERROR_TARGET)))
    errors = []
    for side in SIDES:
        start = 3 * JOINTS.index(f"foot_{side}")
        difference = places[:, start : start + 3] - source[:, _FRAME[f"foot_{side}_target"].range]
        errors.append(LENGTHS["euclidean"](difference))
    return stored(np.stack(errors, axis=1))


def error_bound(frames: Frames, _rows: FloatArray, _upstream: Bounds) -> FloatArray:
    """The distance of two stored positions has the rounding error of the larger one."""
    places, frame = (np.abs(frames[name].astype(np.float64)) for name in ("joints", "engine_pose"))
    bounds = []
    for side in SIDES:
        start = 3 * JOINTS.index(f"foot_{side}")
        target = frame[:, _FRAME[f"foot_{side}_target"].range].sum(axis=1)
        bounds.append(gamma(8) * (places[:, start : start + 3].sum(axis=1) + target))
    return np.stack(bounds, axis=1)


def network_bound(_frames: Frames, rows: FloatArray, _upstream: Bounds) -> FloatArray:
    """Another order of summation of 64 products, three layers deep; sums stay within a few times the largest answer."""
    largest = np.abs(rows.astype(np.float64)).max(axis=1, keepdims=True)
    return np.broadcast_to(1e-5 * (1.0 + largest), rows.shape)


def engine_pose_next(frames: Frames) -> FloatArray:
    """The engine's pose with the rotations of the reply, (N, 63); all other fields stay unchanged."""
    rows = frames["engine_pose"].copy()
    rows[:, _TURNED] = frames["reply"]
    return rows
