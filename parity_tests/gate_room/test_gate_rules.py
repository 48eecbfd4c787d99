"""Every rule of the gate fires on its defect, and the sound project passes.

golden/ holds the finding of each rule. RIGPACT_REGENERATE=1 writes them anew; read the difference before it is committed.
"""

import contextlib
import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from rigpact.contract import load_contract
from rigpact.contract.errors import UnusableInput
from rigpact.contract.findings import FindingsReport, Ledger, Severity
from rigpact.contract.rules.answers import gate as rules
from rigpact.contract.settings.configuration import read_configuration
from rigpact.contract.settings.gate import GateSettings
from rigpact.fixtures.mutants.model_files import MODEL_EDITS, edited_model
from rigpact.reference_runtime.recordings.trace import write_trace
from rigpact.reports.describing.breaking_text import write_record
from rigpact.reports.gate.answer.part import Part
from rigpact.reports.gate.answer.report import GateReport
from rigpact.reports.gate.guarding import guarded as guarded_by_base
from rigpact.reports.gate.judging import _judged, judge_gate
from rigpact.reports.gate.measured import Measured
from rigpact.reports.gate.parts import free_run
from rigpact.reports.gate.parts.catalogue import PartKind
from rigpact.reports.gate.run_gate import other_files
from rigpact.reports.nonfinite.investigation import Investigation

from ..some_bones import of_bones, written
from .conftest import CLIP, DAY, FILES, FREE, TRACE, codes, gated, measured, record, respoil

GOLDEN = Path(__file__).parent / "golden"
REGENERATE = bool(os.environ.get("RIGPACT_REGENERATE"))
BONE, FRAME = 12, 9
ONLY_FILES = '[gate]\nbundle = "norm_template.json"\nfree-run = false\n'
WAIVER = '\n[[gate.waive]]\npart = "engine-trace/sneak"\nowner = "Ana"\nreason = "next build"\nexpires = "2030-06-30"\n'


def nudged(folder: Path, name: str = TRACE, **how: Any) -> None:
    """One bone's published pose turned by a few degrees in one frame: the columns of its matrix, by hand."""
    trace = record(folder, name, **how)
    pose = trace.stages["y_out"].copy()
    six = pose[FRAME, 6 * BONE : 6 * BONE + 6].astype(float)
    angle = np.radians(3.0)
    turn = np.array([[np.cos(angle), -np.sin(angle), 0.0], [np.sin(angle), np.cos(angle), 0.0], [0.0, 0.0, 1.0]])
    pose[FRAME, 6 * BONE : 6 * BONE + 6] = np.concatenate((turn @ six[:3], turn @ six[3:]))
    respoil(folder, trace, name, {"y_out": pose})


def git(folder: Path, *words: str) -> None:
    subprocess.run(
        ["git", "-C", str(folder), "-c", "user.name=t", "-c", "user.email=t@t", *words], check=True, capture_output=True
    )


def rescaled(folder: Path) -> None:
    """The bundle committed, then one of its numbers changed."""
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "norm_template.json")
    git(folder, "commit", "-q", "-m", "bundle")
    bundle = json.loads((folder / "norm_template.json").read_text(encoding="utf-8"))
    bundle["MuX"][40] += 0.01
    (folder / "norm_template.json").write_text(json.dumps(bundle), encoding="utf-8")


def of_some_bones(folder: Path) -> GateReport:
    contract = load_contract(folder / "norm_template.json", folder / "pretrain_template.json")
    written(folder, of_bones(record(folder, TRACE), contract, (0, 1, 2)), TRACE)
    return gated(folder, FILES)


def missing_trace(folder: Path) -> GateReport:
    (folder / TRACE).unlink()
    return gated(folder, FILES)


def other_convention(folder: Path) -> GateReport:
    record(folder, TRACE, compose_order="prev_delta")
    return gated(folder, FILES)


def one_bone_off(folder: Path) -> GateReport:
    nudged(folder)
    return gated(folder, FILES)


def conjugated(folder: Path) -> GateReport:
    """Every published quaternion is the inverse of what it should be: no convention says so, a relation does."""
    trace = record(folder, TRACE)
    quats = trace.stages["quat"].copy().reshape(len(trace.frame), -1, 4)
    quats[..., :3] *= -1.0
    respoil(folder, trace, TRACE, {"quat": quats.reshape(len(trace.frame), -1)})
    return gated(folder, FILES)


