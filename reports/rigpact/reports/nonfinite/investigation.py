"""The answer about one run: finite or not, the producer, the precursors, the guards that keep it finite."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rigpact.contract.character import bone_names_of
from rigpact.contract.documents import Kind, read_document
from rigpact.contract.errors import ContractRefused, UnusableInput
from rigpact.contract.findings import EXIT_FINDINGS, EXIT_PASS, Finding, Severity
from rigpact.contract.rules import check_bundle
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.files.runner import Runner
from rigpact.reference_runtime.files.sentinel import Observer, Watched, watch_run
from rigpact.reference_runtime.files.subject import Subject
from rigpact.reference_runtime.files.unread import unread_rows
from rigpact.reference_runtime.recordings.recording import Recording, judging_contract
from rigpact.reports.diagnosing.evidence import held_parts, recording_to_evidence
from rigpact.reports.nonfinite.guards import GuardResult, try_guards
from rigpact.reports.nonfinite.leaving import Leaving, Left
from rigpact.reports.nonfinite.origin import Origin, find_origin, origin_of_run, refused_origin
from rigpact.reports.nonfinite.precursors import Envelope, Precursor
from rigpact.reports.nonfinite.swallowed import Swallowed, SwallowedValues, swallowed_values
from rigpact.reports.terminal import tracked

Verdict = Literal["finite", "nonfinite", "diverging"]
_BY_VERDICT: tuple[Verdict, ...] = ("nonfinite", "diverging", "finite")
_STATISTICS_RULES = ("RP10", "RP30")
"""Families of rules about statistics: the contract document names them as suspects when a free run fails."""


@dataclass(frozen=True)
class Investigation:
    """All results about a run; `to_json` gives the `rigpact-nonfinite` document."""

    verdict: Verdict
    frames: int
    origin: Origin | None = None
    precursors: tuple[Precursor, ...] = ()
    guards: tuple[GuardResult, ...] = ()
    suspects: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    repro: Path | None = None
    left: Left | None = None
    swallowed: tuple[Swallowed, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 finite, 1 otherwise."""
        return EXIT_PASS if self.verdict == "finite" else EXIT_FINDINGS

    @property
    def precursor(self) -> Precursor | None:
        """The earliest departure from an ordinary range."""
        return min(self.precursors, key=lambda entry: entry.frame, default=None)

    @property
    def guard(self) -> GuardResult | None:
        """A single change that keeps the run finite; None if there is none."""
        return next((result for result in self.guards if result.survived), None)

    def to_json(self) -> dict[str, Any]:
        """The `rigpact-nonfinite` document, version 1."""
        failing = self.origin.frame if self.origin else None
        return {
            "format": "rigpact-nonfinite",
            "version": 1,
            "verdict": self.verdict,
            "origin": self.origin.to_json() if self.origin else None,
            "chain": [vars(link) for link in self.origin.chain] if self.origin else [],
            "precursor": self.precursor.to_json(failing) if self.precursor else None,
            "guard": self.guard.to_json() if self.guard else None,
            "repro": str(self.repro) if self.repro else None,
            "frames": self.frames,
            "precursors": [entry.to_json(failing) for entry in self.precursors],
            "guards": [result.to_json() for result in self.guards],
            "suspects": [finding.to_json() for finding in self.suspects],
            "notes": list(self.notes),
            "left": self.left.to_json() if self.left else None,
            "swallowed": [vars(each) for each in self.swallowed],
        }


def investigate(subject: Subject, frames: int, *, guard_frames: int | None = None) -> Investigation:
    """Run up to `frames` frames; if the run fails, find the producer, the precursors and the guards that help.

    guard_frames: how many frames a guarded run must stay finite, by default `frames`; 0 tries no guard.
    """
    with np.errstate(all="ignore"):
        runner = subject.start(frames)
    count = subject.frames_of(runner, frames)
    leaving = Leaving(runner.contract, subject.mode, subject.clip)
    inside = swallowed_values(subject.network, runner.contract)
    envelope = _envelope(subject, runner)
    observers: list[Observer] = [leaving, *inside] if envelope is None else [leaving, *inside, envelope]
    watched = watch_run(runner, tracked(range(count), f"{subject.mode} run"), observers)
    for observer in inside:
        observer.finish()
    verdict = _verdict(watched, leaving)
    wanted = count if guard_frames is None else guard_frames
    guards = try_guards(subject, wanted) if verdict != "finite" and wanted else []
    with np.errstate(all="ignore"):
        origin = origin_of_run(subject, watched)
    precursors = sorted(envelope.found.values(), key=lambda entry: entry.frame) if envelope else ()
    return Investigation(
        verdict, watched.finite_frames, origin, tuple(precursors), tuple(guards),
        notes=(*subject.notes, *_about_unread(watched.unread), *_about_not_seen(inside)),
        left=leaving.found if verdict == "diverging" else None, swallowed=_found(inside),
    )  # fmt: skip


