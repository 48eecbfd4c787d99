"""Values inside the model that are not finite and never arrive: a Where, a Clip, a softmax keeps them from the output.

Such a value is not a defect of the run: an attention mask is minus infinity on purpose. But a guard that catches a value
today may not catch tomorrow's, so each is a note. Needs a model file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rigpact.contract.as_json import AsJson
from rigpact.contract.errors import UnusableInput
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.system import System
from rigpact.reference_runtime.files.run import Stages
from rigpact.reference_runtime.graph.network import each_network
from rigpact.reports.nonfinite.network_node import ObservedModel, Values, is_finite, made, node_name
from rigpact.reports.nonfinite.origin import bound_inputs, input_order

CONSTANT = "constant"
"""In place of an operator, for a number of the model itself."""
_TOGETHER = 64
"""Frames that are looked at in one inference: a few megabytes of intermediate values."""


def swallowed_values(network: Any, contract: Contract) -> list[SwallowedValues]:
    """An observer for each network of a run."""
    return [SwallowedValues(each, contract, part) for each, part in each_network(network, contract.system)]


@dataclass
class Swallowed(AsJson):
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
        made = f"inside the model, {self.node} ({self.op}) gives {word} {times}"
        return f"{made}; {self.caught_by}, so it does not arrive"


class SwallowedValues:
    """An observer of a run: gathers the model's inputs, and looks at its intermediate values many frames at a time.

    not_seen: why the values inside the model could not be looked at, in words; empty where they were.
    """

    def __init__(self, network: Any, contract: Contract, part: System) -> None:
        """Prepare the model; without a model file nothing is looked at. part: what the network takes and gives."""
        self.found: dict[str, Swallowed] = {}
        self.not_seen = ""
        self._network, self._names = network, input_order(contract, part)
        self._windowed = contract.system.windowed
        self._waiting: list[tuple[int, list[FloatArray]]] = []
        signature = getattr(network, "signature", None)
        self._model = None if signature is None else ObservedModel(signature.path)
        self._run = None
        try:
            self._run = None if self._model is None else self._model.observing(self._model.computed)
        except UnusableInput as error:  # a value that cannot be an output, such as a sequence
            self.not_seen = str(error.found)

    def __call__(self, frame: int, stages: Stages) -> None:
        """Keep the inputs of one frame; look when there are enough."""
        if self._run is None or any(name not in stages for name in self._names):
            return
        self._waiting.append((frame, [stages[name] for name in self._names]))
        if len(self._waiting) == _TOGETHER and not self._windowed:
            self.finish()

    def finish(self) -> None:
        """Look at the frames that wait: together, and one by one where something is not finite or the model takes one."""
        waiting, self._waiting = self._waiting, []
        if waiting and not self._look(waiting, is_last=self._windowed or len(waiting) == 1):
            for each in waiting:
                self._look([each], is_last=True)

    def _look(self, waiting: Sequence[tuple[int, list[FloatArray]]], *, is_last: bool) -> bool:
        """Whether all is said of these frames. is_last: they cannot be looked at in smaller groups."""
        model, run = self._model, self._run
        if model is None or run is None:
            return True
        rows = [np.stack(each) for each in zip(*(vectors for _, vectors in waiting), strict=True)]
        try:
            inputs = bound_inputs(self._network, rows, windowed=self._windowed)
            values = run(inputs)
        except (UnusableInput, ValueError) as error:  # of a group: a model of one row
            if is_last:
                self._run, self.not_seen = None, getattr(error, "found", str(error))
            return is_last
        known = {**values, **dict(zip(model.inputs, inputs, strict=True)), **model.weights}
        if is_last or all(map(is_finite, values.values())):
            self._note(model, known, [frame for frame, _ in waiting])
            return True
        return False

    def _note(self, model: ObservedModel, known: Values, frames: Sequence[int]) -> None:
        if not all(is_finite(known[name]) for name in model.outputs):
            return
        for node in model.nodes:
            places = made(node, known, model.weights)
            for name, where in list(places.items())[:1]:
                maker, caught = (node_name(node), node.op), _caught_by(model, name, known)
                self._tell(maker, name, known[name][where], caught, frames)
        for name, values in model.weights.items():
            readers = [node for node in model.nodes if name in node.inputs]
            outputs = [known[output] for node in readers for output in node.outputs if output in known]
            if outputs and not is_finite(values) and all(map(is_finite, outputs)):
                caught = _caught_by(model, name, known)
                self._tell((name, CONSTANT), name, values[~np.isfinite(values)], caught, frames)

    def _tell(self, maker: tuple[str, str], name: str, bad: FloatArray, caught: str, frames: Sequence[int]) -> None:
        seen = self.found.setdefault(name, Swallowed(*maker, float(bad.flat[0]), frames[0], caught, 0))
        seen.frames += len(frames)


def _caught_by(model: ObservedModel, name: str, known: Values) -> str:
    """The first node after it whose output is finite although an input of it is not."""
    tainted = {name}
    for after in model.nodes:
        if not tainted.intersection(after.inputs):
            continue
        outputs = [name for name in after.outputs if name in known]
        if all(is_finite(known[name]) for name in outputs):
            return f"{node_name(after)} ({after.op}) catches it"
        tainted.update(name for name in outputs if not is_finite(known[name]))
    return "no node that leads to the output reads it"
