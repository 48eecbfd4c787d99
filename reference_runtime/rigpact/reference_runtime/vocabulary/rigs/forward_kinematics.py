"""Forward kinematics: rotation vectors of a rig's bones to the positions of their heads in the world."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from rigpact.contract.conventions import CodeHint
from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.declared.problems import Wrong
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.layout import Field, FieldKind, FieldLayout
from rigpact.contract.systems.stage import Bounds
from rigpact.reference_runtime.operations.definitions.quaternions import exponential, to_matrix, unit
from rigpact.reference_runtime.operations.precision import stored
from rigpact.reference_runtime.operations.rounding import gamma
from rigpact.reference_runtime.vocabulary.rigs.kinematics import (
    Chain,
    chain_of,
    forward_kinematics,
    is_a_tree,
    ways_from_parents,
)
from rigpact.reference_runtime.vocabulary.rigs.turns import (
    ROOT_WIDTH,
    VECTOR_CODE,
    VECTOR_LENGTHS,
    refuse_width,
    root_number,
    vector_length,
)
from rigpact.reference_runtime.vocabulary.rounding_bounds import wide

_BONE = 48
"""Operations of the longest chain: per bone a rotation, two matrix products, a sum."""
_TAKES = {"limited": 1, "as_answered": 0}
_SENSES = {"counterclockwise": 1.0, "clockwise": -1.0}
_RESTS = ("used", "ignored", "ignored_in_offsets")


def _local_first_below_root(rest: FloatArray, local: FloatArray) -> FloatArray:
    turned = local @ rest
    turned[..., 0, :, :] = rest[0] @ local[..., 0, :, :]
    return turned


_ORDERS: Mapping[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "rest_then_local": np.matmul,
    "local_then_rest": lambda rest, local: local @ rest,
    "local_then_rest_below_root": _local_first_below_root,
}
_BEGINS: Mapping[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "root": lambda root, _default: root,
    "default": lambda root, default: np.broadcast_to(default.reshape(3), root.shape),
}
_ARMATURES: Mapping[str, Callable[[FloatArray], FloatArray]] = {
    "applied": lambda turns: turns,
    "ignored": lambda turns: np.broadcast_to(np.eye(3), turns.shape),
}


def build(use: Use) -> Built:
    """of: rotation vectors as answered, the same within their limits, the root. W = W_parent (B_parentᵀ B) A."""
    answered, limited, root = use.inputs
    bones = use.word_list("bones")
    count = len(bones)
    refuse_width(use, 0, 3 * count, f"rotation vectors of {count} bones")
    refuse_width(use, 1, 3 * count, f"rotation vectors of {count} bones")
    refuse_width(use, 2, ROOT_WIDTH, "position, orientation, the armature's orientation")
    chains, tree = _chains(use, count)
    longest, reach = _size(tree)
    takes = use.choice("takes", _TAKES, "the stage whose rotations the kinematics take", _HINTS["takes"])
    vector = vector_length(use)
    sense = use.choice("sense", _SENSES, "which way the kinematics turn about a rotation vector", _HINTS["sense"])
    rest = use.choice(
        "rest_orientation", chains, "whether the kinematics know how bones are turned at rest", _HINTS["rest"]
    )
    order = use.choice("local_order", _ORDERS, "the order of a bone's rest turn and its rotation", _HINTS["order"])
    default = use.number("default_root", 3, is_table=True)
    begins = use.choice("begins", _BEGINS, "where the kinematics begin", _HINTS["begins"])
    armature = use.choice(
        "armature_rotation",
        _ARMATURES,
        "whether the kinematics begin with the armature's own rotation",
        _HINTS["armature"],
    )

    def details(frames: Frames) -> tuple[FloatArray, FloatArray]:
        """Heads (N, J, 3) and orientations (N, J, 3, 3) in the world."""
        vectors = wide(frames, (answered.name, limited.name)[takes.of(frames)]).reshape(-1, count, 3)
        local = to_matrix(exponential(vectors * vector.of(frames) * sense.of(frames)))
        place = wide(frames, root.name)
        start, turn = begins.of(frames)(place[:, :3], default.of(frames)), to_matrix(unit(place[:, 7:]))
        return forward_kinematics(
            frames.built(rest.of(frames)), local, start, order.of(frames), armature.of(frames)(turn)
        )

    def compute(frames: Frames) -> FloatArray:
        heads, _ = details(frames)
        return stored(heads.reshape(len(heads), -1))

    def bound(frames: Frames, rows: FloatArray, _upstream: Bounds) -> FloatArray:
        """Every bone above adds its rounding, times its distance from the head; then the sum with the root is rounded."""
        place = np.abs(wide(frames, root.name)[:, :3]).max(axis=1, keepdims=True)
        return np.broadcast_to(gamma(_BONE) * longest * reach + gamma(4) * place, rows.shape)

    space = use.table.get("space", root.fields.fields[0].space)
    fields = (Field(bone, 3 * at, 3, FieldKind.POSITION, "m", space) for at, bone in enumerate(bones))
    return Built(FieldLayout(tuple(fields)), compute, bound, details=details)


def _chains(use: Use, count: int) -> tuple[dict[str, Callable[[Any], Chain]], tuple[list[int], FloatArray]]:
    """What each reading makes of the rig, (contract) -> chain; the parents and the ways from them as declared."""
    parents, heads = (use.number(key, size, is_table=True) for key, size in (("parents", count), ("heads", 3 * count)))
    rest = root_number(use)
    numbers = use.value_of(parents).reshape(-1)
    if not is_a_tree(numbers):
        raise use.wrong(Wrong.NUMBERS, "parents", numbers.tolist(), "-1, then of each bone the place of one before it")
    declared = numbers.astype(int).tolist()

    def made(contract: Contract, reading: str) -> Chain:
        tree = contract.numbers[parents.path].reshape(-1).astype(int).tolist()
        places, axes = contract.numbers[heads.path].reshape(-1, 3), contract.numbers[rest.path].reshape(-1, 3, 3)
        chain = chain_of(tree, places, np.broadcast_to(np.eye(3), axes.shape) if reading == "ignored" else axes)
        return replace(chain, offsets=ways_from_parents(tree, places)) if reading == "ignored_in_offsets" else chain

    def reading_of(reading: str) -> Callable[[Any], Chain]:
        return lambda contract: made(contract, reading)

    ways = ways_from_parents(declared, use.value_of(heads).reshape(-1, 3))
    return {reading: reading_of(reading) for reading in _RESTS}, (declared, ways)


def _size(tree: tuple[list[int], FloatArray]) -> tuple[int, float]:
    """Bones in the longest chain; the longest way along a chain, rounded up to a power of two, so that products are exact."""
    parents, ways = tree
    depth, way = [1] * len(parents), [0.0] * len(parents)
    for bone, parent in enumerate(parents[1:], start=1):
        depth[bone] = depth[parent] + 1
        way[bone] = way[parent] + float(np.linalg.norm(ways[bone]))
    return max(depth), 2.0 ** math.ceil(math.log2(max(way))) if max(way) > 0.0 else 0.0


_HINTS: Mapping[str, Mapping[str, str]] = {
    "takes": {"as_answered": "the kinematics must see the clamped rotations, as training did"},
    "sense": {"clockwise": "the signs of sin(angle) in Rodrigues' matrix are the other way round"},
    "rest": {
        "ignored": "kinematics need each bone's rest orientation: W = W_parent (B_parent^T B) A",
        "ignored_in_offsets": "the way to a child is told in its parent's axes: B_parent^T (h - h_parent)",
    },
    "order": {
        "local_then_rest": "a rotation is local to the rest pose: B A, not A B",
        "local_then_rest_below_root": "a rotation is local to the rest pose in every bone, not in the root alone: B A, not A B",
    },
    "begins": {"default": "give the kinematics the hips' position; their default is (0, 0, 1)"},
    "armature": {"ignored": "a character turns with its armature: W_root = R B A, with R of matrix_world"},
}
_CODE = {
    "takes": {
        "limited": CodeHint("kinematics(clamped)", "forward_kinematics(clamped)"),
        "as_answered": CodeHint("kinematics(answer)", "forward_kinematics(answer)"),
    },
    "rotation_vector": VECTOR_CODE,
    "sense": {
        "counterclockwise": CodeHint("I + sin(a) K + (1 - cos(a)) K K", "Matrix.Rotation(angle, 3, axis)"),
        "clockwise": CodeHint("I - sin(a) K + (1 - cos(a)) K K", "Matrix.Rotation(-angle, 3, axis)"),
    },
    "rest_orientation": {
        "used": CodeHint(
            "W[parent] * transposed(B[parent]) * B[bone] * A", "parent.matrix @ rest_parent.inverted() @ rest"
        ),
        "ignored": CodeHint("W[parent] * A", "parent.matrix @ local"),
        "ignored_in_offsets": CodeHint("W[parent] * (h - h[parent])", "world_parent @ (head - head_parent)"),
    },
    "local_order": {
        "rest_then_local": CodeHint("B * A", "rest @ local"),
        "local_then_rest": CodeHint("A * B", "local @ rest"),
        "local_then_rest_below_root": CodeHint("bone == root ? B * A : A * B", "local @ rest below the root"),
    },
    "begins": {
        "root": CodeHint("P[root] = hips;", "forward_kinematics(turns, root=hips)"),
        "default": CodeHint("P[root] = {0, 0, 1};", "forward_kinematics(turns)"),
    },
    "armature_rotation": {
        "applied": CodeHint("W[root] = R * B * A;", "matrix_world @ rest @ local"),
        "ignored": CodeHint("W[root] = B * A;", "rest @ local"),
    },
}
OPERATION = Operation(
    "forward_kinematics",
    "rotation vectors of a rig's bones, the same within limits, and the root: positions of the bones' heads",
    build,
    {
        "bones": "their names, or a name of [names]; a parent stands before its children, the root first",
        "parents": "of each bone the place of its parent, -1 for the root",
        "heads": "where each bone begins at rest, (J, 3)",
        "rest": "each bone's orientation at rest, (J, 3, 3), columns are axes",
        "default_root": "where a side begins that is not given the root's position",
        "takes": ", ".join(_TAKES),
        "rotation_vector": ", ".join(VECTOR_LENGTHS),
        "sense": ", ".join(_SENSES),
        "rest_orientation": ", ".join(_RESTS),
        "local_order": ", ".join(_ORDERS),
        "begins": ", ".join(_BEGINS),
        "armature_rotation": ", ".join(_ARMATURES),
    },
    (3, 3),
    ("takes", "rotation_vector", "sense", "rest_orientation", "local_order", "begins", "armature_rotation"),
    code=_CODE,
)
