"""`rigpact gate --selftest`: it reports which defects the gate notices, and which it misses."""

import copy
import json
import shutil
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rigpact.contract import ContractRefused, load_contract
from rigpact.contract.settings.gate import GateSettings, RecordedRun
from rigpact.fixtures.document_mutants import CONTRACT, DECLARATION, EDITS, TRAINING
from rigpact.fixtures.mutants import MODEL_EDITS, SLIPS, broken_files, single_changes, wrong_rows
from rigpact.reference_runtime.recordings.opened import read_trace, write_trace
from rigpact.reports import beside as processes
from rigpact.reports.beside import process_pool
from rigpact.reports.gate import plants, selftest
from rigpact.reports.gate.plants import READERS, _edited_declaration
from rigpact.reports.gate.project import Project, played

from ..engine_recordings import as_engine
from ..soon import SOON
from .conftest import FILES, Command

TEACHER = """[[gate.teacher]]
file = "teacher_predictions/Sneak_Turn_prediction.json"
clip = "clips/Sneak_Turn.json"
"""


def told(command: Command, project: Path, text: str, *kinds: str) -> tuple[int, dict[str, Any]]:
    (project / "rigpact.toml").write_text(text, encoding="utf-8")
    words = [word for kind in kinds for word in ("--only", kind)]
    answer = command("gate", "--selftest", "--format", "json", *words)
    return answer.status, json.loads(answer.out) if answer.out else {"error": answer.err}


def outcomes(document: dict[str, Any]) -> dict[str, Any]:
    return {entry["name"]: entry for entry in document["defects"]}


def test_what_is_planted_is_noticed_and_the_project_stays(project, command, monkeypatch):
    """Damaged recordings, predictions and models, a sample of conventions: each is noticed, and no file is touched."""
    damages = {*broken_files("x_raw_next", 32), *wrong_rows("x_raw_next", 32)}
    before = {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}
    status, document = told(command, project, FILES, "recording")
    assert (status, document["verdict"], document["caught"]) == (0, "pass", len(damages))
    assert {name: each["noticed_by"] for name, each in outcomes(document).items()} == dict.fromkeys(
        damages, "engine-trace"
    )
    monkeypatch.setattr(plants.mutants, "single_changes", lambda contract: list(single_changes(contract))[::60])
    monkeypatch.setattr(plants.mutants, "SLIPS", dict(list(SLIPS.items())[::8]))
    status, document = told(command, project, FILES, "engine")
    assert (status, document["caught"]) == (0, document["planted"])
    assert document["planted"] > 3
    _, document = told(command, project, FILES + TEACHER, "training", "model")
    found = {name: entry["noticed_by"] for name, entry in outcomes(document).items()}
    assert set(found) == set(EDITS[TRAINING]) | set(MODEL_EDITS)
    assert {name for name, by in found.items() if by is None} <= {"weights in float16"}
    assert (found["weights scaled by 1.01"], found["an input declared float64"]) == ("teacher", "model")
    after = {path: path.read_bytes() for path in project.rglob("*") if path.is_file() and path.name != "rigpact.toml"}
    assert after == before
    assert set(READERS) == {"bundle", "companion", "clip", "model", "training", "engine", "recording"}
    assert [kind for kind, parts in READERS.items() if not parts] == []


def test_a_gate_that_ignores_everything_is_found_out(project, command):
    """The configuration is what is tested: a few entries in it can make the gate blind."""
    debt = f'owner = "Ana"\nreason = "later"\nexpires = "{SOON}"\n'
    codes = ("RP307", "RP801", "RP810", "RP961", "RP962", "RP963")
    lowered = [f'[[lower]]\nrule = "{code}"\nto = "ignore"\n{debt}' for code in codes]
    deaf = FILES + "".join(lowered)
    status, document = told(command, project, deaf, "training", "companion")
    unnoticed = {
        entry["name"] for entry in document["defects"] if not entry["noticed_by"] and not entry["not_applicable"]
    }
    assert status == 1
    # the last one is made after one that is noticed: what one defect leaves behind would be noticed as the next one's
    assert unnoticed == {"MuAngVel off by one", "StdAngVel doubled", "two StdPoseHist entries swapped"}
    assert "MuAngVel off by one" in command("gate", "--selftest", "--only", "companion").out.partition("NOT CAUGHT")[2]


