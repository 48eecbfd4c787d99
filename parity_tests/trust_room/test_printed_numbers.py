"""Numbers as an engine prints them.

A text with seven digits is not the float32 that the engine had; the difference is the recorder's rounding.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rigpact.reference_runtime import Trace, read_trace
from rigpact.reference_runtime.recordings.printed_digits import Printed

from .recorded_demo import CLIP, CONTRACT, TRACE, codes, project, recorded
from .tried import passes, refused

Command = Callable[..., Any]
EVERY_BIT = ("%.9g", "%.17g")
ROUNDED = {"%.7g": Printed(significant=7), "%.9f": Printed(decimals=9), "%g": Printed(significant=6)}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A sound project; commands run in it."""
    monkeypatch.chdir(project(tmp_path / "game"))
    (tmp_path / "game" / TRACE).rename("right.trace.jsonl")
    return tmp_path / "game"


def printed(trace: Trace, number: str, path: Path) -> None:
    """The trace as printf would write it."""
    lines = [json.dumps(trace.header.to_json(trace.widths))]
    for row, frame in enumerate(trace.frame.tolist()):
        stages = ", ".join(
            f'"{name}": [{", ".join(number % value for value in values[row].tolist())}]'
            for name, values in trace.stages.items()
        )
        lines.append(f'{{"frame": {frame}, "time": {frame / 60.0:.6f}, "stages": {{{stages}}}}}')
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


@passes(
    "a recording whose numbers were printed with `%.7g`, `%.9f`, `%.9g` or `%.17g`", "`diff`, `explain` and `gate` pass"
)
@pytest.mark.parametrize("number", [*ROUNDED, *EVERY_BIT])
def test_printed_numbers_do_not_alarm(folder: Path, command: Command, number: str) -> None:
    """The engine is right, and its programmer wrote printf."""
    printed(recorded(), number, folder / TRACE)

    answer = command("diff", "right.trace.jsonl", TRACE, *CONTRACT, "--strict", "--format", "json")
    explained = command("explain", TRACE, *CONTRACT, "--onnx", "model.onnx", "--clip", CLIP)
    gate = command("gate", "--format", "json")

    assert (answer.status, codes(answer)) == (0, [])
    assert explained.status == 0, explained.out
    assert gate.status == 0, gate.out


@pytest.mark.parametrize("number", [*ROUNDED, *EVERY_BIT])
def test_the_format_is_recognised(folder: Path, number: str) -> None:
    """A recording that keeps every bit gets no tolerance for printing."""
    printed(recorded(), number, folder / TRACE)

    found = read_trace(folder / TRACE)

    assert found.printed == ROUNDED.get(number)
    if found.printed is not None:
        for name, rows in recorded().stages.items():
            assert (np.abs(found.stages[name] - rows.astype(np.float64)) <= found.printed.error(rows)).all()


def test_the_error_of_a_printed_number() -> None:
    """Half a unit of the last digit, and half a unit in the last place of the float32 that is read."""
    ulp = 2.0**-24
    assert Printed(significant=7).error(np.array([123.4567]))[0] == pytest.approx(0.5e-4 + ulp * 123.4567)
    assert Printed(significant=7).error(np.array([0.0]))[0] == 0.0
    assert Printed(decimals=9).error(np.array([0.5]))[0] == pytest.approx(0.5e-9 + ulp * 0.5)


@refused("short numbers that were never rounded (0, 1, 0.5), taken for a printed format", "no tolerance is added")
def test_short_numbers_are_no_printed_format(folder: Path) -> None:
    """Contacts are 0 and 1 in every recording; that must not buy tolerance for them."""
    trace = recorded()
    stages = {"contacts": np.tile(np.array([[0.0, 1.0], [1.0, 0.5]], np.float32), (12, 1))}
    printed(Trace(trace.header, trace.frame, trace.time_s, stages), "%.9g", folder / TRACE)

    assert read_trace(folder / TRACE).printed is None


@refused("a defect of 1e-4 in a recording with seven digits", "`diff`: error RP801")
def test_a_defect_is_seen_through_the_digits(folder: Path, command: Command) -> None:
    """The digits that were printed still judge."""
    trace = recorded()
    pose = trace.stages["y_out"].copy()
    pose[7, 20] += 1e-4
    printed(Trace(trace.header, trace.frame, trace.time_s, {**trace.stages, "y_out": pose}), "%.7g", folder / TRACE)

    answer = command("diff", "right.trace.jsonl", TRACE, *CONTRACT, "--format", "json")

    assert answer.status == 1
    assert math.isclose(json.loads(answer.out)["summary"]["stages"][-3]["worst"]["error"], 1e-4, rel_tol=0.1)
    assert "RP801" in codes(answer)
