"""Stage-local replay: each stage recomputed from the engine's *own* recorded inputs to it.

A stage that differs from its replay is where the defect is; stages that only inherit an error replay clean. Works with any
subset of stages: what was not recorded in between is computed on the way, and what cannot be computed is said to be so.
To teach it a stage: a row in `COMPUTE`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.bundle import Contract
from rigpact.contract.conventions import INPUTS, STAGES
from rigpact.contract.errors import UnusableInput
from rigpact.contract.layout import ROTATIONS
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.network import Network, aligned
from rigpact.reference_runtime.operations.angular_velocity import AngularVelocityInput, Motion
from rigpact.reference_runtime.operations.condition import ConditionWindow
from rigpact.reference_runtime.operations.normalisation import StateNormaliser
from rigpact.reference_runtime.operations.pose_history import PoseHistory
from rigpact.reference_runtime.operations.writeback import WriteBack
from rigpact.reference_runtime.recordings.clip import Clip, RawClip
from rigpact.reference_runtime.systems.enemy_animation.drive import ClipRows, clip_rows
from rigpact.reference_runtime.systems.enemy_animation.output import OutputStages

if TYPE_CHECKING:
    from rigpact.reports.diagnosing.shared_stages import SharedStages

PARENTS: Mapping[str, tuple[str, ...]] = {
    "x_raw": (),
    "state": ("x_raw",),
    "cond_raw": (),
    "cond": ("cond_raw",),
    "contacts": (),
    "angvel": ("x_raw", "state"),
    "pose_hist_raw": ("x_raw",),
    "pose_hist": ("pose_hist_raw",),
    "y_norm": INPUTS,
    "y_raw": ("y_norm",),
    "delta6d": ("y_raw",),
    "next6d": ("delta6d", "x_raw"),
    "y_out": ("next6d",),
    "quat": ("y_out",),
    "x_raw_next": ("x_raw", "y_out"),
}
"""The stages that each stage is computed from. An absolute pose and the output's other slices also look at y_raw."""
MISSING_SOURCE: Mapping[str, str] = {
    "x_raw": "--clip with the raw clip that drove the run",
    "cond_raw": "--clip with the raw clip that drove the run",
    "contacts": "--clip with the raw clip that drove the run",
    "y_norm": "--onnx with the model, and record its five inputs",
}
"""What gives a stage that no other recorded stage gives."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """What a replay can look at: recorded stages (T, width) at `frame` (T,), and where their inputs come from.

    frame numbers count from the start of the run; `mode` is `teacher` or `free`. `resolution` is half the last digit of
    numbers that were printed, 0 for recordings that kept every bit.
    """

    frame: NDArray[np.int64]
    fps: float
    mode: str
    recorded: Mapping[str, FloatArray]
    clip: Clip | None = None
    network: Network | None = None
    resolution: float = 0.0

    @property
    def end(self) -> int:
        """Number of frames from the start of the run to the last recorded one."""
        return int(self.frame[-1]) + 1


class Replay:
    """Every stage recomputed under one contract; values are (T, width) arrays, rows that nothing is known of are NaN."""

    def __init__(
        self, evidence: Evidence, contract: Contract, *, chained: bool = False, shared: SharedStages | None = None
    ) -> None:
        """`chained` computes from computed stages instead of recorded ones: the run as it should have been."""
        self.evidence, self.contract, self._chained, self._shared = evidence, contract, chained, shared
        self._computed: dict[str, FloatArray | None] = {}

    def computed(self, stage: str) -> FloatArray | None:
        """The stage recomputed from the stages before it; None when something that it needs is missing."""
        if stage not in self._computed:
            compute = partial(self._compute, stage)
            shared = self._shared
            self._computed[stage] = (
                shared.stage(stage, self.contract.conventions, compute) if shared is not None else compute()
            )
        return self._computed[stage]

    def _compute(self, stage: str) -> FloatArray | None:
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            return COMPUTE[stage](self)

    def given(self, stage: str) -> FloatArray | None:
        """What a later stage starts from: the recorded values, else the computed ones."""
        recorded = self.evidence.recorded.get(stage)
        if recorded is not None and not (self._chained and self.computed(stage) is not None):
            return recorded
        return self.computed(stage)

    @cached_property
    def outputs(self) -> OutputStages:
        """The stages after the network."""
        return OutputStages(self.contract)

    @cached_property
    def clip_rows(self) -> ClipRows | None:
        """The clip laid out under the contract; None without one."""
        return clip_rows(self.evidence.clip, self.contract) if self.evidence.clip is not None else None

    @cached_property
    def timeline(self) -> FloatArray | None:
        """Raw states of frames 0 … end, (end + 1 or more, Dx): recorded where they were, else the teacher clip's, else NaN.

        It goes on to the end of the clip: what looks ahead from the last recorded frame looks there.
        """
        evidence, rows = self.evidence, self.clip_rows
        recorded, following = self.given("x_raw"), evidence.recorded.get("x_raw_next")
        if recorded is None:
            return None
        clip = rows.x_raw if evidence.mode == "teacher" and rows is not None else recorded[:0]
        timeline = np.full((max(evidence.end + 1, len(clip)), recorded.shape[1]), np.nan, np.float32)
        timeline[: len(clip)] = clip
        if following is not None:
            timeline[evidence.frame + 1] = following
        timeline[evidence.frame] = recorded
        return timeline

    @cached_property
    def poses(self) -> FloatArray | None:
        """Rotations of frames 0 … end, (end + 1, 6·B): of the timeline, else of the recorded state's z-scores."""
        place = self.contract.state[ROTATIONS].range
        if self.timeline is not None:
            return self.timeline[:, place]
        state = self.evidence.recorded.get("state")
        if state is None or self.evidence.mode != "teacher":
            return None
        poses = np.full((self.evidence.end + 1, place.stop - place.start), np.nan, np.float32)
        poses[self.evidence.frame] = StateNormaliser(self.contract).denormalise(state)[:, place]
        return poses

    def clip_at_frames(self, rows: FloatArray | None) -> FloatArray | None:
        """Rows of the clip at the recorded frames; a free run loops over the clip."""
        if rows is None or self.clip_rows is None:
            return None
        frames = self.evidence.frame
        if self.evidence.mode == "free":
            frames = frames % self.clip_rows.steps
        at_frames = np.full((len(frames), rows.shape[1]), np.nan, np.float32)
        inside = frames < len(rows)
        at_frames[inside] = rows[frames[inside]]
        return at_frames

    @cached_property
    def published6d(self) -> FloatArray:
        """The pose published one frame before each recorded frame, (T, 6·B); no rotation where it is not known."""
        frame, published = self.evidence.frame, self.evidence.recorded.get("y_out")
        before = np.tile(self.outputs.identity_pose(), (len(frame), 1))
        if published is not None:
            consecutive = np.flatnonzero(np.diff(frame) == 1)
            before[consecutive + 1] = published[consecutive][:, self.outputs.rotations]
        return before

    @cached_property
    def previous6d(self) -> FloatArray | None:
        """The pose that ΔR is applied to at each recorded frame, (T, 6·B)."""
        lag, rows = int(self.contract.conventions.previous_pose_lag), self.clip_rows
        if self.poses is None:
            return None
        if lag > 0 and self.evidence.mode == "free":
            return None if rows is None else rows.poses[self.evidence.frame % (len(rows.poses) - 1) + 1]
        return self.poses[np.maximum(self.evidence.frame + lag, 0)]