def beyond_limit(folder: Path) -> GateReport:
    nudged(folder)
    return gated(folder, FILES + "[gate.thresholds]\npose-deg = 2.5\n")


def beyond_factor(folder: Path) -> GateReport:
    trace = record(folder, TRACE)
    pose = trace.stages["y_out"].copy()
    pose[FRAME, 6 * BONE] += 0.01
    respoil(folder, trace, TRACE, {"y_out": pose})
    return gated(folder, FILES + "[gate.thresholds]\ntolerance-factor = 2\n")


def let_be(folder: Path) -> GateReport:
    trace = record(folder, TRACE)
    pose = trace.stages["y_out"].copy()
    pose[FRAME, 6 * BONE] += 0.0001
    respoil(folder, trace, TRACE, {"y_out": pose})
    return gated(folder, FILES + "[gate.thresholds]\ntolerance-factor = 8000\n")


def archived(folder: Path) -> GateReport:
    """Measured, then the bundle changed: the archive is judged beside another file."""
    measurement = measured(folder, ONLY_FILES)
    bundle = json.loads((folder / "norm_template.json").read_text(encoding="utf-8"))
    bundle["StdX"][17] = 0
    (folder / "norm_template.json").write_text(json.dumps(bundle), encoding="utf-8")
    with contextlib.chdir(folder):
        return judge_gate(measurement, read_configuration(Path("rigpact.toml")), DAY, tuple(other_files(measurement)))


def not_finite(folder: Path) -> GateReport:
    model = folder / "model.onnx"
    model.write_bytes(edited_model(model.read_bytes(), MODEL_EDITS["a NaN in one weight"]))
    text = '[gate]\nbundle = "norm_template.json"\nmodel = "model.onnx"\nframes = 20\n'
    return gated(folder, f'{text}free-run = "{CLIP}"\n')


def diverging(folder: Path) -> GateReport:
    found = tuple(free_run._findings(Investigation("diverging", 600), Path(CLIP), Path("norm_template.json")))
    return GateReport((Part(free_run.NAME, free_run.TITLE, FindingsReport(found, Ledger(600, 600))),), {})


def with_tail(*nodes: tuple[str, str, str]) -> Callable[[Path], GateReport]:
    """The demo's model with nodes after its answer, in a free run; `huge` is 1e27, `none` 0, `cap` 16."""

    def run(folder: Path) -> GateReport:
        model = onnx.load(str(folder / "model.onnx"))
        answer = model.graph.output[0].name
        next(node for node in model.graph.node if answer in node.output).output[0] = "answer"
        model.graph.node.extend(onnx.helper.make_node(op, inputs.split(), [out], name=out) for op, inputs, out in nodes)
        model.graph.node.append(onnx.helper.make_node("Identity", [nodes[-1][2]], [answer]))
        for name, value in (("huge", 1e27), ("none", 0.0), ("cap", 16.0)):
            model.graph.initializer.append(onnx.numpy_helper.from_array(np.float32(value), name))
        (folder / "model.onnx").write_bytes(model.SerializeToString())
        text = '[gate]\nbundle = "norm_template.json"\nmodel = "model.onnx"\nframes = 20\n'
        return gated(folder, f'{text}free-run = "{CLIP}"\n')

    return run


SWALLOWED = (
    ("Sub", "answer answer", "nothing"), ("Reciprocal", "nothing", "capped"), ("Min", "capped cap", "sixteen"),
    ("Mul", "sixteen none", "zero"), ("Add", "answer zero", "sum"),
)  # fmt: skip


def outside_envelope(folder: Path) -> GateReport:
    nudged(folder, FREE, mode="free", frames=20)
    text = FILES.replace(TRACE, FREE) + 'frames = 20\nmode = "free"\n'
    return gated(folder, text)


def by_ourselves(folder: Path) -> GateReport:
    trace = record(folder, TRACE)
    write_trace(replace(trace, header=replace(trace.header, producer="rigpact")), folder / TRACE)
    return gated(folder, FILES)


def other_widths_in_a_log(folder: Path) -> GateReport:
    (folder / "Game.log").write_text("[Schema OK] X=420 Y=276 C=7 fps=60.0\n", encoding="utf-8")
    return gated(folder, FILES.replace(TRACE, "Game.log"))


