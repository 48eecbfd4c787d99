"""The demo character as a subject, and `rigpact nan` on its files."""

import json

import pytest

from rigpact.contract import load_contract
from rigpact.reference_runtime import read_clip
from rigpact.reference_runtime.files.declared import RunSetup
from rigpact.reference_runtime.network import OnnxNetwork


@pytest.fixture
def nan_command(command, demo_bundle, tmp_path):
    """Run `rigpact nan --format json` with the demo's files; `damage` is (array, place, number) of its bundle."""

    def call(*words, damage=None, runs=True):
        bundle = demo_bundle / "norm_template.json"
        if damage is not None:
            document = json.loads(bundle.read_text(encoding="utf-8"))
            document[damage[0]][damage[1]] = damage[2]
            bundle = tmp_path / "norm_template.json"
            bundle.write_text(json.dumps(document), encoding="utf-8")
        files = ["--contract", bundle, "--companion", demo_bundle / "pretrain_template.json"]
        files += ["--onnx", demo_bundle / "model.onnx", demo_bundle / "clips" / "Sneak_Turn.json"] if runs else []
        answer = command("nan", *files, *words, "--format", "json")
        return (answer.status, json.loads(answer.out)) if answer.out else (answer.status, answer.err)

    return call


@pytest.fixture(scope="session")
def demo_subject(demo_bundle):
    """The demo character in free-run on a turning walk."""
    contract = load_contract(demo_bundle / "norm_template.json", demo_bundle / "pretrain_template.json")
    network = OnnxNetwork(demo_bundle / "model.onnx", contract)
    return RunSetup(contract, network, read_clip(demo_bundle / "clips" / "Walk_Spin.json"))
