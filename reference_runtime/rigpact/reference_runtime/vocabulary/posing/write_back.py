"""Write back: the slices of a free run's raw state that its output updates; the clip's next state where a clip drives.

Engine: for each output slice whose name and size match a state slice, copy; everything else keeps its old value. To add a
way: a row in `WRITEBACK`.
"""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from rigpact.contract.conventions import CodeHint, Knob
from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.layout import ANGULAR_VELOCITIES, ROOT_POSITION, ROOT_VELOCITY, ROTATIONS, Slice
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.plan import TARGET, Read, Step, chosen
from rigpact.contract.systems.stage import Bounds, NotKnown
from rigpact.reference_runtime.operations.geometry import angular_velocity
from rigpact.reference_runtime.operations.precision import compute_dtype, stored
from rigpact.reference_runtime.operations.rot6d import Rot6d
from rigpact.reference_runtime.operations.rotation_bounds import Replacement, gram_schmidt_bound, rotation_errors
from rigpact.reference_runtime.operations.rounding import gamma
from rigpact.reference_runtime.vocabulary.character.bounds import AFFINE
from rigpact.reference_runtime.vocabulary.character.codec import CODEC, DEGENERATE_AXIS, MATH
from rigpact.reference_runtime.vocabulary.character.fed_state import raw_state_bound
from rigpact.reference_runtime.vocabulary.character.vectors import vector_fields
from rigpact.reference_runtime.vocabulary.posing.composed_pose import COMPOSITION
from rigpact.reference_runtime.vocabulary.posing.pose_quaternions import QUATERNION
from rigpact.reference_runtime.vocabulary.posing.published_pose import BONE_ORDER, MIRROR_AXIS
from rigpact.reference_runtime.vocabulary.posing.turn import spread


class WriteBack:
    """Raw state (..., Dx) and published output (..., Dy) to the next raw state, under one contract."""

    def __init__(self, contract: Contract) -> None:
        """Look the convention up once."""
        state = contract.numbers.state
        self._state = state
        self._codec, self._dtype = Rot6d(contract.conventions), compute_dtype(contract.conventions)
        self._write = WRITEBACK[contract.conventions.writeback]
        self._shared = [(state[entry.name].range, entry.range) for entry in _shared(contract)]

    def __call__(self, x_raw: FloatArray, y_out: FloatArray, fps: float) -> FloatArray:
        """The next raw state; the arguments stay as they are."""
        return self._write(self, x_raw, y_out, fps)

    def output_slices(self, x_raw: FloatArray, y_out: FloatArray, _fps: float) -> FloatArray:
        """Copy every output slice whose name and size match a state slice."""
        following: FloatArray = x_raw.copy()
        for place, source in self._shared:
            following[..., place] = y_out[..., source]
        return following

    def everything(self, x_raw: FloatArray, y_out: FloatArray, fps: float) -> FloatArray:
        """Output slices, and values derived from them: angular velocity of the last step, the new root position."""
        following = self.output_slices(x_raw, y_out, fps)
        place = self._state[ROTATIONS].range
        before, after = (self._codec.decode(x[..., place].astype(self._dtype)) for x in (x_raw, following))
        omega = angular_velocity(before, after, fps)
        following[..., self._state[ANGULAR_VELOCITIES].range] = stored(omega.reshape(*omega.shape[:-2], -1))
        if ROOT_POSITION in self._state:
            start = self._state[ROOT_POSITION].start
            following[..., start : start + 2] += following[..., self._state[ROOT_VELOCITY].range] / np.float32(fps)
        return following


def _shared(contract: Contract) -> list[Slice]:
    """The slices of the output that the state has too."""
    state, output = contract.numbers.state, contract.numbers.output
    return [entry for entry in output if entry.name in state and state[entry.name].size == entry.size]


WRITEBACK: Mapping[str, Callable[[WriteBack, FloatArray, FloatArray, float], FloatArray]] = {
    "output_slices": WriteBack.output_slices,
    "none": lambda _self, x_raw, _y_out, _fps: x_raw,
    "all": WriteBack.everything,
}
WRITTEN = Knob(
    "writeback", WRITEBACK, "which state slices free-run renews from the output", {
        "output_slices": CodeHint("copy slices that both layouts have", "x[rot] = y_out"),
        "none": CodeHint("nothing is written back: the state never moves", "x"),
        "all": CodeHint("angular velocity and root position are renewed too", "x[rot], x[angvel], x[root] = ..."),
    },
)  # fmt: skip


