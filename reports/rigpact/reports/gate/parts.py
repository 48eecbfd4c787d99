"""The parts of the gate: its files, the model, a free run, the clips and the budget here, the others in modules of their names.

Every part works on any system through its contract. Each is a function that yields questions, or the reason why it was not asked;
what it measures, it holds against the project's thresholds. To add a part: the function, and a row in `PARTS`.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from rigpact.contract.errors import UnusableInput
from rigpact.contract.findings import Finding, FindingsReport, Ledger
from rigpact.contract.json_pointer import json_pointer
from rigpact.contract.model.binding import bound_tensors
from rigpact.contract.model.signature import open_session, read_model, run_session
from rigpact.contract.rules.family import answers as rules
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.files.declared import RunSetup
from rigpact.reference_runtime.recordings.clip import RawClip
from rigpact.reports.checking.check import CheckRequest, check_files
from rigpact.reports.diagnosing.adequacy import advice_of, read_probe, weigh
from rigpact.reports.diagnosing.adequacy import measure as margins_on
from rigpact.reports.gate import guarding, recordings
from rigpact.reports.gate.measured import Measured, NotAsked, Question
from rigpact.reports.gate.project import Project
from rigpact.reports.gate.report import NO_FEEDBACK
from rigpact.reports.nonfinite.drift import judge_drift
from rigpact.reports.nonfinite.investigation import Investigation, investigate
from rigpact.reports.nonfinite.observers import CONSTANT
from rigpact.reports.terminal import working

Answers = Iterator[NotAsked | Question]
FILES, MODEL, FREE_RUN, ADEQUACY, BUDGET = "files", "model", "free-run", "adequacy", "budget"


# Test a free run: whether it stays finite over many frames, and how fast differences grow.
def _ask_free_run(project: Project) -> Answers:
    if not project.system.graph.feeds_itself:
        yield NotAsked(FREE_RUN, NO_FEEDBACK)
    elif project.settings.no_free_run:
        yield NotAsked(FREE_RUN, "free-run = false in [gate]")
    elif not project.models:
        yield NotAsked(FREE_RUN, "no model in [gate]")
    elif not project.clip_paths and project.settings.free_run is None:
        yield NotAsked(FREE_RUN, "no clip in [gate] to seed and drive it")
    else:
        subject = partial(_subject, project)
        yield Question(FREE_RUN, "Free run", project.models[0], partial(_measured_run, project), subject)


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
    return Measured(FindingsReport(tuple(findings), ledger, summary))


def about_run(found: Investigation, clip: Path, bundle: Path) -> Iterator[Finding]:
    """What a free run says against the model."""
    if found.origin is not None:
        origin = found.origin
        words = [str(word) for word in (origin.bone, origin.slice, origin.operation) if word]
        said = {"stage": str(origin.stage), "where": ", ".join(words) or f"channel {origin.channel}"}
        yield rules.FREE_RUN_NOT_FINITE.at(bundle, "", clip=clip.name, frame=origin.frame, **said)
    elif found.left is not None and found.left.kind != "grows":
        yield rules.FREE_RUN_LEAVES.at(bundle, "", clip=clip.name, words=str(found.left))
    elif found.verdict == "diverging":
        yield rules.FREE_RUN_DIVERGES.at(bundle, "", clip=clip.name, frames=found.frames)


def _swallowed(found: Investigation, clip: Path, project: Project) -> Iterator[Finding]:
    for each in found.swallowed:
        file: Path = project.bundle_path
        pointer = "/networks"
        if len(project.models) == 1:
            kind = "initializer" if each.op == CONSTANT else "node"
            file, pointer = project.models[0], json_pointer("graph", kind, each.node)
        yield rules.VALUE_SWALLOWED.at(file, pointer, clip=clip.name, words=str(each))


# Measure the model's cost: parameters and bytes exactly, time with a margin.
WARM_UPS, RUNS, ONE_WINDOW = 20, 200, 100


def _ask_budget(project: Project) -> Answers:
    if not project.settings.budget.is_declared:
        yield NotAsked(BUDGET, "no [gate.budget]")
        return
    place = project.models[0] if project.models else project.bundle_path
    measure = partial(_measured_model, project)
    yield Question(BUDGET, "Model within its budget", place, measure, lambda: project.model)


def _measured_model(project: Project) -> Measured:
    budget, model = project.settings.budget, project.model
    remarks: tuple[str, ...] = ()
    graph = project.model.graph
    folder = project.model.path.parent
    files = [project.model.path, *(folder / name for name in sorted(graph.beside if graph else ()))]
    for file in files:
        if not file.is_file():
            raise UnusableInput(file, "nothing", "the file with the model's weights", "copy it beside the model")
    known = {"parameters": model.graph.parameters} if model.graph is not None else {}
    known["model_bytes"] = sum(file.stat().st_size for file in files)
    limits = {"parameters": budget.parameters, "model_bytes": budget.model_bytes}
    wanted = {name: limit for name, limit in limits.items() if limit is not None}
    place = model.path.as_posix()
    findings = [
        rules.OVER_BUDGET.at(place, f"/{name}", what=name.replace("_", " "), found=known[name], limit=limit)
        for name, limit in wanted.items()
        if known.get(name, 0) > limit
    ]
    is_timed = budget.inference_us is not None
    if budget.inference_us is not None:
        measured = _median_us(project)
        if measured > budget.inference_us * budget.inference_margin:
            said = {"margin": budget.inference_margin, "limit": budget.inference_us}
            findings.append(rules.OVER_TIME_BUDGET.at(place, "/inference", **said))
        remarks = (f"inference takes {measured:.0f} µs (median of {RUNS}); the budget is {budget.inference_us:g} µs",)
    ledger = Ledger(len(wanted) + is_timed, len(wanted.keys() & known.keys()) + is_timed)
    summary = {"limits": wanted} | known
    return Measured(FindingsReport(tuple(findings), ledger, summary), remarks=remarks)


def _median_us(project: Project) -> float:
    """The median time of one inference; no file holds it, for it differs between runs."""
    session, feeds = open_session(project.model.path), _one_row(project)
    names = [entry.name for entry in project.model.outputs]
    times = []
    for _ in range(WARM_UPS + RUNS):
        start = perf_counter()
        run_session(session, names, feeds, project.model.path)
        times.append(perf_counter() - start)
    return 1e6 * median(times[WARM_UPS:])


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


# Judge the project's files by the rules, as `rigpact check` does: first all files but the model, then the model.
def _ask_files(project: Project) -> Answers:

    def opens() -> object:
        return project.contract_documents, project.documents

    yield Question(FILES, "Files against the rules", project.bundle_path, partial(_files, project), opens)


def _files(project: Project) -> Measured:
    documents = (*project.contract_documents, *project.documents)
    given = CheckRequest(
        documents, project.recordings, model_beside=project.model_path, with_own_models=not project.models
    )
    return Measured(check_files(replace(given, declared=project.settings.conventions)))


def _ask_model(project: Project) -> Answers:
    if not project.models:
        yield NotAsked(MODEL, "no model in [gate]")
        return

    def opens() -> object:
        return [read_model(path) for path in project.models]

    yield Question(
        MODEL, "Model: signature, graph, order of inputs", project.models[0], partial(_model, project), opens
    )


def _model(project: Project) -> Measured:
    """The findings of the check that appear only with the model."""
    alone = CheckRequest(project.contract_documents, with_own_models=False)
    given = replace(alone, model=project.model_path, with_own_models=True)
    without, report = (check_files(request) for request in (alone, given))
    known = {finding.fingerprint for finding in without.findings}
    findings = tuple(finding for finding in report.findings if finding.fingerprint not in known)
    declared = report.ledger.declared - without.ledger.declared
    return Measured(FindingsReport(findings, Ledger(declared, report.ledger.compared - without.ledger.compared)))


# Find the conventions that the clips cannot show: an engine could differ in them and still pass.
def _ask_adequacy(project: Project) -> Answers:
    if not project.clip_paths:
        yield NotAsked(ADEQUACY, "no clips in [gate]")
    elif not (project.models or project.system.posed or _are_answered(project)):
        yield NotAsked(ADEQUACY, "no model in [gate], and no clip that holds its answers")
    else:
        measure, opens = partial(_measured_clips, project), partial(_read_clips, project)
        yield Question(ADEQUACY, "Conventions that the clips show", project.clip_paths[0], measure, opens)


def _are_answered(project: Project) -> bool:
    """Whether all clips hold the network's answers; a clip that cannot be read, another part says."""
    answers = set(project.system.graph.answers)
    try:
        driving = _driving(project)
    except UnusableInput:
        return False
    return bool(driving) and all(answers <= set(getattr(project.clip(path), "stages", ())) for path in driving)


