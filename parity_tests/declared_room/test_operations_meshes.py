"""Every reading of the operations on meshes and other points, against expected values that stand here, point by point."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from .one_operation import (
    Array,
    Oracle,
    Subject,
    judging_tests,
    offered,
)

COUNT = 8
CORNERS = [(x, y, z) for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)]
LISTED = ", ".join(str(number) for corner in CORNERS for number in corner)
MESH = f'{{ name = "mesh", names = {[f"v{place}" for place in range(COUNT)]}, size = 3 }}'.replace("'", '"')


def drawn(
    width: int, *names: str, low: float = -3.0, high: float = 3.0
) -> Callable[[np.random.Generator, int], Mapping[str, Array]]:
    """Random rows for each name."""
    return lambda random, count: {name: random.uniform(low, high, (count, width)).astype(np.float32) for name in names}


def by_row(function: Callable[..., Any]) -> Oracle:
    """A function of one frame's numbers, all of the rows' own float type."""

    def oracle(*rows: Array) -> Array:
        kind = rows[0].dtype.type
        return np.array([[kind(number) for number in function(kind, *each)] for each in zip(*rows, strict=True)])

    return oracle


# ---- mesh_input


def points(row: Array) -> list[Array]:
    return [row[3 * place : 3 * place + 3] for place in range(len(row) // 3)]


def laid(change: Callable[[Any, list[Array]], Sequence[Sequence[Any]]]) -> Oracle:
    """A function of one mesh's points, laid end to end, point by point."""
    return by_row(lambda kind, row: [number for point in change(kind, points(row)) for number in point])


def centred(kind: Any, mesh: list[Array]) -> list[list[Any]]:
    centre = [sum((point[axis] for point in mesh), start=kind(0.0)) / kind(len(mesh)) for axis in range(3)]
    return [[point[axis] - centre[axis] for axis in range(3)] for point in mesh]


def layer_norm(kind: Any, mesh: list[Array]) -> list[list[Any]]:
    moved = centred(kind, mesh)
    square = sum((number * number for point in moved for number in point), start=kind(0.0))
    deviation = np.sqrt(square / kind(3 * len(mesh)) + kind(1e-5))
    return [[number / deviation for number in point] for point in moved]


X_FASTEST = [0, 4, 2, 6, 1, 5, 3, 7]
MESH_INPUT = Subject(
    "mesh_input", MESH,
    f'operation = "mesh_input", of = "mesh", neutral = [{LISTED}], flattening = "vertex_by_vertex", '
    'order = "as_declared", axes = "right_handed", origin = "rig"',
    drawn(3 * COUNT, "mesh"),
    laid(lambda _kind, mesh: mesh),
    {
        "flattening": {
            "axis_by_axis": by_row(lambda _kind, row: [point[axis] for axis in range(3) for point in points(row)])
        },
        "order": {
            "reversed": laid(lambda _kind, mesh: mesh[::-1]),
            "x_fastest": laid(lambda _kind, mesh: [mesh[place] for place in X_FASTEST]),
        },
        "axes": {
            "y_mirrored": laid(lambda _kind, mesh: [(x, -y, z) for x, y, z in mesh]),
            "y_up": laid(lambda _kind, mesh: [(x, z, -y) for x, y, z in mesh]),
        },
        "origin": {
            "centroid": laid(centred),
            "centroid_and_unit_deviation": laid(layer_norm),
            "neutral_mesh": laid(
                lambda kind, mesh: [[a - kind(b) for a, b in zip(*pair, strict=True)] for pair in zip(mesh, CORNERS, strict=True)]
            ),
        },
    },
    widest=120.0,  # a mean of eight of either sign is far more exact than the worst case of its sum
)  # fmt: skip

# ---- rig_transform


