"""check, run, diff, explain and systems on hosted systems, from the command line, and what they refuse."""

import contextlib
import json
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from rigpact.contract.errors import UnusableInput
from rigpact.contract.rules.files.structure import check_against_schema
from rigpact.reference_runtime.recordings.trace import read_trace, write_trace
from rigpact.reference_runtime.recordings.trace_model import Trace, TraceHeader, json_to_header
from rigpact.reports.command_line.examples import EXAMPLES

BUNDLES = Path(__file__).parents[2] / "fixtures" / "bundles"
NEURARIG = BUNDLES / "neurarig"
IK = BUNDLES / "blender_ik"
CONTRACT, MODEL, CLIP = (NEURARIG / name for name in ("neurarig.json", "model.onnx", "clip.trace.safetensors"))


SYSTEMS = ("neurarig", "blender_ik", "rig_inversion", "imu_pose")
GOLDEN = {
    name: bytes.fromhex(text)
    for name, text in json.loads((NEURARIG / "golden_datagrams.json").read_text(encoding="ascii")).items()
}


Call = Callable[..., Any]


@pytest.fixture
def run_file(command: Call, tmp_path: Path) -> Callable[..., Path]:
    """A run of the reference runtime under changed conventions."""

    def make(name: str, *settings: str) -> Path:
        path = tmp_path / f"{name}.trace.jsonl"
        words = [word for each in settings for word in ("--set", each)]
        answer = command("run", "--contract", CONTRACT, CLIP, "--onnx", MODEL, "--out", path, "--frames", 40, *words)
        assert answer.status == 0, answer.err
        return path

    return make


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_committed_files_check_clean_and_explain_themselves(command: Call, tmp_path: Path, name: str) -> None:
    """The files that people copy from must be right, for every system by the same commands."""
    folder = BUNDLES / name
    contract, model, clip = folder / f"{name}.json", folder / "model.onnx", folder / "clip.trace.safetensors"
    out = tmp_path / "run.trace.safetensors"

    assert command("check", contract, model, clip, "--strict").status == 0
    assert command("run", "--contract", contract, clip, "--onnx", model, "--out", out).status == 0
    assert command("explain", out, "--contract", contract, "--onnx", model).status == 0
    assert command("diff", out, out, "--contract", contract).status == 0


def test_a_hosted_trace_says_its_system_and_the_enemys_does_not(run_file: Callable[..., Path]) -> None:
    """If a reader confuses two systems, it compares numbers with different meanings."""
    header = json.loads(run_file("run").read_text(encoding="utf-8").splitlines()[0])
    enemy = TraceHeader(60.0, "teacher").to_json({"state": 4})

    assert header["system"] == "neurarig"
    assert list(check_against_schema(header, "trace_header")) == []
    assert "system" not in enemy
    assert json_to_header(header, "x")[0].system == "neurarig"
    del header["system"]
    assert list(check_against_schema(header, "trace_header")) != []


@pytest.mark.parametrize(
    ("system", "stages", "says"),
    [
        ("neurarig", {"packet": 66}, "66 numbers, expected 63"),
        ("neurarig", {"state": 63}, "the stage 'state', expected one of engine_pose"),
        (7, {"packet": 63}, "found 7, expected text or null"),
        (None, {"packet": 63}, "the stage 'packet', expected one of x_raw"),
    ],
)
def test_a_header_of_no_such_system_or_width_is_refused(system: object, stages: dict[str, int], says: str) -> None:
    """The next build sends 66 floats: cut to 63 they would be compared as if they meant the same."""
    header = TraceHeader(60.0, "teacher").to_json(stages) | {"system": system}

    with pytest.raises(UnusableInput) as refused:
        json_to_header(header, "x.trace.jsonl")

    assert says in refused.value.one_line()


def test_a_recording_of_a_misspelt_system_is_refused(command: Call, run_file: Callable[..., Path]) -> None:
    """Only the contract knows which systems there are: a name that it does not have is nobody's recording."""
    path = run_file("mirrored", "bone_axis=x_both")
    path.write_text(path.read_text(encoding="utf-8").replace('"neurarig"', '"neurarigg"', 1), encoding="utf-8")
    answer = command("explain", path, "--contract", CONTRACT)
    assert answer.status == 2
    assert "did you mean neurarig?" in answer.err


