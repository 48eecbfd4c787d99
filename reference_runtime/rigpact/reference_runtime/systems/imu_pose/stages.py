"""The stages of the IMU pose system: scale the sensor's numbers, run the network, take its head apart.

Every function takes rows (T, width) and returns float32 rows; the arithmetic in between is float64.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.definition import Choices
from rigpact.contract.systems.imu_pose import JOINTS, LOG_VARIANCE_RANGE, STANDARD_GRAVITY_M_S2
from rigpact.reference_runtime.operations.precision import stored
from rigpact.reference_runtime.systems.stage_graph import Stages

INPUT_SCALE = 5.0
UNIT_ROUNDOFF = float(np.finfo(np.float32).eps) / 2.0

ACCELERATION_UNIT: Mapping[str, float] = {"m_s2": 1.0, "g": STANDARD_GRAVITY_M_S2}
ANGULAR_RATE_UNIT: Mapping[str, float] = {"rad_s": 1.0, "deg_s": float(np.pi / 180.0)}
"""What one of the sensor's units is in the contract's; a side that mistakes the unit divides by it."""
GRAVITY: Mapping[str, float] = {"subtracted_at_rest": STANDARD_GRAVITY_M_S2, "kept": 0.0}
SCALE: Mapping[str, float] = {"fifth": INPUT_SCALE, "none": 1.0}
SENSOR_AXES: Mapping[str, FloatArray] = {
    "z_up": np.eye(3),
    "y_up": np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]),
    "z_down": np.diag([1.0, -1.0, -1.0]),
}
"""Rows are the sensor's axes as the other side has them: all are proper rotations."""
WORLD_AXES: Mapping[str, FloatArray] = {
    "z_up": np.eye(3),
    "y_up": np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]]),
}
_SWAPPED = [
    JOINTS.index(name[:-2] + {"_l": "_r", "_r": "_l"}[name[-2:]]) if name[-2:] in {"_l", "_r"} else place
    for place, name in enumerate(JOINTS)
]
_CONSTRAINT_LOSS = [1, 2, 3, 4, 5, 6, 9, 10, 11, 12, 13, 14, 0, 7, 8, 15, 16]
JOINT_ORDER: Mapping[str, list[int]] = {
    "as_declared": list(range(len(JOINTS))),
    "left_right_swapped": _SWAPPED,
    "constraint_loss": _CONSTRAINT_LOSS,
}
SPREAD: Mapping[str, Callable[[FloatArray], FloatArray]] = {
    "variance": lambda log_variance: np.exp(0.5 * log_variance),
    "log_is_of_sigma": np.exp,
    "softplus": lambda log_variance: np.sqrt(np.logaddexp(0.0, log_variance)),
}


def model_input(stages: Stages, choices: Choices) -> FloatArray:
    """What the network sees, (T, 6): both vectors in the sensor's frame, gravity at rest taken off, a fifth of the unit."""
    imu = stages["imu"].astype(np.float64)
    acceleration, rate = imu[:, :3], imu[:, 3:]
    if choices["imu_order"] == "angular_rate_first":
        acceleration, rate = rate, acceleration
    axes = SENSOR_AXES[choices["sensor_axes"]]
    acceleration = acceleration @ axes.T / ACCELERATION_UNIT[choices["acceleration_unit"]]
    acceleration = acceleration - (0.0, 0.0, GRAVITY[choices["gravity"]])
    rate = rate @ axes.T / ANGULAR_RATE_UNIT[choices["angular_rate_unit"]]
    return stored(np.hstack([acceleration, rate]) / SCALE[choices["input_scale"]])


def input_bound(stages: Stages, computed: FloatArray) -> FloatArray:
    """Three roundings: of the sensor's value, of the difference with gravity, of the quotient.

    Source: Higham, Accuracy and Stability of Numerical Algorithms, lemma 3.1 (gamma_n).
    """
    largest = np.abs(stages["imu"]).max(axis=1, keepdims=True) + STANDARD_GRAVITY_M_S2
    return np.broadcast_to(4.0 * UNIT_ROUNDOFF * largest, computed.shape)


def _head_parts(head: FloatArray, layout: str) -> tuple[FloatArray, FloatArray]:
    if layout == "halves":
        width = head.shape[1] // 2
        return head[:, :width], head[:, width:]
    return head[:, 0::2], head[:, 1::2]


def _joints(values: FloatArray, order: str) -> FloatArray:
    return values.reshape(len(values), len(JOINTS), 3)[:, JOINT_ORDER[order]]


def pose(stages: Stages, choices: Choices) -> FloatArray:
    """Joint positions in metres, (T, 51)."""
    mean, _ = _head_parts(stages["head"].astype(np.float64), choices["head_layout"])
    joints = _joints(mean, choices["joint_order"]) @ WORLD_AXES[choices["world_axes"]].T
    return stored(joints.reshape(len(joints), -1))


def log_variance(stages: Stages, choices: Choices) -> FloatArray:
    """Clamped log-variances, (T, 51), in the pose's order of joints and axes."""
    _, values = _head_parts(stages["head"].astype(np.float64), choices["head_layout"])
    joints = _joints(values, choices["joint_order"])
    joints = np.abs(WORLD_AXES[choices["world_axes"]]) @ joints[..., None]
    rows = joints.reshape(len(joints), -1)
    return stored(np.clip(rows, *LOG_VARIANCE_RANGE) if choices["log_variance_clamp"] == "clamped" else rows)


def selection_bound(_stages: Stages, computed: FloatArray) -> FloatArray:
    """Chosen and turned by axes of zeros and ones: one rounding."""
    return 2.0 * UNIT_ROUNDOFF * np.abs(computed.astype(np.float64))


def sigma_of(temperature: float) -> Callable[[Stages, Choices], FloatArray]:
    """The stage that gives one standard deviation in metres, (T, 51), under a calibration's temperature."""

    def sigma(stages: Stages, choices: Choices) -> FloatArray:
        spread = SPREAD[choices["spread"]](stages["log_variance"].astype(np.float64))
        return stored(spread * (temperature if choices["temperature"] == "applied" else 1.0))

    return sigma


def sigma_bound(stages: Stages, computed: FloatArray) -> FloatArray:
    """The exponential in float32: relative error |argument| · u from the halved argument, two ulp of expf, one product."""
    relative = UNIT_ROUNDOFF * (0.5 * np.abs(stages["log_variance"].astype(np.float64)) + 5.0)
    return relative * np.abs(computed.astype(np.float64))
