"""Find the numbers from which one channel of a stage is computed: replace numbers, and evaluate the stage again.

A number is an operand if its replacement changes the channel. It can be a channel of an earlier stage or a number of
the contract. Groups are replaced first, and halved where the channel changes. So a few dozen evaluations are enough for
hundreds of numbers.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rigpact.contract.errors import UnusableInput
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.stage import Graph
from rigpact.reference_runtime.files.declared import files_of
from rigpact.reference_runtime.graph.replayed import Evidence, ReplayedFrames

MOST = 24
"""Largest number of named operands; a pose that is composed down a skeleton has hundreds."""
Place = tuple[str, int]
"""A stage or an array of the contract, and the index of a number in it."""


@dataclass(frozen=True, eq=False)
class Moment:
    """One recorded frame, `row` of the evidence, under the contract of the run."""

    contract: Contract
    evidence: Evidence
    row: int

    @property
    def graph(self) -> Graph:
        """The system's stages."""
        graph: Graph = self.contract.system.graph
        return graph

    @property
    def frame(self) -> int:
        """The frame's number."""
        return int(self.evidence.frame[self.row])

    @property
    def stages(self) -> dict[str, FloatArray]:
        """The recorded stages of the frame, (width,) each."""
        return {name: rows[self.row] for name, rows in self.evidence.recorded.items()}

    def parents(self, stage: str) -> tuple[str, ...]:
        """The nearest recorded stages from which a stage is computed; unrecorded stages between are skipped."""
        found: dict[str, None] = {}
        for name in (*self.graph[stage].needs, *self.graph[stage].may_use):
            found |= dict.fromkeys([name] if name in self.evidence.recorded else self.parents(name))
        return tuple(found)


def operation_of(moment: Moment, stage: str) -> str:
    """How a stage is computed: the first docstring line of its function."""
    found, mode = moment.graph[stage], moment.evidence.mode
    if found.is_answer:
        return "network"
    if not found.needs:
        if found.carried is not None and mode == "free" and moment.frame > 0:
            return f"taken over from the frame before: not what its {found.carried} is"
        return f"read from the clip, row {moment.frame}"
    function = getattr(found.compute, "func", found.compute)  # what a partial calls
    sentence = (getattr(function, "__doc__", None) or f"computed from {', '.join(found.needs)}").split("\n")[0]
    return sentence.strip().rstrip(".")


def operands_of(moment: Moment, stage: str, channel: int) -> dict[str, float]:
    """The operands of one channel: name -> value in the frame."""
    if moment.graph[stage].is_answer:
        known = moment.stages
        largest = {name: known[name] for name in moment.parents(stage)}
        return {f"max |{name}|": float(np.max(np.abs(row), initial=0.0)) for name, row in largest.items()}
    search = _Search(moment, stage, channel)
    found = search.operands(())
    if found and not np.isfinite(search.value(())):
        found = [*found, *(place for place in search.operands(found) if place not in found)]
    return {_name(*place): search.number(place) for place in found[:MOST]}


def _name(owner: str, index: int) -> str:
    return f"{owner}[{index}]"


class _Search:
    """Evaluates the stage with numbers replaced by ordinary ones."""

    def __init__(self, moment: Moment, stage: str, channel: int) -> None:
        self._moment, self._stage, self._channel = moment, stage, channel
        files = files_of(moment.contract)
        self._numbers: dict[str, FloatArray] = files.numbers(moment.contract)
        self._with_numbers: Callable[[Any, str, FloatArray], Any] = files.with_numbers
        parents = {name: moment.evidence.recorded[name] for name in moment.parents(stage)}
        self._sizes = {name: rows.shape[1] for name, rows in parents.items()}
        self._sizes |= {name: values.size for name, values in self._numbers.items()}

    def number(self, place: Place) -> float:
        """The number at a place."""
        owner, index = place
        return float(self._numbers[owner][index] if owner in self._numbers else self._moment.stages[owner][index])

    def operands(self, base: Sequence[Place]) -> list[Place]:
        """Every place whose replacement, added to those of `base`, changes the channel."""
        before = self.value(base)
        return [place for owner, size in self._sizes.items() for place in self._among(owner, 0, size, base, before)]

    def _among(self, owner: str, start: int, stop: int, base: Sequence[Place], before: float) -> Iterator[Place]:
        group = [(owner, index) for index in range(start, stop)]
        after = self.value([*base, *group])
        if after == before or (np.isnan(after) and np.isnan(before)):
            return
        if len(group) == 1:
            yield from group
            return
        middle = (start + stop) // 2
        yield from self._among(owner, start, middle, base, before)
        yield from self._among(owner, middle, stop, base, before)

    def value(self, places: Sequence[Place]) -> float:
        """The channel with the numbers at these places replaced; NaN where it cannot be computed."""
        evidence, contract = self._moment.evidence, self._moment.contract
        recorded = dict(evidence.recorded)
        for owner in dict.fromkeys(owner for owner, _ in places):
            indices = [index for name, index in places if name == owner]
            if owner in self._numbers:
                contract = self._with_numbers(contract, owner, _replaced(self._numbers[owner], indices))
            else:
                recorded[owner] = _replaced(recorded[owner], indices)
        try:
            with np.errstate(all="ignore"):
                rows = ReplayedFrames(replace(evidence, recorded=recorded), contract).computed(self._stage)
        except (UnusableInput, ValueError, ArithmeticError):  # the system cannot be computed with these constants
            return float("nan")
        return float("nan") if rows is None else float(rows[self._moment.row, self._channel])


def _replaced(values: FloatArray, indices: Sequence[int]) -> FloatArray:
    """The values with ordinary numbers at some places of the last axis, a different number at each place."""
    changed = np.array(values)
    changed[..., indices] = 0.3 + 0.4 * np.modf(0.618 * (1.0 + np.asarray(indices)))[0]
    return changed
