"""Find out how a function wants to be called, and say what it computes and what is certain of it.

A candidate is a shape and a form. It counts if its result has the shape of the answer. The first candidate whose results
are the contract's is taken; else the one with the fewest findings; else the first one, whose results nothing explains.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from inspect import Parameter
from typing import Any

import numpy as np

from rigpact.contract.findings import Finding, Rule
from rigpact.contract.rules.family import geometry as rules
from rigpact.contract.statistics import FloatArray
from rigpact.reports.geometry_parity.calling import (
    AS_THEY_ARE,
    LAYOUTS,
    ROWS,
    SEQUENCE,
    TIMED,
    Array,
    CallFailed,
    UserFunction,
    order_parameter,
    parameters,
    signature_forms,
)
from rigpact.reports.geometry_parity.forms import ORDERS, EulerOrder
from rigpact.reports.geometry_parity.readings import Computation, read, readings_of
from rigpact.reports.geometry_parity.roles import RATES_HZ, TRAILING, UNIT, row_errors

WORKING_TYPES = ("float64", "float32")
_TRIED_ORDERS = ("XYZ", "xyz")
_DEGREE_NAMES = ("deg", "degrees", "in_degrees", "is_degrees", "use_degrees")
_A_MATTER_OF_MEANING = (rules.VELOCITY_FRAME, rules.VELOCITY_ROWS, rules.NOT_WRAPPED)
"""A function with a loose name may be meant so; every other finding is wrong under any meaning of the name."""


@dataclass(frozen=True, eq=False)
class Known:
    """A call of a function that gives an answer of the right shape, and what the answer means, if known.

    arrays: the inputs in `dtype`, the widest type that the function takes. value: its results on them.
    """

    function: UserFunction
    arrays: tuple[Array, ...]
    value: FloatArray
    dtype: str
    reading: Computation | None

    @property
    def strangeness(self) -> tuple[int, int]:
        """The order of calls: explained with the fewest findings, then unexplained."""
        return (1, 0) if self.reading is None else (0, len(self.reading.findings))

    def finding(self, rule: Rule, **values: Any) -> Finding:
        """A finding about this function."""
        return self.function.finding(rule, **values)

    def call(self, *arrays: Array) -> FloatArray:
        """Call the function at the first of the two rates."""
        return self.function(*arrays, fps=RATES_HZ[0])


def propose(function: UserFunction, arrays: tuple[FloatArray, ...]) -> tuple[Known | None, str]:
    """The best way to call a function in its role; None if no way gives a result of the right shape, and the first failure."""
    errors: list[str] = []
    answers: list[Known] = []
    for candidate in _candidates(function):
        if candidate.one_by_one and answers:
            break  # it takes many: what it makes of them is its answer
        known = _try(candidate, arrays, errors)
        if known is not None:
            answers.append(known)
            if known.strangeness == (0, 0):
                break
    best = min(answers, key=lambda each: each.strangeness, default=None)
    return best, errors[0] if errors else "its arguments fit no form of this role"


def _candidates(function: UserFunction) -> Iterator[UserFunction]:
    """The function with each shape, form and constant argument that its declaration and its signature allow.

    One rotation at a time comes last, after every form.
    """
    declared, order = function.declared, None
    if function.role.is_euler:
        order = order_parameter(function.function)
    constants: list[dict[str, Any]] = [{}]
    if order is not None and declared.order is not None:  # letters of either case mean the same to most functions
        said = declared.order
        constants = [{order.name: each} for each in dict.fromkeys((said, said.lower(), said.upper()))]
    elif order is not None and order.default is Parameter.empty:
        constants = [{order.name: each} for each in _TRIED_ORDERS]
    forms = signature_forms(function.role, function.function, declared.takes)
    calls = [(form, words) for form in forms for words in constants]
    every = TIMED if function.role.timed else LAYOUTS
    tried = every.values() if declared.shape is None else (every[declared.shape],)
    shapes = [replace(each, bones=declared.bones or each.bones) for each in tried]
    for is_alone in (False, True):
        for form, words in calls:
            for layout in (each for each in shapes if each.one_by_one == is_alone):
                yield replace(function, layout=layout, form=form, words=words)


def _order_said(function: UserFunction) -> EulerOrder:
    degrees = function.declared.degrees or _says_degrees(function)
    if function.declared.order is not None:
        return EulerOrder(function.declared.order, exact=True, source="declared", in_degrees=degrees)
    parameter = order_parameter(function.function)
    passed = parameter and function.words.get(parameter.name, parameter.default)
    own = "its own order argument"
    if isinstance(passed, str) and passed[1:] in ORDERS and passed[0] in "sr":  # static or rotating axes
        letters = passed[1:] if passed[0] == "s" else passed[1:].upper()
        return EulerOrder(letters, exact=True, source=own, in_degrees=degrees)
    if isinstance(passed, str) and passed.lower() in ORDERS:
        return EulerOrder(passed, source=own, in_degrees=degrees)
    named = next((word for word in re.split(r"[^a-z]+", function.spelled.lower()) if word in ORDERS), None)
    return EulerOrder(named, source="its own name" if named else "", in_degrees=degrees)


def _says_degrees(function: UserFunction) -> bool:
    flags = [each.default for each in parameters(function.function) if each.name.lower() in _DEGREE_NAMES]
    text = (getattr(function.function, "__doc__", None) or "").lower()
    in_text = "degree" in text and "radian" not in text
    return bool(flags and flags[0] is True) or (not flags and ("deg" in function.spelled.lower() or in_text))


def _try(candidate: UserFunction, arrays: tuple[FloatArray, ...], errors: list[str]) -> Known | None:
    for dtype in WORKING_TYPES:
        inputs = tuple(array.astype(dtype) for array in arrays)
        try:
            value = candidate(*inputs, fps=RATES_HZ[0])
        except CallFailed as error:
            errors.append(f"it raises {error}")
            continue
        wanted = _expected_shape(candidate, inputs)
        if value.shape == wanted or (candidate.role.timed and value.shape == (wanted[0] - 1, *wanted[1:])):
            values = [value.astype(np.float64)]
            if candidate.rate is not None:
                with suppress(CallFailed):
                    values.append(candidate(*inputs, fps=RATES_HZ[1]).astype(np.float64))
            exact = [array.astype(np.float64) for array in inputs]
            reading = read(candidate.role, values, exact, candidate.conventions, _order_said(candidate))
            return Known(candidate, inputs, value, dtype, reading)
        errors.append(f"it returns the shape {list(value.shape)}")
    return None


def _expected_shape(function: UserFunction, arrays: Sequence[Array]) -> tuple[int, ...]:
    """Shape of the result: the arguments' leading axes, broadcast, then the shape of one value."""
    pairs = zip(arrays, function.role.takes, strict=True)
    leading = [array.shape[: array.ndim - len(TRAILING[kind])] for array, kind in pairs]
    return (*np.broadcast_shapes(*leading), *TRAILING[function.role.gives])


