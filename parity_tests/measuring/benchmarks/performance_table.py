"""docs/performance.md: every figure that a benchmark measured, beside what it is measured against.

A benchmark calls `add_row`; the row is printed, and written into the page when RIGPACT_WRITE_PERFORMANCE is set. One command
renews the page, or only the rows of the benchmarks named after it:

    python parity_tests/measuring/benchmarks/performance_table.py [parity_tests/measuring/benchmarks/test_loading.py …]

To add a row: measure ours and the rival in one run (timing.py), then call `add_row` with a `what` of its own.
"""

import os
import platform
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import astuple, dataclass
from importlib.metadata import version
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[3]
PAGE = CHECKOUT / "docs" / "performance.md"
WRITE = "RIGPACT_WRITE_PERFORMANCE"
SECTIONS = ("One step of the runtime", "Files", "Comparing and diagnosing", "Sweeps", "Growth", "Memory", "Starting up")
"""The page's headings, in order; a row of another section is a spelling mistake."""
_COLUMNS = ("what", "ours", "beside", "ratio", "target", "met")
_PREAMBLE = """\
# Performance

Ours and what it stands beside are measured in turns within one run, and medians are compared; the overhead of sweeps and
growth take the best of several rounds, because what else a machine does only ever adds. A ratio is ours divided by
the other unless the row says otherwise. Rows of one benchmark come from one run, other rows may come from another. Seconds are
of that machine on that day: what stands beside a row tells how fast it was. This page is written by
`python parity_tests/measuring/benchmarks/performance_table.py`, wholly or for the benchmarks named after it.
"""
_NOTES = """\
## Where a target is missed

A frame of one free run in C++ is two calls around one call of the network, which reads and writes the loop's own memory: it
costs about what the bare network costs through its own interface. Without a compiled loop numpy computes the same, many times
slower: it is the definition of what is computed, written to be read.

A crowd of 64 in lockstep shares one call of the network, which costs it about ten microseconds a character; the loop's
share, on the same core, is five to nine: tanh over a thousand numbers, four Gram–Schmidts of 46 bones, and seventeen
kilobytes written. Tried: four doubles or eight floats at once, with and without AVX2; tanh without branches in the
width of the maths; slices that did not change left alone; no quaternions where nobody reads them; everything in one
function; a reciprocal in place of three divisions; eight doubles at once (AVX-512), which takes a third off the loop's
share in float64 and a tenth in float32; half of the characters in a second thread, which wakes too late: that pays from 128
characters on, and they have it. Times of that section are processor time of the calling thread unless the row says
otherwise. Given the same network output, numpy gives the same bits in every arrangement, and so does C++; the
network's own sums depend on how many rows it gets.

`rigpact diff` from a cold start is not twenty times faster than Polygraphy's command line; called in a process that is
already running, the same comparison was 13 to 23 times faster in three runs. What is left is starting up: Python, numpy,
the library of the command line, and the rules that every bundle is held against before it is trusted. Tried: frames in
pieces that stay in the cache, which halved the comparison; importing the runtime and the canary only where they are needed;
comparing only the stage that Polygraphy compares. Ours compares fifteen stages and the poses in degrees and centimetres
meanwhile, Polygraphy one output.

Growth is measured to about a tenth on a machine that others share: comparing over bones gave 0.98 to 1.15 in eleven runs,
0.98 and 0.99 alone in a process; sweeps 0.98 to 1.13. Tried for comparing: eleven rounds in place of five; pieces of 128,
64, 32 and 16 frames in place of 256, of which the short ones cost fifty bones up to three times as much, and four hundred
bones nothing less.

A long comparison keeps degrees and centimetres of every frame and bone, in float32: about two and a half kilobytes a frame.
Tried for its speed: measuring one piece in a second thread while the next one's tolerances are derived, which gains nothing
on two cores.

A gate on the demo bundle starts up, runs 600 free frames from seventeen starts, judges the files, and measures what the clips
can show. Tried: judging a file by itself once, in however many checks it is; ending at a thousand
tolerances what the clips can show; fewer frames at which the starts are measured; the output stages without what the probe
of the input order does not need; what the clips can show in a second process, which must start and read the files first: the
answer came little sooner for more work, and that is left out. The self-test keeps what a defect does not touch, brings back
only the files that it touched, and shares the defects among processes, each of which must start and read the files first. Most
of `rigpact check` is importing its libraries, which its row shows. Tried: importing each where it is needed, one look at the
entry points, a validator of our own in place of jsonschema, which saved a tenth of a second and is left out.

The search for pairs from poses alone evaluates the loop under every pair of conventions. Tried: no bound of its own for what is
clearly off, a few frames first, the clip's rows kept for all hypotheses, stages kept by the conventions that matter to them,
how well each pair fits kept for the three questions that are asked of it; fields of a vector made once for each contract;
what almost explains a stage asked of a few frames first; one thread for numpy's products, whose threads only waited for each
other.

Where two runs differ, the stages of both are evaluated as well, to tell the stage that makes a difference from those that
inherit it; two equal runs do not pay for that. Recording every stage costs a frame ten to thirty microseconds, so its
share grows where the network is quick.
"""


