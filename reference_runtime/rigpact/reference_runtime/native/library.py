"""The compiled library: finding it, refusing one of other sources, and its rotations of long arrays, to the bits of numpy.

`hatch_build.py` compiles `cpp/native/*.cpp` beside this module when rigpact is installed and a compiler is there, once
for every processor and once for those with AVX2. The library carries the hash of the sources that it was made from.
`Rot6d` takes long arrays where they are, and computes the rest itself. Bones whose axes are short or not a number are left to
numpy: what replaces an axis is a convention. A library that gives other bits on drawn bones is not used; the numbers are the same
without it.
"""

import ctypes as c
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.errors import UnusableInput
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.native.sources import ENDING, STEM, sources_sha256

Engine = Literal["auto", "numpy", "native"]
"""Who computes the stages of a run: the C++ loop, numpy, or the C++ loop where it is there and agrees."""


class EngineUse(NamedTuple):
    """Who computes a run. refused: why the C++ loop, which is there, does not; empty where nothing is wrong with it."""

    name: str = "numpy"
    refused: str = ""


def headers_folder() -> Path:
    """The folder of the header-only runtime: beside the package in a wheel, otherwise in the checkout."""
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "cpp" / "include", package.parents[1] / "cpp" / "include"):
        if (folder / "rigpact" / "plan.hpp").is_file():
            return folder
    raise UnusableInput(package, "no C++ headers beside it", "the headers of the wheel", "install rigpact again")


@lru_cache(maxsize=1)
def library() -> c.CDLL:
    """The library for this processor, compiled from these sources; UnusableInput where there is none."""
    folder = Path(__file__).resolve().parent
    plain = folder / f"{STEM}{ENDING}"
    if not plain.is_file():
        raise UnusableInput("--engine native", "no compiled loop", "one beside the package", BUILD_IT)
    loaded = _loaded(plain)
    if loaded.rigpact_native_sources().decode() != sources_sha256(headers_folder().parent):
        raise UnusableInput(plain, "a loop of other sources", "one compiled from this version's headers", BUILD_IT)
    wide = folder / f"{STEM}_wide{ENDING}"
    return _loaded(wide) if loaded.rigpact_native_wide() and wide.is_file() else loaded


BUILD_IT = "install rigpact again where a C++ compiler is, or take --engine numpy, which computes the same"


def _loaded(path: Path) -> c.CDLL:
    try:
        return _typed(c.CDLL(str(path)))
    except (OSError, AttributeError) as error:  # of another platform, or cut off
        raise UnusableInput(path, f"a library that does not load ({error})", "one of this machine", BUILD_IT) from None


def _typed(loaded: c.CDLL) -> c.CDLL:
    loaded.rigpact_native_sources.restype = c.c_char_p
    loaded.rigpact_plan.restype = c.c_void_p
    loaded.rigpact_plan.argtypes = (*(c.c_void_p,) * 5, *(c.c_int,) * 4)
    loaded.rigpact_plan_run.argtypes = (c.c_void_p, *(c.c_int,) * 4)
    loaded.rigpact_plan_delete.argtypes = (c.c_void_p,)
    loaded.rigpact_plan_run.restype = loaded.rigpact_plan_delete.restype = None
    for task, arrays in (("compose", 3), ("decode", 2)):
        for ending in ("f32", "f64"):
            call = getattr(loaded, f"rigpact_{task}_{ending}")
            call.restype, call.argtypes = c.c_int64, (*(c.c_void_p,) * (1 + arrays), c.c_int64, c.c_void_p)
    return loaded


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
