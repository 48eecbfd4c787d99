"""Every reading of the operations on rigs, against kinematics and contexts that stand here, bone by bone."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .one_operation import F32, MEASURES, Array, Oracle, Subject, back, drawn, judging_tests, matrix, turned, units


def toml(value: Any) -> str:
    return str(np.asarray(value).tolist()).replace("'", '"')


def unit(q: Array) -> Array:
    return q / np.sqrt(np.sum(q * q, axis=-1, keepdims=True))


def turn(vector: Array, twice: float = 1.0) -> Array:
    """The quaternions xyzw of rotation vectors."""
    angle = np.sqrt(np.sum(vector * vector, axis=-1, keepdims=True))
    half = vector.dtype.type(0.5 * twice) * angle
    return np.concatenate([np.sin(half) / angle * vector, np.cos(half)], axis=-1)


BONES = ["Hips", "LeftHand", "RightHand", "LeftFoot", "RightFoot", "Head"]
EFFECTORS, TASKS = ["LeftHand", "RightHand", "LeftFoot", "RightFoot", "Head"], ["walk", "reach", "grab"]
PARENTS = [-1, 0, 0, 1, 2, 4]
REST = matrix(unit(np.random.default_rng(11).normal(size=(len(BONES), 4))))
HEADS = np.round(np.random.default_rng(12).normal(0.0, 0.4, (len(BONES), 3)), 3)
LENGTHS = [0.3, 0.4, 0.5, 0.6, 0.7, 0.8]
ROOT = '{ name = "root", size = 11 }'
PLACE = 0.7
"""How far from the origin things are, m."""
LIMITS = [-0.5, 0.75, -0.125, 0.25, -1.5, 0.0, -0.5, 0.75, -0.25, 0.125, 0.0, 1.5]
EXCHANGED = [LIMITS[6 * joint + 2 * axis + end] for joint in (0, 1) for axis in (0, 2, 1) for end in (0, 1)]


def roots(random: np.random.Generator, count: int) -> Array:
    return np.hstack([random.normal(0.0, PLACE, (count, 3)).astype(F32), units(random, count, 2)])


def root_axes(root: Array, frame: str) -> Array:
    """The axes that effectors are told in."""
    if frame == "posed":
        return matrix(unit(root[:, 3:7]))
    armature = matrix(unit(root[:, 7:]))
    return armature @ REST[0].astype(root.dtype) if frame == "at_rest" else armature


def bone_turns(twice: float = 1.0, order: Sequence[int] = (0, 1, 2, 3)) -> Oracle:
    return lambda v: turn(v.reshape(len(v), -1, 3), twice)[..., list(order)]


def clamped(limits: Sequence[float]) -> Oracle:
    low, high = np.array(limits[0::2]), np.array(limits[1::2])
    return lambda v: np.minimum(np.maximum(v, low.astype(v.dtype)), high.astype(v.dtype))


def scaled(angle: float = 3.0, height: float = 2.0, phase: float = 1.0, task: float = 1.0) -> Oracle:
    """Three angles, a height, a place, a phase, a task."""
    divisor, factor = np.array([angle] * 3 + [height] + [1.0] * 5), np.array([1.0] * 7 + [phase, task])
    return lambda x: x / divisor.astype(x.dtype) * factor.astype(x.dtype)


def heads(
    *,
    of: int = 1,
    twice: float = 1.0,
    rest: Array = REST,
    flat: bool = False,
    first: str = "none",
    at: Sequence[float] = (),
    still: bool = False,
) -> Oracle:
    """Bone by bone. of: which vectors; first: the bones that turn before their rest turn; flat: ways as they stand."""

    def oracle(*inputs: Array) -> Array:
        kind, root = inputs[0].dtype, inputs[2]
        own, places = rest.astype(kind), HEADS.astype(kind)
        turns = matrix(turn(inputs[of].reshape(len(root), -1, 3), twice))
        armature = np.eye(3, dtype=kind) if still else matrix(unit(root[:, 7:]))
        found = [np.tile(np.array(at, kind), (len(root), 1)) if at else root[:, :3]]
        world = [armature @ (turns[:, 0] @ own[0] if first == "every" else own[0] @ turns[:, 0])]
        for bone, parent in enumerate(PARENTS[1:], start=1):
            between, way = back(own[parent]) @ own[bone], places[bone] - places[parent]
            found.append(found[parent] + world[parent] @ (way if flat else back(own[parent]) @ way))
            world.append(world[parent] @ (between @ turns[:, bone] if first == "none" else turns[:, bone] @ between))
        return np.hstack(found)

    return oracle


def vectors_and_roots(random: np.random.Generator, count: int) -> dict[str, Array]:
    """What is answered, the same within limits, the root."""
    answered = random.normal(size=(count, 3 * len(BONES))).astype(F32)
    return {"answered": answered, "limited": np.clip(answered, -0.75, 0.75), "root": roots(random, count)}


def missed(measure: str = "euclidean", frame: str = "") -> Oracle:
    """The length of each effector's way to its target; frame: the axes in which targets are told, if not the world."""

    def oracle(positions: Array, targets: Array, root: Array) -> Array:
        wanted = targets.reshape(-1, 5, 7)[..., :3]
        if frame:
            wanted = turned(back(root_axes(root, frame))[:, None], wanted - root[:, None, :3])
        return MEASURES[measure](positions.reshape(-1, 6, 3)[:, 1:] - wanted)

    return oracle


