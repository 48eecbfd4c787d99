"""`rigpact explain`: find the convention that differs in a recording of any system, or in a pasted engine log."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from rigpact.contract.errors import UnusableInput
from rigpact.reference_runtime.files.contracts import ContractFiles, optional_contract
from rigpact.reports.diagnosing.diagnose import diagnose
from rigpact.reports.diagnosing.diagnosis import Diagnosis
from rigpact.reports.diagnosing.engine_log import is_engine_log
from rigpact.reports.diagnosing.evidence import EvidenceFiles, Gathered, read_evidence
from rigpact.reports.diagnosing.log_evidence import explain_log
from rigpact.reports.diagnosing.some_bones import diagnose_gathered
from rigpact.reports.diagnosing.suppositions import best_supposition
from rigpact.reports.terminal import working


@dataclass(frozen=True)
class ExplainRequest:
    """A recording to explain. allow_unjudged: recorded stages that may stay unjudged."""

    recording: Path
    contract: ContractFiles
    given: EvidenceFiles = field(default_factory=EvidenceFiles)
    with_pairs: bool = True
    allow_unjudged: Collection[str] = ()


def explain(request: ExplainRequest) -> tuple[Diagnosis, list[str]]:
    """Replay every recorded stage from its recorded inputs, and search the system's knobs. Also returns the notes."""
    contract = optional_contract(request.contract)
    if is_engine_log(request.recording):
        return explain_log(request.recording, contract, request.contract.changes)
    if contract is None:
        raise UnusableInput("--bundle", "none", "the bundle or contract that the recording was made under")
    unknown = [name for name in request.allow_unjudged if name not in contract.system.graph]
    if unknown:
        raise UnusableInput(
            f"--allow-unjudged {unknown[0]}",
            "no stage of this system",
            f"one of {', '.join(contract.system.graph.names)}",
        )
    gathered = read_evidence(request.recording, contract, request.given)
    with working("replaying stages and searching conventions"):
        found = diagnose_gathered(gathered, with_pairs=request.with_pairs, allow_unjudged=request.allow_unjudged)
        return _with_other_files(found, gathered, request), gathered.notes


def _with_other_files(found: Diagnosis, gathered: Gathered, request: ExplainRequest) -> Diagnosis:
    """The diagnosis; where no convention explains all, under another choice of the files at hand that explains more."""
    if found.verdict != "unexplained" or gathered.recording.bones:
        return found
    supposed = best_supposition(gathered, request.contract, request.given.clip)
    if supposed is None:
        return found
    return diagnose(*supposed.part, with_pairs=request.with_pairs).supposing(supposed.words)
