"""What a stage's numbers are measured to be, by hand and piece by piece: the pieces do not show, the memory stays small."""

import math
import sys
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rigpact.contract import load_contract
from rigpact.contract.systems.stage import RAW, Z_SCORE, Measure
from rigpact.reference_runtime import read_recording, write_trace
from rigpact.reports.comparing import compare as compare_module
from rigpact.reports.comparing.compare import compare
from rigpact.reports.comparing.judgement import judge
from rigpact.reports.comparing.stage_comparison import StageMeter

from ..every_case import every_case
from ..peak_memory import measured_command
from ..trust_room.recorded_demo import recorded
from .demo import BUNDLE

INF, NAN = math.inf, math.nan
FRAMES = np.array([10, 11, 12, 20, 21, 22])


def measured(error, tolerance, *, pieces=None, left_out=None, measure=RAW):
    """A side of these errors against zeros, in pieces of these lengths."""
    error, tolerance = np.array(error, np.float32), np.array(tolerance, np.float64)
    tolerance = np.broadcast_to(tolerance, error.shape)
    meter, start = StageMeter("s", error.shape[1], measure), 0
    for length in pieces or [len(error)]:
        part = slice(start, start + length)
        out = None if left_out is None else np.array(left_out)[part]
        meter.add(error[part], np.zeros_like(error[part]), tolerance[part], out)
        start += length
    return meter.result(FRAMES[: len(error)])


def worst(found):
    return found.worst_frame, found.worst_channel, found.worst_error, found.worst_tolerance


@every_case("pieces", [[4], [1, 3], [2, 2], [1, 1, 1, 1]])
@every_case(
    ("error", "over", "first", "expected"),
    [
        ([[0, 0], [0, 0], [0, 0], [0, 0]], 0, None, (10, 0, 0.0, 1.0)),
        ([[0, 0.5], [0.75, 0], [0.75, 0.75], [0, 0.75]], 0, None, (11, 0, 0.75, 1.0)),
        ([[0, 1], [1, 2], [0, 0], [0, 0]], 0, None, (11, 1, 2.0, 2.0)),
        ([[0, 0], [0, 3], [3, 3], [3, 0]], 4, 11, (11, 1, 3.0, 2.0)),
        ([[0, 0], [0, 0], [3, 3], [0, 4]], 3, 12, (20, 1, 4.0, 2.0)),
        ([[0, 0], [0, 0], [3, 3], [0, 0]], 2, 12, (12, 0, 3.0, 1.0)),
        ([[1.5, 2], [0, 0], [0, 0], [0, 0]], 1, 10, (10, 0, 1.5, 1.0)),
        ([[0, 0], [0, 0], [0, 0], [-2, -2]], 1, 20, (20, 0, 2.0, 1.0)),
        ([[0, 0], [0, NAN], [5, 0], [INF, 0]], 3, 11, (11, 1, INF, 2.0)),
    ],
)
def test_the_worst_value_is_the_first_of_the_largest_beyond_their_tolerance(pieces, error, over, first, expected):
    """Exactly at its tolerance a value agrees. A worst value that depends on the pieces cannot be looked up."""
    found = measured(error, [1.0, 2.0], pieces=pieces)
    assert (found.over, found.first_frame_over, worst(found)) == (over, first, expected)
    assert (found.frame_count, found.total, found.judged_total, found.compared_total) == (4, 8, 8, 8)
    assert found.judged.tolist() == [True, True]


@every_case("pieces", [[4], [1, 3], [1, 1, 1, 1]])
@every_case(
    ("tolerance", "unknown", "first"),
    [
        ([[1, 1], [1, 1], [1, 1], [1, 1]], 0, None), ([[INF, 1], [1, 1], [1, 1], [1, 1]], 1, (10, 0)),
        ([[1, INF], [INF, INF], [1, 1], [1, 1]], 3, (10, 1)), ([[1, 1], [1, 1], [INF, INF], [1, INF]], 3, (12, 0)),
        ([[1, 1], [1, 1], [1, 1], [1, INF]], 1, (20, 1)),
    ],
)  # fmt: skip
def test_values_with_an_infinite_tolerance_are_counted_and_not_judged(pieces, tolerance, unknown, first):
    """The first of them is where a recording should hold more."""
    found = measured([[0.5, 0.25]] * 4, tolerance, pieces=pieces)
    assert (found.unknown, found.first_unknown, found.over, found.compared_total) == (unknown, first, 0, 8 - unknown)


def test_no_tolerance_excuses_what_is_not_finite_and_one_that_is_no_number_allows_nothing():
    """Infinite it would hide what nobody computed; no rounding leads to NaN."""
    found = measured([[0.0], [0.5], [0.5]], [[NAN], [NAN], [1.0]])
    assert (found.over, found.unknown, worst(found)) == (1, 0, (11, 0, 0.5, 0.0))
    found = measured([[0.0], [NAN]], [[INF], [INF]])
    assert (found.over, found.first_frame_over, found.unknown) == (1, 11, 2)


@every_case("pieces", [[4], [1, 3], [3, 1], [1, 1, 1, 1]])
def test_frames_that_nobody_can_judge_agree_whatever_they_hold(pieces):
    """They are counted, so that a report can say how many there were."""
    error, tolerance = [[0, 9], [0.5, 0], [NAN, 9], [9, INF]], [[1, 1], [1, 1], [INF, 1], [1, NAN]]
    found = measured(error, tolerance, pieces=pieces, left_out=[True, False, True, True])
    assert (found.over, found.unknown, found.left_out, worst(found)) == (0, 0, 3, (11, 0, 0.5, 1.0))
    assert (found.total, found.judged_total, found.left_out_total, found.compared_total) == (8, 8, 6, 2)
    assert found.frame_ratios.tolist() == [0.0, 0.5, 0.0, 0.0]


