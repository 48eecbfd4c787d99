"""RP510-RP514, RP550-RP554: the rotations of every bone, and their angular velocities, in clips and teacher rows.

Of angular velocities, in clips and in teacher rows, one number decides: the slope of the recorded vectors against the log map
of the rotations. A slope of 1 is right, 0.5 is half the angle, 57.3 is degrees. If no slope fits, the rules try another frame
of reference and another moment.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.findings import Finding, Rule
from rigpact.contract.rules.clips.root_and_feet import fit_slope, rms, spikes
from rigpact.contract.rules.family import Need, family
from rigpact.contract.rules.views.bundle import need
from rigpact.contract.rules.views.motion import ClipView
from rigpact.contract.rules.wording import at_first
from rigpact.contract.skeleton import rotation_angle_rad, rotation_vector, transposed
from rigpact.contract.statistics import FloatArray

COLUMNS_NOT_UNIT = Rule.of("""RP510 error rotation-columns-not-unit
    frame {frame}, {bone}: a rotation column is {length:.6g} long, not 1{more}
    hint: export columns of the rotation matrix without scale; round to no fewer than four decimals
    why: statistics are taken of the numbers as they stand, while the engine re-normalises them: the two sides hold different
    poses""")
COLUMNS_NOT_ORTHOGONAL = Rule.of("""RP511 error rotation-columns-not-orthogonal
    frame {frame}, {bone}: the two columns meet at {angle_deg:.3f}°, not at 90°{more}
    hint: export two columns of one rotation matrix; a sheared bone or mixed-up columns give this
    why: Gram–Schmidt straightens the second column on every read: the pose that is played is not the one exported""")
COLUMNS_DEGENERATE = Rule.of("""RP512 error rotation-columns-degenerate
    frame {frame}, {bone}: {what}{more}
    hint: a bone without rotation is the identity, not zeros; columns must point in different directions
    why: no rotation can be decoded: the engine substitutes the previous frame's axis or its default, training another""")
ROTATION_JUMPS = Rule.of("""RP513 error rotation-jumps
    frame {frame}, {bone}: turns {angle_deg:.0f}° in one frame{back}{more}
    hint: look for a flipped column, an euler angle past its range, or a cut between two takes
    why: the network learns the jump as motion, and its velocity saturates every scale""")
FRAMES_REPEATED = Rule.of("""RP514 warning frames-repeated
    frame {frame} repeats the pose of frame {before} while the character moves before and after ({count} such frames of {total})
    hint: sample at the rate of the animation; 30 frames a second written as 60 repeats every other one
    why: the character moves in steps: velocities alternate between zero and double""")
ANGLE_SCALED = Rule.of("""RP550 error angular-velocity-scaled
    {array}: {slope:.4f} times the rotations' angular velocity{guess} (fitted over {count} vectors, {rest:.2%} left over)
    hint: use the full rotation vector: angle times axis, times fps
    why: the network reads a character that moves at another speed than the engine's log map gives""")
IN_DEGREES = Rule.of("""RP551 error angular-velocity-in-degrees
    {array}: {slope:.2f} times the rotations' angular velocity in radians a second: these are degrees
    hint: export radians a second
    why: every joint saturates its tanh scale: the network sees signs, no speeds""")
OTHER_FRAME = Rule.of("""RP552 error angular-velocity-in-bone-frame
    {array} is given in the bone's own frame ({rest:.2%} left over), the contract's is the parent's ({parent_rest:.0%} left over)
    hint: take log(R[k+1]·R[k-1]^T), not log(R[k-1]^T·R[k+1])
    why: the axis is turned by the pose: the faster a limb moves, the more wrong the network's input is""")
OTHER_MOMENT = Rule.of("""RP553 error angular-velocity-lags
    {array} belongs to {moment} ({rest:.2%} left over; of its own frame {parent_rest:.0%} are)
    hint: take the central difference about the frame of the row
    why: training reads the future and the game cannot know it, or the other way round reads stale speeds""")
DISAGREES = Rule.of("""RP554 error angular-velocity-disagrees
    {array} is not the rotations' angular velocity: the best reading ({moment}, {frame} frame, {slope:.2f} times) leaves
    {rest:.0%} of it over
    hint: export both from one animation, with one bone order
    why: two of the network's inputs contradict each other in every frame""")

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
        (COLUMNS_DEGENERATE, degenerate),
        (COLUMNS_NOT_UNIT, ~degenerate & (off_unit.max(axis=-1) > UNIT_TOLERANCE)),
        (COLUMNS_NOT_ORTHOGONAL, ~degenerate & (np.abs(cosine) > 2 * UNIT_TOLERANCE)),
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
    yield from at_first(ROTATION_JUMPS, clip.path, _BONE, jumps, "in this clip", "frame bone", **values)


def _check_repeated(clip: ClipView) -> Iterator[Finding]:
    _turned_deg(clip, 1)
    six = clip.shaped("BoneRotations", -1, 6)
    still = (six[1:] == six[:-1]).all(axis=(1, 2))
    frames = np.flatnonzero(still[1:-1] & ~still[:-2] & ~still[2:]) + 2
    if len(frames):
        values = {"frame": int(frames[0]), "before": int(frames[0]) - 1, "count": len(frames), "total": len(six)}
        yield FRAMES_REPEATED.at(clip.path, ("Frames", int(frames[0]), "BoneRotations"), **values)


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
        yield DISAGREES.at(motion.path, motion.pointer, **values)
        return
    if best.frame != "parent":
        yield OTHER_FRAME.at(motion.path, motion.pointer, says={"angvel_frame": "local"}, **values)
    if best.lag != 0.0:
        says = {"angvel_lag": f"{int(best.lag - 0.5):+d}"} if best.lag % 1.0 == 0.5 and best.lag != 0.5 else {}
        yield OTHER_MOMENT.at(motion.path, motion.pointer, says=says, **values)
    if abs(best.slope / np.degrees(1.0) - 1) <= _EXACT:
        yield IN_DEGREES.at(motion.path, motion.pointer, **values)
    elif abs(best.slope - 1) > _EXACT:
        near = {0.5: ": half the angle", 2.0: ": twice the angle", -1.0: ": the other way round"}
        near[1 / motion.fps] = ": per frame"
        guess = next((words for value, words in near.items() if abs(best.slope / value - 1) <= _EXACT), "")
        says = {"angvel_angle": "half"} if abs(best.slope - 0.5) <= _EXACT else {}
        yield ANGLE_SCALED.at(motion.path, motion.pointer, guess=guess, says=says, **values)


FAMILY = family(globals(), (Need.CLIP,), _check_columns, _check_jumps, _check_repeated, _check_velocities)
