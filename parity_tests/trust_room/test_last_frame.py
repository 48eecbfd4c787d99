"""The last frame of a driven run

In a run that a clip drives, the next state is the clip's next frame. Of the last frame an engine cannot know it.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rigpact.contract import load_contract
from rigpact.reference_runtime import OnnxNetwork, Trace, open_run, read_clip, run_frames, write_trace

from .tried import passes, refused

FRAMES = 12
UNKNOWN = {"nothing": np.nan, "zeros": 0.0, "what it had": 0.25}


@pytest.fixture
def run(demo_bundle: Path) -> Trace:
    """A driven run of the demo character."""
    contract = load_contract(demo_bundle / "norm_template.json", demo_bundle / "pretrain_template.json")
    clip = read_clip(demo_bundle / "clips" / "Sneak_Turn.json")
    runner = open_run(contract, OnnxNetwork(demo_bundle / "model.onnx", contract), clip, "teacher")
    return run_frames(runner, range(FRAMES), "Sneak_Turn", "teacher")


def engine_of(run: Trace, row: int, value: float) -> Trace:
    """The same run, recorded by an engine that has another next state in one frame."""
    following = run.stages["x_raw_next"].copy()
    following[row] = value
    return replace(run, stages={**run.stages, "x_raw_next": following})


def compared(command: Any, folder: Path, bundle: Path, run: Trace, engine: Trace) -> Any:
    """`rigpact diff` of both."""
    paths = folder / "run.trace.safetensors", folder / "engine.trace.safetensors"
    for path, trace in zip(paths, (run, engine), strict=True):
        write_trace(trace, path)
    files = "--contract", bundle / "norm_template.json", "--companion", bundle / "pretrain_template.json"
    return command("diff", *paths, *files)


@passes("an engine whose last next state is NaN, zero or old, because no frame follows")
@pytest.mark.parametrize("value", UNKNOWN.values(), ids=list(UNKNOWN))
def test_the_state_after_the_last_frame_is_not_judged(
    command: Any, tmp_path: Path, demo_bundle: Path, run: Trace, value: float
) -> None:
    """An alarm in every teacher-driven comparison hides the others; the frame is counted, with the reason."""
    answer = compared(command, tmp_path, demo_bundle, run, engine_of(run, FRAMES - 1, value))
    assert answer.status == 0, answer.out
    assert "the frame after, which is not recorded: 1 frame of x_raw_next" in " ".join(answer.out.split())
    width = run.stages["x_raw_next"].shape[1]
    assert f"{width} waived" in answer.out


@refused("the same in the frame before, whose next frame is recorded", "RP801 in x_raw_next")
def test_every_other_next_state_is_judged(command: Any, tmp_path: Path, demo_bundle: Path, run: Trace) -> None:
    """Only what cannot be known is left out."""
    answer = compared(command, tmp_path, demo_bundle, run, engine_of(run, FRAMES - 2, 0.25))
    assert answer.status == 1
    assert "x_raw_next differs from frame 10 on" in answer.out
