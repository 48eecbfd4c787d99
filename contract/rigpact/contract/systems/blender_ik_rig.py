"""The rig of Blender IK: bones, rest pose, joint limits; how a contract file states them, and when it contradicts itself.

Rest heads, lengths and limits are those of the rig's export. Rest orientations are published with six decimals; columns are
axes, y along the bone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.problem import Problem, entries

EFFECTORS = ("LeftHand", "RightHand", "LeftFoot", "RightFoot", "Head")
CONTACT_EFFECTORS = ("LeftFoot", "RightFoot")
TASKS = ("idle", "locomotion", "reach", "grab", "crouch", "jump")
"""A task's number is its place here; the network gets the number itself."""
ROTATION_SCALE, HEIGHT_SCALE = float(np.pi), 2.0
"""What Euler angles and heights are divided by; positions are metres as they are."""

_TRUNK = {
    "Hips": ("", (0.0, 0.046052, 1.014617)), "Spine": ("Hips", (0.0, 0.055555, 1.158783)),
    "Spine1": ("Spine", (0.0, 0.077256, 1.306403)), "Spine2": ("Spine1", (0.0, 0.072666, 1.474343)),
    "NeckLower": ("Spine2", (0.0, 0.047334, 1.62263)), "NeckUpper": ("NeckLower", (0.0, 0.054687, 1.660835)),
    "Head": ("NeckUpper", (0.0, 0.060049, 1.702313)),
}  # fmt: skip
_ARMS = {
    "LeftShoulder": ("Spine2", (-0.044947, 0.047168, 1.605088)),
    "LeftArm": ("LeftShoulder", (-0.13598, 0.046837, 1.570376)),
    "LeftForeArm": ("LeftArm", (-0.41385, 0.043713, 1.557294)),
    "LeftHand": ("LeftForeArm", (-0.700165, 0.044187, 1.556918)),
    "RightShoulder": ("Spine2", (0.044947, 0.047499, 1.605089)),
    "RightArm": ("RightShoulder", (0.13598, 0.04783, 1.570375)),
    "RightForeArm": ("RightArm", (0.41385, 0.043693, 1.557292)),
    "RightHand": ("RightForeArm", (0.700165, 0.044595, 1.556919)),
}
_LEG = {
    "Thigh": ("Hips", (0.096973, 0.046025, 1.018454)), "Shin": ("Thigh", (0.105687, 0.053738, 0.571063)),
    "Foot": ("Shin", (0.110153, -0.025574, 0.080267)), "ToeBase": ("Foot", (0.111254, 0.125178, 0.020779)),
}  # fmt: skip


def _leg(side: str, sign: float) -> dict[str, tuple[str, tuple[float, float, float]]]:
    """One leg; the right one is the table's, the left its mirror image."""
    return {
        side + name: (parent if parent == "Hips" else side + parent, (sign * x, y, z))
        for name, (parent, (x, y, z)) in _LEG.items()
    }


