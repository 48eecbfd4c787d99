"""The Cond input: bits, direction and speed of a clip, and the z-score over a window."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rigpact.contract.pages.registry import find_system
from rigpact.reference_runtime.vocabulary.character.condition import (
    DIRECTION,
    NORMALISE,
    SPEED_FACTOR,
    ConditionInput,
    condition_rows,
    window_zscore,
)

from ..every_case import every_case
from . import tiny_character as tiny
from .scalar_oracle import quantile

KNOBS = find_system("enemy_animation").knobs

STORE = 2.0**-24
TRAJECTORY_MIDDLE = (0.6, 0.8)
READING = {
    "velocity": lambda vx, vy: (vx, vy),
    "trajectory": lambda vx, vy: TRAJECTORY_MIDDLE,
    "negated": lambda vx, vy: (-vx, -vy),
    "swapped_xy": lambda vx, vy: (vy, vx),
    "mirrored_y": lambda vx, vy: (vx, -vy),
}


def expected_row(velocity, direction="velocity", factor=1.0):
    x, y = READING[direction](*velocity)
    size = math.hypot(x, y)
    unit = (x / size, y / size) if size >= 1e-3 else (0.0, 0.0)
    return [0.0, 1.0, 0.0, 0.0, *unit, factor * math.hypot(*velocity)]


def clip_moving_at(folder, velocities, **changes):
    document = tiny.clip_document(len(velocities))
    for frame, velocity in zip(document["Frames"], velocities, strict=True):
        frame.update(RootVelocityXY=list(velocity), **changes)
    return tiny.clip(folder, document)


def test_tables_have_a_row_for_every_value_of_their_knob():
    """If the runtime lacks a value that the command line accepts, a run stops in the middle."""
    assert set(DIRECTION) == set(KNOBS["condition_direction"].values) == set(READING)
    assert set(SPEED_FACTOR) == set(KNOBS["condition_speed_unit"].values)
    assert set(NORMALISE) == set(KNOBS["condition_norm"].values)


@every_case("direction", READING)
@every_case(("unit", "factor"), [("m_s", 1.0), ("cm_s", 100.0)])
def test_condition_is_bits_then_direction_then_speed(tmp_path, direction, unit, factor):
    """A direction that is mirrored or of the wrong unit makes the enemy run sideways."""
    velocities = [(1.5, -2.0), (-0.3, 0.1), (0.0, 4.0)]
    contract = tiny.contract(tmp_path, condition_direction=direction, condition_speed_unit=unit)
    got = condition_rows(clip_moving_at(tmp_path, velocities), contract)
    want = [expected_row(velocity, direction, factor) for velocity in velocities]
    assert got.dtype == np.float32
    # inputs rounded once to float32, the result once more; a hypotenuse and a quotient between
    np.testing.assert_allclose(got, want, rtol=4 * STORE, atol=0)


def test_an_engine_takes_the_direction_of_a_raw_clip_from_its_trajectory(tmp_path):
    """With the velocity as its own, a reference calls every correct engine wrong where a character looks elsewhere."""
    contract = tiny.contract(tmp_path)
    got = condition_rows(clip_moving_at(tmp_path, [(1.5, -2.0)] * 2), contract)[0]
    np.testing.assert_allclose(got[4:6], TRAJECTORY_MIDDLE, rtol=4 * STORE)


def test_the_training_side_takes_it_from_the_velocity_unless_it_is_declared(tmp_path):
    """One default for both sides makes one of them wrong; a declaration is meant for both."""
    contract = tiny.contract(tmp_path)
    assert contract.conventions.of_training == {"condition_direction": "velocity"}
    trained = contract.with_conventions(contract.conventions.of_training)
    got = condition_rows(clip_moving_at(tmp_path, [(1.5, -2.0)] * 2), trained)[0]
    np.testing.assert_allclose(got[4:6], (0.6, -0.8), rtol=4 * STORE)
    for value in ("trajectory", "negated"):
        assert tiny.contract(tmp_path, condition_direction=value).conventions.of_training == {}


@pytest.mark.parametrize("count", [1, 2, 5, 6])
def test_the_trajectorys_direction_is_its_middle_sample(tmp_path, count):
    """The first sample lies in the past, the last in the future: a run that takes one of them turns late or early."""
    samples = [[math.cos(place), math.sin(place)] for place in range(count)]
    got = condition_rows(clip_moving_at(tmp_path, [(1.0, 0.0)] * 2, TrajectoryDir=samples), tiny.contract(tmp_path))
    np.testing.assert_allclose(got[:, 4:6], [samples[count // 2]] * 2, rtol=0, atol=4 * STORE)


def test_bits_lie_between_0_and_1_and_a_direction_is_of_length_1(tmp_path):
    """A game that counts its button presses would send the network a 2, which it has never seen."""
    clip = clip_moving_at(tmp_path, [(-3.0, 0.0), (0.0, 3.0)], ActionBits=[-1.0, 2.0, 0.25, 1.0])
    got = condition_rows(clip, tiny.contract(tmp_path, condition_direction="velocity"))
    assert got.tolist() == [[0.0, 1.0, 0.25, 1.0, -1.0, 0.0, 3.0], [0.0, 1.0, 0.25, 1.0, 0.0, 1.0, 3.0]]


def test_the_slowest_character_with_a_direction_moves_at_a_millimetre_a_second(tmp_path):
    """Below it there is none, and this is not below: both sides must take the same side of the limit."""
    contract = tiny.contract(tmp_path, condition_direction="velocity", math="f32")
    assert condition_rows(clip_moving_at(tmp_path, [(0.0, -1e-3)] * 2), contract)[0, 4:6].tolist() == [0.0, -1.0]


@pytest.mark.parametrize(("speed", "has_direction"), [(0.0, False), (0.99e-3, False), (1.01e-3, True), (0.5, True)])
def test_standing_character_has_no_direction(tmp_path, speed, has_direction):
    """The unit vector of rounding noise makes an idle enemy twitch towards random places."""
    contract = tiny.contract(tmp_path, condition_direction="velocity")
    got = condition_rows(clip_moving_at(tmp_path, [(0.0, -speed)] * 2), contract)[0]
    assert got[4:6].tolist() == ([0.0, -1.0] if has_direction else [0.0, 0.0])
    assert got[6] == np.float32(speed)


def test_action_bits_are_clamped_to_a_switch(tmp_path):
    """A hand-edited clip may hold 2 for 'run', but the network was trained only on 0 and 1."""
    clip = clip_moving_at(tmp_path, [(1.0, 0.0)] * 2, ActionBits=[-0.5, 2.0, 0.25, 1.0])
    assert condition_rows(clip, tiny.contract(tmp_path))[0, :4].tolist() == [0.0, 1.0, 0.25, 1.0]


def expected_zscore(sample, window):
    """Spec 01 section 3, one channel after the other."""
    z = []
    for channel, value in enumerate(sample):
        samples = [row[channel] for row in window]
        first, third = quantile(samples, 0.25), quantile(samples, 0.75)
        low, high = first - 1.5 * (third - first), third + 1.5 * (third - first)
        kept = [x for x in samples if low <= x <= high] or samples
        mean = math.fsum(kept) / len(kept)
        variance = max(math.fsum((x - mean) ** 2 for x in kept) / len(kept), 1e-6)
        z.append((value - mean) / max(math.sqrt(variance), 1e-3))
    return z


eighths = st.integers(-80, 80).map(lambda k: k / 8.0)  # quartiles and fences are exact: no decision within rounding


@given(rows=st.lists(st.lists(eighths, min_size=7, max_size=7), min_size=1, max_size=60))
@example(rows=[[0.0] * 7])
@example(rows=[[1.0] * 7] * 9 + [[50.0] * 7])  # an outlier with no spread around it
@example(rows=[[0.0] * 7, [1.0] * 7])
def test_zscore_leaves_outliers_out_and_floors_the_deviation(rows):
    """One teleport in the window would otherwise flatten the condition for a second."""
    got = window_zscore(np.array(rows[-1]), np.array(rows))
    # 60 additions and a division by at least 1e-3
    np.testing.assert_allclose(got, expected_zscore(rows[-1], rows), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("fence", [2.5, 2.51])
def test_sample_exactly_on_the_fence_is_kept(fence):
    """`<=` and `<` differ for every clip whose samples are quantised."""
    rows = [[0.0], [0.0], [1.0], [1.0], [fence]]  # quartiles 0 and 1: the upper fence is 2.5
    mean = 4.5 / 5 if fence == 2.5 else 0.5
    values = [0, 0, 1, 1, 2.5] if fence == 2.5 else [0, 0, 1, 1]
    std = math.sqrt(sum((x - mean) ** 2 for x in values) / len(values))
    assert window_zscore(np.array([1.0]), np.array(rows))[0] == pytest.approx((1.0 - mean) / std, rel=1e-12)


def test_window_holds_the_last_sixty_samples_and_the_newest(tmp_path):
    """One sample more or less and engine and runtime part after exactly a second."""
    operation = ConditionInput(tiny.contract(tmp_path, condition_norm="zscore"))
    rows = [[math.sin(0.37 * k + channel) * 8 // 1 / 8 for channel in range(7)] for k in range(70)]
    for k, row in enumerate(rows):
        got = operation.of_window(np.array(rows[max(0, k + 1 - operation.reach) : k + 1], np.float32))
        want = expected_zscore(row, rows[max(0, k - 59) : k + 1])
        np.testing.assert_allclose(got, want, rtol=4 * STORE, atol=1e-6, err_msg=f"sample {k}")
        assert got.dtype == np.float32


def test_raw_mode_passes_the_condition_through(tmp_path):
    """The engine forces Raw; a normalised condition is another network."""
    operation = ConditionInput(tiny.contract(tmp_path))
    for row in np.random.default_rng(0).normal(size=(70, 7)).astype(np.float32):
        np.testing.assert_array_equal(operation.of_window(row[None]), row)


def test_zscore_of_a_constant_condition_is_zero(tmp_path):
    """Division by the spread of a constant is the first NaN of an idle."""
    operation = ConditionInput(tiny.contract(tmp_path, condition_norm="zscore"))
    for count in range(1, 4):
        assert operation.of_window(np.full((count, 7), 1.25, np.float32)).tolist() == [0.0] * 7