def test_a_convention_is_named_from_the_command_line(command: Call, run_file: Callable[..., Path]) -> None:
    """The command must print the convention for the engine programmer."""
    path = run_file("mirrored", "bone_axis=x_both")
    answer = command("explain", path, "--contract", CONTRACT, "--onnx", MODEL)
    as_json = command("explain", path, "--contract", CONTRACT, "--format", "json")
    diagnosis = json.loads(as_json.out)

    assert (answer.status, as_json.status) == (1, 1)
    assert "With bone_axis = x_both the error of joints falls" in answer.out
    assert "the left leg's bones run along -x" in answer.out
    assert diagnosis["causes"][0]["changes"] == {"bone_axis": "x_both"}
    assert list(check_against_schema(diagnosis, "diagnosis")) == []


def test_diff_blames_the_stage_that_parts_and_not_those_after_it(command: Call, run_file: Callable[..., Path]) -> None:
    """If six stages differ, the report must name the first one, because the others inherit its error."""
    answer = command(
        "diff", run_file("a"), run_file("b", "reply_order=wxyz"), "--contract", CONTRACT, "--format", "json"
    )
    report = json.loads(answer.out)

    assert answer.status == 1
    assert report["summary"]["first_divergence"] == {"frame": 0, "stage": "reply"}
    assert [each["stage"] for each in report["summary"]["stages"] if not each["ok"]] == ["reply"]


def test_diff_does_not_compare_answers_to_different_questions(command: Call, run_file: Callable[..., Path]) -> None:
    """A different answer to a different input is not a defect of the network."""
    answer = command("diff", run_file("a"), run_file("b", "unit=m"), "--contract", CONTRACT, "--format", "json")
    summary = json.loads(answer.out)["summary"]

    assert answer.status == 1
    assert summary["waived"] == {"raw_rotations": "the network's inputs differ"}
    assert [each["stage"] for each in summary["stages"] if not each["ok"]] == ["packet"]


