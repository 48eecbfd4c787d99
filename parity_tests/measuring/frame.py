"""What every score does around its own question: options, a line for each answer, a table, the page where it stands, bars."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


def replaced(page: str, name: str, text: str) -> str:
    """The page with what stands between the marks of a name replaced; ValueError where it has no such marks."""
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
    made, count = re.subn(f"{begin}.*?{end}", lambda _: begin + text.rstrip() + "\n" + end, page, flags=re.DOTALL)
    if not count:
        raise ValueError(f"the page has no <!-- {name} -->")
    return made


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], aligned: str = "") -> Iterator[str]:
    """The lines of a table. aligned: the line below the columns; numbers but for the first if it is left out."""
    yield f"| {' | '.join(columns)} |"
    yield aligned or "|---|" + "---:|" * (len(columns) - 1)
    for row in rows:
        yield f"| {' | '.join(map(str, row))} |"


@dataclass(frozen=True)
class Score:
    """A score. name: of its marks in a page; ask: from the options to a row for each question, one by one.

    line: a row for people; tables: the lines of the page; missed: the bars that are missed, in words. placed: the page with the
    rows, where they do not stand between two marks.
    """

    name: str
    ask: Callable[[argparse.Namespace], Iterator[Any]]
    line: Callable[[Any], str]
    tables: Callable[[Sequence[Any]], Iterable[str]]
    missed: Callable[[Sequence[Any]], Sequence[str]] = lambda _rows: ()
    placed: Callable[[str, Sequence[Any]], str] | None = None

    def main(self, parser: argparse.ArgumentParser) -> int:
        """Ask, print a line for each row and the table, write what is wanted; 1 if a bar is missed."""
        parser.add_argument("page", type=Path, nargs="?", help="a page whose table is written")
        parser.add_argument("--json", type=Path, dest="file", metavar="FILE", help="write every row for programs")
        given, rows = parser.parse_args(), []
        for row in self.ask(given):
            rows.append(row)
            sys.stderr.write(f"{self.line(row)}\n")
        text = "\n".join(self.tables(rows)) + "\n"
        sys.stdout.write(text)
        if given.page:
            page = given.page.read_text(encoding="utf-8")
            page = self.placed(page, rows) if self.placed else replaced(page, self.name, text)
            given.page.write_text(page, encoding="utf-8", newline="\n")
        if given.file:
            given.file.write_text(json.dumps([vars(row) for row in rows], indent=1, default=vars), encoding="utf-8")
        missed = self.missed(rows)
        sys.stderr.write("".join(f"{each}\n" for each in missed))
        return 1 if missed else 0
