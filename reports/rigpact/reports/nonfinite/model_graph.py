"""A model that also gives its intermediate values, or takes some of them instead of computing them.

Extra outputs and replaced values are made in a copy of the model; the file is never changed. Needs the package `onnx`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import write_bytes
from rigpact.contract.model.signature import open_session, run_session
from rigpact.contract.rules.model.model_weights import LARGEST_BYTES
from rigpact.contract.statistics import FloatArray

Values = dict[str, FloatArray]


class ModelGraph:
    """The nodes and weights of a model file, and runs of it; one of its outputs is looked at."""

    def __init__(self, path: Path, output: int = 0) -> None:
        """Read the model and its weights."""
        import onnx

        self._onnx, self._path = onnx, path
        self._model = onnx.load(str(path))
        graph = self._model.graph
        self.inputs = [entry.name for entry in graph.input if entry.name not in {w.name for w in graph.initializer}]
        self.output = graph.output[output].name
        self.nodes = [node for node in graph.node if node.output and node.op_type != "Constant"]
        self.weights: Values = {w.name: onnx.numpy_helper.to_array(w) for w in graph.initializer}
        for node in graph.node:
            if node.op_type == "Constant" and node.attribute and node.attribute[0].HasField("t"):
                self.weights[node.output[0]] = onnx.numpy_helper.to_array(node.attribute[0].t)

    @property
    def computed(self) -> list[str]:
        """The names of all values that nodes compute."""
        return [name for node in self.nodes for name in node.output if name]

    def observing(self, names: Sequence[str]) -> Observing:
        """The model with these values as extra outputs, ready to run."""
        model = self._copy()
        known = {entry.name for entry in model.graph.output}
        extra = [name for name in names if name not in known]
        model.graph.output.extend(self._onnx.ValueInfoProto(name=name) for name in extra)
        return Observing(_session(model), (self.output, *extra), self.inputs, self._path)

    def observed(self, names: Sequence[str], inputs: Sequence[FloatArray]) -> tuple[FloatArray, Values] | None:
        """Run with `names` as extra outputs: the output and their values; None where that cannot be run."""
        try:
            values = self.observing(names)(inputs)
        except UnusableInput:
            return None
        return values[self.output], values

    def answered(self, given: Mapping[str, FloatArray], inputs: Sequence[FloatArray]) -> FloatArray | None:
        """The output if some computed values are given instead of computed; None where that cannot be run."""
        model = self._copy()
        for node in model.graph.node:
            for place, name in enumerate(node.output):
                if name in given:
                    node.output[place] = f"{name}/computed"
        for name, value in given.items():
            kind = self._onnx.helper.np_dtype_to_tensor_dtype(value.dtype)
            model.graph.input.append(self._onnx.helper.make_tensor_value_info(name, kind, value.shape))
        try:
            run = Observing(_session(model), (self.output,), (*self.inputs, *given), self._path)
            return run((*inputs, *given.values()))[self.output]
        except UnusableInput:
            return None

    def _copy(self) -> Any:
        model = self._onnx.ModelProto()
        model.CopyFrom(self._model)
        return model


class Observing:
    """A session with chosen outputs: inputs in the model's order -> values by name."""

    def __init__(self, session: Any, outputs: Sequence[str], inputs: Sequence[str], path: Path) -> None:
        """Keep the session and the names."""
        self._session, self._outputs, self._inputs, self._path = session, list(outputs), inputs, path

    def __call__(self, inputs: Sequence[FloatArray]) -> Values:
        """Run; ModelFailed where the graph fails on these inputs."""
        values = run_session(self._session, self._outputs, dict(zip(self._inputs, inputs, strict=True)), self._path)
        return dict(zip(self._outputs, map(np.asarray, values), strict=True))


def _session(model: Any) -> Any:
    if model.ByteSize() > LARGEST_BYTES:
        raise UnusableInput("the model", f"more than {LARGEST_BYTES} bytes", "a model that can be written as one file")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "observed.onnx"
        write_bytes(path, model.SerializeToString())
        return open_session(path)


def is_finite(value: FloatArray) -> bool:
    """Whether no number is NaN or infinite; whole numbers and flags always are finite."""
    return value.dtype.kind != "f" or bool(np.isfinite(value).all())


def produces(node: Any, known: Values, weights: Values) -> bool:
    """Whether a node's output is bad while its computed inputs are not; a bad weight counts as the node's own."""
    outputs = [known[name] for name in node.output if name in known]
    if all(map(is_finite, outputs)):
        return False
    return all(is_finite(known[name]) for name in node.input if name in known and name not in weights)


def bad_output(node: Any, known: Values) -> str:
    """The name of the first output of a node that is not finite."""
    return str(next(name for name in node.output if name in known and not is_finite(known[name])))


def node_name(node: Any) -> str:
    """The node's name, or that of its first output where it has none."""
    return str(node.name or node.output[0])
