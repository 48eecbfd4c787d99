"""Runs a reader on drawn files and counts how it ended: with a value, a typed error, anything else, or not in time."""

import faulthandler
import random
import signal
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from rigpact.contract.errors import UnusableInput

from ...peak_memory import peak_bytes
from .readers import Reader

LIMIT_S = 5.0
"""Processor time of one execution. The slowest sound seed takes a tenth of a second; fifty times as long is called a hang."""
STUCK_S = 60.0
"""After this time, whatever waits, or loops in C where no signal ends it, is shown with its place, and the process ends."""
MOST_BYTES = 1 << 30
"""Of memory in use, for one file of a few kilobytes: a gigabyte. What takes more is counted as a crash."""
_MEMORY_DISK = Path("/dev/shm")  # noqa: S108 - files of a moment, in a folder of their own


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


def drawn_files() -> tempfile.TemporaryDirectory[str]:
    """A folder for the drawn files; in memory, where the machine has such a place: millions of files wear a disk."""
    return tempfile.TemporaryDirectory(dir=_MEMORY_DISK if _MEMORY_DISK.is_dir() else None)


@contextmanager
def _hangs_end() -> Iterator[None]:
    """One handler for all executions of a process."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise Hang

    before = signal.signal(signal.SIGPROF, stop)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
        signal.signal(signal.SIGPROF, before)


def fuzzed(reader: Reader, folder: Path, seed: int, drawn: range, kept: Path | None = None) -> Count:
    """Run a reader on drawn files, each known by its number. kept: a folder for the files that crash or hang it."""
    count = Count(reader.name)
    with _hangs_end():
        for index in drawn:
            if index % 100 == 0:
                faulthandler.dump_traceback_later(100 * LIMIT_S + STUCK_S, exit=True)
            rng = random.Random(f"{seed}:{reader.name}:{index}")  # noqa: S311 - nothing is secret
            chosen = rng.choice(reader.seeds)
            content = chosen.drawn(rng)
            if not _is_well(reader, folder / chosen.name, content, count) and kept is not None:
                (kept / f"{reader.name}-{index}-{chosen.name}").write_bytes(content)
    count.peak_mb = peak_bytes() >> 20
    return count


def _is_well(reader: Reader, path: Path, content: bytes, count: Count) -> bool:
    """Read one file, and count how it ended. Returns whether it ended well: with a value or a typed error."""
    path.write_bytes(content)
    start, before = time.process_time(), peak_bytes()
    count.executions += 1
    wrong: BaseException | None = None
    signal.setitimer(signal.ITIMER_PROF, LIMIT_S)
    try:
        reader.read(path)
        count.passed += 1
    except UnusableInput:
        count.typed += 1
    except (Exception, Hang) as error:  # noqa: BLE001 - whatever it is, it is counted
        wrong = error
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
    count.slowest_s = max(count.slowest_s, time.process_time() - start)
    if wrong is None and peak_bytes() > MOST_BYTES > before:
        wrong = MemoryError(f"more than {MOST_BYTES >> 20} MB")
    if wrong is not None:
        count.hangs += isinstance(wrong, Hang)
        count.crashes += not isinstance(wrong, Hang)
        own = [each for each in traceback.extract_tb(wrong.__traceback__) if "/rigpact/" in each.filename]
        places = " < ".join(f"{Path(each.filename).name}:{each.lineno}" for each in own[-3:][::-1])
        key = f"{type(wrong).__name__}: {str(wrong)[:80]} at {places}"
        count.places[key] = count.places.get(key, 0) + 1
    return wrong is None
