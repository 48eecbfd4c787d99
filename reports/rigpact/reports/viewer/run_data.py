"""The data for drawing one compared run, as JSON values: skeleton, poses, errors, stages.

Long runs are thinned: the page draws every n-th frame, and always the first divergence and the worst frame. The error
of a drawn frame is the largest of all frames up to the next drawn one, so thinning hides no error.
"""

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.skeleton import Skeleton, parent_cycle
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.operations.geometry import matrix_to_quat
from rigpact.reports.gate.measured import ComparedRun, Values
from rigpact.reports.terminal import plain

# Pack numbers as text for the page: base64 of little-endian 16-bit words. assets/decode.js reads them
NOT_FINITE = 0xFFFF
LARGEST_CODE = NOT_FINITE - 1
SCALE: Mapping[str, float] = {"low": -6.0, "high": 12.0}
"""Decades of the smallest and the largest magnitude. 18 decades in 65 533 steps: a step is 0.063 %."""
_STEPS = 0x7FFF
_HALF_SPAN = 1.0 / np.sqrt(2.0)
"""All components of a unit quaternion except the largest lie within ±1/√2."""

Words = NDArray[np.uint16]


def quaternions_to_text(quaternions: FloatArray) -> str:
    """Pack unit quaternions (..., 4), xyzw. A non-finite quaternion becomes three words of `NOT_FINITE`.

    A component is off by at most half a step, √2 / 32767 / 2 = 2.2e-5, so a rotation is off by less than 0.01 degrees.
    """
    flat = quaternions.reshape(-1, 4).astype(np.float64)
    known = np.isfinite(flat).all(axis=1)
    unit = flat.copy()
    unit[~known] = (0.0, 0.0, 0.0, 1.0)
    largest = np.argmax(np.abs(unit), axis=1)
    rows = np.arange(len(unit))
    signs: FloatArray = np.where(unit[rows, largest] < 0.0, -1.0, 1.0)
    unit = unit * signs[:, None]
    kept = np.arange(4)[None, :] != largest[:, None]
    small = unit[kept].reshape(-1, 3)
    codes = np.clip(np.rint((small + _HALF_SPAN) / (2.0 * _HALF_SPAN) * _STEPS), 0, _STEPS).astype(np.uint16)
    codes[:, 0] |= ((largest & 1) << 15).astype(np.uint16)
    codes[:, 1] |= ((largest >> 1) << 15).astype(np.uint16)
    codes[~known] = NOT_FINITE
    return _words_to_text(codes)


def magnitudes_to_text(values: FloatArray) -> str:
    """Pack magnitudes >= 0 of any shape. Below the scale: 0; above it: its end; non-finite: `NOT_FINITE`."""
    finite = np.isfinite(values)
    low, high = SCALE["low"], SCALE["high"]
    with np.errstate(divide="ignore"):
        decades = np.log10(np.where(finite, values, 1.0).astype(np.float64))
    codes = np.clip(np.rint((decades - low) / (high - low) * (LARGEST_CODE - 1)) + 1.0, 0.0, LARGEST_CODE)
    return _words_to_text(np.where(finite, codes, NOT_FINITE).astype(np.uint16))


def _words_to_text(words: Words) -> str:
    return base64.b64encode(np.ascontiguousarray(words, dtype="<u2").tobytes()).decode("ascii")


CELLS_OF_A_RUN = 80_000
"""Largest number of drawn frames times bones: 1.7 MB of text. 600 frames of 65 bones are 39 000."""
CELLS_OF_A_PAGE = 240_000
NO_SKELETON = (
    "The bundle gives no usable parents and rest offsets: there is no skeleton to draw. The errors below are complete."
)

Rows = NDArray[np.int64]


def bone_names(run: ComparedRun) -> list[str]:
    """A name for every bone, even if the recordings hold no names."""
    return list(run.bone_names) or [f"bone {bone}" for bone in range(run.deg.shape[1])]


def bone_index(run: ComparedRun, name: str | None) -> int:
    """The index of the bone with a name; -1 if there is none."""
    return next((index for index, known in enumerate(bone_names(run)) if known == name), -1)


def skeleton_of(run: ComparedRun) -> Skeleton | None:
    """The run's skeleton; None if it is incomplete or its parents form a cycle."""
    if run.parents is None or run.offsets_m is None or parent_cycle(run.parents):
        return None
    if not np.isfinite(run.offsets_m).all():
        return None
    return Skeleton(tuple(bone_names(run)), tuple(run.parents), np.asarray(run.offsets_m, np.float32))


