"""Every reading of the operations on single numbers, against expected values that stand here."""

from collections.abc import Callable, Mapping
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from .one_operation import F32, MEASURES, Array, Oracle, Subject, drawn, judging_tests, result_of, threes

Numbers = tuple[float, ...]
A, B = (2.0, -0.5, 0.25), (0.1, -0.4, 3.0)
MEAN, STD = (0.3, -1.0, 2.0), (0.5, 0.02, 3.0)


def each(function: Callable[..., Any], *numbers: Numbers) -> Oracle:
    return lambda rows: function(rows, *(np.array(values, rows.dtype) for values in numbers))


def affine(scale: Numbers, offset: Numbers) -> Oracle:
    return each(lambda x, a, b: b + a * x, scale, offset)


def off_first(scale: Numbers, offset: Numbers) -> Oracle:
    return each(lambda x, a, b: a * (b + x), scale, offset)


def times(factor: float, values: Numbers) -> Numbers:
    return tuple(factor * value for value in values)


ONES, ZEROS = (1.0, 1.0, 1.0), (0.0, 0.0, 0.0)
SQUARES, INVERSES = tuple(a * a for a in A), tuple(1.0 / a for a in A)
GIVEN = '{ name = "x", size = 3 }'
NAMED = '{ name = "x", names = ["a", "b", "c"] }'
LISTS = '[names]\nown = ["a", "b", "c"]\nother = ["c", "a", "b"]\n[numbers]\nk = { value = [2.0, -0.5, 0.25], names = "other" }\n'


def normalised(mean: Numbers, std: Numbers) -> Oracle:
    return each(lambda x, m, s: (x - m) / s, mean, std)


def denormalised(mean: Numbers, std: Numbers) -> Oracle:
    return each(lambda x, m, s: m + s * x, mean, std)


def twice(oracle: Oracle) -> Oracle:
    return lambda rows: oracle(oracle(rows))


def as_it_is(rows: Array) -> Array:
    return rows


def _normaliser(make: Callable[..., Oracle]) -> Mapping[str, Mapping[str, Oracle]]:
    return {
        "mean": {"none": make(ZEROS, STD), "added": make(times(-1.0, MEAN), STD)},
        "std": {
            "none": make(MEAN, ONES), "variance": make(MEAN, tuple(s * s for s in STD)),
            "root": make(MEAN, tuple(s**0.5 for s in STD)),
        },
        "applied": {"twice": twice(make(MEAN, STD)), "skipped": as_it_is},
    }  # fmt: skip


STATISTICS = f"mean = {list(MEAN)}, std = {list(STD)}"
LOW, HIGH = (-0.5, -0.3, -2.0), (1.0, 0.3, 0.5)


def _tanh(x: Array) -> Array:
    """By exp, another way than a library's."""
    e = np.exp(x.dtype.type(-2) * abs(x))
    return np.copysign((x.dtype.type(1) - e) / (x.dtype.type(1) + e), x)


def _sigmoid(x: Array) -> Array:
    one = x.dtype.type(1)
    return np.where(x >= 0, one / (one + np.exp(-x)), np.exp(x) / (one + np.exp(x)))


def _softmax(x: Array) -> Array:
    raised = np.exp(x)
    return raised / (raised[:, 2] + raised[:, 1] + raised[:, 0])[:, None]


def limited(function: Callable[[Array], Array]) -> Oracle:
    return lambda x: function(x / x.dtype.type(2)) * x.dtype.type(2)


def wrapped(turn: float, *, is_positive: bool = False) -> Oracle:
    def oracle(x: Array) -> Array:
        size = x.dtype.type(turn)
        left = x - size * np.floor(x / size)
        return left if is_positive else np.where(left <= size / x.dtype.type(2), left, left - size)

    return oracle


TAU = 2.0 * float(mpmath.pi)


