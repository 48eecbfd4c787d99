"""The command line on every system that has committed files: what each command answers, and what it refuses."""

import contextlib
import json
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from rigpact.contract.contract_files import open_contract
from rigpact.contract.pages.registry import find_system
from rigpact.contract.rules.structure import check_against_schema
from rigpact.reference_runtime.files.declared import files_of, network_of
from rigpact.reference_runtime.recordings.opened import read_trace, write_trace
from rigpact.reference_runtime.recordings.trace import TraceHeader, json_to_header
from rigpact.reports.command_line.options import EXAMPLES
from rigpact.reports.diagnosing.adequacy import advice_of, measure, weigh

from ..engine_recordings import as_engine
from ..every_case import every_case
from .declared_runs import BUNDLES, SYSTEMS

Command = Callable[..., Any]
DEMO, IK, RIG = (BUNDLES / name for name in ("demo", "blender_ik", "rig_inversion"))
CONTRACT, MODEL, CLIP = (
    BUNDLES / "neurarig" / name for name in ("neurarig.json", "model.onnx", "clip.trace.safetensors")
)


@dataclass(frozen=True)
class Project:
    """A system's committed files; `feeds_itself` as its documentation says."""

    name: str
    bundle: Path
    clip: Path
    model: Path
    feeds_itself: bool

    @property
    def words(self) -> tuple[object, ...]:
        return ("--contract", self.bundle, self.clip, "--onnx", self.model)


def _hosted(name: str, *, feeds_itself: bool) -> Project:
    folder = BUNDLES / name
    return Project(
        name, folder / f"{name}.json", folder / "clip.trace.safetensors", folder / "model.onnx", feeds_itself
    )


SNEAK = DEMO / "clips" / "Sneak_Turn.json"
PROJECTS = [Project("enemy_animation", DEMO / "norm_template.json", SNEAK, DEMO / "model.onnx", feeds_itself=True)]
PROJECTS += [_hosted(name, feeds_itself=name in {"neurarig", "rig_inversion"}) for name in SYSTEMS]
every_project = pytest.mark.parametrize("project", PROJECTS, ids=lambda project: project.name)


def answered(command: Command, *words: object, status: int = 0) -> Any:
    """A command's JSON."""
    answer = command(*words, "--format", "json")
    assert answer.status == status, answer.out + answer.err
    return json.loads(answer.out)


@every_project
def test_every_command_answers(project: Project, command: Command, tmp_path: Path) -> None:
    """A stage that a run leaves out is never compared; users switch off a gate that fails on a good build."""
    run, words = tmp_path / "run.trace.safetensors", project.words
    assert answered(command, "run", *words, "--frames", 24, "-o", run)["summary"]["system"] == project.name
    trace = read_trace(run)
    assert (len(trace.frame), trace.header.mode) == (24, "teacher")
    assert set(trace.stages) == set(find_system(project.name).graph.names)
    assert answered(command, "nan", *words, "--frames", 40)["verdict"] == "finite"
    judged = ("--contract", project.bundle, "--onnx", project.model, "--clip", project.clip)
    assert command("explain", run, *judged).status == 0
    assert command("diff", run, run, "--contract", project.bundle).status == 0
    if project.name in SYSTEMS:
        assert command("check", project.bundle, project.model, project.clip, "--strict").status == 0


@every_project
def test_a_system_that_feeds_itself_runs_free_and_another_says_that_it_cannot(
    project: Project, command: Command, tmp_path: Path
) -> None:
    """Free-run is where a small error becomes a character on the ceiling: it outlives the clip, and its growth is measured."""
    out = tmp_path / "free.trace.safetensors"
    ran = command("run", *project.words, "--mode", "free", "--frames", 400, "-o", out)
    grown = command("nan", *project.words, "--drift", "--frames", 40, "--format", "json")
    if not project.feeds_itself:
        assert [(each.status, "does not feed itself" in each.err) for each in (ran, grown)] == [(2, True)] * 2
        return
    assert (ran.status, grown.status, len(read_trace(out).frame)) == (0, 0, 400)
    drift = json.loads(grown.out)["drift"]
    assert drift["trend"] in {"contraction", "neutral", "divergence"}
    assert min(entry["size"] for entry in drift["envelope"]) >= 0.0


