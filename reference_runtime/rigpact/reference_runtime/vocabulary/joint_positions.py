"""Joint positions: rotations along declared parents to places: P = P_parent + W_parent · offset, W = W_parent · R."""

from collections.abc import Sequence

import numpy as np

from rigpact.contract.declared.operation import Built, Use
from rigpact.contract.errors import Wrong
from rigpact.contract.skeleton import forward_kinematics
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Frames
from rigpact.contract.systems.layout import FieldKind
from rigpact.contract.systems.plan import Read, Step
from rigpact.contract.systems.stage import Bounds
from rigpact.reference_runtime.operations.scalars import gamma
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
