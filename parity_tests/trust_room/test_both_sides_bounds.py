"""Tolerances that the judged side cannot widen.

How far two recordings may differ comes from the smaller bound of both, and never from frame numbers.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rigpact.reference_runtime import Trace, write_trace

from .recorded_demo import CLIP, CONTRACT, codes, project, recorded
from .tried import passes, refused

Command = Callable[..., Any]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A sound project; commands run in it."""
    monkeypatch.chdir(project(tmp_path / "game"))
    return tmp_path / "game"


def shifted(trace: Trace, by: float, frames: list[int]) -> Trace:
    """Every value of the last frame moved, and the frames numbered anew."""
    rows = len(frames)
    stages = {name: values[:rows].copy() for name, values in trace.stages.items()}
    for values in stages.values():
        values[-1] += np.float32(by)
    frame = np.array(frames)
    return replace(trace, frame=frame, time_s=frame / 60.0, stages=stages)


@refused("a recording with state, angvel, pose_hist and cond at 1e9, compared in either order", "`diff`: error RP801")
@pytest.mark.parametrize("order", [("bad", "good"), ("good", "bad")])
def test_a_huge_value_does_not_buy_tolerance(folder: Path, command: Command, order: tuple[str, str]) -> None:
    """An input that explodes has the largest rounding of all: taken from that side, the bound would cover everything."""
    trace = recorded()
    bad = {name: np.full_like(trace.stages[name], 1e9) for name in ("state", "angvel", "pose_hist", "cond")}
    write_trace(trace, "good.trace.jsonl")
    write_trace(replace(trace, stages={**trace.stages, **bad}), "bad.trace.jsonl")

    answer = command("diff", *(f"{name}.trace.jsonl" for name in order), *CONTRACT, "--format", "json")

    assert (answer.status, codes(answer)) == (1, ["RP801"] * 4)


@refused(
    "a free run whose second frame is numbered 10 000 000 and is off by 0.3",
    "`diff`: error RP814, the frames after the gap count as missing",
)
def test_a_frame_number_does_not_buy_tolerance(folder: Path, command: Command) -> None:
    """Rounding grows over the frames of a free run; frames that nobody recorded prove nothing."""
    trace = recorded("free")
    write_trace(shifted(trace, 0.0, [0, 10**7]), "good.trace.jsonl")
    write_trace(shifted(trace, 0.3, [0, 10**7]), "bad.trace.jsonl")

    answer = command("diff", "good.trace.jsonl", "bad.trace.jsonl", *CONTRACT, "--format", "json")
    explained = command("explain", "bad.trace.jsonl", *CONTRACT, "--onnx", "model.onnx", "--clip", CLIP)

    assert (answer.status, codes(answer)) == (1, ["RP814"])
    assert '"missing": 0' not in answer.out
    assert "the 1 frames after it are not judged" in explained.out


@refused("a teacher-driven recording with a frame numbered 10 000 000 that is off by 0.3", "`diff`: error RP801")
def test_a_late_frame_is_judged_like_any_other(folder: Path, command: Command) -> None:
    """Teacher-driven, each frame stands alone."""
    trace = recorded()
    write_trace(shifted(trace, 0.0, [0, 10**7]), "good.trace.jsonl")
    write_trace(shifted(trace, 0.3, [0, 10**7]), "bad.trace.jsonl")

    answer = command("diff", "good.trace.jsonl", "bad.trace.jsonl", *CONTRACT, "--format", "json")

    assert answer.status == 1
    assert {"RP801"} == set(codes(answer))


@passes("a teacher-driven recording with frames left out on both sides")
def test_frames_left_out_on_both_sides_are_fine(folder: Path, command: Command) -> None:
    """A recorder that samples every tenth frame says something about each of them."""
    trace = recorded()
    rows = np.array([0, 1, 2, 9, 10, 20])
    stages = {name: values[rows] for name, values in trace.stages.items()}
    write_trace(replace(trace, frame=trace.frame[rows], time_s=trace.time_s[rows], stages=stages), "some.trace.jsonl")

    assert command("diff", "some.trace.jsonl", "some.trace.jsonl", *CONTRACT).status == 0
