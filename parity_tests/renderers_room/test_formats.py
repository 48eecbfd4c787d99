"""Every format fits its readers: schemas, counts, places, and the gate's verdict in each."""

import json
import re
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path, PurePosixPath, PureWindowsPath
from urllib.parse import unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft4Validator, FormatChecker
from lxml import etree

from rigpact.contract.errors import UnusableInput
from rigpact.contract.findings import Ledger, Severity
from rigpact.reports.renderers import FORMATS, render
from rigpact.reports.renderers.for_machines import rules_run
from rigpact.reports.renderers.places import file_uri, path_within

from ..soon import SOON
from .gates import finding, gate, hostile_gate, part, unjudged_part

SCHEMAS = Path(__file__).with_name("schemas")
"""Of others: NOTICE says of whom."""
BUNDLE = '{\r\n "meta": {"fps": 60},\r\n "😀": [1, 2],\r\n "StdX": [\r\n  1.0, 0.0\r\n ]\r\n}\r\n'


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository with a bundle, a trace and a model; the working directory is a folder in it."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "game").mkdir()
    (tmp_path / "game" / "bundle.json").write_text(BUNDLE, encoding="utf-8", newline="")
    (tmp_path / "game" / "run.trace.jsonl").write_text('{"a": 1}\n{"a": 2}\n', encoding="utf-8")
    (tmp_path / "game" / "model.onnx").write_bytes(b"\x08\x07{\x00")
    monkeypatch.chdir(tmp_path / "game")
    return tmp_path


def sarif(report):
    """The run of a SARIF log that is valid under the OASIS schema."""
    schema = json.loads((SCHEMAS / "sarif-2.1.0.json").read_text(encoding="utf-8"))
    log = json.loads(render(report, "sarif"))
    Draft4Validator(schema, format_checker=FormatChecker()).validate(log)
    (run,) = log["runs"]
    return run


def junit(report):
    """The root of a JUnit report that is valid under the XSD of Jenkins' xUnit plugin."""
    schema = etree.XMLSchema(etree.parse(SCHEMAS / "junit.xsd"))
    root = etree.fromstring(render(report, "junit").encode("utf-8"))
    schema.assertValid(root)
    return root


def outcomes(suite):
    """How many cases of a suite ended how."""
    return Counter(case[0].tag if len(case) and case[0].tag != "system-out" else "passed" for case in suite)


LEDGERS = st.sampled_from([Ledger(10, 10), Ledger(10, 8, 2), Ledger(10, 8), Ledger(10, 0), Ledger(0, 0)])
WAIVED = part(finding("until May (Ana)", severity=Severity.INFO), ledger=Ledger(10, 0, 10), is_waived=True)
PARTS = st.just(WAIVED) | st.builds(
    lambda severities, ledger: part(*(finding("x", severity=each) for each in severities), ledger=ledger),
    st.lists(st.sampled_from(list(Severity)), max_size=3), LEDGERS,
)  # fmt: skip


@settings(deadline=None)
@given(parts=st.lists(PARTS, max_size=3), strict=st.booleans())
def test_no_format_is_green_where_the_gate_is_not(parts, strict):
    """A test view must not pass if the gate fails or has no answer."""
    report = gate(*(replace(each, name=f"part-{index}") for index, each in enumerate(parts)), strict=strict)
    suites = {suite.get("name"): (suite, outcomes(suite)) for suite in junit(report)}
    red = {name for name, (_, counted) in suites.items() if counted["failure"] or counted["error"]}
    assert bool(red) == (report.verdict != "pass")
    for each in report.parts:
        assert each.verdict == "pass" or each.name in red
        assert (suites[each.name][1]["error"] > 0) == (each.verdict == "undetermined")
    for suite, counted in suites.values():
        assert {name: int(suite.get(name)) for name in ("tests", "failures", "errors", "skipped")} == {
            "tests": counted.total(), "failures": counted["failure"], "errors": counted["error"],
            "skipped": counted["skipped"],
        }  # fmt: skip
    open_questions = report.verdict == "undetermined" or any(each.verdict == "undetermined" for each in report.parts)
    (invocation,) = sarif(report)["invocations"]
    assert invocation["exitCode"] == report.exit_code
    assert invocation["executionSuccessful"] == (not open_questions)
    errors = any(each.rule.severity is Severity.ERROR for each in report.findings)
    assert ("::error " in render(report, "github")) == (open_questions or errors)
    assert report.verdict.upper() in render(report, "text").splitlines()[-1]
    assert f"rigpact: {report.verdict}" in render(report, "markdown").splitlines()[0]
    assert json.loads(render(report, "json"))["verdict"] == report.verdict


