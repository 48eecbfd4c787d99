"""Find the conventions that a set of clips cannot tell apart, for any system.

For example, a clip that never turns cannot show a bug in wrapping the heading. Each clip is run under the contract.
Then every other value of every knob is replayed on that run. The margin is the largest resulting error, in tolerances, or
that of the first stage that is off by more than a thousand.
The network is the system's ideal one, else the model or the recorded answers. A value that even the probe does not
separate is not expected from the clips.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.conventions import InputOrder
from rigpact.contract.files import write_bytes
from rigpact.contract.findings import Ledger
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.fixtures.clip_format import document_bytes, random_rows
from rigpact.reference_runtime.files.declared import files_of
from rigpact.reference_runtime.files.run import RunOptions, run_frames
from rigpact.reference_runtime.graph.replayed import Evidence
from rigpact.reference_runtime.recordings.opened import write_trace
from rigpact.reference_runtime.recordings.trace import Trace, run_header
from rigpact.reports.diagnosing.hypotheses import Hypotheses

Choice = tuple[str, str]
"""A knob and one of its values."""
CLEAR_MARGIN = 10.0
"""Rounding cannot hide a difference of ten tolerances; it may hide one between one and ten."""
CERTAIN_MARGIN = 1000.0
"""Nothing asks for a larger margin: a value that one stage shows by so much is not measured at the others."""
_EXHAUSTIVE_CLIPS = 12
_ANY_ADVICE = "add the clip that `rigpact run --probe FILE` writes"


@dataclass(frozen=True, eq=False)
class ClipAdequacy:
    """Margin of every knob value on one clip, in tolerances. limits: in words, what the clip never shows."""

    name: str
    margins: Mapping[Choice, float]
    limits: tuple[str, ...]

    clear_margin: float = CLEAR_MARGIN

    @property
    def separated(self) -> frozenset[Choice]:
        """The values that this clip clearly separates from the contract's."""
        return frozenset(choice for choice, margin in self.margins.items() if margin >= self.clear_margin)


@dataclass(frozen=True, eq=False)
class Adequacy:
    """The knob values that a set of clips separates together. hints: what to add to the clips, by knob."""

    clips: tuple[ClipAdequacy, ...]
    separable: frozenset[Choice]
    inseparable: tuple[Choice, ...]
    smallest_set: tuple[str, ...]
    hints: Mapping[str, str] = field(default_factory=dict)

    @property
    def missed(self) -> tuple[Choice, ...]:
        """Separable values that no given clip separates, in the knobs' order."""
        shown = frozenset[Choice]().union(*(clip.separated for clip in self.clips))
        asked = dict.fromkeys(choice for clip in self.clips for choice in clip.margins)
        return tuple(choice for choice in asked if choice in self.separable - shown)

    @property
    def ledger(self) -> Ledger:
        """Every convention that can be shown: compared where a clip shows it, else waived."""
        known, missed = len(self.separable), len(self.missed)
        return Ledger(known, known - missed, waived=missed)

    def advice(self, choice: Choice) -> str:
        """What to add to the clips so that they separate a value."""
        return self.hints.get(choice[0]) or _ANY_ADVICE


def advice_of(contract: Contract) -> dict[str, str]:
    """What to add to the clips for each knob of the contract's system, by knob."""
    return {name: knob.advice for name, knob in contract.system.knobs.items() if knob.advice}


def weigh(clips: Sequence[ClipAdequacy], probe: ClipAdequacy, hints: Mapping[str, str] | None = None) -> Adequacy:
    """Combine the measured clips, and compare them with what the probe separates."""
    separable = probe.separated.union(*(clip.separated for clip in clips))
    inseparable = tuple(choice for choice in probe.margins if choice not in separable)
    return Adequacy(tuple(clips), separable, inseparable, _smallest_set(clips), hints or {})


