"""What `rigpact explain` takes and gives: predictions, raw clips, declared conventions, JSON, and bad input in one line."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from rigpact.reference_runtime import write_trace

from .conftest import allowing

SCHEMA = Path("contract/rigpact/contract/schemas/diagnosis.schema.json")


@pytest.fixture(scope="session")
def schema(checkout: Path) -> dict[str, Any]:
    """The format of a diagnosis."""
    loaded: dict[str, Any] = json.loads((checkout / SCHEMA).read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(loaded)
    return loaded


def _explain(command: Any, files: Any, recording: Path, *more: object) -> tuple[int, dict[str, Any]]:
    answer = command("explain", recording, "--contract", files["bundle"], *more, "--format", "json")
    return answer.status, json.loads(answer.out)


@pytest.fixture
def recorded(tmp_path: Path, scene: Any) -> Any:
    """Record the scene under some conventions, as a file."""

    def record(suffix: str = ".trace.jsonl", **changes: str) -> Path:
        path = tmp_path / f"engine{suffix}"
        write_trace(scene.record(changes), path)
        return path

    return record


@pytest.mark.parametrize(
    ("changes", "verdict", "status"),
    [({}, "agrees", 0), ({"compose_order": "prev_delta"}, "explained", 1)],
    ids=["honest", "mutant"],
)
@pytest.mark.parametrize("suffix", [".trace.jsonl.zst", ".trace.safetensors"])
def test_a_trace_is_explained_and_the_answer_keeps_its_format(
    command: Any, demo_files: Any, recorded: Any, schema: Any, changes: Any, verdict: str, status: int, suffix: str
) -> None:
    """CI reads this JSON; a key that moves breaks every studio's dashboard."""
    more = ("--companion", demo_files["companion"], *allowing("x_raw", "cond_raw", "contacts", "y_norm"))
    found, document = _explain(command, demo_files, recorded(suffix, **changes), *more)
    jsonschema.validate(document, schema)
    assert (found, document["verdict"]) == (status, verdict)


def test_every_verdict_keeps_the_format(
    command: Any, demo_files: Any, tmp_path: Path, scene: Any, honest: Any, schema: Any
) -> None:
    """`undetermined` and `unexplained` must follow the schema too, or a dashboard fails on them."""
    from dataclasses import replace

    lonely = tmp_path / "lonely.trace.jsonl"
    write_trace(replace(honest, stages={"y_out": honest.stages["y_out"]}), lonely)
    status, document = _explain(command, demo_files, lonely)
    jsonschema.validate(document, schema)
    assert (status, document["verdict"]) == (2, "undetermined")

    broken = tmp_path / "broken.trace.jsonl"
    values = honest.stages["next6d"].copy()
    values[4:, 7] = float("nan")
    write_trace(replace(honest, stages={**honest.stages, "next6d": values}), broken)
    status, document = _explain(command, demo_files, broken)
    jsonschema.validate(document, schema)
    assert (status, document["verdict"]) == (1, "unexplained")
    assert document["first_divergence"]["frame"] == 4
    assert document["first_divergence"]["error"] is None


def test_a_declared_convention_is_meant(command: Any, demo_files: Any, recorded: Any) -> None:
    """A studio that multiplies the other way on purpose must be able to say so once."""
    path = recorded(compose_order="prev_delta")
    status, document = _explain(
        command,
        demo_files,
        path,
        "--companion",
        demo_files["companion"],
        "--set",
        "compose_order=prev_delta",
        *allowing("x_raw", "cond_raw", "contacts", "y_norm"),
    )
    assert (status, document["verdict"]) == (0, "agrees")


def test_a_teacher_prediction_is_judged_against_its_clip(command: Any, demo_files: Any) -> None:
    """The training side's own file is the first recording that exists, before the engine has logged a frame."""
    status, document = _explain(
        command,
        demo_files,
        demo_files["prediction"],
        "--companion",
        demo_files["companion"],
        "--clip",
        demo_files["clip"],
        "--onnx",
        demo_files["model"],
    )
    judged = {stage["stage"]: stage["ok"] for stage in document["stages"]}
    assert (status, document["verdict"]) == (0, "agrees")
    assert judged == dict.fromkeys(("state", "cond", "contacts", "angvel", "pose_hist", "y_out"), True)


