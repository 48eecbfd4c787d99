"""Which column of a recording holds which vector of a contract: by the numbers that its stages make of the columns.

A column is a given vector where what the contract makes of it stands in the recording too, in a column of its own or inside the
network's input. A given vector that was not recorded is left out where a column holds what is made of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.stage import Graph
from rigpact.reference_runtime.graph.replayed import Evidence, ReplayedFrames
from rigpact.reports.importing.statistics_beside import SAME

FRAMES = 256
"""The first frames of a recording test each guess."""
_MOST = 64
"""Choices of open words that are tried for one vector."""
Likeness = Callable[[str, str], float]


@dataclass(eq=False)
class Paired:
    """columns: vector -> column. cut: stages that are given, for nothing recorded holds what they are made of.

    misnamed: stages that have the name of a column that holds another vector.
    """

    columns: dict[str, str] = field(default_factory=dict)
    cut: list[str] = field(default_factory=list)
    misnamed: list[str] = field(default_factory=list)


@dataclass(eq=False)
class Pairing:
    """The search. named: vector -> column, by name. frame: the numbers of the rows."""

    contract: Contract
    rows: Mapping[str, FloatArray]
    frame: NDArray[np.int64]
    named: Mapping[str, str]
    likeness: Likeness

    def __post_init__(self) -> None:
        self.graph: Graph = self.contract.system.graph
        answers = [stage.name for stage in self.graph if stage.name in self.graph.answers]
        self.known: dict[str, FloatArray] = {}
        self.words: dict[str, Any] = {}
        self.found = Paired()
        for name in answers:
            if name in self.named:
                self.known[name] = self.rows[self.named[name]]
                self.found.columns[name] = self.named[name]
        for stage in self.graph:
            if stage.compute is None and stage.carried is not None:
                self._add_carried(stage.name, str(stage.carried))

    def _add_carried(self, name: str, source: str) -> None:
        if name in self.named:
            self.known[name] = self.rows[self.named[name]]
            self.found.columns[name] = self.named[name]
        elif source in self.known:
            self.known[name] = np.vstack([np.zeros_like(self.known[source][:1]), self.known[source][:-1]])

    def run(self) -> Paired:
        """Given vectors, then stages in place of those that were not recorded, then all other stages."""
        waiting = [stage.name for stage in self.graph if stage.compute is None and stage.carried is None]
        while any(self._pair(name, name) and not waiting.remove(name) for name in list(waiting)):
            pass
        for name in list(waiting):
            for stage in self._consumers(name):
                if self._pair(stage, name):
                    self.found.cut.append(stage)
                    waiting.remove(name)
                    break
        while any(self._pair(name, name) and not waiting.remove(name) for name in list(waiting)):
            pass
        for name in waiting:
            if name in self.named and self.named[name] not in self.found.columns.values():
                self.found.columns[name] = self.named[name]
                self.known[name] = self.rows[self.named[name]]
        self._pair_stages()
        return self.found

    def _consumers(self, name: str) -> list[str]:
        return [stage.name for stage in self.graph if name in stage.needs]

    def _pair(self, name: str, given: str) -> bool:
        """Find the column of a given vector, or of a stage in its place, by what is made of it."""
        behind = self._behind(name)
        best: tuple[int, str, dict[str, Any]] | None = None
        for column in self._candidates(name):
            for words in self._choices(behind):
                made = self._made({**self.known, name: self.rows[column]}, behind, words)
                count = sum(any(place != (column, 0) for place in self.places(rows)) for rows in made.values())
                if count and (best is None or count > best[0]):
                    best = count, column, words
        if best is None:
            return False
        _, column, words = best
        self.found.columns[name], self.known[name] = column, self.rows[column]
        self.words |= words
        return given in (name, *self.graph[name].needs)

    def _candidates(self, name: str) -> list[str]:
        width = self.contract.fields(name).width
        taken = set(self.found.columns.values())
        fitting = [column for column, rows in self.rows.items() if rows.shape[1] == width and column not in taken]
        others = set(self.graph.names) - {name}
        return sorted(fitting, key=lambda column: (column in others, -self.likeness(name, column)))

    def _behind(self, name: str) -> list[str]:
        """The stages made of a vector, and of nothing else that is not known yet."""
        can, found = {*self.known, name}, []
        for stage in self.graph:
            if stage.compute is None or stage.name in can or not stage.needs or stage.name in self.graph.answers:
                continue
            if all(need in can for need in stage.needs):
                can.add(stage.name)
                if name in stage.needs or any(need in found for need in stage.needs):
                    found.append(stage.name)
        return found

    def _choices(self, stages: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Words for what the contract leaves open at some stages, those that it assumes first."""
        own = {knob.name: knob for stage in stages for knob in self.graph[stage].every_knob}
        knobs = [
            knob for name, knob in own.items() if name in self.contract.system.left_open and name not in self.words
        ]
        assumed = [sorted(knob.values, key=lambda value, knob=knob: value != knob.default) for knob in knobs]  # type: ignore[misc]
        for values in islice(product(*assumed), _MOST):
            yield {knob.name: value for knob, value in zip(knobs, values, strict=True)}

    def _made(
        self, known: Mapping[str, FloatArray], stages: Sequence[str], words: Mapping[str, Any]
    ) -> dict[str, FloatArray]:
        recorded = {name: rows.astype(np.float32) for name, rows in known.items()}
        evidence = Evidence(self.frame, self.contract.fps or 1.0, "teacher", recorded)
        frames = ReplayedFrames(evidence, self.contract.with_conventions({**self.words, **words}))
        made = {stage: frames.computed(stage) for stage in stages}
        return {
            stage: rows.astype(np.float64)
            for stage, rows in made.items()
            if rows is not None and np.isfinite(rows).all()
        }

    def places(self, rows: FloatArray, *, is_whole: bool = False) -> list[tuple[str, int]]:
        """Columns, and where in them, that hold these numbers in every frame; none of what never changes.

        is_whole: only columns of the same width, of numbers that stand still too.
        """
        if not is_whole and not np.ptp(rows, axis=0).any():
            return []
        width, near = rows.shape[1], SAME * float(np.abs(rows).max(initial=0.0))
        found = []
        for column, held in self.rows.items():
            last = held.shape[1] - width
            for start in range(1 if is_whole and last == 0 else 0 if is_whole else last + 1):
                window = held[:, start : start + width]
                if (np.abs(window[0] - rows[0]) <= near).all() and (np.abs(window - rows) <= near).all():
                    found.append((column, start))
        return found

    def _pair_stages(self) -> None:
        stages = [stage.name for stage in self.graph if stage.compute is not None and stage.name not in self.known]
        made = self._made(self.known, stages, {})
        equal = {name: [column for column, _ in self.places(rows, is_whole=True)] for name, rows in made.items()}
        for name, rows in made.items():
            if name in self.rows and name not in equal[name] and self.places(rows):
                self.found.misnamed.append(name)
        kept = {name for name in self.graph.names if name in self.rows and name not in self.found.misnamed}
        taken = set(self.found.columns.values())
        for name in stages:
            own = [each for each in equal.get(name, ()) if each == name or each not in taken | kept]
            if name in own or (name in kept and name not in taken):
                self.found.columns[name] = name
            elif own:
                self.found.columns[name] = max(own, key=lambda column, name=name: self.likeness(name, column))  # type: ignore[misc]
            taken.add(self.found.columns.get(name, name))
        held = {column for columns in equal.values() for column in columns} | taken
        for name in stages:
            column = self.named.get(name)
            if name not in self.found.columns and column is not None and column not in held:
                self.found.columns[name] = column
