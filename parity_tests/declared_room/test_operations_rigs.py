"""Every reading of the operations on rigs, against kinematics and contexts that stand here, bone by bone and number by number."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from rigpact.contract.errors import UnusableInput

from .one_operation import (
    Array,
    Oracle,
    Subject,
    contract_of,
    judging_tests,
    offered,
)


def by_row(function: Callable[..., Any]) -> Oracle:
    """A function of one frame's vectors, all of the rows' own float type."""

    def oracle(*rows: Array) -> Array:
        kind = rows[0].dtype.type
        return np.array([[kind(number) for number in function(kind, *row)] for row in zip(*rows, strict=True)])

    return oracle


def toml(value: Any) -> str:
    """Numbers and names as they stand in a page."""
    return str(np.asarray(value).tolist()).replace("'", '"')


def product(a: Sequence[Any], b: Sequence[Any]) -> list[Any]:
    """Two quaternions xyzw, the second one turns first."""
    (x, y, z, w), (p, q, r, s) = a, b
    return [
        w * p + x * s + y * r - z * q,
        w * q - x * r + y * s + z * p,
        w * r + x * q - y * p + z * s,
        w * s - x * p - y * q - z * r,
    ]


def matrix(q: Sequence[Any]) -> Array:
    """The columns are where a unit quaternion xyzw turns the axes: q · axis · q'."""
    kind, (x, y, z, w) = type(q[0]), q
    back = [-x, -y, -z, w]
    axes = [[kind(place == axis) for place in range(3)] + [kind(0)] for axis in range(3)]
    return np.array([product(product(q, axis), back)[:3] for axis in axes]).T


def unit(q: Array) -> Array:
    return q / np.sqrt((q * q).sum())


def turn(vector: Array, twice: float = 1.0) -> list[Any]:
    """The quaternion of a rotation vector."""
    kind = vector.dtype.type
    angle = np.sqrt((vector * vector).sum())
    half = kind(0.5 * twice) * angle
    return [*(np.sin(half) / angle * vector), np.cos(half)]


def rest_axes(count: int) -> Array:
    """Some orientations, columns are axes."""
    random = np.random.default_rng(11)
    return np.array([matrix(list(unit(random.normal(size=4)))) for _ in range(count)])


BONES = ["Hips", "LeftHand", "RightHand", "LeftFoot", "RightFoot", "Head"]
PARENTS = [-1, 0, 0, 1, 2, 4]
REST = rest_axes(len(BONES))
HEADS = np.round(np.random.default_rng(12).normal(0.0, 0.4, (len(BONES), 3)), 3)
LENGTHS = [0.3, 0.4, 0.5, 0.6, 0.7, 0.8]
ROOT = '{ name = "root", size = 11 }'
PLACE = 0.7
"""How far from the origin things are, m."""


def roots(random: np.random.Generator, count: int) -> Array:
    """A place, and two unit quaternions."""
    quaternions = random.normal(size=(count, 2, 4))
    quaternions /= np.linalg.norm(quaternions, axis=-1, keepdims=True)
    return np.hstack([random.normal(0.0, PLACE, (count, 3)), quaternions.reshape(count, 8)]).astype(np.float32)


def root_axes(kind: Any, root: Array, frame: str) -> Array:
    """The axes that effectors are told in."""
    armature = matrix(list(unit(root[7:])))
    return {
        "at_rest": armature @ REST[0].astype(kind),
        "posed": matrix(list(unit(root[3:7]))),
        "armature": armature,
    }[frame]


# ---- bone_quaternions


def bone_turns(twice: float = 1.0, order: Sequence[int] = (0, 1, 2, 3)) -> Oracle:
    def of_row(_kind: Any, vectors: Array) -> Iterator[Any]:
        for start in (0, 3):
            q = turn(vectors[start : start + 3], twice)
            yield from (q[place] for place in order)

    return by_row(of_row)


def drawn(**sizes: float) -> Callable[[np.random.Generator, int], Mapping[str, Array]]:
    """Random rows of six numbers."""
    return lambda random, count: {
        name: random.normal(0.0, size, (count, 6)).astype(np.float32) for name, size in sizes.items()
    }


BONE_QUATERNIONS = Subject(
    "bone_quaternions",
    '{ name = "v", names = ["a", "b"], size = 3 }',
    'operation = "bone_quaternions", of = "v", rotation_vector = "norm_is_angle", quaternion_order = "xyzw"',
    drawn(v=1.0),
    bone_turns(),
    {
        "rotation_vector": {"norm_is_half_angle": bone_turns(2.0)},
        "quaternion_order": {"wxyz": bone_turns(order=(3, 0, 1, 2))},
    },
    is_rotation=True,
)

