"""`rigpact.toml` and known findings: which findings a project may silence, and for how long."""

import json
from datetime import date, timedelta
from pathlib import Path

import pytest

from rigpact.contract.errors import UnusableInput
from rigpact.contract.settings import table
from rigpact.contract.settings.configuration import find_configuration, read_configuration
from rigpact.contract.settings.hearing import configured_report

DAY = date(2030, 6, 1)
LATER = DAY + timedelta(days=1)
SOON = (DAY + timedelta(days=30)).isoformat()
DEFECTS = {"RP104": "error", "RP070": "warning", "RP131": "warning"}
WRITE = {"--write-baseline": "known.json", "--owner": "Ana", "--reason": "next export", "--expires": SOON}


@pytest.fixture
def project(sample, monkeypatch):
    """The small character in a folder of its own, with one error and two warnings; commands run there, on the day above."""
    monkeypatch.setattr(table, "today", lambda: DAY)
    sample.bundle["StdX"][12] = 0.0
    del sample.bundle["fps"]
    sample.absent = {"companion", "clip", "batch", "prediction", "model"}
    sample.subject()
    monkeypatch.chdir(sample.folder)
    return sample


def configure(text):
    Path("rigpact.toml").write_text(text, encoding="utf-8")
    return Path("rigpact.toml").resolve()


def heard(command):
    answer = command("check", "bundle.json", "--format", "json")
    return answer.status, json.loads(answer.out)


def graded(report):
    return {finding["code"]: finding["severity"] for finding in report["findings"]}


def lower(rule, to, **other):
    """A table [[lower]] of the configuration."""
    keys = {"rule": rule, "to": to, "owner": "Ana", "reason": "next export", "expires": SOON} | other
    return "\n[[lower]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items())


def write_known(command, **changes):
    words = {**WRITE, **{f"--{key}": value for key, value in changes.items()}}
    status: int = command("check", "bundle.json", *(word for pair in words.items() for word in pair)).status
    return status


def report_on(project, day, text='baseline = "known.json"'):
    return configured_report(project.check(), read_configuration(configure(text)), day)


def told(checkout, report, unlike=""):
    """The codes of the findings about waivers, each but one told with the words of docs/rules.md."""
    examples = json.loads((checkout / "contract/rigpact/contract/rules/examples.json").read_text(encoding="utf-8"))
    own = [finding for finding in report.findings if finding.rule.code.startswith("RP95")]
    for code, finding in {finding.rule.code: finding for finding in reversed(own)}.items():
        place = f"{Path(finding.file).name}#{finding.pointer}" if finding.pointer else Path(finding.file).name
        assert code == unlike or examples[code] == {"place": place, "message": finding.message}
    return [finding.rule.code for finding in own]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# nothing\n", DEFECTS),
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
def test_a_project_hears_what_it_asked_for(project, command, text, expected):
    """Users remove a gate that they cannot configure for their project."""
    configure(text)
    status, report = heard(command)
    assert (status, graded(report)) == (int("error" in expected.values()), expected)
    ledger = report["ledger"]
    assert ledger["waived"] == len(DEFECTS.keys() - expected.keys())
    assert ledger["declared"] == ledger["compared"] + ledger["waived"] + ledger["missing"]


