"""Rotations and their six numbers: scipy as oracle, their ends by hand, the training side beside them, every convention."""

import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from rigpact.contract.pages.registry import find_system
from rigpact.reference_runtime.operations import geometry
from rigpact.reference_runtime.operations.geometry import EULER, TRIPLES
from rigpact.reference_runtime.operations.six_numbers import Rot6d

from ..every_case import every_case
from . import scalar_oracle as oracle
from .drawn import QUARTER_TURN_Z, angles, axes, rotations

enemy_conventions = find_system("enemy_animation").conventions
mpmath.mp.dps = 50
UNIT = {np.float64: 2.0**-53, np.float32: 2.0**-24}
DTYPES = pytest.mark.parametrize("dtype", [np.float64, np.float32])
PACKINGS = ("columns", "rows", "interleaved")
CODECS = {packing: Rot6d(enemy_conventions({"rot6d_packing": packing})) for packing in PACKINGS}
V, Q, R, SIX = (3,), (4,), (3, 3), (36,)


def turn(quat):
    return Rotation.from_quat(quat)


def of(matrix):
    return Rotation.from_matrix(matrix)


FORMULAS = {
    "dot": (geometry.dot, (V, V), lambda a, b: [a @ b]), "cross": (geometry.cross, (V, V), np.cross),
    "length": (geometry.length, (V,), lambda a: [math.hypot(*a)]), "is_short": (geometry.is_short, (V,), None),
    "normalised": (geometry.normalised, (V,), lambda a: a / math.hypot(*a)), "perpendicular": (geometry.perpendicular, (V, V),
    None),
    "most_perpendicular_axis": (geometry.most_perpendicular_axis, (V,), lambda a: np.eye(3)[np.argmin(np.abs(a))]),
    "rotation_angle_rad": (geometry.rotation_angle_rad, (R, R), lambda a, b: (of(a).inv() * of(b)).magnitude()),
    "matrix_to_quat": (geometry.matrix_to_quat, (R,), lambda a: of(a).as_quat()), "compose": (geometry.compose, (R, R),
    lambda a, b: (of(a) * of(b)).as_matrix()),
    "rotation_vector": (geometry.rotation_vector, (R,), lambda a: of(a).as_rotvec()),
    "quat_to_vector": (geometry.quat_to_vector, (Q,), lambda q: turn(q).as_rotvec()),
    "angular_velocity": (lambda a, b: geometry.angular_velocity(a, b, 30.0),
    (R, R), lambda a, b: 30.0 * (of(b) * of(a).inv()).as_rotvec()),
    "product": (geometry.product, (Q, Q), lambda p, q: (turn(p) * turn(q)).as_quat()),
    "conjugate": (geometry.conjugate, (Q,), lambda q: turn(q).inv().as_quat()),
    "rotated": (geometry.rotated, (Q, V), lambda q, v: turn(q).apply(v)), "unit": (geometry.unit, (Q,),
    lambda q: turn(q).as_quat()),
    "unit_or_identity": (geometry.unit_or_identity, (Q,), lambda q: turn(q).as_quat()),
    "to_matrix": (geometry.to_matrix, (Q,), lambda q: turn(q).as_matrix()),
    "exponential": (geometry.exponential, (V,), lambda half: Rotation.from_rotvec(2.0 * half).as_quat()),
    "exp_map": (geometry.exp_map, (V,), lambda vector: Rotation.from_rotvec(vector).as_matrix()),
    "exponential of next to nothing": (lambda half: geometry.exponential(half * 1e-10),
    (V,), lambda half: [*half * 1e-10, 1.0]),
    **{f"euler {name}": (EULER[f"{name}_{unit}"][0], (V,),
    lambda v, name=name, unit=unit: Rotation.from_euler(name, v, unit == "deg").as_matrix())
       for name, unit in (("zxy", "deg"), ("XZY", "rad"))},
    **{f"euler {name} back": (EULER[f"{name}_{unit}"][1], (R,),
    lambda a, name=name, unit=unit: of(a).as_euler(name, unit == "deg"))
       for name, unit in (("zxy", "deg"), ("XZY", "rad"))},
    "smaller_sum": (TRIPLES["smaller_sum"], (V,), None),
    **{f"{what} {name}": (getattr(codec, what), shapes, None) for name, codec in CODECS.items() for what, shapes in (
        ("decode", (SIX,)), ("decode_to_quat", (SIX,)), ("decode_as_is", (SIX,)), ("reproject", (SIX, SIX)),
        ("compose", (SIX, SIX)), ("encode", ((6, 3, 3),)))},
}  # fmt: skip
OF_QUATS = ("matrix_to_quat", "product", "conjugate", "unit", "unit_or_identity", "exponential")


def drawn(shape, seed):
    """Numbers of both signs around 1; quaternions are units and matrices rotations."""
    numbers = np.random.default_rng(seed).normal(size=shape)
    if shape[-1:] == Q:
        return numbers / np.linalg.norm(numbers, axis=-1, keepdims=True)
    return Rotation.random(math.prod(shape[:-2]), seed).as_matrix().reshape(shape) if shape[-2:] == R else numbers


