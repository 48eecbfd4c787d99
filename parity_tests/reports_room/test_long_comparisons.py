"""Comparisons piece by piece: the answer does not depend on the pieces, the memory not on the length."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rigpact.contract import load_contract
from rigpact.contract.systems.stage import RAW, Z_SCORE
from rigpact.reference_runtime import read_recording, write_trace
from rigpact.reports.comparing import compare as compare_module
from rigpact.reports.comparing.compare import compare
from rigpact.reports.comparing.judgement import judge
from rigpact.reports.comparing.stage_comparison import StageMeter

from ..peak_memory import measured_command
from ..trust_room.recorded_demo import recorded
from .demo import BUNDLE

FRAMES, WIDTH = 13, 5
values = st.sampled_from([0.0, 0.25, 0.5, 1.0, 3.0, float("nan"), float("inf"), -float("inf")])
bounds = st.sampled_from([0.0, 0.25, 0.9, 1.0, 1.1, 7.0, float("inf"), float("nan")])


def table(entries, frames):
    rows = st.lists(entries, min_size=frames * WIDTH, max_size=frames * WIDTH)
    return rows.map(lambda numbers: np.array(numbers).reshape(frames, WIDTH))


@st.composite
def stages(draw):
    frames = draw(st.integers(1, FRAMES))
    return draw(table(values, frames)), draw(table(values, frames)), draw(table(bounds, frames))


def worked_out(a, b, tolerance, stage):
    """The whole stage at once, value by value: what is over, the first, the worst."""
    frames = len(a)
    bound = [[0.0 if np.isnan(value) else value for value in row] for row in tolerance.tolist()]
    finite = np.isfinite(a) & np.isfinite(b)
    error = [[abs(a[t, c] - b[t, c]) if finite[t, c] else np.inf for c in range(WIDTH)] for t in range(frames)]
    judged = [stage != "state" or np.median([row[c] for row in bound]) <= 1.0 for c in range(WIDTH)]
    every = [(t, c) for t in range(frames) for c in range(WIDTH)]
    over = [(t, c) for t, c in every if not finite[t, c] or (judged[c] and error[t][c] > bound[t][c])]
    candidates = over or [(t, c) for t, c in every if judged[c]] or [(0, 0)]
    t, c = max(candidates, key=lambda place: (error[place[0]][place[1]], -place[0], -place[1]))
    return judged, {
        "frame_count": frames, "over": len(over), "total": frames * WIDTH,
        "first_frame_over": 10 + over[0][0] if over else None, "worst_frame": 10 + t, "worst_channel": c,
        "worst_error": error[t][c], "worst_tolerance": bound[t][c],
    }  # fmt: skip


@example((np.ones((2, WIDTH)), np.ones((2, WIDTH)), np.array([[7.0] * WIDTH, [0.25] * WIDTH])), "state", 1)
@given(stages(), st.sampled_from(["state", "y_out"]), st.integers(1, FRAMES))
def test_a_stage_fed_in_pieces_is_the_stage_at_once(sides, stage, size):
    """A worst frame that moves with the size of a buffer cannot be looked up in an engine."""
    meter = StageMeter(stage, WIDTH, Z_SCORE if stage == "state" else RAW)
    for start in range(0, len(sides[0]), size):
        meter.add(*(side[start : start + size] for side in sides))
    found = meter.result(np.arange(10, 10 + len(sides[0])))
    judged, expected = worked_out(*sides, stage)
    assert {name: getattr(found, name) for name in expected} == expected
    assert found.judged.tolist() == judged


def two_runs(folder, frames):
    """Two recordings of every stage: a short teacher-driven run over and over, one with wrong values."""
    trace, frame = recorded(frames=20), np.arange(frames, dtype=np.int64)
    long = {name: values[np.arange(frames) % 20] for name, values in trace.stages.items()}
    paths = folder / "a.trace.safetensors", folder / "b.trace.safetensors"
    for path in paths:
        write_trace(replace(trace, frame=frame, time_s=frame / 60.0, stages=long), path)
        long["y_out"][frames // 2, 7] += np.float32(0.01)
        long["angvel"][frames // 3] = np.nan
        long["cond"][frames // 3, 6] += np.float32(0.1)  # the speed: what its bound is made of changes in the clip
    return paths


@pytest.mark.sampled(2)
@pytest.mark.parametrize("norm", ["raw", "zscore"])
def test_the_length_of_the_pieces_does_not_show(tmp_path, monkeypatch, norm):
    """The same two files must give the same report on every version that only reads faster."""
    contract = load_contract(BUNDLE, changes={"condition_norm": norm})
    sides = [read_recording(path, contract) for path in two_runs(tmp_path, 60)]
    reports = []
    for size in (1, 7, 10_000):
        monkeypatch.setattr(compare_module, "FRAMES_AT_ONCE", size)
        reports.append(judge(compare(*sides, contract)).to_json())
    assert reports.count(reports[0]) == len(reports)
    assert reports[0]["verdict"] == "fail"


@pytest.mark.nightly
@pytest.mark.skipif(sys.platform == "win32", reason="reads the peak of a process")
def test_a_long_comparison_needs_no_more_memory_than_a_short_one(tmp_path):
    """Half an hour of every stage is four gigabytes: a build machine would be killed in the middle of it."""
    sizes_mb, peaks_mb = [], []
    for frames in (4000, 8000):  # from 4,000 frames on the buffers of the pieces have their full size
        paths = two_runs(tmp_path, frames)
        done = measured_command(tmp_path, "diff", *paths, "--contract", BUNDLE)
        assert done.status == 1
        sizes_mb.append(sum(path.stat().st_size for path in paths) / 1e6)
        peaks_mb.append(done.peak_bytes / 1e6)
    # one file held whole would be half of the growth of both, one array of its stages in float64 as much as both
    assert peaks_mb[1] - peaks_mb[0] < 0.4 * (sizes_mb[1] - sizes_mb[0])