def transformed(
    *,
    order: Sequence[int] = range(6),
    origin: Sequence[float] = (0.5, 0.5, 0.5),
    width: float = 90.0,
    degrees: bool = False,
    scale: Callable[..., Any] | None = None,
    first: Callable[..., Any] | None = None,
) -> Oracle:
    """Three angles, then three scales, of six numbers; `first` is done to each number, `scale` makes a scale of one."""

    def of_row(kind: Any, row: Array) -> Iterator[Any]:
        p = [row[place] if first is None else first(kind, row[place]) for place in order]
        turn = kind(width if degrees else width * np.pi / 180.0)
        yield from ((p[place] - kind(origin[place])) * turn for place in range(3))
        yield from (scale(kind, value) if scale else kind(2.5) * value - kind(0.5) for value in p[3:])

    return by_row(of_row)


SWAPS = {"y_x_z": (1, 0, 2), "z_y_x": (2, 1, 0), "x_z_y": (0, 2, 1)}
RIG_TRANSFORM = Subject(
    "rig_transform", '{ name = "p", size = 6 }',
    'operation = "rig_transform", of = "p", angle = 90, scale = [-0.5, 2], order = "rotations_first", '
    'activation = "in_the_model", origin = "middle", unit_of_angle = "radians", limit = "none"',
    drawn(6, "p", low=0.0, high=1.0),
    transformed(),
    {
        "order": {
            "scales_first": transformed(order=(3, 4, 5, 0, 1, 2)),
            "interleaved": transformed(order=(0, 2, 4, 1, 3, 5)),
            **{f"angles_{name}": transformed(order=(*swap, 3, 4, 5)) for name, swap in SWAPS.items()},
            **{f"scales_{name}": transformed(order=(0, 1, 2, *(3 + place for place in swap))) for name, swap in SWAPS.items()},
        },
        "activation": {"applied_again": transformed(first=lambda kind, p: kind(1.0) / (kind(1.0) + np.exp(-p)))},
        "angle": {"half": transformed(width=45.0), "twice": transformed(width=180.0)},
        "origin": {
            "zero": transformed(origin=(0.0, 0.0, 0.0)),
            "zero_about_x": transformed(origin=(0.0, 0.5, 0.5)),
            "zero_about_y": transformed(origin=(0.5, 0.0, 0.5)),
            "zero_about_z": transformed(origin=(0.5, 0.5, 0.0)),
        },
        "unit_of_angle": {"degrees": transformed(degrees=True)},
        "scale": {
            "low_end_zero": transformed(scale=lambda kind, p: kind(2.0) * p),
            "not_moved": transformed(scale=lambda kind, p: kind(2.5) * p),
            "moved_the_other_way": transformed(scale=lambda kind, p: kind(2.5) * p + kind(0.5)),
        },
        "limit": {
            "not_below_zero": transformed(scale=lambda kind, p: max(kind(2.5) * p - kind(0.5), kind(0.0))),
            "absolute": transformed(scale=lambda kind, p: abs(kind(2.5) * p - kind(0.5))),
        },
    },
)  # fmt: skip

# ---- turned_mesh

TABLE = [(1.0, 2.0, 3.0), (-1.0, 0.5, 2.0), (0.25, -3.0, 1.0)]
OTHER = [(1.0, 2.0, 3.0), (-1.0, 0.5, 2.0), (1.0, 1.0, 1.0)]


def about(axis: str, angle: Any, point: Sequence[Any]) -> list[Any]:
    """A point turned counter-clockwise about a fixed axis."""
    one, other = {"x": (1, 2), "y": (2, 0), "z": (0, 1)}[axis]
    turned, c, s = list(point), np.cos(angle), np.sin(angle)
    turned[one], turned[other] = c * point[one] - s * point[other], s * point[one] + c * point[other]
    return turned


def turned(
    *,
    order: str = "xyz",
    sense: Sequence[float] = (1.0, 1.0, 1.0),
    behind: bool = False,
    back: bool = False,
    table: Sequence[Sequence[float]] = (),
    end: Callable[[Sequence[Any]], Sequence[Any]] = list,
) -> Oracle:
    """The points of a mesh; back: turned by the inverse of all three turns."""

    def of_row(kind: Any, row: Array) -> Iterator[Any]:
        angles = {axis: kind(sense[place]) * row[place] for place, axis in enumerate("xyz")}
        for corner in table or TABLE:
            point = [kind(number) if behind else kind(number) * row[3 + axis] for axis, number in enumerate(corner)]
            for axis in reversed(order) if back else order:
                point = about(axis, -angles[axis] if back else angles[axis], point)
            yield from end([number * row[3 + axis] for axis, number in enumerate(point)] if behind else point)

    return by_row(of_row)


