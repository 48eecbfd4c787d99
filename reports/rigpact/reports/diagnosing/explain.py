"""`rigpact explain`: find the convention that differs in a recording of any system, or in a pasted engine log."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from rigpact.contract.errors import UnusableInput
from rigpact.reference_runtime.files.contracts import ContractFiles, optional_contract
from rigpact.reports.diagnosing.diagnose import diagnose
from rigpact.reports.diagnosing.diagnosis import Diagnosis
from rigpact.reports.diagnosing.evidence import EvidenceFiles, Gathered, read_evidence
from rigpact.reports.diagnosing.logs.engine_log import is_engine_log
from rigpact.reports.diagnosing.logs.log_evidence import explain_log
from rigpact.reports.diagnosing.some_bones import diagnose_gathered
from rigpact.reports.diagnosing.suppositions import best_supposition
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
    gathered = _driven_as(read_evidence(request.recording, contract, request.given), request.mode)
    with working("replaying stages and searching conventions"):
        found = diagnose_gathered(gathered, with_pairs=request.with_pairs, allow_unjudged=request.allow_unjudged)
        if not gathered.says_mode and found.verdict != "agrees":
            _refuse_guessed_mode(gathered, request)
        return _with_other_files(found, gathered, request), gathered.notes


def _driven_as(gathered: Gathered, mode: str | None) -> Gathered:
    """What was gathered, with who drove the run as the user says it; UnusableInput where the file says otherwise."""
    if mode is None:
        return gathered
    if gathered.says_mode and mode != gathered.mode:
        raise UnusableInput("--mode", mode, f"{gathered.mode}: the recording says so itself")
    return gathered.in_mode(mode)


def _with_other_files(found: Diagnosis, gathered: Gathered, request: ExplainRequest) -> Diagnosis:
    """The diagnosis; where no convention explains all, under another choice of the files at hand that explains more."""
    if found.verdict != "unexplained" or gathered.recording.bones:
        return found
    with TemporaryDirectory() as room:
        supposed = best_supposition(gathered, request.contract, request.given, Path(room))
        if supposed is None:
            return found
        return diagnose(*supposed.part, with_pairs=request.with_pairs).supposing(supposed.words)


def _refuse_guessed_mode(gathered: Gathered, request: ExplainRequest) -> None:
    """UnusableInput where a recording differs only because somebody guessed who drove it."""
    mode, other = gathered.mode, "teacher" if gathered.mode == "free" else "free"
    if other == "free" and not gathered.parts[-1].contract.system.graph.feeds_itself:
        return
    driven = diagnose_gathered(gathered.in_mode(other), with_pairs=False, allow_unjudged=request.allow_unjudged)
    if driven.verdict == "agrees":
        found = f"nothing that says who drove the run: as {mode} it differs, as {other} it agrees"
        raise UnusableInput(request.recording, found, f"mode = {mode} or {other} in the file", "--mode says it")
