"""Rigs: where joints are along declared parents, P = P_parent + W_parent · offset, W = W_parent · R; what labels must be.

A data set of a rig is two arrays: what the network is told (N, C), not scaled, and rotation vectors (N, 3 J), its labels: varied
poses within the limits, and inputs that fit the effectors of the labels.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from rigpact.contract.declared.operation import Built, Use
from rigpact.contract.declared.page import DataSetFrames
from rigpact.contract.errors import Wrong
from rigpact.contract.skeleton import forward_kinematics
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract, Frames
from rigpact.contract.systems.layout import Field, FieldKind, FieldLayout
from rigpact.contract.systems.plan import Read, Step
from rigpact.contract.systems.stage import Bounds, DataCheck, Problem
from rigpact.reference_runtime.operations.geometry import cross, exponential, length, matrix_to_quat, quat_to_vector
from rigpact.reference_runtime.operations.scalars import LENGTHS, gamma, stored
from rigpact.reference_runtime.vocabulary.building import computed, operation, wide
from rigpact.reference_runtime.vocabulary.convert import (
    FORMS,
    SENSE,
    Form,
    kind_of,
    moved_matrices,
    own_variant,
    resized,
)

_READING = 8
"""Roundings of an entry of a matrix: products and sums of a quaternion's numbers, the lengths of six numbers' axes."""


def _is_a_tree(parents: FloatArray) -> bool:
    """Whether these are -1 and then, of each bone, the place of one before it."""
    after, place = parents[1:], np.arange(1, len(parents))
    before = (after >= 0) & (after < place) & (after == np.floor(after))
    return bool(parents[0] == -1 and before.all())


def chained_error(
    parents: Sequence[int],
    own: FloatArray,
    error: FloatArray,
    ways: FloatArray,
    ways_error: FloatArray,
    places: FloatArray,
    *,
    is_local: bool = True,
    by_parent: bool = True,
) -> FloatArray:
    """How far roundings move the places, (N, J): what moves a rotation moves all that it turns.

    error: of each rotation as a length, (N, J); ways_error: (J,); places: where the joints are. Lengths of matrices are spectral.
    """
    sizes, reach = _lengths_of(own), np.linalg.norm(ways, axis=-1)
    world, moved, found = sizes.copy(), error.copy(), np.empty(sizes.shape)
    far = np.abs(places).max(axis=2)
    found[:, 0] = gamma(2) * (far[:, 0] + reach[0]) + ways_error[0]
    for joint, parent in enumerate(parents[1:], start=1):
        size = sizes[:, joint]
        if is_local:
            world[:, joint] = world[:, parent] * size
            moved[:, joint] = moved[:, parent] * size + world[:, parent] * (error[:, joint] + gamma(12) * size)
        by = parent if by_parent else joint
        turned = (moved[:, by] + gamma(6) * world[:, by]) * reach[joint] + world[:, by] * ways_error[joint]
        found[:, joint] = found[:, parent] + turned + gamma(2) * (far[:, parent] + far[:, joint])
    return found


def _lengths_of(matrices: FloatArray) -> FloatArray:
    """A bound on how much longer matrices (..., 3, 3) make a vector: 1 for a rotation."""
    gram = np.swapaxes(matrices, -1, -2) @ matrices
    return np.asarray(np.sqrt(np.abs(gram).sum(axis=-1).max(axis=-1)))


def _joint_positions(use: Use) -> Built:
    """of = [rotations] or [rotations, root]: rotations of one kind, one for each joint; where the root is, (3,)."""
    source, *roots = use.inputs
    kind = kind_of(use)
    size, variants = FORMS[kind]
    count = source.fields.width // size
    if roots and roots[0].fields.width != 3:
        raise use.wrong(Wrong.WIDTH, "of", f"{roots[0].name}, {roots[0].fields.width} numbers", "3: where the root is")
    tree = use.value_of(use.number("parents", count, is_table=True)).reshape(-1)
    if not _is_a_tree(tree):
        raise use.wrong(Wrong.NUMBERS, "parents", tree.tolist(), "-1, then of each joint the place of one before it")
    above: list[int] = tree.astype(int).tolist()
    has_product = max(above) > 0 and use.table.get("rotations_in", "parent") == "parent"
    offsets = use.number("offsets", 3 * count, is_table=True)
    said = f"how the numbers of {source.name} hold a rotation"
    reading = use.choice("reads", variants, said, default=own_variant(kind, variants))
    said = f"whose axes the rotations of {source.name} are told in"
    space = use.choice("rotations_in", {"parent": True, "world": False}, said)
    order = use.knob(
        "product", {"parent_child": True, "child_parent": False}, "how a parent's rotation and a joint's own are multiplied",
        shows=lambda is_first: np.array([float(is_first or not has_product)]),
    )  # fmt: skip
    turned = use.knob("turned_by", {"parent": True, "own": False}, "the joint whose rotation turns an offset")
    sense = use.knob("sense", SENSE, "whether rotations or their inverses turn")

    def parts(frames: Frames) -> tuple[FloatArray, FloatArray]:
        """The matrix of each joint as it was given, (N, J, 3, 3), and its offset, (J, 3)."""
        own = sense.of(frames)(reading.of(frames).to_matrix(wide(frames, source.name, size)))
        return np.asarray(own), offsets.of(frames).reshape(count, 3)

    def places_of(frames: Frames) -> FloatArray:
        own, way = parts(frames)
        start = way[0] + (wide(frames, roots[0].name) if roots else 0.0)
        flags = {"is_local": space.of(frames), "parent_first": order.of(frames), "by_parent": turned.of(frames)}
        return forward_kinematics(above, own, way, start, **flags)[0]

    def bound(frames: Frames, rows: FloatArray, _upstream: Bounds) -> FloatArray:
        """Along the chain: the rotations as they are read, and every product."""
        own, way = parts(frames)
        read = moved_matrices(reading.of(frames), wide(frames, source.name, size))
        error = read + 3.0 * gamma(_READING) * np.maximum(_lengths_of(own), 1.0)
        places = rows.astype(np.float64).reshape(own.shape[:-1])
        flags = {"is_local": space.of(frames), "by_parent": turned.of(frames)}
        return np.repeat(chained_error(above, own, error, way, np.zeros(count), places, **flags), 3, axis=1)

    def planned(frames: Frames) -> Step:
        form, is_transposed = reading.of(frames), sense.word_of(frames) == "transposed"
        flags = space.of(frames), order.of(frames), turned.of(frames), is_transposed
        words = (len(use.inputs), *map(int, flags), *form.words(written=False), *above)
        numbers = [form.factors[0], *offsets.of(frames).reshape(-1)]
        return Step("joint_positions", tuple(Read(each.name) for each in use.inputs), words, numbers)

    return computed(resized(source.fields, size, 3, FieldKind.POSITION), places_of, bound, planned)


JOINT_POSITIONS = operation(
    "joint_positions", _joint_positions, (1, 2), choices=("reads", "rotations_in"), readings=tuple(Form)
)


FEWEST_POSES, LEAST_DIFFERENT = 2, 0.05
"""At least two poses, and at least one pose in twenty must be new."""
BEYOND_LIMIT_RAD, STILL = np.deg2rad(0.1), 1e-6


def judged(contract: Contract, rows: Mapping[str, FloatArray], check: DataCheck) -> Iterator[Problem]:
    """What is wrong with labels, and with what the network is told beside them.

    The stage `moved_by` places the bones by the stage that limits the labels and by the root: position, orientation, the
    armature's; the context has effectors (position, orientation of each), the root and others, and tells the root's axes.
    """
    told, labels = (rows[name].astype(np.float64) for name in (check.of, check.labels))
    graph, fields = contract.system.graph, contract.fields(check.of)
    [limited] = (stage for stage in graph if stage.needs == (check.labels,))
    ends = np.full((2, labels.shape[1]), 1e6) * [[-1.0], [1.0]]
    limits = np.moveaxis(limited.computed(DataSetFrames(contract, {check.labels: ends})).reshape(2, -1, 3), 0, -1)
    yield from label_problems(check.labels, labels, limits, contract.fields(check.labels))
    said = _told_of_labels(contract, check, labels, np.broadcast_to(np.eye(3), (len(labels), 3, 3)))
    constant = ["_ground_normal", "_desired_contact"]
    if (np.ptp(_root_axes(said, fields), axis=0) < STILL).all():
        constant += ["root_forward", "root_up"]  # of an upright armature
    different, wanted = _poses(labels)
    if different >= wanted:
        yield from input_problems(check.of, told, fields, constant)
    # the armature's own rotation follows from the root's axes, which the context tells in the world
    armature = _root_axes(told, fields) @ np.swapaxes(_root_axes(said, fields), 1, 2)
    said = _told_of_labels(contract, check, labels, armature)
    yield from place_problem(check, _positions(fields), told, said)
    yield from motion_problems(check.of, told[:, -2], told[:, -1], int(fields["task"].high or 0) + 1)


def _told_of_labels(contract: Contract, check: DataCheck, labels: FloatArray, armature: FloatArray) -> FloatArray:
    """What the context would be of a rig in these poses, whose hips are at the origin; armature: its rotation (N, 3, 3)."""
    graph, bones = contract.system.graph, [each.name for each in contract.fields(check.moved_by)]
    moved = [bones.index(each.name.removesuffix("_position")) for each in _positions(contract.fields(check.of))]
    kinematics, context = graph[check.moved_by], graph[check.of]
    whole = np.hstack([np.zeros((len(labels), 6)), np.ones((len(labels), 1)), matrix_to_quat(armature)])
    stands = DataSetFrames(contract, dict(zip(kinematics.needs, (labels, labels, whole), strict=True)))
    part: Any = kinematics.details(stands) if kinematics.details else None
    parents = contract.numbers["numbers.parents"].astype(int).tolist()
    places, world = forward_kinematics(parents, part("turned"), part("ways").reshape(-1, 3), np.zeros((len(labels), 3)))
    effectors = np.concatenate([places[:, moved], matrix_to_quat(world[:, moved])], axis=2).reshape(len(labels), -1)
    root = np.hstack([places[:, 0], matrix_to_quat(world[:, 0]), matrix_to_quat(armature)])
    others = [np.zeros((len(labels), contract.fields(name).width)) for name in context.needs[2:]]
    given = dict(zip(context.needs, map(stored, (effectors, root, *others)), strict=True))
    return context.computed(DataSetFrames(contract, given)).astype(np.float64)


def _positions(fields: FieldLayout) -> list[Field]:
    return [each for each in fields if each.kind is FieldKind.POSITION]


def _root_axes(told: FloatArray, fields: FieldLayout) -> FloatArray:
    """The root's axes as columns, (N, 3, 3): forward, up, and what stands across."""
    forward, up = (told[:, fields[name].range] for name in ("root_forward", "root_up"))
    return np.stack([forward, up, cross(forward, up)], axis=-1)


