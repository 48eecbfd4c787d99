"""The command line in this process, and functions examined in their roles."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from rigpact.contract.findings import FindingsReport
from rigpact.contract.pages.registry import find_system
from rigpact.reports.command_line import run_command_line
from rigpact.reports.geometry_parity.declared import Found, asked_functions
from rigpact.reports.geometry_parity.examination import examine

enemy_conventions = find_system("enemy_animation").conventions

SUBJECTS = Path(__file__).parent / "subjects"


@dataclass(frozen=True)
class Answer:
    """The exit status and output of a command."""

    status: int
    out: str
    err: str

    @property
    def codes(self) -> list[str]:
        """The codes of the findings of a JSON answer."""
        return [finding["code"] for finding in json.loads(self.out)["findings"]]


@pytest.fixture
def geometry(capfd: pytest.CaptureFixture[str]) -> Callable[..., Answer]:
    """Run `rigpact check --module WORDS…`."""

    def call(*words: object) -> Answer:
        capfd.readouterr()
        status = run_command_line(["check", "--module", *map(str, words)])
        captured = capfd.readouterr()
        assert "Traceback" not in captured.out + captured.err
        return Answer(status, captured.out, captured.err)

    return call


@pytest.fixture
def module_file(tmp_path: Path) -> Callable[[str], Path]:
    """A user's module; the sound functions are available as `sound`."""

    def write(body: str) -> Path:
        path = tmp_path / "their_geometry.py"
        path.write_text(
            f"import sys\nsys.path.insert(0, {str(SUBJECTS)!r})\nimport sound_numpy as sound\n{body}", "utf-8"
        )
        return path

    return write


@pytest.fixture
def examined() -> Callable[..., FindingsReport]:
    """Examine one function in its role."""

    def run(function: Callable[..., Any], role: str, library: Any = "numpy", seed: int = 0) -> FindingsReport:
        asked = asked_functions(
            [Found(function.__name__, function, (role,))], ModuleType("m"), "their_geometry.py", library
        )
        residual = enemy_conventions({"output_mode": "residual"})
        return examine("their_geometry.py", asked, residual, seed)

    return run
