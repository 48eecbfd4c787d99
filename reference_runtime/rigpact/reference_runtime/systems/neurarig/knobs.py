"""NeuraRig's conventions: what other builds, and readers of the published text, do at each place of the loop."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rigpact.contract.conventions import Knob
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.neurarig import PACKET as _FRAME
from rigpact.contract.systems.neurarig import RAW_ROTATIONS, SIDES
from rigpact.reference_runtime.operations.definitions.quaternions import (
    FRAMES,
    FROM_XYZW,
    PRODUCTS,
    TO_XYZW,
    TURNS,
    product,
    rotated,
    unit,
    unit_or_identity,
)
from rigpact.reference_runtime.operations.definitions.scaling import LENGTHS

LEG_BEGIN, LEG_END = _FRAME["thigh_r_pos"].start, _FRAME["ground_normal_r"].start
_NEXT_BONE = _FRAME["calf_r_pos"].start - _FRAME["thigh_r_pos"].start


def _tail(*names: str) -> list[int]:
    return [channel for name in names for channel in range(_FRAME[name].start, _FRAME[name].stop)]


def _by_side(*names: str) -> list[int]:
    return _tail(*(name.format(side) for side in SIDES for name in names))


def _left_first(*swapped: str) -> list[int]:
    """The tail with some of its fields given to the other foot."""
    order = [name for side in SIDES for name in (f"ground_normal_{side}", f"has_hit_{side}")]
    order += [f"foot_{side}_target" for side in SIDES]
    other = {name.format(side): name.format(SIDES[1 - place]) for name in swapped for place, side in enumerate(SIDES)}
    return _tail(*(other.get(name, name) for name in order))


def _flipped(component: int, of_first: int, of_second: int) -> Callable[[FloatArray, FloatArray], FloatArray]:
    """The product with the wrong sign of one term of its cross product: a_i b_j is subtracted twice, or added."""
    sign = 1.0 if (of_first - component) % 3 == 1 else -1.0

    def multiply(a: FloatArray, b: FloatArray) -> FloatArray:
        result = product(a, b)
        result[..., component] -= 2.0 * sign * a[..., of_first] * b[..., of_second]
        return result

    return multiply


def _by_one_length(quats: FloatArray) -> FloatArray:
    """Quaternions (N, 6, 4), all of a frame divided by the length of its 24 numbers."""
    return unit(quats.reshape(len(quats), -1)).reshape(quats.shape)


_TERMS = {
    f"{'xyz'[component]}_sign_of_a{'xyz'[i]}_b{'xyz'[j]}": (component, i, j)
    for component in range(3)
    for i, j in (((component + 1) % 3, (component + 2) % 3), ((component + 2) % 3, (component + 1) % 3))
}
"""The six terms of a cross product, by the name of a product that has the sign of one wrong."""


TARGET_SPACE = Knob(
    "target_space",
    {
        "pelvis": FRAMES["into_frame"],
        "world": lambda target, _p, _q: target,
        "forward_transform": FRAMES["into_frame_turned_forward"],
        "relative_not_turned": FRAMES["into_frame_not_turned"],
        "turned_not_moved": FRAMES["into_frame_origin_kept"],
    },
    "the space in which foot targets are sent",
    {
        "world": "targets are sent in the pelvis' space: R(q)^-1 (target - p)",
        "forward_transform": "into the pelvis' space is the inverse rotation, not the rotation",
        "relative_not_turned": "the pelvis' rotation is missing: R(q)^-1 (target - p)",
        "turned_not_moved": "the pelvis' position is missing: R(q)^-1 (target - p)",
    },
)
NORMAL_SPACE = Knob(
    "normal_space",
    {"pelvis": TURNS["inverse"], "world": TURNS["none"], "forward_transform": TURNS["forward"]},
    "the space in which ground normals are sent",
    {
        "world": "ground normals are sent in the pelvis' space, turned and not moved",
        "forward_transform": "into the pelvis' space is the inverse rotation, not the rotation",
    },
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
        "normals_hits_targets": list(range(LEG_END, _FRAME.width)),
        "targets_normals_hits_by_side": _by_side("foot_{}_target", "ground_normal_{}", "has_hit_{}"),
        "left_hit_first": _left_first("has_hit_{}"),
        "left_target_first": _left_first("foot_{}_target"),
        "left_first": _left_first("ground_normal_{}", "has_hit_{}", "foot_{}_target"),
    },
    "the order of the ground and the targets behind the bones",
    {
        "targets_normals_hits_by_side": "an older schema of as many floats: normals and hits come before both targets",
        "left_hit_first": "the right foot's hit is sent before the left one's",
        "left_target_first": "the right foot's target is sent before the left one's",
        "left_first": "normal, hit and target of the right foot are sent before those of the left one",
    },
)
CHAIN_ORDER = Knob(
    "chain_order", {"right_first": 0, "left_first": (LEG_END - LEG_BEGIN) // 2}, "the leg whose bones are sent first",
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
    "normalisation",
    {"unit": unit_or_identity, "none": lambda raw: raw, "together": _by_one_length},
    "whether the network's quaternions are made unit",
    {
        "none": "the network's quaternions are not unit: normalise before any use",
        "together": "each quaternion has a length of its own: sum over its four numbers, not over all 24",
    },
)
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
REPLY_LEGS = Knob(
    "reply_legs", {"right_first": 0, "left_first": RAW_ROTATIONS.width // 2},
    "the leg whose rotations are read first from the reply",
    {"left_first": "the reply's first twelve numbers are the right leg's"},
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
    "multiplication",
    {
        "parent_child": product,
        "child_parent": PRODUCTS["second_first"],
        "child_only": PRODUCTS["second_only"],
        **{name: _flipped(*term) for name, term in _TERMS.items()},
    },
    "how a parent's rotation and a local one are multiplied",
    {
        "child_parent": "world = parent * local; for quaternions too",
        "child_only": "the parent's rotation is missing: world = parent * local",
        **{name: f"Hamilton's product has the other sign of this term in {name[0]}" for name in _TERMS},
    },
)
BONE_TURN = Knob(
    "bone_turn",
    {"own": (0, 1), "next_bone": (1, 2), "parent": (-1, 0)},
    "the bone whose rotation places the end of a bone",
    {
        "next_bone": "the thigh's rotation places the knee, the calf's the foot: not those of the next bone",
        "parent": "the thigh's rotation places the knee, the calf's the foot: not those of the parents",
    },
)
TURNING = Knob(
    "turning",
    {"forward": TURNS["forward"], "inverse": TURNS["inverse"], "w_first": lambda q: q[..., TO_XYZW["wxyz"]]},
    "how the formula that turns a vector reads its quaternion",
    {
        "inverse": "R(q) v turns from the bone's space outwards; this is R(q)^-1 v",
        "w_first": "the formula takes x, y, z, w; its w is read from the first number",
    },
)
HIP_OFFSET = Knob(
    "hip_offset",
    {"declared": 0, "one_early": -1, "one_late": 1, "bone_before": -_NEXT_BONE, "next_bone": _NEXT_BONE},
    "where in the pose the hip's place is read, in numbers from the thigh's position",
    {
        "one_early": "the thigh's position begins at numbers 7 and 28 of the pose",
        "one_late": "the thigh's position begins at numbers 7 and 28 of the pose",
        "bone_before": "the hip is the thigh's position, not that of the bone before it",
        "next_bone": "the hip is the thigh's position, not the calf's",
    },
)
_NO_TURN = (0.0, 0.0, 0.0, 1.0)
FK_SPACE = Knob(
    "fk_space",
    {
        "world": lambda p, q: (p, q),
        "pelvis": lambda p, q: (np.zeros_like(p), np.broadcast_to(_NO_TURN, q.shape)),
        "world_not_turned": lambda p, q: (p, np.broadcast_to(_NO_TURN, q.shape)),
        "pelvis_turned": lambda p, q: (np.zeros_like(p), q),
    },
    "the space in which kinematics place the joints",
    {
        "pelvis": "positions are in world space: p + R(q) v",
        "world_not_turned": "the pelvis' rotation is missing: p + R(q) v",
        "pelvis_turned": "the pelvis' position is missing: p + R(q) v",
    },
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
    "error_target",
    {
        "world": lambda world, _sent, _p, _q: world,
        "pelvis_target_as_world": lambda _world, sent, _p, _q: sent,
        "turned_not_moved": lambda _world, sent, _p, q: rotated(q, sent),
        "moved_not_turned": lambda _world, sent, p, _q: sent + p,
    },
    "where a foot's target is, from the engine's pose or from the packet",
    {
        "pelvis_target_as_world": "compare with the target in world space: p + R(q) target",
        "turned_not_moved": "the pelvis' position is missing: p + R(q) target",
        "moved_not_turned": "the pelvis' rotation is missing: p + R(q) target",
    },
)
ERROR_LENGTH = Knob(
    "error_length",
    {name: LENGTHS[name] for name in ("euclidean", "squared", "absolute_sum")},
    "how the distance of a foot from its target is measured",
    {
        "squared": "the error is a distance in cm: the root of the sum of squares",
        "absolute_sum": "the error is a distance: the root of the sum of squares, not the sum of absolute values",
    },
)
