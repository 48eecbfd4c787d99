"""What leaves its ordinary range before a run fails, and how many frames ahead.

Thresholds are derived, one place each: `samuelson_limit`, `TANH_SATURATION`, `CLAMP_Z`, `NEAR_DEGENERATE`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rigpact.contract.bundle import Contract
from rigpact.contract.layout import ANGULAR_VELOCITIES, ROOT_VELOCITY
from rigpact.contract.statistics import TANH_SCALE_FLOOR, FloatArray
from rigpact.reference_runtime.operations.geometry import KINDA_SMALL_NUMBER, length, perpendicular
from rigpact.reference_runtime.systems.enemy_animation.drive import ClipRows, Stages, TeacherInputs
from rigpact.reference_runtime.systems.enemy_animation.output import ADDS_IDENTITY, OutputStages
from rigpact.reference_runtime.systems.enemy_animation.tolerances import gamma
from rigpact.reports.comparing.address import channel_address

TANH_SATURATION = 9.02
"""Beyond atanh(1 - 2^-25) = 9.01 tanh rounds to 1 in float32: the channel carries no signal any more."""
CLAMP_Z = 16.0
"""The exporter's graph clamps state and condition there."""
NEAR_DEGENERATE = 10.0 * KINDA_SMALL_NUMBER
"""Ten times the length below which the engine replaces an axis: one decade of warning."""
_ROUNDED = 8
"""Operations between a raw value and its z: a rounding of that size is no departure."""
_WATCHED = ("state", "angvel", "pose_hist", "cond")


@dataclass(frozen=True)
class Precursor:
    """The first time something left its range: what, where, when, by how much."""

    kind: str
    frame: int
    stage: str
    channel: int
    zscore: float
    limit: float
    where: str

    def to_json(self, failing_frame: int | None = None) -> dict[str, Any]:
        """The `precursor` object; `lead_frames` where something failed later."""
        lead = None if failing_frame is None else failing_frame - self.frame
        return {
            "frame": self.frame, "stage": self.stage, "channel": self.channel, "zscore": self.zscore,
            "kind": self.kind, "limit": self.limit, "where": self.where, "lead_frames": lead,
        }  # fmt: skip


def samuelson_limit(samples: int) -> float:
    """How many deviations from their own mean the farthest of N samples can lie: sqrt(N - 1).

    Source: Samuelson, How deviant can you be?, 1968. Whatever is beyond cannot have been a frame of the clip.
    """
    return float(np.sqrt(max(samples - 1, 1)))


class Envelope:
    """Mean and deviation of each channel over the clip's own input rows; an observer of a run."""

    def __init__(self, contract: Contract, rows: ClipRows) -> None:
        """Take the statistics of every watched stage from the clip, teacher-driven."""
        with np.errstate(all="ignore"):
            stages = TeacherInputs(contract, rows).stages
            self._ranges = {name: _statistics(stages[name], contract, name) for name in _WATCHED if name in stages}
        self.limit = samuelson_limit(len(stages["state"]))
        self._contract = contract
        self._outputs = OutputStages(contract)
        offset = ADDS_IDENTITY[contract.conventions.output_mode]
        self._offset = self._outputs.codec.identity(contract.bone_count) * offset
        self._squashed = [
            (contract.state[name].range, np.maximum(np.abs(scales), np.float32(TANH_SCALE_FLOOR)))
            for name, scales in (
                (ROOT_VELOCITY, contract.rootvel_scales),
                (ANGULAR_VELOCITIES, contract.angvel_scales),
            )
        ]
        self.found: dict[tuple[str, str], Precursor] = {}

    def __call__(self, frame: int, stages: Stages) -> None:
        """Look at one frame; only the first departure of each kind and stage is kept."""
        for name, (mean, deviation) in self._ranges.items():
            self._keep("envelope", frame, name, (stages[name] - mean) / deviation, self.limit)
        for name in ("state", "cond"):
            self._keep("clamp", frame, name, stages[name], CLAMP_Z)
        for place, scale in self._squashed:
            self._keep("tanh", frame, "x_raw", stages["x_raw"][place] / scale, TANH_SATURATION, place.start)
        self._near_degenerate(frame, stages["y_raw"])

    @property
    def first(self) -> Precursor | None:
        """The earliest departure that lies after the seed frame, or at it where there is no other."""
        return min(self.found.values(), key=lambda entry: entry.frame, default=None)

    def _keep(self, kind: str, frame: int, stage: str, size: FloatArray, limit: float, offset: int = 0) -> None:
        if (kind, stage) in self.found:
            return
        magnitude = np.abs(size)
        channel = int(np.argmax(magnitude))
        if magnitude[channel] > limit:
            self._add(kind, frame, stage, channel + offset, float(size[channel]), limit)

    def _add(self, kind: str, frame: int, stage: str, channel: int, size: float, limit: float) -> None:
        address = channel_address(stage, channel, self._contract, self._contract.bone_names)
        self.found[kind, stage] = Precursor(kind, frame, stage, channel, size, limit, str(address))

    def _near_degenerate(self, frame: int, y_raw: FloatArray) -> None:
        if ("degenerate", "y_raw") in self.found:
            return
        a, b = self._outputs.codec.split(y_raw[self._outputs.rotations].astype(np.float64) + self._offset)
        size = length(a)
        rest = length(perpendicular(b, a / np.maximum(size, KINDA_SMALL_NUMBER)))
        shortest = np.minimum(size, rest)[..., 0]
        bone = int(np.argmin(shortest))
        if shortest[bone] < NEAR_DEGENERATE:
            place = self._outputs.rotations.start + 6 * bone + (0 if size[bone, 0] < NEAR_DEGENERATE else 3)
            self._add("degenerate", frame, "y_raw", place, float(shortest[bone]), NEAR_DEGENERATE)


def _statistics(rows: FloatArray, contract: Contract, stage: str) -> tuple[FloatArray, FloatArray]:
    """Mean and deviation per channel, in float64; a constant channel deviates by its rounding in z."""
    known = np.where(np.isfinite(rows), rows, 0.0).astype(np.float64)
    mean = known.mean(axis=0)
    rounding = gamma(_ROUNDED) * (np.abs(known).max(axis=0) + _conditioning(contract, stage, rows.shape[1]))
    return mean, np.maximum(known.std(axis=0), rounding)


def _conditioning(contract: Contract, stage: str, width: int) -> FloatArray:
    """How much a z-score amplifies the rounding of its raw value: (1 + |mean|) / std."""
    auxiliary: Mapping[str, Any] = {"angvel": contract.angular_velocity, "pose_hist": contract.pose_history}
    statistics = contract.state_statistics if stage == "state" else getattr(auxiliary.get(stage), "statistics", None)
    if statistics is None or len(statistics.mean) != width:
        return np.ones(width)
    conditioning = (1.0 + np.abs(statistics.mean.astype(np.float64))) / np.maximum(np.abs(statistics.std), 1e-6)
    return np.where(np.isfinite(conditioning), conditioning, 1.0)
