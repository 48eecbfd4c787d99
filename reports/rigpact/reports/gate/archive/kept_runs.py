"""Convert a compared run to arrays and plain values, and back; rotation matrices and errors are float32."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.errors import UnusableInput
from rigpact.contract.statistics import FloatArray
from rigpact.reports.diagnosing.diagnosis import Diagnosis, Divergence
from rigpact.reports.gate.answer.compared_run import CLIP, REFERENCE, ComparedRun, Values
from rigpact.reports.gate.archive.kept_documents import KeptRun
from rigpact.reports.gate.archive.kept_values import from_plain, to_plain
from rigpact.reports.gate.archive.shapes import fits

Arrays = dict[str, NDArray[Any]]
_ARRAYS = {"frames", "reference", "engine", "deg", "ratios"}
_SIDES = ("expected", "recorded")


def run_to_kept(run: ComparedRun) -> tuple[dict[str, Any], Arrays]:
    """Plain values and arrays of a run."""
    arrays: Arrays = {
        "frames": np.asarray(run.frames, np.int64),
        "reference": run.reference.astype(np.float32),
        "engine": run.engine.astype(np.float32),
        "deg": run.deg.astype(np.float32),
        "ratios": _rows([ratios for _, ratios, _ in run.stages], len(run.frames)),
    }
    values = run.values
    optional = {"cm": run.cm, "offsets": run.offsets_m, "path": run.path}
    optional |= {} if values is None else {side: getattr(values, side) for side in _SIDES}
    arrays |= {name: np.asarray(each, np.float32) for name, each in optional.items() if each is not None}
    plain = {
        "name": run.name, "fps": run.fps, "bone_names": list(run.bone_names),
        "parents": None if run.parents is None else [int(parent) for parent in run.parents],
        "stages": [[name, note] for name, _, note in run.stages],
        "first_divergence": to_plain(run.first_divergence), "diagnosis": to_plain(run.diagnosis),
        "against": run.against,
        "values": None if values is None else {
            "stage": values.stage, "unit": values.unit, "names": list(values.names), "channels": list(values.channels),
            "network": list(values.network),
        },
    }  # fmt: skip
    return plain, arrays


def _rows(rows: list[FloatArray], frames: int) -> FloatArray:
    return np.stack(rows).astype(np.float32) if rows else np.zeros((0, frames), np.float32)


def kept_to_run(plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> ComparedRun:
    """The run from its arrays and plain values; UnusableInput where they do not fit together."""
    if not fits(plain, KeptRun) or not arrays.keys() >= _ARRAYS or len(arrays["ratios"]) != len(plain["stages"]):
        raise _misfit()
    values = plain["values"]
    if values is not None and not arrays.keys() >= set(_SIDES):
        raise _misfit()
    run = ComparedRun(
        name=plain["name"], fps=float(plain["fps"]), frames=arrays["frames"], bone_names=tuple(plain["bone_names"]),
        parents=None if plain["parents"] is None else tuple(plain["parents"]), offsets_m=arrays.get("offsets"),
        reference=arrays["reference"], engine=arrays["engine"], deg=arrays["deg"], cm=arrays.get("cm"),
        stages=[(name, row, note) for (name, note), row in zip(plain["stages"], arrays["ratios"], strict=True)],
        first_divergence=from_plain(plain["first_divergence"]), diagnosis=from_plain(plain["diagnosis"]),
        against=plain["against"], path=arrays.get("path"),
        values=None if values is None else Values(**values, expected=arrays["expected"], recorded=arrays["recorded"]),
    )  # fmt: skip
    if not _fit_together(run):
        raise _misfit()
    return run


def _misfit() -> UnusableInput:
    return UnusableInput("archive", "a compared run that does not fit together", "a file that rigpact wrote")


def _fit_together(run: ComparedRun) -> bool:
    if run.deg.ndim != 2:
        return False
    frames, bones = run.deg.shape
    shapes = [
        run.reference.shape == (frames, bones, 3, 3), run.engine.shape == (frames, bones, 3, 3), frames > 0,
        run.frames.shape == (frames,), run.cm is None or run.cm.shape == (frames, bones),
        len(run.bone_names) == bones or not run.bone_names,
        run.parents is None or (len(run.parents) == bones and all(-1 <= parent < bones for parent in run.parents)),
        run.offsets_m is None or run.offsets_m.shape == (bones, 3), run.path is None or run.path.shape == (frames, 4),
        run.against in (REFERENCE, CLIP), 0 < run.fps < np.inf, bones + len(run.stages) > 0, run.frames.dtype.kind == "i",
        fits(run.first_divergence, Divergence | None), fits(run.diagnosis, Diagnosis | None),
        all(ratios.shape == (frames,) for _, ratios, _ in run.stages), run.values is None or _are_of(run.values, frames),
    ]  # fmt: skip
    return all(shapes)


def _are_of(values: Values, frames: int) -> bool:
    count = len(values.names)
    return len(values.channels) == len(values.network) == count and all(
        rows.shape == (frames, count) for rows in (values.expected, values.recorded)
    )


def as_kept(run: ComparedRun) -> ComparedRun:
    """The run as read back from an archive, so a report does not depend on whether it comes from an archive."""
    return kept_to_run(*run_to_kept(run))
