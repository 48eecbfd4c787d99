"""Pose from one inertial sensor: a window of accelerations and angular rates in, 17 joint positions with their spread out.

Source: seed document "QuantumLeap Pose Engine"; where its code and its text part, docs/systems/imu_pose.md says which is meant.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rigpact.contract.systems.definition import SystemDefinition
from rigpact.contract.systems.layout import Field, FieldKind, FieldLayout, tiled
from rigpact.contract.systems.problem import Problem

SAMPLE_RATE_HZ = 100.0
STANDARD_GRAVITY_M_S2 = 9.81
EXERCISES = ("squat", "hip_hinge", "side_lunge")
FORMS = ("good", "shallow", "forward_lean", "fast", "shifted")
JOINTS = (
    "pelvis", "spine", "head", "shoulder_l", "shoulder_r", "elbow_l", "elbow_r", "wrist_l", "wrist_r", "hip_l", "hip_r",
    "knee_l", "knee_r", "ankle_l", "ankle_r", "foot_l", "foot_r",
)  # fmt: skip
LOG_VARIANCE_RANGE = (-8.0, 4.0)
"""Without a floor the likelihood of a coordinate that never moves grows without bound."""

_IMU = tiled(
    ("acceleration", 3, FieldKind.ACCELERATION, "m/s2", "sensor, specific force: +9.81 up at rest", -160.0, 160.0),
    ("angular_rate", 3, FieldKind.ANGULAR_RATE, "rad/s", "sensor", -35.0, 35.0),
)
_INPUT = tiled(
    ("acceleration", 3, FieldKind.RAW, "5 m/s2", "sensor, gravity at rest taken off"),
    ("angular_rate", 3, FieldKind.RAW, "5 rad/s", "sensor"),
)
_HEAD = FieldLayout(
    tuple(
        Field(f"{joint}_{axis}_{what}", 6 * place + 2 * index + part, 1, kind, unit, "world, z up")
        for place, joint in enumerate(JOINTS)
        for index, axis in enumerate("xyz")
        for part, (what, kind, unit) in enumerate(
            (("mean", FieldKind.MEAN, "m"), ("log_variance", FieldKind.LOG_VARIANCE, "ln m2"))
        )
    )
)


def _per_joint(kind: FieldKind, unit: str) -> FieldLayout:
    fields = (Field(joint, 3 * place, 3, kind, unit, "world, z up") for place, joint in enumerate(JOINTS))
    return FieldLayout(tuple(fields))


DEFINITION = SystemDefinition(
    name="imu_pose",
    title="IMU pose, Hybrid Disentangling Transformer",
    page="imu_pose.md",
    vectors={
        "imu": _IMU,
        "model_input": _INPUT,
        "head": _HEAD,
        "exercise_logits": tiled(*((name, 1, FieldKind.LOGITS, "", "the window") for name in EXERCISES)),
        "form_logits": tiled(*((name, 1, FieldKind.LOGITS, "", "the window") for name in FORMS)),
        "uncertainty": tiled(("uncertainty", 1, FieldKind.PROBABILITY, "", "the window", 0.0, 1.0)),
        "pose": _per_joint(FieldKind.POSITION, "m"),
        "log_variance": _per_joint(FieldKind.LOG_VARIANCE, "ln m2"),
        "sigma": _per_joint(FieldKind.SCALAR, "m"),
    },
    inputs=("model_input",),
    outputs=("head", "exercise_logits", "form_logits", "uncertainty"),
    knobs={
        "acceleration_unit": ("m_s2", "g"),
        "angular_rate_unit": ("rad_s", "deg_s"),
        "gravity": ("subtracted_at_rest", "kept"),
        "imu_order": ("acceleration_first", "angular_rate_first"),
        "sensor_axes": ("z_up", "y_up", "z_down"),
        "input_scale": ("fifth", "none"),
        "head_layout": ("interleaved", "halves"),
        "joint_order": ("as_declared", "left_right_swapped", "constraint_loss"),
        "world_axes": ("z_up", "y_up"),
        "log_variance_clamp": ("clamped", "none"),
        "spread": ("variance", "log_is_of_sigma", "softplus"),
        "temperature": ("applied", "none"),
    },
    hints={
        "acceleration_unit=g": "a phone's API gives g: multiply by 9.81 before the network",
        "angular_rate_unit=deg_s": "the gyroscope gives degrees: multiply by pi/180",
        "gravity=kept": "the network was trained with 9.81 taken off the vertical axis",
        "imu_order=angular_rate_first": "MuJoCo's spatial vectors are (rotation, translation): cvel[:3] is the angular part",
        "sensor_axes=y_up": "the sensor's vertical axis is z: turn its frame by 90 degrees about x",
        "sensor_axes=z_down": "specific force at rest is +9.81 on z; iOS reports gravity with the other sign",
        "input_scale=none": "divide both by 5 before the network",
        "head_layout=halves": "the head is viewed as (17, 3, 2): even numbers are means, odd ones log-variances",
        "joint_order=left_right_swapped": "left is -x; every pair of joints has its left one first",
        "joint_order=constraint_loss": "the bone list of the constraint loss counts torso, head, shoulders; the pose does not",
        "world_axes=y_up": "poses are z up; the engine's axes need a conversion in one place",
        "log_variance_clamp=none": f"clamp to {LOG_VARIANCE_RANGE} before exp",
        "spread=log_is_of_sigma": "sigma = exp(0.5 * log_variance); without the half the spread is squared",
        "spread=softplus": "the head gives a log-variance: exp, not softplus",
        "temperature=none": "multiply sigma by the calibration's temperature",
    },
    fps=SAMPLE_RATE_HZ,
    windowed=True,
)


def constant_problems(constants: Mapping[str, Any]) -> Iterator[Problem]:
    """What makes the calibration's temperature unusable."""
    value = constants.get("temperature")
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 < value < 1e6:
        yield Problem(
            "/temperature", str(value)[:40], "a positive number", "no spread could be given, or a negative one"
        )
