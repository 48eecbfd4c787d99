"""Received: a vector as the other side reads it off the wire: how many bytes came, in which order, positions scaled."""

import numpy as np

from rigpact.contract.conventions import CodeHint
from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.declared.problems import Wrong, shown
from rigpact.contract.declared.values import Choice
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.layout import Field, FieldKind, FieldLayout
from rigpact.reference_runtime.operations.definitions.quaternions import FROM_XYZW
from rigpact.reference_runtime.operations.precision import stored
from rigpact.reference_runtime.vocabulary.code_hints import CODE_HINTS
from rigpact.reference_runtime.vocabulary.named_fields import reordered, whole_quaternions
from rigpact.reference_runtime.vocabulary.rounding_bounds import of_result

_ORDERS = ("as_declared", "last_first")


def first_bytes(rows: FloatArray, count: int) -> FloatArray:
    """Rows of float32 with only the first `count` bytes copied (little-endian); the rest is zero."""
    raw = np.ascontiguousarray(rows, "<f4").view(np.uint8).copy()
    raw[:, count:] = 0
    return raw.view("<f4").astype(np.float32)


def build(use: Use) -> Built:
    """The same numbers; positions times the scale, where there is one."""
    source, width = use.inputs[0], use.inputs[0].fields.width
    hint = f"memcpy counts bytes: {width} floats are {4 * width}; the rest stays zero, and training 'converges' at once"
    copied = use.choice(
        "copied",
        {"whole": 4 * width, "floats_as_bytes": width},
        f"how many bytes of the {source.name} the server copies",
        {"floats_as_bytes": hint},
    )
    order, first = _orders(use, width) if "chains" in use.table else (Choice(FROM_XYZW["xyzw"]), Choice(0))
    scale = None
    if "scale" in use.table:
        meaning = "the factor of positions before the network"
        scale = use.number("scale", 1, meaning=meaning, misread={"none": np.ones_like})
    positions = np.array([each.kind is FieldKind.POSITION for each in source.fields for _ in range(each.size)])

    def compute(frames: Frames) -> FloatArray:
        rows = reordered(frames[source.name], range(0, width - width % 4, 4), order.of(frames))
        rows = first_bytes(np.roll(rows, first.of(frames), axis=1), copied.of(frames))
        factor = np.where(positions, 1.0 if scale is None else scale.of(frames), 1.0)
        return stored(factor * rows.astype(np.float64))

    unit = use.table.get("scaled_unit")
    if unit is not None and not isinstance(unit, str):
        raise use.wrong(Wrong.NUMBERS, "scaled_unit", shown(unit), "a unit, such as m")
    units = {} if unit is None else {FieldKind.POSITION: unit}
    fields = (
        Field(each.name, each.start, each.size, FieldKind.RAW, units.get(each.kind, each.unit), each.space)
        for each in source.fields
    )
    return Built(FieldLayout(tuple(fields)), compute, of_result(3))


def _orders(use: Use, width: int) -> tuple[Choice, Choice]:
    """How a vector of quaternions is read: the order of their components, and by how many numbers the chains are turned."""
    count, chains = whole_quaternions(use, use.inputs[0]), use.whole("chains", low=1)
    if count % chains:
        raise use.wrong(Wrong.WIDTH, "chains", str(chains), f"a part of {count} quaternions")
    meaning = f"the order of a quaternion's components in the {use.stage}"
    order = use.choice("quaternion_order", FROM_XYZW, meaning, {"wxyz": f"the {use.stage} has w last"})
    first = use.choice(
        "chain_order",
        dict(zip(_ORDERS, (0, width // chains), strict=True)),
        f"the chain whose rotations are read first from the {use.stage}",
        {"last_first": f"the {use.stage}'s first {width // chains} numbers are the first chain's"},
        shows=lambda shift: np.roll(np.arange(width), shift),
    )
    return order, first


OPERATION = Operation(
    "received",
    "a vector as the other side reads it off the wire: the bytes that came, quaternions in an order, positions times a factor",
    build,
    {
        "copied": "whole, or floats_as_bytes: as many bytes as there are floats, the rest stays zero",
        "chains": "of quaternions xyzw: how many chains of bones they are of, as many for each",
        "quaternion_order": "of quaternions: xyzw or wxyz, as the other side reads them",
        "chain_order": f"of quaternions: {', '.join(_ORDERS)}",
        "scale": "the factor of every position, where they are scaled",
        "scaled_unit": "the unit of positions behind it",
    },
    choices=("copied", "quaternion_order", "chain_order"),
    code={
        "copied": {
            "whole": CodeHint("memcpy(x, floats, count * sizeof(float))", "x = np.frombuffer(data, '<f4')"),
            "floats_as_bytes": CodeHint("memcpy(x, floats, count)", "x.view('u1')[:count] = data[:count]"),
        },
        "quaternion_order": CODE_HINTS["rotate"]["quaternion_order"],
        "chain_order": {
            "as_declared": CodeHint("for (chain : chains) read(chain)", "q.chunk(chains, -1)"),
            "last_first": CodeHint("read(chains.back()) before the others", "q.roll(width, -1)"),
        },
        "scale": CODE_HINTS["affine"]["scale"],
    },
)
