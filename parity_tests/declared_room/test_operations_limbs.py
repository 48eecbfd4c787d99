"""Every reading of the operations on limbs, against expected values that stand here.

A pose of two arms: a root, of each arm the places and turns of two bones, then for each side a normal, a flag and a goal.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from .one_operation import (
    F32,
    MEASURES,
    Array,
    Oracle,
    Subject,
    back,
    drawn,
    judging_tests,
    matrix,
    product,
    result_of,
    turned,
)

Turn = Callable[[Array, Array], Array]
BONES = ("arm_l", "hand_l", "arm_r", "hand_r")


def field(name: str, kind: str = "position") -> str:
    return f'{{ name = "{name}", kind = "{kind}"' + (', unit = "cm" }' if kind == "position" else " }")


def moved(name: str) -> list[str]:
    return [field(f"{name}_pos"), field(f"{name}_quat", "quaternion_xyzw")]


HIT = [each for side in "lr" for each in (field(f"normal_{side}", "direction"), field(f"hit_{side}", "flag"))]
FIELDS = [*moved("root"), *(part for bone in BONES for part in moved(bone)), *HIT, field("goal_l"), field("goal_r")]
POSE = f'{{ name = "pose", fields = [{", ".join(FIELDS)}] }}'
WIRE = POSE.replace("pose", "wire", 1)
WIDTH, TAIL = 49, 35
NORMALS, GOALS, ROOTS, QUATS = (35, 39), (43, 46), (7, 21), (3, 10, 17, 24, 31)
PLACES = (0, 7, 14, 21, 28, *GOALS)
IN_PLACES = [start + axis for start in PLACES for axis in range(3)]
FRAME = 'frame = ["root_pos", "root_quat"]'


def poses(*names: str) -> Callable[..., dict[str, Array]]:
    """Places of half a metre, turns of any length."""
    scale = np.where(np.isin(np.arange(WIDTH), IN_PLACES), 50.0, 1.0)
    return lambda random, count: {name: (random.normal(size=(count, WIDTH)) * scale).astype(F32) for name in names}


def unit(q: Array) -> Array:
    return q / np.sqrt(np.sum(q * q, axis=-1, keepdims=True))


def forward(q: Array, v: Array) -> Array:
    return turned(matrix(q), v)


def inverse(q: Array, v: Array) -> Array:
    return turned(back(matrix(q)), v)


# ---- sent_pose, received


def sent(
    *,
    goal: Callable[..., Array] = lambda p, q, v: inverse(q, v - p),
    normal: Turn = inverse,
    order: Sequence[int] = (0, 1, 2, 3),
    sign: float = 1.0,
    factor: float = 1.0,
    tail: Sequence[int] = range(TAIL, WIDTH),
    is_right_first: bool = False,
) -> Oracle:
    """A pose on the wire. goal, normal: what a point and a direction are in the frame."""

    def oracle(pose: Array) -> Array:
        p, q, rows = pose[:, :3], unit(pose[:, 3:7]), pose.copy()
        for at in GOALS:
            rows[:, at : at + 3] = goal(p, q, pose[:, at : at + 3])
        for at in NORMALS:
            rows[:, at : at + 3] = normal(q, pose[:, at : at + 3])
        for at in QUATS:
            own = pose[:, at : at + 4] * np.array([sign, sign, 1, 1], pose.dtype)
            rows[:, at : at + 4] = own[:, list(order)]
        rows[:, IN_PLACES] *= pose.dtype.type(factor)
        arms = [rows[:, 21:35], rows[:, 7:21]] if is_right_first else [rows[:, 7:35]]
        return np.hstack([rows[:, :7], *arms, rows[:, list(tail)]])

    return oracle


def received(count: int = 4 * WIDTH, scale: float = 0.02) -> Oracle:
    """A pose of which so many bytes came."""

    def oracle(pose: Array) -> Array:
        data = pose.astype("<f4").view(np.uint8)
        data[:, count:] = 0
        rows = data.view("<f4").astype(pose.dtype)
        rows[:, IN_PLACES] *= pose.dtype.type(scale)
        return rows

    return oracle


def read(*, order: Sequence[int] = (0, 1, 2, 3), turn_by: int = 0, count: int = 16) -> Oracle:
    """Quaternions off the wire. turn_by: how many stand at the end that are read first; count: the numbers that came."""

    def oracle(answer: Array) -> Array:
        q = np.roll(answer.reshape(-1, 4, 4)[:, :, list(order)], -turn_by, axis=1).reshape(-1, 16)
        return np.where(np.arange(16) < count, q, answer.dtype.type(0))

    return oracle


def cleaned(
    length: Callable[[Array], Any] = lambda q: np.sqrt(np.sum(q * q, -1, keepdims=True)), *, signed: bool = True
) -> Oracle:
    """Quaternions divided by a length, their own or that of all; then w is not negative."""

    def oracle(answer: Array) -> Array:
        q = answer.reshape(-1, 4, 4)
        q = q / length(q)
        return np.where(q[..., 3:] < 0, -q, q) if signed else q

    return oracle  # fmt: skip


# ---- limb_joints, target_error

LENGTHS, CUT = ((30.257, 31.504), (25.123, 24.756)), ((30.25, 31.5), (25.12, 24.75))
"""Upper arms, then lower arms; left first."""
AXES = ((1.0, 0.0, 0.0), (-0.6, 0.8, 0.0))


def jointed(
    *,
    axes: Sequence[Sequence[float]] = AXES,
    lengths: Sequence[Sequence[float]] = LENGTHS,
    multiply: Turn = product,
    by: int = 0,
    turn: Turn = forward,
    offset: int = 0,
    is_moved: bool = True,
    is_turned: bool = True,
) -> Oracle:
    """Shoulder, elbow and wrist of both arms. by: how many bones further the turn is that places a bone's end."""

    def oracle(pose: Array, answer: Array) -> Array:
        kind, q, found = pose.dtype, answer.reshape(len(pose), 2, 3, 4), []
        base = unit(pose[:, 3:7]) if is_turned else np.tile(np.array([0, 0, 0, 1], kind), (len(pose), 1))
        for arm, start in enumerate(ROOTS):
            chain = [base]
            for bone in range(3):
                chain.append(unit(multiply(chain[-1], unit(q[:, arm, bone]))))
            joint = turn(base, pose[:, start + offset : start + offset + 3])
            found.append(pose[:, :3] + joint if is_moved else joint)
            for bone in range(2):
                along = np.array(axes[arm], kind) * kind.type(lengths[bone][arm])
                found.append(found[-1] + turn(chain[bone + 1 + by], np.tile(along, (len(pose), 1))))
        return np.hstack(found)

    return oracle


