"""The bounds of what the network is given, worked out again by hand: a bound a step too wide or too narrow shows."""

import math
from dataclasses import replace

import numpy as np
import pytest

from rigpact.reference_runtime.graph.bounds import KnownFrames, stage_tolerances
from rigpact.reference_runtime.vocabulary.character.state_features import _yaw_bound

from ..every_case import every_case
from . import tiny_character as tiny
from .bounds_by_hand import IDENTITY, SPIN, UNIT, YAW, bound_of, close, g, row, with_scores


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """The tiny character, loaded once."""
    return tiny.contract(tmp_path_factory.mktemp("bounds"))


def test_bound_of_contacts_is_two_roundings(plain):
    """Copied scores that may differ more hide contacts of another frame."""
    close(bound_of(plain, "contacts", contacts=row(0.25, -0.75)), row(0.25 * g(2), 0.75 * g(2)))


def test_bound_of_a_direction_is_twelve_roundings(plain):
    """A direction has a length, a division and a speed: more room than that hides another heading."""
    numbers = (1.0, -0.5, 0.25, 0.0, 0.0, 2.0, 1.0)
    expected = [[g(12) * abs(v) + g(2) * UNIT for v in numbers]]
    close(bound_of(plain, "cond_raw", cond_raw=row(*numbers)), expected)
    close(bound_of(plain, "cond", cond=row(*numbers)), expected)


def test_bound_of_a_condition_over_a_window_has_its_sixty_samples(plain):
    """Sixty sums and a deviation of a thousandth at least: the window's bound is that, and the z-score's own."""
    contract = plain.with_conventions({"condition_norm": "zscore"})
    raw, scores = [[0.5] * 7, [-2.0] * 7], [[1.5] * 7, [-0.5] * 7]
    found = bound_of(contract, "cond", cond_raw=raw, cond=scores)
    close(found, [[g(72) * (2.0 / 1e-3 + 1.5)] * 7, [g(72) * (2.0 / 1e-3 + 0.5)] * 7])
    close(bound_of(contract, "cond", cond=scores), [[g(72) * (1.5 / 1e-3 + 1.5)] * 7, [g(72) * (1.5 / 1e-3 + 0.5)] * 7])


def zscored(z, std, mean, beyond=0.0):
    """(p - mean) / std, p = z·std + mean: eight roundings of p, two of the mean, four of the quotient."""
    return (g(8) * abs(z * std + mean) + g(2) * abs(mean) + beyond) / std + g(4) * abs(z)


@pytest.mark.parametrize(("std", "mean"), [(0.5, 0.25), (0.01, -2.0)])
def test_bound_of_a_state_is_that_of_its_zscore(plain, std, mean):
    """Positions, velocities and rotations have one formula; the entries of unit axes round absolutely."""
    contract = with_scores(plain, std, mean, 1.0).with_conventions({"yaw_encoding": "unwrapped_over_pi"})
    z = 0.75
    found = bound_of(contract, "state", state=np.full((1, 33), z))[0]
    std, mean = float(np.float32(std)), float(np.float32(mean))
    ordinary, axis = zscored(z, std, mean), zscored(z, std, mean, g(2))
    close(found[:YAW], [ordinary] * 5)
    close(found[YAW + 1 : 24], [axis] * 18)
    close(found[SPIN], [ordinary] * 9)
    # a heading that is not known may be of one whole turn
    close(found[YAW], ordinary + g(4) * 2.0 * math.pi * 1.0 / math.pi / std)


