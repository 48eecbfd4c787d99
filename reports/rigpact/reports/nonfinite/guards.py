"""Counterfactual guards: repeat the run with one change, to find the single changes that keep it finite.

The guards for all systems are here; a system's own are in its `files.guards`. A guard returns None where it changes
nothing.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rigpact.contract.errors import UnusableInput
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.files.ordinary import ABSURD_RAW, ORDINARY_Z
from rigpact.reference_runtime.files.sentinel import watch_run
from rigpact.reference_runtime.files.subject import Subject
from rigpact.reports.nonfinite.leaving import Leaving

Changed = tuple[Subject, str]
_SHOWN = 3


@dataclass(frozen=True)
class GuardResult:
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


def try_guards(subject: Subject, frames: int) -> list[GuardResult]:
    """Run `frames` frames under every guard that changes something; guards that keep the run finite come first."""
    results = [_tried(name, changed, frames) for name, changed in guarded(subject)]
    return sorted(results, key=lambda result: -result.survives_frames)


def guarded(subject: Subject) -> Iterator[tuple[str, Changed]]:
    """The subject under each guard that changes something, by the guard's name."""
    for name, guard in (subject.files.guards | GUARDS).items():
        changed = guard(subject)
        if changed is not None:
            yield name, changed


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


def _clamp(subject: Subject) -> Changed | None:
    network = subject.network
    words = f"network inputs clamped to +-{ORDINARY_Z:g}, NaN to 0"
    if isinstance(network, Mapping):
        return replace(subject, network={name: ClampedNetwork(each) for name, each in network.items()}), words
    if not (callable(network) or hasattr(network, "run")):
        return None  # recorded answers do not depend on the inputs
    return replace(subject, network=ClampedNetwork(network)), words


def _finite_statistics(subject: Subject) -> Changed | None:
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


GUARDS: Mapping[str, Callable[[Subject], Changed | None]] = {
    "finite-statistics": _finite_statistics,
    "clamp": _clamp,
}
