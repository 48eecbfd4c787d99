"""Every reading of the operations on sensors and distributions, against expected values that stand here, number by number."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from rigpact.contract.errors import UnusableInput

from .one_operation import Array, Oracle, Subject, contract_of, judging_tests


def drawn(width: int, name: str, size: float) -> Callable[[np.random.Generator, int], Mapping[str, Array]]:
    """Random rows of one size."""
    return lambda random, count: {name: random.normal(0.0, size, (count, width)).astype(np.float32)}


def by_row(function: Callable[..., Any]) -> Oracle:
    """A function of one frame's numbers, all of the rows' own float type."""

    def oracle(rows: Array) -> Array:
        kind = rows.dtype.type
        return np.array([[kind(number) for number in function(kind, row)] for row in rows])

    return oracle


# ---- imu_input


def sensed(
    *,
    a: float = 1.0,
    w: float = 1.0,
    taken: Sequence[float] = (0.0, 0.0, 9.81),
    swapped: bool = False,
    axes: Callable[[Any], Sequence[Any]] = list,
    divisor: float = 5.0,
) -> Oracle:
    """Acceleration and rate of each sample; a, w: their factors. axes: a vector of the sensor in the other axes."""

    def of_row(kind: Any, row: Array) -> Iterator[Any]:
        acceleration, rate = (row[3:], row[:3]) if swapped else (row[:3], row[3:])
        for value, off in zip(axes(acceleration), taken, strict=True):
            yield (kind(a) * value - kind(off)) / kind(divisor)
        yield from (kind(w) * value / kind(divisor) for value in axes(rate))

    return by_row(of_row)


def standardised(freedom: int) -> Oracle:
    """Every channel by its own mean and deviation in the window, summed sample by sample."""
    plain = sensed(divisor=1.0)

    def oracle(rows: Array) -> Array:
        kind, found = rows.dtype.type, plain(rows)
        for channel in found.T:
            mean = sum(channel, start=kind(0.0)) / kind(len(channel))
            square = sum(((value - mean) * (value - mean) for value in channel), start=kind(0.0))
            channel[:] = (channel - mean) / np.sqrt(square / kind(len(channel) - freedom))
        return found

    return oracle


IMU_INPUT = Subject(
    "imu_input", '{ name = "imu", size = 6 }',
    'operation = "imu_input", of = "imu", gravity = 9.81, divisor = 5, acceleration_unit = "m_s2", '
    'acceleration_sign = "specific_force", angular_rate_unit = "rad_s", gravity_at_rest = "subtracted_at_rest", '
    'order = "acceleration_first", axes = "z_up", scaling = "divided"',
    drawn(6, "imu", 12.0),
    sensed(),
    {
        "acceleration_unit": {"g": sensed(a=1.0 / 9.81)},
        "acceleration_sign": {"negated": sensed(a=-1.0)},
        "angular_rate_unit": {"deg_s": sensed(w=180.0 / math.pi)},
        "gravity_at_rest": {
            "kept": sensed(taken=(0.0, 0.0, 0.0)),
            "added": sensed(taken=(0.0, 0.0, -9.81)),
            "taken_off_y": sensed(taken=(0.0, 9.81, 0.0)),
            "standard": sensed(taken=(0.0, 0.0, 9.80665)),
        },
        "order": {"angular_rate_first": sensed(swapped=True)},
        "axes": {
            "y_up": sensed(axes=lambda v: (v[0], -v[2], v[1])),
            "turned_to_y_up": sensed(axes=lambda v: (v[0], v[2], -v[1])),
            "z_down": sensed(axes=lambda v: (v[0], -v[1], -v[2])),
        },
        "scaling": {
            "none": sensed(divisor=1.0),
            "window_statistics": standardised(0),
            "window_statistics_unbiased": standardised(1),
        },
    },
    widest=4000.0,  # a mean of 400 of either sign is far more exact than the worst case; degrees are far above radians
)  # fmt: skip

# ---- gaussian_points

POINTS = 4
"""hip_l, hip_r, knee_l, knee_r."""


def headed(
    part: int,
    *,
    place: Callable[[int, int], int] = lambda point, axis: 6 * point + 2 * axis,
    step: int = 1,
    order: Sequence[int] = range(POINTS),
    axes: Sequence[tuple[int, float]] = ((0, 1.0), (1, 1.0), (2, 1.0)),
    end: Callable[..., Any] | None = None,
    from_first: bool = False,
) -> Oracle:
    """Points out of a head. place: where a point's mean stands; step: how much later its log-variance."""

    def of_row(kind: Any, row: Array) -> Iterator[Any]:
        points = [[row[place(point, axis) + step * part] for axis in range(3)] for point in order]
        first = points[0] if from_first else [kind(0.0)] * 3
        for point in points:
            for axis, sign in axes:
                value = kind(sign) * (point[axis] - first[axis])
                yield end(kind, value) if end else value

    return by_row(of_row)


