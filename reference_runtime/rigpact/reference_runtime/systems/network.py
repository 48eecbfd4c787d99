"""A system's network: the model's inputs in, its outputs out, bound by position. ONNX through onnxruntime, or any callable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from rigpact.contract.errors import UnusableInput
from rigpact.contract.model.signature import ModelSignature, open_session, session_signature
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.definition import SystemDefinition

Evaluate = Callable[[Sequence[FloatArray]], Sequence[FloatArray]]
"""The model's inputs to its outputs: rows (T, width), or (1, T, width) where the system is windowed."""


class OnnxSystemNetwork:
    """An ONNX model on one CPU thread, so that the same input gives the same bits. An `Evaluate`."""

    def __init__(self, path: str | Path, definition: SystemDefinition) -> None:
        """Load the model; UnusableInput where its inputs or outputs are not the system's in number or width."""
        session = open_session(path)
        self.name, self.definition = Path(path).name, definition
        self.signature = session_signature(session, path)
        _check_signature(self.signature, definition)
        self._session = session
        self._inputs = [entry.name for entry in self.signature.inputs]
        self._outputs = [entry.name for entry in self.signature.outputs]
        self._takes_one = any(entry.shape[:1] == (1,) for entry in self.signature.inputs)

    def __call__(self, inputs: Sequence[FloatArray]) -> list[FloatArray]:
        """Evaluate, row by row where the export fixed the batch to 1."""
        count = len(inputs[0])
        if self._takes_one and count > 1:
            answers = [self([each[row : row + 1] for each in inputs]) for row in range(count)]
            return [np.concatenate([answer[place] for answer in answers]) for place in range(len(self._outputs))]
        rows = [np.ascontiguousarray(each, np.float32) for each in inputs]
        answers = self._session.run(self._outputs, dict(zip(self._inputs, rows, strict=True)))
        return [self._flat(answer) for answer in answers]

    def _flat(self, answer: FloatArray) -> FloatArray:
        """Rows of numbers: what the model gives in more axes (joints, coordinates) laid end to end."""
        kept = 2 if self.definition.windowed and answer.ndim > 2 else 1
        return answer.reshape(*answer.shape[:kept], -1)


def _check_signature(signature: ModelSignature, definition: SystemDefinition) -> None:
    from rigpact.contract.findings import Severity
    from rigpact.contract.rules.hosted.systems import check_system_model

    errors = [each for each in check_system_model(signature, definition) if each.rule.severity is Severity.ERROR]
    if errors:
        raise UnusableInput(
            signature.path, f"{errors[0].rule.code} {errors[0].message}", f"the model of {definition.title}",
            "run `rigpact check` on the contract and the model for every finding",
        )  # fmt: skip
