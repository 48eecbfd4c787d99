"""RP525-RP529: the trajectory and the action that a raw clip declares."""

from collections.abc import Iterator

import numpy as np

from rigpact.contract.findings import Finding, Rule
from rigpact.contract.json_pointer import json_pointer
from rigpact.contract.rules.family import Family, Need, on_clips, rules_in
from rigpact.contract.rules.views.bundle import member
from rigpact.contract.rules.views.clip import ClipView
from rigpact.contract.rules.wording import and_more, first_of
from rigpact.contract.statistics import FloatArray

TRAJECTORY_NOT_UNIT = Rule.titled(
    "RP525 warning trajectory-not-unit",
    message="frame {frame}: TrajectoryDir[{entry}] is {length:.4g} long; a direction is 1 long, or 0 at rest{more}",
    hint="normalise each entry; offsets in metres belong elsewhere",
    why="training and the engine normalise it at different places: the condition's direction has two lengths",
)
TRAJECTORY_AGAINST_VELOCITY = Rule.titled(
    "RP526 warning trajectory-against-velocity",
    message="the middle TrajectoryDir points {angle_deg:.1f}° away from RootVelocityXY (turned by minus RootYaw into the facing"
    " frame; median over {frames} moving frames)",
    hint="write both from the same motion: the trajectory in the character's facing frame, the velocity in the root's",
    why="training builds the condition's direction from the velocity, the engine from the trajectory: the network is steered"
    " into another direction than it learned",
)
ACTION_NOT_ONE_HOT = Rule.titled(
    "RP527 error action-bits-not-one-hot",
    message="frame {frame}: ActionBits = {bits}: one bit is 1 and the others are 0{more}",
    hint="idle, walk, run, jump; blends of two actions are not part of the contract",
    why="the engine clamps the bits into 0 to 1 and training does not: the network sees an action that never was",
)
ACTION_CONTRADICTS = Rule.titled(
    "RP528 warning action-bits-contradict-clip",
    message="ClipAction is {action!r}, but ActionBits of frame {frame} say {said}{more}",
    hint="export the bits of the clip's own action",
    why="training takes one of them and the engine the other: the network is told to walk and shown a run",
)
TRAJECTORY_SAMPLES_DIFFER = Rule.titled(
    "RP529 error trajectory-samples-differ",
    message="frame {frame}: TrajectoryDir has {found} entries, {source} {expected}{more}",
    hint="export the same window in every frame, an odd number of entries with the present in the middle",
    why="the engine takes the middle entry as the present: with one entry more it is the future or the past",
)

ACTIONS = ("idle", "walk", "run", "jump")
"""What the four bits stand for, in order."""
_LENGTH_TOLERANCE = 1e-2
"""Two decimals are enough for a direction that is normalised again."""
_NEXT_DIRECTION_DEG = 45.0
"""Half of the way from forward to sideways. Beyond it the condition declares another direction, not a rough one."""
_MOVING_M_S = 0.1
"""Below this speed the root only sways, and its direction means nothing."""