# ---- joint_limits

LIMITS = [-0.5, 0.75, -0.125, 0.25, -1.5, 0.0, -0.5, 0.75, -0.25, 0.125, 0.0, 1.5]
LEFT_TWICE = [*LIMITS[:6], *LIMITS[:6]]


def clamped(limits: Sequence[float]) -> Oracle:
    def of_row(kind: Any, vectors: Array) -> Iterator[Any]:
        for place, value in enumerate(vectors):
            yield min(max(value, kind(limits[2 * place])), kind(limits[2 * place + 1]))

    return by_row(of_row)


def exchanged(limits: Sequence[float]) -> list[float]:
    """y and z of both joints change places."""
    return [limits[6 * joint + 2 * axis + end] for joint in (0, 1) for axis in (0, 2, 1) for end in (0, 1)]


JOINT_LIMITS = Subject(
    "joint_limits",
    '{ name = "v", names = ["LeftArm", "RightArm"], size = 3 }',
    f'operation = "joint_limits", of = "v", limits = {toml(LIMITS)}, clamp = "applied"',
    drawn(v=1.0),
    clamped(LIMITS),
    {
        "clamp": {"none": by_row(lambda _kind, v: v)},
        "limits": {
            "in_degrees": clamped([end * 180.0 / math.pi for end in LIMITS]),
            "y_and_z_swapped": clamped(exchanged(LIMITS)),
            "right_as_left": clamped(LEFT_TWICE),
        },
    },
    is_moved=True,
)

# ---- scaled_by_kind


def scaled(angle: float = 3.0, height: float = 2.0, phase: float = 1.0, task: float = 1.0) -> Oracle:
    def of_row(kind: Any, row: Array) -> Iterator[Any]:
        yield from (value / kind(angle) for value in row[:3])
        yield row[3] / kind(height)
        yield from row[4:7]
        yield row[7] * kind(phase)
        yield row[8] * kind(task)

    return by_row(of_row)


CONTEXT_FIELDS = (
    '{ name = "turn", kind = "euler_xyz", size = 3, unit = "rad" }, { name = "height", unit = "m" }, '
    '{ name = "place", kind = "position", unit = "m" }, { name = "phase", unit = "cycle" }, '
    '{ name = "task", space = "number of the task", low = 0.0, high = 5.0 }'
)
SCALED_BY_KIND = Subject(
    "scaled_by_kind",
    f'{{ name = "x", fields = [{CONTEXT_FIELDS}] }}',
    'operation = "scaled_by_kind", of = "x", angles = 3.0, heights = 2.0, scaling = "divided", task_scale = "number", '
    'phase_unit = "cycle"',
    lambda random, count: {"x": random.normal(0.0, 2.0, (count, 9)).astype(np.float32)},
    scaled(),
    {
        "scaling": {"missing": scaled(1.0, 1.0)},
        "angles": {"none": scaled(1.0), "degrees": scaled(3.0 * math.pi / 180.0)},
        "heights": {"none": scaled(height=1.0)},
        "task_scale": {"over_the_last": scaled(task=0.2)},
        "phase_unit": {"radians": scaled(phase=2.0 * math.pi)},
    },
)

# ---- forward_kinematics


def heads(
    *,
    of: int = 1,
    twice: float = 1.0,
    rest: Array = REST,
    flat: bool = False,
    first: str = "none",
    at: Any = None,
    still: bool = False,
) -> Oracle:
    """Bone by bone. of: which vectors; first: the bones that turn before their rest turn; flat: ways as they stand."""

    def of_row(kind: Any, *inputs: Array) -> Iterator[Any]:
        vectors, root = inputs[of], inputs[2]
        own, places = rest.astype(kind), HEADS.astype(kind)
        turns = [matrix(turn(vectors[3 * bone : 3 * bone + 3], twice)) for bone in range(len(BONES))]
        armature = np.eye(3, dtype=kind) if still else matrix(list(unit(root[7:])))
        begin = root[:3] if at is None else np.array(at, kind)
        found = [begin]
        world = [armature @ (turns[0] @ own[0] if first == "every" else own[0] @ turns[0])]
        for bone, parent in enumerate(PARENTS[1:], start=1):
            between, way = own[parent].T @ own[bone], places[bone] - places[parent]
            found.append(found[parent] + world[parent] @ (way if flat else own[parent].T @ way))
            world.append(world[parent] @ (between @ turns[bone] if first == "none" else turns[bone] @ between))
        yield from np.concatenate(found)

    return by_row(of_row)


