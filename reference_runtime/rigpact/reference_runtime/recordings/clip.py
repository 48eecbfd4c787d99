"""Clips: the frames that drive the loop.

Two kinds, as `LoadTeacherClip` takes them: a raw clip as the engine exports it, and a teacher file (batch or prediction)
with rows normalised by the training side. The engine zero-fills short rows; here a short row is an error with a file
location.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.character import character_of
from rigpact.contract.documents import Document, Kind, read_document
from rigpact.contract.errors import UnusableInput
from rigpact.contract.layout import (
    ANGULAR_VELOCITIES,
    CONTACTS,
    ROOT_POSITION,
    ROOT_VELOCITY,
    ROOT_YAW,
    ROTATIONS,
    Layout,
)
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.operations.definitions.scaling import unscored
from rigpact.reference_runtime.operations.precision import stored
from rigpact.reference_runtime.recordings.trace_model import Trace

_ANY = -1
PlaceOf = Callable[[int], str]


@dataclass(frozen=True, eq=False)
class RawClip:
    """A clip of N frames as the engine exports it. float32 arrays.

    root_position_m (N, 3), root_velocity_m_s (N, 2), root_yaw_rad (N, 1), rotations6d (N, 6·B),
    angular_velocity_rad_s (N, 3·B), action_bits (N, 4), trajectory_direction (N, K, 2),
    contact_scores (N, 2) left and right in [0, 1], None if the clip has no foot evidence.
    """

    path: Path
    fps: float
    root_position_m: FloatArray
    root_velocity_m_s: FloatArray
    root_yaw_rad: FloatArray
    rotations6d: FloatArray
    angular_velocity_rad_s: FloatArray
    action_bits: FloatArray
    trajectory_direction: FloatArray
    contact_scores: FloatArray | None

    @property
    def frame_count(self) -> int:
        """Number of frames N; a teacher-driven run has N - 1 steps."""
        return len(self.rotations6d)

    def state_rows(self, layout: Layout) -> NDArray[np.float32]:
        """Lay the frames out as raw state vectors, (N, Dx). UnusableInput for a slice that the clip cannot fill."""
        sources = {
            ROOT_POSITION: self.root_position_m,
            ROOT_VELOCITY: self.root_velocity_m_s,
            ROOT_YAW: self.root_yaw_rad,
            ROTATIONS: self.rotations6d,
            ANGULAR_VELOCITIES: self.angular_velocity_rad_s,
            CONTACTS: self.contact_scores,
        }
        rows = np.zeros((self.frame_count, layout.width), np.float32)
        for entry in layout:
            source = sources.get(entry.name)
            if source is None:
                raise UnusableInput(self.path, f"no data for the state slice {entry.name}", "a clip that has it")
            if source.shape[1] != entry.size:
                raise UnusableInput(
                    f"{self.path}#/Frames/0", f"{source.shape[1]} numbers for {entry.name}", f"{entry.size}"
                )
            rows[:, entry.range] = source
        return rows


@dataclass(frozen=True, eq=False)
class TeacherFile:
    """A teacher batch or prediction of T steps: float32 rows, normalised by the training side.

    state_norm (T, Dx), cond (T, Dc). Each of contacts (T, 2), angvel_norm (T, A), pose_hist_norm (T, P),
    target_norm, y_norm and y_raw (T, Dy) is None if the file has none.
    """

    path: Path
    fps: float
    state_norm: FloatArray
    cond: FloatArray
    contacts: FloatArray | None
    angvel_norm: FloatArray | None
    pose_hist_norm: FloatArray | None
    target_norm: FloatArray | None
    y_norm: FloatArray | None
    y_raw: FloatArray | None

    @property
    def step_count(self) -> int:
        """Number of rows T."""
        return len(self.state_norm)


@dataclass(frozen=True, eq=False)
class RecordedInputs:
    """What drove an engine, as it recorded it itself: raw states (N, Dx), raw conditions (N, Dc), contacts (N, 2), float32.

    after: the raw state after the last step, (Dx,); y_out: what the engine published, (N, Dy); each where it was recorded.
    """

    path: Path
    fps: float
    x_raw: FloatArray
    cond_raw: FloatArray
    contacts: FloatArray
    after: FloatArray | None = None
    y_out: FloatArray | None = None

    @property
    def step_count(self) -> int:
        """Number of recorded steps."""
        return len(self.x_raw)


Clip = RawClip | TeacherFile | RecordedInputs


def recorded_poses(clip: Clip, contract: Contract) -> FloatArray:
    """The poses that a clip records, (T, Dy): row t is the pose of frame t + 1.

    A prediction's `y_raw`, else its `y_norm` (a normalised pose), else a batch's `target_norm`; what an engine published; a raw
    clip's own frames from the second on, other output slices at zero.
    """
    character = character_of(contract)
    if isinstance(clip, RawClip):
        if clip.frame_count < 2:
            raise UnusableInput(f"{clip.path}#/Frames", "one frame", "at least two: the first is the seed")
        poses = np.zeros((clip.frame_count - 1, character.output.width), np.float32)
        poses[:, character.output[ROTATIONS].range] = clip.rotations6d[1:]
        return poses
    if isinstance(clip, RecordedInputs):
        if clip.y_out is None:
            raise UnusableInput(f"{clip.path}#/stages", "no y_out", "recorded poses to play back")
        return clip.y_out
    if clip.y_raw is not None:
        return clip.y_raw
    normalised = clip.y_norm if clip.y_norm is not None else clip.target_norm
    if normalised is None:
        raise UnusableInput(clip.path, "no prediction and no target_norm", "recorded poses to play back")
    statistics = character.output_statistics
    return stored(unscored(normalised.astype(np.float64), statistics.mean, statistics.std))


def read_clip(path: str | Path) -> RawClip | TeacherFile:
    """Read a raw clip, a teacher batch or a teacher prediction; UnusableInput for anything else."""
    return document_to_clip(read_document(path))


def document_to_clip(document: Document) -> RawClip | TeacherFile:
    """The clip that a document is; UnusableInput for a document of another kind."""
    if document.kind is Kind.RAW_CLIP:
        return document_to_raw_clip(document)
    if document.kind in (Kind.TEACHER_BATCH, Kind.TEACHER_PREDICTION):
        return document_to_teacher_file(document)
    raise UnusableInput(
        f"{document.path}#", f"a {document.kind.words}", "a raw clip, a teacher batch or a teacher prediction"
    )


RECORDED_INPUTS = ("x_raw", "cond_raw", "contacts")
"""The stages of a recording that can drive a run again: the pose that it starts from, the player's intent, the contacts."""


