"""RP530-RP536: the foot evidence of a raw clip, by itself and against the pose.

Thresholds are the engine's own: a foot leaves contact above 5 cm, or when it moves faster than 18 cm/s in the plane.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.findings import Finding, Rule
from rigpact.contract.json_pointer import json_pointer
from rigpact.contract.rules.family import Family, Need, on_clips, rules_in
from rigpact.contract.rules.views.bundle import finite_array, member
from rigpact.contract.rules.views.clip import ClipView
from rigpact.contract.rules.wording import first_of
from rigpact.contract.statistics import FloatArray

EVIDENCE_ABSENT = Rule.titled(
    "RP530 warning foot-evidence-absent",
    message="{count} of {total} frames have no FootEvidence with soft_contact_score for both feet (the first is {frame})",
    hint="export the clip with foot evidence",
    why="the network's Contacts input is these scores: without them training reads feet that never touch the ground",
)
SCORE_OUT_OF_RANGE = Rule.titled(
    "RP531 error contact-score-out-of-range",
    message="frame {frame}, foot {foot}: soft_contact_score = {score:g} lies outside 0 to 1{more}",
    hint="the score is a probability; percent and logits are not",
    why="the network was trained on scores within 0 and 1: one outside is an input it has never seen",
)
CONTACT_WHILE_HIGH = Rule.titled(
    "RP532 warning contact-while-foot-is-high",
    message="frame {frame}, foot {foot}: contact score {score:.2f} at {height_cm:.1f} cm above the ground; the engine lets go"
    " above {limit_cm:g} cm{more}",
    hint="measure the distance from the sole; check the units and the floor",
    why="the network learns to stand on air, and in the game the engine tells it that the foot is free",
)
CONTACT_WHILE_MOVING = Rule.titled(
    "RP533 warning contact-while-foot-moves",
    message="frame {frame}, foot {foot}: contact score {score:.2f} while the foot moves at {speed_cm_s:.0f} cm/s; the engine"
    " lets go above {limit_cm_s:g} cm/s; this lasts {seconds:.2f} s{more}",
    hint="measure the foot's speed in the world, with the root's motion; within the character a planted foot moves back",
    why="training says contact where the engine says none: in the game the network never sees the input that planted the foot",
)
CONTACT_WITHOUT_GROUND = Rule.titled(
    "RP534 warning contact-without-ground",
    message="frame {frame}, foot {foot}: contact score {score:.2f} although the sweep found no ground (hit_flag 0){more}",
    hint="gate the score by the sweep's hit",
    why="the score was computed from a distance that does not exist",
)
NORMAL_NOT_UNIT = Rule.titled(
    "RP535 warning ground-normal-not-unit",
    message="frame {frame}, foot {foot}: ground_normal {normal} {what}{more}",
    hint="export the unit normal of the ground, z up",
    why="distances to the ground are measured along it: the foot is planted at the wrong height",
)
PLANTED_FEET_SLIDE = Rule.titled(
    "RP536 warning planted-feet-slide",
    message="the pose and the root motion do not fit: planted feet (contact score above 0.5) slide at {slide_cm_s:.0f} cm/s on"
    " average over {count} frames, the root moves at {root_cm_s:.0f} cm/s{guess}",
    hint="bring bones and root into one frame; a mesh that is turned within its actor is the usual cause",
    why="played in the game the character skates, whatever the network does",
)

_LEAVES_M, _LEAVES_M_S, _LEAVES_AFTER_S = 0.05, 0.18, 0.05
"""The height, the speed and the time at which `UpdateFootContacts` ends a contact."""
_CONTACT = 0.5
"""A score above this means contact."""
_UNIT = 1e-2
"""A normal this far from unit length moves a 5 cm threshold by half a millimetre."""
_FEET = ("L", "R")


def check_feet(clip: ClipView) -> Iterator[Finding]:
    """Yield what is wrong with the foot evidence of a raw clip, alone and against the pose."""
    scores = _field(clip, "soft_contact_score")
    if scores is None:
        # The Contacts input is fed from the scores whether or not the state has a slice of that name
        lacking = [
            frame
            for frame, sides in enumerate(_records(clip))
            if not all(type(_number(side, "soft_contact_score")) in (int, float) for side in sides)
        ]
        if lacking:
            values = {"count": len(lacking), "total": len(clip.frames), "frame": lacking[0]}
            yield EVIDENCE_ABSENT.at(clip.path, ("Frames", lacking[0]), **values)
        return
    yield from _at_first(clip, SCORE_OUT_OF_RANGE, (scores < 0) | (scores > 1), "soft_contact_score", score=scores)
    yield from _check_contact(clip, scores)
    yield from _check_normals(clip)
    yield from _check_slide(clip, scores)


FAMILY = Family(__name__, rules_in(globals()), (Need.CLIP,), on_clips(check_feet))


def _records(clip: ClipView) -> list[list[Mapping[str, Any] | None]]:
    sides = [[member(frame, "FootEvidence", foot) for foot in _FEET] for frame in clip.frames]
    return [[side if isinstance(side, Mapping) else None for side in frame] for frame in sides]


def _field(clip: ClipView, key: str) -> FloatArray | None:
    """One number of every frame and foot, (T, 2); None if any is missing or not finite."""
    values = [[_number(side, key) for side in frame] for frame in _records(clip)]
    array = finite_array(values) if values else None
    return array if array is not None and array.ndim == 2 else None


def _number(side: Mapping[str, Any] | None, key: str) -> Any:
    value = member(side, key)
    return int(value) if type(value) is bool else value


def contact_scores(clip: ClipView) -> FloatArray | None:
    """Soft contact scores of left and right foot, (T, 2); None if they are not complete."""
    return _field(clip, "soft_contact_score")


def _check_contact(clip: ClipView, scores: FloatArray) -> Iterator[Finding]:
    contact = scores > _CONTACT
    heights, hits, planar = (_field(clip, key) for key in ("dist_to_ground_m", "hit_flag", "vxy_mps"))
    if hits is not None:
        yield from _at_first(clip, CONTACT_WITHOUT_GROUND, contact & (hits == 0), "hit_flag", score=scores)
    if heights is not None:
        high = contact & (heights > _LEAVES_M) & (True if hits is None else hits != 0)
        numbers = {"score": scores, "height_cm": 100 * heights}
        yield from _at_first(clip, CONTACT_WHILE_HIGH, high, "dist_to_ground_m", limit_cm=100 * _LEAVES_M, **numbers)
    if planar is not None and clip.fps is not None:
        fast = contact & (planar >= _LEAVES_M_S)
        longest = max(_longest_run(fast[:, foot]) for foot in range(2)) / clip.fps
        if longest >= _LEAVES_AFTER_S:
            numbers = {"score": scores, "speed_cm_s": 100 * planar}
            texts = {"seconds": longest, "limit_cm_s": 100 * _LEAVES_M_S}
            yield from _at_first(clip, CONTACT_WHILE_MOVING, fast, "vxy_mps", **texts, **numbers)


def _longest_run(flags: NDArray[np.bool_]) -> int:
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    return int((edges[1::2] - edges[::2]).max()) if len(edges) else 0


def _at_first(clip: ClipView, rule: Rule, bad: NDArray[np.bool_], key: str, **numbers: Any) -> Iterator[Finding]:
    """Report the first bad frame and foot, with the values of the arrays at that place."""
    for (frame, foot), more in first_of(bad, "feet and frames"):
        values = {name: float(value[frame, foot]) if np.ndim(value) else value for name, value in numbers.items()}
        pointer = json_pointer("Frames", frame, "FootEvidence", _FEET[foot], key)
        yield rule.at(clip.path, pointer, frame=frame, foot=_FEET[foot], more=more, **values)


def _check_normals(clip: ClipView) -> Iterator[Finding]:
    normals = finite_array([[member(side, "ground_normal") for side in frame] for frame in _records(clip)])
    if normals is None or normals.ndim != 3 or normals.shape[-1] != 3:
        return
    lengths = np.linalg.norm(normals, axis=-1)
    for (frame, foot), more in first_of((np.abs(lengths - 1) > _UNIT) | (normals[..., 2] <= 0), "feet and frames"):
        what = f"is {lengths[frame, foot]:.3g} long" if abs(lengths[frame, foot] - 1) > _UNIT else "does not point up"
        normal = [float(f"{value:.4g}") for value in normals[frame, foot]]
        pointer = json_pointer("Frames", frame, "FootEvidence", _FEET[foot], "ground_normal")
        yield NORMAL_NOT_UNIT.at(clip.path, pointer, frame=frame, foot=_FEET[foot], normal=normal, what=what, more=more)


def _foot_bones(clip: ClipView) -> list[int] | None:
    markers = member(clip.document.data, "meta", "foot_evidence", "markers")
    names = [name.strip() for name in markers.split(",")] if isinstance(markers, str) else ["ball_l", "ball_r"]
    if clip.skeleton is None or len(names) != len(_FEET) or any(name not in clip.skeleton.names for name in names):
        return None
    return [clip.skeleton.names.index(name) for name in names]


def _check_slide(clip: ClipView, scores: FloatArray) -> Iterator[Finding]:
    """A planted foot stands still in the world: the limb moves backwards as fast as the root moves forwards."""
    feet = _feet_velocities(clip)
    velocity = clip.shaped("RootVelocityXY", 2)
    if feet is None or velocity is None or len(velocity) < 3:
        return
    planted = (scores > _CONTACT)[1:-1]
    if planted.sum() < 3:
        return
    roots = np.repeat(velocity[1:-1, None], 2, axis=1)[planted]
    limbs = feet[planted]
    slide, moves = (float(np.linalg.norm(v, axis=-1).mean()) for v in (limbs + roots, roots))
    if slide > _LEAVES_M_S:
        values = {"slide_cm_s": 100 * slide, "root_cm_s": 100 * moves, "count": int(planted.sum())}
        yield PLANTED_FEET_SLIDE.at(
            clip.path, ("Frames", 1, "RootVelocityXY"), guess=_turn_guess(limbs, roots), **values
        )


def _feet_velocities(clip: ClipView) -> FloatArray | None:
    """Planar velocity of both feet relative to the root, in the world's axes, (T - 2, 2, 2) m/s; from the pose alone."""
    bones, rotations, yaw = _foot_bones(clip), clip.rotations, clip.shaped("RootYaw")
    if bones is None or rotations is None or yaw is None or clip.skeleton is None or clip.fps is None:
        return None
    if rotations.shape[1] != len(clip.skeleton.names) or len(rotations) < 3:
        return None
    positions, _ = clip.skeleton.forward_kinematics(rotations)
    feet = positions[:, bones, :2]
    cos, sin = np.cos(yaw)[:, None], np.sin(yaw)[:, None]
    turned = np.stack([cos * feet[..., 0] - sin * feet[..., 1], sin * feet[..., 0] + cos * feet[..., 1]], axis=-1)
    velocities: FloatArray = (turned[2:] - turned[:-2]) * clip.fps / 2
    return velocities


def _turn_guess(limbs: FloatArray, roots: FloatArray) -> str:
    """The turn of the root's velocity that fits the limbs best, if one does."""
    a, b = roots[:, 0] + 1j * roots[:, 1], -(limbs[:, 0] + 1j * limbs[:, 1])
    turn = complex(np.sum(np.conj(a) * b))
    turn /= max(abs(turn), 1e-12)
    left = float(np.abs(a * turn - b).mean())
    if left > _LEAVES_M_S:
        return ""
    return f"; turned by {np.degrees(np.angle(turn)):.0f}° about z it would leave {100 * left:.0f} cm/s"
