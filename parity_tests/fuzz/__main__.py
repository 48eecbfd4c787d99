"""`python -m parity_tests.fuzz`: every reader on files that are damaged, slipped or forged, from a seed.

    python -m parity_tests.fuzz                          200 files for each reader
    python -m parity_tests.fuzz --executions 20000       more of them
    python -m parity_tests.fuzz --reader bundle --keep OUT    one reader; what crashes it is kept in a folder
    python -m parity_tests.fuzz --executions 20000 docs/security.md    writes the table of that page

Each reader runs in a process of its own with a limit on its memory. Exit status 1 where anything but a typed error was seen.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from .execution import Count, fuzzed
from .readers import all_readers
from .table import with_table

MEMORY_BYTES = 6 << 30
"""Of addresses, of which onnxruntime reserves about one gigabyte: what asks for more is a crash."""


def main(words: Sequence[str] | None = None) -> int:
    """Fuzz, print the table, and write it into a page if one is given."""
    asked = _asked(words)
    if asked.child is not None:
        return _child(asked)
    with tempfile.TemporaryDirectory() as folder:
        names = [reader.name for reader in all_readers(Path(folder))]
    chosen = asked.reader or names
    counts = []
    for name in chosen:
        counts.append(_in_a_process(name, asked))
        sys.stderr.write(
            f"{name}: {counts[-1].executions} files, {counts[-1].crashes} crashes, {counts[-1].hangs} hangs\n"
        )
    page = with_table(asked.page.read_text(encoding="utf-8") if asked.page else "", counts, asked.seed)
    if asked.page:
        asked.page.write_text(page, encoding="utf-8")
    else:
        sys.stdout.write(page)
    for count in counts:
        for place, times in sorted(count.places.items(), key=lambda each: -each[1]):
            sys.stdout.write(f"{count.reader}: {times} x {place}\n")
    return int(any(count.crashes or count.hangs for count in counts))


def _asked(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="parity_tests.fuzz", description=__doc__)
    parser.add_argument("page", nargs="?", type=Path)
    parser.add_argument("--executions", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--reader", action="append")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    return parser.parse_args(words)


def _in_a_process(name: str, asked: argparse.Namespace) -> Count:
    """One reader in a process of its own. A process that dies is one crash more than it could tell."""
    command = [sys.executable, "-m", "parity_tests.fuzz", "--child", name, "--seed", str(asked.seed)]
    command += ["--executions", str(asked.executions), *(["--keep", str(asked.keep)] if asked.keep else [])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return Count(name, crashes=1, places={f"the process died ({done.returncode}): {done.stderr[-600:]}": 1})
    return Count(**json.loads(done.stdout.splitlines()[-1]))


def _child(asked: argparse.Namespace) -> int:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    if asked.keep:
        asked.keep.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        reader = next(each for each in all_readers(Path(folder)) if each.name == asked.child)
        count = fuzzed(reader, Path(folder), asked.seed, asked.executions, asked.keep)
    sys.stdout.write(json.dumps(asdict(count)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
