"""The AngVel input: from rotations, from the state, frozen; angle, frame and lag."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rigpact.contract.errors import UnusableInput
from rigpact.contract.pages.registry import find_system
from rigpact.reference_runtime.vocabulary.character.bone_rates import (
    ANGLE_FACTOR,
    FRAME,
    SOURCE,
    AngularVelocityInput,
    Motion,
)
from rigpact.reference_runtime.vocabulary.character.state_features import StateNormaliser

from . import scalar_oracle as oracle
from . import tiny_character as tiny
from .drawn import axes

KNOBS = find_system("enemy_animation").knobs

ROTATIONS, ANGVEL = slice(6, 24), slice(24, 33)
STORE = 2.0**-24
DOCUMENT = tiny.bundle()


@pytest.fixture(scope="module")
def contract(tmp_path_factory):
    return tiny.contract(tmp_path_factory.mktemp("angvel"), DOCUMENT)


def expected_z(omega):
    """tanh, then z-score, with the companion's statistics: spec 02."""
    names = ("tanh_scales_angvel", "MuAngVel", "StdAngVel")
    rows = zip(omega, *(DOCUMENT[name] for name in names), strict=True)
    return [
        (math.tanh(w / max(abs(scale), 1e-6)) - mean) / max(abs(std), 1e-6)
        for w, scale, mean, std in ((float(w), *(float(np.float32(x)) for x in rest)) for w, *rest in rows)
    ]


def motion(poses, velocities=None, steps=None, normaliser=None):
    """Raw states whose rotations are `poses` and whose measured velocity is `velocities`."""
    x_raw = np.zeros((len(poses), tiny.STATE_WIDTH), np.float32)
    x_raw[:, ROTATIONS] = [[x for rotation in pose for x in oracle.encode_xz(rotation)] for pose in poses]
    if velocities is not None:
        x_raw[:, ANGVEL] = velocities
    state = x_raw if normaliser is None else normaliser.normalise(x_raw)
    return Motion.of_clip(x_raw, state, tiny.FPS, len(poses) - 1 if steps is None else steps)


def rows(contract, motion_of, **conventions):
    return AngularVelocityInput(contract.with_conventions(conventions)).rows(motion_of)


POSES = [tiny.pose(frame) for frame in range(6)]
# the turn of each bone from frame to frame is the same: axis times angle times fps, in the parent's frame
TURNED = [
    component for axis, angle in tiny.TURNS for component in oracle.times(tiny.FPS * angle / oracle.length(axis), axis)
]
# entries of both rotations are stored once: u each, times sqrt(6) for the vector, times fps, over scale >= 2 and std >= 0.3
FROM_STORED = 4 * STORE * tiny.FPS / 2.0 / 0.3


def test_tables_have_a_row_for_every_value_of_their_knob():
    """If the runtime lacks a value that the command line accepts, a run stops in the middle."""
    assert set(SOURCE) == set(KNOBS["angvel_source"].values)
    assert set(FRAME) == set(KNOBS["angvel_frame"].values)
    assert set(ANGLE_FACTOR) == set(KNOBS["angvel_angle"].values)


@pytest.mark.parametrize(("angle", "factor"), [("full", 1.0), ("half", 0.5)])
def test_rotations_give_the_vector_that_turned_them(contract, angle, factor):
    """Half the vector where the network learned the full one: every swing arrives at half its speed."""
    got = rows(contract, motion(POSES), angvel_source="rotations", angvel_angle=angle)
    assert got.shape == (5, 9)
    np.testing.assert_allclose(got, [expected_z([factor * w for w in TURNED])] * 5, rtol=0, atol=FROM_STORED)


turns = st.lists(st.tuples(axes, st.floats(-2.8, 2.8)), min_size=3, max_size=3)


@given(first=turns, second=turns)
@example(first=[((0, 0, 1.0), 1.57)] * 3, second=[((1.0, 0, 0), 0.09)] * 3)
@example(first=[((0, 0, 1.0), 1e-4)] * 3, second=[((1.0, 1.0, 0), 2.8)] * 3)
def test_slope_against_the_scalar_log_map(contract, first, second):
    """Parent and bone frame differ as soon as two turns do not commute."""
    poses = [[oracle.EYE] * 3]
    for step in (first, second):
        poses.append([oracle.product(oracle.rodrigues(*turn), old) for turn, old in zip(step, poses[-1], strict=True)])
    got = rows(contract, motion(poses), angvel_source="rotations")
    for row, step in zip(got, (first, second), strict=True):
        omega = [w for axis, angle in step for w in oracle.times(tiny.FPS * angle / oracle.length(axis), axis)]
        np.testing.assert_allclose(row, expected_z(omega), rtol=0, atol=FROM_STORED)


def test_local_frame_of_turns_that_do_not_commute(contract):
    """Each step is seen from the bone as it stood before it, not from where the clip began."""
    steps = [((0.0, 0.0, 1.0), 0.9), ((1.0, 0.0, 0.0), 0.5), ((0.0, 1.0, 0.0), 0.7)]
    poses = [[oracle.EYE] * 3]
    for turn in steps:
        poses.append([oracle.product(oracle.rodrigues(*turn), old) for old in poses[-1]])
    got = rows(contract, motion(poses), angvel_source="rotations", angvel_frame="local")
    for row, before, (axis, angle) in zip(got, poses, steps, strict=False):
        seen = [oracle.dot(column, oracle.times(tiny.FPS * angle, axis)) for column in oracle.transposed(before[0])]
        np.testing.assert_allclose(row, expected_z(seen * 3), rtol=0, atol=2 * FROM_STORED)


