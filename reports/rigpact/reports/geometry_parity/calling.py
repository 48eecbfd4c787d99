"""Call a user's function with arrays of its own library, in the shapes and with the arguments that it wants.

All checks work on rows (N, …), or on a sequence (T, N, …), time first. A layout lays these out for a function and reads the
result back; a form splits a value into arguments, and a result in parts is joined again. Arguments are copies. Every error in
the function becomes a `CallFailed` with the text of the error. To add a shape: a word in `LAYOUTS` or `TIMED`; to add a form:
a row in `_FORMS`.
"""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from functools import partial
from math import prod
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.conventions import Conventions
from rigpact.contract.errors import error_text
from rigpact.contract.findings import Finding, Rule
from rigpact.contract.settings.configuration import FunctionSettings
from rigpact.contract.statistics import FloatArray
from rigpact.reports.geometry_parity.roles import TRAILING, Kind, Role

BackendName = Literal["numpy", "torch"]
Array = NDArray[Any]


class NumpyBackend:
    """Functions of numpy arrays; torch_backend.py has those of tensors."""

    name: BackendName = "numpy"

    def native(self, array: Array) -> Any:
        """The array as the library's own, with the same strides."""
        return array

    def numpy(self, value: Any) -> Array:
        """The library's array as a numpy array; a number becomes an array; TypeError for anything else."""
        if not isinstance(value, np.ndarray | np.generic | float | int):
            raise TypeError(f"a {type(value).__name__} where an array is expected")
        return np.asarray(value)


_SIZES = {"J": 5, "T": 7}
"""Sizes of inner axes that are tried. 5 and 7 divide the 70 rows, and no value has an axis of that size."""