@every_case("name", FORMULAS)
@every_case("leading", [(), (2,), (2, 4), (2, 4, 5)])
def test_a_formula_is_scipys_and_each_of_an_array_is_computed_as_if_it_were_alone(name, leading):
    """Joined or summed along the wrong axis, the numbers of one bone or frame become another's."""
    function, shapes, expected = FORMULAS[name]
    inputs = [drawn((*leading, *shape), seed) for seed, shape in enumerate(shapes)]
    got = function(*inputs)
    assert got.shape[: len(leading)] == leading
    for place in itertools.product(*map(range, leading)):
        own = [each[place] for each in inputs]
        # a block of many may be computed by vector instructions: a rounding of each of some ten steps
        np.testing.assert_allclose(got[place], function(*own), rtol=0, atol=64 * 2.0**-52)
        if expected is not None:
            wanted = np.asarray(expected(*own))
            wanted = wanted * np.sign(got[place] @ wanted) if name in OF_QUATS else wanted  # q and -q are one rotation
            size = 180 if name == "euler zxy back" else 30 if name == "angular_velocity" else 1
            np.testing.assert_allclose(got[place], wanted, rtol=64 * 2.0**-52, atol=64 * 2.0**-52 * size)


@DTYPES
@given(axis=axes, angle=angles)
@example(axis=(1.0, 2.0, -3.0), angle=1e-9)
@example(axis=(0.0, 0.0, 1.0), angle=math.pi)
@example(axis=(1.0, -1.0, 1.0), angle=3.1415926)
@example(axis=(-1.0, 0.0, 0.0), angle=math.pi / 2)  # two components of the quaternion tie
@example(axis=(1.0, 1.0, 1.0), angle=-2.0943951)  # a permutation matrix
def test_rotation_vector_and_quaternion_are_of_axis_and_angle(dtype, axis, angle):
    """Wrong near half a turn, a spinning limb reports a velocity in the opposite direction."""
    matrix = np.array(oracle.rodrigues(axis, angle), dtype)
    got, quat = geometry.rotation_vector(matrix), geometry.matrix_to_quat(matrix)
    unit = np.array(oracle.times(1.0 / oracle.length(axis), axis))
    want, half = angle * unit, np.array([*math.sin(angle / 2) * unit, math.cos(angle / 2)])
    # the entries are rounded once, the quaternion divides by at least 1/2, the angle is 2 atan2 of its parts
    limit = 64 * UNIT[dtype]
    near_pi = math.pi - abs(angle) < limit
    assert got.dtype == dtype
    assert np.abs(got - want).max() <= limit or (near_pi and np.abs(got + want).max() <= 2 * limit)
    np.testing.assert_allclose(quat, half * np.sign(half @ quat), rtol=0, atol=16 * UNIT[dtype])
    assert oracle.dot(quat.tolist(), quat.tolist()) == pytest.approx(1.0, abs=8 * UNIT[dtype])


@DTYPES
@given(a=rotations, axis=axes, angle=st.floats(0.0, math.pi))
@example(a=oracle.EYE, axis=(1.0, 0.0, 0.0), angle=1e-5)
@example(a=QUARTER_TURN_Z, axis=(1.0, 0.0, 0.0), angle=math.pi)
def test_angle_between_two_rotations_is_exact_at_both_ends(training, dtype, a, axis, angle):
    """With acos of a clamped cosine, identical poses differ by 0.08 degrees."""
    matrices = np.array(a, dtype), np.array(oracle.product(a, oracle.rodrigues(axis, angle)), dtype)
    # nine products of rounded entries; atan2 is well-conditioned everywhere
    assert geometry.rotation_angle_rad(*matrices) == pytest.approx(angle, abs=32 * UNIT[dtype])
    theirs, tensor = training
    assert theirs.rotation_angle_rad(*map(tensor, matrices)).item() == pytest.approx(angle, abs=64 * UNIT[dtype])


def test_a_quaternion_without_a_direction_is_no_turn_where_the_convention_says_so():
    """A recorder's first frame is often four zeros; the limit is a length of 1e-8."""
    rows = np.array([[0.0] * 4, [0.49e-8] * 4, [0.51e-8] * 4, [0.0, 3.0, 0.0, 4.0]])
    expected = [[0, 0, 0, 1], [0, 0, 0, 1], [0.5] * 4, [0, 0.6, 0, 0.8]]
    np.testing.assert_allclose(geometry.unit_or_identity(rows), expected, rtol=0, atol=1e-15)
    np.testing.assert_allclose(geometry.unit(rows[[0, 3]]), [[math.nan] * 4, expected[3]], rtol=0, atol=1e-15)


# --- angles -----------------------------------------------------------------------------------------------------------

PI = math.pi