@pytest.mark.parametrize(("encoding", "end"), [("wrapped_over_pi", 1.0), ("radians", math.pi)])
@pytest.mark.parametrize("turns", [0.25, 5.25])
def test_bound_of_a_heading_grows_with_its_turns(plain, encoding, end, turns):
    """An enemy that circled the player often knows its heading less well, by exactly as many turns."""
    contract = with_scores(plain, 0.5, 0.25, 1.0).with_conventions({"yaw_encoding": encoding})
    heading = np.float32(turns * 2.0 * math.pi)
    feature = math.remainder(float(heading), 2.0 * math.pi) * end / math.pi
    z, raw = (feature - 0.25) / 0.5, np.zeros((1, 33), np.float32)
    raw[0, YAW] = heading
    state = np.zeros((1, 33), np.float32)
    state[0, YAW] = z
    known = {"x_raw": raw, "state": state}
    found = stage_tolerances(contract, known, given=("x_raw",))["state"][0, YAW]
    close(found, zscored(float(np.float32(z)), 0.5, 0.25) + g(4) * float(heading) * end / math.pi / 0.5)


@pytest.mark.parametrize("encoding", ["wrapped_over_pi", "radians"])
@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_bound_of_a_heading_at_the_seam_is_the_whole_range_and_nowhere_else(plain, encoding, side):
    """Facing backwards both ends of the range are right. A little before, only one is: no heading may be waved through."""
    contract = with_scores(plain, 0.5, 0.25, 1.0).with_conventions({"yaw_encoding": encoding})
    end = math.pi if encoding == "radians" else 1.0
    jump = 2.0 * end / 0.5
    found = {}
    turned = g(4) * math.pi * end / math.pi / 0.5
    for steps in (0.0, 0.9, 1.1):
        z = (side * end - 0.25) / 0.5
        rounding = zscored(z, 0.5, 0.25)
        before = steps * (end * g(8) + 4.0 * (rounding + turned) * 0.5)
        raw, state = np.zeros((1, 33), np.float32), np.zeros((1, 33))
        raw[0, YAW], state[0, YAW] = side * math.pi, (side * (end - before) - 0.25) / 0.5
        found[steps] = stage_tolerances(contract, {"x_raw": raw, "state": state}, given=("x_raw",))["state"][0, YAW]
        rounded = zscored(state[0, YAW], 0.5, 0.25) + turned
        close(found[steps], rounded + (jump if steps < 1.0 else 0.0))


def test_a_heading_exactly_as_far_from_the_seam_as_it_may_be_wrong_by_may_be_on_either_side(plain):
    """One bit farther away it is not: a fourth of that distance is left for its rounding, beside eight roundings of the end."""
    contract = with_scores(plain, 1.0, 0.0, 1.0).with_conventions({"yaw_encoding": "wrapped_over_pi"})
    frames = KnownFrames(contract, {"x_raw": np.zeros((2, 33), np.float32)})
    state, distance = np.zeros((2, 33)), 2.0**-10
    state[:, YAW] = 1.0 - distance, 1.0 - distance - 2.0**-53
    rounding = np.full((2, 1), (distance - g(8)) / 4.0)
    close(_yaw_bound("x_raw", frames, state, rounding), [[2.0], [0.0]])


def test_bound_of_a_state_includes_what_its_raw_numbers_may_differ(plain):
    """A raw state of another side is rounded already: its z-score differs by that over the deviation."""
    contract = with_scores(plain, 0.5, 0.25, 1.0)
    stages = {"x_raw": np.zeros((1, 33), np.float32), "state": np.full((1, 33), -0.5, np.float32)}
    given = stage_tolerances(contract, stages, given=("x_raw",))
    inherited = stage_tolerances(contract, stages, entering={"x_raw": np.full((1, 33), 0.125)})
    own = stage_tolerances(contract, stages)["x_raw"][0, 0]
    assert own < 1e-5  # so that an eighth leads
    close(inherited["x_raw"], given["x_raw"] + 0.125)
    np.testing.assert_allclose((inherited["state"] - given["state"])[0, :3], 0.125 / 0.5, rtol=1e-4)


