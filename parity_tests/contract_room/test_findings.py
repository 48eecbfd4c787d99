"""Findings, their account and the verdict that follows, on findings put together by hand."""

import hashlib

from rigpact.contract.findings import (
    EXIT_CANNOT_JUDGE,
    EXIT_FINDINGS,
    EXIT_INTERNAL,
    EXIT_PASS,
    Finding,
    FindingsReport,
    Ledger,
    Rule,
    Severity,
)

from ..every_case import every_case

ERROR, WARNING, INFO = (
    Rule(f"RP00{place}", severity.value, "{what} is {number:g}", "repair it", "it breaks", severity=severity)
    for place, severity in enumerate((Severity.ERROR, Severity.WARNING, Severity.INFO), start=1)
)
ALL, NOTHING, SOME = Ledger(4, 4), Ledger(4, 0), Ledger(4, 3)


def report(ledger, *rules):
    return FindingsReport(tuple(rule.at("a.json", "/x", what="x", number=2.5) for rule in rules), ledger)


@every_case(
    ("ledger", "missing", "is_complete"),
    [
        (Ledger(4, 4), 0, True), (Ledger(4, 3, 1), 0, True), (Ledger(4, 1, 3), 0, True), (Ledger(4, 0, 4), 0, False),
        (Ledger(4, 3), 1, False), (Ledger(4, 0), 4, False), (Ledger(5, 1, 2), 2, False), (Ledger(0, 0), 0, False),
        (Ledger(4, 5), -1, False),
    ],
)  # fmt: skip
def test_an_account_is_complete_where_something_was_compared_and_nothing_is_missing(ledger, missing, is_complete):
    """Everything waived is nothing judged; and more compared than declared is an account that does not add up."""
    assert (ledger.missing, ledger.complete) == (missing, is_complete)
    assert ledger.to_json() == {
        "declared": ledger.declared, "compared": ledger.compared, "waived": ledger.waived, "missing": missing,
    }  # fmt: skip


@every_case(
    ("ledger", "rules", "verdict", "exit_code", "strictly"),
    [
        (ALL, (), "pass", 0, 0), (ALL, (INFO,), "pass", 0, 0), (ALL, (WARNING,), "pass", 0, 1), (ALL, (ERROR,), "fail", 1, 1),
        (ALL, (INFO, WARNING, ERROR), "fail", 1, 1), (SOME, (), "undetermined", 2, 2), (SOME, (WARNING,), "undetermined", 2, 1),
        (SOME, (ERROR,), "fail", 1, 1), (NOTHING, (), "undetermined", 2, 2), (NOTHING, (ERROR,), "undetermined", 2, 2),
        (NOTHING, (WARNING,), "undetermined", 2, 2), (Ledger(1, 1), (ERROR,), "fail", 1, 1),
    ],
)  # fmt: skip
def test_the_verdict_and_the_exit_status(ledger, rules, verdict, exit_code, strictly):
    """A build server stops on 1 and asks a person on 2: what was not compared is not a pass, and not a fault of the engine."""
    found = report(ledger, *rules)
    assert (found.verdict, found.exit_code(), found.exit_code(strict=True)) == (verdict, exit_code, strictly)
    assert [found.count(each) for each in Severity] == [sum(r.severity is each for r in rules) for each in Severity]
    assert (EXIT_PASS, EXIT_FINDINGS, EXIT_CANNOT_JUDGE, EXIT_INTERNAL) == (0, 1, 2, 3)  # scripts know these numbers


def test_a_finding_has_its_numbers_in_the_words_of_its_rule():
    """A place of its own beside it: nobody reads it from the words."""
    found = ERROR.at("folder/a.json", "/x/3", what="StdX[3]", number=0.25)
    assert found.to_json() == {
        "code": "RP001", "name": "error", "severity": "error", "file": "folder/a.json", "pointer": "/x/3",
        "message": "StdX[3] is 0.25", "hint": "repair it", "fingerprint": found.fingerprint,
    }  # fmt: skip
    assert WARNING.at("a.json") == Finding(WARNING, "a.json", "", {})
    assert (ERROR.engine_refuses, ERROR.about, ERROR.follows) == (False, "", ())  # what is usual


def test_a_fingerprint_is_of_rule_file_name_and_place_alone():
    """A waiver of a finding must still meet it in another folder, and with another number; but nowhere else."""
    found = ERROR.at("folder/a.json", "/x/3", what="x", number=1).fingerprint
    assert found == hashlib.sha256(b"RP001\0a.json\0/x/3").hexdigest()[:16]
    assert found == ERROR.at("a.json", "/x/3", what="x", number=2).fingerprint
    identity = "RP001\0\udce4.json\0/x".encode("utf-8", "surrogatepass")  # a name may be no text
    assert ERROR.at("\udce4.json", "/x").fingerprint == hashlib.sha256(identity).hexdigest()[:16]
    others = WARNING.at("a.json", "/x/3"), ERROR.at("b.json", "/x/3"), ERROR.at("a.json", "/x/4")
    assert found not in [other.fingerprint for other in others]


def test_a_report_as_a_document():
    """The format that other programs read."""
    found = FindingsReport((INFO.at("a.json", what="x", number=1),), SOME, {"a": 1})
    assert found.to_json() == {
        "format": "rigpact-findings", "version": 1, "verdict": "undetermined",
        "findings": [found.findings[0].to_json()],
        "ledger": {"declared": 4, "compared": 3, "waived": 0, "missing": 1}, "summary": {"a": 1},
    }  # fmt: skip
    assert FindingsReport((), ALL).to_json()["summary"] == {}
