"""Split a part of the gate into cases for a test view: passed, failed, waived or not judged.

A part always has one case for its account, so an incomplete account shows even if nothing else is wrong. The other
cases are the compared stages, the rules with findings and, if the part read files, the rules without findings. A case
that is waived or left out by the configuration is skipped, with the reason.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from rigpact.contract.findings import Finding, Rule
from rigpact.reports.gate.answer.part import Part
from rigpact.reports.renderers.wording import is_failing, message_text, part_text, unjudged_text
from rigpact.reports.terminal import account_text, plain

ACCOUNT = "everything declared was judged"
_LET_BE = "differs beyond its derived tolerance; the project's limits or a waiver let it be"


class Outcome(StrEnum):
    """The outcome of a case."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    UNJUDGED = "unjudged"


@dataclass(frozen=True)
class Case:
    """One judgement. headline: why it did not pass, empty if it passed. code: the rule's code, if it is a rule."""

    name: str
    outcome: Outcome
    headline: str = ""
    code: str = ""
    findings: tuple[Finding, ...] = ()


def cases_of(part: Part, *, strict: bool = False) -> tuple[Case, ...]:
    """All cases of a part. strict: warnings fail too."""
    summary = part.report.summary
    if part.is_waived:
        return (Case(ACCOUNT, Outcome.SKIPPED, part_text(part)),)
    stages = tuple(_stage_cases(part, strict=strict))
    told = {id(finding) for case in stages for finding in case.findings}
    rest = [finding for finding in part.report.findings if id(finding) not in told]
    return (_account(part), *stages, *_rule_cases(rest, summary, strict=strict), *_waived(summary))


def _account(part: Part) -> Case:
    ledger = part.report.ledger
    if part.verdict == "undetermined":
        return Case(ACCOUNT, Outcome.UNJUDGED, unjudged_text(part))
    if not ledger.complete:
        return Case(ACCOUNT, Outcome.FAILED, account_text(ledger))
    return Case(ACCOUNT, Outcome.PASSED)


def _stage_cases(part: Part, *, strict: bool) -> Iterator[Case]:
    summary = part.report.summary
    for entry in _mappings(summary.get("stages")):
        if "stage" not in entry or "ok" not in entry:
            continue
        stage = str(entry["stage"])
        inside = f"/stages/{stage}/"
        here = tuple(each for each in part.report.findings if f"{each.pointer}/".startswith(inside))
        if any(is_failing(finding, strict=strict) for finding in here):
            yield Case(f"stage {plain(stage)}", Outcome.FAILED, message_text(here[0]), here[0].rule.code, here)
        elif entry["ok"] or here:
            yield Case(f"stage {plain(stage)}", Outcome.PASSED, findings=here)
        else:
            yield Case(f"stage {plain(stage)}", Outcome.SKIPPED, _LET_BE)
    waived = summary.get("waived")
    for stage, reason in waived.items() if isinstance(waived, Mapping) else ():
        yield Case(f"stage {plain(stage)}", Outcome.SKIPPED, f"waived: {plain(reason)}")


def _rule_cases(findings: Sequence[Finding], summary: Mapping[str, Any], *, strict: bool) -> Iterator[Case]:
    by_code: dict[str, list[Finding]] = {}
    for finding in findings:
        by_code.setdefault(finding.rule.code, []).append(finding)
    kinds = {str(entry.get("kind")) for entry in _mappings(summary.get("files"))}
    every = (*(rules_run(kinds) if kinds else ()), *(finding.rule for finding in findings))
    rules = {rule.code: rule for rule in every}
    lowered = {str(entry.get("code")): entry for entry in _configured(summary, "lowered")}
    for code in sorted(rules):
        here = by_code.get(code, [])
        failing = [finding for finding in here if is_failing(finding, strict=strict)]
        outcome = Outcome.FAILED if failing else Outcome.SKIPPED if code in lowered else Outcome.PASSED
        headline = message_text(failing[0]) if failing else ""
        if outcome is Outcome.SKIPPED:
            headline = plain(f"lowered to {lowered[code].get('to')} {_debt(lowered[code])}")
        yield Case(f"{code} {rules[code].name}", outcome, headline, code, tuple(here))


def rules_run(kinds: Iterable[str]) -> tuple[Rule, ...]:
    """The rules of all families that `check` runs on files of these kinds.

    None if a file has a kind that `check` does not know.
    """
    from rigpact.contract.rules.catalogue import FAMILIES
    from rigpact.contract.rules.family import GIVES

    given = set(kinds)
    if not given <= GIVES.keys():
        return ()
    return tuple(rule for family in FAMILIES if family.is_run_on(given) for rule in family.rules)


def _waived(summary: Mapping[str, Any]) -> Iterator[Case]:
    for entry in _configured(summary, "waived"):
        code, place = plain(entry.get("code", "")), plain(f"{entry.get('file', '')}#{entry.get('pointer', '')}")
        yield Case(f"{code} {place}".strip("# "), Outcome.SKIPPED, plain(f"waived {_debt(entry)}"), code)


def _configured(summary: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """What the project's configuration lowered or waived in a part."""
    configuration = summary.get("configuration")
    return _mappings(configuration.get(name)) if isinstance(configuration, Mapping) else []


def _debt(entry: Mapping[str, Any]) -> str:
    return f"until {entry.get('expires')} by {entry.get('owner')}: {entry.get('reason')}"


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list | tuple) else []
