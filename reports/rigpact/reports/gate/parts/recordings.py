"""What training and the engine recorded, against the reference runtime driven by the same clip.

Both kinds of recording are compared stage by stage, frame by frame; where they differ the diagnosis says which convention.
A free run is held against its own drift envelope too: there rounding grows from frame to frame.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.findings import Finding, FindingsReport
from rigpact.contract.rules.answers import comparison
from rigpact.contract.rules.answers import gate as rules
from rigpact.contract.settings.gate import GateSettings, RecordedRun
from rigpact.reference_runtime.files.subject import Subject
from rigpact.reference_runtime.recordings.recording import Recording, read_recording
from rigpact.reference_runtime.systems.enemy_animation.loop import MODES, start_run
from rigpact.reports.comparing.compare import Comparison, compare
from rigpact.reports.comparing.judgement import judge as judge_comparison
from rigpact.reports.diagnosing.diagnose import Diagnosis, diagnose
from rigpact.reports.diagnosing.evidence import recording_to_evidence
from rigpact.reports.gate.answer.compared_run import compared_run
from rigpact.reports.gate.answer.diagnosis_findings import about_diagnosis
from rigpact.reports.gate.archive.kept_runs import as_kept
from rigpact.reports.gate.enemy_case import EnemyCase
from rigpact.reports.gate.limits import beyond_limits
from rigpact.reports.gate.measured import Measured, NotAsked, guarded
from rigpact.reports.nonfinite.drift import Outside, judge_drift
from rigpact.reports.running.run import record_run
from rigpact.reports.terminal import working

TEACHER, TRACE = "teacher", "engine-trace"
REFERENCE = "reference run"


def ask_teacher(case: EnemyCase) -> Iterator[Measured | NotAsked]:
    """Compare every teacher file with the runtime; diagnose those that differ."""
    if not case.settings.teacher:
        yield NotAsked(TEACHER, "no [[gate.teacher]]: nothing says what training computes")
    for run in case.settings.teacher:
        title = f"Training file {run.name} against the runtime"
        yield guarded(f"{TEACHER}/{run.name}", title, run.file, partial(_measure, case, run, TEACHER, title))


def ask_traces(case: EnemyCase) -> Iterator[Measured | NotAsked]:
    """Compare every engine trace with the runtime, and diagnose it."""
    if not case.settings.traces:
        yield NotAsked(TRACE, "no [[gate.trace]]: nothing says what the engine computes")
    for run in case.settings.traces:
        title = f"Engine recording {run.name} against the runtime"
        yield guarded(f"{TRACE}/{run.name}", title, run.file, partial(_measure, case, run, TRACE, title))


def _measure(case: EnemyCase, run: RecordedRun, kind: str, title: str) -> Measured:
    recording = read_recording(run.file, case.contract)
    reference = _reference(case, run, recording)
    held = (*run.stages, *(() if case.model_path is None else recording.trace.stages)) if run.stages else ()
    compared = compare(reference, recording, case.contract, only=tuple(dict.fromkeys(held)))
    report = judge_comparison(compared)
    wanted = _is_diagnosed(case, kind, passes=report.verdict == "pass")
    diagnosis = _diagnosis(case, run, recording) if wanted else None
    outside = _outside(case, run, recording)
    findings = [*about_diagnosis(diagnosis, Path(run.file)), *_about_envelope(run, outside), *report.findings]
    if recording.trace.header.mode == "free" and outside is None and diagnosis and diagnosis.verdict == "agrees":
        findings = [each for each in findings if each.rule is not comparison.STAGE_DIFFERS]  # amplified rounding
    drawn = None
    if compared.pose is not None:
        drawn = as_kept(compared_run(run.name, compared, case.contract, diagnosis))
    summary = {**report.summary, "diagnosis": None if diagnosis is None else diagnosis.to_json()}
    arrays = {"frames": compared.frames, "stage_ratios": stage_ratios(compared)}
    return Measured(
        f"{kind}/{run.name}", title, tuple(findings), report.ledger, summary, stage_metrics(run, compared), arrays, drawn
    )  # fmt: skip


def _is_diagnosed(case: EnemyCase, kind: str, *, passes: bool) -> bool:
    """An engine always, for each stage by itself says more than their sum; training where it differs.

    For a mere verdict what failed already needs no reason.
    """
    if case.verdict_only:
        return kind == TRACE and passes
    return kind == TRACE or not passes


def _reference(case: EnemyCase, run: RecordedRun, recording: Recording) -> Recording:
    """The same run by the reference runtime: as many frames as declared, or as the clip gives."""
    mode = next(mode for mode in MODES if mode == recording.trace.header.mode)
    clip = case.clip(run.clip or run.file)
    network = None if mode == "playback" else case.network_for(run.stages)
    runner = start_run(case.contract, network, clip, mode)
    frames = run.frames if run.frames or runner.frame_limit else int(recording.trace.frame[-1]) + 1
    trace = record_run(runner, clip, mode, frames)
    return Recording(Path(REFERENCE), "trace", trace, frozenset(trace.stages))


def _diagnosis(case: EnemyCase, run: RecordedRun, recording: Recording) -> Diagnosis:
    network = None if recording.trace.header.mode == "playback" else case.network_for(run.stages)
    clip = case.clip(run.clip) if run.clip else None
    evidence = recording_to_evidence(recording, case.contract, clip, network)
    if case.model_path is None:  # what stands behind the network cannot be told
        kept = {name: rows for name, rows in evidence.recorded.items() if name in run.stages}
        evidence = replace(evidence, recorded=kept)
    with working(f"{run.name}: replaying stages and searching conventions"):
        return diagnose(evidence, case.contract)


def _outside(case: EnemyCase, run: RecordedRun, recording: Recording) -> Outside | None:
    trace = recording.trace
    if trace.header.mode != "free" or run.clip is None or "y_out" not in trace.stages:
        return None
    subject = Subject(case.contract, case.network, case.clip(run.clip))
    return judge_drift(subject, int(trace.frame[-1]) + 1, Path(run.file)).outside


def _about_envelope(run: RecordedRun, outside: Outside | None) -> Iterator[Finding]:
    if outside is not None:
        yield rules.OUTSIDE_ENVELOPE.at(
            run.file, "/stages/y_out", recording=Path(run.file).name, frame=outside.frame, bone=outside.bone,
            degrees=outside.degrees, allowed=outside.allowed_deg,
        )  # fmt: skip


def stage_ratios(found: Comparison) -> Any:
    """Each frame's largest error divided by its tolerance, a row a compared stage."""
    rows = [result.frame_ratios for result in found.stages.values()]
    return np.stack(rows).astype(np.float32) if rows else np.zeros((0, len(found.frames)), np.float32)


