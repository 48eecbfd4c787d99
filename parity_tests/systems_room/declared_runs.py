"""Stages of a declared system in tests: run, recomputed from recorded ones, compared within their bounds."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from rigpact.contract.conventions import CodeHint
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.system import System
from rigpact.reference_runtime.graph.bounds import stage_bound
from rigpact.reference_runtime.graph.replayed import Evidence
from rigpact.reference_runtime.graph.run import run_clip, stages_from
from rigpact.reports.diagnosing.diagnose import diagnose
from rigpact.reports.diagnosing.diagnosis import Diagnosis

Rows = Mapping[str, np.ndarray]


def run(contract: Contract, given: Rows, network: Any = None, **changes: str) -> dict[str, np.ndarray]:
    """Every stage of a clip, under changed conventions."""
    return run_clip(contract.with_conventions(changes), given, network).stages


def recorded(
    contract: Contract, given: Rows, network: Any, changes: Mapping[str, str], spoil: Any = None, at: str = ""
) -> dict[str, np.ndarray]:
    """What an engine records under changed conventions; one that spoils the stage `at` goes on with what it spoilt."""
    known = dict(given)
    for stage in contract.system.graph:
        if stage.name not in known:
            rows = stages_from(contract.with_conventions(changes), known, network)[stage.name]
            known[stage.name] = spoil(rows) if stage.name == at else rows
    return known


def explained(contract: Contract, rows: Rows, network: Any, *, with_pairs: bool = False) -> Diagnosis:
    """The output of `rigpact explain` for a recording, with the model."""
    frame = np.arange(len(next(iter(rows.values()))))
    evidence = Evidence(frame, contract.fps or 1.0, "teacher", rows, network=network)
    return diagnose(evidence, contract, with_pairs=with_pairs)


def recomputed(contract: Contract, stage: str, known: Rows, **changes: str) -> np.ndarray:
    """One stage from known ones."""
    rows = stages_from(contract.with_conventions(changes), known).computed(stage)
    assert rows is not None
    return rows


def bound_of(contract: Contract, stage: str, known: Rows, rows: np.ndarray) -> np.ndarray:
    """How far two correct implementations of a stage may differ."""
    return stage_bound(contract.system.graph[stage], stages_from(contract, known), rows, {})


def alternatives(system: System) -> list[tuple[str, str]]:
    """Every other value of every knob."""
    return [(name, value) for name, knob in system.knobs.items() for value in knob.values[1:]]


def assert_every_value_has_its_hint(system: System) -> None:
    """Every knob has a meaning, and every value except the contract's own has a hint in words for the code."""
    assert all(knob.meaning for knob in system.knobs.values())
    for name, value in alternatives(system):
        hint = system.knobs[name].hints.get(value, "")
        assert hint.words if isinstance(hint, CodeHint) else hint, (name, value)
