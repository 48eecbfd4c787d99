"""Read a model's signature, and refuse files that are not models."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rigpact.contract.errors import UnusableInput
from rigpact.contract.model.signature import read_model_signature
from rigpact.contract.model.tensor import TensorSignature

onnx = pytest.importorskip("onnx")


def write_model(path: Path, widths: dict[str, int], **options: Any) -> Path:
    """Write a graph that adds up all its inputs: batch axis `B`, one output of one number a row."""
    helper, floats = onnx.helper, onnx.TensorProto.FLOAT
    inputs = [helper.make_tensor_value_info(name, floats, ["B", width]) for name, width in widths.items()]
    nodes = [helper.make_node("Concat", list(widths), ["all"], axis=1)]
    nodes.append(helper.make_node("ReduceSum", ["all", "axes"], ["motion_pred"], keepdims=1))
    axes = helper.make_tensor("axes", onnx.TensorProto.INT64, [1], [1])
    output = helper.make_tensor_value_info("motion_pred", floats, ["B", 1])
    graph = helper.make_graph(nodes, "sum", inputs, [output], [axes])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.save(model, path, **options)
    return path


def test_names_types_and_shapes_are_read_in_order(tmp_path: Path) -> None:
    """The engine binds by position: an order that is read wrongly is judged wrongly."""
    path = write_model(tmp_path / "model.onnx", {"state": 5, "cond": 7})

    signature = read_model_signature(path)

    assert signature.inputs == (
        TensorSignature("state", "float32", ("B", 5)),
        TensorSignature("cond", "float32", ("B", 7)),
    )
    assert signature.outputs == (TensorSignature("motion_pred", "float32", ("B", 1)),)
    assert signature.inputs[1].width == 7


@pytest.mark.parametrize(
    "content", [b"", b"junk", b"\x08\x09", bytes(range(256)) * 9], ids=["empty", "text", "cut", "bytes"]
)
def test_what_is_no_model_is_refused(tmp_path: Path, content: bytes) -> None:
    """A half-copied model must not end in a stack trace on the build server."""
    path = tmp_path / "model.onnx"
    path.write_bytes(content)

    with pytest.raises(UnusableInput):
        read_model_signature(path)


def test_a_folder_and_a_missing_model_are_refused(tmp_path: Path) -> None:
    """The most common mistakes must give a clear message."""
    for path in (tmp_path, tmp_path / "missing.onnx"):
        with pytest.raises(UnusableInput):
            read_model_signature(path)


def test_a_model_without_its_weights_is_refused(tmp_path: Path) -> None:
    """Large models keep their weights in a second file, and people copy only the first."""
    path = tmp_path / "model.onnx"
    helper, floats = onnx.helper, onnx.TensorProto.FLOAT
    weights = onnx.numpy_helper.from_array(np.ones(300, np.float32), "w")
    values = [helper.make_tensor_value_info(name, floats, [1, 300]) for name in ("state", "motion_pred")]
    node = helper.make_node("Add", ["state", "w"], ["motion_pred"])
    graph = helper.make_graph([node], "add", values[:1], values[1:], [weights])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.save(model, path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    (tmp_path / "weights.bin").unlink()

    with pytest.raises(UnusableInput) as refusal:
        read_model_signature(path)

    assert "second file" in refusal.value.hint
