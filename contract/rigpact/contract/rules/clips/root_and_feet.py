"""RP515-RP519, RP530-RP536: the root of a raw clip (position, velocity, yaw) and the evidence of its feet.

Thresholds of the feet are the engine's own: a foot leaves contact above 5 cm, or when it moves faster than 18 cm/s in the plane.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.findings import Finding, Rule
from rigpact.contract.rules.bundle.statistics import FASTEST_M_S
from rigpact.contract.rules.family import Need, family
from rigpact.contract.rules.views.bundle import known, member, need
from rigpact.contract.rules.views.motion import FEET, ClipView
from rigpact.contract.rules.wording import and_more, at_first, first_of, short
from rigpact.contract.statistics import FloatArray

POSITION_JUMPS = Rule.of("""RP515 error root-position-jumps
    frame {frame}: the root moves {step_m:.3f} m in one frame{back}, and {around_m:.4f} m in the frames around it{more}
    hint: look for a cut between takes, or a loop that was joined end to start
    why: the velocity of that frame is a shot: it stretches the statistics of every clip""")
YAW_JUMPS = Rule.of("""RP516 error root-yaw-jumps
    frame {frame}: the root turns {step_deg:.1f}° in one frame{back}, and {around_deg:.2f}° in the frames around it{more}
    hint: look for a cut between takes; a wrap from pi to -pi is not a jump and is not reported
    why: the heading that the network reads snaps round while the body goes on""")
YAW_IN_DEGREES = Rule.of("""RP517 error root-yaw-in-degrees
    RootYaw reaches {yaw:.4g} at frame {frame}: {turns:.1f} turns as radians, {deg:.3g}° as degrees
    hint: export radians
    why: the engine wraps it into pi and divides: the heading is noise""")
VELOCITY_DISAGREES = Rule.of("""RP518 error root-velocity-disagrees
    RootVelocityXY is not the motion of RootPosition: {slope:.4g} times it at best, and {rest:.0%} of it is something else{guess}
    hint: export d/dt of RootPosition in the same axes and in m/s
    why: the condition tells the network one speed and direction, the motion shows another: feet skate in the game""")
ROOT_NOT_METRES = Rule.of("""RP519 error root-motion-not-metres
    frame {frame}: the root moves at {speed:.4g} m/s; in centimetres that is {metres:.3g} m/s{more}
    hint: export positions and velocities in metres
    why: every speed saturates the network's input: it cannot tell a walk from a run""")
EVIDENCE_ABSENT = Rule.of("""RP530 warning foot-evidence-absent
    {count} of {total} frames have no FootEvidence with soft_contact_score for both feet (the first is {frame})
    hint: export the clip with foot evidence
    why: the network's Contacts input is these scores: without them training reads feet that never touch the ground""")
SCORE_OUT_OF_RANGE = Rule.of("""RP531 error contact-score-out-of-range
    frame {frame}, foot {foot}: soft_contact_score = {score:g} lies outside 0 to 1{more}
    hint: the score is a probability; percent and logits are not
    why: the network was trained on scores within 0 and 1: one outside is an input it has never seen""")
CONTACT_WHILE_HIGH = Rule.of("""RP532 warning contact-while-foot-is-high
    frame {frame}, foot {foot}: contact score {score:.2f} at {height_cm:.1f} cm above the ground; the engine lets go above
    {limit_cm:g} cm{more}
    hint: measure the distance from the sole; check the units and the floor
    why: the network learns to stand on air, and in the game the engine tells it that the foot is free""")
CONTACT_WHILE_MOVING = Rule.of("""RP533 warning contact-while-foot-moves
    frame {frame}, foot {foot}: contact score {score:.2f} while the foot moves at {speed_cm_s:.0f} cm/s; the engine lets go above
    {limit_cm_s:g} cm/s; this lasts {seconds:.2f} s{more}
    hint: measure the foot's speed in the world, with the root's motion; within the character a planted foot moves back
    why: training says contact where the engine says none: in the game the network never sees the input that planted the foot""")
