"""Sent pose: a pose as an engine sends it, targets and normals in the space of a frame, in the order and units of the wire."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from rigpact.contract.conventions import CodeHint
from rigpact.contract.declared.operation import Built, Input, Operation, Use
from rigpact.contract.declared.problems import Wrong, shown
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.layout import Field, FieldKind, FieldLayout
from rigpact.contract.systems.stage import Bounds
from rigpact.contract.units import UNITS, kind_of
from rigpact.reference_runtime.operations.definitions.quaternions import FRAMES, FROM_XYZW, TURNS, rotated
from rigpact.reference_runtime.operations.precision import stored
from rigpact.reference_runtime.operations.rounding import gamma
from rigpact.reference_runtime.vocabulary.named_fields import (
    FrameFields,
    channels_of,
    fields_named,
    found_fields,
    frame_of,
    reordered,
)
from rigpact.reference_runtime.vocabulary.rounding_bounds import wide

_ROTATE = 24
"""Of the longest chain: a unit quaternion, and a difference that it turns."""
_SENT_IN = ("m", "cm")
_TARGETS: Mapping[str, Callable[[FloatArray, FloatArray, FloatArray], FloatArray]] = {
    "frame": FRAMES["into_frame"],
    "world": lambda target, _p, _q: target,
    "forward_transform": FRAMES["into_frame_turned_forward"],
    "relative_not_turned": FRAMES["into_frame_not_turned"],
    "turned_not_moved": FRAMES["into_frame_origin_kept"],
}
_NORMALS = {"frame": TURNS["inverse"], "world": TURNS["none"], "forward_transform": TURNS["forward"]}
_HANDEDNESS = {"left_handed": 1.0, "right_handed": -1.0}
_ORDERS = {"as_declared": 0, "last_first": 1}


def build(use: Use) -> Built:
    """The pose's fields; those of `targets` and `normals` are in the frame's space."""
    source = use.inputs[0]
    frame, targets, normals = frame_of(use, source), *(fields_named(use, source, key) for key in ("targets", "normals"))
    chains, count = _chains(use, source), len(use.word_list("chains"))
    positions = _positions(use, source)
    turns = [each for each in source.fields if each.kind is FieldKind.QUATERNION_XYZW]
    quaternions = [start for each in turns for start in range(each.start, each.stop, 4)]
    target_space = use.choice("target_space", _TARGETS, "the space in which targets are sent", _target_hints(frame))
    normal_space = use.choice(
        "normal_space", _NORMALS, "the space in which ground normals are sent", _normal_hints(frame)
    )
    components = use.choice(
        "quaternion_order", FROM_XYZW, f"the order of a quaternion's components in the {use.stage}", _COMPONENT_HINTS
    )
    handedness = use.choice(
        "handedness", _HANDEDNESS, "the sign of x and y of every quaternion that is sent", _HANDEDNESS_HINTS
    )
    unit = use.choice("unit_of_positions", *_units(positions, use.stage))
    tail = use.choice(
        "order", _tails(use, source, chains.stop), "the order of the fields behind the chains", default="as_declared"
    )
    first = use.choice("chain_order", _ORDERS, "the chain whose fields are sent first", _CHAIN_HINTS)
    is_position = np.isin(np.arange(source.fields.width), channels_of(positions))

    def compute(frames: Frames) -> FloatArray:
        rows = wide(frames, source.name)
        p, q = frame.of(rows)
        sent = rows.copy()
        for each in targets:
            sent[:, each.range] = target_space.of(frames)(rows[:, each.range], p, q)
        for each in normals:
            sent[:, each.range] = rotated(normal_space.of(frames)(q), rows[:, each.range])
        for start in quaternions:
            sent[:, start : start + 2] *= handedness.of(frames)
        sent = reordered(sent, quaternions, components.of(frames))
        sent[:, is_position] *= unit.of(frames)
        by = first.of(frames) * (chains.stop - chains.start) // count
        sent[:, chains] = np.roll(sent[:, chains], by, axis=1)
        sent[:, chains.stop :] = sent[:, tail.of(frames)]
        return stored(sent)

    def bound(frames: Frames, rows: FloatArray, _upstream: Bounds) -> FloatArray:
        """A target is a turned difference of two positions, a normal is turned; all other numbers are copied, or times a unit."""
        pose = np.abs(wide(frames, source.name))
        largest = pose[:, frame.origin.range].sum(axis=1, keepdims=True)
        reach = np.max([pose[:, each.range].sum(axis=1, keepdims=True) for each in targets], axis=0)
        copied = gamma(2) * np.abs(rows.astype(np.float64))
        turned = copied + gamma(_ROTATE) * np.where(is_position, largest + reach, 2.0)
        return np.where(np.arange(rows.shape[1]) >= chains.stop, turned, copied)

    return Built(_in_the_frame(source.fields, [*targets, *normals], use.table.get("space", frame.name)), compute, bound)


def _chains(use: Use, source: Input) -> slice:
    """The numbers of all chains: as many for each, one behind the other, from the first fields that `chains` names."""
    starts = [each.start for each in fields_named(use, source, "chains", 0)]
    sizes, ends = set(np.diff(starts).tolist()), {each.stop for each in source.fields}
    if len(sizes) != 1 or min(sizes) < 1 or 2 * starts[-1] - starts[-2] not in ends:
        raise use.wrong(Wrong.WIDTH, "chains", f"fields at {starts}", "chains of as many numbers, one behind the other")
    return slice(starts[0], 2 * starts[-1] - starts[-2])


def _positions(use: Use, source: Input) -> list[Field]:
    found = [each for each in source.fields if each.kind is FieldKind.POSITION]
    if len({each.unit for each in found}) != 1 or kind_of(found[0].unit) != "length":
        units = ", ".join(sorted({each.unit for each in found})) or "none"
        raise use.wrong(Wrong.KIND, "of", f"positions in {units}", "positions in one unit of length")
    return found


def _units(positions: list[Field], stage: str) -> tuple[dict[str, float], str, dict[str, str]]:
    """Factors of a position in other units, the meaning, and a hint for each."""
    own = positions[0].unit
    others = {unit: UNITS[own].si / UNITS[unit].si for unit in _SENT_IN if unit != own}
    hints = dict.fromkeys(others, f"positions are sent in {own}")
    return {own: 1.0, **others}, f"the unit of positions in the {stage}", hints


def _tails(use: Use, source: Input, start: int) -> dict[str, list[int]]:
    """The numbers behind the chains as declared, and in the orders of fields that `wrong` holds."""
    lists = use.said("order").get("wrong", use.table.get("wrong", {}))
    if not isinstance(lists, Mapping) or not all(map(_is_words, lists.values())):
        raise use.wrong(Wrong.NUMBERS, "wrong", shown(lists), "a table of lists of names")
    orders = {"as_declared": list(range(start, source.fields.width))}
    for name, words in lists.items():
        orders[name] = channels_of(found_fields(use, source, ("wrong", name), words))
        if sorted(orders[name]) != orders["as_declared"]:
            raise use.wrong(Wrong.WIDTH, "wrong", f"{name} = {', '.join(words)}", "each field behind the chains once")
    return orders


def _is_words(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _in_the_frame(layout: FieldLayout, moved: list[Field], space: str) -> FieldLayout:
    names = {each.name for each in moved}
    fields = (replace(each, space=space) if each.name in names else each for each in layout)
    return FieldLayout(tuple(fields))


_NOT_FORWARD = "is the inverse rotation, not the rotation"
_COMPONENT_HINTS = {"wxyz": "w is last; glm and Eigen constructors take it first"}
_HANDEDNESS_HINTS = {
    "right_handed": "Unreal's rotator to quaternion has x and y negated against the right-handed formula"
}
_CHAIN_HINTS = {"last_first": "the order of the chains is part of the contract, in the packet and in the reply"}


def _target_hints(frame: FrameFields) -> dict[str, str]:
    formula = "R(q)^-1 (target - p)"
    return {
        "world": f"targets are sent in the {frame.whose} space: {formula}",
        "forward_transform": f"into the {frame.whose} space {_NOT_FORWARD}",
        "relative_not_turned": f"the {frame.whose} rotation is missing: {formula}",
        "turned_not_moved": f"the {frame.whose} position is missing: {formula}",
    }


def _normal_hints(frame: FrameFields) -> dict[str, str]:
    return {
        "world": f"ground normals are sent in the {frame.whose} space, turned and not moved",
        "forward_transform": f"into the {frame.whose} space {_NOT_FORWARD}",
    }


_CODE = {
    "target_space": {
        "frame": CodeHint("q.Inverse() * (target - p)", "rotate(conjugate(q), target - p)"),
        "world": CodeHint("target", "target"),
        "forward_transform": CodeHint("q * (target - p)", "rotate(q, target - p)"),
        "relative_not_turned": CodeHint("target - p", "target - p"),
        "turned_not_moved": CodeHint("q.Inverse() * target", "rotate(conjugate(q), target)"),
    },
    "normal_space": {
        "frame": CodeHint("q.Inverse() * normal", "rotate(conjugate(q), normal)"),
        "world": CodeHint("normal", "normal"),
        "forward_transform": CodeHint("q * normal", "rotate(q, normal)"),
    },
    "quaternion_order": {
        "xyzw": CodeHint("push(q.x, q.y, q.z, q.w)", "torch.cat((xyz, w), -1)"),
        "wxyz": CodeHint("push(q.w, q.x, q.y, q.z)", "torch.cat((w, xyz), -1)"),
    },
    "handedness": {
        "left_handed": CodeHint("FRotator::Quaternion()", "q"),
        "right_handed": CodeHint("Quat(-q.x, -q.y, q.z, q.w)", "q * (-1, -1, 1, 1)"),
    },
    "unit_of_positions": {
        "cm": CodeHint("p // centimetres", "p"),
        "m": CodeHint("p / 100 // metres", "p / 100"),
    },
    "order": {"as_declared": CodeHint("push the fields as declared", "torch.cat(fields, -1)")},
    "chain_order": {
        "as_declared": CodeHint("for (chain : chains) push(chain)", "torch.cat(chains, -1)"),
        "last_first": CodeHint("push(chains.back()) before the others", "torch.cat(chains, -1).roll(width, -1)"),
    },
}
OPERATION = Operation(
    "sent_pose",
    "a pose as an engine sends it: targets and normals in the space of a frame, fields in the order and units of the wire",
    build,
    {
        "frame": "the field of the frame's origin, and that of its quaternion xyzw",
        "targets": "the fields that are points in the world, and are sent in the frame",
        "normals": "the fields that are directions in the world, and are sent in the frame",
        "chains": "the first field of each chain of bones; chains have as many numbers, and stand one behind the other",
        "wrong": "orders of the fields behind the chains that other sides have: { NAME = [...] }",
        "target_space": ", ".join(_TARGETS),
        "normal_space": ", ".join(_NORMALS),
        "quaternion_order": "xyzw or wxyz, as the wire has it",
        "handedness": ", ".join(_HANDEDNESS),
        "unit_of_positions": "the unit of the positions on the wire: cm or m",
        "order": "of the fields behind the chains: as_declared, as if left out, or a name of `wrong`",
        "chain_order": ", ".join(_ORDERS),
    },
    choices=("target_space", "normal_space", "quaternion_order", "handedness", "unit_of_positions", "chain_order"),
    code=_CODE,
)
