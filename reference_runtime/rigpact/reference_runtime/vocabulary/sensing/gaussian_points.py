"""Gaussian points: the means or the log-variances of points out of a head that gives both."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from rigpact.contract.conventions import CodeHint
from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.declared.problems import Misdeclared, Wrong
from rigpact.contract.skeleton import left_right_permutation
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.layout import Field, FieldKind, FieldLayout
from rigpact.reference_runtime.operations.definitions.scaling import CLIPPED
from rigpact.reference_runtime.operations.precision import stored
from rigpact.reference_runtime.vocabulary.rounding_bounds import wide

_WIDEST = 10.0
"""A clamp that is wider than the declared one: what other networks have."""
Halves = tuple[FloatArray, FloatArray]


def _halves(head: FloatArray) -> Halves:
    width = head.shape[1] // 2
    return head[:, :width], head[:, width:]


def _axes_first(head: FloatArray) -> Halves:
    """(3, points, 2), each half turned into points of three axes."""
    count = head.shape[1] // 6
    mean, log_variance = head.reshape(len(head), 3, count, 2).transpose(3, 0, 2, 1).reshape(2, len(head), -1)
    return mean, log_variance


_LAYOUTS: Mapping[str, Callable[[FloatArray], Halves]] = {
    "interleaved": lambda head: (head[:, 0::2], head[:, 1::2]),
    "halves": _halves,
    "log_variance_first": lambda head: (head[:, 1::2], head[:, 0::2]),
    "axes_first": _axes_first,
}
_AXES = {"z_up": np.eye(3), "y_up": np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])}
_ORIGINS: Mapping[str, Callable[[FloatArray], FloatArray]] = {
    "world": lambda points: points,
    "first_point": lambda points: points - points[:, :1],
}


def build(use: Use) -> Built:
    """Points of three numbers each, from a head of six numbers a point."""
    source, names = use.inputs[0], use.word_list("points")
    if source.fields.width != 6 * len(names):
        raise Misdeclared(
            Wrong.WIDTH, use.at("of"), f"{source.name}, {source.fields.width} numbers", f"{6 * len(names)}, six a point"
        )
    parts = ("mean", "log_variance")
    if use.table.get("part") not in parts:
        raise use.not_one_of("part", parts)
    part = parts.index(use.table["part"])
    layout = _layout(use, names, FieldKind.LOG_VARIANCE if part else FieldKind.POSITION)
    split = use.choice("layout", _LAYOUTS, "where the head's means and log-variances stand", _layout_hints(len(names)))
    own = {"as_declared": list(range(len(names))), "left_right_swapped": list(left_right_permutation(names) or ())}
    orders = {word: order for word, order in {**own, **use.said("order").get("wrong", {})}.items() if order}
    order = use.choice("order", orders, "the order of the joints in the head", _ORDER_HINTS)
    axes = use.choice("axes", _AXES, "the axes of the world in which joints are placed", _AXES_HINTS)

    def points(frames: Frames) -> FloatArray:
        """(N, points, 3), in the head's axes."""
        values = split.of(frames)(wide(frames, source.name))[part]
        return np.asarray(values.reshape(len(values), len(names), 3)[:, order.of(frames)])

    if part == 0:
        origin = use.choice("origin", _ORIGINS, "the origin of the joints' positions", _ORIGIN_HINTS)

        def means(frames: Frames) -> FloatArray:
            placed = origin.of(frames)(points(frames)) @ axes.of(frames).T
            return stored(placed.reshape(len(placed), -1))

        return Built(layout, means)
    ends = use.number("range", 2, is_table=True)
    clamp = use.choice(
        "clamp", _CLAMPS, "whether log-variances are kept within their range", _clamp_hints(use, ends.path)
    )

    def log_variances(frames: Frames) -> FloatArray:
        moved = np.abs(axes.of(frames)) @ points(frames)[..., None]
        return stored(clamp.of(frames)(moved.reshape(len(moved), -1), *ends.of(frames)))

    return Built(layout, log_variances)


