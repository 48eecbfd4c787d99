"""Compare the recordings of training and engine with the reference runtime, driven by the same clip.

Both kinds of recording are compared for every stage and frame. Where they differ, the diagnosis names the convention. A
free run is also compared with its own drift envelope, because its rounding grows from frame to frame.

A pasted log is judged by what its lines prove, without a reference run beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rigpact.contract.documents import Kind
from rigpact.contract.errors import UnusableInput
from rigpact.contract.findings import Finding, FindingsReport, Ledger
from rigpact.contract.json_pointer import json_pointer
from rigpact.contract.rules.family import answers as rules
from rigpact.contract.settings.gate import RecordedRun, Thresholds
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.files.declared import RunSetup
from rigpact.reference_runtime.recordings.opened import open_file
from rigpact.reference_runtime.recordings.recording import Recording, contract_of_side, with_stages
from rigpact.reports.comparing.compare import compare
from rigpact.reports.comparing.diff import compare_recordings
from rigpact.reports.comparing.judgement import about_size
from rigpact.reports.comparing.judgement import judge as judge_comparison
from rigpact.reports.comparing.pose_meter import bone_name
from rigpact.reports.diagnosing.diagnosis import Cause, Diagnosis, Divergence
from rigpact.reports.diagnosing.diagnosis_text import changes_text, effect_text, shown_value
from rigpact.reports.diagnosing.engine_log import read_engine_log
from rigpact.reports.diagnosing.evidence import Gathered, parts_of
from rigpact.reports.diagnosing.log_evidence import explain_log
from rigpact.reports.diagnosing.some_bones import diagnose_gathered
from rigpact.reports.gate.measured import ComparedRun, Measured, NotAsked, Question, compared_run
from rigpact.reports.gate.project import (
    Project,
    about_recording,
    as_expected,
    expected_frames,
    holds_answers,
    is_without_model,
    network_for,
    played,
    reference_of,
)
from rigpact.reports.nonfinite.drift import Outside, outside_envelope, published_stage
from rigpact.reports.terminal import working


# Turn a diagnosis into findings: each cause by name, each relation, or the first place without an explanation.
@dataclass(frozen=True, eq=False)
class Recorded:
    """What was diagnosed, and the side that wrote it. effect_of: what changes do to the character, as values of a finding."""

    file: Path
    side: Literal["cpp", "python"]
    contract: Contract
    effect_of: Callable[[Mapping[str, Any]], Mapping[str, Any]]


def about_diagnosis(diagnosis: Diagnosis | None, of: Recorded) -> Iterator[Finding]:
    """Yield one finding for each cause and each relation that explains a stage, and one more for what remains."""
    if diagnosis is None or diagnosis.verdict in ("agrees", "undetermined"):
        return
    for cause in diagnosis.causes:
        yield _cause(cause, of)
    if diagnosis.is_open:
        first = diagnosis.first_unexplained or diagnosis.first_divergence
        if first is not None:
            yield _unexplained(diagnosis, first, of.file)
    left = {each.stage for each in diagnosis.stages if each.remains is not None}
    for each in diagnosis.relations:
        if each.stage not in left:
            said = {"stage": each.stage, "relation": each.sentence, "says": {each.place: each.words}}
            yield rules.RELATION_DIFFERS.at(of.file, f"/stages/{each.stage}", recording=of.file.name, **said)


def _cause(cause: Cause, of: Recorded) -> Finding:
    hints, says = "; ".join(cause.code_hints), {knob: shown_value(value) for knob, value in cause.changes.items()}
    return rules.CONVENTION_DIFFERS.at(
        of.file, f"/stages/{cause.stage}", recording=of.file.name, changes=changes_text(cause.changes), stage=cause.stage,
        effect=effect_text(cause), code=f". {hints}" if hints else "", error=cause.error_before, says=says,
        patch=[_patch(knob, value, of) for knob, value in cause.changes.items()], **of.effect_of(cause.changes),
    )  # fmt: skip


def _patch(knob: str, value: Any, of: Recorded) -> str:
    """What to change on the side that wrote the recording, as its own line of code where there is one."""
    own = of.contract.conventions[knob]
    of_system = of.contract.system.knobs[knob]
    wrong, right = (of_system.code(each, of.side) for each in (value, own))
    words = f"{knob} = {shown_value(value)} there, {shown_value(own)} in the contract"
    return f"{words}: change `{wrong}` to `{right}`" if wrong and right else f"{words}: {of_system.hint(value)}"


def _unexplained(diagnosis: Diagnosis, first: Divergence, file: Path) -> Finding:
    """The first place without an explanation, with what is known of it: a relation."""
    related = next((each.sentence for each in diagnosis.relations if each.stage == first.stage), "")
    size = "not finite" if first.error is None else f"{first.error:.3g} {first.unit}".removesuffix(" raw")
    return rules.NOT_EXPLAINED.at(
        file, f"/stages/{first.stage}", recording=file.name, frame=first.frame, stage=first.stage, address=first.address,
        size=size, relation=f", but {related}" if related else "",
    )  # fmt: skip


TEACHER, TRACE = "teacher", "engine-trace"
_UNITS = {"deg": "degrees", "raw": "units"}


def ask_teacher(project: Project) -> Iterator[NotAsked | Question]:
    """Compare every teacher file with the runtime; diagnose those that differ."""
    if not project.settings.teacher:
        yield NotAsked(TEACHER, "no [[gate.teacher]]: training's numbers are unknown")
    yield from _ask_each(project, project.settings.teacher, TEACHER, "Training file {} against the runtime")


def ask_traces(project: Project) -> Iterator[NotAsked | Question]:
    """Compare every engine trace with the runtime, and diagnose it."""
    if not project.settings.traces:
        yield NotAsked(TRACE, "no [[gate.trace]]: the engine's numbers are unknown")
    yield from _ask_each(project, project.settings.traces, TRACE, "Engine recording {} against the runtime")


def _ask_each(project: Project, runs: Sequence[RecordedRun], kind: str, title: str) -> Iterator[Question]:
    for run in runs:
        measure, opens = partial(_measure, project, run), partial(_read, project, run)
        yield Question(f"{kind}/{run.name}", title.format(run.name), run.file, measure, opens)


def _read(project: Project, run: RecordedRun) -> object:
    """All that the comparison reads: the recording, its clip, and the network where a stage depends on it."""
    if open_file(run.file).kind is Kind.ENGINE_LOG:
        return read_engine_log(run.file), run.clip and project.drive(run.clip)
    recording, driving = as_expected(run, project.recording_of(run.file)), run.clip and project.drive(run.clip)
    if is_without_model(project, run, recording):
        return recording, driving
    return recording, driving, network_for(project, recording.trace.header.mode)


def _measure(project: Project, run: RecordedRun) -> Measured:
    if open_file(run.file).kind is Kind.ENGINE_LOG:
        return _measure_log(project, run)
    given = project.recording_of(run.file)
    unexpected, recording = tuple(about_recording(run, given, project.contract)), as_expected(run, given)
    compared = compare_recordings(
        reference_of(project, run, recording),
        recording,
        project.contract,
        only=_stages(project, run, recording),
        network=network_for(project, recording.trace.header.mode) if project.models else None,
    )
    report = judge_comparison(compared)
    passes = report.verdict == "pass" and not unexpected
    is_trace = run in project.settings.traces
    is_asked = is_trace and passes if project.verdict_only else is_trace or not passes
    diagnosis = _diagnosis(project, run, recording) if is_asked else None
    summary = {**report.summary, "diagnosis": None if diagnosis is None else diagnosis.to_json()}
    drawn = compared_run(project, run, recording, compared, diagnosis) if compared.stages else None
    sizes = about_size(recording, project.contract)
    findings = [*unexpected, *sizes, *_findings(project, run, recording, report, diagnosis)]
    limits = project.settings.thresholds
    if drawn is not None and limits.tolerance_factor != 1.0:
        findings = beyond_factor(drawn, findings, limits.tolerance_factor, run.file)
    if drawn is not None:
        findings += beyond_limits(drawn, limits, run.file)
    accounts = {name: (each.declared, each.compared, each.waived) for name, each in compared.accounts.items()}
    return Measured(FindingsReport(tuple(findings), report.ledger, summary), accounts, drawn)


def _stages(project: Project, run: RecordedRun, recording: Recording) -> tuple[str, ...]:
    """The stages to compare: those that the recording must hold and, with a model, all that it holds."""
    if not run.stages:
        return ()
    held = recording.trace.stages if project.models or holds_answers(project.system, recording.trace) else ()
    return tuple(dict.fromkeys((*run.stages, *held)))


def _findings(
    project: Project, run: RecordedRun, recording: Recording, report: FindingsReport, diagnosis: Diagnosis | None
) -> Iterator[Finding]:
    """Findings of diagnosis and comparison. A free run within its envelope may differ: that can be grown rounding."""
    side: Literal["cpp", "python"] = "cpp" if run in project.settings.traces else "python"
    effect_of = partial(effect_on_character, project, run, recording)
    yield from about_diagnosis(diagnosis, Recorded(Path(run.file), side, project.contract, effect_of))
    outside = _outside(project, run, recording)
    if outside is not None:
        stage = published_stage(project.contract)
        yield rules.OUTSIDE_ENVELOPE.at(
            run.file, f"/stages/{stage.name}", recording=Path(run.file).name, stage=stage.name, frame=outside.frame,
            bone=outside.bone, error=outside.error, unit=_UNITS.get(unit := stage.shown_unit, unit), allowed=outside.allowed,
        )  # fmt: skip
    agrees = diagnosis is not None and diagnosis.verdict == "agrees"
    is_amplified = recording.trace.header.mode == "free" and outside is None and agrees
    yield from (each for each in report.findings if not (is_amplified and each.rule is rules.STAGE_DIFFERS))


def _diagnosis(project: Project, run: RecordedRun, recording: Recording) -> Diagnosis:
    has_no_model = is_without_model(project, run, recording)
    network = None if has_no_model else network_for(project, recording.trace.header.mode)
    drive = project.drive(run.clip) if run.clip else None
    if has_no_model and not holds_answers(project.system, recording.trace):  # stages after the network cannot be judged
        recording = with_stages(recording, run.stages)
    parts = parts_of(recording, project.contract, drive, network)
    with working(f"{run.name}: replaying stages and searching conventions"):
        # without a budget: no machine decides what it finds
        return diagnose_gathered(Gathered(recording, tuple(parts)), with_alike=not project.verdict_only)


def _outside(project: Project, run: RecordedRun, recording: Recording) -> Outside | None:
    """The first place where a free run differs by more than rounding explains; None if there is none."""
    trace = recording.trace
    if trace.header.mode != "free" or run.clip is None or published_stage(project.contract).name not in trace.stages:
        return None
    subject = RunSetup(project.contract, network_for(project, "free"), project.clip(Path(run.clip)))
    frames = min(int(trace.frame[-1]) + 1, expected_frames(project, run))
    return outside_envelope(subject, frames, recording)


_BY_TOLERANCE = (rules.STAGE_DIFFERS, rules.NOT_EXPLAINED, rules.RELATION_DIFFERS)
"""A convention that explains every stage to within rounding is not a matter of tolerance: no factor lets it be."""


def beyond_factor(run: ComparedRun, findings: list[Finding], factor: float, file: str) -> list[Finding]:
    """The findings under another factor: stages within it pass; if all pass, what no convention explains is let be."""
    over = {name: row for name, row, _ in run.by_stage() if bool((row > factor).any())}
    kept = [finding for finding in findings if finding.rule not in _BY_TOLERANCE[: 1 if over else None]]
    let_be = {name: row for name, row, _ in run.by_stage() if name not in over and bool((row > 1.0).any())}
    about = [*((rules.BEYOND_DECLARED_TOLERANCE, *each) for each in over.items())]
    about += [(rules.LET_BE, *each) for each in let_be.items()]
    for rule, name, row in about:
        frame, worst = (int(run.frames[np.argmax(each)]) for each in (row > factor, row))
        values = {"stage": name, "factor": factor, "ratio": float(row.max()), "frame": frame, "worst_frame": worst}
        kept.append(rule.at(file, f"/stages/{name}", **values))
    return kept


def beyond_limits(run: ComparedRun, limits: Thresholds, file: str) -> Iterator[Finding]:
    """One finding for each bone beyond a limit, at its worst frame. A non-finite error is beyond every limit."""
    for unit, errors, limit in (("degrees", run.deg, limits.pose_deg), ("cm", run.cm, limits.pose_cm)):
        if limit is None or errors is None:
            continue
        sized = np.where(np.isfinite(errors), errors, np.inf)
        for bone in np.flatnonzero((sized > limit).any(axis=0)).tolist():
            row, name = int(np.argmax(sized[:, bone])), bone_name(run.bone_names, bone)
            values = {"bone": name, "error": float(sized[row, bone]), "unit": unit, "frame": int(run.frames[row])}
            yield rules.POSE_BEYOND_LIMIT.at(file, json_pointer("bones", name, unit), limit=limit, **values)


def effect_on_character(
    project: Project, run: RecordedRun, recording: Recording, changes: Mapping[str, Any]
) -> dict[str, Any]:
    """How far the worst bone is off under the changed conventions, as values of a finding; none where no model runs."""
    if project.verdict_only or not project.models or not project.system.posed:
        return {}
    changed = contract_of_side(recording, project.contract).with_conventions(changes)
    try:
        trace = played(project, changed, network_for(project, recording.trace.header.mode), run, recording.trace)
    except UnusableInput as error:
        return {"on_character": f"not measured: {error.one_line()}"}
    stage = published_stage(project.contract)
    reference = reference_of(project, run, recording)
    other = Recording(Path("changed"), "reference run", trace, frozenset(trace.stages))
    bones = judge_comparison(compare(reference, other, project.contract, only=(stage.name,))).summary["bones"]
    if not bones:
        return {}
    worst, deg = bones[0], bones[0]["max_deg"]
    sizes = [f"{worst[key]:.3g}{unit}" for key, unit in (("max_deg", "°"), ("max_cm", " cm")) if worst[key] is not None]
    words = f"{worst['bone']} is up to {' and '.join(sizes)} off" if sizes else f"{worst['bone']} is not finite"
    # where a pose is not finite, half a turn, the largest there is, gives the cause its place
    return {
        "on_character": "the pose itself stays as it is" if deg == 0.0 else words,
        "angle_deg": 180.0 if deg is None else float(deg),
    }


def _measure_log(project: Project, run: RecordedRun) -> Measured:
    path = Path(run.file)
    clip = Path(run.clip) if run.clip else None
    diagnosis, notes = explain_log(path, project.contract, project.settings.conventions, clip)
    findings = (
        *about_diagnosis(diagnosis, Recorded(path, "cpp", project.contract, lambda _: {})),
        *(rules.LOG_CONTRADICTS.at(path, "", recording=path.name, words=each) for each in diagnosis.contradictions),
    )
    summary = {"diagnosis": diagnosis.to_json(), "notes": notes}
    judged = {stage.stage for stage in diagnosis.stages if stage.ok is not None}
    missing = set(run.stages) - {stage.stage for stage in diagnosis.stages}
    compared = len(judged) + len(diagnosis.contradictions)
    ledger = Ledger(compared + len(missing) + (diagnosis.verdict == "undetermined"), compared)
    return Measured(FindingsReport(findings, ledger, summary))
