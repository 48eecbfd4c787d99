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
from functools import partial
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
from rigpact.reference_runtime.network_rounding.model_edits import edits_of
from rigpact.reference_runtime.network_rounding.recurrent import NotEvaluated
from rigpact.reference_runtime.operations.rounding import gamma

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
