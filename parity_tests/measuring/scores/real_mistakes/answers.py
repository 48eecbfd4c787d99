"""`rigpact explain` asked about each recording, as a user asks: a process each, with a limit."""

from __future__ import annotations

import json
import os
import resource
import signal
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

LIMIT_S = 12.0
MOST_S = 24
"""A process ends after so much processor time. On a busy machine that may be long by the clock, which has its own limit."""
PATIENCE = 25.0
"""Limits by the clock."""
ENGINE_WORDS = ("output_mode=residual", "contacts_source=zeros", "angvel_source=state_slice")


@dataclass(frozen=True)
class Asked:
    """An answer. seconds: the shorter of the clock's and the processors', so that other work on the machine counts little."""

    name: str
    answer: Mapping[str, Any] | None
    seconds: float
    error: str = ""

    @property
    def is_late(self) -> bool:
        """Whether the limit was passed."""
        return self.seconds > LIMIT_S


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
        return Asked(name, None, PATIENCE * LIMIT_S if ran.is_ended else ran.seconds, ran.said[-400:])
    return Asked(name, json.loads(ran.printed), ran.seconds)


@dataclass(frozen=True)
class Ran:
    """A program that ran. seconds: as of `Asked`; is_ended: whether it did not end by itself."""

    printed: bytes
    said: str
    seconds: float
    is_ended: bool


def timed(line: Sequence[str], limit_s: float = LIMIT_S) -> Ran:
    """Run a program; it is ended after the limit times the patience."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        started = time.monotonic()
        running = subprocess.Popen(line, stdout=out, stderr=err, start_new_session=True)
        resource.prlimit(running.pid, resource.RLIMIT_CPU, (MOST_S, MOST_S))
        used = _used(running, started + PATIENCE * limit_s)
        seconds = min(time.monotonic() - started, used)
        out.seek(0)
        err.seek(0)
        printed, said = out.read(), err.read().decode(errors="replace")
    return Ran(printed, said, seconds, running.returncode is None or running.returncode < 0)


def _used(running: subprocess.Popen[bytes], end: float) -> float:
    """Wait for a process, or end it; the seconds of processor time of it and its children."""
    while True:
        pid, status, usage = os.wait4(running.pid, os.WNOHANG)
        if pid:
            running.returncode = os.waitstatus_to_exitcode(status)
            return usage.ru_utime + usage.ru_stime
        if time.monotonic() > end:
            os.killpg(running.pid, signal.SIGKILL)  # its workers too
            _, status, usage = os.wait4(running.pid, 0)
            running.returncode = os.waitstatus_to_exitcode(status)
            return usage.ru_utime + usage.ru_stime
        time.sleep(0.02)


def asked(folder: Path, names: Sequence[str], only: str, jobs: int) -> Iterator[Asked]:
    """The answers to those recordings whose names match, in their order."""
    chosen = [name for name in names if fnmatch(name, only) or fnmatch(name, f"*{only}*")]
    with ThreadPoolExecutor(jobs) as workers:
        yield from workers.map(lambda name: ask(folder / name, options(folder, name), name), chosen)
