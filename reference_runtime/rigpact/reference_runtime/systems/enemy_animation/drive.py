"""The clip's part of the loop: one row per frame for every input stage.

`ClipRows` holds a clip under a contract. `TeacherInputs` and `FreeRunInputs` turn the rows, frame by frame, into the
stages before the network. Teacher-driven: every row comes from the clip. Free-run: the pose comes from the loop's own
output; the player's intent (condition) and the contacts come from the clip, which loops.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rigpact.contract.bundle import Contract
from rigpact.contract.errors import UnusableInput
from rigpact.contract.layout import ANGULAR_VELOCITIES, ROTATIONS
from rigpact.contract.some_bones import columns_of_bones
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.graph.replayed import check_widths
from rigpact.reference_runtime.operations.angular_velocity import AngularVelocityInput, Motion
from rigpact.reference_runtime.operations.condition import ConditionWindow, condition_rows
from rigpact.reference_runtime.operations.contacts import contact_rows
from rigpact.reference_runtime.operations.normalisation import StateNormaliser
from rigpact.reference_runtime.operations.pose_history import PoseHistory, free_history
from rigpact.reference_runtime.operations.writeback import WriteBack
from rigpact.reference_runtime.recordings.clip import RECORDED_INPUTS, Clip, RawClip, RecordedInputs

Stages = dict[str, FloatArray]


@dataclass(frozen=True, eq=False)
class ClipRows:
    """A clip under a contract: x_raw and state (N, Dx), cond_raw (N, Dc), contacts (N, 2), N >= steps.

    angvel (N, A) and pose_hist (N, P) are None unless the file recorded them; poses (N, 6·B) are x_raw's rotations.
    """

    fps: float
    steps: int
    x_raw: FloatArray
    state: FloatArray
    cond_raw: FloatArray
    contacts: FloatArray
    angvel: FloatArray | None
    pose_hist: FloatArray | None
    poses: FloatArray
    is_raw: bool = True

    def rows(self, stage: str) -> FloatArray | None:
        """The clip's rows of a stage, (N, width); None if it has none."""
        found: FloatArray | None = getattr(self, stage, None)
        return found


def clip_rows(clip: Clip, contract: Contract) -> ClipRows:
    """Compute a clip's rows under a contract; under that of some bones, the rows of these."""
    if contract.whole is not None:
        return _rows_of_bones(clip_rows(clip, contract.whole), contract)
    normaliser = StateNormaliser(contract)
    rotations = contract.state[ROTATIONS].range
    if isinstance(clip, RawClip):
        if clip.frame_count < 2:
            raise UnusableInput(f"{clip.path}#/Frames", "one frame", "at least two: a step leads from one to the next")
        x_raw = clip.state_rows(contract.state)
        return ClipRows(
            fps=clip.fps,
            steps=clip.frame_count - 1,
            x_raw=x_raw,
            state=normaliser.normalise(x_raw),
            cond_raw=condition_rows(clip, contract),
            contacts=contact_rows(clip.contact_scores, clip.frame_count, contract),
            angvel=None,
            pose_hist=None,
            poses=x_raw[:, rotations],
        )
    if isinstance(clip, RecordedInputs):
        return _recorded_rows(clip, contract, normaliser)
    if clip.state_norm.shape[1] != contract.state.width:
        raise UnusableInput(
            f"{clip.path}#/teacher/state_norm/0", f"{clip.state_norm.shape[1]} numbers", f"{contract.state.width}"
        )
    x_raw = normaliser.denormalise(clip.state_norm)
    return ClipRows(
        fps=clip.fps,
        steps=clip.step_count,
        x_raw=x_raw,
        state=clip.state_norm,
        cond_raw=clip.cond,
        contacts=contact_rows(clip.contacts, clip.step_count, contract),
        angvel=clip.angvel_norm,
        pose_hist=clip.pose_hist_norm,
        poses=x_raw[:, rotations],
        is_raw=False,
    )


def _rows_of_bones(whole: ClipRows, contract: Contract) -> ClipRows:
    def cut(stage: str, rows: FloatArray) -> FloatArray:
        return rows[:, columns_of_bones(contract, stage)]

    x_raw = cut("x_raw", whole.x_raw)
    return replace(
        whole,
        x_raw=x_raw,
        state=cut("state", whole.state),
        angvel=None if whole.angvel is None else cut("angvel", whole.angvel),
        pose_hist=None if whole.pose_hist is None else cut("pose_hist", whole.pose_hist),
        poses=x_raw[:, contract.state[ROTATIONS].range],
    )


