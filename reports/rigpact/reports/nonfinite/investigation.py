"""The answer about one run, and its words: finite or not, the producer, the precursors, the guards that keep it finite.

To add a guard: a row in `GUARDS`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rigpact.contract.as_json import AsJson
from rigpact.contract.character import bone_names_of
from rigpact.contract.documents import Kind, read_document
from rigpact.contract.errors import ContractRefused, UnusableInput
from rigpact.contract.findings import EXIT_CANNOT_JUDGE, EXIT_FINDINGS, EXIT_PASS, Finding, Severity, number_of
from rigpact.contract.rules.catalogue import check_bundle
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.files.declared import RunSetup
from rigpact.reference_runtime.files.sentinel import ABSURD_RAW, ORDINARY_Z, Observer, unread_rows, watch_run
from rigpact.reference_runtime.recordings.recording import Recording, judging_contract
from rigpact.reports.diagnosing.evidence import held_parts, recording_to_evidence
from rigpact.reports.nonfinite.drift import SIZES, Drift
from rigpact.reports.nonfinite.observers import (
    Departure,
    Envelope,
    Leaving,
    Left,
    Swallowed,
    SwallowedValues,
    swallowed_values,
)
from rigpact.reports.nonfinite.origin import LOADING, Link, Origin, find_origin, origin_of_run, refused_origin
from rigpact.reports.terminal import Answer, Sentence, tracked

# Counterfactual guards: repeat the run with one change, to find the single changes that keep it finite.
Changed = tuple[RunSetup, str]
_SHOWN = 3


@dataclass(frozen=True)
class GuardResult(AsJson):
    """A guard, its change in words, and how many frames the run then stayed finite.

    survived: all of them, and the run does not diverge either.
    """

    change: str
    survives_frames: int
    guard: str
    survived: bool

    def __str__(self) -> str:
        """In words."""
        failing = "still fails within" if self.survives_frames else "fails after"
        ending = "ordinary for all" if self.survived else failing
        return f"{self.change}: {ending} {self.survives_frames} frames"


class ClampedNetwork:
    """A network whose inputs are clamped to the ordinary range; NaN becomes 0."""

    def __init__(self, network: Any) -> None:
        """Wrap a network; its other attributes stay the same."""
        self._network = network

    def __getattr__(self, name: str) -> Any:
        """The wrapped network's attributes, such as its name and bound widths."""
        return getattr(self._network, name)

    def __call__(self, inputs: Sequence[FloatArray]) -> Any:
        """Clamp, then evaluate, as the network of a declared system."""
        return self._network([_ordinary(vector) for vector in inputs])

    def run(self, inputs: Sequence[FloatArray], frame: int) -> Any:
        """Clamp, then run, as the network of the engine's loop."""
        return self._network.run([_ordinary(vector) for vector in inputs], frame)


def _ordinary(vector: FloatArray) -> FloatArray:
    known = np.nan_to_num(vector, posinf=ORDINARY_Z, neginf=-ORDINARY_Z)
    return np.clip(known, -ORDINARY_Z, ORDINARY_Z)


def try_guards(subject: RunSetup, frames: int) -> list[GuardResult]:
    """Run `frames` frames under every guard that changes something; guards that keep the run finite come first."""
    changes = {name: guard(subject) for name, guard in (subject.files.guards | GUARDS).items()}
    results = [_tried(name, changed, frames) for name, changed in changes.items() if changed is not None]
    return sorted(results, key=lambda result: -result.survives_frames)


def _tried(name: str, changed: Changed, frames: int) -> GuardResult:
    subject, words = changed
    try:
        with np.errstate(all="ignore"):
            runner = subject.start(frames)
            leaving = Leaving(runner.contract, subject.mode, subject.clip)
            watched = watch_run(runner, range(subject.frames_of(runner, frames)), [leaving])
    except UnusableInput as refusal:
        return GuardResult(f"{words} ({refusal.found})", 0, name, survived=False)
    return GuardResult(words, watched.finite_frames, name, survived=watched.is_finite and leaving.found is None)


def _clamp(subject: RunSetup) -> Changed | None:
    network = subject.network
    words = f"network inputs clamped to +-{ORDINARY_Z:g}, NaN to 0"
    if isinstance(network, Mapping):
        return replace(subject, network={name: ClampedNetwork(each) for name, each in network.items()}), words
    if not (callable(network) or hasattr(network, "run")):
        return None  # recorded answers do not depend on the inputs
    return replace(subject, network=ClampedNetwork(network)), words


def _finite_statistics(subject: RunSetup) -> Changed | None:
    contract, words = subject.contract, []
    for name, values in subject.files.numbers(contract).items():
        bad = ~(np.isfinite(values) & (np.abs(values) < ABSURD_RAW))  # no statistic of motion is larger
        if bad.any():
            ordinary = np.where(bad, 0.0 if name.startswith("Mu") else 1.0, values)
            contract = subject.files.with_numbers(contract, name, ordinary)
            words += [f"{name}[{index}] = {values[index]:g}" for index in np.flatnonzero(bad)]
    if not words:
        return None
    more = f" and {len(words) - _SHOWN} more" if len(words) > _SHOWN else ""
    return replace(subject, contract=contract), f"{', '.join(words[:_SHOWN])}{more}: replaced by mean 0, std 1"


