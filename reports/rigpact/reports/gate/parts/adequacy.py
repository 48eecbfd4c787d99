"""What the clips cannot show: conventions in which an engine could differ and still pass on them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rigpact.contract.findings import Finding, FindingsReport, Ledger
from rigpact.contract.json_pointer import json_pointer
from rigpact.contract.rules.answers import gate as rules
from rigpact.contract.settings.gate import GateSettings
from rigpact.reference_runtime.recordings.clip import RawClip
from rigpact.reports.diagnosing.adequacy import Adequacy, ClipAdequacy, measure, weigh
from rigpact.reports.diagnosing.adequacy_text import read_probe
from rigpact.reports.gate.enemy_case import EnemyCase
from rigpact.reports.gate.measured import Measured, NotAsked, guarded
from rigpact.reports.terminal import working

NAME, TITLE = "adequacy", "What the clips can show"
_LARGEST = 1e300


def ask(case: EnemyCase) -> Iterator[Measured | NotAsked]:
    """Measure the margin of every convention on every clip, and on the probe clip."""
    if not case.clip_paths:
        yield NotAsked(NAME, "no clips in [gate]")
        return
    yield guarded(NAME, TITLE, case.clip_paths[0], lambda: _measure(case))


def _measure(case: EnemyCase) -> Measured:
    clips = {path.as_posix(): case.clip(path) for path in case.clip_paths}
    raw = {name: clip for name, clip in clips.items() if isinstance(clip, RawClip)}
    with working("replaying every convention on every clip"):
        measured = [measure(name, clip, case.contract) for name, clip in raw.items()]
        probe = measure("probe", read_probe(case.contract), case.contract)
    declared = {knob: str(value) for knob, value in vars(case.contract.conventions).items()}
    metrics = {"clips": [_kept(clip) for clip in (*measured, probe)], "declared": declared}
    return Measured(NAME, TITLE, (), Ledger(0, 0), metrics=metrics)


def _kept(clip: ClipAdequacy) -> dict[str, Any]:
    margins = [[knob, value, min(margin, _LARGEST)] for (knob, value), margin in clip.margins.items()]
    return {"name": clip.name, "margins": margins, "limits": list(clip.limits)}


def judge(measured: Measured, settings: GateSettings) -> FindingsReport:
    """Warn of every convention that no clip shows by the declared margin."""
    if not measured.metrics:
        return measured.report
    *clips, probe = (_restored(entry, settings) for entry in measured.metrics["clips"])
    found = weigh(clips, probe)
    findings = tuple(_findings(found, str(clips[0].name), measured.metrics["declared"]))
    known = len(found.separable)
    summary = {
        "margin": settings.thresholds.adequacy_margin,
        "separable": known,
        "missed": [list(choice) for choice in found.missed],
        "inseparable": [list(choice) for choice in found.inseparable],
        "smallest_set": list(found.smallest_set),
        "limits": {clip.name: list(clip.limits) for clip in found.clips},
    }
    return FindingsReport((*measured.findings, *findings), Ledger(known, known), summary)


def _restored(entry: Mapping[str, Any], settings: GateSettings) -> ClipAdequacy:
    margins = {(knob, value): float(margin) for knob, value, margin in entry["margins"]}
    return ClipAdequacy(entry["name"], margins, tuple(entry["limits"]), settings.thresholds.adequacy_margin)


def _findings(found: Adequacy, clip: str, declared: Mapping[str, str]) -> Iterator[Finding]:
    """One for each convention, with the number of its other values."""
    knobs: dict[str, list[str]] = {}
    for knob, value in found.missed:
        knobs.setdefault(knob, []).append(value)
    for knob, values in knobs.items():
        more = f" (nor {len(values) - 1} more values)" if len(values) > 1 else ""
        yield rules.CLIPS_CANNOT_SHOW.at(
            clip, json_pointer(knob), knob=knob, value=values[0], declared=declared[knob], more=more,
            advice=found.advice((knob, values[0])),
        )  # fmt: skip
