"""Compilers, and what is built with them, once for all tests."""

import ctypes
import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import pytest

from rigpact.contract.errors import UnusableInput
from rigpact.reference_runtime.native.library import library
from rigpact.reports.engine.cpp_text import headers_folder

from ..programs import missing
from .cpp_side import CppLoop

ROOM = Path(__file__).parent
KEPT = ROOM.parents[1] / ".pytest_cache" / "compiled"
"""Programs and libraries of this run and of earlier ones; all may be deleted at any time."""
STRICT = ("-std=c++17", "-Wall", "-Wextra", "-Werror", "-Wconversion", "-Wshadow")
ENGINE_LIKE = ("-fno-exceptions", "-fno-rtti")
COMPILERS = ("g++", pytest.param("clang++", marks=pytest.mark.needs_program("clang++")))
"""g++ is what a bare machine has; what needs clang++ is skipped there."""


@pytest.fixture(scope="session")
def installed_library() -> ctypes.CDLL:
    """The library that the install compiled."""
    return installed()


def installed() -> ctypes.CDLL:
    """The library that the install compiled; a skip where it has none."""
    try:
        return library()
    except UnusableInput:
        missing("compiled loop")
        raise


def ran(*words: object) -> subprocess.CompletedProcess[str]:
    """Run a program to its end; the caller judges how it ended."""
    return subprocess.run(list(map(str, words)), check=False, capture_output=True, text=True, timeout=300)


def compiled(
    compiler: str, source: Path, out: Path, *flags: str, include: Sequence[Path] = (), headers: Path | None = None
) -> Path:
    """Compile one file, or take what these words made of the same sources before; the compiler's words are in the failure."""
    folders, others = (headers or headers_folder(), *include), [Path(flag) for flag in flags if flag.endswith(".cpp")]
    beside = {each.parent for each in (source, *others)}  # an include in quotes is looked for there first
    read = [path for folder in (*folders, *sorted(beside)) for path in sorted(folder.rglob("*.h*"))]
    words = [flag for flag in (*STRICT, *flags) if not flag.endswith(".cpp")]
    said = [
        _version(compiler),
        out.suffix,
        *words,
        *(f"{path.name} {_digest(path)}" for path in (*read, *others, source)),
    ]
    kept = KEPT / hashlib.sha256("\n".join(said).encode()).hexdigest()
    if not kept.is_file():
        KEPT.mkdir(parents=True, exist_ok=True)
        done = ran(compiler, *STRICT, *(f"-I{folder}" for folder in folders), *flags, source, "-o", out)
        assert done.returncode == 0, done.stderr
        shutil.copy(out, made := KEPT / f"{kept.name}.{os.getpid()}")
        made.replace(kept)
    shutil.copy(kept, out)
    return out


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@cache
def _version(compiler: str) -> str:
    return ran(compiler, "--version").stdout


@pytest.fixture(scope="session", params=COMPILERS)
def compiler(request: pytest.FixtureRequest) -> str:
    """Each compiler."""
    if shutil.which(request.param) is None:
        missing(request.param)
    return str(request.param)


@pytest.fixture(scope="session")
def any_compiler() -> str:
    """One compiler, for what does not depend on which."""
    name = next(filter(shutil.which, ("g++", "clang++")), None)
    if name is None:
        missing("C++ compiler")
    return str(name)


@pytest.fixture(scope="session")
def loops(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], CppLoop]:
    """Compiler -> what engines include, as a shared library, and plans: those that the install compiled, or clang's own."""

    @cache
    def by(compiler: str) -> CppLoop:
        out, native = tmp_path_factory.mktemp("abi") / "parity_abi.so", headers_folder().parent / "native"
        flags = ("-O2", "-shared", "-fPIC", "-pthread", "-ffp-contract=off", '-DRIGPACT_SOURCES=""')
        plans = installed() if compiler == "g++" else None
        others = () if plans is not None else map(str, sorted(native.glob("*.cpp")))
        return CppLoop(compiled(compiler, ROOM / "parity_abi.cpp", out, *flags, *others), plans)

    return by


@pytest.fixture(scope="session")
def cpp(compiler: str, loops: Callable[[str], CppLoop]) -> CppLoop:
    """The library by each compiler."""
    return loops(compiler)


@pytest.fixture(scope="session")
def one_cpp(any_compiler: str, loops: Callable[[str], CppLoop]) -> CppLoop:
    """The library by one compiler, for what does not depend on which."""
    return loops(any_compiler)
