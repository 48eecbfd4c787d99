"""`--format` of the commands that judge, on the demo's files."""

import json
import shutil
from pathlib import Path

import pytest
from lxml import etree

from ..soon import SOON


@pytest.fixture
def broken(demo_bundle, tmp_path, monkeypatch):
    """A repository with a bundle that has a deviation of zero, pretty-printed as people keep it."""
    (tmp_path / ".git").mkdir()
    bundle = json.loads((demo_bundle / "norm_template.json").read_text(encoding="utf-8"))
    bundle["StdX"][17] = 0
    path = tmp_path / "norm_template.json"
    path.write_text(json.dumps(bundle, indent=2), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return path


def test_check_answers_in_every_format_with_the_same_status(command, broken):
    """A format must not change the verdict."""
    answers = {name: command("check", broken.name, "--format", name) for name in (
        "text", "json", "junit", "sarif", "github", "markdown",
    )}  # fmt: skip
    assert {answer.status for answer in answers.values()} == {1}
    lines = broken.read_text(encoding="utf-8").splitlines()
    line = next(number for number, text in enumerate(lines, 1) if text.strip() == '"StdX": [') + 18
    (result,) = [each for each in json.loads(answers["sarif"].out)["runs"][0]["results"] if each["ruleId"] == "RP104"]
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == line
    assert f"::error file=norm_template.json,line={line}," in answers["github"].out
    failed = {
        case.get("name")
        for case in etree.fromstring(answers["junit"].out.encode()).iter("testcase")
        if case.find("failure") is not None
    }
    assert "RP104 std-not-positive" in failed
    assert json.loads(answers["json"].out)["format"] == "rigpact-findings"


def test_a_rule_that_the_project_left_out_is_not_shown_as_passed(command, broken):
    """If the project ignores RP104, the report must not show RP104 as passed."""
    debt = f'owner = "Ana"\nreason = "later"\nexpires = "{SOON}"\n'
    Path("rigpact.toml").write_text(f'[[lower]]\nrule = "RP104"\nto = "ignore"\n{debt}', encoding="utf-8")
    root = etree.fromstring(command("check", broken.name, "--format", "junit").out.encode())
    (case,) = [case for case in root.iter("testcase") if case.get("name") == "RP104 std-not-positive"]
    assert [(child.tag, child.get("message")) for child in case] == [
        ("skipped", f"lowered to ignore until {SOON} by Ana: later")
    ]


def test_check_each_judges_every_artefact_and_names_the_rest(command, broken, demo_bundle):
    """Two characters in one commit: `check` would refuse the second bundle."""
    for folder in ("good", "alone"):
        Path(folder).mkdir()
        shutil.copy(demo_bundle / "model.onnx", folder)
    shutil.copy(demo_bundle / "norm_template.json", "good")
    Path("package.json").write_text('{"name": "tools"}', encoding="utf-8")
    files = ("good/norm_template.json", broken.name, "good/model.onnx", "package.json", "alone/model.onnx")
    answer = command("check", "--each", *files, "--format", "json")
    report = json.loads(answer.out)
    assert answer.status == 1
    listed = {file["path"] for file in report["summary"]["files"]}
    assert listed == {"good/norm_template.json", broken.name, "good/model.onnx"}
    assert {finding["file"] for finding in report["findings"] if finding["severity"] == "error"} == {broken.name}
    assert "package.json: no artefact" in answer.err
    assert "alone/model.onnx: 1 models and 0 bundles or contracts in its folder, passed over" in answer.err
    assert command("check", "--each", files[0], *files[2:]).status == 0


def test_check_each_does_not_pass_what_it_cannot_read(command, broken):
    """A bundle cut off in the middle is not an artefact by its content; passing over it would let it in."""
    whole = broken.read_text(encoding="utf-8")
    broken.write_text(whole[: len(whole) // 2], encoding="utf-8")
    assert command("check", "--each", broken.name).status == 2
    assert command("check", "--each", "gone.json").status == 2
    Path("package.json").write_text("[]", encoding="utf-8")
    assert command("check", "--each", "package.json").status == 0