CONTACT_WITHOUT_GROUND = Rule.of("""RP534 warning contact-without-ground
    frame {frame}, foot {foot}: contact score {score:.2f} although the sweep found no ground (hit_flag 0){more}
    hint: gate the score by the sweep's hit
    why: the score was computed from a distance that does not exist""")
NORMAL_NOT_UNIT = Rule.of("""RP535 warning ground-normal-not-unit
    frame {frame}, foot {foot}: ground_normal {normal} {what}{more}
    hint: export the unit normal of the ground, z up
    why: distances to the ground are measured along it: the foot is planted at the wrong height""")
PLANTED_FEET_SLIDE = Rule.of("""RP536 warning planted-feet-slide
    the pose and the root motion do not fit: planted feet (contact score above 0.5) slide at {slide_cm_s:.0f} cm/s on average over
    {count} frames, the root moves at {root_cm_s:.0f} cm/s{guess}
    hint: bring bones and root into one frame; a mesh that is turned within its actor is the usual cause
    why: played in the game the character skates, whatever the network does""")

TIMES_AROUND = 10.0
"""No body accelerates so that one step is ten times the steps beside it together."""
_SMALLEST_JUMP_M, _SMALLEST_JUMP_RAD = 0.05, np.radians(10.0)
"""A character that starts from rest may move so far in one frame: 3 m/s, or 600° a second, at 60 frames a second."""
_MOST_TURNS = 4.0
"""A yaw of 30 is 30 degrees or nearly five turns of radians. Above this limit, degrees are more likely than turns."""
_UNEXPLAINED = 0.05
"""Central, forward and backward differences of a gait differ by some percent of its speed; units and axes by all of it."""
_STILL_M_S = 0.02
"""Below this speed the root sways on the spot, and differences of positions are rounding."""
_LEAVES_M, _LEAVES_M_S, _LEAVES_AFTER_S = 0.05, 0.18, 0.05
"""The height, the speed and the time at which `UpdateFootContacts` ends a contact."""
_CONTACT = 0.5
"""A score above this means contact."""
_UNIT = 1e-2
"""A normal this far from unit length moves a 5 cm threshold by half a millimetre."""


def spikes(steps: FloatArray, across: FloatArray, smallest: float) -> NDArray[np.bool_]:
    """Which frames lie far from both neighbours, while the neighbours lie near each other; the first and last never do.

    steps: (T - 1, ...) from each frame to the next; across: (T - 2, ...) from each frame to the next but one.
    Returns (T, ...). The detour by way of a frame is what its two steps are longer than the straight way: 0 in steady
    motion, twice the pulse at a pulse. Half of it must be more than `smallest`, and ten times the detour of an ordinary
    frame (the median): what shakes throughout has no odd frame.
    """
    found = np.zeros((len(steps) + 1, *steps.shape[1:]), dtype=np.bool_)
    if len(steps) > 1:
        detour = (steps[:-1] + steps[1:] - across) / 2
        came_back = across < np.minimum(steps[:-1], steps[1:])
        found[1:-1] = came_back & (detour > smallest) & (detour > TIMES_AROUND * np.median(detour, axis=0))
    return found


def _first_jump(steps: FloatArray, across: FloatArray, smallest: float) -> tuple[dict[str, Any], float, float]:
    """A step that is ten times the steps on both sides together, or a frame that leaves the motion and comes back.

    Returns frame and words, the step and the motion around it.
    """
    padded = np.concatenate([[0.0], steps, [0.0]])
    around = padded[:-2] + padded[2:]
    pulses = spikes(steps, across, smallest)
    lone = (steps > smallest) & (steps > TIMES_AROUND * around) & (len(steps) > 1)  # one step has nothing around it
    (place,), more = need(next(first_of(lone | pulses[1:], "jumps"), None))
    is_pulse = bool(pulses[place + 1])
    words = {"frame": place + 1, "back": " and back in the next" if is_pulse else "", "more": more}
    return words, float(steps[place]), float(across[place] if is_pulse else around[place])


