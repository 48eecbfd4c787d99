"""The six numbers of a rotation: every convention, two columns, axes that are too short, the training side beside them."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from rigpact.contract.skeleton import matrix_to_rot6d
from rigpact.reference_runtime.operations import geometry
from rigpact.reference_runtime.operations.six_numbers import Rot6d

from ..every_case import every_case
from . import scalar_oracle as oracle
from .drawn import FIVE_DEGREES_X, QUARTER_TURN_Z, axes, rotations, vectors
from .test_rotations import DTYPES, PACKINGS, UNIT, enemy_conventions

ENGINE, TRAINING = Rot6d(enemy_conventions()), Rot6d(enemy_conventions({"degenerate_axis": "zero"}))
PREVIOUS = np.array(oracle.encode_xz(oracle.rodrigues((1.0, 2.0, 0.5), 0.8)))


@DTYPES
@given(a=axes, b=axes)
@example(a=(0.0, 2.0, 0.0), b=(1.0, 1.0, 0.5))
@example(a=(1.0, 0.0, 0.0), b=(4.0, 0.0, 0.015625))
def test_two_columns_decode_to_a_right_angled_frame(dtype, a, b):
    """A skewed frame shears the skin around the joint."""
    gain = oracle.amplification(a, b)
    assume(gain < 300 and oracle.length(b) / gain > 1e-3)
    got = ENGINE.decode(np.array([*a, *b], dtype))[0]
    # dot, scale, subtract, normalise: under 20 roundings, those of b magnified by |b|/|b_perp|
    assert got.dtype == dtype
    np.testing.assert_allclose(got, oracle.decode_xz([*a, *b]), rtol=0, atol=20 * UNIT[dtype] * gain)


@DTYPES
@given(a=vectors, b=vectors)
@example(a=(0.0, 0.0, 0.0), b=(1.0, 0.0, 0.0))
@example(a=(1.0, 0.0, 0.0), b=(2.0, 0.0, 0.0))
@example(a=(1e-6, 0.0, 0.0), b=(0.0, 1e-6, 0.0))
def test_zero_policy_is_the_training_sides_reprojection(training, dtype, a, b):
    """`degenerate_axis=zero` names what training does; if it did not, the diagnosis would blame the wrong knob."""
    x, (side, tensor) = np.array([*a, *b], dtype), training
    gain = 1.0 if not any(a) else oracle.amplification(x[:3].tolist(), x[3:].tolist())
    assume(gain < 300 or not any(b) or gain == math.inf)
    got, theirs = TRAINING.reproject(x, PREVIOUS.astype(dtype)), side.reproject_rot6d(tensor(x)).numpy()
    if gain == math.inf and any(b):  # b_perp is rounding noise and divided by 1e-8: only the first axis means anything
        got, theirs, gain = got[:3], theirs[:3], 1.0
    np.testing.assert_allclose(got, theirs, rtol=0, atol=20 * UNIT[dtype] * min(gain, 300))


@every_case(
    ("a", "short_to_reproject", "zero_to_decode"),
    [
        ((0.0, 1e-4, 0.0), False, True),  # |a| is not below the threshold, but no component is above it
        ((0.0, np.nextafter(1e-4, 0.0), 0.0), True, True), ((0.0, np.nextafter(1e-4, 1.0), 0.0), False, False),
        ((1e-4, 1e-4, 1e-4), False, True),  # the two tests of the engine disagree on this one
        ((0.99e-4, 0.0, -0.05e-4), True, True), ((0.0, 0.0, 1.01e-4), False, False),
    ],
)  # fmt: skip
def test_thresholds_are_the_engines_exactly(a, short_to_reproject, zero_to_decode):
    """`Reproject6D` compares the length, `IsNearlyZero` each component: one bone pops where they are confused."""
    x, unit = np.array([*a, 0.3, 0.4, 0.5]), oracle.times(1 / oracle.length(a), a)
    expected = PREVIOUS[:3] if short_to_reproject else unit
    np.testing.assert_allclose(ENGINE.reproject(x, PREVIOUS)[:3], expected, atol=1e-12)
    np.testing.assert_allclose(ENGINE.decode(x)[0, :, 0], (1.0, 0.0, 0.0) if zero_to_decode else unit, atol=1e-12)


@given(a=st.sampled_from([0.0, 1e-9, 1e-5, 1e-4, 1.0]), b=vectors, previous=rotations)
@example(a=0.0, b=(0.0, 0.0, 0.0), previous=QUARTER_TURN_Z)
@example(
    a=1.0, b=(2.0, 0.0, 0.0), previous=oracle.rodrigues((0.0, 1.0, 0.0), math.pi / 2)
)  # previous Z is X: parallel too
def test_reprojection_gives_a_rotation_whatever_comes_in(a, b, previous):
    """A singular matrix collapses the limb to a plane and its quaternion is NaN."""
    x = np.array([a, 0.0, 0.0, *b])
    for matrix in (ENGINE.decode(ENGINE.reproject(x, np.array(oracle.encode_xz(previous))))[0], ENGINE.decode(x)[0]):
        # columns are within 1e-15 of unit and b_perp >= 1e-4 magnifies rounding of |b| <= 7 by 7e4 at most
        np.testing.assert_allclose(matrix.T @ matrix, np.eye(3), atol=7e4 * 20 * UNIT[np.float64])
        assert oracle.determinant(matrix.tolist()) == pytest.approx(1.0, abs=1e-9)


@every_case("place", range(6))
def test_nan_is_not_mistaken_for_a_degenerate_axis(place):
    """If the fallback replaced a NaN, the bone would freeze and the broken layer would stay hidden."""
    x, broken = np.array([1.0, 0.2, 0.0, 0.0, 0.1, 1.0]), np.full((3, 3), math.nan)
    x[place] = math.nan
    for result in (ENGINE.reproject(x, PREVIOUS), ENGINE.decode(x), TRAINING.decode(x)):
        assert np.isnan(result).any()
    assert np.isnan(ENGINE.reproject(x, PREVIOUS)[3:]).all()
    for function in (geometry.rotation_vector, geometry.matrix_to_quat, geometry.wrap_to_pi):
        assert np.isnan(function(broken)).all()
    assert np.isnan(geometry.rotation_angle_rad(broken, np.eye(3)))


PAIRS = ("xz", "xy", "zx", "yx", "yz", "zy")
DERIVED = ("second_cross_first", "first_cross_second")
EVERY = every_case(("columns", "packing", "derived"), list(itertools.product(PAIRS, PACKINGS, DERIVED)))
way = {"columns": st.sampled_from(PAIRS), "packing": st.sampled_from(PACKINGS), "derived": st.sampled_from(DERIVED)}
MORE = settings(max_examples=100)  # 36 conventions in one test
# R entries as (row, column), in the order in which the six numbers hold them; written out by hand from spec 03
COLUMN_ENTRIES = {
    "xz": ((0, 0), (1, 0), (2, 0), (0, 2), (1, 2), (2, 2)),
    "xy": ((0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1)),
    "zx": ((0, 2), (1, 2), (2, 2), (0, 0), (1, 0), (2, 0)),
    "yx": ((0, 1), (1, 1), (2, 1), (0, 0), (1, 0), (2, 0)),
    "yz": ((0, 1), (1, 1), (2, 1), (0, 2), (1, 2), (2, 2)),
    "zy": ((0, 2), (1, 2), (2, 2), (0, 1), (1, 1), (2, 1)),
}
INTERLEAVED_ENTRIES = {
    pair: tuple(each[place] for place in (0, 3, 1, 4, 2, 5)) for pair, each in COLUMN_ENTRIES.items()
}
ROW_ENTRIES = ((0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2))
# a right-handed frame has x cross y = z, y cross z = x, z cross x = y: first x second then needs no flip
CYCLIC = {"xy", "yz", "zx"}


def codec(columns="xz", packing="columns", derived="second_cross_first", degenerate="previous_frame"):
    said = {"rot6d_columns": columns, "rot6d_packing": packing, "derived_axis": derived, "degenerate_axis": degenerate}
    return Rot6d(enemy_conventions(said))


def entries(columns, packing):
    if packing == "rows":
        return ROW_ENTRIES
    return (COLUMN_ENTRIES if packing == "columns" else INTERLEAVED_ENTRIES)[columns]


def six_numbers(rotation, columns, packing):
    return [rotation[i][j] for i, j in entries(columns, packing)]


@EVERY
def test_encoding_puts_each_entry_where_the_table_says(columns, packing, derived):
    """With one transposed entry, every bone turns by the inverse of its rotation."""
    numbered = np.arange(1.0, 10.0).reshape(3, 3)
    got = codec(columns, packing, derived).encode(numbered[None])
    assert got.tolist() == six_numbers(numbered.tolist(), columns, packing)
    assert packing != "columns" or matrix_to_rot6d(numbered, columns).tolist() == got.tolist()  # as the rules read it
    # the residual is added to it: a wrong identity adds a constant rotation to every bone in every frame
    assert codec(columns, packing, derived).identity(2).tolist() == six_numbers(oracle.EYE, columns, packing) * 2
    flat = np.array(
        [x for rotation in (FIVE_DEGREES_X, QUARTER_TURN_Z) for x in six_numbers(rotation, columns, packing)]
    )
    six = np.stack(
        [codec(columns, packing, derived).encode(each) for each in codec(columns, packing, derived).decode(flat)]
    )
    np.testing.assert_allclose(six.ravel(), flat, atol=1e-14)  # two bones do not mix


@MORE
@given(**way, rotation=rotations)
@example(columns="xz", packing="columns", derived="second_cross_first", rotation=QUARTER_TURN_Z)
@example(columns="zy", packing="rows", derived="first_cross_second", rotation=oracle.rodrigues((1.0, 1.0, 1.0), 2.0))
def test_decoding_an_encoded_rotation_gives_it_back(columns, packing, derived, rotation):
    """A codec that is not its own inverse moves the pose a little further every frame of a free run."""
    rot6d, six = codec(columns, packing, derived), np.array(six_numbers(rotation, columns, packing))
    got, as_is = rot6d.decode(six)[0], rot6d.decode_as_is(six)[0]
    pair = "xy" if packing == "rows" else columns
    mirrored = derived == "first_cross_second" and pair not in CYCLIC
    want = np.array(rotation).T if packing == "rows" else np.array(rotation)
    if mirrored:
        want[:, ({0, 1, 2} - {"xyz".index(name) for name in pair}).pop()] *= -1.0
    want = want.T if packing == "rows" else want
    # unit columns and a right angle up to rounding: Gram-Schmidt adds under 20 more
    np.testing.assert_allclose(got, want, rtol=0, atol=20 * 2.0**-53)
    np.testing.assert_allclose(as_is, want, rtol=0, atol=20 * 2.0**-53)  # nothing to orthonormalise
    assert oracle.determinant(got.tolist()) == pytest.approx(-1.0 if mirrored else 1.0, abs=1e-14)


@MORE
@given(**way, a=axes, b=axes)
@example(columns="yx", packing="interleaved", derived="second_cross_first", a=(0.0, 3.0, 0.0), b=(1.0, 1.0, 0.0))
def test_reprojecting_twice_is_reprojecting_once(columns, packing, derived, a, b):
    """Both sides reproject at different moments of the frame; only a projection lets them agree."""
    gain = oracle.amplification(a, b)
    assume(gain < 100 and oracle.length(b) / gain > 1e-3)
    rot6d = codec(columns, packing, derived)
    raw = rot6d.join(np.array([a]), np.array([b]))
    once = rot6d.reproject(raw, raw)
    # the first pass leaves the two axes at a right angle up to its own magnified rounding; the second takes that out
    np.testing.assert_allclose(rot6d.reproject(once, raw), once, rtol=0, atol=20 * gain * 2.0**-53)
    first, second = oracle.gram_schmidt(a, b)
    np.testing.assert_allclose(once, rot6d.join(np.array([first]), np.array([second])), atol=20 * gain * 2.0**-53)
    np.testing.assert_allclose(rot6d.encode(rot6d.decode(raw)), once, rtol=0, atol=20 * gain * 2.0**-53)


# --- an axis that is too short ----------------------------------------------------------------------------------------


FRAMES, BONES = 3, 2
EACH_BONE = [(frame, bone) for frame in range(FRAMES) for bone in range(BONES)]
LOST, X, Y, Z = np.zeros(3), *np.eye(3)
SHORT = np.array([8e-5, 8e-5, 0.0])
"""Longer than 1e-4, and every component shorter: an axis of a pose is kept, one of a delta is lost."""
HALF = np.array([np.sqrt(0.5), np.sqrt(0.5), 0.0])


def turned(frame, bone):
    """A rotation that belongs to one bone of one frame alone."""
    return np.array(oracle.rodrigues([1.0, 0.5 * frame, 2.0 * bone - 1.0], 0.3 + 0.7 * frame + 0.4 * bone))


def poses(factor=1.0):
    """The first and the last column of each rotation, as six numbers hold them, longer by a factor: (frames, bones, 6)."""
    six = np.empty((FRAMES, BONES, 6))
    for place in EACH_BONE:
        six[place] = factor * np.concatenate((turned(*place)[:, 0], turned(*place)[:, 2]))
    return six


@every_case(
    ("policy", "is_delta", "first", "second", "expected"),
    [
        ("previous_frame", False, LOST, 2 * Z, (Y, Z)), ("previous_frame", True, LOST, 2 * Z, (X, Z)),
        ("canonical", False, LOST, 2 * Y, (X, Y)), ("canonical", True, LOST, 2 * Y, (X, Y)),
        ("previous_frame_for_delta", False, LOST, 2 * Z, (Y, Z)), ("previous_frame_for_delta", True, LOST, 2 * Z, (Y, Z)),
        ("previous_frame", False, 2 * Z, LOST, (Z, X)), ("previous_frame", True, 2 * Y, LOST, (Y, Z)),
        ("previous_frame", False, SHORT, Z, (HALF, Z)), ("previous_frame", True, SHORT, Z, (X, Z)),
        ("zero", False, LOST, 2 * Z, (LOST, Z)), ("previous_frame", False, 3 * Y, Y + Z, (Y, Z)),
    ],
)  # fmt: skip
@every_case("place", EACH_BONE)
def test_a_lost_axis_is_replaced_in_its_own_bone_as_the_conventions_say(
    place, policy, is_delta, first, second, expected
):
    """A pose takes the axis that was published before, a delta a coordinate axis; the other bones keep theirs."""
    operation = codec(degenerate=policy)
    six, published = poses(factor=2.0), np.tile(np.concatenate((Z, Y)), (FRAMES, BONES, 1))
    six[place], published[place] = np.concatenate((first, second)), np.concatenate((Y, X))
    reproject = operation.reproject_delta if is_delta else operation.reproject
    got = reproject(six.reshape(FRAMES, -1), published.reshape(FRAMES, -1))
    wanted = poses()
    wanted[place] = np.concatenate(expected)
    np.testing.assert_allclose(got, wanted.reshape(FRAMES, -1), atol=1e-12)
