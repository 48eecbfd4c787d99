"""A system's network, bound by position: ONNX through onnxruntime, or any callable.

Recorded outputs need no network: they are recorded stages.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.conventions import ModelKnob
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import write_bytes
from rigpact.contract.model.binding import bound_tensors
from rigpact.contract.model.signature import ModelSignature, open_session, run_session, session_signature
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Frames
from rigpact.contract.systems.stage import Compute, NotKnown
from rigpact.contract.systems.system import NetworkBinding, System
from rigpact.reference_runtime.network_rounding.bounded_model import BoundedAnswer, BoundedModel
from rigpact.reference_runtime.vocabulary.network import answered

Evaluate = Callable[[Sequence[FloatArray]], Sequence[FloatArray]]
"""A function from the model's inputs to its outputs: rows (N, width), or (1, N, width) if the system is windowed."""


def answer_of(output: str) -> Compute:
    """The stage function of one of the model's outputs. An output of a whole window is repeated in each of its rows."""

    def compute(frames: Frames) -> FloatArray:
        system = frames.contract.system
        return answered(frames, frames.network, system.inputs, system.outputs.index(output))

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
        self._inputs, self._outputs = (
            [each.name for each in side or ()] for side in bound_tensors(self.signature, system.binding)
        )
        self._own = [entry.name for entry in self.signature.outputs]
        entries = {entry.name: entry for entry in self.signature.inputs}
        widths = {name: system.vectors[stage].width for name, stage in zip(self._inputs, system.inputs, strict=True)}
        self._shapes = {name: entry.shape for name, entry in entries.items()}
        whole = {name for name in self._inputs if entries[name].holds_one_row(widths[name])}
        self._wholes = set() if system.windowed else whole
        self._takes_one = bool(self._wholes) or any(entries[name].shape[:1] == (1,) for name in self._inputs)
        self._last: tuple[list[FloatArray], list[FloatArray]] | None = None
        self._path, self._others = Path(path), dict[tuple[str, str], OnnxSystemNetwork | None]()
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._bounded = BoundedModel(path, self._run_own, takes_one_row=self._takes_one and not self._wholes)

    def under(self, conventions: Mapping[str, Any]) -> OnnxSystemNetwork:
        """The network as a side with these conventions has it; NotKnown where the model has no part that they are about."""
        network = self
        for knob in self.system.knobs.values():
            rewritten = knob.effects[conventions[knob.name]] if isinstance(knob, ModelKnob) else None
            if rewritten is not None:
                network = network._rewritten((knob.name, conventions[knob.name]), rewritten)
        return network

    def _rewritten(self, key: tuple[str, str], rewritten: Callable[[Path], bytes | None]) -> OnnxSystemNetwork:
        if key not in self._others:
            content = rewritten(self._path)
            self._others[key] = None if content is None else self._of(content)
        other = self._others[key]
        if other is None:
            raise NotKnown("network")
        return other

    def _of(self, content: bytes) -> OnnxSystemNetwork:
        """Another model in a file of its own, which lives as long as its network."""
        folder = tempfile.TemporaryDirectory()
        path = Path(folder.name) / self.name
        write_bytes(path, content)
        found = OnnxSystemNetwork(path, self.system)
        found._folder = folder
        return found

    def bounded(self, inputs: Sequence[FloatArray], moved: Sequence[FloatArray]) -> BoundedAnswer:
        """The exact answers to inputs that are known up to `moved`, and the bounds of their rounding."""
        if not self._wholes:
            return self._bounded_rows(inputs, moved)
        rows = [slice(row, row + 1) for row in range(len(inputs[0]))]
        answers = [self._bounded_rows([each[row] for each in inputs], [each[row] for each in moved]) for row in rows]
        return BoundedAnswer.joined(answers)

    def variants(self) -> Iterator[tuple[str, OnnxSystemNetwork]]:
        """The model with one edit, each in words. They have only `bounded`."""
        for words, bounded in self._bounded.variants():
            other = copy(self)
            other._bounded = bounded
            yield words, other

    def _bounded_rows(self, inputs: Sequence[FloatArray], moved: Sequence[FloatArray]) -> BoundedAnswer:
        """The same, in the model's own order and shapes, and back."""
        count = len(inputs[0])
        found = self._bounded.answer(self.own_inputs(inputs), self.own_inputs(moved))

        def flat(outputs: Sequence[FloatArray]) -> list[FloatArray]:
            return [self._flat(outputs[self.own_output(place)], count) for place in range(len(self._outputs))]

        return BoundedAnswer(flat(found.exact), lambda: flat(found.bound))

    def own_inputs(self, vectors: Sequence[FloatArray]) -> list[FloatArray]:
        """The vectors as the model's own inputs: its order, its axes."""
        shaped = {name: self._shaped(name, np.asarray(each)) for name, each in zip(self._inputs, vectors, strict=True)}
        return [shaped[name] if name in shaped else self._unused(name, len(vectors[0])) for name in self._shapes]

    def _unused(self, name: str, count: int) -> FloatArray:
        """Zeros for an input that no bound output is computed from."""
        shape = self._shapes[name]
        sizes = [
            size if isinstance(size, int) else other
            for size, other in zip(shape, (count, *[1] * len(shape)), strict=False)
        ]
        return np.zeros(sizes, np.float32)

    def own_output(self, place: int) -> int:
        """Where the model itself has the output that the system has at `place`."""
        return self._own.index(self._outputs[place])

    def _run_own(self, inputs: Sequence[FloatArray]) -> list[FloatArray]:
        """The model itself, on its own inputs."""
        count = max(map(len, inputs))
        if self._takes_one and not self._wholes and count > 1:
            answers = [self._run_own([_row_of(each, row, count) for each in inputs]) for row in range(count)]
            return [np.concatenate([answer[place] for answer in answers]) for place in range(len(self._own))]
        names = [entry.name for entry in self.signature.inputs]
        rows = [np.ascontiguousarray(each, np.float32) for each in inputs]
        return list(run_session(self._session, self._own, dict(zip(names, rows, strict=True)), self.name))

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
        if self._wholes and count > 1:
            answers = [self._evaluate([each[row : row + 1] for each in inputs]) for row in range(count)]
            return [np.concatenate([answer[place] for answer in answers]) for place in range(len(self._outputs))]
        found = dict(zip(self._own, self._run_own(self.own_inputs(inputs)), strict=True))
        return [self._flat(found[name], count) for name in self._outputs]

    def _shaped(self, name: str, rows: FloatArray) -> FloatArray:
        """The rows as the model takes them: further axes (frames of a history, joints) are split off."""
        shape = self._shapes[name]
        if len(shape) == 1 and name not in self._wholes and not self.system.windowed:
            return rows.reshape(-1)
        if name in self._wholes:
            return rows.reshape([size for size in shape if isinstance(size, int)])
        inner = [size for size in shape[1:] if isinstance(size, int)]
        if self.system.windowed or len(shape) == 2 or len(inner) < len(shape) - 1:
            return rows
        return rows.reshape(len(rows), *inner)

    def _flat(self, answer: FloatArray, count: int) -> FloatArray:
        """Flat rows, `count` of them: further axes of the model's output (joints, coordinates) are joined."""
        if self._takes_one and not self.system.windowed:
            return answer.reshape(count, -1)
        kept = 2 if self.system.windowed and answer.ndim > 2 else 1
        return answer.reshape(*answer.shape[:kept], -1)


def _row_of(rows: FloatArray, row: int, count: int) -> FloatArray:
    """One row; of an unused input of fixed axes, all that there is."""
    return rows[row : row + 1] if len(rows) == count else rows


def _check_signature(signature: ModelSignature, system: System) -> None:
    from rigpact.contract.findings import Severity
    from rigpact.contract.rules import contract_files
    from rigpact.contract.rules.catalogue import findings
    from rigpact.contract.rules.family import Artefacts
    from rigpact.contract.rules.system_view import BoundModel, SystemFiles

    bound = Artefacts(system=SystemFiles(models=(BoundModel(signature, system),)))
    errors = [each for each in findings(bound, (contract_files.HOSTED,)) if each.rule.severity is Severity.ERROR]
    if errors:
        raise UnusableInput(
            signature.path,
            f"{errors[0].rule.code} {errors[0].message}",
            f"the model of {system.title}",
            "run `rigpact check` on the contract and the model for every finding",
        )
