"""Mesh input: a mesh as a network takes it, moved to an origin, turned to its axes, in an order, laid end to end."""

from collections.abc import Callable, Mapping

import numpy as np

from rigpact.contract.conventions import CodeHint
from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.stage import Bounds
from rigpact.reference_runtime.operations.precision import stored
from rigpact.reference_runtime.operations.rounding import gamma
from rigpact.reference_runtime.vocabulary.meshes.points import AXES, AXES_IN_CODE, count_of_points, points_of

_STORES = 2
"""A mesh that is only reordered is stored twice."""
_LAYER_NORM = 1e-5
"""The summand of PyTorch's layer norm."""


def _centred(mesh: FloatArray, _neutral: FloatArray | None) -> FloatArray:
    return np.asarray(mesh - mesh.mean(axis=1, keepdims=True))


def _normalised(mesh: FloatArray, neutral: FloatArray | None) -> FloatArray:
    """As a layer norm does it, over all of a mesh's numbers."""
    centred = _centred(mesh, neutral)
    return np.asarray(centred / np.sqrt(centred.var(axis=(1, 2), keepdims=True) + _LAYER_NORM))


_FLATTENINGS: Mapping[str, Callable[[FloatArray], FloatArray]] = {
    "vertex_by_vertex": lambda mesh: mesh.reshape(len(mesh), -1),
    "axis_by_axis": lambda mesh: np.swapaxes(mesh, 1, 2).reshape(len(mesh), -1),
}
_ORIGINS: Mapping[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "rig": lambda mesh, _neutral: mesh,
    "centroid": _centred,
    "centroid_and_unit_deviation": _normalised,
    "neutral_mesh": lambda mesh, neutral: mesh - neutral,
}


def _orders(count: int) -> dict[str, list[int]]:
    """Orders of the vertices; those of a grid as many points wide as high and deep count its last axis fastest."""
    declared = list(range(count))
    side = round(count ** (1.0 / 3.0))
    grid = {"x_fastest": np.arange(count).reshape(side, side, side).T.reshape(-1).tolist()} if side**3 == count else {}
    return {"as_declared": declared, "reversed": declared[::-1], **grid}


def build(use: Use) -> Built:
    """One mesh in, the same numbers out under the declared conventions."""
    source = use.inputs[0]
    count = count_of_points(use, source)
    neutral = use.number("neutral", source.fields.width, is_table=True) if "neutral" in use.table else None
    flattening = use.choice(
        "flattening", _FLATTENINGS, "the order in which a mesh's coordinates are laid end to end", _FLATTENING_HINTS
    )
    order = use.choice("order", _orders(count), "the order of the mesh's vertices", _ORDER_HINTS, shows=np.array)
    axes = use.choice("axes", AXES, "the axes of the mesh that comes in", _AXES_HINTS)
    known = {word: apply for word, apply in _ORIGINS.items() if word != "neutral_mesh" or neutral is not None}
    origin = use.choice(
        "origin", known, "the vector that is subtracted from the mesh before the network", _ORIGIN_HINTS
    )

    def compute(frames: Frames) -> FloatArray:
        at_rest = None if neutral is None else neutral.of(frames).reshape(count, 3)
        mesh = origin.of(frames)(points_of(frames, source.name), at_rest) @ axes.of(frames).T
        return stored(flattening.of(frames)(mesh[:, order.of(frames)]))

    def bound(frames: Frames, rows: FloatArray, _upstream: Bounds) -> FloatArray:
        """A mean of the points, a variance of their numbers and a division: as many operations as numbers and a few.

        They are on numbers as large as the mesh's largest or as the result; a division by the deviation enlarges both alike.
        """
        if origin.of(frames) is _ORIGINS["rig"]:
            return gamma(_STORES) * np.abs(rows, dtype=np.float64)
        mesh = np.abs(points_of(frames, source.name)).max(axis=(1, 2))[:, None]
        largest = np.abs(rows, dtype=np.float64).max(axis=1, keepdims=True)
        operations = 3 * count + count + 8  # of eight points 40
        return np.broadcast_to(gamma(operations) * np.maximum(mesh, largest), rows.shape)

    return Built(source.fields, compute, bound)


_FLATTENING_HINTS = {"axis_by_axis": "the mesh is x, y, z of a vertex, then the next: flatten (V, 3) by rows"}
_ORDER_HINTS = {
    "reversed": "the order of the vertices is part of the contract",
    "x_fastest": "the declared order counts z fastest; the mesh was built with x fastest",
}
_AXES_HINTS = {
    "y_mirrored": "the mesh comes from a left-handed engine: turn y around on the way in",
    "y_up": "the mesh comes y up: turn it before the network",
}
_ORIGIN_HINTS = {
    "centroid": "the network takes the rig's own coordinates: look for a mean over the vertices",
    "centroid_and_unit_deviation": "no layer norm, mean or deviation of the mesh: the network takes raw coordinates",
    "neutral_mesh": "the network takes positions, not offsets from the neutral mesh",
}
_CODE = {
    "flattening": {
        "vertex_by_vertex": CodeHint("x[3 * vertex + axis]", "mesh.reshape(-1)"),
        "axis_by_axis": CodeHint("x[count * axis + vertex]", "mesh.T.reshape(-1)"),
    },
    "order": {
        "as_declared": CodeHint("mesh[vertex]", "mesh"),
        "reversed": CodeHint("mesh[count - 1 - vertex]", "mesh.flip(-2)"),
        "x_fastest": CodeHint("for z, for y, for x: push(corner)", "mesh.reshape(n, n, n, 3).transpose(0, 2)"),
    },
    "axes": AXES_IN_CODE,
    "origin": {
        "rig": CodeHint("v", "mesh"),
        "centroid": CodeHint("v - centre", "mesh - mesh.mean(-2, keepdim=True)"),
        "centroid_and_unit_deviation": CodeHint("(v - centre) / deviation", "nn.LayerNorm((V, 3))(mesh)"),
        "neutral_mesh": CodeHint("v - neutral[vertex]", "mesh - neutral"),
    },
}
OPERATION = Operation(
    "mesh_input",
    "a mesh as a network takes it: its points from an origin, in axes and in an order, laid end to end",
    build,
    {
        "neutral": "the neutral mesh, as numbers or a name of [numbers], where one side takes offsets from it",
        "flattening": ", ".join(_FLATTENINGS),
        "order": "as_declared, reversed; of a grid x_fastest",
        "axes": ", ".join(AXES),
        "origin": ", ".join(_ORIGINS),
    },
    choices=("flattening", "order", "axes", "origin"),
    code=_CODE,
)
