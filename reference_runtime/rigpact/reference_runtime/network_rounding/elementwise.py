"""Operations on each element by itself: the function, and the deviation of its rounding in units of u.

One rounding of the result counts as |v|. A library function has a relative error of a few u. Where implementations compute
a function from parts that cancel (`exp(x) - 1`, `1 + erf`, a rational approximation), its error is relative to the
parts: then their size is added.
"""

from collections.abc import Callable, Mapping
from functools import partial
from math import erf as scalar_erf
from math import pi, sqrt
from typing import Any

import numpy as np

from rigpact.contract.model.program import Operation
from rigpact.reference_runtime.network_rounding.arithmetic import Array, Rounded

_LIBRARY = 6.0
"""Roundings of a library function: 4 (operations/rounding.py), and 2 for the rational functions of inference runtimes."""

Function = Callable[..., Array]
Deviation = Callable[..., Array]


def erf(x: Array) -> Array:
    """The error function, to float64 accuracy."""
    return np.asarray(np.vectorize(scalar_erf, otypes=[np.float64])(x))


def _sigmoid(x: Array) -> Array:
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * x)))


def _elu(x: Array, alpha: float = 1.0) -> Array:
    return np.where(x > 0.0, x, alpha * np.expm1(np.minimum(x, 0.0)))


def _selu(x: Array, alpha: float = 1.67326319217681884765625, gamma: float = 1.05070102214813232421875) -> Array:
    return gamma * _elu(x, alpha)


def _gelu(x: Array, approximate: str = "none") -> Array:
    if approximate == "tanh":
        return np.asarray(0.5 * x * (1.0 + np.tanh(sqrt(2.0 / pi) * (x + 0.044715 * x**3))))
    return np.asarray(0.5 * x * (1.0 + erf(x / sqrt(2.0))))


def _hard_sigmoid(x: Array, alpha: float = 0.2, beta: float = 0.5) -> Array:
    return np.clip(alpha * x + beta, 0.0, 1.0)


def _softplus(x: Array) -> Array:
    return np.asarray(np.logaddexp(0.0, x))


def _power(x: Array, exponent: Array) -> Array:
    return np.asarray(np.power(np.asarray(x, np.float64), exponent))


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


def _added(*terms: Array) -> Array:
    return np.asarray(sum(terms[1:], terms[0]))


def _added_deviation(_value: Array, *terms: Array) -> Array:
    """A sum of n terms in any order has n - 1 roundings of partial sums, none larger than Σ|t|."""
    return np.asarray(np.sqrt(max(len(terms) - 1, 1)) * sum(np.abs(each) for each in terms))


_library, _once, _twice = partial(_relative, _LIBRARY), partial(_relative, 1.0), partial(_relative, 2.0)
ROUNDING: Mapping[str, tuple[Function, Deviation]] = {
    "Add": (np.add, _once),
    "Sub": (np.subtract, _once),
    "Sum": (_added, _added_deviation),
    "Mul": (np.multiply, _twice),  # a constant divisor may be a factor: one more rounding
    "Div": (np.divide, _twice),
    "Pow": (_power, _powered),
    "Sqrt": (np.sqrt, _twice),
    "Reciprocal": (np.reciprocal, _twice),
    "Exp": (np.exp, _library),
    "Log": (np.log, _beside_one),
    "Sin": (np.sin, _beside_one),
    "Cos": (np.cos, _beside_one),
    "Tanh": (np.tanh, _library),
    "Erf": (erf, _library),
    "Sigmoid": (_sigmoid, _beside_one),
    "HardSigmoid": (_hard_sigmoid, _beside_one),
    "Softplus": (_softplus, _beside_one),
    "Elu": (_elu, _beside_one),
    "Selu": (_selu, _beside_one),
    "Gelu": (_gelu, _gated),
    "LeakyRelu": (lambda x, alpha=0.01: np.where(x >= 0.0, x, alpha * x), _once),
    "PRelu": (lambda x, slope: np.where(x >= 0.0, x, slope * x), _once),
    "HardSwish": (lambda x: x * _hard_sigmoid(x, 1.0 / 6.0), _gated),
    "Mish": (lambda x: x * np.tanh(_softplus(x)), _gated),
}
EXACT: Mapping[str, Function] = {
    "Relu": lambda x: np.maximum(x, 0.0),
    "Abs": np.abs,
    "Neg": np.negative,
    "Sign": np.sign,
    "Floor": np.floor,
    "Ceil": np.ceil,
    "Identity": lambda x: x,
    "Dropout": lambda x, *_ratio_and_mode, **_seed: x,
    "Max": lambda *values: np.maximum.reduce(np.broadcast_arrays(*values)),
    "Min": lambda *values: np.minimum.reduce(np.broadcast_arrays(*values)),
    "Where": np.where,
    "Equal": np.equal,
    "Greater": np.greater,
    "GreaterOrEqual": np.greater_equal,
    "Less": np.less,
    "LessOrEqual": np.less_equal,
    "Mod": np.mod,  # of integers: shapes and indices
    "Not": np.logical_not,
    "And": np.logical_and,
    "Or": np.logical_or,
}


def evaluate(rounded: Rounded, node: Operation, values: list[Array]) -> Array | None:
    """The result of an elementwise operation; None for another operation. Integers have no rounding."""
    if node.op in EXACT:
        return np.asarray(EXACT[node.op](*values, **node.attributes))
    if node.op not in ROUNDING:
        return None
    function, deviation = ROUNDING[node.op]
    if node.op == "Div" and all(value.dtype.kind == "i" for value in values):
        return np.asarray(np.fix(values[0] / values[1])).astype(np.int64)
    result = np.asarray(function(*values, **node.attributes))
    if result.dtype.kind != "f":
        return result
    return rounded(result, lambda: deviation(result, *values, **node.attributes))