def _recorded_rows(clip: RecordedInputs, contract: Contract, normaliser: StateNormaliser) -> ClipRows:
    """What an engine recorded drives the run again: a player's run, which no clip holds."""
    check_widths(contract, {name: getattr(clip, name) for name in RECORDED_INPUTS}, clip.path)
    x_raw = clip.x_raw if clip.after is None else np.concatenate((clip.x_raw, clip.after[None]))
    return ClipRows(
        fps=clip.fps,
        steps=clip.step_count,
        x_raw=x_raw,
        state=normaliser.normalise(x_raw),
        cond_raw=clip.cond_raw,
        contacts=clip.contacts,
        angvel=None,
        pose_hist=None,
        poses=x_raw[:, contract.state[ROTATIONS].range],
    )


_OF_ROWS = ("x_raw", "state", "cond_raw", "contacts")
"""The stages that a clip's rows hold; the knobs of no other stage change them."""
_ROWS_KEPT = 4


def drive_of(clip: Clip) -> Callable[[Contract], ClipRows]:
    """A function from a contract to the clip's rows; a search asks for them under thousands of conventions of other stages."""
    kept: dict[tuple[Any, ...], tuple[Contract, ClipRows]] = {}

    def rows(contract: Contract) -> ClipRows:
        knobs = {knob.name for name in _OF_ROWS for knob in contract.system.graph[name].knobs} | {"math"}
        chosen = tuple(str(contract.conventions[name]) for name in sorted(knobs))
        numbers = (
            contract.state,
            contract.state_statistics,
            contract.rootvel_scales,
            contract.angvel_scales,
            contract.whole,
        )
        key = (*map(id, numbers), *chosen)
        if key not in kept:
            if len(kept) == _ROWS_KEPT:  # those of a long clip are large
                kept.clear()
            kept[key] = (
                contract,
                clip_rows(clip, contract),
            )  # the contract is kept, so that no other number gets these ids
        return kept[key][1]

    return rows


class TeacherInputs:
    """Teacher-driven: the clip gives each frame's input stages and the pose that ΔR is applied to.

    stages: (T, width) by name; previous_poses: (T, 6·B).
    """

    def __init__(self, contract: Contract, rows: ClipRows) -> None:
        """Compute all rows at once; `at` only selects one."""
        lag = int(contract.conventions.previous_pose_lag)
        available = len(rows.poses) - max(lag, 0)
        self.frame_limit: int | None = min(rows.steps, available)
        if self.frame_limit < 1:
            raise UnusableInput("the clip", f"{len(rows.poses)} frame(s)", "at least two")
        steps = self.frame_limit
        self.previous_poses = rows.poses[np.clip(np.arange(steps) + lag, 0, None)]
        self._x_raw = rows.x_raw
        window = ConditionWindow(contract)
        stages: Stages = {
            "x_raw": rows.x_raw[:steps],
            "state": rows.state[:steps],
            "cond_raw": rows.cond_raw[:steps],
            "cond": np.stack([window.push(row) for row in rows.cond_raw[:steps]]),
            "contacts": rows.contacts[:steps],
            "angvel": _angvel_rows(contract, rows, steps),
        }
        self.stages = stages | _pose_history_rows(contract, rows, steps)

    def at(self, frame: int) -> Stages:
        """The input stages of one frame."""
        return {name: rows[frame] for name, rows in self.stages.items()}

    def previous6d(self, frame: int) -> FloatArray:
        """The pose that ΔR is applied to, (6·B,)."""
        pose: FloatArray = self.previous_poses[frame]
        return pose

    def advance(self, frame: int, y_out: FloatArray) -> FloatArray | None:
        """The next raw state: the next teacher frame; None after a teacher file's last row."""
        return self._x_raw[frame + 1] if frame + 1 < len(self._x_raw) else None


def _angvel_rows(contract: Contract, rows: ClipRows, steps: int) -> FloatArray:
    if rows.angvel is not None:
        return rows.angvel[:steps]
    return AngularVelocityInput(contract).rows(Motion(rows.x_raw, rows.state, rows.fps, steps))


def _pose_history_rows(contract: Contract, rows: ClipRows, steps: int) -> Stages:
    if rows.pose_hist is not None:
        return {"pose_hist": rows.pose_hist[:steps]}
    history = PoseHistory(contract)
    raw = history.raw_rows(rows.poses, steps)
    return {"pose_hist_raw": raw, "pose_hist": history.normalise(raw)}