def vectors_and_roots(random: np.random.Generator, count: int) -> dict[str, Array]:
    """What is answered, the same within limits, the root."""
    answered = random.normal(0.0, 1.0, (count, 3 * len(BONES))).astype(np.float32)
    return {"answered": answered, "limited": np.clip(answered, -0.75, 0.75), "root": roots(random, count)}


NO_REST = np.broadcast_to(np.eye(3), REST.shape)
FORWARD_KINEMATICS = Subject(
    "forward_kinematics",
    f'{{ name = "answered", size = 18 }}, {{ name = "limited", size = 18 }}, {ROOT}',
    f'operation = "forward_kinematics", of = ["answered", "limited", "root"], bones = {toml(BONES)}, '
    f"parents = {toml(PARENTS)}, heads = {toml(HEADS.reshape(-1))}, rest = {toml(REST.reshape(-1))}, "
    'default_root = [0, 0, 1], takes = "limited", rotation_vector = "norm_is_angle", sense = "counterclockwise", '
    'rest_orientation = "used", local_order = "rest_then_local", begins = "root", armature_rotation = "applied"',
    vectors_and_roots,
    heads(),
    {
        "takes": {"as_answered": heads(of=0)},
        "rotation_vector": {"norm_is_half_angle": heads(twice=2.0)},
        "sense": {"clockwise": heads(twice=-1.0)},
        "rest_orientation": {"ignored": heads(rest=NO_REST), "ignored_in_offsets": heads(flat=True)},
        "local_order": {"local_then_rest": heads(first="every"), "local_then_rest_below_root": heads(first="below")},
        "begins": {"default": heads(at=(0.0, 0.0, 1.0))},
        "armature_rotation": {"ignored": heads(still=True)},
    },
    widest=300.0,
)
"""The bound takes every bone to be as far away as the longest chain reaches: eight times and more for a short one."""

# ---- reach_error

EFFECTORS = ["LeftHand", "RightHand", "LeftFoot", "RightFoot", "Head"]


def missed(length: Callable[[Any], Any], frame: str = "") -> Oracle:
    """The length of each effector's way to its target; frame: the axes in which targets are told, if not the world."""

    def of_row(kind: Any, positions: Array, targets: Array, root: Array) -> Iterator[Any]:
        for place in range(len(EFFECTORS)):
            wanted = targets[7 * place : 7 * place + 3]
            if frame:
                wanted = root_axes(kind, root, frame).T @ (wanted - root[:3])
            yield length(positions[3 * (place + 1) : 3 * (place + 2)] - wanted)

    return by_row(of_row)


def euclidean(way: Array) -> Any:
    return np.sqrt(way[0] * way[0] + way[1] * way[1] + way[2] * way[2])


def targets_of(random: np.random.Generator, count: int) -> Array:
    """Places and turns of five effectors; turns of at most about a right angle, so that float32 tells them well."""
    rows = random.normal(0.0, PLACE, (count, len(EFFECTORS), 7))
    rows[..., 6] = 2.0
    rows[..., 3:] /= np.linalg.norm(rows[..., 3:], axis=-1, keepdims=True)
    return rows.reshape(count, -1).astype(np.float32)


def reached_and_wanted(random: np.random.Generator, count: int) -> dict[str, Array]:
    positions = random.normal(0.0, PLACE, (count, 3 * len(BONES))).astype(np.float32)
    return {"positions": positions, "targets": targets_of(random, count), "root": roots(random, count)}


REACH_ERROR = Subject(
    "reach_error",
    f'{{ name = "positions", size = 18 }}, {{ name = "targets", size = 35 }}, {ROOT}',
    f'operation = "reach_error", of = ["positions", "targets", "root"], bones = {toml(BONES)}, '
    f"effectors = {toml(EFFECTORS)}, rest = {toml(REST.reshape(-1))}, "
    'target_space = "world", root_frame = "at_rest", measure = "euclidean"',
    reached_and_wanted,
    missed(euclidean),
    {
        "target_space": {"root_relative": missed(euclidean, "at_rest")},
        "root_frame": {"posed": missed(euclidean), "armature": missed(euclidean)},
        "measure": {
            "squared": missed(lambda v: v[0] * v[0] + v[1] * v[1] + v[2] * v[2]),
            "absolute_sum": missed(lambda v: abs(v[0]) + abs(v[1]) + abs(v[2])),
            "largest": missed(lambda v: max(map(abs, v))),
        },
    },
)
RELATIVE = Subject(
    "reach_error among the root's axes",
    REACH_ERROR.given,
    REACH_ERROR.stage.replace('target_space = "world"', 'target_space = "root_relative"'),
    reached_and_wanted,
    missed(euclidean, "at_rest"),
    {
        "target_space": {"world": missed(euclidean)},
        "root_frame": {"posed": missed(euclidean, "posed"), "armature": missed(euclidean, "armature")},
        "measure": {},
    },
)

