"""The bounds of what the network is given, worked out again by hand: a bound a step too wide or too narrow shows."""

import math
from dataclasses import replace

import numpy as np

from rigpact.reference_runtime.graph.bounds import KnownFrames, stage_tolerances
from rigpact.reference_runtime.vocabulary.character.state_features import _yaw_bound

from ..every_case import every_case
from .bounds_by_hand import IDENTITY, UNIT, YAW, bound_of, close, g, with_scores

NUMBERS = (1.0, -0.5, 0.25, 0.0, 0.0, 2.0, 1.0)
DIRECTION = [g(12) * abs(v) + g(2) * UNIT for v in NUMBERS]
"""A direction has a length, a division and a speed."""


def window(raw, z):
    """Sixty sums and a deviation of a thousandth at least, and the z-score's own."""
    return g(72) * (raw / 1e-3 + z)


ZSCORE = {"condition_norm": "zscore"}


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
    close(_yaw_bound("x_raw", frames, state, np.full((2, 1), (distance - g(8)) / 4.0)), [[2.0], [0.0]])


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
