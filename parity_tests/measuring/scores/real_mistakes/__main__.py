"""A section of docs/evidence.md: recordings of real programs with one mistake each, and what `rigpact explain` answers.

`python -m parity_tests.measuring.scores.real_mistakes [PAGE] [--only GLOB] [--json FILE] [--jobs N]` reads the folder
`mistakes` in RIGPACT_REAL_DATA, asks about every recording in a process of its own, and prints a line each; with PAGE it writes
it there. It exits with 1 if a bar is missed. What is right stands in `truths`, how it is graded in `grading`.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.pages.registry import ENEMY_ANIMATION, find_system
from rigpact.reference_runtime.recordings.opened import read_trace

from ...frame import Score, table
from .. import grading
from ..grading import GRADES, Grade, Right, Ways, claims_of, untrue, ways_of
from .truths import TRUTHS

PRECISE, MEDIAN_S = 0.92, 2.0
"""The bars: so many mistakes that show are named, in so many seconds; none misleads, nothing right alarms, none is late."""
SHOWS = 1e-6
"""A mistake of the engine class that moves no number by more shows nowhere in that recording."""
LIMIT_S = 60
"""A process ends after so much processor time: the search counts work and ends by itself, so one that does not hangs."""
ENGINE_WORDS = ("output_mode=residual", "contacts_source=zeros", "angvel_source=state_slice")
WORSE = ("precise", "vague", "located", "silent", "no answer", "timeout", "misleading")


@dataclass(frozen=True)
class Row:
    """A recording, its label, the grade and what was answered. is_wrong: whether a mistake shows in it.

    seconds: the shorter of the clock's and the processors', so that other work on the machine counts little.
    """

    name: str
    what: str
    is_wrong: bool
    seconds: float
    grade: Grade
    said: tuple[str, ...]


def mistake_of(name: str) -> str:
    return name.split(".", maxsplit=1)[0]


def shows(folder: Path, name: str) -> bool:
    """Whether a recording of the engine class differs from the one without a mistake in the same mode; others all do but one.

    Heights beyond ±1 are scaled by 5, and the whole observation is clipped to ±4 behind that: no recorded number differs.
    """
    if name == "quadruped/heights_not_clipped.sparse.npz":
        return False
    system, file = name.split("/")
    if system != "enemy_engine":
        return True
    mode = file.split(".", maxsplit=1)[1]
    own, honest = (read_trace(folder / system / each).stages for each in (file, f"none.{mode}"))
    return own.keys() != honest.keys() or any(
        own[key].shape != honest[key].shape or float(np.max(np.abs(own[key].astype(float) - honest[key]))) > SHOWS
        for key in own
    )


def options(folder: Path, name: str) -> list[str]:
    """The options that the README of the folder names for a recording."""
    system, real = folder / name.split("/", maxsplit=1)[0], folder.parent
    if system.name == "enemy_engine":
        words = ["--contract", str(system / "bundle.json"), "--companion", str(real / "pretrain_template.json")]
        words += [part for each in ENGINE_WORDS for part in ("--set", each)]
        return words + (["--clip", str(real / "Walk_F.json")] if ".teacher." in name else [])
    own = [part for path in sorted(system.glob("*.py")) for part in ("--operations", str(path))]
    return ["--contract", str(system / "contract.toml"), *own, *([] if system.name == "lmm" else ["--mode", "free"])]


def answer_to(folder: Path, name: str) -> tuple[Mapping[str, Any] | Grade, float]:
    """What a process of its own answers about a recording, or why it does not; and its seconds."""
    line = [sys.executable, "-m", "rigpact.reports", "explain", str(folder / name), *options(folder, name)]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        started = time.monotonic()
        running = subprocess.Popen([*line, "--format", "json"], stdout=out, stderr=err, start_new_session=True)
        resource.prlimit(running.pid, resource.RLIMIT_CPU, (LIMIT_S, LIMIT_S))
        _, status, usage = os.wait4(running.pid, 0)
        running.returncode = os.waitstatus_to_exitcode(status)
        seconds = min(time.monotonic() - started, usage.ru_utime + usage.ru_stime)
        out.seek(0)
        err.seek(0)
        printed, said = out.read(), err.read().decode(errors="replace")[-400:]
    if running.returncode < 0 or not printed.strip():
        return Grade("timeout" if running.returncode < 0 else "no answer", (said or "no answer",)), seconds
    answer: Mapping[str, Any] = json.loads(printed)
    return answer, seconds


def _ways(folder: Path) -> Ways:
    """How the vectors of a program come from each other; the engine class has a page."""
    own = folder / "contract.toml"
    text = own.read_text(encoding="utf-8") if own.exists() else find_system(ENEMY_ANIMATION).own_page
    return ways_of(tomllib.loads(text))


def graded(given: argparse.Namespace) -> Iterator[Row]:
    """Those recordings whose names match asked about and graded, in their order."""
    folder = Path(os.environ["RIGPACT_REAL_DATA"]) / "mistakes"
    labels = json.loads((folder / "labels.json").read_text(encoding="utf-8"))
    ways = {each: _ways(folder / each) for each in {name.split("/")[0] for name in TRUTHS}}
    known = [name for name in labels if name.split("/")[0] in ways]
    chosen = [name for name in known if fnmatch(name, given.only) or fnmatch(name, f"*{given.only}*")]
    with ThreadPoolExecutor(given.jobs) as workers:
        asked = workers.map(lambda name: answer_to(folder, name), chosen)
        for name, (answer, seconds) in zip(chosen, asked, strict=True):
            is_wrong = bool(labels[name]["wrong"]) and shows(folder, name)
            truth = TRUTHS[mistake_of(name)] if is_wrong else None
            grade = answer if isinstance(answer, Grade) else _grade(answer, truth, ways[name.split("/")[0]])
            said = answer.others if isinstance(answer, Grade) else _said(answer)
            yield Row(name, str(labels[name]["what"]), is_wrong, seconds, grade, said)


def _grade(answer: Mapping[str, Any], truth: Right | None, ways: Ways) -> Grade:
    false = untrue(answer, ways)
    return Grade("misleading", tuple(false)) if false else grading.grade(answer, truth)


def _said(answer: Mapping[str, Any]) -> tuple[str, ...]:
    """What is claimed, or where it differs first."""
    first = answer["first_divergence"]
    claims = tuple(each.shown for each in claims_of(answer))
    return claims or ((f"first: {first['stage']}, frame {first['frame']}",) if first else ())


def by_mistake(rows: Sequence[Row]) -> Mapping[str, Row]:
    """Each mistake that shows, with the worse of its rows."""
    wrong = sorted((row for row in rows if row.is_wrong), key=lambda row: WORSE.index(row.grade.word))
    return {mistake_of(row.name): row for row in wrong}


def shortcomings(rows: Sequence[Row]) -> list[str]:
    """The bars that are missed, in words."""
    mistakes, counts = by_mistake(rows), Counter(row.grade.word for row in rows)
    precise = sum(row.grade.word == "precise" for row in mistakes.values())
    missed = [f"{counts[word]} {word}" for word in ("misleading", "alarm", "timeout", "no answer") if counts[word]]
    if precise < PRECISE * len(mistakes):
        missed.append(f"precise {precise} of {len(mistakes)}, required {PRECISE:.0%}")
    median = statistics.median(row.seconds for row in rows)
    return missed + ([f"median {median:.1f} s, required {MEDIAN_S:g} s"] if median > MEDIAN_S else [])


def summary(rows: Sequence[Row]) -> Iterator[str]:
    """A line for each folder, and one for all."""
    columns = ("program", "mistakes that show", *GRADES[:7], "right, alarms", "median s", "worst s")
    folders = (*sorted({row.name.split("/")[0] for row in rows}), "")
    return table(columns, (_sums(folder, [row for row in rows if row.name.startswith(folder)]) for folder in folders))


def _sums(folder: str, rows: Sequence[Row]) -> Sequence[object]:
    counts = Counter(row.grade.word for row in by_mistake(rows).values())
    right = [row.grade.word != "agrees" for row in rows if not row.is_wrong]
    seconds = [row.seconds for row in rows]
    return [folder or "**all**", counts.total(), *(counts[word] for word in GRADES[:7]), f"{len(right)}, {sum(right)}",
            f"{statistics.median(seconds):.1f}", f"{max(seconds):.1f}"]  # fmt: skip


def tables(rows: Sequence[Row]) -> Iterator[str]:
    """The section."""
    unseen = sum(not row.is_wrong and mistake_of(row.name) in TRUTHS for row in rows)
    yield from (f"In {unseen} recordings the mistake shows nowhere.", "", *summary(rows), "")
    names = (row.name.removesuffix(".npz").removesuffix(".trace.safetensors") for row in rows)
    cells = (
        (f"`{name}`", row.what, row.grade.word, f"{row.seconds:.1f}", _shown(row.said))
        for name, row in zip(names, rows, strict=True)
    )
    yield from table(("recording", "mistake", "", "s", "what `rigpact explain` says"), cells, "|---|---|---|---:|---|")


def _shown(said: Sequence[str], most: int = 160) -> str:
    text = " / ".join(said).replace("|", "/")
    return text if len(text) <= most else f"{text[:most]}…"


def _line(row: Row) -> str:
    return f"{row.grade.word:<10} {row.seconds:5.1f}s {row.name:<55} {row.what[:60]} -> {_shown(row.said)}"


def main() -> int:
    """Ask, print a line each, write what is wanted; 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="*", metavar="GLOB", help="recordings whose name matches, or has it within")
    parser.add_argument("--jobs", type=int, default=1, help=f"at once; each is ended after {LIMIT_S} s")
    if "RIGPACT_REAL_DATA" not in os.environ:
        parser.error("RIGPACT_REAL_DATA is to name the folder of real files; the recordings are in its folder mistakes")
    return Score("real mistakes", graded, _line, tables, shortcomings).main(parser)


if __name__ == "__main__":
    sys.exit(main())
