"""The stages of NeuraRig, each with what another reading of the contract would make of it.

Every function takes rows (T, width) and returns float32 rows; the arithmetic in between is float64. Centimetres.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.definition import Choices
from rigpact.contract.systems.neurarig import DEFINITION, JOINTS, SIDES, LegConstants
from rigpact.reference_runtime.operations.precision import stored
from rigpact.reference_runtime.systems.enemy_animation.tolerances import gamma
from rigpact.reference_runtime.systems.neurarig.quaternions import conjugate, normalised, product, rotated
from rigpact.reference_runtime.systems.stage_graph import Stages

_FRAME = DEFINITION.vectors["packet"]
_POSITIONS = np.array([field.unit == "cm" for field in _FRAME for _ in range(field.size)])
_QUATERNIONS = [field.start for field in _FRAME if field.name.endswith("_quat")]
_PELVIS, _PELVIS_QUAT = _FRAME["pelvis_pos"].range, _FRAME["pelvis_quat"].range
_LEG_BEGIN, _LEG_END = _FRAME["thigh_r_pos"].start, _FRAME["ground_normal_r"].start
_W_FIRST = [3, 0, 1, 2]
"""Where a reader that has w first finds x, y, z, w of four numbers."""
_BYTES_TAKEN = 63
_SHORT_REPLY = 6
_ROTATE, _KINEMATICS, _NORMALISE = 24, 96, 12
"""Operations on the longest chain: a difference turned; two joints down a leg; a length, its root, a quotient."""

ENGINE_TO_PACKET_TARGET: Mapping[str, Callable[[FloatArray, FloatArray, FloatArray], FloatArray]] = {
    "pelvis": lambda target, p, q: rotated(conjugate(q), target - p),
    "world": lambda target, _p, _q: target,
    "forward_transform": lambda target, p, q: rotated(q, target - p),
    "relative_not_turned": lambda target, p, _q: target - p,
}
NORMAL_SPACE: Mapping[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "pelvis": lambda normal, q: rotated(conjugate(q), normal),
    "world": lambda normal, _q: normal,
}
UNIT: Mapping[str, float] = {"cm": 1.0, "m": 0.01}
MULTIPLICATION: Mapping[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "parent_child": product,
    "child_parent": lambda parent, child: product(child, parent),
}
LEG_LENGTHS: Mapping[str, Callable[[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]] = {
    "declared": lambda femur, tibia: (femur, tibia),
    "rounded": lambda femur, tibia: (np.round(femur - 0.0021, 2), np.round(tibia - 0.0055, 2)),
    "swapped": lambda femur, tibia: (tibia, femur),
}
BONE_AXES: Mapping[str, Callable[[FloatArray], FloatArray]] = {
    "x_mirrored": lambda axes: axes,
    "x_both": lambda axes: np.stack([axes[0], axes[0]]),
    "minus_z": lambda axes: np.broadcast_to(np.array([0.0, 0.0, -1.0]), axes.shape),
}


def packet(stages: Stages, choices: Choices) -> FloatArray:
    """What is sent, (T, 63): targets and normals in the pelvis' space, everything else as the engine has it."""
    frame = stages["engine_pose"].astype(np.float64)
    p, q = frame[:, _PELVIS], normalised(frame[:, _PELVIS_QUAT])
    sent: FloatArray = frame.copy()
    for side in SIDES:
        target, normal = _FRAME[f"foot_{side}_target"].range, _FRAME[f"ground_normal_{side}"].range
        sent[:, target] = ENGINE_TO_PACKET_TARGET[choices["target_space"]](frame[:, target], p, q)
        sent[:, normal] = NORMAL_SPACE[choices["normal_space"]](frame[:, normal], q)
    if choices["handedness"] == "right_handed":
        for start in _QUATERNIONS:
            sent[:, start : start + 2] *= -1.0
    if choices["quaternion_order"] == "wxyz":
        sent = _w_first(sent, _QUATERNIONS)
    sent[:, _POSITIONS] *= UNIT[choices["unit"]]
    if choices["chain_order"] == "left_first":
        sent[:, _LEG_BEGIN:_LEG_END] = np.roll(sent[:, _LEG_BEGIN:_LEG_END], (_LEG_END - _LEG_BEGIN) // 2, axis=1)
    if choices["tail_order"] == "targets_normals_hits_by_side":
        sent[:, _LEG_END:] = sent[:, _OLDER_TAIL]
    return stored(sent)


def _tail(*names: str) -> list[int]:
    return [channel for name in names for channel in range(_FRAME[name].start, _FRAME[name].stop)]


_OLDER_TAIL = _tail(
    *(name for side in SIDES for name in (f"foot_{side}_target", f"ground_normal_{side}", f"has_hit_{side}"))
)


def _w_first(rows: FloatArray, starts: Iterable[int]) -> FloatArray:
    """Quaternions at these starts written w first."""
    result = rows.copy()
    for start in starts:
        result[:, start : start + 4] = rows[:, start : start + 4][:, _W_FIRST]
    return result


def packet_bound(stages: Stages, computed: FloatArray) -> FloatArray:
    """A target is the difference of two places, turned: off by a rounding of either, whatever the size of the difference."""
    frame = np.abs(stages["engine_pose"].astype(np.float64))
    largest = frame[:, _PELVIS].sum(axis=1, keepdims=True)
    reach = np.maximum(*(frame[:, _FRAME[f"foot_{side}_target"].range].sum(axis=1, keepdims=True) for side in SIDES))
    bound = gamma(2) * np.abs(computed.astype(np.float64))
    turned = np.arange(computed.shape[1]) >= _LEG_END
    return np.where(turned, bound + gamma(_ROTATE) * np.where(_POSITIONS, largest + reach, 2.0), bound)


def model_input_of(rig: LegConstants) -> Callable[[Stages, Choices], FloatArray]:
    """The stage that makes of the packet what the network sees, (T, 63)."""
    scales: Mapping[str, float] = {"hundredth": rig.position_scale, "none": 1.0}

    def model_input(stages: Stages, choices: Choices) -> FloatArray:
        rows = stages["packet"]
        if choices["input_copy"] == "63_bytes":
            rows = first_bytes(rows, _BYTES_TAKEN)
        return stored(np.where(_POSITIONS, scales[choices["input_scale"]], 1.0) * rows.astype(np.float64))

    return model_input


def first_bytes(rows: FloatArray, count: int) -> FloatArray:
    """Rows of float32 of which only the first `count` bytes, little-endian, were copied; the rest is zero."""
    raw = np.ascontiguousarray(rows, "<f4").view(np.uint8).copy()
    raw[:, count:] = 0
    return raw.view("<f4").astype(np.float32)


def copied_bound(_stages: Stages, computed: FloatArray) -> FloatArray:
    """Copied, or times a constant."""
    return gamma(3) * np.abs(computed.astype(np.float64))


def rotations(stages: Stages, choices: Choices) -> FloatArray:
    """The network's quaternions as the runtime uses them, (T, 24): unit, w not negative."""
    raw = stages["raw_rotations"].astype(np.float64).reshape(len(stages["raw_rotations"]), -1, 4)
    unit = normalised(raw) if choices["normalisation"] == "unit" else raw
    if choices["quaternion_sign"] == "w_not_negative":
        unit = np.where(unit[..., 3:] < 0.0, -unit, unit)
    return stored(unit.reshape(len(raw), -1))


def rotations_bound(_stages: Stages, computed: FloatArray) -> FloatArray:
    """A unit quaternion's roundings; of one whose w is zero within them, the sign is a matter of chance and not judged."""
    rows = computed.astype(np.float64).reshape(len(computed), -1, 4)
    bound = np.broadcast_to(gamma(_NORMALISE) * np.maximum(np.abs(rows).max(axis=2, keepdims=True), 1.0), rows.shape)
    undecided = np.abs(rows[..., 3:]) <= gamma(_NORMALISE)
    return np.where(undecided, np.nan, bound).reshape(computed.shape)


def reply(stages: Stages, choices: Choices) -> FloatArray:
    """What arrives at the engine, (T, 24), read as it is sent."""
    rows = stages["rotations"].copy()
    if choices["reply_order"] == "wxyz":
        rows = _w_first(rows, range(0, rows.shape[1], 4))
    if choices["reply_length"] == "25_bytes":
        rows[:, _SHORT_REPLY:] = 0.0
    return rows


def joints_of(rig: LegConstants) -> Callable[[Stages, Choices], FloatArray]:
    """The stage that puts the legs where the reply has them: hip, knee and foot of each, (T, 18) in world space."""

    def joints(stages: Stages, choices: Choices) -> FloatArray:
        frame, answer = (stages[name].astype(np.float64) for name in ("engine_pose", "reply"))
        p, q = frame[:, _PELVIS], normalised(frame[:, _PELVIS_QUAT])
        if choices["fk_space"] == "pelvis":
            p, q = np.zeros_like(p), np.broadcast_to(np.array([0.0, 0.0, 0.0, 1.0]), q.shape)
        lengths = LEG_LENGTHS[choices["leg_lengths"]](rig.femur_cm, rig.tibia_cm)
        axes = BONE_AXES[choices["bone_axis"]](rig.bone_axes)
        legs = []
        for leg, side in enumerate(SIDES):
            hip = frame[:, _FRAME[f"thigh_{side}_pos"].range]
            turns = [normalised(answer[:, 4 * place : 4 * place + 4]) for place in (3 * leg, 3 * leg + 1)]
            bones = [axes[leg] * float(length[leg]) for length in lengths]
            legs.append(leg_joints((p, q), hip, turns, bones, MULTIPLICATION[choices["multiplication"]]))
        return stored(np.hstack(legs))

    return joints


def leg_joints(
    pelvis: tuple[FloatArray, FloatArray],
    hip_cm: FloatArray,
    turns: Sequence[FloatArray],
    bones_cm: Sequence[FloatArray],
    multiply: Callable[[FloatArray, FloatArray], FloatArray] = product,
) -> FloatArray:
    """Hip, knee and foot (T, 9) of one leg: pelvis (p, q), the hip in its space, local rotations of thigh and calf.

    hip = p + R(q) h; each next joint = the one before + R(Q) b with Q = parent times local, b along the bone.
    """
    (place, turn), found = pelvis, []
    place = place + rotated(turn, hip_cm)
    found.append(place)
    for local, bone in zip(turns, bones_cm, strict=True):
        turn = normalised(multiply(turn, local))
        place = place + rotated(turn, bone)
        found.append(place)
    return np.concatenate(found, axis=-1)


def joints_bound_of(rig: LegConstants) -> Callable[[Stages, FloatArray], FloatArray]:
    """The bound of a place: roundings of everything that is added up on the way to it."""
    reach = float((rig.femur_cm + rig.tibia_cm).max())

    def joints_bound(stages: Stages, computed: FloatArray) -> FloatArray:
        frame = np.abs(stages["engine_pose"].astype(np.float64))
        hips = [frame[:, _FRAME[f"thigh_{side}_pos"].range].sum(axis=1) for side in SIDES]
        largest = frame[:, _PELVIS].sum(axis=1) + np.maximum(*hips) + reach
        return np.broadcast_to(gamma(_KINEMATICS) * largest[:, None], computed.shape)

    return joints_bound


def foot_error(stages: Stages, choices: Choices) -> FloatArray:
    """Distance of each foot from its target, (T, 2)."""
    frame, places = stages["engine_pose"].astype(np.float64), stages["joints"].astype(np.float64)
    sent = stages["packet"].astype(np.float64)
    source = frame if choices["error_target"] == "world" else sent
    errors = []
    for side in SIDES:
        start = 3 * JOINTS.index(f"foot_{side}")
        difference = places[:, start : start + 3] - source[:, _FRAME[f"foot_{side}_target"].range]
        errors.append(np.sqrt(np.sum(difference**2, axis=1)))
    return stored(np.stack(errors, axis=1))


def error_bound(stages: Stages, _computed: FloatArray) -> FloatArray:
    """The distance of two stored places is known to a rounding of the larger of them."""
    places = np.abs(stages["joints"].astype(np.float64))
    frame = np.abs(stages["engine_pose"].astype(np.float64))
    bounds = []
    for side in SIDES:
        start = 3 * JOINTS.index(f"foot_{side}")
        target = frame[:, _FRAME[f"foot_{side}_target"].range].sum(axis=1)
        bounds.append(gamma(8) * (places[:, start : start + 3].sum(axis=1) + target))
    return np.stack(bounds, axis=1)


def network_bound(_stages: Stages, computed: FloatArray) -> FloatArray:
    """Another order of summation of 64 products, three layers deep; sums stay within a few times the largest answer."""
    largest = np.abs(computed.astype(np.float64)).max(axis=1, keepdims=True)
    return np.broadcast_to(1e-5 * (1.0 + largest), computed.shape)
