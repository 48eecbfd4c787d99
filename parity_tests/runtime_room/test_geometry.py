"""Rotations of the runtime against scalar arithmetic and against the training side's torch functions."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from rigpact.contract.pages.registry import find_system
from rigpact.reference_runtime.operations import geometry, gram_schmidt
from rigpact.reference_runtime.operations.definitions.euler import EULER, TRIPLES
from rigpact.reference_runtime.operations.rot6d import Rot6d

from ..every_case import every_case
from . import scalar_oracle as oracle
from .drawn import FIVE_DEGREES_X, QUARTER_TURN_Z, angles, axes, rotations, vectors

torch = pytest.importorskip("torch")
from rigpact.training.enemy_animation import geometry as training  # noqa: E402  (torch is optional)

enemy_conventions = find_system("enemy_animation").conventions

mpmath.mp.dps = 50
UNIT = {np.float64: 2.0**-53, np.float32: 2.0**-24}
DTYPES = pytest.mark.parametrize("dtype", [np.float64, np.float32])
ENGINE = Rot6d(enemy_conventions())
TRAINING = Rot6d(enemy_conventions({"degenerate_axis": "zero"}))
PREVIOUS = np.array(oracle.encode_xz(oracle.rodrigues((1.0, 2.0, 0.5), 0.8)))


def six(a, b, dtype=np.float64):
    return np.array([*a, *b], dtype)


def tensor(array):
    return torch.from_numpy(np.ascontiguousarray(array))


@DTYPES
@given(a=axes, b=axes)
@example(a=(0.0, 2.0, 0.0), b=(1.0, 1.0, 0.5))
@example(a=(1.0, 0.0, 0.0), b=(4.0, 0.0, 0.015625))
def test_two_columns_decode_to_a_right_angled_frame(dtype, a, b):
    """A skewed frame shears the skin around the joint."""
    gain = oracle.amplification(a, b)
    assume(gain < 300 and oracle.length(b) / gain > 1e-3)
    got = ENGINE.decode(six(a, b, dtype))[0]
    # dot, scale, subtract, normalise: under 20 roundings, those of b magnified by |b|/|b_perp|
    limit = 20 * UNIT[dtype] * gain
    assert got.dtype == dtype
    np.testing.assert_allclose(got, oracle.decode_xz([*a, *b]), rtol=0, atol=limit)


@DTYPES
@given(a=vectors, b=vectors)
@example(a=(0.0, 0.0, 0.0), b=(1.0, 0.0, 0.0))
@example(a=(1.0, 0.0, 0.0), b=(2.0, 0.0, 0.0))
@example(a=(1e-6, 0.0, 0.0), b=(0.0, 1e-6, 0.0))
def test_zero_policy_is_the_training_sides_reprojection(dtype, a, b):
    """`degenerate_axis=zero` names what training does; if it did not, the diagnosis would blame the wrong knob."""
    x = six(a, b, dtype)
    gain = 1.0 if not any(a) else oracle.amplification(x[:3].tolist(), x[3:].tolist())
    assume(gain < 300 or not any(b) or gain == math.inf)
    got, theirs = TRAINING.reproject(x, PREVIOUS.astype(dtype)), training.reproject_rot6d(tensor(x)).numpy()
    if gain == math.inf and any(b):  # b_perp is rounding noise and divided by 1e-8: only the first axis means anything
        got, theirs, gain = got[:3], theirs[:3], 1.0
    np.testing.assert_allclose(got, theirs, rtol=0, atol=20 * UNIT[dtype] * min(gain, 300))


@pytest.mark.parametrize("size", [2e-8, 1e-6, 0.99e-4])
def test_first_axis_in_the_band_is_replaced_by_the_engine_and_kept_by_training(size):
    """Between 1e-8 and 1e-4 the two sides differ by design; a runtime that followed training would hide it."""
    x = six((0.0, size, 0.0), (0.0, 0.0, 1.0))
    np.testing.assert_allclose(ENGINE.reproject(x, PREVIOUS)[:3], PREVIOUS[:3], atol=1e-15)
    np.testing.assert_allclose(ENGINE.decode(x)[0, :, 0], (1.0, 0.0, 0.0), atol=1e-15)
    kept = training.reproject_rot6d(tensor(x)).numpy()
    np.testing.assert_allclose(kept[:3], (0.0, 1.0, 0.0), atol=1e-12)
    np.testing.assert_allclose(TRAINING.reproject(x, PREVIOUS), kept, atol=1e-15)


@pytest.mark.parametrize("size", [2e-8, 1e-6, 0.99e-4])
def test_second_axis_in_the_band_is_replaced_by_the_engine_and_kept_by_training(size):
    """Columns that fell together: the engine turns to the last frame's Z, training to the noise that is left."""
    x = six((1.0, 0.0, 0.0), (1.0, 0.0, size))
    got = ENGINE.reproject(x, PREVIOUS)
    expected = oracle.perpendicular(PREVIOUS[3:].tolist(), (1.0, 0.0, 0.0))
    np.testing.assert_allclose(got[3:], oracle.times(1 / oracle.length(expected), expected), atol=1e-14)
    np.testing.assert_allclose(ENGINE.decode(x)[0, :, 2], (0.0, 0.0, 1.0), atol=1e-14)
    np.testing.assert_allclose(training.reproject_rot6d(tensor(x)).numpy()[3:], (0.0, 0.0, 1.0), atol=1e-7)


