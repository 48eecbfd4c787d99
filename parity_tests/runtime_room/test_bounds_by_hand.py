"""Bounds of what the network is given and of what it answers, by hand: one a step too wide or too narrow shows."""

import math
from dataclasses import replace

import numpy as np
import pytest

from rigpact.contract.statistics import Statistics, frozen_float32
from rigpact.reference_runtime.graph.bounds import KnownFrames, stage_tolerances
from rigpact.reference_runtime.systems.enemy_animation.pose import pose_tolerance_without_contract
from rigpact.reference_runtime.systems.enemy_animation.state import _yaw_bound

from ..every_case import every_case
from . import tiny_character as tiny
from .bounds_by_hand import DEPTH, IDENTITY, SPIN, UNIT, YAW, angle, axes_bound, bound_of, close, g, with_scores

ZSCORE = {"condition_norm": "zscore"}
NUMBERS = (1.0, -0.5, 0.25, 0.0, 0.0, 2.0, 1.0)
DIRECTION = [g(12) * abs(v) + g(2) * UNIT for v in NUMBERS]
"""A direction has a length, a division and a speed."""


def window(raw, z):
    """Sixty sums and a deviation of a thousandth at least, and the z-score's own."""
    return g(72) * (raw / 1e-3 + z)


@every_case(
    ("stage", "knobs", "given", "expected"),
    [
        ("contacts", {}, {"contacts": [0.25, -0.75]}, [0.25 * g(2), 0.75 * g(2)]),
        ("cond_raw", {}, {"cond_raw": NUMBERS}, DIRECTION),
        ("cond", {}, {"cond": NUMBERS}, DIRECTION),
        ("cond", ZSCORE, {"cond_raw": [[0.5] * 7, [-2.0] * 7], "cond": [[1.5] * 7, [-0.5] * 7]},
        [[window(2.0, z)] * 7 for z in (1.5, 0.5)]),
        ("cond", ZSCORE, {"cond": [[1.5] * 7, [-0.5] * 7]}, [[window(1.5, z)] * 7 for z in (1.5, 0.5)]),
        ("pose_hist_raw", {}, {"pose_hist_raw": IDENTITY * 3}, [g(24)] * 54),
        # rotations are encoded again, and moved to unit length
        ("pose_hist_raw", {}, {"pose_hist_raw": [1.25, 0, 0, 0, 0, 0.5] * 9}, [g(24) + m for m in (0.25, 0, 0, 0, 0, 0.5)] * 9),
    ],
)  # fmt: skip
def test_bounds_of_raw_inputs(plain, stage, knobs, given, expected):
    """Copied scores that may differ more hide contacts of another frame, more room hides another heading."""
    rows = {name: np.atleast_2d(numbers) for name, numbers in given.items()}
    close(bound_of(plain.with_conventions(knobs), stage, **rows), np.atleast_2d(expected))


def zscored(z, std, mean, beyond=0.0):
    """(p - mean) / std, p = z·std + mean: eight roundings of p, two of the mean, four of the quotient."""
    return (g(8) * abs(z * std + mean) + g(2) * abs(mean) + beyond) / std + g(4) * abs(z)


@every_case(("std", "mean"), [(0.5, 0.25), (0.01, -2.0)])
def test_bound_of_a_state_is_that_of_its_zscore(plain, std, mean):
    """Positions, velocities and rotations have one formula; the entries of unit axes round absolutely."""
    contract = with_scores(plain, std, mean, 1.0).with_conventions({"yaw_encoding": "unwrapped_over_pi"})
    found = bound_of(contract, "state", state=np.full((1, 33), 0.75))[0]
    std, mean = float(np.float32(std)), float(np.float32(mean))
    ordinary, axis = zscored(0.75, std, mean), zscored(0.75, std, mean, g(2))
    # a heading that is not known may be of one whole turn
    close(
        found, [*[ordinary] * 5, ordinary + g(4) * 2.0 * math.pi * 1.0 / math.pi / std, *[axis] * 18, *[ordinary] * 9]
    )


ENCODINGS = [("wrapped_over_pi", 1.0), ("radians", math.pi)]


def of_yaw(plain, encoding, heading, z):
    """The bound of a state whose heading and its z-score are known."""
    contract = with_scores(plain, 0.5, 0.25, 1.0).with_conventions({"yaw_encoding": encoding})
    raw, state = np.zeros((1, 33), np.float32), np.zeros((1, 33))
    raw[0, YAW], state[0, YAW] = heading, z
    return stage_tolerances(contract, {"x_raw": raw, "state": state}, given=("x_raw",))["state"][0, YAW]