TERMS = {"x": ("yz", "-zy"), "y": ("zx", "-xz"), "z": ("xy", "-yx")}
"""The terms of Hamilton's product that hold no w, of the first and the second factor."""


def with_sign(component: str, term: str) -> Oracle:
    """That term has the other sign."""
    one, other = ("xyzw".index(each) for each in term[-2:])
    twice = -2.0 if term.startswith("-") else 2.0

    def multiply(a: Array, b: Array) -> Array:
        found = product(a, b)
        found[:, "xyz".index(component)] -= a.dtype.type(twice) * a[:, one] * b[:, other]
        return found

    return jointed(multiply=multiply)


def off(measure: str = "euclidean", wanted: Callable[..., Array] = lambda goal, _sent, _p, _q: goal) -> Oracle:
    """How far two points are from their goals."""

    def oracle(pose: Array, wire: Array, points: Array) -> Array:
        frame, found = (pose[:, :3], unit(pose[:, 3:7])), []
        for number, at in enumerate(GOALS):
            goal = wanted(pose[:, at : at + 3], wire[:, at : at + 3], *frame)
            found.append(MEASURES[measure](points[:, 3 * number : 3 * number + 3] - goal))
        return np.stack(found, 1)

    return oracle


ANSWER = '{ name = "answer", names = ["a", "b", "c", "d"], size = 4 }'
NAMED = '"normal_l", "hit_l", "normal_r", "hit_r", "goal_r", "goal_l"'
TURNED = ["arm_l_q", "hand_l_q", "tip_l_q", "arm_r_q", "hand_r_q", "tip_r_q"]
ENDS = [f"{joint}_{side}" for side in "lr" for joint in ("shoulder", "elbow", "wrist")]
DOWN = (0.0, 0.0, -1.0)
UNIT_QUATERNIONS = Subject("unit_quaternions", ANSWER,
    'operation = "unit_quaternions", of = "answer", normalisation = "unit", sign = "w_not_negative"', drawn(3.0, answer=16),
    cleaned(), {
    "normalisation": {"none": cleaned(lambda q: q.dtype.type(1)),
                      "together": cleaned(lambda q: np.sqrt(np.sum(q * q, (1, 2), keepdims=True)))},
    "sign": {"as_it_comes": cleaned(signed=False)},
})  # fmt: skip
LIMB_JOINTS = Subject("limb_joints", f'{POSE}, {{ name = "answer", names = {json.dumps(TURNED)}, size = 4 }}',
    f'operation = "limb_joints", of = ["pose", "answer"], {FRAME}, roots = ["arm_l_pos", "arm_r_pos"], '
    f'axes = {json.dumps(AXES)}, lengths = ["upper", "lower"], joints = {json.dumps(ENDS)}, product = "parent_child", '
    'placed_by = "own", turning = "forward", root = "declared", joints_in = "world"',
    lambda random, count: {**poses("pose")(random, count), **drawn(answer=24)(random, count)}, jointed(), {
    "axes": {"first_for_all": jointed(axes=(AXES[0], AXES[0])), "minus_z": jointed(axes=(DOWN, DOWN))},
    "product": {
        "child_parent": jointed(multiply=lambda parent, local: product(local, parent)),
        "child_only": jointed(multiply=lambda _parent, local: local),
        **{f"{c}_sign_of_a{term[-2]}_b{term[-1]}": with_sign(c, term) for c, terms in TERMS.items() for term in terms},
    },
    "placed_by": {"next_bone": jointed(by=1), "parent": jointed(by=-1)},
    "turning": {"inverse": jointed(turn=inverse), "w_first": jointed(turn=lambda q, v: forward(q[:, [1, 2, 3, 0]], v))},
    "root": {"one_early": jointed(offset=-1), "one_late": jointed(offset=1), "bone_before": jointed(offset=-7),
             "next_bone": jointed(offset=7)},
    "joints_in": {"frame": jointed(is_moved=False, is_turned=False), "world_not_turned": jointed(is_turned=False),
                  "frame_turned": jointed(is_moved=False)},
    "lengths": {"cut": jointed(lengths=CUT), "reversed": jointed(lengths=LENGTHS[::-1])},
}, more=f"[numbers]\nupper = {list(LENGTHS[0])}\nlower = {list(LENGTHS[1])}\n",
    widest=120.0)  # fmt: skip
