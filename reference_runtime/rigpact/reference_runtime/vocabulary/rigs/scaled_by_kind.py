"""Scaled by kind: angles and heights of a context divided by scales of their own, phase and task multiplied by factors."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from rigpact.contract.conventions import CodeHint
from rigpact.contract.declared.operation import Built, Operation, Reading, Use
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.layout import Field, FieldKind, FieldLayout
from rigpact.reference_runtime.operations.definitions.scaling import unscored, zscored
from rigpact.reference_runtime.operations.precision import stored
from rigpact.reference_runtime.vocabulary.rounding_bounds import of_result, wide

_SCALINGS: Mapping[str, bool] = {"divided": True, "missing": False}
_PHASES: Mapping[str, float] = {"cycle": 1.0, "radians": 2.0 * np.pi}
_ANGLES: Mapping[str, Reading] = {"none": np.ones_like, "degrees": lambda scale: scale * (np.pi / 180.0)}
_HEIGHTS: Mapping[str, Reading] = {"none": np.ones_like}


def build(use: Use) -> Built:
    """Euler angles are of their kind, heights scalars in m; a phase is in cycles, a task the number of an entry of a list."""
    source = use.inputs[0]
    width = source.fields.width
    scaling = use.choice(
        "scaling", _SCALINGS, "whether rotations and heights are scaled before the network", _HINTS["scaling"]
    )
    angles = use.number(
        "angles",
        1,
        meaning="the divisor of Euler angles, as a multiple of the contract's own scale",
        misread=_ANGLES,
        hints=_HINTS["angles"],
    )
    heights = use.number(
        "heights",
        1,
        meaning="the divisor of heights, as a multiple of the contract's own scale",
        misread=_HEIGHTS,
        hints=_HINTS["heights"],
    )
    is_angle, is_height, is_phase, is_task = _kinds(source.fields)
    last = max((field.high or 1.0 for field in source.fields if is_task[field.start]), default=1.0)
    task = use.choice(
        "task_scale", {"number": 1.0, "over_the_last": 1.0 / last}, "the factor of the task's number", _HINTS["task"]
    )
    phase = use.choice("phase_unit", _PHASES, "the unit of the phase", _HINTS["phase"])

    def divisors(frames: Frames) -> FloatArray:
        scales = np.ones(width)
        if scaling.of(frames):
            scales[is_angle], scales[is_height] = angles.of(frames).reshape(-1), heights.of(frames).reshape(-1)
        return scales

    def factors(frames: Frames) -> FloatArray:
        found = np.ones(width)
        found[is_task], found[is_phase] = task.of(frames), phase.of(frames)
        return found

    def compute(frames: Frames) -> FloatArray:
        return stored(zscored(wide(frames, source.name), 0.0, divisors(frames)) * factors(frames))

    def undone(frames: Frames) -> FloatArray:
        return stored(unscored(wide(frames, use.stage) / factors(frames), 0.0, divisors(frames)))

    fields = (Field(each.name, each.start, each.size, FieldKind.RAW, "", "scaled") for each in source.fields)
    return Built(FieldLayout(tuple(fields)), compute, of_result(_OPERATIONS), undone=undone)


_OPERATIONS = 4
"""A division by a rounded constant, and a store."""


def _kinds(layout: FieldLayout) -> tuple[Any, Any, Any, Any]:
    """Which numbers are Euler angles, heights, phases and tasks, each (C,)."""
    found = np.zeros((4, layout.width), bool)
    for field in layout:
        is_scalar = field.kind is FieldKind.SCALAR
        found[:, field.range] = np.array(
            [
                field.kind is FieldKind.EULER_XYZ,
                is_scalar and field.unit == "m",
                is_scalar and field.unit == "cycle",
                is_scalar and field.space.startswith("number"),
            ]
        )[:, None]
    is_angle, is_height, is_phase, is_task = found
    return is_angle, is_height, is_phase, is_task


_HINTS: Mapping[str, Mapping[str, str]] = {
    "scaling": {"missing": "the network was trained on scaled inputs: normalise before it"},
    "angles": {
        "none": "Euler angles are divided by pi",
        "degrees": "the angle is already in radians: divide by pi once",
    },
    "heights": {"none": "heights are divided by 2"},
    "task": {"over_the_last": "the network gets the task's number itself"},
    "phase": {"radians": "the phase is 0 to 1 over a cycle"},
}
_CODE = {
    "scaling": {"divided": CodeHint("normalize(x)", "normalize(x)"), "missing": CodeHint("x", "x")},
    "angles": {
        "declared": CodeHint("angle / scale", "angle / scale"),
        "none": CodeHint("angle", "angle"),
        "degrees": CodeHint("angle * 180 / pi / scale", "degrees(angle) / scale"),
    },
    "heights": {
        "declared": CodeHint("height / scale", "height / scale"),
        "none": CodeHint("height", "height"),
    },
    "task_scale": {
        "number": CodeHint("x[task] = task;", "float(task)"),
        "over_the_last": CodeHint("x[task] = task / (count - 1);", "task / (len(tasks) - 1)"),
    },
    "phase_unit": {
        "cycle": CodeHint("phase", "phase"),
        "radians": CodeHint("2 * pi * phase", "2 * math.pi * phase"),
    },
}
OPERATION = Operation(
    "scaled_by_kind",
    "a context as a network takes it: angles and heights divided by scales of their own",
    build,
    {
        "angles": "the divisor of Euler angles",
        "heights": "the divisor of scalars in m",
        "scaling": ", ".join(_SCALINGS),
        "task_scale": "number, or over_the_last: divided by the largest number",
        "phase_unit": ", ".join(_PHASES),
    },
    choices=("scaling", "task_scale", "phase_unit"),
    code=_CODE,
)
