"""What `rigpact explain` takes and gives: predictions, raw clips, declared conventions, JSON, and bad input in one line."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from rigpact.contract.rules.files.structure import load_schema
from rigpact.reference_runtime import write_trace

from .conftest import allowing


def _explain(command: Any, files: Any, recording: Path, *more: object) -> tuple[int, str, Any]:
    answer = command("explain", recording, "--contract", files["bundle"], *more, "--format", "json")
    document = json.loads(answer.out)
    jsonschema.validate(document, load_schema("diagnosis"))
    return answer.status, document["verdict"], document


@pytest.fixture
def recorded(tmp_path: Path, scene: Any) -> Any:
    """Record the scene under some conventions, as a file."""

    def record(suffix: str = ".trace.jsonl", **changes: str) -> Path:
        path = tmp_path / f"engine{suffix}"
        write_trace(scene.record(changes), path)
        return path

    return record


ALLOWED = allowing("x_raw", "cond_raw", "contacts", "y_norm")
GIVEN = (
    (".trace.jsonl.zst", {}, (), 0, "agrees"),
    (".trace.safetensors", {"compose_order": "prev_delta"}, (), 1, "explained"),
    (".trace.jsonl", {"compose_order": "prev_delta"}, ("--set", "compose_order=prev_delta"), 0, "agrees"),
)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("suffix", "changes", "words", "status", "verdict"), GIVEN, ids=str)
def test_a_trace_is_explained_and_the_answer_keeps_its_format(
    command: Any, demo_files: Any, recorded: Any, suffix: str, changes: Any, words: Any, status: int, verdict: str
) -> None:
    """CI reads this JSON; and a studio that multiplies the other way on purpose must be able to say so once."""
    more = ("--companion", demo_files["companion"], *ALLOWED, *words)
    assert _explain(command, demo_files, recorded(suffix, **changes), *more)[:2] == (status, verdict)


def test_every_verdict_keeps_the_format(
    command: Any, demo_files: Any, tmp_path: Path, honest: Any, no_search: None
) -> None:
    """`undetermined` and `unexplained` must follow the schema too, or a dashboard fails on them."""
    path, values = tmp_path / "run.trace.jsonl", honest.stages["next6d"].copy()
    write_trace(replace(honest, stages={"y_out": honest.stages["y_out"]}), path)
    assert _explain(command, demo_files, path)[:2] == (2, "undetermined")
    values[4:, 7] = float("nan")
    write_trace(replace(honest, stages={**honest.stages, "next6d": values}), path)
    *said, document = _explain(command, demo_files, path)
    assert (said, document["first_divergence"]["frame"]) == ([1, "unexplained"], 4)
    assert document["first_divergence"]["error"] is None


def test_a_prediction_is_judged_against_its_clip(
    command: Any, demo_files: Any, demo_bundle: Path, no_search: None
) -> None:
    """The first recording that exists is the training side's own file; of another clip no convention may take the blame."""
    words = ("--companion", demo_files["companion"], "--onnx", demo_files["model"], "--clip")
    *said, document = _explain(command, demo_files, demo_files["prediction"], *words, demo_files["clip"])
    judged = {stage["stage"]: stage["ok"] for stage in document["stages"]}
    assert said == [0, "agrees"]
    assert judged == dict.fromkeys(("state", "cond", "contacts", "angvel", "pose_hist", "y_out"), True)


def test_a_raw_clip_is_judged_against_another_export_of_itself(
    command: Any, demo_files: Any, tmp_path: Path, no_search: None
) -> None:
    """Two exports of one animation that differ in one bone: the frame and the bone are named."""
    document = json.loads(demo_files["clip"].read_text(encoding="utf-8"))
    document["Frames"][9]["BoneRotations"][2] = [0.0, 1.0, 0.0, 0.0, 0.0, 1.0]
    edited = tmp_path / "edited.json"
    edited.write_text(json.dumps(document))
    status, _, found = _explain(command, demo_files, edited, "--clip", demo_files["clip"])
    first = found["first_divergence"]
    assert (status, first["frame"], first["stage"], first["bone"]) == (1, 9, "x_raw", "spine_02")
