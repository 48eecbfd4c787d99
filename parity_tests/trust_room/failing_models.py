"""The demo's model with one thing wrong that shows only when it runs, or only to a reader of its graph. Needs `onnx`."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

Edit = Callable[[Any], None]
Tail = tuple[str, str, str]


def tail(*nodes: Tail, dtype: int | None = None, **weights: Any) -> Edit:
    """An edit that puts nodes (operator, inputs, output) after the model's answer, which is called `answer` then."""

    def edit(model: Any) -> None:
        end = model.graph.output[0]
        next(node for node in model.graph.node if end.name in node.output).output[0] = "answer"
        for op, inputs, output in nodes:
            settings = {"to": dtype} if op == "Cast" else {}
            model.graph.node.append(helper.make_node(op, inputs.split(), [output], name=output, **settings))
        model.graph.node.append(helper.make_node("Identity", [nodes[-1][2]], [end.name]))
        for name, value in weights.items():
            model.graph.initializer.append(numpy_helper.from_array(np.asarray(value), name))
        if dtype is not None:
            end.type.tensor_type.elem_type = dtype

    return edit


def batch_of_four(model: Any) -> None:
    for entry in (*model.graph.input, *model.graph.output):
        entry.type.tensor_type.shape.dim[0].Clear()
        entry.type.tensor_type.shape.dim[0].dim_value = 4


def no_outputs(model: Any) -> None:
    del model.graph.output[:]


def six_inputs(model: Any) -> None:
    model.graph.input.append(helper.make_tensor_value_info("extra", TensorProto.FLOAT, ["B", 3]))


INFINITE = np.float32(-np.inf)
FAILING: Mapping[str, Edit] = {
    "a batch fixed at four": batch_of_four,
    "a reshape that does not fit": tail(("Reshape", "answer shape", "z"), shape=np.array([7, 11], np.int64)),
    "no outputs": no_outputs,
    "six inputs": six_inputs,
    "whole numbers for an answer": tail(("Cast", "answer", "z"), dtype=TensorProto.INT64),
    "double precision for an answer": tail(("Cast", "answer", "z"), dtype=TensorProto.DOUBLE),
}
"""Models of which no run exists."""
NOT_FINITE: Mapping[str, Edit] = {
    "a single infinite factor": tail(("Mul", "answer scale", "z"), scale=INFINITE),
    "a single number that is NaN": tail(("Add", "answer offset", "z"), offset=np.float32(np.nan)),
}
"""Models with one number that is not finite, which arrives."""
MASKED = tail(("Max", "answer floor", "z"), floor=INFINITE)
"""A single minus infinity that no answer is smaller than."""


def write_edited(folder: Path, edit: Edit) -> Path:
    """Edit the model of a folder in place."""
    path = folder / "model.onnx"
    model = onnx.load(str(path))
    edit(model)
    path.write_bytes(model.SerializeToString())
    return path
