"""`rigpact init`: what it writes is read back as what lies there."""

import json
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest

from rigpact.contract.settings.configuration import read_configuration
from rigpact.contract.settings.gate import KEYS, RecordedRun

from ..engine_recordings import ENGINE
from .conftest import CLIP, FREE, TRACE, Command, record


def written(folder: Path) -> dict[str, Any]:
    gate: dict[str, Any] = tomllib.loads((folder / "rigpact.toml").read_text(encoding="utf-8"))["gate"]
    return gate


def test_everything_that_lies_there_is_asked(project: Path, command: Command) -> None:
    """The gate does not check a file that init overlooks."""
    record(project, FREE, mode="free", frames=20)

    answer = command("init")
    settings = read_configuration(project / "rigpact.toml").gate

    assert answer.status == 0
    assert "3 clips, 2 teacher files, 2 engine traces, 1 model, 1 companion" in answer.out
    assert settings is not None
    assert (settings.bundle, settings.companion, settings.model) == (
        "norm_template.json",
        "pretrain_template.json",
        "model.onnx",
    )
    assert settings.clips == ("clips/*.json",)
    prediction, batch = settings.teacher
    assert (prediction.clip, batch.clip) == (CLIP, CLIP)
    assert (batch.stages, prediction.stages[-1]) == (("state", "cond"), "y_out")
    traces = {run.file: run for run in settings.traces}
    stages = traces[TRACE].stages
    assert traces[TRACE] == RecordedRun(TRACE, "Sneak_Turn", CLIP, stages, None, "teacher", ENGINE)
    assert len(traces[TRACE].stages) == 15
    assert (traces[FREE].frames, traces[FREE].clip, traces[FREE].mode) == (20, CLIP, "free")


def test_what_is_not_there_is_explained(project: Path, command: Command) -> None:
    """A missing part of the gate must appear as a comment that the user can activate."""
    for name in ("engine", "teacher_predictions", "teacher_batches"):
        shutil.rmtree(project / name)
    (project / "model.onnx").unlink()

    assert command("init").status == 0
    text = (project / "rigpact.toml").read_text(encoding="utf-8")

    assert set(written(project)) == {"bundle", "companion", "clips"}
    opened = "\n".join(line.removeprefix("# ") for line in text.splitlines() if not line.startswith("# Not"))
    for key in ("[[gate.trace]]", "[[gate.teacher]]", "[gate.thresholds]", "[gate.budget]", "[[gate.waive]]", "base ="):
        assert key in opened
    for table in ("gate.trace", "gate.thresholds", "gate.budget", "gate.waive"):
        assert any(f"\n{key} = " in opened for key in KEYS[table])
    assert command("gate").status == 0


def test_without_a_model_what_goes_into_it_is_compared(project: Path, command: Command) -> None:
    """The training side's own repository often has no model yet; its rows can still be judged, and wrong ones found."""
    shutil.rmtree(project / "engine")
    (project / "model.onnx").unlink()
    command("init")

    right = command("gate", "--format", "json")
    path = project / "teacher_predictions" / "Sneak_Turn_prediction.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    document["teacher"]["aux_inputs"]["angvel_norm"][7][3] += 1.0
    path.write_text(json.dumps(document), encoding="utf-8")
    wrong = command("gate", "--format", "json")

    assert (right.status, wrong.status) == (0, 1)
    part = next(part for part in json.loads(right.out)["parts"] if part["name"] == "teacher/Sneak_Turn_prediction")
    assert part["ledger"]["compared"] > 0
    assert [stage["stage"] for stage in part["summary"]["stages"]] == [
        "state",
        "cond",
        "contacts",
        "angvel",
        "pose_hist",
    ]
    part = next(part for part in json.loads(wrong.out)["parts"] if part["name"] == "teacher/Sneak_Turn_prediction")
    assert {"RP801", "RP962"} <= {finding["code"] for finding in part["findings"]}


