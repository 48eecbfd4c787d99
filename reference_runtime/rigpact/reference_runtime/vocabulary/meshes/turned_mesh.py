"""Turned mesh: the points of a mesh scaled along the axes and turned about them, by three angles and three scales."""

from collections.abc import Callable, Mapping

import numpy as np

from rigpact.contract.conventions import CodeHint
from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.declared.problems import Misdeclared, Wrong
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.layout import Field, FieldKind, FieldLayout
from rigpact.contract.systems.stage import Bounds
from rigpact.reference_runtime.operations.definitions.euler import EULER
from rigpact.reference_runtime.operations.precision import stored
from rigpact.reference_runtime.operations.rounding import gamma
from rigpact.reference_runtime.vocabulary.meshes.points import AXES, AXES_IN_CODE
from rigpact.reference_runtime.vocabulary.rounding_bounds import wide

_OPERATIONS = 32
"""Of the longest chain: sines and cosines, three turns of a scaled point."""
_ORDERS: Mapping[str, tuple[str, ...]] = {
    order: tuple(order.split("_")) for order in ("x_y_z", "z_y_x", "x_z_y", "y_x_z", "y_z_x", "z_x_y")
}
_SENSES: Mapping[str, FloatArray] = {
    "counter_clockwise": np.ones(3),
    "clockwise": -np.ones(3),
    **{f"clockwise_about_{axis}": 1.0 - 2.0 * np.eye(3)[place] for place, axis in enumerate("xyz")},
}
_PLACES: Mapping[str, Callable[[FloatArray, FloatArray, FloatArray], FloatArray]] = {
    "before_rotations": lambda mesh, scales, matrix: _turned(mesh * scales, matrix),
    "behind_rotations": lambda mesh, scales, matrix: _turned(mesh, matrix) * scales,
}
_SIDES: Mapping[str, Callable[[FloatArray], FloatArray]] = {
    "column": lambda matrix: matrix,
    "row": lambda matrix: np.swapaxes(matrix, -1, -2),
}


def _turned(mesh: FloatArray, matrix: FloatArray) -> FloatArray:
    """Points (N, V, 3) turned by matrices (N, 3, 3)."""
    return np.asarray(mesh @ np.swapaxes(matrix, -1, -2))


def _rotation(angles_rad: FloatArray, order: tuple[str, ...]) -> FloatArray:
    """The matrices (N, 3, 3) of turns about fixed axes, the first of `order` first, by angles (N, 3) about x, y, z."""
    to_matrix, _ = EULER[f"{''.join(order)}_rad"]
    return to_matrix(angles_rad[..., ["xyz".index(axis) for axis in order]])


def build(use: Use) -> Built:
    """Right-handed, points are columns, angles turn counter-clockwise about fixed axes: v' = Rz Ry Rx S v."""
    source = use.inputs[0]
    if source.fields.width != 6:
        raise Misdeclared(
            Wrong.WIDTH, use.at("of"), f"{source.name}, {source.fields.width} numbers", "three angles and three scales"
        )
    order = use.choice("order", _ORDERS, "the order of the turns about fixed axes", _ORDER_HINTS)
    sense = use.choice("sense", _SENSES, "the way in which a positive angle turns", _SENSE_HINTS)
    place = use.choice("scaled", _PLACES, "whether the mesh is scaled before or behind its turns", _PLACE_HINTS)
    table = use.number("mesh", meaning="the neutral mesh")
    count, rest = divmod(use.value_of(table).size, 3)
    if rest:
        raise use.wrong(Wrong.WIDTH, "mesh", f"{use.value_of(table).size} numbers", "points of 3 numbers each")
    side = use.choice("vertices", _SIDES, "whether vertices are columns or rows beside a rotation matrix", _SIDE_HINTS)
    axes = use.choice("axes", AXES, "the axes of the mesh that the rig makes", _AXES_HINTS)

    def compute(frames: Frames) -> FloatArray:
        values = wide(frames, source.name)
        matrix = side.of(frames)(_rotation(values[:, :3] * sense.of(frames), order.of(frames)))
        neutral = np.broadcast_to(table.of(frames).reshape(-1, 3), (len(values), count, 3))
        mesh = place.of(frames)(neutral, values[:, None, 3:], matrix) @ axes.of(frames).T
        return stored(mesh.reshape(len(mesh), -1))

    def bound(frames: Frames, rows: FloatArray, _upstream: Bounds) -> FloatArray:
        """A coordinate is a sum of three scales, each times the mesh's, sines and cosines; no term is larger than that."""
        reach = max(float(np.abs(table.of(frames)).max()), 1.0)
        scales = np.abs(wide(frames, source.name)[:, 3:]).sum(axis=1, keepdims=True)
        return np.broadcast_to(gamma(_OPERATIONS) * reach * np.maximum(scales, 1.0), rows.shape)

    space = use.table.get("space", source.fields.fields[0].space)
    points = (Field(f"vertex_{each}", 3 * each, 3, FieldKind.MESH_POINTS, "", space) for each in range(count))
    return Built(FieldLayout(tuple(points)), compute, bound)


