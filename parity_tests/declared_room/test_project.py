"""A project with its own contract: its numbers and its model in files, its recording a table."""

import csv
import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from rigpact.contract.contract_files import open_contract
from rigpact.reports.sweep.plan import plan_sweep

CONTRACT = """format = "rigpact-contract"
version = 1
name = "two_joints"
title = "A leg of two joints"
fps = 50

given = [
    { name = "q", names = "motors", unit = "rad" },
    { name = "last_action", names = "policy", carried = "action", start = "zeros" },
]
stages = [
    { name = "joints", operation = "select", of = "q", take = "policy" },
    { name = "bent", operation = "affine", of = "joints", subtract = "default_pose", scale = 0.5 },
    { name = "obs", operation = "concatenate", of = ["bent", "last_action"] },
    { name = "action", operation = "network", names = "policy" },
    { name = "target", operation = "affine", of = "action", scale = 0.25, offset = "default_pose", unit = "rad" },
    { name = "motor_targets", operation = "select", of = "target", take = "motors" },
]

[names]
policy = ["hip", "knee"]
motors = ["knee", "hip"]

[numbers]
default_pose = { file = "numbers/pose.json", at = "/pose", names = "policy" }

[networks.policy]
file = "models/policy.onnx"
inputs = ["obs"]
outputs = ["action"]
"""
POSE = np.array([0.1, -0.4])
WEIGHTS = np.array([[0.7, -0.3], [0.2, 0.9], [-0.37, 0.11], [0.53, 0.31]], np.float32)


@pytest.fixture
def project(tmp_path, monkeypatch):
    """The contract with its files, and a table that an engine without a mistake has written."""
    for folder in ("numbers", "models"):
        (tmp_path / folder).mkdir()
    (tmp_path / "contract.toml").write_text(CONTRACT, encoding="utf-8")
    (tmp_path / "numbers" / "pose.json").write_text(json.dumps({"pose": POSE.tolist()}), encoding="utf-8")
    nodes = [helper.make_node("MatMul", ["obs", "w"], ["sum"]), helper.make_node("Tanh", ["sum"], ["action"])]
    value = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", width])
        for name, width in (("obs", 4), ("action", 2))
    ]
    graph = helper.make_graph(nodes, "policy", value[:1], value[1:], [numpy_helper.from_array(WEIGHTS, "w")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, tmp_path / "models" / "policy.onnx")
    rows, action = [], np.zeros(2)
    for frame in range(40):
        q = np.array([-0.4 + 0.3 * np.sin(0.17 * frame), 0.1 + 0.2 * np.cos(0.23 * frame)])
        obs = np.concatenate([(q[::-1] - POSE) * 0.5, action])
        action = np.tanh(obs @ WEIGHTS.astype(float))
        rows.append([*q, *obs, *action, *(action * 0.25 + POSE)[::-1]])
    names = ["q.knee", "q.hip", *(f"obs[{i}]" for i in range(4)), "action.hip", "action.knee"]
    with (tmp_path / "run.csv").open("w", newline="") as file:
        csv.writer(file).writerows([[*names, "motor_targets.knee", "motor_targets.hip"], *rows])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_check_judges_a_table_with_the_contract(project, command):
    """A table beside its contract was read as JSON."""
    sound = command("check", "contract.toml", "run.csv", "--format", "json")
    alone = command("check", "contract.toml", "--format", "json")
    assert sound.status == 0
    judged = [json.loads(answer.out)["ledger"]["compared"] for answer in (alone, sound)]
    assert judged[1] - judged[0] == 4  # q, obs, action, motor_targets
    table = (project / "run.csv").read_text().splitlines()
    broken = [*table[:5], table[5].replace(table[5].split(",")[0], "nan", 1), *table[6:]]
    (project / "run.csv").write_text("\n".join(broken), encoding="utf-8")
    damaged = command("check", "contract.toml", "run.csv")
    assert damaged.status == 1
    assert "q: knee is nan in row 4" in damaged.out


@pytest.mark.nightly
def test_the_self_test_damages_a_table_and_a_contract_of_ones_own(project, command):
    """Who writes a contract wants to know what their gate would see; the numbers and the model lie in files of their own."""
    assert command("init").status == 0
    gate = command("gate")
    assert gate.status == 0, gate.out
    answer = command("gate", "--selftest", "--only", "bundle", "--only", "recording", "--format", "json")
    assert answer.status == 0, answer.out + answer.err
    report = json.loads(answer.out)
    caught = {
        (each["kind"], each["name"]): each["noticed_by"] for each in report["defects"] if not each["not_applicable"]
    }
    assert len([kind for kind, _ in caught if kind == "bundle"]) >= 14
    assert caught["bundle", "two names of a list exchanged"] == "engine-trace"
    assert caught["bundle", "a stage before what it takes"]
    assert caught["recording", "every row one frame late"] == "engine-trace"


def test_init_knows_the_models_that_the_contract_names(project, command):
    """A setting that says again what the contract says can only go wrong; a model of no network must be said."""
    answer = command("init")
    assert "1 model" in answer.out
    assert "model =" not in (project / "rigpact.toml").read_text(encoding="utf-8").split("[[gate.trace]]")[0]
    two = CONTRACT.replace(
        "[networks.policy]", '[networks.other]\ninputs = ["obs"]\noutputs = ["gains"]\n\n[networks.policy]'
    )
    two = two.replace("]\n\n[names]", '    { name = "gains", operation = "network", size = 2 },\n]\n\n[names]', 1)
    (project / "contract.toml").write_text(two, encoding="utf-8")
    (project / "second.onnx").write_bytes((project / "models" / "policy.onnx").read_bytes())
    assert "second.onnx is passed over: of which network is it?" in command("init", "--force").out


def test_a_sweep_measures_again_when_a_number_of_the_contract_changes(project):
    """The contract's own file is the same; the results of yesterday would be shown as today's."""
    identities = []
    for pose in ([0.1, -0.4], [0.1, -0.5]):
        (project / "numbers" / "pose.json").write_text(json.dumps({"pose": pose}), encoding="utf-8")
        contract = open_contract(project / "contract.toml")
        plan = plan_sweep(contract, None, ["models/policy.onnx"], ["run.csv"], modes=["teacher"])
        identities += [cell.identity for cell in plan]
    assert len(set(identities)) == 2
