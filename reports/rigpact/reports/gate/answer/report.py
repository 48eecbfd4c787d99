"""The gate's answer as data: one part for each question, and one verdict over all parts.

A part that was asked for but could not be answered is `undetermined`, which is not a pass. A part that the project did
not ask for (no engine trace, no base revision) is absent; `not_asked` gives the reason.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from rigpact.contract.findings import (
    EXIT_CANNOT_JUDGE,
    EXIT_FINDINGS,
    EXIT_PASS,
    Finding,
    Ledger,
    Severity,
    Verdict,
)
from rigpact.reports.gate.answer.cause import Cause
from rigpact.reports.gate.answer.causes import causes_of
from rigpact.reports.gate.answer.part import Part

WAIVERS = "waivers"
"""The part about the waivers and thresholds themselves."""
ARCHIVE = "archive"
"""The part about an archive whose files are not those here."""
BESIDE = frozenset({WAIVERS, ARCHIVE})
"""Parts that do not count as a judgement."""


@dataclass(frozen=True)
class GateReport:
    """All parts, the questions that were not asked, the next steps, and the provenance.

    provenance: SHA-256 of each file that was read, and the version of rigpact. The same provenance gives the same
    answer.
    """

    parts: tuple[Part, ...]
    provenance: Mapping[str, str]
    not_asked: Mapping[str, str] = field(default_factory=dict)
    next_steps: tuple[str, ...] = ()
    strict: bool = False

    @cached_property
    def causes(self) -> tuple[Cause, ...]:
        """Every finding under the one mistake that it comes from, the worst mistake first."""
        return causes_of(self.parts)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings of all parts, in order."""
        return tuple(finding for part in self.parts for finding in part.report.findings)

    @property
    def ledger(self) -> Ledger:
        """The sum of the parts' ledgers."""
        ledgers = [part.report.ledger for part in self.parts]
        return Ledger(
            sum(each.declared for each in ledgers),
            sum(each.compared for each in ledgers),
            sum(each.waived for each in ledgers),
        )

    @property
    def verdict(self) -> Verdict:
        """`fail` if a part fails (a warning too if strict); `undetermined` if a part is or nothing was compared."""
        verdicts = {part.verdict for part in self.parts}
        if "fail" in verdicts or (self.strict and any(part.report.count(Severity.WARNING) for part in self.parts)):
            return "fail"
        judged = any(part.report.ledger.compared for part in self.parts if part.name not in BESIDE)
        return "undetermined" if "undetermined" in verdicts or not judged else "pass"

    @property
    def exit_code(self) -> int:
        """0 pass, 1 findings, 2 something that was asked could not be judged."""
        return {"pass": EXIT_PASS, "fail": EXIT_FINDINGS, "undetermined": EXIT_CANNOT_JUDGE}[self.verdict]

    def to_json(self) -> dict[str, Any]:
        """The `rigpact-gate` document, version 1; without times and machine names: same inputs, same bytes."""
        return {
            "format": "rigpact-gate",
            "version": 1,
            "verdict": self.verdict,
            "parts": [part.to_json() for part in self.parts],
            "causes": [cause.to_json() for cause in self.causes],
            "not_asked": dict(self.not_asked),
            "ledger": self.ledger.to_json(),
            "next_steps": list(self.next_steps),
            "provenance": dict(self.provenance),
        }