_REST = {**_TRUNK, **_ARMS, **_leg("Left", -1.0), **_leg("Right", 1.0)}
BONES = tuple(_REST)
"""In the network's order; a parent stands before its children."""
PARENTS = tuple(BONES.index(parent) if parent else -1 for parent, _head in _REST.values())
REST_HEADS_M = np.array([head for _parent, head in _REST.values()])
_HEADLONG = {
    "Hips": (0.065772, 0.997835), "Spine": (0.145444, 0.989366), "Spine1": (-0.027317, 0.999627),
    "Spine2": (-0.172248, 0.985054), "NeckLower": (0.189003, 0.981977), "NeckUpper": (0.128213, 0.991747),
    "Head": (-0.060457, 0.998171),
}  # fmt: skip
"""y and z of the direction of a bone in the middle; its x axis points left, its z axis forward."""
_SIDES = {
    "LeftShoulder": (
        (0.011245, -0.934369, 0.35613),
        (-0.999737, -0.003396, 0.022657),
        (-0.019961, -0.356292, -0.934162),
    ),
    "LeftArm": ((0.012166, -0.99883, 0.046793), (-0.999734, -0.011233, 0.020158), (-0.019609, -0.047026, -0.998701)),
    "LeftForeArm": (
        (-0.001631, -0.999998, 0.001343),
        (-0.999793, 0.001657, 0.020255),
        (-0.020257, -0.00131, -0.999794),
    ),
    "LeftHand": ((0.003149, -0.999645, -0.026438), (-0.99272, -0.006308, 0.120282), (-0.120406, 0.025866, -0.992388)),
    "RightShoulder": (
        (0.003965, 0.934367, -0.356289),
        (0.999793, 0.003396, 0.020033),
        (0.019928, -0.356295, -0.934161),
    ),
    "RightArm": ((0.015614, 0.998783, -0.046783), (0.999758, -0.014871, 0.0162), (0.015484, -0.047025, -0.998774)),
    "RightForeArm": ((-0.003132, 0.999994, -0.001357), (0.999861, 0.003153, 0.01636), (0.016364, -0.001305, -0.999865)),
    "RightHand": ((0.003467, 0.999772, 0.021056), (0.990924, -0.006264, 0.134274), (0.134376, 0.0204, -0.99072)),
    "LeftThigh": ((0.999811, -0.01947, 0.000739), (-0.000398, 0.017234, 0.999864), (-0.01948, -0.999662, 0.017224)),
    "LeftShin": ((0.99988, -0.008982, -0.012668), (0.011079, -0.159523, 0.987144), (-0.010887, -0.987154, -0.159401)),
    "LeftFoot": ((0.999413, -0.006793, 0.033615), (-0.006018, 0.930184, 0.367078), (-0.033761, -0.367059, 0.929585)),
    "LeftToeBase": ((0.99745, -0.039139, -0.05969), (0.042547, 0.997489, 0.056827), (0.057315, -0.05922, 0.996598)),
    "RightThigh": ((0.999811, 0.01947, -0.000739), (0.000398, 0.017234, 0.999864), (0.01948, -0.999662, 0.017224)),
    "RightShin": ((0.99988, 0.008982, 0.012668), (-0.011079, -0.159523, 0.987145), (0.010887, -0.987154, -0.159401)),
    "RightFoot": ((0.999413, 0.006793, -0.033615), (0.006018, 0.930184, 0.367078), (0.033761, -0.367059, 0.929585)),
    "RightToeBase": ((0.99745, 0.039139, 0.05969), (-0.042547, 0.997489, 0.056827), (-0.057315, -0.05922, 0.996598)),
}
"""Rows of the matrix of a bone at the side."""
REST_ORIENTATIONS = np.array([
    [(-1.0, 0.0, 0.0), (0.0, *_HEADLONG[bone]), (0.0, _HEADLONG[bone][1], -_HEADLONG[bone][0])]
    if bone in _HEADLONG else _SIDES[bone]
    for bone in BONES
])  # fmt: skip
"""(23, 3, 3), columns are axes."""
BONE_LENGTHS_M = np.array([
    0.144478, 0.149207, 0.168002, 0.150445, 0.038906, 0.041823, 0.270918,
    0.097427, 0.278195, 0.286315, 0.071973, 0.097427, 0.278209, 0.286317, 0.071865,
    *(0.447542, 0.497182, 0.162069, 0.071482) * 2,
])  # fmt: skip
"""From a bone's head to its tail."""
UNLIMITED_DEG = 1e6
"""A limit that stands for none: the hips turn freely."""