@pytest.mark.parametrize(("gone", "kinds", "reasons"), [
    ("[[gate.trace]]", ("engine", "recording", "training"), {plants.NO_TRACE, plants.NO_TEACHER}),
    ("model.onnx", ("model",), None),
])  # fmt: skip
def test_what_cannot_be_planted_is_told_with_its_reason(project, command, gone, kinds, reasons):
    """Without an engine trace the engine is not checked; a project without its files is one clear error."""
    text = FILES.partition(gone)[0] if reasons else FILES.replace(gone, "gone.onnx")
    status, document = told(command, project, text, *kinds)
    assert status == 2
    if reasons is None:
        assert "gone.onnx" in document["error"]
        return
    assert (document["verdict"], document["planted"]) == ("undetermined", 0)
    assert {entry["not_applicable"] for entry in document["defects"]} == reasons


@pytest.mark.nightly
def test_every_defect_in_the_demo_is_caught(tmp_path, command, monkeypatch):
    """The first project of a new user: float16 weights are seen only where a recording of the engine is asked."""
    monkeypatch.chdir(tmp_path)
    assert command("demo", "--into", "character").status == 0
    monkeypatch.chdir("character")
    assert command("init").status == 0
    answer = command("gate", "--selftest", "--format", "json")
    document = json.loads(answer.out)
    silent = [entry["name"] for entry in document["defects"] if not (entry["noticed_by"] or entry["not_applicable"])]
    assert (silent, answer.status, document["verdict"]) == ([], 0, "pass")
    assert document["caught"] == document["planted"] > 200
    assert outcomes(document)["weights in float16"]["noticed_by"] == "engine-trace"


def test_processes_give_the_answers_of_one_process(project, command, monkeypatch):
    """How many processors a build server has must not change what the self-test says."""
    monkeypatch.setattr(selftest, "_FEW", 1)
    monkeypatch.setattr(plants.mutants, "MODEL_EDITS", dict(list(MODEL_EDITS.items())[:2]))
    answers = []
    for processors in (1, 2):
        monkeypatch.setattr(processes, "processors", lambda count=processors: count)
        answers.append(told(command, project, FILES, "model"))
    assert answers[0] == answers[1]
    assert answers[0][1]["planted"] > 0


def test_a_process_hands_its_error_to_the_one_that_waits(project):
    """A part that cannot be judged in another process is one clear line too, with its findings."""
    (project / "norm_template.json").write_text('{"MuX": [], "MuY": []}', encoding="utf-8")
    with pytest.raises(ContractRefused) as here:
        load_contract(project / "norm_template.json")
    with process_pool(1) as pool, pytest.raises(ContractRefused) as there:
        pool.submit(load_contract, project / "norm_template.json").result()
    assert (str(there.value), there.value.hint) == (str(here.value), here.value.hint)
    assert [str(found) for found in there.value.findings] == [str(found) for found in here.value.findings]


SAID = """format = "rigpact-contract"
version = 1
name = "joints"
fps = 50
"""
BARE = {"stages": [{"name": "gravity", "operation": "copy", "of": "tilt"}], "given": [{"name": "q"}]}


IMPOSSIBLE = (
    "a stage before what it takes", "a stage lost", "a given vector lost", "a parameter misspelt", "a name lost from a list",
    "a number doubled", "a vector carried from a stage that is not there", "an input of a network renamed",
)  # fmt: skip


