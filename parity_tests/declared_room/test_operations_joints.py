"""Joints of anybody's robot or character: signs and zeros of a table, and where declared parents place each joint."""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rigpact.contract.errors import UnusableInput

from .one_operation import Array, Oracle, Subject, contract_of, evaluated, judging_tests

SIGN, ZERO = (1.0, -1.0, -1.0, 1.0), (0.1, 0.0, -0.3, 2.0)
PARENTS = (-1, 0, 1, 1, 3)
OFFSETS = ((0.5, 0.0, 1.0), (0.0, 0.1, 0.4), (-0.3, 0.2, 0.1), (0.3, 0.2, 0.1), (0.05, -0.6, 0.2))


def drawn(**widths: int) -> Callable[[np.random.Generator, int], Mapping[str, Array]]:
    return lambda random, count: {
        name: random.normal(size=(count, width)).astype(np.float32) for name, width in widths.items()
    }


def from_robot(signs: Sequence[float], zeros: Sequence[float]) -> Oracle:
    """The zero is taken off, then the sign, a number at a time."""

    def oracle(q: Array) -> Array:
        kind = q.dtype.type
        return np.array([[kind(s) * (x - kind(z)) for x, s, z in zip(row, signs, zeros, strict=True)] for row in q])

    return oracle


def to_robot(signs: Sequence[float], zeros: Sequence[float]) -> Oracle:
    """The sign, then the zero is added."""

    def oracle(q: Array) -> Array:
        kind = q.dtype.type
        return np.array([[kind(s) * x + kind(z) for x, s, z in zip(row, signs, zeros, strict=True)] for row in q])

    return oracle


def minus(values: Sequence[float]) -> list[float]:
    return [-each for each in values]


Rows = list[list[float]]


def of_quaternion(q: Array, wxyz: bool = False) -> Rows:
    """Rows of the matrix of a unit quaternion, entry by entry."""
    w, x, y, z = q if wxyz else (q[3], q[0], q[1], q[2])
    one, two = q.dtype.type(1), q.dtype.type(2)
    return [
        [one - two * (y * y + z * z), two * (x * y - w * z), two * (x * z + w * y)],
        [two * (x * y + w * z), one - two * (x * x + z * z), two * (y * z - w * x)],
        [two * (x * z - w * y), two * (y * z + w * x), one - two * (x * x + y * y)],
    ]


def crossed(a: Sequence[float], b: Sequence[float]) -> list[float]:
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def shortened(v: Sequence[float], kind: type) -> list[float]:
    size = kind(math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])) + kind(1e-8)
    return [x / size for x in v]


def of_six(six: Array, pairing: str = "columns") -> Rows:
    """Rows of the matrix whose columns two axes are: the third is their cross product, the second is made orthogonal."""
    kind, numbers = six.dtype.type, list(six)
    first, second = (numbers[0::2], numbers[1::2]) if "interleaved" in pairing else (numbers[:3], numbers[3:])
    first, second = (second, first) if pairing == "columns_exchanged" else (first, second)
    third = shortened(crossed(first, second), kind)
    columns = [first if "kept" in pairing else shortened(first, kind), shortened(crossed(third, first), kind), third]
    return columns if pairing == "rows" else [[column[k] for column in columns] for k in range(3)]


def times(a: Rows, b: Rows) -> Rows:
    return [[row[0] * b[0][k] + row[1] * b[1][k] + row[2] * b[2][k] for k in range(3)] for row in a]


def placed(
    read: Callable[[Array], Rows],
    *,
    is_world: bool = False,
    is_child_first: bool = False,
    by_own: bool = False,
    is_turned: bool = False,
) -> Oracle:
    """Each joint from the root on, in Python lists: W = W_parent R, P = P_parent + W_parent offset."""

    def row_of(turns: Array, root: Array) -> list[float]:
        kind = turns.dtype.type
        own = [read(each) for each in turns.reshape(len(PARENTS), -1)]
        own = [[list(column) for column in zip(*each, strict=True)] for each in own] if is_turned else own
        worlds, places = [own[0]], [[x + kind(o) for x, o in zip(root, OFFSETS[0], strict=True)]]
        for joint in range(1, len(PARENTS)):
            above = worlds[PARENTS[joint]]
            pair = (own[joint], above) if is_child_first else (above, own[joint])
            worlds.append(own[joint] if is_world else times(*pair))
            by, (x, y, z) = worlds[joint] if by_own else above, [kind(each) for each in OFFSETS[joint]]
            before = places[PARENTS[joint]]
            places.append([p + (a * x + b * y + c * z) for p, (a, b, c) in zip(before, by, strict=True)])
        return [x for place in places for x in place]

    return lambda turns, root: np.array([row_of(*rows) for rows in zip(turns, root, strict=True)], turns.dtype)


def knobs_of(read: Callable[[Array], Rows], *, is_world: bool = False) -> dict[str, dict[str, Oracle]]:
    others = {} if is_world else {"product": {"child_parent": placed(read, is_child_first=True)}}
    return others | {
        "turned_by": {"own": placed(read, by_own=True, is_world=is_world)},
        "sense": {"transposed": placed(read, is_turned=True, is_world=is_world)},
        "rotations_in": {"parent" if is_world else "world": placed(read, is_world=not is_world)},
    }


def unit_rows(random: np.random.Generator, count: int) -> Mapping[str, Array]:
    q = random.normal(size=(count, len(PARENTS), 4))
    q /= np.linalg.norm(q, axis=-1, keepdims=True)
    return {"r": q.reshape(count, -1).astype(np.float32), "root": random.normal(size=(count, 3)).astype(np.float32)}


