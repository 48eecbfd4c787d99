"""The IMU pose system as a graph of stages: sensor in, joint positions and their spread out."""

from __future__ import annotations

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.definition import Choices, SystemContract
from rigpact.contract.systems.imu_pose import DEFINITION
from rigpact.reference_runtime.systems.imu_pose import stages
from rigpact.reference_runtime.systems.network import Evaluate
from rigpact.reference_runtime.systems.stage_graph import Stage, StageGraph, Stages

INPUT_KNOBS = ("acceleration_unit", "angular_rate_unit", "gravity", "imu_order", "sensor_axes", "input_scale")
HEAD_KNOBS = ("head_layout", "joint_order", "world_axes")


def graph(contract: SystemContract, evaluate: Evaluate | None = None) -> StageGraph:
    """The stages under a contract; without a model its outputs have to be given."""
    temperature = float(contract.constants["temperature"])
    before = Stage("model_input", ("imu",), stages.model_input, stages.input_bound, INPUT_KNOBS)
    behind = (
        Stage("pose", ("head",), stages.pose, stages.selection_bound, HEAD_KNOBS, unit="m"),
        Stage(
            "log_variance", ("head",), stages.log_variance, stages.selection_bound,
            (*HEAD_KNOBS, "log_variance_clamp"),
        ),
        Stage(
            "sigma", ("log_variance",), stages.sigma_of(temperature), stages.sigma_bound, ("spread", "temperature"),
            unit="m",
        ),
    )  # fmt: skip
    if evaluate is None:
        return StageGraph(("imu", *DEFINITION.outputs), (before, *behind))
    network = (_network_stage(name, place, evaluate) for place, name in enumerate(DEFINITION.outputs))
    return StageGraph(("imu",), (before, *network, *behind))


def _network_stage(name: str, place: int, evaluate: Evaluate) -> Stage:
    def compute(known: Stages, _choices: Choices) -> FloatArray:
        rows = known["model_input"]
        answer = evaluate([rows[None]])[place][0]
        return np.broadcast_to(answer, (len(rows), answer.shape[-1])).astype(np.float32)

    return Stage(name, ("model_input",), compute, _network_bound)


def _network_bound(_known: Stages, computed: FloatArray) -> FloatArray:
    """Another order of summation moves an output by about the square root of the longest sum's length, in ulp of the largest."""
    longest_sum = 4096.0
    largest = np.abs(computed.astype(np.float64)).max(axis=0, keepdims=True) + 1.0
    return np.broadcast_to(np.sqrt(longest_sum) * 2.0 * stages.UNIT_ROUNDOFF * largest, computed.shape)