def _read_clips(project: Project) -> tuple[Any, Any, list[Path]]:
    return project.contract, project.network if project.models else None, _driving(project)


def _measured_clips(project: Project) -> Measured:
    """Warn about every convention that no clip shows by the declared margin."""
    contract, network, driving = _read_clips(project)
    margin = project.settings.thresholds.adequacy_margin
    with working("replaying every convention on every clip"):
        clips = [margins_on(path.as_posix(), project.clip(path), contract, network) for path in driving]
        probe = margins_on("probe", read_probe(contract), contract, network)
    clips = [replace(each, clear_margin=margin) for each in clips]
    found = weigh(clips, replace(probe, clear_margin=margin), advice_of(contract))
    summary = {
        "margin": margin,
        "separable": found.ledger.declared,
        "missed": [list(choice) for choice in found.missed],
        "inseparable": [list(choice) for choice in found.inseparable],
        "smallest_set": list(found.smallest_set),
        "separated": {clip.name: len(clip.separated & found.separable) for clip in found.clips},
        "limits": {clip.name: list(clip.limits) for clip in found.clips},
    }
    knobs: dict[str, list[str]] = {}
    for knob, value in found.missed:
        knobs.setdefault(knob, []).append(value)
    findings = [
        rules.CLIPS_CANNOT_SHOW.at(
            clips[0].name if clips else "[gate] clips", json_pointer(knob), knob=knob, values=", ".join(values),
            declared=str(contract.conventions[knob]), advice=found.advice((knob, values[0])),
        )
        for knob, values in knobs.items()
    ]  # fmt: skip
    return Measured(FindingsReport(tuple(findings), found.ledger, summary))


def _driving(project: Project) -> list[Path]:
    """The clips that can drive a run; not teacher files, not data sets of labels."""
    given = project.system.graph.given
    return [
        path
        for path in project.clip_paths
        if isinstance(clip := project.clip(path), RawClip) or (given and set(given) <= set(getattr(clip, "stages", ())))
    ]


PARTS: Mapping[str, Callable[[Project], Answers]] = {
    FILES: _ask_files,
    MODEL: _ask_model,
    recordings.TEACHER: recordings.ask_teacher,
    recordings.TRACE: recordings.ask_traces,
    FREE_RUN: _ask_free_run,
    guarding.BREAKING: guarding.ask_breaking,
    ADEQUACY: _ask_adequacy,
    BUDGET: _ask_budget,
}
"""The parts by name, in the order in which reports show them."""
