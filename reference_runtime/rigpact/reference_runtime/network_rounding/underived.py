"""Operations of ONNX that have no derived rule: evaluated in float64 by the reference evaluator of `onnx`.

Their rounding is measured. An operation that is backward stable gives the exact result of operands that are off by some
roundings. So each operand is disturbed, relative to its own size, by random signs and once by the same sign everywhere, and the
largest change of each result counts, times the roundings of a sum as long as the operand's longest axis. A rounding of
the result itself is added. That the operation is backward stable is assumed here: the rules beside this module are derived.
"""

from collections.abc import Iterator

import numpy as np

from rigpact.contract.model.evaluator import One, evaluator
from rigpact.contract.model.program import Operation
from rigpact.reference_runtime.network_rounding.arithmetic import Array, Rounded
from rigpact.reference_runtime.network_rounding.shaping import NotEvaluated

_PROBES = 4
_SIZE = 2.0**-30
"""Size of a measured disturbance: far above the rounding of float64, far below where a smooth function bends."""
_RANDOM = frozenset(
    {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}
)


def evaluate(rounded: Rounded, node: Operation, values: list[Array], opset: int) -> list[Array]:
    """The results of the operation, each with its measured rounding; NotEvaluated if float64 cannot go through it."""
    results = _run(node, values, opset)
    if any(each.dtype.kind == "f" and each.dtype != np.float64 for each in results):
        raise NotEvaluated(f"the operation {node.op}")  # it computes in float32 only
    deviations = _Deviations(node, values, results, opset)
    return [
        rounded(each, lambda place=place: deviations.of(place)) if each.dtype.kind == "f" else each  # type: ignore[misc]
        for place, each in enumerate(results)
    ]


class _Deviations:
    """The deviations of all results of one operation, in units of u, measured when the first is asked for."""

    def __init__(self, node: Operation, values: list[Array], results: list[Array], opset: int) -> None:
        self._asked, self._results = (node, values, opset), results
        self._found: list[Array] = []

    def of(self, place: int) -> Array:
        if not self._found:
            self._found = self._measured()
        return self._found[place]

    def _measured(self) -> list[Array]:
        node, values, opset = self._asked
        wide = [each for each in values if each.dtype == np.float64]
        longest = max((size for each in wide for size in each.shape), default=1)
        changes = [np.zeros(each.shape) for each in self._results]
        for shifted in _shifted(values):
            for most, one, own in zip(changes, _run(node, shifted, opset), self._results, strict=True):
                if own.dtype.kind == "f":
                    np.fmax(most, np.abs(one - own) / _SIZE, out=most)
        return [
            np.sqrt(longest + 3.0) * most + np.abs(own) if own.dtype.kind == "f" else most
            for most, own in zip(changes, self._results, strict=True)
        ]


def _shifted(values: list[Array]) -> Iterator[list[Array]]:
    rng = np.random.default_rng(0)
    for probe in range(_PROBES):
        yield [
            each * (1.0 + _SIZE * (2.0 * rng.integers(0, 2, each.shape) - 1.0 if probe else 1.0))
            if each.dtype == np.float64
            else each
            for each in values
        ]


def _run(node: Operation, values: list[Array], opset: int) -> list[Array]:
    """The operation alone, in the reference evaluator."""
    if node.op in _RANDOM:
        raise NotEvaluated(f"the operation {node.op}")
    names = tuple("" if value.dtype == object else f"i{place}" for place, value in enumerate(values))
    given = {name: value for name, value in zip(names, values, strict=True) if name}
    try:
        return [np.asarray(each) for each in evaluator(One(node, names, opset)).run(None, given)]
    except (
        RuntimeError,
        TypeError,
        AttributeError,
        LookupError,
        ArithmeticError,
        ImportError,
        AssertionError,
    ) as error:
        raise NotEvaluated(f"the operation {node.op} ({type(error).__name__})") from None
