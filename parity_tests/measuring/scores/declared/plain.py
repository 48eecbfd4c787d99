"""The arithmetic of the independent runtimes: sums of products, quaternions w, x, y, z, small networks, in plain numpy.

`Maths` says how a runtime computes: in float32 or float64, with fused multiply-adds, from which end it adds. Two correct
implementations differ in just this. Nothing here imports rigpact.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

F = np.float32
Array = Any
"""A numpy array of whatever precision."""
_NEXT, _AFTER = [1, 2, 0], [2, 0, 1]


@dataclass(frozen=True)
class Maths:
    """How a runtime computes. kind: float32 or float64. is_fused: a·b + c is rounded once. is_reversed: sums from the end."""

    kind: type = F
    is_fused: bool = False
    is_reversed: bool = False

    def real(self, value: object) -> Array:
        """Numbers in the runtime's precision."""
        return np.asarray(value, self.kind)

    def total(self, *pairs: tuple[object, object]) -> Array:
        """a·b of all pairs, added up."""
        ordered = pairs[::-1] if self.is_reversed else pairs
        result = self.real(0.0)
        for one, other in ordered:
            if self.is_fused:
                wide = np.asarray(one, np.float64) * np.asarray(other, np.float64) + np.asarray(result, np.float64)
                result = wide.astype(self.kind)
            else:
                result = result + self.real(one) * self.real(other)
        return result

    def cross(self, a: Array, b: Array) -> Array:
        """(..., 3) × (..., 3)."""
        a, b = np.broadcast_arrays(a, b)
        return self.total((a[..., _NEXT], b[..., _AFTER]), (-a[..., _AFTER], b[..., _NEXT]))

    def rotate(self, q: Array, v: Array) -> Array:
        """R(q) v, (..., 4) w first and (..., 3)."""
        q, v = self.real(q), self.real(v)
        t = self.real(2.0) * self.cross(q[..., 1:], v)
        return self.total((v, 1.0), (q[..., :1], t), (self.cross(q[..., 1:], t), 1.0))

    def product(self, a: Array, b: Array) -> Array:
        """a ⊗ b, (..., 4)."""
        w1, x1, y1, z1 = np.moveaxis(self.real(a), -1, 0)
        w2, x2, y2, z2 = np.moveaxis(self.real(b), -1, 0)
        return np.stack([
            self.total((w1, w2), (-x1, x2), (-y1, y2), (-z1, z2)), self.total((w1, x2), (x1, w2), (y1, z2), (-z1, y2)),
            self.total((w1, y2), (-x1, z2), (y1, w2), (z1, x2)), self.total((w1, z2), (x1, y2), (-y1, x2), (z1, w2)),
        ], axis=-1)  # fmt: skip

    def dot(self, rows: Array, weights: Array) -> Array:
        """rows @ weights, from the other end where sums are reversed."""
        rows, weights = self.real(rows), self.real(weights)
        return rows[:, ::-1] @ weights[::-1] if self.is_reversed else rows @ weights


AS_WRITTEN = Maths()


def conjugate(q: Array) -> Array:
    """The inverse of a unit quaternion."""
    return q * np.array([1.0, -1.0, -1.0, -1.0], q.dtype)


def to_matrix(q: Array) -> Array:
    """(..., 4) to (..., 3, 3), columns are axes."""
    w, x, y, z = np.moveaxis(q, -1, 0)
    one, two = q.dtype.type(1.0), q.dtype.type(2.0)
    rows = (
        (one - two * (y * y + z * z), two * (x * y - z * w), two * (x * z + y * w)),
        (two * (x * y + z * w), one - two * (x * x + z * z), two * (y * z - x * w)),
        (two * (x * z - y * w), two * (y * z + x * w), one - two * (x * x + y * y)),
    )
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def matrix_to_quaternion(m: Array) -> Array:
    """(3, 3) to w, x, y, z by the signs of the diagonal, then made a unit."""
    if m[2, 2] < 0:
        if m[0, 0] > m[1, 1]:
            q = (m[2, 1] - m[1, 2], 1 + m[0, 0] - m[1, 1] - m[2, 2], m[1, 0] + m[0, 1], m[0, 2] + m[2, 0])
        else:
            q = (m[0, 2] - m[2, 0], m[1, 0] + m[0, 1], 1 - m[0, 0] + m[1, 1] - m[2, 2], m[2, 1] + m[1, 2])
    elif m[0, 0] < -m[1, 1]:
        q = (m[1, 0] - m[0, 1], m[0, 2] + m[2, 0], m[2, 1] + m[1, 2], 1 - m[0, 0] - m[1, 1] + m[2, 2])
    else:
        q = (1 + m[0, 0] + m[1, 1] + m[2, 2], m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1])
    value = np.array(q, m.dtype)
    return value / (np.sqrt(np.sum(value * value)) + m.dtype.type(1e-8))


