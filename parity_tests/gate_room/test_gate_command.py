"""`rigpact gate` as people and build servers use it."""

import json
import shutil
import tomllib
from collections.abc import Iterable
from dataclasses import replace
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import onnx
import pytest

from rigpact.contract.rules.structure import check_against_schema
from rigpact.contract.settings.configuration import read_configuration
from rigpact.contract.settings.gate import KEY, RecordedRun
from rigpact.contract.settings.table import tables_of
from rigpact.fixtures.mutants import MODEL_EDITS, edited_model
from rigpact.reference_runtime import read_trace, write_trace
from rigpact.reports.gate.found_files import FoundFiles, clip_of_trace

from ..engine_recordings import ENGINE
from ..soon import SOON
from ..trust_room.tiny_project import git
from .conftest import CLIP, FILES, FREE, TRACE, codes, gated, record, respoil
from .test_gate_rules import other_convention, with_bundle

BUNDLE = "[gate]\nbundle = 'norm_template.json'\n"
QUICK = f"{BUNDLE}free-run = false\n"
NONE_PASSES = {
    None: "rigpact.toml", '[severity]\nRP070 = "error"\n': "[gate]", "[gate]\n": "no bundle",
    QUICK + 'clips = ["clip/*.json"]\n': "clip/*.json",
    "[gate]\nbundel = 'a'": "bundel", "[gate]\nbundle = 3": "gate.bundle", "[gate]\nframes = 0": "gate.frames",
    "[gate]\nframes = 1.5": "gate.frames", "[gate]\nstrict = 'yes'": "gate.strict", "[gate]\nclips = [3]": "clips",
    "[gate]\nteacher = 'x'": "gate.teacher", "[[gate.teacher]]\nclip = 'x'": "no file", "[[gate.trace]]\nfile = 'x'": "no clip",
    f"{BUNDLE}[[gate.trace]]\nfile = 'x'\nclip = 'c'\nstages = ['y_uot']": "y_uot",
    "[[gate.trace]]\nfile = 'x.a'\nclip = 'c'\n[[gate.teacher]]\nfile = 'd/x.b'": "'x' again",
    f"{BUNDLE}[gate.conventions]\ncompose_order = 'sideways'": "gate.conventions.compose_order",
    f"{BUNDLE}[gate.conventions]\nknob = 'x'": "knob", "[gate.thresholds]\npose-deg = -1": "pose-deg",
    "[gate.thresholds]\npose-rad = 1": "pose-rad", "[gate.budget]\nparameters = 'few'": "parameters",
    "[[gate.waive]]\npart = 'files'\nowner = 'A'\nreason = 'r'": "no expires",
    "[[gate.waive]]\npart = 'files'\nowner = 'A'\nreason = 'r'\nexpires = 'soon'": "expires",
    "[[gate.waive]]\npart = 'files'\nowner = ''\nreason = 'r'\nexpires = '2030-01-01'": "owner", "gate = 3": "gate",
}  # fmt: skip
"""Settings that ask nothing, or something else than they seem to, and the place that the error names."""


def configure(project: Path, text: str) -> None:
    (project / "rigpact.toml").write_text(text, encoding="utf-8")


@pytest.mark.usefixtures("no_search")
def test_the_same_files_give_the_same_bytes_anywhere(project, tmp_path, command, monkeypatch):
    """A cached verdict must not depend on the folder, on where the command was started, or on the hour; nor does the page."""
    record(project, TRACE, compose_order="prev_delta")
    configure(project, FILES)
    other, page = tmp_path / "elsewhere" / "deep", tmp_path / "page.html"
    shutil.copytree(project, other)
    first = command("gate", "--format", "json", "--html", page)
    one = page.read_bytes()
    monkeypatch.chdir(tmp_path)
    second = command("gate", "--config", other / "rigpact.toml", "--format", "json", "--html", page)
    assert (first.status, first.out, page.read_bytes()) == (1, second.out, one)
    assert str(tmp_path) not in first.out


def test_the_answer_is_written_in_every_format(project, command):
    """One run feeds the merge request, the test view and the people; the settings may stand in pyproject.toml."""
    text = QUICK.replace("[gate]", "[tool.rigpact.gate]")
    (project / "pyproject.toml").write_text(text, encoding="utf-8")
    names = ["a.json", "a.xml", "a.sarif", "a.md", "a.txt", "github=b.txt", "markdown=summary"]
    reports = [word for name in names for word in ("--report", name)]
    answer = command("gate", *reports, "--html", "page.html", "--format", "markdown")
    written = {
        path.name: path.read_text(encoding="utf-8")
        for path in project.iterdir()
        if path.suffix != ".onnx" and path.is_file()
    }
    assert (answer.status, answer.out, written["summary"]) == (0, written["a.md"], written["a.md"])
    assert json.loads(written["a.json"])["format"] == "rigpact-gate"
    assert json.loads(written["a.sarif"])["version"] == "2.1.0"
    assert written["a.xml"].startswith("<?xml")
    assert "<html" in written["page.html"]


