"""A finite run that departs from what its numbers can mean, or from what is ordinary for it: where first, and by how much.

What is left: absurd sizes, a state far from ordinary, a state that grows. A precursor leaves its ordinary range before the run
fails; the clip gives the range, the system the other quantities (`files.watches`). The limits stand in
`rigpact.reference_runtime.files.sentinel`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, pairwise
from typing import Any

import numpy as np

from rigpact.contract.as_json import AsJson
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.files.declared import RunSetup, files_of
from rigpact.reference_runtime.files.run import Stages
from rigpact.reference_runtime.files.sentinel import ORDINARY_Z, Watch, largest_departure, largest_meaning
from rigpact.reference_runtime.graph.bounds import replay_bound
from rigpact.reference_runtime.graph.replayed import Evidence, ReplayedFrames
from rigpact.reference_runtime.operations.scalars import gamma
from rigpact.reports.comparing.stage_comparison import channel_address

_GROWTH = 1.5
"""A run grows if the largest z of each quarter is this many times that of the quarter before."""
_ROUNDED = 8
"""Number of operations between a raw value and an input: a difference of that many roundings is not a departure."""


@dataclass(frozen=True)
class Departure(AsJson):
    """The first departure from a limit: of what kind, when, where, by how much. lead_frames: before the run failed."""

    KEYS = "frame stage channel zscore: size kind limit where lead_frames"
    kind: str
    frame: int
    stage: str
    channel: int
    size: float
    limit: float
    where: str
    lead_frames: int | None = None


@dataclass(frozen=True)
class Left(Departure):
    """The first time that a run left what its numbers can mean (`absurd`, `departed`); the last frame of one that `grows`."""

    KEYS = "kind frame stage channel size limit where words"

    def __str__(self) -> str:
        return self.words

    @property
    def words(self) -> str:
        """In words."""
        size, frame = f"{self.size:.3g}", f"at frame {self.frame}"
        if self.kind == "absurd":
            return f"{self.stage} is {size} {frame}, {self.where}; from {self.limit:.3g} on such a number means nothing"
        if self.kind == "departed":
            meant = f"an ordinary run is within {self.limit:g} by then"
            return f"{self.stage} is {size} deviations from where it started {frame}, {self.where}; {meant}"
        return f"{self.stage} grows in every quarter of the run, to {size} {frame}; an ordinary one stays within {self.limit:g}"


class Leaving:
    """An observer of a run: whether, where and when it leaves what its numbers can mean."""

    def __init__(self, contract: Contract, mode: str, clip: Any = None) -> None:
        """clip: what the run starts from; None for a recording of an unknown clip."""
        system = contract.system
        self._contract, self._frame = contract, 0
        self._limits = {stage.name: largest_meaning(stage) for stage in system.stages}
        self._fed = system.network_inputs[0] if mode == "free" and system.network_inputs else ""
        self._largest: list[float] = []
        self._ordinary = files_of(contract).ordinary(clip, contract) if mode == "free" else None
        self._start: tuple[int, Mapping[str, FloatArray]] | None = None
        self._found: Left | None = None

    def __call__(self, frame: int, stages: Mapping[str, FloatArray]) -> None:
        """Look at one frame; the first departure is kept."""
        self._frame = frame
        if self._fed in stages:
            self._largest.append(float(np.max(np.abs(stages[self._fed]))))
        if self._found is None:
            self._found = next(chain(self._absurd(stages), self._departed(stages)), None)

    @property
    def found(self) -> Left | None:
        """What was left first; None for an ordinary run."""
        if self._found is not None or not grows(self._largest):
            return self._found
        return Left("grows", self._frame, self._fed, 0, self._largest[-1], ORDINARY_Z, "")

    def _absurd(self, stages: Mapping[str, FloatArray]) -> Iterator[Left]:
        for name, limit in self._limits.items():
            sizes = np.abs(stages[name]) if name in stages else np.zeros(0)
            if not sizes.max(initial=0.0) <= limit:
                for channel in np.flatnonzero(np.isfinite(sizes) & (sizes > limit))[:1].tolist():
                    yield self._left("absurd", name, channel, float(sizes[channel]), limit)

    def _departed(self, stages: Mapping[str, FloatArray]) -> Iterator[Left]:
        if self._ordinary is None or self._ordinary.stage not in stages:
            return
        if self._start is None:
            self._start = self._frame, stages
            return
        start, seed = self._start
        sizes, limit = self._ordinary.sizes(seed, stages), largest_departure(self._frame - start)
        worst = int(np.argmax(sizes))
        if sizes[worst] > limit:
            yield self._left("departed", self._ordinary.stage, worst, float(sizes[worst]), limit)

    def _left(self, kind: str, stage: str, channel: int, size: float, limit: float) -> Left:
        where = str(channel_address(stage, channel, self._contract))
        return Left(kind, self._frame, stage, channel, size, limit, where)


def grows(largest: Sequence[float]) -> bool:
    """Whether each quarter's maximum is well above the last one, and the final number beyond the ordinary range."""
    if len(largest) < 4 or largest[-1] <= ORDINARY_Z:
        return False
    quarters = [float(quarter.max()) for quarter in np.array_split(np.array(largest), 4)]
    return all(later > _GROWTH * earlier for earlier, later in pairwise(quarters))


