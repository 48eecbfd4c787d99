"""Every reading of the operations on limbs, against expected values that stand here, number by number.

A pose of two arms: a root, of each arm the places and turns of two bones, then for each side a normal, a flag and a goal.
"""

import json
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .one_operation import (
    Array,
    Oracle,
    Subject,
    judging_tests,
    offered,
    result_of,
)

Row = Sequence[Any]
Turn = Callable[[Row], list[Any]]
BONES = ("arm_l", "hand_l", "arm_r", "hand_r")


def field(name: str, kind: str, more: str = "") -> str:
    return f'{{ name = "{name}", kind = "{kind}"{more} }}'


def place(name: str) -> str:
    return field(name, "position", ', unit = "cm"')


FIELDS = ", ".join(
    [
        place("root_pos"),
        field("root_quat", "quaternion_xyzw"),
        *(part for bone in BONES for part in (place(f"{bone}_pos"), field(f"{bone}_quat", "quaternion_xyzw"))),
        *(part for side in "lr" for part in (field(f"normal_{side}", "direction"), field(f"hit_{side}", "flag"))),
        *(place(f"goal_{side}") for side in "lr"),
    ]
)
POSE = f'{{ name = "pose", fields = [{FIELDS}] }}'
WIDTH, TAIL = 49, 35
NORMALS, HITS, GOALS, ROOTS = (35, 39), (38, 42), (43, 46), (7, 21)
PLACES = (0, 7, 14, 21, 28, *GOALS)
QUATS = (3, 10, 17, 24, 31)
FRAME = 'frame = ["root_pos", "root_quat"]'


def poses(random: np.random.Generator, count: int) -> Array:
    """Places of half a metre, turns of any length."""
    rows = random.normal(0.0, 1.0, (count, WIDTH))
    for start in PLACES:
        rows[:, start : start + 3] *= 50.0
    return rows.astype(np.float32)


def by_row(function: Callable[..., Any]) -> Oracle:
    """A function of one frame's numbers, all of the rows' own float type."""

    def oracle(*rows: Array) -> Array:
        kind = rows[0].dtype.type
        return np.array([[kind(number) for number in function(kind, *each)] for each in zip(*rows, strict=True)])

    return oracle


# ---- quaternions, x y z w, as a matrix and term by term


def unit(q: Row) -> list[Any]:
    length = np.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    return [number / length for number in q]


def matrix(q: Row) -> list[list[Any]]:
    x, y, z, w = q
    one, two = type(x)(1.0), type(x)(2.0)
    return [
        [one - two * (y * y + z * z), two * (x * y - z * w), two * (x * z + y * w)],
        [two * (x * y + z * w), one - two * (x * x + z * z), two * (y * z - x * w)],
        [two * (x * z - y * w), two * (y * z + x * w), one - two * (x * x + y * y)],
    ]


def turned(q: Row, v: Row) -> list[Any]:
    return [row[0] * v[0] + row[1] * v[1] + row[2] * v[2] for row in matrix(q)]


def turned_back(q: Row, v: Row) -> list[Any]:
    columns = zip(*matrix(q), strict=True)
    return [column[0] * v[0] + column[1] * v[1] + column[2] * v[2] for column in columns]


def plus(a: Row, b: Row) -> list[Any]:
    return [one + other for one, other in zip(a, b, strict=True)]


def minus(a: Row, b: Row) -> list[Any]:
    return [one - other for one, other in zip(a, b, strict=True)]


def same(v: Row) -> list[Any]:
    return list(v)


HAMILTON = {
    "x": ("wx", "xw", "yz", "-zy"),
    "y": ("wy", "yw", "zx", "-xz"),
    "z": ("wz", "zw", "xy", "-yx"),
    "w": ("ww", "-xx", "-yy", "-zz"),
}
"""The terms of each component of a product, of the first and the second factor."""