# ---- effector_context

TASKS = ["walk", "reach", "grab"]


def blenders(angles: Sequence[Any]) -> list[Any]:
    """Of the two triples of one rotation the one whose sum is smaller."""
    kind = type(angles[0])
    half = [angle - kind(math.pi) * (kind(-1) if angle < 0 else kind(1)) for angle in angles]
    other = [half[0], -half[1], half[2]]
    return min(list(angles), other, key=lambda triple: float(sum(map(abs, triple))))


def about_x_first(m: Array) -> list[Any]:
    """m = Rz Ry Rx."""
    return [
        np.arctan2(m[2, 1], m[2, 2]),
        np.arctan2(-m[2, 0], np.sqrt(m[0, 0] * m[0, 0] + m[1, 0] * m[1, 0])),
        np.arctan2(m[1, 0], m[0, 0]),
    ]


def about_z_first(m: Array) -> list[Any]:
    """m = Rx Ry Rz."""
    return [
        np.arctan2(-m[1, 2], m[2, 2]),
        np.arctan2(m[0, 2], np.sqrt(m[1, 2] * m[1, 2] + m[2, 2] * m[2, 2])),
        np.arctan2(-m[0, 1], m[0, 0]),
    ]


def told(
    *,
    frame: str = "at_rest",
    way: Callable[[Array, Array], Array] = lambda axes, d: axes.T @ d,
    axes: tuple[int, int] = (1, 2),
    angles: Callable[[Array], list[Any]] = about_x_first,
    triple: Callable[[list[Any]], list[Any]] = blenders,
    w_first: bool = False,
    back: bool = False,
    among_root: bool = False,
    past: float = 0.0,
    order: Sequence[int] = (0, 1, 2, 3, 4),
    height: Callable[[Any, Any], Any] = lambda foot, ground: foot - ground,
    feet: Sequence[int] = (0, 1),
    flags: Sequence[int] = (4, 5),
    tasks: Sequence[float] = (0.0, 1.0, 2.0),
) -> Oracle:
    """The context of a frame, number by number."""

    def of_effector(kind: Any, row: Array, root: Array, place: int) -> Iterator[Any]:
        q = unit(row[[4, 5, 6, 3]] if w_first else row[3:])
        turned, own = matrix(list(q)), root_axes(kind, root, frame)
        yield from way(own, row[:3] + kind(past * LENGTHS[place + 1]) * turned[:, 1] - root[:3])
        m = turned.T if back else turned
        yield from triple(angles(own.T @ m if among_root else m))

    def of_row(kind: Any, effectors: Array, root: Array, ground: Array, motion: Array) -> Iterator[Any]:
        rows = effectors.reshape(5, 7)
        for place in order:
            yield from of_effector(kind, rows[place], root, place)
        own = root_axes(kind, root, frame)
        yield from own[:, axes[0]]
        yield from own[:, axes[1]]
        for foot in feet:
            block = ground[6 * foot : 6 * foot + 6]
            yield height(rows[2 + foot][2], block[0])
            yield from block[1:4]
            yield from (block[place] for place in flags)
        yield motion[0]
        yield kind(tasks[int(motion[1])])

    return by_row(of_row)


def scenes(random: np.random.Generator, count: int) -> dict[str, Array]:
    """Effectors, root, ground, phase and task."""
    ground = random.normal(0.0, 0.3, (count, 12)).astype(np.float32)
    motion = np.stack([random.random(count), random.integers(0, len(TASKS), count)], axis=1).astype(np.float32)
    return {"effectors": targets_of(random, count), "root": roots(random, count), "ground": ground, "motion": motion}


