"""Values inside the model that are not finite and never arrive: a Where, a Clip, a softmax keeps them from the output.

Such a value is no defect of the run: an attention mask is minus infinity on purpose. But a guard that catches a value
today may not catch tomorrow's, so each is a note. Needs the package `onnx`, and a model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rigpact.contract.errors import UnusableInput
from rigpact.contract.model.graph import onnx_is_installed
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.system import System
from rigpact.reference_runtime.files.runner import Stages
from rigpact.reference_runtime.network import aligned
from rigpact.reference_runtime.systems.network import each_network
from rigpact.reports.nonfinite.model_graph import (
    ModelGraph,
    Observing,
    Values,
    bad_output,
    is_finite,
    node_name,
    produces,
)
from rigpact.reports.nonfinite.origin import input_order

_TOGETHER = 64
"""Frames that are looked at in one inference: a few megabytes of intermediate values."""


def swallowed_values(network: Any, contract: Any) -> list[SwallowedValues]:
    """An observer for each network of a run."""
    return [SwallowedValues(each, contract, part) for each, part in each_network(network, contract.system)]


@dataclass
class Swallowed:
    """A node that made a value that is not finite while the output stayed finite, and the node that caught it."""

    node: str
    op: str
    value: float
    frame: int
    caught_by: str
    frames: int = 1

    def __str__(self) -> str:
        """In words."""
        word = "NaN" if np.isnan(self.value) else f"{self.value:g}"
        times = f"in {self.frames} frames, first in frame {self.frame}" if self.frames > 1 else f"in frame {self.frame}"
        return (
            f"inside the model, {self.node} ({self.op}) gives {word} {times}; {self.caught_by}, so it does not arrive"
        )


class SwallowedValues:
    """An observer of a run: gathers the model's inputs, and looks at its intermediate values many frames at a time."""

    def __init__(self, network: Any, contract: Any, part: System) -> None:
        """Prepare the model; without a model file nothing is looked at. part: what the network takes and gives."""
        self.found: dict[str, Swallowed] = {}
        self._names, self._widths = input_order(contract, part), getattr(network, "bound_widths", None)
        self._windowed = contract.system.windowed
        self._waiting: list[tuple[int, list[FloatArray]]] = []
        signature = getattr(network, "signature", None)
        self._graph = ModelGraph(signature.path) if signature is not None and onnx_is_installed() else None
        self._run = None if self._graph is None else _observing(self._graph)
        self._takes_one = signature is not None and any(entry.shape[:1] == (1,) for entry in signature.inputs)

    def __call__(self, frame: int, stages: Stages) -> None:
        """Keep the inputs of one frame; look when there are enough."""
        if self._run is None or any(name not in stages for name in self._names):
            return
        self._waiting.append((frame, [stages[name] for name in self._names]))
        if len(self._waiting) == _TOGETHER and not self._windowed:
            self.finish()

    def finish(self) -> None:
        """Look at the frames that wait."""
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        one_by_one = self._takes_one and not self._windowed
        for group in [[each] for each in waiting] if one_by_one else [waiting]:
            self._look(
                [frame for frame, _ in group], [np.stack(rows) for rows in zip(*(v for _, v in group), strict=True)]
            )

    def _look(self, frames: Sequence[int], inputs: list[FloatArray]) -> None:
        graph, run = self._graph, self._run
        if graph is None or run is None:
            return
        if self._windowed:
            inputs = [window[None] for window in inputs]
        elif self._widths is not None:
            inputs = aligned(inputs, self._widths)
        try:
            values = run(inputs)
        except UnusableInput:  # the run itself says so; more outputs are no reason to fail
            self._run = None
            return
        if is_finite(values[graph.output]):
            self._note(graph, {**values, **dict(zip(graph.inputs, inputs, strict=True)), **graph.weights}, frames)

    def _note(self, graph: ModelGraph, known: Values, frames: Sequence[int]) -> None:
        for node in graph.nodes:
            if not produces(node, known, graph.weights):
                continue
            value = known[bad_output(node, known)]
            bad = ~np.isfinite(value)
            rows = np.flatnonzero(bad.reshape(len(value), -1).any(axis=1)) if value.shape[:1] == (len(frames),) else [0]
            seen = self.found.get(node_name(node))
            if seen is not None:
                seen.frames += len(rows)
                continue
            caught = _caught_by(graph, node, known)
            first = float(value[bad][0])
            self.found[node_name(node)] = Swallowed(
                node_name(node), node.op_type, first, frames[int(rows[0])], caught, len(rows)
            )


def _observing(graph: ModelGraph) -> Observing | None:
    try:
        return graph.observing(graph.computed)
    except UnusableInput:  # a value that cannot be an output, such as a sequence
        return None


def _caught_by(graph: ModelGraph, node: Any, known: Values) -> str:
    """The first node after it whose output is finite although an input of it is not."""
    tainted = {name for name in node.output if name in known and not is_finite(known[name])}
    for after in graph.nodes:
        if not tainted.intersection(after.input):
            continue
        outputs = [name for name in after.output if name in known]
        if all(is_finite(known[name]) for name in outputs):
            return f"{node_name(after)} ({after.op_type}) catches it"
        tainted.update(name for name in outputs if not is_finite(known[name]))
    return "no node that leads to the output reads it"
