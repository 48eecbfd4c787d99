"""Recordings of another contract, convention or model.

A recording says under which files it was made. One clip may agree although the engine loads other numbers.
"""

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rigpact.contract.bundle import load_contract
from rigpact.contract.meaning import canonical_json
from rigpact.reference_runtime import write_trace
from rigpact.reports.engine.header import contract_header

from .recorded_demo import CONTRACT, TRACE, codes, edited, project, recorded, said
from .tried import passes, refused

Command = Callable[..., Any]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A sound project; commands run in it."""
    monkeypatch.chdir(project(tmp_path / "game"))
    write_trace(recorded(), "right.trace.jsonl")
    return tmp_path / "game"


def rewritten(path: Path, edit: Callable[[Any], object] = lambda root: None, **how: Any) -> None:
    root = json.loads(path.read_text(encoding="utf-8"))
    edit(root)
    path.write_text(json.dumps(root, **how), encoding="utf-8")


def changed_companion(root: Any) -> None:
    root["MuPoseHist"][5] += 0.25


def compared(command: Command) -> Any:
    return command("diff", "right.trace.jsonl", TRACE, *CONTRACT, "--format", "json")


@refused(
    "an engine that runs with a stale companion, on a clip that does not show it", "`diff` and `gate`: error RP810"
)
def test_a_stale_companion_is_said(folder: Path, command: Command) -> None:
    """The history of a bone that this clip does not move is read with other statistics in the game."""
    rewritten(folder / "pretrain_template.json", changed_companion)
    stale = load_contract(folder / "norm_template.json", folder / "pretrain_template.json")
    rewritten(
        folder / "pretrain_template.json", lambda root: root["MuPoseHist"].__setitem__(5, root["MuPoseHist"][5] - 0.25)
    )
    write_trace(said(recorded(), **stale.hashes), folder / TRACE)

    answer, gate = compared(command), command("gate", "--format", "json")

    assert (answer.status, [code for code in codes(answer) if code == "RP810"]) == (1, ["RP810"])
    assert "another companion" in answer.out
    assert (gate.status, "RP810" in codes(gate)) == (1, True)


@refused("a recording made with another model, in which every compared value agrees", "`diff` and `gate`: error RP810")
def test_another_model_is_said(folder: Path, command: Command) -> None:
    """After retraining, last month's recording says nothing about the network that ships."""
    write_trace(said(recorded(), model_sha256="0" * 64), folder / TRACE)

    answer, gate = compared(command), command("gate", "--format", "json")

    assert (answer.status, codes(answer)) == (1, ["RP810"])
    assert (gate.status, "RP810" in codes(gate)) == (1, True)


@refused("a recording whose engine was generated for other conventions", "`diff`: error RP810; `explain`: a note")
def test_other_conventions_are_said(folder: Path, command: Command) -> None:
    """On a clip without turns both orders of composing give the same pose."""
    contract = load_contract(folder / "norm_template.json", folder / "pretrain_template.json")
    other = contract.with_conventions({"compose_order": "prev_delta"})
    write_trace(said(recorded(), **other.hashes), folder / TRACE)

    answer = compared(command)
    explained = command("explain", TRACE, *CONTRACT, "--onnx", "model.onnx", "--clip", "clips/Sneak_Turn.json")

    assert (answer.status, codes(answer)) == (1, ["RP810"])
    assert "another conventions" not in answer.out
    assert "other conventions" in explained.out


@passes("a recording whose header names no contract and no model", "passes; RP811 lists what cannot be verified")
def test_a_header_that_says_nothing_is_no_error(folder: Path, command: Command) -> None:
    """Most engines write their own recorder."""
    nothing = {"bundle_sha256": None}
    edited(folder / "right.trace.jsonl", lambda lines: lines[0].update(contract=nothing))

    answer, gate = compared(command), command("gate", "--format", "json")

    assert (answer.status, set(codes(answer))) == (0, {"RP811"})
    assert gate.status == 0, gate.out


@passes(
    "a bundle that was only written again: other spaces, keys in another order, 1 for 1.0", "`diff --strict` passes"
)
def test_formatting_is_no_other_contract(folder: Path, command: Command) -> None:
    """A pre-commit hook that formats JSON must not make every recording stale."""
    rewritten(folder / "norm_template.json", indent=1, sort_keys=True)
    rewritten(folder / "pretrain_template.json", indent=4)

    answer = command("diff", "right.trace.jsonl", TRACE, *CONTRACT, "--strict", "--format", "json")
    gate = command("gate", "--format", "json")  # --strict asks for a base revision

    assert (answer.status, codes(answer)) == (0, [])
    assert gate.status == 0, gate.out


def test_the_generated_header_carries_every_hash(folder: Path) -> None:
    """The C++ recorder writes these constants: a stale companion is then seen in the recording."""
    contract = load_contract(folder / "norm_template.json", folder / "pretrain_template.json")
    found = dict(re.findall(r'k(\w+)Sha256\[\] = "([0-9a-f]{64})"', contract_header(contract)))

    assert found["Bundle"] == hashlib.sha256((folder / "norm_template.json").read_bytes()).hexdigest()
    assert found["Companion"] == hashlib.sha256((folder / "pretrain_template.json").read_bytes()).hexdigest()
    assert {found["Meaning"], found["Conventions"]} <= set(contract.hashes.values())


def test_the_meaning_is_the_hash_of_canonical_json() -> None:
    """Another program must come to the same hash; the text is the example of RFC 8785."""
    example = {
        "numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 1e-27],
        "string": '€$\x0f\nA\'B"\\\\"/',
        "literals": [None, True, False],
    }

    assert canonical_json(example) == (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )
    assert canonical_json([10**400, -(10**400)]) == '["Infinity","-Infinity"]'
    assert canonical_json({"ö": 1, "\U0001f600": 2, "1": 3.0, "\r": -0.0}) == '{"\\r":0,"1":3,"ö":1,"😀":2}'
    assert (
        canonical_json([1e21, 1e20, 1e-6, 1.5e-7, -1.25e-6])
        == "[1e+21,100000000000000000000,0.000001,1.5e-7,-0.00000125]"
    )