def measure(name: str, clip: Any, contract: Contract, network: Any = None) -> ClipAdequacy:
    """Margins of one clip: for each value, the largest over the system's modes, up to `CERTAIN_MARGIN`.

    network: for a system without an ideal one; None to use the answers recorded in the clip.
    """
    files = files_of(contract)
    network, drive = files.judging_network(clip, contract) or network, files.drive_of(clip)
    margins = dict.fromkeys(_others(contract), 0.0)
    for mode in ("teacher", "free") if contract.system.graph.feeds_itself else ("teacher",):
        runner = files.start(contract, network, clip, RunOptions(mode))
        steps = runner.frame_limit or drive(runner.contract).steps
        trace = run_frames(runner, range(steps), name, mode)
        hypotheses = Hypotheses(Evidence(trace.frame, trace.header.fps, mode, trace.stages, drive), runner.contract)
        for choice, margin in margins.items():
            if margin < CERTAIN_MARGIN:
                margins[choice] = max(margin, _margin(hypotheses, choice))
    return ClipAdequacy(name, margins, tuple(files.limits(clip)))


def _others(contract: Contract) -> Iterator[Choice]:
    """Every value of every knob except the contract's own.

    The order of the inputs is left out: only the model can show it.
    """
    for name, knob in contract.system.knobs.items():
        if not knob.is_benign and not isinstance(knob, InputOrder):
            yield from ((name, value) for value in knob.values if value != contract.conventions[name])


def _margin(hypotheses: Hypotheses, choice: Choice) -> float:
    """Worst error over the stages that the choice can change; 0 for a value that this contract cannot have."""
    (knob, value), worst = choice, 0.0
    for stage in hypotheses.judged:
        is_shown = hypotheses.matters(knob, stage) and not hypotheses.is_as_recorded(stage, {knob: value})
        error = hypotheses.error(stage, {knob: value}) if is_shown else None
        if error is not None:
            worst = max(worst, error.worst_finite_excess)
        if worst >= CERTAIN_MARGIN:
            break
    return worst


def _smallest_set(clips: Sequence[ClipAdequacy]) -> tuple[str, ...]:
    """The smallest set of clips that separates as much as all clips together."""
    wanted = frozenset[Choice]().union(*(clip.separated for clip in clips))
    if len(clips) > _EXHAUSTIVE_CLIPS:
        return _greedy_set(clips, wanted)
    return next(
        tuple(clip.name for clip in chosen)
        for size in range(len(clips) + 1)
        for chosen in combinations(clips, size)
        if frozenset[Choice]().union(*(clip.separated for clip in chosen)) == wanted
    )


def _greedy_set(clips: Sequence[ClipAdequacy], wanted: frozenset[Choice]) -> tuple[str, ...]:
    """Take the clip that adds most, again and again: at most ln(n) times as many clips as needed."""
    chosen: list[str] = []
    open_choices = wanted
    while open_choices:
        best = max(clips, key=lambda clip: len(clip.separated & open_choices))
        chosen.append(best.name)
        open_choices = open_choices - best.separated
    return tuple(chosen)


FRAMES = 64


def write_probe(contract: Contract, path: Path) -> None:
    """Write a probe for a contract as a clip of its system."""
    maker = files_of(contract).probe
    if maker is not None:
        write_bytes(path, document_bytes(_named(maker)(contract)) + b"\n")
        return
    rng, graph, fps = np.random.default_rng(0), contract.system.graph, contract.fps or 1.0
    names = (*graph.given, *graph.answers)
    stages: dict[str, FloatArray] = {name: random_rows(contract.fields(name), FRAMES, rng) for name in names}
    header = run_header(contract, fps, "playback")
    write_trace(Trace(header, np.arange(FRAMES), np.arange(FRAMES) / fps, stages), path)


def read_probe(contract: Contract) -> Any:
    """The probe as read back from a file."""
    files = files_of(contract)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"probe{files.clip_endings[0]}"
        write_probe(contract, path)
        return files.clip(path, contract)


def _named(maker: str) -> Callable[[Any], Any]:
    module, _, function = maker.partition(":")
    found: Callable[[Any], Any] = getattr(import_module(module), function)
    return found
