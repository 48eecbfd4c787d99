"""Real exported files: what their training code does differently from the contract document is found and named."""

import json
from pathlib import Path

import pytest

from rigpact.contract import load_contract
from rigpact.reports.diagnosing.evidence import EvidenceFiles, read_evidence
from rigpact.reports.diagnosing.some_bones import diagnose_gathered


def test_a_real_prediction_is_explained_to_the_last_knob(real_data: Path) -> None:
    """Half the rotation vector, one frame ahead; a history of its own target; and the target leaked into the composition.

    Without the real files nothing says that three differences at one stage are found together on data that nobody made for it.
    """
    files = (real_data / "norm_template.json", real_data / "pretrain_template.json")
    contract = load_contract(*files, {"output_mode": "residual"})
    given = EvidenceFiles(clip=real_data / "Walk_F.json", replay=real_data / "Walk_F_network_output.json")
    found = diagnose_gathered(read_evidence(real_data / "Walk_F_prediction.json", contract, given))
    causes = {cause.stage: cause for cause in found.causes}
    expected = {
        "angvel": {"angvel_source": "rotations", "angvel_angle": "half", "angvel_lag": "+1"},
        "pose_hist": {"pose_history_start": "first_target"},
        "y_out": {"previous_pose_lag": "+1"},
    }
    assert causes.keys() == expected.keys()
    for stage, changes in expected.items():
        cause = causes[stage]
        assert changes in [cause.changes, *cause.equivalents]
        assert (cause.frames_explained, cause.frames) == ((86 if stage == "y_out" else 87), 87)
    assert causes["angvel"].error_after < 1e-3
    assert causes["angvel"].error_before > 1.0
    assert found.verdict == "partly_explained"
    (left,) = [stage.remains for stage in found.stages if stage.stage == "y_out"]
    assert left is not None
    assert left.frames == 1  # one frame of 87 is where the next defect hides
    assert [stage.stage for stage in found.stages if stage.ok] == ["state", "cond", "contacts"]


@pytest.mark.parametrize(("taken", "causes"), [("RootVelocityXY", []), ("TrajectoryDir", ["trajectory"])])
def test_a_training_file_is_judged_by_what_training_takes(
    real_data: Path, tmp_path: Path, taken: str, causes: list[str]
) -> None:
    """Judged by the engine's default, the deployed network's own training data looks wrong; the other way is a finding."""
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
