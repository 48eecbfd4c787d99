"""RP500-RP509, RP525-RP529: raw clips, as the engine exports them: counts, rates, the declared trajectory and action."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.findings import Finding, Rule
from rigpact.contract.json_pointer import json_pointer
from rigpact.contract.rules.family import Need, family
from rigpact.contract.rules.views.bundle import BundleView, json_to_rate, member, need, to_float32
from rigpact.contract.rules.views.motion import BONE_CHANNELS, FPS_KEYS, ClipView, same_rate
from rigpact.contract.rules.wording import at_first, first_in, first_of, number_text, short
from rigpact.contract.statistics import FloatArray

FRAME_COUNT_DIFFERS = Rule.of("""RP500 error frame-count-differs
    NumFrames is {declared}, Frames holds {found}
    hint: the export was interrupted or edited; export again
    why: one side loops at the declared length, the other at the real one: the clip jumps, or plays zeros""")
CLIP_TOO_SHORT = Rule.of("""RP501 error clip-too-short
    the clip has {found} frames; one step of the network needs 2
    hint: export the whole animation
    why: there is no pair of frames to train on, and nothing to play""")
CLIP_BONE_COUNT_DIFFERS = Rule.of("""RP502 error clip-bone-count-differs
    frame {frame}: {key} has {found} bones, {source} {expected}{more}
    hint: export the clip with the character that the bundle describes
    why: bones are matched by index; the engine fills missing rows with zeros, which collapses the limb""")
CLIP_VALUE_NOT_FINITE = Rule.of("""RP503 error clip-value-not-finite
    frame {frame}: {key} has a value that is not finite in float32{bone}{more}
    hint: find the frame in the animation tool; a zero-scaled bone or a division by a zero time step
    why: one such frame spoils the statistics of the whole data set, or blows up playback""")
CLIP_FPS_DIFFERS = Rule.of("""RP505 error clip-fps-differs
    the clip has {found:g} frames a second, the bundle {expected:g}{origin}
    hint: resample the clip, or write the right fps at the root of the bundle
    why: the engine steps the network at the bundle's rate: the clip plays at the wrong speed, its velocities disagree
    about: a clip of {found:g} frames a second""")
CLIP_FPS_ABSENT = Rule.of("""RP506 error clip-fps-absent
    the clip has neither fps nor FPS at its root
    hint: write the rate at which the clip was sampled
    why: velocities cannot be computed from positions, and playback guesses the speed""")
CLIP_FPS_NOT_POSITIVE = Rule.of("""RP507 error clip-fps-not-positive
    {key} = {fps}: a frame rate must be > 0 and finite
    hint: write the rate at which the clip was sampled
    why: the length of a frame is 1 / fps""")
CLIP_FPS_CONFLICTS = Rule.of("""RP508 error clip-fps-conflicts
    fps = {lower} and FPS = {upper} in one clip
    hint: keep one of the two keys
    why: whichever key a reader looks for first decides the speed""")
TRAJECTORY_NOT_UNIT = Rule.of("""RP525 warning trajectory-not-unit
    frame {frame}: TrajectoryDir[{entry}] is {length:.4g} long; a direction is 1 long, or 0 at rest{more}
    hint: normalise each entry; offsets in metres belong elsewhere
    why: training and the engine normalise it at different places: the condition's direction has two lengths""")
TRAJECTORY_AGAINST_VELOCITY = Rule.of("""RP526 warning trajectory-against-velocity
    the middle TrajectoryDir points {angle_deg:.1f}° away from RootVelocityXY (turned by minus RootYaw into the facing frame;
    median over {frames} moving frames)
    hint: write both from the same motion: the trajectory in the character's facing frame, the velocity in the root's
    why: training builds the condition's direction from the velocity, the engine from the trajectory: the network is steered into
    another direction than it learned""")
ACTION_NOT_ONE_HOT = Rule.of("""RP527 error action-bits-not-one-hot
    frame {frame}: ActionBits = {bits}: one bit is 1 and the others are 0{more}
    hint: idle, walk, run, jump; blends of two actions are not part of the contract
    why: the engine clamps the bits into 0 to 1 and training does not: the network sees an action that never was""")
ACTION_CONTRADICTS = Rule.of("""RP528 warning action-bits-contradict-clip
    ClipAction is {action!r}, but ActionBits of frame {frame} say {said}{more}
    hint: export the bits of the clip's own action
    why: training takes one of them and the engine the other: the network is told to walk and shown a run""")
