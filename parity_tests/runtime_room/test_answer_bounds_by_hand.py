"""The bounds of the network's answer and of all that follows from it, worked out again by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest

from rigpact.contract.statistics import Statistics, frozen_float32
from rigpact.contract.systems.stage import NotKnown, Stage
from rigpact.reference_runtime.graph.bounds import KnownFrames, replay_bound, stage_bound, stage_tolerances
from rigpact.reference_runtime.graph.replayed import Evidence, ReplayedFrames
from rigpact.reference_runtime.recordings.precision import Precision
from rigpact.reference_runtime.vocabulary.posing.published_pose import pose_tolerance_without_contract

from . import tiny_character as tiny
from .bounds_by_hand import DEPTH, IDENTITY, SPIN, angle, axes_bound, bound_of, close, g, with_scores


def test_bound_of_an_answer_is_that_of_its_longest_sum(plain):
    """Another order of summation may move an answer by its largest number times all inputs, not more."""
    rows = np.array([np.linspace(-2.0, 1.0, 18), np.linspace(0.0, 0.5, 18)])
    close(bound_of(plain, "y_norm", y_norm=rows), [[g(DEPTH) * 2.0] * 18, [g(DEPTH) * 0.5] * 18])


@pytest.mark.parametrize("std", [0.25, -0.25])
def test_bound_of_a_denormalised_answer(plain, std):
    """Four roundings of the value and of the mean, and the answer's own bound times the deviation."""
    contract = with_scores(plain, std, -0.5, 1.0)
    value = np.linspace(-1.0, 0.75, 18)[None].astype(np.float32).repeat(2, axis=0)
    value[1] = -0.5
    own = g(4) * (np.abs(value, dtype=np.float64) + 0.5)
    known = bound_of(contract, "y_raw", y_norm=np.full((2, 18), 3.0), y_raw=value)
    close(known, own + g(DEPTH) * 3.0 * 0.25)
    # where the answer is not known, the value itself tells its largest z: (0.75 + 0.5) / 0.25, and 0
    close(bound_of(contract, "y_raw", y_raw=value), own + np.array([[g(DEPTH) * 5.0 * 0.25], [0.0]]))


def test_channels_without_spread_tell_no_zscore(plain):
    """Divided by a deviation of 0, one constant channel would hide all others."""
    contract = with_scores(plain, 0.25, -0.5, 1.0)
    std = np.full(18, 0.25)
    std[7] = 0.0
    contract = contract.with_numbers(
        replace(
            contract.numbers, output_statistics=Statistics(contract.numbers.output_statistics.mean, frozen_float32(std))
        )
    )
    value = np.full((1, 18), 0.25)
    value[0, 7] = -0.5
    found = bound_of(contract, "y_raw", y_raw=value)[0]
    close(found[0], g(4) * 0.75 + g(DEPTH) * 3.0 * 0.25)
    close(found[7], g(4) * 1.0)
    value[0, 7] += 2e-6  # two of the smallest deviation
    moved = (float(np.float32(value[0, 7])) + 0.5) / 1e-6
    assert 1.9 < moved < 2.1
    value[0, 7] += 8e-6
    moved = (float(np.float32(value[0, 7])) + 0.5) / 1e-6
    close(bound_of(contract, "y_raw", y_raw=value)[0, 0], g(4) * 0.75 + g(DEPTH) * moved * 0.25)


def six(first, second):
    """Both axes of three bones."""
    return [*[first] * 3, *[second] * 3] * 3


SIX = (0.0, 0.5, 0.0, 3.0, 1.0, 0.0)
"""Axes of lengths ½ and √10; three units of the second are across the first."""


def absolute(plain):
    return with_scores(plain, 0.25, -0.5, 1.0).with_conventions({"output_mode": "absolute"})


def of_axes(a, b, across, error):
    """Both axes of three bones, of these lengths, that may be wrong by so much each."""
    return six(*axes_bound(a, b, across, math.hypot(*error[:3]), math.hypot(*error[3:])))


def of_answer(numbers):
    """Four roundings of the value and of the mean of ½, and an answer of 2 times the deviation of ¼."""
    return [g(4) * (abs(v) + 0.5) + g(DEPTH) * 2.0 * 0.25 for v in numbers]


