"""Measure the model's cost: parameters and bytes exactly, time with a margin.

A measured time differs between runs. So the answer holds only whether the time is far over the budget; the time itself
is printed beside the answer.
"""

from collections.abc import Iterator
from statistics import median
from time import perf_counter
from typing import Any, NotRequired, TypedDict

import numpy as np

from rigpact.contract.errors import UnusableInput
from rigpact.contract.findings import Finding, FindingsReport, Ledger
from rigpact.contract.model.binding import bound_tensors
from rigpact.contract.model.signature import open_session, run_session
from rigpact.contract.rules.answers import gate as rules
from rigpact.contract.settings.gate import GateSettings, ModelBudget
from rigpact.contract.statistics import FloatArray
from rigpact.reports.gate.measured import Measured, NotAsked, Question
from rigpact.reports.gate.project import Project

NAME, TITLE = "budget", "Model within its budget"
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


def ask(project: Project) -> Iterator[NotAsked | Question]:
    """Count parameters and bytes always; measure time only if the budget limits it."""
    if not project.models and not project.settings.budget.is_declared:
        yield NotAsked(NAME, _NO_BUDGET)
        return
    place = project.models[0] if project.models else project.bundle_path
    yield Question(NAME, TITLE, place, lambda: _measure(project), lambda: project.model)


def _measure(project: Project) -> Measured:
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
    return Measured(NAME, TITLE, (), Ledger(0, 0), metrics=metrics, remarks=remarks)


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


def judge(measured: Measured, settings: GateSettings) -> FindingsReport | NotAsked:
    """Compare the figures with the budget; a figure that was not measured counts as missing."""
    if not settings.budget.is_declared:
        return NotAsked(NAME, _NO_BUDGET)
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
