"""Every reading of the operations on single numbers, against expected values that stand here."""

from collections.abc import Callable, Mapping
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ..every_case import every_case
from .one_operation import (
    Array,
    Oracle,
    Subject,
    judging_tests,
    offered,
    result_of,
)

A = (2.0, -0.5, 0.25)
B = (0.1, -0.4, 3.0)
MEAN, STD = (0.3, -1.0, 2.0), (0.5, 0.02, 3.0)


def drawn(
    width: int = 3, size: float = 1.0, names: str = "x"
) -> Callable[[np.random.Generator, int], Mapping[str, Array]]:
    """Random rows of one size for each name."""
    return lambda random, count: {
        name: (size * random.normal(size=(count, width))).astype(np.float32) for name in names
    }


def each(function: Callable[..., Any], *numbers: tuple[float, ...]) -> Oracle:
    """A function of one number and of its channel's constants, one number at a time in the rows' own float type."""

    def oracle(rows: Array) -> Array:
        kind = rows.dtype.type
        constants = [[kind(number) for number in every] for every in numbers]
        found = np.empty_like(rows)
        for frame, row in enumerate(rows):
            for channel, x in enumerate(row):
                found[frame, channel] = function(x, *(values[channel % len(values)] for values in constants))
        return found

    return oracle


def affine(scale: tuple[float, ...], offset: tuple[float, ...]) -> Oracle:
    return each(lambda x, a, b: b + a * x, scale, offset)


def off_first(scale: tuple[float, ...], offset: tuple[float, ...]) -> Oracle:
    return each(lambda x, a, b: a * (b + x), scale, offset)