NAMES = '["hips", "spine", "head", "arm", "hand"]'
CHAIN = (
    'operation = "joint_positions", of = ["r", "root"], '
    f"parents = {list(PARENTS)}, offsets = {[x for each in OFFSETS for x in each]}"
)
ROOT = '{ name = "root", kind = "position" }'
SIX = f'{{ name = "r", names = {NAMES}, kind = "rot6d" }}, {ROOT}'
QUATERNIONS = f'{{ name = "r", names = {NAMES}, kind = "quaternion_wxyz" }}, {ROOT}'
PAIRINGS = ("interleaved", "rows", "columns_exchanged", "columns_first_kept", "interleaved_first_kept")


def wxyz(q: Array) -> Rows:
    return of_quaternion(q, True)


JOINTS = '{ name = "q", names = ["left_hip", "right_hip", "left_knee", "right_knee"] }'
TABLE = f'reversed = ["right_hip", "left_knee"], zeros = {list(ZERO)}'
RADIANS = [math.radians(each) for each in ZERO]
SUBJECTS = (
    Subject("from_robot", JOINTS, f'operation = "calibrate", of = "q", {TABLE}, direction = "from_robot"', drawn(q=4),
        from_robot(SIGN, ZERO), {
        "signs": {"not_applied": from_robot([1.0] * 4, ZERO), "all_negated": from_robot(minus(SIGN), ZERO)},
        "zeros": {"not_applied": from_robot(SIGN, [0.0] * 4), "negated": from_robot(SIGN, minus(ZERO)),
                  "taken_for_degrees": from_robot(SIGN, RADIANS)},
        "direction": {"to_robot": to_robot(SIGN, ZERO)},
    }),
    Subject("to_robot", JOINTS, f'operation = "calibrate", of = "q", signs = {list(SIGN)}, zeros = 0.5, direction = "to_robot"',
        drawn(q=4), to_robot(SIGN, [0.5] * 4), {
        "signs": {"not_applied": to_robot([1.0] * 4, [0.5] * 4), "all_negated": to_robot(minus(SIGN), [0.5] * 4)},
        "zeros": {"not_applied": to_robot(SIGN, [0.0] * 4), "negated": to_robot(SIGN, [-0.5] * 4),
                  "taken_for_degrees": to_robot(SIGN, [math.radians(0.5)] * 4)},
        "direction": {"from_robot": from_robot(SIGN, [0.5] * 4)},
    }),
    Subject("six_numbers", SIX, f'{CHAIN}, reads = "columns", rotations_in = "parent"', drawn(r=30, root=3), placed(of_six), {
        "reads": {each: placed(lambda six, each=each: of_six(six, each)) for each in PAIRINGS}, **knobs_of(of_six),
    }, widest=2000.0),
    Subject("quaternions", QUATERNIONS, f'{CHAIN}, rotations_in = "parent"', unit_rows, placed(wxyz), {
        "reads": {"xyzw": placed(of_quaternion)}, **knobs_of(wxyz),
    }, widest=200.0),
    Subject("in_the_world", QUATERNIONS, f'{CHAIN}, rotations_in = "world"', unit_rows, placed(wxyz, is_world=True), {
        "reads": {"xyzw": placed(of_quaternion, is_world=True)}, **knobs_of(wxyz, is_world=True),
    }, widest=200.0),
)  # fmt: skip
test_oracles, test_numbers, test_bounds = judging_tests(SUBJECTS, rows=(4, 4), frames=300)


@pytest.mark.parametrize(
    ("given", "stage", "says"),
    [
        (JOINTS, 'operation = "calibrate", of = "q", signs = [1, 2, 1, 1]', "1 or -1 of each field"),
        (JOINTS, 'operation = "calibrate", of = "q", reversed = ["left_hop"]', "did you mean left_hip"),
        (SIX, CHAIN.replace("[-1, 0, 1, 1, 3]", "[-1, 0, 1, 4, 3]"), "the place of one before it"),
        (SIX, CHAIN.replace('["r", "root"]', '["r", "r"]'), "3: where the root is"),
        (JOINTS, CHAIN.replace('["r", "root"]', '"q"'), "one kind of"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_reason(given: str, stage: str, says: str) -> None:
    """A parent behind its child would place the child at numbers of the frame before."""
    with pytest.raises(UnusableInput, match=says):
        contract_of(given, stage)


MISREAD = {
    # stage, reading that a side has
    "six_numbers": ("turned_by", "own"),
    "quaternions": ("product", "child_parent"),
    "from_robot": ("zeros", "negated"),
    "to_robot": ("signs", "not_applied"),
}


@pytest.mark.parametrize("name", MISREAD)
def test_explain_names_what_a_side_reads_otherwise(name: str, tmp_path: Path, command: Callable[..., Any]) -> None:
    """A convention that `explain` never reads is a word that nobody can find a mistake by."""
    subject = next(each for each in SUBJECTS if each.name == name)
    knob, value = MISREAD[name]
    inputs = subject.draw(np.random.default_rng(3), 60)
    rows = evaluated(subject.wrong[knob][value], inputs, np.float64)
    np.savez(tmp_path / "run.npz", **inputs, result=rows.astype(np.float32))
    (tmp_path / "contract.toml").write_text(
        f'format = "rigpact-contract"\nversion = 1\nname = "joints"\nfps = 50\ngiven = [{subject.given}]\n'
        f'stages = [{{ name = "result", {subject.stage} }}]\n',
        encoding="utf-8",
    )
    answer = command("explain", tmp_path / "run.npz", "--contract", tmp_path / "contract.toml")
    assert answer.status == 1
    assert f"With result.{knob} = {value} the error of result falls" in answer.out