"""Quaternions, their lengths and turned vectors: errors of either sign, far below their worst case."""
SUBJECTS = (
    Subject("sent_pose", POSE,
        f'operation = "sent_pose", of = "pose", {FRAME}, targets = ["goal_l", "goal_r"], normals = ["normal_l", "normal_r"], '
        f'chains = ["arm_l_pos", "arm_r_pos"], wrong = {{ goals_exchanged = [{NAMED}] }}, target_space = "frame", '
        'normal_space = "frame", quaternion_order = "xyzw", handedness = "left_handed", unit_of_positions = "cm", '
        'chain_order = "as_declared"', poses("pose"), sent(), {
        "target_space": {
            "world": sent(goal=lambda _p, _q, v: v), "forward_transform": sent(goal=lambda p, q, v: forward(q, v - p)),
            "relative_not_turned": sent(goal=lambda p, _q, v: v - p),
            "turned_not_moved": sent(goal=lambda _p, q, v: inverse(q, v)),
        },
        "normal_space": {"world": sent(normal=lambda _q, v: v), "forward_transform": sent(normal=forward)},
        "quaternion_order": {"wxyz": sent(order=(3, 0, 1, 2))}, "handedness": {"right_handed": sent(sign=-1.0)},
        "unit_of_positions": {"m": sent(factor=0.01)}, "chain_order": {"last_first": sent(is_right_first=True)},
        "order": {"goals_exchanged": sent(tail=(*range(35, 43), 46, 47, 48, 43, 44, 45))},
    }),
    Subject("received", POSE, 'operation = "received", of = "pose", scale = 0.02, scaled_unit = "m", copied = "whole"',
        poses("pose"), received(), {
        "copied": {"floats_as_bytes": received(WIDTH)}, "scale": {"none": received(scale=1.0)},
    }),
    Subject("received_turns", ANSWER, 'operation = "received", of = "answer", chains = 2, copied = "whole", '
        'quaternion_order = "xyzw", chain_order = "as_declared"', drawn(answer=16), read(), {
        "copied": {"floats_as_bytes": read(count=4)}, "quaternion_order": {"wxyz": read(order=(3, 0, 1, 2))},
        "chain_order": {"last_first": read(turn_by=2)},
    }, is_moved=True),
    UNIT_QUATERNIONS, LIMB_JOINTS,
    Subject("target_error", f'{POSE}, {WIRE}, {{ name = "points", names = ["tip_l", "tip_r"], size = 3 }}',
        f'operation = "target_error", of = ["pose", "wire", "points"], {FRAME}, targets = ["goal_l", "goal_r"], '
        'points = ["tip_l", "tip_r"], target = "world", measure = "euclidean"',
        lambda random, count: {**poses("pose", "wire")(random, count), **drawn(50.0, points=6)(random, count)}, off(), {
        "target": {"sent_as_world": off(wanted=lambda _goal, wire, _p, _q: wire),
                   "turned_not_moved": off(wanted=lambda _goal, wire, _p, q: forward(q, wire)),
                   "moved_not_turned": off(wanted=lambda _goal, wire, p, _q: wire + p)},
        "measure": {name: off(name) for name in ("squared", "absolute_sum", "largest")},
    }),
    Subject("replaced", '{ name = "v", names = ["a", "b", "c"], size = 2 }, { name = "new", size = 4 }',
        'operation = "replaced", of = ["v", "new"], taken = ["c", "a"]', drawn(v=6, new=4),
        lambda v, new: np.hstack([new[:, 2:], v[:, 2:4], new[:, :2]]), is_moved=True),
)  # fmt: skip
test_oracles, test_numbers, test_bounds = judging_tests(SUBJECTS, frames=400)


