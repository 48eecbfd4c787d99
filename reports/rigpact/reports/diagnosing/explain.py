"""`rigpact explain`: find the convention that differs in a recording of any system, or in a pasted engine log."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from rigpact.contract.documents import Kind
from rigpact.contract.errors import UnusableInput
from rigpact.contract.findings import EXIT_FINDINGS
from rigpact.reference_runtime.files.declared import ContractFiles
from rigpact.reference_runtime.graph.replayed import ReplayedFrames
from rigpact.reference_runtime.recordings.opened import open_file
from rigpact.reports.checking.check import notes_of_inputs
from rigpact.reports.diagnosing.budget import Budget
from rigpact.reports.diagnosing.diagnose import diagnose
from rigpact.reports.diagnosing.diagnosis import Diagnosis, Divergence, StageVerdict
from rigpact.reports.diagnosing.evidence import EvidenceFiles, Gathered, read_evidence
from rigpact.reports.diagnosing.log_evidence import explain_log
from rigpact.reports.diagnosing.relations.relation import GLITCH
from rigpact.reports.diagnosing.some_bones import diagnose_gathered
from rigpact.reports.diagnosing.stage_error import stage_error
from rigpact.reports.diagnosing.suppositions import best_supposition
from rigpact.reports.terminal import working

BYTES = 40
"""Memory that an answer takes for each recorded number: it, its replay, bound and error, and the sums of one stage."""


@dataclass(frozen=True)
class ExplainRequest:
    """A recording to explain. allow_unjudged: recorded stages that may stay unjudged.

    mode: who drove the run, where the file does not say it. millions: of numbers that the search may compute, None without a
    limit. deadline_s: a run that takes longer raises `DeadlinePassed`.
    says: is told of notes, stages and the first divergence before the search begins.
    """

    recording: Path
    contract: ContractFiles
    given: EvidenceFiles = field(default_factory=EvidenceFiles)
    allow_unjudged: Collection[str] = ()
    mode: str | None = None
    millions: float | None = None
    deadline_s: float | None = None
    says: Callable[[Sequence[str], Sequence[StageVerdict], Divergence | None], None] = lambda *_: None

    def budget(self, says: Callable[[str], None]) -> Budget:
        """The budget of its search. says: is told what is looked at."""
        return Budget(self.millions, says).ends_after(self.deadline_s)


def explain(request: ExplainRequest) -> tuple[Diagnosis, list[str]]:
    """Replay every recorded stage from its recorded inputs, and search the system's knobs. Also returns the notes."""
    contract = request.contract.opened_if_given()
    if open_file(request.recording).kind is Kind.ENGINE_LOG:
        budget = request.budget(lambda _words: None)
        return explain_log(request.recording, contract, request.contract.changes, request.given.clip, budget)
    if contract is None:
        raise UnusableInput("--contract", "none", "the bundle or contract that the recording was made under")
    unknown = [name for name in request.allow_unjudged if name not in contract.system.graph]
    if unknown:
        raise UnusableInput(
            f"--allow-unjudged {unknown[0]}",
            "no stage of this system",
            f"one of {', '.join(contract.system.graph.names)}",
        )
    gathered = _driven_as(read_evidence(request.recording, contract, request.given), request.mode)
    _refuse_too_long(gathered, request.recording)
    gathered.notes.extend(notes_of_inputs(request.contract, (request.recording, request.given.clip)))
    with working("replaying stages") as says:
        budget = request.budget(lambda words: says(f"searching: {words}"))
        found = diagnose_gathered(
            gathered,
            allow_unjudged=request.allow_unjudged,
            budget=budget,
            says_stages=partial(_before_the_search, request, gathered),
            otherwise=partial(_under_other_files, gathered, request, budget),
        )
        if (found.search is None or gathered.recording.bones) and found.exit_code == EXIT_FINDINGS:
            _refuse_guessed_mode(gathered, found.stages, request.recording)
        return found, gathered.notes


def _refuse_too_long(gathered: Gathered, path: Path) -> None:
    """UnusableInput for more frames than the memory takes, before anything is computed."""
    evidence = gathered.parts[-1].evidence
    needed, given = BYTES * sum(rows.size for rows in evidence.recorded.values()), memory_bytes()
    if given is not None and needed > given:
        found = f"{len(evidence.frame)} frames, which need {needed / 1e9:.1f} GB of memory"
        raise UnusableInput(path, found, f"at most {given / 1e9:.1f} GB", "explain a part of the recording")


def memory_bytes() -> int | None:
    """The memory that this process may take; None where the system does not say."""
    if sys.platform == "win32":
        return None
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return machine if limit == resource.RLIM_INFINITY else min(limit, machine)


def _before_the_search(
    request: ExplainRequest, gathered: Gathered, stages: Sequence[StageVerdict], first: Divergence | None
) -> None:
    _refuse_guessed_mode(gathered, stages, request.recording)
    request.says(gathered.notes, stages, first)


def _driven_as(gathered: Gathered, mode: str | None) -> Gathered:
    """What was gathered, with who drove the run as the user says it; UnusableInput where the file says otherwise."""
    if mode is None:
        return gathered
    if gathered.says_mode and mode != gathered.mode:
        raise UnusableInput("--mode", mode, f"{gathered.mode}: the recording says so itself")
    return gathered.in_mode(mode)


def _under_other_files(gathered: Gathered, request: ExplainRequest, budget: Budget) -> Diagnosis | None:
    """The diagnosis under another choice of the files at hand that explains more; None where none does."""
    with TemporaryDirectory() as room:
        supposed = best_supposition(gathered, request.contract, request.given, Path(room), budget)
        if supposed is None:
            return None
        again = diagnose(*supposed.part, allow_unjudged=request.allow_unjudged, budget=budget)
        # under another choice of files a history begins before the recording: what its first frames hold is not a mistake
        rules = tuple(each for each in again.relations if each.kind != GLITCH)
        return replace(again.supposing(supposed.words), relations=rules)


def _refuse_guessed_mode(gathered: Gathered, stages: Sequence[StageVerdict], path: Path) -> None:
    """UnusableInput where a recording differs only because somebody guessed who drove it.

    Driven otherwise, each stage that differs has to fit, or to come from outside: what feeds itself is given by the clip then.
    """
    if gathered.says_mode:
        return
    mode, other = gathered.mode, "teacher" if gathered.mode == "free" else "free"
    contract = gathered.parts[-1].contract
    graph = contract.system.graph
    if other == "free" and not graph.feeds_itself:
        return
    otherwise = gathered.in_mode(other)
    differs = {each.stage for each in stages if each.ok is False and graph[each.stage].carried is None}
    if not all(_fits_in(otherwise, stage) for stage in differs):
        return
    driven = diagnose_gathered(otherwise, with_pairs=False, budget=Budget.spent())
    if driven.exit_code != EXIT_FINDINGS and any(each.ok for each in driven.stages):
        words = f"nothing that says who drove the run: as {mode} it differs, as {other} nothing does"
        if mode == "free" and contract.path.suffix == ".toml":  # its own loop feeds a declared contract
            gathered.notes.append(f"{words}; judged as {mode}, --mode {other} if what it feeds back came from outside")
            return
        raise UnusableInput(path, words, f"mode = {mode} or {other} in the file", "--mode says it")


def _fits_in(gathered: Gathered, stage: str) -> bool:
    """Whether a stage fits the conventions in every part of a recording that has it."""
    errors = [
        stage_error(ReplayedFrames(part.evidence, part.contract), stage)
        for part in gathered.parts
        if stage in part.evidence.recorded
    ]
    return all(error is not None and error.ok for error in errors)
