"""A compared run in words and figures: title, diagnosis, still picture, table of bones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.reports.gate.answer.compared_run import CLIP, ComparedRun
from rigpact.reports.gate.answer.part import Part
from rigpact.reports.gate.answer.report import GateReport
from rigpact.reports.terminal import plain
from rigpact.reports.viewer.diagnosis import diagnosis_words
from rigpact.reports.viewer.run_data import bone_names
from rigpact.reports.viewer.still import still_picture


def parts_of_runs(gate: GateReport, runs: Sequence[ComparedRun]) -> list[Part | None]:
    """The part of each run: the next part, in order, whose name ends in the run's name."""
    free = list(gate.parts)
    owners: list[Part | None] = []
    for run in runs:
        owner = next((part for part in free if part.name.endswith(f"/{run.name}")), None)
        owners.append(owner)
        if owner is not None:
            free.remove(owner)
    return owners


_PREDICTED = (
    "No model ran here, so there is no reference pose. The skeletons are the poses in the recording and the clip's next poses; "
    "degrees and centimetres say how far the prediction is from the clip."
)
Drawn = tuple[ComparedRun, Part | None]
"""A run, and the part that it belongs to."""


def worst_first(gate: GateReport, runs: Sequence[ComparedRun]) -> list[Drawn]:
    """The runs with their parts: those that fail come first, and of them the one with the largest error in tolerances."""

    def goodness(drawn: Drawn) -> tuple[bool, float]:
        run, owner = drawn
        largest = max((float(np.nan_to_num(ratios, nan=np.inf).max()) for _, ratios, _ in run.stages), default=0.0)
        return owner is not None and owner.verdict == "pass", -largest

    return sorted(zip(runs, parts_of_runs(gate, runs), strict=True), key=goodness)


def run_words(run: ComparedRun, owner: Part | None) -> dict[str, Any]:
    """The texts about one run. owner: the part of the run."""
    side = "training" if owner is not None and owner.name.startswith("teacher/") else "engine"
    agrees = owner is not None and owner.verdict == "pass"
    return {
        "name": plain(run.name if owner is None else owner.title),
        "side": side,
        "against": run.against,
        "about_poses": _PREDICTED if run.against == CLIP else "",
        "words": diagnosis_words(run.diagnosis, run.meanings, side, agrees=agrees),
        "still": still_picture(run, side),
        "notes": "; ".join(f"{plain(name)}: {plain(note)}" for name, _, note in run.stages if note),
        "stages": [_stage_row(run, name, ratios, note) for name, ratios, note in run.stages],
        "bones": _bone_table(run),
    }


def _stage_row(run: ComparedRun, name: str, ratios: FloatArray, note: str) -> dict[str, str]:
    over = ~(ratios <= 1.0)
    return {
        "name": plain(name),
        "largest": _figure(ratios.max()),
        "first": str(run.frames[int(np.argmax(over))]) if over.any() else "",
        "answer": "✕ beyond" if over.any() else "✓ within",
        "note": plain(note),
    }


def _bone_table(run: ComparedRun) -> list[dict[str, str]]:
    """The figures of every bone, the largest error first."""
    peaks = np.where(np.isfinite(run.deg), run.deg, np.inf).max(axis=0, initial=0.0)
    return [_bone_row(run, int(bone)) for bone in np.argsort(-peaks, kind="stable")]


def _bone_row(run: ComparedRun, bone: int) -> dict[str, str]:
    deg = run.deg[:, bone]
    worst = int(np.argmax(np.where(np.isfinite(deg), deg, np.inf)))
    return {
        "name": plain(bone_names(run)[bone]),
        "max_deg": _figure(deg[worst]),
        "mean_deg": _figure(deg.mean()),
        "max_cm": "" if run.cm is None else _figure(np.max(run.cm[:, bone])),
        "frame": str(run.frames[worst]),
    }


def _figure(value: Any) -> str:
    number = float(value)
    if not np.isfinite(number):
        return "not finite"
    return f"{number:.0f}" if 1000.0 <= number < 1e5 else f"{number:.3g}"
