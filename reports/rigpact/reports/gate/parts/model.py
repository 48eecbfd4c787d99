"""The model against the rules, and the order in which its inputs are bound, found by running it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rigpact.contract.documents import Kind
from rigpact.contract.findings import FindingsReport
from rigpact.contract.rules import Subject, check
from rigpact.contract.rules.account import account
from rigpact.reports.engine.canary_report import with_canary
from rigpact.reports.gate.enemy_case import EnemyCase
from rigpact.reports.gate.measured import Measured, NotAsked, guarded

NAME, TITLE = "model", "Model: signature, graph, order of inputs"


def ask(case: EnemyCase) -> Iterator[Measured | NotAsked]:
    """Check the model alone, then run the canary on the best recording there is."""
    if case.model_path is None:
        yield NotAsked(NAME, "no model in [gate]")
        return
    yield guarded(NAME, TITLE, case.model_path, lambda: _measure(case))


def _measure(case: EnemyCase) -> Measured:
    subject = Subject(case.bundle, case.companion, case.others, case.model)
    found = check(Subject(case.bundle, case.companion, (), case.model))
    own = tuple(finding for finding in found.findings if finding.file == str(case.model.path))
    alone = FindingsReport(own, account(Subject(model=case.model), ()))
    report = with_canary(alone, subject, _probe(case))
    return Measured(NAME, TITLE, report.findings, report.ledger, report.summary)


def _probe(case: EnemyCase) -> Path | None:
    """A teacher prediction proves the order; a clip can only exclude orders."""
    predictions = [document.path for document in case.others if document.kind is Kind.TEACHER_PREDICTION]
    return next(iter((*predictions, *case.clip_paths)), None)
