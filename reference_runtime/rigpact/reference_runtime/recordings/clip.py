"""Clips, the frames that drive the loop, and predictions, the rollout of one clip in the form that both sides read.

Two kinds of clip, as `LoadTeacherClip` takes them: a raw clip as the engine exports it, and a teacher file (batch or prediction)
with rows normalised by the training side. The engine zero-fills short rows; here a short row is an error with a file location.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from rigpact.contract.character import character_of
from rigpact.contract.documents import Document, Kind, read_document
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import write_bytes
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
from rigpact.reference_runtime.operations.geometry import rotation_angle_rad
from rigpact.reference_runtime.operations.scalars import stored, unscored, zscored_by
from rigpact.reference_runtime.operations.six_numbers import Rot6d
from rigpact.reference_runtime.recordings.trace import Trace

_ANY = -1


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
                found = f"{source.shape[1]} numbers for {entry.name}"
                raise UnusableInput(f"{self.path}#/Frames/0", found, str(entry.size))
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
    recorded = clip.y_out if isinstance(clip, RecordedInputs) else clip.y_raw
    if recorded is not None:
        return recorded
    if isinstance(clip, RecordedInputs):
        raise UnusableInput(f"{clip.path}#/stages", "no y_out", "recorded poses to play back")
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
    expected = "a raw clip, a teacher batch or a teacher prediction"
    raise UnusableInput(f"{document.path}#", f"a {document.kind.words}", expected)


RECORDED_INPUTS = ("x_raw", "cond_raw", "contacts")
"""The stages of a recording that can drive a run again: the pose that it starts from, the player's intent, the contacts."""


def recorded_inputs(trace: Trace, path: Path) -> RecordedInputs:
    """The inputs that an engine recorded, from its first step on; UnusableInput where one or a frame is missing."""
    if missing := [name for name in RECORDED_INPUTS if name not in trace.stages]:
        found, expected = f"no {', '.join(missing)}", f"the inputs that drove it: {', '.join(RECORDED_INPUTS)}"
        raise UnusableInput(f"{path}#/stages", found, expected, "record them in the engine")
    gap = np.flatnonzero(trace.frame != np.arange(len(trace.frame)))
    if len(gap):
        expected, hint = "every frame from the first step on", "a run is driven by all of them"
        raise UnusableInput(path, f"no frame {gap[0]}", expected, hint)
    following = trace.stages.get("x_raw_next")
    after = None if following is None or not np.isfinite(following[-1]).all() else following[-1]
    x_raw, cond_raw, contacts = (trace.stages[name] for name in RECORDED_INPUTS)
    return RecordedInputs(path, trace.header.fps, x_raw, cond_raw, contacts, after, trace.stages.get("y_out"))


