"""Find the conventions that the clips cannot show: an engine could differ in them and still pass."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypedDict

from rigpact.contract.errors import UnusableInput
from rigpact.contract.findings import Finding, FindingsReport, Ledger
from rigpact.contract.json_pointer import json_pointer
from rigpact.contract.rules.family import answers as rules
from rigpact.contract.settings.gate import GateSettings
from rigpact.reference_runtime.recordings.clip import RawClip
from rigpact.reports.diagnosing.adequacy import Adequacy, ClipAdequacy, advice_of, measure, read_probe, weigh
from rigpact.reports.gate.measured import Measured, NotAsked, Question
from rigpact.reports.gate.project import Project
from rigpact.reports.terminal import working

NAME, TITLE = "adequacy", "Conventions that the clips show"
_LARGEST = 1e300


class ClipMetrics(TypedDict):
    """A clip: (knob, value, margin) of each value, and what it never shows."""

    name: str
    margins: list[tuple[str, str, float]]
    limits: list[str]


class AdequacyMetrics(TypedDict):
    """What is kept of the part: its clips, the probe as the last one, the contract's own values, what to add."""

    clips: list[ClipMetrics]
    declared: dict[str, str]
    advice: dict[str, str]


def is_sound(measured: Measured) -> bool:
    """Whether there is a probe, and every convention of a margin has a declared value."""
    clips, declared = measured.metrics["clips"], measured.metrics["declared"]
    knows = all(knob in declared for clip in clips for knob, _, _ in clip["margins"])
    return bool(clips) and knows and measured.run is None


def ask(project: Project) -> Iterator[NotAsked | Question]:
    """Measure the margin of every convention on every clip, and on the probe clip."""
    if not project.clip_paths:
        yield NotAsked(NAME, "no clips in [gate]")
    elif not (project.models or project.system.posed or _are_answered(project)):
        yield NotAsked(NAME, "no model in [gate], and no clip that holds its answers")
    else:
        yield Question(NAME, TITLE, project.clip_paths[0], lambda: _measure(project), lambda: _read(project))


def _are_answered(project: Project) -> bool:
    """Whether all clips hold the network's answers; a clip that cannot be read, another part says."""
    answers = set(project.system.graph.answers)
    try:
        driving = _driving(project)
    except UnusableInput:
        return False
    return bool(driving) and all(answers <= set(getattr(project.clip(path), "stages", ())) for path in driving)


def _read(project: Project) -> tuple[Any, Any, list[Path]]:
    return project.contract, project.network if project.models else None, _driving(project)


def _measure(project: Project) -> Measured:
    contract, network, driving = _read(project)
    with working("replaying every convention on every clip"):
        measured = [measure(path.as_posix(), project.clip(path), contract, network) for path in driving]
        probe = measure("probe", read_probe(contract), contract, network)
    metrics = {
        "clips": [
            {
                "name": clip.name,
                "margins": [(*choice, min(margin, _LARGEST)) for choice, margin in clip.margins.items()],
                "limits": list(clip.limits),
            }
            for clip in (*measured, probe)
        ],
        "declared": {knob: str(value) for knob, value in contract.conventions.items()},
        "advice": advice_of(contract),
    }
    return Measured(NAME, TITLE, (), Ledger(0, 0), metrics=metrics)


def _driving(project: Project) -> list[Path]:
    """The clips that can drive a run; not teacher files, not data sets of labels."""
    given = project.system.graph.given
    return [
        path
        for path in project.clip_paths
        if isinstance(clip := project.clip(path), RawClip) or (given and set(given) <= set(getattr(clip, "stages", ())))
    ]


def judge(measured: Measured, settings: GateSettings) -> FindingsReport:
    """Warn about every convention that no clip shows by the declared margin."""
    if not measured.metrics:
        return measured.report
    *clips, probe = (_restored(entry, settings) for entry in measured.metrics["clips"])
    found = weigh(clips, probe, measured.metrics["advice"])
    findings = tuple(_findings(found, clips[0].name if clips else "[gate] clips", measured.metrics["declared"]))
    summary = {
        "margin": settings.thresholds.adequacy_margin,
        "separable": found.ledger.declared,
        "missed": [list(choice) for choice in found.missed],
        "inseparable": [list(choice) for choice in found.inseparable],
        "smallest_set": list(found.smallest_set),
        "separated": {clip.name: len(clip.separated & found.separable) for clip in found.clips},
        "limits": {clip.name: list(clip.limits) for clip in found.clips},
    }
    return FindingsReport((*measured.findings, *findings), found.ledger, summary)


def _restored(entry: Mapping[str, Any], settings: GateSettings) -> ClipAdequacy:
    margins = {(knob, value): float(margin) for knob, value, margin in entry["margins"]}
    return ClipAdequacy(entry["name"], margins, tuple(entry["limits"]), settings.thresholds.adequacy_margin)


def _findings(found: Adequacy, clip: str, declared: Mapping[str, str]) -> Iterator[Finding]:
    """One finding for each convention, with all its values that do not show."""
    knobs: dict[str, list[str]] = {}
    for knob, value in found.missed:
        knobs.setdefault(knob, []).append(value)
    for knob, values in knobs.items():
        advice = found.advice((knob, values[0]))
        shown = {"knob": knob, "values": ", ".join(values), "declared": declared[knob], "advice": advice}
        yield rules.CLIPS_CANNOT_SHOW.at(clip, json_pointer(knob), **shown)
