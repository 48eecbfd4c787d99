"""Every reading of the operations on meshes, points, sensors and distributions, against expected values that stand here."""

import math
from collections.abc import Callable, Sequence
from typing import Any

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

# ---- imu_input, gaussian_points, standard_deviation


def sensed(
    *,
    a: float = 1.0,
    w: float = 1.0,
    taken: Sequence[float] = (0.0, 0.0, 9.81),
    swapped: bool = False,
    axes: Signed = Z_UP,
    divisor: float = 5.0,
) -> Oracle:
    """Acceleration and rate of each sample; a, w: their factors. taken: what is taken off. axes: those of the sensor."""

    def oracle(rows: Array) -> Array:
        kind, (one, other) = rows.dtype.type, (rows[:, :3], rows[:, 3:])
        acceleration, rate = (along(each, axes) for each in ((other, one) if swapped else (one, other)))
        found = kind(a) * acceleration - np.array(taken, kind), kind(w) * rate
        return np.hstack(found) / kind(divisor)

    return oracle


def standardised(freedom: int) -> Oracle:
    """Every channel by its own mean and deviation in the window, summed sample by sample."""

    def oracle(rows: Array) -> Array:
        kind, found = rows.dtype.type, sensed(divisor=1.0)(rows)
        for channel in found.T:
            mean = sum(channel, start=kind(0)) / kind(len(channel))
            square = sum(((value - mean) * (value - mean) for value in channel), start=kind(0))
            channel[:] = (channel - mean) / np.sqrt(square / kind(len(channel) - freedom))
        return found

    return oracle


POINTS = 4
"""hip_l, hip_r, knee_l, knee_r."""
TWINS = [1, 0, 3, 2]
LAYOUTS: dict[str, Callable[[Array], tuple[Array, Array]]] = {
    "interleaved": lambda h: (h[:, 0::2].reshape(-1, POINTS, 3), h[:, 1::2].reshape(-1, POINTS, 3)),
    "halves": lambda h: (h[:, :12].reshape(-1, POINTS, 3), h[:, 12:].reshape(-1, POINTS, 3)),
    "log_variance_first": lambda h: (h[:, 1::2].reshape(-1, POINTS, 3), h[:, 0::2].reshape(-1, POINTS, 3)),
    "axes_first": lambda h: (
        h.reshape(-1, 3, POINTS, 2)[..., 0].swapaxes(1, 2), h.reshape(-1, 3, POINTS, 2)[..., 1].swapaxes(1, 2),
    ),
}  # fmt: skip
"""Means and log-variances in a head: each mean before its log-variance, means first, …"""


def headed(
    part: int,
    layout: str = "interleaved",
    *,
    order: Sequence[int] = range(POINTS),
    axes: Signed = Z_UP,
    ends: tuple[float, float] = (-math.inf, math.inf),
    from_first: bool = False,
) -> Oracle:
    """Means (part 0) or log-variances of points out of a head."""

    def oracle(head: Array) -> Array:
        points = LAYOUTS[layout](head)[part][:, list(order)]
        points = along(points - points[:, :1] if from_first else points, axes)
        return np.minimum(np.maximum(points, head.dtype.type(ends[0])), head.dtype.type(ends[1]))

    return oracle


def spread(
    deviation: Callable[[Array], Array] = lambda v: np.exp(v.dtype.type(0.5) * v), factor: float = 1.5
) -> Oracle:
    return lambda v: deviation(v) * v.dtype.type(factor)  # fmt: skip


KEPT: Any = {"ends": (-8.0, 4.0)}
HEAD, NAMES = f'{{ name = "head", size = {6 * POINTS} }}', 'points = ["hip_l", "hip_r", "knee_l", "knee_r"]'
WORDS = 'layout = "interleaved", order = "as_declared", axes = "z_up"'
MEANS = Subject("gaussian_points", HEAD, f'operation = "gaussian_points", of = "head", part = "mean", {NAMES}, {WORDS}, '
    'origin = "world"', drawn(2.0, head=6 * POINTS), headed(0), {
    "layout": {layout: headed(0, layout) for layout in LAYOUTS if layout != "interleaved"},
    "order": {"left_right_swapped": headed(0, order=TWINS)}, "axes": {"y_up": headed(0, axes=Y_UP)},
    "origin": {"first_point": headed(0, from_first=True)},
})  # fmt: skip
SENSORS = (
    Subject("imu_input", '{ name = "imu", size = 6 }',
        'operation = "imu_input", of = "imu", gravity = 9.81, divisor = 5, acceleration_unit = "m_s2", '
        'acceleration_sign = "specific_force", angular_rate_unit = "rad_s", gravity_at_rest = "subtracted_at_rest", '
        'order = "acceleration_first", axes = "z_up", scaling = "divided"', drawn(12.0, imu=6), sensed(), {
        "acceleration_unit": {"g": sensed(a=1.0 / 9.81)}, "acceleration_sign": {"negated": sensed(a=-1.0)},
        "angular_rate_unit": {"deg_s": sensed(w=180.0 / math.pi)}, "order": {"angular_rate_first": sensed(swapped=True)},
        "gravity_at_rest": {"kept": sensed(taken=(0, 0, 0)), "added": sensed(taken=(0, 0, -9.81)),
                            "taken_off_y": sensed(taken=(0, 9.81, 0)), "standard": sensed(taken=(0, 0, 9.80665))},
        "axes": {"y_up": sensed(axes=((0, 1.0), (2, -1.0), (1, 1.0))), "turned_to_y_up": sensed(axes=Y_UP),
                 "z_down": sensed(axes=((0, 1.0), (1, -1.0), (2, -1.0)))},
        "scaling": {"none": sensed(divisor=1.0), "window_statistics": standardised(0),
                    "window_statistics_unbiased": standardised(1)},
    }, widest=4000.0),
    MEANS,
    Subject("log_variances", HEAD, f'operation = "gaussian_points", of = "head", part = "log_variance", {NAMES}, {WORDS}, '
        'range = [-8, 4], clamp = "clamped"', drawn(9.0, head=6 * POINTS), headed(1, **KEPT), {
        "layout": {layout: headed(1, layout, **KEPT) for layout in LAYOUTS if layout != "interleaved"},
        "order": {"left_right_swapped": headed(1, order=TWINS, **KEPT)},
        "axes": {"y_up": headed(1, axes=((0, 1.0), (2, 1.0), (1, 1.0)), **KEPT)},
        "clamp": {"none": headed(1), "ten": headed(1, ends=(-10.0, 10.0))},
    }, is_moved=True),
    Subject("standard_deviation", '{ name = "v", size = 3 }',
        'operation = "standard_deviation", of = "v", temperature = 1.5, spread = "variance", calibration = "applied"',
        drawn(2.0, v=3), spread(), {
        "spread": {"log_is_of_sigma": spread(np.exp), "softplus": spread(lambda v: np.sqrt(np.log1p(np.exp(v)))),
                   "with_floor": spread(lambda v: np.sqrt(np.exp(v) + v.dtype.type(1e-6)))},
        "calibration": {"none": spread(factor=1.0)},
    }),
)  # fmt: skip
"""imu_input: a mean of 400 of either sign is far more exact than the worst case; degrees are far above radians. The axes of a
variance have no sign."""
SUBJECTS = (*MESHES, *SENSORS)
test_oracles, test_numbers, test_bounds = judging_tests(SUBJECTS, frames=400, unbounded=(MEANS,))
