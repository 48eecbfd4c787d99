"""`rigpact gate` as people and build servers use it."""

import json
import shutil
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from rigpact.contract.rules.files.structure import check_against_schema
from rigpact.reference_runtime import read_trace
from rigpact.reports.engine.canary import PositionalModel

from ..soon import SOON
from .conftest import FILES, TRACE, Command, gated, record, respoil

BUNDLE = "[gate]\nbundle = 'norm_template.json'\n"
QUICK = '[gate]\nbundle = "norm_template.json"\nfree-run = false\n'


def configure(project: Path, text: str) -> None:
    (project / "rigpact.toml").write_text(text, encoding="utf-8")


def test_the_demo_passes_with_what_init_writes(
    demo_bundle: Path, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new user's first two commands must pass on the demo."""
    folder = tmp_path / "game"
    shutil.copytree(demo_bundle, folder)
    monkeypatch.chdir(folder)

    assert command("init").status == 0
    answer = command("gate", "--format", "json", "--archive", "kept.rigpact.zip")

    document = json.loads(answer.out)
    assert (answer.status, document["verdict"]) == (0, "pass")
    names = [part["name"] for part in document["parts"]]
    assert names == [
        "files",
        "model",
        "teacher/Sneak_Turn_prediction",
        "teacher/Sneak_Turn_teacher",
        "engine-trace/Sneak_Turn",
        "free-run",
        "adequacy",
    ]
    assert set(document["not_asked"]) == {"breaking", "budget"}
    assert document["ledger"]["missing"] == 0
    assert [
        finding for part in document["parts"] for finding in part["findings"] if finding["severity"] != "info"
    ] == []
    assert list(check_against_schema(document, "gate_report")) == []
    assert not any("[[gate.trace]]" in step for step in document["next_steps"])


def test_the_same_files_give_the_same_bytes_anywhere(
    project: Path, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cached verdict, or a diff of two, must not depend on the folder, on where the command was started, or on the hour."""
    record(project, TRACE, compose_order="prev_delta")
    configure(project, FILES)
    other = tmp_path / "elsewhere" / "deep"
    shutil.copytree(project, other)
    words = ("--format", "json", "--archive", tmp_path / "one.rigpact.zip")
    first = command("gate", *words)
    one = (tmp_path / "one.rigpact.zip").read_bytes()
    second = command("gate", *words)

    monkeypatch.chdir(tmp_path)
    third = command("gate", "--config", other / "rigpact.toml", *words)

    assert first.status == 1
    assert first.out == second.out == third.out
    assert (tmp_path / "one.rigpact.zip").read_bytes() == one
    assert str(tmp_path) not in first.out


def test_the_answer_is_written_in_every_format(project: Path, command: Command) -> None:
    """One run feeds the merge request, the test view and the people."""
    configure(project, QUICK)
    names = ["a.json", "a.xml", "a.sarif", "a.md", "a.txt", "github=b.txt", "markdown=summary"]
    reports = [word for name in names for word in ("--report", name)]

    answer = command("gate", *reports, "--html", "page.html", "--format", "markdown")

    assert answer.status == 0
    assert (
        answer.out
        == (project / "a.md").read_text(encoding="utf-8")
        == (project / "summary").read_text(encoding="utf-8")
    )
    assert json.loads((project / "a.json").read_text(encoding="utf-8"))["format"] == "rigpact-gate"
    assert json.loads((project / "a.sarif").read_text(encoding="utf-8"))["version"] == "2.1.0"
    assert (project / "a.xml").read_text(encoding="utf-8").startswith("<?xml")
    assert "<html" in (project / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("word", ["a.pdf", "a", "pdf=a.json", "json"])
def test_an_unknown_format_stops_before_anything_runs(project: Path, command: Command, word: str) -> None:
    """A typing error must be reported before the gate runs."""
    configure(project, QUICK.replace("norm_template", "nothing"))

    answer = command("gate", "--report", word)

    assert (answer.status, answer.out) == (2, "")
    assert "--report" in answer.err


def test_clips_say_what_they_cannot_show(project: Path, command: Command) -> None:
    """An engine with a convention that no clip shows passes every comparison; one judgement, and all its words."""
    clips = '"clips/Run_F.json", "clips/Walk_Spin.json"'
    configure(project, QUICK.replace('norm_template.json"', f'norm_template.json"\nclips = [{clips}]'))
    both = command("gate").out
    (line,) = [line for line in both.splitlines() if "Conventions that the clips show" in line]
    assert (
        "64 of 64 judged; clips/Walk_Spin.json shows as much as all clips; no clip can show denorm=std_only, " in line
    )
    configure(project, QUICK.replace('norm_template.json"', 'norm_template.json"\nclips = ["clips/Run_F.json"]'))
    one = command("gate", "--strict")
    assert "no clip tells yaw_encoding = unwrapped_over_pi, absolute from the contract's " in one.out
    assert "`rigpact run --probe probe.json` writes a clip" in one.out
    assert one.status == 1


def test_a_recording_alone_shows_the_order_of_inputs(project: Path, command: Command) -> None:
    """A project without clips was told that nothing says it; the order that an engine bound is that engine's mistake."""
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


def test_an_archive_shows_the_same_page(
    project: Path, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page from an archive must equal the page from the run; where no settings govern, nothing is judged, and it says so."""
    configure(project, FILES)
    command("gate", "--archive", "kept.rigpact.zip", "--html", "now.html")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    kept = ("gate", "--from", project / "kept.rigpact.zip")

    answer = command(*kept, "--html", "later.html", "--report", "later.json")

    assert answer.status == 0
    assert "as it was given" in answer.err
    assert Path("later.html").read_bytes() == (project / "now.html").read_bytes()
    refused = command(*kept, "--base", "HEAD", "--strict", "--archive", "again.rigpact.zip")
    assert refused.status == 2
    assert "--archive, --base, --strict" in refused.err


def test_without_a_gate_nothing_passes(project: Path, command: Command, tmp_path: Path) -> None:
    """A gate without questions must not pass."""
    assert command("gate").status == 2  # no configuration
    configure(project, '[severity]\nRP070 = "error"\n')
    answer = command("gate")
    assert answer.status == 2
    assert "[gate]" in answer.err
    configure(project, "[gate]\n")
    assert "no bundle" in command("gate").err
    configure(project, QUICK + 'clips = ["clip/*.json"]\n')
    assert "clip/*.json" in command("gate").err


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[gate]\nbundel = 'a'", "'bundle' was meant"),
        ("[gate]\nbundle = 3", "a file name"),
        ("[gate]\nframes = 0", "a positive number"),
        ("[gate]\nframes = 1.5", "a whole number"),
        ("[gate]\nstrict = 'yes'", "true or false"),
        ("[gate]\nclips = [3]", "clips"),
        ("[gate]\nteacher = 'x'", "[[gate.teacher]]"),
        ("[[gate.teacher]]\nclip = 'x'", "no file"),
        ("[[gate.trace]]\nfile = 'x'", "no clip"),
        (f"{BUNDLE}[[gate.trace]]\nfile = 'x'\nclip = 'c'\nstages = ['y_uot']", "'y_out' was meant"),
        ("[[gate.trace]]\nfile = 'x.a'\nclip = 'c'\n[[gate.teacher]]\nfile = 'd/x.b'", "'x' again"),
        (f"{BUNDLE}[gate.conventions]\ncompose_order = 'sideways'", "gate.conventions.compose_order"),
        (f"{BUNDLE}[gate.conventions]\nknob = 'x'", "knob"),
        ("[gate.thresholds]\npose-deg = -1", "a positive number"),
        ("[gate.thresholds]\npose-rad = 1", "'pose-deg' was meant"),
        ("[gate.budget]\nparameters = 'few'", "a positive number"),
        ("[[gate.waive]]\npart = 'files'\nowner = 'A'\nreason = 'r'", "no expires"),
        ("[[gate.waive]]\npart = 'files'\nowner = 'A'\nreason = 'r'\nexpires = 'soon'", "YYYY-MM-DD"),
        ("[[gate.waive]]\npart = 'files'\nowner = ''\nreason = 'r'\nexpires = '2030-01-01'", "owner"),
        ("gate = 3", "a table"),
    ],
)
def test_a_bad_setting_is_one_line_with_its_place(project: Path, command: Command, text: str, says: str) -> None:
    """A misspelt key that is skipped in silence asks nothing and passes."""
    configure(project, text)

    answer = command("gate")

    assert (answer.status, answer.out) == (2, "")
    assert answer.err.count("\n") == 1
    assert says in answer.err


def test_the_settings_may_stand_in_pyproject(project: Path, command: Command) -> None:
    """One file less in the root of a Python project."""
    text = '[tool.rigpact.gate]\nbundle = "norm_template.json"\nfree-run = false\n'
    (project / "pyproject.toml").write_text(text, encoding="utf-8")

    assert command("gate").status == 0


def test_a_part_that_cannot_be_judged_stops_the_build(project: Path, command: Command) -> None:
    """After a crash of the recorder the file is empty: a pass would mean that the engine agrees."""
    (project / TRACE).write_bytes(b"")
    configure(project, FILES)

    answer = command("gate")

    assert answer.status == 2
    assert "UNDETERMINED" in answer.out
    assert "an empty file" in answer.out


def test_a_bundle_that_the_engine_refuses_is_told_once(project: Path) -> None:
    """The same refusal in six parts would hide the cause."""
    bundle = json.loads((project / "norm_template.json").read_text(encoding="utf-8"))
    del bundle["StdY"]
    (project / "norm_template.json").write_text(json.dumps(bundle), encoding="utf-8")

    report = gated(project, FILES)

    assert report.verdict == "fail"
    refusals = [finding for finding in report.findings if finding.rule.engine_refuses]
    assert len(refusals) == 1
    assert "StdY" in report.next_steps[0]
    assert {part.name: part.verdict for part in report.parts}["engine-trace/sneak"] == "undetermined"


def test_a_convention_may_be_declared(project: Path) -> None:
    """Both sides compose the other way round on purpose: then that is the contract."""
    record(project, TRACE, compose_order="prev_delta")

    assert gated(project, FILES).verdict == "fail"
    assert (
        gated(project, FILES.replace("[[gate", '[gate.conventions]\ncompose_order = "prev_delta"\n[[gate')).verdict
        == "pass"
    )


def test_a_stage_that_vanishes_is_missed(project: Path) -> None:
    """A team could stop recording a failing stage to get a pass; a stage required by name must be there."""
    from dataclasses import replace

    from rigpact.reference_runtime import read_trace, write_trace

    trace = read_trace(project / TRACE)
    stages = {name: trace.stages[name].copy() for name in ("x_raw", "y_norm", "y_out")}
    wanted = FILES + 'stages = ["x_raw", "y_norm", "y_out"]\n'
    write_trace(replace(trace, stages=stages, mapping=None), project / TRACE)
    assert gated(project, wanted).verdict == "pass"
    del stages["y_out"]
    write_trace(replace(trace, stages=stages, mapping=None), project / TRACE)

    report = gated(project, wanted)

    assert report.verdict == "fail"
    assert {finding.rule.code for finding in report.findings if finding.file == TRACE} == {"RP802"}
    assert report.ledger.missing == 32 * 276


def test_a_stage_may_be_waived_until_a_day(project: Path) -> None:
    """A known defect of the recorder must not hide one of the engine; nor may it stay for ever."""
    from .conftest import respoil

    trace = record(project, TRACE)
    respoil(project, trace, TRACE, {"quat": trace.stages["quat"][:, ::-1].copy()})
    waiver = (
        FILES
        + '[[gate.waive]]\npart = "engine-trace/sneak"\nstage = "quat"\nowner = "Ana"\nreason = "r"\nexpires = "2030-06-01"\n'
    )
    before, after = gated(project, waiver), gated(project, waiver, date(2030, 6, 2))

    assert gated(project, FILES).verdict == "fail"
    assert (before.verdict, after.verdict) == ("pass", "fail")
    part = next(part for part in before.parts if part.name == "engine-trace/sneak")
    last_next_state = trace.stages["x_raw_next"].shape[1]
    assert part.report.ledger.waived == 32 * 46 * 4 + last_next_state
    assert part.report.ledger.missing == 0
    respoil(project, trace, TRACE, {"quat": trace.stages["quat"][:, ::-1].copy(), "y_out": trace.stages["y_out"] + 0.1})
    assert gated(project, waiver).verdict == "fail"


def test_known_findings_are_waived_across_parts(project: Path, command: Command) -> None:
    """The file of known findings is one for all commands; each entry is used once, not asked for in every part."""
    bundle = json.loads((project / "norm_template.json").read_text(encoding="utf-8"))
    bundle["StdX"][40] = 0.0
    (project / "norm_template.json").write_text(json.dumps(bundle), encoding="utf-8")
    owner = ("--owner", "Ana", "--reason", "next export", "--expires", SOON)
    assert gated(project, QUICK).verdict == "fail"
    command("check", "norm_template.json", "--write-baseline", "known.json", *owner)

    report = gated(project, f'baseline = "known.json"\n{QUICK}', date.today())

    assert report.verdict == "pass"
    assert [part.name for part in report.parts] == ["files", "waivers"]
    assert [finding.rule.code for finding in report.findings] == ["RP955"]
    assert report.ledger.waived > 0


def test_a_waived_part_is_no_way_to_an_empty_gate(project: Path) -> None:
    """With every part waived nothing is compared, and that is never a pass."""
    (project / "norm_template.json").write_text('{"meta": {"state_layout": {}}}', encoding="utf-8")
    waiver = '[[gate.waive]]\npart = "files"\nowner = "Ana"\nreason = "r"\nexpires = "2030-06-30"\n'

    report = gated(project, QUICK + waiver)

    assert [(part.name, part.verdict) for part in report.parts if part.name != "waivers"] == [("files", "pass")]
    judged = [part for part in report.parts if part.name != "waivers"]
    assert sum(part.report.ledger.compared for part in judged) == 0
    assert report.verdict == "undetermined"


def test_steps_are_few_and_the_worst_first(project: Path, command: Command) -> None:
    """People do not read a long page of findings."""
    bundle = json.loads((project / "norm_template.json").read_text(encoding="utf-8"))
    for place in range(20, 60):
        bundle["StdX"][place] = 0.0
    bundle["fps"] = 24
    (project / "norm_template.json").write_text(json.dumps(bundle), encoding="utf-8")
    record(project, TRACE, compose_order="prev_delta")

    steps: Any = gated(project, FILES).next_steps

    assert len(steps) == 3
    assert "compose_order" in steps[0]
    assert any("StdX[" in step for step in steps)


def test_one_reason_is_one_step(project: Path) -> None:
    """Three free runs without their model are one thing to repair, not three; what else is wrong must not be crowded out."""
    bundle = json.loads((project / "norm_template.json").read_text(encoding="utf-8"))
    bundle["StdX"][40] = 0.0
    (project / "norm_template.json").write_text(json.dumps(bundle), encoding="utf-8")
    text = FILES.replace('model = "model.onnx"\n', "")
    for index in range(3):
        text += f'[[gate.trace]]\nfile = "{TRACE}"\nclip = "clips/Run_F.json"\nmode = "free"\nname = "run{index}"\n'

    steps = gated(project, text).next_steps

    assert "no model" in steps[0]
    assert "2 more of RP960" in steps[0]
    assert any("StdX" in step for step in steps[1:])