@every_case(
    ("angle", "expected"),
    [(PI, PI), (-PI, -PI), (3 * PI, PI), (-3 * PI, -PI), (math.nextafter(PI, 4), -PI), (math.nextafter(-PI, -4), PI),
    (0.0, 0.0),
     (2 * PI, 0.0), (math.nextafter(PI, 0), PI)],
)  # fmt: skip
def test_wrapping_keeps_both_ends(angle, expected):
    """A character that faces exactly backwards would flip its heading feature from 1 to -1."""
    limit = 4 * UNIT[np.float64] * max(abs(angle), 4)
    assert oracle.wrapped(angle) == pytest.approx(expected, abs=limit)
    assert geometry.wrap_to_pi(np.array([angle]))[0] == pytest.approx(expected, abs=limit)


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
    turns = (mpmath.mpf(float(value)) - mpmath.mpf(got)) / (2 * mpmath.pi)
    assert abs(got) <= math.pi + limit
    assert abs(turns - mpmath.nint(turns)) * 2 * mpmath.pi <= limit


def test_each_quaternion_takes_the_sign_nearest_to_its_own():
    """One sign for all bones of a frame would report every other as a whole turn off; at a right angle the recorded one stays."""
    chance = np.random.default_rng(6)
    quats, signs = chance.normal(size=(5, 3, 4)), chance.choice((-1.0, 1.0), (5, 3, 1))
    near = quats + 0.01 * chance.normal(size=quats.shape)
    got = geometry.same_hemisphere(quats.reshape(5, 12), (signs * near).reshape(5, 12))
    np.testing.assert_array_equal(got, near.reshape(5, 12))
    rows = np.array([[0.0, 1.0, 0.0, 0.0, 0.0, 0.0, -1.0, 0.0]])
    np.testing.assert_array_equal(geometry.same_hemisphere(np.array([[1.0, 0.0, 0.0, 0.0] * 2]), rows), rows)


def test_the_angle_between_the_quaternions_of_several_bones():
    """A turn of 90° about z and one of 60° about x, each beside no turn; a sign of all four numbers changes nothing."""
    none, z90, x60 = (0.0, 0.0, 0.0, 1.0), (0.0, 0.0, math.sqrt(0.5), math.sqrt(0.5)), (0.5, 0.0, 0.0, math.sqrt(0.75))
    a, b = (
        np.array([[*none * 3], [*z90, *x60, *none]]),
        np.array([[*z90, *x60, *none], [*(-np.array(z90)), *none, *none]]),
    )
    expected = np.radians([[90.0, 60.0, 0.0], [0.0, 60.0, 0.0]])
    np.testing.assert_allclose(geometry.quaternion_angle_rad(a, b), expected, atol=1e-12)


@DTYPES
def test_the_vector_of_half_a_turn_and_of_next_to_none(dtype):
    """Both signs are half a turn: the written one is kept. Below, sin(θ/2) is θ/2, and the length, a root of squares, is zero."""
    axis, smallest = np.array([0.6, 0.0, 0.8]), dtype(np.finfo(dtype).tiny)
    for sign in (1.0, -1.0):
        got = geometry.quat_to_vector(sign * np.array([*axis, 0.0]))
        np.testing.assert_allclose(got, sign * math.pi * axis, rtol=16 * UNIT[np.float64])
    got = geometry.quat_to_vector(np.array([smallest, 0.0, -2.0 * smallest, 1.0], dtype))
    assert (got.dtype, got.tolist()) == (dtype, [2.0 * float(smallest), 0.0, -4.0 * float(smallest)])


@every_case(
    ("given", "expected"),
    [
        ((170.0, 100.0, -160.0), (-10.0, 80.0, 20.0)), ((170.0, 100.0, 20.0), (-10.0, 80.0, -160.0)), ((-170.0, 100.0, 160.0),
        (10.0, 80.0, -20.0)),
        ((10.0, 80.0, -20.0), (10.0, 80.0, -20.0)), ((170.0, 20.0, 20.0), (170.0, 20.0, 20.0)),
        # neither turns less: the given one stays; the middle angle is never -180 degrees
        ((90.0, 90.0, 90.0), (90.0, 90.0, 90.0)), ((180.0, 0.0, 180.0), (0.0, 180.0, 0.0)),
    ],
)  # fmt: skip
def test_of_two_triples_of_one_rotation_the_smaller_is_taken(given, expected):
    """(x, y, z) and (x ± 180, 180 - y, z ± 180) are one rotation; Blender keeps the one that turns less."""
    np.testing.assert_allclose(np.degrees(TRIPLES["smaller_sum"](np.radians([given]))), [expected], atol=1e-9)


def test_euler_angles_are_determined_down_to_a_ten_millionth_before_the_lock():
    """Below it the two outer turns are about one axis; above, the first of them must not be called zero."""
    matrix = np.eye(3)
    matrix[0, 0], matrix[2, 0] = 1e-7, -1.0
    matrix[2, 1], matrix[2, 2] = 1e-7 * math.sin(0.5), 1e-7 * math.cos(0.5)
    first, middle, third = EULER["xyz_rad"][1](matrix)
    assert (first, third) == (pytest.approx(0.5, rel=1e-15), 0.0)
    assert middle == pytest.approx(math.pi / 2 - 1e-7, rel=1e-15)
