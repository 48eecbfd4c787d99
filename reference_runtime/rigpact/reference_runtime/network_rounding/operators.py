"""The operations of ONNX in float64, and how large the rounding of each is in units of u.

`onnx`'s reference evaluator gives the values. What only moves or compares numbers (`MOVES`, `COMPARES`) has no
rounding. `RULES` has the rounding of every other operation that networks are made of, and its value where the
evaluator's own is slow. A sum of products is in `SUMS`: the same operation of the sizes and of ones says how large the
terms are and how many.

One rounding of the result counts as |v|. A library function has a relative error of a few u. Where implementations
compute a function from parts that cancel (`exp(x) - 1`, `1 + erf`, a rational approximation), its error is relative to
the parts: then their size is added.

The rounding of any other operation is measured. An operation that is backward stable gives the exact result of operands
that are off by some roundings. So each operand is disturbed, relative to its own size, by random signs and once by the
same sign everywhere, and the largest change of each result counts, times the roundings of a sum as long as the
operand's longest axis. A rounding of the result itself is added. That the operation is backward stable is assumed here:
the rules are derived.

GRU and LSTM go step by step: each product of matrices and each gate has its own rounding. Only the standard activations, all
steps of every sequence, and the layout with steps first are evaluated.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache, partial
from math import erf as scalar_erf
from math import pi, sqrt
from typing import Any

import numpy as np

from rigpact.contract.model.graph import Node
from rigpact.reference_runtime.network_rounding.arithmetic import Array, Rounded, mean_deviation, product_deviation

Values = list[Array]


class NotEvaluated(Exception):
    """An operation, or a use of one, that this package does not evaluate."""


def optional(values: Sequence[Array], place: int) -> Array | None:
    """An optional input; None if it is absent."""
    return values[place] if place < len(values) and values[place].dtype != object else None


_GATE = 6.0
"""Roundings of a library function; a sigmoid's are relative to 1."""
_MIXED = 4.0
"""Products and sums of gates."""


def _affine(rounded: Rounded, x: Array, weight: Array, bias: Array) -> Array:
    total = x @ weight.T
    return rounded(total + bias, lambda: product_deviation(x, weight.T, total, bias))


def _sigmoid_gate(rounded: Rounded, x: Array) -> Array:
    value = 0.5 * (1.0 + np.tanh(0.5 * x))
    return rounded(value, lambda: np.hypot(np.abs(x), _GATE) * np.maximum(value, 0.25))


def _tanh_gate(rounded: Rounded, x: Array) -> Array:
    value = np.tanh(x)
    return rounded(value, lambda: np.hypot(_GATE * np.abs(value), np.abs(x)))


def gru(rounded: Rounded, node: Node, values: Values) -> list[Array]:
    """Y (T, D, N, H) and Y_h (D, N, H). The gates are z, r, h."""
    return _directions(rounded, node, values, _gru_steps)[:2]


def lstm(rounded: Rounded, node: Node, values: Values) -> list[Array]:
    """Y, Y_h and Y_c. The gates are i, o, f, c."""
    if optional(values, 7) is not None:
        raise NotEvaluated("LSTM with peepholes")
    return _directions(rounded, node, values, _lstm_steps)


def _directions(rounded: Rounded, node: Node, values: Values, steps: object) -> list[Array]:
    said, (x, weight, recurrence) = node.attributes, values[:3]
    if said.get("layout") or "activations" in said or "clip" in said or said.get("input_forget"):
        raise NotEvaluated(f"{node.op} with {', '.join(said)}")
    lengths = optional(values, 4)
    if lengths is not None and (lengths != len(x)).any():
        raise NotEvaluated(f"{node.op} with sequences of several lengths")
    direction, found = said.get("direction", "forward"), []
    for place in range(len(weight)):
        backward = direction == "reverse" or place == 1
        bias, start = optional(values, 3), [optional(values, 5), optional(values, 6)]
        wide = np.zeros(2 * weight.shape[1]) if bias is None else bias[place]
        state = [np.zeros((x.shape[1], recurrence.shape[2])) if each is None else each[place] for each in start]
        rows, *ends = steps(rounded, x[::-1] if backward else x, (weight[place], recurrence[place], wide), state, said)  # type: ignore[operator]
        found.append((rows[::-1] if backward else rows, *ends))
    outputs = [np.stack(each, axis=0) for each in zip(*found, strict=True)]
    return [np.moveaxis(outputs[0], 0, 1), *outputs[1:]]


