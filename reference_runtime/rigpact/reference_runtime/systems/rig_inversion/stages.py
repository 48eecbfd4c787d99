"""The stages of rig inversion: order the mesh, run the network, convert its answer to a transform, rebuild the mesh.

Every function takes frames and returns float32 rows (N, width); the arithmetic in between is float64.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from rigpact.contract.conventions import Knob
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.rig_inversion import VERTICES
from rigpact.contract.systems.stage import Bounds, Frames
from rigpact.reference_runtime.operations.definitions.scaling import FUNCTIONS, LENGTHS
from rigpact.reference_runtime.operations.precision import stored
from rigpact.reference_runtime.operations.rounding import gamma
from rigpact.reference_runtime.systems.rig_inversion.rig import rotated, rotation

_ANGLE_OPERATIONS, _MESH_OPERATIONS, _ERROR_OPERATIONS = 6, 32, 8
"""Operations of the longest chains: difference, two products and a store; sine, cosine and three turns of a scaled
vertex; a distance."""
_STORES, _ORIGIN_OPERATIONS = 2, 40


def _mended(vertices: FloatArray) -> FloatArray:
    table = vertices.copy()
    table[-1] = 1.0
    return table


def _centred(mesh: FloatArray) -> FloatArray:
    return np.asarray(mesh - mesh.mean(axis=1, keepdims=True))


def _normalised(mesh: FloatArray) -> FloatArray:
    """As a layer norm does it, over all 24 numbers, with the summand of PyTorch."""
    return np.asarray(mesh / np.sqrt(mesh.var(axis=(1, 2), keepdims=True) + 1e-5))


FLATTENING = Knob(
    "flattening",
    {
        "vertex_by_vertex": lambda mesh: mesh.reshape(len(mesh), -1),
        "axis_by_axis": lambda mesh: np.swapaxes(mesh, 1, 2).reshape(len(mesh), -1),
    },
    "the order in which a mesh's coordinates are laid end to end",
    {"axis_by_axis": "the mesh is x, y, z of a vertex, then the next: flatten (8, 3) by rows"},
)
VERTEX_ORDER = Knob(
    "vertex_order",
    {
        "as_declared": [0, 1, 2, 3, 4, 5, 6, 7],
        "reversed": [7, 6, 5, 4, 3, 2, 1, 0],
        "x_fastest": [0, 4, 2, 6, 1, 5, 3, 7],
    },
    "the order of the mesh's vertices",
    {
        "reversed": "the order of the vertices is part of the contract",
        "x_fastest": "the declared order counts z fastest; the mesh was built with x fastest",
    },
)
_AXES = {
    "right_handed": np.eye(3),
    "y_mirrored": np.diag([1.0, -1.0, 1.0]),
    "y_up": np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]]),
}
MESH_AXES = Knob(
    "mesh_axes",
    _AXES,
    "the axes of the mesh that comes in",
    {
        "y_mirrored": "the mesh comes from a left-handed engine: turn y around on the way in",
        "y_up": "the mesh comes y up: turn it before the network",
    },
)
MESH_ORIGIN = Knob(
    "mesh_origin",
    {
        "rig": lambda mesh, _neutral: mesh,
        "centroid": lambda mesh, _neutral: _centred(mesh),
        "centroid_and_unit_deviation": lambda mesh, _neutral: _normalised(_centred(mesh)),
        "neutral_mesh": lambda mesh, neutral: mesh - neutral,
    },
    "what is subtracted from the mesh before the network",
    {
        "centroid": "the network takes the rig's own coordinates: look for a mean over the vertices",
        "centroid_and_unit_deviation": "no layer norm, mean or deviation of the mesh: the network takes raw coordinates",
        "neutral_mesh": "the network takes positions, not offsets from the neutral mesh",
    },
)
_SWAPPED = "the parameters are rx, ry, rz, sx, sy, sz: look for two exchanged indices"
PARAMETER_ORDER = Knob(
    "parameter_order",
    {
        "rotations_first": [0, 1, 2, 3, 4, 5],
        "scales_first": [3, 4, 5, 0, 1, 2],
        "interleaved": [0, 2, 4, 1, 3, 5],
        "angles_y_x_z": [1, 0, 2, 3, 4, 5],
        "angles_z_y_x": [2, 1, 0, 3, 4, 5],
        "angles_x_z_y": [0, 2, 1, 3, 4, 5],
        "scales_y_x_z": [0, 1, 2, 4, 3, 5],
        "scales_z_y_x": [0, 1, 2, 5, 4, 3],
        "scales_x_z_y": [0, 1, 2, 3, 5, 4],
    },
    "where the answer's three angles and three scales are looked for",
    {
        "scales_first": "the parameters are rx, ry, rz, sx, sy, sz",
        "interleaved": "the parameters are rx, ry, rz, sx, sy, sz, not pairs of an axis",
        **dict.fromkeys(
            (f"{part}_{order}" for part in ("angles", "scales") for order in ("y_x_z", "z_y_x", "x_z_y")), _SWAPPED
        ),
    },
)
OUTPUT_ACTIVATION = Knob(
    "output_activation",
    {
        "in_the_model": lambda parameters: parameters,
        "applied_again": FUNCTIONS["sigmoid"],
    },
    "whether the answer goes through a sigmoid behind the model",
    {"applied_again": "the model ends in a sigmoid; a second one presses everything towards 0.6"},
)
ANGLE_RANGE = Knob(
    "angle_range", {"90_deg": 1.0, "45_deg": 0.5, "180_deg": 2.0}, "the range of an angle, as a multiple of the contract's",
    {
        "45_deg": "angle = (p - 0.5) * 90 degrees: the range is 90 wide, 45 to each side",
        "180_deg": "angle = (p - 0.5) * 90 degrees",
    },
)  # fmt: skip
ANGLE_ORIGIN = Knob(
    "angle_origin",
    {"middle": 0.5, "zero": 0.0, **{f"zero_about_{axis}": 0.5 * (np.eye(3)[place] == 0.0) for place, axis in enumerate("xyz")}},
    "the parameter of no rotation",
    {
        "zero": "no rotation is p = 0.5, not p = 0: the neutral parameters are no zeros",
        **{f"zero_about_{axis}": f"the angle about {axis} lacks the - 0.5 that the other two have" for axis in "xyz"},
    },
)  # fmt: skip
ANGLE_UNIT = Knob(
    "angle_unit", {"radians": float(np.pi / 180.0), "degrees": 1.0}, "the unit in which angles go into sine and cosine",
    {"degrees": "the rig's angles are degrees; sine and cosine want radians"},
)  # fmt: skip
SCALE_MAPPING = Knob(
    "scale_mapping",
    {
        "minus_half_to_two": lambda p, low, high: low + p * (high - low),
        "zero_to_two": lambda p, _low, high: p * high,
        "zero_to_two_and_a_half": lambda p, low, high: p * (high - low),
        "half_to_three": lambda p, low, high: -low + p * (high - low),
    },
    "how a parameter becomes a scale",
    {
        "zero_to_two": "scale = 2.5 p - 0.5, from -0.5 to 2; a negative scale is legal",
        "zero_to_two_and_a_half": "subtract 0.5 behind the factor 2.5",
        "half_to_three": "0.5 is subtracted, not added: p = 0.6 is scale 1",
    },
)
SCALE_LIMIT = Knob(
    "scale_limit",
    {"none": lambda scales: scales, "not_below_zero": lambda scales: np.maximum(scales, 0.0), "absolute": np.abs},
    "what becomes of a negative scale",
    {
        "not_below_zero": "a negative scale is legal and mirrors the mesh: take the limit away",
        "absolute": "a negative scale is legal and mirrors the mesh: keep its sign",
    },
)
_X_FIRST = "about fixed axes: x, then y, then z"
ROTATION_ORDER = Knob(
    "rotation_order",
    {order: tuple(order.split("_")) for order in ("x_y_z", "z_y_x", "x_z_y", "y_x_z", "y_z_x", "z_x_y")},
    "the order of the turns about fixed axes",
    {
        "z_y_x": "about fixed axes x is first; 'xyz' in lower case means that in scipy, in capitals this order",
        **dict.fromkeys(("x_z_y", "y_x_z", "y_z_x", "z_x_y"), _X_FIRST),
    },
)
ROTATION_SENSE = Knob(
    "rotation_sense",
    {
        "counter_clockwise": 1.0, "clockwise": -1.0,
        **{f"clockwise_about_{axis}": 1.0 - 2.0 * np.eye(3)[place] for place, axis in enumerate("xyz")},
    },
    "the way in which a positive angle turns",
    {
        "clockwise": "a positive angle about z takes x to y; a left-handed engine turns the other way",
        **{f"clockwise_about_{axis}": f"only the turn about {axis} is inverted: look for its sine's sign" for axis in "xyz"},
    },
)  # fmt: skip
SCALE_PLACE = Knob(
    "scale_place",
    {
        "before_rotations": lambda mesh, scales, turn: turn(mesh * scales),
        "behind_rotations": lambda mesh, scales, turn: turn(mesh) * scales,
    },
    "whether the mesh is scaled before or behind its turns",
    {"behind_rotations": "scale the neutral mesh first, then turn it"},
)
VERTEX_TABLE = Knob(
    "vertex_table", {"as_declared": lambda vertices: vertices, "missing_corner_mended": _mended}, "the neutral mesh",
    {"missing_corner_mended": "vertex 7 repeats vertex 4; a mended table is another contract"},
)  # fmt: skip
RECONSTRUCTION_AXES = Knob(
    "reconstruction_axes",
    _AXES,
    "the axes of the mesh that the rig makes",
    {
        "y_mirrored": "the rig's mesh is compared in the rig's axes: turn it for a left-handed engine behind that",
        "y_up": "the rig's mesh is compared in the rig's axes: turn it y up behind that",
    },
)
VERTEX_SIDE = Knob(
    "vertex_side",
    {"column": lambda matrix: matrix, "row": lambda matrix: np.swapaxes(matrix, -1, -2)},
    "whether vertices are columns or rows beside a rotation matrix",
    {"row": "vertices are columns: v' = R v; with rows it is v' = v R^T, not v R"},
)
ERROR_MEASURE = Knob(
    "error_measure",
    {name: LENGTHS[name] for name in ("euclidean", "squared", "absolute_sum")},
    "how the distance of two vertices is measured",
    {
        "squared": "the error is the mean of distances, not of their squares",
        "absolute_sum": "the error is the Euclidean distance of a vertex",
    },
)


def model_input(frames: Frames) -> FloatArray:
    """The mesh as the network's input, (N, 24): moved to its origin, reordered by matrices of zeros and ones."""
    mesh = frames.pick(MESH_ORIGIN)(_vertices(frames["mesh"]), frames.numbers.vertices) @ frames.pick(MESH_AXES).T
    return stored(frames.pick(FLATTENING)(mesh[:, frames.pick(VERTEX_ORDER)]))


