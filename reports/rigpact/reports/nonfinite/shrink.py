"""The smallest run that still fails the same way: latest start, shortest prefix, fewest channels that are not default.

Channels are the columns of the clip that drives the run. Delta debugging over them (Zeller and Hildebrandt, Simplifying and
isolating failure-inducing input, 2002). Default: 0, and no rotation for a bone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.bundle import Contract
from rigpact.contract.errors import UnusableInput
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.network import ReplayNetwork
from rigpact.reference_runtime.operations.rot6d import Rot6d
from rigpact.reference_runtime.recordings.clip import RawClip
from rigpact.reference_runtime.systems.enemy_animation.sentinel import Watched, watch_run
from rigpact.reports.nonfinite.origin import Origin, origin_of_run
from rigpact.reports.nonfinite.subject import Subject

MOST_RUNS = 200
"""Runs spent on leaving channels out; what is left then is reported as it is."""
_COLUMNS = (
    "root_position_m", "root_velocity_m_s", "root_yaw_rad", "rotations6d", "angular_velocity_rad_s", "action_bits",
    "contact_scores",
)  # fmt: skip
_STATE_FIELDS = {
    "RootPosition": "root_position_m", "RootVelocity": "root_velocity_m_s", "RootYaw": "root_yaw_rad",
    "BoneRotations6D": "rotations6d", "BoneAngularVelocities": "angular_velocity_rad_s",
    "Contacts": "contact_scores",
}  # fmt: skip
Column = tuple[str, int]
IntArray = NDArray[np.integer[Any]]


@dataclass(frozen=True, eq=False)
class Shrunk:
    """A smaller subject that fails the same way in `frames` frames; the columns that are not default, of how many."""

    subject: Subject
    origin: Origin
    frames: int
    kept: tuple[Column, ...]
    columns: int
    runs: int


def shrink(subject: Subject, frames: int) -> Shrunk | None:
    """Shrink a run that fails within `frames` frames; None for one that does not, or that no raw clip drives."""
    watched, origin = _outcome(subject, frames)
    if origin is None or not isinstance(subject.clip, RawClip):
        return None
    search = _Search(origin)
    start = next((smaller for smaller in _later_starts(subject, watched) if search.fails_alike(smaller)), subject)
    shortest = _shortened(start, search)
    small, kept = _fewest_columns(shortest, search)
    _, final = _outcome(small, search.frames_of(small))
    if final is None:
        return None
    columns = sum(_field(shortest.clip, name).shape[1] for name in _COLUMNS if _has(shortest.clip, name))
    return Shrunk(small, final, final.frame + 1, tuple(kept), columns, search.runs)


def _outcome(subject: Subject, frames: int) -> tuple[Watched, Origin | None]:
    with np.errstate(all="ignore"):
        loop = subject.start()
        watched = watch_run(loop, range(subject.frames_of(loop, frames)))
        return watched, origin_of_run(subject, watched)


class _Search:
    """Whether a smaller run fails the same way; counts the runs."""

    def __init__(self, origin: Origin) -> None:
        self._identity, self._frame, self.runs = origin.identity, origin.frame, 0

    def frames_of(self, subject: Subject) -> int:
        """Frames that a run may take: as far as the original failed."""
        return self._frame + 2

    def fails_alike(self, subject: Subject) -> bool:
        """Whether the same stage, channel, operation and node produce the value."""
        self.runs += 1
        try:
            _, origin = _outcome(subject, self.frames_of(subject))
        except UnusableInput:
            return False
        return origin is not None and origin.identity == self._identity


def _later_starts(subject: Subject, watched: Watched) -> Iterator[Subject]:
    """The subject started at one of the frames that were kept, the last first."""
    for frame, stages in reversed(watched.frames):
        if frame > 0:
            yield _started_at(subject, frame, stages["x_raw"])


def _started_at(subject: Subject, frame: int, x_raw: FloatArray) -> Subject:
    clip = subject.clip
    if not isinstance(clip, RawClip):
        raise TypeError("only raw clips are cut")
    steps = clip.frame_count - 1
    rows = (np.arange(max(steps - frame, 1) + 1) + frame) % (steps + (subject.mode == "teacher"))
    cut = _rows(clip, rows)
    if subject.mode == "free":
        cut = _seeded(cut, subject.contract, x_raw)
    network = subject.network
    if isinstance(network, ReplayNetwork):
        network = ReplayNetwork(network.outputs[frame:], network.name)
    faults = tuple(replace(fault, frame=max(fault.frame - frame, 0)) for fault in subject.faults)
    return replace(subject, clip=cut, network=network, faults=faults)


def _rows(clip: RawClip, rows: IntArray) -> RawClip:
    names = [*_COLUMNS, "trajectory_direction"]
    changes: dict[str, Any] = {name: _field(clip, name)[rows] for name in names if _has(clip, name)}
    return replace(clip, **changes)


def _seeded(clip: RawClip, contract: Contract, x_raw: FloatArray) -> RawClip:
    changes: dict[str, Any] = {}
    for entry in contract.state:
        name = _STATE_FIELDS.get(entry.name)
        if name is not None and _has(clip, name):
            changes[name] = _field(clip, name).copy()
            changes[name][0] = x_raw[entry.range]
    return replace(clip, **changes)


def _shortened(subject: Subject, search: _Search) -> Subject:
    """Without the rows of the clip after the failing one, where that makes no difference."""
    _, origin = _outcome(subject, search.frames_of(subject))
    clip = subject.clip
    if origin is None or not isinstance(clip, RawClip) or clip.frame_count <= origin.frame + 2:
        return subject
    shorter = replace(subject, clip=_rows(clip, np.arange(origin.frame + 2)))
    return shorter if search.fails_alike(shorter) else subject


def _fewest_columns(subject: Subject, search: _Search) -> tuple[Subject, list[Column]]:
    """Delta debugging: leave out ever smaller parts of the columns for as long as the failure stays the same."""
    clip = subject.clip
    columns = [
        (name, column)
        for name in _COLUMNS
        if _has(clip, name)
        for column in range(_field(clip, name).shape[1])
        if not np.array_equal(_field(clip, name)[:, column], np.full(len(_field(clip, name)), _default(subject, name, column)))
    ]  # fmt: skip

    def fails(kept: Sequence[Column]) -> bool:
        return search.fails_alike(_with_columns(subject, kept))

    kept = _minimal(columns, fails, MOST_RUNS)
    return _with_columns(subject, kept), kept


def _minimal(items: list[Column], fails: Callable[[Sequence[Column]], bool], most_runs: int) -> list[Column]:
    if fails([]):
        return []
    parts, runs = 2, 1
    while len(items) >= 2 and runs < most_runs:
        groups = [items[index::parts] for index in range(parts)]
        # one group alone, then everything but one group
        smaller = None
        for candidate in [*groups, *([x for x in items if x not in set(group)] for group in groups if parts > 2)]:
            runs += 1
            if len(candidate) < len(items) and fails(candidate):
                smaller = candidate
                break
        if smaller is not None:
            parts = 2 if len(smaller) <= len(items) // parts + 1 else max(parts - 1, 2)
            items = smaller
        elif parts >= len(items):
            break
        else:
            parts = min(2 * parts, len(items))
    return items


def _with_columns(subject: Subject, kept: Sequence[Column]) -> Subject:
    clip, wanted = subject.clip, set(kept)
    if not isinstance(clip, RawClip):
        return subject
    changes: dict[str, Any] = {}
    for name in _COLUMNS:
        if _has(clip, name):
            rows = _field(clip, name).copy()
            for column in range(rows.shape[1]):
                if (name, column) not in wanted:
                    rows[:, column] = _default(subject, name, column)
            changes[name] = rows
    return replace(subject, clip=replace(clip, **changes))


def _default(subject: Subject, name: str, column: int) -> float:
    if name != "rotations6d":
        return 0.0
    identity = Rot6d(subject.contract.conventions).identity(1, np.float32)
    return float(identity[column % 6])


def _has(clip: object, name: str) -> bool:
    return getattr(clip, name) is not None


def _field(clip: object, name: str) -> FloatArray:
    rows: FloatArray = getattr(clip, name)
    return rows


def clip_document(clip: RawClip) -> dict[str, object]:
    """A raw clip as the JSON document that it is read from."""
    return {
        "NumFrames": clip.frame_count, "FPS": clip.fps, "ClipAction": "Repro",
        "Frames": [_frame_document(clip, row) for row in range(clip.frame_count)],
    }  # fmt: skip


def _frame_document(clip: RawClip, row: int) -> dict[str, object]:
    frame: dict[str, object] = {
        "RootPosition": clip.root_position_m[row].tolist(),
        "RootVelocityXY": clip.root_velocity_m_s[row].tolist(),
        "RootYaw": float(clip.root_yaw_rad[row, 0]),
        "BoneRotations": clip.rotations6d[row].reshape(-1, 6).tolist(),
        "BoneAngularVelocities": clip.angular_velocity_rad_s[row].reshape(-1, 3).tolist(),
        "ActionBits": clip.action_bits[row].tolist(),
        "TrajectoryDir": clip.trajectory_direction[row].tolist(),
    }
    if clip.contact_scores is not None:
        scores = clip.contact_scores[row].tolist()
        frame["FootEvidence"] = {foot: {"soft_contact_score": score} for foot, score in zip("LR", scores, strict=True)}
    return frame
