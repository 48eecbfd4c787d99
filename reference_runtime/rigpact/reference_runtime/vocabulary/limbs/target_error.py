"""Target error: how far points are from the targets that a pose holds, one number a point."""

from collections.abc import Callable, Mapping

import numpy as np

from rigpact.contract.conventions import CodeHint
from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.declared.problems import Wrong
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.layout import Field, FieldKind, FieldLayout
from rigpact.contract.systems.stage import Bounds
from rigpact.reference_runtime.operations.definitions.quaternions import rotated
from rigpact.reference_runtime.operations.definitions.scaling import LENGTHS
from rigpact.reference_runtime.operations.precision import stored
from rigpact.reference_runtime.operations.rounding import gamma
from rigpact.reference_runtime.vocabulary.code_hints import CODE_HINTS
from rigpact.reference_runtime.vocabulary.named_fields import (
    FrameFields,
    called,
    fields_named,
    found_fields,
    frame_of,
)
from rigpact.reference_runtime.vocabulary.rounding_bounds import wide

_ROTATE = 24
"""A target that is turned and moved, a difference, three squares, their sum and its root."""
_WANTED: Mapping[str, Callable[..., FloatArray]] = {
    # the target of the pose, the one that was sent, the frame
    "world": lambda world, _sent, _p, _q: world,
    "sent_as_world": lambda _world, sent, _p, _q: sent,
    "turned_not_moved": lambda _world, sent, _p, q: rotated(q, sent),
    "moved_not_turned": lambda _world, sent, p, _q: sent + p,
}


def build(use: Use) -> Built:
    """of = [pose, sent, points]: targets in the world in the first, in the frame in the second, points in the third."""
    source, sent, placed = use.inputs
    frame, targets, points = (
        frame_of(use, source),
        fields_named(use, source, "targets"),
        fields_named(use, placed, "points"),
    )
    in_sent = found_fields(use, sent, ("targets",), [each.name for each in targets], 3)
    if len(points) != len(targets):
        raise use.wrong(Wrong.WIDTH, "points", f"{len(points)} points", f"{len(targets)}, one for each target")
    unit, name = points[0].unit, called([each.name for each in points], "point")
    wanted = use.choice(
        "target", _WANTED, f"where a target is, from {source.name} or from {sent.name}", _target_hints(frame)
    )
    measure = use.choice(
        "measure", LENGTHS, f"how the distance of a {name} from its target is measured", _measure_hints(unit)
    )

    def compute(frames: Frames) -> FloatArray:
        pose, wire, places = (wide(frames, each.name) for each in use.inputs)
        errors = []
        for target, other, point in zip(targets, in_sent, points, strict=True):
            place = wanted.of(frames)(pose[:, target.range], wire[:, other.range], *frame.of(pose))
            errors.append(measure.of(frames)(places[:, point.range] - place))
        return stored(np.stack(errors, axis=1))

    def bound(frames: Frames, rows: FloatArray, _upstream: Bounds) -> FloatArray:
        """The distance of two stored positions has the rounding error of the larger one; a square 2 d times that."""
        pose, places = (np.abs(wide(frames, each.name)) for each in (source, placed))
        origin, bounds = pose[:, frame.origin.range], []
        for target, point in zip(targets, points, strict=True):
            # a target that is turned back into the world is moved by the frame
            moved = (pose[:, target.range] + origin).sum(axis=1)
            bounds.append(gamma(_ROTATE) * (places[:, point.range].sum(axis=1) + moved))
        found: FloatArray = np.stack(bounds, axis=1)
        if measure.of(frames) is LENGTHS["squared"]:
            return np.asarray((2.0 * np.sqrt(rows.astype(np.float64)) + found) * found + gamma(1) * rows)
        return found

    fields = (Field(each.name, place, 1, FieldKind.SCALAR, unit) for place, each in enumerate(points))
    return Built(FieldLayout(tuple(fields)), compute, bound)


def _target_hints(frame: FrameFields) -> dict[str, str]:
    formula = "p + R(q) target"
    return {
        "sent_as_world": f"compare with the target in world space: {formula}",
        "turned_not_moved": f"the {frame.whose} position is missing: {formula}",
        "moved_not_turned": f"the {frame.whose} rotation is missing: {formula}",
    }


def _measure_hints(unit: str) -> dict[str, str]:
    distance = f"the error is a distance{f' in {unit}' if unit else ''}: the root of the sum of squares"
    return {
        "squared": distance,
        "absolute_sum": "the error is a distance: the root of the sum of squares, not the sum of absolute values",
        "largest": f"{distance}, not the largest component",
    }


_CODE = {
    "target": {
        "world": CodeHint("target", "target"),
        "sent_as_world": CodeHint("sent.target // in the frame", "sent_target  # in the frame"),
        "turned_not_moved": CodeHint("q * sent.target", "rotate(q, sent_target)"),
        "moved_not_turned": CodeHint("p + sent.target", "p + sent_target"),
    },
    "measure": CODE_HINTS["norm"]["measure"],
}
OPERATION = Operation(
    "target_error",
    "how far points are from the targets that a pose holds, one number a point",
    build,
    {
        "frame": "the field of the frame's origin in the first vector, and that of its quaternion xyzw",
        "targets": "the fields of the targets: in the world in the first vector, in the frame in the second",
        "points": "the fields of the third vector that should be there",
        "target": ", ".join(_WANTED),
        "measure": ", ".join(LENGTHS),
    },
    (3, 3),
    ("target", "measure"),
    code=_CODE,
)
