"""Bone quaternions: rotation vectors of bones as the unit quaternions that an engine applies to them."""

import numpy as np

from rigpact.contract.conventions import CodeHint
from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.declared.problems import Misdeclared, Wrong
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.layout import Field, FieldKind, FieldLayout
from rigpact.contract.systems.stage import QUATERNIONS, Bounds
from rigpact.reference_runtime.operations.definitions.quaternions import FROM_XYZW, exponential
from rigpact.reference_runtime.operations.precision import stored
from rigpact.reference_runtime.operations.rounding import gamma
from rigpact.reference_runtime.vocabulary.rigs.turns import VECTOR_CODE, VECTOR_LENGTHS, vector_length
from rigpact.reference_runtime.vocabulary.rounding_bounds import wide

_OPERATIONS = 16
"""Of the longest chain: half an angle, its sine, a product."""


def build(use: Use) -> Built:
    """Of each rotation vector, in radians, the unit quaternion of the same turn."""
    source = use.inputs[0]
    count, rest = divmod(source.fields.width, 3)
    if rest:
        raise Misdeclared(
            Wrong.WIDTH, use.at("of"), f"{source.name}, {source.fields.width} numbers", "rotation vectors, 3 each"
        )
    length = vector_length(use)
    order = use.choice(
        "quaternion_order",
        FROM_XYZW,
        "the order of a published quaternion's components",
        {
            "wxyz": "Blender's quaternions have w first, the published pose has it last",
        },
    )

    def compute(frames: Frames) -> FloatArray:
        vectors = wide(frames, source.name).reshape(-1, count, 3)
        quaternions = exponential(vectors * length.of(frames))
        return stored(quaternions[..., order.of(frames)].reshape(len(vectors), -1))

    def bound(frames: Frames, _rows: FloatArray, _upstream: Bounds) -> FloatArray:
        """Components of a unit quaternion have an absolute rounding error; a vector of several turns adds its own."""
        vectors = np.abs(wide(frames, source.name)).reshape(-1, count, 3)
        angle = np.repeat(vectors.sum(axis=2), 4, axis=1)
        return np.asarray(gamma(_OPERATIONS) * np.maximum(1.0, angle))

    names = [each.name for each in source.fields]
    names = names if len(names) == count else [f"{use.stage}_{place}" for place in range(count)]
    space = source.fields.fields[0].space
    fields = (Field(name, 4 * place, 4, FieldKind.QUATERNION_XYZW, "", space) for place, name in enumerate(names))
    return Built(FieldLayout(tuple(fields)), compute, bound, measure=QUATERNIONS)


OPERATION = Operation(
    "bone_quaternions",
    "rotation vectors of bones as unit quaternions",
    build,
    {"rotation_vector": ", ".join(VECTOR_LENGTHS), "quaternion_order": ", ".join(FROM_XYZW)},
    choices=("rotation_vector", "quaternion_order"),
    code={
        "rotation_vector": VECTOR_CODE,
        "quaternion_order": {
            "xyzw": CodeHint("q.x, q.y, q.z, q.w", "rotation.as_quat()"),
            "wxyz": CodeHint("q.w, q.x, q.y, q.z", "tuple(Quaternion)"),
        },
    },
)
