"""The rows of a teacher file, turned back into poses, velocities and history.

This module holds no rules; teacher_rows.py, history.py, prediction.py and rows_of_clip.py share it. All numbers are float64,
and a value is None where the file or the statistics do not allow it.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.layout import ROOT_VELOCITY, Layout
from rigpact.contract.rotation6d import rot6d_to_matrix
from rigpact.contract.rules.views.auxiliary import Auxiliary
from rigpact.contract.rules.views.bundle import (
    BundleView,
    FileView,
    NamedArray,
    is_finite_float32,
    json_to_array,
    json_to_rate,
    member,
    one_slice,
)
from rigpact.contract.statistics import AUXILIARY_SCALE_FLOOR, STD_FLOOR, TANH_SCALE_FLOOR, FloatArray

AUX_DIMS = {"contacts": "contacts", "angvel_norm": "angvel", "pose_hist_norm": "pose_hist"}
ARRAYS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("teacher", "state_norm"), "Dx"),
    (("teacher", "cond"), "Dc"),
    (("teacher", "target_norm"), "Dy"),
    (("prediction", "y_norm"), "Dy"),
    (("prediction", "y_raw"), "Dy"),
    *((("aux_inputs", key), dim) for key, dim in AUX_DIMS.items()),
    *((("teacher", "aux_inputs", key), dim) for key, dim in AUX_DIMS.items()),
)
"""Every array of rows, and the entry of `dims` that is its width."""


@dataclass(frozen=True, eq=False)
class TeacherView(FileView):
    """The parts of a teacher batch or prediction that rules judge."""

    @property
    def clip_name(self) -> str:
        """The name of the clip that the rows were made from; empty if the file does not say it."""
        name = self.document.data.get("clip")
        return PurePosixPath(name.replace("\\", "/")).stem if isinstance(name, str) else ""

    @cached_property
    def rows(self) -> dict[tuple[str, ...], list[list[Any]]]:
        """Every array of rows that is there, by its path."""
        found = {path: member(self.document.data, *path) for path, _ in ARRAYS}
        return {
            path: value
            for path, value in found.items()
            if isinstance(value, list) and all(type(row) is list for row in value)
        }

    @cached_property
    def arrays(self) -> dict[tuple[str, ...], FloatArray]:
        """Every array that is rectangular, (T, width) float64."""
        read = {path: json_to_array(rows) for path, rows in self.rows.items()}
        return {path: array for path, array in read.items() if array is not None and array.ndim == 2}

    def finite(self, path: tuple[str, ...]) -> FloatArray | None:
        """One of `arrays`; None if it is not there or not finite."""
        array = self.arrays.get(path)
        return array if array is not None and is_finite_float32(array) else None


_SATURATED = 0.999
"""tanh is flat here: atanh enlarges the rounding of z to a hundredth of the value."""
_INSIDE_TANH = 1 - 1e-6
"""Where the engine clamps before atanh."""
STATE, TARGET, COND = ("teacher", "state_norm"), ("teacher", "target_norm"), ("teacher", "cond")
Y_NORM, Y_RAW = ("prediction", "y_norm"), ("prediction", "y_raw")


@dataclass(frozen=True, eq=False)
class Rows:
    """One teacher file under one bundle and, if there is one, its companion."""

    file: TeacherView
    bundle: BundleView
    auxiliaries: tuple[Auxiliary, ...] = ()

    @property
    def path(self) -> Path:
        """The teacher file."""
        return self.file.path

    @property
    def fps(self) -> float:
        """Frames a second of the rows: the file's own rate, else the bundle's."""
        return json_to_rate(self.file.document.data.get("fps")) or self.bundle.fps

    @property
    def condition_lags(self) -> tuple[int, ...]:
        """The frames, counted from a row's own, that its condition may rightly be of: its own, and the declared one."""
        declared = member(self.bundle.meta, "alignment", "cond_to_y", "offset")
        count = len(self.file.rows.get(COND, ()))
        return (0, declared) if type(declared) is int and 0 < abs(declared) < count else (0,)

    @cached_property
    def features(self) -> FloatArray | None:
        """State rows with the z-score undone, (T, Dx): tanh and the division by pi still stand."""
        return self._restored(STATE, "X", self.bundle.state, floored=True)

    def _restored(
        self, path: tuple[str, ...], letter: str, layout: Layout | None, *, floored: bool
    ) -> FloatArray | None:
        rows = self.file.finite(path)
        mean, std = self.bundle.statistic(f"Mu{letter}", layout), self.bundle.statistic(f"Std{letter}", layout)
        if rows is None or mean is None or std is None or rows.shape[1] != len(mean.values) or not len(rows):
            return None
        if not is_finite_float32(mean.values) or not is_finite_float32(std.values):
            return None
        values = rows * (np.maximum(np.abs(std.values), STD_FLOOR) if floored else std.values) + mean.values
        return values if is_finite_float32(values) else None

    @cached_property
    def columns(self) -> FloatArray | None:
        """The six numbers of each bone of each state row, (T, B, 6)."""
        return self._six(self.features, self.bundle.state)

    def _six(self, values: FloatArray | None, layout: Layout | None) -> FloatArray | None:
        return None if values is None or layout is None else self.bundle.rotations_of(values, layout)

    def _poses(self, six: FloatArray | None) -> FloatArray | None:
        return None if six is None else rot6d_to_matrix(six, self.bundle.columns)

    @cached_property
    def poses(self) -> FloatArray | None:
        """The pose of each state row, (T, B, 3, 3)."""
        return self._poses(self.columns)

    @cached_property
    def target_columns(self) -> FloatArray | None:
        """The six numbers of `target_norm`, (T, B, 6)."""
        return self._six(self._restored(TARGET, "Y", self.bundle.output, floored=True), self.bundle.output)

    @cached_property
    def next_poses(self) -> FloatArray | None:
        """The pose that follows each row: from `target_norm`, (T, B, 3, 3), else of the next row, (T - 1, B, 3, 3)."""
        if self.target_columns is not None:
            return self._poses(self.target_columns)
        return None if self.poses is None else self.poses[1:]

    @cached_property
    def predicted_columns(self) -> FloatArray | None:
        """The six numbers of `y_norm` read as a pose, (T, B, 6)."""
        return self._six(self._restored(Y_NORM, "Y", self.bundle.output, floored=False), self.bundle.output)

    @cached_property
    def predicted(self) -> FloatArray | None:
        """`y_norm` read as poses, (T, B, 3, 3)."""
        return self._poses(self.predicted_columns)

    @cached_property
    def root_velocity(self) -> FloatArray | None:
        """Root velocity of each state row, (T, 2) m/s; NaN where tanh saturates."""
        scales, layout = self.bundle.numbers("tanh_scales_rootvel"), self.bundle.state
        if self.features is None or layout is None or scales is None or ROOT_VELOCITY not in layout:
            return None
        values = self.features[:, layout[ROOT_VELOCITY].range]
        if values.shape[1] != 2 or scales.shape != (2,) or not is_finite_float32(scales):
            return None
        restored, usable = _unsquashed(values, np.maximum(np.abs(scales), TANH_SCALE_FLOOR))
        return np.where(usable, restored, np.nan)

    def aux(self, key: str) -> FloatArray | None:
        """One auxiliary input: where the engine looks for it, else at the root of the file."""
        under_teacher = self.file.finite(("teacher", "aux_inputs", key))
        return under_teacher if under_teacher is not None else self.file.finite(("aux_inputs", key))

    def aux_path(self, key: str) -> tuple[str, ...]:
        """Where `aux` found it."""
        path = ("teacher", "aux_inputs", key)
        return path if self.file.finite(path) is not None else ("aux_inputs", key)

    def _squash(self, names: tuple[str, str, str]) -> tuple[NamedArray, NamedArray, NamedArray] | None:
        """Scale, mean and std, from the companion if it has them, else from the bundle, as in `load_contract`."""
        for file in reversed(self.auxiliaries):
            layout = file.pose_history_layout if POSE_HISTORY_KEY in names[0] else one_slice("", 3 * file.bone_count)
            arrays = [file.statistic(name, layout) for name in names]
            found = [array for array in arrays if array is not None and is_finite_float32(array.values)]
            if len(found) == len(names):
                return found[0], found[1], found[2]
        return None

    def _aux_raw(self, key: str, names: tuple[str, str, str]) -> tuple[FloatArray, NDArray[np.bool_]] | None:
        rows, squash = self.aux(key), self._squash(names)
        if rows is None or squash is None or rows.shape[1] != len(squash[0].values) or not len(rows):
            return None
        scale, mean, std = squash
        values = rows * np.maximum(np.abs(std.values), STD_FLOOR) + mean.values
        return _unsquashed(values, np.maximum(np.abs(scale.values), AUXILIARY_SCALE_FLOOR))

    @cached_property
    def angular_velocity(self) -> tuple[FloatArray, NDArray[np.bool_]] | None:
        """The AngVel input in rad/s, (T, B, 3), and where it can be read."""
        raw = self._aux_raw("angvel_norm", ("tanh_scales_angvel", "MuAngVel", "StdAngVel"))
        if raw is None:
            return None
        values, usable = raw
        return values.reshape(len(values), -1, 3), usable.reshape(len(values), -1, 3)

    @cached_property
    def history(self) -> FloatArray | None:
        """The poses in the history input, (T, H, B, 3, 3), in the order of the file."""
        raw = self._aux_raw("pose_hist_norm", (POSE_HISTORY_KEY, "MuPoseHist", "StdPoseHist"))
        width = 6 * (self.bundle.bone_count or 0)
        if raw is None or not width or raw[0].shape[1] % width or not is_finite_float32(raw[0]):
            return None
        frames = raw[0].reshape(len(raw[0]), -1, width // 6, 6)
        return rot6d_to_matrix(frames, self.bundle.columns)


POSE_HISTORY_KEY = "tanh_scales_pose_hist"


def lagged(rows: FloatArray, frames: FloatArray, lag: int) -> tuple[FloatArray, FloatArray]:
    """Rows and the frames `lag` later, as far as each row has one among the rows: who shifts rows repeats those at the end."""
    count = min(len(rows), len(frames)) - abs(lag)
    first = max(-lag, 0)
    return rows[first : first + count], frames[first + lag : first + lag + count]


def _unsquashed(values: FloatArray, scale: FloatArray) -> tuple[FloatArray, NDArray[np.bool_]]:
    """scale · atanh(value), and where the value is not saturated."""
    return scale * np.arctanh(np.clip(values, -_INSIDE_TANH, _INSIDE_TANH)), np.abs(values) < _SATURATED
