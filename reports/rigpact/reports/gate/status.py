"""`rigpact init --status`: what this installation and this project can judge, and what is missing for the rest.

Files are opened, and nothing is measured.
"""

import platform
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Literal

from rich.console import Console

from rigpact.contract.as_json import AsJson
from rigpact.contract.errors import UnusableInput
from rigpact.contract.findings import EXIT_CANNOT_JUDGE, EXIT_PASS
from rigpact.contract.settings.configuration import FILE_NAME
from rigpact.contract.settings.gate import GateSettings
from rigpact.contract.version import rigpact_version
from rigpact.reports.gate.measured import NotAsked
from rigpact.reports.gate.parts import PARTS
from rigpact.reports.gate.project import Project
from rigpact.reports.gate.report import IMPOSSIBLE, NEXT_QUESTIONS
from rigpact.reports.terminal import Answer, Sentence, print_answer

EXTRAS = {
    "pytest": ("testing", "tests of your own files, with the pytest plugin"),
    "hypothesis": ("testing", "properties of your own loop, on drawn input"),
    "pyarrow": ("sweep", "the table of a sweep as Parquet"),
    "mcap": ("readers", "bags of ROS 2 as recordings (with mcap-ros2-support)"),
    "mujoco": ("physics", "a training side that simulates"),
    "torch": ("training", "the functions of a training side in torch (rigpact check --module)"),
}
"""Packages that some commands need, each with rigpact's extra and what it is for."""
COMPILERS = ("c++", "g++", "clang++", "cl")


@dataclass(frozen=True)
class Tool(AsJson):
    """A package or a program. version: None where it is not there; needed: whether every command needs it."""

    name: str
    version: str | None
    purpose: str
    get: str
    needed: bool = False


def installation() -> Iterator[Tool]:
    """Everything that rigpact can use here, the needed things first."""
    yield Tool("rigpact", rigpact_version(), "", "", needed=True)
    yield Tool("python", platform.python_version(), "", "", needed=True)
    for requirement in requires("rigpact") or ():
        if "extra ==" not in requirement:
            name = re.split(r"[^\w.-]", requirement, maxsplit=1)[0]
            yield Tool(name, _version(name), "every command", f"pip install '{requirement}'", needed=True)
    for name, (extra, purpose) in EXTRAS.items():
        yield Tool(name, _version(name), purpose, f"pip install 'rigpact[{extra}]'")
    compiler = next(filter(shutil.which, COMPILERS), None)
    yield Tool("C++ compiler", compiler, "to build what `rigpact codegen` writes", "g++, clang++ or MSVC")
    git = shutil.which("git") and "git"
    yield Tool("git", git, "`rigpact diff --base`, `base` in [gate]", "install git")


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


State = Literal["can be judged", "missing", "waived", "not asked"]
_STYLES: Mapping[str, str] = {"can be judged": "green", "missing": "bold red", "waived": "cyan", "not asked": "dim"}
_WIDTH = len("can be judged")


@dataclass(frozen=True)
class Answerable(AsJson):
    """A part of the gate. reason: what is missing, or why it is not asked; get: how to change that."""

    name: str
    state: State
    reason: str = ""
    get: str = ""


@dataclass(frozen=True)
class ProjectStatus(AsJson):
    """What is installed, and the parts of the project's gate."""

    FORMAT = "rigpact-status"
    KEYS = "verdict installation: tools project: parts"
    tools: tuple[Tool, ...]
    parts: tuple[Answerable, ...]

    @property
    def is_ready(self) -> bool:
        """Whether all that is asked can be judged; a project that asks nothing is not ready."""
        states = {part.state for part in self.parts}
        is_whole = all(tool.version is not None for tool in self.tools if tool.needed)
        return is_whole and "missing" not in states and "can be judged" in states

    @property
    def verdict(self) -> str:
        """The answer in a word."""
        return "ready" if self.is_ready else "incomplete"

    @property
    def exit_code(self) -> int:
        """0 where all that is asked can be judged, else 2."""
        return EXIT_PASS if self.is_ready else EXIT_CANNOT_JUDGE


def examine(settings: GateSettings | None, today: date) -> ProjectStatus:
    """Examine the installation, and the project whose folder is the working directory. settings: None without [gate]."""
    return ProjectStatus(tuple(installation()), tuple(_parts(settings, today)))


def _parts(settings: GateSettings | None, today: date) -> Iterator[Answerable]:
    if settings is None:
        yield Answerable("gate", "missing", f"no {FILE_NAME} with a table [gate]", "`rigpact init` writes one")
        return
    try:
        project = Project(settings)
    except UnusableInput as error:
        yield Answerable("gate", "missing", error.one_line(), f"repair what it names in {FILE_NAME}, or the file")
        return
    for ask in PARTS.values():
        for asked in ask(project):
            if isinstance(asked, NotAsked):
                get = "" if asked.reason in IMPOSSIBLE else NEXT_QUESTIONS.get(asked.name, "")
                yield Answerable(asked.name, "not asked", asked.reason, get)
            elif lacks := asked.lacks:
                whole = [each for each in settings.waivers if (each.part, each.stage) == (asked.name, None)]
                waiver = next((each for each in whole if each.holds(today)), None)
                if waiver is None:
                    get = "repair what it names, or waive the part for a while: [[gate.waive]]"
                    yield Answerable(asked.name, "missing", lacks, get)
                else:
                    about = f"until {waiver.expires} ({waiver.owner}: {waiver.reason}); {lacks}"
                    yield Answerable(asked.name, "waived", about)
            else:
                yield Answerable(asked.name, "can be judged")


def print_examination(found: ProjectStatus, console: Console, place: Path, *, is_whole: bool = True) -> None:
    """Print the installation, then the parts, then one line. is_whole: else only what is asked and cannot be judged."""
    lines = []
    if is_whole:
        there = [f"{tool.name} {tool.version}" for tool in found.tools if tool.version is not None]
        lines.append(Sentence("installed: " + ", ".join(there)))
        for tool in found.tools:
            if tool.version is None:
                state, word = ("missing", "missing") if tool.needed else ("not asked", "not installed")
                lines += _lines(state, word, f"{tool.name}, for {tool.purpose}", tool.get)
    for part in found.parts:
        if is_whole or part.state == "missing":
            lines += _lines(part.state, part.state, f"{part.name}: {part.reason}".removesuffix(": "), part.get)
    states = [part.state for part in found.parts]
    asked = len(states) - states.count("not asked")
    said = f"{states.count('can be judged')} of {asked} parts that {place} asks can be judged"
    print_answer(Answer(found.verdict.upper(), said, found.exit_code, tuple(lines)), console)


def _lines(state: str, word: str, about: str, get: str) -> list[Sentence]:
    how = [Sentence(f"{'':{_WIDTH}}  {get}", "dim")] if get else []
    return [Sentence(f"{word:{_WIDTH}}  {about}", _STYLES[state]), *how]
