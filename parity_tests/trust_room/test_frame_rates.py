"""Frame numbers, rates and clocks.

A recording at another rate agrees frame by frame, and the character plays at another speed.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rigpact.contract.errors import UnusableInput
from rigpact.reference_runtime import Trace
from rigpact.reference_runtime.graph.replayed import Evidence, ReplayedFrames
from rigpact.reference_runtime.systems.enemy_animation.runs import drive_of
from rigpact.reports.comparing.clock import clock_contradiction

from ..every_case import every_case
from ..scene import generated_scene
from .recorded_demo import recorded, said
from .tried import passes, refused, tries


def clocked(times_s: Any, fps: float = 60.0, frame: Any = None) -> Trace:
    """A recording whose frames have these times."""
    count, trace = len(times_s), said(recorded(), fps=fps)
    frame = np.arange(count) if frame is None else np.asarray(frame)
    return replace(
        trace, frame=frame, time_s=np.asarray(times_s, np.float64), stages={"y_out": np.zeros((count, 6), np.float32)}
    )


FRAME = np.arange(600)
DROPPED = np.array([0, 1, 2, 3, 9, 10, 11, 12, 13, *range(40, 47)])
HONEST = (
    *(clocked(np.sort(np.arange(24) / 60.0 + np.random.default_rng(seed).uniform(0.0, 0.99 / 60.0, 24))) for seed in range(8)),
    *(clocked(times_s) for times_s in (
        np.floor(FRAME * 1000.0 / 60.0) / 1000.0, FRAME / 60.0 + np.where(FRAME > 200, 0.25, 0.0), FRAME * 1.001 / 60.0,
        FRAME / 60.0 + 4096.0, np.ceil(FRAME * 144.0 / 60.0) / 144.0)),
    clocked(DROPPED / 60.0, frame=DROPPED),
)  # fmt: skip


@tries(
    ("passes", tried, "passes")
    for tried in (
        "an engine's clock: each step stamped up to one step late",
        "stamps in whole milliseconds; a hitch of 250 ms; a display of 59.94 Hz; times from the start of the level",
        "frames that were not recorded: the numbers jump, and the times with them",
    )
)
@every_case("trace", HONEST, ids=lambda _: "")
def test_a_real_clock_is_no_other_rate(trace):
    """No engine stamps its frames at k / 60 exactly, and a recorder may skip frames under load."""
    assert clock_contradiction(trace) == ""


@pytest.mark.parametrize(("rate", "frames"), [(30.0, 3), (120.0, 9), (50.0, 40), (58.0, 400)])
def test_another_rate_is_seen_from_so_many_frames_on(rate, frames):
    """The fewer frames, the more a late stamp matters; the numbers follow from what docs/trace-format.md allows."""
    assert clock_contradiction(clocked(np.arange(frames) / rate)) == f"{rate:g}"


WRITTEN = {
    "float64": lambda times_s: times_s,
    "float32": lambda times_s: times_s.astype(np.float32),
    "float32 from the start of the level": lambda times_s: (times_s + 1000.0).astype(np.float32),
    "milliseconds": lambda times_s: np.floor(times_s * 1000.0) / 1000.0,
    "a float32 sum of steps": lambda times_s: np.cumsum(np.diff(times_s, prepend=0.0), dtype=np.float32),
}


@refused("a clock 2 % slow or fast over 89 frames, its times in float64, float32 or whole milliseconds", "error RP812")
@every_case("written", WRITTEN)
@every_case("factor", [1.02, 1.0 / 1.02])
def test_a_rate_two_percent_off_is_seen_in_89_frames(written, factor):
    """A second and a half of walking, and the feet slide by 2 % of the way: late steps would not lie on a line."""
    assert clock_contradiction(clocked(WRITTEN[written](np.arange(89) * factor / 60.0))) != ""


@passes("the same times at 59.94 Hz; steps that wait for a display of 144, 75 or 61 Hz")
@every_case("written", WRITTEN)
@every_case(("fps", "display"), [(60.0, 59.94), (50.0, 144.0), (60.0, 75.0), (30.0, 144.0), (60.0, 61.0)])
@every_case("frames", [3, 7, 8, 40, 89, 300])
def test_steps_that_wait_for_a_display_are_no_other_rate(written, fps, display, frames):
    """50 steps on 144 pictures a second lie on a line of 48 for eight steps, until one picture brings two."""
    due = np.arange(frames) / fps if display > fps else np.arange(frames) / display
    shown = np.ceil(due * display - 1e-9) / display
    assert clock_contradiction(clocked(WRITTEN[written](shown), fps)) == ""


@passes(
    "recordings that start late, or leave frames out: each frame is computed as in the whole recording, bit for bit"
)
@pytest.mark.parametrize("kept", [range(9, 24), [0, 3, 4, 11, 15], [23]], ids=["late", "gaps", "last"])
@pytest.mark.parametrize(
    "changes", [{}, {"angvel_source": "rotations", "angvel_lag": "+1"}, {"previous_pose_lag": "-1"}], ids=str
)
def test_a_part_of_a_recording_is_computed_as_the_whole(kept, changes):
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


def test_a_recording_that_begins_before_frame_0_has_its_own_frames():
    """The window before frame -3 held nothing, and its last entry was asked for: now a window of many says what to do."""
    scene = replace(generated_scene("sneak_turn", frames=24), mode="teacher")
    trace, driven = scene.record(), drive_of(scene.clip)
    early = Evidence(trace.frame - 3, scene.clip.fps, "teacher", trace.stages, driven, scene.network)
    contract = scene.contract.with_conventions({"condition_norm": "raw"})
    np.testing.assert_array_equal(ReplayedFrames(early, contract).computed("cond"), trace.stages["cond_raw"])
    with pytest.raises(UnusableInput, match="number the frames from the start of the run"):
        ReplayedFrames(early, scene.contract.with_conventions({"condition_norm": "zscore"})).computed("cond")
