"""docs/sweep.md: every figure of the night follows from the rates that the page itself shows."""

import re
from pathlib import Path

import pytest

CHARACTERS, CLIPS, FRAMES, NIGHT_H = 1000, 10_000, 300, 8


def numbers(page: str, name: str) -> dict[str, float]:
    """The second column of a marked table, without its unit."""
    part = page.split(f"<!-- {name} -->")[1].split(f"<!-- end of {name} -->", maxsplit=1)[0]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in part.splitlines() if line.startswith("| ")
    ]
    return {what: float(re.match(r"[\d.]+", value)[0]) for what, value in rows[1:] if value[0].isdigit()}


@pytest.fixture
def page(checkout: Path) -> str:
    return (checkout / "docs" / "sweep.md").read_text(encoding="utf-8")


def test_the_nights_arithmetic_holds(page: str) -> None:
    """Teams use this table to plan their machines."""
    rate, night = numbers(page, "rates"), numbers(page, "plan")
    assert len(rate) == 8
    frames = float(CHARACTERS) * CLIPS * FRAMES
    hours = {
        mode: frames / rate[f"frames a second and core, {mode}"] / 3600
        for mode in ("clip-driven", "free-run with growth")
    }
    cells = 2.0 * CHARACTERS * CLIPS
    expected = {
        "cells": cells / 1e6,
        "frames, clip-driven and free": 2 * frames / 1e9,
        "core hours, clip-driven": hours["clip-driven"],
        "core hours, free-run": hours["free-run with growth"],
        f"cores for a night of {NIGHT_H} h": sum(hours.values()) / NIGHT_H,
        "one scheduler, hours to hand out the cells": cells / rate["cells a second, one scheduler"] / 3600,
        "cores that one scheduler keeps busy": rate["cells a second, one scheduler"]
        * sum(hours.values())
        * 3600
        / cells,
        f"schedulers for a night of {NIGHT_H} h": cells / rate["cells a second, one scheduler"] / 3600 / NIGHT_H,
        "clips on disk": CLIPS * FRAMES * rate["bytes of a clip's frame, JSON"] / 1e9,
        "clips read, each character by itself": frames * rate["bytes of a clip's frame, JSON"] / 1e12,
        "checkpoints of a night": CHARACTERS * rate["bytes of a checkpoint"] / 1e9,
        "results of a night": cells * rate["bytes kept of a cell"] / 1e9,
        "results of one character": 2 * CLIPS * rate["bytes kept of a cell"] / 1e6,
        "traces, if every stage were kept": 2 * frames * rate["bytes of a trace's frame, every stage"] / 1e12,
        "memory of one sweep over everything": cells * rate["bytes of memory for a cell that is done"] / 1e9,
        "memory of one sweep of one character": 2 * CLIPS * rate["bytes of memory for a cell that is done"] / 1e6,
    }
    assert night.keys() == expected.keys()
    for what, value in expected.items():
        assert night[what] == pytest.approx(value, rel=0.01, abs=0.55), what
