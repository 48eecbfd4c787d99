"""The inputs and outputs of an ONNX model, read with onnxruntime, and its graph; models as onnxruntime runs them.

The rules of rules/model_graph.py judge whether an engine can bind them.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rigpact.contract.errors import ModelFailed, UnusableInput
from rigpact.contract.files import read_bytes
from rigpact.contract.model.graph import ModelGraph, TensorSignature, open_model

_DTYPES = {"float": "float32", "double": "float64"}
_SHOWN_CHARACTERS = 160


@dataclass(frozen=True)
class ModelSignature:
    """The inputs and outputs of a model, in the order in which an engine binds them.

    graph: its nodes and weights, None if they were not read.
    refusal: why onnxruntime does not load the model, '' if it does. The other fields are then what the file declares.
    """

    path: Path
    sha256: str
    inputs: tuple[TensorSignature, ...]
    outputs: tuple[TensorSignature, ...]
    graph: ModelGraph | None = None
    refusal: str = ""


def read_model(path: str | Path) -> ModelSignature:
    """Read everything that rules can judge; UnusableInput for a file that is not a model.

    The graph is read first: a model whose weights lie outside its folder is never opened.
    If onnxruntime refuses a model whose file can be read, the result carries the `refusal`; the graph may show the reason.
    """
    graph = open_model(path)
    refusal = ""
    if graph.is_contained:
        try:
            return replace(read_model_signature(path), graph=graph)
        except UnusableInput as error:
            if not graph.nodes:  # any bytes can look like an empty model
                raise
            refusal = error.found
    return ModelSignature(graph.path, graph.sha256, graph.inputs, graph.outputs, graph, refusal=refusal)


def read_model_signature(path: str | Path) -> ModelSignature:
    """Read the signature of an ONNX file; UnusableInput when onnxruntime cannot load it."""
    return session_signature(open_session(path), path)


def session_signature(session: Any, path: str | Path) -> ModelSignature:
    """The signature of a model that `open_session` opened."""
    digest = hashlib.sha256(read_bytes(path)).hexdigest()
    inputs = tuple(_to_signature(node) for node in session.get_inputs())
    return ModelSignature(Path(path), digest, inputs, tuple(_to_signature(node) for node in session.get_outputs()))


def open_session(path: str | Path) -> Any:
    """Open a model in onnxruntime, on one CPU thread so that the same input gives the same bits.

    Raises UnusableInput for anything that is not a model: a directory, other bytes, a graph without its weights.
    """
    import onnxruntime

    read_bytes(path)  # names what is wrong with a path; onnxruntime does not
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4  # the error below says once what went wrong
    try:
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        for node in (*session.get_inputs(), *session.get_outputs()):
            _to_signature(node)  # a name that is not text shows only when it is asked for
    except onnxruntime_errors() as error:
        reason = " ".join(str(error).split())[:_SHOWN_CHARACTERS]
        found = f"a file that onnxruntime cannot load ({reason})"
        raise UnusableInput(path, found, "an ONNX model", _hint(reason)) from None
    return session


def run_session(session: Any, outputs: Sequence[str], inputs: Mapping[str, Any], model: object) -> Any:
    """The outputs of a session by name; ModelFailed with onnxruntime's reason where the graph fails on these inputs."""
    try:
        return session.run(outputs, inputs)
    except onnxruntime_errors() as error:
        raise _failed(error, model) from None


def run_binding(session: Any, binding: Any, model: object) -> None:
    """Run a session on bound buffers; ModelFailed with onnxruntime's reason where the graph fails."""
    try:
        session.run_with_iobinding(binding)
    except onnxruntime_errors() as error:
        raise _failed(error, model) from None


def _failed(error: Exception, model: object) -> ModelFailed:
    reason = " ".join(str(error).split())[:_SHOWN_CHARACTERS]
    hint = "the engine runs one row a frame: `rigpact check --onnx` says what is wrong with its shapes"
    return ModelFailed(model, f"a model that fails when it runs ({reason})", "an output for one row of inputs", hint)


def onnxruntime_errors() -> tuple[type[Exception], ...]:
    """Every exception of onnxruntime; they have no common base but Exception."""
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    kinds = [kind for kind in vars(state).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    return (*kinds, RuntimeError, ValueError)


def _hint(reason: str) -> str:
    if "external" in reason.lower() or ".data" in reason:
        return "the weights stand in a second file, which must lie beside the model"
    return ""


def _to_signature(node: Any) -> TensorSignature:
    match = re.fullmatch(r"tensor\((\w+)\)", node.type)
    dtype = _DTYPES.get(match[1], match[1]) if match else str(node.type)
    return TensorSignature(node.name, dtype, tuple(node.shape or ()))
