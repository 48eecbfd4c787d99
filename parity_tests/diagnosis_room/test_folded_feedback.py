"""A free run without what it wrote back: the next state is judged from the pose that was published."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ..scene import generated_scene
from .conftest import Doctor

STATE_AND_POSE = ("x_raw", "y_out")


@pytest.fixture(scope="module")
def free() -> Doctor:
    """A character that feeds itself."""
    return Doctor(replace(generated_scene("sneak_turn", frames=16), mode="free"))


def test_an_engine_that_writes_nothing_back_does_not_agree(free: Doctor) -> None:
    """The network sees the first pose for ever: the character trembles on the spot, and every frame by itself is right."""
    stages: dict[str, Any] = dict(free.scene.record().stages)
    stages["x_raw"] = np.repeat(stages["x_raw"][:1], len(stages["x_raw"]), axis=0)
    diagnosis = free(stages, STATE_AND_POSE, drive=None, network=None)
    assert diagnosis.exit_code == 1
    assert [cause.changes for cause in diagnosis.causes] == [{"writeback": "none"}]


def test_one_number_that_is_not_written_back_is_found(free: Doctor) -> None:
    """The next state is the published pose: a bone that keeps half a degree is not rounding."""
    stages: dict[str, Any] = dict(free.scene.record().stages)
    stages["x_raw"] = stages["x_raw"].copy()
    stages["x_raw"][5, 7] += 0.01
    diagnosis = free(stages, STATE_AND_POSE, drive=None, network=None)
    assert diagnosis.first_divergence is not None
    assert (diagnosis.first_divergence.stage, diagnosis.first_divergence.frame) == ("x_raw", 5)


def test_an_honest_free_run_agrees_from_state_and_pose(free: Doctor) -> None:
    """Benign: the same engine, with the clip's first frame and the network at hand."""
    diagnosis = free(free.scene.record().stages, STATE_AND_POSE)
    assert diagnosis.verdict == "agrees"
    assert [stage.ok for stage in diagnosis.stages] == [True, True]
