"""Whether the character stands on its own: finite over many frames, and how fast differences grow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rigpact.contract.findings import Finding, Ledger
from rigpact.contract.rules.answers import gate as rules
from rigpact.reference_runtime.files.subject import Subject
from rigpact.reports.gate.enemy_case import EnemyCase
from rigpact.reports.gate.measured import Measured, NotAsked, guarded
from rigpact.reports.nonfinite.drift import judge_drift
from rigpact.reports.nonfinite.investigation import Investigation, investigate
from rigpact.reports.nonfinite.origin import Origin

NAME, TITLE = "free-run", "Free run"


def ask(case: EnemyCase) -> Iterator[Measured | NotAsked]:
    """Let the runtime feed itself, and let many starts a rounding apart run beside it."""
    if case.settings.no_free_run:
        yield NotAsked(NAME, "free-run = false in [gate]")
    elif case.model_path is None:
        yield NotAsked(NAME, "no model in [gate]")
    elif not case.clip_paths and case.settings.free_run is None:
        yield NotAsked(NAME, "no clip in [gate] to seed and drive it")
    else:
        yield guarded(NAME, TITLE, case.model_path, lambda: _measure(case))


def _measure(case: EnemyCase) -> Measured:
    path, frames = Path(case.settings.free_run or case.clip_paths[0]), case.settings.frames
    subject = Subject(case.contract, case.network, case.clip(path))
    found = investigate(subject, frames, guard_frames=0)
    summary: dict[str, Any] = {"clip": path.as_posix(), "frames": frames, "verdict": found.verdict}
    if found.verdict == "finite" and not case.verdict_only:
        drift = judge_drift(subject, frames)
        summary |= {
            "growth_per_frame": drift.growth_per_frame, "trend": drift.trend, "parted_frame": drift.parted_frame,
            "spread_deg": float(drift.envelope_deg[-1]), "f32_f64_deg": drift.f32_f64_deg,
            "floor": drift.floor.to_json() if drift.floor else None, "inputs": [str(use) for use in drift.inputs],
        }  # fmt: skip
    ledger = Ledger(frames, min(frames, found.frames + (found.origin is not None)))
    return Measured(NAME, TITLE, tuple(_findings(found, path, case.bundle_path)), ledger, summary)


def _findings(found: Investigation, clip: Path, bundle: Path) -> Iterator[Finding]:
    if found.origin is not None:
        stage, where = _place(found.origin)
        frame = found.origin.frame
        yield rules.FREE_RUN_NOT_FINITE.at(bundle, "", clip=clip.name, frame=frame, stage=stage, where=where)
    elif found.verdict == "diverging":
        yield rules.FREE_RUN_DIVERGES.at(bundle, "", clip=clip.name, frames=found.frames)


def _place(origin: Origin) -> tuple[str, str]:
    words = [str(word) for word in (origin.bone, origin.slice, origin.operation) if word]
    return str(origin.stage), ", ".join(words) or f"channel {origin.channel}"
