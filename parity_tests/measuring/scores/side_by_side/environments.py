"""An environment of its own for each tool, and its commands."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from ..real_mistakes.answers import Ran, timed

LIMIT_S = 30.0
"""A tool's command that takes longer has no answer."""


@dataclass(frozen=True)
class Environment:
    """A folder with a tool in it."""

    folder: Path
    package: str

    @property
    def version(self) -> str:
        """The version that pip chose."""
        return self.python(f"from importlib.metadata import version; print(version({self.package!r}))")

    def run(self, *words: str | Path) -> Ran:
        """A command of the tool."""
        return timed([str(self.folder / "bin" / self.package), *map(str, words)], LIMIT_S)

    def python(self, code: str) -> str:
        """What Python code prints there."""
        line = [str(self.folder / "bin" / "python"), "-c", code]
        return subprocess.run(line, check=True, capture_output=True, text=True).stdout.strip()


def made(folder: Path, package: str, requirement: str) -> Environment:
    """The environment, made unless it is there: venv, then plain pip."""
    place = folder / package
    if not (place / "bin" / package).exists():
        subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
        subprocess.run([str(place / "bin" / "pip"), "install", "--quiet", requirement], check=True)
    return Environment(place, package)