def _x_raw(replay: Replay) -> FloatArray | None:
    """From the teacher clip; in free-run, what the frame before wrote back."""
    evidence, rows = replay.evidence, replay.clip_rows
    if evidence.mode == "teacher":
        return replay.clip_at_frames(None if rows is None else rows.x_raw)
    written = evidence.recorded.get("x_raw_next")
    if written is None:
        return None
    before = np.full_like(written, np.nan)
    consecutive = np.flatnonzero(np.diff(evidence.frame) == 1)
    before[consecutive + 1] = written[consecutive]
    if rows is not None and evidence.frame[0] == 0:
        before[0] = rows.x_raw[0]
    return before


def _state(replay: Replay) -> FloatArray | None:
    x_raw = replay.given("x_raw")
    return None if x_raw is None else StateNormaliser(replay.contract).normalise(x_raw)


def _cond_raw(replay: Replay) -> FloatArray | None:
    return replay.clip_at_frames(None if replay.clip_rows is None else replay.clip_rows.cond_raw)


def _cond(replay: Replay) -> FloatArray | None:
    """The window starts with the run: a recording that starts later cannot tell what a z-score looked back on."""
    cond_raw, frame = replay.given("cond_raw"), replay.evidence.frame
    if cond_raw is None:
        return None
    window = ConditionWindow(replay.contract)
    rows = np.stack([window.push(row) for row in cond_raw])
    if replay.contract.conventions.condition_norm != "raw" and not _is_whole(frame):
        return np.full_like(rows, np.nan)
    return rows


