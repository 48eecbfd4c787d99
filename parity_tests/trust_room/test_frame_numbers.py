"""A frame's number is not a size: memory depends on the recorded frames, and a recording that starts late loses nothing."""

import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rigpact.contract.errors import UnusableInput
from rigpact.reference_runtime.graph.replayed import Evidence, ReplayedFrames
from rigpact.reference_runtime.systems.enemy_animation.drive import drive_of

from ..peak_memory import measured_command
from ..scene import generated_scene
from .tried import passes, refused


def _peak_bytes(folder: Path, *words: str) -> int:
    done = measured_command(folder, *words)
    assert "Traceback" not in done.err
    return done.peak_bytes


@pytest.mark.skipif(sys.platform == "win32", reason="reads the peak of a process")
@refused(
    "a recording of two frames, the second with the number 1 000 000", "an answer below 300 MB: memory is by frames"
)
def test_two_frames_far_apart_take_the_memory_of_two(
    demo_bundle: Path, tmp_path: Path, command: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows were made for every number up to the highest one: 11 gigabytes for two frames."""
    for name in ("norm_template.json", "pretrain_template.json", "model.onnx", "clips/Sneak_Turn.json"):
        shutil.copy(demo_bundle / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    given = ("--onnx", "model.onnx", "Sneak_Turn.json")
    command("run", "--contract", "norm_template.json", *given, "--frames", "2", "-o", "near.trace.jsonl")
    *lines, last = Path("near.trace.jsonl").read_text(encoding="utf-8").splitlines()
    far = json.dumps({**json.loads(last), "frame": 1_000_000})
    Path("far.trace.jsonl").write_text("\n".join([*lines, far, ""]), encoding="utf-8")

    near_bytes, far_bytes = (
        _peak_bytes(tmp_path, "explain", name, "--contract", "norm_template.json", *given)
        for name in ("near.trace.jsonl", "far.trace.jsonl")
    )

    assert far_bytes < near_bytes + (100 << 20)
    assert far_bytes < 300 << 20


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