@pytest.mark.parametrize(
    ("a", "short_to_reproject", "zero_to_decode"),
    [
        ((0.0, 1e-4, 0.0), False, True),  # |a| is not below the threshold, but no component is above it
        ((0.0, np.nextafter(1e-4, 0.0), 0.0), True, True),
        ((0.0, np.nextafter(1e-4, 1.0), 0.0), False, False),
        ((1e-4, 1e-4, 1e-4), False, True),  # the two tests of the engine disagree on this one
        ((0.99e-4, 0.0, -0.05e-4), True, True),
        ((0.0, 0.0, 1.01e-4), False, False),
    ],
)
def test_thresholds_are_the_engines_exactly(a, short_to_reproject, zero_to_decode):
    """`Reproject6D` compares the length, `IsNearlyZero` each component: one bone pops where they are confused."""
    x = six(a, (0.3, 0.4, 0.5))
    unit = oracle.times(1 / oracle.length(a), a)
    reprojected, decoded = ENGINE.reproject(x, PREVIOUS)[:3], ENGINE.decode(x)[0, :, 0]
    np.testing.assert_allclose(reprojected, PREVIOUS[:3] if short_to_reproject else unit, atol=1e-12)
    np.testing.assert_allclose(decoded, (1.0, 0.0, 0.0) if zero_to_decode else unit, atol=1e-12)


@given(a=st.sampled_from([0.0, 1e-9, 1e-5, 1e-4, 1.0]), b=vectors, previous=rotations)
@example(a=0.0, b=(0.0, 0.0, 0.0), previous=QUARTER_TURN_Z)
@example(
    a=1.0, b=(2.0, 0.0, 0.0), previous=oracle.rodrigues((0.0, 1.0, 0.0), math.pi / 2)
)  # previous Z is X: parallel too
def test_reprojection_gives_a_rotation_whatever_comes_in(a, b, previous):
    """A singular matrix collapses the limb to a plane and its quaternion is NaN."""
    x = six((a, 0.0, 0.0), b)
    for matrix in (ENGINE.decode(ENGINE.reproject(x, np.array(oracle.encode_xz(previous))))[0], ENGINE.decode(x)[0]):
        # columns are within 1e-15 of unit and b_perp >= 1e-4 magnifies rounding of |b| <= 7 by 7e4 at most
        np.testing.assert_allclose(matrix.T @ matrix, np.eye(3), atol=7e4 * 20 * UNIT[np.float64])
        assert oracle.determinant(matrix.tolist()) == pytest.approx(1.0, abs=1e-9)


@given(previous=rotations, delta=rotations)
@example(previous=QUARTER_TURN_Z, delta=FIVE_DEGREES_X)  # these do not commute
def test_delta_is_applied_on_the_left(previous, delta):
    """Applied on the right, every limb turns about its own axis instead of its parent's."""
    got = geometry.compose(np.array(delta), np.array(previous))
    np.testing.assert_allclose(got, oracle.product(delta, previous), rtol=0, atol=8 * UNIT[np.float64])


