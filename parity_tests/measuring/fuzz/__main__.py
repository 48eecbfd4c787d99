"""`python -m parity_tests.measuring.fuzz`: every reader on files that are damaged, slipped or forged, from a seed.

    python -m parity_tests.measuring.fuzz                          200 files for each reader
    python -m parity_tests.measuring.fuzz --executions 20000       more of them
    python -m parity_tests.measuring.fuzz --total 2000000 --journal FILE  so many files together; begun again, it goes on
    python -m parity_tests.measuring.fuzz --reader bundle --keep OUT    one reader; what crashes it is kept in a folder
    python -m parity_tests.measuring.fuzz --guided                 files that reach new code are changed further; needs atheris
    python -m parity_tests.measuring.fuzz --executions 20000 docs/security.md    writes the table of that page

The readers run in processes of their own with a limit on their memory. Exit status 1 where anything but a typed error was seen.
"""

import argparse
import json
import resource
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from .counts import Count, together
from .execution import fuzzed
from .limits import MEMORY_BYTES, drawn_files
from .pieces import Journal, Piece, pieces, shares
from .readers import all_readers
from .table import with_table


def main(words: Sequence[str] | None = None) -> int:
    """Fuzz, print the table, and write it into a page if one is given."""
    asked = _asked(words)
    if asked.child is not None:
        return _child(asked)
    counts = list(_counted(asked))
    page = asked.page.read_text(encoding="utf-8") if asked.page else ""
    page = with_table(page, counts, asked.seed, "guided" if asked.guided else "fuzz")
    if asked.page:
        asked.page.write_text(page, encoding="utf-8")
    else:
        sys.stdout.write(page)
    for count in counts:
        for place, times in sorted(count.places.items(), key=lambda each: -each[1]):
            sys.stdout.write(f"{count.reader}: {times} x {place}\n")
    return int(any(count.crashes or count.hangs for count in counts))


def _asked(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="parity_tests.measuring.fuzz", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("page", nargs="?", type=Path)
    parser.add_argument("--executions", type=int, default=200, help="files for each reader")
    parser.add_argument("--total", type=int, help="files of all readers together; quick readers get more of them")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--reader", action="append")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--journal", type=Path, help="finished pieces; what stands there is not run again")
    parser.add_argument("--guided", action="store_true", help="guided by coverage; needs atheris")
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    return parser.parse_args(words)


def _counted(asked: argparse.Namespace) -> list[Count]:
    with drawn_files() as folder:
        names = asked.reader or [reader.name for reader in all_readers(Path(folder))]
    asked_of = shares(names, asked.total) if asked.total else dict.fromkeys(names, asked.executions)
    if asked.keep:
        asked.keep.mkdir(parents=True, exist_ok=True)
    journal = Journal(asked.journal)
    counts = []
    for name, executions in asked_of.items():
        guided = [Piece(name, asked.seed, 0, executions, guided=True)]  # what a guided run learns ends with its process
        each = guided if asked.guided else pieces(name, asked.seed, executions)
        counts.append(together(name, [journal.counted(piece, asked.keep) for piece in each]))
        said = counts[-1]
        sys.stderr.write(f"{name}: {said.executions} files, {said.crashes} crashes, {said.hangs} hangs\n")
    return counts


def _child(asked: argparse.Namespace) -> int:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    piece = Piece(**json.loads(asked.child[0]))
    kept = Path(asked.child[1]) if asked.child[1:] else None
    with drawn_files() as folder:
        reader = next(each for each in all_readers(Path(folder)) if each.name == piece.reader)
        count = fuzzed(reader, Path(folder), piece.seed, range(piece.first, piece.stop), kept)
    sys.stdout.write(json.dumps(asdict(count)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
