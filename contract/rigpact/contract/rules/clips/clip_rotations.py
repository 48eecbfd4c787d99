"""RP510-RP514: the six numbers of every bone in a raw clip: whether they are rotations, and whether they move like a body."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.findings import Finding, Rule
from rigpact.contract.json_pointer import json_pointer
from rigpact.contract.rotation6d import rotation_angle_rad, transposed
from rigpact.contract.rules.clips.root_motion import spikes
from rigpact.contract.rules.family import Family, Need, on_clips, rules_in
from rigpact.contract.rules.views.clip import ClipView
from rigpact.contract.rules.wording import first_of
from rigpact.contract.statistics import FloatArray

COLUMNS_NOT_UNIT = Rule.titled(
    "RP510 error rotation-columns-not-unit",
    message="frame {frame}, {bone}: a rotation column is {length:.6g} long, not 1{more}",
    hint="export columns of the rotation matrix without scale; round to no fewer than four decimals",
    why="statistics are taken of the numbers as they stand, while the engine re-normalises them: the two sides hold different"
    " poses",
)
COLUMNS_NOT_ORTHOGONAL = Rule.titled(
    "RP511 error rotation-columns-not-orthogonal",
    message="frame {frame}, {bone}: the two columns meet at {angle_deg:.3f}°, not at 90°{more}",
    hint="export two columns of one rotation matrix; a sheared bone or mixed-up columns give this",
    why="Gram–Schmidt straightens the second column on every read: the pose that is played is not the one exported",
)
COLUMNS_DEGENERATE = Rule.titled(
    "RP512 error rotation-columns-degenerate",
    message="frame {frame}, {bone}: {what}{more}",
    hint="a bone without rotation is the identity, not zeros; columns must point in different directions",
    why="no rotation can be decoded: the engine substitutes the previous frame's axis or its default, training another",
)
ROTATION_JUMPS = Rule.titled(
    "RP513 error rotation-jumps",
    message="frame {frame}, {bone}: turns {angle_deg:.0f}° in one frame{back}{more}",
    hint="look for a flipped column, an euler angle past its range, or a cut between two takes",
    why="the network learns the jump as motion, and its velocity saturates every scale",
)
FRAMES_REPEATED = Rule.titled(
    "RP514 warning frames-repeated",
    message="frame {frame} repeats the pose of frame {before} while the character moves before and after ({count} such frames of"
    " {total})",
    hint="sample at the rate of the animation; 30 frames a second written as 60 repeats every other one",
    why="the character moves in steps: velocities alternate between zero and double",
)

UNIT_TOLERANCE = 1e-3
"""Three decimals: each number is off by up to 5e-4, a column's length by at most sqrt(3) of that."""
_DEGENERATE = 1e-4
"""The engine's KINDA_SMALL_NUMBER: a shorter vector has no direction."""
_JUMP_RAD = np.pi / 2
"""Half of the half turn that a flipped column makes; no joint turns 5400° a second."""
_PULSE_RAD = _JUMP_RAD / 2
"""Who goes and comes back in one frame changes speed by twice the step."""


def check_clip_rotations(clip: ClipView) -> Iterator[Finding]:
    """Yield what is wrong with the rotations of a raw clip."""
    values = clip.shaped("BoneRotations", -1, 6)
    if values is None or clip.rotations is None or values.shape[1] == 0:
        return
    faults = column_faults(values)
    yield from _check_columns(clip, faults)
    if len(values) > 1 and not faults.degenerate.any():
        yield from _check_steps(clip, values, clip.rotations)


FAMILY = Family(__name__, rules_in(globals()), (Need.CLIP,), on_clips(check_clip_rotations))


@dataclass(frozen=True, eq=False)
class ColumnFaults:
    """lengths (…, 2), the cosine between the columns (…), and where no rotation can be decoded (…)."""

    lengths: FloatArray
    cosine: FloatArray
    degenerate: NDArray[np.bool_]


def column_faults(values: FloatArray) -> ColumnFaults:
    """Measure six numbers, (…, 6), as two columns."""
    columns = values.reshape(*values.shape[:-1], 2, 3)
    lengths = np.linalg.norm(columns, axis=-1)
    dots = np.sum(columns[..., 0, :] * columns[..., 1, :], axis=-1)
    product = np.maximum(lengths[..., 0] * lengths[..., 1], np.finfo(np.float64).tiny)
    cosine = np.clip(dots / product, -1, 1)
    perp = lengths[..., 1] * np.sqrt(1 - cosine**2)
    return ColumnFaults(lengths, cosine, (lengths[..., 0] < _DEGENERATE) | (perp < _DEGENERATE))


def _check_columns(clip: ClipView, faults: ColumnFaults) -> Iterator[Finding]:
    lengths, cosine, degenerate = faults.lengths, faults.cosine, faults.degenerate
    off_unit = np.abs(lengths - 1).max(axis=-1)
    places = (
        (COLUMNS_DEGENERATE, degenerate),
        (COLUMNS_NOT_UNIT, ~degenerate & (off_unit > UNIT_TOLERANCE)),
        (COLUMNS_NOT_ORTHOGONAL, ~degenerate & (np.abs(cosine) > 2 * UNIT_TOLERANCE)),
    )
    for rule, bad in places:
        for (frame, bone), more in first_of(bad, "in this clip"):
            length = lengths[frame, bone]
            empty = int(length[0] >= _DEGENERATE)
            parallel = empty and length[1] >= _DEGENERATE
            numbers = {
                "length": float(length[np.argmax(np.abs(length - 1))]),
                "angle_deg": float(np.degrees(np.arccos(cosine[frame, bone]))),
                "what": "the two columns are parallel" if parallel else f"column {empty + 1} has no length",
            }
            pointer = json_pointer("Frames", frame, "BoneRotations", bone)
            yield rule.at(clip.path, pointer, frame=frame, bone=clip.bone(bone), more=more, **numbers)


def _check_steps(clip: ClipView, values: FloatArray, rotations: FloatArray) -> Iterator[Finding]:
    steps = rotation_angle_rad(rotations[1:] @ transposed(rotations[:-1]))
    across = rotation_angle_rad(rotations[2:] @ transposed(rotations[:-2]))
    pulses = spikes(steps, across, _PULSE_RAD)
    jumps = pulses[1:] | ((steps > _JUMP_RAD) & ~pulses[:-1])
    for (frame, bone), more in first_of(jumps, "in this clip"):
        texts = {"frame": frame + 1, "bone": clip.bone(bone), "angle_deg": float(np.degrees(steps[frame, bone]))}
        texts["back"] = " and back in the next" if pulses[frame + 1, bone] else ""
        yield ROTATION_JUMPS.at(clip.path, ("Frames", frame + 1, "BoneRotations", bone), more=more, **texts)
    still = (values[1:] == values[:-1]).all(axis=(1, 2))
    lone = still[1:-1] & ~still[:-2] & ~still[2:]
    frames = np.flatnonzero(lone)
    if len(frames):
        frame = int(frames[0]) + 2
        numbers = {"frame": frame, "before": frame - 1, "count": len(frames), "total": len(values)}
        yield FRAMES_REPEATED.at(clip.path, ("Frames", frame, "BoneRotations"), **numbers)
