"""Conditions of a system's page on every row of a data set."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.of_contract import FramesOfContract
from rigpact.contract.systems.problem import DataCheck, Problem
from rigpact.contract.systems.stage import NotKnown

Rows = Mapping[str, FloatArray]


def data_problems(checks: Sequence[DataCheck], contract: Contract, stages: Rows) -> Iterator[Problem]:
    """Yield what is wrong with finite rows of a data set, by stage (N, width)."""
    stages = {**_undone(contract, stages), **stages}
    for check in checks:
        if check.of in stages and (not check.labels or check.labels in stages):
            found = list(_problems(check, contract, stages))
            yield from found
            if found and check.same:
                return  # what is computed from it is another place too


def _undone(contract: Contract, stages: Rows) -> dict[str, FloatArray]:
    """The rows from which a stage of the data set was computed, where its operation can be undone."""
    frames, found = Known(contract, dict(stages)), {}
    for stage in contract.system.graph:
        if stage.undone is not None and stage.name in stages:
            found[stage.needs[0]] = stage.undone(frames)
    return found


def _problems(check: DataCheck, contract: Contract, stages: Rows) -> Iterator[Problem]:
    if check.judged_by:
        yield from _judged(check, contract, stages)
    rows = stages[check.of].astype(np.float64)
    if check.same:
        # Fields that are one place are one place in every row
        first, *others = (rows[:, contract.fields(check.of)[name].range] for name in check.same)
        for name, other in zip(check.same[1:], others, strict=True):
            apart = np.linalg.norm(other - first, axis=1)
            row = int(np.argmax(apart))
            if apart[row] > check.within:
                found = f"{apart[row]:.3g} from {check.same[0]} in row {row}"
                yield Problem(f"{check.of}/{name}", found, "the same place", check.why)
    if check.computed:
        yield from _not_as_computed(check, contract, stages)
    if check.several and len(np.unique(rows, axis=0)) < 2:
        yield Problem(check.of, f"one row, {len(rows)} times", "several", check.why)


def _judged(check: DataCheck, contract: Contract, stages: Rows) -> Iterator[Problem]:
    """What the operations of stages have against the rows; each row has its label."""
    count, labelled = len(stages[check.of]), len(stages[check.labels])
    if not count == labelled > 0:
        yield Problem(check.labels, f"{labelled} rows", f"{count}, one per {check.of}", check.why)
        return
    for name in check.judged_by:
        judge = contract.system.graph[name].judged
        if judge is not None:
            yield from judge(contract, stages, check)


def _not_as_computed(check: DataCheck, contract: Contract, stages: Rows) -> Iterator[Problem]:
    """The rows are those that the contract computes from what else the data hold; nothing is said where it cannot."""
    known = {name: rows for name, rows in stages.items() if name != check.of}
    try:
        computed = Known(contract, known)[check.computed]
    except NotKnown:
        return
    difference = computed.astype(np.float64) - stages[check.of]
    fields = contract.fields(check.of)
    apart = np.stack([np.linalg.norm(difference[:, field.range], axis=1) for field in fields], axis=1).max(axis=1)
    row = int(np.argmax(apart))
    if apart[row] > check.within:
        yield Problem(
            check.of, f"{apart[row]:.3g} from the {check.computed} of row {row}", f"at most {check.within:g}", check.why
        )


class Known(FramesOfContract):
    """The `Frames` of a data set: its rows stand alone, and there is no network."""

    def __init__(self, contract: Contract, rows: dict[str, FloatArray]) -> None:
        """rows: those of each known stage, (T, width)."""
        super().__init__(contract)
        self.rows = rows

    def __getitem__(self, stage: str) -> FloatArray:
        """The rows of a stage; NotKnown where they do not follow from the data."""
        if stage not in self.rows:
            self.rows[stage] = self.contract.system.graph[stage].computed(self)
        return self.rows[stage]