def document_to_raw_clip(document: Document) -> RawClip:
    """Read `Frames[]` of a raw clip."""
    place, frames = document.path, document.data["Frames"]
    if not isinstance(frames, list) or not frames:
        raise UnusableInput(f"{place}#/Frames", "no frames", "a list of frames")
    rotations = _field(frames[0], "BoneRotations", f"{place}#/Frames/0")
    if not isinstance(rotations, list) or not rotations:
        raise UnusableInput(f"{place}#/Frames/0/BoneRotations", "no bones", "six numbers for each bone")

    def column(name: str, *shape: int) -> FloatArray:
        rows = [_field(frame, name, f"{place}#/Frames/{index}") for index, frame in enumerate(frames)]
        return float_rows(rows, shape, lambda index: f"{place}#/Frames/{index}/{name}")

    def score(index: int, foot: str) -> Any:
        at = f"{place}#/Frames/{index}"
        evidence = _field(_field(frames[index], "FootEvidence", at), foot, f"{at}/FootEvidence")
        return _field(evidence, "soft_contact_score", f"{at}/FootEvidence/{foot}")

    def contacts() -> FloatArray | None:
        if "FootEvidence" not in frames[0]:
            return None
        rows = [[score(index, foot) for foot in ("L", "R")] for index in range(len(frames))]
        return float_rows(rows, (2,), lambda index: f"{place}#/Frames/{index}/FootEvidence")

    return RawClip(
        path=place,
        fps=_fps(document),
        root_position_m=column("RootPosition", 3),
        root_velocity_m_s=column("RootVelocityXY", 2),
        root_yaw_rad=column("RootYaw")[:, None],
        rotations6d=column("BoneRotations", len(rotations), 6).reshape(len(frames), -1),
        angular_velocity_rad_s=column("BoneAngularVelocities", len(rotations), 3).reshape(len(frames), -1),
        action_bits=column("ActionBits", 4),
        trajectory_direction=column("TrajectoryDir", _ANY, 2),
        contact_scores=contacts(),
    )


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

    def rows(holder: Any, at: str, name: str) -> FloatArray | None:
        if not isinstance(holder, Mapping) or holder.get(name) is None:
            return None
        found = _required_rows(holder, name, f"{place}#/{at}")
        if len(found) != len(state_norm):
            raise UnusableInput(
                f"{place}#/{at}/{name}", f"{len(found)} rows", f"{len(state_norm)}, as many as state_norm"
            )
        return found

    cond = rows(teacher, "teacher", "cond")
    if cond is None:
        raise UnusableInput(f"{place}#/teacher", "no cond", "a condition row for each state row")
    return TeacherFile(
        path=place,
        fps=_fps(document),
        state_norm=state_norm,
        cond=cond,
        target_norm=rows(teacher, "teacher", "target_norm"),
        **{name: rows(aux, aux_place, name) for name in ("contacts", "angvel_norm", "pose_hist_norm")},
        **{name: rows(prediction, "prediction", name) for name in ("y_norm", "y_raw")},
    )


def _required_rows(holder: Any, name: str, place: str) -> FloatArray:
    rows = _field(holder, name, place)
    if not isinstance(rows, list) or not rows:
        raise UnusableInput(f"{place}/{name}", "no rows", "one row for each step")
    return float_rows(rows, (_ANY,), lambda index: f"{place}/{name}/{index}")


def float_rows(rows: list[Any], shape: tuple[int, ...], place_of: Callable[[int], str]) -> NDArray[np.float32]:
    """Turn JSON rows into float32 (N, *shape); -1 in `shape` is any length, the same in every row.

    A row of another shape raises UnusableInput at its own place: nothing is padded or cut.
    """
    array = _numbers(rows)
    if array is None or not _fits(array.shape[1:], shape):
        raise _first_misfit(rows, shape, place_of)
    with np.errstate(over="ignore"):
        return array.astype(np.float32)


def _fits(found: tuple[int, ...] | None, wanted: tuple[int, ...]) -> bool:
    if found is None or len(found) != len(wanted):
        return False
    return all(want in (_ANY, have) for want, have in zip(wanted, found, strict=True))


def _first_misfit(rows: list[Any], wanted: tuple[int, ...], place_of: Callable[[int], str]) -> UnusableInput:
    """The first row whose shape differs from the wanted shape, or, if any shape is accepted, from the first row's."""
    shapes = [None if (found := _numbers(row)) is None else found.shape for row in rows]
    expected = shapes[0] if shapes[0] is not None and _fits(shapes[0], wanted) else wanted
    index = next(row for row, found in enumerate(shapes) if not _fits(found, expected))
    hint = "the engine would zero-fill or cut it silently"
    return UnusableInput(place_of(index), _in_words(shapes[index]), _in_words(expected), hint)


def _in_words(shape: tuple[int, ...] | None) -> str:
    if shape is None:
        return "something else than numbers"
    return f"{' × '.join('any' if size == _ANY else str(size) for size in shape)} numbers" if shape else "one number"


def _numbers(value: Any) -> NDArray[np.float64] | None:
    try:
        return np.array(value, dtype=np.float64)
    except (ValueError, TypeError, OverflowError):
        return None


def _field(holder: Any, name: str, place: str) -> Any:
    if isinstance(holder, Mapping) and name in holder:
        return holder[name]
    found = f"no {name}" if isinstance(holder, Mapping) else "no object"
    raise UnusableInput(place, found, f"an object with {name}")


