"""Operations that only move numbers: no rounding. Their integer inputs (shapes, axes, indices) are exact."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from rigpact.contract.model.program import Operation
from rigpact.reference_runtime.network_rounding.arithmetic import Array


class NotEvaluated(Exception):
    """An operation, or a use of one, that this package does not evaluate."""


Values = list[Array]


def optional(values: Values, place: int) -> Any:
    """An optional input; None if it is absent."""
    return values[place] if place < len(values) and values[place].dtype != object else None


def asked(node: Operation, values: Values, name: str, place: int) -> tuple[int, ...] | None:
    """Axes or sizes: an attribute in old operator sets, an input in new ones."""
    given = optional(values, place) if optional(values, place) is not None else node.attributes.get(name)
    return None if given is None else tuple(int(each) for each in np.atleast_1d(given))


def _reshape(node: Operation, values: Values) -> Array:
    data, wanted = values[0], [int(size) for size in values[1]]
    if not node.attributes.get("allowzero"):
        wanted = [data.shape[axis] if size == 0 else size for axis, size in enumerate(wanted)]
    return data.reshape(wanted)


def _flatten(node: Operation, values: Values) -> Array:
    axis = node.attributes.get("axis", 1) % (values[0].ndim + 1)
    return values[0].reshape(int(np.prod(values[0].shape[:axis])), -1)


def _squeeze(node: Operation, values: Values) -> Array:
    return np.squeeze(values[0], asked(node, values, "axes", 1))


def _unsqueeze(node: Operation, values: Values) -> Array:
    return np.expand_dims(values[0], asked(node, values, "axes", 1) or ())


def _slice(node: Operation, values: Values) -> Array:
    starts, ends = asked(node, values, "starts", 1) or (), asked(node, values, "ends", 2) or ()
    axes = asked(node, values, "axes", 3) or tuple(range(len(starts)))
    steps = asked(node, values, "steps", 4) or (1,) * len(starts)
    place = [slice(None)] * values[0].ndim
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        stop = None if step < 0 and end <= -values[0].shape[axis] - 1 else end
        place[axis] = slice(start, stop, step)
    return values[0][tuple(place)]


def split(node: Operation, values: Values, count: int) -> list[Array]:
    """The parts of a Split."""
    axis, sizes = node.attributes.get("axis", 0), asked(node, values, "split", 1)
    whole = values[0].shape[axis]
    if sizes is None:
        each = -(-whole // count)
        sizes = tuple(max(min(each, whole - each * part), 0) for part in range(count))
    return np.split(values[0], np.cumsum(sizes)[:-1].tolist(), axis)


def _pad(node: Operation, values: Values) -> Array:
    mode, given = node.attributes.get("mode", "constant"), asked(node, values, "pads", 1) or ()
    axes = asked(node, values, "axes", 3) or tuple(range(values[0].ndim))
    around = [(0, 0)] * values[0].ndim
    for place, axis in enumerate(axes):
        around[axis] = given[place], given[place + len(axes)]
    if min(given, default=0) < 0 or mode not in ("constant", "reflect", "edge"):
        raise NotEvaluated(f"Pad {mode}")
    if mode != "constant":
        return np.pad(values[0], around, mode=mode)
    fill = optional(values, 2)
    return np.pad(values[0], around, constant_values=node.attributes.get("value", 0.0) if fill is None else fill)


_CAST: Mapping[int, type] = {1: np.float64, 11: np.float64, 6: np.int64, 7: np.int64, 9: np.bool_}


def _cast(node: Operation, values: Values) -> Array:
    """Numbers stay wide: the rounding of float32 belongs to the operations."""
    if node.attributes["to"] not in _CAST:
        raise NotEvaluated(f"Cast to type {node.attributes['to']}")
    return values[0].astype(_CAST[node.attributes["to"]])


def _clip(node: Operation, values: Values) -> Array:
    low, high = optional(values, 1), optional(values, 2)
    low = node.attributes.get("min", -np.inf) if low is None else low
    high = node.attributes.get("max", np.inf) if high is None else high
    return np.asarray(np.minimum(np.maximum(values[0], low), high))


def _shape(node: Operation, values: Values) -> Array:
    return np.array(values[0].shape[node.attributes.get("start", 0) : node.attributes.get("end")], np.int64)


def _filled(node: Operation, values: Values) -> Array:
    value = node.attributes.get("value", np.zeros(1, np.float32))
    kind = np.float64 if value.dtype.kind == "f" else value.dtype
    return np.full([int(size) for size in values[0]], value.reshape(()), kind)


MOVING: Mapping[str, Callable[[Operation, Values], Array]] = {
    "Reshape": _reshape,
    "Flatten": _flatten,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "Transpose": lambda node, values: np.transpose(values[0], node.attributes.get("perm")),
    "Concat": lambda node, values: np.concatenate(values, node.attributes["axis"]),
    "Slice": _slice,
    "Gather": lambda node, values: np.take(values[0], values[1].astype(np.int64), node.attributes.get("axis", 0)),
    "GatherElements": lambda node, values: np.take_along_axis(values[0], values[1], node.attributes.get("axis", 0)),
    "Expand": lambda _node, values: values[0] * np.ones([int(size) for size in values[1]], values[0].dtype),
    "Tile": lambda _node, values: np.tile(values[0], [int(size) for size in values[1]]),
    "Pad": _pad,
    "Cast": _cast,
    "Clip": _clip,
    "Shape": _shape,
    "ConstantOfShape": _filled,
    "Range": lambda _node, values: np.arange(*(each.item() for each in values)),
}
