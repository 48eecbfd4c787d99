"""A model that also gives its intermediate values, or takes some of them instead of computing them.

Extra outputs and replaced values are made in a copy of the model; the file is never changed.
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
from rigpact.contract.model.graph import Node, open_model
from rigpact.contract.model.signature import open_session, run_session
from rigpact.contract.rules.model.model_weights import LARGEST_BYTES
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.files.sentinel import ORDINARY_Z

Values = dict[str, FloatArray]
Run = Callable[[Sequence[FloatArray]], Values]
"""Inputs in the model's order -> values by name; ModelFailed where the graph fails on these inputs."""
Places = dict[str, NDArray[np.bool_]]
"""Where the values of some names are something."""


class ObservedModel:
    """The nodes and weights of a model file, and runs of it; one of its outputs is looked at."""

    def __init__(self, path: Path, output: int = 0) -> None:
        """Read the model and its weights; UnusableInput for one that gives nothing."""
        graph = open_model(path)
        if not graph.outputs:
            raise UnusableInput(path, "a model without an output", "a model that answers")
        self._path, self._proto = path, graph.proto
        self.inputs, self.outputs = ([entry.name for entry in side] for side in (graph.inputs, graph.outputs))
        self.output = self.outputs[output]
        self.nodes = [node for node in graph.own_nodes if node.outputs]
        self.weights: Values = graph.read_constants()

    @property
    def computed(self) -> list[str]:
        """The names of all values that nodes compute."""
        return [name for node in self.nodes for name in node.outputs if name]

    def observing(self, names: Sequence[str], edited: Any = None) -> Run:
        """The model, or an edited copy of it, with these values as extra outputs, ready to run."""
        model, extra = self._copy() if edited is None else edited, [name for name in names if name not in self.outputs]
        model.graph.output.extend(type(model.graph.output[0])(name=name) for name in extra)
        return self._run(model, [*self.outputs, *extra], self.inputs)

    def without_masks(self, inputs: Sequence[FloatArray]) -> Values:
        """All computed values if the masks among the constants are finite; none where that cannot be run."""
        from onnx import numpy_helper

        model = self._copy()
        attributes = [each for node in model.graph.node for each in node.attribute]
        held = [*model.graph.initializer, *(each.t for each in attributes if each.HasField("t"))]
        masks = [each for each in held if is_mask(numpy_helper.to_array(each))]
        single = [each for each in attributes if each.HasField("f") and is_mask(np.asarray(each.f, np.float32))]
        for each in masks:
            each.CopyFrom(numpy_helper.from_array(ordinary(numpy_helper.to_array(each)), each.name))
        for each in single:
            each.f = float(ordinary(np.asarray(each.f, np.float32)))
        try:
            return self.observing(self.computed, model)(inputs) if masks or single else {}
        except UnusableInput:
            return {}

    def _run(self, model: Any, outputs: Sequence[str], inputs: Sequence[str]) -> Run:
        if model.ByteSize() > LARGEST_BYTES:
            expected = "a model that can be written as one file"
            raise UnusableInput("the model", f"more than {LARGEST_BYTES} bytes", expected)
        with tempfile.TemporaryDirectory() as folder:
            write_bytes(Path(folder) / "observed.onnx", model.SerializeToString())
            session = open_session(Path(folder) / "observed.onnx")

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
        from onnx import helper

        model = self._copy()
        for node in model.graph.node:
            for place, name in enumerate(node.output):
                if name in given:
                    node.output[place] = f"{name}/computed"
        for name, value in given.items():
            kind = helper.np_dtype_to_tensor_dtype(value.dtype)
            model.graph.input.append(helper.make_tensor_value_info(name, kind, value.shape))
        try:
            run = self._run(model, [self.output], (*self.inputs, *given))
            return run((*inputs, *given.values()))[self.output]
        except UnusableInput:
            return None

    def _copy(self) -> Any:
        """The file's content with all of its weights, to be changed."""
        from onnx.external_data_helper import load_external_data_for_model

        model = type(self._proto)()
        model.CopyFrom(self._proto)
        load_external_data_for_model(model, str(self._path.parent))
        return model


def is_finite(value: FloatArray) -> bool:
    """Whether no number is NaN or infinite; whole numbers and flags always are finite."""
    return value.dtype.kind != "f" or bool(np.isfinite(value).all())


def is_mask(value: FloatArray) -> bool:
    """Whether a constant is infinite on purpose: one infinity, and every other number is 0. Nothing trained looks like that."""
    return not is_finite(value) and any(bool(np.isin(value, (0.0, end)).all()) for end in (np.inf, -np.inf))


def ordinary(value: FloatArray) -> FloatArray:
    """The value with ordinary numbers: 1 for NaN, the end of the ordinary range for an infinity."""
    return np.asarray(np.nan_to_num(value, nan=1.0, posinf=ORDINARY_Z, neginf=-ORDINARY_Z))


def has_nan(value: FloatArray) -> bool:
    """Whether a number is NaN."""
    return value.dtype.kind == "f" and bool(np.isnan(value).any())


def made(node: Node, known: Values, weights: Values) -> Places:
    """What a node makes and does not pass on, by output: where there is a NaN that no computed input has, or an infinity
    while all of them are finite. A bad weight counts as the node's own."""
    operands = [known[name] for name in node.inputs if name in known and name not in weights]
    if any(map(has_nan, operands)):
        return {}
    values = {name: known[name] for name in node.outputs if name in known and not is_finite(known[name])}
    has_finite = all(map(is_finite, operands))
    places = {name: ~np.isfinite(each) if has_finite else np.isnan(each) for name, each in values.items()}
    return {name: where for name, where in places.items() if where.any()}


def node_name(node: Node) -> str:
    """The node's name, or that of its first output where it has none."""
    return node.name or node.outputs[0]
