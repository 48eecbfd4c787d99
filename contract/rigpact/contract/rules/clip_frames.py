"""RP500-RP509, RP525-RP536: raw clips, as the engine exports them: counts, rates, trajectory, action, the evidence of the feet.

Thresholds of the feet are the engine's own: a foot leaves contact above 5 cm, or when it moves faster than 18 cm/s in the plane.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.findings import Finding, Rule
from rigpact.contract.json_pointer import json_pointer
from rigpact.contract.rules.bundle_view import BundleView, json_to_rate, known, member, need, to_float32
from rigpact.contract.rules.family import Need, Rules
from rigpact.contract.rules.motion_view import BONE_CHANNELS, FEET, FPS_KEYS, ClipView, same_rate
from rigpact.contract.rules.wording import at_first, first_in, first_of, number_text, short
from rigpact.contract.statistics import FloatArray

rules = Rules("clip_frames")


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
        yield rules.FRAME_COUNT_DIFFERS.at(clip.path, "/NumFrames", declared=declared, found=len(frames))
    if len(frames) < 2:
        yield rules.CLIP_TOO_SHORT.at(clip.path, "/Frames", found=len(frames))


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
            yield rules.CLIP_BONE_COUNT_DIFFERS.at(clip.path, ("Frames", frame, key), more=more, **values)


def _check_numbers(clip: ClipView) -> Iterator[Finding]:
    for key, values in clip.channels.items():
        if values is not None:
            for (frame, *inner), more in first_of(~np.isfinite(to_float32(values)), "in this channel"):
                named = key in BONE_CHANNELS and inner and inner[0] < len(clip.bone_names)
                bone = f" ({clip.bone_names[inner[0]]})" if named else ""
                place = json_pointer("Frames", frame, key, *inner)
                yield rules.CLIP_VALUE_NOT_FINITE.at(clip.path, place, frame=frame, key=key, bone=bone, more=more)


def _check_rates(clip: ClipView) -> Iterator[Finding]:
    declared = {key: clip.root[key] for key in FPS_KEYS if _is_number(clip.root.get(key))}
    if not any(key in clip.root for key in FPS_KEYS):
        yield rules.CLIP_FPS_ABSENT.at(clip.path)
    for key, value in declared.items():
        if json_to_rate(value) is None:
            yield rules.CLIP_FPS_NOT_POSITIVE.at(clip.path, (key,), key=key, fps=number_text(value))
    if len(declared) == len(FPS_KEYS) and declared["fps"] != declared["FPS"]:
        lower, upper = number_text(declared["fps"]), number_text(declared["FPS"])
        yield rules.CLIP_FPS_CONFLICTS.at(clip.path, "/FPS", lower=lower, upper=upper)


def _check_rate_of_bundle(clip: ClipView, bundle: BundleView) -> Iterator[Finding]:
    if not same_rate(clip.fps, bundle.fps):
        key = next(key for key in FPS_KEYS if _is_number(clip.root.get(key)))
        origin = "" if "fps" in bundle.root else " (the engine's default: the bundle has no root fps)"
        yield rules.CLIP_FPS_DIFFERS.at(clip.path, (key,), found=clip.fps, expected=bundle.fps, origin=origin)


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
        yield rules.TRAJECTORY_SAMPLES_DIFFER.at(clip.path, ("Frames", frame, "TrajectoryDir"), more=more, **values)


def _check_directions(clip: ClipView) -> Iterator[Finding]:
    lengths = np.linalg.norm(clip.shaped("TrajectoryDir", -1, 2), axis=-1)
    bad, place = np.minimum(np.abs(lengths - 1), lengths) > _LENGTH_TOLERANCE, ("Frames", ..., "TrajectoryDir", ...)
    yield from at_first(rules.TRAJECTORY_NOT_UNIT, clip.path, place, bad, "in this clip", "frame entry", length=lengths)


def _check_against_velocity(clip: ClipView) -> Iterator[Finding]:
    directions, velocity = clip.shaped("TrajectoryDir", -1, 2), _facing_velocity(clip)
    middle = need(directions, when=directions.shape[1] > 0)[:, directions.shape[1] // 2]
    moving = (np.linalg.norm(velocity, axis=-1) > _MOVING_M_S) & (np.linalg.norm(middle, axis=-1) > _LENGTH_TOLERANCE)
    if not moving.any():
        return
    angle = float(np.median(angle_between_deg(middle[moving], velocity[moving])))
    if angle > _NEXT_DIRECTION_DEG:
        place = ("Frames", int(np.flatnonzero(moving)[0]), "TrajectoryDir")
        yield rules.TRAJECTORY_AGAINST_VELOCITY.at(clip.path, place, angle_deg=angle, frames=int(moving.sum()))


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
    yield from at_first(rules.ACTION_NOT_ONE_HOT, clip.path, place, mixed, "frames", "frame", bits=shown)
    action = clip.root.get("ClipAction")
    word = action.rpartition(":")[2].lower() if isinstance(action, str) else ""
    if word in ACTIONS and not mixed.any():
        values = {"action": action, "said": lambda frame: ACTIONS[said[frame]]}
        others = said != ACTIONS.index(word)
        yield from at_first(rules.ACTION_CONTRADICTS, clip.path, place, others, "frames", "frame", **values)


_SHAPES = (_check_frame_count, _check_bone_counts, _check_numbers, _check_rates, _check_rate_of_bundle)


_LEAVES_M, _LEAVES_M_S, _LEAVES_AFTER_S = 0.05, 0.18, 0.05
"""The height, the speed and the time at which `UpdateFootContacts` ends a contact."""
_CONTACT = 0.5
"""A score above this means contact."""
_UNIT = 1e-2
"""A normal this far from unit length moves a 5 cm threshold by half a millimetre."""


def _check_evidence(clip: ClipView) -> Iterator[Finding]:
    # The Contacts input is fed from the scores whether or not the state has a slice of that name
    scores = clip.foot_values("soft_contact_score")
    lacking = [frame for frame, sides in enumerate(scores) if not {type(score) for score in sides} <= {int, float}]
    if lacking:
        values = {"count": len(lacking), "total": len(clip.frames), "frame": lacking[0]}
        yield rules.EVIDENCE_ABSENT.at(clip.path, ("Frames", lacking[0]), **values)


def _of_feet(clip: ClipView, rule: Rule, bad: NDArray[np.bool_], key: str, **values: Any) -> Iterator[Finding]:
    foot = lambda _, side: FEET[side]  # noqa: E731
    place = ("Frames", ..., "FootEvidence", foot, key)
    return at_first(rule, clip.path, place, bad, "feet and frames", "frame", foot=foot, **values)


def _check_scores(clip: ClipView) -> Iterator[Finding]:
    scores = clip.feet("soft_contact_score")
    bad = (scores < 0) | (scores > 1)
    yield from _of_feet(clip, rules.SCORE_OUT_OF_RANGE, bad, "soft_contact_score", score=scores)


def _check_ground(clip: ClipView) -> Iterator[Finding]:
    scores, hits = clip.feet("soft_contact_score"), clip.feet("hit_flag")
    bad = (scores > _CONTACT) & (hits == 0)
    yield from _of_feet(clip, rules.CONTACT_WITHOUT_GROUND, bad, "hit_flag", score=scores)


def _check_height(clip: ClipView) -> Iterator[Finding]:
    scores, heights = clip.feet("soft_contact_score"), clip.feet("dist_to_ground_m")
    hits = known(lambda: clip.feet("hit_flag"))
    high = (scores > _CONTACT) & (heights > _LEAVES_M) & (True if hits is None else hits != 0)
    numbers = {"score": scores, "height_cm": 100 * heights, "limit_cm": 100 * _LEAVES_M}
    yield from _of_feet(clip, rules.CONTACT_WHILE_HIGH, high, "dist_to_ground_m", **numbers)


def _check_moving(clip: ClipView) -> Iterator[Finding]:
    scores, planar, fps = clip.feet("soft_contact_score"), clip.feet("vxy_mps"), clip.fps
    fast = (scores > _CONTACT) & (planar >= _LEAVES_M_S)
    longest = max(_longest_run(fast[:, foot]) for foot in range(2)) / fps
    if longest >= _LEAVES_AFTER_S:
        numbers = {"score": scores, "speed_cm_s": 100 * planar, "seconds": longest, "limit_cm_s": 100 * _LEAVES_M_S}
        yield from _of_feet(clip, rules.CONTACT_WHILE_MOVING, fast, "vxy_mps", **numbers)


def _longest_run(flags: NDArray[np.bool_]) -> int:
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    return int((edges[1::2] - edges[::2]).max()) if len(edges) else 0


def _check_normals(clip: ClipView) -> Iterator[Finding]:
    clip.feet("soft_contact_score")
    normals = clip.feet("ground_normal", 3)
    lengths = np.linalg.norm(need(normals, when=normals.shape[-1] == 3), axis=-1)
    is_long, shown = np.abs(lengths - 1) > _UNIT, lambda *place: short(normals[place])
    what = lambda *place: f"is {lengths[place]:.3g} long" if is_long[place] else "does not point up"  # noqa: E731
    bad = is_long | (normals[..., 2] <= 0)
    yield from _of_feet(clip, rules.NORMAL_NOT_UNIT, bad, "ground_normal", normal=shown, what=what)


def _check_slide(clip: ClipView) -> Iterator[Finding]:
    """A planted foot stands still in the world: the limb moves backwards as fast as the root moves forwards."""
    scores, feet, velocity = clip.feet("soft_contact_score"), _feet_velocities(clip), clip.shaped("RootVelocityXY", 2)
    planted = (scores > _CONTACT)[1:-1]
    if planted.sum() < 3:
        return
    roots, limbs = np.repeat(velocity[1:-1, None], 2, axis=1)[planted], feet[planted]
    slide, moves = (float(np.linalg.norm(v, axis=-1).mean()) for v in (limbs + roots, roots))
    if slide > _LEAVES_M_S:
        values = {"slide_cm_s": 100 * slide, "root_cm_s": 100 * moves, "count": int(planted.sum())}
        place, guess = ("Frames", 1, "RootVelocityXY"), _turn_guess(limbs, roots)
        yield rules.PLANTED_FEET_SLIDE.at(clip.path, place, guess=guess, **values)


def _feet_velocities(clip: ClipView) -> FloatArray:
    """Planar velocity of both feet relative to the root, in the world's axes, (T - 2, 2, 2) m/s; from the pose alone."""
    skeleton, rotations, yaw = need(clip.skeleton), clip.rotations, clip.shaped("RootYaw")
    markers = member(clip.root, "meta", "foot_evidence", "markers")
    names = [name.strip() for name in markers.split(",")] if isinstance(markers, str) else ["ball_l", "ball_r"]
    need(names, when=len(names) == len(FEET) and set(names) <= set(skeleton.names))
    need(rotations, when=rotations.shape[1] == len(skeleton.names) and len(rotations) > 2)
    positions, _ = skeleton.forward_kinematics(rotations)
    feet = positions[:, [skeleton.names.index(name) for name in names], :2]
    cos, sin = np.cos(yaw)[:, None], np.sin(yaw)[:, None]
    turned = np.stack([cos * feet[..., 0] - sin * feet[..., 1], sin * feet[..., 0] + cos * feet[..., 1]], axis=-1)
    return np.asarray((turned[2:] - turned[:-2]) * clip.fps / 2)


def _turn_guess(limbs: FloatArray, roots: FloatArray) -> str:
    """The turn of the root's velocity that fits the limbs best, if one does."""
    a, b = roots[:, 0] + 1j * roots[:, 1], -(limbs[:, 0] + 1j * limbs[:, 1])
    turn = complex(np.sum(np.conj(a) * b))
    turn /= max(abs(turn), 1e-12)
    left = float(np.abs(a * turn - b).mean())
    if left > _LEAVES_M_S:
        return ""
    return f"; turned by {np.degrees(np.angle(turn)):.0f}° about z it would leave {100 * left:.0f} cm/s"


_FEET = (_check_evidence, _check_scores, _check_ground, _check_height, _check_moving, _check_normals, _check_slide)
FAMILY = rules.family(
    "FAMILY", (Need.CLIP,), *_SHAPES, _check_samples, _check_directions, _check_against_velocity, _check_bits, *_FEET
)
