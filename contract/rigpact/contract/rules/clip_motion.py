"""RP510-RP519, RP550-RP554: the motion of a raw clip: its root, the rotations of every bone and their angular velocities.

Of angular velocities, in clips and in teacher rows, one number decides: the slope of the recorded vectors against the log map
of the rotations. A slope of 1 is right, 0.5 is half the angle, 57.3 is degrees. If no slope fits, the rules try another frame
of reference and another moment.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.findings import Finding
from rigpact.contract.rules.bundle_statistics import FASTEST_M_S
from rigpact.contract.rules.bundle_view import need
from rigpact.contract.rules.family import Need, Rules
from rigpact.contract.rules.motion_view import ClipView
from rigpact.contract.rules.wording import and_more, at_first, first_of
from rigpact.contract.skeleton import rotation_angle_rad, rotation_vector, transposed
from rigpact.contract.statistics import FloatArray

rules = Rules("clip_motion")


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
    yield rules.POSITION_JUMPS.at(clip.path, place, step_m=step, around_m=around, **values)


def _check_speed(clip: ClipView) -> Iterator[Finding]:
    positions, fps = clip.shaped("RootPosition", 3), clip.fps
    # over two frames, so that one jump (reported above) does not look like a wrong unit
    speeds = np.linalg.norm(positions[2:] - positions[:-2], axis=-1) * fps / 2
    if len(speeds) and float(np.median(speeds)) > FASTEST_M_S:
        frame, speed = int(speeds.argmax()) + 1, float(speeds.max())
        more = and_more(int((speeds > FASTEST_M_S).sum()) - 1, "frames")
        place, values = ("Frames", frame, "RootPosition"), {"speed": speed, "metres": speed / 100}
        yield rules.ROOT_NOT_METRES.at(clip.path, place, frame=frame, more=more, **values)


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
        yield rules.VELOCITY_DISAGREES.at(
            clip.path, ("Frames", 1, "RootVelocityXY"), slope=slope, rest=rest, guess=guess
        )


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
        yield rules.YAW_IN_DEGREES.at(clip.path, ("Frames", frame, "RootYaw"), **values)
        return
    steps, across = (np.abs(np.angle(np.exp(1j * (yaw[lag:] - yaw[:-lag])))) for lag in (1, 2))
    found, step, around = _first_jump(steps, across, _SMALLEST_JUMP_RAD)
    values = {**found, "step_deg": float(np.degrees(step)), "around_deg": float(np.degrees(around))}
    yield rules.YAW_JUMPS.at(clip.path, ("Frames", found["frame"], "RootYaw"), **values)


UNIT_TOLERANCE = 1e-3
"""Three decimals: each number is off by up to 5e-4, a column's length by at most sqrt(3) of that."""
_DEGENERATE = 1e-4
"""The engine's KINDA_SMALL_NUMBER: a shorter vector has no direction."""
_JUMP_RAD = np.pi / 2
"""Half of the half turn that a flipped column makes; no joint turns 5400° a second."""
_PULSE_RAD = _JUMP_RAD / 2
"""Who goes and comes back in one frame changes speed by twice the step."""
_FITS = 0.05
"""The part that a right reading may leave unexplained. Exporters leave 0.1 % (they use Euler angles); a lag of half a frame
leaves more than 10 %."""
_EXACT = 0.02
"""How far the slope of a right reading may be from 1."""
_STILL_RAD_S = 0.05
"""Below 3° a second a limb is at rest and its velocity is rounding."""
_FEWEST_FRAMES = 6
"""Readings differ by up to two frames; a fit needs a few more."""
_MOMENTS = {
    -1.5: "the step that ended one frame before", -1.0: "the frame before", -0.5: "the step from the frame before",
    0.0: "its own frame", 0.5: "the step to the next frame", 1.0: "the next frame",
    1.5: "the step after the next frame",
}  # fmt: skip


_BONE = ("Frames", ..., "BoneRotations", ...)