def product(a: Row, b: Row, wrong: str = "") -> list[Any]:
    """Hamilton's product; wrong: component and term whose sign is the other one, `x yz`."""
    one, other = (dict(zip("xyzw", q, strict=True)) for q in (a, b))
    found = []
    for component, terms in HAMILTON.items():
        value = type(a[0])(0.0)
        for term in terms:
            is_minus = term.startswith("-") != (f"{component} {term[-2:]}" == wrong)
            size = one[term[-2]] * other[term[-1]]
            value = value - size if is_minus else value + size
        found.append(value)
    return found


# ---- sent_pose


def in_frame(p: Row, q: Row, v: Row) -> list[Any]:
    return turned_back(q, minus(v, p))


def sent(
    *,
    goal: Callable[..., Row] = in_frame,
    normal: Callable[[Row, Row], Row] = turned_back,
    order: Sequence[int] = (0, 1, 2, 3),
    sign: float = 1.0,
    factor: float = 1.0,
    tail: Sequence[int] = range(TAIL, WIDTH),
    is_right_first: bool = False,
) -> Oracle:
    """A pose on the wire. goal, normal: what a point and a direction are in the frame."""

    def of_row(kind: Any, row: Array) -> Iterator[Any]:
        p, q = row[:3], unit(row[3:7])
        numbers = list(row)
        for start in GOALS:
            numbers[start : start + 3] = goal(p, q, row[start : start + 3])
        for start in NORMALS:
            numbers[start : start + 3] = normal(q, row[start : start + 3])
        for start in QUATS:
            x, y, z, w = row[start : start + 4]
            quat = (kind(sign) * x, kind(sign) * y, z, w)
            numbers[start : start + 4] = [quat[each] for each in order]
        for start in PLACES:
            numbers[start : start + 3] = [number * kind(factor) for number in numbers[start : start + 3]]
        arms = numbers[21:35] + numbers[7:21] if is_right_first else numbers[7:35]
        return iter([*numbers[:7], *arms, *(numbers[each] for each in tail)])

    return by_row(of_row)


GOALS_EXCHANGED = (*range(35, 43), 46, 47, 48, 43, 44, 45)
NAMED = '"normal_l", "hit_l", "normal_r", "hit_r", "goal_r", "goal_l"'
SENT_POSE = Subject(
    "sent_pose",
    POSE,
    f'operation = "sent_pose", of = "pose", {FRAME}, targets = ["goal_l", "goal_r"], normals = ["normal_l", "normal_r"], '
    f'chains = ["arm_l_pos", "arm_r_pos"], wrong = {{ goals_exchanged = [{NAMED}] }}, target_space = "frame", '
    'normal_space = "frame", quaternion_order = "xyzw", handedness = "left_handed", unit_of_positions = "cm", '
    'chain_order = "as_declared"',
    lambda random, count: {"pose": poses(random, count)},
    sent(),
    {
        "target_space": {
            "world": sent(goal=lambda _p, _q, v: v),
            "forward_transform": sent(goal=lambda p, q, v: turned(q, minus(v, p))),
            "relative_not_turned": sent(goal=lambda p, _q, v: minus(v, p)),
            "turned_not_moved": sent(goal=lambda _p, q, v: turned_back(q, v)),
        },
        "normal_space": {"world": sent(normal=lambda _q, v: v), "forward_transform": sent(normal=turned)},
        "quaternion_order": {"wxyz": sent(order=(3, 0, 1, 2))},
        "handedness": {"right_handed": sent(sign=-1.0)},
        "unit_of_positions": {"m": sent(factor=0.01)},
        "order": {"goals_exchanged": sent(tail=GOALS_EXCHANGED)},
        "chain_order": {"last_first": sent(is_right_first=True)},
    },
)

# ---- received


def received(count: int = 4 * WIDTH, scale: float = 0.02) -> Oracle:
    """A pose of which so many bytes came."""

    def of_row(kind: Any, row: Array) -> Iterator[Any]:
        data = struct.pack(f"<{WIDTH}f", *map(float, row))
        numbers = struct.unpack(f"<{WIDTH}f", data[:count] + bytes(len(data) - count))
        for channel, number in enumerate(numbers):
            is_place = any(start <= channel < start + 3 for start in PLACES)
            yield kind(number) * kind(scale) if is_place else kind(number)

    return by_row(of_row)