@every_project
def test_a_first_bad_value_is_named_with_its_operands(project: Project, command: Command, tmp_path: Path) -> None:
    """When the pose shows a NaN, all values are NaN: the report must name the stage that made it, or the clip's number."""
    run, bad, system = tmp_path / "run.trace.bin", tmp_path / "bad.trace.safetensors", find_system(project.name)
    command("run", *project.words, "--frames", 12, "-o", run)
    trace, made = read_trace(run), system.graph[system.inputs[0]]
    stages = {name: rows.copy() for name, rows in trace.stages.items()}
    stages[made.name][7, 3] = np.nan
    for name in system.outputs:
        stages[name][7] = np.nan
    write_trace(replace(trace, stages=stages), bad)
    found = answered(command, "nan", "--contract", project.bundle, bad, status=1)
    origin = found["origin"]
    assert (origin["frame"], origin["stage"], origin["channel"]) == (7, made.name, 3)
    assert any(name.startswith(made.needs[0]) for name in origin["operands"])
    assert {link["stage"] for link in found["chain"]} == set(system.outputs)
    if project.clip.suffix == ".json":
        return
    clip, given = read_trace(project.clip), system.graph.given[0]
    stages = {name: rows[:20].copy() for name, rows in clip.stages.items()}
    stages[given][5, 2] = np.nan
    write_trace(replace(clip, frame=clip.frame[:20], time_s=clip.time_s[:20], stages=stages), bad)
    words = ("nan", "--contract", project.bundle, bad, "--onnx", project.model, "--mode", "teacher")
    origin = answered(command, *words, status=1)["origin"]
    assert (origin["frame"], origin["stage"], origin["channel"]) == (5, given, 2)


@every_project
def test_a_probe_shows_what_a_clip_does_not(project: Project, command: Command, tmp_path: Path) -> None:
    """A parity test on clips that never show a convention passes whatever the engine does."""
    probe = tmp_path / ("probe.json" if project.name == "enemy_animation" else "probe.trace.jsonl")
    assert command("run", "--probe", probe, "--contract", project.bundle).status == 0
    contract = open_contract(project.bundle)
    network, files = network_of(contract, project.model), files_of(contract)
    clips = [measure(str(path), files.clip(path, contract), contract, network) for path in (project.clip, probe)]
    found = weigh(clips[:1], clips[1], advice_of(contract))
    knobs = {name for name, knob in find_system(project.name).knobs.items() if not knob.is_benign} - {"input_order"}
    for clip in clips:
        assert max(clip.margins.values()) >= 10.0
        assert {knob for knob, _ in clip.margins} == knobs
    assert "" not in [found.advice(each) for each in found.missed]


