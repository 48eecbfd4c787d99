"""A section of docs/evidence.md: recordings of real programs with one mistake each, and what `rigpact explain` answers.

`python -m parity_tests.measuring.scores.real_mistakes [PAGE] [--only GLOB] [--json FILE] [--jobs N]` reads the folder
`mistakes` in RIGPACT_REAL_DATA, asks about every recording in a process of its own, and prints a line each; with PAGE it writes
it there. It exits with 1 if a bar is missed. What is right stands in `truths`, how it is graded in `grading`.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rigpact.contract.files import write_bytes
from rigpact.contract.pages.registry import ENEMY_ANIMATION, find_system
from rigpact.reference_runtime.recordings.trace import read_trace

from ...sections import replaced
from ..claims import claims_of
from ..untrue import Ways, untrue, ways_of
from .answers import LIMIT_S, Asked, asked
from .grading import GRADES, Grade, Right, grade
from .truths import TRUTHS

PRECISE, MEDIAN_S = 0.92, 2.0
"""The bars: so many mistakes that show are named, in so many seconds; none misleads, nothing right alarms, none is late."""
SHOWS = 1e-6
"""A mistake of the engine class that moves no number by more shows nowhere in that recording."""


@dataclass(frozen=True)
class Row:
    """A recording, its label, what was answered, and the grade. is_wrong: whether a mistake shows in it."""

    name: str
    what: str
    is_wrong: bool
    asked: Asked
    grade: Grade

    @property
    def mistake(self) -> str:
        """The name that its recordings share."""
        return mistake_of(self.name)

    @property
    def said(self) -> tuple[str, ...]:
        """What is claimed, or where it differs first."""
        answer = self.asked.answer
        if answer is None:
            return (self.asked.error or "no answer",)
        first = answer["first_divergence"]
        claims = tuple(each.shown for each in claims_of(answer))
        return claims or ((f"first: {first['stage']}, frame {first['frame']}",) if first else ())


def mistake_of(name: str) -> str:
    """The name without file ending and mode."""
    return name.split(".", maxsplit=1)[0]


def shows(folder: Path, name: str) -> bool:
    """Whether a recording of the engine class differs from the one without a mistake in the same mode; others all do."""
    system, file = name.split("/")
    if system != "enemy_engine":
        return True
    mode = file.split(".", maxsplit=1)[1]
    own, honest = (read_trace(folder / system / each).stages for each in (file, f"none.{mode}"))
    return own.keys() != honest.keys() or any(
        own[key].shape != honest[key].shape or float(np.max(np.abs(own[key].astype(float) - honest[key]))) > SHOWS
        for key in own
    )


def graded(folder: Path, labels: Mapping[str, Mapping[str, object]], only: str, jobs: int) -> Iterator[Row]:
    """Every recording asked about and graded."""
    ways = {each: _ways(folder / each) for each in {name.split("/")[0] for name in TRUTHS}}
    for each in asked(folder, [name for name in labels if name.split("/")[0] in ways], only, jobs):
        label = labels[each.name]
        is_wrong = bool(label["wrong"]) and shows(folder, each.name)
        truth = TRUTHS[mistake_of(each.name)] if is_wrong else None
        yield Row(each.name, str(label["what"]), is_wrong, each, _grade(each, truth, ways[each.name.split("/")[0]]))


def _ways(folder: Path) -> Ways:
    """How the vectors of a program come from each other; the engine class has a page."""
    own = folder / "contract.toml"
    text = own.read_text(encoding="utf-8") if own.exists() else find_system(ENEMY_ANIMATION).own_page
    return ways_of(tomllib.loads(text))


def _grade(each: Asked, truth: Right | None, ways: Ways) -> Grade:
    if each.answer is None or each.is_late:
        return Grade("timeout" if each.is_late else "no answer", (each.error,))
    if false := untrue(each.answer, ways):
        return Grade("misleading", tuple(false))
    return grade(each.answer, truth)


def by_mistake(rows: Sequence[Row]) -> Mapping[str, Row]:
    """Each mistake that shows, with the worse of its rows."""
    worse = ("precise", "vague", "located", "silent", "no answer", "timeout", "misleading")
    found: dict[str, Row] = {}
    for row in filter(lambda each: each.is_wrong, rows):
        known = found.get(row.mistake)
        if known is None or worse.index(row.grade.word) > worse.index(known.grade.word):
            found[row.mistake] = row
    return found


def shortcomings(rows: Sequence[Row]) -> list[str]:
    """The bars that are missed, in words."""
    mistakes, counts = by_mistake(rows), Counter(row.grade.word for row in rows)
    precise = sum(row.grade.word == "precise" for row in mistakes.values())
    missed = (
        [] if precise >= PRECISE * len(mistakes) else [f"precise {precise} of {len(mistakes)}, required {PRECISE:.0%}"]
    )
    missed += [f"{counts[word]} {word}" for word in ("misleading", "alarm", "timeout", "no answer") if counts[word]]
    median = statistics.median(row.asked.seconds for row in rows)
    return missed + ([f"median {median:.1f} s, required {MEDIAN_S:g} s"] if median > MEDIAN_S else [])


def summary(rows: Sequence[Row]) -> Iterator[str]:
    """A line for each folder, and one for all."""
    columns = ("program", "mistakes that show", *GRADES[:7], "right, alarms", "median s", "worst s")
    yield f"| {' | '.join(columns)} |"
    yield "|---|" + "---:|" * (len(columns) - 1)
    folders = sorted({row.name.split("/")[0] for row in rows})
    for folder in (*folders, ""):
        chosen = [row for row in rows if row.name.startswith(folder)]
        counts = Counter(row.grade.word for row in by_mistake(chosen).values())
        right = [row for row in chosen if not row.is_wrong]
        alarms = sum(row.grade.word != "agrees" for row in right)
        seconds = [row.asked.seconds for row in chosen]
        cells = [folder or "**all**", counts.total(), *(counts[word] for word in GRADES[:7]), f"{len(right)}, {alarms}",
                 f"{statistics.median(seconds):.1f}", f"{max(seconds):.1f}"]  # fmt: skip
        yield f"| {' | '.join(map(str, cells))} |"


def tables(rows: Sequence[Row]) -> str:
    """The section."""
    unseen = sum(not row.is_wrong and mistake_of(row.name) in TRUTHS for row in rows)
    lines = [
        f"In {unseen} recordings the mistake shows nowhere.",
        "",
        *summary(rows),
        "",
        "| recording | mistake | | s | what `rigpact explain` says |",
        "|---|---|---|---:|---|",
    ]
    for row in rows:
        name = row.name.removesuffix(".npz").removesuffix(".trace.safetensors")
        cells = (f"`{name}`", row.what, row.grade.word, f"{row.asked.seconds:.1f}", _shown(row.said))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join((*lines, ""))


def _shown(said: Sequence[str], most: int = 160) -> str:
    text = " / ".join(said).replace("|", "/")
    return text if len(text) <= most else f"{text[:most]}…"


def as_json(rows: Sequence[Row]) -> bytes:
    """Every row for programs."""
    kept = [{"name": row.name, "what": row.what, "is_wrong": row.is_wrong, "grade": row.grade.word, "not_true": row.grade.others,
             "seconds": round(row.asked.seconds, 2), "said": row.said} for row in rows]  # fmt: skip
    return (json.dumps(kept, indent=1, ensure_ascii=False) + "\n").encode()


def main() -> int:
    """Ask, print a line each, write what is wanted; 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=Path, nargs="?")
    parser.add_argument("--only", default="*", metavar="GLOB", help="recordings whose name matches, or has it within")
    parser.add_argument("--json", type=Path, dest="rows", metavar="FILE", help="also write every row for programs")
    parser.add_argument("--jobs", type=int, default=1, help=f"at once; each is ended after {LIMIT_S} s")
    given = parser.parse_args()
    if "RIGPACT_REAL_DATA" not in os.environ:
        parser.error("RIGPACT_REAL_DATA is to name the folder of real files; the recordings are in its folder mistakes")
    folder = Path(os.environ["RIGPACT_REAL_DATA"]) / "mistakes"
    rows = []
    for row in graded(folder, json.loads((folder / "labels.json").read_text(encoding="utf-8")), given.only, given.jobs):
        rows.append(row)
        sys.stdout.write(
            f"{row.grade.word:<10} {row.asked.seconds:5.1f}s {row.name:<55} {row.what[:60]} -> {_shown(row.said)}\n"
        )
        sys.stdout.flush()
    if not rows:
        parser.error(f"no recording matches {given.only}")
    sys.stdout.write("\n".join(summary(rows)) + "\n")
    if given.page:
        page = given.page.read_text(encoding="utf-8")
        write_bytes(given.page, replaced(page, "real mistakes", tables(rows)).encode())
    if given.rows:
        write_bytes(given.rows, as_json(rows))
    missed = shortcomings(rows)
    sys.stderr.write("".join(f"{words}\n" for words in missed))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
