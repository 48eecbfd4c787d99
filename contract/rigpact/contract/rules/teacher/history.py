"""RP640-RP644: the pose history in teacher files against the poses of the state rows.

Angles between poses are means over bones. A history entry is a certain pose if it differs from it by less than a tenth of
the motion from one frame to the next. A clip without motion decides nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.findings import Finding, Rule
from rigpact.contract.rules.family import Need, family
from rigpact.contract.rules.views.bundle import need
from rigpact.contract.rules.views.motion import Rows
from rigpact.contract.rules.wording import first_of
from rigpact.contract.skeleton import rotation_angle_rad, transposed
from rigpact.contract.statistics import FloatArray

HISTORY_UNRELATED = Rule.of("""RP640 error pose-history-unrelated
    {array}: no entry is a pose of the rows; the newest is {angle_deg:.2f}° from the nearest on average
    hint: build the history from the same clip, and normalise it with the statistics that are given here
    why: the network's largest input belongs to another motion, or to other statistics""")
HISTORY_REVERSED = Rule.of("""RP641 error pose-history-newest-first
    {array} runs from newest to oldest: entry 0 is frame t, entry {last} frame t-{last} (in {share:.0%} of the rows); the engine
    writes oldest first
    hint: reverse the frames of the history
    why: the network reads the motion backwards: the character sways against its own movement""")
HISTORY_PHASE = Rule.of("""RP642 error pose-history-out-of-phase
    {array}: the newest entry is frame t{lag:+d} (in {share:.0%} of the rows), the engine's is frame t
    hint: push the current frame before the network runs
    why: the network expects a history that is a frame older or younger: it lags or overshoots""")
HISTORY_HOLDS_TARGET = Rule.of("""RP643 error pose-history-holds-target
    {array}: the newest entry of row {row} is the row's own target ({angle_deg:.4f}° away; the current frame is {step_deg:.3f}°
    away){more}
    hint: pad the start with the first frame, not with the second; push frame t, never frame t+1
    why: the answer stands in the question: the error on these rows is too good, and in the game the entry does not exist""")
HISTORY_START = Rule.of("""RP644 warning pose-history-start-not-seed
    {array}: in row {row} entry {entry} stands before the clip and is {angle_deg:.3f}° from the first pose, with which the engine
    fills the history
    hint: pad with the first frame of the clip
    why: the first steps in the game start from another history than in training: a hitch at every start""")

_PART_OF_A_STEP = 0.1
"""An entry is a pose when it is nearer than a tenth of the step from frame to frame; float32 rounding is 1e-5 of it."""
_STILL_RAD = np.radians(0.01)
"""A mean step below this is a character at rest: all frames are one pose."""
_MOST = 0.9
"""Rows at the start are padded. A reading is right if nine in ten of the other rows agree with it."""


@dataclass(frozen=True, eq=False)
class _History:
    """history: (T, H, B, 3, 3); poses: (T, B, 3, 3) of the rows. nearest: closer than this an entry is a pose, radians."""

    path: Path
    place: tuple[str, ...]
    history: FloatArray
    poses: FloatArray
    nearest: float

    def share(self, entry: int, lag: int) -> float:
        """In what part of the rows (those past the start) an entry is the pose `lag` rows later."""
        rows = np.arange(self.history.shape[1], len(self.poses))
        rows = rows[(rows + lag >= 0) & (rows + lag < len(self.poses))]
        apart = _apart(self.history[rows, entry], self.poses[rows + lag])
        return float((apart < self.nearest).mean()) if len(rows) else 0.0

    def finding(self, rule: Rule, *row: int, **values: Any) -> Finding:
        """Make a finding about the history, or about a row of it."""
        return rule.at(self.path, (*self.place, *row), array=".".join(self.place), **values)

    def start_said(self) -> dict[str, str]:
        """The convention that fills what stands before the clip with its second pose, if this one does."""
        is_second = _apart(self.history[0], self.poses[1][None]) < self.nearest
        return {"pose_history_start": "first_target"} if is_second.all() else {}


def _apart(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.asarray(rotation_angle_rad(a @ transposed(b)).mean(axis=-1))


def _check_history(rows: Rows) -> Iterator[Finding]:
    frames, poses = rows.history, rows.poses
    need(frames, when=len(frames) == len(poses) >= frames.shape[1] + 2 and frames.shape[2:] == poses.shape[1:])
    step_rad = float(_apart(poses[1:], poses[:-1]).mean())
    nearest = _PART_OF_A_STEP * need(step_rad, when=step_rad >= _STILL_RAD)
    history = _History(rows.path, rows.aux_path("pose_hist_norm"), frames, poses, nearest)
    newest = frames.shape[1] - 1
    yield from _check_start(history) if history.share(newest, 0) >= _MOST else _check_order(history, newest)


FAMILY = family(globals(), (Need.ROWS, Need.BUNDLE), _check_history)


def _check_order(history: _History, newest: int) -> Iterator[Finding]:
    turned = min(history.share(0, 0), history.share(newest, -newest))
    if newest and turned >= _MOST:
        yield history.finding(HISTORY_REVERSED, last=newest, share=turned, says={"pose_history_order": "newest_first"})
        return
    lags = {lag: history.share(newest, lag) for lag in (-1, 1, -2, 2)}
    lag = max(lags, key=lambda candidate: lags[candidate])
    if lags[lag] < _MOST:
        nearest = [_apart(entry[None], history.poses).min() for entry in history.history[:, newest]]
        yield history.finding(HISTORY_UNRELATED, angle_deg=float(np.degrees(np.mean(nearest))))
        return
    says = {"pose_history_phase": "excludes_current"} if lag == -1 else {}
    yield history.finding(HISTORY_PHASE, lag=lag, share=lags[lag], says=says)
    if lag == 1:
        yield from _check_target(history)


def _check_start(history: _History) -> Iterator[Finding]:
    yield from _check_target(history)
    length = history.history.shape[1]
    for row in range(min(length, len(history.poses))):
        apart = _apart(history.history[row], history.poses[:1])[: length - 1 - row]
        for (entry,), _ in first_of(apart > history.nearest, ""):
            values = {"row": row, "entry": entry, "angle_deg": np.degrees(apart[entry]), "says": history.start_said()}
            yield history.finding(HISTORY_START, row, **values)
            return


def _check_target(history: _History) -> Iterator[Finding]:
    """The newest entry is the next pose, and the next pose is not the current one."""
    newest, poses, nearest = history.history[:-1, -1], history.poses, history.nearest
    target, current, step = _apart(newest, poses[1:]), _apart(newest, poses[:-1]), _apart(poses[1:], poses[:-1])
    bad = (target < nearest) & (current > nearest) & (step > nearest)
    for (row,), more in first_of(bad, "rows"):
        says = history.start_said() if np.flatnonzero(bad)[-1] < history.history.shape[1] else {}
        values = {"angle_deg": np.degrees(target[row]), "step_deg": float(np.degrees(step[row])), "says": says}
        yield history.finding(HISTORY_HOLDS_TARGET, row, row=row, more=more, **values)
