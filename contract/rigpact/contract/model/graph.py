"""The nodes and weights of an ONNX model, as plain values that rules can judge.

Weights are summarised
one by one and then released, so memory never holds a large model twice. The size of weights in other files is checked
before they are read; files outside the model's folder are never read. The rules of rules/model judge a graph.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

import numpy as np

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import MAX_FILE_BYTES, is_file, read_bytes
from rigpact.contract.json_pointer import Token, json_pointer
from rigpact.contract.model.tensor import TensorSignature

ESCAPES, MISSING, SHORT = "escapes", "missing", "short"
"""What can be wrong with weights that stand in another file."""
_DTYPES = {1: "float32", 10: "float16", 11: "float64", 16: "bfloat16", 7: "int64", 6: "int32", 9: "bool"}
_FLOATING = {"float32", "float64", "float16", "bfloat16"}
_SMALL = 1 << 12
"""Weights of at most so many numbers are kept whole: bounds, axes, flags, statistics of an input."""


@dataclass(frozen=True)
class External:
    """Weights in another file: where they should be, and what is wrong with that ('' if nothing)."""

    location: str
    problem: str = ""


@dataclass(frozen=True)
class Defect:
    """Numbers of a weight that are not finite: the first one's index, its value, how many there are.

    is_mask: all of them are the same infinity, and every other number is 0: nothing that was trained looks like that.
    """

    index: tuple[int, ...]
    value: float
    count: int
    is_mask: bool = False


@dataclass(frozen=True)
class Weight:
    """An initializer or constant: type, shape, size in bytes, and what its numbers are like.

    `values` holds small ones whole, else nothing. `not_finite` and `all_zero` are None and False where unread.
    """

    pointer: str
    name: str
    dtype: str
    shape: tuple[int, ...]
    bytes: int
    values: tuple[float, ...] = ()
    not_finite: Defect | None = None
    all_zero: bool = False
    external: External | None = None


@dataclass(frozen=True)
class Node:
    """One operation: its inputs (with what its subgraphs take from outside), outputs and plain attributes."""

    pointer: str
    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    domain: str = ""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    captured: tuple[str, ...] = ()


@dataclass(frozen=True)
class ModelGraph:
    """A model as its file says it: operator sets, inputs and outputs, nodes (subgraphs too), weights, metadata.

    inputs: those that a runtime asks for. listed: every name among the file's inputs; old files list their weights there too.
    """

    path: Path
    opsets: Mapping[str, int]
    inputs: tuple[TensorSignature, ...]
    outputs: tuple[TensorSignature, ...]
    nodes: tuple[Node, ...]
    weights: tuple[Weight, ...]
    own_domains: frozenset[str] = frozenset()
    sha256: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    listed: tuple[str, ...] = ()

    @property
    def weight(self) -> Mapping[str, Weight]:
        """Weights by name."""
        return {weight.name: weight for weight in self.weights}

    @property
    def parameters(self) -> int:
        """How many numbers the weights hold."""
        return sum(int(np.prod(weight.shape, dtype=object)) for weight in self.weights)

    @cached_property
    def _made(self) -> Mapping[str, Node]:
        return {output: node for node in self.nodes for output in node.outputs}

    def inputs_of(self, outputs: Iterable[str]) -> frozenset[str]:
        """The model's inputs that some of its tensors are computed from."""
        seen, waiting = set[str](), list(outputs)
        while waiting:
            name = waiting.pop()
            if name not in seen and name in self._made:
                waiting += (*self._made[name].inputs, *self._made[name].captured)
            seen.add(name)
        return frozenset(entry.name for entry in self.inputs if entry.name in seen)

    def is_copied(self, output: str) -> bool:
        """Whether an output is nothing that the model computes: a constant, or what an input or another output is."""
        name, others = output, {entry.name for entry in (*self.inputs, *self.outputs)} - {output}
        while name not in others and name in self._made and self._made[name].op == "Identity":
            name = self._made[name].inputs[0]
        return name in others or not self.inputs_of([name])

    @property
    def is_contained(self) -> bool:
        """Whether the model can be opened: no weights are missing or lie outside its folder."""
        return not any(weight.external and weight.external.problem for weight in self.weights)


