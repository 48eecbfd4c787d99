"""README's first-minute table: what a reader waits for, from an empty environment to the first answer of either door.

    python -m parity_tests.measuring.benchmarks.first_minute README.md README.zh-CN.md

installs the last commit into a new virtual environment, with an empty home and so with nothing cached, runs each command of the
table once, and writes its seconds into the pages. Without pages it prints them.
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

CHECKOUT = Path(__file__).resolve().parents[3]
COMMANDS: Mapping[str, int] = {"python -m pip install .": 0, "rigpact demo": 0, "rigpact demo robot": 1}
"""The commands of the table, and the exit status of each: the robot's recording has a mistake."""


def measured() -> Mapping[str, float]:
    """Seconds of each command, in a new environment."""
    with tempfile.TemporaryDirectory() as home:
        source, environment = Path(home, "rigpact"), Path(home, "venv")
        subprocess.run(["git", "clone", "--quiet", "--depth", "1", CHECKOUT.as_uri(), source], check=True)
        venv.create(environment, with_pip=True)
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "RIGPACT", "VIRTUAL"))
        }
        words = kept | {"HOME": home, "PATH": os.pathsep.join((str(environment / "bin"), os.environ["PATH"]))}
        return {command: _seconds(command, status, source, words) for command, status in COMMANDS.items()}


def _seconds(command: str, status: int, folder: Path, environment: Mapping[str, str]) -> float:
    began = time.perf_counter()
    ran = subprocess.run(shlex.split(command), cwd=folder, env=environment, capture_output=True, text=True, check=False)
    took = time.perf_counter() - began
    if ran.returncode != status:
        raise SystemExit(f"{command}: exit status {ran.returncode}, not {status}\n{ran.stdout}{ran.stderr}")
    return took


def with_seconds(page: str, seconds: Mapping[str, float]) -> str:
    """The text of a page with these figures in its table."""
    for command, took in seconds.items():
        row = re.compile(rf"^(\| `{re.escape(command)}` \| )[\d.]+( \|)$", re.MULTILINE)
        page, count = row.subn(rf"\g<1>{took:.3g}\g<2>", page)
        if count != 1:
            raise SystemExit(f"{command}: {count} rows of the table, not one")
    return page


def main(pages: list[str]) -> None:
    """Measure, and write the figures."""
    seconds = measured()
    for command, took in seconds.items():
        sys.stdout.write(f"{took:8.1f} s  {command}\n")
    for page in map(Path, pages):
        page.write_text(with_seconds(page.read_text(encoding="utf-8"), seconds), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