TURNED_MESH = Subject(
    "turned_mesh", '{ name = "t", size = 6 }',
    f'operation = "turned_mesh", of = "t", mesh = {{ value = {[list(p) for p in TABLE]}, wrong = '
    f'{{ other = {[list(p) for p in OTHER]} }} }}, order = "x_y_z", sense = "counter_clockwise", '
    'scaled = "before_rotations", vertices = "column", axes = "right_handed"',
    drawn(6, "t", low=-2.0, high=2.0),
    turned(),
    {
        "order": {"_".join(word): turned(order=word) for word in ("zyx", "xzy", "yxz", "yzx", "zxy")},
        "sense": {
            "clockwise": turned(sense=(-1.0, -1.0, -1.0)),
            "clockwise_about_x": turned(sense=(-1.0, 1.0, 1.0)),
            "clockwise_about_y": turned(sense=(1.0, -1.0, 1.0)),
            "clockwise_about_z": turned(sense=(1.0, 1.0, -1.0)),
        },
        "scaled": {"behind_rotations": turned(behind=True)},
        "mesh": {"other": turned(table=OTHER)},
        "vertices": {"row": turned(back=True)},
        "axes": {
            "y_mirrored": turned(end=lambda v: (v[0], -v[1], v[2])),
            "y_up": turned(end=lambda v: (v[0], v[2], -v[1])),
        },
    },
)  # fmt: skip

# ---- distance


def apart(length: Callable[[Any, list[Any]], Any]) -> Oracle:
    """A length of the difference of each point."""

    def of_row(kind: Any, one: Array, other: Array) -> Iterator[Any]:
        for a, b in zip(points(one), points(other), strict=True):
            yield length(kind, [a[axis] - b[axis] for axis in range(3)])

    return by_row(of_row)


DISTANCE = Subject(
    "distance", '{ name = "a", size = 6 }, { name = "b", size = 6 }',
    'operation = "distance", of = ["a", "b"], measure = "euclidean"',
    drawn(6, "a", "b"),
    apart(lambda _kind, v: np.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])),
    {
        "measure": {
            "squared": apart(lambda _kind, v: v[0] * v[0] + v[1] * v[1] + v[2] * v[2]),
            "absolute_sum": apart(lambda _kind, v: abs(v[0]) + abs(v[1]) + abs(v[2])),
            "largest": apart(lambda _kind, v: max(map(abs, v))),
        }
    },
)  # fmt: skip
SUBJECTS = (MESH_INPUT, RIG_TRANSFORM, TURNED_MESH, DISTANCE)
test_oracles, test_numbers, test_bounds = judging_tests(SUBJECTS, frames=400)


@pytest.mark.parametrize(
    ("given_vectors", "stage", "left"),
    [
        ('{ name = "p", size = 6 }',
         'operation = "rig_transform", of = "p", angle = 90, scale = [0.5, 2], limit = "none"', {"limit": ("none",)}),
        ('{ name = "p", size = 6 }',
         'operation = "rig_transform", of = "p", angle = 90, scale = [0, 2], limit = "none"',
         {"scale": ("declared",), "limit": ("none",)}),
        ('{ name = "m", size = 6 }', 'operation = "mesh_input", of = "m"', {"order": ("as_declared", "reversed")}),
        ('{ name = "m", size = 3 }', 'operation = "mesh_input", of = "m"', {"order": ("as_declared",)}),
    ],
)  # fmt: skip
def test_a_reading_that_changes_nothing_is_not_offered(
    given_vectors: str, stage: str, left: Mapping[str, tuple[str, ...]]
) -> None:
    """A limit of scales that never get there is a cause that no engine has."""
    found = offered(given_vectors, stage)
    assert {key: found.get(key, values[:1]) for key, values in left.items()} == left
