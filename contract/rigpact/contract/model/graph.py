"""An ONNX model as its file says it: `open_model` is the one reader of its nodes, weights and metadata.

Rules judge them as plain values. Weights are summarised one by one, so memory never holds a large model twice; the size of
weights in other files is checked before they are read, and files outside the model's folder are never read. Who computes with
the numbers takes `computable`; who edits the file copies `proto`.
"""

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import MAX_FILE_BYTES, is_file, read_bytes
from rigpact.contract.json_pointer import Token, json_pointer

Array = NDArray[Any]
ESCAPES, MISSING, SHORT = "escapes", "missing", "short"
"""What can be wrong with weights that stand in another file."""
_DTYPES: Mapping[int, tuple[str, int]] = {
    1: ("float32", 4), 10: ("float16", 2), 11: ("float64", 8), 16: ("bfloat16", 2), 7: ("int64", 8), 6: ("int32", 4),
    9: ("bool", 1),
}  # fmt: skip
"""Types of elements whose numbers are read, and their bytes."""
_PLAIN = {1: "f", 2: "i", 3: "s", 4: "t", 6: "floats", 7: "ints", 8: "strings"}
_EXTERNAL = 1
_SMALL = 1 << 12
"""Weights of at most so many numbers are kept whole: bounds, axes, flags, statistics of an input."""


@dataclass(frozen=True)
class TensorSignature:
    """One input or output: name, element type, shape. A dynamic axis is its symbol, or None where it has none."""

    name: str
    dtype: str
    shape: tuple[int | str | None, ...]

    @property
    def width(self) -> int | None:
        """Length of the last axis; None where it is dynamic or there is no axis."""
        return self.shape[-1] if self.shape and isinstance(self.shape[-1], int) else None

    def holds_one_row(self, width: int) -> bool:
        """Whether its axes are fixed and hold one vector of that width all together: a history of [frames, 1, numbers]."""
        sizes = [size for size in self.shape if isinstance(size, int)]
        is_fixed = len(sizes) == len(self.shape) and bool(sizes) and sizes[0] != 1
        return is_fixed and math.prod(sizes) == width != math.prod(sizes[1:])


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


@dataclass(frozen=True, eq=False)
class Node:
    """One operation. An absent optional input is the empty name; captured: what its subgraphs take from outside.

    attributes: plain values and TensorProtos; None for a graph or any other kind.
    """

    pointer: str
    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    domain: str = ""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    captured: tuple[str, ...] = ()
    name: str = ""


@dataclass(frozen=True, eq=False)
class ModelGraph:
    """A model: operator sets, inputs and outputs, nodes (those of subgraphs and functions too), weights, metadata.

    inputs: those that a runtime asks for. listed: every name among the file's inputs; old files list their weights there too.
    constants: numbers by name, of a model that `computable` gave. proto: the file's content, not to be changed.
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
    constants: Mapping[str, Array] = field(default_factory=dict)
    proto: Any = None

    @cached_property
    def weight(self) -> Mapping[str, Weight]:
        """Weights by name."""
        return {weight.name: weight for weight in self.weights}

    @property
    def parameters(self) -> int:
        """How many numbers the weights hold."""
        return sum(math.prod(weight.shape) for weight in self.weights)

    @property
    def opset(self) -> int:
        """The version of the standard operators."""
        return max((version for domain, version in self.opsets.items() if domain in ("", "ai.onnx")), default=1)

    @property
    def own_nodes(self) -> list[Node]:
        """The nodes outside of subgraphs and functions, without constants."""
        return [node for node in self.nodes if node.pointer.count("/") == 3 and node.op != "Constant"]

    @cached_property
    def makers(self) -> Mapping[str, Node]:
        """The node that computes each value."""
        return {output: node for node in self.nodes for output in node.outputs}

    def inputs_of(self, outputs: Iterable[str]) -> frozenset[str]:
        """The model's inputs that some of its tensors are computed from."""
        seen, waiting = set[str](), list(outputs)
        while waiting:
            name = waiting.pop()
            if name not in seen and name in self.makers:
                waiting += (*self.makers[name].inputs, *self.makers[name].captured)
            seen.add(name)
        return frozenset(entry.name for entry in self.inputs if entry.name in seen)

    def is_copied(self, output: str) -> bool:
        """Whether an output is nothing that the model computes: a constant, or what an input or another output is."""
        name, others = output, {entry.name for entry in (*self.inputs, *self.outputs)} - {output}
        while name not in others and name in self.makers and self.makers[name].op == "Identity":
            name = self.makers[name].inputs[0]
        return name in others or not self.inputs_of([name])

    @property
    def beside(self) -> Mapping[str, str]:
        """Other files that hold weights, and what is wrong with each ('' if nothing)."""
        found = sorted((each.external for each in self.weights if each.external), key=lambda each: each.problem)
        return {each.location: each.problem for each in found}

    @property
    def is_contained(self) -> bool:
        """Whether the model can be opened: no weights are missing or lie outside its folder."""
        return not any(self.beside.values())

    def read_constants(self) -> dict[str, Array]:
        """The numbers of all initializers and Constant nodes, by name; UnusableInput where they cannot be read."""
        found = {tensor.name: _numbers(self.path, tensor, tensor.name) for tensor in self.proto.graph.initializer}
        for node in self.nodes:
            if node.op == "Constant" and node.pointer.count("/") == 3:
                ((key, value),) = node.attributes.items()
                is_plain = key.startswith("value_")
                kind = np.float32 if key.startswith("value_float") else None
                found[node.outputs[0]] = (
                    np.asarray(value, kind) if is_plain else _numbers(self.path, value, node.outputs[0])
                )
        return found


