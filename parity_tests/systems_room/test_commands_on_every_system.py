"""run, nan and sweep through the command line, on every system that has committed files."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rigpact.contract.contract_files import open_contract
from rigpact.contract.pages.registry import find_system
from rigpact.reference_runtime.files.declared import files_of, network_of
from rigpact.reference_runtime.recordings.trace import read_trace, write_trace
from rigpact.reports.command_line import run_command_line
from rigpact.reports.diagnosing.adequacy import advice_of, measure, weigh

BUNDLES = Path(__file__).parents[2] / "fixtures" / "bundles"


@dataclass(frozen=True)
class Project:
    """A system's committed files; `feeds_itself` as its documentation says."""

    name: str
    bundle: Path
    clip: Path
    model: Path
    feeds_itself: bool

    @property
    def words(self) -> list[object]:
        return ["--contract", self.bundle, self.clip, "--onnx", self.model]


def _declared(name: str, *, feeds_itself: bool) -> Project:
    folder = BUNDLES / name
    clip = folder / "clip.trace.safetensors"
    return Project(name, folder / f"{name}.json", clip, folder / "model.onnx", feeds_itself)


PROJECTS = [
    Project(
        "enemy_animation", BUNDLES / "demo" / "norm_template.json", BUNDLES / "demo" / "clips" / "Sneak_Turn.json",
        BUNDLES / "demo" / "model.onnx", feeds_itself=True,
    ),
    _declared("neurarig", feeds_itself=True),
    _declared("rig_inversion", feeds_itself=True),
    _declared("blender_ik", feeds_itself=False),
    _declared("imu_pose", feeds_itself=False),
]  # fmt: skip
every_project = pytest.mark.parametrize("project", PROJECTS, ids=lambda project: project.name)
Answer = tuple[int, str, str]
Call = Callable[..., Answer]


@pytest.fixture
def call(capfd: pytest.CaptureFixture[str]) -> Call:
    def run(*words: object) -> Answer:
        capfd.readouterr()
        status = run_command_line([str(word) for word in words])
        captured = capfd.readouterr()
        assert "Traceback" not in captured.out + captured.err
        return status, captured.out, captured.err

    return run


def document(answer: Answer) -> Any:
    return json.loads(answer[1])


@every_project
def test_a_clip_drives_every_stage(project: Project, call: Call, tmp_path: Path) -> None:
    """A stage that a run leaves out is never compared."""
    out = tmp_path / "run.trace.safetensors"
    answer = call("run", *project.words, "--frames", 24, "-o", out, "--format", "json")
    assert (answer[0], document(answer)["summary"]["system"]) == (0, project.name)
    trace = read_trace(out)
    assert (len(trace.frame), trace.header.mode) == (24, "teacher")
    assert set(trace.stages) == set(find_system(project.name).graph.names)


@every_project
def test_a_system_that_feeds_itself_outlives_its_clip_and_another_says_that_it_cannot(
    project: Project, call: Call, tmp_path: Path
) -> None:
    """Free-run is where a small error becomes a character on the ceiling."""
    out = tmp_path / "free.trace.safetensors"
    status, _, error = call("run", *project.words, "--mode", "free", "--frames", 400, "-o", out)
    if not project.feeds_itself:
        assert (status, "does not feed itself" in error, error.count("\n")) == (2, True, 1)
        return
    assert (status, len(read_trace(out).frame)) == (0, 400)


@every_project
def test_a_sound_run_is_finite(project: Project, call: Call) -> None:
    """Users switch off a gate that fails on a good build."""
    answer = call("nan", *project.words, "--frames", 40, "--format", "json")
    assert (answer[0], document(answer)["verdict"]) == (0, "finite")


