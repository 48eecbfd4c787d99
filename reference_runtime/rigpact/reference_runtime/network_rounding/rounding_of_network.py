"""The exact answer of an ONNX model, and how far two correct float32 versions of it may differ.

The model's operations are evaluated in float64, once as they are and `PROBES` times with each operation's result disturbed
by the deviation of its rounding (arithmetic.py), with random signs. An input that is known up to a bound is disturbed by
its bound, the largest deviation that such an error can have. The root mean square of the changes of an output
estimates the deviation σ of its error: to first order it is sqrt(Σ (∂output/∂value)² · deviation²) over all values of the
graph, so errors that cancel on the way and errors that grow are both seen, and an uncertainty that reaches across a kink or a
clamp is followed there.

The bound is `SIGMAS`·σ. For errors with mean zero a value exceeds λσ with a probability of at most 2·exp(-λ²/2), 3e-8 at
λ = 6. The estimate from K probes can be smaller than σ: by a factor of 4 with a probability of 1.3e-4 at K = 8. This is within
the margin of the deviations: every rounding counts as u, although its root mean square is 0.4·u (a factor of 2.4), every
partial sum is as large as the largest (a factor of sqrt(3) and more), and an input's bound is not a deviation but a worst case.

Nothing here is fitted to a runtime: another BLAS, another number of threads, blocked or reversed sums, fused
multiply-adds and the fused kernels of onnxruntime are all orders of the same roundings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.errors import UnusableInput
from rigpact.contract.model.program import Operation, Program, read_program
from rigpact.reference_runtime.network_rounding import operators
from rigpact.reference_runtime.network_rounding.arithmetic import (
    Array,
    Disturbance,
    Recorder,
    Rounded,
    StackedDisturbance,
    mean_deviation,
)
from rigpact.reference_runtime.network_rounding.recurrent import NotEvaluated
from rigpact.reference_runtime.operations.rounding import gamma

# A model with one edit: what goes wrong where a network is exported, or written by hand for an engine.
_PLAIN: Mapping[str, Any] = {}
ACTIVATIONS: Mapping[str, Mapping[str, Any]] = {
    "Relu": _PLAIN, "LeakyRelu": {"alpha": 0.01}, "Elu": {"alpha": 1.0}, "Tanh": _PLAIN, "Sigmoid": _PLAIN, "Softplus": _PLAIN,
    "Gelu": _PLAIN, "Selu": _PLAIN,
}  # fmt: skip
"""Operations and the attributes that ONNX assumes where none are written."""
SLOPES = (0.01, 0.1, 0.2, 0.3)
"""Slopes of LeakyRelu: the defaults of PyTorch and ONNX, of Darknet, of TensorFlow, of Keras."""
_INVERSES = {"Add": "Sub", "Sub": "Add", "Mul": "Div", "Div": "Mul"}
_WORDS = {
    "Add": "the addition of {}", "Sub": "the subtraction of {}", "Mul": "the multiplication by {}", "Div": "the division by {}",
}  # fmt: skip


def edits_of(program: Program) -> Iterator[tuple[str, Program]]:
    """Every edit: `computed WORDS`, and the program."""
    yield from _other_activations(program)
    yield from _other_arithmetic(program)
    # Square matrices read the other way round: all of them, or one
    square = [
        node.inputs[1]
        for node in program.operations
        if node.op in ("Gemm", "MatMul") and not node.domain and _is_square(program.constants.get(node.inputs[1]))
    ]
    chosen = [square, *([each] for each in square if len(square) > 1)] if square else []
    for names in chosen:
        changed = {name: value.T if name in names else value for name, value in program.constants.items()}
        yield f"with the weights {', '.join(names)} transposed", replace(program, constants=changed)
    halves = {
        name: value.astype(np.float16).astype(np.float64) if value.dtype.kind == "f" else value
        for name, value in program.constants.items()
    }
    yield "with weights that were rounded to float16", replace(program, constants=halves)


def _other_activations(program: Program) -> Iterator[tuple[str, Program]]:
    """Another activation or none, everywhere or in its last place; no clamp; no last bias."""
    nodes = program.operations
    active = [place for place, node in enumerate(nodes) if not node.domain and node.op in ACTIVATIONS]
    for op in dict.fromkeys(nodes[place].op for place in active):
        places = [place for place in active if nodes[place].op == op]
        yield from _activated(program, places, op)
        if len(places) > 1 and places[-1] == active[-1]:
            yield from _activated(program, places[-1:], f"the last {op}")
    clamps = [place for place, node in enumerate(nodes) if not node.domain and node.op == "Clip"]
    if clamps:
        yield "without Clip", _with(program, clamps, "Identity", _PLAIN)
    last = nodes[-1]
    if last.op == "Gemm" and not last.domain and len(last.inputs) > 2:
        yield (
            "without the bias of the last layer",
            _with_operations(program, {len(nodes) - 1: replace(last, inputs=last.inputs[:2])}),
        )


def _activated(program: Program, places: list[int], words: str) -> Iterator[tuple[str, Program]]:
    first = program.operations[places[0]]
    for other, attributes in ACTIVATIONS.items():
        if other != first.op:
            yield f"with {other} in place of {words}", _with(program, places, other, attributes)
    if first.op != "LeakyRelu":
        for slope in SLOPES[1:]:
            said = f"with LeakyRelu of a slope of {slope:g} in place of {words}"
            yield said, _with(program, places, "LeakyRelu", {"alpha": slope})
    if first.op == "LeakyRelu":
        own = float(first.attributes.get("alpha", 0.01))
        for slope in SLOPES:
            if abs(slope - own) > 1e-6:  # a slope is stored as float32
                said = f"with a slope of {slope:g} in place of {own:g} in LeakyRelu"
                yield said, _with(program, places, "LeakyRelu", {"alpha": slope})
    yield f"without {words}", _with(program, places, "Identity", _PLAIN)


def _with(program: Program, places: Sequence[int], op: str, attributes: Mapping[str, Any]) -> Program:
    """Another operation of the first input in these places."""
    return _with_operations(
        program,
        {
            place: replace(node, op=op, inputs=node.inputs[:1], attributes=attributes)
            for place, node in enumerate(program.operations)
            if place in places
        },
    )


def _with_operations(program: Program, changed: Mapping[int, Operation]) -> Program:
    operations = tuple(changed.get(place, node) for place, node in enumerate(program.operations))
    return replace(program, operations=operations)


@dataclass(frozen=True)
class _Arithmetic:
    """An addition to, or a product with, a constant of the model. data: the other input."""

    place: int
    node: Operation
    constant: str
    data: str

    @property
    def words(self) -> str:
        """`std_in` and what is done with it."""
        return _WORDS[self.node.op].format(self.constant)

    def of(self, data: str, output: str) -> Operation:
        """The same operation of another value."""
        inputs = tuple(data if name == self.data else name for name in self.node.inputs)
        return replace(self.node, inputs=inputs, outputs=(output,))


def _arithmetic(program: Program) -> Iterator[_Arithmetic]:
    for place, node in enumerate(program.operations):
        constants = [name for name in node.inputs if name in program.constants]
        data = [name for name in node.inputs if name not in program.constants]
        if node.op in _INVERSES and not node.domain and len(constants) == len(data) == 1:
            yield _Arithmetic(place, node, constants[0], data[0])


def _other_arithmetic(program: Program) -> Iterator[tuple[str, Program]]:
    """Normalisers: the inverse operation, none, two neighbours in the other order, a whole run left out or done twice."""
    found = list(_arithmetic(program))
    for each in found:
        inverse = {each.place: replace(each.node, op=_INVERSES[each.node.op])}
        other, own = _WORDS[_INVERSES[each.node.op]].format(each.constant), _WORDS[each.node.op].format("it")
        yield f"with {other} in place of {own}", _with_operations(program, inverse)
        yield f"without {each.words}", _without(program, [each])
    runs: list[list[_Arithmetic]] = []
    for each in found:
        if runs and runs[-1][-1].node.outputs[0] == each.data:
            runs[-1].append(each)
        else:
            runs.append([each])
    for run in runs:
        for one, following in pairwise(run):
            changed = {
                one.place: following.of(one.data, one.node.outputs[0]),
                following.place: one.of(one.node.outputs[0], following.node.outputs[0]),
            }
            yield f"with {following.words} before {one.words}", _with_operations(program, changed)
        words = " and ".join(each.words for each in run)
        if len(run) > 1:
            yield f"without {words}", _without(program, run)
        yield f"with {words}, twice", _twice(program, run)


def _without(program: Program, run: Sequence[_Arithmetic]) -> Program:
    same = {each.place: replace(each.node, op="Identity", inputs=(each.data,), attributes=_PLAIN) for each in run}
    return _with_operations(program, same)


def _twice(program: Program, run: Sequence[_Arithmetic]) -> Program:
    """The run once more before itself."""
    before, data = list[Operation](), run[0].data
    for each in run:
        before.append(each.of(data, f"{each.node.outputs[0]} before"))
        data = before[-1].outputs[0]
    first, nodes = run[0].place, program.operations
    again = run[0].of(data, run[0].node.outputs[0])
    return replace(program, operations=(*nodes[:first], *before, again, *nodes[first + 1 :]))


def _is_square(value: Any) -> bool:
    return value is not None and value.ndim == 2 and value.shape[0] == value.shape[1]


PROBES, SIGMAS, STORED = 8, 6.0, 2
_NO_INPUT = np.array(None, object)
_REDUCTIONS = ("ReduceMean",)


class BoundedAnswer:
    """The outputs of a model in float64, and the bound of each number; infinite where a disturbance ends in no number."""

    def __init__(self, exact: Sequence[Array], bound: Callable[[], Sequence[Array]]) -> None:
        """bound: derives the bounds; it takes several times as long as the outputs, and not every answer is asked for them."""
        self.exact = tuple(exact)
        self._derive: Callable[[], Sequence[Array]] | None = bound
        self._bound: tuple[Array, ...] = ()

    @property
    def bound(self) -> tuple[Array, ...]:
        """The bound of each number, derived when first asked for."""
        if self._derive is not None:
            with np.errstate(all="ignore"):
                self._bound = tuple(self._derive())
            self._derive = None  # it holds what every operation may lose
        return self._bound

    @classmethod
    def joined(cls, answers: Sequence[BoundedAnswer]) -> BoundedAnswer:
        """The answers to consecutive rows as one."""
        parts = tuple(answers)
        return cls(_joined(each.exact for each in parts), lambda: _joined(each.bound for each in parts))


def _joined(parts: Iterable[Sequence[Array]]) -> list[Array]:
    return [np.concatenate(each) for each in zip(*parts, strict=True)]


class NetworkRounding:
    """A model whose answers can be bounded. `reason` is '' if every operation is known, else what is not."""

    def __init__(self, path: str | Path) -> None:
        """Read the model; a model that cannot be read is not refused, it has a reason."""
        self.reason = ""
        try:
            self._program = prepared(read_program(path))
        except UnusableInput as error:
            self.reason = error.found

    def variants(self) -> Iterator[tuple[str, NetworkRounding]]:
        """The model with one edit, each in words; none where it cannot be evaluated."""
        for words, program in () if self.reason else edits_of(self._program):
            other = copy(self)
            other._program = program
            yield words, other

    def answer(self, inputs: Sequence[Array], moved: Sequence[Array]) -> BoundedAnswer | None:
        """Evaluate inputs whose uncertainties are `moved`, in the order of binding; None if it is not possible."""
        if self.reason:
            return None
        try:
            with np.errstate(all="ignore"):
                # is_apart: no operation mixes two rows
                is_apart = self.is_row_by_row()
                given = [np.asarray(each, np.float64) for each in inputs]
                recorder = Recorder()
                exact = evaluate(self._program, given, recorder)
                return BoundedAnswer(
                    exact, lambda: _bound(self._program, given, moved, recorder, exact, is_apart=is_apart)
                )
        except NotEvaluated as unknown:
            self.reason = str(unknown)
        except ValueError as error:  # shapes that do not fit: the model takes another number of rows
            self.reason = f"operations that do not take {len(inputs[0])} rows ({error})"
        return None

    def is_row_by_row(self) -> bool:
        """Whether no operation of the model can mix two rows or fix their number."""
        return not self.reason and all(_keeps_rows(node, self._program) for node in self._program.operations)


def prepared(program: Program) -> Program:
    """The program with wide constants; UnusableInput for numbers of other types than float32 and float64."""
    constants = {}
    for name, value in program.constants.items():
        if value.dtype not in (np.float32, np.float64) and value.dtype.kind not in "biu":
            raise UnusableInput(f"{program.path}#{name}", f"constants of the type {value.dtype}", "float32")
        constants[name] = value.astype(np.float64) if value.dtype.kind == "f" else value
    return Program(program.path, program.opset, program.inputs, program.outputs, program.operations, constants)


def _bound(
    program: Program,
    given: Sequence[Array],
    moved: Sequence[Array],
    recorder: Recorder,
    exact: Sequence[Array],
    *,
    is_apart: bool,
) -> list[Array]:
    """How far the outputs may be off: from the program evaluated with disturbances of the size of every rounding."""
    rows = len(given[0])
    if is_apart and all(each.ndim > 1 and each.shape[0] == rows for each in (*recorder.deviations, *exact)):
        stacked = StackedDisturbance(recorder.deviations, rows, PROBES)
        below = [
            np.concatenate([each] * PROBES) + stacked.spread(np.asarray(by, np.float64))
            for each, by in zip(given, moved, strict=True)
        ]
        found = [
            each.reshape(PROBES, *one.shape) for each, one in zip(evaluate(program, below, stacked), exact, strict=True)
        ]
        return bounded(exact, list(zip(*found, strict=True)))
    answers = []
    for probe in range(PROBES):
        disturbed = Disturbance(recorder.deviations, len(given[0]), probe)
        shifted = [
            each + np.asarray(by, np.float64) * disturbed.signs(each.shape)
            for each, by in zip(given, moved, strict=True)
        ]
        answers.append(evaluate(program, shifted, disturbed))
    return bounded(exact, answers)


def bounded(exact: Sequence[Array], disturbed: Sequence[Sequence[Array]]) -> list[Array]:
    """The bounds of outputs that their disturbed versions show."""
    bounds = []
    for place, one in enumerate(exact):
        square = np.mean([(outputs[place] - one) ** 2 for outputs in disturbed], axis=0)
        bound = SIGMAS * np.sqrt(square) + gamma(STORED) * np.abs(one)
        bounds.append(np.where(np.isnan(bound), np.inf, bound))
    return bounds


def evaluate(program: Program, inputs: Sequence[Array], rounded: Rounded) -> list[Array]:
    """The outputs of a program; NotEvaluated for an operation that is not known."""
    known: dict[str, Array] = {**program.constants, **dict(zip(program.inputs, inputs, strict=True))}
    variances = _variances(program)
    for node in program.operations:
        if unknown := [name for name in node.inputs if name and name not in known]:  # onnxruntime sorts, this does not
            raise NotEvaluated(f"the value {unknown[0]}, which no operation before its use computes")
        values = [known[name] if name else _NO_INPUT for name in node.inputs]
        results = operators.evaluate(rounded, node, values, program.opset)
        if node.outputs[0] in variances:
            source = known[variances[node.outputs[0]]]
            results[0] = np.maximum(rounded(results[0], partial(_fused, source, results[0].shape)), 0.0)
        known |= {name: value for name, value in zip(node.outputs, results, strict=False) if name}
    return [known[name] for name in program.outputs]


def _variances(program: Program) -> Mapping[str, str]:
    """The outputs that are variances written out, mean((x - mean(x))²), and their x.

    onnxruntime fuses them into a LayerNormalization, which computes E[x²] - E[x]².
    """
    makers = {name: node for node in program.operations for name in node.outputs}
    found = {}
    for node in program.operations:
        square = makers.get(node.inputs[0]) if node.op in _REDUCTIONS else None
        is_square = square is not None and (square.op == "Pow" or (square.op == "Mul" and len(set(square.inputs)) == 1))
        centred = makers.get(square.inputs[0]) if square is not None and is_square else None
        if centred is None or centred.op != "Sub":
            continue
        mean = makers.get(centred.inputs[1])
        if mean is not None and mean.op in _REDUCTIONS and mean.inputs[0] == centred.inputs[0]:
            found[node.outputs[0]] = centred.inputs[0]
    return found


def _fused(x: Array, shape: tuple[int, ...]) -> Array:
    """The deviation of E[x²] - E[x]² for a variance of that shape."""
    sizes = shape if len(shape) == x.ndim else (*shape, *(1,) * (x.ndim - len(shape)))
    axes = tuple(axis for axis, size in enumerate(sizes) if size == 1 and x.shape[axis] != 1)
    return np.asarray(mean_deviation(x**2, axes or (x.ndim - 1,)).reshape(shape))


_ROWS_BY_AXIS = frozenset({"Concat", "Softmax", "LayerNormalization", "Split"})
_MIXING = frozenset({"PRelu", "LogSoftmax", "ReduceL2", "BatchNormalization"})
_ROWS = (frozenset(operators.RULES) | operators.COMPARES) - _ROWS_BY_AXIS - _MIXING


def _keeps_rows(node: Operation, program: Program) -> bool:
    if node.op in ("Gemm", "MatMul"):
        return node.inputs[1] in program.constants and not node.attributes.get("transA")
    default: Any = {"Concat": 0, "Split": 0}.get(node.op, -1)
    return node.op in _ROWS or (node.op in _ROWS_BY_AXIS and node.attributes.get("axis", default) != 0)
