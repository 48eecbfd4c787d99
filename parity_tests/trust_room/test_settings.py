"""A project's own settings

What lowers an error has an owner, a reason and a last day, and every answer shows it.
"""

import hashlib
import json
import shutil
import zipfile
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from rigpact.contract.errors import UnusableInput
from rigpact.contract.settings.days import refuse_far_day
from rigpact.reports.renderers import FORMATS

from ..every_case import every_case
from ..soon import SOON
from .tried import passes, refused

Command = Callable[..., Any]
GATE = '[gate]\nbundle = "norm_template.json"\ncompanion = "pretrain_template.json"\nfree-run = false\n'
LOWERED = f"""
[[lower]]
rule = "RP104"
to = "info"
owner = "Ana"
reason = "the spine is rebuilt"
expires = "{SOON}"
"""


@pytest.fixture
def project(demo_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The demo's bundle and companion under the gate, with a deviation of zero: RP104."""
    for name in ("norm_template.json", "pretrain_template.json"):
        shutil.copy(demo_bundle / name, tmp_path)
    bundle = json.loads((tmp_path / "norm_template.json").read_text(encoding="utf-8"))
    bundle["StdX"][17] = 0
    (tmp_path / "norm_template.json").write_text(json.dumps(bundle), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _configure(folder: Path, before: str, after: str = "") -> None:
    (folder / "rigpact.toml").write_text(before + GATE + after, encoding="utf-8")


DISARMING = {
    'ignore = ["RP"]\n': "[[lower]] with rule, to, owner, reason and expires",
    'select = ["RP070"]\n': "[[lower]] with rule, to, owner, reason and expires",
    '[[per-path]]\npaths = ["*"]\nignore = ["RP1"]\n': "[[lower]] with rule, to, owner, reason and expires",
    '[severity]\nRP = "info"\n': "raises nothing",
    '[severity]\nRP104 = "warning"\n': "lower with [[lower]]",
    LOWERED.replace("RP104", "RP"): "a family cannot be lowered",
    LOWERED.replace("RP104", "RP1"): "a family cannot be lowered",
    LOWERED.replace("RP104", "RP950"): "the exceptions of the project's settings",
    LOWERED + 'paths = ["*"]\n': "all files: no `paths`",
    LOWERED.replace('owner = "Ana"\n', ""): "no owner",
    LOWERED.replace('reason = "the spine is rebuilt"\n', ""): "no reason",
    LOWERED.replace(f'expires = "{SOON}"\n', ""): "no expires",
}


@refused(
    "a line of the settings that silences a family of rules, all files, or one rule without owner, reason and day",
    "exit 2; the error names the table to write instead",
)
@every_case("line", DISARMING)
@pytest.mark.parametrize(
    "words", [("gate",), ("check", "norm_template.json"), ("check", "--each", "norm_template.json")]
)
def test_one_line_does_not_disarm_the_gate(command: Command, project: Path, line: str, words: tuple[str, ...]) -> None:
    """One line, added on the evening before a release, made every check green for ever."""
    _configure(project, line)
    answer = command(*words)
    assert (answer.status, answer.out) == (2, "")
    assert DISARMING[line] in answer.err


@refused("an error lowered with owner, reason and day", "shown with all three in the answer of every format")
@pytest.mark.parametrize("name", sorted(FORMATS))
def test_what_is_lowered_shows_in_every_format(command: Command, project: Path, name: str) -> None:
    """Who reads a pass in the merge request must see what it does not count."""
    _configure(project, LOWERED)
    answer = command("gate", "--report", f"{name}=answer", "--html", "page.html")
    assert answer.status == 0
    for text in (
        answer.out,
        (project / "answer").read_text(encoding="utf-8"),
        (project / "page.html").read_text("utf-8"),
    ):
        assert all(word in text for word in ("RP954", "Ana", "the spine is rebuilt", SOON)), text[:2000]


@refused("a lowered error, a day after its last", "RP952, and the error counts in full again")
def test_a_lowered_rule_comes_back(command: Command, project: Path) -> None:
    """Without an end every exception is for ever."""
    _configure(project, LOWERED.replace(SOON, "2020-01-01"))
    answer = command("gate", "--format", "json")
    found = {(each["code"], each["severity"]) for part in json.loads(answer.out)["parts"] for each in part["findings"]}
    assert answer.status == 1
    assert {("RP104", "error"), ("RP952", "error")} <= found


@refused("an entry among the known findings that carries another finding's fingerprint", "exit 2 with its place")
def test_a_waiver_waives_what_it_names(command: Command, project: Path) -> None:
    """An entry that reads as a harmless warning hid an error."""
    words = ("--owner", "Ana", "--reason", "soon", "--expires", SOON)
    command("check", "norm_template.json", "--write-baseline", "known.json", *words)
    known = json.loads((project / "known.json").read_text(encoding="utf-8"))
    next(each for each in known["findings"] if each["code"] == "RP104")["code"] = "RP131"
    (project / "known.json").write_text(json.dumps(known), encoding="utf-8")
    _configure(project, 'baseline = "known.json"\n')
    answer = command("gate")
    assert (answer.status, answer.out) == (2, "")
    assert "/fingerprint: found the fingerprint of another finding" in answer.err


DEBT = 'owner = "Ana"\nreason = "soon"\nexpires = "9999-12-31"\n'
FOR_EVER = {
    "[[lower]]": ("", f'[[lower]]\nrule = "RP104"\nto = "info"\n{DEBT}', "lower[0].expires"),
    "[[gate.waive]]": ("", f'[[gate.waive]]\npart = "files"\n{DEBT}', "gate.waive[0].expires"),
    "a known finding": ('baseline = "known.json"\n', "", "known.json#/findings/0/expires"),
}


@refused("a waiver, a lowered rule or a known finding that ends in the year 9999", "exit 2 with its place")
@pytest.mark.parametrize("kind", FOR_EVER)
@pytest.mark.parametrize("words", [("gate",), ("init", "--status")])
def test_nothing_is_let_be_for_more_than_a_year(
    command: Command, project: Path, kind: str, words: tuple[str, ...]
) -> None:
    """A bone that was off by 40 degrees passed until the year 9999, and nobody was ever asked again."""
    soon = ("--owner", "Ana", "--reason", "soon", "--expires", SOON)
    command("check", "norm_template.json", "--write-baseline", "known.json", *soon)
    known = (project / "known.json").read_text(encoding="utf-8").replace(SOON, "9999-12-31")
    (project / "known.json").write_text(known, encoding="utf-8")
    before, after, place = FOR_EVER[kind]
    _configure(project, before, after)
    answer = command(*words)
    assert (answer.status, answer.out) == (2, "")
    assert f"{place}: found '9999-12-31', expected a day at most a year ahead" in answer.err


@pytest.mark.parametrize(
    ("ahead", "status"), [(date(2029, 6, 30), True), (date(2029, 7, 1), True), (date(2029, 6, 28), False)]
)
def test_a_year_is_the_same_day_of_the_next_one(ahead: date, status: bool) -> None:
    """366 days, so that a leap day refuses nobody's birthday."""
    if status:
        refuse_far_day("2030-06-30", "place", ahead)
    else:
        with pytest.raises(UnusableInput, match="at most a year ahead \\(2030-06-29\\)"):
            refuse_far_day("2030-06-30", "place", ahead)


@refused("known findings written for longer than a year", "exit 2, nothing is written")
def test_known_findings_are_not_written_for_ever(command: Command, project: Path) -> None:
    """What the gate would refuse tomorrow is refused today."""
    words = ("--owner", "Ana", "--reason", "soon", "--expires", "9999-12-31")
    answer = command("check", "norm_template.json", "--write-baseline", "known.json", *words)
    assert (answer.status, (project / "known.json").exists()) == (2, False)


UNREASONABLE = {
    "[gate.thresholds]\ntolerance-factor = 1e30\n": "tolerance-factor",
    "[gate.thresholds]\ntolerance-factor = 8193\n": "tolerance-factor",
    "[gate.thresholds]\nadequacy-margin = 1e-9\n": "adequacy-margin",
    "[gate.thresholds]\nadequacy-margin = 1001\n": "adequacy-margin",
    "[gate.budget]\ninference-us = 100\ninference-margin = 1e9\n": "inference-margin",
}


@refused("a threshold that nothing can reach, such as `tolerance-factor = 1e30`", "RP977, exit 1")
@pytest.mark.parametrize("text", UNREASONABLE)
def test_a_threshold_that_judges_nothing_is_a_finding(
    command: Command, project: Path, demo_bundle: Path, text: str
) -> None:
    """Every comparison passed, and the answer still said how many values were judged."""
    shutil.copy(demo_bundle / "norm_template.json", project)
    _configure(project, "", text)
    answer = command("gate", "--format", "json")
    found = [each for part in json.loads(answer.out)["parts"] for each in part["findings"]]
    assert answer.status in (1, 2)
    assert [each["pointer"].rpartition("/")[2] for each in found if each["code"] == "RP977"] == [UNREASONABLE[text]]


@passes("`tolerance-factor = 8192`: an engine in half precision", "passes; the differences that it allows are shown")
def test_a_threshold_for_half_precision_is_none(command: Command, project: Path, demo_bundle: Path) -> None:
    """2^24 over 2^11: half precision rounds that much coarser than single precision, and no arithmetic more."""
    shutil.copy(demo_bundle / "norm_template.json", project)
    _configure(project, "", "[gate.thresholds]\ntolerance-factor = 8192\n")
    assert command("gate").status == 0


@pytest.fixture
def archived(command: Command, project: Path, demo_bundle: Path) -> Path:
    """A project that passed, and its archive."""
    shutil.copy(demo_bundle / "norm_template.json", project)
    _configure(project, "")
    assert command("gate", "--archive", "kept.rigpact.zip").status == 0
    return project


NOW: dict[str, tuple[Callable[[Path], object], set[str]]] = {
    "the same files": (lambda bundle: None, set()),
    "another bundle": (lambda bundle: bundle.write_bytes(bundle.read_bytes() + b" "), {"norm_template.json"}),
    "no bundle": (lambda bundle: bundle.unlink(), {"norm_template.json"}),
}


@refused("an archive of yesterday, judged beside a bundle that was changed since, or is gone", "RP979, exit 1")
@passes("an archive judged where its files are the same")
@pytest.mark.parametrize("now", NOW)
def test_an_old_archive_says_that_the_files_differ(command: Command, archived: Path, now: str) -> None:
    """The archive passed, and the bundle that was shipped was another one. A night of recordings is not run again."""
    change, differ = NOW[now]
    change(archived / "norm_template.json")
    answer = command("gate", "--from", "kept.rigpact.zip", "--format", "json")
    found = [each for part in json.loads(answer.out)["parts"] for each in part["findings"] if each["code"] == "RP979"]
    assert (answer.status, {each["file"] for each in found}) == (int(bool(differ)), differ)


def _forged(path: Path, name: str, change: Callable[[Any], object], *, rehash: bool) -> None:
    """The archive with one document changed; `rehash`: the manifest names the hash of the changed member."""
    with zipfile.ZipFile(path) as file:
        members = {entry.filename: file.read(entry) for entry in file.infolist()}
    document = json.loads(members[name])
    change(document)
    members[name] = json.dumps(document).encode()
    manifest = json.loads(members["manifest.json"])
    if rehash:
        manifest["members"][name] = hashlib.sha256(members[name]).hexdigest()
        members["manifest.json"] = json.dumps(manifest).encode()
    with zipfile.ZipFile(path, "w") as file:
        for member, content in members.items():
            file.writestr(member, content)


def _without_findings(document: Any) -> None:
    for part in document["parts"]:
        part["findings"] = []


@refused("an archive whose findings, verdict or files were edited by hand", "exit 2: other words than its hash says")
@pytest.mark.parametrize(
    ("name", "change", "rehash"),
    [
        ("measured.json", _without_findings, False),
        ("measured.json", _without_findings, True),
        ("verdict.json", lambda document: document.update(verdict="pass"), True),
        ("manifest.json", lambda document: document["provenance"].update({"norm_template.json": "0" * 64}), False),
    ],
)
def test_a_forged_archive_is_refused(
    command: Command, project: Path, name: str, change: Callable[[Any], object], rehash: bool
) -> None:
    """An archive without its findings passed in the next job."""
    _configure(project, "")
    assert command("gate", "--archive", "kept.rigpact.zip").status == 1
    _forged(project / "kept.rigpact.zip", name, change, rehash=rehash)
    answer = command("gate", "--from", "kept.rigpact.zip")
    assert (answer.status, answer.out, answer.err.count("\n")) == (2, "", 1)
