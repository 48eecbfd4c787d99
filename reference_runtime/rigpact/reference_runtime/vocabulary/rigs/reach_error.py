"""Reach error: how far the bones of effectors are from the targets that were asked for."""

import numpy as np

from rigpact.contract.conventions import CodeHint
from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.layout import Field, FieldKind, FieldLayout
from rigpact.contract.systems.stage import Bounds
from rigpact.reference_runtime.operations.definitions.quaternions import FRAMES
from rigpact.reference_runtime.operations.definitions.scaling import LENGTHS
from rigpact.reference_runtime.operations.precision import stored
from rigpact.reference_runtime.operations.rounding import gamma
from rigpact.reference_runtime.vocabulary.code_hints import CODE_HINTS
from rigpact.reference_runtime.vocabulary.rigs.turns import (
    ROOT_FRAME_CODE,
    ROOT_FRAMES,
    ROOT_WIDTH,
    places_of,
    refuse_width,
    root_frame,
)
from rigpact.reference_runtime.vocabulary.rounding_bounds import wide

_OPERATIONS = 8
"""A difference, three squares, their sum, its root and a store."""
_SPACES = {"world": False, "root_relative": True}


def build(use: Use) -> Built:
    """of: positions of all bones, the effectors' targets (position, quaternion), the root."""
    positions, effectors, root = use.inputs
    names, places, count = use.word_list("effectors"), places_of(use, "effectors"), len(use.word_list("bones"))
    refuse_width(use, 0, 3 * count, f"positions of {count} bones")
    refuse_width(use, 1, 7 * len(names), f"position and quaternion of {len(names)} effectors")
    refuse_width(use, 2, ROOT_WIDTH, "position, orientation, the armature's orientation")
    space = use.choice(
        "target_space",
        _SPACES,
        "the space of the targets that effectors are compared with",
        {
            "root_relative": "compare world positions with world targets",
        },
    )
    _, axes_of = root_frame(use)
    measure = use.choice("measure", LENGTHS, "how far an effector is from its target", _HINTS)

    def targets(frames: Frames) -> FloatArray:
        return wide(frames, effectors.name).reshape(-1, len(names), 7)[..., :3]

    def compute(frames: Frames) -> FloatArray:
        wanted, place = targets(frames), wide(frames, root.name)
        if space.of(frames):
            wanted = FRAMES["into_frame"](wanted, place[:, None, :3], axes_of(frames, place)[:, None])
        reached = wide(frames, positions.name).reshape(-1, count, 3)[:, places]
        return stored(measure.of(frames)(reached - wanted))

    def bound(frames: Frames, rows: FloatArray, _upstream: Bounds) -> FloatArray:
        """A difference of world positions has the rounding error of the larger one."""
        world = np.abs(targets(frames)).max(axis=2)
        return np.asarray(gamma(_OPERATIONS) * (world + np.abs(rows.astype(np.float64)) + 1.0))

    fields = (Field(name, place, 1, FieldKind.SCALAR, "m") for place, name in enumerate(names))
    return Built(FieldLayout(tuple(fields)), compute, bound)


_HINTS = {
    "squared": "the error is a distance: take the root",
    "absolute_sum": "the error is a distance: the root of the sum of squares",
    "largest": "the error is a distance: the root of the sum of squares, not the largest component",
}
OPERATION = Operation(
    "reach_error",
    "how far the bones of effectors are from their targets",
    build,
    {
        "bones": "the names of the bones, or a name of [names]; the root first",
        "effectors": "the bones that have targets",
        "rest": "each bone's orientation at rest, (J, 3, 3), columns are axes",
        "target_space": ", ".join(_SPACES),
        "root_frame": ", ".join(ROOT_FRAMES),
        "measure": ", ".join(LENGTHS),
    },
    (3, 3),
    ("target_space", "root_frame", "measure"),
    code={
        "target_space": {
            "world": CodeHint("distance(reached, target)", "reached - target"),
            "root_relative": CodeHint(
                "distance(reached, inverse(root) * target)", "reached - root.inverted() @ target"
            ),
        },
        "root_frame": ROOT_FRAME_CODE,
        "measure": CODE_HINTS["norm"]["measure"],
    },
)
