"""Runs a reader on drawn files and counts how it ended: with a value, a typed error, anything else, or not in time."""

from __future__ import annotations

import faulthandler
import random
import resource
import signal
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from rigpact.contract.errors import UnusableInput

from .readers import Reader

LIMIT_S = 5.0
"""Processor time of one execution. The slowest sound seed takes a tenth of a second; fifty times as long is called a hang."""
STUCK_S = 60.0
"""After this time, whatever waits, or loops in C where no signal ends it, is shown with its place, and the process ends."""


class Hang(BaseException):
    """An execution that took too long. No `except Exception` may swallow it."""


@dataclass
class Count:
    """How the executions of one reader ended. places: where anything but a typed error came from, and how often."""

    reader: str
    executions: int = 0
    typed: int = 0
    passed: int = 0
    crashes: int = 0
    hangs: int = 0
    peak_mb: int = 0
    slowest_s: float = 0.0
    places: dict[str, int] = field(default_factory=dict)


@contextmanager
def _within(seconds: float) -> Iterator[None]:
    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise Hang

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    faulthandler.dump_traceback_later(STUCK_S, exit=True)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        faulthandler.cancel_dump_traceback_later()
        signal.signal(signal.SIGPROF, before)


def fuzzed(reader: Reader, folder: Path, seed: int, executions: int, kept: Path | None = None) -> Count:
    """Run a reader on so many drawn files. kept: a folder for the files that crash or hang it."""
    count = Count(reader.name)
    for index in range(executions):
        rng = random.Random(f"{seed}:{reader.name}:{index}")  # noqa: S311 - nothing is secret
        chosen = rng.choice(reader.seeds)
        path = folder / chosen.name
        path.write_bytes(content := chosen.drawn(rng))
        before = sum(count.places.values())
        _execute(reader, path, count)
        if kept is not None and sum(count.places.values()) > before:
            (kept / f"{reader.name}-{index}-{chosen.name}").write_bytes(content)
    count.peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    return count


def _execute(reader: Reader, path: Path, count: Count) -> None:
    start = time.process_time()
    count.executions += 1
    try:
        with _within(LIMIT_S):
            reader.read(path)
        count.passed += 1
    except UnusableInput:
        count.typed += 1
    except Hang as error:
        count.hangs += 1
        _note(count, error)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is counted
        count.crashes += 1
        _note(count, error)
    count.slowest_s = max(count.slowest_s, time.process_time() - start)


def _note(count: Count, error: BaseException) -> None:
    """Keep where an error came from: the last lines of rigpact's own."""
    own = [each for each in traceback.extract_tb(error.__traceback__) if "/rigpact/" in each.filename]
    places = " < ".join(f"{Path(each.filename).name}:{each.lineno}" for each in own[-3:][::-1])
    key = f"{type(error).__name__}: {str(error)[:80]} at {places}"
    count.places[key] = count.places.get(key, 0) + 1