def test_a_frame_that_nobody_can_judge_has_no_error_no_tolerance_and_no_sign():
    """It makes no channel too wide to be judged; the quaternions beside it are still compared without their sign."""
    found = measured([[7.0], [NAN]], [[9.0], [9.0]], left_out=[True, True])
    assert (found.over, found.compared_total, worst(found)) == (0, 0, (10, 0, 0.0, 0.0))
    found = measured([[7.0], [0.25]], [[9.0], [1.0]], left_out=[True, False], measure=Measure(widest_bound=0.5))
    assert (found.over, worst(found), found.judged.tolist()) == (0, (11, 0, 0.25, 1.0), [True])
    meter = StageMeter("s", 4, Measure(has_signless_quaternions=True))
    ours, theirs = np.float32([[0, 0, NAN, 1], [0, 0, 0, 1]]), np.float32([[INF, 0, 0, -1], [0, 0, 0.5, -1]])
    meter.add(ours, theirs, np.zeros((2, 4)), np.array([True, False]))
    found = meter.result(FRAMES[:2])
    assert (found.over, worst(found)) == (1, (11, 2, 0.5, 0.0))


@every_case(
    ("tolerances", "is_judged"),
    [
        ([1.0], True), ([1.25], False), ([1.0, 1.0, 9.0], True), ([9.0, 1.0, 9.0], False), ([0.5, 9.0, 1.25], False),
        ([0.5, 9.0, 1.0, 1.5], False), ([0.5, 9.0, 0.75, 1.25], True), ([9.0, 1.25, 0.75, 0.5], True),
        ([0.25, 1.5, 9.0, 0.25], True), ([0.25, 1.75, 9.0, 0.25], True), ([0.25, 1.875, 9.0, 0.25], False),
        ([0.0, 2.0], True), ([0.0, 2.25], False), ([INF, 0.0], False), ([0.75, 1.125, 1.125, 9.0, 0.5, 0.5], True),
        ([2.0, 1.125, 1.125, 9.0, 0.5, 0.5], False), ([0.5, 0.5, 0.5, 0.5], True), ([3.0, 3.0, 3.0, 0.5], False),
        ([INF, INF], False), ([INF, INF, 0.5, 0.5, 0.5], True), ([INF, INF, INF], False),
    ],
)  # fmt: skip
@every_case("length", [1, 2, 6])
def test_a_channel_is_judged_where_its_median_tolerance_is_narrow_enough(tolerances, is_judged, length):
    """A channel whose rounding spans a standard deviation says nothing; no warning of a sum of infinities is shown."""
    pieces = [min(length, len(tolerances) - start) for start in range(0, len(tolerances), length)]
    both = np.stack([np.array(tolerances), np.ones(len(tolerances))], axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = measured(np.zeros_like(both), both, pieces=pieces, measure=Measure(widest_bound=1.0))
    assert found.judged.tolist() == [is_judged, True]
    assert worst(found) == (10, 0 if is_judged else 1, 0.0, tolerances[0] if is_judged else 1.0)
    assert found.judged_total == len(tolerances) * (1 + is_judged)


def test_of_a_channel_that_cannot_be_judged_only_numbers_that_are_not_finite_count():
    """Its tolerance is wide, so an error beyond it would be huge; but NaN is a defect under any tolerance."""
    narrow, error = Measure(widest_bound=1.0), [[0, 8], [2, 9], [0, 7]]
    found = measured(error, [[1, 5], [1, INF], [1, 5]], measure=narrow)
    assert (found.over, found.first_frame_over, found.unknown, worst(found)) == (1, 11, 0, (11, 0, 2.0, 1.0))
    error[2][1] = NAN
    found = measured(error, [[1, 5], [1, INF], [1, 6]], measure=narrow)
    assert (found.over, found.first_frame_over, worst(found)) == (2, 11, (12, 1, INF, 6.0))
    assert found.frame_ratios.tolist() == [0.0, 2.0, INF]
    assert (found.judged_total, found.compared_total) == (3, 3)
    found = measured([[0.25, 3], [1, 4], [7, 7]], [[2, 3], [4, 4], [5, 5]], pieces=[2, 1], measure=narrow)
    assert (found.over, found.first_frame_over, worst(found)) == (0, None, (10, 0, 0.25, 2.0)), (
        "the first stands for all"
    )
    assert (found.judged_total, found.compared_total, found.total) == (0, 0, 6)
    assert found.frame_ratios.tolist() == [0.0, 0.0, 0.0]


LONGEST, WIDTH = 13, 5
values = st.sampled_from([0.0, 0.25, 0.5, 1.0, 3.0, float("nan"), float("inf"), -float("inf")])
bounds = st.sampled_from([0.0, 0.25, 0.9, 1.0, 1.1, 7.0, float("inf"), float("nan")])


def table(entries, frames):
    rows = st.lists(entries, min_size=frames * WIDTH, max_size=frames * WIDTH)
    return rows.map(lambda numbers: np.array(numbers).reshape(frames, WIDTH))


@st.composite
def stages(draw):
    frames = draw(st.integers(1, LONGEST))
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
@given(stages(), st.sampled_from(["state", "y_out"]), st.integers(1, LONGEST))
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
