"""RP115-RP118, RP200-RP204: what the six numbers of a rotation are, and what the network's rotations and their means say.

Means are those of unit columns, and of one motion in state and output.
"""

from collections.abc import Iterator

import numpy as np

from rigpact.contract.findings import Finding, Rule
from rigpact.contract.json_pointer import json_pointer
from rigpact.contract.layout import ROTATIONS, Layout
from rigpact.contract.rules.family import Need, family, findings_of
from rigpact.contract.rules.views.bundle import BundleView, columns_word, is_finite_float32, known, member, need
from rigpact.contract.rules.wording import and_more
from rigpact.contract.skeleton import (
    COLUMN_PAIRS,
    OUTPUT_MODES,
    identity_rot6d,
    rot6d_to_matrix,
    rotation_angle_rad,
    transposed,
)
from rigpact.contract.statistics import STD_FLOOR, FloatArray

COLUMNS_NOT_UNIT = Rule.of("""RP115 error rotation-statistics-not-unit
    {bone}, column {column}: Mu² + Std² of {mean} and {std} add up to {total:.3f}, but for columns of rotations they add up to
    1{more}
    hint: the statistics were taken from other data than rotation columns, or a mean was edited or scaled
    why: the mean pose is not a pose: normalised rotations come out shifted, and every limb with them""")
DEVIATION_INFLATED = Rule.of("""RP116 info rotation-deviation-inflated
    {bone}, column {column}: Mu² + Std² of {mean} and {std} add up to {total:.3f}, but for columns of rotations they add up to
    1{more}
    hint: a floor or a group's prior replaced the measured deviation; check that it is meant
    why: the network sees these channels smaller than the others, and learns them later or not at all""")
MEAN_POSES_DISAGREE = Rule.of("""RP117 error mean-poses-disagree
    {bone}: the mean pose of MuY is {angle_deg:.1f}° from that of MuX{more}; output and state are the same motion, one frame apart
    hint: export MuX and MuY from one run, with one bone order
    why: the state says where a bone is with one set of statistics and the output where it goes with another""")
OUTPUT_MEAN_NOT_OF_STATE = Rule.of("""RP118 error output-mean-not-of-state
    {bone}: MuY[{index}] = {found:.4g}, but MuX[{place}] = {expected:.4g}: {sigma:.3g} standard deviations apart{more}; output and
    state are the same motion, one frame apart
    hint: export MuX and MuY from one run; look for values that changed places or sign
    why: recorded poses are measured from this mean, and in delta and absolute mode it is part of every pose""")
COLUMNS_UNDECLARED = Rule.of("""RP200 warning rot6d-columns-undeclared
    meta.rot6d_spec.columns is absent: the engine takes X and Z
    hint: declare {"columns": ["X", "Z"]}
    why: most libraries store X and Y; read as X and Z every bone is turned by a quarter""")
COLUMNS_UNKNOWN = Rule.of("""RP201 error rot6d-columns-unknown
    rot6d columns {found} are not two different axes: the engine takes X and Z
    hint: name two of X, Y, Z, in the order in which they stand in the six numbers
    why: the decoder falls back to its default and decodes other axes than the encoder wrote""")
OUTPUT_MODE_UNDECLARED = Rule.of("""RP202 info output-mode-undeclared
    meta.rot6d_spec.output_mode is absent and means 'delta'; {evidence}
    hint: declare delta, residual or absolute
    why: three meanings of the network's rotations are in use; nothing in the network itself tells them apart
    about: output_mode""")
OUTPUT_MODE_UNKNOWN = Rule.of("""RP203 error output-mode-unknown
    output mode {found!r} is unknown (known: {known})
    hint: declare delta, residual or absolute
    why: an unknown mode falls back to delta, which turns every bone by the wrong rotation each frame""")
MEAN_POSE_READ_AS_DELTA = Rule.of("""RP204 error mean-pose-read-as-delta
    MuY is a mean pose, so output_mode cannot be 'delta': it turns {bone} by {angle_deg:.1f}° a frame ({turns:.1f} turns a second
    at {fps:g} fps; {count} of {bones} bones above {limit_deg:.3g}°)
    hint: declare meta.rot6d_spec.output_mode: 'residual' if the network adds to the identity, 'absolute' if it gives the next
    pose
    why: in delta mode the engine composes MuY onto the pose every frame: at a network output of zero each of these bones spins
    for ever
    about: output_mode""")

