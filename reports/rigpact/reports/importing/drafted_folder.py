"""A draft of a folder that its own recording bears out: a stage that differs there is left open instead."""

from __future__ import annotations

import os
from pathlib import Path

from rigpact.contract.files import write_bytes
from rigpact.reference_runtime.files.contracts import ContractFiles
from rigpact.reference_runtime.recordings.named_columns import NoVector
from rigpact.reports.diagnosing.budget import Budget
from rigpact.reports.diagnosing.evidence import EvidenceFiles, read_evidence
from rigpact.reports.diagnosing.some_bones import diagnose_gathered
from rigpact.reports.importing.drafting import draft_of_folder, look_into
from rigpact.reports.importing.formats import Imported, ImportRequest, finished


def draft_folder(folder: Path, path: Path) -> Imported:
    """The contract of a folder, to be written to `path`."""
    found, refused = look_into(folder), set[str]()
    while True:
        draft = draft_of_folder(found, refused)
        made = finished(draft, ImportRequest(folder, path))
        tried = made if draft.fps else finished(draft, ImportRequest(folder, path, fps=1.0))  # any rate replays a frame
        differ = set() if found.recording is None else _differing(tried.content, path, found.recording)
        if differ <= refused:
            return made
        refused |= differ


def _differing(content: bytes, path: Path, recording: Path) -> set[str]:
    """The stages that a recording does not bear out, of a contract beside the files that it names; nothing is searched."""
    tried = path.with_name(f".{path.stem}.{os.getpid()}.toml")
    try:
        write_bytes(tried, content)
        gathered = read_evidence(recording, ContractFiles(tried).opened(), EvidenceFiles())
    except NoVector:
        return set()
    finally:
        tried.unlink(missing_ok=True)
    found = diagnose_gathered(gathered, with_pairs=False, budget=Budget.spent())
    return {stage.stage for stage in found.stages if stage.ok is False}