# x low, x high, y low, y high, z low, z high in degrees, each of one component of the rotation vector
_RIG_LIMITS_DEG: Mapping[str, tuple[float, ...]] = {
    "Hips": (-UNLIMITED_DEG, UNLIMITED_DEG) * 3, "Spine": (-45, 45) * 3, "Spine1": (-30, 30) * 3,
    "Spine2": (-30, 30) * 3, "NeckLower": (-45, 45, -45, 45, -30, 30), "NeckUpper": (-30, 30) * 3,
    "Head": (-45, 45, -60, 60, -30, 30), "Shoulder": (-30, 30) * 3, "Arm": (-90, 90, -120, 120, -80, 140),
    "ForeArm": (0, 0, -170, 60, 0, 90), "Hand": (-90, 90, 0, 0, -60, 60), "Thigh": (-90, 120, -40, 40, -20, 80),
    "Shin": (-150, 10, -20, 20, -15, 15), "Foot": (-80, 45, -30, 30, -40, 40), "ToeBase": (-40, 40, 0, 0, 0, 0),
}  # fmt: skip
_DOCUMENT_LIMITS_DEG: Mapping[str, tuple[float, ...]] = {
    "Hips": (-20, 20, -30, 30, -15, 15), "Spine": (-30, 45, -20, 20, -20, 20), "Spine1": (-30, 45, -15, 15, -15, 15),
    "Spine2": (-20, 30, -15, 15, -15, 15), "NeckLower": (-30, 40, -45, 45, -30, 30),
    "NeckUpper": (-30, 40, -45, 45, -30, 30), "Head": (-40, 60, -70, 70, -30, 30),
    "Shoulder": (-15, 15, -10, 30, -20, 20), "Arm": (-180, 60, -90, 90, -90, 90), "ForeArm": (0, 145, -5, 5, -90, 90),
    "Hand": (-70, 70, -20, 20, -40, 40), "Thigh": (-30, 120, -45, 45, -60, 60), "Shin": (0, 150, -5, 5, -5, 5),
    "Foot": (-45, 45, -30, 30, -25, 25), "ToeBase": (-30, 60, -5, 5, -5, 5),
}  # fmt: skip


def _limits_rad(table: Mapping[str, tuple[float, ...]]) -> FloatArray:
    """(23, 3, 2) low and high in radians; of a pair the table holds the left one, the right has y and z turned around."""
    rows = []
    for bone in BONES:
        limits = np.array(table[bone.removeprefix("Left").removeprefix("Right")], np.float64).reshape(3, 2)
        if bone.startswith("Right"):
            limits[1:] = 0.0 - limits[1:, ::-1]
        rows.append(limits)
    return np.deg2rad(np.stack(rows))


RIG_LIMITS_RAD, DOCUMENT_LIMITS_RAD = _limits_rad(_RIG_LIMITS_DEG), _limits_rad(_DOCUMENT_LIMITS_DEG)


@dataclass(frozen=True, eq=False)
class IkConstants:
    """The rig: parents (J,), heads (J, 3), lengths (J,) in m, orientations (J, 3, 3), limits (J, 3, 2) in rad, two scales."""

    parents: tuple[int, ...]
    heads_m: FloatArray
    lengths_m: FloatArray
    orientations: FloatArray
    limits_rad: FloatArray
    rotation_scale: float
    height_scale: float


def declared_constants() -> dict[str, Any]:
    """The constants of this system's contract file, as JSON values."""
    return {
        "bones": list(BONES),
        "parents": list(PARENTS),
        "rest_heads_m": REST_HEADS_M.tolist(),
        "rest_orientations": REST_ORIENTATIONS.tolist(),
        "bone_lengths_m": BONE_LENGTHS_M.tolist(),
        "limits_rad": RIG_LIMITS_RAD.round(9).tolist(),
        "effectors": list(EFFECTORS),
        "contact_effectors": list(CONTACT_EFFECTORS),
        "tasks": list(TASKS),
        "rotation_scale": ROTATION_SCALE,
        "height_scale": HEIGHT_SCALE,
    }


def read_constants(constants: Mapping[str, Any]) -> IkConstants:
    """The numbers that the runtime needs; KeyError, TypeError or ValueError where they are not there or no numbers."""
    count = len(BONES)
    return IkConstants(
        parents=tuple(int(parent) for parent in constants["parents"]),
        heads_m=np.asarray(constants["rest_heads_m"], np.float64).reshape(count, 3),
        lengths_m=np.asarray(constants["bone_lengths_m"], np.float64).reshape(count),
        orientations=np.asarray(constants["rest_orientations"], np.float64).reshape(count, 3, 3),
        limits_rad=np.asarray(constants["limits_rad"], np.float64).reshape(count, 3, 2),
        rotation_scale=float(constants["rotation_scale"]),
        height_scale=float(constants["height_scale"]),
    )


