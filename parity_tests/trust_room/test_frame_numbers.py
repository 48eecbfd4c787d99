"""A frame's number is not a size: memory depends on the recorded frames, and a recording that starts late loses nothing."""

from dataclasses import replace

import numpy as np
import pytest

from rigpact.contract.errors import UnusableInput
from rigpact.reference_runtime.graph.replayed import Evidence, ReplayedFrames
from rigpact.reference_runtime.systems.enemy_animation.drive import drive_of

from ..scene import generated_scene
from .tried import passes


@passes(
    "recordings that start late, or leave frames out: each frame is computed as in the whole recording, bit for bit"
)
@pytest.mark.parametrize("kept", [range(9, 24), [0, 3, 4, 11, 15], [23]], ids=["late", "gaps", "last"])
@pytest.mark.parametrize(
    "changes", [{}, {"angvel_source": "rotations", "angvel_lag": "+1"}, {"previous_pose_lag": "-1"}], ids=str
)
def test_a_part_of_a_recording_is_computed_as_the_whole(kept: range | list[int], changes: dict[str, str]) -> None:
    """The clip knows the frames that were not recorded."""
    scene = replace(generated_scene("sneak_turn", frames=24), mode="teacher")
    trace, contract = scene.record(), scene.contract.with_conventions(changes)
    rows = list(kept)
    whole = Evidence(trace.frame, scene.clip.fps, "teacher", trace.stages, drive_of(scene.clip), scene.network)
    part = ReplayedFrames(whole.at_rows(rows), contract)
    expected = ReplayedFrames(whole, contract)
    for stage in ("state", "angvel", "pose_hist_raw", "pose_hist", "delta6d", "next6d", "y_out"):
        values = expected.computed(stage)
        assert values is not None
        np.testing.assert_array_equal(part.computed(stage), values[rows], err_msg=stage)


def test_a_recording_that_begins_before_frame_0_has_its_own_frames() -> None:
    """The window before frame -3 held nothing, and its last entry was asked for: now a window of many says what to do."""
    scene = replace(generated_scene("sneak_turn", frames=24), mode="teacher")
    trace, driven = scene.record(), drive_of(scene.clip)
    early = Evidence(trace.frame - 3, scene.clip.fps, "teacher", trace.stages, driven, scene.network)
    contract = scene.contract.with_conventions({"condition_norm": "raw"})
    np.testing.assert_array_equal(ReplayedFrames(early, contract).computed("cond"), trace.stages["cond_raw"])
    with pytest.raises(UnusableInput, match="number the frames from the start of the run"):
        ReplayedFrames(early, scene.contract.with_conventions({"condition_norm": "zscore"})).computed("cond")