def targets_of(random: np.random.Generator, count: int) -> Array:
    """Places and turns of five effectors; turns of at most about a right angle, so that float32 tells them well."""
    rows = random.normal(0.0, PLACE, (count, len(EFFECTORS), 7))
    rows[..., 6] = 2.0
    rows[..., 3:] = unit(rows[..., 3:])
    return rows.reshape(count, -1).astype(F32)


def reached_and_wanted(random: np.random.Generator, count: int) -> dict[str, Array]:
    positions = random.normal(0.0, PLACE, (count, 3 * len(BONES))).astype(F32)
    return {"positions": positions, "targets": targets_of(random, count), "root": roots(random, count)}


def smaller_sum(angles: Array) -> Array:
    """Of the two triples of one rotation the one whose sum is smaller."""
    half = angles - angles.dtype.type(math.pi) * np.where(angles < 0, -1, 1).astype(angles.dtype)
    other = half * np.array([1, -1, 1], angles.dtype)
    return np.where(np.sum(np.abs(other), -1, keepdims=True) < np.sum(np.abs(angles), -1, keepdims=True), other, angles)


def about_x_first(m: Array) -> Array:
    """m = Rz Ry Rx."""
    pitch = np.arctan2(-m[:, 2, 0], np.sqrt(m[:, 0, 0] * m[:, 0, 0] + m[:, 1, 0] * m[:, 1, 0]))
    return np.stack([np.arctan2(m[:, 2, 1], m[:, 2, 2]), pitch, np.arctan2(m[:, 1, 0], m[:, 0, 0])], -1)


def about_z_first(m: Array) -> Array:
    """m = Rx Ry Rz."""
    pitch = np.arctan2(m[:, 0, 2], np.sqrt(m[:, 1, 2] * m[:, 1, 2] + m[:, 2, 2] * m[:, 2, 2]))
    return np.stack([np.arctan2(-m[:, 1, 2], m[:, 2, 2]), pitch, np.arctan2(-m[:, 0, 1], m[:, 0, 0])], -1)


def told(
    *,
    frame: str = "at_rest",
    way: Callable[[Array, Array], Array] = lambda axes, d: turned(back(axes), d),
    axes: tuple[int, int] = (1, 2),
    angles: Callable[[Array], Array] = about_x_first,
    triple: Callable[[Array], Array] = smaller_sum,
    w_first: bool = False,
    inverse: bool = False,
    among_root: bool = False,
    past: float = 0.0,
    order: Sequence[int] = (0, 1, 2, 3, 4),
    height: Callable[[Any, Any], Any] = lambda foot, ground: foot - ground,
    feet: Sequence[int] = (0, 1),
    flags: Sequence[int] = (4, 5),
    tasks: Sequence[float] = (0.0, 1.0, 2.0),
) -> Oracle:
    """The context of a frame, effector by effector, then axes, feet, phase and task."""

    def oracle(effectors: Array, root: Array, ground: Array, motion: Array) -> Array:
        kind, rows, own, found = root.dtype, effectors.reshape(-1, 5, 7), root_axes(root, frame), []
        for place in order:
            m = matrix(unit(rows[:, place][:, [4, 5, 6, 3] if w_first else [3, 4, 5, 6]]))
            tail = kind.type(past * LENGTHS[place + 1]) * m[:, :, 1]
            found.append(way(own, rows[:, place, :3] + tail - root[:, :3]))
            m = back(m) if inverse else m
            found.append(triple(angles(back(own) @ m if among_root else m)))
        found += [own[:, :, axes[0]], own[:, :, axes[1]]]
        for foot in feet:
            block = ground[:, 6 * foot : 6 * foot + 6]
            found += [height(rows[:, 2 + foot, 2], block[:, 0])[:, None], block[:, 1:4], block[:, list(flags)]]
        return np.hstack([*found, motion[:, :1], np.array(tasks, kind)[motion[:, 1:].astype(int)]])

    return oracle


