"""The stages of the IMU pose system: scale the sensor's numbers, run the network, split its head.

Every function takes frames and returns float32 rows (N, width); the arithmetic in between is float64.
"""

from __future__ import annotations

import numpy as np

from rigpact.contract.conventions import CodeHint, Knob, ModelKnob
from rigpact.contract.skeleton import left_right_permutation
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.imu_pose import JOINTS, LOG_VARIANCE_RANGE, STANDARD_GRAVITY_M_S2
from rigpact.contract.systems.stage import Bounds, Frames
from rigpact.reference_runtime.operations.definitions.scaling import CLIPPED, FUNCTIONS
from rigpact.reference_runtime.operations.precision import stored
from rigpact.reference_runtime.operations.rounding import UNIT_ROUNDOFF, gamma
from rigpact.reference_runtime.systems.imu_pose.positions import without_positions

INPUT_SCALE = 5.0
LIKELIHOOD_FLOOR = 1e-6
"""What the training's likelihood adds to a variance."""
_STATISTICS = ("window_statistics", "window_statistics_unbiased")


def _halves(head: FloatArray) -> tuple[FloatArray, FloatArray]:
    width = head.shape[1] // 2
    return head[:, :width], head[:, width:]


def _axes_first(head: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(3, 17, 2), each half turned into joints of three axes."""
    mean, log_variance = head.reshape(len(head), 3, len(JOINTS), 2).transpose(3, 0, 2, 1).reshape(2, len(head), -1)
    return mean, log_variance


def _standardised(rows: FloatArray, freedom: int) -> FloatArray:
    """By the mean and the standard deviation of the window; a channel that stands still stays at 0."""
    moved = rows - rows.mean(axis=0)
    spread = np.sqrt((moved**2).sum(axis=0) / max(len(rows) - freedom, 1))
    return np.asarray(np.divide(moved, spread, out=np.zeros_like(moved), where=spread > 0.0))


def _from_pelvis(joints: FloatArray) -> FloatArray:
    return joints - joints[:, [JOINTS.index("pelvis")]]


ACCELERATION_UNIT = Knob(
    "acceleration_unit", {"m_s2": 1.0, "g": STANDARD_GRAVITY_M_S2}, "the unit of accelerations that come in",
    {"g": "a phone's API gives g: multiply by 9.81 before the network"},
)  # fmt: skip
ANGULAR_RATE_UNIT = Knob(
    "angular_rate_unit", {"rad_s": 1.0, "deg_s": float(np.pi / 180.0)}, "the unit of angular rates that come in",
    {"deg_s": "the gyroscope gives degrees: multiply by pi/180"},
)  # fmt: skip
"""One unit of the sensor in units of the contract. A side with the wrong unit divides by this factor."""
ACCELERATION_SIGN = Knob(
    "acceleration_sign", {"specific_force": 1.0, "negated": -1.0}, "the sign of accelerations, without angular rates",
    {
        "negated": CodeHint(
            "iOS: a[i] = -9.81f * motion.acceleration[i]; angular rates keep their sign", "acceleration = -acceleration",
            "specific force at rest is +9.81 upwards; iOS gives accelerations, not angular rates, with the other sign",
        )
    },
)  # fmt: skip
GRAVITY = Knob(
    "gravity",
    {
        "subtracted_at_rest": np.array([0.0, 0.0, STANDARD_GRAVITY_M_S2]),
        "kept": np.zeros(3),
        "added": np.array([0.0, 0.0, -STANDARD_GRAVITY_M_S2]),
        "taken_off_y": np.array([0.0, STANDARD_GRAVITY_M_S2, 0.0]),
        "standard": np.array([0.0, 0.0, 9.80665]),
    },
    "what is taken off the vertical acceleration",
    {
        "kept": "the network was trained with 9.81 taken off the vertical axis",
        "added": CodeHint("a.z + 9.81f", "acceleration[:, 2] += 9.81", "at rest the vertical axis reads +9.81: take it off"),
        "taken_off_y": CodeHint(
            "a.y - 9.81f", "acceleration[:, 1] -= 9.81", "the sensor's vertical axis is z, also where the engine's is y"
        ),
        "standard": CodeHint("a.z - 9.80665f", "acceleration[:, 2] -= 9.80665", "the network was trained with 9.81"),
    },
)  # fmt: skip
IMU_ORDER = Knob(
    "imu_order",
    {"acceleration_first": (slice(0, 3), slice(3, 6)), "angular_rate_first": (slice(3, 6), slice(0, 3))},
    "where the sensor's acceleration and its angular rate are looked for",
    {"angular_rate_first": "MuJoCo's spatial vectors are (rotation, translation): cvel[:3] is the angular part"},
)
SENSOR_AXES = Knob(
    "sensor_axes",
    {
        "z_up": np.eye(3),
        "y_up": np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]),
        "turned_to_y_up": np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]]),
        "z_down": np.diag([1.0, -1.0, -1.0]),
    },
    "the axes of the sensor",
    {
        "y_up": "the sensor's vertical axis is z: turn its frame by 90 degrees about x",
        "turned_to_y_up": CodeHint(
            "Vector3(v.x, v.z, -v.y)",
            "samples[:, [0, 2, 1]] * (1, 1, -1)",
            "the network takes the sensor's own axes, z up; poses are turned to the engine's axes, not samples",
        ),
        "z_down": "specific force at rest is +9.81 on z; a sensor that is mounted upside down turns all its axes",
    },
)
"""Rows are the sensor's axes in the other convention: all are proper rotations."""
INPUT_SCALING = Knob(
    "input_scale",
    {
        "fifth": lambda rows: rows / INPUT_SCALE,
        "none": lambda rows: rows,
        "window_statistics": lambda rows: _standardised(rows, 0),
        "window_statistics_unbiased": lambda rows: _standardised(rows, 1),
    },
    "how both vectors are scaled before the network",
    {
        "none": "divide both by 5 before the network",
        "window_statistics": CodeHint(
            "(x[t][c] - mean[c]) / std[c], over the window", "(x - x.mean(0)) / x.std(0)",
            "divide both by 5; a window's own statistics take away how strong a movement is, and which way is up",
        ),
        "window_statistics_unbiased": CodeHint(
            "sqrtf(sum / (count - 1))", "(x - x.mean(0)) / x.std(0), in torch",
            "divide both by 5; a window's own statistics take away how strong a movement is, and which way is up",
        ),
    },
)  # fmt: skip
POSITIONS = ModelKnob(
    "positional_encoding", {"added": None, "missing": without_positions}, "whether the network knows when a sample was",
    {
        "missing": CodeHint(
            "x[t][c] += positions[t][c] is left out", "x = self.positional_encoding(x) is left out",
            "the table of positions is a buffer, not a parameter: a loader that copies parameters leaves zeros there",
        )
    },
)  # fmt: skip
HEAD_LAYOUT = Knob(
    "head_layout",
    {
        "interleaved": lambda head: (head[:, 0::2], head[:, 1::2]),
        "halves": _halves,
        "log_variance_first": lambda head: (head[:, 1::2], head[:, 0::2]),
        "axes_first": _axes_first,
    },
    "where the head's means and log-variances stand",
    {
        "halves": "the head is viewed as (17, 3, 2): even numbers are means, odd ones log-variances",
        "log_variance_first": CodeHint(
            "mean = head[2 * i + 1], log_variance = head[2 * i]", "log_variance, mean = head.unbind(-1)",
            "even numbers are means, odd ones log-variances",
        ),
        "axes_first": CodeHint(
            "head[2 * (17 * axis + joint)]", "head.view(3, 17, 2)",
            "the head is viewed as (17, 3, 2): the three axes of a joint are neighbours",
        ),
    },
)  # fmt: skip
JOINT_ORDER = Knob(
    "joint_order",
    {
        "as_declared": list(range(len(JOINTS))),
        "left_right_swapped": left_right_permutation(JOINTS),
        "constraint_loss": [1, 2, 3, 4, 5, 6, 9, 10, 11, 12, 13, 14, 0, 7, 8, 15, 16],
    },
    "the order of the joints in the head",
    {
        "left_right_swapped": "left is -x; every pair of joints has its left one first",
        "constraint_loss": "the bone list of the constraint loss counts torso, head, shoulders; the pose does not",
    },
)
WORLD_AXES = Knob(
    "world_axes", {"z_up": np.eye(3), "y_up": np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])},
    "the axes of the world in which joints are placed",
    {"y_up": "poses are z up; the engine's axes need a conversion in one place"},
)  # fmt: skip
POSE_ORIGIN = Knob(
    "pose_origin", {"world": lambda joints: joints, "pelvis": _from_pelvis}, "what the positions of joints start from",
    {
        "pelvis": CodeHint(
            "joint[i] - joint[0]", "pose - pose[:, :1]",
            "poses hold absolute heights; a side that takes the pelvis off puts it on the floor",
        )
    },
)  # fmt: skip
LOG_VARIANCE_CLAMP = Knob(
    "log_variance_clamp",
    {name: CLIPPED[name] for name in ("clamped", "none")} | {"ten": lambda rows, _low, _high: np.clip(rows, -10.0, 10.0)},
    "whether log-variances are kept within their range",
    {
        "none": f"clamp to {LOG_VARIANCE_RANGE} before exp",
        "ten": CodeHint("std::clamp(v, -10.f, 10.f)", "log_var.clamp(-10, 10)", f"the range is {LOG_VARIANCE_RANGE}"),
    },
)  # fmt: skip
SPREAD = Knob(
    "spread",
    {
        "variance": lambda log_variance: FUNCTIONS["exp"](0.5 * log_variance),
        "log_is_of_sigma": FUNCTIONS["exp"],
        "softplus": lambda log_variance: np.sqrt(FUNCTIONS["softplus"](log_variance)),
        "with_floor": lambda log_variance: np.sqrt(FUNCTIONS["exp"](log_variance) + LIKELIHOOD_FLOOR),
    },
    "how a log-variance becomes a standard deviation",
    {
        "log_is_of_sigma": "sigma = exp(0.5 * log_variance); without the half the spread is squared",
        "softplus": "the head gives a log-variance: exp, not softplus",
        "with_floor": CodeHint(
            "sqrtf(expf(v) + 1e-6f)",
            "torch.sqrt(log_var.exp() + 1e-6)",
            "1e-6 keeps the training's likelihood from dividing by nothing; it is no part of sigma",
        ),
    },
)
TEMPERATURE = Knob(
    "temperature", {"applied": lambda calibration: calibration.temperature, "none": lambda _calibration: 1.0},
    "whether the calibration's temperature scales the spread",
    {"none": "multiply sigma by the calibration's temperature"},
)  # fmt: skip


