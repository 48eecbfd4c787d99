"""A draft tried on the recording that it was made from: which of its stages compute other numbers than were recorded."""

from __future__ import annotations

from pathlib import Path

from rigpact.reference_runtime.files.contracts import ContractFiles
from rigpact.reference_runtime.recordings.named_columns import NoVector
from rigpact.reports.diagnosing.budget import Budget
from rigpact.reports.diagnosing.evidence import EvidenceFiles, read_evidence
from rigpact.reports.diagnosing.some_bones import diagnose_gathered


def stages_that_differ(contract: Path, recording: Path) -> set[str]:
    """The stages of a contract that a recording does not bear out; nothing is searched."""
    opened = ContractFiles(contract).opened()
    try:
        gathered = read_evidence(recording, opened, EvidenceFiles())
    except NoVector:
        return set()
    found = diagnose_gathered(gathered, with_pairs=False, budget=Budget.spent())
    return {stage.stage for stage in found.stages if stage.ok is False}