def _poses(labels: FloatArray) -> tuple[int, float]:
    """How many poses differ, to six decimals, and how many have to."""
    return len(np.unique(np.round(labels, 6), axis=0)), max(FEWEST_POSES, LEAST_DIFFERENT * len(labels))


def label_problems(name: str, labels: FloatArray, limits: FloatArray, fields: FieldLayout) -> Iterator[Problem]:
    """Yield what is wrong with rotation vectors (N, 3 J) of joints with limits (J, 3, 2)."""
    different, wanted = _poses(labels)
    if different < wanted:
        yield Problem(
            name,
            f"{different} different poses in {len(labels)} rows",
            f"at least {round(wanted)}",
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


def place_problem(
    check: DataCheck, positions: Sequence[Field], told: FloatArray, said: FloatArray
) -> Iterator[Problem]:
    """Yield where the inputs put an effector elsewhere than its label does."""
    distance = np.stack([LENGTHS["euclidean"](said[:, each.range] - told[:, each.range]) for each in positions], axis=1)
    row, place = np.unravel_index(int(np.argmax(distance)), distance.shape)
    if distance[row, place] > check.within:
        yield Problem(
            f"{check.of}/{positions[int(place)].name}",
            f"{distance[row, place]:.4f} m from where its label puts it in row {row}, {distance.mean():.4f} m on average",
            f"at most {check.within:g} m",
            "the effector loss teaches another geometry than the rig has",
        )


def motion_problems(name: str, phase: FloatArray, task: FloatArray, count: int) -> Iterator[Problem]:
    """Yield phases (N,) beyond a cycle, and numbers (N,) that are none of `count` tasks."""
    if phase.min() < 0.0 or phase.max() > 1.0:
        yield Problem(f"{name}/phase", f"{phase.min():g} to {phase.max():g}", "0 to 1", "another unit of the phase")
    known = (task == np.round(task)) & (task >= 0) & (task < count)
    if not known.all():
        yield Problem(f"{name}/task", f"{task[~known][0]:g}", f"a whole number from 0 to {count - 1}", "no such task")