def stage_metrics(run: RecordedRun, found: Comparison) -> dict[str, Any]:
    """What thresholds and waivers are applied to: the account of every stage, and the names of the ratios' rows."""
    return {
        "file": run.file,
        "stages": list(found.stages),
        "accounts": {name: list(_account(found, name)) for name in found.stage_order if _width(found, name)},
    }


def _width(found: Comparison, name: str) -> int:
    return max(side.trace.widths.get(name, 0) for side in (found.a, found.b))


def _account(found: Comparison, name: str) -> tuple[int, int, int]:
    """Values of a stage that are declared, compared and waived, as compare.py counts them."""
    frames = len(found.a.trace.frame) + len(found.b.trace.frame) - len(found.frames)
    declared, result = frames * _width(found, name), found.stages.get(name)
    if name in found.waived:
        return declared, 0, declared
    judged = 0 if result is None else int(result.judged.sum()) * result.frame_count
    unjudged = 0 if result is None else int((~result.judged).sum()) * result.frame_count
    return declared, judged, unjudged


def judge(measured: Measured, settings: GateSettings) -> FindingsReport:
    """Apply the declared factor and limits to the errors that were measured."""
    limits = settings.thresholds
    findings = list(measured.findings)
    if limits.tolerance_factor != 1.0 and measured.arrays:
        findings = beyond_factor(measured, findings, limits.tolerance_factor)
    if measured.run is not None:
        findings += beyond_limits(measured.run, limits, str(measured.metrics["file"]))
    return FindingsReport(tuple(findings), measured.ledger, measured.summary)


_BY_TOLERANCE = (comparison.STAGE_DIFFERS.code, rules.CONVENTION_DIFFERS.code, rules.NOT_EXPLAINED.code)


def beyond_factor(measured: Measured, findings: list[Finding], factor: float) -> list[Finding]:
    """The findings with another factor: stages within it are let be, and so is a diagnosis where all of them are."""
    frames, ratios = measured.arrays["frames"], measured.arrays["stage_ratios"]
    over = {
        name: row for name, row in zip(measured.metrics["stages"], ratios, strict=True) if bool((row > factor).any())
    }
    kept = [finding for finding in findings if finding.rule.code not in _BY_TOLERANCE[: 1 if over else None]]
    return kept + [
        rules.BEYOND_DECLARED_TOLERANCE.at(
            measured.metrics["file"], f"/stages/{name}", stage=name, factor=factor, ratio=float(row.max()),
            frame=int(frames[np.argmax(row > factor)]), worst_frame=int(frames[np.argmax(row)]),
        )
        for name, row in over.items()
    ]  # fmt: skip