@every_project
def test_a_recording_s_first_bad_value_is_named_with_its_operands(project: Project, call: Call, tmp_path: Path) -> None:
    """When the pose shows a NaN, all values are NaN: the report must name the stage that made it."""
    run, damaged = tmp_path / "run.trace.safetensors", tmp_path / "damaged.trace.safetensors"
    call("run", *project.words, "--frames", 12, "-o", run)
    trace, system = read_trace(run), find_system(project.name)
    stages = {name: rows.copy() for name, rows in trace.stages.items()}
    made = system.graph[system.inputs[0]]
    stages[made.name][7, 3] = np.nan
    for name in system.outputs:
        stages[name][7] = np.nan
    write_trace(replace(trace, stages=stages), damaged)
    answer = call("nan", "--contract", project.bundle, damaged, "--format", "json")
    origin = document(answer)["origin"]
    assert (answer[0], origin["frame"], origin["stage"], origin["channel"]) == (1, 7, made.name, 3)
    assert any(name.startswith(made.needs[0]) for name in origin["operands"])
    assert {link["stage"] for link in document(answer)["chain"]} == set(system.outputs)


@pytest.mark.parametrize("project", PROJECTS[1:], ids=lambda project: project.name)
def test_a_bad_number_of_a_clip_is_found_where_it_stands_and_shrinks_to_itself(
    project: Project, call: Call, tmp_path: Path
) -> None:
    """One number in a recording of thousands makes a whole window NaN."""
    trace = read_trace(project.clip)
    given = find_system(project.name).graph.given[0]
    stages = {name: rows[:20].copy() for name, rows in trace.stages.items()}
    stages[given][5, 2] = np.nan
    clip = tmp_path / "clip.trace.safetensors"
    write_trace(replace(trace, frame=trace.frame[:20], time_s=trace.time_s[:20], stages=stages), clip)
    words = ["--contract", project.bundle, clip, "--onnx", project.model, "--mode", "teacher"]
    answer = call("nan", *words, "--format", "json")
    origin = document(answer)["origin"]
    assert (answer[0], origin["frame"], origin["stage"], origin["channel"]) == (1, 5, given, 2)


@every_project
def test_growth_is_measured_where_a_system_feeds_itself(project: Project, call: Call) -> None:
    """Whether a difference of one rounding doubles each second decides whether a free run may ship."""
    answer = call("nan", *project.words, "--drift", "--frames", 40, "--format", "json")
    if not project.feeds_itself:
        assert (answer[0], "does not feed itself" in answer[2]) == (2, True)
        return
    drift = document(answer)["drift"]
    assert (answer[0], drift["trend"] in {"contraction", "neutral", "divergence"}) == (0, True)
    assert all(entry["size"] >= 0.0 for entry in drift["envelope"])


@every_project
def test_a_probe_shows_what_a_clip_does_not(project: Project, call: Call, tmp_path: Path) -> None:
    """A parity test on clips that never show a convention passes whatever the engine does."""
    probe = tmp_path / ("probe.json" if project.name == "enemy_animation" else "probe.trace.jsonl")
    assert call("run", "--probe", probe, "--contract", project.bundle)[0] == 0
    contract = open_contract(project.bundle)
    network = network_of(contract, project.model)
    clips = [
        measure(str(path), files_of(contract).clip(path, contract), contract, network) for path in (project.clip, probe)
    ]
    found = weigh(clips[:1], clips[1], advice_of(contract))
    knobs = find_system(project.name).knobs
    for clip in clips:
        assert max(clip.margins.values()) >= 10.0
        assert {knob for knob, _ in clip.margins} == {
            name for name, knob in knobs.items() if not knob.is_benign and name != "input_order"
        }
    assert all(found.advice(each) for each in found.missed)


@every_project
def test_a_sweep_measures_every_cell(project: Project, call: Call, tmp_path: Path) -> None:
    """A checkpoint is chosen from a table; a cell that is missing there ships unseen."""
    pytest.importorskip("pyarrow")
    system = find_system(project.name)
    knob = next(knob for knob in system.knobs.values() if not knob.is_benign and len(knob.values) > 1)
    values = ",".join(knob.values[:2])
    words = [*project.words, "--set", f"{knob.name}={values}", "--frames", 12, "--processes", 1]
    answer = call("sweep", *words, "-o", tmp_path / "out", "--format", "json")
    found = document(answer)
    modes = 2 if project.feeds_itself else 1
    assert (answer[0], found["cells"], found["verdicts"]["error"]) == (0, 2 * modes, 0)
    assert (tmp_path / "out" / "results.parquet").is_file()