class Envelope:
    """An observer of a run: the first time that each watched quantity leaves its range."""

    def __init__(self, subject: RunSetup, contract: Contract) -> None:
        """Take the range of every input from the clip under a contract, and add the system's own watches."""
        self._contract = contract
        with np.errstate(all="ignore"):
            self._watches = (*_ranges(subject, contract), *subject.files.watches(contract))
        self.found: dict[tuple[str, str], Departure] = {}

    def __call__(self, frame: int, stages: Stages) -> None:
        """Look at one frame; keep only the first departure of each kind and stage."""
        for watch in self._watches:
            if (watch.kind, watch.stage) in self.found or watch.stage not in stages:
                continue
            sizes = watch.sizes(stages)
            place = int(np.argmin(sizes) if watch.is_floor else np.argmax(np.abs(sizes)))
            channel, size = watch.start + place, float(sizes[place])
            if (size < watch.limit) if watch.is_floor else (abs(size) > watch.limit):
                where = str(channel_address(watch.stage, channel, self._contract))
                found = Departure(watch.kind, frame, watch.stage, channel, size, watch.limit, where)
                self.found[watch.kind, watch.stage] = found


def _ranges(subject: RunSetup, contract: Contract) -> Iterator[Watch]:
    """The ranges of the network's inputs, in deviations from the mean over the clip's rows.

    The largest possible distance of a sample from the mean of N samples is sqrt(N - 1) deviations (Samuelson, How deviant can
    you be?, 1968): a value beyond it cannot come from a frame of the clip.
    """
    drive = subject.files.drive_of(subject.clip)
    frame = np.arange(drive(contract).steps)
    if len(frame) < 2:
        return  # a single row only starts the run: it has no range
    frames = ReplayedFrames(Evidence(frame, contract.fps or 1.0, "teacher", {}, drive), contract)
    for name in contract.system.network_inputs:
        rows = frames.computed(name)
        if rows is not None and len(rows) > 1:
            deviations = partial(_deviations, name, *_statistics(frames, name, rows))
            yield Watch("envelope", name, float(np.sqrt(len(rows) - 1)), deviations)


def _deviations(stage: str, mean: FloatArray, deviation: FloatArray, stages: Stages) -> FloatArray:
    return np.asarray((stages[stage] - mean) / deviation)


def _statistics(frames: ReplayedFrames, name: str, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and deviation per channel, float64; the deviation is at least the rounding of a value of size 1."""
    known = np.where(np.isfinite(rows), rows, 0.0).astype(np.float64)
    rounding = np.nan_to_num(replay_bound(frames, name, rows).max(axis=0), posinf=0.0)
    return known.mean(axis=0), np.maximum(known.std(axis=0), np.maximum(rounding, gamma(_ROUNDED)))
