"""Numbers as an engine prints them.

A text with seven digits is not the float32 that the engine had; the difference is the recorder's rounding.
"""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rigpact.reference_runtime import Trace, write_trace

from .recorded_demo import CONTRACT, TRACE, codes, project, recorded
from .tried import refused

Command = Callable[..., Any]


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


def coarse(precision: str, out: Path) -> Path:
    """The demo's recording as a recorder stores it that keeps less than a float32."""
    decimals = int(precision[0]) if precision.endswith("decimals") else None
    trace = recorded()
    stages = {
        name: rows.astype(np.float16).astype(np.float32)
        if decimals is None
        else np.array([float(f"{value:.{decimals}f}") for value in rows.ravel()], np.float32).reshape(rows.shape)
        for name, rows in trace.stages.items()
    }
    write_trace(replace(trace, stages=stages), out)
    return out


def test_a_declared_resolution_wins(folder: Path, command: Command) -> None:
    """`exact` shows what the digits lost; what is declared is not a warning; a word that means nothing is refused."""
    path = coarse("4 decimals", folder / "coarse.trace.safetensors")
    words = "diff", "right.trace.jsonl", path, *CONTRACT, "--format", "json"
    declared, exact = command(*words, "--resolution", "4 decimals"), command(*words, "--resolution", "exact")
    wrong = command(*words, "--resolution", "4 digits after the point")
    assert (declared.status, codes(declared)) == (0, [])
    assert exact.status == 1
    assert "RP801" in codes(exact)
    assert wrong.status == 2
    assert "--resolution: found '4 digits after the point', expected 2 decimals … 9 decimals" in " ".join(
        wrong.err.split()
    )


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