def test_the_budgets_comment_holds_todays_figures(project: Path, command: Command) -> None:
    """The comment must hold the model's real figures, so the user need not guess."""
    import onnx

    command("init")
    text = (project / "rigpact.toml").read_text(encoding="utf-8")
    model = onnx.load(project / "model.onnx")
    numbers = sum(int(_product(weight.dims)) for weight in model.graph.initializer)

    assert f"# model-bytes = {(project / 'model.onnx').stat().st_size}\n" in text
    line = next(line for line in text.splitlines() if line.startswith("# parameters = "))
    assert numbers <= int(line.removeprefix("# parameters = ")) <= numbers * 1.01  # constants of the graph count too


def _product(dims: Any) -> int:
    total = 1
    for size in dims:
        total *= size
    return total


def test_a_configuration_that_is_there_stays(project: Path, command: Command) -> None:
    """Waivers with owners and dates are not lost to a second init."""
    (project / "rigpact.toml").write_text("# ours\n", encoding="utf-8")

    refused = command("init")
    assert (refused.status, (project / "rigpact.toml").read_text(encoding="utf-8")) == (2, "# ours\n")
    assert command("init", "--force").status == 0
    assert "bundle" in written(project)


@pytest.mark.parametrize("folder", ["nowhere", "clips"])
def test_a_folder_without_a_bundle_is_refused(project: Path, command: Command, folder: str) -> None:
    """Without a bundle the gate has nothing to check, so init must refuse."""
    answer = command("init", project / folder)

    assert (answer.status, answer.out) == (2, "")
    assert not (project / folder / "rigpact.toml").exists()


def test_hostile_names_stay_names(project: Path, command: Command) -> None:
    """A quote in a file name must not change the TOML, for example add a waiver."""
    name = 'x" ]\n[[gate.waive]]\npart = "files.json'
    shutil.copyfile(project / CLIP, project / name)
    shutil.copyfile(project / "norm_template.json", project / "zz\n[gate.evil]\n.json")

    assert command("init").status == 0

    assert name in written(project)["clips"]
    assert "waive" not in written(project)
    assert "evil" not in written(project)


def test_files_that_are_no_artefacts_are_passed_over(project: Path, command: Command) -> None:
    """Build folders are full of JSON and of models that are none."""
    (project / "package.json").write_text('{"name": "x"}', encoding="utf-8")
    (project / "broken.json").write_text("{", encoding="utf-8")
    (project / "engine" / "crashed.trace.jsonl").write_text("", encoding="utf-8")
    (project / "node_modules").mkdir()
    shutil.copyfile(project / CLIP, project / "node_modules" / "clip.json")

    answer = command("init")

    assert answer.status == 0
    assert "crashed.trace.jsonl is passed over" in answer.out
    assert written(project)["clips"] == ["clips/*.json"]


def test_the_base_is_the_branch_that_is_merged_into(project: Path, command: Command) -> None:
    """Without a base, a breaking change is not reported before the merge."""
    from .test_gate_rules import git

    git(project, "init", "-q", "-b", "main")
    git(project, "commit", "-q", "--allow-empty", "-m", "before the character")
    git(project, "update-ref", "refs/remotes/origin/main", "HEAD")
    command("init")
    assert "base" not in written(project)  # nothing of a new character can break, and nothing could be compared
    git(project, "add", "norm_template.json", "pretrain_template.json")
    git(project, "commit", "-q", "-m", "bundle")
    git(project, "update-ref", "refs/remotes/origin/main", "HEAD")

    command("init", "--force")

    assert written(project)["base"] == "origin/main"
    bundle = json.loads((project / "norm_template.json").read_text(encoding="utf-8"))
    bundle["meta"]["bone_names"].reverse()
    (project / "norm_template.json").write_text(json.dumps(bundle), encoding="utf-8")
    answer = command("gate", "--format", "json")
    assert "RP969" in answer.out
