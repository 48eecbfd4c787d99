"""Conditions on the training data of a rig: varied poses within the limits, and inputs that fit the effectors of the labels.

A data set is two arrays: what the network is told (N, C), not scaled, and rotation vectors (N, 3 J), its labels.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.layout import FieldLayout
from rigpact.contract.systems.problem import Problem
from rigpact.reference_runtime.operations.definitions.quaternions import exponential
from rigpact.reference_runtime.operations.definitions.scaling import LENGTHS
from rigpact.reference_runtime.operations.geometry import length, quat_to_vector

FEWEST_POSES, LEAST_DIFFERENT = 2, 0.05
"""At least two poses, and at least one pose in twenty must be new."""
BEYOND_LIMIT_RAD, STILL = np.deg2rad(0.1), 1e-6


def is_varied(labels: FloatArray) -> bool:
    """Whether enough of the poses differ, to six decimals."""
    return _different(labels) >= _wanted(labels)


def _different(labels: FloatArray) -> int:
    return len(np.unique(np.round(labels, 6), axis=0))


def _wanted(labels: FloatArray) -> float:
    return max(FEWEST_POSES, LEAST_DIFFERENT * len(labels))


def label_problems(name: str, labels: FloatArray, limits: FloatArray, fields: FieldLayout) -> Iterator[Problem]:
    """Yield what is wrong with rotation vectors (N, 3 J) of joints with limits (J, 3, 2)."""
    if not is_varied(labels):
        yield Problem(
            name,
            f"{_different(labels)} different poses in {len(labels)} rows",
            f"at least {round(_wanted(labels))}",
            "any loss on it is meaningless: a constant answers every row",
        )
    else:
        yield from _still_problems(name, labels, limits, fields)
    names = [each.name for each in fields]
    vectors = labels.reshape(len(labels), -1, 3)
    beyond = np.maximum(vectors - limits[..., 1], limits[..., 0] - vectors).max(axis=0)
    bone, axis = np.unravel_index(int(np.argmax(beyond)), beyond.shape)
    if beyond[bone, axis] > BEYOND_LIMIT_RAD:
        yield Problem(
            f"{name}/{names[bone]}[{axis}]",
            f"{np.rad2deg(beyond[bone, axis]):.1f} degrees beyond its limit",
            "labels within the limits",
            "the limit loss and the pose loss pull against each other; the clamp undoes the pose",
        )
    angles = length(vectors)[..., 0]
    row, bone = np.unravel_index(int(np.argmax(angles)), angles.shape)
    if angles[row, bone] > np.pi + STILL:
        shorter = ", ".join(f"{value:.3f}" for value in quat_to_vector(exponential(0.5 * vectors[row, bone])))
        yield Problem(
            f"{name}/{names[bone]}",
            f"an angle of {np.rad2deg(angles[row, bone]):.0f} degrees in row {row}",
            f"at most 180, ({shorter})",
            "the same rotation has two labels: take -q where w < 0 before the logarithm",
        )


def _still_problems(name: str, labels: FloatArray, limits: FloatArray, fields: FieldLayout) -> Iterator[Problem]:
    room = (limits[..., 1] - limits[..., 0]).reshape(-1) > STILL
    still = np.flatnonzero(room & (np.ptp(labels, axis=0) < STILL))
    if still.size:
        names = ", ".join(fields.address(int(place)) for place in still[:3])
        yield Problem(
            name,
            f"{still.size} components that never move ({names})",
            "motion where the limits leave room",
            "the network learns to keep those joints stiff",
        )


def input_problems(name: str, rows: FloatArray, fields: FieldLayout, constant: Sequence[str]) -> Iterator[Problem]:
    """Yield the inputs (N, C) that never change; `constant`: how the names of those end that may not."""
    fixed = [fields.address(int(place)) for place in np.flatnonzero(np.ptp(rows, axis=0) < STILL)]
    dead = [each for each in fixed if not each.split("[")[0].endswith(tuple(constant))]
    if dead:
        yield Problem(
            name,
            f"{len(dead)} inputs that never change ({', '.join(dead[:3])})",
            "inputs that carry something",
            "their weights stay as they were drawn, and the first other value at run time is noise",
        )


def place_problems(
    name: str, told: FloatArray, reached: FloatArray, effectors: Sequence[str], within: float
) -> Iterator[Problem]:
    """Yield where the inputs put an effector (N, E, 3) elsewhere than its label does."""
    distance = LENGTHS["euclidean"](reached - told)
    row, place = np.unravel_index(int(np.argmax(distance)), distance.shape)
    if distance[row, place] > within:
        yield Problem(
            f"{name}/{effectors[int(place)]}_position",
            f"{distance[row, place]:.4f} m from where its label puts it in row {row}, {distance.mean():.4f} m on average",
            f"at most {within:g} m",
            "the effector loss teaches another geometry than the rig has",
        )


def motion_problems(name: str, phase: FloatArray, task: FloatArray, count: int) -> Iterator[Problem]:
    """Yield phases (N,) beyond a cycle, and numbers (N,) that are none of `count` tasks."""
    if phase.min() < 0.0 or phase.max() > 1.0:
        yield Problem(f"{name}/phase", f"{phase.min():g} to {phase.max():g}", "0 to 1", "another unit of the phase")
    known = (task == np.round(task)) & (task >= 0) & (task < count)
    if not known.all():
        yield Problem(f"{name}/task", f"{task[~known][0]:g}", f"a whole number from 0 to {count - 1}", "no such task")
