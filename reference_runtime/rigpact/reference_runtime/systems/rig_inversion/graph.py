"""Rig inversion as a system: mesh in, the rig's own mesh and its distance from the given one out.

In a free run the rig's mesh for the answer is the next frame's input, so the errors of all inversions add up.
"""

from __future__ import annotations

from rigpact.contract.systems import rig_inversion as contract
from rigpact.contract.systems.stage import Stage
from rigpact.contract.systems.system import System
from rigpact.reference_runtime.systems.network import answer_of
from rigpact.reference_runtime.systems.rig_inversion import stages
from rigpact.reference_runtime.systems.rig_inversion.data_gate import recording_problems

STAGES = (
    Stage("mesh", contract.MESH, carried="reconstruction", reach=(1, 0)),
    Stage(
        "model_input", contract.MESH, ("mesh",), stages.model_input, stages.input_bound,
        (stages.FLATTENING, stages.VERTEX_ORDER, stages.MESH_AXES, stages.MESH_ORIGIN),
    ),
    Stage(
        "rig_parameters", contract.RIG_PARAMETERS, ("model_input",), answer_of("rig_parameters"), stages.network_bound,
        is_answer=True,
    ),
    Stage(
        "transform", contract.TRANSFORM, ("rig_parameters",), stages.transform, stages.transform_bound,
        (
            stages.PARAMETER_ORDER, stages.OUTPUT_ACTIVATION, stages.ANGLE_RANGE, stages.ANGLE_ORIGIN, stages.ANGLE_UNIT,
            stages.SCALE_MAPPING, stages.SCALE_LIMIT,
        ),
    ),
    Stage(
        "reconstruction", contract.MESH, ("transform",), stages.reconstruction, stages.reconstruction_bound,
        (
            stages.ROTATION_ORDER, stages.ROTATION_SENSE, stages.SCALE_PLACE, stages.VERTEX_TABLE, stages.VERTEX_SIDE,
            stages.RECONSTRUCTION_AXES,
        ),
    ),
    Stage(
        "vertex_error", contract.VERTEX_ERROR, ("mesh", "reconstruction"), stages.vertex_error, stages.error_bound,
        (stages.ERROR_MEASURE,),
    ),
)  # fmt: skip
SYSTEM = System(
    name="rig_inversion",
    title="Rig inversion, a toy rig and its differentiable approximation",
    page="rig_inversion.md",
    stages=STAGES,
    inputs=("model_input",),
    outputs=("rig_parameters",),
    fps=contract.FPS,
    numbers=contract.read_constants,
    constant_problems=contract.constant_problems,
    data_problems=recording_problems,
    published={"mesh": ("arr_1", "anim_4D"), "rig_parameters": ("arr_0", "anim")},
    template=contract.declared_constants,
)
