"""`rigpact explain`: find the convention that differs in a recording of any system, or in a pasted engine log."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rigpact.contract.errors import UnusableInput
from rigpact.reference_runtime.files.contracts import ContractFiles, optional_contract
from rigpact.reference_runtime.graph.replayed import Evidence
from rigpact.reports.diagnosing.diagnose import diagnose
from rigpact.reports.diagnosing.diagnosis import Diagnosis
from rigpact.reports.diagnosing.engine_log import is_engine_log
from rigpact.reports.diagnosing.evidence import EvidenceFiles, read_evidence
from rigpact.reports.diagnosing.log_evidence import explain_log
from rigpact.reports.terminal import working


@dataclass(frozen=True)
class ExplainRequest:
    """A recording to explain. allow_unjudged: recorded stages that may stay unjudged.

    mode: who drove the run, where the file does not say it.
    """

    recording: Path
    contract: ContractFiles
    given: EvidenceFiles = field(default_factory=EvidenceFiles)
    with_pairs: bool = True
    allow_unjudged: Collection[str] = ()
    mode: str | None = None


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
    evidence, notes = read_evidence(request.recording, contract, request.given)
    if request.mode is not None and evidence.says_mode and request.mode != evidence.mode:
        raise UnusableInput("--mode", request.mode, f"{evidence.mode}: the recording says so itself")
    if request.mode is not None:
        evidence = replace(evidence, mode=request.mode, says_mode=True)
    with working("replaying stages and searching conventions"):
        found = diagnose(evidence, contract, with_pairs=request.with_pairs, allow_unjudged=request.allow_unjudged)
    if not evidence.says_mode and found.verdict != "agrees":
        _refuse_guessed_mode(evidence, contract, request)
    return found, notes


def _refuse_guessed_mode(evidence: Evidence, contract: Any, request: ExplainRequest) -> None:
    """UnusableInput where a recording differs only because somebody guessed who drove it."""
    other = "teacher" if evidence.mode == "free" else "free"
    if other == "free" and not contract.system.graph.feeds_itself:
        return
    allowed = request.allow_unjudged
    if diagnose(replace(evidence, mode=other), contract, with_pairs=False, allow_unjudged=allowed).verdict == "agrees":
        found = f"nothing that says who drove the run: as {evidence.mode} it differs, as {other} it agrees"
        raise UnusableInput(
            request.recording, found, f"mode = {evidence.mode} or {other} in the file", "--mode says it"
        )