def test_a_prediction_of_another_clip_is_not_explained(command: Any, demo_files: Any, demo_bundle: Path) -> None:
    """The wrong clip on the command line: everything differs and no convention may take the blame."""
    other = demo_bundle / "clips" / "Run_F.json"
    status, document = _explain(
        command, demo_files, demo_files["prediction"], "--companion", demo_files["companion"], "--clip", other
    )
    assert (status, document["verdict"], document["causes"]) == (1, "partly_explained", [])
    assert document["supposition"] == "Sneak_Turn.json drove it, not Run_F.json"


def test_a_raw_clip_is_judged_against_another_export_of_itself(command: Any, demo_files: Any, tmp_path: Path) -> None:
    """Two exports of one animation that differ in one bone: the frame and the bone are named."""
    document = json.loads(demo_files["clip"].read_text(encoding="utf-8"))
    document["Frames"][9]["BoneRotations"][2] = [0.0, 1.0, 0.0, 0.0, 0.0, 1.0]
    edited = tmp_path / "edited.json"
    edited.write_text(json.dumps(document))
    status, found = _explain(command, demo_files, edited, "--clip", demo_files["clip"])
    assert status == 1
    first = found["first_divergence"]
    assert (first["frame"], first["stage"], first["bone"]) == (9, "x_raw", "spine_02")


BAD_INPUT = {
    "a recording that is not there": ("missing.trace.jsonl",),
    "no bundle": ("TRACE",),
    "a bundle that is none": ("TRACE", "--contract", "TRACE"),
    "a clip that is none": ("TRACE", "--contract", "BUNDLE", "--clip", "BUNDLE"),
    "a model that is none": ("TRACE", "--contract", "BUNDLE", "--onnx", "BUNDLE"),
    "an unknown knob": ("TRACE", "--contract", "BUNDLE", "--set", "colour=red"),
    "an unknown value": ("TRACE", "--contract", "BUNDLE", "--set", "mirror=w"),
    "a setting without a value": ("TRACE", "--contract", "BUNDLE", "--set", "mirror"),
    "outputs that are none": ("PREDICTION", "--contract", "BUNDLE", "--replay", "CLIP"),
    "outputs that are too few": ("LONG", "--contract", "BUNDLE", "--replay", "TRACE"),
    "a bundle as recording": ("BUNDLE", "--contract", "BUNDLE"),
    "a folder": (".", "--contract", "BUNDLE"),
}


@pytest.mark.parametrize("words", BAD_INPUT.values(), ids=list(BAD_INPUT))
def test_bad_input_is_one_line_and_status_2(
    command: Any, demo_files: Any, recorded: Any, tmp_path: Path, honest: Any, words: tuple[str, ...]
) -> None:
    """People do not read a traceback in a build log."""
    from dataclasses import replace

    trace = recorded()
    long = tmp_path / "long.trace.jsonl"
    write_trace(replace(honest, frame=honest.frame + 100, stages={"y_out": honest.stages["y_out"]}), long)
    files = {"TRACE": trace, "LONG": long, "BUNDLE": demo_files["bundle"], "CLIP": demo_files["clip"]}
    files["PREDICTION"] = demo_files["prediction"]
    answer = command("explain", *(files.get(word, word) for word in words))
    assert answer.status == 2
    assert answer.out == ""
    assert answer.err.startswith("rigpact: error: ")
    assert answer.err.count("\n") == 1


def test_junk_in_a_trace_is_one_line(command: Any, demo_files: Any, recorded: Any) -> None:
    """Half a header, a word for a number, a frame twice: recorders do that when disks are full."""
    path = recorded()
    lines = path.read_text(encoding="utf-8").splitlines()
    damages = (lines[0][:50], "\n".join([lines[0], lines[1], lines[1]]), lines[0] + '\n{"frame": "one"}\n' + lines[2])
    for damaged in damages:
        path.write_text(damaged + "\n", encoding="utf-8")
        answer = command("explain", path, "--contract", demo_files["bundle"])
        assert (answer.status, answer.err.count("\n")) == (2, 1)
