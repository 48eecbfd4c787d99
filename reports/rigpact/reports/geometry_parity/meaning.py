"""Say what a function computes: the call that was proposed, its meaning, and what is certain of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rigpact.contract.conventions import Conventions
from rigpact.contract.findings import Finding, Rule
from rigpact.contract.rules.answers import geometry as rules
from rigpact.contract.statistics import FloatArray
from rigpact.reports.geometry_parity.calling.arguments import AS_THEY_ARE
from rigpact.reports.geometry_parity.calling.backend import Array
from rigpact.reports.geometry_parity.calling.function import UserFunction
from rigpact.reports.geometry_parity.calling.layouts import ROWS, SEQUENCE, shown
from rigpact.reports.geometry_parity.precision import row_errors
from rigpact.reports.geometry_parity.proposing import Taken, Tries, contract_reading, expected_shape, order_said
from rigpact.reports.geometry_parity.readings.forms import Named
from rigpact.reports.geometry_parity.readings.velocity import RATES_HZ
from rigpact.reports.geometry_parity.roles import UNIT

_A_MATTER_OF_MEANING = (rules.VELOCITY_FRAME, rules.VELOCITY_ROWS, rules.NOT_WRAPPED)
"""A function with a loose name may be meant so; every other finding is wrong under any meaning of the name."""


@dataclass(frozen=True, eq=False)
class Known(Taken):
    """A function of a module (place) whose results on ordinary inputs have the right shape, and its meaning if known.

    arrays: the inputs in `dtype`, the widest type that the function takes. value: its results on them.
    """

    place: str
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


def how_called(function: UserFunction) -> str:
    """The shape and the form in which a function is called; nothing where it takes plain rows."""
    shape = "" if function.layout in (ROWS, SEQUENCE) else f"with {shown(function.layout, function.role.takes[0])}"
    form = "" if function.form is AS_THEY_ARE else f"with {function.form.words}"
    return ", ".join(filter(None, (form, shape)))


def judged(place: str, taken: Taken, conventions: Conventions) -> tuple[Known | None, list[Finding]]:
    """What a function means, with its findings; None and why where its meaning is not certain enough to judge it."""
    known = Known(**vars(taken), place=place, conventions=conventions)
    found = []
    if taken.function.one_by_one:
        case = "several bones at once" if taken.function.role.timed else "several rotations at once"
        found = [known.finding(rules.AXES_REFUSED, case=case, error="only one at a time gives an answer")]
    if taken.reading is None:
        why = _why_open(taken.function)
        if why:
            return None, [unjudged(place, taken.function, why)]
        return known, [*found, _unexplained(known)]
    certain, unclear = _sorted(taken.function, taken.reading.findings)
    if unclear:
        why = f"it computes {taken.reading.words}; whether it is meant so, its name does not say"
        found.append(unjudged(place, taken.function, why))
    return known, [*found, *(known.finding(rule, **values) for rule, values in certain)]


def _why_open(function: UserFunction) -> str:
    """Why results that nothing explains may be right; nothing if they are certainly wrong."""
    if not function.declared.certain:
        return "its name has other meanings too, and it computes another one"
    is_euler = "euler" in (function.role.gives, *function.role.takes)
    if is_euler and order_said(function).letters is None:
        return "its order is not known, and no order of three different axes fits"
    return ""


def _sorted(function: UserFunction, findings: Sequence[Named]) -> tuple[list[Named], list[Named]]:
    """Findings that are certain, and those that depend on what the function is meant to be."""
    if function.declared.certain:
        return list(findings), []
    # without a rate, its caller may multiply
    meant = _A_MATTER_OF_MEANING if function.takes_rate else (*_A_MATTER_OF_MEANING, rules.VELOCITY_RATE)
    return [each for each in findings if each[0] not in meant], [each for each in findings if each[0] in meant]


def unjudged(place: str, function: UserFunction, why: str) -> Finding:
    """A function that nothing can be said about."""
    return finding(place, function, rules.NOT_JUDGED, why=why)


def unusable(place: str, function: UserFunction, arrays: Sequence[Array], tries: Tries) -> Finding:
    """No call of the function gives an answer: an error where the call is declared, else only not judged."""
    if function.declared.shape is None and function.declared.takes is None:
        return unjudged(place, function, f"no shape and form of arguments gives an answer ({tries.words})")
    case = f"the declared {how_called(function) or 'call'} ({function.declared.place})"
    if tries.words.startswith("it returns "):
        found, expected = (
            tries.words.removeprefix("it returns "),
            f"rows of {list(expected_shape(function, arrays)[1:])}",
        )
        return finding(place, function, rules.OTHER_SHAPE, found=found, case=case, expected=expected)
    return finding(place, function, rules.RAISES, error=tries.words.removeprefix("it raises "), case=case)


def _unexplained(known: Known) -> Finding:
    own = contract_reading(known.function, known.conventions)
    expected = own.compute(*(array.astype(np.float64) for array in known.arrays))
    if expected.shape != known.value.shape:
        expected = expected[: len(known.value)]
    errors = row_errors(known.function.role, known.value, expected)
    row, unit = int(np.argmax(errors)), UNIT[known.function.role.gives]
    return known.finding(rules.DIFFERS, error=float(errors[row]), unit=unit, row=row, declared=own.words)
