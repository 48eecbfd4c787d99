"""The compiled loop: finding it, and refusing one that does not belong to these sources.

`hatch_build.py` compiles `cpp/native/*.cpp` beside this module when rigpact is installed and a compiler is there, once
for every processor and once for those with AVX2. The library carries the hash of the sources that it was made from.
"""

import ctypes as c
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple

from rigpact.contract.errors import UnusableInput
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
