"""The measurement of a part of the gate, before thresholds apply.

The archive (archive.py) stores measurements, and judging.py judges them again whenever thresholds change.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rigpact.contract.errors import ContractRefused, UnusableInput
from rigpact.contract.findings import Finding, FindingsReport, Ledger
from rigpact.contract.rules.family import answers as rules
from rigpact.reports.gate.compared_run import ComparedRun


@dataclass(frozen=True, eq=False)
class Measured:
    """One part's measurement: the findings that need no threshold, the account, and figures.

    name, title: as in report.Part. metrics: figures for the thresholds, as plain values. run: the errors of every frame, for
    thresholds and a picture. remarks: lines that are printed beside the answer but not stored, because they differ between runs.
    """

    name: str
    title: str
    findings: tuple[Finding, ...]
    ledger: Ledger
    summary: Mapping[str, Any] = field(default_factory=dict)
    metrics: Mapping[str, Any] = field(default_factory=dict)
    run: ComparedRun | None = None
    remarks: tuple[str, ...] = field(default=(), metadata={"kept": False})

    @property
    def kind(self) -> str:
        """The part's name without its recording."""
        return self.name.partition("/")[0]

    @property
    def report(self) -> FindingsReport:
        """The findings that need no threshold, as a report."""
        return FindingsReport(self.findings, self.ledger, self.summary)


@dataclass(frozen=True)
class NotAsked:
    """A question that the project did not ask or its system cannot have, with the reason."""

    name: str
    reason: str


@dataclass(frozen=True, eq=False)
class GateMeasurement:
    """All parts, the questions that were not asked, and the SHA-256 of every file that was read.

    questions: the settings that affect the measurements; under other settings they must be measured again.
    """

    system: str
    parts: tuple[Measured, ...]
    not_asked: Mapping[str, str]
    provenance: Mapping[str, str]
    questions: Mapping[str, Any] = field(default_factory=dict)

    @property
    def runs(self) -> tuple[ComparedRun, ...]:
        """What can be drawn."""
        return tuple(part.run for part in self.parts if part.run is not None)


@dataclass(frozen=True)
class Question:
    """A part that the project asks.

    name, title: as in report.Part; place: the file that stands for it. opens: opens all that the measurement reads, and
    raises UnusableInput for what is missing.
    """

    name: str
    title: str
    place: object
    measure: Callable[[], Measured]
    opens: Callable[[], object]

    @property
    def lacks(self) -> str:
        """Why it cannot be judged here, found without measuring; empty if it can."""
        try:
            self.opens()
        except UnusableInput as error:
            return error.one_line()
        return ""

    def answered(self) -> Measured:
        """The measurement; for unusable input, a part that could not be judged, with the reason."""
        try:
            with np.errstate(all="ignore"):
                return self.measure()
        except UnusableInput as error:
            reason = "the engine would not load the bundle" if isinstance(error, ContractRefused) else error.one_line()
            finding = rules.PART_NOT_JUDGED.at(self.place, "", part=self.title, reason=reason)
            return Measured(self.name, self.title, (finding,), Ledger(1, 0), {"not_judged": reason})
