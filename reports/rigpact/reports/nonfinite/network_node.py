"""Find the node of an ONNX graph that made a non-finite value, and whether weights or inputs are the cause.

Intermediate values become extra outputs, on the failing frame only, in a copy of the model: the file is never changed. An extra
output can stop onnxruntime from fusing nodes, and so change the result. Therefore an observation counts only if the observed
network gives exactly the bits that failed.

A NaN comes from the first node that makes one from none. Where it makes it from infinities that were computed (an overflow, a
quotient), it comes from the node that made those. An infinity that a mask among the constants holds is no such one: nor is the
minus infinity that a softmax takes for a weight of zero.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.as_json import AsJson
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import write_bytes
from rigpact.contract.model.graph import Node, open_model
from rigpact.contract.model.signature import open_session, run_session
from rigpact.contract.rules.model_graph import LARGEST_BYTES
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.files.sentinel import ORDINARY_Z

Values = dict[str, FloatArray]
Run = Callable[[Sequence[FloatArray]], Values]
"""Inputs in the model's order -> values by name; ModelFailed where the graph fails on these inputs."""
Places = dict[str, NDArray[np.bool_]]
"""Where the values of some names are something."""
_MOST_PROBES = 256
"""Largest number of nodes to observe one by one, if observing all together changes the result."""


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

    def prepared(
        self, names: Sequence[str], given: Mapping[str, FloatArray] | None = None, *, sane: bool = False
    ) -> Run:
        """The model, ready to run, with these values as extra outputs; a copy: the file stays as it is.

        given: computed values that the run is given instead. sane: with the masks among the constants finite.
        """
        from onnx import helper
        from onnx.external_data_helper import load_external_data_for_model

        model, given, extra = type(self._proto)(), given or {}, [name for name in names if name not in self.outputs]
        model.CopyFrom(self._proto)
        load_external_data_for_model(model, str(self._path.parent))
        model.graph.output.extend(type(model.graph.output[0])(name=name) for name in extra)
        for node in model.graph.node:
            for place, name in enumerate(node.output):
                if name in given:
                    node.output[place] = f"{name}/computed"
        kinds = {name: helper.np_dtype_to_tensor_dtype(value.dtype) for name, value in given.items()}
        model.graph.input.extend(helper.make_tensor_value_info(name, kinds[name], given[name].shape) for name in given)
        if sane:
            _mend_masks(model)
        if model.ByteSize() > LARGEST_BYTES:
            expected = "a model that can be written as one file"
            raise UnusableInput("the model", f"more than {LARGEST_BYTES} bytes", expected)
        with tempfile.TemporaryDirectory() as folder:
            write_bytes(Path(folder) / "observed.onnx", model.SerializeToString())
            session = open_session(Path(folder) / "observed.onnx")
        outputs = [*self.outputs, *extra]

        def run(inputs: Sequence[FloatArray]) -> Values:
            fed = {**dict(zip(self.inputs, inputs, strict=True)), **given}
            return dict(zip(outputs, map(np.asarray, run_session(session, outputs, fed, self._path)), strict=True))

        return run

    def values(self, inputs: Sequence[FloatArray], names: Sequence[str] = (), **prepared: Any) -> Values:
        """The outputs and these values of one run, prepared so; none where that cannot be run."""
        try:
            return self.prepared(names, **prepared)(inputs)
        except UnusableInput:
            return {}


def _mend_masks(model: Any) -> None:
    from onnx import numpy_helper

    attributes = [each for node in model.graph.node for each in node.attribute]
    for each in (*model.graph.initializer, *(each.t for each in attributes if each.HasField("t"))):
        if is_mask(numpy_helper.to_array(each)):
            each.CopyFrom(numpy_helper.from_array(ordinary(numpy_helper.to_array(each)), each.name))
    for each in attributes:
        if each.HasField("f") and is_mask(np.asarray(each.f, np.float32)):
            each.f = float(ordinary(np.asarray(each.f, np.float32)))


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


@dataclass(frozen=True)
class NodeOrigin(AsJson):
    """A node: name, operation, first bad element, largest number of each input (None: not finite), and the cause.

    blame: `weights` (a weight holds a bad number, or the node fails on ordinary inputs too) or `inputs`. same_bits:
    whether the observed network gave the bits that failed; if False, fused nodes could not be separated.
    """

    KEYS = "node: name op element largest_operands blame weight same_bits"
    name: str
    op: str
    element: tuple[int, ...]
    largest_operands: Mapping[str, float | None]
    blame: str
    weight: str | None
    same_bits: bool


def name_node(path: Path, inputs: Sequence[FloatArray], failed: FloatArray, output: int = 0) -> NodeOrigin | None:
    """The node that made the first bad value of an output; None where it cannot be found.

    inputs: as they are bound. failed: the output's rows (N, width) as they were.
    """
    if not all(np.isfinite(vector).all() for vector in inputs):
        return None
    model = ObservedModel(path, output)
    values, same = _observe(model, inputs, failed)
    known = {**values, **dict(zip(model.inputs, inputs, strict=True)), **model.weights}
    node = _origin_of(model, known, inputs)
    return None if node is None else _described(model, node, known, inputs, same_bits=same)