def recorded_inputs(trace: Trace, path: Path) -> RecordedInputs:
    """The inputs that an engine recorded, from its first step on; UnusableInput where one or a frame is missing."""
    missing = [name for name in RECORDED_INPUTS if name not in trace.stages]
    if missing:
        expected = f"the inputs that drove it: {', '.join(RECORDED_INPUTS)}"
        raise UnusableInput(f"{path}#/stages", f"no {', '.join(missing)}", expected, "record them in the engine")
    gap = np.flatnonzero(trace.frame != np.arange(len(trace.frame)))
    if len(gap):
        raise UnusableInput(
            path, f"no frame {gap[0]}", "every frame from the first step on", "a run is driven by all of them"
        )
    following = trace.stages.get("x_raw_next")
    return RecordedInputs(
        path,
        trace.header.fps,
        x_raw=trace.stages["x_raw"],
        cond_raw=trace.stages["cond_raw"],
        contacts=trace.stages["contacts"],
        after=None if following is None or not np.isfinite(following[-1]).all() else following[-1],
        y_out=trace.stages.get("y_out"),
    )


def document_to_raw_clip(document: Document) -> RawClip:
    """Read `Frames[]` of a raw clip."""
    place, frames = document.path, document.data["Frames"]
    if not isinstance(frames, list) or not frames:
        raise UnusableInput(f"{place}#/Frames", "no frames", "a list of frames")
    rotations = _field(frames[0], "BoneRotations", f"{place}#/Frames/0")
    if not isinstance(rotations, list) or not rotations:
        raise UnusableInput(f"{place}#/Frames/0/BoneRotations", "no bones", "six numbers for each bone")
    bones = len(rotations)

    def column(name: str, *shape: int) -> FloatArray:
        rows = [_field(frame, name, f"{place}#/Frames/{index}") for index, frame in enumerate(frames)]
        return float_rows(rows, shape, lambda index: f"{place}#/Frames/{index}/{name}")

    return RawClip(
        path=place,
        fps=_fps(document),
        root_position_m=column("RootPosition", 3),
        root_velocity_m_s=column("RootVelocityXY", 2),
        root_yaw_rad=column("RootYaw")[:, None],
        rotations6d=column("BoneRotations", bones, 6).reshape(len(frames), -1),
        angular_velocity_rad_s=column("BoneAngularVelocities", bones, 3).reshape(len(frames), -1),
        action_bits=column("ActionBits", 4),
        trajectory_direction=column("TrajectoryDir", _ANY, 2),
        contact_scores=_contact_scores(frames, place),
    )


def _contact_scores(frames: list[Any], place: Path) -> FloatArray | None:
    if "FootEvidence" not in frames[0]:
        return None
    rows = [
        [_foot_score(frame, foot, f"{place}#/Frames/{index}") for foot in ("L", "R")]
        for index, frame in enumerate(frames)
    ]
    return float_rows(rows, (2,), lambda index: f"{place}#/Frames/{index}/FootEvidence")


def _foot_score(frame: Any, foot: str, place: str) -> Any:
    evidence = _field(_field(frame, "FootEvidence", place), foot, f"{place}/FootEvidence")
    return _field(evidence, "soft_contact_score", f"{place}/FootEvidence/{foot}")


