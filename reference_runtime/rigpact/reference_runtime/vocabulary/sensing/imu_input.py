"""IMU input: accelerations and angular rates of an inertial sensor as a network takes them."""

from collections.abc import Callable, Mapping

import numpy as np

from rigpact.contract.conventions import CodeHint
from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.declared.problems import Misdeclared, Wrong
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.stage import Bounds
from rigpact.reference_runtime.operations.precision import stored
from rigpact.reference_runtime.operations.rounding import UNIT_ROUNDOFF, gamma
from rigpact.reference_runtime.vocabulary.rounding_bounds import wide

STANDARD_GRAVITY_M_S2 = 9.80665
_STATISTICS = {"window_statistics": 0, "window_statistics_unbiased": 1}
"""Degrees of freedom that the deviation of a window is without."""
_ORDERS = {
    "acceleration_first": (slice(0, 3), slice(3, 6)),
    "angular_rate_first": (slice(3, 6), slice(0, 3)),
}
_AXES = {
    "z_up": np.eye(3),
    "y_up": np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]),
    "turned_to_y_up": np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]]),
    "z_down": np.diag([1.0, -1.0, -1.0]),
}
"""Rows are the sensor's axes in the other convention: all are proper rotations."""


def _standardised(rows: FloatArray, freedom: int) -> FloatArray:
    """By the mean and the standard deviation of the window; a channel that stands still stays at 0."""
    moved = rows - rows.mean(axis=0)
    spread = np.sqrt((moved**2).sum(axis=0) / max(len(rows) - freedom, 1))
    return np.asarray(np.divide(moved, spread, out=np.zeros_like(moved), where=spread > 0.0))


_SCALINGS: Mapping[str, Callable[[FloatArray, float], FloatArray]] = {
    "divided": lambda rows, divisor: rows / divisor,
    "none": lambda rows, _divisor: rows,
    "window_statistics": lambda rows, _divisor: _standardised(rows, _STATISTICS["window_statistics"]),
    "window_statistics_unbiased": lambda rows, _divisor: _standardised(rows, _STATISTICS["window_statistics_unbiased"]),
}


def _gravities(own: float) -> dict[str, FloatArray]:
    return {
        "subtracted_at_rest": np.array([0.0, 0.0, own]),
        "kept": np.zeros(3),
        "added": np.array([0.0, 0.0, -own]),
        "taken_off_y": np.array([0.0, own, 0.0]),
        "standard": np.array([0.0, 0.0, STANDARD_GRAVITY_M_S2]),
    }


def build(use: Use) -> Built:
    """Both vectors in the sensor's frame, gravity at rest taken off the acceleration, divided by one number."""
    source = use.inputs[0]
    if source.fields.width != 6:
        raise Misdeclared(Wrong.WIDTH, use.at("of"), f"{source.name}, {source.fields.width} numbers", "6: two vectors")
    gravity_m_s2, divisor = (float(use.value_of(use.number(key, 1)).reshape(-1)[0]) for key in ("gravity", "divisor"))
    acceleration_unit = use.choice(
        "acceleration_unit", {"m_s2": 1.0, "g": gravity_m_s2}, "the unit of accelerations that come in",
        {"g": f"a phone's API gives g: multiply by {gravity_m_s2:g} before the network"},
    )  # fmt: skip
    sign = use.choice(
        "acceleration_sign", {"specific_force": 1.0, "negated": -1.0}, "the sign of accelerations, without angular rates",
        {"negated": f"specific force at rest is +{gravity_m_s2:g} upwards; "
         "iOS gives accelerations, not angular rates, with the other sign"},
    )  # fmt: skip
    rate_unit = use.choice(
        "angular_rate_unit", {"rad_s": 1.0, "deg_s": float(np.pi / 180.0)}, "the unit of angular rates that come in",
        {"deg_s": "the gyroscope gives degrees: multiply by pi/180"},
    )  # fmt: skip
    gravity = use.choice(
        "gravity_at_rest", _gravities(gravity_m_s2), "the number subtracted from the vertical acceleration",
        _gravity_hints(gravity_m_s2), shows=lambda taken: taken,
    )  # fmt: skip
    order = use.choice(
        "order", _ORDERS, "where the sensor's acceleration and its angular rate are looked for", _ORDER_HINTS
    )
    axes = use.choice("axes", _AXES, "the axes of the sensor", _axes_hints(gravity_m_s2))
    scaling = use.choice(
        "scaling", _SCALINGS, "how both vectors are scaled before the network", _scaling_hints(divisor)
    )

    def unscaled(frames: Frames) -> FloatArray:
        """Both vectors in the sensor's frame, minus gravity at rest, (N, 6) float64."""
        imu, turn = wide(frames, source.name), axes.of(frames)
        acceleration, rate = (imu[:, part] for part in order.of(frames))
        acceleration = sign.of(frames) * acceleration @ turn.T / acceleration_unit.of(frames)
        return np.hstack([acceleration - gravity.of(frames), rate @ turn.T / rate_unit.of(frames)])

    def compute(frames: Frames) -> FloatArray:
        return stored(scaling.of(frames)(unscaled(frames), divisor))

    def bound(frames: Frames, rows: FloatArray, _upstream: Bounds) -> FloatArray:
        """Three roundings: of the sensor's value, of the difference with gravity, of the quotient. Degrees are larger."""
        if scaling.word_of(frames) in _STATISTICS:
            return _standardised_bound(unscaled(frames), rows, gravity_m_s2)
        largest = np.abs(frames[source.name]).max(axis=1, keepdims=True) + gravity_m_s2
        return np.asarray(4.0 * UNIT_ROUNDOFF * np.maximum(largest, np.abs(rows)))

    return Built(source.fields, compute, bound)