def playback(folder: Path) -> GateReport:
    trace = record(folder, TRACE)
    stages = {name: trace.stages[name] for name in ("y_out", "quat")}
    write_trace(replace(trace, header=replace(trace.header, mode="playback"), stages=stages), folder / TRACE)
    return gated(folder, FILES)


def breaking(folder: Path) -> GateReport:
    rescaled(folder)
    return gated(folder, f'{ONLY_FILES}base = "main"\n')


def acknowledged(folder: Path) -> GateReport:
    from rigpact.contract.compatibility import compare_contracts
    from rigpact.contract.documents import Kind, read_document
    from rigpact.reports.git_revision import opened_revision

    rescaled(folder)
    path = folder / "norm_template.json"
    with contextlib.chdir(folder), opened_revision("main") as base:
        found = compare_contracts(base.document(path, Kind.BUNDLE), read_document(path))
    write_record(found, folder / "CHANGES.md", date(2030, 1, 1))
    return gated(folder, f'{ONLY_FILES}base = "main"\nchange-record = "CHANGES.md"\n')


def straight_clip(folder: Path) -> GateReport:
    """A clip that never turns past half a turn cannot show how a heading is wrapped."""
    return gated(folder, f'{ONLY_FILES}clips = ["clips/Run_F.json"]\n')


def with_budget(line: str) -> Callable[[Path], GateReport]:
    text = '[gate]\nbundle = "norm_template.json"\nmodel = "model.onnx"\nfree-run = false\n[gate.budget]\n'
    return lambda folder: gated(folder, text + line)


def waived(folder: Path) -> GateReport:
    nudged(folder)
    return gated(folder, FILES + WAIVER)


def waived_too_long(folder: Path) -> GateReport:
    nudged(folder)
    return gated(folder, FILES + WAIVER, date(2030, 7, 1))


def guarded(folder: Path, text: str) -> GateReport:
    """The settings committed, then others judged beside those."""
    (folder / "rigpact.toml").write_text(FILES, encoding="utf-8")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "rigpact.toml", "norm_template.json", "pretrain_template.json")
    git(folder, "commit", "-q", "-m", "settings")
    measurement = measured(folder, text)
    with contextlib.chdir(folder):
        configuration = read_configuration(Path("rigpact.toml"))
        place = folder / "rigpact.toml"
        about = guarded_by_base(configuration, place, place, None).findings
        return judge_gate(measurement, configuration, DAY, about_settings=about)


BASED = FILES.replace("free-run", 'base = "main"\nfree-run')
CASES: dict[str, Callable[[Path], GateReport]] = {
    "RP960": missing_trace,
    "RP961": other_convention,
    "RP962": one_bone_off,
    "RP963": conjugated,
    "RP964": beyond_limit,
    "RP965": beyond_factor,
    "RP966": not_finite,
    "RP967": diverging,
    "RP985": with_tail(("Mul", "answer huge", "far")),
    "RP986": with_tail(*SWALLOWED),
    "RP987": other_widths_in_a_log,
    "RP968": outside_envelope,
    "RP969": breaking,
    "RP970": acknowledged,
    "RP971": straight_clip,
    "RP972": with_budget("parameters = 1000\n"),
    "RP973": with_budget("inference-us = 0.001\n"),
    "RP974": waived,
    "RP975": waived_too_long,
    "RP976": lambda folder: gated(folder, FILES + WAIVER),
    "RP977": lambda folder: gated(folder, ONLY_FILES + "[gate.thresholds]\ntolerance-factor = 1e30\n"),
    "RP978": let_be,
    "RP979": archived,
    "RP980": by_ourselves,
    "RP981": playback,
    "RP982": of_some_bones,
    "RP988": lambda folder: guarded(folder, BASED + 'stages = ["x_raw"]\n'),
    "RP989": lambda folder: guarded(folder, BASED),
}


@pytest.mark.parametrize("code", CASES)
def test_the_defect_is_reported(project: Path, code: str) -> None:
    """Each of these defects ships if the gate does not ask, or gets no answer."""
    report = CASES[code](project)
    found = [finding.to_json() for finding in report.findings if finding.rule.code == code]
    path, text = GOLDEN / f"{code}.json", json.dumps(found[:1], indent=1, ensure_ascii=False) + "\n"
    missing = not path.is_file()
    if REGENERATE or missing:
        GOLDEN.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")

    assert found
    assert REGENERATE or not missing, f"{path} was missing; it is written now: read it"
    assert text == path.read_text(encoding="utf-8")