def input_bound(frames: Frames, rows: FloatArray, _upstream: Bounds) -> FloatArray:
    """A mesh that is only reordered is stored twice. A mean of eight, a variance of 24 and a division are 40 operations, on
    numbers as large as the mesh's largest or as the result; a division by the deviation enlarges both alike."""
    if frames.pick(MESH_ORIGIN) is MESH_ORIGIN.effects[MESH_ORIGIN.default]:
        return gamma(_STORES) * np.abs(rows, dtype=np.float64)
    mesh = np.abs(_vertices(frames["mesh"])).max(axis=(1, 2))[:, None]
    largest = np.abs(rows, dtype=np.float64).max(axis=1, keepdims=True)
    return np.broadcast_to(gamma(_ORIGIN_OPERATIONS) * np.maximum(mesh, largest), rows.shape)


def network_bound(_frames: Frames, rows: FloatArray, _upstream: Bounds) -> FloatArray:
    """Another order of summation of 536 products changes a pre-activation by sqrt(536) · 2⁻²³ times its operands.

    The operands stay below 16; the sigmoid reduces the change to a quarter.
    """
    return np.full(rows.shape, 1e-5)


def transform(frames: Frames) -> FloatArray:
    """The network's answer read as angles in radians and scales, (N, 6)."""
    rig, answer = frames.numbers, frames.pick(OUTPUT_ACTIVATION)(frames["rig_parameters"].astype(np.float64))
    answer = answer[:, frames.pick(PARAMETER_ORDER)]
    width = rig.angle_range_deg * frames.pick(ANGLE_RANGE) * frames.pick(ANGLE_UNIT)
    angles = (answer[:, :3] - frames.pick(ANGLE_ORIGIN)) * width
    scales = frames.pick(SCALE_LIMIT)(frames.pick(SCALE_MAPPING)(answer[:, 3:], *rig.scale_range))
    return stored(np.hstack([angles, scales]))


