"""The ways in which a function takes a value: one array, an axis and an angle, three angles, in another order.

A form turns the role's arrays into the function's arguments. A result in parts (an axis and an angle, three angles) is
joined again. To add a form: a row in `_FORMS`.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rigpact.reports.geometry_parity.calling.backend import Array
from rigpact.reports.geometry_parity.roles import TRAILING, Role

Parts = list[tuple[Array, tuple[int, ...]]]
"""Arguments, each with the axes of one value."""
RATE_NAMES = ("fps", "rate", "hz", "frame_rate", "framerate", "sample_rate", "sampling_rate", "frequency")
PERIOD_NAMES = (
    "dt",
    "delta_t",
    "delta_time",
    "time_delta",
    "timestep",
    "time_step",
    "step_s",
    "frame_time",
    "frametime",
)
ORDER_NAMES = ("order", "convention", "seq", "axes", "sequence", "euler_order")


@dataclass(frozen=True)
class Form:
    """One way to pass a role's values. needs: how many arguments that makes; 0: as many as the role takes."""

    words: str
    split: Callable[[Parts], Parts]
    needs: int = 0


def _axis_then_angle(parts: Parts) -> Parts:
    (vector, _), *_others = parts
    angle = np.sqrt(np.sum(vector * vector, axis=-1))
    some = np.zeros_like(vector)
    some[..., 0] = 1  # any axis does where nothing turns
    size = angle[..., None]
    return [(np.where(size == 0, some, vector / np.where(size == 0, np.ones_like(size), size)), (3,)), (angle, ())]


def _axis_then_column(parts: Parts) -> Parts:
    axis, (angle, _) = _axis_then_angle(parts)
    return [axis, (angle[..., None], (1,))]


def _three_angles(parts: Parts) -> Parts:
    (angles, _), *_others = parts
    return [(np.array(angles[..., place]), ()) for place in range(3)]


AS_THEY_ARE = Form("", lambda parts: parts)
SWAPPED = Form("the second value first", lambda parts: parts[::-1])
_AXIS_ANGLES = (
    Form("axis, angle", _axis_then_angle, 2),
    Form("axis, angle (…, 1)", _axis_then_column, 2),
    Form("angle, axis", lambda parts: _axis_then_angle(parts)[::-1], 2),
    Form("angle (…, 1), axis", lambda parts: _axis_then_column(parts)[::-1], 2),
)
_FORMS: Mapping[tuple[str, ...], tuple[Form, ...]] = {
    ("vector",): (AS_THEY_ARE, *_AXIS_ANGLES),
    ("euler",): (AS_THEY_ARE, Form("three angles", _three_angles, 3)),
    ("quat", "point"): (AS_THEY_ARE, Form("point, quat", lambda parts: parts[::-1])),
    ("six", "residual"): (AS_THEY_ARE, SWAPPED),
}
"""Other forms than one array for each value, by what the role takes."""


def declarable() -> dict[str, str]:
    """The words that `takes` of a declaration may have, with the start of the forms that they allow."""
    return {"axis, angle": "axis", "angle, axis": "angle", "three angles": "three", "point, quat": "point"}


def forms_of(role: Role, function: Callable[..., Any], takes: str | None) -> Iterator[Form]:
    """The forms that a function's signature allows, in the order of trial. takes: the declared one."""
    every = _FORMS.get(role.takes, (AS_THEY_ARE,))
    if takes is not None:
        yield from (form for form in every if form.words.startswith(declarable()[takes]))
        return
    first = next((each.name.lower() for each in parameters(function)), "")
    if role.takes == ("six", "residual"):  # only the names tell; another order would hide a wrong product
        yield SWAPPED if "delta" in first or "resid" in first else AS_THEY_ARE
        return
    least, most = _count(function)
    fitting = [form for form in every if least <= (form.needs or len(role.takes)) <= most]
    if "ang" in first or first.startswith(("theta", "phi")):
        fitting.sort(key=lambda form: form.words.startswith("axis"))
    yield from fitting


def parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """The parameters of a function, of one compiled by torch.jit too; none for a function written in C."""
    compiled = getattr(getattr(function, "schema", None), "arguments", None)
    if compiled is not None:
        return [_compiled(argument) for argument in compiled]
    try:
        return list(inspect.signature(function).parameters.values())
    except (ValueError, TypeError):
        return []


def _compiled(argument: Any) -> inspect.Parameter:
    default = argument.default_value if argument.has_default_value() else inspect.Parameter.empty
    return inspect.Parameter(argument.name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default)


def _count(function: Callable[..., Any]) -> tuple[int, int]:
    """The least and the greatest number of values that a function takes, without rate, order and flags."""
    every = parameters(function)
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if not every or any(each.kind is inspect.Parameter.VAR_POSITIONAL for each in every):
        return 0, 99
    values = [each for each in every if each.kind in kinds and each.name.lower() not in _NOT_VALUES]
    return sum(each.default is inspect.Parameter.empty for each in values), len(values)


_NOT_VALUES = (*RATE_NAMES, *PERIOD_NAMES, *ORDER_NAMES)


def rate_parameter(function: Callable[..., Any]) -> str | None:
    """The parameter for the frame rate or period: found by name, else the second one without a default."""
    others = parameters(function)[1:]
    usual = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    named = [each for each in others if each.name.lower() in (*RATE_NAMES, *PERIOD_NAMES)]
    needed = [each for each in others[:1] if each.default is inspect.Parameter.empty and each.kind in usual]
    return next((each.name for each in (*named, *needed)), None)


def rate_word(function: Callable[..., Any], fps: float) -> dict[str, float]:
    """The frame rate, or the period, under the function's own name for it; nothing if it takes neither."""
    name = rate_parameter(function)
    return {} if name is None else {name: 1.0 / fps if name.lower() in PERIOD_NAMES else fps}


def order_parameter(function: Callable[..., Any]) -> inspect.Parameter | None:
    """The parameter for the order of Euler axes, found by name."""
    return next((each for each in parameters(function) if each.name.lower() in ORDER_NAMES), None)


def joined(values: Sequence[Array], gives: str) -> Array | None:
    """A result in parts as one array: an axis and an angle, or three angles; None if the parts are neither."""
    if gives == "euler" and len(values) == 3 and len({value.shape for value in values}) == 1:
        return np.stack(values, axis=-1)
    if gives != "vector" or len(values) != 2:
        return None
    axis, angle = sorted(values, key=lambda value: (value.ndim, value.shape), reverse=True)
    if axis.shape[-1:] != TRAILING["vector"]:
        return None
    if angle.shape == axis.shape[:-1]:
        angle = angle[..., None]
    return axis * angle if angle.shape == (*axis.shape[:-1], 1) else None