def _column_faults(clip: ClipView) -> tuple[FloatArray, FloatArray, NDArray[np.bool_]]:
    """Lengths of the two columns, (T, B, 2), the cosine between them and where no rotation can be decoded, (T, B)."""
    six = clip.shaped("BoneRotations", -1, 6)
    columns = need(six, when=six.shape[1] > 0).reshape(*six.shape[:2], 2, 3)
    lengths = np.linalg.norm(columns, axis=-1)
    dots = np.sum(columns[..., 0, :] * columns[..., 1, :], axis=-1)
    cosine = np.clip(dots / np.maximum(lengths[..., 0] * lengths[..., 1], np.finfo(np.float64).tiny), -1, 1)
    perpendicular = lengths[..., 1] * np.sqrt(1 - cosine**2)
    return lengths, cosine, (lengths[..., 0] < _DEGENERATE) | (perpendicular < _DEGENERATE)


def _check_columns(clip: ClipView) -> Iterator[Finding]:
    lengths, cosine, degenerate = _column_faults(clip)
    off_unit = np.abs(lengths - 1)

    def what(frame: int, bone: int) -> str:
        long = lengths[frame, bone] >= _DEGENERATE
        return "the two columns are parallel" if long.all() else f"column {int(long[0]) + 1} has no length"

    values = {"bone": lambda _, bone: clip.bone(bone), "angle_deg": np.degrees(np.arccos(cosine)), "what": what}
    values["length"] = lambda *place: float(lengths[place][off_unit[place].argmax()])
    for rule, bad in (
        (rules.COLUMNS_DEGENERATE, degenerate),
        (rules.COLUMNS_NOT_UNIT, ~degenerate & (off_unit.max(axis=-1) > UNIT_TOLERANCE)),
        (rules.COLUMNS_NOT_ORTHOGONAL, ~degenerate & (np.abs(cosine) > 2 * UNIT_TOLERANCE)),
    ):
        yield from at_first(rule, clip.path, _BONE, bad, "in this clip", "frame bone", **values)


def _turned_deg(clip: ClipView, lag: int) -> FloatArray:
    """How far each bone turns in so many frames, (T - lag, B); of clips whose rotations can all be decoded."""
    _, _, degenerate = _column_faults(clip)
    rotations = need(clip.rotations, when=len(degenerate) > 1 and not degenerate.any())
    return np.asarray(rotation_angle_rad(rotations[lag:] @ transposed(rotations[:-lag])))


def _check_jumps(clip: ClipView) -> Iterator[Finding]:
    steps, across = _turned_deg(clip, 1), _turned_deg(clip, 2)
    pulses = spikes(steps, across, _PULSE_RAD)
    jumps = np.zeros_like(pulses)
    jumps[1:] = pulses[1:] | ((steps > _JUMP_RAD) & ~pulses[:-1])
    values = {"bone": lambda _, bone: clip.bone(bone), "angle_deg": lambda f, b: float(np.degrees(steps[f - 1, b]))}
    values["back"] = lambda *place: " and back in the next" if pulses[place] else ""
    yield from at_first(rules.ROTATION_JUMPS, clip.path, _BONE, jumps, "in this clip", "frame bone", **values)


def _check_repeated(clip: ClipView) -> Iterator[Finding]:
    _turned_deg(clip, 1)
    six = clip.shaped("BoneRotations", -1, 6)
    still = (six[1:] == six[:-1]).all(axis=(1, 2))
    frames = np.flatnonzero(still[1:-1] & ~still[:-2] & ~still[2:]) + 2
    if len(frames):
        values = {"frame": int(frames[0]), "before": int(frames[0]) - 1, "count": len(frames), "total": len(six)}
        yield rules.FRAMES_REPEATED.at(clip.path, ("Frames", int(frames[0]), "BoneRotations"), **values)


