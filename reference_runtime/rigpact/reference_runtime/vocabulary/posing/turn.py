"""Turn: ΔR of each bone out of a denormalised answer, orthonormalised.

Engine: `Reproject6D`. To add a value of a convention: a row in its table.
"""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from rigpact.contract.conventions import CodeHint, Knob
from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.layout import ROTATIONS
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.layout import FieldKind
from rigpact.contract.systems.plan import Read, Step, chosen
from rigpact.contract.systems.stage import Bounds, Measure, NotKnown
from rigpact.reference_runtime.operations.geometry import rotation_angle_rad
from rigpact.reference_runtime.operations.precision import compute_dtype, stored
from rigpact.reference_runtime.operations.rot6d import Rot6d
from rigpact.reference_runtime.operations.rotation_bounds import ROTATION_RANGE, Replacement, gram_schmidt_bound
from rigpact.reference_runtime.operations.rounding import gamma
from rigpact.reference_runtime.vocabulary.character.bounds import COPY
from rigpact.reference_runtime.vocabulary.character.codec import CODEC, DEGENERATE_AXIS, MATH
from rigpact.reference_runtime.vocabulary.character.vectors import bone_fields
from rigpact.reference_runtime.vocabulary.posing.denormalised_output import ADDS_IDENTITY, OUTPUT_MODE

REPROJECTS: Mapping[str, tuple[bool, bool]] = {
    "both": (True, True),
    "before": (True, False),
    "after": (False, True),
    "none": (False, False),
}
REPROJECT = Knob(
    "reproject", REPROJECTS, "where Gram–Schmidt runs: on ΔR before composing, on the composed pose after it", {
        "both": CodeHint("Reproject6D before and after composing", "reproject(delta); reproject(r_next)"),
        "before": CodeHint("the second Reproject6D, after composing, is missing", "reproject(delta) only"),
        "after": CodeHint("the first Reproject6D, on ΔR, is missing", "reproject(r_next) only"),
        "none": CodeHint("no Reproject6D at all", "no reproject at all"),
    },
)  # fmt: skip
AXES = (*CODEC, DEGENERATE_AXIS)
pose_fields = bone_fields(ROTATIONS, FieldKind.ROT6D, 6)


class Turn:
    """ΔR under one contract. `codec` stands for that of the conventions."""

    def __init__(self, contract: Contract, codec: Rot6d | None = None) -> None:
        """Look every convention up once."""
        conventions = contract.conventions
        self._dtype, self.codec = compute_dtype(conventions), codec or Rot6d(conventions)
        self._rotations, self._bones = contract.numbers.output[ROTATIONS].range, contract.numbers.bone_count
        self._is_pose = conventions.output_mode == "absolute"
        self._adds_identity = ADDS_IDENTITY[conventions.output_mode]
        self._reprojects, _ = REPROJECTS[conventions.reproject]

    def __call__(self, y_raw: FloatArray, published6d: FloatArray | None) -> FloatArray | None:
        """ΔR of each bone, (..., 6·B), orthonormalised; None if the output is the pose itself.

        A lost axis becomes a coordinate axis, as in every decode path of the engine. published6d: (..., 6·B), the pose
        published one frame before, for conventions that take a lost axis from it.
        """
        if self._is_pose:
            return None
        six = y_raw[..., self._rotations].astype(self._dtype)
        if self._adds_identity:
            six = six + self.codec.identity(self._bones, self._dtype)
        return stored(self.codec.reproject_delta(six, published6d) if self._reprojects else six)


def published_before(published: str, frames: Frames, codec: Rot6d) -> FloatArray:
    """The rotations published one frame before each frame, (N, 6·B): the identity at frame 0, NaN if not known."""
    rows = frames.left_before(published)[:, frames.numbers.output[ROTATIONS].range].copy()
    rows[frames.frame == 0] = codec.identity(frames.numbers.bone_count)
    return rows


def angles_deg(
    place: Callable[[Contract], slice], contract: Contract, recorded: FloatArray, computed: FloatArray
) -> FloatArray:
    """Angle between the rotations of each bone, (T, B) degrees; place: where they stand."""
    codec = Rot6d(contract.conventions)
    a, b = (codec.decode(rows[:, place(contract)].astype(np.float64)) for rows in (recorded, computed))
    return np.degrees(rotation_angle_rad(a, b))


def build(use: Use) -> Built:
    """The six numbers of each bone's turn."""
    raw, published = use.inputs[0].name, use.word("published")

    def compute(frames: Frames) -> FloatArray:
        """ΔR of each bone, reprojected."""
        turn = frames.built(Turn)
        before = published_before(published, frames, turn.codec) if turn.codec.delta_keeps_axes else None
        rows = turn(frames[raw], before)
        if rows is None:
            raise NotKnown(use.stage)  # the answer is the pose itself
        return np.asarray(rows)

    return Built(
        pose_fields,
        compute,
        partial(bound, raw, published),
        (1, 0),
        pose_measure,
        is_propagated=True,
        earlier=(published,),
        planned=partial(_planned, use.stage, raw, published),
    )


def _planned(stage: str, raw: str, published: str, frames: Frames) -> Step:
    conventions = frames.contract.conventions
    if conventions.output_mode == "absolute":
        raise NotKnown(stage)  # the answer is the pose itself
    words = (
        *chosen(frames, MATH, *AXES), REPROJECTS[conventions.reproject][0], ADDS_IDENTITY[conventions.output_mode],
        frames.numbers.output[ROTATIONS].start,
    )  # fmt: skip
    return Step("turn", (Read(raw), Read(published, -1)), words)


def _whole_pose(contract: Contract) -> slice:
    return slice(0, 6 * contract.numbers.bone_count)


pose_measure = Measure("deg", partial(angles_deg, _whole_pose), range=ROTATION_RANGE)


def bound(raw: str, published: str, frames: Frames, rows: FloatArray, bounds: Bounds) -> FloatArray:
    """Bound after Gram–Schmidt of the denormalised answer."""
    numbers, conventions = frames.numbers, frames.contract.conventions
    codec, place = Rot6d(conventions), numbers.output[ROTATIONS].range
    if frames.get(raw) is None:
        return gram_schmidt_bound(codec, rows, gamma(COPY), delta_axes(published, frames, codec))
    # the conditioning depends on the vector before it was made orthonormal
    offset = codec.identity(numbers.bone_count) if conventions.output_mode == "residual" else 0.0
    six, upstream = frames[raw][..., place] + offset, bounds[raw][..., place]
    return gram_schmidt_bound(codec, six, upstream, delta_axes(published, frames, codec))


def delta_axes(published: str, frames: Frames, codec: Rot6d) -> Replacement:
    """What stands for a lost axis of ΔR."""
    return Replacement(codec.delta_guard, partial(spare_axes, published, frames, codec, keeps=codec.delta_keeps_axes))


def spare_axes(published: str, frames: Frames, codec: Rot6d, *, keeps: bool) -> FloatArray:
    """The axes that stand for lost ones, (T, 6·B)."""
    return published_before(published, frames, codec) if keeps else codec.identity(frames.numbers.bone_count)


def spread(per_bone: FloatArray, count: int) -> FloatArray:
    """(T, B, 1) to (T, count·B)."""
    return np.repeat(per_bone, count).reshape(len(per_bone), -1)


OPERATION = Operation(
    "turn", "how far each bone turns, six numbers made a rotation", build,
    {"published": "the stage that publishes poses: of the frame before, a lost axis may be taken from it"},
    shared=(OUTPUT_MODE, *AXES, REPROJECT, MATH), only_on_pages=True,
)  # fmt: skip
