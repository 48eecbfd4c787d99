"""Bundle, companion, clips and teacher files against the rules: what `rigpact check` says."""

from __future__ import annotations

from collections.abc import Iterator

from rigpact.contract.rules import Subject, check
from rigpact.reports.gate.enemy_case import EnemyCase
from rigpact.reports.gate.measured import Measured, guarded

NAME, TITLE = "files", "Files against the rules"


def ask(case: EnemyCase) -> Iterator[Measured]:
    """Check every file but the model."""
    yield guarded(NAME, TITLE, case.bundle_path, lambda: _measure(case))


def _measure(case: EnemyCase) -> Measured:
    report = check(Subject(case.bundle, case.companion, case.others))
    return Measured(NAME, TITLE, report.findings, report.ledger, report.summary)