def _layout(use: Use, names: Sequence[str], kind: FieldKind) -> FieldLayout:
    space = use.inputs[0].fields.fields[0].space
    fields = (Field(name, 3 * place, 3, kind, use.table.get("unit", ""), space) for place, name in enumerate(names))
    return FieldLayout(tuple(fields))


_CLAMPS: Mapping[str, Callable[[FloatArray, FloatArray, FloatArray], FloatArray]] = {
    **{name: CLIPPED[name] for name in ("clamped", "none")},
    "ten": lambda rows, _low, _high: np.clip(rows, -_WIDEST, _WIDEST),
}


def _clamp_hints(use: Use, path: str) -> dict[str, str]:
    ends = tuple(use.constants[path].tolist()) if path in use.constants else "the declared range"
    return {"none": f"clamp to {ends} before exp", "ten": f"the range is {ends}"}


def _layout_hints(count: int) -> dict[str, str]:
    return {
        "halves": f"the head is viewed as ({count}, 3, 2): even numbers are means, odd ones log-variances",
        "log_variance_first": "even numbers are means, odd ones log-variances",
        "axes_first": f"the head is viewed as ({count}, 3, 2): the three axes of a joint are neighbours",
    }


_ORDER_HINTS = {"left_right_swapped": "left is -x; every pair of joints has its left one first"}
_AXES_HINTS = {"y_up": "poses are z up; the engine's axes need a conversion in one place"}
_ORIGIN_HINTS = {"first_point": "poses hold absolute heights; a side that takes the pelvis off puts it on the floor"}
_CODE = {
    "layout": {
        "interleaved": CodeHint(
            "mean = head[2 * i], log_variance = head[2 * i + 1]", "mean, log_variance = head.unbind(-1)"
        ),
        "halves": CodeHint("mean = head[i], log_variance = head[count + i]", "mean, log_variance = head.chunk(2, -1)"),
        "log_variance_first": CodeHint(
            "mean = head[2 * i + 1], log_variance = head[2 * i]", "log_variance, mean = head.unbind(-1)"
        ),
        "axes_first": CodeHint("head[2 * (count * axis + joint)]", "head.view(3, count, 2)"),
    },
    "order": {
        "as_declared": CodeHint("joint[i]", "pose"),
        "left_right_swapped": CodeHint("joint[twin[i]]", "pose[:, twins]"),
    },
    "axes": {
        "z_up": CodeHint("v", "pose"),
        "y_up": CodeHint("Vec3(v.x, v.z, -v.y)", "pose[..., [0, 2, 1]] * (1, 1, -1)"),
    },
    "origin": {
        "world": CodeHint("joint[i]", "pose"),
        "first_point": CodeHint("joint[i] - joint[0]", "pose - pose[:, :1]"),
    },
    "clamp": {
        "clamped": CodeHint("std::clamp(v, low, high)", "log_var.clamp(low, high)"),
        "none": CodeHint("v", "log_var"),
        "ten": CodeHint("std::clamp(v, -10.f, 10.f)", "log_var.clamp(-10, 10)"),
    },
}
OPERATION = Operation(
    "gaussian_points",
    "the means, or the log-variances, of points out of a head that gives both",
    build,
    {
        "part": "mean or log_variance",
        "points": "the names of the points, or a name of [names]",
        "layout": ", ".join(_LAYOUTS),
        "order": "as_declared; where names have sides, left_right_swapped",
        "axes": ", ".join(_AXES),
        "origin": f"of means: {', '.join(_ORIGINS)}",
        "range": "of log-variances: the ends that they are kept within",
        "clamp": f"of log-variances: {', '.join(_CLAMPS)}",
    },
    choices=("layout", "order", "axes", "origin", "clamp"),
    code=_CODE,
)