def _is_whole(frame: NDArray[np.int64]) -> bool:
    return bool(frame[0] == 0 and np.all(np.diff(frame) == 1))


def _contacts(replay: Replay) -> FloatArray | None:
    return replay.clip_at_frames(None if replay.clip_rows is None else replay.clip_rows.contacts)


def _angvel(replay: Replay) -> FloatArray | None:
    evidence, timeline = replay.evidence, replay.timeline
    if timeline is None:
        return None
    contract = replay.contract
    source = contract.conventions.angvel_source
    if evidence.mode == "free":  # there is no future: the newest pair of poses, or the current state
        contract = contract.with_conventions({"angvel_lag": "-1" if source == "rotations" else "0"})
    try:
        angvel = AngularVelocityInput(contract)
    except UnusableInput:
        return None
    known = timeline if np.isfinite(timeline[-1]).all() else timeline[:-1]
    normalised = StateNormaliser(contract).normalise(known)
    recorded = evidence.recorded.get("state")
    if recorded is not None:
        normalised[evidence.frame] = recorded
    rows = angvel.rows(Motion(known, normalised, evidence.fps, evidence.end))[evidence.frame]
    if evidence.mode == "free" and source == "rotations":
        rows[evidence.frame == 0] = np.nan  # no pair yet
    elif evidence.clip is None:  # where the run ended, and what stood for the frames after it, is not known
        ahead = int(contract.conventions.angvel_lag) + (source == "rotations")
        rows[evidence.frame + ahead >= len(known)] = np.nan
    return rows


def _pose_hist_raw(replay: Replay) -> FloatArray | None:
    poses, evidence = replay.poses, replay.evidence
    if poses is None or replay.contract.pose_history_length is None:
        return None
    history = PoseHistory(replay.contract)
    padding = history.padding(poses)
    if evidence.mode == "free" and replay.contract.conventions.pose_history_start == "first_target":
        if replay.clip_rows is None:
            return None
        padding = history.padding(replay.clip_rows.poses)
    return history.raw_rows(poses, evidence.end, padding)[evidence.frame]


def _pose_hist(replay: Replay) -> FloatArray | None:
    raw = replay.given("pose_hist_raw")
    return None if raw is None else PoseHistory(replay.contract).normalise(raw)


def _y_norm(replay: Replay) -> FloatArray | None:
    network = replay.evidence.network
    vectors = [replay.given(name) for name in replay.contract.conventions.input_order]
    known = [vector for vector in vectors if vector is not None]
    if network is None or len(known) < len(vectors):
        return None
    return network.run(aligned(known, network.bound_widths), 0)


def _y_raw(replay: Replay) -> FloatArray | None:
    y_norm = replay.given("y_norm")
    return None if y_norm is None else replay.outputs.y_raw(y_norm)


