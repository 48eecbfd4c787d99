"""The stages of the IMU pose system: scale the sensor's numbers, run the network, split its head.

Every function takes frames and returns float32 rows (N, width); the arithmetic in between is float64.
"""

from __future__ import annotations

import numpy as np

from rigpact.contract.conventions import Knob
from rigpact.contract.skeleton import left_right_permutation
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.imu_pose import JOINTS, LOG_VARIANCE_RANGE, STANDARD_GRAVITY_M_S2
from rigpact.contract.systems.stage import Bounds, Frames
from rigpact.reference_runtime.operations.definitions.scaling import CLIPPED, FUNCTIONS
from rigpact.reference_runtime.operations.precision import stored
from rigpact.reference_runtime.operations.rounding import UNIT_ROUNDOFF

INPUT_SCALE = 5.0


def _halves(head: FloatArray) -> tuple[FloatArray, FloatArray]:
    width = head.shape[1] // 2
    return head[:, :width], head[:, width:]


ACCELERATION_UNIT = Knob(
    "acceleration_unit", {"m_s2": 1.0, "g": STANDARD_GRAVITY_M_S2}, "the unit of accelerations that come in",
    {"g": "a phone's API gives g: multiply by 9.81 before the network"},
)  # fmt: skip
ANGULAR_RATE_UNIT = Knob(
    "angular_rate_unit", {"rad_s": 1.0, "deg_s": float(np.pi / 180.0)}, "the unit of angular rates that come in",
    {"deg_s": "the gyroscope gives degrees: multiply by pi/180"},
)  # fmt: skip
"""One unit of the sensor in units of the contract. A side with the wrong unit divides by this factor."""
GRAVITY = Knob(
    "gravity", {"subtracted_at_rest": STANDARD_GRAVITY_M_S2, "kept": 0.0}, "what is taken off the vertical acceleration",
    {"kept": "the network was trained with 9.81 taken off the vertical axis"},
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
        "z_down": np.diag([1.0, -1.0, -1.0]),
    },
    "the axes of the sensor",
    {
        "y_up": "the sensor's vertical axis is z: turn its frame by 90 degrees about x",
        "z_down": "specific force at rest is +9.81 on z; iOS reports gravity with the other sign",
    },
)
"""Rows are the sensor's axes in the other convention: all are proper rotations."""
INPUT_DIVISOR = Knob(
    "input_scale", {"fifth": INPUT_SCALE, "none": 1.0}, "what both vectors are divided by before the network",
    {"none": "divide both by 5 before the network"},
)  # fmt: skip
HEAD_LAYOUT = Knob(
    "head_layout", {"interleaved": lambda head: (head[:, 0::2], head[:, 1::2]), "halves": _halves},
    "where the head's means and log-variances stand",
    {"halves": "the head is viewed as (17, 3, 2): even numbers are means, odd ones log-variances"},
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
LOG_VARIANCE_CLAMP = Knob(
    "log_variance_clamp", {name: CLIPPED[name] for name in ("clamped", "none")},
    "whether log-variances are kept within their range",
    {"none": f"clamp to {LOG_VARIANCE_RANGE} before exp"},
)  # fmt: skip
SPREAD = Knob(
    "spread",
    {
        "variance": lambda log_variance: FUNCTIONS["exp"](0.5 * log_variance),
        "log_is_of_sigma": FUNCTIONS["exp"],
        "softplus": lambda log_variance: np.sqrt(FUNCTIONS["softplus"](log_variance)),
    },
    "how a log-variance becomes a standard deviation",
    {
        "log_is_of_sigma": "sigma = exp(0.5 * log_variance); without the half the spread is squared",
        "softplus": "the head gives a log-variance: exp, not softplus",
    },
)
TEMPERATURE = Knob(
    "temperature", {"applied": lambda calibration: calibration.temperature, "none": lambda _calibration: 1.0},
    "whether the calibration's temperature scales the spread",
    {"none": "multiply sigma by the calibration's temperature"},
)  # fmt: skip


def model_input(frames: Frames) -> FloatArray:
    """The network's inputs, (N, 6): both vectors in the sensor's frame, minus gravity at rest, divided by 5."""
    imu, axes = frames["imu"].astype(np.float64), frames.pick(SENSOR_AXES)
    acceleration, rate = (imu[:, part] for part in frames.pick(IMU_ORDER))
    acceleration = acceleration @ axes.T / frames.pick(ACCELERATION_UNIT)
    acceleration = acceleration - (0.0, 0.0, frames.pick(GRAVITY))
    rate = rate @ axes.T / frames.pick(ANGULAR_RATE_UNIT)
    return stored(np.hstack([acceleration, rate]) / frames.pick(INPUT_DIVISOR))


def input_bound(frames: Frames, rows: FloatArray, _upstream: Bounds) -> FloatArray:
    """Three roundings: of the sensor's value, of the difference with gravity, of the quotient.

    Source: Higham, Accuracy and Stability of Numerical Algorithms, lemma 3.1 (gamma_n).
    """
    largest = np.abs(frames["imu"]).max(axis=1, keepdims=True) + STANDARD_GRAVITY_M_S2
    return np.broadcast_to(4.0 * UNIT_ROUNDOFF * largest, rows.shape)


def _joints(frames: Frames, part: int) -> FloatArray:
    """The head's means (part 0) or log-variances (1), (N, 17, 3)."""
    values = frames.pick(HEAD_LAYOUT)(frames["head"].astype(np.float64))[part]
    return np.asarray(values.reshape(len(values), len(JOINTS), 3)[:, frames.pick(JOINT_ORDER)])


def pose(frames: Frames) -> FloatArray:
    """Joint positions in metres, (N, 51): selected and rotated by matrices of zeros and ones."""
    joints = _joints(frames, 0) @ frames.pick(WORLD_AXES).T
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
