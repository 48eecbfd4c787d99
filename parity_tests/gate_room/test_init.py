"""`rigpact init`: what it writes is read back as what lies there."""

import json
import shutil
import tomllib
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import onnx
import pytest

from rigpact.contract.settings.configuration import read_configuration
from rigpact.contract.settings.gate import KEY, RecordedRun
from rigpact.contract.settings.table import tables_of
from rigpact.reports.gate.found_files import FoundFiles, clip_of_trace

from ..engine_recordings import ENGINE
from ..trust_room.tiny_project import git
from .conftest import CLIP, FREE, TRACE, record
from .test_gate_rules import with_bundle


def written(folder: Path) -> dict[str, Any]:
    return dict(tomllib.loads((folder / "rigpact.toml").read_text(encoding="utf-8"))["gate"])


def test_everything_that_lies_there_is_asked(project, command):
    """The gate does not check a file that init overlooks; the comment about budgets holds the model's real figures."""
    record(project, FREE, mode="free", frames=20)
    answer = command("init")
    settings = read_configuration(project / "rigpact.toml").gate
    assert settings is not None
    assert answer.status == 0
    assert "3 clips, 2 teacher files, 2 engine traces, 1 model, 1 companion" in answer.out
    assert (settings.bundle, settings.model, settings.clips) == ("norm_template.json", "model.onnx", ("clips/*.json",))
    assert settings.companion == "pretrain_template.json"
    prediction, batch = settings.teacher
    assert (prediction.clip, batch.clip) == (CLIP, CLIP)
    assert (batch.stages, prediction.stages[-1]) == (("state", "cond"), "y_out")
    traces = {run.file: run for run in settings.traces}
    stages = traces[TRACE].stages
    assert traces[TRACE] == RecordedRun(TRACE, "Sneak_Turn", CLIP, stages, None, "teacher", ENGINE)
    assert len(stages) == 15
    assert (traces[FREE].frames, traces[FREE].clip, traces[FREE].mode) == (20, CLIP, "free")
    text = (project / "rigpact.toml").read_text(encoding="utf-8")
    numbers = sum(onnx.numpy_helper.to_array(w).size for w in onnx.load(project / "model.onnx").graph.initializer)
    (line,) = [line for line in text.splitlines() if line.startswith("# parameters = ")]
    assert numbers <= int(line.removeprefix("# parameters = ")) <= numbers * 1.01  # constants of the graph count too
    assert f"# model-bytes = {(project / 'model.onnx').stat().st_size}\n" in text


def test_what_is_not_there_is_explained(project, command):
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
        assert any(f"\n{key} = " in opened for key in dict(tables_of("gate", KEY.inner))[table])


@pytest.mark.usefixtures("no_search")
def test_without_a_model_what_goes_into_it_is_compared(project, command):
    """The training side's own repository often has no model yet; its rows can still be judged, and wrong ones found."""
    for name in ("engine", "clips/Run_F.json", "clips/Walk_Spin.json"):
        shutil.rmtree(project / name) if name == "engine" else (project / name).unlink()
    (project / "model.onnx").unlink()
    command("init")
    right = command("gate", "--format", "json")
    path = project / "teacher_predictions" / "Sneak_Turn_prediction.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    document["teacher"]["aux_inputs"]["angvel_norm"][7][3] += 1.0
    path.write_text(json.dumps(document), encoding="utf-8")
    wrong = command("gate", "--format", "json")
    assert (right.status, wrong.status) == (0, 1)
    before, after = (
        next(part for part in json.loads(answer.out)["parts"] if part["name"] == "teacher/Sneak_Turn_prediction")
        for answer in (right, wrong)
    )
    assert before["ledger"]["compared"] > 0
    assert [each["stage"] for each in before["summary"]["stages"]] == [
        "state",
        "cond",
        "contacts",
        "angvel",
        "pose_hist",
    ]
    assert "RP801" in {finding["code"] for finding in after["findings"]}


def test_a_configuration_that_is_there_stays(project, command):
    """Waivers with owners and dates are not lost to a second init."""
    (project / "rigpact.toml").write_text("# ours\n", encoding="utf-8")
    refused = command("init")
    assert (refused.status, (project / "rigpact.toml").read_text(encoding="utf-8")) == (2, "# ours\n")
    assert command("init", "--force").status == 0
    assert "bundle" in written(project)


@pytest.mark.parametrize("folder", ["nowhere", "clips"])
def test_a_folder_without_a_bundle_is_refused(project, command, folder):
    """Without a bundle the gate has nothing to check, so init must refuse."""
    answer = command("init", project / folder)
    assert (answer.status, answer.out) == (2, "")
    assert not (project / folder / "rigpact.toml").exists()


def test_names_stay_names_and_what_is_no_artefact_is_passed_over(project, command):
    """A quote in a file name must not add a waiver; build folders are full of JSON and of models that are none."""
    name = 'x" ]\n[[gate.waive]]\npart = "files.json'
    shutil.copyfile(project / CLIP, project / name)
    shutil.copyfile(project / "norm_template.json", project / "zz\n[gate.evil]\n.json")
    for other, content in (("package.json", '{"name": "x"}'), ("broken.json", "{"), ("engine/crashed.trace.jsonl", "")):
        (project / other).write_text(content, encoding="utf-8")
    (project / "node_modules").mkdir()
    shutil.copyfile(project / CLIP, project / "node_modules" / "clip.json")
    answer = command("init")
    assert (answer.status, "crashed.trace.jsonl is passed over" in answer.out) == (0, True)
    assert sorted(written(project)["clips"]) == ["clips/*.json", name]
    assert not {"waive", "evil"} & set(written(project))


def test_the_base_is_the_branch_that_is_merged_into(project, command):
    """Without a base, a breaking change is not reported before the merge."""
    for name in ("engine", "teacher_predictions", "teacher_batches", "clips"):
        shutil.rmtree(project / name)
    (project / "model.onnx").unlink()
    git(project, "init", "-q", "-b", "main")
    (project / "clips.txt").touch()
    # nothing of a new character can break, and nothing could be compared; half of its files are not it
    bundle, companion = "norm_template.json", "pretrain_template.json"
    for names, base in (
        (("clips.txt",), None),
        ((bundle,), None),
        ((companion,), None),
        ((bundle, companion), "origin/main"),
    ):
        git(project, "read-tree", "--empty")
        git(project, "add", *names)
        git(project, "commit", "-q", "-m", " ".join(names))
        git(project, "update-ref", "refs/remotes/origin/main", "HEAD")
        command("init", "--force")
        assert written(project).get("base") == base, names
    with_bundle(project, "meta", "bone_names", value=lambda names: names[::-1])
    assert "RP969" in command("gate", "--format", "json").out


@pytest.mark.parametrize(
    ("named", "clips", "own", "expected"),
    [
        (None, (), (), None), (None, (), ("walk_1.npz",), "walk_1.npz"), (None, ("walk.json",), ("walk_1.npz",), "walk.json"),
        ("run", ("walk.json", "run.clip.json", "run.json"), (), "run.clip.json"),
    ],
)  # fmt: skip
def test_a_recording_is_driven_by_the_clip_that_it_names_or_is_named_after_or_by_itself(
    named: str | None, clips: Iterable[str], own: Iterable[str], expected: str | None
) -> None:
    """A recording that is driven by its own numbers agrees with a clip that nobody played."""
    found = FoundFiles(clips=[*map(Path, clips)], own_clips=[*map(Path, own)])
    trace: Any = SimpleNamespace(header=SimpleNamespace(clip=named))
    assert clip_of_trace(Path("walk_1.npz"), trace, found) == (expected and Path(expected))
