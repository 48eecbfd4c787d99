"""Blender IK as a system: effectors, hips, ground and motion in; pose, positions and errors out.

Nothing is fed back: the animation gives every input of every frame, and the pose is only displayed.
"""

from __future__ import annotations

from rigpact.contract.systems import blender_ik as contract
from rigpact.contract.systems import blender_ik_rig as rig
from rigpact.contract.systems.stage import Measure, Stage
from rigpact.contract.systems.system import System
from rigpact.reference_runtime.systems.blender_ik import context, stages
from rigpact.reference_runtime.systems.blender_ik.data_gate import recording_problems
from rigpact.reference_runtime.systems.network import answer_of

_RADIANS, _METRES = Measure("rad"), Measure("m")
STAGES = (
    Stage("effectors", contract.EFFECTOR_TARGETS),
    Stage("root", contract.ROOT),
    Stage("ground", contract.GROUND),
    Stage("motion", contract.MOTION),
    Stage(
        "context", contract.CONTEXT, ("effectors", "root", "ground", "motion"), context.context, context.context_bound,
        (
            context.ROOT_FRAME, context.ROOT_RELATIVE, context.ROOT_AXES, context.EULER_ORDER, context.EULER_TRIPLE,
            context.EFFECTOR_QUATERNION, context.EFFECTOR_ROTATION_SENSE, context.EFFECTOR_ROTATION_SPACE,
            context.EFFECTOR_POINT, context.EFFECTOR_ORDER, context.HEIGHT, context.FEET_ORDER, context.CONTACT_FLAGS,
            context.TASK_NUMBERS,
        ),
    ),
    Stage(
        "model_input", contract.MODEL_INPUT, ("context",), context.model_input, context.input_bound,
        (context.NORMALISATION, context.ROTATION_SCALE, context.HEIGHT_SCALE, context.TASK_SCALE, context.PHASE_UNIT),
    ),
    Stage(
        "rotations", contract.ROTATION_VECTORS, ("model_input",), answer_of("rotations"), stages.network_bound,
        measure=_RADIANS, is_answer=True,
    ),
    Stage(
        "limited", contract.ROTATION_VECTORS, ("rotations",), stages.limited, knobs=(stages.CLAMP, stages.LIMIT_SET),
        measure=_RADIANS,
    ),
    Stage(
        "pose", contract.POSE, ("limited",), stages.pose, stages.pose_bound, (stages.ROTATION_VECTOR, stages.QUATERNION_ORDER),
        Measure(has_signless_quaternions=True),
    ),
    Stage(
        "positions", contract.POSITIONS, ("rotations", "limited", "root"), stages.positions, stages.positions_bound,
        (
            stages.CLAMP_PLACE, stages.ROTATION_VECTOR, stages.KINEMATICS_SENSE, stages.REST_ORIENTATION, stages.LOCAL_ORDER,
            stages.FK_ROOT, stages.ARMATURE_ROTATION,
        ),
        _METRES,
    ),
    Stage(
        "effector_error", contract.EFFECTOR_ERROR, ("positions", "effectors", "root"), stages.effector_error,
        stages.error_bound, (stages.TARGET_SPACE, context.ROOT_FRAME, stages.ERROR_MEASURE), _METRES,
    ),
)  # fmt: skip
SYSTEM = System(
    name="blender_ik",
    title="Blender full-body IK",
    page="blender_ik.md",
    stages=STAGES,
    inputs=("model_input",),
    outputs=("rotations",),
    fps=contract.FPS,
    numbers=rig.read_constants,
    constant_problems=rig.constant_problems,
    data_problems=recording_problems,
    published={"context": ("inputs", "train_inputs"), "rotations": ("outputs", "train_outputs")},
    template=rig.declared_constants,
)
