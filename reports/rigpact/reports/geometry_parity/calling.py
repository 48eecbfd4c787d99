"""Call a user's function with arrays of its own library, and return numpy arrays.

A `UserFunction` takes and returns numpy arrays, whatever library the function uses; arguments are copies. Every error
in the function becomes a `CallFailed` with the text of the error.
"""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

import numpy as np

from rigpact.contract.errors import UnusableInput
from rigpact.contract.statistics import FloatArray
from rigpact.reports.geometry_parity.backend import Array, Backend, BackendName, NumpyBackend
from rigpact.reports.geometry_parity.loading import Function, error_text
from rigpact.reports.geometry_parity.roles import ROLES, Role

_RATE_NAMES = ("fps", "rate", "hz", "frame_rate", "framerate", "sample_rate")
_PERIOD_NAMES = ("dt", "delta_t", "delta_time", "timestep", "step_s")


class CallFailed(Exception):
    """The function raised an error, or returned something that is not an array."""


def backend_of(function: Function, module: ModuleType, wanted: BackendName | None) -> Backend:
    """The library of a function: the given one, else torch if the function's module uses torch."""
    home = getattr(function, "__globals__", None) or vars(module)
    if wanted == "numpy" or (wanted is None and not any(_is_torch(value) for value in home.values())):
        return NumpyBackend()
    try:
        from rigpact.reports.geometry_parity.torch_backend import TorchBackend
    except ImportError as error:
        raise UnusableInput("--backend torch", error_text(error), "an installation of torch") from None
    return TorchBackend()


def _is_torch(value: Any) -> bool:
    name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
    return isinstance(name, str) and name.partition(".")[0] == "torch"


@dataclass(frozen=True)
class UserFunction:
    """A function in its role. one_by_one: call it for each rotation, because it takes only one at a time."""

    role: Role
    spelled: str
    function: Function
    backend: Backend
    one_by_one: bool = False

    def looped(self) -> UserFunction:
        """The same function, called once for each rotation."""
        return replace(self, one_by_one=True)

    @property
    def takes_rate(self) -> bool:
        """Whether it takes the frame rate or the frame period as an argument."""
        return self.role.timed and _rate_parameter(self.function) is not None

    def __call__(self, *arrays: Array, fps: float = 60.0) -> FloatArray:
        """Call it with copies of numpy arrays."""
        return self.call_keeping([np.array(array, copy=True, order="K") for array in arrays], fps)

    def call_keeping(self, arrays: Sequence[Array], fps: float = 60.0) -> FloatArray:
        """Call it with exactly these arrays, or with tensors that share their memory."""
        if not self.one_by_one:
            return self._call(arrays, fps)
        axis = 1 if self.role.timed else 0  # keep the time axis, take bones one by one
        rows = zip(*(np.moveaxis(array, axis, 0) for array in arrays), strict=True)
        results = [self._call(list(row), fps) for row in rows]
        if len({result.shape for result in results}) != 1 or results[0].ndim < axis:
            raise CallFailed("results of different shapes")
        return np.stack(results, axis)

    def native_call(self, arguments: Sequence[Any], fps: float = 60.0) -> Any:
        """Call it with the library's own arrays; errors are not converted."""
        words = {}
        if self.role.timed:
            words = _rate_word(self.function, fps)
        elif len(arguments) == 2 and _delta_stands_first(self.function):
            arguments = arguments[::-1]
        with redirect_stdout(sys.stderr), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return self.function(*arguments, **words)

    def _call(self, arrays: Sequence[Array], fps: float) -> FloatArray:
        try:
            value = self.backend.numpy(self.native_call([self.backend.native(array) for array in arrays], fps))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - anything may go wrong in somebody else's function
            raise CallFailed(error_text(error)) from None
        if value.dtype.kind not in "fiu":
            raise CallFailed(f"TypeError: an array of {value.dtype.name} where numbers are expected")
        return value


def _parameters(function: Function) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (ValueError, TypeError):  # a function written in C
        return []


def _rate_parameter(function: Function) -> str | None:
    """The parameter for the frame rate or period: found by name, else the second one without a default."""
    parameters = _parameters(function)
    for parameter in parameters[1:]:
        if parameter.name.lower() in (*_RATE_NAMES, *_PERIOD_NAMES):
            return parameter.name
    second = parameters[1] if len(parameters) > 1 else None
    usual = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    if second is not None and second.default is inspect.Parameter.empty and second.kind in usual:
        return second.name
    return None


def _rate_word(function: Function, fps: float) -> dict[str, float]:
    name = _rate_parameter(function)
    if name is None:
        return {}
    return {name: 1.0 / fps if name.lower() in _PERIOD_NAMES else fps}


def _delta_stands_first(function: Function) -> bool:
    names = [parameter.name.lower() for parameter in _parameters(function)]
    return bool(names) and ("delta" in names[0] or "resid" in names[0])


def user_functions(
    found: dict[str, tuple[str, Function]],
    module: ModuleType,
    wanted: BackendName | None,
) -> list[UserFunction]:
    """The functions of a module, ready to be called."""
    return [
        UserFunction(ROLES[role], spelled, function, backend_of(function, module, wanted))
        for role, (spelled, function) in found.items()
    ]
