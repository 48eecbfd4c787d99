"""Rig inversion as a graph of stages: mesh in, the rig's own mesh and its distance from the given one out."""

from __future__ import annotations

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.definition import Choices, SystemContract
from rigpact.contract.systems.rig_inversion import DEFINITION, read_constants
from rigpact.reference_runtime.systems.network import Evaluate
from rigpact.reference_runtime.systems.rig_inversion import stages
from rigpact.reference_runtime.systems.stage_graph import Stage, StageGraph, Stages

_NETWORK_ERROR = 1e-5
"""Another order of summation of 536 products moves a pre-activation by sqrt(536) · 2⁻²³ times its operands, and those stay
below 16; the sigmoid takes a quarter of it."""


def graph(contract: SystemContract, evaluate: Evaluate | None = None) -> StageGraph:
    """The stages under a contract; without a model the parameters have to be given."""
    rig = read_constants(contract.constants)
    entry = Stage(
        "model_input", ("mesh",), stages.model_input, stages.input_bound, ("flattening", "vertex_order", "mesh_axes")
    )
    behind = (
        Stage(
            "transform", ("rig_parameters",), stages.transform_of(rig), stages.transform_bound,
            ("parameter_order", "output_activation", "angle_range", "angle_origin", "angle_unit", "scale_mapping"),
        ),
        Stage(
            "reconstruction", ("transform",), stages.reconstruction_of(rig), stages.reconstruction_bound,
            ("rotation_order", "rotation_sense", "scale_place", "vertex_table", "vertex_side"),
        ),
        Stage(
            "vertex_error", ("mesh", "reconstruction"), stages.vertex_error, stages.error_bound, ("error_measure",)
        ),
    )  # fmt: skip
    if evaluate is None:
        return StageGraph(("mesh", *DEFINITION.outputs), (entry, *behind))
    return StageGraph(("mesh",), (entry, _network_stage(evaluate), *behind))


def _network_stage(evaluate: Evaluate) -> Stage:
    def compute(known: Stages, _choices: Choices) -> FloatArray:
        return np.asarray(evaluate([known["model_input"]])[0], np.float32)

    def bound(_known: Stages, computed: FloatArray) -> FloatArray:
        return np.full(computed.shape, _NETWORK_ERROR)

    return Stage("rig_parameters", ("model_input",), compute, bound)
