"""Checks of a rig's training data: each mesh must come from its parameters, and from this rig."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.problem import Problem
from rigpact.contract.systems.rig_inversion import DUPLICATE_VERTICES, PARAMETERS, VERTICES, RigConstants
from rigpact.reference_runtime.operations.definitions.scaling import LENGTHS
from rigpact.reference_runtime.systems.rig_inversion.rig import rig_mesh

SAME_MESH, FEWEST = 1e-5, 2


def recording_problems(contract: Any, stages: Mapping[str, FloatArray]) -> Iterator[Problem]:
    """Problems of a recording with meshes, alone or with their parameters."""
    mesh, parameters = (
        stages[name].astype(np.float64) if name in stages else None for name in ("mesh", "rig_parameters")
    )
    if mesh is not None and parameters is not None:
        yield from data_problems(parameters, mesh, contract.numbers)
    elif mesh is not None:
        yield from mesh_problems(mesh)


def mesh_problems(mesh: FloatArray) -> Iterator[Problem]:
    """Problems of meshes alone, rows (N, 24): in every row the duplicate vertex must have one position."""
    if mesh.ndim != 2 or mesh.shape[1] != 3 * len(VERTICES) or not len(mesh):
        yield Problem("mesh", f"shape {mesh.shape}", f"(N, {3 * len(VERTICES)})", "numbers would be read as others")
        return
    if not np.isfinite(mesh).all():
        yield Problem("mesh", "a value that is not finite", "numbers", "one such row ends the training")
        return
    first, second = DUPLICATE_VERTICES
    vertices = mesh.reshape(len(mesh), len(VERTICES), 3)
    apart = LENGTHS["euclidean"](vertices[:, first] - vertices[:, second])
    row = int(np.argmax(apart))
    if apart[row] > SAME_MESH:
        yield Problem(
            f"mesh/vertex_{second}", f"{apart[row]:.3g} from vertex {first} in row {row}", "the same place",
            "another order of vertices, or a mesh flattened by axes",
        )  # fmt: skip


def data_problems(parameters: FloatArray, mesh: FloatArray, rig: RigConstants) -> Iterator[Problem]:
    """Problems of pairs, parameters (N, 6) and meshes (N, 24): each mesh must be the rig's mesh for its parameters."""
    found = list(mesh_problems(mesh))
    yield from found
    if parameters.ndim != 2 or parameters.shape[1] != len(PARAMETERS) or len(parameters) != len(mesh):
        yield Problem("parameters", f"shape {parameters.shape}", f"({len(mesh)}, 6)", "no mesh has its parameters")
        return
    outside = ~((parameters >= 0.0) & (parameters <= 1.0))
    if outside.any():
        row, place = (int(index) for index in np.argwhere(outside)[0])
        yield Problem(
            f"parameters/{PARAMETERS[place]}",
            f"{parameters[row, place]:g} in row {row}",
            "0 to 1",
            "the sigmoid never gets there",
        )
        return
    if len(np.unique(parameters, axis=0)) < FEWEST:
        yield Problem(
            "parameters", f"one set of parameters in {len(parameters)} rows", "several", "a constant answers it"
        )
    if not found:
        apart = LENGTHS["euclidean"](rig_mesh(parameters, rig) - mesh.reshape(len(mesh), -1, 3)).max(axis=1)
        row = int(np.argmax(apart))
        if apart[row] > SAME_MESH:
            yield Problem(
                "mesh", f"{apart[row]:.3g} from the rig's own mesh in row {row}", f"at most {SAME_MESH:g}",
                "the approximation learns another rig",
            )  # fmt: skip
