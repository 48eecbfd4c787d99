"""Calibrate: joints as a robot's own table counts them: some turn the other way, some have their zero elsewhere."""

from collections.abc import Mapping

import numpy as np

from rigpact.contract.conventions import CodeHint
from rigpact.contract.declared.operation import Built, Operation, Reading, Use
from rigpact.contract.declared.problems import Wrong, unknown
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.plan import Read, Step
from rigpact.reference_runtime.operations.precision import stored
from rigpact.reference_runtime.vocabulary.rounding_bounds import samples, sum_of, wide
from rigpact.reference_runtime.vocabulary.scaling.affine import ORDERS

_DIRECTIONS = {"from_robot": "constant_first", "to_robot": "scale_first"}
"""Each as `affine` has it: the zero is taken off before the sign, or added behind it."""
_SIGNS: Mapping[str, Reading] = {"not_applied": np.ones_like, "all_negated": np.negative}
_ZEROS: Mapping[str, Reading] = {"not_applied": np.zeros_like, "negated": np.negative, "taken_for_degrees": np.deg2rad}


def build(use: Use) -> Built:
    """signs: 1 or -1 of each field, or `reversed`, the names of those that are -1. zeros: what the robot measures at 0."""
    source = use.inputs[0]
    width = source.fields.width
    if "reversed" in use.table:
        use.table = {**use.table, "signs": _signs(use)}
    signs = use.number(
        "signs", width, default=1.0, meaning=f"which fields of {source.name} count the other way", misread=_SIGNS
    )
    zeros = use.number(
        "zeros", width, default=0.0, meaning=f"where the fields of {source.name} have their zero", misread=_ZEROS
    )
    if np.any(np.abs(use.value_of(signs)) != 1.0):
        raise use.wrong(Wrong.NUMBERS, "signs", use.value_of(signs).tolist(), "1 or -1 of each field")
    sign, zero = (np.broadcast_to(use.value_of(each).reshape(-1), (width,)) for each in (signs, zeros))
    direction = use.choice("direction", _DIRECTIONS, f"whether {use.stage} is of the robot's table or for it", {
        "from_robot": "angles that the robot measures: the zero is taken off, then the sign",
        "to_robot": "angles that the robot is given: the sign, then the zero is added",
    }, shows=lambda order: ORDERS[order](samples(width), sign, _constant(order, zero)))  # fmt: skip

    def parts(frames: Frames) -> tuple[FloatArray, FloatArray]:
        return signs.row(frames, width), _constant(direction.of(frames), zeros.row(frames, width))

    def compute(frames: Frames) -> FloatArray:
        return stored(ORDERS[direction.of(frames)](wide(frames, source.name), *parts(frames)))

    def terms(frames: Frames) -> FloatArray:
        return np.asarray(np.abs(wide(frames, source.name)) + np.abs(parts(frames)[1]))

    def planned(frames: Frames) -> Step:
        return Step("affine", (Read(source.name),), (direction.of(frames),), np.concatenate(parts(frames)))

    return Built(source.fields, compute, sum_of(_OPERATIONS, terms), planned=planned)


def _constant(order: str, zero: FloatArray) -> FloatArray:
    return -zero if order == "constant_first" else zero


def _signs(use: Use) -> list[float]:
    """-1 of each number of the fields that `reversed` names, else 1."""
    fields, words = use.inputs[0].fields, use.word_list("reversed")
    if "signs" in use.table:
        raise use.wrong(Wrong.CHOICE, "reversed", "signs too", "one of the two")
    for place, word in enumerate(words):
        if word not in fields:
            raise unknown(use.at("reversed", place), word, [each.name for each in fields], "a field of the input")
    return [-1.0 if each.name in words else 1.0 for each in fields for _ in range(each.size)]


_OPERATIONS = 3
"""The zero is stored, a sum or a difference, and the result is stored on the other side; a sign is exact."""
_CODE = {
    "signs": {
        "declared": CodeHint("q = sign[i] * (raw[i] - zero[i]);", "q = sign * (raw - zero)"),
        "not_applied": CodeHint("q = raw[i] - zero[i]; // no sign", "q = raw - zero"),
        "all_negated": CodeHint("q = -sign[i] * (raw[i] - zero[i]);", "q = -sign * (raw - zero)"),
    },
    "zeros": {
        "declared": CodeHint("q = sign[i] * (raw[i] - zero[i]);", "q = sign * (raw - zero)"),
        "not_applied": CodeHint("q = sign[i] * raw[i]; // no zero", "q = sign * raw"),
        "negated": CodeHint("q = sign[i] * (raw[i] + zero[i]);", "q = sign * (raw + zero)"),
        "taken_for_degrees": CodeHint("raw[i] - zero[i] * pi / 180", "raw - np.deg2rad(zero)"),
    },
    "direction": {
        "from_robot": CodeHint("q = sign[i] * (raw[i] - zero[i]);", "q = sign * (raw - zero)"),
        "to_robot": CodeHint("raw = sign[i] * q[i] + zero[i];", "raw = sign * q + zero"),
    },
}
OPERATION = Operation(
    "calibrate", "joints as a robot's own table counts them, by signs and zeros", build,
    {
        "signs": "1 or -1 of each field, or one for all, 1 if left out",
        "reversed": "instead of signs: the names of the fields that are -1",
        "zeros": "the robot's reading where the field is 0, one for each field or one for all, 0 if left out",
        "direction": "from_robot: sign · (x - zero), to_robot: sign · x + zero",
    },
    choices=("direction",), code=_CODE,
)  # fmt: skip
