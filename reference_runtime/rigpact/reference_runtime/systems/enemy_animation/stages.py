"""The stages of the enemy animation, in the order of the engine's loop.

Each stage is computed from the stages before it by the engine's operation. A stage that reads other frames requests
them (`Frames.at`, `timeline`). So one declaration serves a batch run of a clip and the replay of a recording.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from rigpact.contract.bundle import INPUTS, Contract
from rigpact.contract.layout import ROTATIONS
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.stage import Z_SCORE, Measure, NotKnown, Stage
from rigpact.reference_runtime.graph.replayed import ReplayedFrames
from rigpact.reference_runtime.network import aligned
from rigpact.reference_runtime.operations.angular_velocity import AngularVelocityInput, Motion
from rigpact.reference_runtime.operations.condition import WINDOW, ConditionWindow
from rigpact.reference_runtime.operations.geometry import quaternion_angle_rad, rotation_angle_rad
from rigpact.reference_runtime.operations.normalisation import StateNormaliser
from rigpact.reference_runtime.operations.pose_history import PoseHistory, free_history
from rigpact.reference_runtime.operations.rot6d import Rot6d
from rigpact.reference_runtime.operations.rotation_bounds import ROTATION_RANGE
from rigpact.reference_runtime.operations.writeback import WriteBack
from rigpact.reference_runtime.systems.enemy_animation import input_tolerances, knobs, layouts, tolerances
from rigpact.reference_runtime.systems.enemy_animation.output import OutputStages, published_before

_CLIP = "--clip with the raw clip that drove the run"


def x_raw(frames: ReplayedFrames) -> FloatArray:
    """From the teacher clip; in a free run, the state written back by the previous frame."""
    if frames.mode == "teacher":
        return frames.driven("x_raw")
    before = frames.recorded_at("x_raw_next", -1)
    if frames.has_drive and frames.frame[0] == 0:
        before[0] = frames.drive.x_raw[0]
    return before


def state(frames: ReplayedFrames) -> FloatArray:
    """Features of the raw state, z-scored."""
    rows: FloatArray = frames.built(StateNormaliser).normalise(frames["x_raw"])
    return rows


def condition(frames: ReplayedFrames) -> FloatArray:
    """The window starts with the run, so a recording that starts later has an unknown window."""
    cond_raw = frames["cond_raw"]
    window = ConditionWindow(frames.contract)
    rows = np.stack([window.push(row) for row in cond_raw])
    if frames.contract.conventions.condition_norm != "raw" and not frames.is_whole:
        return np.full_like(rows, np.nan)
    return rows


def angvel(frames: ReplayedFrames) -> FloatArray:
    """The AngVel input, from the raw states of neighbouring frames."""
    timeline, contract = frames.timeline("x_raw"), frames.contract
    source, is_free = contract.conventions.angvel_source, frames.mode == "free"
    if is_free:  # a free run has no future frame: use the newest pair of poses, or the current state
        contract = contract.with_conventions({"angvel_lag": "-1" if source == "rotations" else "0"})
    operation = AngularVelocityInput(contract)
    known = timeline if np.isfinite(timeline[-1]).all() else timeline[:-1]
    normalised = frames.built(StateNormaliser).normalise(known)
    recorded = frames.recorded.get("state")
    if recorded is not None:
        normalised[frames.frame] = recorded
    rows: FloatArray = operation.rows(Motion(known, normalised, frames.fps, frames.end))[frames.frame]
    if is_free and source == "rotations":
        rows[frames.frame == 0] = np.nan  # no pair yet
    elif not is_free and not frames.has_drive:  # the end of the run, and the values after it, are not known
        ahead = int(contract.conventions.angvel_lag) + (source == "rotations")
        rows[frames.frame + ahead >= len(known)] = np.nan
    return rows


def poses(frames: ReplayedFrames) -> FloatArray:
    """Rotations of frames 0 … end, (end + 1, 6·B): from the raw states, else from the recorded state's z-scores."""
    place = frames.contract.state[ROTATIONS].range
    try:
        return frames.timeline("x_raw")[:, place]
    except NotKnown:
        recorded = frames.recorded.get("state")
        if recorded is None or frames.mode != "teacher":
            raise
    rows = np.full((frames.end + 1, place.stop - place.start), np.nan, np.float32)
    rows[frames.frame] = frames.built(StateNormaliser).denormalise(recorded)[:, place]
    return rows


def pose_history_raw(frames: ReplayedFrames) -> FloatArray:
    """H past poses, encoded."""
    contract = frames.contract
    if contract.pose_history_length is None:
        raise NotKnown("pose_hist_len")
    history, known = frames.built(free_history if frames.mode == "free" else PoseHistory), poses(frames)
    padding = history.padding(known)
    if frames.mode == "free" and contract.conventions.pose_history_start == "first_target":
        padding = history.padding(frames.drive.poses)
    rows: FloatArray = history.raw_rows(known, frames.end, padding)[frames.frame]
    return rows