def onnx_library() -> Any:
    """The package onnx, imported where a graph is read; UnusableInput where it is gone, though rigpact depends on it."""
    try:
        return import_module("onnx")
    except ModuleNotFoundError:
        hint = "install it: pip install onnx"
        raise UnusableInput("onnx", "the package onnx is not installed", "rigpact's own dependencies", hint) from None


def read_model_graph(path: str | Path) -> ModelGraph:
    """Read the nodes and weights of an ONNX file; UnusableInput when it is none."""
    onnx, content = onnx_library(), read_bytes(path)
    decode_error = import_module("google.protobuf.message").DecodeError
    try:
        model = onnx.load_model_from_string(content)
    except decode_error as error:
        raise UnusableInput(path, f"bytes that are not an ONNX model ({error})", "an ONNX model") from None
    if not all(isinstance(word, str) for word in _words_of(model)):  # protobuf then hands over bytes
        raise UnusableInput(path, "a name that is not text", "names in UTF-8", "a damaged file?")
    digest = hashlib.sha256(content).hexdigest()
    try:
        return _to_graph(Path(path), model, digest)
    except CycleError as error:
        found = f"a graph in which {error.args[1][0]!r} is computed from itself"
        raise UnusableInput(path, found, "nodes of which each takes what others gave before") from None


def _words_of(model: Any) -> Iterator[Any]:
    """Names of a model's tensors, nodes, operations, axes, metadata."""
    graph = model.graph
    for node in (*graph.node, *(node for body in model.functions for node in body.node)):
        yield from (node.name, node.op_type, node.domain, *node.input, *node.output)
        yield from (attribute.name for attribute in node.attribute)
    for entry in (*graph.input, *graph.output):
        yield from (entry.name, *(axis.dim_param for axis in entry.type.tensor_type.shape.dim))
    yield from (tensor.name for tensor in graph.initializer)
    for pair in model.metadata_props:
        yield from (pair.key, pair.value)


def _to_graph(path: Path, model: Any, digest: str) -> ModelGraph:
    functions = [_nodes(body.node, ("functions", place)) for place, body in enumerate(model.functions)]
    nodes = (*_nodes(model.graph.node, ("graph",)), *(node for body in functions for node in body))
    weights = tuple(_weights(path.parent, model.graph))
    named = {weight.name for weight in weights}
    return ModelGraph(
        path=path,
        opsets={entry.domain: int(entry.version) for entry in model.opset_import},
        inputs=tuple(_declared(entry) for entry in model.graph.input if entry.name not in named),
        outputs=tuple(_declared(entry) for entry in model.graph.output),
        nodes=nodes,
        weights=weights,
        own_domains=frozenset(body.domain for body in model.functions),
        sha256=digest,
        metadata={entry.key: entry.value for entry in model.metadata_props},
        listed=tuple(entry.name for entry in model.graph.input),
    )


def _declared(entry: Any) -> TensorSignature:
    tensor = entry.type.tensor_type
    return TensorSignature(entry.name, _dtype(tensor.elem_type), tuple(_axis(axis) for axis in tensor.shape.dim))


def _axis(axis: Any) -> int | str | None:
    if axis.HasField("dim_value"):
        return int(axis.dim_value)
    return axis.dim_param or None


def _dtype(number: int) -> str:
    return _DTYPES.get(number, f"type {number}")


def _nodes(nodes: Any, path: tuple[Token, ...]) -> tuple[Node, ...]:
    """Every node of a list, each followed by those of its subgraphs; CycleError where one is computed from itself."""
    found: list[Node] = []
    order: TopologicalSorter[str] = TopologicalSorter()
    for place, node in enumerate(nodes):
        here = (*path, "node", place)
        inner = [each for name, graph in _subgraphs(node) for each in _nodes(graph.node, (*here, name))]
        made = {name for each in inner for name in each.outputs}
        captured = tuple({name for each in inner for name in (*each.inputs, *each.captured)} - made)
        attributes = {attribute.name: _plain(attribute) for attribute in node.attribute}
        found.append(
            Node(
                json_pointer(*here),
                node.op_type,
                tuple(node.input),
                tuple(node.output),
                node.domain,
                attributes,
                captured,
            )
        )
        for name in filter(None, node.output):
            order.add(name, *filter(None, node.input), *captured)
        found += inner
    order.prepare()
    return tuple(found)


