"""Every reading of the operations that look at other frames (the start, the end, gaps), and of those on places and windows."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigpact.reference_runtime.graph.replayed import Evidence, ReplayedFrames

from .one_operation import Array, Oracle, Subject, contract_of, drawn, judging_tests

NAN = np.nan


def history(
    layout: str = "term_major",
    *,
    newest_first: bool = False,
    zeros: bool = False,
    delay: int = 0,
    exchanged: bool = False,
    every: int = 1,
) -> Oracle:
    """Three frames of `a` (2 numbers) and `b` (1 number), term by term."""

    def oracle(a: Array, b: Array) -> Array:
        ages, found = [0, 1, 2] if newest_first else [2, 1, 0], []
        for frame in range(len(a)):
            places = [frame - (age + delay) * every for age in ages]
            past = [
                np.array([each[max(at, 0)] * each.dtype.type(at >= 0 or not zeros) for at in places])
                for each in ((b, a) if exchanged else (a, b))
            ]
            if layout == "frame_major":
                found.append(np.hstack(past).reshape(-1))
            else:
                found.append(np.hstack([(each.T if layout == "channel_major" else each).reshape(-1) for each in past]))
        return np.array(found, a.dtype)

    return oracle


TWO = '{ name = "a", size = 2 }, { name = "b", size = 1 }'
HISTORY = 'operation = "history", of = ["a", "b"], length = 3'


def shifted(lag: int, *, zeros: bool = False) -> Oracle:
    """Another frame's row; the first stands before itself, or zeros, and behind the last nothing is known."""

    def oracle(x: Array) -> Array:
        before, unknown = np.zeros_like(x[0]) if zeros else x[0], np.full(x.shape[1], NAN, x.dtype)
        wanted = [frame + lag for frame in range(len(x))]
        return np.array([before if at < 0 else x[at] if at < len(x) else unknown for at in wanted], x.dtype)

    return oracle


def rate(first: int, second: int, factor: float) -> Oracle:
    return lambda x: (shifted(second)(x) - shifted(first)(x)) * x.dtype.type(factor)


def integrated(step: float, meaning: str = "derivative") -> Oracle:
    def oracle(s: Array, v: Array) -> Array:
        size = s.dtype.type(step)
        return {
            "derivative": v * size + s, "absolute": v, "delta": v + s, "negated": s - v * size, "skipped": s,
        }[meaning]  # fmt: skip

    return oracle


def joined(order: Sequence[int]) -> Oracle:
    return lambda *vectors: np.hstack([vectors[k] for k in order])


def picked(order: Sequence[int]) -> Oracle:
    return lambda x: x[:, list(order)]


def standardised(freedom: int) -> Oracle:
    """Every channel by its own mean and deviation in the window, summed sample by sample."""

    def oracle(rows: Array) -> Array:
        kind, found = rows.dtype.type, rows.copy()
        for channel in found.T:
            mean = sum(channel, start=kind(0)) / kind(len(channel))
            square = sum(((value - mean) * (value - mean) for value in channel), start=kind(0))
            channel[:] = (channel - mean) / np.sqrt(square / kind(len(channel) - freedom))
        return found

    return oracle


TABLE = ((0.5, -2.0, 0.0), (1.0, 0.25, -0.75), (0.0, 3.0, 1.5))


def mixed(table: Sequence[Sequence[float]]) -> Oracle:
    return lambda v: np.hstack([
        sum(v.dtype.type(factor) * v[:, start + place] for place, factor in enumerate(row))[:, None]
        for start in (0, 3) for row in table
    ])  # fmt: skip