def pose_history(frames: ReplayedFrames) -> FloatArray:
    """The history, squashed and z-scored."""
    rows: FloatArray = frames.built(PoseHistory).normalise(frames["pose_hist_raw"])
    return rows


def network_answer(frames: ReplayedFrames) -> FloatArray:
    """The network's answer to the five inputs, in the order in which they are bound."""
    vectors = [frames[name] for name in frames.contract.conventions.input_order]
    network = frames.network
    rows: FloatArray = network.run(aligned(vectors, network.bound_widths), 0)
    return rows


def y_raw(frames: ReplayedFrames) -> FloatArray:
    """The answer, denormalised."""
    rows: FloatArray = frames.built(OutputStages).y_raw(frames["y_norm"])
    return rows


def delta6d(frames: ReplayedFrames) -> FloatArray:
    """ΔR of each bone, reprojected."""
    outputs = frames.built(OutputStages)
    rows = outputs.delta6d(frames["y_raw"], published_before(frames, outputs.codec))
    if rows is None:
        raise NotKnown("delta6d")  # the answer is the pose itself
    return np.asarray(rows)


def previous_pose(frames: ReplayedFrames) -> FloatArray:
    """The pose that ΔR is applied to, (N, 6·B)."""
    lag = int(frames.contract.conventions.previous_pose_lag)
    known = poses(frames)
    if lag > 0 and frames.mode == "free":
        targets: FloatArray = frames.drive.poses
        return targets[frames.frame % (len(targets) - 1) + 1]
    return known[np.maximum(frames.frame + lag, 0)]


def next6d(frames: ReplayedFrames) -> FloatArray:
    """R_next = ΔR · R_prev, encoded."""
    outputs = frames.built(OutputStages)
    if frames.contract.conventions.output_mode == "absolute":
        return np.asarray(frames["y_raw"][:, outputs.rotations])
    return np.asarray(outputs.compose(frames["delta6d"], previous_pose(frames)))


def y_out(frames: ReplayedFrames) -> FloatArray:
    """The published output: reprojected, in the engine's bone order and handedness."""
    pose, raw, outputs = frames["next6d"], frames.get("y_raw"), frames.built(OutputStages)
    if raw is None:
        if frames.contract.output.width != pose.shape[1]:
            raise NotKnown("y_raw")
        raw = pose  # every output channel is a rotation and is replaced
    return np.asarray(outputs.y_out(raw, pose, published_before(frames, outputs.codec)))


def quaternions(frames: ReplayedFrames) -> FloatArray:
    """Local rotations as unit quaternions."""
    return np.asarray(frames.built(OutputStages).quat(frames["y_out"]))


def x_raw_next(frames: ReplayedFrames) -> FloatArray:
    """The next raw state: written back in a free run, the clip's next frame in a teacher-driven run."""
    if frames.mode == "free":
        write = WriteBack(frames.contract, frames.fps)
        return write(frames["x_raw"], frames["y_out"])
    following = np.full((len(frames.frame), frames.contract.state.width), np.nan, np.float32)
    consecutive = np.flatnonzero(np.diff(frames.frame) == 1)  # what follows the last frame is not known to an engine
    following[consecutive] = (frames.driven if frames.has_drive else frames.__getitem__)("x_raw")[consecutive + 1]
    if not np.isfinite(following).any():
        raise NotKnown("x_raw_next")
    return following


def _whole_pose(contract: Contract) -> slice:
    return slice(0, 6 * contract.bone_count)


def _published(contract: Contract) -> slice:
    return contract.output[ROTATIONS].range


def _angles_deg(
    place: Callable[[Contract], slice], contract: Contract, recorded: FloatArray, computed: FloatArray
) -> FloatArray:
    """Angle between the rotations of each bone, (T, B) degrees."""
    codec = Rot6d(contract.conventions)
    a, b = (codec.decode(rows[:, place(contract)].astype(np.float64)) for rows in (recorded, computed))
    return np.degrees(rotation_angle_rad(a, b))


def _quaternion_angles_deg(_contract: Contract, recorded: FloatArray, computed: FloatArray) -> FloatArray:
    """Angle between the quaternions of each bone, (T, B) degrees."""
    return np.degrees(quaternion_angle_rad(recorded.astype(np.float64), computed.astype(np.float64)))


_POSE = Measure("deg", partial(_angles_deg, _whole_pose), range=ROTATION_RANGE)
_PUBLISHED = Measure(
    "deg", partial(_angles_deg, _published), range=ROTATION_RANGE,
    parts=lambda contract: (_published(contract), 6),
)  # fmt: skip
_QUATERNIONS = Measure(
    "deg", _quaternion_angles_deg, has_signless_quaternions=True, range=0.5 * ROTATION_RANGE,
    parts=lambda _contract: (slice(None), 4),
)  # fmt: skip
_AXES = (*knobs.CODEC, knobs.DEGENERATE_AXIS)


