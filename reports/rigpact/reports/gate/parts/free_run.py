"""Test a free run: whether it stays finite over many frames, and how fast differences grow."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rigpact.contract.findings import Finding, Ledger
from rigpact.contract.json_pointer import json_pointer
from rigpact.contract.rules.answers import gate as rules
from rigpact.reference_runtime.files.declared import RunSetup
from rigpact.reports.gate.answer.report import NO_FEEDBACK
from rigpact.reports.gate.measured import Measured, NotAsked, Question
from rigpact.reports.gate.project import Project
from rigpact.reports.nonfinite.drift import judge_drift
from rigpact.reports.nonfinite.investigation import Investigation, investigate
from rigpact.reports.nonfinite.observers import CONSTANT
from rigpact.reports.nonfinite.origin import Origin

NAME, TITLE = "free-run", "Free run"


def ask(project: Project) -> Iterator[NotAsked | Question]:
    """Run the system on its own output, together with many starts that differ by rounding."""
    if not project.system.graph.feeds_itself:
        yield NotAsked(NAME, NO_FEEDBACK)
    elif project.settings.no_free_run:
        yield NotAsked(NAME, "free-run = false in [gate]")
    elif not project.models:
        yield NotAsked(NAME, "no model in [gate]")
    elif not project.clip_paths and project.settings.free_run is None:
        yield NotAsked(NAME, "no clip in [gate] to seed and drive it")
    else:
        yield Question(NAME, TITLE, project.models[0], lambda: _measure(project), lambda: _subject(project))


def _clip(project: Project) -> Path:
    return Path(project.settings.free_run or project.clip_paths[0])


def _subject(project: Project) -> RunSetup:
    return RunSetup(project.contract, project.network, project.clip(_clip(project)))


def _measure(project: Project) -> Measured:
    path, frames, subject = _clip(project), project.settings.frames, _subject(project)
    found = investigate(subject, frames, guard_frames=0)
    summary: dict[str, Any] = {"clip": path.as_posix(), "frames": frames, "verdict": found.verdict}
    if found.verdict == "finite" and not project.verdict_only:
        drift = judge_drift(subject, frames)
        summary |= {
            "stage": drift.stage, "unit": drift.unit, "growth_per_frame": drift.growth_per_frame, "trend": drift.trend,
            "parted_frame": drift.parted_frame, "spread": float(drift.envelope[-1]), "benign_apart": drift.benign_apart,
            **drift.facts,
        }  # fmt: skip
    ledger = Ledger(frames, min(frames, found.frames + (found.origin is not None)))
    findings = [*_findings(found, path, project.bundle_path)]
    findings += _swallowed(found, path, project)
    return Measured(NAME, TITLE, tuple(findings), ledger, summary)


def _findings(found: Investigation, clip: Path, bundle: Path) -> Iterator[Finding]:
    if found.origin is not None:
        stage, where = _place(found.origin)
        frame = found.origin.frame
        yield rules.FREE_RUN_NOT_FINITE.at(bundle, "", clip=clip.name, frame=frame, stage=stage, where=where)
    elif found.left is not None and found.left.kind != "grows":
        yield rules.FREE_RUN_LEAVES.at(bundle, "", clip=clip.name, words=str(found.left))
    elif found.verdict == "diverging":
        yield rules.FREE_RUN_DIVERGES.at(bundle, "", clip=clip.name, frames=found.frames)


def _swallowed(found: Investigation, clip: Path, project: Project) -> Iterator[Finding]:
    is_one = len(project.models) == 1
    for each in found.swallowed:
        file = project.models[0] if is_one else project.bundle_path
        pointer = (
            json_pointer("graph", "initializer" if each.op == CONSTANT else "node", each.node)
            if is_one
            else "/networks"
        )
        yield rules.VALUE_SWALLOWED.at(file, pointer, clip=clip.name, words=str(each))


def _place(origin: Origin) -> tuple[str, str]:
    words = [str(word) for word in (origin.bone, origin.slice, origin.operation) if word]
    return str(origin.stage), ", ".join(words) or f"channel {origin.channel}"
