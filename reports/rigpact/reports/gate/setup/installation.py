"""What is installed here: rigpact's own dependencies, which every command needs, and the extras that some need."""

from __future__ import annotations

import platform
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version

from rigpact.contract.version import rigpact_version

EXTRAS = {
    "pytest": ("testing", "tests of your own files, with the pytest plugin"),
    "hypothesis": ("testing", "properties of your own loop, on drawn input"),
    "pyarrow": ("sweep", "the table of a sweep as Parquet"),
    "distributed": ("cluster", "a sweep on a cluster (Dask)"),
    "mujoco": ("physics", "a training side that simulates"),
    "torch": ("training", "the functions of a training side in torch (rigpact geometry)"),
}
"""Packages that some commands need, each with rigpact's extra and what it is for."""
COMPILERS = ("c++", "g++", "clang++", "cl")


@dataclass(frozen=True)
class Tool:
    """A package or a program. version: None where it is not there; needed: whether every command needs it."""

    name: str
    version: str | None
    purpose: str
    get: str
    needed: bool = False

    @property
    def lacks(self) -> bool:
        """Whether something is missing that every command needs."""
        return self.needed and self.version is None


def installation() -> tuple[Tool, ...]:
    """Everything that rigpact can use here, the needed things first."""
    python = Tool("python", platform.python_version(), "", "", needed=True)
    return (Tool("rigpact", rigpact_version(), "", "", needed=True), python, *_packages(), *_extras(), *_programs())


def _packages() -> Iterator[Tool]:
    for requirement in requires("rigpact") or ():
        if "extra ==" not in requirement:
            name = re.split(r"[^\w.-]", requirement, maxsplit=1)[0]
            yield Tool(name, _version(name), "every command", f"pip install '{requirement}'", needed=True)


def _extras() -> Iterator[Tool]:
    for name, (extra, purpose) in EXTRAS.items():
        yield Tool(name, _version(name), purpose, f"pip install 'rigpact[{extra}]'")


def _programs() -> Iterator[Tool]:
    compiler = next(filter(shutil.which, COMPILERS), None)
    yield Tool("C++ compiler", compiler, "to build what `rigpact codegen` writes", "g++, clang++ or MSVC")
    git = shutil.which("git") and "git"
    yield Tool("git", git, "`rigpact breaking --base`, `base` in [gate]", "install git")


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
