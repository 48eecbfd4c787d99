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
    return Doctor(replace(generated_scene("sneak_turn", frames=12), mode="free"))


def test_what_is_written_back_is_judged_from_the_pose(free: Doctor) -> None:
    """The network sees the first pose for ever: the character trembles on the spot, and every frame by itself is right."""
    stages: dict[str, Any] = dict(free.scene.record().stages)
    honest = free(stages, STATE_AND_POSE)
    assert (honest.verdict, [stage.ok for stage in honest.stages]) == ("agrees", [True, True])
    stuck = {**stages, "x_raw": np.repeat(stages["x_raw"][:1], len(stages["x_raw"]), axis=0)}
    found = free(stuck, STATE_AND_POSE, drive=None, network=None)
    assert (found.exit_code, [cause.changes for cause in found.causes]) == (1, [{"writeback": "none"}])
    stages["x_raw"] = stages["x_raw"].copy()
    stages["x_raw"][5, 7] += 0.01
    first = free.judged(stages, STATE_AND_POSE, drive=None, network=None).first_divergence
    assert first is not None
    assert (first.stage, first.frame) == ("x_raw", 5)
