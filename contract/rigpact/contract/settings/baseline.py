"""Known findings: each has an owner, a reason and a day on which it ends.

The fingerprint of a finding (rule, file name, pointer) identifies it, so a changed number does not make it new. A known
finding is waived: it leaves the report, and the ledger counts it. After its day it stays in the report, and the waiver
itself becomes a finding too (rules/answers/baseline.py).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from datetime import date
from pathlib import Path, PurePath

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import read_json, write_bytes
from rigpact.contract.findings import Finding, FindingsReport
from rigpact.contract.json_pointer import json_pointer
from rigpact.contract.rules.answers import baseline as rules
from rigpact.contract.rules.files.structure import check_against_schema
from rigpact.contract.settings.configuration import Configuration

FORMAT, VERSION = "rigpact-baseline", 1


@dataclass(frozen=True)
class Waiver:
    """One known finding. `expires`: the last day on which it holds, YYYY-MM-DD."""

    fingerprint: str
    code: str
    file: str
    pointer: str
    owner: str
    reason: str
    expires: str

    @property
    def place(self) -> str:
        """Where the finding is."""
        return f"{self.file}#{self.pointer}" if self.pointer else self.file

    def holds(self, today: date) -> bool:
        """Whether its day has not passed."""
        return today <= date.fromisoformat(self.expires)


def read_baseline(path: Path) -> tuple[Waiver, ...]:
    """Read a file of known findings; UnusableInput where an entry lacks its owner, its reason or its day."""
    data = read_json(path).data
    for pointer, message in check_against_schema(data, "baseline"):
        raise UnusableInput(f"{path}#{pointer}", message, "a file that `rigpact check --write-baseline` writes")
    waivers = tuple(Waiver(**entry) for entry in data["findings"])
    for index, waiver in enumerate(waivers):
        parse_day(waiver.expires, f"{path}#{json_pointer('findings', index, 'expires')}")
    return waivers


def parse_day(text: str, place: object) -> date:
    """Read YYYY-MM-DD; UnusableInput for anything else."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise UnusableInput(place, repr(text), "a day as YYYY-MM-DD") from None


def write_baseline(path: Path, findings: Iterable[Finding], owner: str, reason: str, expires: str) -> int:
    """Write findings as known; return how many. All get the same owner, reason and day; edit the file to change one."""
    waivers = {
        finding.fingerprint: Waiver(
            fingerprint=finding.fingerprint, code=finding.rule.code, file=PurePath(finding.file).name,
            pointer=finding.pointer, owner=owner, reason=reason, expires=expires,
        )
        for finding in findings
    }  # fmt: skip
    ordered = sorted(waivers.values(), key=lambda waiver: (waiver.file, waiver.code, waiver.pointer))
    document = {"format": FORMAT, "version": VERSION, "findings": [asdict(waiver) for waiver in ordered]}
    write_bytes(path, (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode("utf-8"))
    return len(ordered)


def configured_report(report: FindingsReport, configuration: Configuration | None, today: date) -> FindingsReport:
    """Apply a configuration to a report: change severities, waive known findings, leave out others.

    The ledger counts what is left out or waived as declared and waived; the summary names it.
    """
    if configuration is None:
        return report
    hearing = Hearing(configuration, today)
    heard = hearing.hear(report)
    return replace(heard, findings=(*heard.findings, *hearing.about_waivers()))


class Hearing:
    """A configuration on one day, for any number of reports: it remembers which waivers met a finding."""

    def __init__(self, configuration: Configuration, today: date) -> None:
        """Read the waivers; UnusableInput for a file of waivers that is none."""
        self._configuration, self._today = configuration, today
        self.waivers = read_baseline(configuration.baseline) if configuration.baseline else ()
        self._holding = {waiver.fingerprint: waiver for waiver in self.waivers if waiver.holds(today)}
        self._met: set[str] = set()

    def hear(self, report: FindingsReport) -> FindingsReport:
        """The report as configured, with a summary of what was changed."""
        met = {finding.fingerprint for finding in report.findings}
        self._met |= met
        heard = [_with_severity(finding, self._configuration) for finding in report.findings]
        wanted = [finding for finding in heard if finding is not None]
        kept = tuple(finding for finding in wanted if finding.fingerprint not in self._holding)
        used = [waiver for fingerprint, waiver in self._holding.items() if fingerprint in met]
        gone = len(report.findings) - len(kept)
        ledger = replace(report.ledger, declared=report.ledger.declared + gone, waived=report.ledger.waived + gone)
        left_out = {each.rule.code for each, answer in zip(report.findings, heard, strict=True) if answer is None}
        summary = {
            "file": str(self._configuration.path),
            "left_out": len(heard) - len(wanted),
            "left_out_rules": sorted(left_out),
            "waived": [asdict(waiver) for waiver in used],
        }
        return FindingsReport(kept, ledger, {**report.summary, "configuration": summary})

    def about_waivers(self) -> Iterator[Finding]:
        """Findings about the waivers themselves: a waiver has expired, or no report so far held its finding."""
        for index, waiver in enumerate(self.waivers):
            rule = None
            if not waiver.holds(self._today):
                rule = rules.WAIVER_EXPIRED
            elif waiver.fingerprint not in self._met:
                rule = rules.WAIVER_UNUSED
            if rule is not None:
                values = {"code": waiver.code, "place": waiver.place, "owner": waiver.owner, "reason": waiver.reason}
                pointer = json_pointer("findings", index)
                finding = rule.at(self._configuration.baseline, pointer, expires=waiver.expires, **values)
                heard = _with_severity(finding, self._configuration)
                if heard is not None:
                    yield heard


def _with_severity(finding: Finding, configuration: Configuration) -> Finding | None:
    severity = configuration.severity_of(finding.rule.code, finding.file, finding.rule.severity)
    if severity is None:
        return None
    return replace(finding, rule=replace(finding.rule, severity=severity))
