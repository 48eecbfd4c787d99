"""Find the quantities that leave their ordinary range before a run fails, and how many frames before.

The clip gives the range of the network's inputs; the system defines the other watched quantities (`files.watches`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.files.runner import Stages
from rigpact.reference_runtime.files.sentinel import Watch
from rigpact.reference_runtime.files.subject import Subject
from rigpact.reference_runtime.graph.bounds import replay_bound
from rigpact.reference_runtime.graph.replayed import Evidence, ReplayedFrames
from rigpact.reference_runtime.operations.rounding import gamma
from rigpact.reports.comparing.address import channel_address

_ROUNDED = 8
"""Number of operations between a raw value and an input: a difference of that many roundings is not a departure."""


@dataclass(frozen=True)
class Precursor:
    """The first departure from a range: quantity, place, frame, size."""

    kind: str
    frame: int
    stage: str
    channel: int
    zscore: float
    limit: float
    where: str

    def to_json(self, failing_frame: int | None = None) -> dict[str, Any]:
        """The `precursor` object, with `lead_frames` if the run failed later."""
        lead = None if failing_frame is None else failing_frame - self.frame
        return {
            "frame": self.frame, "stage": self.stage, "channel": self.channel, "zscore": self.zscore,
            "kind": self.kind, "limit": self.limit, "where": self.where, "lead_frames": lead,
        }  # fmt: skip


def samuelson_limit(samples: int) -> float:
    """The largest possible distance of a sample from the mean of N samples, in deviations: sqrt(N - 1).

    Source: Samuelson, How deviant can you be?, 1968. A value beyond it cannot come from a frame of the clip.
    """
    return float(np.sqrt(max(samples - 1, 1)))


class Envelope:
    """An observer of a run: the first time that each watched quantity leaves its range."""

    def __init__(self, subject: Subject, contract: Contract) -> None:
        """Take the range of every input from the clip under a contract, and add the system's own watches."""
        self._contract = contract
        with np.errstate(all="ignore"):
            self._watches = (*_ranges(subject, contract), *subject.files.watches(contract))
        self.found: dict[tuple[str, str], Precursor] = {}

    def __call__(self, frame: int, stages: Stages) -> None:
        """Look at one frame; keep only the first departure of each kind and stage."""
        for watch in self._watches:
            if (watch.kind, watch.stage) not in self.found and watch.stage in stages:
                self._look(watch, frame, stages)

    def _look(self, watch: Watch, frame: int, stages: Stages) -> None:
        sizes = watch.sizes(stages)
        place = int(np.argmin(sizes) if watch.is_floor else np.argmax(np.abs(sizes)))
        size = float(sizes[place])
        if (size < watch.limit) if watch.is_floor else (abs(size) > watch.limit):
            channel = watch.start + place
            where = str(channel_address(watch.stage, channel, self._contract))
            self.found[watch.kind, watch.stage] = Precursor(
                watch.kind, frame, watch.stage, channel, size, watch.limit, where
            )


def _ranges(subject: Subject, contract: Contract) -> Iterator[Watch]:
    """The ranges of the network's inputs, in deviations from the mean over the clip's rows."""
    drive = subject.files.drive_of(subject.clip)
    frame = np.arange(drive(contract).steps)
    if len(frame) < 2:
        return  # a single row only starts the run: it has no range
    frames = ReplayedFrames(Evidence(frame, contract.fps or 1.0, "teacher", {}, drive), contract)
    for name in contract.system.network_inputs:
        rows = frames.computed(name)
        if rows is not None and len(rows) > 1:
            mean, deviation = _statistics(frames, name, rows)
            yield Watch("envelope", name, samuelson_limit(len(rows)), _Deviations(name, mean, deviation))


@dataclass(frozen=True, eq=False)
class _Deviations:
    stage: str
    mean: FloatArray
    deviation: FloatArray

    def __call__(self, stages: Any) -> FloatArray:
        sizes: FloatArray = (stages[self.stage] - self.mean) / self.deviation
        return sizes


def _statistics(frames: ReplayedFrames, name: str, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and deviation per channel, float64; the deviation is at least the rounding of a value of size 1."""
    known = np.where(np.isfinite(rows), rows, 0.0).astype(np.float64)
    rounding = np.nan_to_num(replay_bound(frames, name, rows).max(axis=0), posinf=0.0)
    return known.mean(axis=0), np.maximum(known.std(axis=0), np.maximum(rounding, gamma(_ROUNDED)))