def build(use: Use) -> Built:
    """The next raw state: written back in a free run, the clip's next frame in a teacher-driven run."""
    raw, published = (each.name for each in use.inputs)

    def compute(frames: Frames) -> FloatArray:
        """The next raw state: written back in a free run, the clip's next frame in a teacher-driven run."""
        if frames.mode == "free":
            return np.asarray(frames.built(WriteBack)(frames[raw], frames[published], frames.fps))
        following = np.full((len(frames.frame), frames.numbers.state.width), np.nan, np.float32)
        consecutive = np.flatnonzero(
            np.diff(frames.frame) == 1
        )  # what follows the last frame is not known to an engine
        following[consecutive] = (frames.driven if frames.has_drive else frames.__getitem__)(raw)[consecutive + 1]
        if not np.isfinite(following).any():
            raise NotKnown(use.stage)
        return following

    own = partial(bound, raw, published)
    planned = partial(_planned, raw, published)
    return Built(vector_fields(use, "state"), compute, own, (0, 1), is_propagated=True, driven_ahead=1, planned=planned)


def _planned(raw: str, published: str, frames: Frames) -> Step:
    state, shared = frames.numbers.state, _shared(frames.contract)
    places = [state[name].start for name in (ROTATIONS, ANGULAR_VELOCITIES, ROOT_VELOCITY)]
    position = state[ROOT_POSITION].start if ROOT_POSITION in state and state[ROOT_POSITION].size >= 2 else -1
    words = (
        *chosen(frames, MATH, *CODEC, DEGENERATE_AXIS, WRITTEN), *places, position, len(shared),
        *(number for entry in shared for number in (entry.start, state[entry.name].start, entry.size)),
        state[ROTATIONS].size,
    )  # fmt: skip
    return Step("write_back", (Read(raw), Read(published), Read(raw, 1, TARGET)), words, (frames.fps,))


def bound(raw: str, published: str, frames: Frames, rows: FloatArray, bounds: Bounds) -> FloatArray:
    """A copy of the state, and of the published slices that the state also has; a driven run has the clip's next state."""
    numbers, is_free = frames.numbers, frames.mode == "free"
    found = gamma(AFFINE) * np.abs(rows, dtype=np.float64)
    if not is_free:
        found = np.maximum(found, raw_state_bound(frames, rows, {}))
    for entry in numbers.output if published in bounds else ():
        if entry.name in numbers.state and numbers.state[entry.name].size == entry.size:
            place = numbers.state[entry.name].range
            found[..., place] = np.maximum(found[..., place], bounds[published][..., entry.range])
    if is_free and frames.contract.conventions.writeback == "all":
        _add_derived_motion(frames, frames[raw], rows, found)
    return found


def _add_derived_motion(frames: Frames, x_raw: FloatArray, rows: FloatArray, found: FloatArray) -> None:
    """What follows from the new pose: fps times an angle whose error is that of both poses, however small it is; the root.

    A bone that turns by half a turn turns either way round: within the error of it, the vector may have the other sign.
    """
    state, fps = frames.numbers.state, frames.fps
    codec, place = Rot6d(frames.contract.conventions), state[ROTATIONS].range
    spare = Replacement(codec.delta_guard, lambda: codec.identity(frames.numbers.bone_count))
    poses = (x_raw[..., place], 0.0), (rows[..., place], found[..., place])
    before, after = (rotation_errors(codec, gram_schmidt_bound(codec, pose, error, spare)) for pose, error in poses)
    error, rates = before + after + gamma(COMPOSITION) + gamma(QUATERNION), state[ANGULAR_VELOCITIES].range
    angle = np.linalg.norm(rows[..., rates].reshape(*error.shape, 3).astype(np.float64), axis=-1) / fps
    either_way = spread(angle + error >= np.pi, 3) * 2.0 * np.abs(rows[..., rates], dtype=np.float64)
    found[..., rates] += spread(fps * error, 3) + either_way
    if ROOT_POSITION in state:
        root, velocity = state[ROOT_POSITION].start, found[..., state[ROOT_VELOCITY].range]
        placed = gamma(AFFINE) * np.abs(x_raw[..., root : root + 2], dtype=np.float64)
        found[..., root : root + 2] += placed + velocity / fps


OPERATION = Operation(
    "write_back", "the next raw state, from the raw state and the published output", build, {}, (2, 2),
    shared=(*CODEC, BONE_ORDER, MIRROR_AXIS, WRITTEN, MATH), only_on_pages=True,
)  # fmt: skip