def test_every_rule_has_its_case() -> None:
    """A rule without a test case may never fire."""
    assert set(CASES) == {rule.code for rule in rules.TEXTS.rules} == {path.stem for path in GOLDEN.glob("*.json")}


def test_the_honest_project_has_none_of_them(project: Path) -> None:
    """The passing case of every rule above: users remove a gate with false alarms."""
    text = FILES.replace("free-run = false", f'free-run = "{CLIP}"\nframes = 60\nclips = ["clips/*.json"]')
    report = gated(
        project,
        text + "[gate.thresholds]\npose-deg = 0.001\ntolerance-factor = 2\n[gate.budget]\nparameters = 600000\n",
    )

    assert [finding for finding in report.findings if finding.rule in rules.TEXTS.rules] == []
    assert report.verdict == "pass"
    assert {part.name for part in report.parts} == {
        "files",
        "model",
        "engine-trace/sneak",
        "free-run",
        "adequacy",
        "budget",
    }
    assert set(report.not_asked) == {"teacher", "breaking"}


@pytest.mark.parametrize(
    ("code", "verdict"),
    [("RP960", "undetermined"), ("RP961", "fail"), ("RP963", "fail"), ("RP970", "pass"), ("RP985", "fail"), ("RP986", "pass"),
     ("RP971", "pass"), ("RP974", "pass"), ("RP975", "fail"), ("RP976", "pass"), ("RP973", "fail"), ("RP977", "fail"),
     ("RP978", "pass"), ("RP979", "fail"), ("RP988", "fail"), ("RP989", "pass")],
)  # fmt: skip
def test_the_verdict_follows(project: Path, code: str, verdict: str) -> None:
    """Information must not stop a build, and a part that could not be judged must not pass it."""
    report = CASES[code](project)

    assert report.verdict == verdict
    assert report.exit_code == {"pass": 0, "fail": 1, "undetermined": 2}[verdict]


def test_the_cause_is_named_and_comes_first(project: Path) -> None:
    """The first line must name the convention, not three stages that inherit the error."""
    report = other_convention(project)

    assert "RP801" in codes(report)  # the stages that inherit it are in the report, and not in the steps
    assert len(report.next_steps) == 1
    assert "compose_order = prev_delta" in report.next_steps[0]
    assert "change `DeltaM * PrevM` to `PrevM * DeltaM`" in report.next_steps[0]


def test_a_factor_lets_what_is_within_it_pass(project: Path) -> None:
    """A platform whose half-precision is known and accepted must not fail for ever; something larger still must."""
    trace = record(project, TRACE)
    pose = trace.stages["y_out"].copy()
    pose[FRAME, 6 * BONE] += 0.0001
    respoil(project, trace, TRACE, {"y_out": pose})
    lax = gated(project, FILES + "[gate.thresholds]\ntolerance-factor = 8000\n")
    strict = gated(project, FILES + "[gate.thresholds]\ntolerance-factor = 2\n")

    assert (lax.verdict, strict.verdict) == ("pass", "fail")
    assert "RP965" in codes(strict)


def test_strict_lets_warnings_fail(project: Path) -> None:
    """A project that wants no warnings says so once."""
    report = straight_clip(project)
    strict = gated(project, f'{ONLY_FILES}clips = ["clips/Run_F.json"]\nstrict = true\n')

    assert (report.verdict, strict.verdict) == ("pass", "fail")
    assert all(finding.rule.severity is not Severity.ERROR for finding in strict.findings)


def test_a_part_that_cannot_be_judged_is_one_value_that_nobody_compared() -> None:
    """Nothing compared is not a pass: it must stand in the account."""

    def refuse(*_: object) -> FindingsReport:
        raise UnusableInput("baseline.json", "nothing", "a file")

    unjudged = Measured("free-run/x", "A free run", (), Ledger(5, 5))
    report = _judged(PartKind("free-run", lambda _: iter(()), refuse), unjudged, GateSettings())
    assert isinstance(report, FindingsReport)
    assert (report.ledger.declared, report.ledger.compared) == (1, 0)
    assert [finding.rule.code for finding in report.findings] == [rules.PART_NOT_JUDGED.code]
    assert report.summary == {"not_judged": "baseline.json: found nothing, expected a file"}