def _window(contract: Contract) -> tuple[int, int]:
    return (0 if contract.conventions.condition_norm == "raw" else WINDOW, 0)


def _history(contract: Contract) -> tuple[int, int]:
    return (contract.pose_history_length or 0) + 1, 1


def _stage(name: str, layout: Any, compute: Any, bound: Any, **said: Any) -> Stage:
    return Stage(name, layout, compute=compute, bound=bound, is_propagated=True, **said)


STAGES = (
    _stage("x_raw", layouts.raw_state, x_raw, input_tolerances.raw_state, reach=(1, 0), carried="x_raw_next", source=_CLIP),
    _stage(
        "state", layouts.state, state, input_tolerances.state, needs=("x_raw",), measure=Z_SCORE,
        knobs=(knobs.ROOTVEL_SQUASH, knobs.ANGVEL_SQUASH, knobs.YAW_ENCODING),
    ),
    _stage(
        "cond_raw", layouts.condition, lambda frames: frames.driven("cond_raw"), input_tolerances.raw_condition, source=_CLIP,
        knobs=(knobs.CONDITION_DIRECTION, knobs.CONDITION_SPEED_UNIT),
    ),
    _stage(
        "cond", layouts.condition, condition, input_tolerances.condition, needs=("cond_raw",), measure=Z_SCORE, reach=_window,
        knobs=(knobs.CONDITION_NORM,),
    ),
    _stage(
        "contacts", layouts.contacts, lambda frames: frames.driven("contacts"), input_tolerances.copied, source=_CLIP,
        knobs=(knobs.CONTACTS_SOURCE,),
    ),
    _stage(
        "angvel", layouts.angular_velocities, angvel, input_tolerances.angvel, needs=("x_raw", "state"), measure=Z_SCORE,
        reach=(1, 2),
        knobs=(
            *knobs.CODEC, knobs.ANGVEL_SQUASH, knobs.ANGVEL_SOURCE, knobs.ANGVEL_ANGLE, knobs.ANGVEL_FRAME, knobs.ANGVEL_LAG,
        ),
    ),
    _stage(
        "pose_hist_raw", layouts.pose_history, pose_history_raw, input_tolerances.raw_history, needs=("x_raw",), reach=_history,
        knobs=(*knobs.CODEC, knobs.HISTORY_ORDER, knobs.HISTORY_PHASE, knobs.HISTORY_START),
    ),
    _stage(
        "pose_hist", layouts.pose_history, pose_history, input_tolerances.history, needs=("pose_hist_raw",), measure=Z_SCORE,
        knobs=(knobs.HISTORY_NORM,),
    ),
    _stage(
        "y_norm", layouts.output, network_answer, tolerances.answer, needs=INPUTS, measure=Measure("z"), is_answer=True,
        knobs=(knobs.INPUT_ORDER,), source="--onnx with the model, and record its five inputs",
    ),
    _stage(
        "y_raw", layouts.output, y_raw, tolerances.y_raw, needs=("y_norm",), knobs=(knobs.OUTPUT_MODE, knobs.DENORM)
    ),
    _stage(
        "delta6d", layouts.pose, delta6d, tolerances.delta6d, needs=("y_raw",), measure=_POSE, reach=(1, 0),
        knobs=(knobs.OUTPUT_MODE, *_AXES, knobs.REPROJECT),
    ),
    _stage(
        "next6d", layouts.pose, next6d, tolerances.next6d, needs=("delta6d", "x_raw"), measure=_POSE, may_use=("y_raw",),
        reach=(1, 1),
        knobs=(
            knobs.OUTPUT_MODE, *_AXES, knobs.COMPOSE_ORDER, knobs.DELTA_DIRECTION, knobs.REPROJECT, knobs.PREVIOUS_POSE_LAG,
        ),
    ),
    _stage(
        "y_out", layouts.output, y_out, tolerances.y_out, needs=("next6d",), measure=_PUBLISHED, may_use=("y_raw",), reach=(1, 0),
        knobs=(*_AXES, knobs.REPROJECT, knobs.BONE_ORDER, knobs.MIRROR_AXIS),
    ),
    _stage(
        "quat", layouts.quaternions, quaternions, tolerances.quat, needs=("y_out",), measure=_QUATERNIONS,
        knobs=(*_AXES, knobs.BONE_ORDER, knobs.MIRROR_AXIS, knobs.QUATERNION_ORDER),
    ),
    _stage(
        "x_raw_next", layouts.raw_state, x_raw_next, tolerances.written_back, needs=("x_raw", "y_out"), reach=(0, 1),
        driven_ahead=1,
        knobs=(*knobs.CODEC, knobs.BONE_ORDER, knobs.MIRROR_AXIS, knobs.WRITEBACK),
    ),
)  # fmt: skip
STAGE_NAMES = tuple(stage.name for stage in STAGES)
"""Every stage, in loop order."""
