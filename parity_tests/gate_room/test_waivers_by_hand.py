"""What waivers, lowered rules and thresholds make of measured parts, on measurements put together by hand."""

from datetime import date
from pathlib import Path

import pytest

from rigpact.contract.errors import UnusableInput
from rigpact.contract.findings import Ledger
from rigpact.contract.rules.answers import comparison as rules
from rigpact.contract.rules.answers import gate
from rigpact.contract.settings.configuration import text_to_configuration
from rigpact.reports.gate.judging import judge_gate
from rigpact.reports.gate.measured import GateMeasurement, Measured, NotAsked
from rigpact.reports.gate.parts.catalogue import PARTS, PartKind

LAST_DAY = date(2030, 6, 30)
DEBT = 'owner = "Ana"\nreason = "next build"\nexpires = "2030-06-30"\n'
PLACES = ("/stages/pose", "/stages/pose/3", "/stages/pose2/1", "/stages/poses", "/stages", "/frames/3")


def differing(*places):
    return tuple(
        rules.STAGE_NOT_COMPARED.at("engine.jsonl", place, stage=place, holder="reference.jsonl") for place in places
    )


def part(name="free-run/walk", findings=(), ledger=(100, 100), **how):
    return Measured(name, "Free run on walk", findings, Ledger(*ledger), **how)


def judged(*parts, text="[gate]\n", day=LAST_DAY, other_files=(), not_asked=()):
    measurement = GateMeasurement("enemy-animation", parts, dict(not_asked), {})
    return judge_gate(measurement, text_to_configuration(text.encode(), Path("rigpact.toml")), day, other_files)


def waiver(part="free-run/walk", stage=None):
    return f'[[gate.waive]]\npart = "{part}"\n' + (f'stage = "{stage}"\n' if stage else "") + DEBT


def ledgers(report):
    return {
        part.name: (part.report.ledger.declared, part.report.ledger.compared, part.report.ledger.waived)
        for part in report.parts
    }


def words(report):
    return [(finding.rule.code, finding.pointer, finding.message) for finding in report.findings]


def test_a_sound_project_has_no_part_about_its_settings():
    """Nothing is let be, so there is nothing to say about it."""
    report = judged(part(summary={"frames": 7}))
    assert ledgers(report) == {"free-run/walk": (100, 100, 0)}
    assert dict(report.parts[0].report.summary) == {"frames": 7}
    assert (report.verdict, report.strict, report.not_asked) == ("pass", False, {})


def test_a_project_without_a_table_for_the_gate_has_the_usual_settings():
    """The gate was started by a measurement that somebody kept."""
    assert judged(part(), text="").verdict == "pass"
    assert judged(part(), text="[gate]\nstrict = true\n").strict is True


@pytest.mark.parametrize(
    ("day", "verdict", "ledger", "found"),
    [
        (LAST_DAY, "pass", (100, 0, 100), [
            ("RP974", "/gate/waive/0", "free-run/walk is waived until 2030-06-30 (Ana: next build); 6 findings not counted"),
        ]),
        (date(2030, 7, 1), "fail", (100, 100, 0), [
            *(("RP802", place, f"{place} was recorded by reference.jsonl only, so it was not compared") for place in PLACES),
            ("RP975", "/gate/waive/0", "the waiver of free-run/walk expired on 2030-06-30 (Ana: next build)"),
        ]),
    ],
)  # fmt: skip
def test_a_waived_part_does_not_count_up_to_the_last_day(day, verdict, ledger, found):
    """Its values are waived, not compared; the day after, the defect and the old promise are both errors."""
    report = judged(part(findings=differing(*PLACES), ledger=(100, 100)), part("files"), text=waiver(), day=day)
    assert ledgers(report) == {"free-run/walk": ledger, "files": (100, 100, 0), "waivers": (1, 1, 0)}
    assert words(report) == found
    assert (report.verdict, report.parts[0].is_waived) == (verdict, day == LAST_DAY)


def test_a_waived_part_keeps_its_measurements():
    """A report still shows how far it is off."""
    report = judged(part(findings=differing("/x"), summary={"frames": 7}), text=waiver())
    assert dict(report.parts[0].report.summary) == {"frames": 7}


@pytest.mark.parametrize("findings", [(), differing("/x")])
def test_a_waiver_that_meets_nothing_is_reported(findings):
    """Of a part that passes, or of one that is not there: it would silence the next defect."""
    parts = [part(), part("files", findings)]
    report = judged(*parts, text=waiver() + waiver("model"))
    assert ledgers(report) == {"free-run/walk": (100, 100, 0), "files": (100, 100, 0), "waivers": (2, 2, 0)}
    assert words(report)[len(findings) :] == [
        ("RP976", "/gate/waive/0", "the waiver of free-run/walk meets nothing that fails (Ana: next build)"),
        ("RP976", "/gate/waive/1", "the waiver of model meets nothing that fails (Ana: next build)"),
    ]


ACCOUNTS = {"accounts": {"pose": (30, 20, 4), "root": (10, 10, 0)}}


