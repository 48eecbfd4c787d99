"""A network of five inputs for any contract: an ONNX file, and the same function in float32 numpy with other sums."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from rigpact.contract.layout import INPUTS
from rigpact.contract.systems.contract import Contract

from .honest_engine import backwards

Array = NDArray[Any]
F = np.float32
HIDDEN = 64


class Network:
    """Two layers; `weights` are those of the file until a test changes them."""

    def __init__(self, contract: Contract, seed: int = 0, first: float = 1.0) -> None:
        """first: the size of the first layer's weights; at 1 its sums have the size of an input."""
        rng, self.widths = (
            np.random.default_rng(seed),
            [int(contract.numbers.input_widths[name] or 2) for name in INPUTS],
        )
        count, answer = sum(self.widths), contract.numbers.output.width
        self.weights = [
            (first * rng.normal(size=(HIDDEN, count)) / np.sqrt(count)).astype(F),
            (0.1 * rng.normal(size=HIDDEN)).astype(F),
            (0.3 * rng.normal(size=(answer, HIDDEN)) / np.sqrt(HIDDEN)).astype(F),
            (0.1 * rng.normal(size=answer)).astype(F),
        ]

    def save(self, path: Path) -> Path:
        """Write the model."""
        nodes = [
            helper.make_node("Concat", list(INPUTS), ["x"], axis=1),
            helper.make_node("Gemm", ["x", "w0", "w1"], ["h"], transB=1),
            helper.make_node("Elu", ["h"], ["e"]),
            helper.make_node("Gemm", ["e", "w2", "w3"], ["motion_pred"], transB=1),
        ]
        ends = [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, ["B", width])
            for name, width in zip((*INPUTS, "motion_pred"), (*self.widths, len(self.weights[3])), strict=True)
        ]
        weights = [numpy_helper.from_array(values, f"w{place}") for place, values in enumerate(self.weights)]
        graph = helper.make_graph(nodes, "model", ends[:-1], ends[-1:], weights)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
        return path

    def __call__(self, *inputs: Array) -> Array:
        """The engine's own inference: float32, from the last term to the first."""
        h = backwards(np.concatenate(inputs, axis=1), *self.weights[:2])
        return backwards(np.where(h > 0, h, np.exp(np.minimum(h, F(0))) - F(1)), *self.weights[2:])

    @property
    def of_list(self) -> Callable[[Sequence[Array]], Array]:
        """The same, of a list of inputs."""
        return lambda inputs: self(*inputs)
