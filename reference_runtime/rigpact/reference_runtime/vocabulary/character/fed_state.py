"""Fed state: a clip's raw state; in a free run, the state that the frame before wrote back."""

from functools import partial

import numpy as np

from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.stage import Bounds, NotKnown
from rigpact.reference_runtime.operations.rounding import gamma
from rigpact.reference_runtime.vocabulary.character.bounds import AFFINE, TANH, between, copied
from rigpact.reference_runtime.vocabulary.character.state_features import StateNormaliser
from rigpact.reference_runtime.vocabulary.character.vectors import vector_fields

FROM_THE_CLIP = "--clip with the raw clip that drove the run"


def build(use: Use) -> Built:
    """The state in metres, radians and seconds."""
    carried = use.word("carried")
    return Built(
        vector_fields(use, "state"), partial(_rows, use.stage, carried), raw_state_bound, (1, 0), is_propagated=True,
        carried=carried, source=FROM_THE_CLIP, from_clip=True,
    )  # fmt: skip


def _rows(stage: str, carried: str, frames: Frames) -> FloatArray:
    if frames.mode == "teacher":
        return frames.driven(stage)
    rows, first = frames.at(carried, -1).copy(), frames.frame == 0
    if first.any():
        try:
            rows[first] = frames.driven(stage)[first]
        except NotKnown:
            return rows
    return rows


def raw_state_bound(frames: Frames, rows: FloatArray, bounds: Bounds) -> FloatArray:
    """Bound of a clip's raw state: copied from a raw clip; from a teacher file each side undoes the z-score by itself.

    Where the clip is not known, it may be a teacher file.
    """
    drive = frames.drive if frames.has_drive else None
    own = copied(frames, rows, bounds)
    return own if drive is not None and drive.is_raw else np.maximum(own, _denormalised(frames.contract, rows))


def _denormalised(contract: Contract, rows: FloatArray) -> FloatArray:
    """Bound of x = undo(z·std + mean), for the z of these rows: both ends of the interval of z are undone.

    The product and the sum have errors relative to |z·std| and |mean|: together they are an error of z of
    gamma·(|z| + |mean| / std). The inverse of a feature (a library atanh, a product) has its own rounding.
    """
    normaliser, own = StateNormaliser(contract.with_conventions({"math": "f64"})), contract.numbers.state_statistics
    z = normaliser.normalise(rows)
    moved = gamma(AFFINE) * (np.abs(z, dtype=np.float64) + np.abs(own.mean) / own.std_floored)
    return between(normaliser.denormalise, z, moved) + gamma(TANH) * np.abs(rows, dtype=np.float64)


OPERATION = Operation(
    "fed_state", "a clip's raw state; in a free run, the state that the frame before wrote back", build,
    {"carried": "the stage that writes the next state"}, (0, 0), only_on_pages=True,
)  # fmt: skip
