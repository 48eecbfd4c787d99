"""A compared run in words and figures: title, diagnosis, still picture, table of bones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.reports.diagnosing.diagnosis import Cause, Diagnosis, Verdict
from rigpact.reports.diagnosing.diagnosis_text import effect_text
from rigpact.reports.diagnosing.hypotheses import Changes
from rigpact.reports.gate.answer.compared_run import CLIP, ComparedRun
from rigpact.reports.gate.answer.part import Part
from rigpact.reports.gate.answer.report import GateReport
from rigpact.reports.terminal import plain
from rigpact.reports.viewer.run_data import bone_names
from rigpact.reports.viewer.still import still_picture

_HEADLINE: dict[Verdict, str] = {
    "agrees": "Every stage that could be judged computes what the contract says.",
    "explained": "{side} computes with {changes}. That explains every stage that was judged ({judged} of {recorded}).",
    "unexplained": "No combination of known conventions explains all of it. Look at the first divergence.",
    "undetermined": "Not everything could be judged: nothing says what all of {unjudged} should be.",
}
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
    headline = _HEADLINE[diagnosis.verdict].format(
        side="Training" if side == "training" else "The engine",
        changes=_changes(everything),
        judged=judged,
        recorded=len(diagnosis.stages),
        unjudged=plain(", ".join(diagnosis.unjudged) or "it"),
    )
    return DiagnosisWords(headline, tuple(causes), tuple(_lines(diagnosis)))


def _cause(cause: Cause, meanings: Mapping[str, str]) -> CauseWords:
    meaning = "; ".join(f"{knob}: {meanings[knob]}" for knob in cause.changes if knob in meanings)
    sentence = f"With {_changes(cause.changes)} {effect_text(cause)}." + (f" ({meaning}.)" if meaning else "")
    equivalents = "; ".join(_changes(changes) for changes in cause.equivalents[:_EQUIVALENTS_SHOWN])
    return CauseWords(sentence, cause.code_hints, equivalents)


def _lines(diagnosis: Diagnosis) -> list[str]:
    lines = []
    if diagnosis.verdict == "agrees" and diagnosis.seen is not None:
        lines.append(f"{diagnosis.seen.sentence}.")
    first = diagnosis.first_divergence
    if first is not None:
        size = "a value that is not finite" if first.error is None else f"{first.error:.3g} {first.unit}"
        lines.append(f"First divergence: frame {first.frame}, stage {first.stage}, {plain(first.address)}: {size}.")
    lines += [f"Relation: {plain(relation.sentence)}." for relation in diagnosis.relations]
    lines += [f"{plain(each.stage)}: {each.sampled.words}." for each in diagnosis.stages if each.sampled is not None]
    if diagnosis.indistinguishable:
        choices = ", ".join(f"{knob}={_shown(value)}" for knob, value in diagnosis.indistinguishable)
        lines.append(f"This data cannot tell apart: {choices}.")
    return lines


def _changes(changes: Changes) -> str:
    return " and ".join(f"{knob} = {_shown(value)}" for knob, value in changes.items())


def _shown(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


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