def constant_problems(constants: Mapping[str, Any]) -> Iterator[Problem]:
    """Everything in which the constants contradict the system, or themselves."""
    try:
        rig = read_constants(constants)
    except (KeyError, TypeError, ValueError) as error:
        yield Problem("", f"{type(error).__name__}: {error}", "numbers of a rig", "no kinematics without them")
        return
    yield from _name_problems(constants)
    yield from _parent_problems(rig.parents)
    yield from _orientation_problems(rig)
    yield from _limit_problems(rig.limits_rad)
    for name, wanted in (("rotation_scale", ROTATION_SCALE), ("height_scale", HEIGHT_SCALE)):
        if not np.isclose(float(constants[name]), wanted):
            yield Problem(
                f"/{name}",
                f"{constants[name]}",
                f"{wanted}",
                "the network sees inputs of another size than in training",
            )


def _name_problems(constants: Mapping[str, Any]) -> Iterator[Problem]:
    lists = {"bones": BONES, "effectors": EFFECTORS, "contact_effectors": CONTACT_EFFECTORS, "tasks": TASKS}
    for name, wanted in lists.items():
        if entries(constants.get(name)) != list(wanted):
            yield Problem(
                f"/{name}",
                str(constants.get(name))[:60],
                f"{wanted[0]}, {wanted[1]}, …",
                "a number stands for its place in this list",
            )


def _parent_problems(parents: tuple[int, ...]) -> Iterator[Problem]:
    for place, (found, wanted) in enumerate(zip(parents, PARENTS, strict=False)):
        if found >= place:
            yield Problem(
                f"/parents/{place}", str(found), f"a bone before {place}", "a parent that comes later is not turned yet"
            )
        elif found != wanted:
            yield Problem(
                f"/parents/{place}", str(found), f"{wanted} ({BONES[wanted]})", f"{BONES[place]} hangs on another bone"
            )
    if len(parents) != len(BONES):
        yield Problem("/parents", f"{len(parents)} bones", f"{len(BONES)}", "a bone without a parent")


def _orientation_problems(rig: IkConstants) -> Iterator[Problem]:
    """Rest orientations are rotations, and their y axes run along the bones: within 20 degrees of the next head."""
    gram = np.swapaxes(rig.orientations, 1, 2) @ rig.orientations
    proper = np.linalg.det(rig.orientations) > 0.0
    orthonormal = np.abs(gram - np.eye(3)).max(axis=(1, 2)) < 1e-4
    for place in np.flatnonzero(~(proper & orthonormal)):
        yield Problem(
            f"/rest_orientations/{place}", "no rotation matrix", "orthonormal columns, determinant 1",
            f"{BONES[place]} and everything below it is stretched or mirrored",
        )  # fmt: skip
    for place in np.flatnonzero(proper & orthonormal):
        angle = _angle_off_bone_deg(rig, int(place))
        if angle > 20.0:
            yield Problem(
                f"/rest_orientations/{place}", f"y axis {angle:.0f} degrees off the bone", "columns are axes, y along the bone",
                f"{BONES[place]}: transposed, or the orientation is ignored",
            )  # fmt: skip


def _angle_off_bone_deg(rig: IkConstants, place: int) -> float:
    """Angle between a bone's y axis and the way to the next head of its chain; 0 where the chain ends."""
    if place + 1 >= len(BONES) or PARENTS[place + 1] != place:
        return 0.0
    along = rig.heads_m[place + 1] - rig.heads_m[place]
    cosine = float(along @ rig.orientations[place, :, 1]) / max(float(np.linalg.norm(along)), 1e-12)
    return float(np.rad2deg(np.arccos(np.clip(cosine, -1.0, 1.0))))


def _limit_problems(limits_rad: FloatArray) -> Iterator[Problem]:
    for bone, axis in np.argwhere(limits_rad[..., 0] > limits_rad[..., 1]):
        low, high = limits_rad[bone, axis]
        yield Problem(
            f"/limits_rad/{bone}/{axis}",
            f"{low:g} to {high:g}",
            "low to high",
            f"{BONES[bone]} can take no angle at all",
        )
    outside: NDArray[np.intp] = np.argwhere((limits_rad[..., 0] > 1e-9) | (limits_rad[..., 1] < -1e-9))
    for bone, axis in outside:
        low, high = limits_rad[bone, axis]
        yield Problem(
            f"/limits_rad/{bone}/{axis}", f"{low:g} to {high:g}", "a range with the rest pose in it",
            f"{BONES[bone]} cannot rest",
        )  # fmt: skip