def _gru_steps(
    rounded: Rounded, x: Array, own: tuple[Array, Array, Array], state: list[Array], said: dict[str, int]
) -> tuple[Array, ...]:
    weight, recurrence, bias = own
    size, (hidden, _) = recurrence.shape[1], state
    given, fed = bias[: 3 * size], bias[3 * size :]
    rows = []
    for step in x:
        inside = _affine(rounded, step, weight, given)
        gates = _affine(rounded, hidden, recurrence[: 2 * size], fed[: 2 * size])
        update = _sigmoid_gate(rounded, inside[:, :size] + gates[:, :size])
        reset = _sigmoid_gate(rounded, inside[:, size : 2 * size] + gates[:, size:])
        if said.get("linear_before_reset"):
            past = reset * _affine(rounded, hidden, recurrence[2 * size :], fed[2 * size :])
        else:
            past = _affine(rounded, reset * hidden, recurrence[2 * size :], fed[2 * size :])
        proposed = _tanh_gate(rounded, inside[:, 2 * size :] + past)
        hidden = _mixed(rounded, (1.0 - update) * proposed, update * hidden)
        rows.append(hidden)
    return np.stack(rows), hidden


def _lstm_steps(
    rounded: Rounded, x: Array, own: tuple[Array, Array, Array], state: list[Array], _said: dict[str, int]
) -> tuple[Array, ...]:
    weight, recurrence, bias = own
    size, (hidden, cell) = recurrence.shape[1], state
    rows = []
    for step in x:
        gates = _affine(rounded, step, weight, bias[: 4 * size])
        gates = gates + _affine(rounded, hidden, recurrence, bias[4 * size :])
        enter, leave, keep = (_sigmoid_gate(rounded, gates[:, part * size : (part + 1) * size]) for part in range(3))
        proposed = _tanh_gate(rounded, gates[:, 3 * size :])
        cell = _mixed(rounded, keep * cell, enter * proposed)
        hidden = _mixed(rounded, leave * _tanh_gate(rounded, cell), np.zeros(()))
        rows.append(hidden)
    return np.stack(rows), hidden, cell


def _mixed(rounded: Rounded, one: Array, other: Array) -> Array:
    return rounded(one + other, lambda: _MIXED * (np.abs(one) + np.abs(other)))


_LIBRARY, _SCALED = 6.0, 4.0
"""Roundings of a library function: 4 (operations/scalars.py), and 2 for the rational functions of inference runtimes; of an
inverse square root and two products."""
_PROBES, _SIZE = 4, 2.0**-30
"""Measured disturbances: far above the rounding of float64, far below where a smooth function bends."""
_CAST: Mapping[int, type] = {1: np.float64, 11: np.float64, 6: np.int64, 7: np.int64, 9: np.bool_}
_ERRORS = (RuntimeError, TypeError, AttributeError, LookupError, ArithmeticError, ImportError, AssertionError)


@lru_cache(maxsize=256)
def _evaluator(node: Node, opset: int) -> Any:
    from onnx import TensorProto, helper
    from onnx.reference import ReferenceEvaluator

    names = [name and f"i{place}" for place, name in enumerate(node.inputs)]
    made = helper.make_node(node.op, names, list(node.outputs), **node.attributes)
    ends = [
        [helper.make_tensor_value_info(name, TensorProto.DOUBLE, None) for name in side if name]
        for side in (names, node.outputs)
    ]
    graph = helper.make_graph([made], "one", *ends)
    return ReferenceEvaluator(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)]))


