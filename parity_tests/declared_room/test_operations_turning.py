"""Every reading of the operations on rotations, against scipy's rotations; several rotations at once."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from .one_operation import (
    F32,
    Array,
    Oracle,
    Subject,
    back,
    drawn,
    judging_tests,
    matrix,
    product,
    result_of,
    threes,
    turned,
    units,
)

XYZW = [0, 1, 2, 3]
WXYZ_TO_XYZW = [1, 2, 3, 0]
XYZW_TO_WXYZ = [3, 0, 1, 2]


def rotations(q: Array, order: Sequence[int] = WXYZ_TO_XYZW) -> Array:
    """(N, B, 3, 3) of rows (N, 4 B)."""
    return matrix(q.reshape(len(q), -1, 4)[..., list(order)])


def test_the_oracles_matrix_and_product_are_scipys():
    """The other tests of this room lean on them."""
    a, b = (units(np.random.default_rng(seed), 40).astype(np.float64) for seed in (1, 2))
    a, b = (q / np.linalg.norm(q, axis=1, keepdims=True) for q in (a, b))
    assert np.abs(matrix(a) - Rotation.from_quat(a).as_matrix()).max() < 1e-14  # float64, a few roundings
    both = (Rotation.from_quat(a) * Rotation.from_quat(b)).as_matrix()
    assert np.abs(matrix(product(a, b)) - both).max() < 1e-14


def drawn_vectors(each: int = 2, quaternions: int = 1) -> Callable[[np.random.Generator, int], Mapping[str, Array]]:
    def draw(random: np.random.Generator, count: int) -> Mapping[str, Array]:
        v = random.normal(size=(count, 3 * each)).astype(F32)
        return {"q": units(random, count, quaternions), "v": v}

    return draw


def rotated(order: Sequence[int], *, is_inverse: bool) -> Oracle:
    def oracle(q: Array, v: Array) -> Array:
        m = rotations(q, order)
        return turned(back(m) if is_inverse else m, threes(v))

    return oracle


def unturned(q: Array, v: Array) -> Array:
    return v


def gravity(order: Sequence[int] = WXYZ_TO_XYZW, factor: float = 1.0, *, is_inverse: bool = True) -> Oracle:
    def oracle(q: Array) -> Array:
        m = rotations(q, order)
        return turned(back(m) if is_inverse else m, np.array([0.0, 0.5, -1.0]).astype(q.dtype) * q.dtype.type(factor))

    return oracle


def flat(q: Array) -> Array:
    return np.tile(np.array([0.0, 0.5, -1.0], q.dtype), (len(q), 1))


def drawn_frame(random: np.random.Generator, count: int) -> Mapping[str, Array]:
    points, origin = (random.normal(size=(count, size)).astype(F32) for size in (6, 3))
    return {"p": points, "o": origin, "q": units(random, count)}


def framed(function: Callable[[Array, Array, Array], Array], order: Sequence[int] = WXYZ_TO_XYZW) -> Oracle:
    return lambda p, o, q: function(threes(p), threes(o), rotations(q, order))


def into(p: Array, o: Array, m: Array) -> Array:
    return turned(back(m), p) - turned(back(m), o)


def out(p: Array, o: Array, m: Array) -> Array:
    return o + turned(m, p)


Q, V = '{ name = "q", kind = "quaternion_wxyz" }', '{ name = "v", size = 6 }'
FRAME_READINGS: Mapping[str, Oracle] = {
    "into_frame": framed(into), "out_of_frame": framed(out),
    "into_frame_origin_kept": framed(lambda p, o, m: turned(back(m), p)),
    "into_frame_turned_forward": framed(lambda p, o, m: turned(m, p) - turned(m, o)),
    "into_frame_not_turned": framed(lambda p, o, m: p - o), "out_of_frame_not_turned": framed(lambda p, o, m: o + p),
}  # fmt: skip
FRAME = f'{{ name = "p", size = 6 }}, {{ name = "o", kind = "position" }}, {Q}'


def inverse(q: Array) -> Array:
    return q * np.array([-1, -1, -1, 1], q.dtype)


def composed(
    function: Callable[[Array, Array], Array], one: Sequence[int] = WXYZ_TO_XYZW, other: Sequence[int] = XYZW
) -> Oracle:
    def oracle(a: Array, b: Array) -> Array:
        left, right = a.reshape(len(a), -1, 4)[..., list(one)], b.reshape(len(b), -1, 4)[..., list(other)]
        return np.broadcast_to(function(*np.broadcast_arrays(left, right)), right.shape)

    return oracle


PRODUCTS: Mapping[str, Oracle] = {
    "second_first": composed(lambda a, b: product(b, a)), "inverse_of_first": composed(lambda a, b: product(inverse(a), b)),
    "inverse_of_second": composed(lambda a, b: product(a, inverse(b))), "first_only": composed(lambda a, b: a),
    "second_only": composed(lambda a, b: b),
}  # fmt: skip


def drawn_pair(random: np.random.Generator, count: int) -> Mapping[str, Array]:
    return {"a": units(random, count), "b": units(random, count, 2)}


def stepped(
    step: float, angle: float = 0.5, order: Sequence[int] = WXYZ_TO_XYZW, *, on_the_right: bool = False
) -> Oracle:
    """exp(angle · step · ω) ⊗ q as sine and cosine; small angles by the first terms of the series."""

    def oracle(q: Array, rate: Array) -> Array:
        kind = q.dtype.type
        h = threes(rate) * (kind(step) * kind(angle))
        size = np.sqrt(np.sum(h * h, axis=-1, keepdims=True))
        sine = np.where(
            size > kind(1e-3), np.sin(size) / np.maximum(size, kind(1e-30)), kind(1) - size * size / kind(6)
        )
        turn = np.concatenate([h * sine, np.cos(size)], axis=-1)
        own = q.reshape(len(q), -1, 4)[..., list(order)]
        return (product(own, turn) if on_the_right else product(turn, own))[..., XYZW_TO_WXYZ]

    return oracle


def drawn_rate(random: np.random.Generator, count: int) -> Mapping[str, Array]:
    return {"q": units(random, count, 2), "w": (3.0 * random.normal(size=(count, 6))).astype(F32)}


INTEGRATED = '{ name = "q", kind = "quaternion_wxyz", size = 8 }, { name = "w", size = 6 }'
STEP = 0.02


OWN = np.array([[1.0, 0.0, 0.5], [0.0, -2.0, 0.0]])


def each_its_own(order: Sequence[int] = WXYZ_TO_XYZW, *, is_inverse: bool = False, factor: float = 1.0) -> Oracle:
    def oracle(q: Array) -> Array:
        v = np.tile((factor * OWN).astype(q.dtype), (len(q), 1, 1))
        return rotated(order, is_inverse=is_inverse)(q, v.reshape(len(q), -1))

    return oracle


def cleaned(
    length: Callable[[Array], Array] = lambda q: np.sqrt(np.sum(q * q, -1, keepdims=True)), *, signed: bool = True
) -> Oracle:
    """Quaternions divided by a length, their own or that of all; then w is not negative."""

    def oracle(answer: Array) -> Array:
        q = answer.reshape(-1, 4, 4)
        q = q / length(q)
        return np.where(q[..., 3:] < 0, -q, q) if signed else q

    return oracle


ANSWER = '{ name = "answer", names = ["a", "b", "c", "d"], size = 4 }'
MADE_UNIT = {
    "normalisation": {"none": cleaned(lambda q: q.dtype.type(1)),
                      "together": cleaned(lambda q: np.sqrt(np.sum(q * q, (1, 2), keepdims=True)))},
    "sign": {"as_it_comes": cleaned(signed=False)},
}  # fmt: skip
UNIT_QUATERNIONS = Subject("unit_quaternions", ANSWER,
    'operation = "unit_quaternions", of = "answer", normalisation = "unit", sign = "w_not_negative"', drawn(3.0, answer=16),
    cleaned(), MADE_UNIT)  # fmt: skip
UNIT_OR_ZEROS = Subject("unit_or_zeros", ANSWER, UNIT_QUATERNIONS.stage.replace('"unit"', '"unit_or_zeros"'),
    UNIT_QUATERNIONS.draw, cleaned(),
    {**MADE_UNIT, "normalisation": {**MADE_UNIT["normalisation"], "unit": cleaned()}})  # fmt: skip
SUBJECTS = (
    UNIT_QUATERNIONS, UNIT_OR_ZEROS,
    Subject("rotate", f"{Q}, {V}", 'operation = "rotate", of = ["q", "v"], direction = "forward"', drawn_vectors(),
        rotated(WXYZ_TO_XYZW, is_inverse=False), {
        "direction": {"inverse": rotated(WXYZ_TO_XYZW, is_inverse=True), "none": unturned},
        "quaternion_order": {"xyzw": rotated(XYZW, is_inverse=False)},
    }),
    Subject("rotate_each", '{ name = "q", kind = "quaternion_wxyz", size = 8 }, { name = "v", size = 6 }',
        'operation = "rotate", of = ["q", "v"], direction = "inverse"', drawn_vectors(2, 2),
        rotated(WXYZ_TO_XYZW, is_inverse=True), {
        "direction": {"forward": rotated(WXYZ_TO_XYZW, is_inverse=False), "none": unturned},
        "quaternion_order": {"xyzw": rotated(XYZW, is_inverse=True)},
    }),
    Subject("a vector for each", '{ name = "q", kind = "quaternion_wxyz", size = 8 }',
        'operation = "rotate", of = "q", vector = [[1, 0, 0.5], [0, -2, 0]], direction = "forward"',
        lambda random, count: {"q": units(random, count, 2)}, each_its_own(), {
        "direction": {"inverse": each_its_own(is_inverse=True), "none": lambda q: np.tile(OWN.astype(q.dtype), (len(q), 1, 1))},
        "quaternion_order": {"xyzw": each_its_own(XYZW)},
        "vector": {"negated": each_its_own(factor=-1.0), "times_9.81": each_its_own(factor=9.81)},
    }),
    Subject("gravity", Q, 'operation = "rotate", of = "q", vector = [0, 0.5, -1], direction = "inverse"',
        lambda random, count: {"q": units(random, count)}, gravity(), {
        "direction": {"forward": gravity(is_inverse=False), "none": flat},
        "quaternion_order": {"xyzw": gravity(XYZW)},
        "vector": {"negated": gravity(factor=-1.0), "times_9.81": gravity(factor=9.81)},
    }),
    Subject("relative", FRAME, 'operation = "relative", of = ["p", "o", "q"], direction = "into_frame"', drawn_frame,
        FRAME_READINGS["into_frame"], {
        "direction": {name: oracle for name, oracle in FRAME_READINGS.items() if name != "into_frame"},
        "quaternion_order": {"xyzw": framed(into, XYZW)},
    }),
    Subject("relative_out", FRAME, 'operation = "relative", of = ["p", "o", "q"], direction = "out_of_frame"', drawn_frame,
        FRAME_READINGS["out_of_frame"], {
        "direction": {name: oracle for name, oracle in FRAME_READINGS.items() if name != "out_of_frame"},
        "quaternion_order": {"xyzw": framed(out, XYZW)},
    }),
    Subject("compose", '{ name = "a", kind = "quaternion_wxyz" }, { name = "b", kind = "quaternion_xyzw", size = 8 }',
        'operation = "compose", of = ["a", "b"], product = "first_second"', drawn_pair, composed(product), {
        "product": PRODUCTS,
        "quaternion_order": {"xyzw": composed(product, XYZW)},
        "second_quaternion_order": {"wxyz": composed(product, WXYZ_TO_XYZW, WXYZ_TO_XYZW)},
    }, is_rotation=True),
    Subject("integrate_rotation", INTEGRATED, 'operation = "integrate_rotation", of = ["q", "w"], side = "left"', drawn_rate,
        stepped(STEP), {
        "side": {"right": stepped(STEP, on_the_right=True)},
        "angle": {"full": stepped(STEP, 1.0), "quarter": stepped(STEP, 0.25), "negated": stepped(STEP, -0.5)},
        "step": {"left_out": stepped(1.0), "squared": stepped(STEP**2),
                 "half_of_it": stepped(STEP / 2), "divided_by": stepped(1 / STEP)},
        "quaternion_order": {"xyzw": stepped(STEP, order=XYZW)},
    }, is_rotation=True),
)  # fmt: skip
"""What a side reads in another order of components it writes in the declared one."""
test_oracles, test_numbers, test_bounds = judging_tests(SUBJECTS)


def test_an_answer_without_a_direction_is_no_rotation_and_a_half_turn_has_no_sign():
    """A zero divided by its length is a NaN down the limb; where w is zero, two right engines differ by the whole sign."""
    for stage, expected in ((UNIT_QUATERNIONS, [0.0, 0.0, 0.0, 1.0]), (UNIT_OR_ZEROS, [0.0, 0.0, 0.0, 0.0])):
        rows, _ = result_of(stage, {"answer": np.zeros((1, 16), F32)})
        assert rows.tolist() == [expected * 4]
    _, bound = result_of(UNIT_QUATERNIONS, {"answer": np.array([[1, 2, 3, 0, *np.ones(12)]], F32)})
    assert np.isnan(bound[0, :4]).all()
    assert np.isfinite(bound[0, 4:]).all()


def test_the_bound_of_a_point_is_of_its_own_numbers():
    """A hand near the origin would be allowed the error of a foot that is a kilometre away, or none along an axis."""
    relative = next(each for each in SUBJECTS if each.name == "relative")
    beside = np.array([[1, 0, 0, 0, 1000, 0]], F32)
    inputs = {"p": beside, "o": np.zeros((1, 3), F32), "q": np.array([[1, 0, 0, 0]], F32)}
    _, bound = result_of(relative, inputs)
    near, far = bound.reshape(2, 3)
    assert near.tolist() == [near[0]] * 3
    np.testing.assert_allclose(far, 1000.0 * near)


@pytest.mark.parametrize("operation", ["compose", "integrate_rotation"])
def test_a_declared_order_of_components_is_written_too(operation):
    """Read as w, x, y, z and written as x, y, z, w, the next frame turns about another axis."""
    q = units(np.random.default_rng(3), 4)
    if operation == "compose":
        inputs = {"a": np.tile(np.array([1, 0, 0, 0], F32), (4, 1)), "b": q}
        given_ = '{ name = "a", kind = "quaternion_wxyz" }, { name = "b", size = 4 }'
        stage = 'operation = "compose", of = ["a", "b"], product = "first_second", second_quaternion_order = "wxyz"'
    else:
        inputs, given_ = {"q": q, "w": np.zeros((4, 3), F32)}, '{ name = "q", size = 4 }, { name = "w", size = 3 }'
        stage = 'operation = "integrate_rotation", of = ["q", "w"], side = "left", quaternion_order = "wxyz"'
    rows, _ = result_of(Subject("", given_, stage, drawn_pair, unturned), inputs)
    assert np.abs(rows - q).max() < 1e-7  # a turn by nothing, stored once
