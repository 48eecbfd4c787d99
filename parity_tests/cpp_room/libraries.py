"""The runtime in C++ as shared libraries: those that the install compiled, and others from the same or from spoilt sources."""

import ctypes
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import pytest

from rigpact.reference_runtime.native import library as loading
from rigpact.reference_runtime.native.sources import ENDING, STEM, sources, sources_sha256

from ..programs import missing

EXACT = "-ffp-contract=off"
"""Whatever the compiler makes of it, the bits are the same."""
LANES = ("SSE", "loops", "AVX2")
"""How bones stand side by side: vectors of two kinds, and plain loops of a compiler that has none."""


def built(source: Path, out: Path, *flags: str, include: Path | None = None) -> Path:
    """A shared library by g++."""
    if shutil.which("g++") is None:
        missing("g++")
    words = ["g++", "-std=c++17", "-shared", "-fPIC", *flags, f"-I{include or loading.headers_folder()}"]
    subprocess.run([*words, str(source), "-o", str(out)], check=True, timeout=300)
    return out


def library_of(cpp: Path, out: Path, *flags: str) -> Path:
    """The library of a folder of sources, with the hash of the true ones."""
    hashed = sources_sha256(loading.headers_folder().parent)
    hidden = "-fvisibility=hidden"  # as installed: or tables of two loaded libraries become one
    first, *others = sources(cpp)
    words = (*flags, hidden, f'-DRIGPACT_SOURCES="{hashed}"', *map(str, others))
    return built(first, out, *words, include=cpp / "include")


def spoilt_library(folder: Path, header: str, right: str, wrong: str, *flags: str) -> ctypes.CDLL:
    """The library with other words in one of its headers, as a defect of the headers or of a compiler."""
    cpp = folder / "cpp"
    for part in ("include", "native"):
        shutil.copytree(loading.headers_folder().parent / part, cpp / part)
    changed = cpp / "include" / "rigpact" / header
    text = changed.read_text(encoding="utf-8")
    assert text.count(right) == 1
    changed.write_text(text.replace(right, wrong), encoding="utf-8")
    return loading._loaded(library_of(cpp, folder / "spoilt.so", "-O0", EXACT, *flags))


@cache
def library_of_lanes(kind: str) -> ctypes.CDLL:
    """The library with one kind of lanes: what the install compiled, and loops, compiled once for all tests of a process."""
    if kind == "loops":
        with tempfile.TemporaryDirectory() as folder:  # a loaded library needs its file no more
            cpp = loading.headers_folder().parent
            return loading._loaded(library_of(cpp, Path(folder) / "loops.so", "-O0", EXACT, "-DRIGPACT_PLAIN_LANES"))
    if kind == "AVX2" and not loading.library().rigpact_native_wide():
        pytest.skip("this processor has no AVX2")
    return loading._loaded(Path(loading.__file__).with_name(f"{STEM}{'_wide' * (kind == 'AVX2')}{ENDING}"))