EFFECTOR_CONTEXT = Subject(
    "effector_context",
    f'{{ name = "effectors", size = 35 }}, {ROOT}, {{ name = "ground", size = 12 }}, {{ name = "motion", fields = ['
    '{ name = "phase", unit = "cycle" }, { name = "task", space = "number of the task" }] }',
    f'operation = "effector_context", of = ["effectors", "root", "ground", "motion"], bones = {toml(BONES)}, '
    f'effectors = {toml(EFFECTORS)}, feet = ["LeftFoot", "RightFoot"], tasks = {toml(TASKS)}, '
    f"rest = {toml(REST.reshape(-1))}, lengths = {toml(LENGTHS)}, "
    'root_frame = "at_rest", relative = "into_axes", root_axes = "y_forward_z_up", euler_order = "xyz", '
    'euler_triple = "smaller_sum", effector_quaternion = "xyzw", rotation_sense = "forward", rotation_space = "world", '
    'point = "head", effector_order = "as_declared", height = "above_ground", feet_order = "as_declared", '
    'contact_flags = "grounded_desired"',
    scenes,
    told(),
    {
        "root_frame": {"posed": told(frame="posed"), "armature": told(frame="armature")},
        "relative": {
            "out_of_axes": told(way=lambda axes, d: axes @ d),
            "translation_only": told(way=lambda _axes, d: d),
        },
        "root_axes": {"z_forward_y_up": told(axes=(2, 1)), "x_forward_z_up": told(axes=(0, 2))},
        "euler_order": {"zyx": told(angles=about_z_first)},
        "euler_triple": {"middle_within_90_deg": told(triple=list)},
        "effector_quaternion": {"wxyz": told(w_first=True)},
        "rotation_sense": {"inverse": told(back=True)},
        "rotation_space": {"root": told(among_root=True)},
        "point": {"tail": told(past=1.0)},
        "effector_order": {
            "pairs_reversed": told(order=(2, 3, 0, 1, 4)),
            "second_of_each_pair_first": told(order=(1, 0, 3, 2, 4)),
        },
        "height": {
            "ground_height": told(height=lambda _foot, ground: ground),
            "above_zero": told(height=lambda foot, _ground: foot),
        },
        "feet_order": {"reversed": told(feet=(1, 0))},
        "contact_flags": {"desired_grounded": told(flags=(5, 4))},
        "numbers": {"sorted_by_name": told(tasks=(2.0, 1.0, 0.0))},
    },
)
SUBJECTS = (BONE_QUATERNIONS, JOINT_LIMITS, SCALED_BY_KIND, FORWARD_KINEMATICS, REACH_ERROR, EFFECTOR_CONTEXT)
test_oracles, test_numbers, test_bounds = judging_tests(SUBJECTS, rows=(4, 4), frames=100, also=(RELATIVE,))


@pytest.mark.parametrize(
    ("given_vectors", "stage", "left"),
    [
        (
            '{ name = "v", names = ["a", "b"], size = 3 }',
            f'operation = "joint_limits", of = "v", limits = {toml(LIMITS)}, clamp = "applied"',
            {"limits": ("declared", "in_degrees", "y_and_z_swapped")},
        ),
        (
            '{ name = "x", kind = "euler_xyz" }',
            'operation = "scaled_by_kind", of = "x", angles = 1, heights = 1, scaling = "divided", '
            'task_scale = "number", phase_unit = "cycle"',
            {"heights": ("declared",)},
        ),
    ],
)
def test_a_reading_that_changes_nothing_is_not_offered(
    given_vectors: str, stage: str, left: Mapping[str, tuple[str, ...]]
) -> None:
    """Limits of the left side are not a cause where no joint has a side."""
    found = offered(given_vectors, stage)
    assert {key: found.get(key, values[:1]) for key, values in left.items()} == left


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (toml(PARENTS), toml([-1, 0, 3, 1, 2, 4]), "parents"),
        (toml(PARENTS), toml([0, 0, 0, 1, 2, 4]), "parents"),
        (toml(PARENTS), toml([-1, 0, 0, -1, 2, 4]), "parents"),
        (toml(PARENTS), toml([-1, 0, 0.5, 1, 2, 4]), "parents"),
        (toml(PARENTS), toml([-1, 0, -1e30, 1, 2, 4]), "parents"),
        ('{ name = "limited", size = 18 }', '{ name = "limited", size = 15 }', "limited, 15 numbers"),
        ('{ name = "root", size = 11 }', '{ name = "root", size = 7 }', "root, 7 numbers"),
    ],
)
def test_a_rig_that_cannot_be_moved_is_refused(old: str, new: str, says: str) -> None:
    """A bone whose parent comes later would hang on a place that is not computed yet."""
    subject = FORWARD_KINEMATICS
    assert old in subject.given + subject.stage
    with pytest.raises(UnusableInput, match=says):
        contract_of(subject.given.replace(old, new), subject.stage.replace(old, new))


def test_an_effector_that_is_no_bone_is_refused() -> None:
    """Else the distance of another bone would be called the hand's."""
    with pytest.raises(UnusableInput, match="LeftHnd"):
        contract_of(REACH_ERROR.given, REACH_ERROR.stage.replace('effectors = ["LeftHand"', 'effectors = ["LeftHnd"'))
