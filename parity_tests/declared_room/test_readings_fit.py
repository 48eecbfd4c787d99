"""Every reading of every operation, behind it every other operation: what does not fit in its place is not offered."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rigpact.contract.declared.declaration import read_declaration
from rigpact.contract.errors import UnusableInput
from rigpact.contract.systems.contract import Contract
from rigpact.fixtures.clip_format import random_rows
from rigpact.reference_runtime.graph.replayed import Evidence, ReplayedFrames

from ..measuring.pages.generated_docs import SAMPLES, sample_contract

FRAMES = 5
NO_MODEL = {"network"}


def _sample(name, prefix):
    """The given vectors and the stage of an operation's sample on docs/operations.md, all names with a prefix."""
    given, parameters = SAMPLES[name]
    root = tomllib.loads(f"given = [{given}]\nstage = {{ {parameters} }}")
    stage = {"name": f"{prefix}result", "operation": name, **root["stage"]}
    if "of" in stage:
        of = stage["of"]
        stage["of"] = [f"{prefix}{each}" for each in ([of] if isinstance(of, str) else of)]
    return [{**each, "name": f"{prefix}{each['name']}"} for each in root["given"]], stage


def _root(front, behind, given):
    own, stage = _sample(front, "front_")
    return {"name": "pairs", "fps": 50, "given": [*own, *given], "stages": [stage, *behind]}


def _behind(front, width):
    """Every other operation with the front's numbers in the place of each of its vectors, and beside others where it is wider."""
    for name in sorted(SAMPLES.keys() - NO_MODEL - {front}):
        given, stage = _sample(name, f"{name}_")
        for place, table in enumerate(given):
            others = [each for each in given if each is not table]
            of = ["front_result" if each == table["name"] else each for each in stage.get("of", ())]
            yield others, [{**stage, "name": f"{name}_{place}", "of": of}]
            left = table.get("size", 0) - width
            if "names" not in table and left > 0:
                pad, joined = f"{name}_{place}_pad", f"{name}_{place}_joined"
                whole = {"name": joined, "operation": "concatenate", "of": ["front_result", pad]}
                of = [joined if each == "front_result" else each for each in of]
                yield (
                    [*others, {"name": pad, "size": left}],
                    [whole, {**stage, "name": f"{name}_{place}_beside", "of": of}],
                )


def _contract(root):
    """The contract, or the places of the stages that it refuses."""
    found = read_declaration(root, Path())
    if found.system is None:
        return None, {int(each.pointer.split("/")[2]) for each in found.problems if each.pointer.startswith("/stages/")}
    system = found.system
    return Contract(system, Path("pairs.toml"), "", {}, system.conventions(None), found.constants, 50.0), set()


def _fitting(front):
    """The front and everything that can stand behind it."""
    alone = _contract(_root(front, [], []))[0]
    assert alone is not None, front
    stages: list[dict[str, Any]] = []
    given: list[dict[str, Any]] = []
    for others, behind in _behind(front, alone.fields("front_result").width):
        given += [each for each in others if each not in given]
        stages += behind
    contract = None
    while contract is None:
        contract, refused = _contract(_root(front, stages, given))
        assert contract or refused
        stages = [each for place, each in enumerate(stages, 1) if place not in refused]
    return contract


@pytest.mark.sampled(4)
@pytest.mark.parametrize("front", sorted(SAMPLES.keys() - NO_MODEL))
def test_every_reading_fits_in_front_of_every_operation(front):
    """One number in the place of two ended `explain` in an internal error five operations later."""
    contract, draw = _fitting(front), np.random.default_rng(1)
    graph = contract.system.graph
    recorded = {name: random_rows(contract.fields(name), FRAMES, draw) for name in graph.given}
    evidence = Evidence(np.arange(FRAMES), 50.0, "teacher", recorded)
    readings = [{}, *({knob.name: value} for knob in graph["front_result"].every_knob for value in knob.values)]
    assert len(readings) > 0
    for reading in readings:
        frames = ReplayedFrames(evidence, contract.with_conventions(reading))
        widths = {name: None if (rows := frames.get(name)) is None else rows.shape[1] for name in graph.names}
        assert widths == {name: contract.fields(name).width for name in graph.names}, reading


def test_every_reading_has_a_line_of_both_sides():
    """Who reads `bent.order = scale_first` wants to know what to search for in the engine and in the training.

    Readings that are made of the contract's own names say themselves what is where.
    """
    knobs = [knob for name in SAMPLES if name not in NO_MODEL for knob in sample_contract(name).system.knobs.values()]
    own = ("_exchanged", "_last", "_first")
    readings = [(knob, value) for knob in knobs for value in knob.values if not str(value).endswith(own)]
    lines = [(knob.code(value, "cpp"), knob.code(value, "python"), knob.hint(value)) for knob, value in readings]
    assert len(lines) > 100
    assert [found for found in lines if not (found[0] and found[1] and found[0] in found[2])] == []


def test_rows_of_another_width_are_left_out():
    """What a reading of somebody else's operation makes is caught where it is made, not in what is computed from it."""
    contract = sample_contract("affine")
    given, stage = contract.system.stages
    wide = replace(stage, compute=lambda _frames: np.zeros((FRAMES, 4), np.float32))
    contract = replace(contract, system=replace(contract.system, stages=(given, wide)))
    evidence = Evidence(np.arange(FRAMES), 50.0, "teacher", {"v": np.zeros((FRAMES, 3), np.float32)})
    with pytest.raises(UnusableInput, match="4 numbers"):
        ReplayedFrames(evidence, contract).get("result")