def document_to_teacher_file(document: Document) -> TeacherFile:
    """Read the rows of a teacher batch or prediction.

    Auxiliary inputs are read from `teacher`, as in the engine, else from the root, where the rollout tool writes them
    (rule RP602 reports that).
    """
    root, place = document.data, document.path
    teacher = _field(root, "teacher", f"{place}#")
    prediction = root.get("prediction", {})
    if not isinstance(teacher, Mapping):
        raise UnusableInput(f"{place}#/teacher", f"a {type(teacher).__name__}", "an object with state_norm and cond")
    under_teacher = teacher.get("aux_inputs")
    aux_place, aux = ("teacher/aux_inputs", under_teacher) if under_teacher else ("aux_inputs", root.get("aux_inputs"))
    state_norm = _required_rows(teacher, "state_norm", f"{place}#/teacher")
    count = len(state_norm)

    def rows(holder: Any, at: str, name: str) -> FloatArray | None:
        return _optional_rows(holder, name, f"{place}#/{at}", count)

    cond = rows(teacher, "teacher", "cond")
    if cond is None:
        raise UnusableInput(f"{place}#/teacher", "no cond", "a condition row for each state row")
    return TeacherFile(
        path=place,
        fps=_fps(document),
        state_norm=state_norm,
        cond=cond,
        contacts=rows(aux, aux_place, "contacts"),
        angvel_norm=rows(aux, aux_place, "angvel_norm"),
        pose_hist_norm=rows(aux, aux_place, "pose_hist_norm"),
        target_norm=rows(teacher, "teacher", "target_norm"),
        y_norm=rows(prediction, "prediction", "y_norm"),
        y_raw=rows(prediction, "prediction", "y_raw"),
    )


def _required_rows(holder: Any, name: str, place: str) -> FloatArray:
    rows = _field(holder, name, place)
    if not isinstance(rows, list) or not rows:
        raise UnusableInput(f"{place}/{name}", "no rows", "one row for each step")
    return float_rows(rows, (_ANY,), lambda index: f"{place}/{name}/{index}")


def _optional_rows(holder: Any, name: str, place: str, count: int) -> FloatArray | None:
    if not isinstance(holder, Mapping) or holder.get(name) is None:
        return None
    rows = _required_rows(holder, name, place)
    if len(rows) != count:
        raise UnusableInput(f"{place}/{name}", f"{len(rows)} rows", f"{count}, as many as state_norm")
    return rows


def float_rows(rows: list[Any], shape: tuple[int, ...], place_of: PlaceOf) -> NDArray[np.float32]:
    """Turn JSON rows into float32 (N, *shape); -1 in `shape` is any length, the same in every row.

    A row of another shape raises UnusableInput at its own place: nothing is padded or cut.
    """
    try:
        array = np.array(rows, dtype=np.float64)
    except (ValueError, TypeError, OverflowError):
        raise _first_misfit(rows, shape, place_of) from None
    if not _fits(array.shape[1:], shape):
        raise _first_misfit(rows, shape, place_of)
    with np.errstate(over="ignore"):
        return array.astype(np.float32)


def _fits(found: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    return len(found) == len(wanted) and all(want in (_ANY, have) for want, have in zip(wanted, found, strict=True))


def _first_misfit(rows: list[Any], wanted: tuple[int, ...], place_of: PlaceOf) -> UnusableInput:
    """The first row whose shape differs from the wanted shape, or, if any shape is accepted, from the first row's."""
    first = _shape_of(rows[0])
    expected = first if first is not None and _fits(first, wanted) else wanted
    shapes = [_shape_of(row) for row in rows]
    index = next(row for row, found in enumerate(shapes) if found is None or not _fits(found, expected))
    hint = "the engine would zero-fill or cut it silently"
    return UnusableInput(place_of(index), _in_words(shapes[index]), _in_words(expected), hint)


def _in_words(shape: tuple[int, ...] | None) -> str:
    if shape is None:
        return "something else than numbers"
    return f"{' × '.join('any' if size == _ANY else str(size) for size in shape)} numbers" if shape else "one number"


def _shape_of(row: Any) -> tuple[int, ...] | None:
    try:
        return np.array(row, dtype=np.float64).shape
    except (ValueError, TypeError, OverflowError):
        return None


def _field(holder: Any, name: str, place: str) -> Any:
    if not isinstance(holder, Mapping) or name not in holder:
        raise UnusableInput(
            place, f"no {name}" if isinstance(holder, Mapping) else "no object", f"an object with {name}"
        )
    return holder[name]


def _fps(document: Document) -> float:
    """Frame rate of a clip: root `fps` or `FPS`, as in the engine."""
    for key in ("fps", "FPS"):
        value = document.data.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < np.inf:
            return float(value)
    raise UnusableInput(f"{document.path}#", "no fps", "a positive root `fps` or `FPS`")
