"""NeuraRig as a graph of stages: the engine's pose in; packet, rotations, reply, joints and the feet's errors out."""

from __future__ import annotations

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.definition import Choices, SystemContract
from rigpact.contract.systems.neurarig import DEFINITION, read_constants
from rigpact.reference_runtime.systems.network import Evaluate
from rigpact.reference_runtime.systems.neurarig import stages
from rigpact.reference_runtime.systems.stage_graph import Stage, StageGraph, Stages

GIVEN = ("engine_pose",)
PACKET_KNOBS = (
    "target_space", "normal_space", "quaternion_order", "handedness", "unit", "tail_order", "chain_order",
)  # fmt: skip
JOINT_KNOBS = ("bone_axis", "multiplication", "fk_space", "leg_lengths")


def graph(contract: SystemContract, evaluate: Evaluate | None = None) -> StageGraph:
    """The stages under a contract; without a model its raw rotations have to be given."""
    rig = read_constants(contract.constants)
    before = (
        Stage("packet", GIVEN, stages.packet, stages.packet_bound, PACKET_KNOBS),
        Stage(
            "model_input", ("packet",), stages.model_input_of(rig), stages.copied_bound, ("input_copy", "input_scale")
        ),
    )
    behind = (
        Stage(
            "rotations", ("raw_rotations",), stages.rotations, stages.rotations_bound, ("normalisation", "quaternion_sign")
        ),
        Stage("reply", ("rotations",), stages.reply, stages.copied_bound, ("reply_length", "reply_order")),
        Stage(
            "joints", ("engine_pose", "reply"), stages.joints_of(rig), stages.joints_bound_of(rig), JOINT_KNOBS, "cm"
        ),
        Stage(
            "foot_error", ("engine_pose", "packet", "joints"), stages.foot_error, stages.error_bound, ("error_target",),
            "cm",
        ),
    )  # fmt: skip
    if evaluate is None:
        return StageGraph((*GIVEN, *DEFINITION.outputs), (*before, *behind))
    return StageGraph(GIVEN, (*before, _network_stage(evaluate), *behind))


def _network_stage(evaluate: Evaluate) -> Stage:
    def compute(known: Stages, _choices: Choices) -> FloatArray:
        return np.asarray(evaluate([known["model_input"]])[0], np.float32)

    return Stage("raw_rotations", ("model_input",), compute, stages.network_bound)
