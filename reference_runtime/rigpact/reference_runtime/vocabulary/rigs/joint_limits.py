"""Joint limits: every component of the rotation vectors of joints within its joint's range."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from rigpact.contract.conventions import CodeHint
from rigpact.contract.declared.operation import Built, Operation, Reading, Use
from rigpact.contract.declared.page import Known
from rigpact.contract.declared.problems import Wrong
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.layout import FieldLayout
from rigpact.contract.systems.problem import DataCheck, Problem
from rigpact.reference_runtime.operations.definitions.scaling import CLIPPED
from rigpact.reference_runtime.operations.precision import stored
from rigpact.reference_runtime.vocabulary.rigs.labels import label_problems
from rigpact.reference_runtime.vocabulary.rounding_bounds import wide

_CLAMPS = {"applied": CLIPPED["clamped"], "none": CLIPPED["none"]}


def _swapped(limits: FloatArray) -> FloatArray:
    return limits.reshape(-1, 3, 2)[:, [0, 2, 1]]


def _readings(fields: FieldLayout) -> dict[str, Reading]:
    """How sides misread the limits (J, 3, 2) of joints; those of a pair differ by `Left` and `Right` in its names."""
    names = [each.name for each in fields]
    lefts = [name.replace("Right", "Left") for name in names]
    of_left = [names.index(left if left in names else name) for name, left in zip(names, lefts, strict=True)]
    return {
        "in_degrees": np.rad2deg,
        "y_and_z_swapped": _swapped,
        "right_as_left": lambda limits: limits.reshape(-1, 3, 2)[of_left],
    }


def build(use: Use) -> Built:
    """limits: low and high of x, y and z of each joint, (J, 3, 2) in radians; the vectors are as long as in the input."""
    source = use.inputs[0]
    if other := next((each for each in source.fields if each.size != 3), None):
        raise use.wrong(
            Wrong.WIDTH, "of", f"{other.size} numbers of {other.name}", "a rotation vector of 3 for each joint"
        )
    clamp = use.choice(
        "clamp",
        _CLAMPS,
        "whether rotations are kept within the joints' limits",
        {
            "none": "clamp every component to the joint's limits before the pose is used",
        },
    )
    limits = use.number(
        "limits",
        2 * source.fields.width,
        meaning="which limits the joints have",
        misread=_readings(source.fields),
        is_table=True,
        hints=_LIMIT_HINTS,
    )

    def compute(frames: Frames) -> FloatArray:
        low, high = np.moveaxis(limits.of(frames).reshape(-1, 2), -1, 0)
        return stored(clamp.of(frames)(wide(frames, source.name), low, high))

    def judged(contract: Contract, rows: Mapping[str, FloatArray], check: DataCheck) -> Iterator[Problem]:
        frames: Any = Known(contract, dict(rows))
        labels, ranges = rows[check.labels].astype(np.float64), limits.of(frames).reshape(-1, 3, 2)
        return label_problems(check.labels, labels, ranges, source.fields)

    return Built(source.fields, compute, judged=judged)


_LIMIT_HINTS = {
    "in_degrees": "rotation vectors are radians: convert the table of limits",
    "y_and_z_swapped": "a joint's limits are x low, x high, y low, y high, z low, z high",
    "right_as_left": "the right side's limits of y and z are the left side's, turned around",
}
_CODE = {
    "limits": {
        "declared": CodeHint("clamp(v, low, high)", "np.clip(v, low, high)"),
        "in_degrees": CodeHint("clamp(v, low_deg, high_deg)", "np.clip(v, low_deg, high_deg)"),
        "y_and_z_swapped": CodeHint("limits[joint] = {x, z, y}", "limits[:, [0, 2, 1]]"),
        "right_as_left": CodeHint("limits[right] = limits[left]", "limits[right] = limits[left]"),
    },
    "clamp": {
        "applied": CodeHint("clamp(v, low, high)", "np.clip(v, low, high)"),
        "none": CodeHint("v", "v"),
    },
}
OPERATION = Operation(
    "joint_limits",
    "rotation vectors of joints, each component within its joint's range",
    build,
    {"limits": "low and high of x, y and z of each joint, in radians", "clamp": "applied or none"},
    choices=("clamp",),
    code=_CODE,
)
