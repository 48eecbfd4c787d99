"""A compared run in words and figures: title, answer, tables of stages, bones and the numbers of a stage."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rigpact.contract.findings import Finding
from rigpact.contract.rules.teacher.prediction import NOT_POSES, SAY_NOTHING
from rigpact.contract.statistics import FloatArray
from rigpact.reports.diagnosing.diagnosis_text import answer_of_diagnosis
from rigpact.reports.gate.answer.compared_run import CLIP, REFERENCE, ComparedRun, Values
from rigpact.reports.gate.answer.part import Part
from rigpact.reports.gate.answer.report import GateReport
from rigpact.reports.terminal import plain
from rigpact.reports.viewer.run_data import bone_names

_NO_POSES = frozenset(rule.code for rule in NOT_POSES)
_SAME = 1e-5
"""Of the span of a stage's numbers: channels this near are the same, whatever float32 rounds."""
NOT_DIAGNOSED = "Why they differ was not looked into."
AGREES = "It agrees with the reference in every stage that was compared."


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
    "No model ran here, so there is no reference pose. The skeletons are the poses in the recording and those that the clip "
    "has next; "
)
_FROM_THE_CLIP = "degrees and centimetres say how far the prediction is from the clip."
_DENIED = "No pose is drawn of this recording: "
Drawn = tuple[ComparedRun, Part | None]
"""A run, and the part that it belongs to."""


def worst_first(gate: GateReport, runs: Sequence[ComparedRun]) -> list[Drawn]:
    """The runs with their parts: those that fail come first, and of them the one with the largest error in tolerances."""

    def goodness(drawn: Drawn) -> tuple[bool, float]:
        run, owner = drawn
        largest = float(np.nan_to_num(run.ratios, nan=np.inf).max(initial=0.0))
        return owner is not None and owner.verdict == "pass", -largest

    return sorted(zip(runs, parts_of_runs(gate, runs), strict=True), key=goodness)


def denials(gate: GateReport, owner: Part | None) -> list[Finding]:
    """What the gate found in the run's file that takes the meaning from its poses, or from their distance."""
    said, file = {rule.code for rule in SAY_NOTHING}, None if owner is None else owner.report.summary.get("b")
    return [each for each in gate.findings if each.file == file and each.rule.code in said]


def without_false_poses(run: ComparedRun, denied: Sequence[Finding]) -> ComparedRun:
    """The run as it may be drawn: without poses, where a finding says that they are none."""
    if run.against != CLIP or not any(each.rule.code in _NO_POSES for each in denied):
        return run
    none = np.zeros((len(run.frames), 0, 3, 3))
    bare = replace(run, bone_names=(), against=REFERENCE, path=None, parents=None, offsets_m=None)
    return replace(bare, reference=none, engine=none, deg=none[..., 0, 0], cm=None)


def run_words(run: ComparedRun, owner: Part | None, denied: Sequence[Finding] = ()) -> dict[str, Any]:
    """The texts about one run. owner: the part of the run; denied: what says that its poses or their distance are none."""
    side = "training" if owner is not None and owner.name.startswith("teacher/") else "engine"
    answer = None if run.diagnosis is None else answer_of_diagnosis(run.diagnosis)
    known = AGREES if owner is not None and owner.verdict == "pass" else NOT_DIAGNOSED
    peaks = np.where(np.isfinite(run.deg), run.deg, np.inf).max(axis=0, initial=0.0)
    messages = " ".join(f"{plain(each.message)} ({each.rule.code})." for each in denied[:1])
    return {
        "name": plain(run.name if owner is None else owner.title),
        "side": side,
        "against": run.against,
        "about_poses": _PREDICTED + (messages or _FROM_THE_CLIP) if run.against == CLIP else messages and _DENIED + messages,
        "headline": known if answer is None else plain(f"{answer.word}: {answer.headline}"),
        "lines": [] if answer is None else [plain(line) for line in answer.lines],
        "notes": "; ".join(f"{plain(name)}: {plain(note)}" for name, note in run.stages if note),
        "stages": [_stage_row(run, name, ratios, note) for name, ratios, note in run.by_stage()],
        "bones": [_bone_row(run, int(bone)) for bone in np.argsort(-peaks, kind="stable")],
        "numbers": None if run.values is None else {
            "stage": plain(run.values.stage), "rows": list(_value_rows(run.values, run)),
            "is_of_network": max(run.values.network) >= 0,
        },
    }  # fmt: skip


def _value_rows(values: Values, run: ComparedRun) -> Iterator[dict[str, str]]:
    """Each channel: its name, the index that the network has for it, whose numbers were recorded in its place, how far off."""
    expected, recorded = (side.astype(np.float64) for side in (values.expected, values.recorded))
    apart = _sized(np.abs(recorded - expected))
    known = expected[np.isfinite(expected)]
    span = float(np.ptp(known)) if known.size else 0.0
    for place, name in enumerate(values.names):
        distance = _sized(np.abs(expected - recorded[:, [place]])).max(axis=0)
        nearest = int(np.argmin(distance))
        is_other = distance[place] > _SAME * span and distance[nearest] <= _SAME * span
        row, own = int(np.argmax(apart[:, place])), values.network
        yield {
            "index": str(values.channels[place]), "name": plain(name),
            "network": "" if own[place] < 0 else str(own[place]),
            "got": plain(values.names[nearest]) if is_other else "",
            "got_network": str(own[nearest]) if is_other and own[nearest] >= 0 else "",
            "apart": _figure(apart[row, place]), "frame": str(run.frames[row]),
        }  # fmt: skip


def _sized(values: FloatArray) -> FloatArray:
    return np.where(np.isnan(values), np.inf, values)


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
