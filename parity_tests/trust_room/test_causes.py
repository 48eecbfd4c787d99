"""Causes that `explain` names

A cause is a convention that brings a stage within its bound. One that only makes the error smaller is not an explanation.
"""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rigpact.reference_runtime.recordings.opened import write_trace

from ..scene import generated_scene
from .tried import tries


@tries(
    [
        ("refused", "A residual of a named cause far beyond the bound of its channel", "the ratio is printed, and at most 1"),
        ("refused", "A recording of three stages of which one can be judged, and a convention explains that one",
         "`(1 of 3 recorded stages judged)`, exit 1"),
    ]
)  # fmt: skip
def test_a_cause_is_printed_with_its_ratio_and_what_it_rests_on(
    command: Any, demo_bundle: Path, tmp_path: Path
) -> None:
    """'explains every stage' was printed for one stage, beside the error of one channel and the tolerance of another."""
    recorded = generated_scene("sneak_turn", frames=24).record({"pose_history_start": "first_target"})
    stages = {name: recorded.stages[name] for name in ("state", "pose_hist", "y_out")}
    write_trace(replace(recorded, stages=stages), tmp_path / "run.trace.safetensors")
    files = ("--contract", demo_bundle / "norm_template.json", "--companion", demo_bundle / "pretrain_template.json")
    printed = command("explain", tmp_path / "run.trace.safetensors", *files)
    document = json.loads(command("explain", tmp_path / "run.trace.safetensors", *files, "--format", "json").out)
    assert (printed.status, document["verdict"]) == (1, "explained")
    assert [stage["stage"] for stage in document["stages"] if stage["ok"] is not None] == ["pose_hist"]
    (cause,) = document["causes"]
    assert cause["ratio"] == pytest.approx(cause["channel_error"] / cause["tolerance"] if cause["channel_error"] else 0)
    assert cause["ratio"] <= 1.0
    said = " ".join(printed.out.split())
    assert re.search(r"everywhere within rounding \(ratio [\d.e-]+\)", said)
    assert "EXPLAINED: pose_history_start = first_target (1 of 3 recorded stages judged)" in said
