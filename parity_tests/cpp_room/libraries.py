"""The runtime in C++ as shared libraries: those that the install compiled, and others from the same or from spoilt sources."""

import ctypes
import shutil
import tempfile
from functools import cache
from pathlib import Path

import pytest

from rigpact.reference_runtime.native import library as loading
from rigpact.reference_runtime.native.sources import ENDING, STEM, sources, sources_sha256

from ..programs import missing
from .conftest import compiled

EXACT = "-ffp-contract=off"
"""Whatever the compiler makes of it, the bits are the same."""
LANES = ("AVX2", pytest.param("loops", marks=pytest.mark.nightly))
"""How bones stand side by side, beside the vectors of g++: wider ones, and plain loops of a compiler that has none."""
WRONG = {
    "vector.hpp": ("return {{a[1] * b[2] - a[2] * b[1]", "return {{a[1] * b[2] + a[2] * b[1]"),
    "vocabulary/character.hpp": ("(value - static_cast<Real>(mean))", "(value + static_cast<Real>(mean))"),
    "vocabulary/scaling.hpp": ("x * scale[i] + constant[i]", "x * scale[i] - constant[i]"),
}
"""One wrong sign for each test that wants one, in one library."""


def library_of(cpp: Path, out: Path, *flags: str) -> Path:
    """The library of a folder of sources, with the hash of the true ones."""
    if shutil.which("g++") is None:
        missing("g++")
    hashed = sources_sha256(loading.headers_folder().parent)
    hidden = "-fvisibility=hidden"  # as installed: or tables of two loaded libraries become one
    first, *others = sources(cpp)
    words = ("-w", "-shared", "-fPIC", *flags, hidden, f'-DRIGPACT_SOURCES="{hashed}"', *map(str, others))
    return compiled("g++", first, out, *words, headers=cpp / "include")


@cache
def spoilt_library() -> ctypes.CDLL:
    """The library of headers with wrong signs, as a defect of the headers or of a compiler."""
    with tempfile.TemporaryDirectory() as folder:  # a loaded library needs its file no more
        cpp = Path(folder) / "cpp"
        for part in ("include", "native"):
            shutil.copytree(loading.headers_folder().parent / part, cpp / part)
        for header, (right, wrong) in WRONG.items():
            changed = cpp / "include" / "rigpact" / header
            text = changed.read_text(encoding="utf-8")
            assert text.count(right) == 1
            changed.write_text(text.replace(right, wrong), encoding="utf-8")
        return loading._loaded(library_of(cpp, Path(folder) / "spoilt.so", "-O0", EXACT))


@cache
def library_of_lanes(kind: str) -> ctypes.CDLL:
    """The library with one kind of lanes: what the install compiled, and loops."""
    if kind == "loops":
        with tempfile.TemporaryDirectory() as folder:
            cpp = loading.headers_folder().parent
            return loading._loaded(library_of(cpp, Path(folder) / "loops.so", "-O0", EXACT, "-DRIGPACT_PLAIN_LANES"))
    if kind == "AVX2" and not loading.library().rigpact_native_wide():
        pytest.skip("this processor has no AVX2")
    return loading._loaded(Path(loading.__file__).with_name(f"{STEM}{'_wide' * (kind == 'AVX2')}{ENDING}"))
