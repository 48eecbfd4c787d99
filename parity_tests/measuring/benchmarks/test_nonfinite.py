"""Figures on non-finite values: exact producers against a scan, and what watching costs."""

from pathlib import Path

import numpy as np
import pytest

from rigpact.fixtures.mutants.scene import generated_scene
from rigpact.reference_runtime.files.declared import open_run
from rigpact.reference_runtime.files.sentinel import watch_run
from rigpact.reference_runtime.files.subject import Subject
from rigpact.reports.nonfinite.investigation import investigate

from ...nonfinite_room.nonfinite_cases import Case, cases
from ...nonfinite_room.nonfinite_models import damaged_demo_cases, failing_operation_cases

pytestmark = pytest.mark.slow
FRAMES = 300


def _is_exact(case: Case) -> bool:
    subject = Subject(case.contract, case.network, case.clip, case.mode, case.faults)
    origin = investigate(subject, case.frames, guard_frames=0).origin
    expected = case.expected
    return origin is not None and (
        (
            origin.frame,
            origin.stage,
            origin.channel,
            origin.bone,
            origin.slice,
            origin.node.name if origin.node else None,
        )
        == (expected.frame, expected.stage, expected.channel, expected.bone, expected.slice, expected.node)
    )


def test_producers_named_exactly(benchmark: object, tmp_path: Path) -> None:
    """Share of the corpus whose frame, stage, slice, bone, channel and node are all right."""
    corpus = [*cases(), *damaged_demo_cases(tmp_path), *failing_operation_cases(tmp_path)]
    exact = benchmark.pedantic(lambda: sum(map(_is_exact, corpus)), rounds=1)  # type: ignore[attr-defined]
    benchmark.extra_info.update(cases=len(corpus), exact=exact)  # type: ignore[attr-defined]
    assert exact / len(corpus) >= 0.99


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
