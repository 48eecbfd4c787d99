"""`rigpact gate` as people and build servers use it."""

import json
import shutil
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from rigpact.contract.rules.structure import check_against_schema
from rigpact.fixtures.mutants import MODEL_EDITS, edited_model
from rigpact.reference_runtime import read_trace, write_trace
from rigpact.reports.engine.canary import PositionalModel

from ..soon import SOON
from .conftest import FILES, TRACE, codes, gated, record, respoil
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
    other, kept = tmp_path / "elsewhere" / "deep", tmp_path / "one.rigpact.zip"
    shutil.copytree(project, other)
    first = command("gate", "--format", "json", "--archive", kept, "--html", tmp_path / "now.html")
    one = kept.read_bytes()
    monkeypatch.chdir(tmp_path)
    second = command("gate", "--config", other / "rigpact.toml", "--format", "json", "--archive", kept)
    assert (first.status, first.out, kept.read_bytes()) == (1, second.out, one)
    assert str(tmp_path) not in first.out
    answer = command("gate", "--from", kept, "--html", "later.html")  # where no settings govern, nothing is judged
    assert (answer.status, "as it was given" in answer.err) == (1, True)
    assert Path("later.html").read_bytes() == (tmp_path / "now.html").read_bytes()
    refused = command("gate", "--from", kept, "--base", "HEAD", "--strict", "--archive", "again.rigpact.zip")
    assert (refused.status, "--archive, --base, --strict" in refused.err) == (2, True)


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
        ("junit=a.html", "--html", "a.html"), ("json=a.rigpact.zip", "--archive", "a.rigpact.zip"),
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


def test_a_recording_alone_shows_the_order_of_inputs(project, command):
    """The order that an engine bound is that engine's mistake: a project without clips was told that nothing says it."""
    configure(project, FILES)
    right = json.loads(command("gate", "--format", "json").out)
    (model,) = [part for part in right["parts"] if part["name"] == "model"]
    assert [each["confirmed"] for each in model["summary"]["canary"]] == [True]
    assert "order of inputs" not in right["not_asked"]
    trace = read_trace(project / TRACE)
    swapped = [trace.stages[name] for name in ("cond", "state", "contacts", "angvel", "pose_hist")]
    respoil(project, trace, TRACE, {"y_norm": PositionalModel(project / "model.onnx").run(swapped)})
    wrong = json.loads(command("gate", "--format", "json").out)
    assert {cause["side"] for cause in wrong["causes"] if "RP416" in cause["codes"]} == {"engine"}


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


def test_a_part_that_cannot_be_judged_stops_the_build(project, command):
    """After a crash of the recorder the file is empty: a pass would mean that the engine agrees."""
    (project / TRACE).write_bytes(b"")
    configure(project, FILES)
    answer = command("gate")
    assert (answer.status, "UNDETERMINED" in answer.out, "an empty file" in answer.out) == (2, True, True)


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