@pytest.mark.parametrize(
    ("severities", "ledger", "strict", "says"),
    [
        ((None, None), Ledger(10, 10), False, "PASS: 2 parts; "),
        ((None, Severity.ERROR), Ledger(10, 10), False, "FAIL: 1 of 2 parts failed; "),
        ((Severity.WARNING, Severity.ERROR), Ledger(10, 10), False, "FAIL: 1 of 2 parts failed; "),
        (
            (Severity.WARNING, Severity.ERROR), Ledger(10, 10), True,
            "FAIL: 2 of 2 parts failed (warnings fail a strict gate); ",
        ),
        ((None, Severity.ERROR), Ledger(10, 0), False, "FAIL: 1 of 2 parts failed, 1 could not be judged; "),
        ((None,), Ledger(10, 0), False, "UNDETERMINED: 1 of 1 part could not be judged; "),
    ],
)  # fmt: skip
def test_the_last_line_counts_the_parts_that_failed(severities, ledger, strict, says):
    """`FAIL: 6 parts` read as six failures where four failed."""
    found = [[finding("x", severity=each)] if each else [] for each in severities]
    parts = [part(*each, ledger=Ledger(10, 10) if each else ledger) for each in found]
    report = gate(*(replace(each, name=f"part-{index}") for index, each in enumerate(parts)), strict=strict)
    assert render(report, "text").splitlines()[-1].startswith(says)


def test_junit_lists_what_passed_what_was_waived_and_what_was_not_judged(repository):
    """Without the passed cases, a rule that is no longer judged does not show."""
    waiver = {
        "code": "RP104", "file": "bundle.json", "pointer": "/StdX/1", "owner": "Ana", "reason": "re-export",
        "expires": "2027-01-31",
    }  # fmt: skip
    check = part(
        finding("zero", pointer="/StdX/1"), finding("odd", severity=Severity.WARNING),
        files=[{"path": "bundle.json", "kind": "bundle"}],
        configuration={"waived": [waiver], "lowered": [waiver | {"code": "RP070", "to": "ignore"}]},
    )  # fmt: skip
    differing = finding("turns", "run.trace.jsonl", "/stages/quat/3")
    stages = [{"stage": "quat", "ok": False}, {"stage": "y_out", "ok": True}]
    diff = part(differing, name="trace", stages=stages, waived={"x_raw": "not asked for"})
    suites = {
        suite.get("name"): {case.get("name"): case for case in suite}
        for suite in junit(gate(check, diff, unjudged_part()))
    }
    cases = suites["check"]
    assert cases["RP104 std-not-positive"].find("*") is None, "a rule that found nothing passed"
    assert not any(name.startswith("RP5") for name in cases), "no clip was read"
    failed = cases["RP990 made-up-error"]
    assert (failed.get("file"), failed.get("line"), failed[0].tag) == ("game/bundle.json", "5", "failure")
    assert failed[0].get("message") == "zero"
    assert failed[0].get("type") == "RP990"
    assert cases["RP991 made-up-warning"][0].tag == "system-out"
    assert "Ana: re-export" in cases["RP104 bundle.json#/StdX/1"][0].get("message")
    assert cases["RP070 fps-absent"][0].tag == "skipped"
    assert "Ana: re-export" in cases["RP070 fps-absent"][0].get("message")
    tags = {name: [child.tag for child in case] for name, case in suites["trace"].items()}
    assert tags == {
        "everything declared was judged": [], "stage quat": ["failure"], "stage y_out": [], "stage x_raw": ["skipped"],
    }  # fmt: skip
    assert [case[0].tag for case in suites["engine-trace/walk"].values()] == ["error"]


