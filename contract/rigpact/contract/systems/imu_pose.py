"""Pose from one inertial sensor: a window of accelerations and angular rates in, 17 joint positions with their spread out.

Source: seed document "QuantumLeap Pose Engine"; where its code and its text part, docs/systems/imu_pose.md says which is meant.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

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

IMU = tiled(
    ("acceleration", 3, FieldKind.ACCELERATION, "m/s2", "sensor, specific force: +9.81 up at rest", -160.0, 160.0),
    ("angular_rate", 3, FieldKind.ANGULAR_RATE, "rad/s", "sensor", -35.0, 35.0),
)
MODEL_INPUT = tiled(
    ("acceleration", 3, FieldKind.RAW, "5 m/s2", "sensor, gravity at rest taken off"),
    ("angular_rate", 3, FieldKind.RAW, "5 rad/s", "sensor"),
)
HEAD = FieldLayout(
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


EXERCISE_LOGITS, FORM_LOGITS = (
    tiled(*((name, 1, FieldKind.LOGITS, "", "the window") for name in names)) for names in (EXERCISES, FORMS)
)
UNCERTAINTY = tiled(("uncertainty", 1, FieldKind.PROBABILITY, "", "the window", 0.0, 1.0))
POSE, SIGMA = _per_joint(FieldKind.POSITION, "m"), _per_joint(FieldKind.SCALAR, "m")
LOG_VARIANCE = _per_joint(FieldKind.LOG_VARIANCE, "ln m2")


@dataclass(frozen=True)
class Calibration:
    """What a calibration of the network found: the factor of every spread."""

    temperature: float


def read_constants(constants: Mapping[str, Any]) -> Calibration:
    """The numbers that the runtime needs; KeyError, TypeError or ValueError where they are not there or no numbers."""
    return Calibration(float(constants["temperature"]))


def constant_problems(constants: Mapping[str, Any]) -> Iterator[Problem]:
    """What makes the calibration's temperature unusable."""
    value = constants.get("temperature")
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 < value < 1e6:
        yield Problem(
            "/temperature", str(value)[:40], "a positive number", "no spread could be given, or a negative one"
        )