@pytest.mark.parametrize("mode", ["delta", "residual"])
def test_bound_of_a_turn_is_that_of_gram_schmidt(plain, mode):
    """The shorter an axis, or its part across the other, the less is known of its direction."""
    contract = absolute(plain).with_conventions({"output_mode": mode})
    raw = SIX if mode == "delta" else np.subtract(SIX, IDENTITY[:6]).tolist()
    found = bound_of(contract, "delta6d", y_norm=np.full((1, 18), 2.0), y_raw=[raw * 3], delta6d=[IDENTITY])
    close(found, [of_axes(0.5, math.sqrt(10), 3.0, of_answer(raw))])
    # where only the turn is recorded, two roundings of each of its axes
    close(bound_of(plain, "delta6d", delta6d=[IDENTITY]), [six(*axes_bound(1.0, 1.0, 1.0, g(2), g(2)))])


def test_bounds_from_a_turn_to_its_quaternion(plain):
    """32 roundings of a product, 24 of Gram–Schmidt, 24 of a quaternion of half the angle: the bound of what is seen."""
    known = dict.fromkeys(("delta6d", "next6d", "y_out"), [IDENTITY] * 2) | {"quat": [[0, 0, 0, 1] * 3] * 2}
    stages = {name: np.array(rows, np.float32) for name, rows in known.items()}
    moved = np.array([[0.0, 1e-3, 2e-3], [3e-3, 4e-3, 5e-3]])  # what each bone of both frames is off already
    found = stage_tolerances(plain, stages, entering={"delta6d": np.repeat(moved, 6, axis=1)})
    first, second = axes_bound(1.0, 1.0, 1.0, g(2), g(2))
    composed = np.vectorize(lambda off: angle(first + off, second + off) + g(32))(moved)
    published = composed + g(24)
    close(found["next6d"], np.repeat(composed, 6, axis=1))
    close(found["y_out"], np.repeat(published, 6, axis=1))
    close(found["quat"], np.repeat(g(24) + 0.5 * math.sqrt(2.0) * published, 4, axis=1))
    close(bound_of(plain, "quat", quat=known["quat"]), [[g(24) + g(32)] * 12] * 2)


def test_bounds_of_a_composed_pose_alone_are_those_of_the_answer_that_it_shows(plain):
    """Without the turn, the pose itself tells the largest z of the answer, and so its bound."""
    contract = with_scores(plain, 0.25, -0.5, 1.0)
    unseen = g(DEPTH) * (1.5 / 0.25) * 0.25 + g(32)
    each = math.sqrt(3.0) * unseen
    first, second = axes_bound(1.0, 1.0, 1.0, each, each)
    for stage in ("next6d", "y_out"):
        close(bound_of(contract, stage, **{stage: [IDENTITY]}), [six(first, second)])


def test_bounds_of_an_absolute_pose(plain):
    """A pose that the network gives whole: the copy has the answer's bound, what is published that of Gram–Schmidt."""
    contract, copied = absolute(plain), [g(2) * abs(v) for v in SIX]
    known = {"y_norm": np.full((1, 18), 2.0), "y_raw": [SIX * 3], "next6d": [SIX * 3], "y_out": [IDENTITY]}
    for stage, names, expected in (
        ("next6d", ("next6d",), copied * 3), ("next6d", tuple(known), of_answer(SIX) * 3),
        ("y_out", tuple(known), of_axes(0.5, math.sqrt(10), 3.0, of_answer(SIX))),
        ("y_out", ("next6d", "y_out"), of_axes(0.5, math.sqrt(10), 3.0, copied)),
    ):  # fmt: skip
        close(bound_of(contract, stage, **{name: known[name] for name in names}), [expected])


VELOCITY = slice(18, 20)