def _unscaled(frames: Frames) -> FloatArray:
    """Both vectors in the sensor's frame, minus gravity at rest, (N, 6) float64."""
    imu, axes = frames["imu"].astype(np.float64), frames.pick(SENSOR_AXES)
    acceleration, rate = (imu[:, part] for part in frames.pick(IMU_ORDER))
    acceleration = frames.pick(ACCELERATION_SIGN) * acceleration @ axes.T / frames.pick(ACCELERATION_UNIT)
    rate = rate @ axes.T / frames.pick(ANGULAR_RATE_UNIT)
    return np.hstack([acceleration - frames.pick(GRAVITY), rate])


def model_input(frames: Frames) -> FloatArray:
    """The network's inputs, (N, 6): both vectors in the sensor's frame, minus gravity at rest, divided by 5."""
    return stored(frames.pick(INPUT_SCALING)(_unscaled(frames)))


def input_bound(frames: Frames, rows: FloatArray, _upstream: Bounds) -> FloatArray:
    """Three roundings: of the sensor's value, of the difference with gravity, of the quotient.

    Source: Higham, Accuracy and Stability of Numerical Algorithms, lemma 3.1 (gamma_n).
    """
    if frames.contract.conventions[INPUT_SCALING.name] in _STATISTICS:
        return _standardised_bound(_unscaled(frames), rows)
    largest = np.abs(frames["imu"]).max(axis=1, keepdims=True) + STANDARD_GRAVITY_M_S2
    return np.broadcast_to(4.0 * UNIT_ROUNDOFF * largest, rows.shape)