def test_a_part_says_why_it_has_no_answer(repository):
    """`0 of 1 declared values` does not show that the model is missing."""
    lost = part(finding("model.onnx: found nothing"), ledger=Ledger(1, 0), not_judged="model.onnx: found nothing")
    for name in ("text", "markdown", "junit", "sarif", "github"):
        told = render(gate(lost), name).replace("&#58;", ":")
        assert "model.onnx: found nothing" in told
        assert name == "github" or "could not be judged" in told
    silent = part(ledger=Ledger(1, 0), not_judged="model.onnx: found nothing")
    assert render(gate(silent), "github").endswith("::Files could not be judged: model.onnx: found nothing\n")


def test_the_families_that_junit_names_exist():
    """A renamed family would drop its passes from every test view."""
    kinds = ("bundle", "companion", "raw_clip", "teacher_prediction", "model")
    names = {rule.name for rule in rules_run(kinds)}
    assert {"std-not-positive", "model-input-clamped", "repeated-key"} <= names
    assert rules_run(["bundle"])
    assert not rules_run(["bundle", "nothing known"])


def test_sarif_points_at_the_value(repository):
    """Code scanning shows the line of the number, not the head of a file of ten thousand."""
    report = gate(
        part(
            finding("a", pointer="/StdX/1"), finding("b", pointer="/😀/1"), finding("c", pointer="/meta/axes"),
            finding("d"), finding("e", "model.onnx", "/graph/node/0"),
            finding("f", "run.trace.jsonl", "/stages/quat/3"), finding("g", "gone.json", "/a"),
            finding("h", str(repository / "game" / "bundle.json"), "/meta/fps"),
        )
    )  # fmt: skip
    locations = [result["locations"][0] for result in sarif(report)["results"]]
    places = [location["physicalLocation"] for location in locations]
    regions = [place.get("region") for place in places]
    lines = [
        region and tuple(region[key] for key in ("startLine", "startColumn", "endLine", "endColumn"))
        for region in regions
    ]
    # line 3 is ` "😀": [1, 2],`: the pair of the emoji counts as two
    assert lines == [(5, 8, 5, 11), (3, 12, 3, 13), (2, 10, 2, 11), None, None, None, None, (2, 18, 2, 20)]
    assert [place["artifactLocation"]["uri"] for place in places] == [
        *["game/bundle.json"] * 4, "game/model.onnx", "game/run.trace.jsonl", "game/gone.json", "game/bundle.json",
    ]  # fmt: skip
    assert {place["artifactLocation"]["uriBaseId"] for place in places} == {"%SRCROOT%"}
    assert locations[4]["logicalLocations"] == [{"fullyQualifiedName": "/graph/node/0"}]


def test_a_file_outside_the_repository_keeps_its_whole_address(repository, tmp_path_factory):
    """A path like ../../x/bundle.json means nothing on another machine."""
    other = tmp_path_factory.mktemp("other folder") / "bündle#1.json"
    other.write_text(BUNDLE, encoding="utf-8", newline="")
    (result,) = sarif(gate(part(finding("a", str(other), "/meta/fps"))))["results"]
    artifact = result["locations"][0]["physicalLocation"]["artifactLocation"]
    assert "uriBaseId" not in artifact
    assert artifact["uri"].startswith("file:///")
    assert "%20" in artifact["uri"]
    assert "#" not in artifact["uri"]
    assert unquote(artifact["uri"].removeprefix("file://")) == str(other)
    name = "run 1#2?%20:é.json"
    (inside,) = sarif(gate(part(finding("a", name))))["results"]
    artifact = inside["locations"][0]["physicalLocation"]["artifactLocation"]
    assert not set(" #?:") & set(artifact["uri"])
    assert unquote(artifact["uri"]) == f"game/{name}"