def _about_unread(unread: Mapping[str, int]) -> Iterator[str]:
    """Values that are no defect of the run: by stage, the first frame that has one."""
    for name, frame in unread.items():
        yield f"{name} holds values that are not finite from frame {frame} on, and nothing of this contract reads them"


def _found(inside: Iterable[SwallowedValues]) -> tuple[Swallowed, ...]:
    return tuple(found for each in inside for found in each.found.values())


def _about_not_seen(inside: Iterable[SwallowedValues]) -> Iterator[str]:
    for each in inside:
        if each.not_seen:
            yield f"the values inside the model were not looked at: {each.not_seen}"


def _envelope(subject: Subject, runner: Runner) -> Envelope | None:
    """The clip's own envelope; None for a clip that cannot drive a single step."""
    try:
        return Envelope(subject, runner.contract)
    except UnusableInput:
        return None


def _verdict(watched: Watched, leaving: Leaving) -> Verdict:
    if not watched.is_finite:
        return "nonfinite"
    return "finite" if leaving.found is None else "diverging"


def refused_bundle(refusal: ContractRefused) -> Investigation:
    """The result for a bundle that the engine refuses: the character never starts."""
    return Investigation("nonfinite", 0, refused_origin(refusal), suspects=refusal.findings)


def statistics_suspects(bundle: Path, companion: Path | None) -> tuple[Finding, ...]:
    """The rules' findings about a schema bundle's statistics: lengths, floors, scales that disagree with training."""
    document = read_document(bundle)
    if document.kind is not Kind.BUNDLE:
        return ()
    findings = check_bundle(document, None if companion is None else read_document(companion))
    return tuple(
        finding
        for finding in findings
        if finding.rule.code.startswith(_STATISTICS_RULES) and finding.rule.severity is not Severity.INFO
    )


def investigate_recording(recording: Recording, contract: Contract, network: Any = None) -> Investigation:
    """Find the producer in a recorded run; of a recording of some bones, in what it has of all bones too."""
    parts = held_parts(recording, contract)
    found = [_investigate_part(held, own, None if held.bones else network) for held, own in parts]
    worst = min(found, key=lambda part: (_BY_VERDICT.index(part.verdict), part.frames))
    if not recording.bones:
        return worst
    own = judging_contract(recording, contract)
    held, every = len(bone_names_of(own)), len(bone_names_of(contract))
    note = f"the recording holds {held} of {every} bones: nothing is known of the others"
    return replace(worst, notes=(*worst.notes, note))


def _investigate_part(recording: Recording, contract: Contract, network: Any) -> Investigation:
    trace = recording.trace
    evidence = recording_to_evidence(recording, contract, None, network)
    with np.errstate(all="ignore"):
        origin = find_origin(evidence, contract)
    notes = (f"the recording is incomplete: {trace.truncation}",) if trace.truncation else ()
    unread = unread_rows(evidence, contract)
    first = {name: int(evidence.frame[np.argmax(rows)]) for name, rows in unread.items() if rows.any()}
    notes = (*notes, *_about_unread(first))
    leaving, inside = Leaving(contract, trace.header.mode), swallowed_values(network, contract)
    observers: list[Observer] = [*inside, *([leaving] if origin is None else [])]
    for row, frame in enumerate(trace.frame):
        stages = {name: rows[row] for name, rows in trace.stages.items()}
        for observe in observers if origin is None or frame < origin.frame else ():
            observe(int(frame), stages)
    for each in inside:
        each.finish()
    verdict: Verdict = "nonfinite" if origin else "finite" if leaving.found is None else "diverging"
    good = len(trace.frame) if origin is None else int(np.count_nonzero(trace.frame < origin.frame))
    notes = (*notes, *_about_not_seen(inside))
    return Investigation(verdict, good, origin, notes=notes, left=leaving.found, swallowed=_found(inside))


def with_suspects(found: Investigation, suspects: Sequence[Finding]) -> Investigation:
    """The same answer, with the rules' findings added."""
    return replace(found, suspects=tuple(suspects))
