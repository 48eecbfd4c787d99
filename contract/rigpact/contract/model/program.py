"""The operations and constants of an ONNX model as plain values: what an evaluation of the model needs.

Only top-level operations are read. A model with subgraphs, functions of its own or weights that cannot be read is refused:
whoever evaluates it needs another way.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import is_file, read_bytes
from rigpact.contract.model.graph import escapes_folder, onnx_library

Array = NDArray[Any]
_TENSOR, _EXTERNAL = 4, 1
_PLAIN = {1: "f", 2: "i", 3: "s", 6: "floats", 7: "ints", 8: "strings"}


@dataclass(frozen=True, eq=False)
class Operation:
    """One node. An absent optional input is the empty name."""

    op: str
    domain: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Program:
    """A model's operations in the order of the file, its constants, and the names of its inputs and outputs."""

    path: Path
    opset: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    operations: tuple[Operation, ...]
    constants: Mapping[str, Array]


def read_program(path: str | Path) -> Program:
    """Read a model; UnusableInput if its operations or weights cannot be read."""
    onnx = onnx_library()
    decode_error = import_module("google.protobuf.message").DecodeError
    try:
        model = onnx.load_model_from_string(read_bytes(path))
    except decode_error as error:
        raise UnusableInput(path, f"bytes that are not an ONNX model ({error})", "an ONNX model") from None
    graph, folder = model.graph, Path(path).parent
    if len(model.functions):
        raise UnusableInput(path, "functions of its own", "a model of standard operations")
    constants = {tensor.name: _values(tensor, folder, path) for tensor in graph.initializer}
    operations = []
    for node in graph.node:
        read = _operation(node, folder, path)
        if read.op == "Constant" and not read.domain:
            constants[read.outputs[0]] = _constant(read, path)
        else:
            operations.append(read)
    return Program(
        path=Path(path),
        opset=max((int(entry.version) for entry in model.opset_import if entry.domain in ("", "ai.onnx")), default=1),
        inputs=tuple(entry.name for entry in graph.input if entry.name not in constants),
        outputs=tuple(entry.name for entry in graph.output),
        operations=tuple(operations),
        constants=constants,
    )


def _operation(node: Any, folder: Path, path: str | Path) -> Operation:
    attributes: dict[str, Any] = {}
    for attribute in node.attribute:
        if attribute.type == _TENSOR:
            attributes[attribute.name] = _values(attribute.t, folder, path)
        elif attribute.type in _PLAIN:
            attributes[attribute.name] = _plain(getattr(attribute, _PLAIN[attribute.type]))
        else:
            raise UnusableInput(f"{path}#{node.name}", f"a {node.op_type} with a graph inside", "plain operations")
    domain = "" if node.domain == "ai.onnx" else node.domain
    return Operation(node.op_type, domain, tuple(node.input), tuple(node.output), attributes)


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if isinstance(value, int | float) else tuple(_plain(each) for each in value)


def _constant(operation: Operation, path: str | Path) -> Array:
    """The value of a Constant node, in any of its numeric forms."""
    (value,) = operation.attributes.values()
    if isinstance(value, str):
        raise UnusableInput(f"{path}#{operation.outputs[0]}", "a constant text", "numbers")
    kind = {"value_float": np.float32, "value_floats": np.float32}.get(next(iter(operation.attributes)))
    return np.asarray(value, kind)


def _values(tensor: Any, folder: Path, path: str | Path) -> Array:
    from onnx import numpy_helper

    if tensor.data_location == _EXTERNAL:
        location = next((entry.value for entry in tensor.external_data if entry.key == "location"), "")
        if escapes_folder(folder, location) or not is_file(folder / location):
            raise UnusableInput(f"{path}#{tensor.name}", f"weights in {location!r}", "a file in the model's folder")
    try:
        return np.asarray(numpy_helper.to_array(tensor, str(folder)))
    except ValueError as error:
        raise UnusableInput(f"{path}#{tensor.name}", f"weights that cannot be read ({error})", "its numbers") from None