@pytest.mark.parametrize("speed", [1.0, -1.0])
def test_bound_of_a_squashed_velocity_is_that_of_the_end_that_moves_it_more(plain, speed):
    """tanh is flat at a sprint and steep at rest: half a metre a second less moves the feature more than half more."""
    contract = with_scores(plain, 0.5, 0.25, 1.0)
    raw, off, state = np.zeros((1, 33), np.float32), np.zeros((1, 33)), np.zeros((1, 33), np.float32)
    raw[0, 3:5], off[0, 3:5] = speed, 0.5  # the other channels are exact
    stage = contract.system.graph["state"]
    frames = KnownFrames(contract, {"x_raw": raw})
    found = (stage.bound(frames, state, {"x_raw": off}) - stage.bound(frames, state, {}))[0, 3:5]
    moved = [(math.tanh(1.0 / scale) - math.tanh(0.5 / scale)) / 0.5 for scale in (1.5, 0.7)]
    np.testing.assert_allclose(found, moved, rtol=1e-5)


def test_bound_of_a_raw_state_is_that_of_undoing_a_zscore(plain):
    """A teacher file holds z-scores: each side undoes them by itself, a position by four roundings of both terms."""
    contract = with_scores(plain, 0.5, 3.0, 1.0)
    x = 2.0
    found = bound_of(contract, "x_raw", x_raw=np.full((1, 33), x))[0, :3]
    moved = g(4) * (abs(x - 3.0) / 0.5 + 3.0 / 0.5)
    # the ends of the interval are float32 numbers: a rounding of the end on top
    np.testing.assert_allclose(found, moved * 0.5 + g(8) * x, atol=1.01 * UNIT * x)


def turned(z, std, mean, error, scale):
    """tanh of a raw number, z-scored: what the raw number may be wrong by is shortened by the slope, 1 - tanh²."""
    shifted = min(error / scale, 1.0)
    feature = max(min(abs(z * std + mean), 1.0) - shifted, 0.0)
    return zscored(z, std, mean, (1.0 - feature**2) * shifted)


@every_case("scale", [3.0, 0.5, 1e-9])
@every_case("z", [0.75, -1.75, 4.0])
def test_bound_of_velocities_of_two_poses_is_divided_by_the_time_between(plain, z, scale):
    """Thirty times a second twenty-four roundings of a pose: a joint's speed is known that well, and no worse."""
    contract = with_scores(plain, 0.5, 0.25, scale).with_conventions({"angvel_source": "rotations"})
    found = bound_of(contract, "angvel", angvel=np.full((1, 9), z))
    close(found, [[turned(z, 0.5, 0.25, g(24) * 30.0, max(float(np.float32(scale)), 1e-6))] * 9])


def test_bound_of_velocities_of_statistics_is_that_of_a_zscore(plain):
    """The ordinary way: the clip's own speed, squashed and scored."""
    contract = with_scores(plain, 0.5, 0.25, 3.0)
    close(bound_of(contract, "angvel", angvel=np.full((1, 9), 0.75)), [[zscored(0.75, 0.5, 0.25)] * 9])
    none = contract.with_conventions({"angvel_source": "zeros"})
    assert not bound_of(none, "angvel", angvel=np.full((1, 9), 0.75)).any()


def test_bound_of_velocities_from_the_state_is_the_states_and_their_own(plain):
    """Where the state is known, its velocities' bound is inherited; where it is not, only the score's own is left."""
    contract = with_scores(plain, 0.5, 0.25, 3.0).with_conventions({"angvel_source": "state_slice"})
    z, own = np.full((1, 9), 0.75), zscored(0.75, 0.5, 0.25)
    close(bound_of(contract, "angvel", angvel=z), [[own] * 9])
    state = np.concatenate((np.full((1, 24), -3.0), np.full((1, 9), 2.0)), axis=1)
    close(bound_of(contract, "angvel", state=state, angvel=z), [[own + zscored(2.0, 0.5, 0.25)] * 9])
    without = contract.with_numbers(replace(contract.numbers, angular_velocity=None)).with_conventions(
        {"angvel_source": "aux_stats"}
    )
    close(bound_of(without, "angvel", state=state, angvel=z), [[own + zscored(2.0, 0.5, 0.25)] * 9])


