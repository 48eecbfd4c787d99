"""Every reading of the operations on joints (signs, zeros, where parents place each) and of policies: chunks that a queue plays,
statistics that a word chooses, a phase, a flag."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .one_operation import F32, Array, Oracle, Subject, back, by_row, drawn, judging_tests, matrix, turned, units

# ---- calibrate, joint_positions

SIGN, ZERO, HALVES = (1.0, -1.0, -1.0, 1.0), (0.1, 0.0, -0.3, 2.0), (0.5,) * 4
PARENTS = (-1, 0, 1, 1, 3)
OFFSETS = ((0.5, 0.0, 1.0), (0.0, 0.1, 0.4), (-0.3, 0.2, 0.1), (0.3, 0.2, 0.1), (0.05, -0.6, 0.2))


def from_robot(signs: Sequence[float], zeros: Sequence[float]) -> Oracle:
    return lambda q: np.array(signs, q.dtype) * (q - np.array(zeros, q.dtype))


def to_robot(signs: Sequence[float], zeros: Sequence[float]) -> Oracle:
    return lambda q: np.array(signs, q.dtype) * q + np.array(zeros, q.dtype)


def calibrated(make: Callable[..., Oracle], zeros: Sequence[float]) -> dict[str, dict[str, Oracle]]:
    """The wrong readings of signs and zeros."""
    return {
        "signs": {"not_applied": make([1.0] * 4, zeros), "all_negated": make([-each for each in SIGN], zeros)},
        "zeros": {"not_applied": make(SIGN, [0.0] * 4), "negated": make(SIGN, [-each for each in zeros]),
                  "taken_for_degrees": make(SIGN, [math.radians(each) for each in zeros])},
    }  # fmt: skip


def shortened(v: Array) -> Array:
    size = np.sqrt(v[..., :1] * v[..., :1] + v[..., 1:2] * v[..., 1:2] + v[..., 2:] * v[..., 2:])
    return v / (size + v.dtype.type(1e-8))


def of_six(six: Array, pairing: str = "columns") -> Array:
    """The matrix whose columns two axes are: the third is their cross product, the second is made orthogonal."""
    first, second = (six[..., 0::2], six[..., 1::2]) if "interleaved" in pairing else (six[..., :3], six[..., 3:])
    first, second = (second, first) if pairing == "columns_exchanged" else (first, second)
    third = shortened(np.cross(first, second))
    columns = [first if "kept" in pairing else shortened(first), shortened(np.cross(third, first)), third]
    return np.stack(columns, axis=-2 if pairing == "rows" else -1)


def of_wxyz(q: Array) -> Array:
    return matrix(q[..., [1, 2, 3, 0]])


def placed(
    read: Callable[[Array], Array],
    *,
    is_world: bool = False,
    is_child_first: bool = False,
    by_own: bool = False,
    is_turned: bool = False,
) -> Oracle:
    """Each joint from the root on: W = W_parent R, P = P_parent + W_parent offset."""

    def oracle(turns: Array, root: Array) -> Array:
        own, offsets = read(turns.reshape(len(root), len(PARENTS), -1)), np.array(OFFSETS, root.dtype)
        own = back(own) if is_turned else own
        worlds, places = [own[:, 0]], [root + offsets[0]]
        for joint, parent in enumerate(PARENTS[1:], start=1):
            pair = (own[:, joint], worlds[parent]) if is_child_first else (worlds[parent], own[:, joint])
            worlds.append(own[:, joint] if is_world else pair[0] @ pair[1])
            by = worlds[joint] if by_own else worlds[parent]
            places.append(places[parent] + turned(by, np.tile(offsets[joint], (len(root), 1))))
        return np.hstack(places)

    return oracle


def knobs_of(read: Callable[[Array], Array], *, is_world: bool = False) -> dict[str, dict[str, Oracle]]:
    others = {} if is_world else {"product": {"child_parent": placed(read, is_child_first=True)}}
    return others | {
        "turned_by": {"own": placed(read, by_own=True, is_world=is_world)},
        "sense": {"transposed": placed(read, is_turned=True, is_world=is_world)},
        "rotations_in": {"parent" if is_world else "world": placed(read, is_world=not is_world)},
    }


def unit_rows(random: np.random.Generator, count: int) -> Mapping[str, Array]:
    return {"r": units(random, count, len(PARENTS)), "root": random.normal(size=(count, 3)).astype(F32)}


NAMES = '["hips", "spine", "head", "arm", "hand"]'
CHAIN = (
    'operation = "joint_positions", of = ["r", "root"], '
    f"parents = {list(PARENTS)}, offsets = {[x for each in OFFSETS for x in each]}"
)
ROOT = '{ name = "root", kind = "position" }'
SIX = f'{{ name = "r", names = {NAMES}, kind = "rot6d" }}, {ROOT}'
QUATERNIONS = f'{{ name = "r", names = {NAMES}, kind = "quaternion_wxyz" }}, {ROOT}'
PAIRINGS = ("interleaved", "rows", "columns_exchanged", "columns_first_kept", "interleaved_first_kept")
JOINTS = '{ name = "q", names = ["left_hip", "right_hip", "left_knee", "right_knee"] }'
TABLE = f'reversed = ["right_hip", "left_knee"], zeros = {list(ZERO)}'
OF_JOINTS = (
    Subject("from_robot", JOINTS, f'operation = "calibrate", of = "q", {TABLE}, direction = "from_robot"', drawn(q=4),
        from_robot(SIGN, ZERO), {**calibrated(from_robot, ZERO), "direction": {"to_robot": to_robot(SIGN, ZERO)}}),
    Subject("to_robot", JOINTS, f'operation = "calibrate", of = "q", signs = {list(SIGN)}, zeros = 0.5, direction = "to_robot"',
        drawn(q=4), to_robot(SIGN, HALVES), {
        **calibrated(to_robot, HALVES), "direction": {"from_robot": from_robot(SIGN, HALVES)}}),
    Subject("six_numbers", SIX, f'{CHAIN}, reads = "columns", rotations_in = "parent"', drawn(r=30, root=3), placed(of_six), {
        "reads": {each: placed(lambda six, each=each: of_six(six, each)) for each in PAIRINGS}, **knobs_of(of_six),
    }, widest=2000.0),
    Subject("quaternions", QUATERNIONS, f'{CHAIN}, rotations_in = "parent"', unit_rows, placed(of_wxyz), {
        "reads": {"xyzw": placed(matrix)}, **knobs_of(of_wxyz),
    }, widest=200.0),
    Subject("in_the_world", QUATERNIONS, f'{CHAIN}, rotations_in = "world"', unit_rows, placed(of_wxyz, is_world=True), {
        "reads": {"xyzw": placed(matrix, is_world=True)}, **knobs_of(of_wxyz, is_world=True),
    }, widest=200.0),
)  # fmt: skip

# ---- held, played, range_normalise, range_denormalise, phase_clock, switch


def held(every: int, first: int = 0) -> Oracle:
    """The last frame at which a loop that counts ticked, frame 0 where it has not."""
    return lambda v: v[
        [max(first + (frame - first) // every * every, 0) if frame >= first else 0 for frame in range(len(v))]
    ]


def played(every: int = 2, *, late: int = 0, chunks: int = 0, is_turned: bool = False) -> Oracle:
    """A chunk of 5 frames of 2 numbers, of which frame 1 is now."""

    def oracle(c: Array) -> Array:
        found = []
        for frame in range(len(c)):
            row = c[max(frame // every * every - chunks * every, 0)]
            place = min(max(1 + frame % every + late, 0), 4)
            found.append(row[[place, 5 + place]] if is_turned else row[2 * place : 2 * place + 2])
        return np.array(found)

    return oracle


def blended(weight: Callable[[int, int], float], *, is_turned: bool = False) -> Oracle:
    """Chunks of 3 frames of 2 numbers. weight: (place from the oldest, how many there are)."""

    def oracle(c: Array) -> Array:
        chunks, found = c.reshape(-1, 2, 3).swapaxes(1, 2) if is_turned else c.reshape(-1, 3, 2), []
        for frame in range(len(c)):
            rows = [chunks[frame - age, age] for age in range(min(frame, 2), -1, -1)]  # the oldest first
            weights = np.array([weight(place, len(rows)) for place in range(len(rows))], c.dtype)
            shares = weights / sum(weights)
            found.append(sum(row * share for row, share in zip(rows, shares, strict=True)))
        return np.array(found)

    return oracle  # fmt: skip


LOW, HIGH, MEAN, STD = ([-1.0, 0.5], [2.0, 0.5], [0.25, -3.0], [2.0, 0.5])


def width(low: Sequence[float], high: Sequence[float], kind: Any) -> tuple[Array, Array]:
    """The low ends, and what a range divides by."""
    size = np.array(high, kind) - np.array(low, kind)
    return np.array(low, kind), np.where(size == 0, kind.type(1e-8), size)


def ranged(low: Sequence[float], high: Sequence[float]) -> Oracle:
    def oracle(v: Array) -> Array:
        (start, size), one = width(low, high, v.dtype), v.dtype.type(1)
        return (one + one) * (v - start) / size - one

    return oracle


def unranged(low: Sequence[float], high: Sequence[float]) -> Oracle:
    def oracle(v: Array) -> Array:
        (start, size), one = width(low, high, v.dtype), v.dtype.type(1)
        return (v + one) / (one + one) * size + start

    return oracle


def scored(v: Array) -> Array:
    return (v - np.array(MEAN, v.dtype)) / (np.array(STD, v.dtype) + v.dtype.type(1e-8))


def unscored(v: Array) -> Array:
    return v * np.array(STD, v.dtype) + np.array(MEAN, v.dtype)


def clock(first: int = 1, period: float = 0.8, form: str = "sin_cos") -> Oracle:
    """Of a vector that only says how many frames there are."""

    def oracle(v: Array) -> Array:
        kind = v.dtype.type
        phase = (np.arange(len(v)) + first).astype(v.dtype) * kind(0.02) / kind(period)
        angle = kind(2) * kind(math.pi) * phase
        forms = {
            "phase": [phase % kind(1)],
            "sin_cos": [np.sin(angle), np.cos(angle)],
            "cos_sin": [np.cos(angle), np.sin(angle)],
        }
        return np.stack(forms[form], axis=1)

    return oracle  # fmt: skip


def chosen(take: Callable[[bool], bool]) -> Oracle:
    return by_row(lambda _kind, a, b, flag: b if take(flag[0] > 0.5) else a)


V, M = '{ name = "v", size = 2 }', 0.3
STATISTICS = f"min = {LOW}, max = {HIGH}, mean = {MEAN}, std = {STD}"
CHUNK = 'operation = "played", of = "c", length = 5, every = 2, first = 1, size = 2'
OF_POLICIES = (
    Subject("held", V, 'operation = "held", of = "v", every = 2, length = 3', drawn(v=2), held(2), {
        "every": {"whole_chunk": held(3), "each_frame": held(1)}, "first": {"last_of_every": held(2, 1)},
    }, is_moved=True),
    Subject("slower_loop", V, 'operation = "held", of = "v", every = 4, first = 2', drawn(v=2), held(4, 2), {
        "every": {"each_frame": held(1)}, "first": {"frame_0": held(4), "last_of_every": held(4, 3)},
    }, is_moved=True),
    Subject("played", '{ name = "c", size = 10 }', CHUNK, drawn(c=10), played(), {
        "every": {"whole_chunk": played(5), "each_frame": played(1)},
        "index": {"+1": played(late=1), "-1": played(late=-1)}, "chunk": {"one_before": played(chunks=1)},
        "layout": {"number_by_number": played(is_turned=True)},
    }, is_moved=True),
    Subject("blended", '{ name = "c", size = 6 }', f'operation = "played", of = "c", length = 3, blend = {M}, size = 2',
        drawn(c=6), blended(lambda place, _: math.exp(-M * place)), {
        "weights": {"newest_heaviest": blended(lambda place, count: math.exp(-M * (count - 1 - place))),
                    "equal": blended(lambda *_: 1.0), "newest_only": blended(lambda place, count: float(place == count - 1))},
        "layout": {"number_by_number": blended(lambda place, _: math.exp(-M * place), is_turned=True)},
    }),
    Subject("ranges", V, f'operation = "range_normalise", of = "v", mode = "min_max", {STATISTICS}', drawn(v=2),
        ranged(LOW, HIGH), {
        "mode": {"mean_std": scored, "identity": lambda v: v}, "ends": {"exchanged": ranged(HIGH, LOW)},
    }),
    Subject("scores", V, f'operation = "range_normalise", of = "v", mode = "mean_std", {STATISTICS}', drawn(v=2), scored, {
        "mode": {"min_max": ranged(LOW, HIGH), "identity": lambda v: v},
    }),
    Subject("unranged", V, 'operation = "range_denormalise", of = "v", mode = "quantiles", q01 = -0.5, q99 = [2, 3], '
        f'q10 = {LOW}, q90 = {HIGH}', drawn(v=2), unranged([-0.5, -0.5], [2.0, 3.0]), {
        "mode": {"quantile10": unranged(LOW, HIGH), "identity": lambda v: v},
        "ends": {"exchanged": unranged([2.0, 3.0], [-0.5, -0.5])},
    }),
    Subject("unscored", V, f'operation = "range_denormalise", of = "v", mode = "mean_std", {STATISTICS}', drawn(v=2), unscored, {
        "mode": {"min_max": unranged(LOW, HIGH), "identity": lambda v: v},
    }),
    Subject("clock", V, 'operation = "phase_clock", period = 0.8, first = 1', drawn(v=2), clock(), {
        "first": {"0": clock(0), "2": clock(2)}, "period": {"half": clock(period=0.4), "twice": clock(period=1.6)},
        "form": {"cos_sin": clock(form="cos_sin")},
    }),
    Subject("turns", V, 'operation = "phase_clock", period = 0.8, first = 1, form = "phase"', drawn(v=2), clock(form="phase"), {
        "first": {"0": clock(0, form="phase"), "2": clock(2, form="phase")},
        "period": {"half": clock(period=0.4, form="phase"), "twice": clock(period=1.6, form="phase")},
    }),
    Subject("switch", f'{V}, {{ name = "w", size = 2 }}, {{ name = "f", kind = "flag" }}',
        'operation = "switch", of = ["v", "w", "f"]',
        lambda random, count: {**drawn(v=2, w=2)(random, count), "f": random.integers(0, 2, (count, 1)).astype(F32)},
        chosen(lambda flag: flag), {"takes": {
        "first_where_set": chosen(lambda flag: not flag), "first_always": chosen(lambda _: False),
        "second_always": chosen(lambda _: True),
    }}, is_moved=True),
)  # fmt: skip
SUBJECTS = (*OF_JOINTS, *OF_POLICIES)
test_oracles, test_numbers, test_bounds = judging_tests(SUBJECTS, rows=(1, 2, 3, 5, 13), frames=300)