def summed(*weights: float) -> Oracle:
    return lambda *v: sum(k * x for k, x in zip(np.array(weights[::-1], v[0].dtype), v[::-1], strict=True))


def beyond(limit: float, *, is_below: bool = False) -> Oracle:
    return lambda x: (x < x.dtype.type(limit) if is_below else x > x.dtype.type(limit)).astype(x.dtype)


SUBJECTS = (
    Subject("affine", GIVEN, f'operation = "affine", of = "x", scale = {list(A)}, offset = {list(B)}', drawn(x=3), affine(A, B), {
        "scale": {"none": affine(ONES, B), "inverse": affine(INVERSES, B), "twice": affine(SQUARES, B),
                  "negated": affine(times(-1.0, A), B)},
        "offset": {"none": affine(A, ZEROS), "negated": affine(A, times(-1.0, B)), "twice": affine(A, times(2.0, B))},
        "order": {"constant_first": off_first(A, B)},
    }),
    Subject("affine_subtract", GIVEN, f'operation = "affine", of = "x", scale = {list(A)}, subtract = {list(B)}', drawn(x=3),
        off_first(A, times(-1.0, B)), {
        "scale": {"none": off_first(ONES, times(-1.0, B)), "inverse": off_first(INVERSES, times(-1.0, B)),
                  "twice": off_first(SQUARES, times(-1.0, B)), "negated": off_first(times(-1.0, A), times(-1.0, B))},
        "subtract": {"none": off_first(A, ZEROS), "negated": off_first(A, B), "twice": off_first(A, times(-2.0, B))},
        "order": {"scale_first": affine(A, times(-1.0, B))},
    }),
    Subject("affine_names", NAMED, 'operation = "affine", of = "x", scale = "k"', drawn(x=3), affine((-0.5, 0.25, 2.0), ZEROS), {
        "scale": {"none": as_it_is, "inverse": affine((-2.0, 4.0, 0.5), ZEROS), "twice": affine((0.25, 0.0625, 4.0), ZEROS),
                  "negated": affine((0.5, -0.25, -2.0), ZEROS), "as_given": affine((2.0, -0.5, 0.25), ZEROS),
                  "in_order_of_other": affine((0.25, 2.0, -0.5), ZEROS)},
    }, more=LISTS),
    Subject("normalise", GIVEN, f'operation = "normalise", of = "x", {STATISTICS}', drawn(x=3), normalised(MEAN, STD),
        _normaliser(normalised)),
    Subject("normalise_epsilon", GIVEN, f'operation = "normalise", of = "x", {STATISTICS}, epsilon = 0.01, floor = 0.2',
        drawn(x=3), normalised(MEAN, (0.51, 0.2, 3.01)), {
        "mean": {"none": normalised(ZEROS, (0.51, 0.2, 3.01)), "added": normalised(times(-1.0, MEAN), (0.51, 0.2, 3.01))},
        "std": {"none": normalised(MEAN, (1.01, 1.01, 1.01)), "variance": normalised(MEAN, (0.26, 0.2, 9.01)),
                "root": normalised(MEAN, tuple(max(s**0.5 + 0.01, 0.2) for s in STD))},
        "epsilon": {"none": normalised(MEAN, (0.5, 0.2, 3.0))},
        "summand_of": {"variance": normalised(MEAN, tuple(max((s * s + 0.01) ** 0.5, 0.2) for s in STD))},
        "applied": {"twice": twice(normalised(MEAN, (0.51, 0.2, 3.01))), "skipped": as_it_is},
    }),
    Subject("denormalise", GIVEN, f'operation = "denormalise", of = "x", {STATISTICS}', drawn(x=3), denormalised(MEAN, STD),
        _normaliser(denormalised)),
    Subject("clip", GIVEN, f'operation = "clip", of = "x", lowest = {list(LOW)}, highest = {list(HIGH)}', drawn(x=3),
        each(lambda x, lo, hi: np.where(x < lo, lo, np.where(x > hi, hi, x)), LOW, HIGH), {"applied": {
        "none": as_it_is, "low_only": each(lambda x, lo: np.where(x < lo, lo, x), LOW),
        "high_only": each(lambda x, hi: np.where(x > hi, hi, x), HIGH),
        "scaled_to_range": each(lambda x, lo, hi: (hi - lo) * (x + x.dtype.type(1)) / x.dtype.type(2) + lo, LOW, HIGH),
    }}),
    Subject("squash", GIVEN, 'operation = "squash", of = "x", function = "tanh", scale = 2', drawn(x=3), limited(_tanh),
        {"function": {"none": as_it_is, "twice": limited(lambda x: _tanh(_tanh(x))), "sigmoid": limited(_sigmoid),
                      "softmax": limited(_softmax), "exp": limited(np.exp)}}),
    Subject("wrap", GIVEN, 'operation = "wrap", of = "x", unit_of_angle = "rad", range = "symmetric"', drawn(5.0, x=3),
        wrapped(TAU), {
        "unit_of_angle": {"deg": wrapped(360.0)}, "range": {"positive": wrapped(TAU, is_positive=True), "none": as_it_is},
    }),
    Subject("wrap_positive", GIVEN, 'operation = "wrap", of = "x", unit_of_angle = "deg", range = "positive"',
        drawn(300.0, x=3), wrapped(360.0, is_positive=True), {
        "unit_of_angle": {"rad": wrapped(TAU, is_positive=True)}, "range": {"symmetric": wrapped(360.0), "none": as_it_is},
    }),
    Subject("blend", '{ name = "x", size = 3 }, { name = "y", size = 3 }, { name = "z", size = 3 }',
        'operation = "blend", of = ["x", "y", "z"], weights = [0.5, 0.3, -0.7]', drawn(x=3, y=3, z=3), summed(0.5, 0.3, -0.7), {
        "weights": {"equal": summed(1 / 3, 1 / 3, 1 / 3), "reversed": summed(-0.7, 0.3, 0.5),
                    "first_only": summed(1.0, 0.0, 0.0), "last_only": summed(0.0, 0.0, 1.0), "all_added": summed(1.0, 1.0, 1.0)},
    }),
    Subject("norm", '{ name = "x", size = 6 }', 'operation = "norm", of = "x", measure = "euclidean"', drawn(x=6),
        lambda x: MEASURES["euclidean"](threes(x)), {"measure": {
        name: (lambda x, length=length: length(threes(x))) for name, length in MEASURES.items() if name != "euclidean"
    }}),
    Subject("threshold", GIVEN, 'operation = "threshold", of = "x", limit = 0.25, side = "above"', drawn(x=3), beyond(0.25), {
        "limit": {"zero": beyond(0.0), "half": beyond(0.5), "squared": beyond(0.0625)},
        "side": {"below": beyond(0.25, is_below=True), "not_applied": as_it_is},
    }, is_moved=True),
)  # fmt: skip
"""`root` of the limit 0.25 is 0.5: the reading `half` already."""
test_oracles, test_numbers, test_bounds = judging_tests(SUBJECTS)