TRAJECTORY_SAMPLES_DIFFER = Rule.of("""RP529 error trajectory-samples-differ
    frame {frame}: TrajectoryDir has {found} entries, {source} {expected}{more}
    hint: export the same window in every frame, an odd number of entries with the present in the middle
    why: the engine takes the middle entry as the present: with one entry more it is the future or the past""")

ACTIONS = ("idle", "walk", "run", "jump")
"""What the four bits stand for, in order."""
_LENGTH_TOLERANCE = 1e-2
"""Two decimals are enough for a direction that is normalised again."""
_NEXT_DIRECTION_DEG = 45.0
"""Half of the way from forward to sideways. Beyond it the condition declares another direction, not a rough one."""
_MOVING_M_S = 0.1
"""Below this speed the root only sways, and its direction means nothing."""


def _check_frame_count(clip: ClipView) -> Iterator[Finding]:
    frames, declared = clip.root.get("Frames"), clip.root.get("NumFrames")
    if not isinstance(frames, list):
        return
    if _is_number(declared) and declared != len(frames):
        yield FRAME_COUNT_DIFFERS.at(clip.path, "/NumFrames", declared=declared, found=len(frames))
    if len(frames) < 2:
        yield CLIP_TOO_SHORT.at(clip.path, "/Frames", found=len(frames))


def _check_bone_counts(clip: ClipView, bundle: BundleView | None) -> Iterator[Finding]:
    first = clip.frames[0].get(BONE_CHANNELS[0]) if clip.frames else None
    expected, source = (len(first) if isinstance(first, list) else None), "frame 0"
    if bundle is not None and bundle.bone_count is not None:
        expected, source = bundle.bone_count, "the bundle"
    elif clip.bone_names:
        expected, source = len(clip.bone_names), "the clip's skeleton"
    for key in BONE_CHANNELS:
        counts = [len(frame[key]) if isinstance(frame.get(key), list) else expected for frame in clip.frames]
        for frame, more in first_in([place for place, count in enumerate(counts) if count != expected], "frames"):
            values = {"frame": frame, "key": key, "found": counts[frame], "source": source, "expected": expected}
            yield CLIP_BONE_COUNT_DIFFERS.at(clip.path, ("Frames", frame, key), more=more, **values)


def _check_numbers(clip: ClipView) -> Iterator[Finding]:
    for key, values in clip.channels.items():
        if values is not None:
            for (frame, *inner), more in first_of(~np.isfinite(to_float32(values)), "in this channel"):
                named = key in BONE_CHANNELS and inner and inner[0] < len(clip.bone_names)
                bone = f" ({clip.bone_names[inner[0]]})" if named else ""
                place = json_pointer("Frames", frame, key, *inner)
                yield CLIP_VALUE_NOT_FINITE.at(clip.path, place, frame=frame, key=key, bone=bone, more=more)


def _check_rates(clip: ClipView) -> Iterator[Finding]:
    declared = {key: clip.root[key] for key in FPS_KEYS if _is_number(clip.root.get(key))}
    if not any(key in clip.root for key in FPS_KEYS):
        yield CLIP_FPS_ABSENT.at(clip.path)
    for key, value in declared.items():
        if json_to_rate(value) is None:
            yield CLIP_FPS_NOT_POSITIVE.at(clip.path, (key,), key=key, fps=number_text(value))
    if len(declared) == len(FPS_KEYS) and declared["fps"] != declared["FPS"]:
        lower, upper = number_text(declared["fps"]), number_text(declared["FPS"])
        yield CLIP_FPS_CONFLICTS.at(clip.path, "/FPS", lower=lower, upper=upper)


def _check_rate_of_bundle(clip: ClipView, bundle: BundleView) -> Iterator[Finding]:
    if not same_rate(clip.fps, bundle.fps):
        key = next(key for key in FPS_KEYS if _is_number(clip.root.get(key)))
        origin = "" if "fps" in bundle.root else " (the engine's default: the bundle has no root fps)"
        yield CLIP_FPS_DIFFERS.at(clip.path, (key,), found=clip.fps, expected=bundle.fps, origin=origin)


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


