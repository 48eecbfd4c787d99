"""README's first-minute table: what a reader waits for, from an empty environment to the first answer of either door.

    python -m parity_tests.measuring.benchmarks.first_minute README.md README.zh-CN.md

installs the last commit into a new virtual environment, with an empty home and so with nothing cached, runs each command of the
table once, and writes its seconds into the pages: those of the clock, and those of a processor, which other work does not
lengthen. Without pages it prints them.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

CHECKOUT = Path(__file__).resolve().parents[3]
COMMANDS: Mapping[str, int] = {"python -m pip install .": 0, "rigpact demo": 0, "rigpact demo robot": 1}
"""The commands of the table, and the exit status of each: the robot's recording has a mistake."""


class Took(NamedTuple):
    """Seconds of a clock, and of all processors together."""

    seconds: float
    processor: float


def measured() -> Mapping[str, Took]:
    """What each command takes, in a new environment."""
    with tempfile.TemporaryDirectory() as home:
        source, environment = Path(home, "rigpact"), Path(home, "venv")
        subprocess.run(["git", "clone", "--quiet", "--depth", "1", CHECKOUT.as_uri(), source], check=True)
        venv.create(environment, with_pip=True)
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "RIGPACT", "VIRTUAL"))
        }
        words = kept | {"HOME": home, "PATH": os.pathsep.join((str(environment / "bin"), os.environ["PATH"]))}
        return {command: _took(command, status, source, words) for command, status in COMMANDS.items()}


def _took(command: str, status: int, folder: Path, environment: Mapping[str, str]) -> Took:
    began, before = time.perf_counter(), os.times()
    ran = subprocess.run(shlex.split(command), cwd=folder, env=environment, capture_output=True, text=True, check=False)
    after, took = os.times(), time.perf_counter() - began
    if ran.returncode != status:
        raise SystemExit(f"{command}: exit status {ran.returncode}, not {status}\n{ran.stdout}{ran.stderr}")
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return Took(took, used)


def with_seconds(page: str, seconds: Mapping[str, Took]) -> str:
    """The text of a page with these figures in its table."""
    for command, took in seconds.items():
        row = re.compile(rf"^(\| `{re.escape(command)}`) \| [\d.]+ \| [\d.]+ \|$", re.MULTILINE)
        page, count = row.subn(rf"\g<1> | {took.seconds:.0f} | {took.processor:.0f} |", page)
        if count != 1:
            raise SystemExit(f"{command}: {count} rows of the table, not one")
    return page


def main(pages: list[str]) -> None:
    """Measure, and write the figures."""
    seconds = measured()
    for command, took in seconds.items():
        sys.stdout.write(f"{took.seconds:8.1f} s, {took.processor:8.1f} s of a processor  {command}\n")
    for page in map(Path, pages):
        page.write_text(with_seconds(page.read_text(encoding="utf-8"), seconds), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