def evaluated(node: Node, values: Sequence[Array], opset: int) -> list[Array]:
    """The results of one operation in the reference evaluator of `onnx`, which takes float64; values: one an input."""
    given = {f"i{place}": value for place, (name, value) in enumerate(zip(node.inputs, values, strict=True)) if name}
    return [np.asarray(each) for each in _evaluator(node, opset).run(None, given)]


def evaluate(rounded: Rounded, node: Node, values: list[Array], opset: int) -> list[Array]:
    """The results of an operation; NotEvaluated where float64 cannot go through it."""
    if node.domain:
        raise NotEvaluated(f"the operation {node.domain}.{node.op}")
    if node.op in _WHOLE:
        return _WHOLE[node.op](rounded, node, values)
    results = _results(node, values, opset)
    if node.op in MOVES or node.op in COMPARES:
        return results
    deviations = cache(partial(_deviations, node, values, results, opset))
    return [
        rounded(each, lambda place=place: deviations()[place]) if each.dtype.kind == "f" else each  # type: ignore[misc]
        for place, each in enumerate(results)
    ]


def _results(node: Node, values: Sequence[Array], opset: int) -> list[Array]:
    said = node.attributes
    if node.op == "Cast":  # numbers stay wide: the rounding of float32 belongs to the operations
        if said["to"] not in _CAST:
            raise NotEvaluated(f"Cast to type {said['to']}")
        return [values[0].astype(_CAST[said["to"]])]
    if node.op.startswith(("Bernoulli", "Multinomial", "Random")):
        raise NotEvaluated(f"the operation {node.op}")
    if said.get("training_mode"):
        raise NotEvaluated(f"{node.op} in training mode")
    if node.op == "Softmax" and opset < 13 and said.get("axis", 1) % values[0].ndim != values[0].ndim - 1:
        raise NotEvaluated("Softmax over several axes")
    if node.op == "Pad" and np.min(values[1] if values[1:] else said["pads"], initial=0) < 0:
        raise NotEvaluated("Pad with negative sizes")
    own = RULES[node.op][0] if node.op in RULES else None
    if own is not None and values[0].dtype.kind == "f":
        return [np.asarray(own(*values, **said))]
    try:
        results = evaluated(node, values, opset)
    except _ERRORS as error:
        raise NotEvaluated(f"the operation {node.op} ({type(error).__name__})") from None
    is_wide = any(each.dtype == np.float64 for each in values)
    if is_wide and any(each.dtype.kind == "f" and each.dtype != np.float64 for each in results):
        raise NotEvaluated(f"the operation {node.op}")  # it computes in float32 only
    return [each.astype(np.float64) if each.dtype.kind == "f" else each for each in results]


def _deviations(node: Node, values: Sequence[Array], results: Sequence[Array], opset: int) -> list[Array]:
    if node.op in SUMS:
        sizes, ones = (
            [made(each) if each.dtype == np.float64 else each for each in values] for made in (np.abs, np.ones_like)
        )
        is_of_products = node.op in ("Conv", "Einsum")
        terms = _results(node, ones, opset)[0] if is_of_products else np.array(values[0].size / max(results[0].size, 1))
        return [np.sqrt(terms / SUMS[node.op] + 3.0) * _results(node, sizes, opset)[0]]
    if node.op in RULES:
        return [np.asarray(RULES[node.op][1](results[0], *values, **node.attributes))]
    longest = max((size for each in values if each.dtype == np.float64 for size in each.shape), default=1)
    changes = [np.zeros(each.shape) for each in results]
    for shifted in _shifted(values):
        for most, one, own in zip(changes, _results(node, shifted, opset), results, strict=True):
            if own.dtype.kind == "f":
                np.fmax(most, np.abs(one - own) / _SIZE, out=most)
    return [np.sqrt(longest + 3.0) * most + np.abs(own) for most, own in zip(changes, results, strict=True)]


def _shifted(values: Sequence[Array]) -> Iterator[list[Array]]:
    rng = np.random.default_rng(0)
    for probe in range(_PROBES):
        yield [
            each * (1.0 + _SIZE * (2.0 * rng.integers(0, 2, each.shape) - 1.0 if probe else 1.0))
            if each.dtype == np.float64
            else each
            for each in values
        ]


