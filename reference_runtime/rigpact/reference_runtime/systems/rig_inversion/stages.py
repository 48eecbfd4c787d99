"""The stages of rig inversion: order the mesh, run the network, read its answer as the rig does, build the mesh again.

Every function takes rows (T, width) and returns float32 rows; the arithmetic in between is float64.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.definition import Choices
from rigpact.contract.systems.rig_inversion import VERTICES, RigConstants
from rigpact.reference_runtime.operations.precision import stored
from rigpact.reference_runtime.systems.enemy_animation.tolerances import gamma
from rigpact.reference_runtime.systems.rig_inversion.rig import rotated
from rigpact.reference_runtime.systems.stage_graph import Stages

FLATTENING: Mapping[str, Callable[[FloatArray], FloatArray]] = {
    "vertex_by_vertex": lambda mesh: mesh.reshape(len(mesh), -1),
    "axis_by_axis": lambda mesh: np.swapaxes(mesh, 1, 2).reshape(len(mesh), -1),
}
VERTEX_ORDER: Mapping[str, list[int]] = {
    "as_declared": [0, 1, 2, 3, 4, 5, 6, 7],
    "reversed": [7, 6, 5, 4, 3, 2, 1, 0],
    "x_fastest": [0, 4, 2, 6, 1, 5, 3, 7],
}
MESH_AXES: Mapping[str, FloatArray] = {
    "right_handed": np.eye(3),
    "y_mirrored": np.diag([1.0, -1.0, 1.0]),
    "y_up": np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]]),
}
"""Rows are the axes as the other side has them."""
PARAMETER_ORDER: Mapping[str, list[int]] = {
    "rotations_first": [0, 1, 2, 3, 4, 5],
    "scales_first": [3, 4, 5, 0, 1, 2],
    "interleaved": [0, 2, 4, 1, 3, 5],
}
"""Where the three angles and the three scales are looked for."""
OUTPUT_ACTIVATION: Mapping[str, Callable[[FloatArray], FloatArray]] = {
    "in_the_model": lambda parameters: parameters,
    "applied_again": lambda parameters: 1.0 / (1.0 + np.exp(-parameters)),
}
ANGLE_RANGE: Mapping[str, float] = {"90_deg": 1.0, "45_deg": 0.5, "180_deg": 2.0}
"""As a multiple of the contract's own range."""
ANGLE_ORIGIN: Mapping[str, float] = {"middle": 0.5, "zero": 0.0}
ANGLE_UNIT: Mapping[str, float] = {"radians": float(np.pi / 180.0), "degrees": 1.0}
SCALE_MAPPING: Mapping[str, Callable[[FloatArray, float, float], FloatArray]] = {
    "minus_half_to_two": lambda p, low, high: low + p * (high - low),
    "zero_to_two": lambda p, _low, high: p * high,
    "zero_to_two_and_a_half": lambda p, low, high: p * (high - low),
    "half_to_three": lambda p, low, high: -low + p * (high - low),
}
ROTATION_SENSE: Mapping[str, float] = {"counter_clockwise": 1.0, "clockwise": -1.0}
ERROR_MEASURE: Mapping[str, Callable[[FloatArray], FloatArray]] = {
    "euclidean": lambda difference: np.sqrt(np.sum(difference**2, axis=-1)),
    "squared": lambda difference: np.sum(difference**2, axis=-1),
    "absolute_sum": lambda difference: np.sum(np.abs(difference), axis=-1),
}
_ANGLE_OPERATIONS, _MESH_OPERATIONS, _ERROR_OPERATIONS = 6, 32, 8
"""Longest chains: difference, two products and a store; sine, cosine and three turns of a scaled vertex; a distance."""


def model_input(stages: Stages, choices: Choices) -> FloatArray:
    """The mesh as the network is given it, (T, 24)."""
    mesh = _vertices(stages["mesh"]) @ MESH_AXES[choices["mesh_axes"]].T
    ordered = mesh[:, VERTEX_ORDER[choices["vertex_order"]]]
    return stored(FLATTENING[choices["flattening"]](ordered))


