"""`python -m parity_tests.measuring.fuzz`: every reader on files that are damaged, slipped or forged, from a seed.

    python -m parity_tests.measuring.fuzz                          200 files for each reader
    python -m parity_tests.measuring.fuzz --executions 20000       more of them
    python -m parity_tests.measuring.fuzz --total 2000000          so many files together; quick readers get more of them
    python -m parity_tests.measuring.fuzz --reader bundle --keep OUT    one reader; what crashes it is kept in a folder
    python -m parity_tests.measuring.fuzz --executions 20000 docs/security.md    writes the table of that page

The readers run in processes of their own with a limit on their memory. Exit status 1 where anything but a typed error was seen.
"""

import argparse
import json
import resource
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

from ..frame import Score, table
from .execution import Count, drawn_files, fuzzed
from .readers import all_readers

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
        wanted = asked.reader or [each.name for each in all_readers(Path(folder))]
        paces = {each.name: each.pace for each in all_readers(Path(folder)) if each.name in wanted}
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
