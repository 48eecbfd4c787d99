"""The frames that two recordings share, and what each side holds of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.system import System
from rigpact.reference_runtime.recordings.recording import Recording
from rigpact.reports.comparing.pose_meter import Targets, targets_of


@dataclass(frozen=True, eq=False)
class Pairs:
    """The frames that both sides have; where one is a free run, those before a gap. rows_a, rows_b: the rows of each side.

    union: number of frames of either side. behind_a_gap: number of shared frames that follow a frame which was not recorded.
    teacher: holds the clip's own poses.
    """

    a: Recording
    b: Recording
    frames: NDArray[np.int64]
    rows_a: NDArray[np.int64]
    rows_b: NDArray[np.int64]
    union: int
    behind_a_gap: int
    teacher: Recording | None

    @property
    def is_free(self) -> bool:
        """Whether at least one side is a free run."""
        return _is_free(self.a, self.b)

    def values(self, part: slice, stages: Sequence[str]) -> tuple[dict[str, FloatArray], dict[str, FloatArray]]:
        """Each side's values of the stages that it has, for some shared frames."""
        sides = (self.a.trace.stages, self.rows_a[part]), (self.b.trace.stages, self.rows_b[part])
        of_a, of_b = ({name: own[name][rows] for name in stages if name in own} for own, rows in sides)
        return of_a, of_b

    def left_out(self, system: System) -> Mapping[str, NDArray[np.bool_]]:
        """For some stages: the shared frames at which they depend on a later frame that is not shared, (T,)."""
        ahead = {} if self.is_free else {each.name: each.driven_ahead for each in system.graph if each.driven_ahead}
        found = {name: ~np.isin(self.frames + frames, self.frames) for name, frames in ahead.items()}
        return {name: rows for name, rows in found.items() if rows.any()}

    def targets(self) -> Targets:
        """The clip's own poses: of the teacher, else of the side that holds them."""
        if self.teacher is not None:
            sides = (self.a, self.rows_a), (self.b, self.rows_b)
            own = [Targets(side, rows) for side, rows in sides if side.poses6d is not None]
            return targets_of(self.teacher, self.frames, own)
        holder, rows = (self.a, self.rows_a) if self.a.poses6d is not None else (self.b, self.rows_b)
        return Targets(holder, rows)

    def release(self) -> None:
        """Free the memory of the rows that were read."""
        self.a.trace.release()
        self.b.trace.release()


def pairs_of(a: Recording, b: Recording, teacher: Recording | None) -> Pairs:
    """Align two recordings by their frame numbers."""
    frames, rows_a, rows_b = np.intersect1d(a.trace.frame, b.trace.frame, assume_unique=True, return_indices=True)
    judged = before_a_gap(frames) if _is_free(a, b) else slice(None)
    union, behind = len(a.trace.frame) + len(b.trace.frame) - len(frames), len(frames) - len(frames[judged])
    return Pairs(a, b, frames[judged], rows_a[judged], rows_b[judged], union, behind, teacher)


def before_a_gap(frames: NDArray[np.int64]) -> slice:
    """The first frames, up to one that is missing: a free run feeds itself, so later frames cannot be judged from here."""
    gaps = np.flatnonzero(np.diff(frames) != 1)
    return slice(0, int(gaps[0]) + 1 if len(gaps) else len(frames))


def _is_free(a: Recording, b: Recording) -> bool:
    return "free" in (a.trace.header.mode, b.trace.header.mode)