X = '{ name = "x", size = 2 }'
FPS = 50.0
FRAMES = (
    Subject("history", TWO, f'{HISTORY}, layout = "term_major", order = "oldest_first", start = "first"', drawn(a=2, b=1),
        history(), {
        "layout": {"frame_major": history("frame_major"), "channel_major": history("channel_major")},
        "order": {"newest_first": history(newest_first=True)}, "start": {"zeros": history(zeros=True)},
        "delay": {"one_frame": history(delay=1)}, "terms": {"a_and_b_exchanged": history(exchanged=True)},
    }, is_moved=True),
    Subject("history_zeros", TWO, f'{HISTORY}, layout = "channel_major", order = "newest_first", start = "zeros"',
        drawn(a=2, b=1), history("channel_major", newest_first=True, zeros=True), {
        "layout": {"term_major": history(newest_first=True, zeros=True),
                   "frame_major": history("frame_major", newest_first=True, zeros=True)},
        "order": {"oldest_first": history("channel_major", zeros=True)},
        "start": {"first": history("channel_major", newest_first=True)},
        "delay": {"one_frame": history("channel_major", newest_first=True, zeros=True, delay=1)},
        "terms": {"a_and_b_exchanged": history("channel_major", newest_first=True, zeros=True, exchanged=True)},
    }, is_moved=True),
    Subject("difference", X, 'operation = "difference", of = "x", span = "backward", rate = "per_second"', drawn(x=2),
        rate(-1, 0, FPS), {
        "span": {"forward": rate(0, 1, FPS), "reversed": rate(0, -1, FPS)},
        "rate": {"per_frame": rate(-1, 0, 1.0), "inverse": rate(-1, 0, 1 / FPS)},
    }),
    Subject("shift_back", X, 'operation = "shift", of = "x", frames = -2', drawn(x=2), shifted(-2), {
        "frames": {"+0": shifted(0), "-3": shifted(-3), "-1": shifted(-1), "+2": shifted(2)},
        "start": {"zeros": shifted(-2, zeros=True)},
    }, is_moved=True),
    Subject("shift_from_zeros", X, 'operation = "shift", of = "x", frames = -1, start = "zeros"', drawn(x=2),
        shifted(-1, zeros=True), {
        "frames": {each: shifted(int(each), zeros=True) for each in ("+0", "-2", "+1")}, "start": {"first": shifted(-1)},
    }, is_moved=True),
    Subject("history_of_a_slower_loop", TWO, f'{HISTORY}, layout = "term_major", order = "oldest_first", start = "zeros", '
        'every = 4', drawn(a=2, b=1), history(zeros=True, every=4), {
        "layout": {each: history(each, zeros=True, every=4) for each in ("frame_major", "channel_major")},
        "order": {"newest_first": history(newest_first=True, zeros=True, every=4)}, "start": {"first": history(every=4)},
        "delay": {"one_frame": history(zeros=True, delay=1, every=4)}, "every": {"each_frame": history(zeros=True)},
        "terms": {"a_and_b_exchanged": history(zeros=True, exchanged=True, every=4)},
    }, is_moved=True),
    Subject("shift_ahead", X, 'operation = "shift", of = "x", frames = 1', drawn(x=2), shifted(1), {
        "frames": {"+0": shifted(0), "+2": shifted(2), "-1": shifted(-1)},
    }, is_moved=True),
    Subject("integrate", '{ name = "s", size = 2 }, { name = "v", size = 2 }',
        'operation = "integrate", of = ["s", "v"], step = 0.02', drawn(s=2, v=2), integrated(0.02), {
        "rate_means": {name: integrated(0.02, name) for name in ("absolute", "delta", "negated", "skipped")},
        "step": {"left_out": integrated(1.0), "squared": integrated(0.0004),
                 "half_of_it": integrated(0.01), "divided_by": integrated(50.0)},
    }),
    Subject("concatenate", f'{X}, {{ name = "y", size = 1 }}, {{ name = "c", size = 2 }}',
        'operation = "concatenate", of = ["x", "y", "c"]', drawn(x=2, y=1, c=2), joined((0, 1, 2)), {"order": {
        "x_and_y_exchanged": joined((1, 0, 2)), "x_and_c_exchanged": joined((2, 1, 0)), "y_and_c_exchanged": joined((0, 2, 1)),
        "x_last": joined((1, 2, 0)), "c_first": joined((2, 0, 1)),
    }}, is_moved=True),
    Subject("select", '{ name = "x", names = ["left_hip", "left_knee", "right_hip", "right_knee", "waist"] }',
        'operation = "select", of = "x", take = ["waist", "left_hip", "right_hip", "left_knee", "right_knee"]', drawn(x=5),
        picked((4, 0, 2, 1, 3)), {"order": {
        "as_given": picked((0, 1, 2, 3, 4)), "inverse_map": picked((1, 3, 2, 4, 0)), "reversed": picked((3, 1, 2, 0, 4)),
        "swapped_sides": picked((4, 2, 0, 3, 1)), "in_order_of_sdk": picked((1, 0, 3, 2, 4)),
    }}, more='[names]\nsdk = ["left_knee", "left_hip", "right_knee", "right_hip", "waist"]\n', is_moved=True),
)  # fmt: skip
PLACES = (
    Subject("gather", '{ name = "v", size = 12 }',
        'operation = "gather", of = "v", places = [2, 0, 0], together = 2, of_each = 3', drawn(v=12),
        lambda v: v[:, [4, 5, 0, 1, 0, 1, 10, 11, 6, 7, 6, 7]], is_moved=True),
    Subject("a view", '{ name = "v", size = 12 }',
        'operation = "gather", of = "v", places = { shape = [2, 3, 2], order = [2, 1, 0], part = [1, 2] }', drawn(v=12),
        lambda v: v[:, [1, 7, 3, 9, 5, 11]], is_moved=True),
    Subject("copied", '{ name = "v", size = 8 }', 'operation = "copied", of = "v", bytes = "whole"', drawn(v=8), lambda v: v,
        {"bytes": {"floats_as_bytes": lambda v: v * (np.arange(8) < 2).astype(v.dtype)}}, is_moved=True),
    Subject("replaced", '{ name = "v", names = ["a", "b", "c"], size = 2 }, { name = "new", size = 4 }',
        'operation = "replaced", of = ["v", "new"], taken = ["c", "a"]', drawn(v=6, new=4),
        lambda v, new: np.hstack([new[:, 2:], v[:, 2:4], new[:, :2]]), is_moved=True),
    Subject("either", '{ name = "a", size = 2 }, { name = "b", size = 2 }', 'operation = "either", of = ["a", "b"]',
        drawn(a=2, b=2), lambda a, _b: a, {"taken": {"b": lambda _a, b: b}}, is_moved=True),
    Subject("linear_map", '{ name = "v", size = 6 }', f'operation = "linear_map", of = "v", matrix = {list(map(list, TABLE))}',
        drawn(v=6), mixed(TABLE), {"matrix": {"transposed": mixed(tuple(zip(*TABLE, strict=True))), "none": lambda v: v}}),
    Subject("standardise", '{ name = "v", size = 3 }', 'operation = "standardise", of = "v", divisor = "count"', drawn(12.0, v=3),
        standardised(0), {"divisor": {"count_less_one": standardised(1)}}, widest=4000.0),
)  # fmt: skip
"""standardise: a mean of 400 of either sign is far more exact than the worst case."""
SUBJECTS = (*FRAMES, *PLACES)
test_oracles, test_numbers, test_bounds = judging_tests(FRAMES, rows=(1, 2, 3, 4, 8, 14))
test_oracles_of_places, test_places, test_bounds_of_places = judging_tests(PLACES, frames=400)


