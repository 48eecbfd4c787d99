"""A system's network, bound by position: ONNX through onnxruntime, or any callable.

Recorded outputs need no network: they are recorded stages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.errors import UnusableInput
from rigpact.contract.model.signature import ModelSignature, open_session, run_session, session_signature
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.stage import Compute, Frames
from rigpact.contract.systems.system import NetworkBinding, System

Evaluate = Callable[[Sequence[FloatArray]], Sequence[FloatArray]]
"""A function from the model's inputs to its outputs: rows (N, width), or (1, N, width) if the system is windowed."""


def answer_of(output: str) -> Compute:
    """The stage function of one of the model's outputs. An output of a whole window is repeated in each of its rows."""

    def compute(frames: Frames) -> FloatArray:
        network, system = frames.network, frames.contract.system
        place, inputs = system.outputs.index(output), [frames[name] for name in system.inputs]
        if not system.windowed:
            return np.asarray(network(inputs)[place], np.float32)
        answer = network([rows[None] for rows in inputs])[place][0]
        return np.broadcast_to(answer, (len(inputs[0]), answer.shape[-1])).astype(np.float32)

    return compute


def bound_part(system: System, binding: NetworkBinding) -> System:
    """The system with one of its networks alone: what that network takes and gives."""
    return replace(system, inputs=binding.inputs, outputs=binding.outputs, networks={binding.name: binding})


def each_network(network: Any, system: System) -> list[tuple[Any, System]]:
    """Every network of an evaluation, each with the system reduced to what it takes and gives."""
    if not isinstance(network, Mapping):
        return [(network, system)]
    return [(each, bound_part(system, system.networks[name])) for name, each in network.items()]


class OnnxSystemNetwork:
    """An ONNX model on one CPU thread, so that the same input gives the same bits. An `Evaluate`.

    It caches its last answer, because the stages of several outputs request the same inputs one after the other.
    """

    def __init__(self, path: str | Path, system: System) -> None:
        """Load the model; UnusableInput if its inputs or outputs differ from the system's in number or width."""
        session = open_session(path)
        self.name, self.system = Path(path).name, system
        self.signature = session_signature(session, path)
        _check_signature(self.signature, system)
        self._session = session
        self._inputs = _input_names(self.signature, system)
        self._outputs = [entry.name for entry in self.signature.outputs]
        self._takes_one = any(entry.shape[:1] == (1,) for entry in self.signature.inputs)
        self._last: tuple[list[FloatArray], list[FloatArray]] | None = None

    def __call__(self, inputs: Sequence[FloatArray]) -> list[FloatArray]:
        """Evaluate; row by row if the export fixed the batch to 1."""
        last = self._last
        if last is not None and all(map(np.array_equal, inputs, last[0])):
            return last[1]
        answers = self._evaluate(inputs)
        self._last = [np.array(each) for each in inputs], answers
        return answers

    def _evaluate(self, inputs: Sequence[FloatArray]) -> list[FloatArray]:
        count = len(inputs[0])
        if self._takes_one and count > 1:
            answers = [self._evaluate([each[row : row + 1] for each in inputs]) for row in range(count)]
            return [np.concatenate([answer[place] for answer in answers]) for place in range(len(self._outputs))]
        rows = [np.ascontiguousarray(each, np.float32) for each in inputs]
        answers = run_session(self._session, self._outputs, dict(zip(self._inputs, rows, strict=True)), self.name)
        return [self._flat(answer) for answer in answers]

    def _flat(self, answer: FloatArray) -> FloatArray:
        """Flat rows: further axes of the model's output (joints, coordinates) are joined."""
        kept = 2 if self.system.windowed and answer.ndim > 2 else 1
        return answer.reshape(*answer.shape[:kept], -1)


def _check_signature(signature: ModelSignature, system: System) -> None:
    from rigpact.contract.findings import Severity
    from rigpact.contract.rules.hosted.systems import check_system_model

    errors = [each for each in check_system_model(signature, system) if each.rule.severity is Severity.ERROR]
    if errors:
        raise UnusableInput(
            signature.path, f"{errors[0].rule.code} {errors[0].message}", f"the model of {system.title}",
            "run `rigpact check` on the contract and the model for every finding",
        )  # fmt: skip


def _input_names(signature: ModelSignature, system: System) -> list[str]:
    """The model's inputs in the order of the system's: by position, or as its network declares their names."""
    declared = [list(each.input_names) for each in system.networks.values() if each.inputs == system.inputs]
    names = [entry.name for entry in signature.inputs]
    if not declared or not declared[0]:
        return names
    unknown = sorted(set(declared[0]) ^ set(names))
    if unknown:
        raise UnusableInput(signature.path, f"the inputs {', '.join(names)}", f"{', '.join(declared[0])}, as declared")
    return declared[0]
