"""What watching for values that are not finite costs."""

import numpy as np
import pytest

from rigpact.reference_runtime.files.declared import open_run
from rigpact.reference_runtime.files.sentinel import watch_run

from ...scene import generated_scene

pytestmark = pytest.mark.nightly
FRAMES = 300


@pytest.mark.parametrize("watched", [False, True], ids=["plain", "watched"])
def test_cost_of_watching(benchmark: object, watched: bool) -> None:
    """A free run with and without sentinels on every stage."""
    scene = generated_scene("sneak_turn")

    def run() -> None:
        loop = open_run(scene.contract, scene.network, scene.clip, "free")
        if watched:
            watch_run(loop, range(FRAMES))
        else:
            for _ in range(FRAMES):
                loop.step()

    with np.errstate(all="ignore"):
        benchmark.pedantic(run, rounds=3)  # type: ignore[attr-defined]