@DTYPES
@given(axis=axes, angle=st.floats(0.0, math.pi))
@example(axis=(1.0, 2.0, -3.0), angle=1e-9)
@example(axis=(0.0, 0.0, 1.0), angle=math.pi)
@example(axis=(1.0, -1.0, 1.0), angle=3.1415926)
@example(axis=(-1.0, 0.0, 0.0), angle=math.pi / 2)  # two components of the quaternion tie
def test_log_map_is_axis_times_angle(dtype, axis, angle):
    """Wrong near half a turn, a spinning limb reports a velocity in the opposite direction."""
    got = geometry.rotation_vector(np.array(oracle.rodrigues(axis, angle), dtype))
    want = np.array(oracle.times(angle / oracle.length(axis), axis))
    assert got.dtype == dtype
    # the entries are rounded once, the quaternion divides by at least 1/2, the angle is 2 atan2 of its parts
    limit = 64 * UNIT[dtype]
    near_pi = math.pi - angle < limit
    assert np.abs(got - want).max() <= limit or (near_pi and np.abs(got + want).max() <= 2 * limit)


@DTYPES
@given(a=rotations, axis=axes, angle=st.floats(0.0, math.pi))
@example(a=oracle.EYE, axis=(1.0, 0.0, 0.0), angle=1e-5)
@example(a=QUARTER_TURN_Z, axis=(1.0, 0.0, 0.0), angle=math.pi)
def test_angle_between_two_rotations_is_exact_at_both_ends(dtype, a, axis, angle):
    """With acos of a clamped cosine, identical poses differ by 0.08 degrees."""
    b = oracle.product(a, oracle.rodrigues(axis, angle))
    matrices = np.array(a, dtype), np.array(b, dtype)
    # nine products of rounded entries; atan2 is well-conditioned everywhere
    assert geometry.rotation_angle_rad(*matrices) == pytest.approx(angle, abs=32 * UNIT[dtype])
    assert training.rotation_angle_rad(*map(tensor, matrices)).item() == pytest.approx(angle, abs=64 * UNIT[dtype])


@DTYPES
@given(axis=axes, angle=angles)
@example(axis=(0.0, 0.0, 1.0), angle=3.1415926)
@example(axis=(-1.0, 0.0, 0.0), angle=math.pi / 2)
@example(axis=(1.0, 1.0, 1.0), angle=-2.0943951)  # a permutation matrix
def test_quaternion_is_half_the_angle_about_the_axis(dtype, axis, angle):
    """A quaternion in another order or of another handedness bends every knee sideways."""
    got = geometry.matrix_to_quat(np.array(oracle.rodrigues(axis, angle), dtype))
    unit = oracle.times(math.sin(angle / 2) / oracle.length(axis), axis)
    want = np.array([*unit, math.cos(angle / 2)])
    want = want * np.sign(want @ got)  # q and -q are one rotation
    np.testing.assert_allclose(got, want, rtol=0, atol=16 * UNIT[dtype])
    assert oracle.dot(got.tolist(), got.tolist()) == pytest.approx(1.0, abs=8 * UNIT[dtype])


@pytest.mark.parametrize("place", range(6))
def test_nan_is_not_mistaken_for_a_degenerate_axis(place):
    """If the fallback replaced a NaN, the bone would freeze and the broken layer would stay hidden."""
    x = six((1.0, 0.2, 0.0), (0.0, 0.1, 1.0))
    x[place] = math.nan
    for result in (ENGINE.reproject(x, PREVIOUS), ENGINE.decode(x), TRAINING.decode(x)):
        assert np.isnan(result).any()
    second = ENGINE.reproject(x, PREVIOUS)[3:]
    assert np.isnan(second).all()


def test_nan_passes_through_every_function_of_a_rotation():
    """Half-finite output sends the search for the origin to the wrong stage."""
    broken = np.full((3, 3), math.nan)
    assert np.isnan(geometry.rotation_vector(broken)).all()
    assert np.isnan(geometry.matrix_to_quat(broken)).all()
    assert np.isnan(geometry.rotation_angle_rad(broken, np.eye(3)))
    assert np.isnan(geometry.compose(broken, np.eye(3))).all()
    assert np.isnan(geometry.wrap_to_pi(np.array([math.nan]))).all()