RECEIVED = Subject(
    "received",
    POSE,
    'operation = "received", of = "pose", scale = 0.02, scaled_unit = "m", copied = "whole"',
    lambda random, count: {"pose": poses(random, count)},
    received(),
    {"copied": {"floats_as_bytes": received(WIDTH)}, "scale": {"none": received(scale=1.0)}},
)

# ---- unit_quaternions


def quats(row: Row) -> list[Row]:
    return [row[start : start + 4] for start in range(0, len(row), 4)]


def cleaned(*, is_unit: bool = True, is_together: bool = False, is_signed: bool = True) -> Oracle:
    """Quaternions divided by a length, their own or that of all; then w is not negative."""

    def of_row(kind: Any, row: Array) -> Iterator[Any]:
        whole = np.sqrt(sum((number * number for number in row), start=kind(0.0)))
        for q in quats(row):
            own = [number / whole for number in q] if is_together else unit(q) if is_unit else list(q)
            yield from [-number for number in own] if is_signed and own[3] < 0.0 else own

    return by_row(of_row)


ANSWER = '{ name = "answer", names = ["a", "b", "c", "d"], size = 4 }'
UNIT_QUATERNIONS = Subject(
    "unit_quaternions",
    ANSWER,
    'operation = "unit_quaternions", of = "answer", normalisation = "unit", sign = "w_not_negative"',
    lambda random, count: {"answer": random.normal(0.0, 3.0, (count, 16)).astype(np.float32)},
    cleaned(),
    {
        "normalisation": {"none": cleaned(is_unit=False), "together": cleaned(is_together=True)},
        "sign": {"as_it_comes": cleaned(is_signed=False)},
    },
)

# ---- received


def read(*, order: Sequence[int] = (0, 1, 2, 3), turn_by: int = 0, count: int = 16) -> Oracle:
    """Quaternions off the wire. turn_by: how many stand at the end that are read first."""

    def of_row(kind: Any, row: Array) -> Iterator[Any]:
        ordered = [[q[each] for each in order] for q in quats(row)]
        numbers = [number for q in ordered[turn_by:] + ordered[:turn_by] for number in q]
        return iter([number if channel < count else kind(0.0) for channel, number in enumerate(numbers)])

    return by_row(of_row)


RECEIVED_TURNS = Subject(
    "received_turns",
    ANSWER,
    'operation = "received", of = "answer", chains = 2, copied = "whole", quaternion_order = "xyzw", '
    'chain_order = "as_declared"',
    lambda random, count: {"answer": random.normal(0.0, 1.0, (count, 16)).astype(np.float32)},
    read(),
    {
        "copied": {"floats_as_bytes": read(count=4)},
        "quaternion_order": {"wxyz": read(order=(3, 0, 1, 2))},
        "chain_order": {"last_first": read(turn_by=2)},
    },
    is_moved=True,
)

# ---- limb_joints

LENGTHS = ((30.257, 31.504), (25.123, 24.756))
"""Upper arms, then lower arms; left first."""
CUT = ((30.25, 31.5), (25.12, 24.75))
AXES = ((1.0, 0.0, 0.0), (-0.6, 0.8, 0.0))


def jointed(
    *,
    axes: Sequence[Row] = AXES,
    lengths: Sequence[Sequence[float]] = LENGTHS,
    multiply: Callable[[Row, Row], Row] = product,
    by: int = 0,
    turn: Callable[[Row, Row], Row] = turned,
    offset: int = 0,
    is_moved: bool = True,
    is_turned: bool = True,
) -> Oracle:
    """Shoulder, elbow and wrist of both arms. by: how many bones further the turn is that places a bone's end."""

    def of_row(kind: Any, pose: Array, answer: Array) -> Iterator[Any]:
        none = [kind(0.0), kind(0.0), kind(0.0)]
        base = unit(pose[3:7]) if is_turned else [*none, kind(1.0)]
        for arm, start in enumerate(ROOTS):
            chain = [base]
            for q in quats(answer[12 * arm : 12 * arm + 12]):
                chain.append(unit(multiply(chain[-1], unit(q))))
            at = start + offset
            joint = plus(pose[:3] if is_moved else none, turn(base, pose[at : at + 3]))
            yield from joint
            for bone in range(2):
                along = [kind(axis) * kind(lengths[bone][arm]) for axis in axes[arm]]
                joint = plus(joint, turn(chain[bone + 1 + by], along))
                yield from joint

    return by_row(of_row)


