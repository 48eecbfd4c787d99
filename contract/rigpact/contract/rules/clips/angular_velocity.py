"""RP550-RP554: angular velocities against the rotations that they belong to, in clips and in teacher rows.

One number decides: the slope of the recorded vectors against the log map of the rotations. A slope of 1 is right, 0.5 is half
the angle, 57.3 is degrees. If no slope fits, the rules try another frame of reference and another moment.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.findings import Finding, Rule
from rigpact.contract.rotation6d import rotation_vector, transposed
from rigpact.contract.rules.clips.root_motion import fit_slope
from rigpact.contract.rules.family import Family, Need, on_clips, rules_in
from rigpact.contract.rules.views.clip import ClipView
from rigpact.contract.statistics import FloatArray

ANGLE_SCALED = Rule.titled(
    "RP550 error angular-velocity-scaled",
    message="{array}: {slope:.4f} times the rotations' angular velocity{guess} (fitted over {count} vectors, {rest:.2%} left"
    " over)",
    hint="use the full rotation vector: angle times axis, times fps",
    why="the network reads a character that moves at another speed than the engine's log map gives",
)
IN_DEGREES = Rule.titled(
    "RP551 error angular-velocity-in-degrees",
    message="{array}: {slope:.2f} times the rotations' angular velocity in radians a second: these are degrees",
    hint="export radians a second",
    why="every joint saturates its tanh scale: the network sees signs, no speeds",
)
OTHER_FRAME = Rule.titled(
    "RP552 error angular-velocity-in-bone-frame",
    message="{array} is given in the bone's own frame ({rest:.2%} left over), the contract's is the parent's ({parent_rest:.0%}"
    " left over)",
    hint="take log(R[k+1]·R[k-1]^T), not log(R[k-1]^T·R[k+1])",
    why="the axis is turned by the pose: the faster a limb moves, the more wrong the network's input is",
)
OTHER_MOMENT = Rule.titled(
    "RP553 error angular-velocity-lags",
    message="{array} belongs to {moment} ({rest:.2%} left over; of its own frame {parent_rest:.0%} are)",
    hint="take the central difference about the frame of the row",
    why="training reads the future and the game cannot know it, or the other way round reads stale speeds",
)
DISAGREES = Rule.titled(
    "RP554 error angular-velocity-disagrees",
    message="{array} is not the rotations' angular velocity: the best reading ({moment}, {frame} frame, {slope:.2f} times)"
    " leaves {rest:.0%} of it over",
    hint="export both from one animation, with one bone order",
    why="two of the network's inputs contradict each other in every frame",
)

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


@dataclass(frozen=True, eq=False)
class Motion:
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

    def reading(self, lag: float) -> FloatArray:
        """Velocities of frames 2 to T - 3 (as many as all readings share), taken `lag` frames later."""
        rows = np.arange(2, len(self.rotations) - 2)
        if lag == int(lag):
            return self.central[rows - 1 + int(lag)]
        return self.steps[rows + int(np.floor(lag))]


@dataclass(frozen=True)
class Reading:
    """How well one reading explains the recorded vectors."""

    lag: float
    frame: str
    slope: float
    rest: float


def check_clip_velocities(clip: ClipView) -> Iterator[Finding]:
    """Yield what is wrong with `BoneAngularVelocities` of a raw clip."""
    recorded = clip.shaped("BoneAngularVelocities", -1, 3)
    if recorded is None or clip.rotations is None or clip.fps is None or recorded.shape != clip.rotations.shape[:3]:
        return
    usable = np.ones(recorded.shape, dtype=bool)
    pointer = "/Frames/2/BoneAngularVelocities"
    motion = Motion(clip.path, pointer, "BoneAngularVelocities", clip.fps, clip.rotations, recorded, usable)
    yield from check_motion(motion)


FAMILY = Family(__name__, rules_in(globals()), (Need.CLIP,), on_clips(check_clip_velocities))


def check_motion(motion: Motion) -> Iterator[Finding]:
    """Yield at most one finding for each defect: scale, frame of reference, moment; or that no reading fits."""
    if len(motion.rotations) < _FEWEST_FRAMES:
        return
    own = _judge(motion, 0.0, "parent")
    if max(_rms(motion.recorded), _rms(motion.central)) < _STILL_RAD_S:
        return
    best = own if own.rest <= _FITS else min(_readings(motion), key=lambda reading: reading.rest)
    values = {"array": motion.array, "slope": best.slope, "rest": best.rest, "parent_rest": own.rest}
    values |= {"moment": _MOMENTS[best.lag], "frame": best.frame, "count": best_count(motion)}
    angle = {"angvel_angle": "half"} if abs(best.slope - 0.5) <= _EXACT else {}
    lag = {"angvel_lag": f"{int(best.lag - 0.5):+d}"} if best.lag % 1.0 == 0.5 and best.lag != 0.5 else {}
    if best.rest > _FITS:
        yield DISAGREES.at(motion.path, motion.pointer, **values)
        return
    if best.frame != "parent":
        yield OTHER_FRAME.at(motion.path, motion.pointer, says={"angvel_frame": "local"}, **values)
    if best.lag != 0.0:
        yield OTHER_MOMENT.at(motion.path, motion.pointer, says=lag, **values)
    if abs(best.slope / np.degrees(1.0) - 1) <= _EXACT:
        yield IN_DEGREES.at(motion.path, motion.pointer, **values)
    elif abs(best.slope - 1) > _EXACT:
        yield ANGLE_SCALED.at(motion.path, motion.pointer, guess=_guess(best.slope, motion.fps), says=angle, **values)


def best_count(motion: Motion) -> int:
    """How many vectors a fit uses."""
    return int(motion.usable[2:-2].all(axis=-1).sum())


def _readings(motion: Motion) -> Iterator[Reading]:
    for lag in sorted(_MOMENTS, key=abs):
        for frame in ("parent", "bone"):
            yield _judge(motion, lag, frame)


def _judge(motion: Motion, lag: float, frame: str) -> Reading:
    reference = motion.reading(lag)
    if frame == "bone":
        rows = np.arange(2, len(motion.rotations) - 2) + int(np.floor(lag))
        reference = (transposed(motion.rotations[rows]) @ reference[..., None])[..., 0]
    usable = motion.usable[2:-2]
    slope, rest = fit_slope(motion.recorded[2:-2] * usable, reference * usable)
    return Reading(lag, frame, slope, rest)


def _guess(slope: float, fps: float) -> str:
    near = {0.5: ": half the angle", 2.0: ": twice the angle", -1.0: ": the other way round", 1 / fps: ": per frame"}
    return next((words for value, words in near.items() if abs(slope / value - 1) <= _EXACT), "")


def _rms(vectors: FloatArray) -> float:
    return float(np.sqrt(np.mean(np.sum(vectors**2, axis=-1)))) if vectors.size else 0.0
