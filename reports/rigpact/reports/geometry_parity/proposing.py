"""Find out how a function wants to be called: try its shapes and argument forms, and keep the one whose results make sense.

A candidate is a shape and a form. It counts if its result has the shape of the answer. The first candidate whose results
are the contract's is taken; else the one with the fewest findings; else the first one, whose results nothing explains.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from inspect import Parameter
from typing import Any

import numpy as np

from rigpact.contract.conventions import Conventions
from rigpact.contract.statistics import FloatArray
from rigpact.reports.geometry_parity.calling.arguments import forms_of, order_parameter, parameters
from rigpact.reports.geometry_parity.calling.backend import Array
from rigpact.reports.geometry_parity.calling.function import CallFailed, UserFunction
from rigpact.reports.geometry_parity.calling.layouts import LAYOUTS, TIMED, Layout
from rigpact.reports.geometry_parity.precision import MATCH, row_errors, scale_of
from rigpact.reports.geometry_parity.readings import readings_of
from rigpact.reports.geometry_parity.readings.euler import ORDERS, EulerOrder, order_in_name, own_euler, read_euler
from rigpact.reports.geometry_parity.readings.forms import Reading
from rigpact.reports.geometry_parity.readings.scaled import SCALED, own_scaled, read_scaled
from rigpact.reports.geometry_parity.readings.velocity import RATES_HZ, declared_velocity, read_any_velocity
from rigpact.reports.geometry_parity.roles import TRAILING

WORKING_TYPES = ("float64", "float32")
_TRIED_ORDERS = ("XYZ", "xyz")
_DEGREE_NAMES = ("deg", "degrees", "in_degrees", "is_degrees", "use_degrees")


@dataclass(frozen=True, eq=False)
class Taken:
    """A call that gives an answer: the function as it is called, its inputs and results, what they mean."""

    function: UserFunction
    arrays: tuple[Array, ...]
    value: FloatArray
    dtype: str
    reading: Reading | None

    @property
    def strangeness(self) -> tuple[int, int]:
        """The order of calls: explained with the fewest findings, then unexplained."""
        return (1, 0) if self.reading is None else (0, len(self.reading.findings))


@dataclass
class Tries:
    """What was tried, and how it failed."""

    errors: list[str] = field(default_factory=list)

    @property
    def words(self) -> str:
        """The first failure, for a message."""
        return self.errors[0] if self.errors else "its arguments fit no form of this role"


def propose(
    function: UserFunction, arrays: tuple[FloatArray, ...], conventions: Conventions
) -> tuple[Taken | None, Tries]:
    """The best way to call a function in its role; None if no way gives a result of the right shape."""
    tries = Tries()
    answers: list[Taken] = []
    for candidate in candidates(function):
        if candidate.one_by_one and answers:
            break  # it takes many: what it makes of them is its answer
        taken = _try(candidate, arrays, conventions, tries)
        if taken is None:
            continue
        if taken.reading is not None and not taken.reading.findings:
            return taken, tries
        answers.append(taken)
    return min(answers, key=lambda each: each.strangeness, default=None), tries


def candidates(function: UserFunction) -> Iterator[UserFunction]:
    """The function with each shape, form and constant argument that its declaration and its signature allow.

    One rotation at a time comes last, after every form.
    """
    declared = function.declared
    forms = list(forms_of(function.role, function.function, declared.takes))
    calls = [(form, words) for form in forms for words in _constant_words(function)]
    shapes = list(shapes_of(function))
    for alone in (False, True):
        for form, words in calls:
            for layout in (each for each in shapes if each.one_by_one == alone):
                yield replace(function, layout=layout, form=form, words=words)


def shapes_of(function: UserFunction) -> Iterator[Layout]:
    """The shapes to try: the declared one, else all of the role."""
    every = TIMED if function.role.timed else LAYOUTS
    declared = function.declared
    for layout in every.values() if declared.shape is None else (every[declared.shape],):
        yield layout.with_bones(declared.bones) if declared.bones else layout


def _constant_words(function: UserFunction) -> Iterator[dict[str, Any]]:
    """The order of Euler axes, for functions that take it: the declared one, its own default, or one that is tried."""
    order = order_parameter(function.function) if "euler" in (function.role.gives, *function.role.takes) else None
    if order is None:
        yield {}
    elif function.declared.order is not None:  # letters of either case mean the same to most functions
        said = function.declared.order
        yield from ({order.name: each} for each in dict.fromkeys((said, said.lower(), said.upper())))
    elif order.default is not Parameter.empty:
        yield {}
    else:
        yield from ({order.name: each} for each in _TRIED_ORDERS)


def order_said(function: UserFunction) -> EulerOrder:
    """What is known of a function's Euler order, and who says it."""
    degrees = function.declared.degrees or _says_degrees(function)
    if function.declared.order is not None:
        return EulerOrder(function.declared.order, exact=True, source="declared", in_degrees=degrees)
    parameter = order_parameter(function.function)
    passed = parameter and function.words.get(parameter.name, parameter.default)
    if isinstance(passed, str) and passed[1:] in ORDERS and passed[0] in "sr":  # static or rotating axes
        letters = passed[1:] if passed[0] == "s" else passed[1:].upper()
        return EulerOrder(letters, exact=True, source="its own order argument", in_degrees=degrees)
    if isinstance(passed, str) and passed.lower() in ORDERS:
        return EulerOrder(passed, source="its own order argument", in_degrees=degrees)
    named = order_in_name(function.spelled)
    return EulerOrder(named, source="its own name" if named else "", in_degrees=degrees)


