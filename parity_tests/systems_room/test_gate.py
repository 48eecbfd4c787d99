"""`rigpact gate` on a hosted system: every part asked of its contract, its model and its stages, one verdict."""

import json
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rigpact.reference_runtime.recordings.trace import read_trace, write_trace

from ..engine_recordings import as_engine
from .declared_runs import BUNDLES

FILES = ("neurarig.json", "model.onnx", "clip.trace.safetensors")
FRAMES = 60
SETTINGS = """
[gate]
bundle = "neurarig.json"
model = "model.onnx"
clips = ["clip.trace.safetensors"]
[[gate.teacher]]
file = "training.trace.jsonl"
clip = "clip.trace.safetensors"
[[gate.trace]]
file = "engine.trace.jsonl"
clip = "clip.trace.safetensors"
[gate.budget]
parameters = 10000
model-bytes = 100000
"""
RECORDED: dict[tuple[str, ...], bytes] = {}
pytestmark = pytest.mark.usefixtures("project")
Gate = Callable[[], tuple[int, dict[str, Any]]]
Record = Callable[..., None]


@pytest.fixture
def record(command: Callable[..., Any]) -> Record:
    """A run of the reference runtime under changed conventions, as an engine writes it; each is computed once."""

    def make(name: str, *settings: str) -> None:
        path = Path(f"{name}.trace.jsonl")
        if settings not in RECORDED:
            words = [word for each in settings for word in ("--set", each)]
            run = ("run", "--contract", FILES[0], FILES[2], "--onnx", FILES[1], "--out", path)
            assert command(*run, *words).status == 0
            as_engine(path)
            RECORDED[settings] = path.read_bytes()
        path.write_bytes(RECORDED[settings])

    return make


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record: Record) -> None:
    """The working directory is a sound project: the committed files, two recordings, settings."""
    monkeypatch.chdir(tmp_path)
    for name in FILES[:2]:
        shutil.copy(BUNDLES / "neurarig" / name, name)
    whole = read_trace(BUNDLES / "neurarig" / FILES[2])
    rows = {name: values[:FRAMES] for name, values in whole.stages.items()}
    write_trace(replace(whole, frame=whole.frame[:FRAMES], time_s=whole.time_s[:FRAMES], stages=rows), Path(FILES[2]))
    Path("rigpact.toml").write_text(SETTINGS, encoding="utf-8")
    record("training")
    record("engine")


@pytest.fixture
def gate(command: Callable[..., Any]) -> Gate:
    """The gate's exit status, and its parts by name with its answer as `whole`."""

    def run() -> tuple[int, dict[str, Any]]:
        answer = command("gate", "--format", "json")
        assert answer.out, answer.err
        whole = json.loads(answer.out)
        return answer.status, {part["name"]: part for part in whole["parts"]} | {"whole": whole}

    return run


def _settings(text: str, instead: str) -> None:
    assert text in SETTINGS
    Path("rigpact.toml").write_text(SETTINGS.replace(text, instead, 1), encoding="utf-8")


PARTS = ("files", "model", "teacher/training", "engine-trace/engine", "free-run", "adequacy", "budget")


def test_a_sound_project_passes_every_part_with_settings_of_its_own_and_those_that_init_writes(
    gate: Gate, command: Callable[..., Any]
) -> None:
    """Users switch off a gate that fails on a sound project; another system's files beside it are not taken in."""
    status, parts = gate()
    assert (status, [(name, parts[name]["verdict"]) for name in PARTS]) == (0, [(name, "pass") for name in PARTS])
    assert ([*parts], parts["whole"]["verdict"], parts["whole"]["ledger"]["missing"]) == ([*PARTS, "whole"], "pass", 0)
    Path("rigpact.toml").unlink()
    shutil.copy(BUNDLES / "rig_inversion" / "model.onnx", "a_model.onnx")
    shutil.copy(BUNDLES / "rig_inversion" / "clip.trace.safetensors", "a.trace.safetensors")
    told = command("init")
    assert told.status == 0, told.err
    status, parts = gate()
    engines = ["engine-trace/engine", "engine-trace/training"]
    assert (status, [*parts]) == (0, ["files", "model", *engines, "free-run", "adequacy", "whole"])
    assert "base" not in Path("rigpact.toml").read_text(encoding="utf-8")