def check_clip_condition(clip: ClipView) -> Iterator[Finding]:
    """Yield what is wrong with the trajectory and the action of a raw clip."""
    yield from _check_samples(clip)
    directions = clip.shaped("TrajectoryDir", -1, 2)
    if directions is not None and directions.shape[1]:
        lengths = np.linalg.norm(directions, axis=-1)
        for (frame, entry), more in first_of(
            np.minimum(np.abs(lengths - 1), lengths) > _LENGTH_TOLERANCE, "in this clip"
        ):
            values = {"frame": frame, "entry": entry, "length": float(lengths[frame, entry])}
            yield TRAJECTORY_NOT_UNIT.at(clip.path, ("Frames", frame, "TrajectoryDir", entry), more=more, **values)
        yield from _check_direction(clip, directions[:, directions.shape[1] // 2])
    bits = clip.shaped("ActionBits", 4)
    if bits is not None:
        yield from _check_bits(clip, bits)


FAMILY = Family(__name__, rules_in(globals()), (Need.CLIP,), on_clips(check_clip_condition))


def _check_samples(clip: ClipView) -> Iterator[Finding]:
    counts = [len(frame["TrajectoryDir"]) for frame in clip.frames if isinstance(frame.get("TrajectoryDir"), list)]
    if len(counts) != len(clip.frames) or not counts:
        return
    times = member(clip.document.data, "meta", "trajectory", "seconds")
    expected, source = (
        (len(times), "meta.trajectory.seconds") if isinstance(times, list) else (counts[0], "frame 0 has")
    )
    wrong = [frame for frame, count in enumerate(counts) if count != expected]
    if wrong:
        values = {"frame": wrong[0], "found": counts[wrong[0]], "source": source, "expected": expected}
        more = and_more(len(wrong) - 1, "frames")
        yield TRAJECTORY_SAMPLES_DIFFER.at(clip.path, ("Frames", wrong[0], "TrajectoryDir"), more=more, **values)


def facing_velocity(clip: ClipView) -> FloatArray | None:
    """RootVelocityXY in the frame of the character's facing, (T, 2): turned by minus RootYaw."""
    velocity, yaw = clip.shaped("RootVelocityXY", 2), clip.shaped("RootYaw")
    if velocity is None or yaw is None:
        return None
    cos, sin = np.cos(yaw), np.sin(yaw)
    ahead, aside = cos * velocity[:, 0] + sin * velocity[:, 1], cos * velocity[:, 1] - sin * velocity[:, 0]
    return np.stack([ahead, aside], axis=-1)


def angle_between_deg(a: FloatArray, b: FloatArray) -> FloatArray:
    """Angles in the plane between vectors (..., 2), 0 to 180 degrees."""
    cross = a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    angles: FloatArray = np.degrees(np.abs(np.arctan2(cross, np.sum(a * b, axis=-1))))
    return angles


def _check_direction(clip: ClipView, middle: FloatArray) -> Iterator[Finding]:
    velocity = facing_velocity(clip)
    if velocity is None or len(velocity) != len(middle):
        return
    moving = (np.linalg.norm(velocity, axis=-1) > _MOVING_M_S) & (np.linalg.norm(middle, axis=-1) > _LENGTH_TOLERANCE)
    if not moving.any():
        return
    angle = float(np.median(angle_between_deg(middle[moving], velocity[moving])))
    if angle > _NEXT_DIRECTION_DEG:
        frame = int(np.flatnonzero(moving)[0])
        pointer = json_pointer("Frames", frame, "TrajectoryDir")
        yield TRAJECTORY_AGAINST_VELOCITY.at(clip.path, pointer, angle_deg=angle, frames=int(moving.sum()))


def is_one_hot(bits: FloatArray) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Whether each row holds one 1 and zeros otherwise."""
    result: np.ndarray[tuple[int, ...], np.dtype[np.bool_]] = ((bits == 0) | (bits == 1)).all(axis=-1) & (
        bits.sum(axis=-1) == 1
    )
    return result


def _check_bits(clip: ClipView, bits: FloatArray) -> Iterator[Finding]:
    for (frame,), more in first_of(~is_one_hot(bits), "frames"):
        shown = [float(f"{bit:.4g}") for bit in bits[frame]]
        yield ACTION_NOT_ONE_HOT.at(clip.path, ("Frames", frame, "ActionBits"), frame=frame, bits=shown, more=more)
        return
    action = member(clip.document.data, "ClipAction")
    word = action.rpartition(":")[2].lower() if isinstance(action, str) else ""
    if word not in ACTIONS:
        return
    said = bits.argmax(axis=-1)
    for (frame,), more in first_of(said != ACTIONS.index(word), "frames"):
        pointer = json_pointer("Frames", frame, "ActionBits")
        yield ACTION_CONTRADICTS.at(
            clip.path, pointer, action=action, frame=frame, said=ACTIONS[said[frame]], more=more
        )