def at_axes_first(point: int, axis: int) -> int:
    return 2 * (POINTS * axis + point)


TWINS = (1, 0, 3, 2)
HEAD, NAMES = f'{{ name = "head", size = {6 * POINTS} }}', 'points = ["hip_l", "hip_r", "knee_l", "knee_r"]'
WORDS = 'layout = "interleaved", order = "as_declared", axes = "z_up"'
Y_UP = ((0, 1.0), (2, 1.0), (1, -1.0))
MEANS = Subject(
    "gaussian_points", HEAD, f'operation = "gaussian_points", of = "head", part = "mean", {NAMES}, {WORDS}, origin = "world"',
    drawn(6 * POINTS, "head", 2.0),
    headed(0),
    {
        "layout": {
            "halves": headed(0, place=lambda point, axis: 3 * point + axis),
            "log_variance_first": headed(0, place=lambda point, axis: 6 * point + 2 * axis + 1),
            "axes_first": headed(0, place=at_axes_first),
        },
        "order": {"left_right_swapped": headed(0, order=TWINS)},
        "axes": {"y_up": headed(0, axes=Y_UP)},
        "origin": {"first_point": headed(0, from_first=True)},
    },
)  # fmt: skip
UNSIGNED = tuple((axis, 1.0) for axis, _ in Y_UP)
"""The axes of a variance have no sign."""


def clamped(low: float, high: float) -> Callable[..., Any]:
    return lambda kind, value: min(max(value, kind(low)), kind(high))


KEPT = clamped(-8.0, 4.0)
LOG_VARIANCES = Subject(
    "log_variances", HEAD,
    f'operation = "gaussian_points", of = "head", part = "log_variance", {NAMES}, {WORDS}, range = [-8, 4], clamp = "clamped"',
    drawn(6 * POINTS, "head", 9.0),
    headed(1, end=KEPT),
    {
        "layout": {
            "halves": headed(1, place=lambda point, axis: 3 * point + axis, step=3 * POINTS, end=KEPT),
            "log_variance_first": headed(1, place=lambda point, axis: 6 * point + 2 * axis + 1, step=-1, end=KEPT),
            "axes_first": headed(1, place=at_axes_first, end=KEPT),
        },
        "order": {"left_right_swapped": headed(1, order=TWINS, end=KEPT)},
        "axes": {"y_up": headed(1, axes=UNSIGNED, end=KEPT)},
        "clamp": {"none": headed(1), "ten": headed(1, end=clamped(-10.0, 10.0))},
    },
    is_moved=True,
)  # fmt: skip

# ---- standard_deviation


def spread(deviation: Callable[[Any, Any], Any], factor: float = 1.5) -> Oracle:
    return by_row(lambda kind, row: [deviation(kind, value) * kind(factor) for value in row])


def half(kind: Any, value: Any) -> Any:
    return np.exp(kind(0.5) * value)


STANDARD_DEVIATION = Subject(
    "standard_deviation", '{ name = "v", size = 3 }',
    'operation = "standard_deviation", of = "v", temperature = 1.5, spread = "variance", calibration = "applied"',
    drawn(3, "v", 2.0),
    spread(half),
    {
        "spread": {
            "log_is_of_sigma": spread(lambda _kind, value: np.exp(value)),
            "softplus": spread(lambda _kind, value: np.sqrt(np.log1p(np.exp(value)))),
            "with_floor": spread(lambda kind, value: np.sqrt(np.exp(value) + kind(1e-6))),
        },
        "calibration": {"none": spread(half, 1.0)},
    },
)  # fmt: skip
SUBJECTS = (IMU_INPUT, MEANS, LOG_VARIANCES, STANDARD_DEVIATION)
test_oracles, test_numbers, test_bounds = judging_tests(SUBJECTS, frames=400, unbounded=(MEANS,))


def test_a_temperature_is_one_number():
    """Two numbers for three spreads have no meaning, whichever of them would be taken."""
    of_two = STANDARD_DEVIATION.stage.replace("temperature = 1.5", "temperature = [1.5, 1.5]")
    with pytest.raises(UnusableInput, match="temperature"):
        contract_of(STANDARD_DEVIATION.given, of_two)
