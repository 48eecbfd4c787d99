"""Two recordings of a stage graph side by side, without a tolerance that grows along the loop.

Side a's stage is within its bound of f(a's inputs), side b's of f(b's inputs): so the two sides may differ by both bounds and
by |f(a's inputs) - f(b's inputs)|, no more. A stage that only inherits a difference is the same; the one that made it is not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rigpact.contract.errors import UnusableInput
from rigpact.contract.findings import Finding, FindingsReport, Ledger
from rigpact.contract.rules.answers import comparison as rules
from rigpact.contract.rules.hosted.system_data import OTHER_CONTRACT
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.definition import SystemContract
from rigpact.reference_runtime.recordings.recording import Recording
from rigpact.reference_runtime.systems.enemy_animation.tolerances import gamma
from rigpact.reference_runtime.systems.stage_graph import StageGraph
from rigpact.reports.comparing.address import Address
from rigpact.reports.comparing.compare import Comparison
from rigpact.reports.comparing.judgement import judge
from rigpact.reports.comparing.stage_comparison import StageComparison, StageMeter
from rigpact.reports.diagnosing.stage_error import same_hemisphere

STORED = 2
GIVEN_OUTPUT = 1e-5
"""What two inference engines may differ by where no model is at hand to say more: times one plus the row's largest."""


@dataclass(frozen=True, eq=False)
class GraphComparison(Comparison):
    """A comparison whose stages are those of a graph."""

    system: SystemContract
    order: Sequence[str]

    def address(self, stage: str, channel: int) -> Address:
        """Name the place of a channel by its field."""
        return Address(stage, channel, slice=self.system.vectors[stage].address(channel))

    @property
    def stage_order(self) -> Sequence[str]:
        """The system's vectors."""
        return self.order


def compare_graph(
    a: Recording, b: Recording, contract: SystemContract, graph: StageGraph, only: Collection[str] = ()
) -> GraphComparison:
    """Measure two recordings of one system; `only` names the stages to compare, the others count as waived."""
    order = list(contract.definition.vectors)
    frames, rows_a, rows_b = np.intersect1d(a.trace.frame, b.trace.frame, assume_unique=True, return_indices=True)
    held = [name for name in order if name in a.trace.stages or name in b.trace.stages]
    for name in only:
        if name not in held:
            raise UnusableInput(f"--stage {name}", "a stage that neither side recorded", f"one of {', '.join(held)}")
    waived = {name: "not asked for" for name in held if only and name not in only}
    missing = dict(_missing(a, b, [name for name in held if name not in waived]))
    of_a, of_b = (
        {name: values[rows] for name, values in side.trace.stages.items()} for side, rows in ((a, rows_a), (b, rows_b))
    )
    if _inputs_differ(of_a, of_b, contract):
        judged = {*waived, *missing, *(stage.name for stage in graph.stages)}
        others = [name for name in contract.definition.outputs if name in held and name not in judged]
        waived |= dict.fromkeys(others, "what the network was given differs")
    stages: dict[str, StageComparison] = {}
    for name in held:
        if name not in waived and name not in missing and len(frames):
            stages[name] = _measured(name, of_a, of_b, contract, graph).result(frames)
    total = len(a.trace.frame) + len(b.trace.frame) - len(frames)
    width = {name: contract.vectors[name].width for name in held}
    ledger = Ledger(
        declared=total * sum(width.values()),
        compared=sum(result.total for result in stages.values()),
        waived=total * sum(width[name] for name in waived),
    )
    return GraphComparison(
        a, b, None, (), frames, stages, waived, missing, None, None, ledger, system=contract, order=order
    )


def judge_graph(comparison: GraphComparison) -> FindingsReport:
    """Findings of a comparison, and those about the contract that a side was recorded under."""
    report = judge(comparison)
    return FindingsReport((*_other_contracts(comparison), *report.findings), report.ledger, report.summary)


def _other_contracts(comparison: GraphComparison) -> Iterator[Finding]:
    expected = comparison.system.sha256
    for side in (comparison.a, comparison.b):
        found = side.trace.header.bundle_sha256
        if found is not None and found != expected:
            yield OTHER_CONTRACT.at(side.path, "/contract/bundle_sha256", found=found[:12], expected=expected[:12])


def _missing(a: Recording, b: Recording, names: Sequence[str]) -> Iterator[tuple[str, Finding]]:
    for name in names:
        for side, other in ((a, b), (b, a)):
            if name not in side.trace.stages:
                yield (
                    name,
                    rules.STAGE_NOT_COMPARED.at(side.path, f"/stages/{name}", stage=name, holder=other.path.name),
                )


def _inputs_differ(of_a: Mapping[str, FloatArray], of_b: Mapping[str, FloatArray], contract: SystemContract) -> bool:
    """Whether the two networks answered different questions, so that their answers cannot be held against each other."""
    for name in contract.definition.inputs:
        if name in of_a and name in of_b:
            a, b = (side[name].astype(np.float64) for side in (of_a, of_b))
            if (np.abs(a - b) > GIVEN_OUTPUT * (1.0 + np.abs(a))).any():
                return True
    return False


def _measured(
    name: str,
    of_a: Mapping[str, FloatArray],
    of_b: Mapping[str, FloatArray],
    contract: SystemContract,
    graph: StageGraph,
) -> StageMeter:
    rows_a, rows_b = of_a[name], of_b[name]
    stage = next((each for each in graph.stages if each.name == name), None)
    meter = StageMeter(name, rows_a.shape[1])
    if stage is not None and stage.quaternions:
        rows_b = same_hemisphere(rows_a.astype(np.float64), rows_b.astype(np.float64))
    if stage is None or not (set(stage.needs) <= set(of_a) and set(stage.needs) <= set(of_b)):
        meter.add(rows_a, rows_b, _given_bound(name, rows_a, contract))
        return meter
    with np.errstate(all="ignore"):
        exact_a, exact_b = (stage.compute(side, contract.conventions) for side in (of_a, of_b))
        bounds = np.asarray(stage.bound(of_a, exact_a)) + np.asarray(stage.bound(of_b, exact_b))
        if stage.quaternions:
            exact_b = same_hemisphere(exact_a.astype(np.float64), exact_b.astype(np.float64))
        inherited = np.abs(exact_a.astype(np.float64) - exact_b.astype(np.float64))
    # where the bound is not known the very sign of a value is a matter of chance: it cannot be off by more than both sizes
    unknown = np.abs(rows_a.astype(np.float64)) + np.abs(rows_b.astype(np.float64))
    meter.add(rows_a, rows_b, np.where(np.isnan(bounds), unknown, bounds) + np.nan_to_num(inherited))
    return meter


def _given_bound(name: str, rows: FloatArray, contract: SystemContract) -> FloatArray:
    """What comes from outside is stored once on each side; a network's answer comes from two inference engines."""
    size = np.abs(np.nan_to_num(rows.astype(np.float64)))
    if name in contract.definition.outputs:
        return np.broadcast_to(GIVEN_OUTPUT * (1.0 + size.max(axis=1, keepdims=True)), rows.shape)
    return np.asarray(gamma(STORED) * size)