@pytest.mark.parametrize("scale", [3.0, 1e-9])
def test_bound_of_velocities_in_a_bones_own_frame_is_that_of_the_whole_vector(plain, scale):
    """A component of a turned vector is a sum over all three: its error is that of the vector's length."""
    contract = with_scores(plain, 0.5, 0.25, scale).with_conventions({"angvel_frame": "local"})
    z = [0.5, -1.0, 0.25, 1.0, 0.0, -0.5, 0.0, 0.0, 3.0]
    floored = max(float(np.float32(scale)), 1e-6)
    found = bound_of(contract, "angvel", angvel=[z])[0]
    for bone in range(3):
        own = z[3 * bone : 3 * bone + 3]
        raw = [floored * math.atanh(min(v * 0.5 + 0.25, 1.0 - UNIT)) for v in own]
        error = g(24) * math.hypot(*raw)
        close(found[3 * bone : 3 * bone + 3], [turned(v, 0.5, 0.25, error, floored) for v in own])


def test_bound_of_a_raw_history_is_that_of_encoding_it_again(plain):
    """The engine keeps rotations and encodes them again: six numbers of a clip with few decimals move to unit length."""
    close(bound_of(plain, "pose_hist_raw", pose_hist_raw=[IDENTITY * 3]), [[g(24)] * 54])
    longer = [[1.25, 0, 0, 0, 0, 0.5] * 9]
    close(bound_of(plain, "pose_hist_raw", pose_hist_raw=longer), [[g(24) + m for m in (0.25, 0, 0, 0, 0, 0.5)] * 9])


@pytest.mark.parametrize("scale", [3.0, 0.5, 1e-9])
def test_bound_of_a_squashed_history_is_that_of_its_raw_numbers(plain, scale):
    """Four roundings, or what the recorded history before it may be wrong by, through the same tanh and z-score."""
    contract, z = with_scores(plain, 0.5, 0.25, scale), np.full((1, 54), 0.75)
    floored = max(float(np.float32(scale)), 1e-6)
    close(bound_of(contract, "pose_hist", pose_hist=z), [[turned(0.75, 0.5, 0.25, g(4), floored)] * 54])
    both = bound_of(contract, "pose_hist", pose_hist_raw=[IDENTITY * 3], pose_hist=z)
    close(both, [[turned(0.75, 0.5, 0.25, g(4) + g(24), floored)] * 54])


@every_case("norm", ["tanh", "tanh_unit_scale", "raw"])
@every_case("scale", [3.0, 0.5, 1e-9])
def test_bound_of_a_history_without_zscore_is_its_raw_numbers_over_the_scale(plain, norm, scale):
    """A scale below one magnifies what the raw numbers may be wrong by; one above may be left out, so it counts as one."""
    contract = with_scores(plain, 0.5, 0.25, scale).with_conventions({"pose_history_norm": norm})
    floored = min(max(float(np.float32(scale)), 1e-6), 1.0)
    found = bound_of(contract, "pose_hist", pose_hist=np.full((1, 54), -0.75))
    close(found, [[g(4) / floored + g(8) * 0.75] * 54])


@pytest.mark.parametrize("scale", [3.0, 0.5, 1e-9])
def test_bound_of_a_history_without_tanh_is_that_of_its_zscore(plain, scale):
    """Nothing shortens an error where nothing is squashed."""
    contract = with_scores(plain, 0.5, 0.25, scale).with_conventions({"pose_history_norm": "linear"})
    error = g(4) / max(float(np.float32(scale)), 1e-6)
    close(bound_of(contract, "pose_hist", pose_hist=np.full((1, 54), 0.75)), [[zscored(0.75, 0.5, 0.25, error)] * 54])


def test_bound_of_a_history_without_statistics_has_those_that_change_nothing(plain):
    """A bundle without a history's statistics: mean 0, deviation 1, scale 1."""
    contract = plain.with_numbers(replace(plain.numbers, pose_history=None))
    close(
        bound_of(contract, "pose_hist", pose_hist=np.full((2, 54), 0.75)),
        [[turned(0.75, 1.0, 0.0, g(4), 1.0)] * 54] * 2,
    )