@pytest.mark.parametrize("feature", [0.9999, -0.9999, 0.25])
@pytest.mark.parametrize("is_known", [True, False])
def test_bound_of_a_velocity_that_is_undone_is_that_of_both_ends(tmp_path, feature, is_known):
    """atanh is steep near 1: a sprint is known thousands of times less well than the number that the network gives for it."""
    mean, std, scales = 0.5, 0.25, (1.5, 0.7)
    document = tiny.bundle(output={"BoneRotations6D": 18, "RootVelocity": 2}, MuY=[mean] * 20, StdY=[std] * 20)
    contract = tiny.contract(tmp_path, document)
    y_raw, y_norm = np.zeros((1, 20)), np.zeros((1, 20))
    y_raw[0, :18], y_norm[0, :18] = mean, 0.0
    y_raw[0, VELOCITY], y_norm[0, VELOCITY] = np.multiply(scales, math.atanh(feature)), (feature - mean) / std
    stages = {"y_norm": y_norm, "y_raw": y_raw} if is_known else {"y_raw": y_raw}
    found = bound_of(contract, "y_raw", **stages)[0, VELOCITY]
    shown = y_norm if is_known else (y_raw - mean) / std
    moved = g(4) * (1.0 + mean) + g(DEPTH) * np.abs(shown).max() * std
    ends = [abs(math.atanh(feature + sign * moved) - math.atanh(feature)) for sign in (-1.0, 1.0)]
    undone = [scale * max(ends) + g(8) * scale * abs(math.atanh(feature)) for scale in scales]
    plainly = moved - g(4) * (1.0 + mean) + g(4) * (np.abs(y_raw[0, VELOCITY]) + mean)
    expected = np.maximum(undone, plainly)
    np.testing.assert_allclose(found, expected, rtol=5e-3)
    # what the ordinary formula gives is not enough there, and is what a slice of rotations has
    ordinary = bound_of(contract, "y_raw", **stages)[0, :18]
    np.testing.assert_allclose(ordinary, moved - g(4) * (1.0 + mean) + g(4) * 2.0 * mean + g(8) * mean, rtol=0.1)


def test_bound_of_what_is_published_beside_the_pose_is_that_of_the_answer(tmp_path):
    """A velocity is copied: four roundings of it, or what the answer's own bound is."""
    document = tiny.bundle(output={"BoneRotations6D": 18, "RootVelocity": 2})
    contract = tiny.contract(tmp_path, document)
    rows = [[*IDENTITY, 0.5, 3.0]]
    close(bound_of(contract, "y_out", y_out=rows)[0, VELOCITY], [g(4) * 0.5, g(4) * 3.0])
    known = bound_of(contract, "y_raw", y_raw=rows)[0, VELOCITY]
    assert (known > g(4) * 3.0).all()
    close(bound_of(contract, "y_out", y_raw=rows, y_out=rows)[0, VELOCITY], known)


def test_bound_of_what_a_run_writes_back_with_derived_motion(plain):
    """Velocities of two poses, thirty a second; a root that moved by its velocity: each with both poses' bounds."""
    contract = replace(plain.with_conventions({"writeback": "all"}), fps=30.0)
    before, after = np.zeros((1, 33), np.float32), np.zeros((1, 33), np.float32)
    before[0, :2], after[0, :3], after[0, 3:5], after[0, SPIN] = (8.0, -4.0), (2.0, 1.0, 0.5), (-3.0, 6.0), 7.0
    before[0, 6:24] = after[0, 6:24] = IDENTITY
    off = 1e-3
    stage = contract.system.graph["x_raw_next"]
    bounds = {"y_out": np.full((1, 18), off)}
    found = stage.bound(KnownFrames(contract, {"x_raw": before}, mode="free"), after, bounds)[0]
    close(found[6:24], [off] * 18)
    turn = angle(*axes_bound(1.0, 1.0, 1.0, 0.0, 0.0)) + angle(*axes_bound(1.0, 1.0, 1.0, *[off * math.sqrt(3.0)] * 2))
    close(found[SPIN], [g(4) * 7.0 + 30.0 * (turn + g(32) + g(24))] * 9)
    close(found[3:5], [g(4) * 3.0, g(4) * 6.0])
    close(found[:3], [g(4) * (2.0 + 8.0 + 3.0 / 30.0), g(4) * (1.0 + 4.0 + 6.0 / 30.0), g(4) * 0.5])
    driven = stage.bound(KnownFrames(contract, {"x_raw": before}), after, bounds)[0]
    raw = bound_of(contract, "x_raw", x_raw=after)[0]
    close(driven, [*raw[:6], *[off] * 18, *raw[24:]])


def test_a_bone_that_turns_half_round_may_turn_either_way(plain):
    """Two honest engines wrote rates of opposite signs, and one of them was blamed."""
    contract = replace(plain.with_conventions({"writeback": "all"}), fps=30.0)
    before, after = np.zeros((1, 33), np.float32), np.zeros((1, 33), np.float32)
    before[0, 6:24] = after[0, 6:24] = IDENTITY
    half = 30.0 * math.pi
    after[0, SPIN] = (half, 0.0, 0.0, 0.0, -0.6 * half, 0.8 * half, 0.0, 0.0, 0.99 * half)
    frames = KnownFrames(contract, {"x_raw": before}, mode="free")
    found = contract.system.graph["x_raw_next"].bound(frames, after, {})[0, SPIN]
    turn = angle(*axes_bound(1.0, 1.0, 1.0, 0.0, 0.0)) + angle(*axes_bound(1.0, 1.0, 1.0, g(4), g(4)))
    rates, either_way = np.abs(after[0, SPIN], dtype=np.float64), np.repeat([2.0, 2.0, 0.0], 3)
    close(found, (g(4) + either_way) * rates + 30.0 * (turn + g(32) + g(24)))


