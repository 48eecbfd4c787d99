"""A draft of a folder that its own recording bears out: a stage that differs there is left open instead."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.recordings.named_columns import NoVector
from rigpact.reports.diagnosing.budget import Budget
from rigpact.reports.diagnosing.evidence import EvidenceFiles, read_evidence
from rigpact.reports.diagnosing.some_bones import diagnose_gathered
from rigpact.reports.importing.drafting import draft_of_folder, look_into
from rigpact.reports.importing.formats import Imported, ImportRequest, drafted_contract, finished


@dataclass(frozen=True)
class DraftRequest:
    """The folder to draft a contract of, and the file that it will be. fps: its rate, where the user says it.

    files: those of the folder that are looked into; empty for all.
    """

    folder: Path
    path: Path
    fps: float | None = None
    files: tuple[Path, ...] = ()


def draft_folder(wanted: DraftRequest) -> Imported:
    """The contract of a folder. UnusableInput where no model lies there."""
    found, refused = look_into(wanted.folder, wanted.files), set[str]()
    request = ImportRequest(wanted.folder, wanted.path, fps=wanted.fps)
    while True:
        draft = draft_of_folder(found, refused)
        tried = drafted_contract(replace(draft, fps=draft.fps or 1.0), request)  # any rate replays a frame
        differ = set() if found.recording is None else _differing(tried, found.recording)
        if differ <= refused:
            return finished(draft, request)
        refused |= differ


def _differing(contract: Contract, recording: Path) -> set[str]:
    """The stages that a recording does not bear out; nothing is searched."""
    try:
        gathered = read_evidence(recording, contract, EvidenceFiles())
    except NoVector:
        return set()
    found = diagnose_gathered(gathered, with_pairs=False, budget=Budget.spent())
    return {stage.stage for stage in found.stages if stage.ok is False}
