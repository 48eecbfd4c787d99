"""What the model costs: numbers and bytes exactly, time with a margin.

A measured time differs from run to run, so it is no part of the answer: the answer holds whether it was far over the budget,
the figure itself is told beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, Protocol

from rigpact.contract.errors import UnusableInput
from rigpact.contract.findings import Finding, FindingsReport, Ledger
from rigpact.contract.model.signature import ModelSignature
from rigpact.contract.rules.answers import gate as rules
from rigpact.contract.settings.gate import Budget, GateSettings
from rigpact.reports.gate.measured import Measured, NotAsked, guarded

NAME, TITLE = "budget", "Model within its budget"
WARM_UPS, RUNS = 20, 200
_NO_BUDGET = "no [gate.budget]"


class BudgetCase(Protocol):
    """What this part needs of a system's case; every member may raise UnusableInput."""

    settings: GateSettings
    bundle_path: Path
    model_path: Path | None

    @property
    def model(self) -> ModelSignature:
        """The model's signature and, where the package onnx is there, its graph."""
        ...

    def inference(self) -> Callable[[], object]:
        """One inference of one row, ready to be timed."""
        ...


def ask(case: BudgetCase) -> Iterator[Measured | NotAsked]:
    """Count what there is, limited or not; time only what is limited."""
    if case.model_path is None and not case.settings.budget.is_declared:
        yield NotAsked(NAME, _NO_BUDGET)
        return
    yield guarded(NAME, TITLE, case.model_path or case.bundle_path, lambda: _measure(case))


def _measure(case: BudgetCase) -> Measured:
    budget, model = case.settings.budget, case.model
    remarks: tuple[str, ...] = ()
    metrics: dict[str, Any] = {"file": model.path.as_posix(), "model_bytes": _bytes(case)}
    if model.graph is not None:
        metrics["parameters"] = model.graph.parameters
    if budget.inference_us is not None:
        measured = _inference_us(case)
        over = measured > budget.inference_us * budget.inference_margin
        metrics["inference"] = {"limit_us": budget.inference_us, "margin": budget.inference_margin, "over": over}
        remarks = (f"inference takes {measured:.0f} µs (median of {RUNS}); the budget is {budget.inference_us:g} µs",)
    return Measured(NAME, TITLE, (), Ledger(0, 0), metrics=metrics, remarks=remarks)


def _bytes(case: BudgetCase) -> int:
    """The model's file and the files beside it that hold its weights."""
    graph = case.model.graph
    folder = case.model.path.parent
    beside = {weight.external.location for weight in graph.weights if weight.external} if graph else set()
    return case.model.path.stat().st_size + sum((folder / name).stat().st_size for name in beside)


def _inference_us(case: BudgetCase) -> float:
    """Microseconds of the median inference of one row."""
    infer = case.inference()
    times = []
    for _ in range(WARM_UPS + RUNS):
        start = perf_counter()
        infer()
        times.append(perf_counter() - start)
    return 1e6 * median(times[WARM_UPS:])


def judge(measured: Measured, settings: GateSettings) -> FindingsReport | NotAsked:
    """Hold the figures against the budget; what was not measured is missing."""
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


def _timed(metrics: Any, budget: Budget) -> list[Finding | None]:
    """One entry if the time was judged under this very limit: the finding, or None within the budget."""
    timed = metrics.get("inference")
    if budget.inference_us is None or timed is None:
        return []
    if (timed["limit_us"], timed["margin"]) != (budget.inference_us, budget.inference_margin):
        raise UnusableInput(
            "[gate.budget] inference-us", "another limit than the one that was measured against",
            f"{timed['limit_us']:g} µs with the margin {timed['margin']:g}", "run the gate again: times are not kept",
        )  # fmt: skip
    if not timed["over"]:
        return [None]
    values = {"margin": budget.inference_margin, "limit": budget.inference_us}
    return [rules.OVER_TIME_BUDGET.at(metrics["file"], "/inference", **values)]
