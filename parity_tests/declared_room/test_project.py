"""A project with its own contract: its numbers and its model in files, its recording a table."""

import json

import pytest

from rigpact.contract.contract_files import open_contract
from rigpact.reports.sweep.plan import plan_sweep

from ..trust_room.tiny_project import CONTRACT, SETTINGS, write_project


@pytest.fixture
def project(tmp_path, monkeypatch):
    """The contract with its files, and a table that an engine without a mistake has written."""
    write_project(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_check_judges_a_table_with_the_contract(project, command):
    """A table beside its contract was read as JSON."""
    sound = command("check", "contract.toml", "run.csv", "--format", "json")
    alone = command("check", "contract.toml", "--format", "json")
    assert sound.status == 0
    judged = [json.loads(answer.out)["ledger"]["compared"] for answer in (alone, sound)]
    assert judged[1] - judged[0] == 4  # x, scaled, obs, action
    table = (project / "run.csv").read_text().splitlines()
    table[5] = table[5].replace(table[5].split(",")[0], "nan", 1)
    (project / "run.csv").write_text("\n".join(table), encoding="utf-8")
    damaged = command("check", "contract.toml", "run.csv")
    assert (damaged.status, "x: a is nan in row 4" in damaged.out) == (1, True), damaged.out


@pytest.mark.nightly
def test_the_self_test_damages_a_table_and_a_contract_of_ones_own(project, command):
    """Who writes a contract wants to know what their gate would see; the numbers and the model lie in files of their own."""
    (project / "rigpact.toml").write_text(SETTINGS, encoding="utf-8")
    assert command("gate").status == 0
    answer = command("gate", "--selftest", "--only", "bundle", "--only", "recording", "--format", "json")
    defects = [each for each in json.loads(answer.out)["defects"] if not each["not_applicable"]]
    caught = {each["name"]: each["noticed_by"] for each in defects}
    assert len(caught) >= 30
    assert caught["a stage before what it takes"]
    assert {caught[name] for name in ("everything in float16", "action not recorded")} == {"engine-trace"}
    frames = {"two frames exchanged", "rows in reversed order", "every row one frame late", "a stale frame"}
    unseen = {name for name, part in caught.items() if part is None}
    assert unseen == frames | {"two names of a list exchanged"}, (
        "nothing here looks at other frames, and columns have names"
    )


def test_init_knows_the_models_that_the_contract_names(project, command):
    """A setting that says again what the contract says can only go wrong; a model of no network must be said."""
    assert "1 model" in command("init").out
    assert "model =" not in (project / "rigpact.toml").read_text(encoding="utf-8").split("[[gate.trace]]")[0]
    gains = '    { name = "gains", operation = "network", size = 2 },\n]\n[names]'
    two = CONTRACT.replace("]\n[names]", gains) + '[networks.other]\ninputs = ["obs"]\noutputs = ["gains"]\n'
    (project / "contract.toml").write_text(two, encoding="utf-8")
    (project / "second.onnx").write_bytes((project / "policy.onnx").read_bytes())
    assert "second.onnx is passed over: of which network is it?" in command("init", "--force").out


def test_a_sweep_measures_again_when_a_number_of_the_contract_changes(project):
    """The contract's own file is the same; the results of yesterday would be shown as today's."""
    identities = []
    for gain in ([2.0, 3.0], [2.0, 3.5]):
        (project / "numbers.json").write_text(json.dumps({"gain": gain}), encoding="utf-8")
        contract = open_contract(project / "contract.toml")
        plan = plan_sweep(contract, None, ["policy.onnx"], ["run.csv"], modes=["teacher"])
        identities += [cell.identity for cell in plan]
    assert len(set(identities)) == 2
