"""`rigpact gate` on a hosted system: every part asked of its contract, its model and its stages, one verdict."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from rigpact.reports.command_line import run_command_line

from ..engine_recordings import as_engine

BUNDLE = Path(__file__).parents[2] / "fixtures" / "bundles" / "neurarig"
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


class Project:
    """A folder with the committed files, recordings and settings."""

    def __init__(self, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
        """Copy the committed files."""
        self._capfd = capfd
        for name in ("neurarig.json", "model.onnx", "clip.trace.safetensors"):
            shutil.copy(BUNDLE / name, folder / name)
        Path("rigpact.toml").write_text(SETTINGS, encoding="utf-8")
        self.record("training")
        self.record("engine")

    def record(self, name: str, *settings: str) -> None:
        """A run of the reference runtime under changed conventions; each is computed once for all projects."""
        path = Path(f"{name}.trace.jsonl")
        if settings not in RECORDED:
            words = [word for each in settings for word in ("--set", each)]
            given = ("clip.trace.safetensors", "--onnx", "model.onnx", "--frames", "240", "--out", str(path))
            assert self("run", "--contract", "neurarig.json", *given, *words)[0] == 0
            as_engine(path)
            RECORDED[settings] = path.read_bytes()
        path.write_bytes(RECORDED[settings])

    def __call__(self, *words: str) -> tuple[int, str, str]:
        """Run a command in the folder: status, what it printed, its errors."""
        self._capfd.readouterr()
        status = run_command_line(list(words))
        captured = self._capfd.readouterr()
        assert "Traceback" not in captured.out + captured.err
        return status, captured.out, captured.err

    def gate(self) -> tuple[int, Any]:
        """The gate's answer as JSON."""
        status, out, err = self("gate", "--format", "json")
        assert out, err
        return status, json.loads(out)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Project:
    """A sound project, the working directory in it."""
    monkeypatch.chdir(tmp_path)
    return Project(tmp_path, capfd)


def test_a_sound_project_passes_every_part(project: Project) -> None:
    """Users switch off a gate that fails on a sound project."""
    status, answer = project.gate()

    assert (status, answer["verdict"]) == (0, "pass")
    assert [(part["name"], part["verdict"]) for part in answer["parts"]] == [
        ("files", "pass"), ("model", "pass"), ("teacher/training", "pass"), ("engine-trace/engine", "pass"),
        ("free-run", "pass"), ("adequacy", "pass"), ("budget", "pass"),
    ]  # fmt: skip
    assert answer["ledger"]["missing"] == 0


def test_an_engine_that_reads_another_order_is_named(project: Project) -> None:
    """The pull request must show what to change, not only a failure."""
    project.record("engine", "reply_order=wxyz")
    status, answer = project.gate()
    part = next(each for each in answer["parts"] if each["name"] == "engine-trace/engine")

    assert (status, part["verdict"]) == (1, "fail")
    assert [finding["name"] for finding in part["findings"] if finding["severity"] == "error"] == [
        "convention-differs",
        "stage-differs",
    ]
    assert "reply_order = wxyz" in answer["next_steps"][0]


def test_the_projects_own_convention_is_declared_in_its_settings(project: Project) -> None:
    """A convention that both sides share is not a finding; an unknown knob is refused."""
    for name in ("engine", "training"):
        project.record(name, "unit=m")
    Path("rigpact.toml").write_text(SETTINGS + '[gate.conventions]\nunit = "m"\n', encoding="utf-8")
    declared, _ = project.gate()
    Path("rigpact.toml").write_text(SETTINGS + '[gate.conventions]\nunits = "m"\n', encoding="utf-8")
    status, _, err = project("gate")

    assert declared == 0
    assert status == 2
    assert "units" in err


def test_init_writes_settings_that_pass(project: Project) -> None:
    """The settings must work without reading the documentation."""
    Path("rigpact.toml").unlink()
    shutil.copy(BUNDLE.parent / "rig_inversion" / "model.onnx", "a_model.onnx")
    shutil.copy(BUNDLE.parent / "rig_inversion" / "clip.trace.safetensors", "a.trace.safetensors")
    told = project("init")
    status, answer = project.gate()

    assert told[0] == 0, told[2]
    assert (status, answer["verdict"]) == (0, "pass")
    assert [part["name"] for part in answer["parts"]] == [
        "files", "model", "engine-trace/engine", "engine-trace/training", "free-run", "adequacy",
    ]  # fmt: skip
    assert "base" not in Path("rigpact.toml").read_text(encoding="utf-8")


def test_a_changed_constant_is_found_against_the_base_revision(project: Project) -> None:
    """A leg that grew between two exports moves every foot, and the new files alone show no defect."""
    Path("rigpact.toml").write_text(SETTINGS.replace("[[gate.teacher]]", 'base = "HEAD"\n[[gate.teacher]]', 1), "utf-8")
    who = ("-c", "user.email=a@b", "-c", "user.name=a")
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "base")):
        subprocess.run(["git", *who, *words], check=True, capture_output=True)
    contract = next(Path().glob("*neurarig*.json"))
    document = json.loads(contract.read_text(encoding="utf-8"))
    document["constants"]["femur_cm"] = [value + 1.0 for value in document["constants"]["femur_cm"]]
    contract.write_text(json.dumps(document), encoding="utf-8")

    status, answer = project.gate()

    (part,) = [part for part in answer["parts"] if part["name"] == "breaking"]
    assert status == 1
    assert part["findings"]


def test_a_stage_that_the_system_does_not_have_is_refused_with_its_place(project: Project) -> None:
    """A misspelt stage that is skipped silently is never compared."""
    text = SETTINGS.replace('file = "engine.trace.jsonl"', 'file = "engine.trace.jsonl"\nstages = ["joint"]')
    Path("rigpact.toml").write_text(text, encoding="utf-8")
    status, out, err = project("gate")

    assert (status, out) == (2, "")
    assert "gate.trace[0].stages" in err
    assert "'joints' was meant?" in err


def test_the_page_has_strips_of_the_stages_and_no_player(project: Project) -> None:
    """A system without a skeleton has nothing to play; its stages, findings and figures are there."""
    project.record("engine", "reply_order=wxyz")
    status, _, _ = project("gate", "--html", "page.html", "--archive", "kept.rigpact.zip")
    page = Path("page.html").read_text(encoding="utf-8")
    again = project("gate", "--from", "kept.rigpact.zip", "--html", "later.html")

    assert status == again[0] == 1
    assert Path("later.html").read_text(encoding="utf-8") == page
    assert "In words and figures" in page
    assert '"bones":[]' in page
    assert "reply_order = wxyz" in page


def test_a_recording_of_another_system_is_not_judged(project: Project) -> None:
    """Undetermined is not a pass."""
    shutil.copy(BUNDLE.parent / "rig_inversion" / "clip.trace.safetensors", "other.trace.safetensors")
    text = SETTINGS.replace('file = "engine.trace.jsonl"', 'file = "other.trace.safetensors"\nname = "other"')
    Path("rigpact.toml").write_text(text, encoding="utf-8")
    status, answer = project.gate()

    assert status == 2
    assert [part["name"] for part in answer["parts"] if part["verdict"] == "undetermined"] == ["engine-trace/other"]
