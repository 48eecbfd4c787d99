"""Runs a reader on drawn files and counts how it ended: with a value, a typed error, anything else, or not in time."""

import faulthandler
import math
import random
import signal
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Self

from rigpact.contract.errors import UnusableInput

from ...peak_memory import peak_bytes
from .counts import Count
from .limits import MOST_BYTES
from .readers import Reader

LIMIT_S = 5.0
"""Processor time of one execution. The slowest sound seed takes a tenth of a second; fifty times as long is called a hang."""
STUCK_S = 60.0
"""After this time, whatever waits, or loops in C where no signal ends it, is shown with its place, and the process ends."""


class Hang(BaseException):
    """An execution that took too long. No `except Exception` may swallow it."""


class Watch:
    """Ends an execution that takes too long. One handler, and one watching thread a second, for all executions of a process."""

    def __init__(self) -> None:
        self._armed_s = -math.inf

    def __enter__(self) -> Self:
        def stop(_signal: int, _frame: FrameType | None) -> None:
            raise Hang

        self._before = signal.signal(signal.SIGPROF, stop)
        return self

    def __exit__(self, *_: object) -> None:
        faulthandler.cancel_dump_traceback_later()
        signal.signal(signal.SIGPROF, self._before)

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """So much processor time for what stands inside."""
        if time.monotonic() - self._armed_s > 1.0:
            faulthandler.dump_traceback_later(STUCK_S, exit=True)
            self._armed_s = time.monotonic()
        signal.setitimer(signal.ITIMER_PROF, seconds)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0.0)


def fuzzed(reader: Reader, folder: Path, seed: int, drawn: range, kept: Path | None = None) -> Count:
    """Run a reader on drawn files, each known by its number. kept: a folder for the files that crash or hang it."""
    count = Count(reader.name)
    with Watch() as watch:
        for index in drawn:
            rng = random.Random(f"{seed}:{reader.name}:{index}")  # noqa: S311 - nothing is secret
            chosen = rng.choice(reader.seeds)
            content = chosen.drawn(rng)
            if not execute(reader, folder / chosen.name, content, count, watch) and kept is not None:
                (kept / f"{reader.name}-{index}-{chosen.name}").write_bytes(content)
    count.peak_mb = peak_bytes() >> 20
    return count


def execute(reader: Reader, path: Path, content: bytes, count: Count, watch: Watch) -> bool:
    """Read one file, and count how it ended. Returns whether it ended well: with a value or a typed error."""
    path.write_bytes(content)
    start, before = time.process_time(), peak_bytes()
    count.executions += 1
    well = False
    try:
        with watch.within(LIMIT_S):
            reader.read(path)
        count.passed, well = count.passed + 1, True
    except UnusableInput:
        count.typed, well = count.typed + 1, True
    except Hang as error:
        count.hangs += 1
        _note(count, error)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is counted
        count.crashes += 1
        _note(count, error)
    count.slowest_s = max(count.slowest_s, time.process_time() - start)
    if peak_bytes() > MOST_BYTES > before:
        count.crashes, well = count.crashes + 1, False
        _note(count, MemoryError(f"more than {MOST_BYTES >> 20} MB"))
    return well


def _note(count: Count, error: BaseException) -> None:
    """Keep where an error came from: the last lines of rigpact's own."""
    own = [each for each in traceback.extract_tb(error.__traceback__) if "/rigpact/" in each.filename]
    places = " < ".join(f"{Path(each.filename).name}:{each.lineno}" for each in own[-3:][::-1])
    key = f"{type(error).__name__}: {str(error)[:80]} at {places}"
    count.places[key] = count.places.get(key, 0) + 1