def _check_position(clip: ClipView) -> Iterator[Finding]:
    positions = clip.shaped("RootPosition", 3)
    steps, across = (np.linalg.norm(positions[lag:] - positions[:-lag], axis=-1) for lag in (1, 2))
    values, step, around = _first_jump(need(steps, when=len(positions) > 1), across, _SMALLEST_JUMP_M)
    place = ("Frames", values["frame"], "RootPosition")
    yield POSITION_JUMPS.at(clip.path, place, step_m=step, around_m=around, **values)


def _check_speed(clip: ClipView) -> Iterator[Finding]:
    positions, fps = clip.shaped("RootPosition", 3), clip.fps
    # over two frames, so that one jump (reported above) does not look like a wrong unit
    speeds = np.linalg.norm(positions[2:] - positions[:-2], axis=-1) * fps / 2
    if len(speeds) and float(np.median(speeds)) > FASTEST_M_S:
        frame, speed = int(speeds.argmax()) + 1, float(speeds.max())
        more = and_more(int((speeds > FASTEST_M_S).sum()) - 1, "frames")
        place, values = ("Frames", frame, "RootPosition"), {"speed": speed, "metres": speed / 100}
        yield ROOT_NOT_METRES.at(clip.path, place, frame=frame, more=more, **values)


def _check_velocity(clip: ClipView) -> Iterator[Finding]:
    positions, velocity = clip.shaped("RootPosition", 3), clip.shaped("RootVelocityXY", 2)
    steps = np.diff(positions[:, :2], axis=0) * clip.fps
    readings = [(steps[1:] + steps[:-1]) / 2, steps[1:], steps[:-1]]
    inner = need(velocity, when=len(positions) > 3)[1:-1]
    if max(rms(inner), *(rms(reading) for reading in readings)) < _STILL_M_S:
        return
    slope, rest = min((fit_slope(inner, reading) for reading in readings), key=lambda fit: fit[1])
    if abs(slope - 1) > _UNEXPLAINED or rest > _UNEXPLAINED:
        guess = _guess(inner, readings[0], slope, rest)
        yield VELOCITY_DISAGREES.at(clip.path, ("Frames", 1, "RootVelocityXY"), slope=slope, rest=rest, guess=guess)


def fit_slope(found: FloatArray, reference: FloatArray) -> tuple[float, float]:
    """Least squares of found = slope · reference: the slope, and the part of `found` (by norm) that stays unexplained."""
    power, size = float(np.sum(reference**2)), float(np.linalg.norm(found))
    slope = float(np.sum(found * reference)) / power if power > 0 else 0.0
    rest = float(np.linalg.norm(found - slope * reference)) / size if size > 0 else 0.0
    return slope, rest


def rms(vectors: FloatArray) -> float:
    """The root of the mean squared length of vectors, (…, n); 0 of none."""
    return float(np.sqrt(np.mean(np.sum(vectors**2, axis=-1)))) if vectors.size else 0.0


def _guess(found: FloatArray, reference: FloatArray, slope: float, rest: float) -> str:
    if rest <= _UNEXPLAINED:
        near = {100.0: "it is in cm/s", 0.01: "positions are in centimetres", -1.0: "it is negated"}
        return next((f": {words}" for value, words in near.items() if abs(slope / value - 1) <= _UNEXPLAINED), "")
    turns = {"the axes are swapped": reference[:, ::-1]}
    turns |= {"y is mirrored": reference * [1, -1], "x is mirrored": reference * [-1, 1]}
    fits = ((words, *fit_slope(found, turned)) for words, turned in turns.items())
    return next((f": {words}" for words, k, left in fits if abs(k - 1) <= _UNEXPLAINED and left <= _UNEXPLAINED), "")


