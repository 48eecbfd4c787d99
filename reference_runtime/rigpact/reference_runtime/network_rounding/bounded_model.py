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

Where an operation is not known, the bound is measured: only the inputs are disturbed, and the model itself is run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.errors import UnusableInput
from rigpact.contract.model.graph import ModelGraph, Node, computable, open_model
from rigpact.contract.systems.stage import NotKnown
from rigpact.reference_runtime.network_rounding import operators
from rigpact.reference_runtime.network_rounding.arithmetic import (
    Array,
    RandomSigns,
    Recorder,
    Rounded,
    mean_deviation,
)
from rigpact.reference_runtime.network_rounding.edits import edits_of
from rigpact.reference_runtime.network_rounding.operators import NotEvaluated
from rigpact.reference_runtime.operations.scalars import UNIT_ROUNDOFF, gamma

Run = Callable[[Sequence[Array]], Sequence[Array]]
PROBES, SIGMAS, STORED = 8, 6.0, 2
KEPT = 2
"""Answers that are kept: those of the two sides of a comparison."""
STEPS = 16.0
"""Size of a measured disturbance, in roundings of an input or of 1, whichever is larger: it has to be well above the
rounding of the model itself, which is measured with it."""
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


def _cannot_run(_inputs: Sequence[Array]) -> Sequence[Array]:
    raise NotKnown("network")


class BoundedModel:
    """The model of a file, and a function that runs it; its operations are read when they are first needed."""

    def __init__(self, path: str | Path, run: Run = _cannot_run, *, takes_one_row: bool = False) -> None:
        """takes_one_row: the export fixed the batch to 1."""
        self._path, self._run, self._takes_one_row = path, run, takes_one_row
        self._graph: ModelGraph | None = None
        self._reason: str | None = None
        self._kept: list[tuple[list[Array], BoundedAnswer]] = []

    @property
    def reason(self) -> str:
        """Why a bound is only measured; '' if every operation is known."""
        self._operations()
        return str(self._reason)

    def _operations(self) -> ModelGraph | None:
        if self._reason is None:
            try:
                self._graph, self._reason = _wide(computable(open_model(self._path))), ""
            except UnusableInput as error:
                self._reason = error.found
        return None if self._reason else self._graph

    def variants(self) -> Iterator[tuple[str, BoundedModel]]:
        """The model with one edit, each in words; none where it cannot be evaluated. A variant cannot be run."""
        graph = self._operations()
        for words, edited in () if graph is None else edits_of(graph):
            other = copy(self)
            other._run, other._graph, other._kept = _cannot_run, edited, []
            yield words, other

    def answer(self, inputs: Sequence[Array], moved: Sequence[Array]) -> BoundedAnswer:
        """The answer to inputs that are known up to `moved`, with its bounds."""
        asked = [np.array(each) for each in (*inputs, *moved)]
        for key, kept in self._kept:
            if all(np.array_equal(one, other, equal_nan=True) for one, other in zip(key, asked, strict=True)):
                return kept
        found = self._answer(inputs, moved)
        self._kept = [*self._kept[-KEPT + 1 :], (asked, found)]
        return found

    def _answer(self, inputs: Sequence[Array], moved: Sequence[Array]) -> BoundedAnswer:
        count = len(inputs[0])
        if count > 1 and self._takes_one_row and not _is_row_by_row(self._operations()):
            rows = [slice(row, row + 1) for row in range(count)]
            answers = [self._answer([each[row] for each in inputs], [each[row] for each in moved]) for row in rows]
            return BoundedAnswer.joined(answers)
        return self.derived(inputs, moved) or self._measured(inputs, moved)

    def derived(self, inputs: Sequence[Array], moved: Sequence[Array]) -> BoundedAnswer | None:
        """The answer by the model's operations, in the order of binding; None if that is not possible."""
        graph = self._operations()
        if graph is None:
            return None
        try:
            with np.errstate(all="ignore"):
                given, recorder = [np.asarray(each, np.float64) for each in inputs], Recorder()
                exact = evaluate(graph, given, recorder)
                return BoundedAnswer(exact, lambda: _bound(graph, given, moved, recorder, exact))
        except NotEvaluated as unknown:
            self._reason = str(unknown)
        except ValueError as error:  # shapes that do not fit: the model takes another number of rows
            self._reason = f"operations that do not take {len(inputs[0])} rows ({error})"
        return None

    def _measured(self, inputs: Sequence[Array], moved: Sequence[Array]) -> BoundedAnswer:
        """Disturb the inputs only, and run the model itself.

        A backward-stable evaluation is the exact answer to inputs that differ by a few roundings. That every operation
        of the model is such is an assumption here, so this bound is measured, not derived.
        """
        exact = [np.asarray(each, np.float64) for each in self._run(inputs)]
        return BoundedAnswer(exact, lambda: bounded(exact, list(self._disturbed(inputs, moved))))

    def _disturbed(self, inputs: Sequence[Array], moved: Sequence[Array]) -> Iterator[list[Array]]:
        rng = np.random.default_rng(0)
        for _ in range(PROBES):
            shifted = []
            for each, by in zip(inputs, moved, strict=True):
                size = np.hypot(by, STEPS * UNIT_ROUNDOFF * np.maximum(np.abs(each), 1.0))
                signs = 2.0 * rng.integers(0, 2, (1, *each.shape[1:])) - 1.0
                shifted.append((each + signs * size).astype(np.float32))
            yield [np.asarray(each, np.float64) for each in self._run(shifted)]


