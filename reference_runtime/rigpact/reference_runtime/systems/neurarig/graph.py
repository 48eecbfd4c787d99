"""NeuraRig as a system: the engine's pose in; packet, rotations, reply, joints and the feet's errors out.

The engine applies the rotations of the reply, so the next packet contains them. Pelvis, ground and targets always come
from the animation.
"""

from __future__ import annotations

from rigpact.contract.systems import neurarig as contract
from rigpact.contract.systems.stage import Measure, Stage
from rigpact.contract.systems.system import Architecture, System
from rigpact.reference_runtime.systems.network import answer_of
from rigpact.reference_runtime.systems.neurarig import knobs, stages

_CM = Measure("cm")
STAGES = (
    Stage("engine_pose", contract.ENGINE_POSE, carried="engine_pose_next", carried_fields=stages.TURNED_FIELDS, reach=(1, 0)),
    Stage(
        "packet", contract.PACKET, ("engine_pose",), stages.packet, stages.packet_bound,
        (
            knobs.TARGET_SPACE, knobs.NORMAL_SPACE, knobs.QUATERNION_ORDER, knobs.HANDEDNESS, knobs.UNIT, knobs.TAIL_ORDER,
            knobs.CHAIN_ORDER,
        ),
    ),
    Stage(
        "model_input", contract.MODEL_INPUT, ("packet",), stages.model_input, stages.copied_bound,
        (knobs.INPUT_COPY, knobs.INPUT_SCALE),
    ),
    Stage(
        "raw_rotations", contract.RAW_ROTATIONS, ("model_input",), answer_of("raw_rotations"), stages.network_bound,
        is_answer=True, source="--onnx with the model, and record packet",
    ),
    Stage(
        "rotations", contract.ROTATIONS, ("raw_rotations",), stages.rotations, stages.rotations_bound,
        (knobs.NORMALISATION, knobs.QUATERNION_SIGN),
    ),
    Stage(
        "reply", contract.RAW_ROTATIONS, ("rotations",), stages.reply, stages.copied_bound,
        (knobs.REPLY_LENGTH, knobs.REPLY_ORDER, knobs.REPLY_LEGS),
    ),
    Stage(
        "joints", contract.LEG_JOINTS, ("engine_pose", "reply"), stages.joints, stages.joints_bound,
        (
            knobs.BONE_AXIS, knobs.MULTIPLICATION, knobs.BONE_TURN, knobs.TURNING, knobs.HIP_OFFSET, knobs.FK_SPACE,
            knobs.LEG_LENGTHS,
        ),
        _CM,
    ),
    Stage(
        "foot_error", contract.FOOT_ERROR, ("engine_pose", "packet", "joints"), stages.foot_error, stages.error_bound,
        (knobs.ERROR_TARGET, knobs.ERROR_LENGTH), _CM,
    ),
    Stage("engine_pose_next", contract.ENGINE_POSE, ("engine_pose", "reply"), stages.engine_pose_next),
)  # fmt: skip
SYSTEM = System(
    name="neurarig",
    title="NeuraRig leg IK",
    page="neurarig.md",
    stages=STAGES,
    inputs=("model_input",),
    outputs=("raw_rotations",),
    fps=contract.FPS,
    numbers=contract.read_constants,
    constant_problems=contract.constant_problems,
    template=contract.declared_constants,
    architecture=Architecture(contract.PARAMETER_COUNT, ("Relu",)),
)