def times(factor: float, values: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(factor * value for value in values)


ONES, ZEROS = (1.0, 1.0, 1.0), (0.0, 0.0, 0.0)
SQUARES, INVERSES = tuple(a * a for a in A), tuple(1.0 / a for a in A)
GIVEN = '{ name = "x", size = 3 }'
NAMED = '{ name = "x", names = ["a", "b", "c"] }'
LISTS = '[names]\nown = ["a", "b", "c"]\nother = ["c", "a", "b"]\n[numbers]\nk = { value = [2.0, -0.5, 0.25], names = "other" }\n'


def normalised(mean: tuple[float, ...], std: tuple[float, ...]) -> Oracle:
    return each(lambda x, m, s: (x - m) / s, mean, std)


def denormalised(mean: tuple[float, ...], std: tuple[float, ...]) -> Oracle:
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


def _tanh(x: Any) -> Any:
    """By exp, another way than a library's."""
    e = np.exp(type(x)(-2) * abs(x))
    return np.copysign((type(x)(1) - e) / (type(x)(1) + e), x)


def _sigmoid(x: Any) -> Any:
    kind = type(x)
    return kind(1) / (kind(1) + np.exp(-x)) if x >= 0 else np.exp(x) / (kind(1) + np.exp(x))


def _softmax(rows: Array) -> Array:
    found = np.empty_like(rows)
    for frame, row in enumerate(rows):
        raised = [np.exp(x) for x in row]
        total = raised[2] + raised[1] + raised[0]
        found[frame] = [value / total for value in raised]
    return found


def limited(function: Callable[[Any], Any]) -> Oracle:
    """f(x / 2) · 2."""
    return each(lambda x: function(x / type(x)(2)) * type(x)(2))


def _soft_limited(rows: Array) -> Array:
    return _softmax(rows / rows.dtype.type(2)) * rows.dtype.type(2)


TANH_READINGS: Mapping[str, Mapping[str, Oracle]] = {
    "function": {
        "none": as_it_is, "twice": each(lambda x: _tanh(_tanh(x / type(x)(2))) * type(x)(2)),
        "sigmoid": limited(_sigmoid), "softmax": _soft_limited, "exp": limited(np.exp),
    },
}  # fmt: skip


def wrapped(turn: float, *, is_positive: bool = False) -> Oracle:
    def one(x: Any) -> Any:
        kind = type(x)
        size = kind(turn)
        left = x - size * np.floor(x / size)
        return left if is_positive or left <= size / kind(2) else left - size

    return each(one)


TAU = 2.0 * float(mpmath.pi)


def summed(*weights: float) -> Oracle:
    def oracle(*vectors: Array) -> Array:
        kind = vectors[0].dtype.type
        total = np.zeros_like(vectors[0])
        for weight, vector in reversed(list(zip(weights, vectors, strict=True))):
            total = total + kind(weight) * vector
        return total

    return oracle


def length(function: Callable[[list[Any]], Any]) -> Oracle:
    def oracle(rows: Array) -> Array:
        return np.array([[function(list(row[k : k + 3])) for k in (0, 3)] for row in rows], rows.dtype)

    return oracle


def beyond(limit: tuple[float, ...], *, is_below: bool = False) -> Oracle:
    return each(lambda x, at: type(x)((x < at) if is_below else (x > at)), limit)


SUBJECTS = (
    Subject("affine", GIVEN, f'operation = "affine", of = "x", scale = {list(A)}, offset = {list(B)}', drawn(), affine(A, B), {
        "scale": {"none": affine(ONES, B), "inverse": affine(INVERSES, B), "twice": affine(SQUARES, B),
                  "negated": affine(times(-1.0, A), B)},
        "offset": {"none": affine(A, ZEROS), "negated": affine(A, times(-1.0, B)), "twice": affine(A, times(2.0, B))},
        "order": {"constant_first": off_first(A, B)},
    }),
    Subject("affine_subtract", GIVEN, f'operation = "affine", of = "x", scale = {list(A)}, subtract = {list(B)}', drawn(),
        off_first(A, times(-1.0, B)), {
        "scale": {"none": off_first(ONES, times(-1.0, B)), "inverse": off_first(INVERSES, times(-1.0, B)),
                  "twice": off_first(SQUARES, times(-1.0, B)), "negated": off_first(times(-1.0, A), times(-1.0, B))},
        "subtract": {"none": off_first(A, ZEROS), "negated": off_first(A, B), "twice": off_first(A, times(-2.0, B))},
        "order": {"scale_first": affine(A, times(-1.0, B))},
    }),
    Subject("affine_names", NAMED, 'operation = "affine", of = "x", scale = "k"', drawn(), affine((-0.5, 0.25, 2.0), ZEROS), {
        "scale": {"none": as_it_is, "inverse": affine((-2.0, 4.0, 0.5), ZEROS), "twice": affine((0.25, 0.0625, 4.0), ZEROS),
                  "negated": affine((0.5, -0.25, -2.0), ZEROS), "as_given": affine((2.0, -0.5, 0.25), ZEROS),
                  "in_order_of_other": affine((0.25, 2.0, -0.5), ZEROS)},
    }, more=LISTS),
    Subject("normalise", GIVEN, f'operation = "normalise", of = "x", {STATISTICS}', drawn(), normalised(MEAN, STD),
        _normaliser(normalised)),
    Subject("normalise_epsilon", GIVEN, f'operation = "normalise", of = "x", {STATISTICS}, epsilon = 0.01, floor = 0.2',
        drawn(), normalised(MEAN, (0.51, 0.2, 3.01)), {
        "mean": {"none": normalised(ZEROS, (0.51, 0.2, 3.01)), "added": normalised(times(-1.0, MEAN), (0.51, 0.2, 3.01))},
        "std": {"none": normalised(MEAN, (1.01, 1.01, 1.01)), "variance": normalised(MEAN, (0.26, 0.2, 9.01)),
                "root": normalised(MEAN, tuple(max(s**0.5 + 0.01, 0.2) for s in STD))},
        "epsilon": {"none": normalised(MEAN, (0.5, 0.2, 3.0))},
        "applied": {"twice": twice(normalised(MEAN, (0.51, 0.2, 3.01))), "skipped": as_it_is},
    }),
    Subject("denormalise", GIVEN, f'operation = "denormalise", of = "x", {STATISTICS}', drawn(), denormalised(MEAN, STD),
        _normaliser(denormalised)),
    Subject("clip", GIVEN, f'operation = "clip", of = "x", lowest = {list(LOW)}, highest = {list(HIGH)}', drawn(),
        each(lambda x, lo, hi: lo if x < lo else hi if x > hi else x, LOW, HIGH), {"applied": {
        "none": as_it_is, "low_only": each(lambda x, lo: lo if x < lo else x, LOW),
        "high_only": each(lambda x, hi: hi if x > hi else x, HIGH),
        "scaled_to_range": each(lambda x, lo, hi: (hi - lo) * (x + type(x)(1)) / type(x)(2) + lo, LOW, HIGH),
    }}),
    Subject("squash", GIVEN, 'operation = "squash", of = "x", function = "tanh", scale = 2', drawn(), limited(_tanh),
        TANH_READINGS),
    Subject("wrap", GIVEN, 'operation = "wrap", of = "x", unit_of_angle = "rad", range = "symmetric"', drawn(size=5.0),
        wrapped(TAU), {
        "unit_of_angle": {"deg": wrapped(360.0)}, "range": {"positive": wrapped(TAU, is_positive=True), "none": as_it_is},
    }),
    Subject("wrap_positive", GIVEN, 'operation = "wrap", of = "x", unit_of_angle = "deg", range = "positive"',
        drawn(size=300.0), wrapped(360.0, is_positive=True), {
        "unit_of_angle": {"rad": wrapped(TAU, is_positive=True)}, "range": {"symmetric": wrapped(360.0), "none": as_it_is},
    }),
    Subject("blend", '{ name = "x", size = 3 }, { name = "y", size = 3 }, { name = "z", size = 3 }',
        'operation = "blend", of = ["x", "y", "z"], weights = [0.5, 0.3, -0.7]', drawn(names="xyz"), summed(0.5, 0.3, -0.7), {
        "weights": {"equal": summed(1 / 3, 1 / 3, 1 / 3), "reversed": summed(-0.7, 0.3, 0.5),
                    "first_only": summed(1.0, 0.0, 0.0), "all_added": summed(1.0, 1.0, 1.0)},
    }),
    Subject("norm", '{ name = "x", size = 6 }', 'operation = "norm", of = "x", measure = "euclidean"', drawn(6),
        length(lambda v: np.sqrt(v[2] * v[2] + v[1] * v[1] + v[0] * v[0])), {"measure": {
        "squared": length(lambda v: v[2] * v[2] + v[1] * v[1] + v[0] * v[0]),
        "absolute_sum": length(lambda v: abs(v[2]) + abs(v[1]) + abs(v[0])), "largest": length(lambda v: max(map(abs, v))),
    }}),
    Subject("threshold", GIVEN, 'operation = "threshold", of = "x", limit = 0.25, side = "above"', drawn(), beyond((0.25,)), {
        "limit": {"zero": beyond((0.0,)), "half": beyond((0.5,)), "squared": beyond((0.0625,))},
        "side": {"below": beyond((0.25,), is_below=True), "not_applied": as_it_is},
    }, is_moved=True),
)  # fmt: skip
"""`root` of the limit 0.25 is 0.5: the reading `half` already."""
test_oracles, test_numbers, test_bounds = judging_tests(SUBJECTS)


FUNCTIONS: Mapping[str, Callable[[Any], Any]] = {
    "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)), "softplus": lambda x: mpmath.log1p(mpmath.exp(x)), "exp": mpmath.exp,
    "log": lambda x: mpmath.log(x) if x > 0 else mpmath.nan, "elu": lambda x: x if x > 0 else mpmath.expm1(x),
    "arctanh": lambda x: mpmath.atanh(x) if abs(x) < 1 else mpmath.nan, "relu": lambda x: max(x, mpmath.mpf(0)),
    "arcsin": lambda x: mpmath.asin(max(min(x, mpmath.mpf(1)), mpmath.mpf(-1))), "tanh": mpmath.tanh,
}  # fmt: skip
NAIVE: Mapping[str, Callable[[Array], Array]] = {
    "softplus": lambda x: np.log(np.float32(1) + np.exp(x)), "elu": lambda x: np.where(x > 0, x, np.exp(x) - np.float32(1)),
    "sigmoid": lambda x: np.float32(0.5) * (np.float32(1) + np.tanh(x / np.float32(2))), "exp": lambda x: np.exp(x / 2) ** 2,
}  # fmt: skip


def _squashed(name: str, inputs: Mapping[str, Array]) -> tuple[Array, Array]:
    subject = Subject(name, GIVEN, f'operation = "squash", of = "x", function = "{name}"', drawn(), as_it_is)
    return result_of(subject, inputs)


@pytest.mark.parametrize("name", FUNCTIONS)
@given(seed=st.integers(0, 2**32 - 1))
def test_each_function_is_the_one_of_its_name(name: str, seed: int) -> None:
    """A network's last activation in another form gives actions of another size."""
    inputs = drawn()(np.random.default_rng(seed), 3)
    rows, _ = _squashed(name, inputs)
    expected = [float(FUNCTIONS[name](mpmath.mpf(float(x)))) for x in inputs["x"].reshape(-1)]
    assert rows.reshape(-1) == pytest.approx(expected, rel=1e-7, abs=1e-12, nan_ok=True)  # stored as float32


@pytest.mark.parametrize("name", NAIVE)
def test_a_function_written_in_another_way_is_within_its_bound(name: str) -> None:
    """log(1 + exp(x)) loses its last digits where log1p does not; both are right engines."""
    inputs = drawn(size=4.0)(np.random.default_rng(0), 2000)
    rows, bound = _squashed(name, inputs)
    error = np.abs(NAIVE[name](inputs["x"]).astype(np.float64) - rows)
    assert (error <= bound).all()


ANGLE_AT_THE_END = st.sampled_from([np.pi, -np.pi, 3 * np.pi, 5 * np.pi, -7 * np.pi])


@given(end=ANGLE_AT_THE_END, steps=st.integers(-3, 3))
def test_half_a_turn_may_be_written_with_either_sign(end: float, steps: int) -> None:
    """At half a turn one side says pi and the other -pi; an alarm there would be about nothing."""
    angle = np.float32(end)
    for _ in range(abs(steps)):
        angle = np.nextafter(angle, np.float32(np.sign(steps) * np.inf))
    subject = next(each for each in SUBJECTS if each.name == "wrap")
    rows, bound = result_of(subject, {"x": np.full((1, 3), angle)})
    other = np.float32(angle - np.float32(TAU) * np.round(angle / np.float32(TAU)))
    assert abs(abs(rows[0, 0]) - np.pi) < 1e-5
    assert (np.abs(other - rows) <= bound).all()


ONE_KNOB = '{ name = "x", size = 3 }'


@every_case(
    ("stage", "left"),
    [
        ('operation = "affine", of = "x", scale = 1, offset = 0', {"scale": ("declared", "negated")}),
        ('operation = "affine", of = "x", scale = 1, offset = 2',
         {"scale": ("declared", "negated"), "offset": ("declared", "none", "negated", "twice")}),
        ('operation = "affine", of = "x", scale = -1, offset = 0', {"scale": ("declared", "none")}),
        ('operation = "normalise", of = "x", mean = 0, std = 1', {}),
        ('operation = "clip", of = "x", lowest = -1, highest = 1', {"applied": ("clamped", "none", "low_only", "high_only")}),
        ('operation = "clip", of = "x", highest = 1', {"applied": ("clamped", "none")}),
        ('operation = "squash", of = "x", function = "relu"',
         {"function": ("relu", "none", "tanh", "sigmoid", "softmax", "exp")}),
        ('operation = "wrap", of = "x", unit_of_angle = "deg", range = "none"', {"range": ("none", "symmetric", "positive")}),
        ('operation = "norm", of = "x", measure = "euclidean", of_each = 1', {"measure": ("euclidean", "squared")}),
    ],
)  # fmt: skip
def test_a_reading_that_changes_nothing_is_not_offered(stage: str, left: Mapping[str, tuple[str, ...]]) -> None:
    """A convention that is named and changes nothing sends a team to a place where nothing is wrong."""
    assert offered(ONE_KNOB, stage) == left