def _origin_of(model: ObservedModel, known: Values, inputs: Sequence[FloatArray]) -> Node | None:
    makers = [(node, made(node, known, model.weights)) for node in model.nodes]
    meant = _meant(model, known, inputs)
    first_nan = None
    output = known.get(model.output, np.zeros(1))
    if np.isnan(output[~np.isfinite(output)][:1]).any():
        of_nan = [node for node, places in makers if any(np.isnan(known[name]).any() for name in places)]
        first_nan = _guilty(model, of_nan, known, inputs)
        if first_nan is not None and not _given_computed_infinity(first_nan, known, model.weights, meant):
            return first_nan
    own = [node for node, places in makers if any((where & ~meant[name]).any() for name, where in places.items())]
    found = _guilty(model, own, known, inputs) or first_nan
    return found or _guilty(model, [node for node, places in makers if places], known, inputs)


def _meant(model: ObservedModel, known: Values, inputs: Sequence[FloatArray]) -> Places:
    """Where the infinities of each value are those of a mask: they are gone if the masks are finite."""
    sane = model.values(inputs, model.computed, sane=True)
    meant: Places = {name: np.zeros(value.shape, np.bool_) for name, value in known.items()}
    for name, other in sane.items():
        if name in known and known[name].dtype.kind == "f" and other.shape == known[name].shape:
            meant[name] = np.isinf(known[name]) & np.isfinite(other)
    return meant


_TAKES_MINUS_INFINITY = frozenset({"Softmax", "LogSoftmax", "ReduceLogSumExp"})
"""Operators to which minus infinity is a weight of zero."""


def _given_computed_infinity(node: Node, known: Values, weights: Values, meant: Places) -> bool:
    """Whether an operand holds an infinity that a node computed, and that the node has no meaning for."""
    operands = [(known[name], meant[name]) for name in node.inputs if name in known and name not in weights]
    floats = [(value, mask) for value, mask in operands if value.dtype.kind == "f"]
    bad: Callable[[FloatArray], NDArray[np.bool_]] = np.isposinf if node.op in _TAKES_MINUS_INFINITY else np.isinf
    return any(bool((bad(value) & ~mask).any()) for value, mask in floats)


def _guilty(model: ObservedModel, suspects: Sequence[Node], known: Values, inputs: Sequence[FloatArray]) -> Node | None:
    """Of the nodes that make a bad value, the first whose value is why the output is bad; None without a suspect.

    An attention mask or a capped quotient is infinite too and never arrives. So all suspects but one are fixed: if
    the output is still bad at its first bad place, that one is enough. Where no single one is enough, the first one
    without which the output is finite is named.
    """
    if len(suspects) < 2 or model.output not in known:
        return next(iter(suspects), None)
    bad = ~np.isfinite(known[model.output])
    for suspect in suspects:
        others = [each for each in suspects if each is not suspect]
        answer = model.values(inputs, given=_mended(others, known)).get(model.output)
        if answer is not None and answer.shape == bad.shape and not np.isfinite(answer[bad][:1]).all():
            return suspect
    for suspect in suspects:
        answer = model.values(inputs, given=_mended([suspect], known)).get(model.output)
        if answer is not None and np.isfinite(answer).all():
            return suspect
    return suspects[0]


def _mended(nodes: Sequence[Node], known: Values) -> Values:
    return {
        name: ordinary(known[name])
        for node in nodes
        for name in node.outputs
        if name in known and not is_finite(known[name])
    }


def _observe(model: ObservedModel, inputs: Sequence[FloatArray], failed: FloatArray) -> tuple[Values, bool]:
    """Values of the intermediates, and whether the output kept its bits while they were observed."""
    names = model.computed
    together = model.values(inputs, names)
    if together and same_values(together[model.output], failed):
        return together, True
    kept: Values = {}
    for name in names[:_MOST_PROBES]:
        seen = model.values(inputs, [name])
        if seen and same_values(seen[model.output], failed):
            kept |= seen
    return (kept, True) if kept else (together, False)


def same_values(a: FloatArray, b: FloatArray) -> bool:
    """Whether an output holds the same bits as the rows `b`, (N, width); all NaN count as equal."""
    b = np.atleast_2d(b)
    if a.size % b.shape[-1] or a.size // b.shape[-1] not in (1, len(b)):
        return False
    a = np.broadcast_to(a.reshape(-1, b.shape[-1]), b.shape)
    bits = [np.ascontiguousarray(side).view(np.uint32) for side in (a, b)]
    return bool(np.all((np.isnan(a) & np.isnan(b)) | (bits[0] == bits[1])))


def _bad_weight(node: Node, weights: Values) -> str | None:
    for name in node.inputs:
        if name in weights and not is_finite(weights[name]):
            index = np.argwhere(~np.isfinite(weights[name]))[0]
            return f"{name}[{', '.join(map(str, index))}]" if len(index) else name  # a single number has no index
    return None


def _described(
    model: ObservedModel, node: Node, known: Values, inputs: Sequence[FloatArray], *, same_bits: bool
) -> NodeOrigin:
    where = next(iter(made(node, known, model.weights).values()))
    element = tuple(int(index) for index in np.argwhere(where)[0])
    sizes = {name: float(np.abs(known[name]).max()) for name in node.inputs if name in known and known[name].size}
    largest = {name: size if np.isfinite(size) else None for name, size in sizes.items()}
    weight = _bad_weight(node, model.weights)
    blame = "weights" if weight or _fails_on_ordinary_inputs(model, node, inputs) else "inputs"
    return NodeOrigin(node_name(node), node.op, element, largest, blame, weight, same_bits)


def _fails_on_ordinary_inputs(model: ObservedModel, node: Node, inputs: Sequence[FloatArray]) -> bool:
    clamped = [np.clip(vector, -ORDINARY_Z, ORDINARY_Z) for vector in inputs]
    seen = model.values(clamped, node.outputs)
    return not all(is_finite(seen[name]) for name in node.outputs if name in seen)