def input_bound(_stages: Stages, computed: FloatArray) -> FloatArray:
    """Values are moved and turned by zeros and ones: one rounding."""
    return gamma(2) * np.abs(computed.astype(np.float64))


def transform_of(rig: RigConstants) -> Callable[[Stages, Choices], FloatArray]:
    """The stage that reads the network's answer as angles in radians and scales, (T, 6)."""

    def transform(stages: Stages, choices: Choices) -> FloatArray:
        answer = OUTPUT_ACTIVATION[choices["output_activation"]](stages["rig_parameters"].astype(np.float64))
        answer = answer[:, PARAMETER_ORDER[choices["parameter_order"]]]
        width = rig.angle_range_deg * ANGLE_RANGE[choices["angle_range"]] * ANGLE_UNIT[choices["angle_unit"]]
        angles = (answer[:, :3] - ANGLE_ORIGIN[choices["angle_origin"]]) * width
        scales = SCALE_MAPPING[choices["scale_mapping"]](answer[:, 3:], *rig.scale_range)
        return stored(np.hstack([angles, scales]))

    return transform


def transform_bound(_stages: Stages, computed: FloatArray) -> FloatArray:
    """A parameter and the origin taken off it are at most 1, so the difference is known to u; then times the range.

    2.5 covers the scale's range; an angle's is at most that in radians, and larger where it is not the contract's.
    """
    return gamma(_ANGLE_OPERATIONS) * (2.5 + np.abs(computed.astype(np.float64)))


def reconstruction_of(rig: RigConstants) -> Callable[[Stages, Choices], FloatArray]:
    """The stage that runs the rig itself, (T, 24)."""
    tables = {"as_declared": rig.vertices, "missing_corner_mended": _mended(rig.vertices)}

    def reconstruction(stages: Stages, choices: Choices) -> FloatArray:
        values = stages["transform"].astype(np.float64)
        angles, scales = values[:, :3] * ROTATION_SENSE[choices["rotation_sense"]], values[:, None, 3:]
        order = choices["rotation_order"].split("_")
        if choices["vertex_side"] == "row":  # v R is the inverse rotation: turned back, the last turn first
            angles, order = -angles, order[::-1]
        neutral = np.broadcast_to(tables[choices["vertex_table"]], (len(values), len(VERTICES), 3))
        if choices["scale_place"] == "before_rotations":
            mesh = rotated(neutral * scales, angles, order)
        else:
            mesh = rotated(neutral, angles, order) * scales
        return stored(mesh.reshape(len(mesh), -1))

    return reconstruction


def reconstruction_bound(stages: Stages, computed: FloatArray) -> FloatArray:
    """A coordinate is a sum of three scales, each times sines and cosines; no term is larger than its scale."""
    scales = np.abs(stages["transform"][:, 3:].astype(np.float64)).sum(axis=1, keepdims=True)
    return np.broadcast_to(gamma(_MESH_OPERATIONS) * np.maximum(scales, 1.0), computed.shape)


def vertex_error(stages: Stages, choices: Choices) -> FloatArray:
    """Distance of every vertex between the given and the built mesh, (T, 8)."""
    difference = _vertices(stages["reconstruction"]) - _vertices(stages["mesh"])
    return stored(ERROR_MEASURE[choices["error_measure"]](difference))


def error_bound(stages: Stages, _computed: FloatArray) -> FloatArray:
    """The difference of two stored coordinates is exact to a rounding of the larger of them."""
    largest = np.abs(_vertices(stages["reconstruction"])).max(axis=2) + np.abs(_vertices(stages["mesh"])).max(axis=2)
    return np.asarray(gamma(_ERROR_OPERATIONS) * largest)


def _vertices(rows: FloatArray) -> FloatArray:
    return rows.astype(np.float64).reshape(len(rows), len(VERTICES), 3)


def _mended(vertices: FloatArray) -> FloatArray:
    table = vertices.copy()
    table[-1] = 1.0
    return table
