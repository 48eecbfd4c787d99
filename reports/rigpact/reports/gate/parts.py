"""The parts of the gate: its files, the model, a free run and the budget here, the others in modules of their names.

Every part works on any system through its contract. Each has `ask_NAME(project)`, which yields questions, or the reason why the
part was not asked. A part with thresholds also has `judge_NAME(measured, settings)`. To add a part: these, and a row in `PARTS`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, NotRequired, TypedDict

import numpy as np

from rigpact.contract.documents import Kind
from rigpact.contract.errors import UnusableInput
from rigpact.contract.findings import Finding, FindingsReport, Ledger
from rigpact.contract.json_pointer import json_pointer
from rigpact.contract.layout import INPUTS
from rigpact.contract.model.binding import bound_tensors
from rigpact.contract.model.signature import open_session, read_model, run_session
from rigpact.contract.rules.family import answers as rules
from rigpact.contract.settings.gate import GateSettings, ModelBudget
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.files.declared import RunSetup
from rigpact.reports.checking.check import CheckRequest, check_files
from rigpact.reports.gate import adequacy, guarding, recordings
from rigpact.reports.gate.measured import Measured, NotAsked, Question
from rigpact.reports.gate.project import Project
from rigpact.reports.gate.report import NO_FEEDBACK
from rigpact.reports.nonfinite.drift import judge_drift
from rigpact.reports.nonfinite.investigation import Investigation, investigate
from rigpact.reports.nonfinite.observers import CONSTANT
from rigpact.reports.nonfinite.origin import Origin

# Test a free run: whether it stays finite over many frames, and how fast differences grow.
FREE_RUN, FREE_RUN_TITLE = "free-run", "Free run"


def ask_free_run(project: Project) -> Iterator[NotAsked | Question]:
    """Run the system on its own output, together with many starts that differ by rounding."""
    if not project.system.graph.feeds_itself:
        yield NotAsked(FREE_RUN, NO_FEEDBACK)
    elif project.settings.no_free_run:
        yield NotAsked(FREE_RUN, "free-run = false in [gate]")
    elif not project.models:
        yield NotAsked(FREE_RUN, "no model in [gate]")
    elif not project.clip_paths and project.settings.free_run is None:
        yield NotAsked(FREE_RUN, "no clip in [gate] to seed and drive it")
    else:
        yield Question(
            FREE_RUN, FREE_RUN_TITLE, project.models[0], lambda: _measured_run(project), lambda: _subject(project)
        )


def _clip(project: Project) -> Path:
    return Path(project.settings.free_run or project.clip_paths[0])


def _subject(project: Project) -> RunSetup:
    return RunSetup(project.contract, project.network, project.clip(_clip(project)))


def _measured_run(project: Project) -> Measured:
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
    findings = [*about_run(found, path, project.bundle_path)]
    findings += _swallowed(found, path, project)
    return Measured(FREE_RUN, FREE_RUN_TITLE, tuple(findings), ledger, summary)


def about_run(found: Investigation, clip: Path, bundle: Path) -> Iterator[Finding]:
    """What a free run says against the model."""
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


# Measure the model's cost: parameters and bytes exactly, time with a margin.
BUDGET, BUDGET_TITLE = "budget", "Model within its budget"
WARM_UPS, RUNS, ONE_WINDOW = 20, 200, 100
_NO_BUDGET = "no [gate.budget]"


class Timed(TypedDict):
    """The limit under which a time was judged, and whether it was over."""

    limit_us: float
    margin: float
    over: bool


class BudgetMetrics(TypedDict):
    """What is kept of the part."""

    file: str
    model_bytes: int
    parameters: NotRequired[int]
    inference: NotRequired[Timed]


def ask_budget(project: Project) -> Iterator[NotAsked | Question]:
    """Count parameters and bytes always; measure time only if the budget limits it."""
    if not project.models and not project.settings.budget.is_declared:
        yield NotAsked(BUDGET, _NO_BUDGET)
        return
    place = project.models[0] if project.models else project.bundle_path
    yield Question(BUDGET, BUDGET_TITLE, place, lambda: _measured_model(project), lambda: project.model)


def _measured_model(project: Project) -> Measured:
    budget, model = project.settings.budget, project.model
    remarks: tuple[str, ...] = ()
    graph = project.model.graph
    folder = project.model.path.parent
    files = [project.model.path, *(folder / name for name in sorted(graph.beside if graph else ()))]
    for file in files:
        if not file.is_file():
            raise UnusableInput(file, "nothing", "the file with the model's weights", "copy it beside the model")
    metrics: dict[str, Any] = {"file": model.path.as_posix(), "model_bytes": sum(file.stat().st_size for file in files)}
    if model.graph is not None:
        metrics["parameters"] = model.graph.parameters
    if budget.inference_us is not None:
        session, feeds = open_session(project.model.path), _one_row(project)
        names = [entry.name for entry in project.model.outputs]
        times = []
        for _ in range(WARM_UPS + RUNS):
            start = perf_counter()
            run_session(session, names, feeds, project.model.path)
            times.append(perf_counter() - start)
        measured = 1e6 * median(times[WARM_UPS:])
        over = measured > budget.inference_us * budget.inference_margin
        metrics["inference"] = {"limit_us": budget.inference_us, "margin": budget.inference_margin, "over": over}
        remarks = (f"inference takes {measured:.0f} µs (median of {RUNS}); the budget is {budget.inference_us:g} µs",)
    return Measured(BUDGET, BUDGET_TITLE, (), Ledger(0, 0), metrics=metrics, remarks=remarks)


def _one_row(project: Project) -> dict[str, FloatArray]:
    """Zeros for every input of the model: one row, or `ONE_WINDOW` samples if the window length is open."""
    feeds: dict[str, FloatArray] = {}
    inputs, _ = bound_tensors(project.model, project.system.binding)
    if inputs is None:
        expected = f"{len(project.system.inputs)} inputs: {', '.join(project.system.inputs)}"
        raise UnusableInput(project.model.path, f"{len(project.model.inputs)} inputs", expected)
    fields = map(project.contract.fields, project.system.inputs)
    widths = {entry.name: each.width for entry, each in zip(inputs, fields, strict=True)}
    for entry in project.model.inputs:
        open_sizes = (1, *[ONE_WINDOW] * (len(entry.shape) - 2), widths.get(entry.name, 1))
        sizes = [size if isinstance(size, int) else other for size, other in zip(entry.shape, open_sizes, strict=False)]
        feeds[entry.name] = np.zeros(sizes, np.float32)
    return feeds


def judge_budget(measured: Measured, settings: GateSettings) -> FindingsReport | NotAsked:
    """Compare the figures with the budget; a figure that was not measured counts as missing."""
    if not settings.budget.is_declared:
        return NotAsked(BUDGET, _NO_BUDGET)
    if not measured.metrics:
        return measured.report
    budget, metrics = settings.budget, measured.metrics
    limits = {"parameters": budget.parameters, "model_bytes": budget.model_bytes}
    wanted = {name: limit for name, limit in limits.items() if limit is not None}
    findings = [
        rules.OVER_BUDGET.at(metrics["file"], f"/{name}", what=name.replace("_", " "), found=metrics[name], limit=limit)
        for name, limit in wanted.items()
        if metrics.get(name, 0) > limit
    ]
    timed = _timed(metrics, budget)
    findings += [finding for finding in timed if finding is not None]
    known = sum(name in metrics for name in wanted) + len(timed)
    declared = len(wanted) + (budget.inference_us is not None)
    summary = {"limits": wanted} | {name: metrics[name] for name in limits if name in metrics}
    return FindingsReport((*measured.findings, *findings), Ledger(declared, known), summary)


def _timed(metrics: Any, budget: ModelBudget) -> list[Finding | None]:
    """One entry if the time was judged under exactly this limit: the finding, or None within the budget."""
    timed = metrics.get("inference")
    if budget.inference_us is None or timed is None:
        return []
    if (timed["limit_us"], timed["margin"]) != (budget.inference_us, budget.inference_margin):
        found, expected = (
            "another limit than was measured",
            f"{timed['limit_us']:g} µs with the margin {timed['margin']:g}",
        )
        raise UnusableInput("[gate.budget] inference-us", found, expected, "run the gate again: times are not kept")
    if not timed["over"]:
        return [None]
    values = {"margin": budget.inference_margin, "limit": budget.inference_us}
    return [rules.OVER_TIME_BUDGET.at(metrics["file"], "/inference", **values)]


# Judge the project's files by the rules, as `rigpact check` does: first all files but the model, then the model.
FILES, FILES_TITLE = "files", "Files against the rules"
MODEL, MODEL_TITLE = "model", "Model: signature, graph, order of inputs"
INPUT_ORDER = "order of inputs"


def ask_files(project: Project) -> Iterator[Question]:
    """Check every file but the model."""
    yield Question(FILES, FILES_TITLE, project.bundle_path, lambda: _files(project), lambda: _read(project))


def _read(project: Project) -> object:
    return project.contract_documents, project.documents


def _files(project: Project) -> Measured:
    documents = (*project.contract_documents, *project.documents)
    report = check_files(
        CheckRequest(
            documents,
            project.recordings,
            model_beside=project.model_path,
            with_own_models=not project.models,
            declared=project.settings.conventions,
        )
    )
    return Measured(FILES, FILES_TITLE, report.findings, report.ledger, report.summary)


def ask_model(project: Project) -> Iterator[NotAsked | Question]:
    """Check the model against the contract; if a recording allows it, run the model to find the order of its inputs."""
    if not project.models:
        yield NotAsked(MODEL, "no model in [gate]")
        return
    recorded: tuple[Path, ...] = ()
    if project.document.kind is Kind.BUNDLE and not (project.clip_paths or project.settings.teacher):
        recorded = _recorded(project)
        if not recorded:
            yield NotAsked(
                INPUT_ORDER, "no prediction, clip or recording with the model's inputs in [gate] to run it on"
            )
    yield Question(
        MODEL, MODEL_TITLE, project.models[0], lambda: _model(project, recorded), lambda: _whole_model(project)
    )


def _whole_model(project: Project) -> object:
    return [read_model(path) for path in project.models]


def _model(project: Project, recorded: Sequence[Path]) -> Measured:
    """The findings of the check that appear only with the model."""
    alone = CheckRequest(project.contract_documents, with_own_models=False)
    shown = [
        each for each in project.documents if each.kind is Kind.TEACHER_PREDICTION or each.path in project.clip_paths
    ]
    given = replace(alone, beside=shown, recordings=recorded, model=project.model_path, with_own_models=True)
    without, report = (check_files(request) for request in (alone, given))
    known = {finding.fingerprint for finding in without.findings}
    findings = tuple(finding for finding in report.findings if finding.fingerprint not in known)
    declared, compared = (
        getattr(report.ledger, name) - getattr(without.ledger, name) for name in ("declared", "compared")
    )
    canary = {name: value for name, value in report.summary.items() if name == "canary"}
    return Measured(MODEL, MODEL_TITLE, findings, Ledger(declared, compared), canary)


def _recorded(project: Project) -> tuple[Path, ...]:
    """The first recording of an engine that has what the model took and gave; what cannot be read, its own part says."""
    for run in project.settings.traces:
        with suppress(UnusableInput):
            if {*INPUTS, "y_norm"} <= set(project.recording(run).trace.stages):
                return (Path(run.file),)
    return ()


@dataclass(frozen=True)
class PartKind:
    """One question: its name, the function that measures it, and the function that judges it under thresholds.

    metrics: the type of the figures that it judges, a TypedDict; None where there are none. is_sound: whether the figures and the
    run of an archive fit together.
    """

    name: str
    ask: Callable[[Project], Iterator[NotAsked | Question]]
    judge: Callable[[Measured, GateSettings], FindingsReport | NotAsked] = lambda measured, _: measured.report
    metrics: type | None = None
    is_sound: Callable[[Measured], bool] = lambda measured: measured.run is None


_OF_RECORDINGS = (recordings.judge, recordings.RecordingMetrics, recordings.is_sound)
PARTS: Mapping[str, PartKind] = {
    kind.name: kind
    for kind in (
        PartKind(FILES, ask_files),
        PartKind(MODEL, ask_model),
        PartKind(recordings.TEACHER, recordings.ask_teacher, *_OF_RECORDINGS),
        PartKind(recordings.TRACE, recordings.ask_traces, *_OF_RECORDINGS),
        PartKind(FREE_RUN, ask_free_run),
        PartKind(guarding.BREAKING, guarding.ask_breaking, guarding.judge_breaking, guarding.BreakingMetrics),
        PartKind(adequacy.NAME, adequacy.ask, adequacy.judge, adequacy.AdequacyMetrics, adequacy.is_sound),
        PartKind(BUDGET, ask_budget, judge_budget, BudgetMetrics),
    )
}
"""The parts by name, in the order in which reports show them."""
