"""A model that also gives its intermediate values, or takes some of them instead of computing them.

Extra outputs and replaced values are made in a copy of the model; the file is never changed. Needs the package `onnx`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import write_bytes
from rigpact.contract.model.graph import onnx_library
from rigpact.contract.model.signature import open_session, run_session
from rigpact.contract.rules.model.model_weights import LARGEST_BYTES
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.files.sentinel import ORDINARY_Z

Values = dict[str, FloatArray]
Run = Callable[[Sequence[FloatArray]], Values]
"""Inputs in the model's order -> values by name; ModelFailed where the graph fails on these inputs."""
Places = dict[str, NDArray[np.bool_]]
"""Where the values of some names are something."""


class ModelGraph:
    """The nodes and weights of a model file, and runs of it; one of its outputs is looked at."""

    def __init__(self, path: Path, output: int = 0) -> None:
        """Read the model and its weights; UnusableInput for one that gives nothing."""
        onnx = onnx_library()
        self._onnx, self._path = onnx, path
        self._model = onnx.load(str(path))
        graph = self._model.graph
        self.inputs = [entry.name for entry in graph.input if entry.name not in {w.name for w in graph.initializer}]
        self.outputs = [entry.name for entry in graph.output]
        if not self.outputs:
            raise UnusableInput(path, "a model without an output", "a model that answers")
        self.output = self.outputs[output]
        self.nodes = [node for node in graph.node if node.output and node.op_type != "Constant"]
        self.weights: Values = {w.name: onnx.numpy_helper.to_array(w) for w in graph.initializer}
        for node in graph.node:
            for attribute in node.attribute if node.op_type == "Constant" else ():
                value = onnx.helper.get_attribute_value(attribute)
                is_tensor = isinstance(value, onnx.TensorProto)
                self.weights[node.output[0]] = onnx.numpy_helper.to_array(value) if is_tensor else np.asarray(value)

    @property
    def computed(self) -> list[str]:
        """The names of all values that nodes compute."""
        return [name for node in self.nodes for name in node.output if name]

    def observing(self, names: Sequence[str]) -> Run:
        """The model with these values as extra outputs, ready to run."""
        return self._observing(self._copy(), names)

    def without_masks(self, inputs: Sequence[FloatArray]) -> Values:
        """All computed values if the masks among the constants are finite; none where that cannot be run."""
        model = self._copy()
        attributes = [each for node in model.graph.node for each in node.attribute]
        held = [*model.graph.initializer, *(each.t for each in attributes if each.HasField("t"))]
        masks = [each for each in held if is_mask(self._onnx.numpy_helper.to_array(each))]
        single = [each for each in attributes if each.HasField("f") and is_mask(np.asarray(each.f, np.float32))]
        for each in masks:
            values = _finite_mask(self._onnx.numpy_helper.to_array(each))
            each.CopyFrom(self._onnx.numpy_helper.from_array(values, each.name))
        for each in single:
            each.f = float(_finite_mask(np.asarray(each.f, np.float32)))
        try:
            return self._observing(model, self.computed)(inputs) if masks or single else {}
        except UnusableInput:
            return {}

    def _observing(self, model: Any, names: Sequence[str]) -> Run:
        extra = [name for name in names if name not in self.outputs]
        model.graph.output.extend(self._onnx.ValueInfoProto(name=name) for name in extra)
        return self._run(model, [*self.outputs, *extra], self.inputs)

    def _run(self, model: Any, outputs: Sequence[str], inputs: Sequence[str]) -> Run:
        session = _session(model)

        def run(given: Sequence[FloatArray]) -> Values:
            values = run_session(session, outputs, dict(zip(inputs, given, strict=True)), self._path)
            return dict(zip(outputs, map(np.asarray, values), strict=True))

        return run

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
            run = self._run(model, [self.output], (*self.inputs, *given))
            return run((*inputs, *given.values()))[self.output]
        except UnusableInput:
            return None

    def _copy(self) -> Any:
        model = self._onnx.ModelProto()
        model.CopyFrom(self._model)
        return model


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


def is_mask(value: FloatArray) -> bool:
    """Whether a constant is infinite on purpose: one infinity, and every other number is 0. Nothing trained looks like that."""
    return not is_finite(value) and any(bool(np.isin(value, (0.0, end)).all()) for end in (np.inf, -np.inf))


def _finite_mask(value: FloatArray) -> FloatArray:
    return np.asarray(np.nan_to_num(value, posinf=ORDINARY_Z, neginf=-ORDINARY_Z))


def has_nan(value: FloatArray) -> bool:
    """Whether a number is NaN."""
    return value.dtype.kind == "f" and bool(np.isnan(value).any())


def made(node: Any, known: Values, weights: Values) -> Places:
    """What a node makes and does not pass on, by output: where there is a NaN that no computed input has, or an infinity
    while all of them are finite. A bad weight counts as the node's own."""
    operands = [known[name] for name in node.input if name in known and name not in weights]
    if any(map(has_nan, operands)):
        return {}
    values = {name: known[name] for name in node.output if name in known and not is_finite(known[name])}
    has_finite = all(map(is_finite, operands))
    places = {name: ~np.isfinite(each) if has_finite else np.isnan(each) for name, each in values.items()}
    return {name: where for name, where in places.items() if where.any()}


def node_name(node: Any) -> str:
    """The node's name, or that of its first output where it has none."""
    return str(node.name or node.output[0])
