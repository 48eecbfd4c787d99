"""Shared parts of the operations on rigs: the reading of a rotation vector, the axes of a root, the map of bones."""

from collections.abc import Callable, Mapping

import numpy as np

from rigpact.contract.conventions import CodeHint
from rigpact.contract.declared.operation import Use
from rigpact.contract.declared.problems import Misdeclared, Wrong, unknown
from rigpact.contract.declared.values import Choice, Number
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.frames import Frames
from rigpact.reference_runtime.operations.definitions.quaternions import product, unit
from rigpact.reference_runtime.operations.geometry import matrix_to_quat

ROOT_WIDTH = 11
"""A root's position, its orientation, the orientation of its armature; xyzw, all in the world."""
VECTOR_LENGTHS: Mapping[str, float] = {"norm_is_angle": 0.5, "norm_is_half_angle": 1.0}
"""What a rotation vector is multiplied by for half its angle."""
ROOT_FRAMES: Mapping[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "at_rest": lambda root, rest: product(unit(root[:, 7:]), rest),
    "posed": lambda root, _rest: unit(root[:, 3:7]),
    "armature": lambda root, _rest: unit(root[:, 7:]),
}
ROOT_FRAME_CODE = {
    "at_rest": CodeHint("armature * bone.rest", "matrix_world @ bone.matrix_local"),
    "posed": CodeHint("armature * bone.pose", "matrix_world @ pose_bone.matrix"),
    "armature": CodeHint("armature", "matrix_world"),
}
VECTOR_CODE = {
    "norm_is_angle": CodeHint("Quat(v / angle * sin(angle / 2), cos(angle / 2))", "Quaternion(axis, v.length)"),
    "norm_is_half_angle": CodeHint("Quat(v / angle * sin(angle), cos(angle))", "Quaternion(axis, 2 * v.length)"),
}


def vector_length(use: Use) -> Choice:
    """What the length of a rotation vector is."""
    return use.choice(
        "rotation_vector",
        VECTOR_LENGTHS,
        "the meaning of a rotation vector's length",
        {
            "norm_is_half_angle": "the norm of a rotation vector is the whole angle; halve it for a quaternion",
        },
    )


def root_number(use: Use) -> Number:
    """The bones' orientations at rest, columns are axes, the root first."""
    return use.number("rest", 9 * len(use.word_list("bones")), is_table=True)


def root_frame(use: Use) -> tuple[Choice, Callable[[Frames, FloatArray], FloatArray]]:
    """The knob, and (frames, rows of the root (N, 11)) -> the orientation of the root's axes in the world, (N, 4)."""
    rest = root_number(use)
    choice = use.choice(
        "root_frame",
        ROOT_FRAMES,
        "whose axes effectors are told in, and are told as forward and up",
        {
            "posed": "the axes are those of the hips at rest, turned by the armature: bone.matrix_local",
            "armature": "the hips' own axes at rest, not the armature's: their y axis points up",
        },
    )

    def at_rest(contract: Contract) -> FloatArray:
        return matrix_to_quat(contract.numbers[rest.path].reshape(-1, 3, 3)[0])

    return choice, lambda frames, root: np.asarray(choice.of(frames)(root, frames.built(at_rest)))


def places_of(use: Use, key: str, among: str = "bones") -> list[int]:
    """The places among the bones, or among the names of another list, of the names in a list."""
    known, names = use.word_list(among), use.word_list(key)
    for name in names:
        if name not in known:
            raise unknown(use.at(key), name, known, f"a name of {among}")
    return [known.index(name) for name in names]


def refuse_width(use: Use, place: int, width: int, what: str) -> None:
    """Misdeclared where an input is not as wide as an operation takes it."""
    source = use.inputs[place]
    if source.fields.width != width:
        raise Misdeclared(
            Wrong.WIDTH, use.at("of"), f"{source.name}, {source.fields.width} numbers", f"{width}: {what}"
        )
