"""Conventions that both sides declare take their findings away, by name; a recording of some bones must be asked for."""

import json
from pathlib import Path
from typing import Any

import pytest

from rigpact.contract import load_contract
from rigpact.contract.errors import UnusableInput
from rigpact.contract.findings import FindingsReport, Ledger
from rigpact.contract.rules import clip_motion
from rigpact.contract.settings.configuration import read_configuration
from rigpact.reference_runtime import read_trace
from rigpact.reference_runtime.systems.enemy_animation.files import SYSTEM
from rigpact.reports.checking.check import declared_text, without_declared
from rigpact.reports.gate import plants
from rigpact.reports.gate.project import Project as Checked

from ..some_bones import PUBLISHED, of_bones, written
from .conftest import FILES, FREE, TRACE, codes, gated, record

RULES = {rule.code: rule for rule in clip_motion.FAMILY.rules}
BONES = (0, 1, 2, 5, 6, 9, 20, 33)


@pytest.mark.parametrize(
    ("declared", "left"),
    [
        ({}, ["RP550", "RP553", "RP554"]), ({"angvel_angle": "half"}, ["RP553", "RP554"]),
        ({"angvel_lag": 1, "angvel_angle": "half"}, ["RP554"]), ({"angvel_lag": -1}, ["RP550", "RP553", "RP554"]),
        ({"angvel_angle": "full"}, ["RP550", "RP553", "RP554"]),
    ],
)  # fmt: skip
def test_only_what_is_declared_goes_away(declared, left):
    """A declaration that silences more than it says is a hole; one that silences less is given up."""
    said = {"RP550": {"angvel_angle": "half"}, "RP553": {"angvel_lag": "+1"}, "RP554": {}}
    found = tuple(RULES[code].at("a.json", "/angvel", says=says) for code, says in said.items())
    report = without_declared(FindingsReport(found, Ledger(1, 1)), SYSTEM, declared)
    assert [each.rule.code for each in report.findings] == left
    assert [code for code in said if code in declared_text(report)] == [code for code in said if code not in left]
    assert bool(declared_text(report)) == (len(left) < 3)


@pytest.mark.parametrize(("word", "status"), [("angvel_angle=half", 1), ("angvel_angel=half", 2)])
def test_a_finding_that_is_no_convention_stays(demo_bundle, tmp_path, command, word, status):
    """A declared convention beside a bundle that contradicts itself ended in an internal error; a misspelt one is refused."""
    bundle = json.loads((demo_bundle / "norm_template.json").read_text(encoding="utf-8"))
    bundle["meta"]["handedness"], bundle["meta"]["rot6d_spec"]["handedness"] = "left", "right"
    (tmp_path / "norm_template.json").write_text(json.dumps(bundle), encoding="utf-8")
    answer = command("check", tmp_path / "norm_template.json", "--set", word)
    assert (answer.status, "RP241 error" in answer.out, "angvel_angle" in answer.err) == (
        status,
        status == 1,
        status == 2,
    )


def test_the_hints_of_a_deployed_characters_files_can_be_followed(real_project, command):
    """A hint after which nothing changes is the last one that anybody follows."""
    files = ("norm_template.json", "pretrain_template.json", "Walk_F_prediction.json")
    before = json.loads(command("check", *files, "--format", "json").out)
    changes = ("angvel_source=rotations", "angvel_angle=half", "angvel_lag=+1", "pose_history_start=first_target")
    after = command("check", *files, *(word for change in changes for word in ("--set", change)))
    gone = {"RP550", "RP553", "RP643", "RP644"}
    assert gone <= {each["code"] for each in before["findings"]}
    for code in gone:
        assert (f"{code} error" in after.out, f"{code} in Walk_F_prediction.json" in after.out) == (False, True)
    assert after.status == 1  # the others stay


def recorded(folder: Path, bones: Any = BONES, name: str = TRACE, mode: Any = "teacher", **changes: Any) -> list[str]:
    """The engine's recording, cut to some bones; the names of the bones."""
    contract = load_contract(folder / "norm_template.json", folder / "pretrain_template.json")
    trace = record(folder, name, mode, **changes)
    written(folder, of_bones(trace, contract, bones, [each for each in trace.stages if each not in PUBLISHED]), name)
    return [contract.numbers.bone_names[bone] for bone in bones]


def asked(names: list[str]) -> str:
    return f"{FILES}bones = {json.dumps(names)}\n"


@pytest.mark.usefixtures("no_search")
def test_the_gate_passes_on_the_bones_that_the_project_names_alone(project):
    """The recording does not choose what it is judged by: an engine that stops recording its hands passes with broken hands."""
    names = recorded(project)
    right, unasked = gated(project, asked(names)), gated(project, FILES)
    misspelt = gated(project, asked([names[0], names[1].upper()]))
    recorded(project, BONES[:-1])
    fewer = gated(project, asked(names))
    assert [each.verdict for each in (right, unasked, fewer)] == ["pass", "fail", "fail"]
    assert "RP815" in codes(right)
    assert "RP982" in codes(unasked) & codes(fewer)
    assert misspelt.verdict != "pass"
    assert names[1].upper() in str([each.to_json() for each in misspelt.findings])


@pytest.mark.usefixtures("no_search")
@pytest.mark.parametrize(("changes", "verdict"), [({}, "pass"), ({"writeback": "none"}, "fail")])
def test_a_free_run_of_some_bones_is_held_to_its_envelope(project, changes, verdict):
    """At a distance a character runs free for minutes."""
    names = recorded(project, name=FREE, mode="free", frames=20, **changes)
    answer = gated(project, asked(names).replace(TRACE, FREE) + 'mode = "free"\nframes = 20\n')
    assert answer.verdict == verdict, codes(answer)


def test_init_and_the_selftest_hold_to_the_recorded_bones(project, command):
    """A defect on a bone that is not recorded goes unnoticed: a selftest that records all bones promises too much."""
    names = recorded(project)
    assert command("init").status == 0
    assert f"bones = {json.dumps(names)}" in (project / "rigpact.toml").read_text(encoding="utf-8")
    (project / "rigpact.toml").write_text(asked(names), encoding="utf-8")
    settings = read_configuration(project / "rigpact.toml").gate
    assert settings is not None
    before = read_trace(settings.traces[0].file).widths
    engine = plants._Engine(Checked(settings), settings.traces[0])
    plants._convention(engine, {"compose_order": "prev_delta"})
    assert read_trace(settings.traces[0].file).widths == before
    with pytest.raises((UnusableInput, plants.NotApplicable)):
        plants._convention(engine, {"math": "f64"})
