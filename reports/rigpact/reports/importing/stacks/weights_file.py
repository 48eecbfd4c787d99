"""A file of weights of Learned Motion Matching (`stepper.bin`), and the ONNX model of the same arithmetic.

Little endian, without names: mean and std of the input, mean and std of the output (a count and float32 each), a count of layers,
and of each layer rows, columns, weights [in][out], a count and the bias. In float32: (x - mean) / std, then W and bias with ReLU
except after the last, then y · std + mean.
"""

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.errors import UnusableInput
from rigpact.contract.statistics import FloatArray

_MOST_LAYERS, _MOST_NUMBERS = 256, 1 << 28
_OPSET = 17
Layers = Sequence[tuple[FloatArray, FloatArray]]


@dataclass(frozen=True, eq=False)
class Weights:
    """Statistics of both sides, and (weights, bias) of each layer."""

    mean_in: FloatArray
    std_in: FloatArray
    mean_out: FloatArray
    std_out: FloatArray
    layers: tuple[tuple[FloatArray, FloatArray], ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Width of the input, of each layer, of the output."""
        return (len(self.mean_in), *(len(bias) for _, bias in self.layers))


class _Reader:
    """The bytes from a position on; every count is checked before it is used."""

    def __init__(self, content: bytes, path: Path) -> None:
        self.content, self.path, self.at = content, path, 0

    def wrong(self, found: str, expected: str) -> UnusableInput:
        hint = "a file of weights: statistics, then layers; features.bin and database.bin are not networks"
        return UnusableInput(f"{self.path}#byte {self.at}", found, expected, hint)

    def count(self, what: str, low: int, high: int) -> int:
        if self.at + 4 > len(self.content):
            raise self.wrong("the end of the file", what)
        (value,) = struct.unpack_from("<i", self.content, self.at)
        if not low <= value <= high:
            raise self.wrong(f"{value}", f"{what}, {low} to {high}")
        self.at += 4
        return int(value)

    def numbers(self, count: int, what: str) -> FloatArray:
        if self.at + 4 * count > len(self.content):
            raise self.wrong(f"{len(self.content) - self.at} bytes to the end", f"{4 * count}: {what}")
        values = np.frombuffer(self.content, "<f4", count, self.at).astype(np.float32)
        if not np.isfinite(values).all():
            raise self.wrong("a number that is not finite", what)
        self.at += 4 * count
        return values

    def vector(self, what: str, width: int | None = None) -> FloatArray:
        count = self.count(f"how many numbers {what} has", 1, _MOST_NUMBERS)
        if width is not None and count != width:
            raise self.wrong(f"{count} numbers", f"{width}: {what}")
        return self.numbers(count, what)


def read_weights(content: bytes, path: Path) -> Weights:
    """Read the whole file; UnusableInput where widths do not follow from each other, or bytes are left."""
    reader = _Reader(content, path)
    mean_in = reader.vector("the mean of the input")
    std_in = reader.vector("the std of the input", len(mean_in))
    mean_out = reader.vector("the mean of the output")
    std_out = reader.vector("the std of the output", len(mean_out))
    if not std_in.all():
        raise reader.wrong("0", "a std of the input that divides")
    width, layers = len(mean_in), []
    for place in range(reader.count("how many layers", 1, _MOST_LAYERS)):
        rows = reader.count(f"rows of layer {place}", 1, _MOST_NUMBERS)
        if rows != width:
            raise reader.wrong(f"{rows} rows of layer {place}", f"{width}, as the layer before gives")
        columns = reader.count(f"columns of layer {place}", 1, _MOST_NUMBERS // rows)
        matrix = reader.numbers(rows * columns, f"the weights of layer {place}").reshape(rows, columns)
        layers.append((matrix, reader.vector(f"the bias of layer {place}", columns)))
        width = columns
    if width != len(mean_out):
        raise reader.wrong(f"a last layer of {width}", f"{len(mean_out)}, as the statistics of the output have")
    if reader.at != len(content):
        raise reader.wrong(f"{len(content) - reader.at} bytes more", "the end of the file")
    return Weights(mean_in, std_in, mean_out, std_out, tuple(layers))


def weights_to_onnx(weights: Weights) -> bytes:
    """The bytes of an ONNX model x -> y with a free number of rows, float32 throughout."""
    from onnx import helper

    arrays = {
        "mean_in": weights.mean_in, "std_in": weights.std_in, "std_out": weights.std_out, "mean_out": weights.mean_out,
    }  # fmt: skip
    nodes: list[Any] = [helper.make_node("Sub", ["x", "mean_in"], ["centred"])]
    nodes.append(helper.make_node("Div", ["centred", "std_in"], ["normalised"]))
    nodes += _layers(weights.layers, arrays, "Relu", "none", ("normalised", "answer"))
    nodes.append(helper.make_node("Mul", ["answer", "std_out"], ["scaled"]))
    nodes.append(helper.make_node("Add", ["scaled", "mean_out"], ["y"]))
    return _model(nodes, arrays, {"x": weights.sizes[0], "y": weights.sizes[-1]}, "rows")


def _model(nodes: Sequence[Any], arrays: Mapping[str, FloatArray], ends: Mapping[str, int], axis: str) -> bytes:
    """The bytes of a model. ends: its input and its output, and how wide each is; axis: the name of the free one."""
    from onnx import TensorProto, checker, helper, numpy_helper

    tensors = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [axis, width]) for name, width in ends.items()]
    initializers = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    graph = helper.make_graph(nodes, "weights", tensors[:1], tensors[1:], initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], producer_name="rigpact")
    model.ir_version = 9
    checker.check_model(model)
    return bytes(model.SerializeToString())


def layers_to_onnx(layers: Layers, hidden: str, last: str, names: tuple[str, str]) -> bytes:
    """Linear layers (in, out) with a function between them and one behind: `Relu`, `LeakyRelu:0.1`, `none`. A free batch axis."""
    arrays: dict[str, FloatArray] = {}
    nodes = list(_layers(layers, arrays, hidden, last, names))
    return _model(nodes, arrays, {names[0]: layers[0][0].shape[0], names[1]: layers[-1][0].shape[1]}, "batch")


def _layers(
    layers: Layers, arrays: dict[str, FloatArray], hidden: str, last: str, names: tuple[str, str]
) -> Iterator[Any]:
    """The nodes of layers, from one name to another; their numbers are added to the arrays."""
    from onnx import helper

    made = names[0]
    for place, (matrix, bias) in enumerate(layers):
        is_last = place == len(layers) - 1
        arrays |= {f"W{place}": matrix, f"b{place}": bias}
        yield helper.make_node("Gemm", [made, f"W{place}", f"b{place}"], [f"sum{place}"])
        op, _, slope = (last if is_last else hidden).partition(":")
        made = names[1] if is_last else f"h{place}"
        attributes = {"alpha": float(slope)} if slope else {}
        yield helper.make_node("Identity" if op == "none" else op, [f"sum{place}"], [made], **attributes)