class FreeRunInputs:
    """Free-run: the state is the loop's own output; condition and contacts come from the clip, which loops."""

    frame_limit: int | None = None

    def __init__(self, contract: Contract, rows: ClipRows) -> None:
        """Seed with the clip's first frame, as `ResetARState` does: history filled, condition window empty."""
        self._rows = rows
        self._normaliser = StateNormaliser(contract)
        self._angvel = AngularVelocityInput(contract)
        self._angvel_frames = FREE_RUN_FRAMES.get(contract.conventions.angvel_source, _current)
        self._history = free_history(contract)
        self._padding = self._history.padding(rows.poses)
        self._window = ConditionWindow(contract)
        self._writeback = WriteBack(contract, rows.fps)
        self._lag = int(contract.conventions.previous_pose_lag)
        self._rotations = contract.state[ROTATIONS].range
        if self._lag > 0 and len(rows.poses) < 2:
            raise UnusableInput("previous_pose_lag=+1", "a clip of one pose", "a clip with the pose after it")
        self.seed = _read_only(rows.x_raw[0])
        self.current = self.before = self.seed
        renewed = self._writeback.renewed
        is_slicewise = renewed is not None and all(map(self._normaliser.is_plain, renewed))
        self._renewed = renewed if is_slicewise else None
        place = contract.state[ANGULAR_VELOCITIES].range
        self._keeps_angvel = self._angvel.reads_one_slice and place not in (renewed or ())
        self._recent: deque[FloatArray] = deque([rows.poses[0]], maxlen=self._history.reach)

    @property
    def current(self) -> FloatArray:
        """The raw state that the next frame starts from."""
        return self._current

    @current.setter
    def current(self, state: FloatArray) -> None:
        self._current = state
        self._known: tuple[FloatArray, FloatArray] | None = None  # these inputs belong to another state

    def at(self, frame: int) -> Stages:
        """The input stages of one frame, from the carried state."""
        pose_hist_raw = self._history.raw_row(self._recent, frame, self._padding)
        state, angvel = self._state_and_angvel()
        return {
            "x_raw": self._current,
            "state": state,
            **self.driven(frame),
            "angvel": angvel,
            "pose_hist_raw": pose_hist_raw,
            "pose_hist": self._history.z(pose_hist_raw),
        }

    def driven(self, frame: int) -> Stages:
        """The clip's inputs of a free run: the player's intent and the contacts."""
        row = frame % self._rows.steps
        cond_raw = self._rows.cond_raw[row]
        return {"cond_raw": cond_raw, "cond": self._window.push(cond_raw), "contacts": self._rows.contacts[row]}

    def _state_and_angvel(self) -> tuple[FloatArray, FloatArray]:
        """The State and AngVel inputs, as new arrays.

        After a write-back only the written slices are recomputed: no channel depends on another.
        """
        if self._known is None or self._renewed is None:
            state = self._normaliser.normalise(self._current)
            angvel = self.angular_velocity(state)
        else:
            state, angvel = self._known
            for place in self._renewed:
                self._normaliser.renew(state, self._current, place)
            if not self._keeps_angvel:
                angvel = self.angular_velocity(state)
        self._known = state, angvel
        return state.copy(), angvel.copy()

    def angular_velocity(self, state: FloatArray) -> FloatArray:
        """The AngVel input, from the current state or from its substitute in a free run."""
        frames = self._angvel_frames(self)
        states = state[None] if self._angvel_frames is _current else self._normaliser.normalise(frames)
        row: FloatArray = self._angvel.rows(Motion(frames, states, self._rows.fps, 1))[0]
        return row

    def previous6d(self, frame: int) -> FloatArray:
        """The pose that ΔR is applied to: the carried pose; with a lag, one frame older or the clip's target."""
        if self._lag > 0:
            return target_pose(self._rows, frame)
        carried: FloatArray = (self.before if self._lag < 0 else self._current)[..., self._rotations]
        return carried

    def advance(self, frame: int, y_out: FloatArray) -> FloatArray:
        """Write the output back into the raw state and push the new pose into the history."""
        following = self._writeback(self._current, y_out)
        if following is self._current:
            following = following.copy()
        following.setflags(write=False)  # a caller that changes a stage must not change the run
        self.before, self._current = self._current, following  # no setter: it would drop the known inputs
        self._recent.append(following[..., self._rotations])
        return following


def target_pose(rows: ClipRows, frame: int) -> FloatArray:
    """The clip's own pose after a frame, (6·B,)."""
    pose: FloatArray = rows.poses[frame % (len(rows.poses) - 1) + 1]
    return pose


def _read_only(x_raw: FloatArray) -> FloatArray:
    kept = x_raw.copy()
    kept.setflags(write=False)
    return kept


def _current(inputs: FreeRunInputs) -> FloatArray:
    frames: FloatArray = inputs.current[None]
    return frames


FREE_RUN_FRAMES: Mapping[str, Callable[[FreeRunInputs], FloatArray]] = {
    # a free run has no future frame: every lag uses the newest pair of poses
    "rotations": lambda inputs: np.stack((inputs.before, inputs.current)),
    "frozen": lambda inputs: inputs.seed[None],
}
"""The raw states from which a free-run frame computes its AngVel input; every other source reads the current state."""