def contract_reading(function: UserFunction) -> Computation:
    """The contract's own reading of a role."""
    return readings_of(function.role, function.conventions, _order_said(function))[0]


def how_called(function: UserFunction) -> str:
    """The shape and the form in which a function is called; nothing where it takes plain rows."""
    shape = "" if function.layout in (ROWS, SEQUENCE) else f"with {function.layout.shown(function.role.takes[0])}"
    form = "" if function.form is AS_THEY_ARE else f"with {function.form.words}"
    return ", ".join(filter(None, (form, shape)))


def judged(known: Known) -> tuple[bool, list[Finding]]:
    """Whether the meaning of a function is certain enough to judge it, and the findings about it."""
    function, reading, found = known.function, known.reading, []
    if function.one_by_one:
        case = "several bones at once" if function.role.timed else "several rotations at once"
        found = [known.finding(rules.AXES_REFUSED, case=case, error="only one at a time gives an answer")]
    if reading is None:
        why = ""
        if not function.certain:
            why = "its name has other meanings too, and it computes another one"
        elif function.role.is_euler and _order_said(function).letters is None:
            why = "its order is not known, and no order of three different axes fits"
        return (False, [known.finding(rules.NOT_JUDGED, why=why)]) if why else (True, [*found, _unexplained(known)])
    # what is meant by a loose name; without a rate, its caller may multiply
    rateless = () if function.rate is not None else (rules.VELOCITY_RATE,)
    meant = () if function.certain else (*_A_MATTER_OF_MEANING, *rateless)
    if any(rule in meant for rule, _ in reading.findings):
        why = f"it computes {reading.words}; whether it is meant so, its name does not say"
        found.append(known.finding(rules.NOT_JUDGED, why=why))
    return True, found + [known.finding(rule, **values) for rule, values in reading.findings if rule not in meant]


def unusable(function: UserFunction, arrays: Sequence[Array], failure: str) -> Finding:
    """No call of the function gives an answer: an error where the call is declared, else only not judged."""
    if function.declared.shape is None and function.declared.takes is None:
        why = f"no shape and form of arguments gives an answer ({failure})"
        return function.finding(rules.NOT_JUDGED, why=why)
    case = f"the declared {how_called(function) or 'call'} ({function.declared.place})"
    if failure.startswith("it returns "):
        found, expected = failure.removeprefix("it returns "), f"rows of {list(_expected_shape(function, arrays)[1:])}"
        return function.finding(rules.OTHER_SHAPE, found=found, case=case, expected=expected)
    return function.finding(rules.RAISES, error=failure.removeprefix("it raises "), case=case)


def _unexplained(known: Known) -> Finding:
    own = contract_reading(known.function)
    expected = own.compute(*(array.astype(np.float64) for array in known.arrays))[: len(known.value)]
    errors = row_errors(known.function.role, known.value, expected)
    row, unit = int(np.argmax(errors)), UNIT[known.function.role.gives]
    return known.finding(rules.DIFFERS, error=float(errors[row]), unit=unit, row=row, declared=own.words)