@dataclass(frozen=True)
class RowLayout:
    """Rows, or a sequence, as a function wants them, written with `*` for the axes of one value.

    "(B, T, J, *)" takes (2, 7, 5, 3, 3); in "(N, J*)" the bones stand in the value's own axis: (14, 30). The first axis that is
    not time has as many entries as there are.
    """

    shape: str
    is_timed: bool = False
    bones: int = _SIZES["J"]

    @property
    def names(self) -> list[str]:
        """Its leading axes."""
        return self.shape.strip("()").replace("J*", "J, *").split(", ")[:-1]

    @property
    def one_by_one(self) -> bool:
        """Whether it takes a single rotation, or a single one at each time."""
        return self.names == ["T"] * self.is_timed

    @property
    def time(self) -> int:
        """Where the axis of time stands."""
        return self.names.index("T")

    @property
    def inner(self) -> tuple[int, ...]:
        """The sizes of all axes that rows are split into, less the first."""
        axes = [name for name in self.names if not (self.is_timed and name == "T")]
        return tuple(self.bones if name == "J" else _SIZES[name] for name in axes[1:])

    def lay(self, array: Array, trailing: tuple[int, ...]) -> Array:
        """Rows (N, *trailing), or a sequence of them, in this shape. The last is repeated until they fill it."""
        axis, step = int(self.is_timed), prod(self.inner)
        if short := -array.shape[axis] % step:
            array = np.concatenate((array, np.repeat(np.take(array, [-1], axis), short, axis)), axis)
        split = array.reshape(*array.shape[:axis], array.shape[axis] // step, *self.inner, *trailing)
        laid = np.moveaxis(split, 0, self.time) if self.is_timed else split
        kept = len(self.names) - 1
        return laid.reshape(*laid.shape[:kept], prod(laid.shape[kept:])) if "J*" in self.shape else laid

    def read(self, value: Array, rows: int, kind: Kind) -> Array:
        """A result in this shape as rows, or as a sequence of them; the result itself if it has another shape."""
        trailing = TRAILING[kind]
        lead = [-(-rows // prod(self.inner)), *self.inner]
        if self.is_timed and value.ndim > self.time:
            lead.insert(self.time, value.shape[self.time])
        size = prod(trailing)
        shapes = [(*lead, *trailing), (*lead, size), *([(*lead[:-1], lead[-1] * size)] if len(lead) > 1 else ())]
        if value.shape not in shapes:
            return value
        whole = value.reshape(*lead, *trailing)
        if not self.is_timed:
            return whole.reshape(prod(lead), *trailing)[:rows]
        whole = np.moveaxis(whole, self.time, 0)
        return whole.reshape(len(whole), prod(lead) // max(1, len(whole)), *trailing)[:, :rows]

    def shown(self, kind: Kind) -> str:
        """The shape with the value's own axes: (B, T, J·6) for six numbers in "(B, T, J*)"."""
        axes, size = map(str, TRAILING[kind]), prod(TRAILING[kind])
        names = self.shape.replace("J*", f"J·{size}").strip("()").split(", ")
        written = [part for name in names for part in (axes if name == "*" else (name,))]
        return f"({', '.join(written)}{',' * (len(written) == 1)})"


LAYOUTS: Mapping[str, RowLayout] = {
    shape: RowLayout(shape) for shape in ("(N, *)", "(B, T, J, *)", "(N, J, *)", "(N, J*)", "(B, T, J*)", "(*)")
}
"""Shapes of values, in the order of trial."""
TIMED: Mapping[str, RowLayout] = {
    shape: RowLayout(shape, is_timed=True)
    for shape in ("(T, J, *)", "(B, T, J, *)", "(B, T, *)", "(T, J*)", "(B, T, J*)", "(T, *)")
}
"""Shapes of sequences, in the order of trial."""
ROWS, ALONE, SEQUENCE = LAYOUTS["(N, *)"], LAYOUTS["(*)"], TIMED["(T, J, *)"]

Parts = list[tuple[Array, tuple[int, ...]]]
"""Arguments, each with the axes of one value."""
_RATES = ("fps", "rate", "hz", "frame_rate", "framerate", "sample_rate", "sampling_rate", "frequency")
_PERIODS = (
    "dt", "delta_t", "delta_time", "time_delta", "timestep", "time_step", "step_s", "frame_time", "frametime",
)  # fmt: skip
_ORDERS = ("order", "convention", "seq", "axes", "sequence", "euler_order")


@dataclass(frozen=True)
class Passing:
    """One way to pass a role's values. needs: how many arguments that makes; 0: as many as the role takes."""

    words: str
    split: Callable[[Parts], Parts]
    needs: int = 0


def _axis_angle(parts: Parts, *, is_column: bool = False, is_angle_first: bool = False) -> Parts:
    (vector, _), *_others = parts
    angle = np.sqrt(np.sum(vector * vector, axis=-1))
    size, still = angle[..., None], np.eye(3, dtype=vector.dtype)[0]  # any axis does where nothing turns
    axis = np.where(size == 0, still, vector / np.where(size == 0, np.ones_like(size), size))
    made: Parts = [(axis, (3,)), (size, (1,)) if is_column else (angle, ())]
    return made[::-1] if is_angle_first else made


AS_THEY_ARE = Passing("", lambda parts: parts)
_SWAPPED = Passing("the second value first", lambda parts: parts[::-1])
_FORMS: Mapping[tuple[str, ...], tuple[Passing, ...]] = {
    ("vector",): (
        AS_THEY_ARE,
        Passing("axis, angle", _axis_angle, 2),
        Passing("axis, angle (…, 1)", partial(_axis_angle, is_column=True), 2),
        Passing("angle, axis", partial(_axis_angle, is_angle_first=True), 2),
        Passing("angle (…, 1), axis", partial(_axis_angle, is_column=True, is_angle_first=True), 2),
    ),
    ("euler",): (
        AS_THEY_ARE,
        Passing("three angles", lambda parts: [(np.array(parts[0][0][..., place]), ()) for place in range(3)], 3),
    ),
    ("quat", "point"): (AS_THEY_ARE, Passing("point, quat", lambda parts: parts[::-1])),
}
"""Other forms than one array for each value, by what the role takes."""
DECLARABLE = {"axis, angle": "axis", "angle, axis": "angle", "three angles": "three", "point, quat": "point"}
"""The words that `takes` of a declaration may have, with the start of the forms that they allow."""


def signature_forms(role: Role, function: Callable[..., Any], takes: str | None) -> Iterator[Passing]:
    """The forms that a function's signature allows, in the order of trial. takes: the declared one."""
    every = _FORMS.get(role.takes, (AS_THEY_ARE,))
    if takes is not None:
        yield from (form for form in every if form.words.startswith(DECLARABLE[takes]))
        return
    first = next((each.name.lower() for each in parameters(function)), "")
    if role.takes == ("six", "residual"):  # only the names tell; another order would hide a wrong product
        yield _SWAPPED if "delta" in first or "resid" in first else AS_THEY_ARE
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
        either, none = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.empty
        defaults = [each.default_value if each.has_default_value() else none for each in compiled]
        return [inspect.Parameter(each.name, either, default=own) for each, own in zip(compiled, defaults, strict=True)]
    try:
        return list(inspect.signature(function).parameters.values())
    except (ValueError, TypeError):
        return []


def _count(function: Callable[..., Any]) -> tuple[int, int]:
    """The least and the greatest number of values that a function takes, without rate, order and flags."""
    every = parameters(function)
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if not every or any(each.kind is inspect.Parameter.VAR_POSITIONAL for each in every):
        return 0, 99
    values = [each for each in every if each.kind in kinds and each.name.lower() not in (*_RATES, *_PERIODS, *_ORDERS)]
    return sum(each.default is inspect.Parameter.empty for each in values), len(values)


def order_parameter(function: Callable[..., Any]) -> inspect.Parameter | None:
    """The parameter for the order of Euler axes, found by name."""
    return next((each for each in parameters(function) if each.name.lower() in _ORDERS), None)


def _joined(values: Sequence[Array], gives: str) -> Array:
    """A result in parts as one array: an axis and an angle, or three angles; TypeError if the parts are neither."""
    if gives == "euler" and len(values) == 3 and len({value.shape for value in values}) == 1:
        return np.stack(values, axis=-1)
    if gives == "vector" and len(values) == 2:
        axis, angle = sorted(values, key=lambda value: (value.ndim, value.shape), reverse=True)
        column = angle[..., None] if angle.shape == axis.shape[:-1] else angle
        if axis.shape[-1:] == TRAILING["vector"] and column.shape == (*axis.shape[:-1], 1):
            return axis * column
    raise TypeError(f"{len(values)} results where one is expected")


class CallFailed(Exception):
    """The function raised an error, or returned something that is not an array."""


NOTHING_DECLARED = FunctionSettings("")


@dataclass(frozen=True)
class UserFunction:
    """A module's (place) function in its role, with the shape and the form in which it is called.

    conventions: the contract's. declared: what the user says of it. words: constant arguments by name. certain: its role is
    said, or its name says it.

    Called with rows as numpy arrays, it returns rows as a numpy array, whatever library, shape and arguments it uses.
    """

    role: Role
    spelled: str
    function: Callable[..., Any]
    backend: NumpyBackend
    place: str
    conventions: Conventions
    declared: FunctionSettings = NOTHING_DECLARED
    layout: RowLayout = ROWS
    form: Passing = AS_THEY_ARE
    words: Mapping[str, Any] = field(default_factory=dict)
    certain: bool = True

    def finding(self, rule: Rule, **values: Any) -> Finding:
        """A finding about it; the pointer is its role."""
        return rule.at(self.place, f"/{self.role.name}", function=self.spelled, **values)

    @property
    def one_by_one(self) -> bool:
        """Whether it is called for each rotation, because it takes only one at a time."""
        return self.layout.one_by_one

    @property
    def plain(self) -> bool:
        """Whether it takes rows as they are."""
        return self.layout in (ROWS, SEQUENCE) and self.form is AS_THEY_ARE

    @property
    def rate(self) -> str | None:
        """The parameter for the frame rate or period: found by name, else the second one without a default."""
        others = parameters(self.function)[1:] if self.role.timed else []
        usual = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        named = [each for each in others if each.name.lower() in (*_RATES, *_PERIODS)]
        needed = [each for each in others[:1] if each.default is inspect.Parameter.empty and each.kind in usual]
        return next((each.name for each in (*named, *needed)), None)

    def __call__(self, *arrays: Array, fps: float = 60.0) -> FloatArray:
        """Call it with copies of rows."""
        return self.call_keeping([np.array(array, copy=True, order="K") for array in arrays], fps)

    def call_keeping(self, arrays: Sequence[Array], fps: float = 60.0) -> FloatArray:
        """Call it with exactly these rows where their shape allows it, or with tensors that share their memory."""
        axis, gives = int(self.role.timed), self.role.gives
        if self.one_by_one:  # keep the time axis, take bones one by one
            rows = zip(*(np.moveaxis(array, axis, 0) for array in arrays), strict=True)
            results = [self.call_laid(self.lay(list(row)), fps) for row in rows]
            if len({result.shape for result in results}) != 1 or results[0].ndim < axis:
                raise CallFailed("results of different shapes")
            stacked = np.stack(results, axis)
            return stacked if self.role.timed else ROWS.read(stacked, len(stacked), gives)
        value = self.call_laid(self.lay(arrays), fps)
        if arrays[0].ndim <= axis:
            return value
        return self.layout.read(value, np.broadcast_shapes(*((array.shape[axis],) for array in arrays))[0], gives)

    def lay(self, arrays: Sequence[Array]) -> list[Array]:
        """Rows as the function's arguments."""
        parts = self.form.split([(array, TRAILING[kind]) for array, kind in zip(arrays, self.role.takes, strict=True)])
        return [array if self.one_by_one else self.layout.lay(array, trailing) for array, trailing in parts]

    def call_laid(self, arguments: Sequence[Array], fps: float = 60.0) -> Array:
        """Call it with exactly these arguments; its result as it comes, or its parts joined."""
        try:
            value = self.native_call([self.backend.native(each) for each in arguments], fps)
            parts = [self.backend.numpy(part) for part in (value if isinstance(value, tuple) else (value,))]
            whole = _joined(parts, self.role.gives) if isinstance(value, tuple) else parts[0]
        except (Exception, SystemExit) as error:  # noqa: BLE001 - anything may go wrong in somebody else's function
            raise CallFailed(error_text(error)) from None
        if whole.dtype.kind not in "fiu":
            raise CallFailed(f"TypeError: an array of {whole.dtype.name} where numbers are expected")
        return whole

    def native_call(self, arguments: Sequence[Any], fps: float = 60.0) -> Any:
        """Call it with the library's own arrays; errors are not converted."""
        rated = {} if self.rate is None else {self.rate: 1.0 / fps if self.rate.lower() in _PERIODS else fps}
        with redirect_stdout(sys.stderr), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return self.function(*arguments, **self.words, **rated)