def _standardised_bound(unscaled: FloatArray, rows: FloatArray) -> FloatArray:
    """A mean of N numbers is off by at most gamma(N) times the largest, and so is their root mean square (Higham, ch. 3).

    Each number is off by both, divided by the deviation. Of a channel that stands still nothing can be said.
    """
    lost = gamma(len(rows) + 4.0) * (np.abs(unscaled).max() + STANDARD_GRAVITY_M_S2)
    deviation = unscaled.std(axis=0)
    relative = np.divide(lost, deviation, out=np.full(deviation.shape, np.nan), where=deviation > lost)
    return np.asarray((1.0 + np.abs(rows)) * relative)


def _joints(frames: Frames, part: int) -> FloatArray:
    """The head's means (part 0) or log-variances (1), (N, 17, 3)."""
    values = frames.pick(HEAD_LAYOUT)(frames["head"].astype(np.float64))[part]
    return np.asarray(values.reshape(len(values), len(JOINTS), 3)[:, frames.pick(JOINT_ORDER)])


def pose(frames: Frames) -> FloatArray:
    """Joint positions in metres, (N, 51): selected, and rotated by matrices of zeros and ones."""
    joints = frames.pick(POSE_ORIGIN)(_joints(frames, 0)) @ frames.pick(WORLD_AXES).T
    return stored(joints.reshape(len(joints), -1))


def log_variance(frames: Frames) -> FloatArray:
    """Clamped log-variances, (N, 51), in the pose's order of joints and axes."""
    joints = np.abs(frames.pick(WORLD_AXES)) @ _joints(frames, 1)[..., None]
    return stored(frames.pick(LOG_VARIANCE_CLAMP)(joints.reshape(len(joints), -1), *LOG_VARIANCE_RANGE))


def sigma(frames: Frames) -> FloatArray:
    """One standard deviation in metres, (N, 51), under a calibration's temperature."""
    spread = frames.pick(SPREAD)(frames["log_variance"].astype(np.float64))
    return stored(spread * frames.pick(TEMPERATURE)(frames.numbers))


def sigma_bound(frames: Frames, rows: FloatArray, _upstream: Bounds) -> FloatArray:
    """The exponential in float32: relative error |argument| · u from the halved argument, two ulp of expf, one product."""
    relative = UNIT_ROUNDOFF * (0.5 * np.abs(frames["log_variance"].astype(np.float64)) + 5.0)
    return relative * np.abs(rows.astype(np.float64))