def test_a_threshold_may_fall_either_way_within_two_roundings_of_both_numbers_by_hand() -> None:
    """Wider, and a contact that is wrong beside its limit passes; narrower, and another compiler alarms."""
    (threshold,) = (each for each in SUBJECTS if each.stage.startswith('operation = "threshold"'))
    x = 0.25 + 2.0**-24 * np.array(
        [[0.0, 0.5, 2.0], [1.0, 1.5, -2.0]], F32
    )  # the limit is 0.25: 2u (x + 0.25) is u, 2^-24
    _, bound = result_of(threshold, {"x": x.astype(F32)})
    assert bound.tolist() == [[1.0, 1.0, 0.0], [1.0, 0.0, 0.0]]


FUNCTIONS: Mapping[str, Callable[[Any], Any]] = {
    "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)), "softplus": lambda x: mpmath.log1p(mpmath.exp(x)), "exp": mpmath.exp,
    "log": lambda x: mpmath.log(x) if x > 0 else mpmath.nan, "elu": lambda x: x if x > 0 else mpmath.expm1(x),
    "arctanh": lambda x: mpmath.atanh(x) if abs(x) < 1 else mpmath.nan, "relu": lambda x: max(x, mpmath.mpf(0)),
    "arcsin": lambda x: mpmath.asin(max(min(x, mpmath.mpf(1)), mpmath.mpf(-1))), "tanh": mpmath.tanh,
}  # fmt: skip
NAIVE: Mapping[str, Callable[[Array], Array]] = {
    "softplus": lambda x: np.log(F32(1) + np.exp(x)), "elu": lambda x: np.where(x > 0, x, np.exp(x) - F32(1)),
    "sigmoid": lambda x: F32(0.5) * (F32(1) + np.tanh(x / F32(2))), "exp": lambda x: np.exp(x / 2) ** 2,
}  # fmt: skip