def test_windows_paths_become_slashes_and_file_addresses():
    """A backslash in a path makes every reader of a report lose the file."""
    root = PureWindowsPath("C:\\Game")
    assert path_within(root, PureWindowsPath("c:\\game\\Data\\a b.json")) == "Data/a b.json"
    assert path_within(root, PureWindowsPath("D:\\game\\a.json")) is None
    assert path_within(PurePosixPath("/game"), PurePosixPath("/games/a.json")) is None
    assert file_uri("C:/Game/a b.json") == "file:///C:/Game/a%20b.json"
    assert file_uri("//server/share/a.json") == "file://server/share/a.json"


def test_sarif_rules_say_what_to_do_and_lead_into_the_docs(repository, checkout, monkeypatch):
    """An alert without help is dismissed; a link to a missing section is worse."""
    from rigpact.contract.rules.catalogue import ALL_RULES

    monkeypatch.setenv("RIGPACT_DOCS_URL", "https://docs.example/rigpact/")
    found = [rule.at("bundle.json", "", **dict.fromkeys(_fields(rule.message), 1)) for rule in ALL_RULES]
    described = {rule["id"]: rule for rule in sarif(gate(part(*found)))["tool"]["driver"]["rules"]}
    page = (checkout / "docs" / "rules.md").read_text(encoding="utf-8")
    for rule in ALL_RULES:
        assert f"## {rule.code} {rule.name}\n" in page
        assert (
            described[rule.code]["helpUri"] == f"https://docs.example/rigpact/rules.md#{rule.code.lower()}-{rule.name}"
        )
        assert f"(#{rule.code.lower()}-{rule.name})" in page
    assert len(described) > 100
    assert described["RP104"]["help"]["text"].startswith("Why it is bad: ")


@pytest.mark.parametrize("address", ["javascript:alert(1)", "docs/", "https://x y", "https://x\n"])
def test_an_address_of_the_docs_that_is_none_is_refused(repository, monkeypatch, address):
    """Without the refusal, every alert would show a bad link."""
    monkeypatch.setenv("RIGPACT_DOCS_URL", address + "z")
    with pytest.raises(UnusableInput, match="RIGPACT_DOCS_URL"):
        render(gate(part(finding("x"))), "sarif")


def _fields(message):
    from string import Formatter

    return [name for _, name, _, _ in Formatter().parse(message) if name]


def test_fingerprints_survive_another_folder_and_another_number(repository):
    """Otherwise every push opens all alerts again."""
    (repository / "other").mkdir()
    shutil.copy(repository / "game" / "bundle.json", repository / "other")
    first, second, elsewhere = (
        sarif(gate(part(finding(text, file, "/StdX/1"))))["results"][0]["partialFingerprints"]
        for text, file in (("0", "bundle.json"), ("0.5", "bundle.json"), ("0", "../other/bundle.json"))
    )
    assert first == second == elsewhere


@pytest.mark.parametrize("name", FORMATS)
def test_the_same_report_gives_the_same_bytes(name, tmp_path, monkeypatch):
    """Reports that are compared, cached or signed must not hold the time or the machine."""
    texts = set()
    for folder in ("one", "two"):
        (tmp_path / folder / ".git").mkdir(parents=True)
        monkeypatch.chdir(tmp_path / folder)
        Path("bundle.json").write_text(BUNDLE, encoding="utf-8", newline="")
        texts.add(render(gate(part(finding("zero", pointer="/StdX/1")), unjudged_part()), name))
        texts.add(render(gate(part(finding("zero", pointer="/StdX/1")), unjudged_part()), name))
    (text,) = texts
    assert text.endswith("\n")
    assert "\r" not in text
    assert str(tmp_path) not in text


def test_hostile_text_leaves_machine_formats_whole():
    """One bone called `]]>` must not lose the report of a whole gate."""
    report = hostile_gate()
    root = junit(report)
    assert len(root) == len(report.parts)
    results = sarif(report)["results"]
    assert len(results) == len(report.findings)
    links = [
        result["message"]["text"] for result in results if re.search(r"(?<!\\)\[[^\]]*\]\(", result["message"]["text"])
    ]
    assert links == [], "SARIF viewers make links of [text](target) in plain messages"
    assert json.loads(render(report, "json"))["format"] == "rigpact-gate"
    for name in FORMATS:
        render(report, name).encode("utf-8")


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