GUARDS: Mapping[str, Callable[[RunSetup], Changed | None]] = {"finite-statistics": _finite_statistics, "clamp": _clamp}

Verdict = Literal["finite", "nonfinite", "diverging", "undetermined"]
EXIT_OF: Mapping[Verdict, int] = {
    "nonfinite": EXIT_FINDINGS, "diverging": EXIT_FINDINGS, "undetermined": EXIT_CANNOT_JUDGE, "finite": EXIT_PASS,
}  # fmt: skip
"""The exit status of each verdict, the worst first."""
_STATISTICS_RULES = ("RP10", "RP30")
"""Families of rules about statistics: the contract document names them as suspects when a free run fails."""


@dataclass(frozen=True)
class Investigation(AsJson):
    """All results about a run: the `rigpact-nonfinite` document. command: repeats it to its failing frame."""

    FORMAT = "rigpact-nonfinite"
    KEYS = "verdict origin chain precursor guard command frames precursors guards suspects notes left swallowed"
    verdict: Verdict
    frames: int
    origin: Origin | None = None
    precursors: tuple[Departure, ...] = ()
    guards: tuple[GuardResult, ...] = ()
    suspects: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    command: str | None = None
    left: Left | None = None
    swallowed: tuple[Swallowed, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 finite, 2 undetermined, 1 otherwise."""
        return EXIT_OF[self.verdict]

    @property
    def precursor(self) -> Departure | None:
        """The earliest departure from an ordinary range."""
        return min(self.precursors, key=lambda entry: entry.frame, default=None)

    @property
    def guard(self) -> GuardResult | None:
        """A single change that keeps the run finite; None if there is none."""
        return next((result for result in self.guards if result.survived), None)

    @property
    def chain(self) -> tuple[Link, ...]:
        """The stages that only passed the value on."""
        return self.origin.chain if self.origin else ()


def investigate(subject: RunSetup, frames: int, *, guard_frames: int | None = None) -> Investigation:
    """Run up to `frames` frames; if the run fails, find the producer, the precursors and the guards that help.

    guard_frames: how many frames a guarded run must stay finite, by default `frames`; 0 tries no guard.
    """
    with np.errstate(all="ignore"):
        runner = subject.start(frames)
    count = subject.frames_of(runner, frames)
    leaving = Leaving(runner.contract, subject.mode, subject.clip)
    inside = swallowed_values(subject.network, runner.contract)
    envelope = None
    with suppress(UnusableInput):  # a clip that cannot drive a single step has none
        envelope = Envelope(subject, runner.contract)
    observers: list[Observer] = [leaving, *inside] if envelope is None else [leaving, *inside, envelope]
    watched = watch_run(runner, tracked(range(count), f"{subject.mode} run"), observers)
    for observer in inside:
        observer.finish()
    verdict: Verdict = "nonfinite" if not watched.is_finite else "finite" if leaving.found is None else "diverging"
    precursors = sorted(envelope.found.values(), key=lambda entry: entry.frame) if envelope else ()
    unearned = _answers_to_other_inputs(subject, precursors) if verdict == "finite" else ()
    if unearned:
        verdict = "undetermined"
    wanted = count if guard_frames is None else guard_frames
    guards = try_guards(subject, wanted) if EXIT_OF[verdict] == EXIT_FINDINGS and wanted else []
    with np.errstate(all="ignore"):
        origin = origin_of_run(subject, watched)
    if origin is not None:
        precursors = [replace(each, lead_frames=origin.frame - each.frame) for each in precursors]
    notes = (*unearned, *subject.notes, *_notes(watched.unread, inside))
    left = leaving.found if verdict == "diverging" else None
    found = Investigation(
        verdict, watched.finite_frames, origin, tuple(precursors), tuple(guards), notes=notes, left=left
    )
    return replace(found, swallowed=_found(inside))


def _answers_to_other_inputs(subject: RunSetup, precursors: Iterable[Departure]) -> tuple[str, ...]:
    """Why a run of recorded answers says nothing: its inputs left the clip's, and nobody recorded an answer to such."""
    if subject.mode != "free" or not hasattr(subject.network, "outputs"):
        return ()
    first = next((each for each in precursors if each.kind == "envelope"), None)
    if first is None:
        return ()
    size = f"{first.size:.3g} deviations, where the clip has no more than {first.limit:.3g}"
    return (
        f"from frame {first.frame} on the recorded answers are those to other inputs ({first.stage}, {first.where}: {size}):"
        " they show nothing of this run; give the model with --onnx",
    )


def _notes(unread: Mapping[str, int], inside: Iterable[SwallowedValues]) -> Iterator[str]:
    for name, frame in unread.items():
        yield f"{name} holds values that are not finite from frame {frame} on, and nothing of this contract reads them"
    yield from (f"the values inside the model were not looked at: {each.not_seen}" for each in inside if each.not_seen)


def _found(inside: Iterable[SwallowedValues]) -> tuple[Swallowed, ...]:
    return tuple(found for each in inside for found in each.found.values())


def refused_bundle(refusal: ContractRefused) -> Investigation:
    """The result for a bundle that the engine refuses: the character never starts."""
    return Investigation("nonfinite", 0, refused_origin(refusal), suspects=refusal.findings)


def statistics_suspects(bundle: Path, companion: Path | None) -> tuple[Finding, ...]:
    """The rules' findings about a schema bundle's statistics: lengths, floors, scales that disagree with training."""
    document = read_document(bundle)
    if document.kind is not Kind.BUNDLE:
        return ()
    found = check_bundle(document, None if companion is None else read_document(companion))
    about = [each for each in found if each.rule.code.startswith(_STATISTICS_RULES)]
    return tuple(each for each in about if each.rule.severity is not Severity.INFO)


def investigate_recording(recording: Recording, contract: Contract, network: Any = None) -> Investigation:
    """Find the producer in a recorded run; of a recording of some bones, in what it has of all bones too."""
    parts = held_parts(recording, contract)
    found = [_investigate_part(held, own, None if held.bones else network) for held, own in parts]
    worst = min(found, key=lambda part: ([*EXIT_OF].index(part.verdict), part.frames))
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
    notes = (*notes, *_notes(first, inside))
    return Investigation(verdict, good, origin, notes=notes, left=leaving.found, swallowed=_found(inside))


_SHOWN = 6


def answer_of_run(found: Investigation) -> Answer:
    """Where the first value that is not finite was produced, or that all of them are finite."""
    said = str(found.left) if found.left else number_of(found.frames, "finite frame")
    headline = said if found.origin is None else _place(found.origin)
    return Answer(found.verdict.upper(), headline, found.exit_code, tuple(_lines(found)))


def _place(origin: Origin) -> str:
    if origin.stage == LOADING:
        return f"produced by loading: {origin.operation}"
    words = [word for word in (origin.bone, origin.slice, origin.component) if word]
    return f"produced at frame {origin.frame}, stage {origin.stage}, {', '.join(words)}: {origin.value} by {origin.operation}"


def _lines(found: Investigation) -> Iterator[Sentence]:
    origin = found.origin
    if origin is not None or found.left:
        yield Sentence(f"{number_of(found.frames, 'finite frame')} before it", "", 0)
    if origin is not None:
        yield from _of_origin(origin)
    for place, entry in enumerate(found.precursors[:_SHOWN]):
        lead = "" if entry.lead_frames is None else f", {entry.lead_frames} frames ahead"
        where = f"frame {entry.frame}{lead}, {entry.stage}, {entry.where}"
        rank = None if place else 2
        yield Sentence(
            f"  precursor ({entry.kind}): {where}: {entry.size:.3g}, limit {entry.limit:.3g}", "yellow", rank
        )
    for result in found.guards[:_SHOWN]:
        yield Sentence(f"  guard {result.guard}: {result}", *(("green", 3) if result.survived else ("dim", None)))
    yield from (Sentence(f"  suspect {each.rule.code}: {each.message}", "", 4) for each in found.suspects[:_SHOWN])
    yield from (Sentence(f"  note: {note}", "dim", 5) for note in (*found.notes, *map(str, found.swallowed)))
    if found.command:
        yield Sentence(f"  again: {found.command}", "", 6)


def _of_origin(origin: Origin) -> Iterator[Sentence]:
    if origin.channel is not None:
        yield Sentence(f"  channel {origin.channel}")
    if operands := ", ".join(f"{name} = {value:.6g}" for name, value in origin.operands.items()):
        yield Sentence(f"  with {operands}", "", 1)
    if node := origin.node:
        weight = f", weight {node.weight}" if node.weight else ""
        bits = "same bits as the failing run" if node.same_bits else "NOT the bits of the failing run: a fused group"
        yield Sentence(f"  node {node.name} ({node.op}): the {node.blame} are to blame{weight}; {bits}", "", 1)
    if origin.chain:
        yield Sentence(f"  passed on by {', '.join(f'{link.stage} ({link.channels})' for link in origin.chain)}", "dim")


def answer_of_drift(found: Drift) -> Answer:
    """How fast a free run grows a difference, and whether its numbers mean something to the end."""
    unit = found.unit
    growth = (
        f"{found.frames} frames: differences change by a factor {found.growth_per_frame:.6f} a frame ({found.trend}); "
        f"largest spread of {found.stage} {found.envelope[-1]:.3g} {unit} from starts up to {max(SIZES):g} apart"
    )
    body = [Sentence(f"  {line}", "", 2) for line in found.lines]
    if found.benign_apart is not None:
        parted = f"parts at frame {found.parted_frame}" if found.parted_frame is not None else "does not part"
        largest = f"largest difference {found.benign_apart:.3g} {unit}"
        body.append(Sentence(f"a run in another precision, which does no harm, {parted} ({largest})"))
    if found.left:
        body.insert(0, Sentence(growth, "", 0))
    return Answer(found.verdict.upper(), str(found.left or growth), found.exit_code, body)