def erf(x: Array) -> Array:
    """The error function, to float64 accuracy."""
    return np.asarray(np.vectorize(scalar_erf, otypes=[np.float64])(x))


def _sigmoid(x: Array) -> Array:
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * x)))


def _gelu(x: Array, approximate: str = "none") -> Array:
    inner = np.tanh(sqrt(2.0 / pi) * (x + 0.044715 * x**3)) if approximate == "tanh" else erf(x / sqrt(2.0))
    return np.asarray(0.5 * x * (1.0 + inner))


def _softplus(x: Array) -> Array:
    return np.asarray(np.logaddexp(0.0, x))


def _gemm_terms(a: Array, b: Array, *bias: Array, **said: Any) -> tuple[Array, Array, Array | float]:
    """The two factors and what is added, of which nobody takes account any more of how they are written."""
    first, second = a.T if said.get("transA") else a, b.T if said.get("transB") else b
    added = optional(bias, 0)
    return first * said.get("alpha", 1.0), second, 0.0 if added is None else added * said.get("beta", 1.0)


def _gemm(*values: Array, **said: Any) -> Array:
    first, second, start = _gemm_terms(*values, **said)
    return np.asarray(first @ second + start)


def _gemm_deviation(_value: Array, *values: Array, **said: Any) -> Array:
    first, second, start = _gemm_terms(*values, **said)
    return product_deviation(first, second, first @ second, start)


def _relative(roundings: float, value: Array, *_operands: Array, **_said: Any) -> Array:
    """A relative error of so many u."""
    return roundings * np.abs(value)


def _beside_one(value: Array, *_operands: Array, **_said: Any) -> Array:
    """A function of bounded parts: its error is relative to a part of size 1."""
    return _LIBRARY * np.abs(value) + 1.0


def _gated(value: Array, x: Array, **_said: Any) -> Array:
    """x times a function between 0 and 1 whose error is relative to 1."""
    return _LIBRARY * np.abs(value) + np.abs(x)


def _powered(value: Array, _x: Array, exponent: Array) -> Array:
    """exp(exponent · log x): the relative error grows with the exponent."""
    return (_LIBRARY + np.abs(exponent)) * np.abs(value)


def _added_deviation(_value: Array, *terms: Array) -> Array:
    """A sum of n terms in any order has n - 1 roundings of partial sums, none larger than Σ|t|."""
    return np.asarray(np.sqrt(max(len(terms) - 1, 1)) * sum(np.abs(each) for each in terms))


def _softmax(value: Array, x: Array, axis: int = -1) -> Array:
    """exp(x - max) / Σ: the subtraction, a library function of its result, a sum of positive numbers, a division."""
    return np.asarray(value * np.sqrt(40.0 + x.shape[axis] + (x - x.max(axis=axis, keepdims=True)) ** 2))


def _log_softmax(value: Array, x: Array, axis: int = -1) -> Array:
    return np.asarray(np.abs(value) + np.sqrt(40.0 + x.shape[axis] + (x - x.max(axis=axis, keepdims=True)) ** 2))


def _length(value: Array, x: Array, *_axes: Array, **_said: Any) -> Array:
    return np.asarray(np.sqrt(x.size / max(value.size, 1) + 4.0) * value)


def _batch_norm(_value: Array, x: Array, *channels: Array, epsilon: float = 1e-5, **_said: Any) -> Array:
    """A factor and an offset for each channel; optimisers fold them into the operation before."""
    scale, bias, mean, variance = (each.reshape(-1, *(1,) * (x.ndim - 2)) for each in channels)
    factor = scale / np.sqrt(variance + epsilon)
    return np.asarray(_SCALED * (np.abs(x * factor) + np.abs(mean * factor) + np.abs(bias)))


