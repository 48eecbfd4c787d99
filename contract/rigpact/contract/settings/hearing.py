"""A report as a project's settings let it be heard: severities raised, rules lowered, known findings waived.

Whatever is let be shows in the answer: the ledger counts it as declared and waived, and a finding names its owner and its day.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, replace
from datetime import date

from rigpact.contract.findings import Finding, FindingsReport, Severity
from rigpact.contract.json_pointer import json_pointer
from rigpact.contract.rules.family import answers as rules
from rigpact.contract.settings.configuration import Configuration
from rigpact.contract.settings.exceptions import IGNORE, Lowering, Waiver, read_baseline
from rigpact.contract.settings.table import refuse_far_day

_GRAVEST_FIRST = tuple(Severity)


def configured_report(report: FindingsReport, configuration: Configuration | None, today: date) -> FindingsReport:
    """Apply a configuration to a report, and add what it says about itself."""
    if configuration is None:
        return report
    hearing = Hearing(configuration, today)
    heard = hearing.hear(report)
    return replace(heard, findings=(*heard.findings, *hearing.about()))


class Hearing:
    """A configuration on one day, for any number of reports: it remembers what met a finding."""

    def __init__(self, configuration: Configuration, today: date) -> None:
        """Read the waivers; UnusableInput for a file of waivers that is none, and for a day too far ahead."""
        self._configuration, self._today = configuration, today
        self.waivers = read_baseline(configuration.baseline) if configuration.baseline else ()
        # UnusableInput where anything is let be for more than a year
        settings, known = self._configuration, self._configuration.baseline
        for index, waiver in enumerate(self.waivers):
            refuse_far_day(waiver.expires, f"{known}#{json_pointer('findings', index, 'expires')}", self._today)
        for lowering in settings.lowerings:
            refuse_far_day(lowering.expires, f"{settings.path}: lower[{lowering.index}].expires", self._today)
        for part in settings.gate.waivers if settings.gate else ():
            refuse_far_day(part.expires, f"{settings.path}: gate.waive[{part.index}].expires", self._today)
        self._holding = {waiver.fingerprint: waiver for waiver in self.waivers if waiver.holds(today)}
        self._lowering = [each for each in configuration.lowerings if each.holds(today)]
        self._met: set[str] = set()
        self._lowered: Counter[Lowering] = Counter()

    @property
    def declared(self) -> int:
        """How many waivers and lowered rules the project declares."""
        return len(self.waivers) + len(self._configuration.lowerings)

    def hear(self, report: FindingsReport) -> FindingsReport:
        """The report as configured, with a summary of what was changed."""
        self._met |= {finding.fingerprint for finding in report.findings}
        used, lowered = dict[str, Waiver](), Counter[Lowering]()
        kept: list[Finding] = []
        for finding in report.findings:
            waiver = self._holding.get(finding.fingerprint)
            heard = self._heard(finding, lowered)
            if waiver is not None:
                used[waiver.fingerprint] = waiver
            elif heard is not None:
                kept.append(heard)
        self._lowered += lowered
        gone = len(report.findings) - len(kept)
        ledger = replace(report.ledger, declared=report.ledger.declared + gone, waived=report.ledger.waived + gone)
        summary = {
            "file": str(self._configuration.path),
            "lowered": [each.to_json() | {"count": count} for each, count in lowered.items()],
            "waived": [asdict(waiver) for waiver in used.values()],
        }
        return FindingsReport(tuple(kept), ledger, {**report.summary, "configuration": summary})

    def _heard(self, finding: Finding, lowered: Counter[Lowering]) -> Finding | None:
        """The finding with the severity that the project gives it; None if it is ignored."""
        severity = self._configuration.raised(finding.rule)
        for lowering in self._lowering:
            if lowering.covers(finding, self._configuration.path.resolve().parent):
                lowered[lowering] += 1
                if lowering.to == IGNORE:
                    return None
                severity = max(severity, Severity(lowering.to), key=_GRAVEST_FIRST.index)
        return replace(finding, rule=replace(finding.rule, severity=severity))

    def about(self) -> Iterator[Finding]:
        """What the settings let be, in all reports so far: with its owner, and what has expired or met nothing."""
        yield from self._about_waivers()
        for lowering in self._configuration.lowerings:
            yield self._about_lowering(lowering)

    def _about_waivers(self) -> Iterator[Finding]:
        groups: dict[tuple[str, str, str], list[int]] = {}
        for index, waiver in enumerate(self.waivers):
            values = {"code": waiver.code, "place": waiver.place, "owner": waiver.owner, "reason": waiver.reason}
            pointer = json_pointer("findings", index)
            if not waiver.holds(self._today):
                yield rules.WAIVER_EXPIRED.at(self._configuration.baseline, pointer, expires=waiver.expires, **values)
            elif waiver.fingerprint not in self._met:
                yield rules.WAIVER_UNUSED.at(self._configuration.baseline, pointer, expires=waiver.expires, **values)
            else:
                groups.setdefault((waiver.owner, waiver.reason, waiver.expires), []).append(index)
        for (owner, reason, expires), places in groups.items():
            pointer = json_pointer("findings", places[0])
            yield rules.FINDINGS_WAIVED.at(
                self._configuration.baseline, pointer, count=len(places), expires=expires, owner=owner, reason=reason
            )

    def _about_lowering(self, lowering: Lowering) -> Finding:
        count, rule = self._lowered[lowering], rules.RULE_LOWERED
        if not lowering.holds(self._today):
            rule = rules.LOWERING_EXPIRED
        elif not count:
            rule = rules.LOWERING_UNUSED
        return rule.at(
            self._configuration.path, json_pointer("lower", lowering.index), code=lowering.rule, to=lowering.to,
            scope=lowering.scope, expires=lowering.expires, owner=lowering.owner, reason=lowering.reason, count=count,
        )  # fmt: skip
