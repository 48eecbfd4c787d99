"""The runtimes of the hosted systems, by name. To add one: its `graph` and, where it has one, its data gate, a row here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.blender_ik_rig import read_constants as read_ik_constants
from rigpact.contract.systems.definition import SystemContract
from rigpact.contract.systems.problem import Problem
from rigpact.contract.systems.rig_inversion import read_constants as read_rig_constants
from rigpact.reference_runtime.systems.blender_ik import data_gate as ik_gate
from rigpact.reference_runtime.systems.blender_ik.context import denormalised
from rigpact.reference_runtime.systems.blender_ik.graph import graph as blender_ik_graph
from rigpact.reference_runtime.systems.imu_pose.graph import graph as imu_pose_graph
from rigpact.reference_runtime.systems.network import Evaluate
from rigpact.reference_runtime.systems.neurarig.graph import graph as neurarig_graph
from rigpact.reference_runtime.systems.rig_inversion import data_gate as rig_gate
from rigpact.reference_runtime.systems.rig_inversion.graph import graph as rig_inversion_graph
from rigpact.reference_runtime.systems.stage_graph import StageGraph, Stages

DataGate = Callable[[SystemContract, Stages], Iterator[Problem]]
"""What is wrong with the recorded vectors of a data set, beyond what each field says of itself."""


class Graph(Protocol):
    """How a system's stages are built: with a model, or with the model's outputs among what is given."""

    def __call__(self, contract: SystemContract, evaluate: Evaluate | None = None) -> StageGraph:
        """Return the stages under a contract."""
        ...


@dataclass(frozen=True)
class SystemRuntime:
    """A system's stages, and what judges its data sets."""

    graph: Graph
    data_gate: DataGate


def _no_gate(_contract: SystemContract, _stages: Stages) -> Iterator[Problem]:
    yield from ()


def _ik_gate(contract: SystemContract, stages: Stages) -> Iterator[Problem]:
    rig = read_ik_constants(contract.constants)
    context = stages.get("context")
    if context is None and "model_input" in stages:
        context = denormalised(stages["model_input"], rig)
    if context is not None and "rotations" in stages:
        yield from ik_gate.data_problems(_wide(context), _wide(stages["rotations"]), rig)


def _rig_gate(contract: SystemContract, stages: Stages) -> Iterator[Problem]:
    if "mesh" in stages and "rig_parameters" in stages:
        rig = read_rig_constants(contract.constants)
        yield from rig_gate.data_problems(_wide(stages["rig_parameters"]), _wide(stages["mesh"]), rig)
    elif "mesh" in stages:
        yield from rig_gate.mesh_problems(_wide(stages["mesh"]))


def _wide(rows: FloatArray) -> FloatArray:
    wide: FloatArray = rows.astype("float64")
    return wide


RUNTIMES: Mapping[str, SystemRuntime] = {
    "neurarig": SystemRuntime(neurarig_graph, _no_gate),
    "blender_ik": SystemRuntime(blender_ik_graph, _ik_gate),
    "rig_inversion": SystemRuntime(rig_inversion_graph, _rig_gate),
    "imu_pose": SystemRuntime(imu_pose_graph, _no_gate),
}
