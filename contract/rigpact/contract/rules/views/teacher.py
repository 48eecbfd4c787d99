"""A teacher batch or prediction as rules read it: every array of rows, where it can be read."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any

from rigpact.contract.rules.views.bundle import FileView, is_finite_float32, json_to_array, member
from rigpact.contract.statistics import FloatArray

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
