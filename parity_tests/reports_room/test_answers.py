"""`--format json` of every command follows its published schema, and `rigpact show schema` prints it."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from rigpact.fixtures import demo_bundle
from rigpact.reports.command_line import application
from rigpact.reports.describing.answer_schemas import ANSWERS

from ..declared_room.foreign_files import DEPLOY, write_yaml
from ..engine_recordings import as_engine

Command = Callable[..., Any]
SYSTEMS = ("demo", "neurarig", "blender_ik", "rig_inversion", "imu_pose")
CONTRACTS = {"demo": ("norm_template.json", "--companion", "pretrain_template.json")}


def schema_of(command: Command, name: str) -> dict[str, Any]:
    answer = command("show", "schema", name)
    assert answer.status == 0
    found: dict[str, Any] = json.loads(answer.out)
    jsonschema.Draft202012Validator.check_schema(found)
    return found


def check(command: Command, name: str, *words: object, status: int | None = 0) -> None:
    """The command's answer follows the schema, which would not let pass an answer without one of its entries."""
    answer = command(*name.partition(" --")[0].split(), *words, "--format", "json")
    assert status is None or answer.status == status, answer.out + answer.err
    document, schema = json.loads(answer.out), schema_of(command, name)
    validator = jsonschema.Draft202012Validator(schema)
    assert [error.message for error in validator.iter_errors(document)] == []
    one = document[0] if isinstance(document, list) else document
    for key in one:
        less = {other: value for other, value in one.items() if other != key}
        if key in schema.get("required", [key]):
            assert not validator.is_valid([less] if isinstance(document, list) else less), key