@pytest.mark.nightly
@every_project
def test_the_gate_takes_what_init_finds_and_catches_what_is_planted(
    project: Project, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What works for the demo character alone is found by the first other customer."""
    shutil.copytree(project.bundle.parent, tmp_path / "own")
    monkeypatch.chdir(tmp_path / "own")
    words = ("--contract", project.bundle.name, project.clip, "--onnx", "model.onnx")
    assert command("run", *words, "--out", "engine.trace.jsonl").status == 0
    as_engine("engine.trace.jsonl")
    statuses = [command(*words.split()).status for words in ("init", "gate", "gate --selftest --only bundle")]
    assert statuses == [0, 0, 0]


# ---- recordings of NeuraRig, and what is said of them


@pytest.fixture
def recording(command: Command, tmp_path: Path) -> Callable[..., Path]:
    """A run of the reference runtime under changed conventions."""

    def make(name: str, *settings: str) -> Path:
        path = tmp_path / f"{name}.trace.jsonl"
        words = [word for each in settings for word in ("--set", each)]
        answer = command("run", "--contract", CONTRACT, CLIP, "--onnx", MODEL, "--out", path, "--frames", 40, *words)
        assert answer.status == 0, answer.err
        return path

    return make


def test_a_trace_says_its_system(recording: Callable[..., Path], command: Command) -> None:
    """If a reader confuses two systems, it compares numbers with different meanings; a misspelt one is nobody's recording."""
    path = recording("run")
    header = json.loads(path.read_text(encoding="utf-8").splitlines()[0])
    assert (header["system"], json_to_header(header, "x")[0].system) == ("neurarig", "neurarig")
    assert "system" not in TraceHeader(60.0, "teacher").to_json({"state": 4})
    assert list(check_against_schema(header, "trace_header")) == []
    del header["system"]
    assert list(check_against_schema(header, "trace_header")) != []
    path.write_text(path.read_text(encoding="utf-8").replace('"neurarig"', '"neurarigg"', 1), encoding="utf-8")
    answer = command("explain", path, "--contract", CONTRACT)
    assert (answer.status, "did you mean neurarig?" in answer.err) == (2, True)


def test_what_differs_is_named_where_it_parts(command: Command, recording: Callable[..., Path]) -> None:
    """Stages after the first inherit its error; answers to different questions are not compared; a missing stage is no pass."""
    mirrored, right = recording("mirrored", "bone_axis=x_both"), recording("a")
    diagnosis = answered(command, "explain", mirrored, "--contract", CONTRACT, status=1)
    assert diagnosis["causes"][0]["changes"] == {"bone_axis": "x_both"}
    assert list(check_against_schema(diagnosis, "diagnosis")) == []
    said = command("explain", mirrored, "--contract", CONTRACT, "--onnx", MODEL).out
    assert "With bone_axis = x_both the error of joints falls" in said
    assert "the left leg's bones run along -x" in said
    for changes, stage, waived in (
        ("reply_order=wxyz", "reply", {}),
        ("unit=m", "packet", {"raw_rotations": "the network's inputs differ"}),
    ):
        found = answered(command, "diff", right, recording("b", changes), "--contract", CONTRACT, status=1)["summary"]
        assert [each["stage"] for each in found["stages"] if not each["ok"]] == [stage]
        assert (found["first_divergence"], found.get("waived") or {}) == ({"frame": 0, "stage": stage}, waived)
    trace = read_trace(right)
    fewer = right.with_name("fewer.trace.jsonl")
    write_trace(replace(trace, stages={name: rows for name, rows in trace.stages.items() if name != "joints"}), fewer)
    assert command("diff", right, fewer, "--contract", CONTRACT).status == 1


RUN = ("run", "--contract", CONTRACT, CLIP, "--onnx", MODEL, "--out", "x.trace.jsonl")
REFUSED: tuple[tuple[tuple[object, ...], str], ...] = (
    (("run", "--contract", CONTRACT, CLIP, "--out", "x.trace.jsonl"), "no raw_rotations"),
    ((*RUN[:-1], "x.json"), "ending in .trace.jsonl"),
    ((*RUN, "--set", "unit=inch"), "one of cm, m"),
    ((*RUN, "--set", "units=m"), "unknown knob"),
    ((*RUN, "--frames", "9999"), "at most 240"),
    (("run", "--contract", CONTRACT, CLIP, "--onnx", RIG / "model.onnx", "--out", "x.trace.jsonl"), "RP714"),
    ((*RUN, "--mode", "playback"), "nothing back"),
    ((*RUN, "--floor-contacts"), "that has them"),
    (("explain", RIG / "clip.trace.safetensors", "--contract", CONTRACT), "rig_inversion"),
    (("explain", CLIP, "--contract", DEMO / "norm_template.json"), "system neurarig"),
    (("diff", CLIP, CLIP), "neurarig"),
    (("check", CONTRACT, DEMO / "norm_template.json"), "a bundle"),
    (("check", CLIP), "a trace"),
    (("check", CONTRACT, "--companion", DEMO / "pretrain_template.json"), "no such file"),
    (("diff", CLIP, CLIP, "--contract", CONTRACT, "--table", "x.csv"), "without bones"),
    (("diff", CLIP, CLIP, "--contract", CONTRACT, "--stage", "knees"), "neither side recorded"),
    (("show", "neurarg"), "did you mean neurarig, page neurarig?"),
    (("show", "--write-contract", "x.json"), "no NAME"),
    (("neurarig", "serve"), "Missing option '--onnx'"),
    (("neurarig", "serve", "--onnx", MODEL, "--contract", IK / "blender_ik.json"), "expected neurarig"),
    (("neurarig", "serve", "--onnx", RIG / "model.onnx"), "RP714"),
    (("neurarig", "serve", "--host", "203.0.113.1", "--onnx", MODEL), "cannot be bound"),
)


@every_case(("words", "says"), REFUSED, ids=lambda each: str(each)[:0])
def test_what_cannot_be_done_is_one_clear_error(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[object, ...], says: str
) -> None:
    """Exit status 2 and a line, never a traceback and never a guess."""
    monkeypatch.chdir(tmp_path)
    answer = command(*words)
    assert (answer.status, answer.out, says in answer.err) == (2, "", True), answer
    assert answer.err.strip().count("\n") == 0 or "Missing option" in says
    assert list(tmp_path.iterdir()) == []


def test_every_system_is_listed_and_writes_a_contract_to_start_from(command: Command, tmp_path: Path) -> None:
    """A first file with eight errors in it is the last file; one that names no known system passes nothing."""
    listed, written = command("show").out, tmp_path / "new.json"
    for name in SYSTEMS:
        assert name in listed
        assert command("show", name, "--write-contract", written).status == 0
        assert answered(command, "check", written)["findings"] == []
    document = json.loads(CONTRACT.read_text(encoding="utf-8")) | {"system": "leg_magic"}
    written.write_text(json.dumps(document), encoding="utf-8")
    report = answered(command, "check", written, MODEL, CLIP, status=1)
    assert (report["verdict"], [finding["code"] for finding in report["findings"]]) == ("fail", ["RP700"])
    assert report["ledger"]["missing"] > 30


def test_the_example_of_serve_answers_and_tells_what_came_in(command: Command, checkout: Path) -> None:
    """The committed datagrams to the command of its help, over a real socket: the reply is the committed one."""
    golden = json.loads((BUNDLES / "neurarig" / "golden_datagrams.json").read_text(encoding="ascii"))
    golden = {name: bytes.fromhex(text) for name, text in golden.items()}
    words = (*EXAMPLES["neurarig serve"][0].split()[1:], "--port", "0", "--frames", "2", "--format", "json")
    with contextlib.ExitStack() as stack:
        serve = (sys.executable, "-m", "rigpact.reports", *words)
        process = subprocess.Popen(serve, cwd=checkout, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        server = stack.enter_context(process)
        stack.callback(server.kill)
        wire = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        assert server.stderr is not None
        listening = next(line for line in server.stderr if "listening" in line)
        wire.settimeout(10.0)
        wire.connect(("127.0.0.1", int(listening.rpartition(":")[2])))
        for datagram in (golden["handshake"], golden["frame"][:-1], b"\x02" + bytes(32_768), b"\x04" + bytes(24)):
            wire.send(datagram)
        replies = []
        for _ in range(2):
            wire.send(golden["frame"])
            replies.append(wire.recv(1000))
        told = json.loads(server.communicate(timeout=60)[0])
    for reply in replies:
        assert (reply[0], len(reply)) == (3, 97)
        found, expected = (np.frombuffer(each, "<f4", offset=1) for each in (reply, golden["reply"]))
        np.testing.assert_allclose(found, expected, atol=1e-5)
    # a datagram that is too large is not cut to what the buffer holds
    refused = {"frame_length": 1, "too_large": 1, "unknown_kind": 1}
    assert told == {"frames": 2, "handshakes": 1, "pings": 0, "refused": refused}
    jsonschema.validate(told, json.loads(command("show", "schema", "neurarig serve").out))
