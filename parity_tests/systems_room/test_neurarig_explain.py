"""NeuraRig under `explain`: every convention is named, alone and in pairs, and no defect gets a made-up cause."""

from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from rigpact.contract.contract_files import open_contract
from rigpact.reference_runtime.graph.network import OnnxSystemNetwork
from rigpact.reports.diagnosing.diagnosis import Diagnosis

from ..every_case import every_case
from . import declared_runs
from .neurarig_mutants import DEFECTS

BUNDLE = Path(__file__).parents[2] / "fixtures" / "bundles" / "neurarig"
CONTRACT = open_contract(BUNDLE / "neurarig.json")
NETWORK = OnnxSystemNetwork(BUNDLE / "model.onnx", CONTRACT.system)
CLIP = load_file(BUNDLE / "clip.trace.safetensors")["engine_pose"]
SINGLES = declared_runs.alternatives(CONTRACT.system)
Rows = dict[str, np.ndarray]


def recorded(changes: Mapping[str, str], spoil: Any = None, at: str = "") -> Rows:
    """What an engine records under changed conventions, or that spoils one stage."""
    return declared_runs.recorded(CONTRACT, {"engine_pose": CLIP}, NETWORK, changes, spoil, at)


def explain(rows: Rows, *, with_pairs: bool = False) -> Diagnosis:
    """The output of `rigpact explain --onnx`."""
    return declared_runs.explained(CONTRACT, rows, NETWORK, with_pairs=with_pairs)


def test_an_engine_that_is_right_agrees_and_nothing_is_left_open() -> None:
    """If a clip cannot separate two conventions, a wrong one passes."""
    diagnosis = explain(recorded({}))

    assert (diagnosis.verdict, diagnosis.causes, diagnosis.indistinguishable) == ("agrees", (), ())


@every_case(("knob", "value"), SINGLES, by="knob")
def test_every_convention_is_named(knob: str, value: str) -> None:
    """Without the name, an engineer must search eighteen places by hand."""
    diagnosis = explain(recorded({knob: value}))

    assert diagnosis.verdict == "explained"
    assert [(dict(cause.changes), cause.equivalents) for cause in diagnosis.causes] == [({knob: value}, ())]
    assert diagnosis.causes[0].code_hints == (CONTRACT.system.knobs[knob].hint(value),)


def _some_pairs(count: int) -> list[dict[str, str]]:
    pairs = [dict(pair) for pair in combinations(SINGLES, 2) if pair[0][0] != pair[1][0]]
    chosen = np.random.default_rng(0).choice(len(pairs), count, replace=False)
    return [pairs[place] for place in chosen]


@pytest.mark.parametrize("changes", _some_pairs(12), ids="+".join)
def test_pairs_of_conventions_are_named(changes: dict[str, str]) -> None:
    """Two mistakes together cannot be found by changing one thing at a time."""
    diagnosis = explain(recorded(changes), with_pairs=True)
    named = {knob: value for cause in diagnosis.causes for knob, value in cause.changes.items()}
    alike = [dict(other) for cause in diagnosis.causes for other in cause.equivalents]

    assert diagnosis.verdict == "explained"
    assert named == changes or changes in alike


@pytest.mark.parametrize("name", DEFECTS)
def test_a_defect_that_is_no_convention_gets_no_cause(name: str) -> None:
    """A false cause sends an engineer to correct code."""
    stage, spoil = DEFECTS[name]
    diagnosis = explain(recorded({}, spoil, stage), with_pairs=True)

    assert (diagnosis.exit_code, diagnosis.causes) == (1, ())
    assert (diagnosis.verdict == "unexplained") == all(each.kind == "glitch" for each in diagnosis.relations)
    assert diagnosis.first_divergence is not None
    assert diagnosis.first_divergence.stage == stage
    assert [each.stage for each in diagnosis.stages if each.ok is False] == [stage]


def test_a_value_that_is_not_finite_is_placed_and_not_explained() -> None:
    """A NaN is a defect of its own, whatever conventions are about."""
    rows = recorded({})
    rows["reply"][5, 3] = np.nan
    diagnosis = explain(rows)

    assert diagnosis.verdict == "unexplained"
    assert diagnosis.first_divergence is not None
    assert (diagnosis.first_divergence.frame, str(diagnosis.first_divergence.address)) == (
        5,
        "thigh_r_quat[3] (channel 3)",
    )


def test_a_stage_without_its_inputs_is_not_judged() -> None:
    """A stage that cannot be judged must not count as agreement."""
    rows = recorded({})
    diagnosis = explain({"reply": rows["reply"]})

    assert diagnosis.verdict == "undetermined"
    assert diagnosis.exit_code == 2
    assert diagnosis.stages[0].needs == "record rotations or --onnx with the model, and record packet"


def test_a_reply_is_judged_from_the_packet_and_the_model_where_nothing_between_was_recorded() -> None:
    """A client at the end of a wire sees two datagrams; what the server did between them must not stay unjudged."""
    sent = {name: rows for name, rows in recorded({}).items() if name in ("engine_pose", "packet", "reply")}
    wrong = {**sent, "reply": recorded({"reply_legs": "left_first"})["reply"]}
    alone, named = explain(sent), explain(wrong)

    assert (alone.verdict, [each.ok for each in alone.stages if each.stage == "reply"]) == ("agrees", [True])
    assert [dict(cause.changes) for cause in named.causes] == [{"reply_legs": "left_first"}]