@every_case(
    ("angle", "expected"),
    [
        (math.pi, math.pi),
        (-math.pi, -math.pi),
        (3 * math.pi, math.pi),
        (-3 * math.pi, -math.pi),
        (math.nextafter(math.pi, 4), -math.pi),
        (math.nextafter(-math.pi, -4), math.pi),
        (0.0, 0.0),
        (2 * math.pi, 0.0),
        (math.nextafter(math.pi, 0), math.pi),
    ],
)
def test_wrapping_keeps_both_ends(angle, expected):
    """A character that faces exactly backwards would flip its heading feature from 1 to -1."""
    assert oracle.wrapped(angle) == pytest.approx(expected, abs=4 * UNIT[np.float64] * max(abs(angle), 4))
    got = geometry.wrap_to_pi(np.array([angle]))
    np.testing.assert_allclose(got, [expected], rtol=0, atol=4 * UNIT[np.float64] * max(abs(angle), 4))


@DTYPES
@given(angle=st.floats(-1e4, 1e4, allow_subnormal=False))
@example(angle=6.3)
@example(angle=9999.0)
def test_wrapping_many_turns_changes_the_angle_by_whole_turns(dtype, angle):
    """An enemy that circled the player for a minute has a yaw of many turns."""
    value = dtype(angle)
    got = float(geometry.wrap_to_pi(np.array([value]))[0])
    # the turns are known to a rounding of the angle, and 2 pi of that type to a rounding for each turn
    limit = 4 * UNIT[dtype] * max(abs(angle), 4.0)
    assert abs(got) <= math.pi + limit
    turns = (mpmath.mpf(float(value)) - mpmath.mpf(got)) / (2 * mpmath.pi)
    assert abs(turns - mpmath.nint(turns)) * 2 * mpmath.pi <= limit


def test_each_quaternion_takes_the_sign_nearest_to_its_own():
    """One sign for all bones of a frame would report every other bone as turned by a whole turn."""
    chance = np.random.default_rng(6)
    quats = chance.normal(size=(5, 3, 4))
    signs = chance.choice((-1.0, 1.0), (5, 3, 1))
    near = quats + 0.01 * chance.normal(size=quats.shape)
    got = geometry.same_hemisphere(quats.reshape(5, 12), (signs * near).reshape(5, 12))
    np.testing.assert_array_equal(got, near.reshape(5, 12))


def test_a_quaternion_at_a_right_angle_keeps_its_sign():
    """Neither sign is nearer: the one that was recorded is shown."""
    rows = np.array([[0.0, 1.0, 0.0, 0.0, 0.0, 0.0, -1.0, 0.0]])
    np.testing.assert_array_equal(geometry.same_hemisphere(np.array([[1.0, 0.0, 0.0, 0.0] * 2]), rows), rows)


def test_the_angle_between_the_quaternions_of_several_bones():
    """A turn of 90° about z and one of 60° about x, each beside no turn; a sign of all four numbers changes nothing."""
    none, z90, x60 = (0.0, 0.0, 0.0, 1.0), (0.0, 0.0, math.sqrt(0.5), math.sqrt(0.5)), (0.5, 0.0, 0.0, math.sqrt(0.75))
    a = np.array([[*none, *none, *none], [*z90, *x60, *none]])
    b = np.array([[*z90, *x60, *none], [*(-np.array(z90)), *none, *none]])
    expected = np.radians([[90.0, 60.0, 0.0], [0.0, 60.0, 0.0]])
    np.testing.assert_allclose(geometry.quaternion_angle_rad(a, b), expected, atol=1e-12)


def test_a_length_at_the_threshold_is_not_short():
    """|v| < 1e-4, as the engine compares."""
    below, at = np.array([0.6, 0.8, 0.0]) * np.nextafter(1e-4, 0.0), np.array([0.6e-4, 0.8e-4, 0.0])
    assert geometry.length(at).item() == 1e-4
    assert geometry.is_short(np.array([below, at])).tolist() == [[True], [False]]


def test_a_unit_vector_keeps_its_direction():
    """(3, 0, -4) is 5 long."""
    np.testing.assert_allclose(
        geometry.normalised(np.array([[3.0, 0.0, -4.0]])), [[0.6, 0.0, -0.8]], rtol=4 * UNIT[np.float64]
    )