@pytest.mark.parametrize(
    "words",
    [
        ("a.pdf",), ("a",), ("pdf=a.json",), ("json",), ("sarif=a.json", "--report", "json=./a.json"),
        ("junit=a.html", "--html", "a.html"),
    ],
)  # fmt: skip
def test_a_report_that_cannot_be_stops_before_anything_runs(project, command, words):
    """A typing error is told before the gate runs; of two on one path code scanning read an empty list."""
    configure(project, QUICK)
    answer = command("gate", "--report", *words)
    assert (answer.status, answer.out, "--report" in answer.err or "twice" in answer.err) == (2, "", True)
    assert not list(project.glob("a.*"))


def test_clips_say_what_they_cannot_show(project, command):
    """An engine with a convention that no clip shows passes every comparison; one judgement, and all its words."""
    configure(project, f'{QUICK}clips = ["clips/Run_F.json", "clips/Walk_Spin.json"]\n')
    (line,) = [line for line in command("gate").out.splitlines() if "Conventions that the clips show" in line]
    assert (
        "64 of 64 judged; clips/Walk_Spin.json shows as much as all clips; no clip can show denorm=std_only, " in line
    )


@pytest.mark.parametrize("text", NONE_PASSES)
def test_settings_that_ask_nothing_do_not_pass(project, command, text):
    """A gate without questions, or with a misspelt key that is skipped in silence, asks nothing and passes."""
    if text is not None:
        configure(project, text)
    answer = command("gate")
    assert (answer.status, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert NONE_PASSES[text] in answer.err


def test_a_bundle_that_the_engine_refuses_is_told_once(project):
    """The same refusal in six parts would hide the cause."""
    bundle = json.loads((project / "norm_template.json").read_text(encoding="utf-8"))
    del bundle["StdY"]
    (project / "norm_template.json").write_text(json.dumps(bundle), encoding="utf-8")
    report = gated(project, FILES)
    assert len([finding for finding in report.findings if finding.rule.engine_refuses]) == 1
    assert (report.verdict, "StdY" in report.next_steps[0]) == ("fail", True)
    assert {part.name: part.verdict for part in report.parts}["engine-trace/sneak"] == "undetermined"


@pytest.mark.usefixtures("no_search")
def test_a_convention_may_be_declared(project):
    """Both sides compose the other way round on purpose: then that is the contract."""
    assert other_convention(project).verdict == "fail"
    declared = FILES.replace("[[gate", '[gate.conventions]\ncompose_order = "prev_delta"\n[[gate')
    assert gated(project, declared).verdict == "pass"


@pytest.mark.usefixtures("no_search")
def test_a_stage_that_vanishes_is_missed(project):
    """A team could stop recording a failing stage to get a pass; a stage required by name must be there."""
    trace = read_trace(project / TRACE)
    stages = {name: trace.stages[name].copy() for name in ("x_raw", "y_norm", "y_out")}
    wanted = FILES + 'stages = ["x_raw", "y_norm", "y_out"]\n'
    write_trace(replace(trace, stages=stages, mapping=None), project / TRACE)
    assert gated(project, wanted).verdict == "pass"
    del stages["y_out"]
    write_trace(replace(trace, stages=stages, mapping=None), project / TRACE)
    report = gated(project, wanted)
    assert (report.verdict, report.ledger.missing) == ("fail", 32 * 276)
    assert {finding.rule.code for finding in report.findings if finding.file == TRACE} == {"RP802"}


@pytest.mark.usefixtures("no_search")
def test_the_same_nan_on_both_sides_is_no_parity(project):
    """Two sides that both answer NaN differ in nothing."""
    model = project / "model.onnx"
    model.write_bytes(edited_model(model.read_bytes(), MODEL_EDITS["a NaN in one weight"]))
    record(project, TRACE)
    report = gated(project, FILES.replace('model = "model.onnx"\n', 'model = "model.onnx"\nstrict = true\n'))
    assert (report.verdict, "RP804" in codes(report)) == ("fail", True)


def test_known_findings_are_waived_across_parts(project, command):
    """The file of known findings is one for all commands; each entry is used once, not asked for in every part."""
    with_bundle(project, "StdX", 40, value=0.0)
    assert gated(project, QUICK).verdict == "fail"
    owner = ("--owner", "Ana", "--reason", "next export", "--expires", SOON)
    command("check", "norm_template.json", "--write-baseline", "known.json", *owner)
    report = gated(project, f'baseline = "known.json"\n{QUICK}', date.today())
    assert [part.name for part in report.parts] == ["files", "waivers"]
    assert ([finding.rule.code for finding in report.findings], report.verdict) == (["RP955"], "pass")
    assert report.ledger.waived > 0


def test_a_waived_part_is_no_way_to_an_empty_gate(project):
    """With every part waived nothing is compared, and that is never a pass."""
    (project / "norm_template.json").write_text('{"meta": {"state_layout": {}}}', encoding="utf-8")
    waiver = '[[gate.waive]]\npart = "files"\nowner = "Ana"\nreason = "r"\nexpires = "2030-06-30"\n'
    report = gated(project, QUICK + waiver)
    (files,) = [part for part in report.parts if part.name != "waivers"]
    assert (files.name, files.verdict, files.report.ledger.compared) == ("files", "pass", 0)
    assert report.verdict == "undetermined"


def test_steps_are_few_and_the_worst_first(project):
    """People do not read a long page; three free runs without their model are one thing to repair, not three."""
    with_bundle(project, "StdX", slice(20, 60), value=[0.0] * 40)
    steps: Any = other_convention(project).next_steps
    assert (len(steps), "compose_order" in steps[0]) == (3, True)
    assert any("StdX[" in step for step in steps)
    record(project, TRACE)
    text = FILES.replace('model = "model.onnx"\n', "")
    for index in range(3):
        text += f'[[gate.trace]]\nfile = "{TRACE}"\nclip = "clips/Run_F.json"\nmode = "free"\nname = "run{index}"\n'
    steps = gated(project, text).next_steps
    assert ("no model" in steps[0], "2 more of RP960" in steps[0]) == (True, True)
    assert any("StdX" in step for step in steps[1:])


def test_the_demo_passes_with_what_init_writes(demo_bundle, tmp_path, command, monkeypatch):
    """A new user's first two commands must pass on the demo."""
    shutil.copytree(demo_bundle, tmp_path / "game")
    monkeypatch.chdir(tmp_path / "game")
    assert command("init").status == 0
    settings = Path("rigpact.toml").read_text(encoding="utf-8")
    configure(Path(), settings.replace("[gate]\n", "[gate]\nframes = 8\n", 1))
    answer = command("gate", "--format", "json")
    document = json.loads(answer.out)
    assert (answer.status, document["verdict"], document["ledger"]["missing"]) == (0, "pass", 0)
    assert [part["name"] for part in document["parts"]] == [
        "files", "model", "teacher/Sneak_Turn_prediction", "teacher/Sneak_Turn_teacher", "engine-trace/Sneak_Turn", "free-run",
        "adequacy",
    ]  # fmt: skip
    assert set(document["not_asked"]) == {"breaking", "budget"}
    assert {f["severity"] for part in document["parts"] for f in part["findings"]} <= {"info"}
    assert list(check_against_schema(document, "gate_report")) == []


@pytest.mark.usefixtures("no_search")
def test_a_stage_may_be_waived_until_a_day(project):
    """A known defect of the recorder must not hide one of the engine; nor may it stay for ever."""
    trace = record(project, TRACE)
    flipped = {"quat": trace.stages["quat"][:, ::-1].copy()}
    respoil(project, trace, TRACE, flipped)
    who = 'stage = "quat"\nowner = "Ana"\nreason = "r"\nexpires = "2030-06-01"\n'
    waiver = f'{FILES}[[gate.waive]]\npart = "engine-trace/sneak"\n{who}'
    before, after = gated(project, waiver), gated(project, waiver, date(2030, 6, 2))
    assert (before.verdict, after.verdict, gated(project, FILES).verdict) == ("pass", "fail", "fail")
    (ledger,) = [part.report.ledger for part in before.parts if part.name == "engine-trace/sneak"]
    assert (ledger.waived, ledger.missing) == (32 * 46 * 4 + trace.stages["x_raw_next"].shape[1], 0)
    respoil(project, trace, TRACE, {**flipped, "y_out": trace.stages["y_out"] + 0.1})
    assert gated(project, waiver).verdict == "fail"


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
