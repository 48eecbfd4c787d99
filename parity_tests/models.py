"""Small ONNX models, each by the text of its graph, as onnx.parser reads it."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper, parser


def saved(path: Path, graph: str, *, opset: int = 18, ir_version: int = 9, **weights: Any) -> Path:
    """Write a model of `(float[N, 2] x) => (float[N, 2] y) { y = Identity(x) }`; weights: constants by name."""
    model = parser.parse_model(f'<ir_version: {ir_version}, opset_import: ["" : {opset}]> model {graph}')
    model.graph.initializer.extend(numpy_helper.from_array(np.asarray(each), name) for name, each in weights.items())
    onnx.save(model, path)
    return path


def floats(name: str, width: int | str, rows: int | str = "N") -> str:
    """A matrix among the ends of a graph."""
    return f"float[{rows}, {width}] {name}"
