"""Operations that sum: products of matrices, convolutions, means, softmax and normalisations."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from rigpact.contract.model.program import Operation
from rigpact.reference_runtime.network_rounding.arithmetic import Array, Rounded, mean_deviation, product_deviation
from rigpact.reference_runtime.network_rounding.shaping import NotEvaluated, Values, asked, optional


def _matmul(rounded: Rounded, _node: Operation, values: Values) -> Array:
    a, b = values
    total = a @ b
    return rounded(total, lambda: product_deviation(a, b, total))


def _gemm(rounded: Rounded, node: Operation, values: Values) -> Array:
    said = node.attributes
    a = (values[0].T if said.get("transA") else values[0]) * said.get("alpha", 1.0)
    b = values[1].T if said.get("transB") else values[1]
    bias = optional(values, 2)
    start = 0.0 if bias is None else bias * said.get("beta", 1.0)
    total = a @ b
    return rounded(total + start, lambda: product_deviation(a, b, total, start))


def _convolution(rounded: Rounded, node: Operation, values: Values) -> Array:
    """A product of matrices: each place of the window is a row of channels × kernel numbers."""
    said, (data, weight) = node.attributes, values[:2]
    if said.get("auto_pad", "NOTSET") not in ("NOTSET", "VALID"):
        raise NotEvaluated(f"Conv with auto_pad {said['auto_pad']}")
    axes, groups = data.ndim - 2, said.get("group", 1)
    pads, strides = said.get("pads", (0,) * 2 * axes), said.get("strides", (1,) * axes)
    dilations, kernel = said.get("dilations", (1,) * axes), weight.shape[2:]
    data = np.pad(data, [(0, 0), (0, 0), *((pads[axis], pads[axis + axes]) for axis in range(axes))])
    reach = tuple((size - 1) * step + 1 for size, step in zip(kernel, dilations, strict=True))
    windows = sliding_window_view(data, reach, axis=tuple(range(2, data.ndim)))
    places = (slice(None), slice(None), *(slice(None, None, step) for step in (*strides, *dilations)))
    windows = np.moveaxis(windows[places], 1, 1 + axes)  # (N, places…, C, kernel…)
    shape = windows.shape[: 1 + axes]
    rows = windows.reshape(*shape, groups, 1, -1)
    columns = weight.reshape(groups, weight.shape[0] // groups, -1).swapaxes(1, 2)
    bias = optional(values, 2)
    start = 0.0 if bias is None else bias.reshape(groups, 1, -1)
    total = rows @ columns
    result = rounded(total + start, lambda: product_deviation(rows, columns, total, start))
    return np.moveaxis(result.reshape(*shape, -1), -1, 1)


def _axes(node: Operation, values: Values) -> tuple[int, ...]:
    found = asked(node, values, "axes", 1)
    return tuple(range(values[0].ndim)) if found is None else tuple(axis % values[0].ndim for axis in found)


def _mean(rounded: Rounded, node: Operation, values: Values) -> Array:
    axes, x = _axes(node, values), values[0]
    return _kept(node, axes, rounded(np.mean(x, axis=axes, keepdims=True), lambda: mean_deviation(x, axes)))


def _sum(rounded: Rounded, node: Operation, values: Values) -> Array:
    axes, x = _axes(node, values), values[0]
    count = float(np.prod([x.shape[axis] for axis in axes]))
    total = np.sum(x, axis=axes, keepdims=True)
    if total.dtype.kind == "f":
        total = rounded(total, lambda: count * mean_deviation(x, axes))
    return _kept(node, axes, total)


def _kept(node: Operation, axes: tuple[int, ...], value: Array) -> Array:
    return value if node.attributes.get("keepdims", 1) else np.squeeze(value, axes)


def _extreme(function: Callable[..., Array]) -> Callable[[Rounded, Operation, Values], Array]:
    def compute(_rounded: Rounded, node: Operation, values: Values) -> Array:
        return function(values[0], axis=_axes(node, values), keepdims=bool(node.attributes.get("keepdims", 1)))

    return compute


def _norm(rounded: Rounded, node: Operation, values: Values) -> Array:
    axes, x = _axes(node, values), values[0]
    count = float(np.prod([x.shape[axis] for axis in axes]))
    length = np.sqrt(np.sum(x * x, axis=axes, keepdims=True))
    return _kept(node, axes, rounded(length, lambda: np.sqrt(count + 4.0) * length))


def softmax(rounded: Rounded, node: Operation, values: Values) -> Array:
    """exp(x - max) / Σ: the subtraction, a library function of its result, a sum of positive numbers, a division."""
    x, axis = values[0], node.attributes.get("axis", -1) % values[0].ndim
    shifted = x - x.max(axis=axis, keepdims=True)
    powers = np.exp(shifted)
    result = powers / powers.sum(axis=axis, keepdims=True)
    return rounded(result, lambda: result * np.sqrt(40.0 + x.shape[axis] + shifted**2))


def _log_softmax(rounded: Rounded, node: Operation, values: Values) -> Array:
    x, axis = values[0], node.attributes.get("axis", -1) % values[0].ndim
    shifted = x - x.max(axis=axis, keepdims=True)
    result = shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))
    return rounded(result, lambda: np.abs(result) + np.sqrt(40.0 + x.shape[axis] + shifted**2))


def _layer_norm(rounded: Rounded, node: Operation, values: Values) -> Array:
    x, axis = values[0], node.attributes.get("axis", -1) % values[0].ndim
    axes, epsilon = tuple(range(axis, x.ndim)), node.attributes.get("epsilon", 1e-5)
    scale, bias = values[1], optional(values, 2)
    centred, spread = centred_and_spread(rounded, x, axes)
    normal = centred / np.sqrt(np.maximum(spread, 0.0) + epsilon)
    result = normal * scale + (0.0 if bias is None else bias)
    return rounded(result, lambda: np.hypot(_SCALED * normal * scale, result))


_SCALED = 4.0
"""Roundings of an inverse square root and two products."""


def centred_and_spread(rounded: Rounded, x: Array, axes: tuple[int, ...]) -> tuple[Array, Array]:
    """x minus its mean, and its variance.

    Fused kernels compute the variance as E[x²] - E[x]²: its error is relative to E[x²], which is larger where the mean is.
    """
    mean = rounded(np.mean(x, axis=axes, keepdims=True), lambda: mean_deviation(x, axes))
    centred = x - mean
    exact = np.mean(centred**2, axis=axes, keepdims=True)
    return centred, rounded(exact, lambda: mean_deviation(x**2, axes))


def _batch_norm(rounded: Rounded, node: Operation, values: Values) -> Array:
    """A factor and an offset for each channel; optimisers fold them into the operation before."""
    x, wide = values[0], (-1, *(1,) * (values[0].ndim - 2))
    scale, bias, mean, variance = (each.reshape(wide) for each in values[1:5])
    if node.attributes.get("training_mode"):
        raise NotEvaluated("BatchNormalization in training mode")
    factor = scale / np.sqrt(variance + node.attributes.get("epsilon", 1e-5))
    result = (x - mean) * factor + bias
    size = _SCALED * (np.abs(x * factor) + np.abs(mean * factor) + np.abs(bias))
    return rounded(result, lambda: size)


def _global_average(rounded: Rounded, _node: Operation, values: Values) -> Array:
    x, axes = values[0], tuple(range(2, values[0].ndim))
    return rounded(np.mean(x, axis=axes, keepdims=True), lambda: mean_deviation(x, axes))


def _einsum(rounded: Rounded, node: Operation, values: Values) -> Array:
    said: str = node.attributes["equation"]
    sizes: dict[str, int] = {}
    terms = said.replace(" ", "").partition("->")[0].split(",")
    if "." in said:
        raise NotEvaluated("Einsum with an ellipsis")
    for term, value in zip(terms, values, strict=True):
        sizes |= dict(zip(term, value.shape, strict=True))
    kept = said.replace(" ", "").partition("->")[2]
    count = np.prod([float(size) for name, size in sizes.items() if name not in kept])
    operands: Any = [np.abs(value) for value in values]
    return rounded(np.einsum(said, *values), lambda: np.sqrt(count + 3.0) * np.einsum(said, *operands))


SUMMING: Mapping[str, Callable[[Rounded, Operation, Values], Array]] = {
    "MatMul": _matmul,
    "Gemm": _gemm,
    "Conv": _convolution,
    "ReduceMean": _mean,
    "ReduceSum": _sum,
    "ReduceMax": _extreme(np.max),
    "ReduceMin": _extreme(np.min),
    "ReduceL2": _norm,
    "Softmax": softmax,
    "LogSoftmax": _log_softmax,
    "LayerNormalization": _layer_norm,
    "BatchNormalization": _batch_norm,
    "GlobalAveragePool": _global_average,
    "Einsum": _einsum,
}