@pytest.fixture(params=SYSTEMS)
def project(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """A copy of a system's committed files, the working directory; returns the words for its contract."""
    source = demo_bundle().parent / request.param
    shutil.copytree(source, tmp_path / "project")
    monkeypatch.chdir(tmp_path / "project")
    return CONTRACTS.get(request.param, (f"{request.param}.json",))


def clip_of(contract: tuple[str, ...]) -> str:
    return "clips/Sneak_Turn.json" if len(contract) > 1 else "clip.trace.safetensors"


def test_the_answers_about_a_contract_and_its_runs(command: Command, project: tuple[str, ...]) -> None:
    """A script that reads an answer breaks when an entry changes its name or its type."""
    contract, clip = project, clip_of(project)
    driven = (clip, "--onnx", "model.onnx", "--contract", *contract)
    check(command, "check", contract[0], *contract[1:], status=None)
    check(command, "check", "--each", contract[0])
    check(command, "show", *contract, "--onnx", "model.onnx")
    check(command, "diff --base", contract[0], contract[0])
    check(command, "run", *driven, "--frames", 12, "-o", "run.trace.jsonl")
    check(command, "diff", "run.trace.jsonl", "run.trace.jsonl", "--contract", *contract)
    check(command, "explain", "run.trace.jsonl", "--clip", *driven)
    check(command, "nan", *driven, "--frames", 12)
    check(command, "convert", "run.trace.jsonl", "-o", "run.npz")
    check(command, "codegen", *contract, "-o", "contract.hpp")
    check(command, "codegen", contract[0], "--stamp", "model.onnx", "-o", "stamped.onnx")
    check(command, "sweep", *driven, "--mode", "teacher", "--frames", 12, "--processes", 1, "-o", "swept")


@pytest.mark.parametrize("wrong", ["compose_order=prev_delta", "denorm=std_only"])
def test_the_answers_where_something_is_wrong(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    """The answer that matters is the one with findings."""
    shutil.copytree(demo_bundle(), tmp_path / "demo")
    monkeypatch.chdir(tmp_path / "demo")
    contract = CONTRACTS["demo"]
    driven = (clip_of(contract), "--onnx", "model.onnx", "--contract", *contract)
    assert command("run", *driven, "--frames", 12, "-o", "right.trace.jsonl").status == 0
    assert command("run", *driven, "--frames", 12, "--set", wrong, "-o", "wrong.trace.jsonl").status == 0
    apart = command("diff", "right.trace.jsonl", "wrong.trace.jsonl", "--contract", *contract).status
    check(command, "diff", "right.trace.jsonl", "wrong.trace.jsonl", "--contract", *contract, status=apart)
    check(command, "explain", "wrong.trace.jsonl", "--clip", *driven, status=None)
    check(command, "run --probe", "--probe", "probe.json", "--contract", *contract)
    spoilt = json.loads(Path("norm_template.json").read_text(encoding="utf-8"))
    spoilt["StdX"][12] = 0.0
    Path("spoilt.json").write_text(json.dumps(spoilt), encoding="utf-8")
    check(command, "check", "spoilt.json", status=1)
    check(command, "diff --base", "norm_template.json", "spoilt.json", status=None)


@pytest.mark.parametrize(
    "words",
    [
        ("--drift", "--frames", 30),
        ("--perturb", "ring-slot@5:17=nan", "--frames", 12),
        ("--frames", 30),
        ("--mode", "teacher", "--frames", 12),
    ],
    ids=lambda words: words[0],
)
def test_the_answers_about_values_that_are_not_finite(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[object, ...]
) -> None:
    """NaN has no word in JSON: an answer that holds one cannot be read at all."""
    shutil.copytree(demo_bundle(), tmp_path / "demo")
    monkeypatch.chdir(tmp_path / "demo")
    contract = CONTRACTS["demo"]
    check(command, "nan", "--contract", *contract, clip_of(contract), "--onnx", "model.onnx", *words, status=None)


def test_the_answers_about_a_project(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What CI keeps and compares."""
    shutil.copytree(demo_bundle(), tmp_path / "demo")
    monkeypatch.chdir(tmp_path / "demo")
    contract, clip = CONTRACTS["demo"], clip_of(CONTRACTS["demo"])
    run = ("run", "--contract", *contract, clip, "--onnx", "model.onnx", "--frames", 12, "-o", "Sneak_Turn.trace.jsonl")
    assert command(*run).status == 0
    as_engine("Sneak_Turn.trace.jsonl")
    check(command, "init")
    check(command, "init --status", "--status", status=None)
    gated = command("gate", "--archive", "kept.rigpact.zip").status
    check(command, "gate", status=gated)
    check(command, "gate", "--from", "kept.rigpact.zip", status=gated)
    check(command, "gate --selftest", "--selftest", "--only", "companion", status=None)


def test_the_answers_about_rigpact_itself(command: Command, tmp_path: Path) -> None:
    """Editors and dashboards ask for these."""
    for words in ((), ("RP104",), ("neurarig",), ("page", "neurarig"), ("affine",), ("mjlab",), ("recorder",)):
        check(command, "show", *words)
    check(command, "demo", status=None)
    check(command, "demo robot", status=1)
    module = tmp_path / "own.py"
    module.write_text("import numpy as np\ndef rot6d_to_matrix(x):\n    return np.eye(3)\n", encoding="utf-8")
    check(command, "check", "--module", module, status=None)


def test_the_answer_about_an_imported_contract(command: Command, tmp_path: Path) -> None:
    """What is left open is read by the script that fills it in."""
    source = write_yaml(tmp_path / "deploy.yaml", DEPLOY)
    check(command, "init", "--from", source, "-o", tmp_path / "contract.toml")


def test_every_command_has_a_schema(command: Command) -> None:
    """A command whose answer nobody described is read by guessing."""
    names = {
        each.name or str(getattr(each.callback, "__name__", "")).replace("_", "-")
        for each in application().registered_commands
    }
    nested = {
        f"{group.name} {each.callback.__name__}"
        for group in application().registered_groups
        for each in group.typer_instance.registered_commands  # type: ignore[union-attr]
        if each.callback is not None
    }
    answers = {name for name in ANSWERS if " --" not in name} - {"demo robot"}
    assert answers == (names | nested)
    listed = command("show", "schema").out
    assert all(name in listed for name in ANSWERS)
    assert command("show", "schema", "gaet").status == 2