@dataclass(frozen=True)
class Row:
    """One measured figure: texts with their units, `met` is "yes" or "no"."""

    what: str
    ours: str
    rival: str
    ratio: str
    target: str
    met: str


def add_row(
    what: str, *, section: str, ours: str, rival: str = "", ratio: float | None = None, target: str, met: bool
) -> None:
    """Print one figure, and write it into docs/performance.md where that is asked for.

    what: names the figure; a row of the same name is replaced. section: one of SECTIONS. ours, rival: texts with units.
    ratio: as `target` means it. Raises ValueError for an unknown section.
    """
    if section not in SECTIONS:
        raise ValueError(f"{section!r} is none of {SECTIONS}")
    row = Row(what, ours, rival, "" if ratio is None else f"{ratio:.3g}", target, "yes" if met else "no")
    sys.__stdout__.write(f"\n{section}: " + " | ".join(cell for cell in astuple(row) if cell) + "\n")
    if os.environ.get(WRITE):
        page = _read(PAGE)
        page.setdefault(section, {})[what] = row
        PAGE.write_text(_page(page), encoding="utf-8", newline="\n")


def read_rows(page: Path = PAGE) -> dict[str, Row]:
    """The rows that a page holds, by their names."""
    return {row.what: row for rows in _read(page).values() for row in rows.values()}


def _read(page: Path) -> dict[str, dict[str, Row]]:
    sections: dict[str, dict[str, Row]] = {}
    heading = ""
    for line in page.read_text(encoding="utf-8").splitlines() if page.is_file() else ():
        if line.startswith("## "):
            heading = line[3:]
        elif line.startswith("| ") and not line.startswith(f"| {_COLUMNS[0]} |"):
            row = Row(*(cell.strip() for cell in line.strip("|").split("|")))
            sections.setdefault(heading, {})[row.what] = row
    return sections


def _page(sections: dict[str, dict[str, Row]]) -> str:
    parts = [_PREAMBLE, f"Measured on {_machine()}.\n"]
    for name in SECTIONS:
        if name in sections:
            parts.append(f"## {name}\n\n" + _table(sections[name].values()))
    return "\n".join(
        [*parts, _NOTES] if any(row.met == "no" for rows in sections.values() for row in rows.values()) else parts
    )


def _table(rows: Iterable[Row]) -> str:
    lines = [_COLUMNS, ("---",) * len(_COLUMNS), *(astuple(row) for row in rows)]
    return "".join(f"|{'|'.join(f' {cell} ' if cell != '---' else cell for cell in line)}|\n" for line in lines)


def _machine() -> str:
    names = ("numpy", "onnxruntime", "orjson")
    libraries = ", ".join(f"{name} {version(name)}" for name in names)
    cores = os.cpu_count() or 1
    return f"{_processor()}, {cores} cores, {platform.system()}, Python {platform.python_version()}, {libraries}"


def _processor() -> str:
    facts = Path("/proc/cpuinfo")
    lines = facts.read_text(encoding="utf-8").splitlines() if facts.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def main(paths: list[str]) -> int:
    """Run the benchmarks with writing switched on; returns pytest's exit status."""
    tests = paths or [str(Path(__file__).resolve().parent)]
    command = [sys.executable, "-m", "pytest", "-q", "--benchmark-only", "--benchmark-disable-gc", *tests]
    environment = {**os.environ, WRITE: "1", "OPENBLAS_NUM_THREADS": "1"}  # as the command line has it
    return subprocess.run(command, cwd=CHECKOUT, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