def scenes(random: np.random.Generator, count: int) -> dict[str, Array]:
    """Effectors, root, ground, phase and task."""
    ground = random.normal(0.0, 0.3, (count, 12)).astype(F32)
    motion = np.stack([random.random(count), random.integers(0, len(TASKS), count)], axis=1).astype(F32)
    return {"effectors": targets_of(random, count), "root": roots(random, count), "ground": ground, "motion": motion}


CONTEXT_FIELDS = (
    '{ name = "turn", kind = "euler_xyz", size = 3, unit = "rad" }, { name = "height", unit = "m" }, '
    '{ name = "place", kind = "position", unit = "m" }, { name = "phase", unit = "cycle" }, '
    '{ name = "task", space = "number of the task", low = 0.0, high = 5.0 }'
)
FORWARD_KINEMATICS = Subject("forward_kinematics",
    f'{{ name = "answered", size = 18 }}, {{ name = "limited", size = 18 }}, {ROOT}',
    f'operation = "forward_kinematics", of = ["answered", "limited", "root"], bones = {toml(BONES)}, '
    f"parents = {toml(PARENTS)}, heads = {toml(HEADS.reshape(-1))}, rest = {toml(REST.reshape(-1))}, "
    'default_root = [0, 0, 1], takes = "limited", rotation_vector = "norm_is_angle", sense = "counterclockwise", '
    'rest_orientation = "used", local_order = "rest_then_local", begins = "root", armature_rotation = "applied"',
    vectors_and_roots, heads(), {
    "takes": {"as_answered": heads(of=0)}, "rotation_vector": {"norm_is_half_angle": heads(twice=2.0)},
    "sense": {"clockwise": heads(twice=-1.0)}, "begins": {"default": heads(at=(0.0, 0.0, 1.0))},
    "rest_orientation": {"ignored": heads(rest=np.tile(np.eye(3), (6, 1, 1))), "ignored_in_offsets": heads(flat=True)},
    "local_order": {"local_then_rest": heads(first="every"), "local_then_rest_below_root": heads(first="below")},
    "armature_rotation": {"ignored": heads(still=True)},
}, widest=300.0)  # fmt: skip
"""The bound takes every bone to be as far away as the longest chain reaches: eight times and more for a short one."""
REACH_ERROR = Subject("reach_error", f'{{ name = "positions", size = 18 }}, {{ name = "targets", size = 35 }}, {ROOT}',
    f'operation = "reach_error", of = ["positions", "targets", "root"], bones = {toml(BONES)}, '
    f"effectors = {toml(EFFECTORS)}, rest = {toml(REST.reshape(-1))}, "
    'target_space = "world", root_frame = "at_rest", measure = "euclidean"', reached_and_wanted, missed(), {
    "target_space": {"root_relative": missed(frame="at_rest")}, "root_frame": {"posed": missed(), "armature": missed()},
    "measure": {name: missed(name) for name in ("squared", "absolute_sum", "largest")},
})  # fmt: skip
RELATIVE = Subject("reach_error among the root's axes", REACH_ERROR.given,
    REACH_ERROR.stage.replace('"world"', '"root_relative"'),
    reached_and_wanted, missed(frame="at_rest"), {
    "target_space": {"world": missed()}, "root_frame": {each: missed(frame=each) for each in ("posed", "armature")},
})  # fmt: skip
SUBJECTS = (
    Subject("bone_quaternions", '{ name = "v", names = ["a", "b"], size = 3 }',
        'operation = "bone_quaternions", of = "v", rotation_vector = "norm_is_angle", quaternion_order = "xyzw"', drawn(v=6),
        bone_turns(), {
        "rotation_vector": {"norm_is_half_angle": bone_turns(2.0)}, "quaternion_order": {"wxyz": bone_turns(order=(3, 0, 1, 2))},
    }, is_rotation=True),
    Subject("joint_limits", '{ name = "v", names = ["LeftArm", "RightArm"], size = 3 }',
        f'operation = "joint_limits", of = "v", limits = {toml(LIMITS)}, clamp = "applied"', drawn(v=6), clamped(LIMITS), {
        "clamp": {"none": lambda v: v}, "limits": {"in_degrees": clamped([end * 180.0 / math.pi for end in LIMITS]),
        "y_and_z_swapped": clamped(EXCHANGED), "right_as_left": clamped([*LIMITS[:6], *LIMITS[:6]])},
    }, is_moved=True),
    Subject("scaled_by_kind", f'{{ name = "x", fields = [{CONTEXT_FIELDS}] }}', 'operation = "scaled_by_kind", of = "x", '
        'angles = 3.0, heights = 2.0, scaling = "divided", task_scale = "number", phase_unit = "cycle"',
        drawn(2.0, x=9), scaled(), {
        "scaling": {"missing": scaled(1.0, 1.0)}, "angles": {"none": scaled(1.0), "degrees": scaled(3.0 * math.pi / 180.0)},
        "heights": {"none": scaled(height=1.0)}, "task_scale": {"over_the_last": scaled(task=0.2)},
        "phase_unit": {"radians": scaled(phase=2.0 * math.pi)},
    }),
    FORWARD_KINEMATICS, REACH_ERROR,
    Subject("effector_context",
        f'{{ name = "effectors", size = 35 }}, {ROOT}, {{ name = "ground", size = 12 }}, {{ name = "motion", fields = ['
        '{ name = "phase", unit = "cycle" }, { name = "task", space = "number of the task" }] }',
        f'operation = "effector_context", of = ["effectors", "root", "ground", "motion"], bones = {toml(BONES)}, '
        f'effectors = {toml(EFFECTORS)}, feet = ["LeftFoot", "RightFoot"], tasks = {toml(TASKS)}, '
        f"rest = {toml(REST.reshape(-1))}, lengths = {toml(LENGTHS)}, "
        'root_frame = "at_rest", relative = "into_axes", root_axes = "y_forward_z_up", euler_order = "xyz", '
        'euler_triple = "smaller_sum", effector_quaternion = "xyzw", rotation_sense = "forward", rotation_space = "world", '
        'point = "head", effector_order = "as_declared", height = "above_ground", feet_order = "as_declared", '
        'contact_flags = "grounded_desired"', scenes, told(), {
        "root_frame": {"posed": told(frame="posed"), "armature": told(frame="armature")},
        "relative": {"out_of_axes": told(way=turned), "translation_only": told(way=lambda _axes, d: d)},
        "root_axes": {"z_forward_y_up": told(axes=(2, 1)), "x_forward_z_up": told(axes=(0, 2))},
        "euler_order": {"zyx": told(angles=about_z_first)}, "euler_triple": {"middle_within_90_deg": told(triple=lambda a: a)},
        "effector_quaternion": {"wxyz": told(w_first=True)}, "rotation_sense": {"inverse": told(inverse=True)},
        "rotation_space": {"root": told(among_root=True)}, "point": {"tail": told(past=1.0)},
        "effector_order": {"pairs_reversed": told(order=(2, 3, 0, 1, 4)),
                           "second_of_each_pair_first": told(order=(1, 0, 3, 2, 4))},
        "height": {"ground_height": told(height=lambda _foot, ground: ground),
                   "above_zero": told(height=lambda foot, _ground: foot)},
        "feet_order": {"reversed": told(feet=(1, 0))}, "contact_flags": {"desired_grounded": told(flags=(5, 4))},
        "numbers": {"sorted_by_name": told(tasks=(2.0, 1.0, 0.0))},
    }),
)  # fmt: skip
test_oracles, test_numbers, test_bounds = judging_tests(SUBJECTS, rows=(4, 30), frames=300, also=(RELATIVE,))