def test_an_answer_without_a_direction_is_no_rotation_and_a_half_turn_has_no_sign():
    """A zero divided by its length is a NaN down the limb; where w is zero, two right engines differ by the whole sign."""
    rows, _ = result_of(UNIT_QUATERNIONS, {"answer": np.zeros((1, 16), F32)})
    assert rows.tolist() == [[0.0, 0.0, 0.0, 1.0] * 4]
    _, bound = result_of(UNIT_QUATERNIONS, {"answer": np.array([[1, 2, 3, 0, *np.ones(12)]], F32)})
    assert np.isnan(bound[0, :4]).all()
    assert np.isfinite(bound[0, 4:]).all()


def test_zeros_in_place_of_rotations_leave_a_limb_unturned():
    """Of a reply that is cut short the rest is zeros: code divides by the length plus 1e-8, and turns by nothing."""
    given = LIMB_JOINTS.draw(np.random.default_rng(0), 1)
    rows, _ = result_of(LIMB_JOINTS, {**given, "answer": np.zeros_like(given["answer"])})
    assert rows.shape == (1, 18)
    for axis, arm in zip(AXES, rows.reshape(2, 3, 3), strict=True):
        for along in np.diff(arm, axis=0):
            assert along == pytest.approx(np.linalg.norm(along) * np.array(axis), abs=1e-5)