def _check_yaw(clip: ClipView) -> Iterator[Finding]:
    yaw = clip.shaped("RootYaw")
    frame = int(np.abs(yaw).argmax())
    widest = float(yaw[frame])
    if abs(widest) > 2 * np.pi * _MOST_TURNS:
        values = {"frame": frame, "yaw": widest, "turns": abs(widest) / (2 * np.pi), "deg": widest}
        yield YAW_IN_DEGREES.at(clip.path, ("Frames", frame, "RootYaw"), **values)
        return
    steps, across = (np.abs(np.angle(np.exp(1j * (yaw[lag:] - yaw[:-lag])))) for lag in (1, 2))
    found, step, around = _first_jump(steps, across, _SMALLEST_JUMP_RAD)
    values = {**found, "step_deg": float(np.degrees(step)), "around_deg": float(np.degrees(around))}
    yield YAW_JUMPS.at(clip.path, ("Frames", found["frame"], "RootYaw"), **values)


def _check_evidence(clip: ClipView) -> Iterator[Finding]:
    # The Contacts input is fed from the scores whether or not the state has a slice of that name
    scores = clip.foot_values("soft_contact_score")
    lacking = [frame for frame, sides in enumerate(scores) if not {type(score) for score in sides} <= {int, float}]
    if lacking:
        values = {"count": len(lacking), "total": len(clip.frames), "frame": lacking[0]}
        yield EVIDENCE_ABSENT.at(clip.path, ("Frames", lacking[0]), **values)


def _of_feet(clip: ClipView, rule: Rule, bad: NDArray[np.bool_], key: str, **values: Any) -> Iterator[Finding]:
    """Report the first bad frame and foot, with the values of the arrays at that place."""
    foot = lambda _, side: FEET[side]  # noqa: E731
    place = ("Frames", ..., "FootEvidence", foot, key)
    return at_first(rule, clip.path, place, bad, "feet and frames", "frame", foot=foot, **values)


def _check_scores(clip: ClipView) -> Iterator[Finding]:
    scores = clip.feet("soft_contact_score")
    bad = (scores < 0) | (scores > 1)
    yield from _of_feet(clip, SCORE_OUT_OF_RANGE, bad, "soft_contact_score", score=scores)


def _check_ground(clip: ClipView) -> Iterator[Finding]:
    scores, hits = clip.feet("soft_contact_score"), clip.feet("hit_flag")
    bad = (scores > _CONTACT) & (hits == 0)
    yield from _of_feet(clip, CONTACT_WITHOUT_GROUND, bad, "hit_flag", score=scores)


def _check_height(clip: ClipView) -> Iterator[Finding]:
    scores, heights = clip.feet("soft_contact_score"), clip.feet("dist_to_ground_m")
    hits = known(lambda: clip.feet("hit_flag"))
    high = (scores > _CONTACT) & (heights > _LEAVES_M) & (True if hits is None else hits != 0)
    numbers = {"score": scores, "height_cm": 100 * heights, "limit_cm": 100 * _LEAVES_M}
    yield from _of_feet(clip, CONTACT_WHILE_HIGH, high, "dist_to_ground_m", **numbers)


def _check_moving(clip: ClipView) -> Iterator[Finding]:
    scores, planar, fps = clip.feet("soft_contact_score"), clip.feet("vxy_mps"), clip.fps
    fast = (scores > _CONTACT) & (planar >= _LEAVES_M_S)
    longest = max(_longest_run(fast[:, foot]) for foot in range(2)) / fps
    if longest >= _LEAVES_AFTER_S:
        numbers = {"score": scores, "speed_cm_s": 100 * planar, "seconds": longest, "limit_cm_s": 100 * _LEAVES_M_S}
        yield from _of_feet(clip, CONTACT_WHILE_MOVING, fast, "vxy_mps", **numbers)


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
    yield from _of_feet(clip, NORMAL_NOT_UNIT, bad, "ground_normal", normal=shown, what=what)


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
        yield PLANTED_FEET_SLIDE.at(clip.path, place, guess=guess, **values)


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


_ROOT = (_check_position, _check_speed, _check_velocity, _check_yaw)
_FEET = (_check_evidence, _check_scores, _check_ground, _check_height, _check_moving, _check_normals, _check_slide)
FAMILY = family(globals(), (Need.CLIP,), *_ROOT, *_FEET)
