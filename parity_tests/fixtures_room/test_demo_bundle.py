"""The committed demo bundle: it regenerates, its files agree with each other, and its network is worth running."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from rigpact.fixtures import demo_bundle, generate_clip
from rigpact.fixtures.course import HELD_OUT_STYLES, TRAINING_STYLES
from rigpact.training.enemy_animation import BUNDLE_CLIPS, FPS, full_plan, generate_clips

BUNDLE = demo_bundle()


def load(*parts: str) -> dict[str, Any]:
    return dict(json.loads(Path(BUNDLE, *parts).read_text(encoding="utf-8")))


NORM, COMPANION = load("norm_template.json"), load("pretrain_template.json")


def assert_equal_documents(got: Any, want: Any, pointer: str = "") -> None:
    """Same structure and text; numbers within one float32 step (another libm may round the last bit differently)."""
    if isinstance(want, dict):
        assert list(got) == list(want), pointer
        for key in want:
            assert_equal_documents(got[key], want[key], f"{pointer}/{key}")
    elif isinstance(want, list):
        assert len(got) == len(want), pointer
        for index, pair in enumerate(zip(got, want, strict=True)):
            assert_equal_documents(*pair, f"{pointer}/{index}")
    elif isinstance(want, float):
        # The absolute part: cosines that cancel to 0 keep the rounding of terms near 1, times fps in velocities.
        assert math.isclose(got, want, rel_tol=2**-23, abs_tol=60 * 2**-48), pointer
    else:
        assert got == want, pointer


def test_a_committed_clip_regenerates_was_not_trained_on_and_turns_past_pi() -> None:
    """A clip that its recipe no longer makes cannot be trusted; an error on training data says nothing about the game."""
    entry, plan = BUNDLE_CLIPS[0], full_plan()
    clip = load("clips", f"{entry.name}.json")
    assert_equal_documents(clip, generate_clip(entry.style, entry.seed, entry.frames))
    assert not {each.seed for each in BUNDLE_CLIPS} & set(range(plan.seed, plan.seed + plan.variations))
    assert entry.style in HELD_OUT_STYLES
    assert max(frame["RootYaw"] for frame in clip["Frames"]) > math.pi


@pytest.mark.nightly
def test_committed_statistics_regenerate() -> None:
    """Statistics of other motion than the generator's: every fixture built on them is quietly off."""
    from rigpact.fixtures.clip_format import plain_document
    from rigpact.fixtures.skeleton import demo_skeleton
    from rigpact.training.enemy_statistics import fit_statistics, norm_template, pretrain_template

    plan = full_plan()
    statistics = fit_statistics(
        generate_clips(TRAINING_STYLES, range(plan.seed, plan.seed + plan.variations), plan.frames)
    )
    assert_equal_documents(NORM, plain_document(norm_template(statistics, demo_skeleton(), FPS)))
    assert_equal_documents(COMPANION, plain_document(pretrain_template(statistics)))


def test_the_two_files_agree_and_hardly_any_channel_is_constant() -> None:
    """Two files that disagree: training uses one, the engine the other; a constant channel hides a defect in it."""
    shared = set(NORM) & set(COMPANION) - {"meta"}
    assert len(shared) == 8
    assert {key: NORM[key] for key in shared} == {key: COMPANION[key] for key in shared}
    assert (NORM["input_dim"], NORM["output_dim"], NORM["pose_hist_dim"], NORM["fps"]) == (422, 276, 828, 60)
    for name in ("StdX", "StdY", "StdAngVel", "StdPoseHist"):
        at_floor = sum(value <= float(np.float32(1e-3)) for value in NORM[name])
        assert at_floor <= 0.02 * len(NORM[name]), name


def test_the_graph_is_what_the_engine_binds_by_position() -> None:
    """The engine binds inputs by position: another order feeds contacts into the state."""
    model = onnx.load(BUNDLE / "model.onnx")
    shapes = {i.name: [d.dim_param or d.dim_value for d in i.type.tensor_type.shape.dim] for i in model.graph.input}
    widths = {"state": 422, "cond": 7, "contacts": 2, "angvel": 138, "pose_hist": 828}
    assert list(shapes.items()) == [(name, ["B", width]) for name, width in widths.items()]
    assert [item.name for item in model.graph.output] == ["motion_pred"]
    assert [(entry.domain, entry.version) for entry in model.opset_import] == [("", 18)]
