"""What waivers, lowered rules and thresholds make of measured parts, on measurements put together by hand."""

from datetime import date
from pathlib import Path

import pytest

from rigpact.contract.findings import FindingsReport, Ledger
from rigpact.contract.rules.family import answers
from rigpact.contract.settings.configuration import text_to_configuration
from rigpact.reports.gate.judging import judge_gate
from rigpact.reports.gate.measured import GateMeasurement, Measured

WALK = "free-run/walk"
LAST_DAY, DAY_AFTER = date(2030, 6, 30), date(2030, 7, 1)
DEBT = 'owner = "Ana"\nreason = "next build"\nexpires = "2030-06-30"\n'
PLACES = ("/stages/pose", "/stages/pose/3", "/stages/pose2/1", "/stages/poses", "/stages", "/frames/3")
ACCOUNTS = {"pose": (30, 20, 4), "root": (10, 10, 0)}


def differing(*places):
    return tuple(answers.STAGE_NOT_COMPARED.at("engine.jsonl", p, stage=p, holder="reference.jsonl") for p in places)


def part(name=WALK, places=(), ledger=(100, 100), accounts=None, **how):
    report = FindingsReport(differing(*places), Ledger(*ledger), how)
    return Measured(report, accounts or {}, name=name, title="Free run on walk")


def judged(*parts, text="[gate]\n", day=LAST_DAY):
    return judge_gate(GateMeasurement(parts), text_to_configuration(text.encode(), Path("rigpact.toml")), day)


def waiver(*stages, part=WALK):
    lines = [f'stage = "{stage}"\n' for stage in stages] or [""]
    return "".join(f'[[gate.waive]]\npart = "{part}"\n{line}{DEBT}' for line in lines)


def lower(to):
    return f'[[lower]]\nrule = "RP802"\nto = "{to}"\n{DEBT}'


def ledgers(report):
    return {
        each.name: (each.report.ledger.declared, each.report.ledger.compared, each.report.ledger.waived)
        for each in report.parts
    }


def found(report):
    return [(finding.rule.code, finding.pointer) for finding in report.findings]


def test_a_sound_project_has_no_part_about_its_settings():
    """Nothing is let be, so there is nothing to say about it."""
    report = judged(part(frames=7))
    assert ledgers(report) == {WALK: (100, 100, 0)}
    assert dict(report.parts[0].report.summary) == {"frames": 7}
    assert (report.verdict, report.strict, report.not_asked) == ("pass", False, {})
    assert judged(part(), text="").verdict == "pass"
    assert judged(part(), text="[gate]\nstrict = true\n").strict is True


BOTH = ("/stages/pose/1", "/stages/root")
LEFT = [("RP802", place) for place in PLACES[2:]]
NOTICE, EXPIRED, UNMET = ("RP974", "/gate/waive/0"), ("RP975", "/gate/waive/0"), ("RP976", "/gate/waive/0")


@pytest.mark.parametrize(
    ("text", "day", "measured", "ledger", "said", "verdict"),
    [
        (waiver(), LAST_DAY, part(places=PLACES), (100, 0, 100), [NOTICE], "pass"),
        (waiver(), DAY_AFTER, part(places=PLACES), (100, 100, 0), [*(("RP802", p) for p in PLACES), EXPIRED], "fail"),
        (waiver(), LAST_DAY, part(), (100, 100, 0), [UNMET], "pass"),
        (waiver("pose"), LAST_DAY, part(places=PLACES, ledger=(100, 90, 4), accounts=ACCOUNTS), (100, 70, 30),
         [*LEFT, NOTICE], "fail"),
        (waiver("pose"), LAST_DAY, part(places=["/stages/pose"]), (100, 100, 0), [NOTICE], "pass"),
        (waiver("pose", "root"), LAST_DAY, part(places=BOTH, ledger=(100, 90, 4), accounts=ACCOUNTS),
         (100, 60, 40), [NOTICE, ("RP974", "/gate/waive/1")], "pass"),
        *((waiver("pose"), LAST_DAY, part(places=["/stages/root"], ledger=(100, 90, 4), accounts={"pose": account}), ledger,
           [("RP802", "/stages/root"), said], "fail") for account, ledger, said in [
            ((30, 26, 4), (100, 90, 4), UNMET), ((30, 30, 0), (100, 90, 4), UNMET),
            ((30, 25, 4), (100, 65, 30), NOTICE), ((30, 26, 3), (100, 64, 31), NOTICE)]),
    ],
)  # fmt: skip
def test_a_waiver_takes_its_own_findings_and_values_up_to_its_last_day(text, day, measured, ledger, said, verdict):
    """Waived is not compared; stages of a like name still count; the day after, the defect and the old promise are errors.

    A waived stage without findings counts only where values are missing: a whole one is not what lets the part pass.
    """
    report = judged(measured, part("files"), text=text, day=day)
    assert ledgers(report) == {WALK: ledger, "files": (100, 100, 0), "waivers": (text.count("waive"),) * 2 + (0,)}
    assert (found(report), report.verdict) == (said, verdict)
    assert report.parts[0].is_waived == (said == [NOTICE] and "stage" not in text)


def test_a_waiver_says_what_it_lets_be():
    """Who reads a pass must see whose it is, and until when; the part keeps its measurements."""
    report = judged(part(places=PLACES, accounts=ACCOUNTS, frames=7), text=waiver("pose"))
    notice = f"pose of {WALK} is waived until 2030-06-30 (Ana: next build); 2 findings not counted"
    assert report.findings[-1].message == notice
    assert dict(report.parts[0].report.summary) == {"frames": 7}
    (unmet,) = judged(part(), text=waiver(part="model")).findings
    assert (unmet.rule.code, unmet.message) == (
        "RP976",
        "the waiver of model meets nothing that fails (Ana: next build)",
    )


def test_a_lowered_rule_stands_in_the_summary_of_its_part_and_ignored_findings_are_waived_values():
    """A lowered rule is a debt: the part that it met says so, and the settings' own part has its owner."""
    report = judged(part(places=("/x", "/y")), part("files"), text=lower("warning"))
    met, untouched, settings = (dict(each.report.summary) for each in report.parts)
    assert [(each["code"], each["count"]) for each in met["configuration"]["lowered"]] == [("RP802", 2)]
    assert (untouched, settings, ledgers(report)["waivers"]) == ({}, {}, (1, 1, 0))
    assert (len(report.parts[-1].report.findings), report.verdict) == (1, "pass")
    ignored = judged(part(places=("/x", "/y")), text=lower("ignore"))
    assert ledgers(ignored) == {WALK: (102, 100, 2), "waivers": (1, 1, 0)}


def test_thresholds_have_a_part_of_their_own():
    """They judge nothing, so they stand last; a threshold beyond reason is one declared value."""
    text = "[gate]\n[gate.thresholds]\ntolerance-factor = 1e30\n[gate.budget]\ninference-margin = 50\n"
    report = judged(part(), text=text + waiver())
    assert ledgers(report) == {WALK: (100, 100, 0), "waivers": (3, 3, 0)}
    assert report.parts[-1].title == "Waivers and thresholds"
    assert [finding.rule.code for finding in report.parts[-1].report.findings] == ["RP977", "RP977", "RP976"]
