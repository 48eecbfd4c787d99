"""Thresholds of a project that judge nothing any more: each limit is where the number stops to mean something."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rigpact.contract.findings import Finding
from rigpact.contract.json_pointer import json_pointer
from rigpact.contract.rules.answers import gate as rules
from rigpact.contract.settings.gate import GateSettings
from rigpact.reports.diagnosing.adequacy import CERTAIN_MARGIN

HALF_OVER_SINGLE = 2.0**13
"""Half precision keeps 11 bits, single precision 24: the coarsest arithmetic of an engine rounds 2^13 times as coarsely."""
ONE_TOLERANCE = 1.0
"""A convention that moves a value by less than its tolerance cannot be told from rounding."""
SHARED_MACHINE = 10.0
"""A build machine shares a core among a few jobs; a median ten times over the budget is the model's own."""


def unreasonable(settings: GateSettings, file: Path) -> Iterator[Finding]:
    """A finding for each threshold beyond what means something."""
    declared, budget = settings.thresholds, settings.budget
    for table, key, value, largest, reason in (
        ("thresholds", "tolerance-factor", declared.tolerance_factor, HALF_OVER_SINGLE,
         "half precision rounds no coarser than that"),
        ("thresholds", "adequacy-margin", declared.adequacy_margin, CERTAIN_MARGIN,
         "what shows by so much is not measured further"),
        ("budget", "inference-margin", budget.inference_margin, SHARED_MACHINE,
         "no shared machine is slower than that, time after time"),
    ):  # fmt: skip
        if value > largest:
            yield _at(file, table, key, value=value, limit=largest, side="most", reason=reason)
    if declared.adequacy_margin < ONE_TOLERANCE:
        yield _at(
            file, "thresholds", "adequacy-margin", value=declared.adequacy_margin, limit=ONE_TOLERANCE, side="least",
            reason="less than a tolerance is rounding",
        )  # fmt: skip


def _at(file: Path, table: str, key: str, **values: object) -> Finding:
    return rules.THRESHOLD_BEYOND_REASON.at(file, json_pointer("gate", table, key), key=key, **values)