@every_case(("encoding", "end"), ENCODINGS)
@every_case("turns", [0.25, 5.25])
def test_bound_of_a_heading_grows_with_its_turns(plain, encoding, end, turns):
    """An enemy that circled the player often knows its heading less well, by exactly as many turns."""
    heading = float(np.float32(turns * 2.0 * math.pi))
    z = float(np.float32((math.remainder(heading, 2.0 * math.pi) * end / math.pi - 0.25) / 0.5))
    close(of_yaw(plain, encoding, heading, z), zscored(z, 0.5, 0.25) + g(4) * heading * end / math.pi / 0.5)


@every_case(("encoding", "end"), ENCODINGS)
@every_case(("side", "steps"), [(side, steps) for side in (-1.0, 1.0) for steps in (0.0, 0.9, 1.1)])
def test_bound_of_a_heading_at_the_seam_is_the_whole_range_and_nowhere_else(plain, encoding, end, side, steps):
    """Facing backwards both ends of the range are right. A little before, only one is: no heading may be waved through."""
    turned = g(4) * math.pi * end / math.pi / 0.5
    before = steps * (end * g(8) + 4.0 * (zscored((side * end - 0.25) / 0.5, 0.5, 0.25) + turned) * 0.5)
    z = (side * (end - before) - 0.25) / 0.5
    rounded = zscored(z, 0.5, 0.25) + turned
    close(of_yaw(plain, encoding, side * math.pi, z), rounded + (2.0 * end / 0.5 if steps < 1.0 else 0.0))


def test_a_heading_exactly_as_far_from_the_seam_as_it_may_be_wrong_by_may_be_on_either_side(plain):
    """One bit farther away it is not: a fourth of that distance is left for its rounding, beside eight roundings of the end."""
    contract = with_scores(plain, 1.0, 0.0, 1.0).with_conventions({"yaw_encoding": "wrapped_over_pi"})
    frames = KnownFrames(contract, {"x_raw": np.zeros((2, 33), np.float32)})
    state, distance = np.zeros((2, 33)), 2.0**-10
    state[:, YAW] = 1.0 - distance, 1.0 - distance - 2.0**-53
    close(_yaw_bound(frames, state, np.full((2, 1), (distance - g(8)) / 4.0)), [[2.0], [0.0]])


def test_bound_of_a_state_includes_what_its_raw_numbers_may_differ(plain):
    """A raw state of another side is rounded already: its z-score differs by that over the deviation."""
    contract = with_scores(plain, 0.5, 0.25, 1.0)
    stages = {"x_raw": np.zeros((1, 33), np.float32), "state": np.full((1, 33), -0.5, np.float32)}
    given = stage_tolerances(contract, stages, given=("x_raw",))
    inherited = stage_tolerances(contract, stages, entering={"x_raw": np.full((1, 33), 0.125)})
    assert stage_tolerances(contract, stages)["x_raw"][0, 0] < 1e-5  # so that an eighth leads
    close(inherited["x_raw"], given["x_raw"] + 0.125)
    np.testing.assert_allclose((inherited["state"] - given["state"])[0, :3], 0.125 / 0.5, rtol=1e-4)


@every_case("speed", [1.0, -1.0])
def test_bound_of_a_squashed_velocity_is_that_of_the_end_that_moves_it_more(plain, speed):
    """tanh is flat at a sprint and steep at rest: half a metre a second less moves the feature more than half more."""
    contract, state = with_scores(plain, 0.5, 0.25, 1.0), np.zeros((1, 33), np.float32)
    raw, off = np.zeros((1, 33), np.float32), np.zeros((1, 33))
    raw[0, 3:5], off[0, 3:5] = speed, 0.5  # the other channels are exact
    stage, frames = contract.system.graph["state"], KnownFrames(contract, {"x_raw": raw})
    found = (stage.bound(frames, state, {"x_raw": off}) - stage.bound(frames, state, {}))[0, 3:5]
    moved = [(math.tanh(1.0 / scale) - math.tanh(0.5 / scale)) / 0.5 for scale in (1.5, 0.7)]
    np.testing.assert_allclose(found, moved, rtol=1e-5)


def test_bound_of_a_raw_state_is_that_of_undoing_a_zscore(plain):
    """A teacher file holds z-scores: each side undoes them by itself, a position by four roundings of both terms."""
    x = 2.0
    found = bound_of(with_scores(plain, 0.5, 3.0, 1.0), "x_raw", x_raw=np.full((1, 33), x))[0, :3]
    moved = g(4) * (abs(x - 3.0) / 0.5 + 3.0 / 0.5)
    # the ends of the interval are float32 numbers: a rounding of the end on top
    np.testing.assert_allclose(found, moved * 0.5 + g(8) * x, atol=1.01 * UNIT * x)