def _check_samples(clip: ClipView) -> Iterator[Finding]:
    counts = [len(frame["TrajectoryDir"]) for frame in clip.frames if isinstance(frame.get("TrajectoryDir"), list)]
    need(counts, when=len(counts) == len(clip.frames) > 0)
    times = member(clip.root, "meta", "trajectory", "seconds")
    expected, source = counts[0], "frame 0 has"
    if isinstance(times, list):
        expected, source = len(times), "meta.trajectory.seconds"
    for frame, more in first_in([place for place, count in enumerate(counts) if count != expected], "frames"):
        values = {"frame": frame, "found": counts[frame], "source": source, "expected": expected}
        yield TRAJECTORY_SAMPLES_DIFFER.at(clip.path, ("Frames", frame, "TrajectoryDir"), more=more, **values)


def _check_directions(clip: ClipView) -> Iterator[Finding]:
    lengths = np.linalg.norm(clip.shaped("TrajectoryDir", -1, 2), axis=-1)
    bad, place = np.minimum(np.abs(lengths - 1), lengths) > _LENGTH_TOLERANCE, ("Frames", ..., "TrajectoryDir", ...)
    yield from at_first(TRAJECTORY_NOT_UNIT, clip.path, place, bad, "in this clip", "frame entry", length=lengths)


def _check_against_velocity(clip: ClipView) -> Iterator[Finding]:
    directions, velocity = clip.shaped("TrajectoryDir", -1, 2), _facing_velocity(clip)
    middle = need(directions, when=directions.shape[1] > 0)[:, directions.shape[1] // 2]
    moving = (np.linalg.norm(velocity, axis=-1) > _MOVING_M_S) & (np.linalg.norm(middle, axis=-1) > _LENGTH_TOLERANCE)
    if not moving.any():
        return
    angle = float(np.median(angle_between_deg(middle[moving], velocity[moving])))
    if angle > _NEXT_DIRECTION_DEG:
        place = ("Frames", int(np.flatnonzero(moving)[0]), "TrajectoryDir")
        yield TRAJECTORY_AGAINST_VELOCITY.at(clip.path, place, angle_deg=angle, frames=int(moving.sum()))


def _facing_velocity(clip: ClipView) -> FloatArray:
    """RootVelocityXY in the frame of the character's facing, (T, 2): turned by minus RootYaw."""
    velocity, yaw = clip.shaped("RootVelocityXY", 2), clip.shaped("RootYaw")
    cos, sin = np.cos(yaw), np.sin(yaw)
    ahead, aside = cos * velocity[:, 0] + sin * velocity[:, 1], cos * velocity[:, 1] - sin * velocity[:, 0]
    return np.stack([ahead, aside], axis=-1)


def angle_between_deg(a: FloatArray, b: FloatArray) -> FloatArray:
    """Angles in the plane between vectors (..., 2), 0 to 180 degrees."""
    cross = a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    return np.asarray(np.degrees(np.abs(np.arctan2(cross, np.sum(a * b, axis=-1)))))


def is_one_hot(bits: FloatArray) -> NDArray[np.bool_]:
    """Whether each row holds one 1 and zeros otherwise."""
    return np.asarray(((bits == 0) | (bits == 1)).all(axis=-1) & (bits.sum(axis=-1) == 1))


def _check_bits(clip: ClipView) -> Iterator[Finding]:
    bits, place = clip.shaped("ActionBits", 4), ("Frames", ..., "ActionBits")
    mixed, said = ~is_one_hot(bits), bits.argmax(axis=-1)
    shown = lambda frame: short(bits[frame])  # noqa: E731
    yield from at_first(ACTION_NOT_ONE_HOT, clip.path, place, mixed, "frames", "frame", bits=shown)
    action = clip.root.get("ClipAction")
    word = action.rpartition(":")[2].lower() if isinstance(action, str) else ""
    if word in ACTIONS and not mixed.any():
        values = {"action": action, "said": lambda frame: ACTIONS[said[frame]]}
        others = said != ACTIONS.index(word)
        yield from at_first(ACTION_CONTRADICTS, clip.path, place, others, "frames", "frame", **values)


_SHAPES = (_check_frame_count, _check_bone_counts, _check_numbers, _check_rates, _check_rate_of_bundle)
FAMILY = family(
    globals(), (Need.CLIP,), *_SHAPES, _check_samples, _check_directions, _check_against_velocity, _check_bits
)
