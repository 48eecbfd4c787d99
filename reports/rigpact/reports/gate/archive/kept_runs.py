"""Convert a compared run to arrays and plain values, and back; rotation matrices and errors are float32."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.errors import UnusableInput
from rigpact.contract.statistics import FloatArray
from rigpact.reports.diagnosing.diagnosis import Diagnosis, Divergence
from rigpact.reports.gate.answer.compared_run import CLIP, REFERENCE, ComparedRun
from rigpact.reports.gate.archive.kept_documents import KeptRun
from rigpact.reports.gate.archive.kept_values import from_plain, to_plain
from rigpact.reports.gate.archive.shapes import fits

Arrays = dict[str, NDArray[Any]]
_ARRAYS = {"frames", "reference", "engine", "deg", "ratios"}


def run_to_kept(run: ComparedRun) -> tuple[dict[str, Any], Arrays]:
    """Plain values and arrays of a run."""
    arrays: Arrays = {
        "frames": np.asarray(run.frames, np.int64),
        "reference": run.reference.astype(np.float32),
        "engine": run.engine.astype(np.float32),
        "deg": run.deg.astype(np.float32),
        "ratios": _rows([ratios for _, ratios, _ in run.stages], len(run.frames)),
    }
    if run.cm is not None:
        arrays["cm"] = run.cm.astype(np.float32)
    if run.offsets_m is not None:
        arrays["offsets"] = np.asarray(run.offsets_m, np.float32)
    if run.path is not None:
        arrays["path"] = run.path.astype(np.float32)
    plain = {
        "name": run.name, "fps": run.fps, "bone_names": list(run.bone_names),
        "parents": None if run.parents is None else [int(parent) for parent in run.parents],
        "stages": [[name, note] for name, _, note in run.stages],
        "first_divergence": to_plain(run.first_divergence), "diagnosis": to_plain(run.diagnosis),
        "meanings": dict(run.meanings), "against": run.against,
    }  # fmt: skip
    return plain, arrays


def _rows(rows: list[FloatArray], frames: int) -> FloatArray:
    return np.stack(rows).astype(np.float32) if rows else np.zeros((0, frames), np.float32)


def kept_to_run(plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> ComparedRun:
    """The run from its arrays and plain values; UnusableInput where they do not fit together."""
    if not fits(plain, KeptRun) or not arrays.keys() >= _ARRAYS or len(arrays["ratios"]) != len(plain["stages"]):
        raise _misfit()
    run = ComparedRun(
        name=plain["name"], fps=float(plain["fps"]), frames=arrays["frames"], bone_names=tuple(plain["bone_names"]),
        parents=None if plain["parents"] is None else tuple(plain["parents"]), offsets_m=arrays.get("offsets"),
        reference=arrays["reference"], engine=arrays["engine"], deg=arrays["deg"], cm=arrays.get("cm"),
        stages=[(name, row, note) for (name, note), row in zip(plain["stages"], arrays["ratios"], strict=True)],
        first_divergence=from_plain(plain["first_divergence"]), diagnosis=from_plain(plain["diagnosis"]),
        meanings=plain["meanings"], against=plain["against"], path=arrays.get("path"),
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
        all(ratios.shape == (frames,) for _, ratios, _ in run.stages),
    ]  # fmt: skip
    return all(shapes)


def as_kept(run: ComparedRun) -> ComparedRun:
    """The run as read back from an archive, so a report does not depend on whether it comes from an archive."""
    return kept_to_run(*run_to_kept(run))