def _fps(document: Document) -> float:
    """Frame rate of a clip: root `fps` or `FPS`, as in the engine."""
    for key in ("fps", "FPS"):
        value = document.data.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < np.inf:
            return float(value)
    raise UnusableInput(f"{document.path}#", "no fps", "a positive root `fps` or `FPS`")


def write_prediction(
    trace: Trace, contract: Contract, path: str | Path, *, model: str, source: str, last_target: FloatArray | None
) -> None:
    """Write a teacher-driven run as a teacher prediction. Auxiliary inputs stand at the root and under `teacher`.

    trace: a run with every input stage and `y_out`. model, source: names of the network and of the clip's file.
    last_target: (6·B,) the pose after the last step, None if the clip has none. Raises UnusableInput for a run of
    another mode: its rows would pair states with wrong targets.
    """
    inputs = {"contacts": "contacts", "angvel": "angvel_norm", "pose_hist": "pose_hist_norm"}
    missing = [name for name in ("x_raw", "state", "cond", *inputs, "y_out") if name not in trace.stages]
    if trace.header.mode != "teacher" or missing:
        found = f"a {trace.header.mode} run without {', '.join(missing)}" if missing else f"a {trace.header.mode} run"
        raise UnusableInput(path, found, "a teacher-driven run", "write a trace instead: OUT.trace.jsonl")
    character = character_of(contract)
    stages = {name: np.ascontiguousarray(rows, np.float32) for name, rows in trace.stages.items()}
    y_raw = stages["y_out"]
    y_norm = zscored_by(y_raw.astype(np.float64), character.output_statistics).astype(np.float32)
    auxiliary = {key: stages[name] for name, key in inputs.items()}
    layouts = {
        key: {entry.name: {"start": entry.start, "size": entry.size} for entry in layout}
        for key, layout in (("state", character.state), ("output", character.output))
    }
    widths = {"Dx": "state", "Dc": "cond", **{name: name for name in inputs}}
    document = {
        "clip": trace.header.clip, "model": model, "teacher_json": None, "source_json": source, "fps": trace.header.fps,
        "num_pairs": len(y_raw), "layouts": layouts,
        "dims": {"Dy": character.output.width} | {key: stages[name].shape[1] for key, name in widths.items()},
        "teacher": {"state_norm": stages["state"], "cond": stages["cond"], "aux_inputs": auxiliary},
        "aux_inputs": auxiliary, "prediction": {"y_norm": y_norm, "y_raw": y_raw},
        "diagnostics": diagnostics(stages["x_raw"], y_raw, contract, last_target),
    }  # fmt: skip
    write_bytes(path, orjson.dumps(document, option=orjson.OPT_SERIALIZE_NUMPY) + b"\n")


def diagnostics(
    x_raw: FloatArray, y_raw: FloatArray, contract: Contract, last_target: FloatArray | None
) -> dict[str, float | None]:
    """Error of the predicted poses against the clip, with the baseline of copying the last pose.

    x_raw (T, Dx), y_raw (T, Dy). Mean geodesic angle in degrees over bones and frames, mean squared error in z; None if
    the clip has no target.
    """
    character = character_of(contract)
    place, poses = character.output[ROTATIONS].range, x_raw[:, character.state[ROTATIONS].range]
    targets = poses[1:] if last_target is None else np.concatenate((poses[1:], last_target[None]))
    if not len(targets):
        return dict.fromkeys(("MSEnormY", "GeoDeg", "CopyLastMSEnormY", "CopyLastGeoDeg"))
    std = character.output_statistics.std_floored[place].astype(np.float64)
    codec = Rot6d(contract.conventions)
    result = dict[str, float | None]()
    for prefix, rows in (("", y_raw[: len(targets), place]), ("CopyLast", poses[: len(targets)])):
        guess, target = rows.astype(np.float64), targets.astype(np.float64)
        angles = rotation_angle_rad(codec.decode(guess), codec.decode(target))
        result[f"{prefix}MSEnormY"] = float(np.mean(((guess - target) / std) ** 2))
        result[f"{prefix}GeoDeg"] = float(np.degrees(angles.mean()))
    return result