def _standardised_bound(unscaled: FloatArray, rows: FloatArray, gravity_m_s2: float) -> FloatArray:
    """A mean of N numbers is off by at most gamma(N) times the largest, and so is their root mean square (Higham, ch. 3).

    Each number is off by both, divided by the deviation. Of a channel that stands still nothing can be said.
    """
    lost = gamma(len(rows) + 4.0) * (np.abs(unscaled).max() + gravity_m_s2)
    deviation = unscaled.std(axis=0)
    relative = np.divide(lost, deviation, out=np.full(deviation.shape, np.nan), where=deviation > lost)
    return np.asarray((1.0 + np.abs(rows)) * relative)


_ORDER_HINTS = {
    "angular_rate_first": "MuJoCo's spatial vectors are (rotation, translation): cvel[:3] is the angular part"
}


def _gravity_hints(own: float) -> dict[str, str]:
    return {
        "kept": f"the network was trained with {own:g} taken off the vertical axis",
        "added": f"at rest the vertical axis reads +{own:g}: take it off",
        "taken_off_y": "the sensor's vertical axis is z, also where the engine's is y",
        "standard": f"the network was trained with {own:g}",
    }


def _axes_hints(own: float) -> dict[str, str]:
    return {
        "y_up": "the sensor's vertical axis is z: turn its frame by 90 degrees about x",
        "turned_to_y_up": "the network takes the sensor's own axes, z up; poses are turned to the engine's axes, not samples",
        "z_down": f"specific force at rest is +{own:g} on z; a sensor that is mounted upside down turns all its axes",
    }


def _scaling_hints(divisor: float) -> dict[str, str]:
    own = f"divide both by {divisor:g}"
    taken = f"{own}; a window's own statistics take away how strong a movement is, and which way is up"
    return {"none": f"{own} before the network", **dict.fromkeys(_STATISTICS, taken)}


_CODE = {
    "acceleration_unit": {
        "m_s2": CodeHint("a[i]", "acceleration"),
        "g": CodeHint("a[i] / gravity", "acceleration / gravity"),
    },
    "acceleration_sign": {
        "specific_force": CodeHint("a[i] = gravity * motion.acceleration[i];", "acceleration"),
        "negated": CodeHint(
            "iOS: a[i] = -9.81f * motion.acceleration[i]; angular rates keep their sign", "acceleration = -acceleration"
        ),
    },
    "angular_rate_unit": {
        "rad_s": CodeHint("w[i]", "angular_rate"),
        "deg_s": CodeHint("w[i] * 180 / pi", "torch.rad2deg(angular_rate)"),
    },
    "gravity_at_rest": {
        "subtracted_at_rest": CodeHint("a.z - gravity", "acceleration[:, 2] -= gravity"),
        "kept": CodeHint("a.z", "acceleration"),
        "added": CodeHint("a.z + 9.81f", "acceleration[:, 2] += 9.81"),
        "taken_off_y": CodeHint("a.y - 9.81f", "acceleration[:, 1] -= 9.81"),
        "standard": CodeHint("a.z - 9.80665f", "acceleration[:, 2] -= 9.80665"),
    },
    "order": {
        "acceleration_first": CodeHint("a = imu[0..2]; w = imu[3..5];", "imu[..., :3], imu[..., 3:]"),
        "angular_rate_first": CodeHint("w = imu[0..2]; a = imu[3..5];", "imu[..., 3:], imu[..., :3]"),
    },
    "axes": {
        "z_up": CodeHint("v", "samples"),
        "y_up": CodeHint("Vector3(v.x, -v.z, v.y)", "samples[:, [0, 2, 1]] * (1, -1, 1)"),
        "turned_to_y_up": CodeHint("Vector3(v.x, v.z, -v.y)", "samples[:, [0, 2, 1]] * (1, 1, -1)"),
        "z_down": CodeHint("Vector3(v.x, -v.y, -v.z)", "samples * (1, -1, -1)"),
    },
    "scaling": {
        "divided": CodeHint("x / divisor", "x / divisor"),
        "none": CodeHint("x", "x"),
        "window_statistics": CodeHint("(x[t][c] - mean[c]) / std[c], over the window", "(x - x.mean(0)) / x.std(0)"),
        "window_statistics_unbiased": CodeHint("sqrtf(sum / (count - 1))", "(x - x.mean(0)) / x.std(0), in torch"),
    },
}
OPERATION = Operation(
    "imu_input",
    "an inertial sensor's accelerations and angular rates as a network takes them",
    build,
    {
        "gravity": "the acceleration of a sensor at rest, in m/s2",
        "divisor": "the divisor of both vectors",
        "acceleration_unit": "m_s2 or g",
        "acceleration_sign": "specific_force or negated",
        "angular_rate_unit": "rad_s or deg_s",
        "gravity_at_rest": ", ".join(_gravities(1.0)),
        "order": ", ".join(_ORDERS),
        "axes": ", ".join(_AXES),
        "scaling": ", ".join(_SCALINGS),
    },
    choices=(
        "acceleration_unit",
        "acceleration_sign",
        "angular_rate_unit",
        "gravity_at_rest",
        "order",
        "axes",
        "scaling",
    ),
    code=_CODE,
)