def _with_gaps(stage: str, given_: str, kept: Sequence[int], rows: Mapping[str, Array]) -> Array:
    """The stage where only the kept frames were recorded."""
    recorded = {name: values[list(kept)] for name, values in rows.items()}
    evidence = Evidence(np.array(kept), FPS, "teacher", recorded)
    found = ReplayedFrames(evidence, contract_of(given_, stage)).computed("result")
    assert found is not None
    return np.asarray(found, np.float64)


SOME = st.sets(st.integers(0, 9), min_size=1)


@given(kept=SOME, seed=st.integers(0, 2**32 - 1), is_filled=st.booleans())
def test_a_history_with_gaps_is_known_where_its_frames_are(kept: set[int], seed: int, is_filled: bool) -> None:
    """A recording that leaves frames out must not be judged with a neighbour's frame in the place of the missing one."""
    frames, rows = sorted(kept), drawn(a=2, b=1)(np.random.default_rng(seed), 10)
    start = "first" if is_filled else "zeros"
    found = _with_gaps(
        f'{HISTORY}, layout = "frame_major", order = "oldest_first", start = "{start}"', TWO, frames, rows
    )
    assert len(found) == len(frames) > 0
    for row, frame in zip(found, frames, strict=True):
        for block, age in zip(row.reshape(3, 3), (2, 1, 0), strict=True):
            at = max(frame - age, 0)
            expected = [*rows["a"][at], *rows["b"][at]] if at in kept else [NAN] * 3
            expected = [0.0] * 3 if frame < age and not is_filled else expected
            assert np.array_equal(block, np.array(expected, np.float64), equal_nan=True)


@given(kept=SOME, seed=st.integers(0, 2**32 - 1), span=st.sampled_from(["backward", "forward"]))
def test_a_difference_over_a_gap_is_not_known(kept: set[int], seed: int, span: str) -> None:
    """Over a gap a difference would be a velocity of several frames: an alarm about a correct engine."""
    frames, rows = sorted(kept), drawn(x=2)(np.random.default_rng(seed), 10)
    found = _with_gaps(f'operation = "difference", of = "x", span = "{span}", rate = "per_frame"', X, frames, rows)
    assert len(found) == len(frames) > 0
    for row, frame in zip(found, frames, strict=True):
        ends = [max(frame - 1, 0), frame] if span == "backward" else [frame, frame + 1]
        if set(ends) <= kept:
            expected = rows["x"][ends[1]].astype(np.float64) - rows["x"][ends[0]]
            assert np.abs(row - expected).max() <= 2.0**-24 * np.abs(expected).max()
        else:
            assert np.isnan(row).all()


@pytest.mark.parametrize(("frames", "reach"), [(-2, (3, 2)), (-1, (2, 1)), (0, (1, 1)), (1, (1, 2)), (2, (2, 3))])
def test_a_shift_says_how_far_each_of_its_readings_looks(frames, reach):
    """The frames around a difference are cut out for the search; with too few, a reading is judged by what is missing."""
    contract = contract_of(X, f'operation = "shift", of = "x", frames = {frames}')
    assert contract.system.graph["result"].reach_of(contract) == reach
