"""Blender IK as a graph of stages: effectors, hips, ground and motion in; pose, positions and errors out."""

from __future__ import annotations

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.blender_ik import DEFINITION
from rigpact.contract.systems.blender_ik_rig import read_constants
from rigpact.contract.systems.definition import Choices, SystemContract
from rigpact.reference_runtime.systems.blender_ik import context, stages
from rigpact.reference_runtime.systems.network import Evaluate
from rigpact.reference_runtime.systems.stage_graph import Stage, StageGraph, Stages

GIVEN = ("effectors", "root", "ground", "motion")
_NETWORK_ERROR = 1e-5
"""Another order of summation of 128 products moves a sum by sqrt(128) · 2⁻²³ times its operands; three layers of them, with
sums of up to a few units in between."""


def graph(contract: SystemContract, evaluate: Evaluate | None = None) -> StageGraph:
    """The stages under a contract; without a model its rotation vectors have to be given."""
    rig = read_constants(contract.constants)
    before = (
        Stage("context", GIVEN, context.context, context.context_bound, context.CONTEXT_KNOBS),
        Stage("model_input", ("context",), context.model_input_of(rig), context.input_bound, context.INPUT_KNOBS),
    )
    behind = (
        Stage("limited", ("rotations",), stages.limited_of(rig), stages.limited_bound, ("clamp", "limit_set"), "rad"),
        Stage(
            "pose", ("limited",), stages.pose, stages.pose_bound, ("rotation_vector", "quaternion_order"),
            quaternions=True,
        ),
        Stage(
            "positions", ("rotations", "limited", "root"), stages.positions_of(rig), stages.positions_bound,
            ("clamp_place", "rotation_vector", "rest_orientation", "local_order", "fk_root"), "m",
        ),
        Stage(
            "effector_error", ("positions", "effectors", "root"), stages.effector_error, stages.error_bound,
            ("target_space",), "m",
        ),
    )  # fmt: skip
    if evaluate is None:
        return StageGraph((*GIVEN, *DEFINITION.outputs), (*before, *behind))
    return StageGraph(GIVEN, (*before, _network_stage(evaluate), *behind))


def _network_stage(evaluate: Evaluate) -> Stage:
    def compute(known: Stages, _choices: Choices) -> FloatArray:
        return np.asarray(evaluate([known["model_input"]])[0], np.float32)

    def bound(_known: Stages, computed: FloatArray) -> FloatArray:
        return np.full(computed.shape, _NETWORK_ERROR)

    return Stage("rotations", ("model_input",), compute, bound, unit="rad")