def _layer_norm(rounded: Rounded, node: Node, values: list[Array]) -> list[Array]:
    """x minus its mean, over its deviation.

    Fused kernels compute the variance as E[x²] - E[x]²: its error is relative to E[x²], which is larger where the mean is.
    """
    x, axis, scale = values[0], node.attributes.get("axis", -1) % values[0].ndim, values[1]
    axes, epsilon = tuple(range(axis, x.ndim)), node.attributes.get("epsilon", 1e-5)
    bias = optional(values, 2)
    centred = x - rounded(np.mean(x, axis=axes, keepdims=True), lambda: mean_deviation(x, axes))
    exact = np.mean(centred**2, axis=axes, keepdims=True)
    spread = rounded(exact, lambda: mean_deviation(x**2, axes))
    normal = centred / np.sqrt(np.maximum(spread, 0.0) + epsilon)
    result = normal * scale + (0.0 if bias is None else bias)
    return [rounded(result, lambda: np.hypot(_SCALED * normal * scale, result))]


_library, _once, _twice = partial(_relative, _LIBRARY), partial(_relative, 1.0), partial(_relative, 2.0)
RULES: Mapping[str, tuple[Callable[..., Array] | None, Callable[..., Array]]] = {
    "MatMul": (np.matmul, lambda value, a, b: product_deviation(a, b, value)), "Gemm": (_gemm, _gemm_deviation),
    "Add": (np.add, _once), "Sub": (np.subtract, _once), "Sum": (None, _added_deviation),
    "Mul": (np.multiply, _twice), "Div": (np.divide, _twice),  # a constant divisor may be a factor: one more rounding
    "Pow": (lambda x, exponent: np.power(np.asarray(x, np.float64), exponent), _powered), "Sqrt": (np.sqrt, _twice),
    "Reciprocal": (np.reciprocal, _twice), "Exp": (np.exp, _library), "Log": (np.log, _beside_one), "Sin": (np.sin, _beside_one),
    "Cos": (np.cos, _beside_one), "Tanh": (np.tanh, _library), "Erf": (erf, _library), "Sigmoid": (_sigmoid, _beside_one),
    "HardSigmoid": (None, _beside_one), "Softplus": (_softplus, _beside_one), "Elu": (None, _beside_one),
    "Selu": (None, _beside_one), "Gelu": (_gelu, _gated), "LeakyRelu": (None, _once), "PRelu": (None, _once),
    "HardSwish": (lambda x: x * np.clip(x / 6.0 + 0.5, 0.0, 1.0), _gated), "Mish": (lambda x: x * np.tanh(_softplus(x)), _gated),
    "Softmax": (None, _softmax), "LogSoftmax": (None, _log_softmax), "ReduceL2": (None, _length),
    "BatchNormalization": (None, _batch_norm),
}  # fmt: skip
"""The value, where the evaluator's own is slow; the deviation, of the value, the operands and what the node says."""
SUMS: Mapping[str, float] = {
    "ReduceMean": 3.0, "ReduceSum": 3.0, "GlobalAveragePool": 3.0, "Conv": 1.0, "Einsum": 1.0,
}  # fmt: skip
"""n terms have n roundings of partial sums up to Σ|t|; those of one vector grow evenly: their squares add up to a third."""
COMPARES = frozenset({
    "Relu", "Abs", "Neg", "Sign", "Floor", "Ceil", "Identity", "Dropout", "Max", "Min", "Where", "Equal", "Greater",
    "GreaterOrEqual", "Less", "LessOrEqual", "Mod", "Not", "And", "Or", "Clip",
})  # fmt: skip
"""What chooses among numbers, each by itself."""
MOVES = frozenset({
    "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Concat", "Slice", "Split", "Gather",
    "GatherElements", "Expand", "Tile", "Pad", "Cast", "Shape", "ConstantOfShape", "Range", "ReduceMax",
    "ReduceMin",
})  # fmt: skip
_WHOLE: Mapping[str, Callable[[Rounded, Node, list[Array]], list[Array]]] = {
    "GRU": gru, "LSTM": lstm, "LayerNormalization": _layer_norm,
}  # fmt: skip
"""Nodes of several steps, each with its own rounding."""