def with_sign(component: str, one: str, other: str) -> Oracle:
    return jointed(multiply=lambda a, b: product(a, b, f"{component} {one}{other}"))


TURNED = ["arm_l_q", "hand_l_q", "tip_l_q", "arm_r_q", "hand_r_q", "tip_r_q"]
JOINTS = [f"{joint}_{side}" for side in "lr" for joint in ("shoulder", "elbow", "wrist")]
NUMBERS = f"[numbers]\nupper = {list(LENGTHS[0])}\nlower = {list(LENGTHS[1])}\n"
LIMB_JOINTS = Subject(
    "limb_joints",
    f'{POSE}, {{ name = "answer", names = {json.dumps(TURNED)}, size = 4 }}',
    f'operation = "limb_joints", of = ["pose", "answer"], {FRAME}, roots = ["arm_l_pos", "arm_r_pos"], '
    f'axes = {json.dumps(AXES)}, lengths = ["upper", "lower"], joints = {json.dumps(JOINTS)}, product = "parent_child", '
    'placed_by = "own", turning = "forward", root = "declared", joints_in = "world"',
    lambda random, count: {
        "pose": poses(random, count),
        "answer": random.normal(0.0, 1.0, (count, 24)).astype(np.float32),
    },
    jointed(),
    {
        "axes": {
            "first_for_all": jointed(axes=(AXES[0], AXES[0])),
            "minus_z": jointed(axes=((0.0, 0.0, -1.0), (0.0, 0.0, -1.0))),
        },
        "product": {
            "child_parent": jointed(multiply=lambda parent, local: product(local, parent)),
            "child_only": jointed(multiply=lambda _parent, local: local),
            **{
                f"{component}_sign_of_a{term[-2]}_b{term[-1]}": with_sign(component, term[-2], term[-1])
                for component in "xyz"
                for term in HAMILTON[component][2:]
            },
        },
        "placed_by": {"next_bone": jointed(by=1), "parent": jointed(by=-1)},
        "turning": {
            "inverse": jointed(turn=turned_back),
            "w_first": jointed(turn=lambda q, v: turned((q[1], q[2], q[3], q[0]), v)),
        },
        "root": {
            "one_early": jointed(offset=-1),
            "one_late": jointed(offset=1),
            "bone_before": jointed(offset=-7),
            "next_bone": jointed(offset=7),
        },
        "joints_in": {
            "frame": jointed(is_moved=False, is_turned=False),
            "world_not_turned": jointed(is_turned=False),
            "frame_turned": jointed(is_moved=False),
        },
        "lengths": {"cut": jointed(lengths=CUT), "reversed": jointed(lengths=LENGTHS[::-1])},
    },
    more=NUMBERS,
    widest=120.0,  # quaternions, their lengths and turned vectors: errors of either sign, far below their worst case
)

# ---- target_error


def euclidean(v: Row) -> Any:
    return np.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])


def off(
    length: Callable[[Row], Any] = euclidean, wanted: Callable[..., Row] = lambda goal, _sent, _p, _q: goal
) -> Oracle:
    """How far two points are from their goals."""

    def of_row(_kind: Any, pose: Array, wire: Array, points: Array) -> Iterator[Any]:
        p, q = pose[:3], unit(pose[3:7])
        for number, start in enumerate(GOALS):
            goal = wanted(pose[start : start + 3], wire[start : start + 3], p, q)
            yield length(minus(points[3 * number : 3 * number + 3], goal))

    return by_row(of_row)