@dataclass(frozen=True, eq=False)
class RecordedTurns:
    """Recorded angular velocities beside the rotations of the same frames.

    rotations: (T, B, 3, 3); recorded: (T, B, 3) rad/s; usable: (T, B, 3), False where a value was saturated.
    """

    path: Path
    pointer: str
    array: str
    fps: float
    rotations: FloatArray
    recorded: FloatArray
    usable: NDArray[np.bool_]

    @cached_property
    def steps(self) -> FloatArray:
        """Rotation vectors a second from each frame to the next, parent frame, (T - 1, B, 3)."""
        return rotation_vector(self.rotations[1:] @ transposed(self.rotations[:-1])) * self.fps

    @cached_property
    def central(self) -> FloatArray:
        """Rotation vectors a second about frames 1 to T - 2, parent frame, (T - 2, B, 3)."""
        return rotation_vector(self.rotations[2:] @ transposed(self.rotations[:-2])) * self.fps / 2

    def judged(self, lag: float, frame: str) -> "RateReading":
        """How well the velocities of frames 2 to T - 3 (as many as all readings share) are those of `lag` frames later."""
        rows = np.arange(2, len(self.rotations) - 2) + int(np.floor(lag))
        reference = self.central[rows - 1] if lag == int(lag) else self.steps[rows]
        if frame == "bone":
            reference = (transposed(self.rotations[rows]) @ reference[..., None])[..., 0]
        usable = self.usable[2:-2]
        return RateReading(lag, frame, *fit_slope(self.recorded[2:-2] * usable, reference * usable))


@dataclass(frozen=True)
class RateReading:
    """How well one reading explains the recorded vectors."""

    lag: float
    frame: str
    slope: float
    rest: float


def _check_velocities(clip: ClipView) -> Iterator[Finding]:
    recorded, key = clip.shaped("BoneAngularVelocities", -1, 3), "BoneAngularVelocities"
    need(recorded, when=recorded.shape == clip.rotations.shape[:3])
    usable = np.ones(recorded.shape, dtype=bool)
    yield from check_motion(
        RecordedTurns(clip.path, f"/Frames/2/{key}", key, clip.fps, clip.rotations, recorded, usable)
    )


def check_motion(motion: RecordedTurns) -> Iterator[Finding]:
    """Yield at most one finding for each defect: scale, frame of reference, moment; or that no reading fits."""
    if len(motion.rotations) < _FEWEST_FRAMES or max(rms(motion.recorded), rms(motion.central)) < _STILL_RAD_S:
        return
    own = best = motion.judged(0.0, "parent")
    if own.rest > _FITS:
        lags = sorted(_MOMENTS, key=abs)
        best = min((motion.judged(*each) for each in product(lags, ("parent", "bone"))), key=lambda each: each.rest)
    values = {"array": motion.array, "slope": best.slope, "rest": best.rest, "parent_rest": own.rest}
    values |= {"moment": _MOMENTS[best.lag], "frame": best.frame, "count": int(motion.usable[2:-2].all(axis=-1).sum())}
    if best.rest > _FITS:
        yield rules.DISAGREES.at(motion.path, motion.pointer, **values)
        return
    if best.frame != "parent":
        yield rules.OTHER_FRAME.at(motion.path, motion.pointer, says={"angvel_frame": "local"}, **values)
    if best.lag != 0.0:
        says = {"angvel_lag": f"{int(best.lag - 0.5):+d}"} if best.lag % 1.0 == 0.5 and best.lag != 0.5 else {}
        yield rules.OTHER_MOMENT.at(motion.path, motion.pointer, says=says, **values)
    if abs(best.slope / np.degrees(1.0) - 1) <= _EXACT:
        yield rules.IN_DEGREES.at(motion.path, motion.pointer, **values)
    elif abs(best.slope - 1) > _EXACT:
        near = {0.5: ": half the angle", 2.0: ": twice the angle", -1.0: ": the other way round"}
        near[1 / motion.fps] = ": per frame"
        guess = next((words for value, words in near.items() if abs(best.slope / value - 1) <= _EXACT), "")
        says = {"angvel_angle": "half"} if abs(best.slope - 0.5) <= _EXACT else {}
        yield rules.ANGLE_SCALED.at(motion.path, motion.pointer, guess=guess, says=says, **values)


_ROOT = (_check_position, _check_speed, _check_velocity, _check_yaw)
FAMILY = rules.family("FAMILY", (Need.CLIP,), *_ROOT, _check_columns, _check_jumps, _check_repeated, _check_velocities)