def turned(z, std, mean, error, scale):
    """tanh of a raw number, z-scored: what the raw number may be wrong by is shortened by the slope, 1 - tanh²."""
    shifted = min(error / scale, 1.0)
    feature = max(min(abs(z * std + mean), 1.0) - shifted, 0.0)
    return zscored(z, std, mean, (1.0 - feature**2) * shifted)


SCALES = [3.0, 0.5, 1e-9]


def floor(scale):
    return max(float(np.float32(scale)), 1e-6)


@every_case("scale", SCALES)
@every_case("z", [0.75, -1.75, 4.0])
def test_bound_of_velocities_of_two_poses_is_divided_by_the_time_between(plain, z, scale):
    """Thirty times a second twenty-four roundings of a pose: a joint's speed is known that well, and no worse."""
    contract = with_scores(plain, 0.5, 0.25, scale).with_conventions({"angvel_source": "rotations"})
    found = bound_of(contract, "angvel", angvel=np.full((1, 9), z))
    close(found, [[turned(z, 0.5, 0.25, g(24) * 30.0, floor(scale))] * 9])


def test_bound_of_velocities_of_other_sources(plain):
    """Of statistics that of a score; of the state, where it is known, the state's and their own; zeros are exact."""
    contract, own, z = with_scores(plain, 0.5, 0.25, 3.0), zscored(0.75, 0.5, 0.25), np.full((1, 9), 0.75)
    without = contract.with_numbers(replace(contract.numbers, angular_velocity=None))
    state = {"state": np.concatenate((np.full((1, 24), -3.0), np.full((1, 9), 2.0)), axis=1)}
    both = own + zscored(2.0, 0.5, 0.25)
    for of, source, known, expected in (
        (contract, "aux_stats", {}, own), (contract, "zeros", {}, 0.0), (contract, "state_slice", {}, own),
        (contract, "state_slice", state, both), (without, "aux_stats", state, both),
    ):  # fmt: skip
        close(bound_of(of.with_conventions({"angvel_source": source}), "angvel", angvel=z, **known), [[expected] * 9])


@every_case("scale", [3.0, 1e-9])
def test_bound_of_velocities_in_a_bones_own_frame_is_that_of_the_whole_vector(plain, scale):
    """A component of a turned vector is a sum over all three: its error is that of the vector's length."""
    contract = with_scores(plain, 0.5, 0.25, scale).with_conventions({"angvel_frame": "local"})
    z, expected = [0.5, -1.0, 0.25, 1.0, 0.0, -0.5, 0.0, 0.0, 3.0], []
    for own in (z[:3], z[3:6], z[6:]):
        raw = [floor(scale) * math.atanh(min(v * 0.5 + 0.25, 1.0 - UNIT)) for v in own]
        expected += [turned(v, 0.5, 0.25, g(24) * math.hypot(*raw), floor(scale)) for v in own]
    close(bound_of(contract, "angvel", angvel=[z]), [expected])


def unsquashed(z, scale):
    """A scale below one magnifies what the raw numbers may be wrong by; one above may be left out, so it counts as one."""
    return g(4) / min(floor(scale), 1.0) + g(8) * abs(z)


@every_case(
    ("norm", "expected"),
    [("tanh_zscore", lambda z, scale: turned(z, 0.5, 0.25, g(4), floor(scale))),
    *((norm, unsquashed) for norm in ("tanh", "tanh_unit_scale", "raw")),
     ("linear", lambda z, scale: zscored(z, 0.5, 0.25, g(4) / floor(scale)))],
     # nothing shortens an error where nothing is squashed
)  # fmt: skip
@every_case("scale", SCALES)
@every_case("z", [0.75, -0.75])
def test_bound_of_a_history_is_that_of_its_raw_numbers_through_its_norm(plain, norm, expected, scale, z):
    """Four roundings, or what the recorded history before it may be wrong by, through the same tanh and z-score."""
    contract = with_scores(plain, 0.5, 0.25, scale).with_conventions({"pose_history_norm": norm})
    rows = np.full((2, 54), z)
    close(bound_of(contract, "pose_hist", pose_hist=rows), [[expected(z, scale)] * 54] * 2)
    if norm == "tanh_zscore":
        both = bound_of(contract, "pose_hist", pose_hist_raw=[IDENTITY * 3] * 2, pose_hist=rows)
        close(both, [[turned(z, 0.5, 0.25, g(4) + g(24), floor(scale))] * 54] * 2)
        bare = contract.with_numbers(replace(contract.numbers, pose_history=None))  # mean 0, deviation 1, scale 1
        close(bound_of(bare, "pose_hist", pose_hist=rows), [[turned(z, 1.0, 0.0, g(4), 1.0)] * 54] * 2)


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
