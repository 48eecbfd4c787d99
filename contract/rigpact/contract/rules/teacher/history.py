"""RP640-RP644: the pose history in teacher files against the poses of the state rows.

Angles between poses are means over bones. A history entry is a certain pose if it differs from it by less than a tenth of
the motion from one frame to the next. A clip without motion decides nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rigpact.contract.findings import Finding, Rule
from rigpact.contract.json_pointer import json_pointer
from rigpact.contract.rotation6d import rotation_angle_rad, transposed
from rigpact.contract.rules.family import Family, Need, on_rows, rules_in
from rigpact.contract.rules.views.rows import Rows
from rigpact.contract.rules.wording import and_more
from rigpact.contract.statistics import FloatArray

HISTORY_UNRELATED = Rule.titled(
    "RP640 error pose-history-unrelated",
    message="{array}: no entry is a pose of the rows; the newest is {angle_deg:.2f}° from the nearest on average",
    hint="build the history from the same clip, and normalise it with the statistics that are given here",
    why="the network's largest input belongs to another motion, or to other statistics",
)
HISTORY_REVERSED = Rule.titled(
    "RP641 error pose-history-newest-first",
    message="{array} runs from newest to oldest: entry 0 is frame t, entry {last} frame t-{last} (in {share:.0%} of the rows);"
    " the engine writes oldest first",
    hint="reverse the frames of the history",
    why="the network reads the motion backwards: the character sways against its own movement",
)
HISTORY_PHASE = Rule.titled(
    "RP642 error pose-history-out-of-phase",
    message="{array}: the newest entry is frame t{lag:+d} (in {share:.0%} of the rows), the engine's is frame t",
    hint="push the current frame before the network runs",
    why="the network expects a history that is a frame older or younger: it lags or overshoots",
)
HISTORY_HOLDS_TARGET = Rule.titled(
    "RP643 error pose-history-holds-target",
    message="{array}: the newest entry of row {row} is the row's own target ({angle_deg:.4f}° away; the current frame is"
    " {step_deg:.3f}° away){more}",
    hint="pad the start with the first frame, not with the second; push frame t, never frame t+1",
    why="the answer stands in the question: the error on these rows is too good, and in the game the entry does not exist",
)
HISTORY_START = Rule.titled(
    "RP644 warning pose-history-start-not-seed",
    message="{array}: in row {row} entry {entry} stands before the clip and is {angle_deg:.3f}° from the first pose, with which"
    " the engine fills the history",
    hint="pad with the first frame of the clip",
    why="the first steps in the game start from another history than in training: a hitch at every start",
)

_PART_OF_A_STEP = 0.1
"""An entry is a pose when it is nearer than a tenth of the step from frame to frame; float32 rounding is 1e-5 of it."""
_STILL_RAD = np.radians(0.01)
"""A mean step below this is a character at rest: all frames are one pose."""
_MOST = 0.9
"""Rows at the start are padded. A reading is right if nine in ten of the other rows agree with it."""


@dataclass(frozen=True, eq=False)
class _History:
    """history: (T, H, B, 3, 3); poses: (T, B, 3, 3) of the rows."""

    array: str
    pointer: str
    history: FloatArray
    poses: FloatArray

    @property
    def length(self) -> int:
        """Entries of a history."""
        return int(self.history.shape[1])

    @cached_property
    def step_rad(self) -> float:
        """The mean rotation of a bone from one row to the next."""
        return float(_apart(self.poses[1:], self.poses[:-1]).mean())

    def share(self, entry: int, lag: int) -> float:
        """In what part of the rows (those past the start) an entry is the pose `lag` rows later."""
        count = len(self.poses)
        rows = np.arange(self.length, count)
        rows = rows[(rows + lag >= 0) & (rows + lag < count)]
        if not len(rows):
            return 0.0
        apart = _apart(self.history[rows, entry], self.poses[rows + lag])
        return float((apart < self.nearest).mean())

    @property
    def nearest(self) -> float:
        """Closer than this an entry is a pose."""
        return _PART_OF_A_STEP * self.step_rad


def _apart(a: FloatArray, b: FloatArray) -> FloatArray:
    angles: FloatArray = rotation_angle_rad(a @ transposed(b)).mean(axis=-1)
    return angles


def check_history(rows: Rows) -> Iterator[Finding]:
    """Yield what is wrong with the pose history of a teacher file."""
    frames, poses, path = rows.history, rows.poses, rows.aux_path("pose_hist_norm")
    if frames is None or poses is None or len(frames) != len(poses) or frames.shape[1] + 2 > len(poses):
        return
    history = _History(".".join(path), json_pointer(*path), frames, poses)
    if frames.shape[2:] != poses.shape[1:] or history.step_rad < _STILL_RAD:
        return
    newest = history.length - 1
    if history.share(newest, 0) >= _MOST:
        yield from _check_start(rows, history)
    else:
        yield from _check_order(rows, history)


FAMILY = Family(__name__, rules_in(globals()), (Need.ROWS, Need.BUNDLE), on_rows(check_history))


def _check_order(rows: Rows, history: _History) -> Iterator[Finding]:
    newest = history.length - 1
    if newest and history.share(0, 0) >= _MOST and history.share(newest, -newest) >= _MOST:
        share = min(history.share(0, 0), history.share(newest, -newest))
        says = {"pose_history_order": "newest_first"}
        yield HISTORY_REVERSED.at(rows.path, history.pointer, array=history.array, last=newest, share=share, says=says)
        return
    lags = {lag: history.share(newest, lag) for lag in (-1, 1, -2, 2)}
    lag = max(lags, key=lambda candidate: lags[candidate])
    if lags[lag] < _MOST:
        nearest = [_apart(history.history[row, newest][None], history.poses).min() for row in range(len(history.poses))]
        angle = float(np.degrees(np.mean(nearest)))
        yield HISTORY_UNRELATED.at(rows.path, history.pointer, array=history.array, angle_deg=angle)
        return
    says = {"pose_history_phase": "excludes_current"} if lag == -1 else {}
    yield HISTORY_PHASE.at(rows.path, history.pointer, array=history.array, lag=lag, share=lags[lag], says=says)
    if lag == 1:
        yield from _check_target(rows, history)


def _check_start(rows: Rows, history: _History) -> Iterator[Finding]:
    yield from _check_target(rows, history)
    for row in range(min(history.length, len(history.poses))):
        for entry in range(history.length - 1 - row):
            apart = float(_apart(history.history[row, entry][None], history.poses[:1])[0])
            if apart > history.nearest:
                values = {"array": history.array, "row": row, "entry": entry, "angle_deg": np.degrees(apart)}
                values["says"] = _start_said(history)
                yield HISTORY_START.at(rows.path, f"{history.pointer}/{row}", **values)
                return


def _start_said(history: _History) -> dict[str, str]:
    """The convention that fills what stands before the clip with its second pose, if this one does."""
    is_second = _apart(history.history[0], history.poses[1][None]) < history.nearest
    return {"pose_history_start": "first_target"} if is_second.all() else {}


def _check_target(rows: Rows, history: _History) -> Iterator[Finding]:
    """The newest entry is the next pose, and the next pose is not the current one."""
    newest, poses = history.history[:-1, -1], history.poses
    target, current, step = _apart(newest, poses[1:]), _apart(newest, poses[:-1]), _apart(poses[1:], poses[:-1])
    bad = np.flatnonzero((target < history.nearest) & (current > history.nearest) & (step > history.nearest))
    if len(bad):
        row = int(bad[0])
        says = _start_said(history) if bad[-1] < history.length else {}
        values = {"array": history.array, "row": row, "angle_deg": np.degrees(target[row]), "says": says}
        more = and_more(len(bad) - 1, "rows")
        step_deg = float(np.degrees(step[row]))
        yield HISTORY_HOLDS_TARGET.at(rows.path, f"{history.pointer}/{row}", step_deg=step_deg, more=more, **values)