def test_the_nearest_configuration_holds(project):
    """In a sub-folder, a check must not silently use another set of rules."""
    inner = project.folder / "a" / "b"
    inner.mkdir(parents=True)
    (project.folder / "pyproject.toml").write_text("[tool.ruff]\n", encoding="utf-8")
    outer = configure("")
    assert find_configuration(inner) == outer
    project_file = project.folder / "a" / "pyproject.toml"
    project_file.write_text('[tool.rigpact.severity]\nRP070 = "error"\n', encoding="utf-8")
    assert find_configuration(inner) == project_file
    assert set(read_configuration(project_file).severity) == {"RP070"}


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("lwoer = []", "lwoer"), (lower("RP20O", "info"), "lower[0].rule"), (lower("RP104", "inof"), "lower[0].to"),
        (lower("RP104", "error"), "lower[0].to"), (lower("RP104", "info", expires="soon"), "lower[0].expires"),
        (lower("RP104", "info", owner=""), "lower[0].owner"), ('lower = "RP104"', "lower"), ("baseline = 3", "baseline"),
        (lower("RP104", "info").replace("reason", "because"), "because"), ('[severity]\nRP070 = "eror"', "severity.RP070"),
        ("[severity]\nRP104 = 1", "severity.RP104"), ('[severity]\nRP20O = "error"', "severity.RP20O"),
        ('severity = "error"', "severity"), ("lower = [", "rigpact.toml"), ('baseline = "nowhere.json"', "nowhere.json"),
    ],
)  # fmt: skip
def test_a_bad_configuration_is_one_line_with_its_place(project, command, text, place):
    """If a misspelt key is skipped silently, the gate passes or fails for a hidden reason."""
    configure(text)
    answer = command("check", "bundle.json")
    assert (answer.status, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert place in answer.err


def test_known_findings_are_waived_and_counted(project, command):
    """An old defect must not hide a new one; a new one must not wait for the old one's repair."""
    assert write_known(command) == 0
    configure('baseline = "known.json"')
    status, report = heard(command)
    assert (status, graded(report), report["ledger"]["waived"]) == (0, {"RP955": "info"}, 3)
    assert {waiver["owner"] for waiver in report["summary"]["configuration"]["waived"]} == {"Ana"}
    project.bundle["StdX"][12] = -0.25  # another number at the same place: still the same finding
    project.bundle["StdY"][0] = 0.0  # another array: a new one
    project.write("bundle")
    status, report = heard(command)
    new = [finding["pointer"] for finding in report["findings"] if finding["code"] != "RP955"]
    assert (status, new) == (1, ["/StdY/0", "/s_eff_Y/0"])


@pytest.mark.parametrize("lacking", ["--owner", "--reason", "--expires"])
def test_a_waiver_without_owner_reason_or_day_is_refused(project, command, lacking):
    """A waiver without an owner is never removed."""
    words = [word for key, value in WRITE.items() if key != lacking for word in (key, value)]
    assert command("check", "bundle.json", *words).status == 2
    assert not Path("known.json").exists()


def test_an_expired_waiver_fails_by_itself(project, command, checkout):
    """A waiver holds on its last day; the day after, the defect is reported again with the waiver's data."""
    write_known(command, expires=DAY.isoformat())
    on_its_day, late = report_on(project, DAY), report_on(project, LATER)
    assert ([finding.rule.code for finding in on_its_day.findings], on_its_day.verdict) == (["RP955"], "pass")
    assert told(checkout, on_its_day) == ["RP955"]
    assert sorted(finding.rule.code for finding in late.findings) == ["RP070", "RP104", "RP131", *3 * ["RP950"]]
    assert (told(checkout, late), late.verdict) == (3 * ["RP950"], "fail")
    project.bundle["fps"] = 60  # a waiver that meets nothing would silence the same defect when it comes back
    assert told(checkout, report_on(project, DAY), unlike="RP955") == ["RP951", "RP955"]


@pytest.mark.parametrize(
    ("code", "lowered", "day", "verdict"),
    [("RP952", "RP104", LATER, "fail"), ("RP953", "RP500", DAY, "fail"), ("RP954", "RP104", DAY, "pass")],
)
def test_a_lowered_rule_shows_with_its_owner(project, checkout, code, lowered, day, verdict):
    """Who reads a pass must see what it does not count; the day after its last, the rule counts in full again."""
    report = report_on(project, day, lower(lowered, "info", expires=DAY.isoformat()))
    assert (told(checkout, report), report.verdict) == ([code], verdict)
    assert [each.values["owner"] for each in report.findings if each.rule.code == code] == ["Ana"]


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda known: known["findings"][0].pop("owner"), "owner"),
        (lambda known: known["findings"][0].update(expires="soon"), "expires"),
        (lambda known: known["findings"][0].update(expires="2030-02-31"), "2030-02-31"),
        (lambda known: known.update(format="other"), "format"),
    ],
)
def test_a_broken_file_of_known_findings_is_refused(project, command, change, place):
    """A half-read file of waivers would waive other findings than the user expects."""
    write_known(command)
    known = json.loads(Path("known.json").read_text(encoding="utf-8"))
    change(known)
    Path("known.json").write_text(json.dumps(known), encoding="utf-8")
    with pytest.raises(UnusableInput, match=place):
        report_on(project, DAY)