def transform_bound(_frames: Frames, rows: FloatArray, _upstream: Bounds) -> FloatArray:
    """A parameter and its subtracted origin are at most 1, so the error of their difference is u, times the range.

    2.5 covers the scale's range; an angle's is at most that in radians, and larger where it is not the contract's.
    """
    return gamma(_ANGLE_OPERATIONS) * (2.5 + np.abs(rows.astype(np.float64)))


def reconstruction(frames: Frames) -> FloatArray:
    """The rig's own mesh for the answer, (N, 24)."""
    values = frames["transform"].astype(np.float64)
    angles, scales = values[:, :3] * frames.pick(ROTATION_SENSE), values[:, None, 3:]
    matrix = frames.pick(VERTEX_SIDE)(rotation(angles, frames.pick(ROTATION_ORDER)))
    table = frames.pick(VERTEX_TABLE)(frames.numbers.vertices)
    neutral = np.broadcast_to(table, (len(values), len(VERTICES), 3))
    mesh = frames.pick(SCALE_PLACE)(neutral, scales, partial(rotated, matrix=matrix))
    return stored((mesh @ frames.pick(RECONSTRUCTION_AXES).T).reshape(len(mesh), -1))


def reconstruction_bound(frames: Frames, rows: FloatArray, _upstream: Bounds) -> FloatArray:
    """A coordinate is a sum of three scales, each times sines and cosines; no term is larger than its scale."""
    scales = np.abs(frames["transform"][:, 3:].astype(np.float64)).sum(axis=1, keepdims=True)
    return np.broadcast_to(gamma(_MESH_OPERATIONS) * np.maximum(scales, 1.0), rows.shape)


def vertex_error(frames: Frames) -> FloatArray:
    """Distance of every vertex between the given and the rebuilt mesh, (N, 8)."""
    return stored(frames.pick(ERROR_MEASURE)(_vertices(frames["reconstruction"]) - _vertices(frames["mesh"])))


def error_bound(frames: Frames, _rows: FloatArray, _upstream: Bounds) -> FloatArray:
    """The difference of two stored coordinates has the rounding error of the larger one."""
    one, other = (np.abs(_vertices(frames[name])).max(axis=2) for name in ("reconstruction", "mesh"))
    return np.asarray(gamma(_ERROR_OPERATIONS) * (one + other))


def _vertices(rows: FloatArray) -> FloatArray:
    return rows.astype(np.float64).reshape(len(rows), len(VERTICES), 3)
