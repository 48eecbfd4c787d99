"""What an ONNX model says about its inputs and outputs, read with onnxruntime alone.

Whether the engine could bind them is for rules/model.py. The graph's nodes and weights are not looked at here.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import read_bytes

_DTYPES = {"float": "float32", "double": "float64"}
_SHOWN_CHARACTERS = 160


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


@dataclass(frozen=True)
class ModelSignature:
    """The inputs and outputs of a model, in the order in which an engine binds them."""

    path: Path
    sha256: str
    inputs: tuple[TensorSignature, ...]
    outputs: tuple[TensorSignature, ...]


def read_model_signature(path: str | Path) -> ModelSignature:
    """Read the signature of an ONNX file; UnusableInput when onnxruntime cannot load it."""
    content = read_bytes(path)
    session = _open_session(path)
    inputs, outputs = (
        tuple(_to_signature(node) for node in nodes) for nodes in (session.get_inputs(), session.get_outputs())
    )
    return ModelSignature(Path(path), hashlib.sha256(content).hexdigest(), inputs, outputs)


def _open_session(path: str | Path) -> Any:
    import onnxruntime
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    # onnxruntime's exceptions have no common base but Exception
    refusals = tuple(kind for kind in vars(state).values() if isinstance(kind, type) and issubclass(kind, Exception))
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL  # only the signature is read
    options.log_severity_level = 4  # what goes wrong is said once, by the error below
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except (*refusals, RuntimeError, ValueError) as error:
        reason = " ".join(str(error).split())[:_SHOWN_CHARACTERS]
        raise UnusableInput(
            path, f"a file that onnxruntime cannot load ({reason})", "an ONNX model", _hint(reason)
        ) from None


def _hint(reason: str) -> str:
    if "external" in reason.lower() or ".data" in reason:
        return "the weights stand in a second file, which must lie beside the model"
    return ""


def _to_signature(node: Any) -> TensorSignature:
    match = re.fullmatch(r"tensor\((\w+)\)", node.type)
    dtype = _DTYPES.get(match[1], match[1]) if match else str(node.type)
    return TensorSignature(node.name, dtype, tuple(node.shape or ()))