def _squashed(name: str, inputs: Mapping[str, Array]) -> tuple[Array, Array]:
    return result_of(
        Subject(name, GIVEN, f'operation = "squash", of = "x", function = "{name}"', drawn(x=3), as_it_is), inputs
    )


@pytest.mark.parametrize("name", FUNCTIONS)
@given(seed=st.integers(0, 2**32 - 1))
def test_each_function_is_the_one_of_its_name(name: str, seed: int) -> None:
    """A network's last activation in another form gives actions of another size."""
    inputs = drawn(x=3)(np.random.default_rng(seed), 3)
    rows, _ = _squashed(name, inputs)
    expected = [float(FUNCTIONS[name](mpmath.mpf(float(x)))) for x in inputs["x"].reshape(-1)]
    assert rows.reshape(-1) == pytest.approx(expected, rel=1e-7, abs=1e-12, nan_ok=True)  # stored as float32


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("softplus", [800.0, -800.0, 0.0], [800.0, 0.0, 0.6931472]),
        ("softmax", [1000.0, 1000.0, -1000.0], [0.5, 0.5, 0.0]),
    ],
)
def test_a_function_of_large_numbers_does_not_overflow(name, given, expected):
    """exp(800) is infinite: the answer of a network that is sure would be NaN."""
    rows, _ = _squashed(name, {"x": np.array([given], F32)})
    assert rows[0] == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("name", NAIVE)
def test_a_function_written_in_another_way_is_within_its_bound(name):
    """log(1 + exp(x)) loses its last digits where log1p does not; both are right engines."""
    inputs = drawn(4.0, x=3)(np.random.default_rng(0), 2000)
    rows, bound = _squashed(name, inputs)
    error = np.abs(NAIVE[name](inputs["x"]).astype(np.float64) - rows)
    assert (error <= bound).all()


@pytest.mark.parametrize("end", [np.pi, -np.pi, 3 * np.pi, 5 * np.pi, -7 * np.pi])
def test_half_a_turn_may_be_written_with_either_sign(end):
    """At half a turn one side says pi and the other -pi; an alarm there would be about nothing."""
    near = [F32(end), *(np.nextafter(F32(end), F32(way)) for way in (np.inf, -np.inf))]
    near += [np.nextafter(near[1], F32(np.inf)), np.nextafter(near[2], F32(-np.inf))]
    subject = next(each for each in SUBJECTS if each.name == "wrap")
    rows, bound = result_of(subject, {"x": np.repeat(np.array(near)[:, None], 3, 1)})
    other = np.array([angle - F32(TAU) * np.round(angle / F32(TAU)) for angle in near])[:, None]
    assert (np.abs(np.abs(rows) - np.pi) < 1e-5).all()
    assert (np.abs(other - rows) <= bound).all()