def _delta6d(replay: Replay) -> FloatArray | None:
    y_raw = replay.given("y_raw")
    return None if y_raw is None else replay.outputs.delta6d(y_raw, replay.published6d)


def _next6d(replay: Replay) -> FloatArray | None:
    previous, outputs = replay.previous6d, replay.outputs
    if replay.contract.conventions.output_mode == "absolute":
        y_raw = replay.given("y_raw")
        return None if y_raw is None else y_raw[:, outputs.rotations]
    delta = replay.given("delta6d")
    return None if delta is None or previous is None else outputs.compose(delta, previous)


def _y_out(replay: Replay) -> FloatArray | None:
    next6d, y_raw = replay.given("next6d"), replay.given("y_raw")
    if next6d is None:
        return None
    if y_raw is None:
        if replay.contract.output.width != next6d.shape[1]:
            return None
        y_raw = next6d  # every output channel is a rotation and is replaced
    return replay.outputs.y_out(y_raw, next6d, replay.published6d)


def _quat(replay: Replay) -> FloatArray | None:
    y_out = replay.given("y_out")
    return None if y_out is None else replay.outputs.quat(y_out)


def _x_raw_next(replay: Replay) -> FloatArray | None:
    evidence = replay.evidence
    x_raw, y_out = replay.given("x_raw"), replay.given("y_out")
    if evidence.mode == "free":
        return None if x_raw is None or y_out is None else WriteBack(replay.contract, evidence.fps)(x_raw, y_out)
    frames = evidence.frame + 1
    rows = replay.clip_rows
    following = np.full((len(frames), replay.contract.state.width), np.nan, np.float32)
    if isinstance(evidence.clip, RawClip) and rows is not None:
        inside = frames < len(rows.x_raw)
        following[inside] = rows.x_raw[frames[inside]]
    elif x_raw is not None:
        consecutive = np.flatnonzero(np.diff(evidence.frame) == 1)
        following[consecutive] = x_raw[consecutive + 1]
    return following if np.isfinite(following).any() else None


COMPUTE: Mapping[str, Callable[[Replay], FloatArray | None]] = {
    "x_raw": _x_raw,
    "state": _state,
    "cond_raw": _cond_raw,
    "cond": _cond,
    "contacts": _contacts,
    "angvel": _angvel,
    "pose_hist_raw": _pose_hist_raw,
    "pose_hist": _pose_hist,
    "y_norm": _y_norm,
    "y_raw": _y_raw,
    "delta6d": _delta6d,
    "next6d": _next6d,
    "y_out": _y_out,
    "quat": _quat,
    "x_raw_next": _x_raw_next,
}


def path_of(stage: str, recorded: Mapping[str, FloatArray]) -> frozenset[str]:
    """The stage and those that are computed on the way to it because they were not recorded."""
    unrecorded = [parent for parent in PARENTS[stage] if parent not in recorded]
    return frozenset((stage,)).union(*(path_of(parent, recorded) for parent in unrecorded))


def needed_for(stage: str, recorded: Mapping[str, FloatArray]) -> str:
    """What to record or to give so that a stage can be judged."""
    roots = sorted(path_of(stage, recorded), key=STAGES.index)
    wanted = [
        MISSING_SOURCE[root] for root in roots if root in MISSING_SOURCE and not (root != stage and root in recorded)
    ]
    parents = [parent for parent in PARENTS[stage] if parent not in recorded]
    record = f"record {', '.join(parents)}" if parents else ""
    return " or ".join(word for word in (record, *dict.fromkeys(wanted)) if word) or "more frames"


def at_rows(evidence: Evidence, rows: Sequence[int]) -> Evidence:
    """The evidence of some recorded frames only."""
    chosen = list(rows)
    recorded = {name: values[chosen] for name, values in evidence.recorded.items()}
    return replace(evidence, frame=evidence.frame[chosen], recorded=recorded)
