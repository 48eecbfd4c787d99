"""The IMU pose system: sensor in, joint positions and their standard deviations out.

Nothing is fed back: the sensor gives every sample, and each window is evaluated as a whole.
"""

from __future__ import annotations

from rigpact.contract.systems import imu_pose as contract
from rigpact.contract.systems.layout import FieldLayout
from rigpact.contract.systems.stage import Measure, Stage
from rigpact.contract.systems.system import System
from rigpact.reference_runtime.systems.imu_pose import stages
from rigpact.reference_runtime.systems.network import answer_of
from rigpact.reference_runtime.vocabulary import network

_METRES = Measure("m")
_HEAD_KNOBS = (stages.HEAD_LAYOUT, stages.JOINT_ORDER, stages.WORLD_AXES)


def _answer(name: str, layout: FieldLayout) -> Stage:
    return Stage(name, layout, ("model_input",), answer_of(name), network.bound, (stages.POSITIONS,), is_answer=True)


STAGES = (
    Stage("imu", contract.IMU),
    Stage(
        "model_input", contract.MODEL_INPUT, ("imu",), stages.model_input, stages.input_bound,
        (
            stages.ACCELERATION_UNIT, stages.ACCELERATION_SIGN, stages.ANGULAR_RATE_UNIT, stages.GRAVITY, stages.IMU_ORDER,
            stages.SENSOR_AXES, stages.INPUT_SCALING,
        ),
    ),
    _answer("head", contract.HEAD),
    _answer("exercise_logits", contract.EXERCISE_LOGITS),
    _answer("form_logits", contract.FORM_LOGITS),
    _answer("uncertainty", contract.UNCERTAINTY),
    Stage("pose", contract.POSE, ("head",), stages.pose, knobs=(*_HEAD_KNOBS, stages.POSE_ORIGIN), measure=_METRES),
    Stage(
        "log_variance", contract.LOG_VARIANCE, ("head",), stages.log_variance, knobs=(*_HEAD_KNOBS, stages.LOG_VARIANCE_CLAMP)
    ),
    Stage(
        "sigma", contract.SIGMA, ("log_variance",), stages.sigma, stages.sigma_bound, (stages.SPREAD, stages.TEMPERATURE),
        _METRES,
    ),
)  # fmt: skip
SYSTEM = System(
    name="imu_pose",
    title="IMU pose, Hybrid Disentangling Transformer",
    page="imu_pose.md",
    stages=STAGES,
    inputs=("model_input",),
    outputs=("head", "exercise_logits", "form_logits", "uncertainty"),
    fps=contract.SAMPLE_RATE_HZ,
    windowed=True,
    classes=("exercise_logits", "form_logits"),
    numbers=contract.read_constants,
    constant_problems=contract.constant_problems,
    published={"imu": ("imu_data", "imu_data_full"), "pose": ("pose_mean",), "log_variance": ("pose_log_var",)},
    template=lambda: {"temperature": 1.0},
)
