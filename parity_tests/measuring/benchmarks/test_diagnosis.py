"""How long one diagnosis takes."""

import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rigpact.reports.diagnosing.diagnose import diagnose
from rigpact.reports.diagnosing.diagnosis import Diagnosis

from ...scene import Scene, SyntheticNetwork, generated_scene
from ..scores.benign import evidence_of
from .performance_table import add_row, seconds

FRAMES, PAIRS_TARGET_S = 87, 3.0
ORDER = ("pose_hist", "angvel", "contacts", "cond", "state")


@pytest.fixture(scope="module")
def scene() -> Scene:
    """A clip of 87 frames and 46 bones."""
    return generated_scene("sneak_turn", frames=FRAMES)


def _diagnosis(scene: Scene, stages: Any, *, with_pairs: bool) -> Diagnosis:
    trace = replace(scene.record(), stages=stages)
    return diagnose(evidence_of(scene, trace), scene.contract, with_pairs=with_pairs)


@pytest.mark.parametrize(
    "changes", [{"compose_order": "prev_delta"}, {"input_order": ORDER}], ids=lambda each: next(iter(each))
)
def test_time_of_a_single_change(benchmark: Any, scene: Scene, changes: dict[str, Any]) -> None:
    """Under 2 s for 87 frames of 46 bones, though all 119 other orders of the inputs are inferred."""
    scene = scene.with_network(SyntheticNetwork(scene.contract)) if "input_order" in changes else scene
    answer = benchmark(_diagnosis, scene, scene.record(changes).stages, with_pairs=False)
    assert answer.causes[0].changes == changes
    assert benchmark.stats.stats.min < 2.0


@pytest.mark.parametrize("names", [None, ("y_out",)], ids=["every stage", "poses alone"])
def test_time_with_pairs(benchmark: Any, scene: Scene, names: tuple[str, ...] | None) -> None:
    """No conventions explain a channel that is stuck: every pair is tried; from poses alone each is a run of the whole loop."""
    recorded = scene.record().stages
    stages = {name: np.array(recorded[name]) for name in names or recorded}
    stages["y_out"][:, 62] = 0.3
    found: list[Diagnosis] = []
    took = benchmark.pedantic(
        seconds, (lambda: found.append(_diagnosis(scene, stages, with_pairs=True)), time.process_time), rounds=1
    )
    assert (found[0].verdict, list(found[0].causes)) == ("explained", [])
    assert "stuck at 0.3" in found[0].relations[0].sentence
    if names:
        what = f"all pairs of conventions from y_out, clip and model, {FRAMES} frames"
        ours, target = f"{took:.1f} s of processor time", f"≤ {PAIRS_TARGET_S:g} s"
        add_row("Comparing and diagnosing", what, ours, "", target, met=took <= PAIRS_TARGET_S)
    assert took < 20.0
