"""Raw clips and teacher files as rules read them: features, poses, velocities, history; what cannot be read is `Unread`.

All numbers are float64, and the formulas are the contract's, so that a difference is a defect of the file.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.layout import ANGULAR_VELOCITIES, CONTACTS, ROOT_POSITION, ROOT_VELOCITY, ROOT_YAW, ROTATIONS
from rigpact.contract.rules.bundle_view import (
    Auxiliary,
    BundleView,
    FileView,
    NamedArray,
    Unread,
    finite_array,
    is_finite_float32,
    json_to_array,
    json_to_names,
    json_to_rate,
    json_to_skeleton,
    known,
    member,
    need,
    one_slice,
)
from rigpact.contract.skeleton import Skeleton, rot6d_to_matrix
from rigpact.contract.statistics import AUXILIARY_SCALE_FLOOR, STD_FLOOR, TANH_SCALE_FLOOR, FloatArray

BONE_CHANNELS = ("BoneRotations", "BoneAngularVelocities")
CHANNELS = (*BONE_CHANNELS, "RootPosition", "RootVelocityXY", "RootYaw", "ActionBits", "TrajectoryDir")
FPS_KEYS = ("fps", "FPS")
FEET = ("L", "R")
_SLOWEST_M_S = 1e-3
"""Below this speed the condition's direction is zero."""
_SPEEDS = (
    (ROOT_VELOCITY, "RootVelocityXY", "tanh_scales_rootvel"),
    (ANGULAR_VELOCITIES, "BoneAngularVelocities", "tanh_scales_angvel"),
)


@dataclass(frozen=True, eq=False)
class ClipView(FileView):
    """The parts of a raw clip that rules judge."""

    @cached_property
    def frames(self) -> tuple[Mapping[str, Any], ...]:
        frames = self.root.get("Frames")
        return tuple(frame for frame in frames if isinstance(frame, Mapping)) if isinstance(frames, list) else ()

    @cached_property
    def bone_names(self) -> tuple[str, ...]:
        return json_to_names(member(self.root, "meta", "skeleton", "bone_names")) or ()

    @cached_property
    def fps(self) -> float:
        """Frames a second: `fps`, else `FPS`."""
        rates = (json_to_rate(self.root.get(key)) for key in FPS_KEYS)
        return need(next((rate for rate in rates if rate is not None), None))

    @cached_property
    def channels(self) -> dict[str, FloatArray | None]:
        """Each channel of all frames, (T, …) float64; None if a frame lacks it or rows are ragged."""
        return {key: json_to_array([frame.get(key) for frame in self.frames]) for key in CHANNELS}

    def shaped(self, key: str, *shape: int) -> FloatArray:
        """A channel whose frames have a shape (-1: any length) and only finite numbers."""
        values = need(self.channels[key])
        need(values, when=values.ndim == len(shape) + 1 and is_finite_float32(values) and len(values) > 0)
        fits = all(wanted in (-1, found) for wanted, found in zip(shape, values.shape[1:], strict=True))
        return need(values, when=fits)

    @cached_property
    def rotations(self) -> FloatArray:
        """Every bone's rotation, (T, B, 3, 3)."""
        return rot6d_to_matrix(self.shaped("BoneRotations", -1, 6), self.columns)

    @cached_property
    def skeleton(self) -> Skeleton | None:
        """The clip's own bone table; None if it is broken."""
        return json_to_skeleton(member(self.root, "meta", "skeleton"))

    @cached_property
    def evidence(self) -> list[list[Any]]:
        """What is said of the left and the right foot in each frame; None where it is no object."""
        sides = [[member(frame, "FootEvidence", foot) for foot in FEET] for frame in self.frames]
        return [[side if isinstance(side, Mapping) else None for side in frame] for frame in sides]

    def foot_values(self, key: str) -> list[list[Any]]:
        """One entry of every frame and foot, flags as numbers; None where it is not there."""
        values = [[member(side, key) for side in frame] for frame in self.evidence]
        return [[int(value) if type(value) is bool else value for value in frame] for frame in values]

    def feet(self, key: str, dimensions: int = 2) -> FloatArray:
        """One entry of every frame and foot, (T, 2) or, of vectors, (T, 2, …)."""
        array = need(finite_array(self.foot_values(key)), when=bool(self.frames))
        return need(array, when=array.ndim == dimensions)


