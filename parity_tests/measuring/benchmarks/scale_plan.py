"""docs/sweep.md's two tables: rates as measured (docs/performance.md), and what a large studio's night comes to with them.

    python -m parity_tests.measuring.benchmarks.scale_plan

A test of the sweeps works the second table out again from the first.
"""

from collections.abc import Iterable
from pathlib import Path

from ..sections import replaced
from .performance_table import read_rows

CHECKOUT = Path(__file__).resolve().parents[3]
PAGE = CHECKOUT / "docs" / "sweep.md"
CHARACTERS, CLIPS, FRAMES, NIGHT_H = 1000, 10_000, 300, 8
DEMO = CHECKOUT / "fixtures" / "bundles" / "demo"
STAGE_NUMBERS = 4640
"""Numbers in all stages of a frame of 46 bones."""


def rates() -> dict[str, float]:
    """Everything that the plan is worked out from."""
    rows = read_rows()
    clip = DEMO / "clips" / "Run_F.json"
    frames_in_clip = clip.read_text(encoding="utf-8").count('"RootPosition"')
    cell = max(float(rows[f"{mode} cells: bytes kept of one"].ours) for mode in ("teacher", "free"))
    return {
        "frames a second and core, clip-driven": float(rows["teacher cells: frames a second of one core"].ours),
        "frames a second and core, free-run with growth": float(rows["free cells: frames a second of one core"].ours),
        "cells a second, one scheduler": float(rows["empty cells a second, one Dask scheduler"].ours),
        "bytes kept of a cell": cell,
        "bytes of a clip's frame, JSON": round(clip.stat().st_size / frames_in_clip),
        "bytes of a checkpoint": (DEMO / "model.onnx").stat().st_size,
        "bytes of a trace's frame, every stage": 4 * STAGE_NUMBERS,
        "bytes of memory for a cell that is done": 125,
    }


def plan(rate: dict[str, float]) -> dict[str, str]:
    """The night of every character on every clip, with a new checkpoint of each: clip-driven and free-run."""
    pairs = CHARACTERS * CLIPS
    cells, frames = 2 * pairs, pairs * FRAMES
    driven_h = frames / rate["frames a second and core, clip-driven"] / 3600
    free_h = frames / rate["frames a second and core, free-run with growth"] / 3600
    clips = CLIPS * FRAMES * rate["bytes of a clip's frame, JSON"]
    kept, remembered = cells * rate["bytes kept of a cell"], cells * rate["bytes of memory for a cell that is done"]
    busy = rate["cells a second, one scheduler"] * (driven_h + free_h) * 3600 / cells
    traces = 2 * frames * rate["bytes of a trace's frame, every stage"]
    return {
        "cells": f"{cells / 1e6:.0f} million",
        "frames, clip-driven and free": f"{2 * frames / 1e9:.1f} billion",
        "core hours, clip-driven": f"{driven_h:.0f}",
        "core hours, free-run": f"{free_h:.0f}",
        f"cores for a night of {NIGHT_H} h": f"{(driven_h + free_h) / NIGHT_H:.0f}",
        "one scheduler, hours to hand out the cells": f"{cells / rate['cells a second, one scheduler'] / 3600:.1f}",
        "cores that one scheduler keeps busy": f"{busy:.0f}",
        f"schedulers for a night of {NIGHT_H} h": f"{(driven_h + free_h) / NIGHT_H / busy:.1f}",
        "clips on disk": f"{clips / 1e9:.0f} GB",
        "clips read, each character by itself": f"{CHARACTERS * clips / 1e12:.0f} TB",
        "checkpoints of a night": f"{CHARACTERS * rate['bytes of a checkpoint'] / 1e9:.1f} GB",
        "results of a night": f"{kept / 1e9:.0f} GB",
        "results of one character": f"{kept / CHARACTERS / 1e6:.0f} MB",
        "traces, if every stage were kept": f"{traces / 1e12:.0f} TB",
        "memory of one sweep over everything": f"{remembered / 1e9:.1f} GB",
        "memory of one sweep of one character": f"{remembered / CHARACTERS / 1e6:.1f} MB",
    }


def table(heading: tuple[str, str], rows: Iterable[tuple[str, str]]) -> str:
    """A table of two columns."""
    lines = [heading, ("---", "---:"), *rows]
    return "".join(f"| {first} | {second} |\n" for first, second in lines)


def main() -> None:
    """Write both tables."""
    measured = rates()
    page = PAGE.read_text(encoding="utf-8")
    page = replaced(
        page, "rates", table(("rate", "measured"), [(name, f"{value:.0f}") for name, value in measured.items()])
    )
    page = replaced(page, "plan", table(("what", "a night"), list(plan(measured).items())))
    PAGE.write_text(page, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
