"""An operation of somebody's own module: its mistakes are those of an input, not defects of rigpact."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.declared.problems import Misdeclared, NotBuilt
from rigpact.contract.errors import OwnFunctionFailed, UnusableInput, error_text, line_of
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.layout import FieldLayout
from rigpact.contract.systems.stage import Bound, Bounds, Compute, NotKnown

_PASS_ON = (Misdeclared, NotBuilt, NotKnown, UnusableInput)
"""What an operation may raise: a mistake in the declaration, something that is not known."""


def guarded(operation: Operation, file: str) -> Operation:
    """The operation with its functions called with care. file: where it comes from, for messages."""
    place = f"{file}, operation {operation.name}"
    if not isinstance(operation.name, str) or not operation.name or not callable(operation.build):
        raise UnusableInput(place, "no name, or nothing that builds", "Operation(NAME, SUMMARY, build, …)")
    return replace(operation, build=partial(_build, operation.build, place))


def _called(place: str, function: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except _PASS_ON:
        raise
    except Exception as error:  # noqa: BLE001 - anything may go wrong in somebody else's function
        name = getattr(function, "__name__", "a function")
        found = f"{name} that fails ({error_text(error)}{line_of(error, place.partition(', operation ')[0])})"
        raise OwnFunctionFailed(place, found, "numbers") from None


def _build(build: Callable[[Use], Built], place: str, use: Use) -> Built:
    built = _called(f"{place}, stage {use.stage}", build, use)
    if not isinstance(built, Built) or not isinstance(built.fields, FieldLayout):
        found = f"fields of type {type(built.fields).__name__}" if isinstance(built, Built) else type(built).__name__
        raise OwnFunctionFailed(f"{place}, stage {use.stage}", f"build that returns {found}", "a Built")
    width, bound = built.fields.width, built.bound
    return replace(
        built,
        compute=partial(_compute, built.compute, width, f"{place}, compute"),
        bound=None if bound is None else partial(_bound, bound, width, f"{place}, bound"),
    )


def _compute(compute: Compute, width: int, place: str, frames: Frames) -> FloatArray:
    return _of_width(_called(place, compute, frames), width, place).astype(np.float32)


def _bound(bound: Bound, width: int, place: str, frames: Frames, rows: FloatArray, upstream: Bounds) -> FloatArray:
    return _of_width(_called(place, bound, frames, rows, upstream), width, place).astype(np.float64)


def _of_width(returned: Any, width: int, place: str) -> FloatArray:
    """What a function returned, rows of numbers (N, width); UnusableInput for anything else."""
    rows = np.asarray(returned)
    if rows.dtype.kind not in "iufb" or rows.ndim != 2 or rows.shape[1] != width:
        raise OwnFunctionFailed(place, f"an array {rows.shape} of {rows.dtype}", f"numbers, (frames, {width})")
    return rows