def same_rate(found: float, expected: float) -> bool:
    """Whether two frame rates are the same number, of which one was rounded to float32."""
    return abs(found - expected) <= 2.0**-23 * expected


def clip_features(clip: ClipView, bundle: BundleView) -> FloatArray:
    """The state of every frame before its z-score, (T, Dx); NaN where the clip has no such channel.

    `Unread` where the bundle's layout or the clip's rotations cannot be read.
    """
    layout = need(bundle.state)
    need(bundle.statistic("MuX", layout))  # a width from a broken file could fill the memory
    need(clip.rotations, when=all(entry.start >= 0 and entry.stop <= layout.width for entry in layout))
    parts = {
        ROOT_POSITION: known(lambda: clip.shaped("RootPosition", 3)),
        ROOT_YAW: known(lambda: np.angle(np.exp(1j * clip.shaped("RootYaw")))[:, None] / np.pi),
        ROTATIONS: clip.shaped("BoneRotations", -1, 6).reshape(len(clip.rotations), -1),
        CONTACTS: known(lambda: clip.feet("soft_contact_score")),
    }
    parts |= {array.layout.slices[0].name: np.tanh(scaled) for array, _, scaled in scaled_speeds(clip, bundle)}
    features = np.full((len(clip.frames), layout.width), np.nan)
    for entry in layout:
        values = parts.get(entry.name)
        if values is not None and values.shape == (len(features), entry.size):
            features[:, entry.range] = values
    return features


def scaled_speeds(clip: ClipView, bundle: BundleView) -> Iterator[tuple[NamedArray, str, FloatArray]]:
    """Yield each tanh scale with the clip's key and the speeds over it, (T, width), where both can be read."""
    for name, key, scale_key in _SPEEDS:
        if bundle.state is None or name not in bundle.state:
            continue
        with suppress(Unread):
            array = bundle.finite(scale_key, one_slice(name, bundle.state[name].size))
            values = clip.shaped(key, 2) if name == ROOT_VELOCITY else clip.shaped(key, -1, 3)
            flat = values.reshape(len(values), -1)
            if flat.shape[1] == len(array.values):
                yield array, key, flat / np.maximum(np.abs(array.values), TANH_SCALE_FLOOR)


