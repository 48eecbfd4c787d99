"""Checks of training data for the IK network: varied poses, within the joint limits, consistent with the rig's
kinematics.

A data set is two arrays: contexts (N, 50) in metres and radians, not scaled, and rotation vectors (N, 69). Both arrays
are enough: the context contains the root's axes, so forward kinematics of the labels must give the effectors of the
context, under the conventions that the contract declares.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from rigpact.contract.conventions import Knob
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.blender_ik import CONTEXT as _CONTEXT
from rigpact.contract.systems.blender_ik import ROTATION_VECTORS
from rigpact.contract.systems.blender_ik_rig import BONES, EFFECTORS, TASKS
from rigpact.contract.systems.problem import Problem
from rigpact.reference_runtime.operations.definitions.quaternions import exponential, to_matrix
from rigpact.reference_runtime.operations.definitions.scaling import LENGTHS
from rigpact.reference_runtime.operations.geometry import cross, length, matrix_to_quat, quat_to_vector
from rigpact.reference_runtime.systems.blender_ik import context as told_by
from rigpact.reference_runtime.systems.blender_ik import stages as moved_by
from rigpact.reference_runtime.systems.blender_ik.kinematics import forward_kinematics

FEWEST_POSES, LEAST_DIFFERENT = 2, 0.05
"""At least two poses, and at least one pose in twenty must be new."""
KINEMATICS_M, BEYOND_LIMIT_RAD, STILL = 1e-4, np.deg2rad(0.1), 1e-6
_CONSTANT_BY_CONTRACT = ("_ground_normal", "_desired_contact")
_CONSTANT_OF_AN_UPRIGHT_ARMATURE = ("root_forward", "root_up")


def recording_problems(contract: Any, stages: Mapping[str, FloatArray]) -> Iterator[Problem]:
    """Problems of a recording with rotation vectors and their contexts (or scaled inputs)."""
    context = stages.get("context")
    if context is None and "model_input" in stages:
        context = told_by.denormalised(stages["model_input"], contract)
    if context is not None and "rotations" in stages:
        rotations = stages["rotations"].astype(np.float64)
        yield from data_problems(context.astype(np.float64), rotations, contract)


def data_problems(
    context: FloatArray, rotations: FloatArray, contract: Any, held_out: FloatArray | None = None
) -> Iterator[Problem]:
    """All problems of a data set under a contract; `held_out` are the contexts (M, 50) of the test set."""
    wanted = (("context", context, _CONTEXT.width), ("rotations", rotations, 3 * len(BONES)))
    shapes = [(name, rows.shape, width) for name, rows, width in wanted if rows.ndim != 2 or rows.shape[1] != width]
    for name, shape, width in shapes:
        yield Problem(name, f"shape {shape}", f"(N, {width})", "numbers would be read as others")
    if not shapes and not len(context) == len(rotations) > 0:
        yield Problem("rotations", f"{len(rotations)} rows", f"{len(context)}, one per context", "no row has its label")
    elif not shapes and not (np.isfinite(context).all() and np.isfinite(rotations).all()):
        yield Problem("context, rotations", "a value that is not finite", "numbers", "one such row ends the training")
    elif not shapes:
        yield from _variety_problems(context, rotations, contract)
        yield from _label_problems(rotations, _chosen(contract, moved_by.LIMIT_SET)(contract.numbers))
        yield from _kinematics_problems(context, rotations, contract)
        yield from _motion_problems(context)
        if held_out is not None:
            yield from _leak_problems(context, held_out)


def _chosen(contract: Any, knob: Knob) -> Any:
    return knob.effects[contract.conventions[knob.name]]


def _variety_problems(context: FloatArray, rotations: FloatArray, contract: Any) -> Iterator[Problem]:
    different = len(np.unique(np.round(rotations, 6), axis=0))
    if different < max(FEWEST_POSES, LEAST_DIFFERENT * len(rotations)):
        yield Problem(
            "rotations", f"{different} different poses in {len(rotations)} rows",
            f"at least {max(FEWEST_POSES, round(LEAST_DIFFERENT * len(rotations)))}",
            "any loss on it is meaningless: a constant answers every row",
        )  # fmt: skip
        return
    limits = _chosen(contract, moved_by.LIMIT_SET)(contract.numbers)
    room = (limits[..., 1] - limits[..., 0]).reshape(-1) > STILL
    still = np.flatnonzero(room & (np.ptp(rotations, axis=0) < STILL))
    if still.size:
        names = ", ".join(ROTATION_VECTORS.address(int(place)) for place in still[:3])
        yield Problem(
            "rotations", f"{still.size} components that never move ({names})", "motion where the limits leave room",
            "the network learns to keep those joints stiff",
        )  # fmt: skip
    fixed = [_CONTEXT.address(int(place)) for place in np.flatnonzero(np.ptp(context, axis=0) < STILL)]
    is_posed = contract.conventions[told_by.ROOT_FRAME.name] == "posed_hips"
    constant = _CONSTANT_BY_CONTRACT + (() if is_posed else _CONSTANT_OF_AN_UPRIGHT_ARMATURE)
    dead = [name for name in fixed if not name.split("[")[0].endswith(constant)]
    if dead:
        yield Problem(
            "context", f"{len(dead)} inputs that never change ({', '.join(dead[:3])})", "inputs that carry something",
            "their weights stay as they were drawn, and the first other value at run time is noise",
        )  # fmt: skip


def _label_problems(rotations: FloatArray, limits_rad: FloatArray) -> Iterator[Problem]:
    vectors = rotations.reshape(-1, len(BONES), 3).astype(np.float64)
    beyond = np.maximum(vectors - limits_rad[..., 1], limits_rad[..., 0] - vectors).max(axis=0)
    bone, axis = np.unravel_index(int(np.argmax(beyond)), beyond.shape)
    if beyond[bone, axis] > BEYOND_LIMIT_RAD:
        yield Problem(
            f"rotations/{BONES[bone]}[{axis}]", f"{np.rad2deg(beyond[bone, axis]):.1f} degrees beyond its limit",
            "labels within the limits", "the limit loss and the pose loss pull against each other; the clamp undoes the pose",
        )  # fmt: skip
    angles = length(vectors)[..., 0]
    row, bone = np.unravel_index(int(np.argmax(angles)), angles.shape)
    if angles[row, bone] > np.pi + STILL:
        shorter = ", ".join(f"{value:.3f}" for value in quat_to_vector(exponential(0.5 * vectors[row, bone])))
        yield Problem(
            f"rotations/{BONES[bone]}", f"an angle of {np.rad2deg(angles[row, bone]):.0f} degrees in row {row}",
            f"at most 180, ({shorter})", "the same rotation has two labels: take -q where w < 0 before the logarithm",
        )  # fmt: skip


def _kinematics_problems(context: FloatArray, rotations: FloatArray, contract: Any) -> Iterator[Problem]:
    reached = _told_of_labels(context, rotations, contract)
    told = context[:, : 6 * len(EFFECTORS)].reshape(len(context), -1, 6)[..., :3]
    distance = LENGTHS["euclidean"](reached - told)
    row, effector = np.unravel_index(int(np.argmax(distance)), distance.shape)
    if distance[row, effector] > KINEMATICS_M:
        yield Problem(
            f"context/{EFFECTORS[effector]}_position",
            f"{distance[row, effector]:.4f} m from where its label puts it in row {row}, {distance.mean():.4f} m on average",
            f"at most {KINEMATICS_M:g} m", "the effector loss teaches another geometry than the rig has",
        )  # fmt: skip


def _told_of_labels(context: FloatArray, rotations: FloatArray, contract: Any) -> FloatArray:
    """What a context must say of the effectors' positions (N, 5, 3), in whatever way the contract says it.

    The armature's own rotation follows from the root's axes, which the context tells in the world.
    """
    half = rotations.reshape(-1, len(BONES), 3) * _chosen(contract, moved_by.ROTATION_VECTOR)
    local = to_matrix(exponential(half * _chosen(contract, moved_by.KINEMATICS_SENSE)))
    chain, turn = _chosen(contract, moved_by.REST_ORIENTATION)(contract), _chosen(contract, moved_by.LOCAL_ORDER)
    heads, world = forward_kinematics(chain, local, np.zeros((len(local), 3)), turn)
    rig, bones = contract.numbers, told_by.EFFECTOR_BONES
    past_head = _chosen(contract, told_by.EFFECTOR_POINT) * rig.lengths_m[bones, None] * world[:, bones][..., 1]
    frame = _root_axes(context, contract)
    axes = {"rest_hips": rig.orientations[0], "posed_hips": world[:, 0], "armature": np.eye(3)}
    own = np.broadcast_to(axes[contract.conventions[told_by.ROOT_FRAME.name]], frame.shape)
    points = np.einsum("tab,tcb,tkc->tka", frame, own, heads[:, bones] + past_head)
    told = _chosen(contract, told_by.ROOT_RELATIVE)(points, np.zeros(3), matrix_to_quat(frame)[:, None])
    return np.asarray(told[:, _chosen(contract, told_by.EFFECTOR_ORDER)])


def _root_axes(context: FloatArray, contract: Any) -> FloatArray:
    """The root's axes as columns, (N, 3, 3): two are told, the third stands across."""
    forward, up = _chosen(contract, told_by.ROOT_AXES)
    axes = np.empty((len(context), 3, 3))
    axes[..., forward] = context[:, _CONTEXT["root_forward"].range]
    axes[..., up] = context[:, _CONTEXT["root_up"].range]
    across = 3 - forward - up
    axes[..., across] = cross(axes[..., (across + 1) % 3], axes[..., (across + 2) % 3])
    return axes


def _motion_problems(context: FloatArray) -> Iterator[Problem]:
    phase, task = context[:, _CONTEXT["phase"].start], context[:, _CONTEXT["task"].start]
    if phase.min() < 0.0 or phase.max() > 1.0:
        yield Problem("context/phase", f"{phase.min():g} to {phase.max():g}", "0 to 1", "another unit of the phase")
    known = (task == np.round(task)) & (task >= 0) & (task < len(TASKS))
    if not known.all():
        wrong = task[~known][0]
        yield Problem("context/task", f"{wrong:g}", f"a whole number from 0 to {len(TASKS) - 1}", "no such task")


def _leak_problems(context: FloatArray, held_out: FloatArray) -> Iterator[Problem]:
    seen = {row.tobytes() for row in np.round(context, 6) + 0.0}
    leaked = sum(row.tobytes() in seen for row in np.round(held_out, 6) + 0.0)
    if leaked:
        yield Problem(
            "held_out", f"{leaked} of {len(held_out)} rows that training sees", "none",
            "frames of one clip on both sides: the score tells what was memorised",
        )  # fmt: skip
