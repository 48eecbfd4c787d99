"""The most memory that a process had in use, and a command of rigpact whose peak is measured.

Linux counts `ru_maxrss` on from the process that started this one, so a large pytest makes every command look large. The mark of
`/proc/self/status` begins with the program itself.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

CHECKOUT = Path(__file__).resolve().parents[1]
_CHILD = "from parity_tests.peak_memory import run_measured; run_measured()"


class Measured(NamedTuple):
    """How a command ended, what it wrote, and its peak."""

    status: int
    out: str
    err: str
    peak_bytes: int


def peak_bytes() -> int:
    """Of this process: the kernel's own mark; where there is none, what `getrusage` says."""
    import resource  # no such module on Windows

    try:
        facts = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
        return next(int(line.split()[1]) << 10 for line in facts if line.startswith("VmHWM:"))
    except (FileNotFoundError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def measured_command(folder: Path, *words: object, limits: Mapping[int, int] | None = None) -> Measured:
    """Run `rigpact WORDS…` in a folder, in a process of its own. limits: by `resource.RLIMIT_*`."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(CHECKOUT), *filter(None, sys.path)])}
    line = [sys.executable, "-c", _CHILD, json.dumps({str(key): most for key, most in (limits or {}).items()})]
    done = subprocess.run(
        [*line, *map(str, words)], cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    err, mark, peak = done.stderr.rpartition("peak ")
    assert mark, f"status {done.returncode}, without a last line: {done.stderr}"
    return Measured(done.returncode, done.stdout, err, int(peak))


def run_measured() -> None:
    """The process itself: limits and words of the command line; the peak is the last line of standard error."""
    import resource

    limits, *words = sys.argv[1:]
    for key, most in json.loads(limits).items():
        resource.setrlimit(int(key), (most, most))
    from rigpact.reports.command_line import main

    try:
        main(words)
    finally:
        sys.stderr.write(f"peak {peak_bytes()}\n")