def test_what_is_compared_with_the_threshold():
    """`Reproject6D` looks at the length, `IsNearlyZero` at the largest number, whatever its sign."""
    axes_of_bones = np.array([[[3.0, 0.0, -4.0], [2.0, 3.0, 6.0]], [[0.0, -1.0, 0.0], [8.0, 4.0, 1.0]]])
    assert gram_schmidt.SHORT.size(axes_of_bones).tolist() == [[[5.0], [7.0]], [[1.0], [9.0]]]
    assert gram_schmidt.NEARLY_ZERO.size(axes_of_bones).tolist() == [[[4.0], [6.0]], [[1.0], [8.0]]]


def test_half_a_turn_keeps_the_axis_of_its_quaternion():
    """Both signs are half a turn: the one that is written is kept."""
    axis = np.array([0.6, 0.0, 0.8])
    for sign in (1.0, -1.0):
        got = geometry.quat_to_vector(sign * np.array([*axis, 0.0]))
        # a length, an arctangent, a quotient and a product: under 16 roundings
        np.testing.assert_allclose(got, sign * math.pi * axis, rtol=16 * UNIT[np.float64])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_turn_too_small_for_its_square_is_twice_its_quaternion(dtype):
    """sin(θ/2) is θ/2 there; the length, a root of squares, is zero."""
    smallest = dtype(np.finfo(dtype).tiny)
    got = geometry.quat_to_vector(np.array([smallest, 0.0, -2.0 * smallest, 1.0], dtype))
    assert (got.dtype, got.tolist()) == (dtype, [2.0 * float(smallest), 0.0, -4.0 * float(smallest)])


def test_an_angular_velocity_is_the_turn_since_the_last_frame_in_the_parents_frame():
    """Half a radian about z in a thirtieth of a second, after a turn about x that stays."""
    before = np.array(oracle.rodrigues((1.0, 0.0, 0.0), 0.3))
    after = np.array(oracle.product(oracle.rodrigues((0.0, 0.0, 1.0), 0.5), before.tolist()))
    # as for the log map above: 64 roundings of an angle, thirty times a second
    limit = 30.0 * 64 * UNIT[np.float64]
    np.testing.assert_allclose(geometry.angular_velocity(before, after, 30.0), [0.0, 0.0, 15.0], rtol=0, atol=limit)


@pytest.mark.parametrize(
    ("angles", "expected"),
    [
        ((170.0, 100.0, -160.0), (-10.0, 80.0, 20.0)), ((170.0, 100.0, 20.0), (-10.0, 80.0, -160.0)),
        ((-170.0, 100.0, 160.0), (10.0, 80.0, -20.0)), ((10.0, 80.0, -20.0), (10.0, 80.0, -20.0)),
        ((170.0, 20.0, 20.0), (170.0, 20.0, 20.0)),
        # neither turns less: the given one stays; the middle angle is never -180 degrees
        ((90.0, 90.0, 90.0), (90.0, 90.0, 90.0)), ((180.0, 0.0, 180.0), (0.0, 180.0, 0.0)),
    ],
)  # fmt: skip
def test_of_two_triples_of_one_rotation_the_smaller_is_taken(angles, expected):
    """(x, y, z) and (x ± 180, 180 - y, z ± 180) are one rotation; Blender keeps the one that turns less."""
    np.testing.assert_allclose(np.degrees(TRIPLES["smaller_sum"](np.radians([angles]))), [expected], atol=1e-9)


def test_euler_angles_are_determined_down_to_a_ten_millionth_before_the_lock():
    """Below it the two outer turns are about one axis; above, the first of them must not be called zero."""
    matrix = np.eye(3)
    matrix[0, 0], matrix[2, 0] = 1e-7, -1.0
    matrix[2, 1], matrix[2, 2] = 1e-7 * math.sin(0.5), 1e-7 * math.cos(0.5)
    first, middle, third = EULER["xyz_rad"][1](matrix)
    assert (first, third) == (pytest.approx(0.5, rel=1e-15), 0.0)
    assert middle == pytest.approx(math.pi / 2 - 1e-7, rel=1e-15)
