"""The whole answer about one run: finite or not, the producer, what announced it, which guard it survives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rigpact.contract.bundle import Contract
from rigpact.contract.documents import Document
from rigpact.contract.errors import ContractRefused, UnusableInput
from rigpact.contract.findings import EXIT_FINDINGS, EXIT_PASS, Finding, Severity
from rigpact.contract.rules import check_bundle
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.network import Network
from rigpact.reference_runtime.recordings.recording import Recording
from rigpact.reference_runtime.systems.enemy_animation.drive import Stages
from rigpact.reference_runtime.systems.enemy_animation.sentinel import Observer, Watched, watch_run
from rigpact.reports.nonfinite.guards import GuardResult, try_guards
from rigpact.reports.nonfinite.origin import Origin, find_origin, origin_of_run, refused_origin
from rigpact.reports.nonfinite.precursors import CLAMP_Z, Envelope, Precursor
from rigpact.reports.nonfinite.subject import Subject
from rigpact.reports.terminal import tracked

Verdict = Literal["finite", "nonfinite", "diverging"]
_GROWTH = 1.5
"""A quarter of a run whose largest z is that much over the quarter before: bounded motion swings, it does not climb."""
_STATISTICS_RULES = ("RP10", "RP30")
"""Families of rules about statistics: the contract document's own suspects when a free run goes wrong."""


@dataclass(frozen=True)
class Investigation:
    """What is known about a run; `to_json` is the `rigpact-nonfinite` document."""

    verdict: Verdict
    frames: int
    origin: Origin | None = None
    precursors: tuple[Precursor, ...] = ()
    guards: tuple[GuardResult, ...] = ()
    suspects: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    repro: Path | None = None

    @property
    def exit_code(self) -> int:
        """0 finite, 1 otherwise."""
        return EXIT_PASS if self.verdict == "finite" else EXIT_FINDINGS

    @property
    def precursor(self) -> Precursor | None:
        """The earliest departure from the ordinary."""
        return min(self.precursors, key=lambda entry: entry.frame, default=None)

    @property
    def guard(self) -> GuardResult | None:
        """The single change that the run survives; None where none does."""
        return next((result for result in self.guards if result.survived), None)

    def to_json(self) -> dict[str, Any]:
        """The answer in the published format."""
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
        }


class Growth:
    """An observer of the largest |z| of each frame's state: does it climb and climb?"""

    def __init__(self) -> None:
        """Start with nothing seen."""
        self.largest: list[float] = []

    def __call__(self, frame: int, stages: Stages) -> None:
        """Look at one frame."""
        self.largest.append(float(np.max(np.abs(stages["state"]))))

    @property
    def diverges(self) -> bool:
        """Whether every quarter's maximum is well above the one before, and beyond the ordinary range at the end."""
        if len(self.largest) < 4 or self.largest[-1] <= CLAMP_Z:
            return False
        quarters = [float(quarter.max()) for quarter in np.array_split(np.array(self.largest), 4)]
        return all(later > _GROWTH * earlier for earlier, later in pairwise(quarters))


def investigate(subject: Subject, frames: int, *, guard_frames: int | None = None) -> Investigation:
    """Run up to `frames` frames; where it fails, name producer, precursors and the guards that it survives.

    guard_frames: how long a guarded run has to stay finite, as many as asked for by default; 0 tries no guard.
    """
    try:
        with np.errstate(all="ignore"):
            loop = subject.start()
    except UnusableInput as refusal:
        return Investigation("nonfinite", 0, refused_origin(refusal), notes=subject.notes)
    count = subject.frames_of(loop, frames)
    growth = Growth()
    envelope = _envelope(subject)
    observers: list[Observer] = [growth] if envelope is None else [growth, envelope]
    watched = watch_run(loop, tracked(range(count), f"{subject.mode} run"), observers)
    verdict = _verdict(watched, growth)
    wanted = count if guard_frames is None else guard_frames
    guards = try_guards(subject, wanted) if verdict != "finite" and wanted else []
    return Investigation(
        verdict=verdict,
        frames=watched.finite_frames,
        origin=_origin(subject, watched),
        precursors=tuple(sorted(envelope.found.values(), key=lambda entry: entry.frame)) if envelope else (),
        guards=tuple(guards),
        notes=subject.notes,
    )


def _origin(subject: Subject, watched: Watched) -> Origin | None:
    with np.errstate(all="ignore"):
        return origin_of_run(subject, watched)


def _envelope(subject: Subject) -> Envelope | None:
    """The clip's own envelope; None for a clip that cannot drive even one step."""
    try:
        with np.errstate(all="ignore"):
            return Envelope(subject.acting_contract, subject.rows())
    except UnusableInput:
        return None


def _verdict(watched: Watched, growth: Growth) -> Verdict:
    if not watched.is_finite:
        return "nonfinite"
    return "diverging" if growth.diverges else "finite"


def refused_bundle(refusal: ContractRefused) -> Investigation:
    """A bundle that the engine refuses is the finding itself: the character never starts."""
    return Investigation("nonfinite", 0, refused_origin(refusal), suspects=refusal.findings)


def statistics_suspects(bundle: Document, companion: Document | None) -> tuple[Finding, ...]:
    """What the rules say about the statistics: lengths, floors, scales that disagree with training."""
    findings = check_bundle(bundle, companion)
    return tuple(
        finding
        for finding in findings
        if finding.rule.code.startswith(_STATISTICS_RULES) and finding.rule.severity is not Severity.INFO
    )


def investigate_recording(recording: Recording, contract: Contract, network: Network | None = None) -> Investigation:
    """The producer in a recorded run."""
    trace = recording.trace
    frames = [(int(frame), _row(trace.stages, index)) for index, frame in enumerate(trace.frame)]
    mode = "free" if trace.header.mode == "free" else "teacher"
    with np.errstate(all="ignore"):
        origin = find_origin(frames, contract, mode, network)
    notes = (f"the recording is incomplete: {trace.truncation}",) if trace.truncation else ()
    verdict: Verdict = "finite" if origin is None else "nonfinite"
    good = len(frames) if origin is None else sum(frame < origin.frame for frame, _ in frames)
    return Investigation(verdict, good, origin, notes=notes)


def _row(stages: dict[str, FloatArray], index: int) -> Stages:
    return {name: rows[index] for name, rows in stages.items()}


def with_suspects(found: Investigation, suspects: Sequence[Finding]) -> Investigation:
    """The same answer with the rules' findings beside it."""
    return replace(found, suspects=tuple(suspects))
