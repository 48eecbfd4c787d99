"""Blender IK, rig inversion and IMU pose under `explain`: every convention is named, alone and in pairs."""

from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from rigpact.contract.contract_files import open_contract
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.graph.network import OnnxSystemNetwork
from rigpact.reports.diagnosing.diagnosis import Diagnosis

from ..every_case import every_case
from . import declared_runs

CONTRACTS = {
    name: open_contract(Path(__file__).parents[2] / "fixtures" / "bundles" / name / f"{name}.json")
    for name in ("blender_ik", "rig_inversion", "imu_pose")
}
SINGLES = [
    (name, knob, value)
    for name, contract in CONTRACTS.items()
    for knob, value in declared_runs.alternatives(contract.system)
]
Rows = dict[str, np.ndarray]


class Scene:
    """A committed system: its stages behind its model, and what its clip gives."""

    def __init__(self, name: str) -> None:
        """Load the committed files."""
        self.contract: Contract = CONTRACTS[name]
        folder = self.contract.path.parent
        self.network = OnnxSystemNetwork(folder / "model.onnx", self.contract.system)
        given = load_file(folder / "clip.trace.safetensors")
        self.given = {stage: given[stage] for stage in self.contract.system.graph.given}

    def recorded(self, changes: Mapping[str, str], spoil: Any = None, at: str = "") -> Rows:
        """What an engine records under changed conventions, or that spoils one stage."""
        return declared_runs.recorded(self.contract, self.given, self.network, changes, spoil, at)

    def explain(self, recorded: Rows, *, with_pairs: bool = False) -> Diagnosis:
        """The output of `rigpact explain` for a recording, with the model."""
        return declared_runs.explained(self.contract, recorded, self.network, with_pairs=with_pairs)


@pytest.fixture(scope="module")
def scenes() -> dict[str, Scene]:
    """The systems, loaded once."""
    return {name: Scene(name) for name in CONTRACTS}


@pytest.mark.parametrize("name", CONTRACTS)
def test_an_engine_that_is_right_agrees(scenes: dict[str, Scene], name: str) -> None:
    """Users stop using a tool that gives a false alarm."""
    diagnosis = scenes[name].explain(scenes[name].recorded({}))
    assert (diagnosis.verdict, diagnosis.causes) == ("agrees", ())
    assert diagnosis.indistinguishable == ()  # the clip tells every convention from every other


@every_case(("name", "knob", "value"), SINGLES, by="knob")
def test_every_convention_is_named(scenes: dict[str, Scene], name: str, knob: str, value: str) -> None:
    """A transposed matrix or a clamp behind the kinematics is hours of work to find by eye."""
    diagnosis = scenes[name].explain(scenes[name].recorded({knob: value}))
    assert diagnosis.verdict == "explained"
    assert [dict(cause.changes) for cause in diagnosis.causes] == [{knob: value}]
    assert [cause.equivalents for cause in diagnosis.causes] == [()]
    assert diagnosis.causes[0].code_hints == (CONTRACTS[name].system.knobs[knob].hint(value),)


def _some_pairs(name: str, count: int) -> list[dict[str, str]]:
    singles = [(knob, value) for system, knob, value in SINGLES if system == name]
    pairs = [{one[0]: one[1], two[0]: two[1]} for one, two in combinations(singles, 2) if one[0] != two[0]]
    chance = np.random.default_rng(17)
    return [pairs[place] for place in chance.choice(len(pairs), count, replace=False)]


@pytest.mark.parametrize("name", CONTRACTS)
def test_two_conventions_at_once_are_both_named(scenes: dict[str, Scene], name: str) -> None:
    """A new port of a plugin often has more than one defect."""
    scene, named = scenes[name], 0
    pairs = _some_pairs(name, 12)
    for pair in pairs:
        diagnosis = scene.explain(scene.recorded(pair), with_pairs=True)
        found = {knob: value for cause in diagnosis.causes for knob, value in cause.changes.items()}
        equals = [
            {**found, **changes} for cause in diagnosis.causes for changes in cause.equivalents
        ]  # the report also lists changes that explain this clip equally well
        shown = scene.recorded(found)
        same = all(np.allclose(shown[stage], rows, atol=1e-4) for stage, rows in scene.recorded(pair).items())
        assert diagnosis.verdict == "explained", pair
        assert found == pair or pair in equals or same, (pair, found)
        hides = same and len(found) < len(pair)  # one change takes away what the other does: a window's own statistics
        named += found == pair or hides
    assert named >= 10
