"""A compared run in words and figures: title, diagnosis, still picture, table of bones.

The picture is for print and for browsers without scripts. Camera and symbols are those of assets/scene.js; axes x forward,
y right, z up, left-handed.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.skeleton import Skeleton
from rigpact.contract.statistics import FloatArray
from rigpact.reports.diagnosing import diagnosis_text as words_of
from rigpact.reports.diagnosing.diagnosis import Cause, Diagnosis, Verdict
from rigpact.reports.diagnosing.diagnosis_text import changes_text, divergence_text, effect_text
from rigpact.reports.gate.answer.compared_run import CLIP, ComparedRun
from rigpact.reports.gate.answer.part import Part
from rigpact.reports.gate.answer.report import GateReport
from rigpact.reports.terminal import plain
from rigpact.reports.viewer.run_data import bone_names, skeleton_of, worst_row

WIDTH, HEIGHT = 720, 460
_YAW, _PITCH = 2.45, 0.2
_MARGIN = 40
HEAD_M = 0.085
_BODY_SHARE, _THINNEST_M, _WIDEST_M = 0.16, 0.008, 0.042
"""A bone's half width: a share of its length, limited by two bounds."""


def still_picture(run: ComparedRun, side: str = "engine") -> dict[str, Any] | None:
    """The lines of both skeletons in the worst frame, for the template; None without a skeleton or finite poses."""
    skeleton = skeleton_of(run)
    if skeleton is None:
        return None
    row = worst_row(run)
    both = np.stack([run.reference[row], run.engine[row]]).astype(np.float64)
    positions, _ = skeleton.forward_kinematics(both)
    if not np.isfinite(positions).any(axis=(1, 2)).all():
        return None
    points, scale = _on_paper(positions)
    deg = np.where(np.isfinite(run.deg[row]), run.deg[row], np.inf)
    bone = int(np.argmax(deg))
    mark = points[1, bone]
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "body": _lines_drawn(points[0], skeleton, scale),
        "bones": _lines_drawn(points[1], skeleton, 0.4 * scale),
        "heads": _heads(points, skeleton, scale),
        "mark": _pair(mark) if np.isfinite(mark).all() else None,
        "label": f"{plain(skeleton.names[bone])} {f'{deg[bone]:.3g}°' if np.isfinite(deg[bone]) else 'not finite'}",
        "caption": f"{plain(run.name)}, frame {run.frames[row]}, the worst: "
        f"the {run.against} wide and pale, the {side} side narrow and dark, a ring at the bone with the largest error.",
    }


def _on_paper(positions: FloatArray) -> tuple[FloatArray, float]:
    """Parallel projection of (sides, B, 3), fitted to the picture: (sides, B, 2), and the picture's units per metre."""
    right = np.array([-math.sin(_YAW), math.cos(_YAW), 0.0])
    up = np.array([math.cos(_YAW) * math.sin(_PITCH), math.sin(_YAW) * math.sin(_PITCH), math.cos(_PITCH)])
    flat = np.stack([positions @ right, -(positions @ up)], axis=-1)
    low, high = np.nanmin(_finite(flat), axis=(0, 1)), np.nanmax(_finite(flat), axis=(0, 1))
    room = np.array([WIDTH - 2 * _MARGIN, HEIGHT - 2 * _MARGIN])
    scale = float(np.min(room / np.maximum(high - low, 0.1)))
    return (flat - (low + high) / 2.0) * scale + np.array([WIDTH, HEIGHT]) / 2.0, scale


def _finite(values: FloatArray) -> FloatArray:
    return np.where(np.isfinite(values), values, np.nan)


def _lines_drawn(points: FloatArray, skeleton: Skeleton, scale: float) -> list[dict[str, str]]:
    lengths: NDArray[np.float64] = np.linalg.norm(skeleton.offsets_m, axis=1)
    lines = []
    for bone, parent in enumerate(skeleton.parents):
        if parent < 0 or not np.isfinite(points[[parent, bone]]).all():
            continue
        half = min(max(_BODY_SHARE * float(lengths[bone]), _THINNEST_M), _WIDEST_M)
        (x1, y1), (x2, y2) = _pair(points[parent]), _pair(points[bone])
        lines.append({"x1": x1, "y1": y1, "x2": x2, "y2": y2, "w": f"{2.0 * half * scale:.1f}",
                      "edge": f"{2.0 * half * scale + 2.0:.1f}"})  # fmt: skip
    return lines


def _heads(points: FloatArray, skeleton: Skeleton, scale: float) -> list[dict[str, Any]]:
    """A circle beyond every last bone called head; it makes the figure readable as a person."""
    heads = []
    for bone, name in enumerate(skeleton.names):
        neck = skeleton.parents[bone]
        if "head" not in name.lower() or neck < 0 or bone in skeleton.parents:
            continue
        for side, kind in enumerate(("still-head", "still-ring")):
            rise = points[side, bone] - points[side, neck]
            middle = points[side, bone] + rise / max(float(np.hypot(*rise)), 1e-6) * 0.75 * HEAD_M * scale
            if np.isfinite(middle).all():
                heads.append({"kind": kind, "at": _pair(middle), "r": f"{HEAD_M * scale * (1.0, 0.8)[side]:.1f}"})
    return heads


def _pair(point: FloatArray) -> tuple[str, str]:
    return f"{point[0]:.1f}", f"{point[1]:.1f}"