def _is_row_by_row(graph: ModelGraph | None) -> bool:
    """Whether no operation of the model can mix two rows or fix their number."""
    return graph is not None and all(_keeps_rows(node, graph) for node in graph.nodes)


def _wide(graph: ModelGraph) -> ModelGraph:
    """The model with wide constants; UnusableInput for numbers of other types than float32 and float64."""
    for name, value in graph.constants.items():
        if value.dtype not in (np.float32, np.float64) and value.dtype.kind not in "biu":
            raise UnusableInput(f"{graph.path}#{name}", f"constants of the type {value.dtype}", "float32")
    wide = {name: each.astype(np.float64) if each.dtype.kind == "f" else each for name, each in graph.constants.items()}
    return replace(graph, constants=wide)


def _bound(
    graph: ModelGraph, given: Sequence[Array], moved: Sequence[Array], recorder: Recorder, exact: Sequence[Array]
) -> list[Array]:
    """How far the outputs may be off: from the model evaluated with disturbances of the size of every rounding."""
    rows, answers = len(given[0]), []
    held = (*recorder.deviations, *exact)
    is_stacked = _is_row_by_row(graph) and all(each.ndim > 1 and each.shape[0] == rows for each in held)
    count = PROBES if is_stacked else 1
    for probe in range(PROBES // count):
        disturbed = RandomSigns(recorder.deviations, rows, probe, count)
        shifted = [
            np.concatenate([each] * count) + disturbed.spread(np.asarray(by, np.float64), each.shape)
            for each, by in zip(given, moved, strict=True)
        ]
        answers.append(evaluate(graph, shifted, disturbed))
    if is_stacked:
        parts = [each.reshape(PROBES, *one.shape) for each, one in zip(answers[0], exact, strict=True)]
        answers = [list(each) for each in zip(*parts, strict=True)]
    return bounded(exact, answers)


def bounded(exact: Sequence[Array], disturbed: Sequence[Sequence[Array]]) -> list[Array]:
    """The bounds of outputs that their disturbed versions show."""
    bounds = []
    for place, one in enumerate(exact):
        square = np.mean([(outputs[place] - one) ** 2 for outputs in disturbed], axis=0)
        bound = SIGMAS * np.sqrt(square) + gamma(STORED) * np.abs(one)
        bounds.append(np.where(np.isnan(bound), np.inf, bound))
    return bounds


def evaluate(graph: ModelGraph, inputs: Sequence[Array], rounded: Rounded) -> list[Array]:
    """The outputs of a model; NotEvaluated for an operation that is not known."""
    known: dict[str, Array] = {
        **graph.constants,
        **dict(zip([entry.name for entry in graph.inputs], inputs, strict=True)),
    }
    variances = _variances(graph)
    for node in graph.nodes:
        if unknown := [name for name in node.inputs if name and name not in known]:  # onnxruntime sorts, this does not
            raise NotEvaluated(f"the value {unknown[0]}, which no operation before its use computes")
        values = [known[name] if name else _NO_INPUT for name in node.inputs]
        results = operators.evaluate(rounded, node, values, graph.opset)
        if node.outputs[0] in variances:
            source = known[variances[node.outputs[0]]]
            results[0] = np.maximum(rounded(results[0], partial(_fused, source, results[0].shape)), 0.0)
        known |= {name: value for name, value in zip(node.outputs, results, strict=False) if name}
    return [known[entry.name] for entry in graph.outputs]


def _variances(graph: ModelGraph) -> Mapping[str, str]:
    """The outputs that are variances written out, mean((x - mean(x))²), and their x.

    onnxruntime fuses them into a LayerNormalization, which computes E[x²] - E[x]².
    """
    found = {}
    for node in graph.nodes:
        square = graph.makers.get(node.inputs[0]) if node.op in _REDUCTIONS else None
        is_square = square is not None and (square.op == "Pow" or (square.op == "Mul" and len(set(square.inputs)) == 1))
        centred = graph.makers.get(square.inputs[0]) if square is not None and is_square else None
        if centred is None or centred.op != "Sub":
            continue
        mean = graph.makers.get(centred.inputs[1])
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


def _keeps_rows(node: Node, graph: ModelGraph) -> bool:
    if node.op in ("Gemm", "MatMul"):
        return node.inputs[1] in graph.constants and not node.attributes.get("transA")
    default: Any = {"Concat": 0, "Split": 0}.get(node.op, -1)
    return node.op in _ROWS or (node.op in _ROWS_BY_AXIS and node.attributes.get("axis", default) != 0)