WIRE = POSE.replace('"pose"', '"wire"')
TARGET_ERROR = Subject(
    "target_error",
    f'{POSE}, {WIRE}, {{ name = "points", names = ["tip_l", "tip_r"], size = 3 }}',
    f'operation = "target_error", of = ["pose", "wire", "points"], {FRAME}, targets = ["goal_l", "goal_r"], '
    'points = ["tip_l", "tip_r"], target = "world", measure = "euclidean"',
    lambda random, count: {
        "pose": poses(random, count),
        "wire": poses(random, count),
        "points": random.normal(0.0, 50.0, (count, 6)).astype(np.float32),
    },
    off(),
    {
        "target": {
            "sent_as_world": off(wanted=lambda _goal, wire, _p, _q: wire),
            "turned_not_moved": off(wanted=lambda _goal, wire, _p, q: turned(q, wire)),
            "moved_not_turned": off(wanted=lambda _goal, wire, p, _q: plus(wire, p)),
        },
        "measure": {
            "squared": off(lambda v: v[0] * v[0] + v[1] * v[1] + v[2] * v[2]),
            "absolute_sum": off(lambda v: abs(v[0]) + abs(v[1]) + abs(v[2])),
            "largest": off(lambda v: max(map(abs, v))),
        },
    },
)

# ---- replaced

REPLACED = Subject(
    "replaced",
    '{ name = "v", names = ["a", "b", "c"], size = 2 }, { name = "new", size = 4 }',
    'operation = "replaced", of = ["v", "new"], taken = ["c", "a"]',
    lambda random, count: {
        "v": random.normal(size=(count, 6)).astype(np.float32),
        "new": random.normal(size=(count, 4)).astype(np.float32),
    },
    by_row(lambda _kind, v, new: [new[2], new[3], v[2], v[3], new[0], new[1]]),
    is_moved=True,
)
SUBJECTS = (SENT_POSE, RECEIVED, UNIT_QUATERNIONS, RECEIVED_TURNS, LIMB_JOINTS, TARGET_ERROR, REPLACED)
test_oracles, test_numbers, test_bounds = judging_tests(SUBJECTS, frames=400)


def test_an_answer_without_a_direction_is_no_rotation() -> None:
    """Dividing by its length makes a NaN that spreads down the limb."""
    rows, _ = result_of(UNIT_QUATERNIONS, {"answer": np.zeros((1, 16), np.float32)})
    assert rows.tolist() == [[0.0, 0.0, 0.0, 1.0] * 4]


def test_zeros_in_place_of_rotations_leave_a_limb_unturned() -> None:
    """Of a reply that is cut short the rest is zeros: code divides by the length plus 1e-8, and turns by nothing."""
    given = LIMB_JOINTS.draw(np.random.default_rng(0), 1)
    rows, _ = result_of(LIMB_JOINTS, {**given, "answer": np.zeros_like(given["answer"])})
    arm_l, arm_r = rows.reshape(2, -1, 3).astype(np.float64)
    for axis, (root, elbow, wrist) in zip(AXES, (arm_l, arm_r), strict=True):
        for start, end in ((root, elbow), (elbow, wrist)):
            along = end - start
            np.testing.assert_allclose(along, np.linalg.norm(along) * np.array(axis), atol=1e-5)


def test_the_sign_of_a_half_turn_is_not_judged() -> None:
    """Where w is zero within rounding, two right engines differ by the sign of the whole quaternion."""
    answer = np.array([[1.0, 2.0, 3.0, 0.0, *np.ones(12)]], np.float32)
    _, bound = result_of(UNIT_QUATERNIONS, {"answer": answer})
    assert np.isnan(bound[0, :4]).all()
    assert np.isfinite(bound[0, 4:]).all()


def test_a_reading_beyond_the_numbers_is_not_offered() -> None:
    """A limb with a turn for each bone and no more has no next one for the last bone's end."""
    found = offered(
        LIMB_JOINTS.given.replace(', "tip_l_q"', "").replace(', "tip_r_q"', ""), LIMB_JOINTS.stage, LIMB_JOINTS.more
    )
    assert found["placed_by"] == ("own", "parent")