def test_bound_of_a_pose_without_a_contract_assumes_a_long_sum():
    """Two recordings without a bundle: 2048 inputs, a product and Gram–Schmidt."""
    close(pose_tolerance_without_contract(np.zeros((2, 18), np.float32)), np.full((2, 18), g(2048) + g(32) + g(24)))


# --- bounds that are measured, and numbers written with few digits ----------------------------------------------------


def test_bound_of_a_stage_without_one_is_two_roundings_and_what_moves_it(plain):
    """Five times an input: its bound counts five times, once, and inputs that are exact count nothing."""
    stage = Stage("five", plain.system.graph["cond"].layout, needs=("x",), compute=lambda frames: 5.0 * frames["x"])
    rows = np.array([[1.0, -2.0, 4.0]])
    frames = KnownFrames(plain, {"x": rows / 5.0})
    close(stage_bound(stage, frames, rows, {}), g(2) * np.abs(rows))
    close(stage_bound(stage, frames, rows, {"x": np.zeros((1, 3))}), g(2) * np.abs(rows))
    moved = np.array([[0.25, 0.0, np.nan]])
    np.testing.assert_allclose(stage_bound(stage, frames, rows, {"x": moved}), [[5.0 * 0.25, 0, 0]], atol=1e-5)
    assert stage_bound(replace(stage, is_propagated=True), frames, rows, {"x": moved})[0, 0] < 1e-5


@pytest.mark.parametrize("signs", [(1.0, 1.0), (1.0, -1.0)])
def test_a_measured_bound_finds_inputs_that_add_up_and_that_cancel(plain, signs):
    """Both inputs up, or one up and one down: whichever moves the result most counts."""
    layout, compute = plain.system.graph["cond"].layout, lambda frames: signs[0] * frames["x"] + signs[1] * frames["y"]
    stage = Stage("two", layout, needs=("x", "y"), compute=compute)
    frames = KnownFrames(plain, {"x": np.zeros((4, 3)), "y": np.zeros((4, 3))})
    found = stage_bound(stage, frames, np.zeros((4, 3)), {"x": np.full((4, 3), 0.5), "y": np.full((4, 3), 0.25)})
    if signs[1] > 0:
        close(found, np.full((4, 3), 0.75))
    else:
        assert found.max() == pytest.approx(0.75)
        assert found.min() >= 0.25


def test_numbers_of_few_digits_are_allowed_four_times_what_their_last_digit_moves(plain):
    """The recorder's rounding is not a defect; more than four times its effect is one."""
    contract = with_scores(plain, 8.0, 0.0, 1.0)
    y_norm = np.array([np.linspace(-1.0, 1.0, 18)], np.float32)
    y_raw, found = 8.0 * y_norm, []
    for precision in (None, Precision(decimals=3)):
        stages = {"y_norm": y_norm, "y_raw": y_raw}
        frames = ReplayedFrames(Evidence(np.array([0]), 30.0, "free", stages, precision=precision), contract)
        found.append(replay_bound(frames, "y_raw", y_raw))
    close(found[0], g(4) * np.abs(y_raw, dtype=np.float64))
    np.testing.assert_allclose(found[1] - found[0], np.full((1, 18), 4.0 * 8.0 * 0.5e-3), rtol=1e-2)


def test_frames_count_from_zero_and_know_their_network_where_there_is_one(plain):
    """Without frame numbers there are as many frames as the longest stage has; a bound must not ask nothing for its weights."""
    frames = KnownFrames(plain, {"cond": np.zeros((2, 7)), "contacts": np.zeros((3, 2))})
    found = [each.frame.tolist() for each in (frames, KnownFrames(plain, {}), KnownFrames(plain, {}, np.array([7, 8])))]
    assert found == [[0, 1, 2], [], [7, 8]]
    network = object()
    assert KnownFrames(plain, {}, network=network).network is network
    with pytest.raises(NotKnown):
        _ = frames.network
