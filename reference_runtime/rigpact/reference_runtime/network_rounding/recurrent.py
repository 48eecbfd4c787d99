"""GRU and LSTM, step by step: each product of matrices and each gate has its own rounding.

Only the standard activations, all steps of every sequence, and the layout with steps first are evaluated.
"""

from collections.abc import Sequence

import numpy as np

from rigpact.contract.model.graph import Node
from rigpact.reference_runtime.network_rounding.arithmetic import Array, Rounded, product_deviation

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


def _sigmoid(rounded: Rounded, x: Array) -> Array:
    value = 0.5 * (1.0 + np.tanh(0.5 * x))
    return rounded(value, lambda: np.hypot(np.abs(x), _GATE) * np.maximum(value, 0.25))


def _tanh(rounded: Rounded, x: Array) -> Array:
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
        update = _sigmoid(rounded, inside[:, :size] + gates[:, :size])
        reset = _sigmoid(rounded, inside[:, size : 2 * size] + gates[:, size:])
        if said.get("linear_before_reset"):
            past = reset * _affine(rounded, hidden, recurrence[2 * size :], fed[2 * size :])
        else:
            past = _affine(rounded, reset * hidden, recurrence[2 * size :], fed[2 * size :])
        proposed = _tanh(rounded, inside[:, 2 * size :] + past)
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
        enter, leave, keep = (_sigmoid(rounded, gates[:, part * size : (part + 1) * size]) for part in range(3))
        proposed = _tanh(rounded, gates[:, 3 * size :])
        cell = _mixed(rounded, keep * cell, enter * proposed)
        hidden = _mixed(rounded, leave * _tanh(rounded, cell), np.zeros(()))
        rows.append(hidden)
    return np.stack(rows), hidden, cell


def _mixed(rounded: Rounded, one: Array, other: Array) -> Array:
    return rounded(one + other, lambda: _MIXED * (np.abs(one) + np.abs(other)))