def test_a_missing_stage_is_not_a_pass(command: Call, run_file: Callable[..., Path], tmp_path: Path) -> None:
    """A recorder that forgets a stage must not turn the comparison green."""
    whole = run_file("a")
    trace = read_trace(whole)
    fewer = {name: rows for name, rows in trace.stages.items() if name != "joints"}
    write_trace(Trace(trace.header, trace.frame, trace.time_s, fewer), tmp_path / "fewer.trace.jsonl")

    assert command("diff", whole, tmp_path / "fewer.trace.jsonl", "--contract", CONTRACT).status == 1


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("run", "--contract", CONTRACT, CLIP, "--out", "x.trace.jsonl"), "no raw_rotations"),
        (("run", "--contract", CONTRACT, CLIP, "--onnx", MODEL, "--out", "x.json"), "ending in .trace.jsonl"),
        (("run", "--contract", IK / "blender_ik.json", IK / "clip.trace.safetensors", "--onnx", IK / "model.onnx",
          "--out", "x.trace.jsonl", "--mode", "free"), "feed itself"),
        (("run", "--contract", CONTRACT, CLIP, "--onnx", MODEL, "--out", "x.trace.jsonl", "--set", "unit=inch"), "one of cm, m"),
        (("run", "--contract", CONTRACT, CLIP, "--onnx", MODEL, "--out", "x.trace.jsonl", "--set", "units=m"), "unknown knob"),
        (("run", "--contract", CONTRACT, CLIP, "--onnx", MODEL, "--out", "x.trace.jsonl", "--frames", "9999"), "at most 240"),
        (
            ("run", "--contract", CONTRACT, CLIP, "--onnx", BUNDLES / "rig_inversion" / "model.onnx", "--out", "x.trace.jsonl"),
            "RP714",
        ),
        (("run", "--contract", CONTRACT, CLIP, "--onnx", MODEL, "--out", "x.trace.jsonl", "--mode", "playback"), "nothing back"),
        (("run", "--contract", CONTRACT, CLIP, "--onnx", MODEL, "--out", "x.trace.jsonl", "--floor-contacts"), "that has them"),
        (("explain", BUNDLES / "rig_inversion" / "clip.trace.safetensors", "--contract", CONTRACT), "rig_inversion"),
        (("explain", CLIP, "--contract", BUNDLES / "demo" / "norm_template.json"), "system neurarig"),
        (("diff", CLIP, CLIP), "neurarig"),
        (("check", CONTRACT, BUNDLES / "demo" / "norm_template.json"), "a bundle"),
        (("check", CLIP), "a trace"),
        (("check", CONTRACT, "--companion", BUNDLES / "demo" / "pretrain_template.json"), "no such file"),
        (("diff", CLIP, CLIP, "--contract", CONTRACT, "--table", "x.csv"), "without bones"),
        (("diff", CLIP, CLIP, "--contract", CONTRACT, "--stage", "knees"), "neither side recorded"),
        (("show", "neurarg"), "did you mean neurarig, page neurarig?"),
        (("show", "--write-contract", "x.json"), "no NAME"),
        (("neurarig", "serve", "--onnx", MODEL, "--contract", IK / "blender_ik.json"), "expected neurarig"),
        (("neurarig", "serve", "--onnx", BUNDLES / "rig_inversion" / "model.onnx"), "RP714"),
        (("neurarig", "serve", "--host", "203.0.113.1", "--onnx", MODEL), "cannot be bound"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_one_clear_error(
    command: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[object, ...], says: str
) -> None:
    """Exit status 2 and a line, never a traceback and never a guess."""
    monkeypatch.chdir(tmp_path)
    answer = command(*words)

    assert (answer.status, answer.out) == (2, "")
    assert says in answer.err
    assert len(answer.err.strip().splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_systems_are_listed_with_vectors_and_knobs(command: Call, tmp_path: Path) -> None:
    """Exporters are written from this list; what it writes checks, with the constants that the project publishes."""
    listed = command("show")
    written = tmp_path / "new.json"
    command("show", "neurarig", "--write-contract", written)
    checked = json.loads(command("check", written, "--format", "json").out)

    assert all(name in listed.out for name in SYSTEMS)
    assert checked["findings"] == []


def test_check_accounts_for_what_it_could_not_judge(command: Call, tmp_path: Path) -> None:
    """A file that names no known system passes nothing."""
    document = json.loads(CONTRACT.read_text(encoding="utf-8"))
    document["system"] = "leg_magic"
    path = tmp_path / "contract.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    report = json.loads(command("check", path, MODEL, CLIP, "--format", "json").out)

    assert report["verdict"] == "fail"
    assert [finding["code"] for finding in report["findings"]] == ["RP700"]
    assert report["ledger"]["missing"] > 30


def test_serve_answers_with_a_model_alone(command: Call) -> None:
    """A server that learns needs a training library, and an engine waits minutes for its first answer."""
    answer = command("neurarig", "serve")

    assert (answer.status, answer.out) == (2, "")
    assert "Missing option '--onnx'" in answer.err


def test_the_example_of_serve_answers_and_tells_what_came_in(command: Call, checkout: Path) -> None:
    """The committed datagrams to the command of its help, over a real socket: the reply is the committed one."""
    words = EXAMPLES["neurarig serve"][0].split()[1:]
    serve = [sys.executable, "-m", "rigpact.reports", *words, "--port", "0", "--frames", "2", "--format", "json"]
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(
            subprocess.Popen(serve, cwd=checkout, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        )
        stack.callback(server.kill)
        wire = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        assert server.stderr is not None
        listening = next(line for line in server.stderr if "listening" in line)
        wire.settimeout(10.0)
        wire.connect(("127.0.0.1", int(listening.rpartition(":")[2])))
        wire.send(GOLDEN["handshake"])
        wire.send(GOLDEN["frame"][:-1])
        replies = []
        for _ in range(2):
            wire.send(GOLDEN["frame"])
            replies.append(wire.recv(1000))
        told = json.loads(server.communicate(timeout=60)[0])

    for reply in replies:
        assert (reply[0], len(reply)) == (3, 97)
        found, expected = (np.frombuffer(each, "<f4", offset=1) for each in (reply, GOLDEN["reply"]))
        np.testing.assert_allclose(found, expected, atol=1e-5)
    assert told == {"frames": 2, "handshakes": 1, "pings": 0, "refused": {"frame_length": 1}}
    jsonschema.validate(told, json.loads(command("show", "schema", "neurarig serve").out))