def condition_of(clip: ClipView, direction: str = "velocity") -> FloatArray:
    """The condition of every frame, (T, 7): action bits, unit direction, speed in m/s.

    direction: `velocity` (RootVelocityXY, as training) or `trajectory` (the middle TrajectoryDir, as the engine).
    """
    bits, velocity = clip.shaped("ActionBits", 4), clip.shaped("RootVelocityXY", 2)
    speed = np.linalg.norm(velocity, axis=-1, keepdims=True)
    heading = np.where(speed < _SLOWEST_M_S, 0.0, velocity / np.maximum(speed, _SLOWEST_M_S))
    if direction == "trajectory":
        window = clip.shaped("TrajectoryDir", -1, 2)
        heading = need(window, when=window.shape[1] > 0)[:, window.shape[1] // 2]
    return np.concatenate([bits, heading, speed], axis=1)


AUX_DIMS = {"contacts": "contacts", "angvel_norm": "angvel", "pose_hist_norm": "pose_hist"}
STATE, TARGET, COND = ("teacher", "state_norm"), ("teacher", "target_norm"), ("teacher", "cond")
Y_NORM, Y_RAW = ("prediction", "y_norm"), ("prediction", "y_raw")
ARRAYS: tuple[tuple[tuple[str, ...], str], ...] = (
    *((STATE, "Dx"), (COND, "Dc"), (TARGET, "Dy"), (Y_NORM, "Dy"), (Y_RAW, "Dy")),
    *((("aux_inputs", key), dim) for key, dim in AUX_DIMS.items()),
    *((("teacher", "aux_inputs", key), dim) for key, dim in AUX_DIMS.items()),
)
"""Every array of rows, and the entry of `dims` that is its width."""
_SATURATED = 0.999
"""tanh is flat here: atanh enlarges the rounding of z to a hundredth of the value."""
_INSIDE_TANH = 1 - 1e-6
"""Where the engine clamps before atanh."""


@dataclass(frozen=True, eq=False)
class TeacherView(FileView):
    """The parts of a teacher batch or prediction that rules judge."""

    @property
    def clip_name(self) -> str:
        """The name of the clip that the rows were made from; empty if the file does not say it."""
        name = self.root.get("clip")
        return PurePosixPath(name.replace("\\", "/")).stem if isinstance(name, str) else ""

    @cached_property
    def rows(self) -> dict[tuple[str, ...], list[list[Any]]]:
        """Every array of rows that is there, by its path."""
        found = {path: member(self.root, *path) for path, _ in ARRAYS}
        are_rows = {
            path: isinstance(value, list) and all(type(row) is list for row in value) for path, value in found.items()
        }
        return {path: value for path, value in found.items() if are_rows[path]}

    @cached_property
    def arrays(self) -> dict[tuple[str, ...], FloatArray]:
        """Every array that is rectangular, (T, width) float64."""
        read = {path: json_to_array(rows) for path, rows in self.rows.items()}
        return {path: array for path, array in read.items() if array is not None and array.ndim == 2}

    def has(self, path: tuple[str, ...]) -> bool:
        return path in self.arrays and is_finite_float32(self.arrays[path])

    def rows_at(self, path: tuple[str, ...]) -> FloatArray:
        """One of `arrays`; `Unread` if it is not there or not finite."""
        return need(self.arrays.get(path), when=self.has(path))


@dataclass(frozen=True, eq=False)
class Rows:
    """One teacher file under one bundle and, if there is one, its companion."""

    file: TeacherView
    bundle: BundleView
    auxiliaries: tuple[Auxiliary, ...] = ()

    @property
    def path(self) -> Path:
        return self.file.path

    @property
    def fps(self) -> float:
        """Frames a second of the rows: the file's own rate, else the bundle's."""
        return json_to_rate(self.file.root.get("fps")) or self.bundle.fps

    @property
    def condition_lags(self) -> tuple[int, ...]:
        """The frames, counted from a row's own, that its condition may rightly be of: its own, and the declared one."""
        declared = member(self.bundle.meta, "alignment", "cond_to_y", "offset")
        count = len(self.file.rows.get(COND, ()))
        return (0, declared) if type(declared) is int and 0 < abs(declared) < count else (0,)

    @cached_property
    def features(self) -> FloatArray:
        """State rows with the z-score undone, (T, Dx): tanh and the division by pi still stand."""
        return self._restored(STATE, "X")

    def _restored(self, path: tuple[str, ...], letter: str) -> FloatArray:
        layout = self.bundle.state if letter == "X" else self.bundle.output
        rows, mean = self.file.rows_at(path), self.bundle.finite(f"Mu{letter}", layout).values
        std = self.bundle.finite(f"Std{letter}", layout).values
        need(rows, when=rows.shape[1] == len(mean) and len(rows) > 0)
        values = rows * (std if path == Y_NORM else np.maximum(np.abs(std), STD_FLOOR)) + mean
        return need(values, when=is_finite_float32(values))

    def _poses(self, six: FloatArray) -> FloatArray:
        return rot6d_to_matrix(six, self.bundle.columns)

    @cached_property
    def columns(self) -> FloatArray:
        """The six numbers of each bone of each state row, (T, B, 6)."""
        return self.bundle.rotations_of(self.features, self.bundle.state)

    @cached_property
    def poses(self) -> FloatArray:
        """The pose of each state row, (T, B, 3, 3)."""
        return self._poses(self.columns)

    @cached_property
    def target_columns(self) -> FloatArray | None:
        """The six numbers of `target_norm`, (T, B, 6); None where they cannot be read."""
        output = self.bundle.output
        return known(lambda: self.bundle.rotations_of(self._restored(TARGET, "Y"), output))

    @cached_property
    def next_poses(self) -> FloatArray:
        """The pose that follows each row: from `target_norm`, (T, B, 3, 3), else of the next row, (T - 1, B, 3, 3)."""
        return self.poses[1:] if self.target_columns is None else self._poses(self.target_columns)

    @cached_property
    def predicted_columns(self) -> FloatArray:
        """The six numbers of `y_norm` read as a pose, (T, B, 6)."""
        output = self.bundle.output
        return self.bundle.rotations_of(self._restored(Y_NORM, "Y"), output)

    @cached_property
    def predicted(self) -> FloatArray:
        """`y_norm` read as poses, (T, B, 3, 3)."""
        return self._poses(self.predicted_columns)

    @cached_property
    def root_velocity(self) -> FloatArray:
        """Root velocity of each state row, (T, 2) m/s; NaN where tanh saturates."""
        scales, layout = need(self.bundle.numbers("tanh_scales_rootvel")), need(self.bundle.state)
        need(layout, when=ROOT_VELOCITY in layout)
        values = self.features[:, layout[ROOT_VELOCITY].range]
        need(values, when=values.shape[1] == 2 and scales.shape == (2,) and is_finite_float32(scales))
        restored, usable = _unsquashed(values, np.maximum(np.abs(scales), TANH_SCALE_FLOOR))
        return np.where(usable, restored, np.nan)

    def aux(self, key: str) -> FloatArray:
        """One auxiliary input: where the engine looks for it, else at the root of the file."""
        return self.file.rows_at(self.aux_path(key))

    def aux_path(self, key: str) -> tuple[str, ...]:
        path = ("teacher", "aux_inputs", key)
        return path if self.file.has(path) else ("aux_inputs", key)

    def _aux_raw(self, key: str, names: tuple[str, str, str]) -> tuple[FloatArray, NDArray[np.bool_]]:
        """Undo z-score and tanh, with the statistics of the companion if it has them, else of the bundle."""
        rows = self.aux(key)
        for file in reversed(self.auxiliaries):
            layout = file.angvel_layout if key == "angvel_norm" else file.pose_history_layout
            arrays = [file.statistic(name, layout) for name in names]
            found = [array.values for array in arrays if array is not None and is_finite_float32(array.values)]
            if len(found) == len(names):
                scale, mean, std = found
                need(rows, when=rows.shape[1] == len(scale) and len(rows) > 0)
                values = rows * np.maximum(np.abs(std), STD_FLOOR) + mean
                return _unsquashed(values, np.maximum(np.abs(scale), AUXILIARY_SCALE_FLOOR))
        raise Unread

    @cached_property
    def angular_velocity(self) -> tuple[FloatArray, NDArray[np.bool_]]:
        """The AngVel input in rad/s, (T, B, 3), and where it can be read."""
        values, usable = self._aux_raw("angvel_norm", ("tanh_scales_angvel", "MuAngVel", "StdAngVel"))
        return values.reshape(len(values), -1, 3), usable.reshape(len(values), -1, 3)

    @cached_property
    def history(self) -> FloatArray:
        """The poses in the history input, (T, H, B, 3, 3), in the order of the file."""
        raw, _ = self._aux_raw("pose_hist_norm", ("tanh_scales_pose_hist", "MuPoseHist", "StdPoseHist"))
        width = need(self.bundle.bone_count, when=bool(self.bundle.bone_count)) * 6
        need(raw, when=raw.shape[1] % width == 0 and is_finite_float32(raw))
        return self._poses(raw.reshape(len(raw), -1, width // 6, 6))


def lagged(rows: FloatArray, frames: FloatArray, lag: int) -> tuple[FloatArray, FloatArray]:
    """Rows and the frames `lag` later, as far as each row has one among the rows: who shifts rows repeats those at the end."""
    count = min(len(rows), len(frames)) - abs(lag)
    first = max(-lag, 0)
    return rows[first : first + count], frames[first + lag : first + lag + count]


def _unsquashed(values: FloatArray, scale: FloatArray) -> tuple[FloatArray, NDArray[np.bool_]]:
    """scale · atanh(value), and where the value is not saturated."""
    return scale * np.arctanh(np.clip(values, -_INSIDE_TANH, _INSIDE_TANH)), np.abs(values) < _SATURATED
