"""Find the node of an ONNX graph that made a non-finite value, and whether weights or inputs are the cause.

Intermediate values become extra outputs, on the failing frame only. An extra output can stop onnxruntime from fusing
nodes, and so change the result. Therefore an observation counts only if the observed network gives exactly the bits
that failed. Needs the optional package `onnx`; without it no node is named.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.model.graph import onnx_is_installed
from rigpact.contract.model.signature import onnxruntime_errors, open_session
from rigpact.contract.statistics import FloatArray

ORDINARY_Z = 16.0
"""Inputs beyond this are not ordinary: the exporter's graph clamps state and condition there."""
_MOST_PROBES = 256
"""Largest number of nodes to observe one by one, if observing all together changes the result."""
Values = dict[str, FloatArray]


@dataclass(frozen=True)
class NodeOrigin:
    """A node: name, operation, first bad element, input ranges, and the cause.

    blame: `weights` (a weight holds a bad number, or the node fails on ordinary inputs too) or `inputs`. same_bits:
    whether the observed network gave the bits that failed; if False, fused nodes could not be separated.
    """

    name: str
    op: str
    element: tuple[int, ...]
    ranges: dict[str, float]
    blame: str
    weight: str | None
    same_bits: bool

    def to_json(self) -> dict[str, Any]:
        """The `network` object beside `network_node`."""
        return {
            "node": self.name,
            "op": self.op,
            "element": list(self.element),
            "largest_operands": {name: None if not np.isfinite(size) else size for name, size in self.ranges.items()},
            "blame": self.blame,
            "weight": self.weight,
            "same_bits": self.same_bits,
        }


class _Graph:
    """A model that can run with intermediate values as extra outputs; one of its outputs is observed."""

    def __init__(self, path: Path, output: int) -> None:
        import onnx

        self._onnx = onnx
        self._model = onnx.load(str(path))
        graph = self._model.graph
        self.inputs = [entry.name for entry in graph.input if entry.name not in {w.name for w in graph.initializer}]
        self.output = graph.output[output].name
        self.nodes = [node for node in graph.node if node.output and node.op_type != "Constant"]
        self.weights: Values = {w.name: onnx.numpy_helper.to_array(w) for w in graph.initializer}
        for node in graph.node:
            if node.op_type == "Constant" and node.attribute and node.attribute[0].HasField("t"):
                self.weights[node.output[0]] = onnx.numpy_helper.to_array(node.attribute[0].t)

    def observed(self, names: Sequence[str], inputs: Sequence[FloatArray]) -> tuple[FloatArray, Values] | None:
        """Run with `names` as extra outputs: the output and their values; None where onnxruntime fails."""
        model = self._onnx.ModelProto()
        model.CopyFrom(self._model)
        known = {entry.name for entry in model.graph.output}
        extra = [name for name in names if name not in known]
        model.graph.output.extend(self._onnx.ValueInfoProto(name=name) for name in extra)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "observed.onnx"
            path.write_bytes(model.SerializeToString())
            session = open_session(path)
        try:
            wanted = [self.output, *extra]
            values = session.run(wanted, dict(zip(self.inputs, inputs, strict=True)))
        except onnxruntime_errors():
            return None
        return values[0], dict(zip(wanted, values, strict=True))


def name_node(path: Path, inputs: Sequence[FloatArray], failed: FloatArray, output: int = 0) -> NodeOrigin | None:
    """The node that made the first bad value of an output; None where it cannot be found.

    inputs: as they are bound. failed: the output's rows (N, width) as they were.
    """
    if not onnx_is_installed() or not all(np.isfinite(vector).all() for vector in inputs):
        return None
    graph = _Graph(path, output)
    values, same = _observe(graph, inputs, failed)
    known = {**values, **dict(zip(graph.inputs, inputs, strict=True)), **graph.weights}
    node = next((node for node in graph.nodes if _produces(node, known, graph.weights)), None)
    return None if node is None else _described(graph, node, known, inputs, same_bits=same)


def _observe(graph: _Graph, inputs: Sequence[FloatArray], failed: FloatArray) -> tuple[Values, bool]:
    """Values of the intermediates, and whether the output kept its bits while they were observed."""
    names = [name for node in graph.nodes for name in node.output if name]
    together = graph.observed(names, inputs)
    if together and same_values(together[0], failed):
        return together[1], True
    apart = [graph.observed([name], inputs) for name in names[:_MOST_PROBES]]
    kept: Values = {}
    for seen in apart:
        if seen and same_values(seen[0], failed):
            kept |= seen[1]
    return (kept, True) if kept else (together[1] if together else {}, False)


def same_values(a: FloatArray, b: FloatArray) -> bool:
    """Whether an output holds the same bits as the rows `b`, (N, width); all NaN count as equal."""
    b = np.atleast_2d(b)
    if a.size % b.shape[-1] or a.size // b.shape[-1] not in (1, len(b)):
        return False
    a = np.broadcast_to(a.reshape(-1, b.shape[-1]), b.shape)
    bits = [np.ascontiguousarray(side).view(np.uint32) for side in (a, b)]
    return bool(np.all((np.isnan(a) & np.isnan(b)) | (bits[0] == bits[1])))


def _produces(node: Any, known: Values, weights: Values) -> bool:
    """Whether a node's output is bad while its computed inputs are not; a bad weight counts as the node's own."""
    outputs = [known[name] for name in node.output if name in known]
    if all(_is_finite(value) for value in outputs):
        return False
    return all(_is_finite(known[name]) for name in node.input if name in known and name not in weights)


def _bad_weight(node: Any, weights: Values) -> str | None:
    for name in node.input:
        if name in weights and not _is_finite(weights[name]):
            index = tuple(int(place[0]) for place in np.nonzero(~np.isfinite(weights[name])))
            return f"{name}[{', '.join(map(str, index))}]"
    return None


def _is_finite(value: FloatArray) -> bool:
    return value.dtype.kind != "f" or bool(np.isfinite(value).all())


def _described(graph: _Graph, node: Any, known: Values, inputs: Sequence[FloatArray], *, same_bits: bool) -> NodeOrigin:
    output = next(known[name] for name in node.output if name in known and not _is_finite(known[name]))
    element = tuple(int(index) for index in np.argwhere(~np.isfinite(output))[0])
    ranges = {name: float(np.abs(known[name]).max()) for name in node.input if name in known and known[name].size}
    weight = _bad_weight(node, graph.weights)
    blame = "weights" if weight or _fails_on_ordinary_inputs(graph, node, inputs) else "inputs"
    return NodeOrigin(node.name or node.output[0], node.op_type, element, ranges, blame, weight, same_bits)


def _fails_on_ordinary_inputs(graph: _Graph, node: Any, inputs: Sequence[FloatArray]) -> bool:
    """Whether the node also fails when every input is clamped to the ordinary range."""
    ordinary = [np.clip(vector, -ORDINARY_Z, ORDINARY_Z) for vector in inputs]
    seen = graph.observed(list(node.output), ordinary)
    return seen is not None and not all(_is_finite(seen[1][name]) for name in node.output if name in seen[1])
