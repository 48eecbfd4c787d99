"""RP515-RP519: the root of a raw clip: its position, its velocity, its yaw."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.findings import Finding, Rule
from rigpact.contract.json_pointer import json_pointer
from rigpact.contract.rules.bundle.statistics_meaning import FASTEST_M_S
from rigpact.contract.rules.family import Family, Need, on_clips, rules_in
from rigpact.contract.rules.views.clip import ClipView
from rigpact.contract.rules.wording import and_more
from rigpact.contract.statistics import FloatArray

# Frames that leave the motion and come back: a pulse of one frame
TIMES_AROUND = 10.0
"""No body accelerates so that one step is ten times the steps beside it together."""


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


POSITION_JUMPS = Rule.titled(
    "RP515 error root-position-jumps",
    message="frame {frame}: the root moves {step_m:.3f} m in one frame{back}, and {around_m:.4f} m in the frames around it{more}",
    hint="look for a cut between takes, or a loop that was joined end to start",
    why="the velocity of that frame is a shot: it stretches the statistics of every clip",
)
YAW_JUMPS = Rule.titled(
    "RP516 error root-yaw-jumps",
    message="frame {frame}: the root turns {step_deg:.1f}° in one frame{back}, and {around_deg:.2f}° in the frames around"
    " it{more}",
    hint="look for a cut between takes; a wrap from pi to -pi is not a jump and is not reported",
    why="the heading that the network reads snaps round while the body goes on",
)
YAW_IN_DEGREES = Rule.titled(
    "RP517 error root-yaw-in-degrees",
    message="RootYaw reaches {yaw:.4g} at frame {frame}: {turns:.1f} turns as radians, {deg:.3g}° as degrees",
    hint="export radians",
    why="the engine wraps it into pi and divides: the heading is noise",
)
VELOCITY_DISAGREES = Rule.titled(
    "RP518 error root-velocity-disagrees",
    message="RootVelocityXY is not the motion of RootPosition: {slope:.4g} times it at best, and {rest:.0%} of it is something"
    " else{guess}",
    hint="export d/dt of RootPosition in the same axes and in m/s",
    why="the condition tells the network one speed and direction, the motion shows another: feet skate in the game",
)
ROOT_NOT_METRES = Rule.titled(
    "RP519 error root-motion-not-metres",
    message="frame {frame}: the root moves at {speed:.4g} m/s; in centimetres that is {metres:.3g} m/s{more}",
    hint="export positions and velocities in metres",
    why="every speed saturates the network's input: it cannot tell a walk from a run",
)

_SMALLEST_JUMP_M, _SMALLEST_JUMP_RAD = 0.05, np.radians(10.0)
"""A character that starts from rest may move so far in one frame: 3 m/s, or 600° a second, at 60 frames a second."""
_MOST_TURNS = 4.0
"""A yaw of 30 is 30 degrees or nearly five turns of radians. Above this limit, degrees are more likely than turns."""
_UNEXPLAINED = 0.05
"""Central, forward and backward differences of a gait differ by some percent of its speed; units and axes by all of it."""
_STILL_M_S = 0.02
"""Below this speed the root sways on the spot, and differences of positions are rounding."""


def check_root_motion(clip: ClipView) -> Iterator[Finding]:
    """Yield what is wrong with the root of a raw clip."""
    positions, yaw = clip.shaped("RootPosition", 3), clip.shaped("RootYaw")
    if positions is not None and len(positions) > 1:
        steps, across = (np.linalg.norm(positions[lag:] - positions[:-lag], axis=-1) for lag in (1, 2))
        jump = _first_jump(steps, across, _SMALLEST_JUMP_M)
        if jump is not None:
            values = {"frame": jump.frame, "step_m": jump.step, "around_m": jump.around, "back": jump.back}
            yield POSITION_JUMPS.at(clip.path, ("Frames", jump.frame, "RootPosition"), more=jump.more, **values)
        yield from _check_speed(clip, positions)
        yield from _check_velocity(clip, positions)
    if yaw is not None:
        yield from _check_yaw(clip, yaw)


FAMILY = Family(__name__, rules_in(globals()), (Need.CLIP,), on_clips(check_root_motion))


@dataclass(frozen=True)
class _Jump:
    """The first jump of a clip: its frame, its size, the size of the motion around it, how many more there are."""

    frame: int
    step: float
    around: float
    back: str
    more: str


def _first_jump(steps: FloatArray, across: FloatArray, smallest: float) -> _Jump | None:
    """A step that is ten times the steps on both sides together, or a frame that leaves the motion and comes back."""
    padded = np.concatenate([[0.0], steps, [0.0]])
    around = padded[:-2] + padded[2:]
    pulses = spikes(steps, across, smallest)
    lone = (steps > smallest) & (steps > TIMES_AROUND * around)
    jumps = np.flatnonzero(lone | pulses[1:])
    if not len(jumps):
        return None
    place, more = int(jumps[0]), and_more(len(jumps) - 1, "jumps")
    step = float(steps[place])
    if pulses[place + 1]:
        return _Jump(place + 1, step, float(across[place]), " and back in the next", more)
    return _Jump(place + 1, step, float(around[place]), "", more)


def _check_speed(clip: ClipView, positions: FloatArray) -> Iterator[Finding]:
    if clip.fps is None or len(positions) < 3:
        return
    # over two frames, so that one jump (reported above) does not look like a wrong unit
    speeds = np.linalg.norm(positions[2:] - positions[:-2], axis=-1) * clip.fps / 2
    if float(np.median(speeds)) > FASTEST_M_S:
        frame = int(speeds.argmax()) + 1
        speed = float(speeds.max())
        more = and_more(int((speeds > FASTEST_M_S).sum()) - 1, "frames")
        pointer = json_pointer("Frames", frame, "RootPosition")
        yield ROOT_NOT_METRES.at(clip.path, pointer, frame=frame, speed=speed, metres=speed / 100, more=more)


def _check_velocity(clip: ClipView, positions: FloatArray) -> Iterator[Finding]:
    velocity = clip.shaped("RootVelocityXY", 2)
    if velocity is None or clip.fps is None or len(positions) < 4:
        return
    planar = positions[:, :2]
    steps = np.diff(planar, axis=0) * clip.fps
    readings = [(steps[1:] + steps[:-1]) / 2, steps[1:], steps[:-1]]
    inner = velocity[1:-1]
    if max(_rms(inner), *(_rms(reading) for reading in readings)) < _STILL_M_S:
        return
    fits = [fit_slope(inner, reading) for reading in readings]
    slope, rest = min(fits, key=lambda fit: fit[1])
    if abs(slope - 1) > _UNEXPLAINED or rest > _UNEXPLAINED:
        guess = _guess(inner, readings[0], slope, rest)
        yield VELOCITY_DISAGREES.at(clip.path, ("Frames", 1, "RootVelocityXY"), slope=slope, rest=rest, guess=guess)


def fit_slope(found: FloatArray, reference: FloatArray) -> tuple[float, float]:
    """Least squares of found = slope · reference: the slope, and the part of `found` (by norm) that stays unexplained."""
    power, size = float(np.sum(reference**2)), float(np.linalg.norm(found))
    slope = float(np.sum(found * reference)) / power if power > 0 else 0.0
    rest = float(np.linalg.norm(found - slope * reference)) / size if size > 0 else 0.0
    return slope, rest


def _rms(values: FloatArray) -> float:
    return float(np.sqrt(np.mean(np.sum(values**2, axis=-1))))


_READINGS: tuple[tuple[str, Callable[[FloatArray], FloatArray]], ...] = (
    ("the axes are swapped", lambda v: v[:, ::-1]),
    ("y is mirrored", lambda v: v * [1, -1]),
    ("x is mirrored", lambda v: v * [-1, 1]),
)


def _guess(found: FloatArray, reference: FloatArray, slope: float, rest: float) -> str:
    if rest <= _UNEXPLAINED:
        near = {100.0: "it is in cm/s", 0.01: "positions are in centimetres", -1.0: "it is negated"}
        for value, words in near.items():
            if abs(slope / value - 1) <= _UNEXPLAINED:
                return f": {words}"
        return ""
    for words, turned in _READINGS:
        slope, rest = fit_slope(found, turned(reference))
        if abs(slope - 1) <= _UNEXPLAINED and rest <= _UNEXPLAINED:
            return f": {words}"
    return ""


def _check_yaw(clip: ClipView, yaw: FloatArray) -> Iterator[Finding]:
    if float(np.abs(yaw).max()) > 2 * np.pi * _MOST_TURNS:
        frame = int(np.abs(yaw).argmax())
        values = {"yaw": float(yaw[frame]), "turns": abs(float(yaw[frame])) / (2 * np.pi), "deg": float(yaw[frame])}
        yield YAW_IN_DEGREES.at(clip.path, ("Frames", frame, "RootYaw"), frame=frame, **values)
        return
    steps, across = (np.abs(np.angle(np.exp(1j * (yaw[lag:] - yaw[:-lag])))) for lag in (1, 2))
    jump = _first_jump(steps, across, _SMALLEST_JUMP_RAD)
    if jump is not None:
        values = {"step_deg": float(np.degrees(jump.step)), "around_deg": float(np.degrees(jump.around))}
        pointer = json_pointer("Frames", jump.frame, "RootYaw")
        yield YAW_JUMPS.at(clip.path, pointer, frame=jump.frame, back=jump.back, more=jump.more, **values)
