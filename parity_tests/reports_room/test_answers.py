"""`--format json` of every command follows its published schema, and `rigpact show schema` prints it."""

import json
import shutil
from pathlib import Path

import jsonschema
import pytest

from rigpact.reports.command_line import application
from rigpact.reports.describing.shown import ANSWERS

from ..declared_room.foreign_files import DEPLOY, write_yaml
from ..engine_recordings import as_engine
from .demo import BUNDLES, edited

DEMO = ("norm_template.json", "--companion", "pretrain_template.json")
DRIVEN = ("clips/Sneak_Turn.json", "--onnx", "model.onnx", "--contract", *DEMO)


@pytest.fixture
def check(command):
    """The command's answer follows the schema, which would not let pass an answer without one of its entries."""

    def call(name, *words, status=0):
        answer = command(*name.partition(" --")[0].split(), *words, "--format", "json")
        assert status is None or answer.status == status, answer.out + answer.err
        document, schema = json.loads(answer.out), json.loads(command("show", "schema", name).out)
        jsonschema.Draft202012Validator.check_schema(schema)
        validator = jsonschema.Draft202012Validator(schema)
        assert [error.message for error in validator.iter_errors(document)] == []
        one = document[0] if isinstance(document, list) else document
        for key in one:
            less = {other: value for other, value in one.items() if other != key}
            if key in schema.get("required", [key]):
                assert not validator.is_valid([less] if isinstance(document, list) else less), key

    return call


@pytest.fixture
def demo(tmp_path, monkeypatch):
    """A copy of the demo's files, the working directory."""
    shutil.copytree(BUNDLES["enemy_animation"].parent, tmp_path / "demo")
    monkeypatch.chdir(tmp_path / "demo")


SYSTEMS = [pytest.param(name, marks=pytest.mark.nightly if place > 1 else ()) for place, name in enumerate(BUNDLES)]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", SYSTEMS)
def test_the_answers_about_a_contract_and_its_runs(command, check, tmp_path, monkeypatch, no_search, name):
    """A script that reads an answer breaks when an entry changes its name or its type."""
    shutil.copytree(BUNDLES[name].parent, tmp_path / "project")
    monkeypatch.chdir(tmp_path / "project")
    contract = DEMO if name == "enemy_animation" else (f"{name}.json",)
    driven = (
        DRIVEN
        if name == "enemy_animation"
        else ("clip.trace.safetensors", "--onnx", "model.onnx", "--contract", *contract)
    )
    check("check", *contract, status=None)
    check("check", "--each", contract[0])
    check("show", *contract, "--onnx", "model.onnx")
    check("diff --base", contract[0], contract[0])
    check("run", *driven, "--frames", 12, "-o", "run.trace.jsonl")
    check("diff", "run.trace.jsonl", "run.trace.jsonl", "--contract", *contract)
    check("explain", "run.trace.jsonl", "--clip", *driven)
    check("nan", *driven, "--frames", 12)
    check("convert", "run.trace.jsonl", "-o", "run.npz")
    check("codegen", *contract, "-o", "contract.hpp")
    check("codegen", contract[0], "--stamp", "model.onnx", "-o", "stamped.onnx")
    check("sweep", *driven, "--mode", "teacher", "--frames", 2, "--processes", 1, "-o", "swept")


def test_the_answers_where_something_is_wrong(command, check, demo):
    """The answer that matters is the one with findings. NaN has no word in JSON: an answer that holds one cannot be read."""
    for name, words in (("right", ()), ("wrong", ("--set", "compose_order=prev_delta"))):
        assert command("run", *DRIVEN, "--frames", 12, *words, "-o", f"{name}.trace.jsonl").status == 0
    check("diff", "right.trace.jsonl", "wrong.trace.jsonl", "--contract", *DEMO, status=1)
    check("explain", "wrong.trace.jsonl", "--clip", *DRIVEN, status=1)
    check("run --probe", "--probe", "probe.json", "--contract", *DEMO)
    edited(Path("norm_template.json"), Path("spoilt.json"), lambda bundle: bundle["StdX"].__setitem__(12, 0.0))
    check("check", "spoilt.json", status=1)
    check("diff --base", "norm_template.json", "spoilt.json", status=None)
    for words in (
        ("--drift", "--frames", 9), ("--perturb", "ring-slot@5:17=nan", "--frames", 12),
        ("--mode", "teacher", "--frames", 9),
    ):  # fmt: skip
        check("nan", *DRIVEN, *words, status=None)


def test_the_answers_about_a_project(command, check, demo, no_search):
    """What CI keeps and compares."""
    assert command("run", *DRIVEN, "--frames", 12, "-o", "Sneak_Turn.trace.jsonl").status == 0
    as_engine("Sneak_Turn.trace.jsonl")
    check("init")
    check("init --status", "--status", status=None)
    Path("rigpact.toml").write_text('[gate]\nbundle = "norm_template.json"\nfree-run = false\n', encoding="utf-8")
    check("gate", status=command("gate").status)
    check("gate --selftest", "--selftest", "--only", "companion", status=None)


@pytest.mark.nightly
def test_the_answers_about_rigpact_itself(check, tmp_path):
    """Editors and dashboards ask for these; what is left open in an import is read by the script that fills it in."""
    for words in ((), ("RP104",), ("neurarig",), ("page", "neurarig"), ("affine",), ("mjlab",), ("recorder",)):
        check("show", *words)
    check("demo", status=None)
    check("demo robot", status=1)
    module = tmp_path / "own.py"
    module.write_text("import numpy as np\ndef rot6d_to_matrix(x):\n    return np.eye(3)\n", encoding="utf-8")
    check("check", "--module", module, status=None)
    check("init", "--from", write_yaml(tmp_path / "deploy.yaml", DEPLOY), "-o", tmp_path / "contract.toml")


def test_every_command_has_a_schema(command):
    """A command whose answer nobody described is read by guessing."""
    names = {
        each.name or str(getattr(each.callback, "__name__", "")).replace("_", "-")
        for each in application().registered_commands
    }
    nested = {
        f"{group.name} {each.callback.__name__}"
        for group in application().registered_groups
        for each in group.typer_instance.registered_commands
        if each.callback is not None
    }
    assert {name for name in ANSWERS if " --" not in name} - {"demo robot"} == names | nested
    listed = command("show", "schema").out
    assert [name for name in ANSWERS if name not in listed] == []
    assert command("show", "schema", "gaet").status == 2