_SPEC = ("meta", "rot6d_spec")
_UNIT_SLACK = 0.1
"""How far mean² + deviation² may be from 1. Exact for one data set; trimmed or smoothed statistics lose a percent."""
_SAME_MOTION_RAD = np.radians(30.0)
"""Means of F_t and of F_{t+1} over the same clips differ by a step over the number of frames: far less than this."""
_SAME_MEAN_SIGMA = 0.5
"""The means of F_t and F_{t+1} differ by (last − first)/N a clip; no number is further from the mean than σ·sqrt(N), so over
clips of n frames on average they differ by 2σ/sqrt(n) at most: half a deviation from 16 frames on."""
_SAME_MEAN = 1e-3
"""Two means that were written with three decimals."""


def largest_mean_step_rad(fps: float) -> float:
    """The largest rotation that the mean of a bone's rotations from frame to frame can be.

    A full turn a second, 2·pi / fps. The steps of a bone add up to its last pose, which lies within one turn of its first
    pose. So one second of data keeps the mean of the steps below this, and training data is longer than a second.
    """
    return 2 * np.pi / fps


def mean_output_angles_rad(view: BundleView) -> FloatArray:
    """The rotation from the identity that MuY decodes to, for each bone; `Unread` if MuY cannot be read."""
    array = need(view.statistic("MuY", view.output))
    channels = array.values[need(array.layout, when=ROTATIONS in array.layout)[ROTATIONS].range]
    need(channels, when=len(channels) > 0 and len(channels) % 6 == 0 and is_finite_float32(channels))
    return rotation_angle_rad(rot6d_to_matrix(channels.reshape(-1, 6), view.columns))


def _check_spec(view: BundleView) -> Iterator[Finding]:
    declared, mode = member(view.meta, "rot6d_spec", "columns"), member(view.meta, "rot6d_spec", "output_mode")
    nearest = json_pointer(*_SPEC) if "rot6d_spec" in view.meta else "/meta"
    word = columns_word(declared)
    if word is None:
        yield COLUMNS_UNDECLARED.at(view.path, nearest)
    elif word not in COLUMN_PAIRS:
        yield COLUMNS_UNKNOWN.at(view.path, (*_SPEC, "columns"), found=declared)
    if mode is None:
        evidence = _evidence(view, known(lambda: mean_output_angles_rad(view)))
        yield OUTPUT_MODE_UNDECLARED.at(view.path, nearest, evidence=evidence)
    elif mode not in OUTPUT_MODES:
        yield OUTPUT_MODE_UNKNOWN.at(view.path, (*_SPEC, "output_mode"), found=mode, known=", ".join(OUTPUT_MODES))


def _evidence(view: BundleView, angles: FloatArray | None) -> str:
    if angles is None:
        return "MuY cannot be read, so nothing speaks for it or against it"
    worst, limit = np.degrees(angles.max()), np.degrees(largest_mean_step_rad(view.fps))
    if worst <= limit:
        return f"MuY agrees: no bone's mean is more than {worst:.2g}° from the identity"
    return f"MuY speaks against it: a mean of {worst:.0f}° from the identity is a pose, not a step of a frame"


def _check_mean_is_a_delta(view: BundleView) -> Iterator[Finding]:
    angles, limit = mean_output_angles_rad(view), largest_mean_step_rad(view.fps)
    worst = int(angles.argmax())
    if view.output_mode == "delta" and angles[worst] > limit:
        values = {"bone": view.bone(worst), "angle_deg": float(np.degrees(angles[worst])), "fps": view.fps}
        values |= {"turns": float(angles[worst] * view.fps / (2 * np.pi)), "limit_deg": float(np.degrees(limit))}
        place = ("MuY", need(view.output)[ROTATIONS].start + 6 * worst)
        count = int((angles > limit).sum())
        yield MEAN_POSE_READ_AS_DELTA.at(view.path, place, count=count, bones=len(angles), **values)


def _check_columns(view: BundleView) -> Iterator[Finding]:
    """Unit columns: E[v²] = 1, and E[v²] is mean² + deviation², summed over the three components."""
    for letter, layout in (("X", view.state), ("Y", view.output)):
        yield from findings_of((_check_sums,), view, letter, layout)


