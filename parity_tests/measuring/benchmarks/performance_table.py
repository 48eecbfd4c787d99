"""docs/performance.md: every figure that a benchmark measured, beside what it is measured against.

A benchmark calls `add_row`; the row is printed, and written into the page when RIGPACT_WRITE_PERFORMANCE is set. One command
renews the page, or only the rows of the benchmarks named after it:

    python parity_tests/measuring/benchmarks/performance_table.py [parity_tests/measuring/benchmarks/test_loading.py …]

To add a row: measure ours and the rival in one run, in turns, then call `add_row` with a `what` of its own.
"""

import math
import os
import platform
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parents[3]
PAGE = CHECKOUT / "docs" / "performance.md"
WRITE = "RIGPACT_WRITE_PERFORMANCE"
Action = Callable[[], Any]


def add_row(
    section: str, what: str, ours: str, rival: str, target: str, *, met: bool, ratio: float | None = None
) -> None:
    """Print one figure, and write it into docs/performance.md where that is asked for.

    section: a heading of the page. what: names the figure; a row of the same name is replaced. ours, rival: texts with units.
    ratio: as `target` means it. Raises ValueError where the page has no such table.
    """
    cells = what, ours, rival, "" if ratio is None else f"{ratio:.3g}", target, "yes" if met else "no"
    sys.__stdout__.write(f"\n{section}: {' | '.join(filter(None, cells))}\n")
    if os.environ.get(WRITE):
        row = f"| {' | '.join(cells)} |\n"
        page = PAGE.read_text(encoding="utf-8")
        found = re.search(rf"^## {section}\n\n\| what .*\n\|[-|]+\n((?:\|.*\n)*)", page, re.MULTILINE)
        if found is None:
            raise ValueError(f"{PAGE} has no table under {section!r}")
        held = {line.split(" | ")[0]: line for line in found[1].splitlines(keepends=True)} | {f"| {what}": row}
        page = page[: found.start(1)] + "".join(held.values()) + page[found.end(1) :]
        PAGE.write_text(
            re.sub(r"(?m)^Measured on .*", f"Measured on {_machine()}.", page), encoding="utf-8", newline="\n"
        )


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
    """Seconds a call of every action in every round, in changing order: what else the machine does hits them alike.

    One round warms up. `time.thread_time` leaves out what other processes used of the core, `time.process_time` what they
    used of the machine.
    """
    costs: dict[str, list[float]] = {name: [] for name in actions}
    for number in range(-1, rounds):
        for name in list(actions) if number % 2 == 0 else list(actions)[::-1]:
            took = seconds(lambda action=actions[name]: [action() for _ in range(calls)], clock) / calls  # type: ignore[misc]
            costs[name] += [took] if number >= 0 else []
    return costs


def told(section: str, what: str, costs: Mapping[str, Sequence[float]], most: float, unit: str = "us") -> float:
    """Write the first cost beside the second one: medians, and the median of the rounds' own ratios, which it returns."""
    (_, ours), (rival, theirs) = costs.items()
    ratio = statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
    mine, other = (
        f"{statistics.median(each) * {'us': 1e6, 'ms': 1e3, 's': 1.0}[unit]:.4g} {unit}" for each in (ours, theirs)
    )
    add_row(section, what, mine, f"{rival}: {other}", f"≤ {most:.3g}", ratio=ratio, met=ratio <= most)
    return ratio


def growth_exponent(sizes: Sequence[float], costs_s: Sequence[float]) -> float:
    """Slope of log cost over log size, by least squares: 1 is proportional, 2 is quadratic."""
    x, y = ([math.log(value) for value in values] for values in (sizes, costs_s))
    return statistics.linear_regression(x, y).slope


def main(paths: list[str]) -> int:
    """Run the benchmarks with writing switched on; returns pytest's exit status."""
    tests = paths or [str(Path(__file__).resolve().parent)]
    command = [sys.executable, "-m", "pytest", "-q", "--benchmark-only", "--benchmark-disable-gc", *tests]
    environment = {**os.environ, WRITE: "1", "OPENBLAS_NUM_THREADS": "1"}  # as the command line has it
    return subprocess.run(command, cwd=CHECKOUT, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