_HEADLINE: dict[Verdict, str] = {
    "agrees": "Every stage that could be judged computes what the contract says.",
    "explained": "The changes below explain every value that differs ({judged} of {recorded} stages judged).",
    "partly_explained": "The changes below explain a part. Look at the rest.",
    "unexplained": "No known convention or relation explains it. Look at the first divergence.",
    "undetermined": "Not everything could be judged: the right values of {unjudged} are unknown.",
}
_ONE_SET = "{side} computes with {changes}. That explains every stage that was judged ({judged} of {recorded})."
NOT_DIAGNOSED = "Why they differ was not looked into."
AGREES = "It agrees with the reference in every stage that was compared."
_EQUIVALENTS_SHOWN = 6


@dataclass(frozen=True)
class CauseWords:
    """One cause: the changes, the knob's meaning, hints for the code, and equivalent changes."""

    sentence: str
    hints: tuple[str, ...]
    equivalents: str


@dataclass(frozen=True)
class DiagnosisWords:
    """A headline, the causes, and further lines."""

    headline: str
    causes: tuple[CauseWords, ...] = ()
    lines: tuple[str, ...] = ()


def diagnosis_words(
    diagnosis: Diagnosis | None, meanings: Mapping[str, str], side: str = "engine", *, agrees: bool = False
) -> DiagnosisWords:
    """A diagnosis in words; None if a recording was not diagnosed. meanings: the meaning of each convention.

    side: who recorded it. agrees: whether nothing was found in it, so that nothing had to be diagnosed.
    """
    if diagnosis is None:
        return DiagnosisWords(AGREES if agrees else NOT_DIAGNOSED)
    everything = {knob: value for cause in diagnosis.causes for knob, value in cause.changes.items()}
    causes = (_cause(cause, meanings) for cause in diagnosis.causes)
    judged = sum(stage.ok is not None for stage in diagnosis.stages)
    is_one_set = diagnosis.is_one_set_of_conventions and bool(diagnosis.causes)
    headline = (_ONE_SET if is_one_set else _HEADLINE[diagnosis.verdict]).format(
        side="Training" if side == "training" else "The engine",
        changes=changes_text(everything),
        judged=judged,
        recorded=len(diagnosis.stages),
        unjudged=plain(", ".join(diagnosis.unjudged) or "it"),
    )
    return DiagnosisWords(headline, tuple(causes), tuple(_lines(diagnosis)))


def _cause(cause: Cause, meanings: Mapping[str, str]) -> CauseWords:
    meaning = "; ".join(f"{knob}: {meanings[knob]}" for knob in cause.changes if knob in meanings)
    sentence = f"With {changes_text(cause.changes)} {effect_text(cause)}." + (f" ({meaning}.)" if meaning else "")
    equivalents = "; ".join(map(changes_text, cause.equivalents[:_EQUIVALENTS_SHOWN]))
    return CauseWords(sentence, cause.code_hints, equivalents)


def _lines(diagnosis: Diagnosis) -> list[str]:
    lines = []
    if diagnosis.verdict == "agrees" and diagnosis.seen is not None:
        lines.append(f"{diagnosis.seen.sentence}.")
    first = diagnosis.first_divergence
    if first is not None:
        lines.append(f"First divergence: {divergence_text(first)}.")
    differing = [each for each in diagnosis.stages if each.differs]
    lines += [f"{plain(each.stage)} differs: {plain(each.differs.sentence)}." for each in differing if each.differs]
    lines += [f"Relation: {plain(relation.sentence)}." for relation in diagnosis.relations]
    lines += [f"Remains: {plain(words)}." for words in words_of.remains_texts(diagnosis)]
    if diagnosis.search is not None and not diagnosis.search.is_complete:
        lines.append(f"{plain(diagnosis.search.sentence)}.")
    lines += [f"{plain(each.stage)}: {each.sampled.words}." for each in diagnosis.stages if each.sampled is not None]
    if diagnosis.indistinguishable:
        choices = ", ".join(f"{knob}={words_of.shown_value(value)}" for knob, value in diagnosis.indistinguishable)
        lines.append(f"This data cannot tell apart: {choices}.")
    return lines


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
    peaks = np.where(np.isfinite(run.deg), run.deg, np.inf).max(axis=0, initial=0.0)
    return {
        "name": plain(run.name if owner is None else owner.title),
        "side": side,
        "against": run.against,
        "about_poses": _PREDICTED if run.against == CLIP else "",
        "words": diagnosis_words(run.diagnosis, run.meanings, side, agrees=agrees),
        "still": still_picture(run, side),
        "notes": "; ".join(f"{plain(name)}: {plain(note)}" for name, _, note in run.stages if note),
        "stages": [_stage_row(run, name, ratios, note) for name, ratios, note in run.stages],
        "bones": [_bone_row(run, int(bone)) for bone in np.argsort(-peaks, kind="stable")],
    }


def _stage_row(run: ComparedRun, name: str, ratios: FloatArray, note: str) -> dict[str, str]:
    over = ~(ratios <= 1.0)
    first, answer = (str(run.frames[int(np.argmax(over))]), "✕ beyond") if over.any() else ("", "✓ within")
    largest = _figure(ratios.max())
    return {"name": plain(name), "largest": largest, "first": first, "answer": answer, "note": plain(note)}


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