_X_FIRST = "about fixed axes: x, then y, then z"
_ORDER_HINTS = {
    "z_y_x": "about fixed axes x is first; 'xyz' in lower case means that in scipy, in capitals this order",
    **dict.fromkeys(("x_z_y", "y_x_z", "y_z_x", "z_x_y"), _X_FIRST),
}
_SENSE_HINTS = {
    "clockwise": "a positive angle about z takes x to y; a left-handed engine turns the other way",
    **{
        f"clockwise_about_{axis}": f"only the turn about {axis} is inverted: look for its sine's sign" for axis in "xyz"
    },
}
_PLACE_HINTS = {"behind_rotations": "scale the neutral mesh first, then turn it"}
_SIDE_HINTS = {"row": "vertices are columns: v' = R v; with rows it is v' = v R^T, not v R"}
_AXES_HINTS = {
    "y_mirrored": "the rig's mesh is compared in the rig's axes: turn it for a left-handed engine behind that",
    "y_up": "the rig's mesh is compared in the rig's axes: turn it y up behind that",
}
_CODE = {
    "mesh": {"declared": CodeHint("neutral[vertex]", "neutral")},
    "order": {
        word: CodeHint(
            " * ".join(f"R{axis}" for axis in reversed(axes)) + " * v", f"Rotation.from_euler('{''.join(axes)}', angles)"
        )
        for word, axes in _ORDERS.items()
    },
    "sense": {
        "counter_clockwise": CodeHint("angle", "angle"),
        "clockwise": CodeHint("-angle", "-angle"),
        **{f"clockwise_about_{axis}": CodeHint(f"angle.{axis} = -angle.{axis};", f"angles[..., {place}] *= -1")
           for place, axis in enumerate("xyz")},
    },
    "scaled": {
        "before_rotations": CodeHint("R * (scale * v)", "(mesh * scale) @ R.mT"),
        "behind_rotations": CodeHint("scale * (R * v)", "(mesh @ R.mT) * scale"),
    },
    "vertices": {"column": CodeHint("R * v", "mesh @ R.mT"), "row": CodeHint("v * R", "mesh @ R")},
    "axes": AXES_IN_CODE,
}  # fmt: skip
OPERATION = Operation(
    "turned_mesh",
    "a mesh scaled and turned about fixed axes, by three angles and three scales",
    build,
    {
        "mesh": "the mesh at rest, three numbers a point, or a name of [numbers]",
        "order": ", ".join(_ORDERS),
        "sense": ", ".join(_SENSES),
        "scaled": ", ".join(_PLACES),
        "vertices": ", ".join(_SIDES),
        "axes": ", ".join(AXES),
    },
    choices=("order", "sense", "scaled", "vertices", "axes"),
    code=_CODE,
)
