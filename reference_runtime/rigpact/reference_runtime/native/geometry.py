"""Rotations of long arrays in C++, to the bits of numpy: `Rot6d` takes them where they are, and computes the rest itself.

Bones whose axes are short or not a number are left to numpy: what replaces an axis is a convention. A library that gives other
bits on drawn bones is not used; the numbers are the same without it.
"""

import ctypes as c
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.errors import UnusableInput
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.native.library import library

LEAST_BONES = 512
"""Below it numpy is asked: a run's own loop has a plan of its own, and a call through Python costs as much as the bones."""
_ENDINGS = {"float32": "f32", "float64": "f64"}
Ordinary = Callable[..., FloatArray]
"""(N, 6) of one or two arrays -> the rows that numpy makes of them, (N, 6) or (N, 9)."""


class SixForm(NamedTuple):
    """What six numbers hold, as geometry.cpp names it."""

    first: int
    second: int
    in_turns: bool
    are_rows: bool
    is_second_first: bool


class _FormStruct(c.Structure):
    _fields_ = tuple((name, c.c_int) for name in SixForm._fields)


def computed(task: str, form: SixForm, arrays: tuple[FloatArray, ...], out: FloatArray, by_numpy: Ordinary) -> bool:
    """Fill `out` with what the task (`compose`, `decode`) makes of the arrays, six numbers a bone; False where it cannot."""
    bones = arrays[0].size // 6
    if bones < LEAST_BONES or not _fits(out, *arrays) or not _agrees(task, form, out.dtype.name, by_numpy):
        return False
    _filled(task, form, arrays, out, by_numpy)
    return True


def _fits(out: FloatArray, *arrays: FloatArray) -> bool:
    is_one_kind = all(each.dtype == out.dtype and each.flags.c_contiguous for each in (out, *arrays))
    return is_one_kind and out.dtype.name in _ENDINGS


def _filled(task: str, form: SixForm, arrays: tuple[FloatArray, ...], out: FloatArray, by_numpy: Ordinary) -> None:
    ending, loaded, bones = _ENDINGS[out.dtype.name], library(), arrays[0].size // 6
    group = loaded.rigpact_group(out.dtype == np.float64)
    lost = np.empty(-(-bones // group), np.int64)
    pointers = (each.ctypes.data for each in (*arrays, out))
    call = getattr(loaded, f"rigpact_{task}_{ending}")
    count = call(c.byref(_FormStruct(*form)), *pointers, bones, lost.ctypes.data)
    if count:
        rows: NDArray[np.int64] = (lost[:count, None] + np.arange(group)).ravel()
        rows = rows[rows < bones]
        out.reshape(bones, -1)[rows] = by_numpy(*(each.reshape(-1, 6)[rows] for each in arrays))


_agreed: dict[tuple[str, SixForm, str], bool] = {}
"""What is known of the library; what replaces a lost axis has no part in it."""


def _agrees(task: str, form: SixForm, kind: str, by_numpy: Ordinary) -> bool:
    """Whether the library is there and gives numpy's bits."""
    key = task, form, kind
    if key not in _agreed:
        _agreed[key] = _gives_its_bits(task, form, kind, by_numpy)
    return _agreed[key]


def _gives_its_bits(task: str, form: SixForm, kind: str, by_numpy: Ordinary) -> bool:
    """The same on bones that are drawn: short, parallel and NaN among them."""
    try:
        library()
    except UnusableInput:
        return False
    rng = np.random.default_rng(5)
    arrays = [rng.normal(size=(101, 6)) for _ in range(2 if task == "compose" else 1)]
    for each in arrays:
        each[7], each[30, :3], each[50, 3:], each[71, 2] = 0.0, 1e-5, each[50, :3], np.nan
    typed = tuple(each.astype(kind) for each in arrays)
    expected = by_numpy(*typed)
    out = np.empty(expected.shape, kind)
    _filled(task, form, typed, out, by_numpy)
    return np.array_equal(out, expected, equal_nan=True)
