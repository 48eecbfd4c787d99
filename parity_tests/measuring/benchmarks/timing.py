"""How a figure is measured: ours and what it stands beside in turns within one run: what else a machine does hits both."""

from __future__ import annotations

import math
import os
import platform
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parents[3]
COLUMNS = ("what", "ours", "beside", "ratio", "target", "met")
MOST_ROUNDS = int(os.environ.get("RIGPACT_ROUNDS", "1000"))
"""Fewer show whether a benchmark still runs."""
Action = Callable[[], Any]


@dataclass(frozen=True)
class Figure:
    """A row of docs/performance.md. section: its heading; ours, beside: texts with units; ratio: as `target` means it."""

    section: str
    what: str
    ours: str
    beside: str
    target: str
    is_met: bool = True
    ratio: float | None = None

    @property
    def cells(self) -> Sequence[str]:
        """The row."""
        ratio, met = "" if self.ratio is None else f"{self.ratio:.3g}", "yes" if self.is_met else "no"
        return self.what, self.ours, self.beside, ratio, self.target, met


def with_figures(page: str, figures: Sequence[Figure]) -> str:
    """The page with these rows in the place of those of the same name."""
    for each in figures:
        found = re.search(rf"^## {each.section}\n\n\| what .*\n\|[-|]+\n((?:\|.*\n)*)", page, re.MULTILINE)
        if found is None:
            raise ValueError(f"the page has no table under {each.section!r}")
        held = {line.split(" | ")[0]: line for line in found[1].splitlines(keepends=True)}
        held[f"| {each.what}"] = f"| {' | '.join(each.cells)} |\n"
        page = page[: found.start(1)] + "".join(held.values()) + page[found.end(1) :]
    return re.sub(r"(?m)^Measured on .*", f"Measured on {_machine()}.", page)


def _machine() -> str:
    facts = Path("/proc/cpuinfo")
    names = re.findall(r"model name\s*: (.*)", facts.read_text(encoding="utf-8")) if facts.is_file() else []
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "onnxruntime", "orjson"))
    processor, python = (names or [platform.processor()])[0], platform.python_version()
    return f"{processor}, {os.cpu_count()} cores, {platform.system()}, Python {python}, {libraries}"


def seconds(action: Action, clock: Callable[[], float] = time.perf_counter) -> float:
    """Seconds of one call, by the clock on the wall or another one."""
    start = clock()
    action()
    return clock() - start


def in_turns(
    actions: Mapping[str, Action], rounds: int, clock: Callable[[], float] = time.perf_counter, calls: int = 1
) -> dict[str, list[float]]:
    """Seconds a call of every action in every round, in changing order; one round warms up.

    `time.thread_time` leaves out what other processes used of the core, `time.process_time` what they used of the machine.
    """
    costs: dict[str, list[float]] = {name: [] for name in actions}
    for number in range(-1, min(rounds, MOST_ROUNDS)):
        for name in list(actions) if number % 2 == 0 else list(actions)[::-1]:
            took = seconds(lambda action=actions[name]: [action() for _ in range(calls)], clock) / calls  # type: ignore[misc]
            costs[name] += [took] if number >= 0 else []
    return costs


def beside(
    section: str, what: str, actions: Mapping[str, Action], most: float, unit: str = "us", **turns: Any
) -> Figure:
    """The first action beside the second one: medians, and the median of the rounds' own ratios."""
    (_, ours), (rival, theirs) = in_turns(actions, **turns).items()
    ratio = statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
    scale = {"us": 1e6, "ms": 1e3, "s": 1.0}[unit]
    mine, other = (f"{statistics.median(each) * scale:.4g} {unit}" for each in (ours, theirs))
    return Figure(section, what, mine, f"{rival}: {other}", f"≤ {most:.3g}", ratio <= most, ratio)


def growth(what: str, action: Callable[[int], Action], sizes: Sequence[int], rounds: int, most: float = 1.05) -> Figure:
    """The slope of log cost over log size: 1 is proportional, 2 quadratic; a constant cost beside it makes it smaller."""
    costs = in_turns({str(size): action(size) for size in sizes}, rounds, time.process_time)
    x, y = ([math.log(each) for each in values] for values in (sizes, map(min, costs.values())))
    slope = statistics.linear_regression(x, y).slope
    ours, span = f"size to the power of {slope:.2f}", f"{sizes[0]} to {sizes[-1]}"
    return Figure("Growth", what, ours, span, f"≤ {most}", slope <= most)


def process(*words: object, folder: Path | None = None) -> Callable[[], str]:
    """A program, run to its end; what it says. The first word is left out for Python itself."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(CHECKOUT), *sys.path])}
    command = [sys.executable, *map(str, words)]

    def run() -> str:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=900, env=environment, cwd=folder, check=False
        )
        assert done.returncode in (0, 1), done.stderr
        return done.stdout

    return run
