"""Every reading of the operations on meshes, points and places, against expected values that stand here."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from .one_operation import MEASURES, Array, Draw, Oracle, Subject, drawn, judging_tests, threes

COUNT = 8
CORNERS = np.array([(x, y, z) for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
MESH = f'{{ name = "mesh", names = {[f"v{place}" for place in range(COUNT)]}, size = 3 }}'.replace("'", '"')
Signed = Sequence[tuple[int, float]]
"""Of each new axis: which of the old ones, and its sign."""
Z_UP, Y_UP = ((0, 1.0), (1, 1.0), (2, 1.0)), ((0, 1.0), (2, 1.0), (1, -1.0))
MIRRORED = ((0, 1.0), (1, -1.0), (2, 1.0))


def even(low: float, high: float, **widths: int) -> Draw:
    """Rows drawn evenly from a range."""
    return lambda random, count: {
        name: random.uniform(low, high, (count, width)).astype("f") for name, width in widths.items()
    }


def along(v: Array, axes: Signed) -> Array:
    return np.stack([v.dtype.type(sign) * v[..., axis] for axis, sign in axes], axis=-1)


# ---- mesh_input, rig_transform, turned_mesh


def laid(change: Callable[[Array], Array]) -> Oracle:
    return lambda mesh: change(threes(mesh))


def centred(mesh: Array) -> Array:
    return mesh - sum(mesh[:, place] for place in reversed(range(COUNT)))[:, None] / mesh.dtype.type(COUNT)


def layer_norm(mesh: Array) -> Array:
    moved = centred(mesh)
    square = sum(np.sum(moved[:, place] * moved[:, place], -1) for place in range(COUNT))
    return moved / np.sqrt(square / mesh.dtype.type(3 * COUNT) + mesh.dtype.type(1e-5))[:, None, None]


def transformed(
    *,
    order: Sequence[int] = range(6),
    origin: Sequence[float] = (0.5, 0.5, 0.5),
    angle: float = 90.0 * math.pi / 180.0,
    factor: float = 2.5,
    moved: float = -0.5,
    end: Callable[[Array], Array] = lambda scales: scales,
    first: Callable[[Array], Array] = lambda p: p,
) -> Oracle:
    """Three angles, then three scales, of six numbers; `first` is done to each number, `end` to each scale."""

    def oracle(p: Array) -> Array:
        kind, p = p.dtype.type, first(p)[:, list(order)]
        turns = (p[:, :3] - np.array(origin, kind)) * kind(angle)
        return np.hstack([turns, end(kind(factor) * p[:, 3:] + kind(moved))])

    return oracle


TABLE = [[1.0, 2.0, 3.0], [-1.0, 0.5, 2.0], [0.25, -3.0, 1.0]]
OTHER = [[1.0, 2.0, 3.0], [-1.0, 0.5, 2.0], [1.0, 1.0, 1.0]]


def about(axis: str, angle: Array, v: Array) -> Array:
    """Points (frames, n, 3) turned counter-clockwise about a fixed axis, by an angle of each frame."""
    one, other = {"x": (1, 2), "y": (2, 0), "z": (0, 1)}[axis]
    found, c, s = v.copy(), np.cos(angle)[:, None], np.sin(angle)[:, None]
    found[..., one] = c * v[..., one] - s * v[..., other]
    found[..., other] = s * v[..., one] + c * v[..., other]
    return found


def rotated(
    *,
    order: str = "xyz",
    sense: Sequence[float] = (1.0, 1.0, 1.0),
    behind: bool = False,
    back: bool = False,
    table: Sequence[Sequence[float]] = TABLE,
    axes: Signed = Z_UP,
) -> Oracle:
    """The points of a mesh; behind: scaled behind the turns; back: turned by the inverse of all three turns."""

    def oracle(t: Array) -> Array:
        angles, scales = t[:, :3] * np.array(sense, t.dtype), t[:, None, 3:]
        points = np.tile(np.array(table, t.dtype), (len(t), 1, 1))
        points = points if behind else points * scales
        for axis in reversed(order) if back else order:
            angle = angles[:, "xyz".index(axis)]
            points = about(axis, -angle if back else angle, points)
        return along(points * scales if behind else points, axes)

    return oracle


SWAPS = {"y_x_z": (1, 0, 2), "z_y_x": (2, 1, 0), "x_z_y": (0, 2, 1)}
ABOUT = {"x": (0.0, 0.5, 0.5), "y": (0.5, 0.0, 0.5), "z": (0.5, 0.5, 0.0)}
TURNED_BACK = {"x": (-1.0, 1.0, 1.0), "y": (1.0, -1.0, 1.0), "z": (1.0, 1.0, -1.0)}
MESHES = (
    Subject("mesh_input", MESH, f'operation = "mesh_input", of = "mesh", neutral = {CORNERS.reshape(-1).tolist()}, '
        'flattening = "vertex_by_vertex", order = "as_declared", axes = "right_handed", origin = "rig"',
        even(-3, 3, mesh=3 * COUNT), laid(lambda mesh: mesh), {
        "flattening": {"axis_by_axis": laid(lambda mesh: mesh.swapaxes(1, 2))},
        "order": {"reversed": laid(lambda mesh: mesh[:, ::-1]),
                  "x_fastest": laid(lambda mesh: mesh[:, [0, 4, 2, 6, 1, 5, 3, 7]])},
        "axes": {"y_mirrored": laid(lambda mesh: along(mesh, MIRRORED)), "y_up": laid(lambda mesh: along(mesh, Y_UP))},
        "origin": {"centroid": laid(centred), "centroid_and_unit_deviation": laid(layer_norm),
                   "neutral_mesh": laid(lambda mesh: mesh - CORNERS.astype(mesh.dtype))},
    }, widest=120.0),
    Subject("rig_transform", '{ name = "p", size = 6 }',
        'operation = "rig_transform", of = "p", angle = 90, scale = [-0.5, 2], order = "rotations_first", '
        'activation = "in_the_model", origin = "middle", unit_of_angle = "radians", limit = "none"',
        even(0, 1, p=6), transformed(), {
        "order": {
            "scales_first": transformed(order=(3, 4, 5, 0, 1, 2)), "interleaved": transformed(order=(0, 2, 4, 1, 3, 5)),
            **{f"angles_{name}": transformed(order=(*swap, 3, 4, 5)) for name, swap in SWAPS.items()},
            **{f"scales_{name}": transformed(order=(0, 1, 2, *(3 + place for place in swap))) for name, swap in SWAPS.items()},
        },
        "activation": {"applied_again": transformed(first=lambda p: p.dtype.type(1) / (p.dtype.type(1) + np.exp(-p)))},
        "angle": {"half": transformed(angle=math.pi / 4), "twice": transformed(angle=math.pi)},
        "origin": {"zero": transformed(origin=(0, 0, 0)),
                   **{f"zero_about_{axis}": transformed(origin=origin) for axis, origin in ABOUT.items()}},
        "unit_of_angle": {"degrees": transformed(angle=90.0)},
        "scale": {"low_end_zero": transformed(factor=2.0, moved=0.0), "not_moved": transformed(moved=0.0),
                  "moved_the_other_way": transformed(moved=0.5)},
        "limit": {"not_below_zero": transformed(end=lambda s: np.maximum(s, s.dtype.type(0))),
                  "absolute": transformed(end=np.abs)},
    }),
    Subject("turned_mesh", '{ name = "t", size = 6 }', f'operation = "turned_mesh", of = "t", mesh = {{ value = {TABLE}, wrong = '
        f'{{ other = {OTHER} }} }}, order = "x_y_z", sense = "counter_clockwise", scaled = "before_rotations", '
        'vertices = "column", axes = "right_handed"', even(-2, 2, t=6), rotated(), {
        "order": {"_".join(word): rotated(order=word) for word in ("zyx", "xzy", "yxz", "yzx", "zxy")},
        "sense": {"clockwise": rotated(sense=(-1, -1, -1)),
                  **{f"clockwise_about_{axis}": rotated(sense=sense) for axis, sense in TURNED_BACK.items()}},
        "scaled": {"behind_rotations": rotated(behind=True)}, "mesh": {"other": rotated(table=OTHER)},
        "vertices": {"row": rotated(back=True)}, "axes": {"y_mirrored": rotated(axes=MIRRORED), "y_up": rotated(axes=Y_UP)},
    }),
    Subject("distance", '{ name = "a", size = 6 }, { name = "b", size = 6 }',
        'operation = "distance", of = ["a", "b"], measure = "euclidean"', even(-3, 3, a=6, b=6),
        lambda a, b: MEASURES["euclidean"](threes(a) - threes(b)), {"measure": {
        name: (lambda a, b, length=length: length(threes(a) - threes(b)))
        for name, length in MEASURES.items() if name != "euclidean"
    }}),
)  # fmt: skip
"""mesh_input: a mean of eight of either sign is far more exact than the worst case of its sum."""

# ---- gather, either, linear, standardise


def standardised(freedom: int) -> Oracle:
    """Every channel by its own mean and deviation in the window, summed sample by sample."""

    def oracle(rows: Array) -> Array:
        kind, found = rows.dtype.type, rows.copy()
        for channel in found.T:
            mean = sum(channel, start=kind(0)) / kind(len(channel))
            square = sum(((value - mean) * (value - mean) for value in channel), start=kind(0))
            channel[:] = (channel - mean) / np.sqrt(square / kind(len(channel) - freedom))
        return found

    return oracle


TABLE = ((0.5, -2.0, 0.0), (1.0, 0.25, -0.75), (0.0, 3.0, 1.5))


def mixed(table: Sequence[Sequence[float]]) -> Oracle:
    return lambda v: np.hstack([
        sum(v.dtype.type(factor) * v[:, start + place] for place, factor in enumerate(row))[:, None]
        for start in (0, 3) for row in table
    ])  # fmt: skip


MOVES = (
    Subject("gather", '{ name = "v", size = 12 }',
        'operation = "gather", of = "v", places = [2, 0, 0], together = 2, of_each = 3', drawn(v=12),
        lambda v: v[:, [4, 5, 0, 1, 0, 1, 10, 11, 6, 7, 6, 7]], is_moved=True),
    Subject("a view", '{ name = "v", size = 12 }',
        'operation = "gather", of = "v", places = { shape = [2, 3, 2], order = [2, 1, 0], part = [1, 2] }', drawn(v=12),
        lambda v: v[:, [1, 7, 3, 9, 5, 11]], is_moved=True),
    Subject("either", '{ name = "a", size = 2 }, { name = "b", size = 2 }', 'operation = "either", of = ["a", "b"]',
        drawn(a=2, b=2), lambda a, _b: a, {"taken": {"b": lambda _a, b: b}}, is_moved=True),
    Subject("linear_map", '{ name = "v", size = 6 }', f'operation = "linear_map", of = "v", matrix = {list(map(list, TABLE))}',
        drawn(v=6), mixed(TABLE), {"matrix": {"transposed": mixed(tuple(zip(*TABLE, strict=True))), "none": lambda v: v}}),
    Subject("standardise", '{ name = "v", size = 3 }', 'operation = "standardise", of = "v", divisor = "count"', drawn(12.0, v=3),
        standardised(0), {"divisor": {"count_less_one": standardised(1)}}, widest=4000.0),
)  # fmt: skip
"""standardise: a mean of 400 of either sign is far more exact than the worst case."""
SUBJECTS = (*MESHES, *MOVES)
test_oracles, test_numbers, test_bounds = judging_tests(SUBJECTS, frames=400)