def computable(graph: ModelGraph) -> ModelGraph:
    """The model as operations in the order of the file, and numbers; UnusableInput where it is more than that."""
    if len(graph.proto.functions):
        raise UnusableInput(graph.path, "functions of its own", "a model of standard operations")
    for node in graph.own_nodes:
        if any(value is None or getattr(value, "data_location", 0) == _EXTERNAL for value in node.attributes.values()):
            raise UnusableInput(f"{graph.path}#{node.name}", f"a {node.op} with a graph inside", "plain operations")
    return replace(graph, nodes=tuple(graph.own_nodes), constants=graph.read_constants())


def _numbers(path: Path, tensor: Any, name: str) -> Array:
    external = _external(path.parent, tensor)
    if external is not None and external.problem in (ESCAPES, MISSING):
        raise UnusableInput(f"{path}#{name}", f"weights in {external.location!r}", "a file in the model's folder")
    try:
        return np.asarray(import_module("onnx.numpy_helper").to_array(tensor, str(path.parent)))
    except ValueError as error:
        raise UnusableInput(f"{path}#{name}", f"weights that cannot be read ({error})", "its numbers") from None


def bytes_to_proto(content: bytes) -> Any:
    """The ModelProto of a file's bytes, its weights in other files left there; protobuf's DecodeError where it is none."""
    import onnx

    return onnx.load_model_from_string(content)


def open_model(path: str | Path) -> ModelGraph:
    """Read an ONNX file; UnusableInput where it is none, a name is not text, or a value is computed from itself."""
    content = read_bytes(path)
    decode_error = import_module("google.protobuf.message").DecodeError
    try:
        model = bytes_to_proto(content)
    except decode_error as error:
        raise UnusableInput(path, f"bytes that are not an ONNX model ({error})", "an ONNX model") from None
    if not all(isinstance(word, str) for word in _words_of(model)):  # protobuf then hands over bytes
        raise UnusableInput(path, "a name that is not text", "names in UTF-8", "a damaged file?")
    try:
        nodes = _nodes(model.graph.node, ("graph",))
        functions = [_nodes(body.node, ("functions", place)) for place, body in enumerate(model.functions)]
    except CycleError as error:
        found = f"a graph in which {error.args[1][0]!r} is computed from itself"
        raise UnusableInput(path, found, "nodes of which each takes what others gave before") from None
    weights = tuple(_weights(Path(path).parent, model.graph))
    named = {weight.name for weight in weights}
    return ModelGraph(
        path=Path(path),
        opsets={entry.domain: int(entry.version) for entry in model.opset_import},
        inputs=tuple(_declared(entry) for entry in model.graph.input if entry.name not in named),
        outputs=tuple(_declared(entry) for entry in model.graph.output),
        nodes=(*nodes, *(node for body in functions for node in body)),
        weights=weights,
        own_domains=frozenset(body.domain for body in model.functions),
        sha256=hashlib.sha256(content).hexdigest(),
        metadata={entry.key: entry.value for entry in model.metadata_props},
        listed=tuple(entry.name for entry in model.graph.input),
        proto=model,
    )


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


def _declared(entry: Any) -> TensorSignature:
    tensor = entry.type.tensor_type
    axes = (int(axis.dim_value) if axis.HasField("dim_value") else axis.dim_param or None for axis in tensor.shape.dim)
    return TensorSignature(entry.name, _kind(tensor.elem_type)[0], tuple(axes))


def _kind(number: int) -> tuple[str, int]:
    return _DTYPES.get(number, (f"type {number}", 4))


def _nodes(nodes: Any, path: tuple[Token, ...]) -> tuple[Node, ...]:
    """Every node of a list, each followed by those of its subgraphs; CycleError where one is computed from itself."""
    found: list[Node] = []
    order: TopologicalSorter[str] = TopologicalSorter()
    for place, node in enumerate(nodes):
        here = (*path, "node", place)
        inner = [each for name, graph in _subgraphs(node) for each in _nodes(graph.node, (*here, name))]
        made = {name for each in inner for name in each.outputs}
        captured = tuple({name for each in inner for name in (*each.inputs, *each.captured)} - made)
        attributes = {each.name: _plain(each) for each in node.attribute}
        sides, domain = (tuple(node.input), tuple(node.output)), "" if node.domain == "ai.onnx" else node.domain
        found.append(Node(json_pointer(*here), node.op_type, *sides, domain, attributes, captured, node.name))
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
    name = _PLAIN.get(attribute.type)
    value: Any = None if name is None else getattr(attribute, name)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if name in ("floats", "ints", "strings"):
        return tuple(each.decode("utf-8", "replace") if isinstance(each, bytes) else each for each in value)
    return value


def _weights(folder: Path, graph: Any) -> Iterator[Weight]:
    for place, tensor in enumerate(graph.initializer):
        yield _weight(folder, tensor, json_pointer("graph", "initializer", place), tensor.name)
    for place, node in enumerate(graph.node):
        if node.op_type == "Constant":
            for attribute in node.attribute:
                if attribute.HasField("t"):
                    yield _weight(folder, attribute.t, json_pointer("graph", "node", place), node.output[0])


def _weight(folder: Path, tensor: Any, pointer: str, name: str) -> Weight:
    shape, (dtype, width) = tuple(int(size) for size in tensor.dims), _kind(tensor.data_type)
    external, size = _external(folder, tensor), math.prod(shape) * width
    is_read = tensor.data_type in _DTYPES and not (external and external.problem) and size <= MAX_FILE_BYTES
    return Weight(pointer, name, dtype, shape, size, external=external, **(_facts(folder, tensor) if is_read else {}))


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


def _external(folder: Path, tensor: Any) -> External | None:
    if tensor.data_location != _EXTERNAL:
        return None
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