def test_a_waived_stage_takes_its_own_findings_and_values_with_it():
    """Of 30 values 20 were compared and 4 waived: all but those 4 are waived now. Other stages of a like name still count."""
    report = judged(part(findings=differing(*PLACES), ledger=(100, 90, 4), metrics=ACCOUNTS), text=waiver(stage="pose"))
    assert ledgers(report) == {"free-run/walk": (100, 70, 30), "waivers": (1, 1, 0)}
    assert [(code, pointer) for code, pointer, _ in words(report)] == [
        ("RP802", "/stages/pose2/1"), ("RP802", "/stages/poses"), ("RP802", "/stages"), ("RP802", "/frames/3"),
        ("RP974", "/gate/waive/0"),
    ]  # fmt: skip
    notice = "pose of free-run/walk is waived until 2030-06-30 (Ana: next build); 2 findings not counted"
    assert words(report)[-1][2] == notice
    assert (report.verdict, report.parts[0].is_waived) == ("fail", False)


def test_two_stages_are_waived_one_after_the_other():
    """Then the part passes, with what is left of it."""
    findings = differing("/stages/pose/1", "/stages/root")
    report = judged(
        part(findings=findings, ledger=(100, 90, 4), metrics=ACCOUNTS), text=waiver(stage="pose") + waiver(stage="root")
    )
    assert ledgers(report) == {"free-run/walk": (100, 60, 40), "waivers": (2, 2, 0)}
    assert [code for code, *_ in words(report)] == ["RP974", "RP974"]
    assert report.verdict == "pass"


@pytest.mark.parametrize(
    ("account", "is_used"), [((30, 26, 4), False), ((30, 30, 0), False), ((30, 25, 4), True), ((30, 26, 3), True)]
)
def test_a_waived_stage_without_findings_counts_only_where_values_are_missing(account, is_used):
    """The part fails for another stage: a waiver of one that is whole is not what lets it pass."""
    measured = part(findings=differing("/stages/root"), ledger=(100, 90, 4), metrics={"accounts": {"pose": account}})
    report = judged(measured, text=waiver(stage="pose"))
    assert [code for code, *_ in words(report)] == ["RP802", "RP974" if is_used else "RP976"]
    declared, compared, waived = account
    expected = (100, 90 - compared, 4 + declared - waived) if is_used else (100, 90, 4)
    assert ledgers(report)["free-run/walk"] == expected


def test_a_waived_stage_without_an_account_takes_its_findings_only():
    """A part that counts no values by stage."""
    report = judged(part(findings=differing("/stages/pose")), text=waiver(stage="pose"))
    assert ledgers(report)["free-run/walk"] == (100, 100, 0)
    assert [code for code, *_ in words(report)] == ["RP974"]


def test_a_question_that_the_settings_do_not_ask_is_no_part(monkeypatch):
    """The questions after it are still judged; what could not be judged is one value that nobody compared."""

    def refuse(*_):
        raise UnusableInput("baseline.json", "nothing", "a file")

    monkeypatch.setitem(
        PARTS, "budget", PartKind("budget", PARTS["budget"].ask, lambda *_: NotAsked("budget", "no limits"))
    )
    monkeypatch.setitem(PARTS, "model", PartKind("model", PARTS["model"].ask, refuse))
    report = judged(part("budget"), part("model"), part("files"), not_asked={"teacher": "no files"})
    assert report.not_asked == {"teacher": "no files", "budget": "no limits"}
    assert ledgers(report) == {"model": (1, 0, 0), "files": (100, 100, 0)}
    assert [finding.rule.code for finding in report.findings] == ["RP960"]
    assert dict(report.parts[0].report.summary) == {"not_judged": "baseline.json: found nothing, expected a file"}
    assert report.verdict == "undetermined"


def test_what_the_settings_changed_stands_in_the_summary_of_its_part_alone():
    """A lowered rule is a debt: the part that it met says so, and the settings' own part has its owner."""
    lower = f'[[lower]]\nrule = "RP802"\nto = "warning"\n{DEBT}'
    report = judged(part(findings=differing("/x", "/y")), part("files"), text=lower)
    met, untouched, settings = (dict(each.report.summary) for each in report.parts)
    assert [(each["code"], each["count"]) for each in met["configuration"]["lowered"]] == [("RP802", 2)]
    assert (untouched, settings) == ({}, {})
    assert ledgers(report)["waivers"] == (1, 1, 0)
    assert (len(report.parts[-1].report.findings), report.verdict) == (1, "pass")


def test_ignored_findings_are_waived_values_of_their_part():
    """They were declared, and nobody judges them."""
    lower = f'[[lower]]\nrule = "RP802"\nto = "ignore"\n{DEBT}'
    report = judged(part(findings=differing("/x", "/y")), text=lower)
    assert ledgers(report) == {"free-run/walk": (102, 100, 2), "waivers": (1, 1, 0)}


def test_other_files_and_thresholds_have_parts_of_their_own():
    """They judge nothing, so they stand last; a threshold beyond reason is one declared value."""
    other = (gate.NOT_OF_THE_ENGINE.at("a.json", recording="a.json", found="x", expected="y"),) * 2
    text = "[gate]\n[gate.thresholds]\ntolerance-factor = 1e30\n[gate.budget]\ninference-margin = 50\n"
    report = judged(part(), text=text + waiver(), other_files=other)
    assert ledgers(report) == {"free-run/walk": (100, 100, 0), "archive": (2, 2, 0), "waivers": (3, 3, 0)}
    assert [each.title for each in report.parts[1:]] == ["Archive and the files here", "Waivers and thresholds"]
    assert [finding.rule.code for finding in report.parts[-1].report.findings] == ["RP977", "RP977", "RP976"]
