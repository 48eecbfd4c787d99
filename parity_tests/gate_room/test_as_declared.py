"""After a convention is declared for both sides, the findings that say no more than that go away, and are named."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rigpact.contract.findings import FindingsReport, Ledger
from rigpact.contract.rules.clips import angular_velocity
from rigpact.reference_runtime.systems.enemy_animation.system import SYSTEM
from rigpact.reports.checking.as_declared import declared_text, without_declared

Command = Callable[..., Any]
RULES = {rule.code: rule for rule in angular_velocity.FAMILY.rules}


def finding(code: str, **says: str) -> Any:
    return RULES[code].at("a.json", "/angvel", says=says)


@pytest.mark.parametrize(
    ("declared", "left"),
    [
        ({}, ["RP550", "RP553", "RP554"]),
        ({"angvel_angle": "half"}, ["RP553", "RP554"]),
        ({"angvel_lag": 1, "angvel_angle": "half"}, ["RP554"]),
        ({"angvel_lag": -1}, ["RP550", "RP553", "RP554"]),
        ({"angvel_angle": "full"}, ["RP550", "RP553", "RP554"]),
    ],
)
def test_only_what_is_declared_goes_away(declared: dict[str, Any], left: list[str]) -> None:
    """A declaration that silences more than it says is a hole; one that silences less is given up."""
    found = finding("RP550", angvel_angle="half"), finding("RP553", angvel_lag="+1"), finding("RP554")
    report = without_declared(FindingsReport(found, Ledger(1, 1)), SYSTEM, declared)
    assert [each.rule.code for each in report.findings] == left
    gone = {"RP550", "RP553", "RP554"} - set(left)
    assert all(code in declared_text(report) for code in gone)
    assert bool(declared_text(report)) == bool(gone)


def test_a_finding_that_is_no_convention_stays(demo_bundle: Path, tmp_path: Path, command: Command) -> None:
    """A declared convention beside a bundle that contradicts itself ended in an internal error."""
    bundle = json.loads((demo_bundle / "norm_template.json").read_text(encoding="utf-8"))
    bundle["meta"]["handedness"], bundle["meta"]["rot6d_spec"]["handedness"] = "left", "right"
    (tmp_path / "norm_template.json").write_text(json.dumps(bundle), encoding="utf-8")
    answer = command("check", tmp_path / "norm_template.json", "--set", "angvel_angle=half")
    assert answer.status == 1
    assert "RP241 error: meta.handedness is 'left', but meta.rot6d_spec.handedness is 'right'" in answer.out


def test_the_hints_of_a_deployed_characters_files_can_be_followed(real_project: Path, command: Command) -> None:
    """A hint after which nothing changes is the last one that anybody follows."""
    files = ("norm_template.json", "pretrain_template.json", "Walk_F_prediction.json")
    before = json.loads(command("check", *files, "--format", "json").out)
    changes = ("angvel_source=rotations", "angvel_angle=half", "angvel_lag=+1", "pose_history_start=first_target")
    after = command("check", *files, *(word for change in changes for word in ("--set", change)))
    gone = {"RP550", "RP553", "RP643", "RP644"}
    assert gone <= {each["code"] for each in before["findings"]}
    for code in gone:
        assert f"{code} error" not in after.out
        assert f"{code} in Walk_F_prediction.json" in after.out  # named, not swallowed
    assert after.status == 1  # the others stay

    assert command("init").status == 0
    settings = real_project / "rigpact.toml"
    table = "".join('{} = "{}"\n'.format(*change.split("=")) for change in changes)
    settings.write_text(f"{settings.read_text(encoding='utf-8')}\n[gate.conventions]\n{table}", encoding="utf-8")
    gate = json.loads(command("gate", "--format", "json").out)
    codes = [finding["code"] for part in gate["parts"] for finding in part["findings"]]
    assert not gone & set(codes)
    assert "RP961" not in codes
    assert json.loads(command("check", *files, "--format", "json").out)["summary"]["as_declared"]


def test_an_unknown_convention_is_refused(demo_bundle: Path, command: Command) -> None:
    """A misspelt declaration would silence nothing, and nobody would know."""
    answer = command("check", demo_bundle / "norm_template.json", "--set", "angvel_angel=half")
    assert answer.status == 2
    assert "angvel_angle" in answer.err
