"""Find what a function computes: compare its results on ordinary inputs with every reading of its role."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from rigpact.contract.conventions import Conventions
from rigpact.contract.findings import Finding, Rule
from rigpact.contract.rules.answers import geometry as rules
from rigpact.contract.statistics import FloatArray
from rigpact.reports.geometry_parity import oracle
from rigpact.reports.geometry_parity.backend import Array
from rigpact.reports.geometry_parity.calling import CallFailed, UserFunction
from rigpact.reports.geometry_parity.precision import MATCH, row_errors, scale_of
from rigpact.reports.geometry_parity.readings import READINGS, Reading
from rigpact.reports.geometry_parity.roles import TRAILING, UNIT
from rigpact.reports.geometry_parity.scaled import READERS
from rigpact.reports.geometry_parity.velocity import RATES_HZ, declared_velocity, read_velocity

WORKING_TYPES = ("float64", "float32")


@dataclass(frozen=True, eq=False)
class Known:
    """A function whose results on ordinary inputs have the right shape, and its meaning if known.

    arrays: the inputs in `dtype`, the widest type that the function takes. value: its results on them.
    """

    place: str
    function: UserFunction
    arrays: tuple[Array, ...]
    value: FloatArray
    dtype: str
    reading: Reading | None
    conventions: Conventions

    def finding(self, rule: Rule, **values: Any) -> Finding:
        """A finding about this function."""
        return finding(self.place, self.function, rule, **values)

    def call(self, *arrays: Array) -> FloatArray:
        """Call the function at the first of the two rates."""
        return self.function(*arrays, fps=RATES_HZ[0])


def finding(place: str, function: UserFunction, rule: Rule, **values: Any) -> Finding:
    """A finding about a function; the pointer is the function's role."""
    return rule.at(place, f"/{function.role.name}", function=function.spelled, **values)


def expected_shape(function: UserFunction, arrays: tuple[Array, ...]) -> tuple[int, ...]:
    """Shape of the result: the arguments' leading axes, broadcast, then the shape of one value."""
    leading = [
        array.shape[: array.ndim - len(TRAILING[kind])] for array, kind in zip(arrays, function.role.takes, strict=True)
    ]
    return (*np.broadcast_shapes(*leading), *TRAILING[function.role.gives])


def look(
    place: str, function: UserFunction, arrays: tuple[FloatArray, ...], conventions: Conventions
) -> tuple[Known | None, list[Finding]]:
    """Call a function on ordinary inputs and find what it computes; None if there is no usable result."""
    findings: list[Finding] = []
    taken = _first_result(place, function, arrays, findings)
    if taken is None:
        return None, findings
    function, value, dtype = taken
    inputs = tuple(array.astype(dtype) for array in arrays)
    reading = _reading(function, value, inputs, conventions)
    known = Known(place, function, inputs, value, dtype, reading, conventions)
    if reading is None:
        findings.append(_unexplained(known))
    else:
        findings += [known.finding(rule, **values) for rule, values in reading.findings]
    return known, findings


def _first_result(
    place: str, function: UserFunction, arrays: tuple[FloatArray, ...], findings: list[Finding]
) -> tuple[UserFunction, FloatArray, str] | None:
    """The function (in a loop if it takes only one rotation), its results, and the widest type that it takes."""
    failures: list[str] = []
    for candidate in (function, function.looped()):
        for dtype in WORKING_TYPES:
            inputs = tuple(array.astype(dtype) for array in arrays)
            try:
                value = candidate(*inputs, fps=RATES_HZ[0])
            except CallFailed as error:
                failures.append(str(error))
                continue
            if not _is_wanted_shape(candidate, value, inputs):
                failures.append(f"the shape {list(value.shape)}")
                continue
            if candidate.one_by_one:
                case = "several bones at once" if function.role.timed else "several rotations at once"
                findings.append(finding(place, function, rules.AXES_REFUSED, case=case, error=failures[0]))
            return candidate, value, dtype
    findings.append(_no_result(place, function, arrays, failures))
    return None


def _is_wanted_shape(function: UserFunction, value: FloatArray, inputs: tuple[Array, ...]) -> bool:
    wanted = expected_shape(function, inputs)
    one_fewer = function.role.timed and value.shape == (wanted[0] - 1, *wanted[1:])
    return value.shape == wanted or one_fewer


def _no_result(place: str, function: UserFunction, arrays: tuple[FloatArray, ...], failures: list[str]) -> Finding:
    shapes = " and ".join(str(list(array.shape)) for array in arrays)
    case = f"input of the shape {shapes}"
    if failures[0].startswith("the shape "):
        expected = f"the shape {list(expected_shape(function, arrays))}"
        return finding(place, function, rules.OTHER_SHAPE, found=failures[0], case=case, expected=expected)
    return finding(place, function, rules.RAISES, error=failures[0], case=case)


def _reading(
    function: UserFunction, value: FloatArray, inputs: tuple[Array, ...], conventions: Conventions
) -> Reading | None:
    exact = tuple(array.astype(np.float64) for array in inputs)
    value = value.astype(np.float64)
    name = function.role.name
    if name in READERS:
        return READERS[name](value, *exact)
    if function.role.timed:
        return read_velocity([value, *_at_the_other_rate(function, inputs)], exact[0], conventions)
    for reading in READINGS[name](conventions):
        if _error(function, value, reading.compute(*exact)) <= MATCH:
            return reading
    return None


def _at_the_other_rate(function: UserFunction, inputs: tuple[Array, ...]) -> Iterator[FloatArray]:
    """The result at another rate, if the function has a rate argument and accepts this rate."""
    if function.takes_rate:
        with suppress(CallFailed):
            yield function(*inputs, fps=RATES_HZ[1]).astype(np.float64)


def _error(function: UserFunction, value: FloatArray, expected: FloatArray) -> float:
    return float(row_errors(function.role, value, expected).max()) / scale_of(expected)


def contract_reading(function: UserFunction, conventions: Conventions) -> Reading:
    """The contract's own reading of a role."""
    name = function.role.name
    if function.role.timed:
        return Reading("fps · log(R[t+1] · R[t]ᵀ)", declared_velocity(conventions))
    if name in READERS:
        return _SCALED[name]
    return next(iter(READINGS[name](conventions)))


_SCALED: Mapping[str, Reading] = {
    "so3_log_map": Reading("the full rotation vector, in radians", oracle.rotation_vector),
    "so3_exp_map": Reading("the rotation by a vector's length about it", oracle.exp_map),
    "geodesic_R": Reading("the angle of Aᵀ·B, in radians", oracle.rotation_angle_rad),
}


def _unexplained(known: Known) -> Finding:
    own = contract_reading(known.function, known.conventions)
    expected = own.compute(*(array.astype(np.float64) for array in known.arrays))
    if expected.shape != known.value.shape:
        expected = expected[: len(known.value)]
    errors = row_errors(known.function.role, known.value, expected)
    row = int(np.argmax(errors))
    return known.finding(
        rules.DIFFERS, error=float(errors[row]), unit=UNIT[known.function.role.gives], row=row, declared=own.words
    )
