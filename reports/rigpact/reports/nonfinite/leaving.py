"""A finite run that leaves what its numbers can mean: absurd sizes, a state far from ordinary, a state that grows.

The limits stand in `rigpact.reference_runtime.files.sentinel`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from rigpact.contract.as_json import AsJson
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.files.declared import files_of
from rigpact.reference_runtime.files.sentinel import ORDINARY_Z, largest_departure, largest_meaning
from rigpact.reports.comparing.stage_comparison import channel_address

_GROWTH = 1.5
"""A run grows if the largest z of each quarter is this many times that of the quarter before."""


@dataclass(frozen=True)
class Left(AsJson):
    """The first time that a run left a limit: how, where, by how much; the last frame for a run that grows."""

    KEYS = "* words"
    kind: Literal["absurd", "departed", "grows"]
    frame: int
    stage: str
    channel: int
    size: float
    limit: float
    where: str

    def __str__(self) -> str:
        return self.words

    @property
    def words(self) -> str:
        """In words."""
        size, frame = f"{self.size:.3g}", f"at frame {self.frame}"
        if self.kind == "absurd":
            meant = f"from {self.limit:.3g} on such a number means nothing"
            return f"{self.stage} is {size} {frame}, {self.where}; {meant}"
        if self.kind == "departed":
            meant = f"an ordinary run is within {self.limit:g} by then"
            return f"{self.stage} is {size} deviations from where it started {frame}, {self.where}; {meant}"
        meant = f"an ordinary one stays within {self.limit:g}"
        return f"{self.stage} grows in every quarter of the run, to {size} {frame}; {meant}"


def grows(largest: Sequence[float]) -> bool:
    """Whether each quarter's maximum is well above the last one, and the final number beyond the ordinary range."""
    if len(largest) < 4 or largest[-1] <= ORDINARY_Z:
        return False
    quarters = [float(quarter.max()) for quarter in np.array_split(np.array(largest), 4)]
    return all(later > _GROWTH * earlier for earlier, later in pairwise(quarters))


class Leaving:
    """An observer of a run: whether, where and when it leaves what its numbers can mean."""

    def __init__(self, contract: Contract, mode: str, clip: Any = None) -> None:
        """clip: what the run starts from; None for a recording of an unknown clip."""
        system = contract.system
        self._contract, self._frame, self._start = contract, 0, 0
        self._limits = {stage.name: largest_meaning(stage) for stage in system.stages}
        self._fed = system.network_inputs[0] if mode == "free" and system.network_inputs else ""
        self._largest: list[float] = []
        self._ordinary = files_of(contract).ordinary(clip, contract) if mode == "free" else None
        self._seed: Mapping[str, FloatArray] | None = None
        self._found: Left | None = None

    def __call__(self, frame: int, stages: Mapping[str, FloatArray]) -> None:
        """Look at one frame; the first departure is kept."""
        self._frame = frame
        if self._fed in stages:
            self._largest.append(float(np.max(np.abs(stages[self._fed]))))
        if self._found is None:
            self._found = self._absurd(frame, stages) or self._departed(frame, stages)

    @property
    def found(self) -> Left | None:
        """What was left first; None for an ordinary run."""
        if self._found is not None or not grows(self._largest):
            return self._found
        return Left("grows", self._frame, self._fed, 0, self._largest[-1], ORDINARY_Z, "")

    def _absurd(self, frame: int, stages: Mapping[str, FloatArray]) -> Left | None:
        for name, limit in self._limits.items():
            if name not in stages:
                continue
            sizes = np.abs(stages[name])
            if sizes.max(initial=0.0) <= limit:
                continue
            beyond = np.flatnonzero(np.isfinite(sizes) & (sizes > limit))
            if len(beyond):
                return self._left("absurd", frame, name, int(beyond[0]), float(sizes[beyond[0]]), limit)
        return None

    def _departed(self, frame: int, stages: Mapping[str, FloatArray]) -> Left | None:
        if self._ordinary is None or self._ordinary.stage not in stages:
            return None
        if self._seed is None:
            self._seed, self._start = stages, frame
            return None
        sizes, limit = self._ordinary.sizes(self._seed, stages), largest_departure(frame - self._start)
        worst, own = int(np.argmax(sizes)), self._ordinary.stage
        is_left = sizes[worst] > limit
        return self._left("departed", frame, own, worst, float(sizes[worst]), limit) if is_left else None

    def _left(
        self, kind: Literal["absurd", "departed"], frame: int, stage: str, channel: int, size: float, limit: float
    ) -> Left:
        where = str(channel_address(stage, channel, self._contract))
        return Left(kind, frame, stage, channel, size, limit, where)
