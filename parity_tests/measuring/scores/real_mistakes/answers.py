"""`rigpact explain` asked about each recording, as a user asks: a process each, with a limit."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

LIMIT_S = 60
"""A process ends after so much processor time: the search counts work and ends by itself, so one that does not hangs."""
ENGINE_WORDS = ("output_mode=residual", "contacts_source=zeros", "angvel_source=state_slice")


@dataclass(frozen=True)
class Asked:
    """An answer. seconds: the shorter of the clock's and the processors', so that other work on the machine counts little.

    is_late: the process was ended.
    """

    name: str
    answer: Mapping[str, Any] | None
    seconds: float
    error: str = ""
    is_late: bool = False


def options(folder: Path, name: str) -> list[str]:
    """The options that the README of the folder names for a recording."""
    system = folder / name.split("/", maxsplit=1)[0]
    if system.name == "enemy_engine":
        clip = ["--clip", str(folder.parent / "Walk_F.json")] if ".teacher." in name else []
        words = [part for each in ENGINE_WORDS for part in ("--set", each)]
        return ["--contract", str(system / "bundle.json"),
                "--companion", str(folder.parent / "pretrain_template.json"), *words, *clip]  # fmt: skip
    mode = [] if system.name == "lmm" else ["--mode", "free"]
    own = [part for path in sorted(system.glob("*.py")) for part in ("--operations", str(path))]
    return ["--contract", str(system / "contract.toml"), *own, *mode]


def ask(recording: Path, words: Sequence[str], name: str) -> Asked:
    """Ask about one recording."""
    line = [sys.executable, "-m", "rigpact.reports", "explain", str(recording), *words, "--format", "json"]
    ran = timed(line)
    if not ran.printed.strip():
        return Asked(name, None, ran.seconds, ran.said[-400:], ran.is_ended)
    return Asked(name, json.loads(ran.printed), ran.seconds)


@dataclass(frozen=True)
class Ran:
    """A program that ran. seconds: as of `Asked`; is_ended: whether it did not end by itself."""

    printed: bytes
    said: str
    seconds: float
    is_ended: bool


def timed(line: Sequence[str]) -> Ran:
    """Run a program; it is ended at the limit."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        started = time.monotonic()
        running = subprocess.Popen(line, stdout=out, stderr=err, start_new_session=True)
        resource.prlimit(running.pid, resource.RLIMIT_CPU, (LIMIT_S, LIMIT_S))
        _, status, usage = os.wait4(running.pid, 0)
        running.returncode = os.waitstatus_to_exitcode(status)
        seconds = min(time.monotonic() - started, usage.ru_utime + usage.ru_stime)
        out.seek(0)
        err.seek(0)
        printed, said = out.read(), err.read().decode(errors="replace")
    return Ran(printed, said, seconds, running.returncode < 0)


def asked(folder: Path, names: Sequence[str], only: str, jobs: int) -> Iterator[Asked]:
    """The answers to those recordings whose names match, in their order."""
    chosen = [name for name in names if fnmatch(name, only) or fnmatch(name, f"*{only}*")]
    with ThreadPoolExecutor(jobs) as workers:
        yield from workers.map(lambda name: ask(folder / name, options(folder, name), name), chosen)
