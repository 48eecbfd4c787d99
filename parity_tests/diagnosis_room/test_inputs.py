"""What `rigpact explain` takes and gives: predictions, raw clips, declared conventions, JSON, and bad input in one line."""

import json
from pathlib import Path
from typing import Any

import jsonschema

from rigpact.contract.rules.structure import load_schema


def _explain(command: Any, files: Any, recording: Path, *more: object) -> tuple[int, str, Any]:
    answer = command("explain", recording, "--contract", files["bundle"], *more, "--format", "json")
    document = json.loads(answer.out)
    jsonschema.validate(document, load_schema("diagnosis"))
    return answer.status, document["verdict"], document


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