def test_a_defect_that_a_file_cannot_have_is_not_planted():
    """A defect that changes nothing is noticed by nobody, and would be counted as missed; each other one changes its own."""
    for name in IMPOSSIBLE:
        with pytest.raises(LookupError):
            EDITS[DECLARATION][name](copy.deepcopy(BARE))
    with pytest.raises(LookupError, match="like that already"):
        _edited_declaration(SAID.replace("fps = 50", "fps = 0").encode(), EDITS[DECLARATION]["fps = 0"])
    assert tomllib.loads(_edited_declaration(SAID.encode(), EDITS[DECLARATION]["fps = 0"]).decode())["fps"] == 0
    whole = {
        "stages": [*BARE["stages"], {"name": "b", "operation": "affine", "of": ["gravity"], "scale": 0.5}],
        "given": [{"name": "q"}, {"name": "tilt", "carried": "b"}],
        "networks": {"policy": {"inputs": {"obs": "b"}}}, "names": {"one": ["a"], "two": ["hip", "knee"]}, "numbers": {},
    }  # fmt: skip
    documents = {name: copy.deepcopy(whole) for name in EDITS[DECLARATION]}
    for name, document in documents.items():
        EDITS[DECLARATION][name](document)
    assert [name for name, document in documents.items() if document == whole] == []
    assert documents["a given vector lost"]["given"] == [{"name": "q"}]


def test_a_contract_without_two_fields_of_one_size_has_none_to_exchange():
    """Exchanged names of two sizes change the layout: that is another defect."""
    exchange, number = (EDITS[CONTRACT][name] for name in ("two fields exchanged", "a constant doubled"))
    sizes = {"a": [3, 4, 3], "b": [6]}
    fields = {key: {"fields": [{"name": f"{key}{n}", "size": n} for n in each]} for key, each in sizes.items()}
    with pytest.raises(LookupError):
        exchange({"vectors": fields})
    fields["c"] = {"fields": [{"name": "left", "size": 2}, {"name": "right", "size": 2}]}
    exchange({"vectors": fields})
    assert [each["name"] for each in fields["c"]["fields"]] == ["right", "left"]
    with pytest.raises(LookupError, match="no number with a fraction in constants"):
        number({"constants": {"bones": ["a"], "count": 3}})


DECLARED = Path(__file__).parents[2] / "fixtures" / "bundles" / "rig_inversion"
DECLARED_GATE = """[gate]
bundle = "rig_inversion.json"
model = "model.onnx"
clips = ["clip.trace.safetensors"]
[[gate.trace]]
file = "engine.trace.safetensors"
clip = "clip.trace.safetensors"
"""


@pytest.fixture
def declared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of another system, and a recording of an engine that follows its contract."""
    for name in ("rig_inversion.json", "model.onnx", "clip.trace.safetensors"):
        shutil.copy(DECLARED / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    project = Project(GateSettings(bundle="rig_inversion.json", model="model.onnx"))
    run = RecordedRun("clip.trace.safetensors", "engine", "clip.trace.safetensors")
    clip = read_trace(run.file)
    write_trace(
        played(
            project, project.contract, project.network, run, replace(clip, header=replace(clip.header, mode="teacher"))
        ),
        "engine.trace.safetensors",
    )
    as_engine("engine.trace.safetensors")
    return tmp_path


@pytest.mark.nightly
def test_another_systems_defects_are_planted_by_the_same_engine(declared, command):
    """Every value of every convention, every slip at every stage, every damage: nothing is listed for one system."""
    status, document = told(command, declared, DECLARED_GATE)
    found = outcomes(document)
    assert (status, document["verdict"]) == (0, "pass")
    assert {f"mesh {name}" for name in SLIPS} | set(EDITS[CONTRACT]) | {"flattening=axis_by_axis"} <= set(found)
    assert document["planted"] > 100


def test_a_system_without_a_model_says_what_could_not_be_planted(declared, command):
    """A table without the model's defects makes the gate look better than it is."""
    text = DECLARED_GATE.replace('model = "model.onnx"\n', "").partition("[[gate.trace]]")[0]
    _, document = told(command, declared, text, "model", "engine", "recording")
    reasons = {entry["not_applicable"] for entry in document["defects"]}
    assert reasons == {"no model in [gate]", plants.NO_TRACE}


@pytest.mark.parametrize(("has", "most", "beside"), [(4, 9, 3), (4, 2, 2), (1, 9, 0)])
def test_one_processor_is_left_to_this_process(
    has: int, most: int, beside: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More processes than processors wait for each other."""
    monkeypatch.setattr(processes, "processors", lambda: has)
    assert processes.other_processes(most) == beside