def _check_sums(view: BundleView, letter: str, layout: Layout | None) -> Iterator[Finding]:
    mean, std = view.finite(f"Mu{letter}", layout), view.finite(f"Std{letter}", layout)
    means, stds = (view.rotations_of(each.values, each.layout) for each in (mean, std))
    if letter == "Y" and _is_residual(view, means):
        means = means + identity_rot6d(view.columns)  # the columns of a step are those of the identity and a residual
    sums = (means**2 + stds**2).reshape(-1, 2, 3).sum(axis=-1)
    for rule, array, bad in (
        (COLUMNS_NOT_UNIT, mean, sums < 1 - _UNIT_SLACK),
        (DEVIATION_INFLATED, std, sums > 1 + _UNIT_SLACK),
    ):
        if bad.any():
            bone, column = np.unravel_index(int(np.argmax(np.where(bad, np.abs(sums - 1), 0.0))), sums.shape)
            index = mean.layout[ROTATIONS].start + 6 * int(bone) + 3 * int(column)
            values = {"bone": view.bone(int(bone)), "column": view.columns[column].upper()}
            values |= {name: f"{each.name}[{index}:{index + 3}]" for name, each in (("mean", mean), ("std", std))}
            more = and_more(int(bad.sum()) - 1, "columns")
            yield rule.at(view.path, (array.name, index), more=more, total=float(sums[bone, column]), **values)


def _is_residual(view: BundleView, means: FloatArray) -> bool:
    """The mean of residuals is near zero; the mean of a pose's columns is not. The nearer of the two shows what MuY holds."""
    return view.output_mode == "residual" and float(np.abs(means).mean()) < float(np.abs(means - 1 / 3).mean()) / 3


def _check_motion(view: BundleView) -> Iterator[Finding]:
    state, output, array = view.mean_pose, view.mean_output_pose, need(view.statistic("MuY", view.output))
    need(state, when=state.shape == output.shape)
    # whether MuY is the mean of residuals or of steps of a frame, not of poses
    is_step = view.output_mode == "delta" and np.median(mean_output_angles_rad(view)) <= largest_mean_step_rad(view.fps)
    if is_step or _is_residual(view, view.rotations_of(array.values, array.layout)):
        return
    angles, start = rotation_angle_rad(output @ transposed(state)), array.layout[ROTATIONS].start
    count = int((angles > _SAME_MOTION_RAD).sum())
    if count:
        bone = int(angles.argmax())
        values = {"bone": view.bone(bone), "angle_deg": float(np.degrees(angles[bone]))}
        more = and_more(count - 1, "bones")
        yield MEAN_POSES_DISAGREE.at(view.path, ("MuY", start + 6 * bone), more=more, **values)
    else:
        yield from _check_means(view)


def _check_means(view: BundleView) -> Iterator[Finding]:
    """Number by number: two that changed places within a bone turn it by less than the angle that another pose has."""
    sides = [
        [need(view.statistic(f"{part}{letter}", layout)) for part in ("Mu", "Std")]
        for letter, layout in (("X", view.state), ("Y", view.output))
    ]
    (expected, first), (found, second) = (
        [array.values[array.layout[ROTATIONS].range] for array in arrays] for arrays in sides
    )
    apart, widest = np.abs(found - expected), np.maximum(np.abs(first), np.abs(second))
    bad = np.flatnonzero(apart > _SAME_MEAN_SIGMA * widest + _SAME_MEAN)
    if len(bad):
        sigma = apart / np.maximum(widest, STD_FLOOR)
        worst = int(bad[np.argmax(sigma[bad])])
        place, index = (arrays[0].layout[ROTATIONS].start + worst for arrays in sides)
        values = {"index": index, "place": place, "sigma": float(sigma[worst]), "bone": view.bone(worst // 6)}
        values |= {"found": found[worst], "expected": expected[worst], "more": and_more(len(bad) - 1, "numbers")}
        yield OUTPUT_MEAN_NOT_OF_STATE.at(view.path, ("MuY", index), **values)


FAMILY = family(globals(), (Need.BUNDLE,), _check_columns, _check_motion, _check_spec, _check_mean_is_a_delta)
