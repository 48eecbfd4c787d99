"""Causes that `explain` names

A cause is a convention that brings a stage within its bound. One that only makes the error smaller is not an explanation.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.recordings.opened import write_trace

from ..scene import Scene, generated_scene
from .tried import refused

FRAMES = 24
BONE = slice(6, 12)
STAGES = ("x_raw", "y_raw", "next6d")
Explain = Callable[[Mapping[str, FloatArray]], tuple[str, Any]]


@pytest.fixture(scope="module")
def scene() -> Scene:
    """A walk on the demo character."""
    return generated_scene("sneak_turn", frames=FRAMES)


@pytest.fixture
def explain(command: Any, scene: Scene, demo_bundle: Path, tmp_path: Path) -> Explain:
    """Explain stages as a recording of the walk: the printed text on one line, and the document."""

    def answer(stages: Mapping[str, FloatArray]) -> tuple[str, Any]:
        path = tmp_path / "run.trace.safetensors"
        write_trace(replace(scene.record(), stages=dict(stages)), path)
        companion = demo_bundle / "pretrain_template.json"
        words = ("explain", path, "--contract", demo_bundle / "norm_template.json", "--companion", companion)
        printed, document = command(*words), command(*words, "--format", "json")
        assert printed.status == document.status == 1
        return " ".join(printed.out.split()), json.loads(document.out)

    return answer


def turned(rows: FloatArray, frames: FloatArray, degrees: float) -> FloatArray:
    """The poses with one bone turned about the vertical in some frames."""
    cos, sin = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    turn = np.array([[cos, -sin, 0.0], [sin, cos, 0.0], [0.0, 0.0, 1.0]])
    changed = rows.copy()
    axes = rows[frames][:, BONE].reshape(-1, 2, 3).astype(np.float64)
    changed[frames, BONE] = (axes @ turn.T).reshape(-1, 6)
    return changed


@refused(
    "A wrong order of composition, and a bone 120 degrees off in 2 of 24 frames",
    "PARTLY EXPLAINED, the order `partly`, with frames, degrees and tolerances; exit 1",
)
@pytest.mark.nightly
def test_cause_that_leaves_degrees_is_said_to_explain_a_part(explain: Explain, scene: Scene) -> None:
    """An engineer who swaps the two factors and sees the limb still broken no longer believes the tool."""
    stages = {name: scene.record({"compose_order": "prev_delta"}).stages[name] for name in (*STAGES, "delta6d")}
    stages["next6d"] = turned(stages["next6d"], np.isin(np.arange(FRAMES), (7, 15)), 120.0)
    text, document = explain(stages)
    assert "With compose_order = prev_delta next6d is partly explained: 22 of 24 frames are within rounding" in text
    assert "PARTLY EXPLAINED" in text
    assert "Remains: next6d: 1 of 46 bones: " in text
    (cause,) = document["causes"]
    assert (cause["frames_explained"], cause["frames"]) == (22, 24)
    assert cause["error_after"] == pytest.approx(120.0, abs=1e-3)
    assert cause["ratio"] == pytest.approx(cause["channel_error"] / cause["tolerance"])
    assert cause["ratio"] > 1e3


@refused("A residual of a named cause far beyond the bound of its channel", "the ratio is printed, and at most 1")
def test_cause_is_printed_with_the_ratio_at_its_worst_channel(explain: Explain, scene: Scene) -> None:
    """An error of one channel beside the tolerance of another says nothing."""
    stages = scene.record({"pose_history_start": "first_target"}).stages
    text, document = explain({name: stages[name] for name in ("x_raw", "pose_hist")})
    (cause,) = document["causes"]
    assert document["verdict"] == "explained"
    assert cause["ratio"] == pytest.approx(
        cause["channel_error"] / cause["tolerance"] if cause["channel_error"] else 0.0
    )
    assert cause["ratio"] <= 1.0
    assert re.search(r"everywhere within rounding \(ratio [\d.e-]+\)", text)


@refused(
    "A recording of three stages of which one can be judged, and a convention explains that one",
    "`(1 of 3 recorded stages judged)`, exit 1",
)
def test_verdict_says_how_many_stages_it_rests_on(explain: Explain, scene: Scene) -> None:
    """'explains every stage' was printed for one stage, and the pose had not been looked at."""
    stages = scene.record({"pose_history_start": "first_target"}).stages
    text, document = explain({name: stages[name] for name in ("state", "pose_hist", "y_out")})
    assert [stage["stage"] for stage in document["stages"] if stage["ok"] is not None] == ["pose_hist"]
    assert "EXPLAINED: pose_history_start = first_target (1 of 3 recorded stages judged)" in text