def _subgraphs(node: Any) -> Iterator[tuple[str, Any]]:
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.name, attribute.g
        yield from ((f"{attribute.name}/{place}", graph) for place, graph in enumerate(attribute.graphs))


def _plain(attribute: Any) -> Any:
    """The value of an attribute; None for tensors and graphs."""
    name = {1: "f", 2: "i", 3: "s", 6: "floats", 7: "ints", 8: "strings"}.get(attribute.type)
    if name is None:
        return None
    value = getattr(attribute, name)
    return tuple(value) if name.endswith("s") and name != "s" else value


def _weights(folder: Path, graph: Any) -> Iterator[Weight]:
    for place, tensor in enumerate(graph.initializer):
        yield _weight(folder, tensor, json_pointer("graph", "initializer", place), tensor.name)
    for place, node in enumerate(graph.node):
        if node.op_type == "Constant":
            for attribute in node.attribute:
                if attribute.HasField("t"):
                    yield _weight(folder, attribute.t, json_pointer("graph", "node", place), node.output[0])


def _weight(folder: Path, tensor: Any, pointer: str, name: str) -> Weight:
    shape = tuple(int(size) for size in tensor.dims)
    dtype = _dtype(tensor.data_type)
    external = _external(folder, tensor) if tensor.data_location == 1 else None
    size = int(np.prod(shape, dtype=object)) * _bytes_of(dtype)
    facts: dict[str, Any] = {}
    if (
        dtype in _FLOATING | {"int64", "int32", "bool"}
        and not (external and external.problem)
        and size <= MAX_FILE_BYTES
    ):
        facts = _facts(folder, tensor)
    return Weight(pointer, name, dtype, shape, size, external=external, **facts)


def _bytes_of(dtype: str) -> int:
    return {"float64": 8, "int64": 8, "float16": 2, "bfloat16": 2, "bool": 1}.get(dtype, 4)


def _facts(folder: Path, tensor: Any) -> dict[str, Any]:
    from onnx import numpy_helper

    try:
        array = np.asarray(numpy_helper.to_array(tensor, str(folder)))
    except ValueError:  # fewer numbers than its shape says; onnxruntime refuses the model, which is reported
        return {}
    wide = array.astype(np.float64)
    bad = np.argwhere(~np.isfinite(wide))
    return {
        "values": tuple(float(value) for value in wide.flat) if wide.size <= _SMALL else (),
        "not_finite": _defect(wide, bad) if len(bad) else None,
        "all_zero": bool(wide.size) and not wide.any(),
    }


def _defect(wide: Any, bad: Any) -> Defect:
    index = tuple(int(place) for place in bad[0])
    first = float(wide[index])
    return Defect(index, first, len(bad), is_mask=bool(np.isin(wide, (0.0, first)).all()))


def _external(folder: Path, tensor: Any) -> External:
    entries = {entry.key: entry.value for entry in tensor.external_data}
    location = entries.get("location", "")
    if escapes_folder(folder, location):
        return External(location, ESCAPES)
    file = folder / location
    if not is_file(file):
        return External(location, MISSING)
    try:
        end = int(entries.get("offset", "0")) + int(entries.get("length", "0"))
    except ValueError:
        return External(location, SHORT)
    return External(location, SHORT if end > file.stat().st_size else "")


def escapes_folder(folder: Path, location: str) -> bool:
    """Whether a place named in a model lies outside its folder: absolute, with `..`, or through a link."""
    for path in (PurePosixPath(location), PureWindowsPath(location)):
        if path.is_absolute() or path.drive or ".." in path.parts:
            return True
    if not location or "\0" in location:
        return True
    return not (folder / location).resolve().is_relative_to(folder.resolve())
