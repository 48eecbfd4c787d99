"""Joint positions: rotations along declared parents to places: P = P_parent + W_parent · offset, W = W_parent · R."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rigpact.contract.conventions import CodeHint
from rigpact.contract.declared.operation import Built, Input, Operation, Use
from rigpact.contract.declared.values import Choice, Number
from rigpact.contract.errors import Wrong
from rigpact.contract.skeleton import forward_kinematics
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Frames
from rigpact.contract.systems.layout import FieldKind
from rigpact.contract.systems.plan import Read, Step
from rigpact.contract.systems.stage import Bounds
from rigpact.reference_runtime.operations.geometry import transposed
from rigpact.reference_runtime.operations.scalars import gamma, stored
from rigpact.reference_runtime.vocabulary.code_hints import CODE_HINTS
from rigpact.reference_runtime.vocabulary.rounding_bounds import wide
from rigpact.reference_runtime.vocabulary.turning.convert import (
    FORMS,
    Form,
    kind_of,
    moved_matrices,
    own_variant,
    resized,
)

_ROTATIONS_IN = {"parent": True, "world": False}
_PRODUCTS: Mapping[str, bool] = {"parent_child": True, "child_parent": False}
_TURNED_BY: Mapping[str, bool] = {"parent": True, "own": False}
_SENSE = {"as_given": lambda matrix: matrix, "transposed": transposed}
_READING = 8
"""Roundings of an entry of a matrix: products and sums of a quaternion's numbers, the lengths of six numbers' axes."""


def is_a_tree(parents: FloatArray) -> bool:
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
    sizes, reach = lengths_of(own), np.linalg.norm(ways, axis=-1)
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


def lengths_of(matrices: FloatArray) -> FloatArray:
    """A bound on how much longer matrices (..., 3, 3) make a vector: 1 for a rotation."""
    gram = np.swapaxes(matrices, -1, -2) @ matrices
    return np.asarray(np.sqrt(np.abs(gram).sum(axis=-1).max(axis=-1)))


@dataclass(frozen=True, eq=False)
class _Joints:
    """One use: its inputs, the parent of each joint, and the places where sides differ."""

    source: Input
    root: Input | None
    size: int
    above: list[int]
    offsets: Number
    reading: Choice
    space: Choice
    order: Choice
    turned: Choice
    sense: Choice

    @property
    def count(self) -> int:
        return len(self.above)

    def rotations(self, frames: Frames) -> FloatArray:
        """The numbers of each rotation, (N, J, size)."""
        rows = wide(frames, self.source.name)
        return rows.reshape(len(rows), self.count, self.size)

    def way(self, frames: Frames) -> FloatArray:
        return self.offsets.of(frames).reshape(self.count, 3)

    def own(self, frames: Frames) -> FloatArray:
        """The matrix of each joint as it was given, (N, J, 3, 3)."""
        return np.asarray(self.sense.of(frames)(self.reading.of(frames).to_matrix(self.rotations(frames))))

    def compute(self, frames: Frames) -> FloatArray:
        own, way = self.own(frames), self.way(frames)
        start = way[0] + (0.0 if self.root is None else wide(frames, self.root.name))
        places, _ = forward_kinematics(
            self.above,
            own,
            way,
            start,
            is_local=self.space.of(frames),
            parent_first=self.order.of(frames),
            by_parent=self.turned.of(frames),
        )
        return stored(places.reshape(len(places), -1))

    def bound(self, frames: Frames, rows: FloatArray, _upstream: Bounds) -> FloatArray:
        """Along the chain: the rotations as they are read, and every product."""
        own, way = self.own(frames), self.way(frames)
        read = moved_matrices(self.reading.of(frames), self.rotations(frames))
        error = read + 3.0 * gamma(_READING) * np.maximum(lengths_of(own), 1.0)
        places = rows.astype(np.float64).reshape(own.shape[:-1])
        is_local, by_parent = self.space.of(frames), self.turned.of(frames)
        no_error = np.zeros(len(way))
        found = chained_error(self.above, own, error, way, no_error, places, is_local=is_local, by_parent=by_parent)
        return np.repeat(found, 3, axis=1)

    def planned(self, frames: Frames) -> Step:
        form, is_transposed = self.reading.of(frames), self.sense.word_of(frames) == "transposed"
        flags = self.space.of(frames), self.order.of(frames), self.turned.of(frames), is_transposed
        reads = [Read(each.name) for each in (self.source, self.root) if each is not None]
        words = (len(reads), *map(int, flags), *form.words(written=False), *self.above)
        return Step("joint_positions", tuple(reads), words, [form.factors[0], *self.way(frames).reshape(-1)])


def build(use: Use) -> Built:
    """of = [rotations] or [rotations, root]: rotations of one kind, one for each joint; where the root is, (3,)."""
    source, root = use.inputs[0], use.inputs[1] if len(use.inputs) > 1 else None
    kind = kind_of(use)
    size, variants = FORMS[kind]
    count = source.fields.width // size
    if root is not None and root.fields.width != 3:
        raise use.wrong(Wrong.WIDTH, "of", f"{root.name}, {root.fields.width} numbers", "3: where the root is")
    above = _parents(use, count)
    has_product = max(above) > 0 and use.table.get("rotations_in", "parent") == "parent"
    joints = _Joints(
        source, root, size, above, use.number("offsets", 3 * count, is_table=True),
        use.choice("reads", variants, f"how the numbers of {source.name} hold a rotation", default=own_variant(kind, variants)),
        use.choice("rotations_in", _ROTATIONS_IN, f"whose axes the rotations of {source.name} are told in", _HINTS["space"]),
        use.knob(
            "product", _PRODUCTS, "how a parent's rotation and a joint's own are multiplied", _HINTS["product"],
            shows=lambda is_first: np.array([float(is_first or not has_product)]),
        ),
        use.knob("turned_by", _TURNED_BY, "the joint whose rotation turns an offset", _HINTS["turned_by"]),
        use.knob("sense", _SENSE, "whether rotations or their inverses turn", _HINTS["sense"]),
    )  # fmt: skip
    layout = resized(source.fields, size, 3, FieldKind.POSITION)
    return Built(layout, joints.compute, joints.bound, planned=joints.planned)


def _parents(use: Use, count: int) -> list[int]:
    tree = use.value_of(use.number("parents", count, is_table=True)).reshape(-1)
    if not is_a_tree(tree):
        raise use.wrong(Wrong.NUMBERS, "parents", tree.tolist(), "-1, then of each joint the place of one before it")
    found: list[int] = tree.astype(int).tolist()
    return found


_HINTS = {
    "space": {
        "world": "rotations are of the world already: they are not multiplied along the chain",
        "parent": "rotations are local to the parent: W = W_parent R",
    },
    "product": {"child_parent": "the joint's own rotation turns last there: W = R W_parent"},
    "sense": {"transposed": "rows of a matrix are taken for its columns, or the conjugates of the quaternions turn"},
    "turned_by": {"own": "an offset is told in the parent's axes: the joint's own rotation must not turn it"},
}
_CODE = {
    "reads": CODE_HINTS["convert"]["reads"],
    "rotations_in": {
        "parent": CodeHint("W[j] = W[parent[j]] * R[j];", "world[j] = world[parent] @ local[j]"),
        "world": CodeHint("W[j] = R[j];", "world = rotations"),
    },
    "product": {
        "parent_child": CodeHint("W[j] = W[parent[j]] * R[j];", "world[parent] @ local[j]"),
        "child_parent": CodeHint("W[j] = R[j] * W[parent[j]];", "local[j] @ world[parent]"),
    },
    "turned_by": {
        "parent": CodeHint("P[j] = P[p] + W[p] * offset[j];", "place[p] + world[p] @ offset[j]"),
        "own": CodeHint("P[j] = P[p] + W[j] * offset[j];", "place[p] + world[j] @ offset[j]"),
    },
    "sense": {
        "as_given": CodeHint("R", "R"),
        "transposed": CodeHint("transposed(R)", "R.mT"),
    },
}
OPERATION = Operation(
    "joint_positions", "rotations of joints, and where the root is: where each joint is, along declared parents", build,
    {
        "parents": "of each joint the place of its parent, -1 for the root, which stands first",
        "offsets": "from its parent to each joint in the parent's axes, (J, 3); of the root from where it is, or from 0",
        "reads": "the variant of the rotations, such as columns, interleaved, row_major, xyzw",
        "rotations_in": "parent: local to the parent; world: each in the world",
    },
    (1, 2), choices=("reads", "rotations_in"), code=_CODE, readings=tuple(Form),
)  # fmt: skip