def test_two_frames_are_a_pair_and_one_frame_is_none(contract):
    """A single frame has turned nowhere: its own measured velocity is all that is known of it."""
    pair = rows(contract, motion(POSES[:2], MEASURED[:2]), angvel_source="rotations")
    np.testing.assert_allclose(pair, [expected_z(TURNED)], rtol=0, atol=FROM_STORED)
    alone = rows(contract, motion(POSES[:1], MEASURED[1:2], steps=1), angvel_source="rotations")
    stored = np.array(MEASURED[1], np.float32).tolist()
    np.testing.assert_allclose(alone, [expected_z(stored)], rtol=4 * STORE, atol=1e-6)


MEASURED = [[0.5 * frame + 0.1 * channel for channel in range(9)] for frame in range(6)]


def test_companions_statistics_normalise_the_states_velocity(contract):
    """`aux_stats`: the state's own statistics are others, and the network was trained with these."""
    got = rows(contract, motion(POSES, MEASURED), angvel_source="aux_stats")
    stored = np.array(MEASURED[:5], np.float32).tolist()
    np.testing.assert_allclose(got, [expected_z(row) for row in stored], rtol=4 * STORE, atol=1e-6)


# frame whose velocity each of the five rows holds, written out by hand; the clip has measured frames 0..5
LAGGED_STATE = {"0": (0, 1, 2, 3, 4), "-1": (0, 0, 1, 2, 3), "+1": (1, 2, 3, 4, 5)}
# five pairs of six frames: pair k leads from frame k to k + 1, the last one is repeated
LAGGED_PAIR = {"0": (0, 1, 2, 3, 4), "-1": (0, 0, 1, 2, 3), "+1": (1, 2, 3, 4, 4)}


@pytest.mark.parametrize("lag", LAGGED_STATE)
def test_lag_shifts_rows_and_repeats_the_ends_of_the_clip(contract, lag):
    """Training looks one frame into the future: without the lag every swing arrives late."""
    measured = rows(contract, motion(POSES, MEASURED), angvel_source="aux_stats", angvel_lag=lag)
    stored = np.array(MEASURED, np.float32).tolist()
    want = [expected_z(stored[frame]) for frame in LAGGED_STATE[lag]]
    np.testing.assert_allclose(measured, want, rtol=4 * STORE, atol=1e-6)
    speeding = [[oracle.rodrigues((0, 0, 1), 0.02 * k * k)] * 3 for k in range(6)]
    turned = rows(contract, motion(speeding), angvel_source="rotations", angvel_lag=lag)
    want = [expected_z([0.0, 0.0, tiny.FPS * 0.02 * (2 * k + 1)] * 3) for k in LAGGED_PAIR[lag]]
    np.testing.assert_allclose(turned, want, rtol=0, atol=FROM_STORED)


def test_state_slice_copies_the_normalised_state(contract):
    """The deployed engine uses the state's statistics, not the companion's; another source changes the input."""
    moving = motion(POSES, MEASURED, normaliser=StateNormaliser(contract))
    got = rows(contract, moving, angvel_source="state_slice")
    for row, measured in zip(got, np.array(MEASURED, np.float32).tolist(), strict=False):
        want = [
            (math.tanh(w / float(np.float32(scale))) - float(np.float32(mean))) / abs(float(np.float32(std)))
            for w, scale, mean, std in zip(
                measured, DOCUMENT["tanh_scales_angvel"], DOCUMENT["MuX"][ANGVEL], DOCUMENT["StdX"][ANGVEL], strict=True
            )
        ]
        np.testing.assert_allclose(row, want, rtol=4 * STORE, atol=1e-6)


def test_frozen_velocity_is_the_first_row_for_ever(contract):
    """The deployed free-run never recomputes it: the network thinks that the limbs still move as at the start."""
    got = rows(contract, motion(POSES, MEASURED), angvel_source="frozen")
    want = expected_z(np.array(MEASURED[0], np.float32).tolist())
    np.testing.assert_allclose(got, [want] * 5, rtol=4 * STORE, atol=1e-6)
    assert (got == got[0]).all()


def test_zeros_have_the_width_of_the_slice(contract):
    """An unbound input is not an absent one: the network still reads nine numbers."""
    got = rows(contract, motion(POSES, MEASURED), angvel_source="zeros")
    assert got.dtype == np.float32
    assert got.tolist() == [[0.0] * 9] * 5


@pytest.mark.parametrize("source", ["aux_stats", "rotations"])
def test_source_that_needs_statistics_is_refused_without_them(tmp_path, source):
    """A silent scale of 1 is a defect that rigpact must find in an engine, so the runtime must not do it."""
    bare = tiny.contract(tmp_path, tiny.bundle(auxiliary=False), angvel_source=source)
    with pytest.raises(UnusableInput, match="tanh_scales_angvel, MuAngVel and StdAngVel"):
        AngularVelocityInput(bare)


def test_bundle_without_statistics_falls_back_on_the_state_slice(tmp_path):
    """Spec 03: without a companion the contract default is what the engine does."""
    assert tiny.contract(tmp_path, tiny.bundle(auxiliary=False)).conventions.angvel_source == "state_slice"
    assert tiny.contract(tmp_path).conventions.angvel_source == "aux_stats"
