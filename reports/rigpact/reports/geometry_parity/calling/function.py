"""Call a user's function with arrays of its own library, and return numpy arrays.

A `UserFunction` takes and returns rows as numpy arrays, whatever library, shape and arguments the function uses; arguments
are copies. Every error in the function becomes a `CallFailed` with the text of the error.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any

import numpy as np

from rigpact.contract.errors import UnusableInput, error_text
from rigpact.contract.statistics import FloatArray
from rigpact.reports.geometry_parity.calling.arguments import (
    AS_THEY_ARE,
    Form,
    joined,
    rate_parameter,
    rate_word,
)
from rigpact.reports.geometry_parity.calling.backend import Array, Backend, BackendName, NumpyBackend
from rigpact.reports.geometry_parity.calling.layouts import ROWS, SEQUENCE, Layout
from rigpact.reports.geometry_parity.roles import TRAILING, Role


class CallFailed(Exception):
    """The function raised an error, or returned something that is not an array."""


def backend_of(function: Callable[..., Any], module: ModuleType, wanted: BackendName | None) -> Backend:
    """The library of a function: the given one, else torch if the function's module uses torch."""
    home = getattr(function, "__globals__", None) or vars(module)
    if wanted == "numpy" or (wanted is None and not any(_is_torch(value) for value in home.values())):
        return NumpyBackend()
    try:
        from rigpact.reports.geometry_parity.calling.torch_backend import TorchBackend
    except ImportError as error:
        raise UnusableInput("--backend torch", error_text(error), "an installation of torch") from None
    return TorchBackend()


def _is_torch(value: Any) -> bool:
    name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
    return isinstance(name, str) and name.partition(".")[0] == "torch"


@dataclass(frozen=True)
class Declared:
    """What the user says of a function; None where nothing is said. certain: the role is said, or its name says it.

    order: of Euler axes. bones: how many the function wants. place: where it is said, for error messages.
    """

    certain: bool = True
    shape: str | None = None
    takes: str | None = None
    order: str | None = None
    degrees: bool = False
    bones: int | None = None
    place: str = ""


@dataclass(frozen=True)
class UserFunction:
    """A function in its role, with the shape and the form in which it is called. words: constant arguments by name."""

    role: Role
    spelled: str
    function: Callable[..., Any]
    backend: Backend
    declared: Declared = field(default_factory=Declared)
    layout: Layout = ROWS
    form: Form = AS_THEY_ARE
    words: Mapping[str, Any] = field(default_factory=dict)

    def called(self, layout: Layout, form: Form | None = None) -> UserFunction:
        """The same function, called with another shape and form."""
        return replace(self, layout=layout, form=form or self.form)

    @property
    def one_by_one(self) -> bool:
        """Whether it is called for each rotation, because it takes only one at a time."""
        return self.layout.one_by_one

    @property
    def plain(self) -> bool:
        """Whether it takes rows as they are."""
        return self.layout in (ROWS, SEQUENCE) and self.form is AS_THEY_ARE

    @property
    def takes_rate(self) -> bool:
        """Whether it takes the frame rate or the frame period as an argument."""
        return self.role.timed and rate_parameter(self.function) is not None

    def __call__(self, *arrays: Array, fps: float = 60.0) -> FloatArray:
        """Call it with copies of rows."""
        return self.call_keeping([np.array(array, copy=True, order="K") for array in arrays], fps)

    def call_keeping(self, arrays: Sequence[Array], fps: float = 60.0) -> FloatArray:
        """Call it with exactly these rows where their shape allows it, or with tensors that share their memory."""
        if self.one_by_one:
            return self._call_each(arrays, fps)
        return self._read(self.call_laid(self.lay(arrays), fps), arrays)

    def lay(self, arrays: Sequence[Array]) -> list[Array]:
        """Rows as the function's arguments."""
        parts = [(array, TRAILING[kind]) for array, kind in zip(arrays, self.role.takes, strict=True)]
        split = self.form.split(parts)
        if self.one_by_one:
            return [array for array, _ in split]
        return [self.layout.lay(array, trailing) for array, trailing in split]

    def call_laid(self, arguments: Sequence[Array], fps: float = 60.0) -> Array:
        """Call it with exactly these arguments; its result as it comes."""
        try:
            value = self._numpy(self.native_call([self.backend.native(each) for each in arguments], fps))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - anything may go wrong in somebody else's function
            raise CallFailed(error_text(error)) from None
        if value.dtype.kind not in "fiu":
            raise CallFailed(f"TypeError: an array of {value.dtype.name} where numbers are expected")
        return value

    def native_call(self, arguments: Sequence[Any], fps: float = 60.0) -> Any:
        """Call it with the library's own arrays; errors are not converted."""
        words = {**self.words, **(rate_word(self.function, fps) if self.role.timed else {})}
        with redirect_stdout(sys.stderr), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return self.function(*arguments, **words)

    def _numpy(self, value: Any) -> Array:
        if not isinstance(value, tuple):
            return self.backend.numpy(value)
        together = joined([self.backend.numpy(part) for part in value], self.role.gives)
        if together is None:
            raise TypeError(f"{len(value)} results where one is expected")
        return together

    def _read(self, value: Array, arrays: Sequence[Array]) -> FloatArray:
        axis = 1 if self.role.timed else 0
        if arrays[0].ndim <= axis:
            return value
        rows = np.broadcast_shapes(*((array.shape[axis],) for array in arrays))[0]
        return self.layout.read(value, rows, self.role.gives)

    def _call_each(self, arrays: Sequence[Array], fps: float) -> FloatArray:
        axis = 1 if self.role.timed else 0  # keep the time axis, take bones one by one
        rows = zip(*(np.moveaxis(array, axis, 0) for array in arrays), strict=True)
        results = [self.call_laid(self.lay(list(row)), fps) for row in rows]
        if len({result.shape for result in results}) != 1 or results[0].ndim < axis:
            raise CallFailed("results of different shapes")
        stacked = np.stack(results, axis)
        return stacked if self.role.timed else ROWS.read(stacked, len(stacked), self.role.gives)