def drawn_turns(count: int, frames: int, seed: int, *, size: float) -> Array:
    """Rotations that swing smoothly, (frames, count, 4)."""
    rng = np.random.default_rng(seed)
    axis = rng.normal(size=(count, 3))
    axis /= np.linalg.norm(axis, axis=-1, keepdims=True)
    time = np.arange(frames)[:, None] / 10.0
    half = 0.5 * size * np.sin(rng.uniform(0.5, 2.0, count) * time + rng.uniform(0.0, 6.0, count)) + 0.3
    return np.concatenate([np.cos(half)[..., None], np.sin(half)[..., None] * axis], axis=-1)


@dataclass(frozen=True, eq=False)
class DrawnNetwork:
    """Two layers with drawn weights: tanh between them, softmax behind them if asked for."""

    inputs: tuple[int, ...]
    outputs: int
    seed: int
    gain: float = 0.5
    is_softmax: bool = False
    hidden: int = 24
    _layers: list[Array] = field(default_factory=list)

    def layers(self) -> list[Array]:
        """Weights and biases, drawn once."""
        if not self._layers:
            rng, width = np.random.default_rng(self.seed), sum(self.inputs)
            parts = (
                rng.normal(size=(width, self.hidden)) / np.sqrt(width), 0.1 * rng.normal(size=self.hidden),
                self.gain * rng.normal(size=(self.hidden, self.outputs)) / np.sqrt(self.hidden),
                0.1 * self.gain * rng.normal(size=self.outputs),
            )  # fmt: skip
            self._layers.extend(part.astype(F) for part in parts)
        return self._layers

    def __call__(self, *rows: Array, maths: Maths = AS_WRITTEN) -> Array:
        """The answer to (N, width) of each input."""
        first, first_bias, second, second_bias = self.layers()
        joined = np.concatenate([maths.real(each) for each in rows], axis=1)
        hidden = np.tanh(maths.dot(joined, first) + maths.real(first_bias))
        answer = maths.dot(hidden, second) + maths.real(second_bias)
        if self.is_softmax:
            raised = np.exp(answer - answer.max(axis=1, keepdims=True))
            answer = raised / raised.sum(axis=1, keepdims=True)
        return answer.astype(F)

    def write_onnx(self, path: Path) -> Path:
        """The same network as a model."""
        import onnx
        from onnx import TensorProto, helper, numpy_helper

        names = [f"in{place}" for place in range(len(self.inputs))]
        ends = zip((*names, "out"), (*self.inputs, self.outputs), strict=True)
        *takes, gives = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", width]) for name, width in ends)
        nodes = [
            helper.make_node("Concat", names, ["joined"], axis=1), helper.make_node("Gemm", ["joined", "w0", "b0"], ["h"]),
            helper.make_node("Tanh", ["h"], ["t"]), helper.make_node("Gemm", ["t", "w1", "b1"], ["last"]),
            helper.make_node("Softmax" if self.is_softmax else "Identity", ["last"], ["out"]),
        ]  # fmt: skip
        parts = zip(self.layers(), ("w0", "b0", "w1", "b1"), strict=True)
        weights = [numpy_helper.from_array(part, name) for part, name in parts]
        graph = helper.make_graph(nodes, "drawn", takes, [gives], weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.save(model, str(path))
        return path
