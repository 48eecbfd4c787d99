"""The hosted systems in tests: their committed files, stages that are run, recorded wrongly, recomputed, explained."""

from collections.abc import Callable, Mapping
from copy import copy
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file

from rigpact.contract.contract_files import open_contract
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.system import System
from rigpact.reference_runtime.graph.bounds import stage_bound
from rigpact.reference_runtime.graph.network import OnnxSystemNetwork
from rigpact.reference_runtime.graph.replayed import Evidence
from rigpact.reference_runtime.graph.run import run_clip, stages_from
from rigpact.reports.diagnosing.diagnose import diagnose
from rigpact.reports.diagnosing.diagnosis import Diagnosis

BUNDLES = Path(__file__).parents[2] / "fixtures" / "bundles"
SYSTEMS = ("neurarig", "blender_ik", "rig_inversion", "imu_pose")
Rows = Mapping[str, np.ndarray]
Spoil = Callable[[np.ndarray], np.ndarray]


def run(contract: Contract, given: Rows, network: Any = None, **changes: str) -> dict[str, np.ndarray]:
    return run_clip(contract.with_conventions(changes), given, network).stages


def recomputed(contract: Contract, stage: str, known: Rows, **changes: str) -> np.ndarray:
    """One stage from known ones."""
    rows = stages_from(contract.with_conventions(changes), known).computed(stage)
    assert rows is not None
    return rows


def bound_of(contract: Contract, stage: str, known: Rows, rows: np.ndarray) -> np.ndarray:
    return stage_bound(contract.system.graph[stage], stages_from(contract, known), rows, {})


def alternatives(system: System) -> list[tuple[str, str]]:
    return [(name, value) for name, knob in system.knobs.items() for value in knob.values[1:]]


class Scene:
    """A committed system: its contract, its model, and what its clip gives."""

    def __init__(self, name: str) -> None:
        """Load the committed files."""
        self.folder = BUNDLES / name
        self.contract = open_contract(self.folder / f"{name}.json")
        self.network = OnnxSystemNetwork(self.folder / "model.onnx", self.contract.system)
        clip = load_file(self.folder / "clip.trace.safetensors")
        self.given = {stage: clip[stage] for stage in self.contract.system.graph.given}

    def recorded(self, changes: Mapping[str, str], spoil: Spoil | None = None, at: str = "") -> dict[str, np.ndarray]:
        """What an engine records under changed conventions; one that spoils the stage `at` goes on with what it spoilt."""
        known = dict(self.given)
        for stage in self.contract.system.graph:
            if stage.name not in known:
                rows = stages_from(self.contract.with_conventions(changes), known, self.network)[stage.name]
                known[stage.name] = spoil(rows) if spoil and stage.name == at else rows
        return known

    def under(self, changes: Mapping[str, str]) -> "Scene":
        """The system under other conventions."""
        other = copy(self)
        other.contract = self.contract.with_conventions(changes)
        return other

    def explained(self, rows: Rows, *, with_pairs: bool = False) -> Diagnosis:
        """The output of `rigpact explain` for a recording, with the model."""
        frame = np.arange(len(next(iter(rows.values()))))
        evidence = Evidence(frame, self.contract.fps or 1.0, "teacher", rows, network=self.network)
        return diagnose(evidence, self.contract, with_pairs=with_pairs)


@cache
def scene(name: str) -> Scene:
    return Scene(name)
