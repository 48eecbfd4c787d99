"""Small ONNX models, each by the text of its graph, as onnx.parser reads it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper, parser


def saved(path: Path, graph: str, *, opset: int = 18, said: Mapping[str, str] | None = None, **weights: Any) -> Path:
    """Write a model of `(float[N, 2] x) => (float[N, 2] y) { y = Identity(x) }`; weights: constants by name; said: metadata."""
    model = parser.parse_model(f'<ir_version: 9, opset_import: ["" : {opset}]> model {graph}')
    helper.set_model_props(model, dict(said or {}))
    model.graph.initializer.extend(numpy_helper.from_array(np.asarray(each), name) for name, each in weights.items())
    onnx.save(model, path)
    return path


def floats(name: str, width: int | str, rows: int | str = "N") -> str:
    """A matrix among the ends of a graph."""
    return f"float[{rows}, {width}] {name}"