def test_an_engine_that_reads_another_order_is_named_and_shown(
    gate: Gate, record: Record, command: Callable[..., Any]
) -> None:
    """The pull request must show what to change; a system without a skeleton has strips and figures, and nothing to play."""
    record("engine", "reply_order=wxyz")
    status, parts = gate()
    errors = [each["name"] for each in parts["engine-trace/engine"]["findings"] if each["severity"] == "error"]
    assert (status, errors) == (1, ["convention-differs", "stage-differs"])
    assert "reply_order = wxyz" in parts["whole"]["next_steps"][0]
    assert command("gate", "--html", "page.html", "--archive", "kept.rigpact.zip").status == 1
    assert command("gate", "--from", "kept.rigpact.zip", "--html", "later.html").status == 1
    page = Path("page.html").read_text(encoding="utf-8")
    assert Path("later.html").read_text(encoding="utf-8") == page
    assert '"bones":[]' in page
    assert "reply_order = wxyz" in page


@pytest.mark.usefixtures("no_search")
def test_the_projects_own_convention_is_declared_in_its_settings(gate: Gate, record: Record) -> None:
    """A convention that both sides share is not a finding."""
    for name in ("engine", "training"):
        record(name, "unit=m")
    assert gate()[0] == 1
    Path("rigpact.toml").write_text(SETTINGS + '[gate.conventions]\nunit = "m"\n', encoding="utf-8")
    assert gate()[0] == 0


def test_a_changed_constant_is_found_against_the_base_revision(gate: Gate) -> None:
    """A leg that grew between two exports moves every foot, and the new files alone show no defect."""
    _settings("[[gate.teacher]]", 'base = "HEAD"\n[[gate.teacher]]')
    who = ("-c", "user.email=a@b", "-c", "user.name=a")
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "base")):
        subprocess.run(["git", *who, *words], check=True, capture_output=True)
    document = json.loads(Path(FILES[0]).read_text(encoding="utf-8"))
    document["constants"]["femur_cm"] = [value + 1.0 for value in document["constants"]["femur_cm"]]
    Path(FILES[0]).write_text(json.dumps(document), encoding="utf-8")
    status, parts = gate()
    assert (status, bool(parts["breaking"]["findings"])) == (1, True)


@pytest.mark.parametrize(("text", "instead", "says"), [
    ('file = "engine.trace.jsonl"', 'file = "engine.trace.jsonl"\nstages = ["joint"]', "gate.trace[0].stages"),
    ("[gate.budget]", '[gate.conventions]\nunits = "m"\n[gate.budget]', "units"),
])  # fmt: skip
def test_settings_that_name_what_is_not_there_are_refused(
    command: Callable[..., Any], text: str, instead: str, says: str
) -> None:
    """A misspelt stage that is skipped silently is never compared."""
    _settings(text, instead)
    answer = command("gate")
    assert (answer.status, answer.out, says in answer.err) == (2, "", True)


def test_a_recording_of_another_system_is_not_judged(gate: Gate) -> None:
    """Undetermined is not a pass."""
    shutil.copy(BUNDLES / "rig_inversion" / "clip.trace.safetensors", "other.trace.safetensors")
    _settings('file = "engine.trace.jsonl"', 'file = "other.trace.safetensors"\nname = "other"')
    status, parts = gate()
    del parts["whole"]
    assert (status, [name for name, part in parts.items() if part["verdict"] == "undetermined"]) == (
        2,
        ["engine-trace/other"],
    )
