"""Real exported files: what their training code does differently from the contract document is found and named."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from rigpact.fixtures.mutants.conventions import words

from ..scene import scene_of_files
from .conftest import Doctor


@pytest.fixture(scope="module")
def found(real_data: Path) -> dict[str, Any]:
    """The diagnosis of a real prediction with its recorded network output."""
    from rigpact.contract import load_contract
    from rigpact.reports.diagnosing.evidence import EvidenceFiles, read_evidence
    from rigpact.reports.diagnosing.some_bones import diagnose_gathered

    bundle, companion = real_data / "norm_template.json", real_data / "pretrain_template.json"
    contract = load_contract(bundle, companion, {"output_mode": "residual"})
    gathered = read_evidence(
        real_data / "Walk_F_prediction.json",
        contract,
        EvidenceFiles(clip=real_data / "Walk_F.json", replay=real_data / "Walk_F_network_output.json"),
    )
    document: dict[str, Any] = json.loads(json.dumps(diagnose_gathered(gathered).to_json()))
    return document


def _cause(found: dict[str, Any], stage: str) -> dict[str, Any]:
    (cause,) = [cause for cause in found["causes"] if cause["stage"] == stage]
    return cause


def test_the_angular_velocity_input_is_named_to_the_last_knob(found: dict[str, Any]) -> None:
    """Half the rotation vector, one frame ahead: three differences at one stage, found together on real data."""
    cause = _cause(found, "angvel")
    expected = {"angvel_source": "rotations", "angvel_angle": "half", "angvel_lag": "+1"}
    assert expected in [cause["changes"], *cause["equivalents"]]
    assert cause["frames_explained"] == cause["frames"]
    assert cause["error_after"] < 1e-3
    assert cause["error_before"] > 1.0


def test_the_histories_first_rows_hold_their_own_target(found: dict[str, Any]) -> None:
    """The network learnt on a history that no engine can have."""
    cause = _cause(found, "pose_hist")
    assert {"pose_history_start": "first_target"} in [cause["changes"], *cause["equivalents"]]
    assert cause["frames_explained"] == cause["frames"]


def test_the_leak_of_the_target_is_named_for_all_frames_but_the_first(found: dict[str, Any]) -> None:
    """The recording composes with the target pose: a score that no engine will ever reach."""
    cause = _cause(found, "y_out")
    assert cause["changes"] == {"previous_pose_lag": "+1"}
    assert (cause["frames_explained"], cause["frames"]) == (86, 87)


def test_what_is_not_explained_in_all_frames_is_not_called_explained(found: dict[str, Any]) -> None:
    """One frame of 87 is where the next defect hides."""
    assert found["verdict"] == "partly_explained"
    (left,) = [stage["remains"] for stage in found["stages"] if stage["stage"] == "y_out"]
    assert left["frames"] == 1
    assert [stage["stage"] for stage in found["stages"] if stage["ok"]] == ["state", "cond", "contacts"]


@pytest.mark.parametrize(("taken", "causes"), [("RootVelocityXY", []), ("TrajectoryDir", ["trajectory"])])
def test_a_training_file_is_judged_by_what_training_takes(
    real_data: Path, tmp_path: Path, taken: str, causes: list[str]
) -> None:
    """Judged by the engine's default, the deployed network's own training data looks wrong; the other way is a finding."""
    from rigpact.contract import load_contract
    from rigpact.reports.diagnosing.evidence import EvidenceFiles, read_evidence
    from rigpact.reports.diagnosing.some_bones import diagnose_gathered

    document = json.loads((real_data / "Walk_F_teacher.json").read_text())
    frames = json.loads((real_data / "Walk_F.json").read_text())["Frames"]
    for row, frame in zip(document["teacher"]["cond"], frames, strict=False):
        x, y = frame["TrajectoryDir"][len(frame["TrajectoryDir"]) // 2] if taken == "TrajectoryDir" else frame[taken]
        row[4:6] = x / (x * x + y * y) ** 0.5, y / (x * x + y * y) ** 0.5
    (tmp_path / "Walk_F_teacher.json").write_text(json.dumps(document))
    contract = load_contract(real_data / "norm_template.json", real_data / "pretrain_template.json")
    given = EvidenceFiles(clip=real_data / "Walk_F.json")
    gathered = read_evidence(tmp_path / "Walk_F_teacher.json", contract, given)
    assert any(
        "judged with condition_direction = velocity; an engine has trajectory" in note for note in gathered.notes
    )
    found = diagnose_gathered(gathered, with_pairs=False)
    (cond,) = [stage for stage in found.stages if stage.stage == "cond"]
    assert cond.ok is not bool(causes)
    assert [cause.changes["condition_direction"] for cause in found.causes if cause.stage == "cond"] == causes


TRUTHS = (
    {"compose_order": "prev_delta"}, {"rot6d_columns": "xy"}, {"rot6d_packing": "rows"}, {"denorm": "variance"},
    {"condition_direction": "velocity"}, {"angvel_source": "rotations"}, {"pose_history_start": "first_target"},
    {"input_order": ("cond", "state", "contacts", "angvel", "pose_hist")}, {"bone_order": "left_right_swapped"},
    {"quaternion_order": "wxyz"},
)  # fmt: skip


PAIRS = (
    {"rot6d_packing": "rows", "compose_order": "prev_delta"}, {"angvel_frame": "local", "angvel_angle": "half"},
    {"yaw_encoding": "radians", "denorm": "state_stats"},
)  # fmt: skip


@pytest.mark.parametrize(
    ("clip", "truth"),
    [*((clip, truth) for clip in ("Walk_F.json", "Walk_L_To_R.json") for truth in TRUTHS)]
    + [("Walk_L_To_R.json", pair) for pair in PAIRS],
    ids=lambda value: value if isinstance(value, str) else words(value),
)
def test_changes_are_named_on_real_motion(real_data: Path, clip: str, truth: dict[str, Any]) -> None:
    """Real statistics have channels without spread, where one float32 step is a tenth of a deviation."""
    bundle, companion = real_data / "norm_template.json", real_data / "pretrain_template.json"
    scene = scene_of_files(bundle, companion, real_data / clip, output_mode="residual")
    diagnosis = Doctor(scene)(scene.record(truth).stages)
    assert diagnosis.verdict == "explained"
    causes = [(cause.changes, *cause.equivalents) for cause in diagnosis.causes]
    assert truth in [dict(pair for part in parts for pair in part.items()) for parts in product(*causes)]