def _says_degrees(function: UserFunction) -> bool:
    """Whether a function says itself that its angles are degrees: by its name, an argument's default, or its text."""
    flags = [each.default for each in parameters(function.function) if each.name.lower() in _DEGREE_NAMES]
    text = (getattr(function.function, "__doc__", None) or "").lower()
    in_text = "degree" in text and "radian" not in text
    return bool(flags and flags[0] is True) or (not flags and ("deg" in function.spelled.lower() or in_text))


def _try(
    candidate: UserFunction, arrays: tuple[FloatArray, ...], conventions: Conventions, tries: Tries
) -> Taken | None:
    for dtype in WORKING_TYPES:
        inputs = tuple(array.astype(dtype) for array in arrays)
        try:
            value = candidate(*inputs, fps=RATES_HZ[0])
        except CallFailed as error:
            tries.errors.append(f"it raises {error}")
            continue
        wanted = expected_shape(candidate, inputs)
        if value.shape == wanted or (candidate.role.timed and value.shape == (wanted[0] - 1, *wanted[1:])):
            return Taken(candidate, inputs, value, dtype, reading_of(candidate, value, inputs, conventions))
        tries.errors.append(f"it returns the shape {list(value.shape)}")
    return None


def expected_shape(function: UserFunction, arrays: Sequence[Array]) -> tuple[int, ...]:
    """Shape of the result: the arguments' leading axes, broadcast, then the shape of one value."""
    pairs = zip(arrays, function.role.takes, strict=True)
    leading = [array.shape[: array.ndim - len(TRAILING[kind])] for array, kind in pairs]
    return (*np.broadcast_shapes(*leading), *TRAILING[function.role.gives])


def reading_of(
    function: UserFunction, value: FloatArray, inputs: tuple[Array, ...], conventions: Conventions
) -> Reading | None:
    """What the results mean; None if no known convention explains them."""
    exact = tuple(array.astype(np.float64) for array in inputs)
    value, role = value.astype(np.float64), function.role
    if role.name in SCALED:
        return read_scaled(role, conventions, value, *exact)
    if role.timed:
        return read_any_velocity(role, [value, *_at_the_other_rate(function, inputs)], exact[0], conventions)
    if "euler" in (role.gives, *role.takes):
        return read_euler(role, value, exact[0], conventions, order_said(function))
    for reading in readings_of(role, conventions):
        expected = reading.compute(*exact)
        if float(row_errors(role, value, expected).max()) / scale_of(expected) <= MATCH:
            return reading
    return None


def _at_the_other_rate(function: UserFunction, inputs: tuple[Array, ...]) -> Iterator[FloatArray]:
    """The result at another rate, if the function has a rate argument and accepts this rate."""
    if function.takes_rate:
        with suppress(CallFailed):
            yield function(*inputs, fps=RATES_HZ[1]).astype(np.float64)


def contract_reading(function: UserFunction, conventions: Conventions) -> Reading:
    """The contract's own reading of a role."""
    role = function.role
    if role.timed:
        return Reading("fps · log(R[t+1] · R[t]ᵀ)", declared_velocity(role, conventions))
    if role.name in SCALED:
        return own_scaled(role, conventions)
    if "euler" in (role.gives, *role.takes):
        return own_euler(role, conventions, order_said(function))
    return next(readings_of(role, conventions))