def rows_drawn(run: ComparedRun, runs: int) -> Rows:
    """The drawn rows of the run, ascending, if `runs` runs share the page."""
    frames = len(run.frames)
    cells = min(CELLS_OF_A_RUN, CELLS_OF_A_PAGE // runs)
    drawn = max(run.deg.shape[1] or len(run.stages), 0 if run.values is None else len(run.values.names))
    stride = max(-(-frames * drawn // cells), 1)
    first = first_divergence(run)
    always = [worst_row(run)] + ([] if first is None else [first[0]])
    return np.unique(np.concatenate([np.arange(0, frames, stride), np.asarray(always, np.int64)]))


def worst_row(run: ComparedRun) -> int:
    """The row with the largest error of a bone, or of a stage if there are no bones; NaN counts as infinite."""
    errors = run.deg if run.deg.shape[1] else run.ratios.T
    return int(np.argmax(sized(errors).max(axis=1)))


def first_divergence(run: ComparedRun) -> tuple[int, str, int] | None:
    """Row, stage and bone (-1: none): from the diagnosis, else the first frame and, in it, the first stage beyond tolerance."""
    known = None if run.diagnosis is None else run.diagnosis.first_divergence
    if known is not None:
        row = int(np.argmin(np.abs(run.frames - known.frame)))
        return row, known.stage, bone_index(run, known.address.bone)
    over = [(name, sized(ratios) > 1.0) for name, ratios, _ in run.by_stage()]
    starts = [(int(np.argmax(rows)), name) for name, rows in over if rows.any()]
    row, stage = min(starts, key=lambda start: start[0], default=(0, ""))
    return (row, stage, -1) if stage else None


def run_data(run: ComparedRun, rows: Rows) -> dict[str, Any]:
    """The run in the script's format. rows: from `rows_drawn`."""
    first, path = first_divergence(run), None if run.path is None else run.path[rows]
    return {
        "name": plain(run.name),
        "fps": float(run.fps),
        "against": run.against,
        "path": None if path is None or not np.isfinite(path).all() else np.round(path.astype(float), 4).tolist(),
        "frames": run.frames[rows].tolist(),
        "bones": [plain(name) for name in bone_names(run)],
        "deg": magnitudes_to_text(_largest(run.deg, rows)),
        "cm": None if run.cm is None else magnitudes_to_text(_largest(run.cm, rows)),
        "stages": [
            {"name": plain(name), "ratios": magnitudes_to_text(_largest(ratios, rows)), "note": plain(note)}
            for name, ratios, note in run.by_stage()
        ],
        "first": None if first is None else {
            "column": int(np.searchsorted(rows, first[0])), "stage": plain(first[1]), "bone": first[2],
        },
        "values": None if run.values is None else _values(run.values, rows),
    } | _poses(run, rows)  # fmt: skip


def _values(values: Values, rows: Rows) -> dict[str, Any]:
    sides = {
        side: [[float(f"{each:.5g}") if np.isfinite(each) else None for each in channel] for channel in shown[rows].T]
        for side, shown in (("expected", values.expected), ("recorded", values.recorded))
    }
    return {"stage": plain(values.stage), "unit": values.unit, "names": [plain(name) for name in values.names], **sides}


def _poses(run: ComparedRun, rows: Rows) -> dict[str, Any]:
    skeleton = skeleton_of(run)
    if skeleton is None:
        return {"parents": None, "offsets": None, "reference": None, "engine": None, "note": NO_SKELETON}
    return {
        "parents": [int(parent) for parent in skeleton.parents],
        "offsets": [round(float(value), 6) for value in skeleton.offsets_m.ravel()],
        "reference": quaternions_to_text(matrix_to_quat(run.reference[rows].astype(np.float64))),
        "engine": quaternions_to_text(matrix_to_quat(run.engine[rows].astype(np.float64))),
        "note": "",
    }


def _largest(values: FloatArray, rows: Rows) -> FloatArray:
    return np.asarray(np.maximum.reduceat(sized(values), rows, axis=0))


def sized(values: FloatArray) -> FloatArray:
    """The values, those that are no numbers as infinite."""
    return np.where(np.isnan(values), np.inf, values)
