"""`rigpact.toml` and known findings: which findings a project may silence, and for how long."""

import json
import os
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from rigpact.contract.errors import UnusableInput
from rigpact.contract.findings import Severity
from rigpact.contract.settings import days
from rigpact.contract.settings.configuration import find_configuration, read_configuration
from rigpact.contract.settings.hearing import configured_report
from rigpact.reports.command_line import run_command_line

GOLDEN = Path(__file__).parent / "golden"
REGENERATE = bool(os.environ.get("RIGPACT_REGENERATE"))
DAY = date(2030, 6, 1)
SOON = (DAY + timedelta(days=30)).isoformat()


@pytest.fixture(autouse=True)
def _that_day(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands run on the day of these tests."""
    monkeypatch.setattr(days, "today", lambda: DAY)


@pytest.fixture
def project(sample: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The small character in a folder of its own, with one error and one warning; commands run there."""
    sample.bundle["StdX"][12] = 0.0
    del sample.bundle["fps"]
    sample.absent = {"companion", "clip", "batch", "prediction", "model"}
    sample.subject()
    monkeypatch.chdir(sample.folder)
    return sample


def configure(project: Any, text: str) -> Path:
    path: Path = project.folder / "rigpact.toml"
    path.write_text(text, encoding="utf-8")
    return path


def heard(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    capsys.readouterr()
    status = run_command_line(["check", "bundle.json", "--format", "json", *arguments])
    output = capsys.readouterr()
    return status, json.loads(output.out) if output.out else {"error": output.err}


def graded(report: dict[str, Any]) -> dict[str, str]:
    return {finding["code"]: finding["severity"] for finding in report["findings"]}


def lower(rule: str, to: str, **other: Any) -> str:
    """A table [[lower]] of the configuration."""
    keys = {"rule": rule, "to": to, "owner": "Ana", "reason": "next export", "expires": SOON} | other
    return "\n[[lower]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items())


DEFECTS = {"RP104": "error", "RP070": "warning", "RP131": "warning"}


def test_without_a_configuration_everything_is_heard(project: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """The passing case of what follows."""
    status, report = heard(capsys)

    assert (status, graded(report)) == (1, DEFECTS)
    assert "configuration" not in report["summary"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (lower("RP070", "ignore") + lower("RP131", "ignore"), {"RP104": "error", "RP954": "info"}),
        (lower("RP104", "info"), {**DEFECTS, "RP104": "info", "RP954": "info"}),
        (lower("RP104", "warning") + lower("RP104", "info"), {**DEFECTS, "RP104": "info", "RP954": "info"}),
        (lower("RP131", "ignore", paths=["bun*.json"]), {"RP104": "error", "RP070": "warning", "RP954": "info"}),
        (lower("RP104", "ignore", paths=["clips/*"]), {**DEFECTS, "RP953": "info"}),
        ('[severity]\nRP0 = "error"', {**DEFECTS, "RP070": "error"}),
        ('[severity]\nRP1 = "warning"\nRP131 = "error"', {**DEFECTS, "RP131": "error"}),
        ('[severity]\nRP1 = "error"\n' + lower("RP131", "info"), {**DEFECTS, "RP131": "info", "RP954": "info"}),
    ],
)  # fmt: skip
def test_a_project_hears_what_it_asked_for(
    project: Any, capsys: pytest.CaptureFixture[str], text: str, expected: dict[str, str]
) -> None:
    """Users remove a gate that they cannot configure for their project."""
    configure(project, text)

    _, report = heard(capsys)

    assert graded(report) == expected
    ledger = report["ledger"]
    assert ledger["waived"] == len(DEFECTS.keys() - expected.keys())
    assert ledger["declared"] == ledger["compared"] + ledger["waived"] + ledger["missing"]


def test_the_nearest_configuration_holds(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a sub-folder, a check must not silently use another set of rules."""
    inner = project.folder / "a" / "b"
    inner.mkdir(parents=True)
    (project.folder / "pyproject.toml").write_text("[tool.ruff]\n", encoding="utf-8")
    outer = configure(project, "")
    project_file = project.folder / "a" / "pyproject.toml"
    assert find_configuration(inner) == outer

    project_file.write_text('[tool.rigpact.severity]\nRP070 = "error"\n', encoding="utf-8")

    assert find_configuration(inner) == project_file
    assert set(read_configuration(project_file).severity) == {"RP070"}


BAD = {
    "lwoer = []": ("lwoer", "'lower' was meant?"),
    lower("RP20O", "info"): ("lower[0].rule", "'RP20"),
    lower("RP104", "inof"): ("lower[0].to", "'info' was meant?"),
    lower("RP104", "error"): ("lower[0].to", "one of warning, info, ignore"),
    lower("RP104", "info", expires="soon"): ("lower[0].expires", "YYYY-MM-DD"),
    lower("RP104", "info", owner=""): ("lower[0].owner", "the owner"),
    lower("RP104", "info").replace("reason", "because"): ("because", "one of rule, to, paths, owner, reason, expires"),
    'lower = "RP104"': ("lower", "[[lower]]"),
    '[severity]\nRP070 = "eror"': ("severity.RP070", "'error' was meant?"),
    "[severity]\nRP104 = 1": ("severity.RP104", "one of error, warning, info"),
    '[severity]\nRP20O = "error"': ("severity.RP20O", "'RP20"),
    'severity = "error"': ("severity", "a table"),
    "baseline = 3": ("baseline", "a file name"),
    "lower = [": ("rigpact.toml", "not TOML"),
    'baseline = "nowhere.json"': ("nowhere.json", "an existing file"),
}


@pytest.mark.parametrize("text", BAD)
def test_a_bad_configuration_is_one_line_with_its_place(
    project: Any, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    """If a misspelt key is skipped silently, the gate passes or fails for a hidden reason."""
    configure(project, text)

    status, report = heard(capsys)

    assert status == 2
    assert report["error"].count("\n") == 1
    assert all(part in report["error"] for part in BAD[text]), report["error"]


def write_known(capsys: pytest.CaptureFixture[str], expires: str = SOON) -> int:
    words = ["--write-baseline", "known.json", "--owner", "Ana", "--reason", "next export", "--expires", expires]
    return heard_status(capsys, words)


def heard_status(capsys: pytest.CaptureFixture[str], words: list[str]) -> int:
    status = run_command_line(["check", "bundle.json", *words])
    capsys.readouterr()
    return status


def test_known_findings_are_waived_and_counted(project: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """An old defect must not hide a new one; a new one must not wait for the old one's repair."""
    assert write_known(capsys) == 0
    configure(project, 'baseline = "known.json"')

    status, report = heard(capsys)

    assert (status, graded(report), report["ledger"]["waived"]) == (0, {"RP955": "info"}, 3)
    assert {waiver["owner"] for waiver in report["summary"]["configuration"]["waived"]} == {"Ana"}
    project.bundle["StdX"][12] = -0.25  # another number at the same place: still the same finding
    project.bundle["StdY"][0] = 0.0  # another array: a new one
    project.write("bundle")
    status, report = heard(capsys)
    new = [finding["pointer"] for finding in report["findings"] if finding["code"] != "RP955"]
    assert (status, new) == (1, ["/StdY/0", "/s_eff_Y/0"])


@pytest.mark.parametrize("lacking", ["--owner", "--reason", "--expires"])
def test_a_waiver_without_owner_reason_or_day_is_refused(
    project: Any, capsys: pytest.CaptureFixture[str], lacking: str
) -> None:
    """A waiver without an owner is never removed."""
    words = {"--owner": "Ana", "--reason": "soon", "--expires": SOON}
    del words[lacking]

    status = heard_status(
        capsys, ["--write-baseline", "known.json", *(part for pair in words.items() for part in pair)]
    )

    assert status == 2
    assert not (project.folder / "known.json").exists()


def report_on(project: Any, day: date) -> Any:
    configuration = read_configuration(configure(project, 'baseline = "known.json"'))
    return configured_report(project.check(), configuration, day)


def golden(code: str, report: Any, folder: Path) -> None:
    document = report.to_json()
    del document["summary"]
    text = json.dumps(document, indent=1, ensure_ascii=False).replace(f"{folder}{os.sep}", "") + "\n"
    path = GOLDEN / f"{code}.json"
    if REGENERATE:
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text


def test_an_expired_waiver_fails_by_itself(project: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """A waiver holds on its last day; the day after, the defect is reported again with the waiver's data."""
    write_known(capsys, DAY.isoformat())

    on_its_day = report_on(project, DAY)
    assert [finding.rule.code for finding in on_its_day.findings] == ["RP955"]
    golden("RP955", on_its_day, project.folder)
    late = report_on(project, DAY + timedelta(days=1))

    codes = [finding.rule.code for finding in late.findings]
    assert sorted(codes) == ["RP070", "RP104", "RP131", "RP950", "RP950", "RP950"]
    assert late.verdict == "fail"
    golden("RP950", late, project.folder)


@pytest.mark.parametrize(
    ("code", "lowered", "day", "verdict"),
    [
        ("RP952", "RP104", DAY + timedelta(days=1), "fail"),
        ("RP953", "RP500", DAY, "fail"),
        ("RP954", "RP104", DAY, "pass"),
    ],
)
def test_a_lowered_rule_shows_with_its_owner(project: Any, code: str, lowered: str, day: date, verdict: str) -> None:
    """Who reads a pass must see what it does not count; the day after its last, the rule counts in full again."""
    configuration = read_configuration(configure(project, lower(lowered, "info", expires=DAY.isoformat())))

    report = configured_report(project.check(), configuration, day)

    own = [finding for finding in report.findings if finding.rule.code.startswith("RP95")]
    assert [(finding.rule.code, finding.values["owner"]) for finding in own] == [(code, "Ana")]
    assert report.verdict == verdict
    golden(code, report, project.folder)


def test_a_waiver_that_meets_nothing_is_reported(project: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """It would silence the same defect when it comes back."""
    write_known(capsys, DAY.isoformat())
    project.bundle["fps"] = 60

    report = report_on(project, DAY)

    found = [(finding.rule.code, finding.rule.severity) for finding in report.findings]
    assert found == [("RP951", Severity.INFO), ("RP955", Severity.INFO)]
    assert report.verdict == "pass"
    golden("RP951", report, project.folder)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda known: known["findings"][0].pop("owner"), "owner"),
        (lambda known: known["findings"][0].update(expires="soon"), "expires"),
        (lambda known: known["findings"][0].update(expires="2030-02-31"), "2030-02-31"),
        (lambda known: known.update(format="other"), "format"),
    ],
)
def test_a_broken_file_of_known_findings_is_refused(
    project: Any, capsys: pytest.CaptureFixture[str], change: Any, says: str
) -> None:
    """A half-read file of waivers would waive other findings than the user expects."""
    write_known(capsys)
    path = project.folder / "known.json"
    known = json.loads(path.read_text(encoding="utf-8"))
    change(known)
    path.write_text(json.dumps(known), encoding="utf-8")

    with pytest.raises(UnusableInput, match=says):
        report_on(project, DAY)
