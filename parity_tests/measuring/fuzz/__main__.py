"""`python -m parity_tests.measuring.fuzz`: every reader on files that are damaged, slipped or forged, from a seed.

    python -m parity_tests.measuring.fuzz                          200 files for each reader
    python -m parity_tests.measuring.fuzz --executions 20000       more of them
    python -m parity_tests.measuring.fuzz --total 2000000          so many files together; quick readers get more of them
    python -m parity_tests.measuring.fuzz --reader bundle --keep OUT    one reader; what crashes it is kept in a folder
    python -m parity_tests.measuring.fuzz --executions 20000 docs/security.md    writes the table of that page

The readers run in processes of their own with a limit on their memory. Exit status 1 where anything but a typed error was seen.
"""

import argparse
import faulthandler
import json
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from types import FrameType

from rigpact.contract.errors import UnusableInput

from ...peak_memory import peak_bytes
from ..frame import Score, table
from .readers import Reader, all_readers

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


MEMORY_BYTES = 6 << 30
"""Of addresses, of which onnxruntime reserves about one gigabyte: what asks for more is a crash."""
SUMS = ("executions", "typed", "passed", "crashes", "hangs")


def _tables(seed: int, counts: Sequence[Count]) -> Iterator[str]:
    largest = {name: max(getattr(each, name) for each in counts) for name in ("peak_mb", "slowest_s")}
    total = Count("**all**", *(sum(getattr(each, name) for each in counts) for name in SUMS), **largest)
    columns = ("reader", "seed", "executions", "typed errors", "read", "crashes", "hangs", "slowest", "peak memory")
    numbers = lambda each: (f"{getattr(each, name):,}" for name in SUMS)  # noqa: E731
    rows = (
        (each.reader, seed, *numbers(each), f"{each.slowest_s:.2f} s", f"{each.peak_mb} MB")
        for each in (*counts, total)
    )
    return table(columns, rows, 9 * "|---" + "|")


def _line(count: Count) -> str:
    places = sorted(count.places.items(), key=lambda each: -each[1])
    head = f"{count.reader}: {count.executions} files, {count.crashes} crashes, {count.hangs} hangs"
    return "\n".join((head, *(f"{count.reader}: {times} x {place}" for place, times in places)))


def _missed(counts: Sequence[Count]) -> list[str]:
    return [f"{each.reader} crashes or hangs" for each in counts if each.crashes or each.hangs]


def _counted(asked: argparse.Namespace) -> Iterator[Count]:
    """Each reader in a process of its own. A process that dies is one crash more than it could tell."""
    with drawn_files() as folder:
        every = all_readers(Path(folder))
        paces = {each.name: each.pace for each in every if not asked.reader or each.name in asked.reader}
    if asked.keep:
        asked.keep.mkdir(parents=True, exist_ok=True)
    for name, pace in paces.items():
        files = -(-asked.total * pace // sum(paces.values())) if asked.total else asked.executions
        words = ["--reader", name, "--seed", str(asked.seed), *(["--keep", str(asked.keep)] if asked.keep else [])]
        command = [sys.executable, "-m", __spec__.name, "--child", str(files), *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        died = Count(name, crashes=1, places={f"the process died ({done.returncode}): {done.stderr[-600:]}": 1})
        yield died if done.returncode else Count(**json.loads(done.stdout.splitlines()[-1]))


def _child(asked: argparse.Namespace) -> int:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    with drawn_files() as folder:
        (reader,) = (each for each in all_readers(Path(folder)) if each.name in asked.reader)
        count = fuzzed(reader, Path(folder), asked.seed, range(asked.child), asked.keep)
    sys.stdout.write(json.dumps(asdict(count)) + "\n")
    return 0


def main() -> int:
    """Fuzz, print the table, and write it into a page if one is given."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--executions", type=int, default=200, help="files for each reader")
    parser.add_argument("--total", type=int, help="files of all readers together; quick readers get more of them")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--reader", action="append")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    asked, _ = parser.parse_known_args()
    if asked.child is not None:
        return _child(asked)
    return Score("fuzz", _counted, _line, partial(_tables, asked.seed), _missed).main(parser)


if __name__ == "__main__":
    sys.exit(main())
