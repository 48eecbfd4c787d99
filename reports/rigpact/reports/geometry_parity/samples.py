"""Inputs for the functions, in float64: ordinary ones from a seed, and those where formulas divide by zero.

Ordinary means far from every singularity: axes that are not nearly parallel, angles between 0.05 and 2.9 radians.
"""

from collections.abc import Callable, Mapping
from itertools import pairwise

import numpy as np

from rigpact.contract.conventions import Conventions
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.operations.geometry import FROM_XYZW, matrix_to_quat, same_hemisphere
from rigpact.reference_runtime.operations.six_numbers import Rot6d
from rigpact.reports.geometry_parity.oracle import encoded, exp_map
from rigpact.reports.geometry_parity.roles import Kind, Role

ROWS = 70
FRAMES, BONES = 9, 10
SMALLEST_ANGLE_RAD, LARGEST_ANGLE_RAD = 0.05, 2.9
_LARGEST_STEP_RAD = 1.2
_SHEAR = 0.25
"""Range of the entries added to an axis before scaling: at most 0.25·√3 in total, so |b⊥| > 0.3 |b|."""
_LARGEST_SINE = 0.9
Generator = np.random.Generator
Arrays = tuple[FloatArray, ...]


def ordinary(role: Role, rng: Generator, conventions: Conventions) -> Arrays:
    """The arguments of a role's function, each (70, …); a sequence is (9, 10, …), time first.

    Two rotations are never nearly half a turn apart, where a clamped cosine is coarse. Rotations for Euler angles stay away
    from the gimbal lock of every order. Quaternions for a logarithm have w > 0: of -q, the long way round is right too.
    """
    order = FROM_XYZW[str(conventions.quaternion_order)]
    if role.gives == "euler":
        matrices = _off_gimbal(rng)
        return (matrices if role.takes == ("matrix",) else matrix_to_quat(matrices)[..., order],)
    if role.takes == ("matrix", "matrix"):
        first = rotations(rng)
        return first, first @ rotations(rng)
    if role.takes == ("quat",) and role.gives == "vector":
        quats = matrix_to_quat(rotations(rng))
        return (np.where(quats[:, 3:] < 0, -quats, quats)[..., order],)
    drawn = (_DRAW[kind](rng, conventions) for kind in role.takes)
    return tuple(each[..., order] if "quat" in kind else each for each, kind in zip(drawn, role.takes, strict=True))


def vectors(rng: Generator, shape: tuple[int, ...], largest_rad: float = LARGEST_ANGLE_RAD) -> FloatArray:
    """Rotation vectors (*shape, 3) in all directions, angles uniform between 0.05 and `largest_rad`."""
    axis = rng.normal(size=(*shape, 3))
    axis /= np.linalg.norm(axis, axis=-1, keepdims=True)
    return axis * rng.uniform(SMALLEST_ANGLE_RAD, largest_rad, size=(*shape, 1))


def rotations(rng: Generator, rows: int = ROWS) -> FloatArray:
    """Rotation matrices (rows, 3, 3)."""
    return exp_map(vectors(rng, (rows,)))


def _six(rng: Generator, conventions: Conventions) -> FloatArray:
    """Six numbers with sheared axes of different lengths, like a network's output."""
    codec = Rot6d(conventions)
    six = encoded(rotations(rng), codec)
    axes = codec.split(six + rng.uniform(-_SHEAR, _SHEAR, size=six.shape))
    lengths = rng.uniform(0.5, 2.0, size=(2, ROWS, 1, 1))
    return codec.join(axes[0] * lengths[0], axes[1] * lengths[1])


def _off_gimbal(rng: Generator) -> FloatArray:
    """Rotations whose middle angle is at most 64 degrees in each of the six orders: its sine is an entry off the diagonal."""
    drawn = rotations(rng, 40 * ROWS)
    largest = np.abs(drawn[:, ~np.eye(3, dtype=bool)]).max(axis=-1)
    matrices: FloatArray = drawn[largest < _LARGEST_SINE][:ROWS]
    return matrices


def _quat_sequence(rng: Generator, _conventions: Conventions) -> FloatArray:
    """Quaternions without a jump of sign, as a clip holds them."""
    quats = matrix_to_quat(_sequence(rng))
    for before, after in pairwise(quats):
        after[...] = same_hemisphere(before, after)
    return quats


def _sequence(rng: Generator) -> FloatArray:
    frames = [exp_map(vectors(rng, (BONES,)))]
    for _ in range(FRAMES - 1):
        frames.append(exp_map(vectors(rng, (BONES,), _LARGEST_STEP_RAD)) @ frames[-1])
    return np.stack(frames)


def _angles(rng: Generator, _conventions: Conventions) -> FloatArray:
    """Angles of up to two extra turns, never near the jump of wrapping."""
    turns = 2.0 * np.pi * rng.integers(-2, 3, size=ROWS)
    return rng.uniform(-LARGEST_ANGLE_RAD, LARGEST_ANGLE_RAD, size=ROWS) + turns


_DRAW: Mapping[Kind, Callable[[Generator, Conventions], FloatArray]] = {
    "six": _six,
    # large turns, so that orders and directions of a product give different results
    "residual": lambda rng, conventions: _six(rng, conventions) - Rot6d(conventions).identity(1),
    "matrix": lambda rng, _: rotations(rng),
    "vector": lambda rng, _: vectors(rng, (ROWS,)),
    "quat": lambda rng, _: matrix_to_quat(rotations(rng)) * rng.choice([-1.0, 1.0], size=(ROWS, 1)),
    "sequence": lambda rng, _: _sequence(rng),
    "angle": _angles,
    "point": lambda rng, _: rng.normal(size=(ROWS, 3)),
    "euler": lambda rng, _: rng.uniform(0.1, 1.3, size=(ROWS, 3)) * rng.choice([-1.0, 1.0], size=(ROWS, 3)),
    "quat_sequence": _quat_sequence,
    "six_sequence": lambda rng, conventions: encoded(_sequence(rng), Rot6d(conventions)),
}

Cases = dict[str, tuple[FloatArray, ...]]
_TINY, _HUGE = 1e-12, 1e15
"""Lengths below the engine's threshold and far above a network's output; the squares of both fit in float32."""


def half_turns() -> FloatArray:
    """Half turns about the coordinate axes and two diagonals, (5, 3, 3): R = 2aaᵀ - I; only the diagonal is rounded."""
    axes = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [1, -1, 1]], dtype=np.float64)
    axes /= np.linalg.norm(axes, axis=-1, keepdims=True)
    matrices: FloatArray = 2.0 * axes[:, :, None] * axes[:, None, :] - np.eye(3)
    return matrices


def singular(role: Role, given: Arrays, conventions: Conventions, dtype: str) -> Cases:
    """The singular inputs of a role in one type, from its ordinary ones; each case has one row or a few."""
    made: Cases = {}
    first = given[0]
    if role.timed:
        made = {"a pose that stands still": (np.broadcast_to(first[:1], first.shape),)}
        if role.takes == ("sequence",):
            flips = np.array(first)
            flips[1::2] = half_turns()[0] @ flips[1::2]
            made["half a turn each frame"] = (flips,)
    elif "six" in role.takes or "residual" in role.takes:
        made = _six_cases(role, given, conventions)
    elif role.takes == ("matrix",) and role.gives != "six":
        # exactly, and with a rounding error
        still = np.stack([np.eye(3), np.eye(3) * (1.0 + 4.0 * np.finfo(dtype).eps)])
        made = {"no turn": (still,), "half turns": (half_turns(),)}
    elif role.takes == ("vector",):
        unit = np.array([[0.6, 0.0, 0.8], [0.0, 1.0, 0.0]])
        made = {"a zero vector": (0.0 * unit,), "a tiny vector": (unit * _TINY,), "a whole turn": (unit * 2.0 * np.pi,)}
    elif role.takes == ("matrix", "matrix"):
        made = {
            "identical rotations": (first, first),
            "rotations half a turn apart": (first[:5], first[:5] @ half_turns()),
        }
    elif role.takes == ("quat",) and role.gives in ("vector", "euler"):
        order = FROM_XYZW[str(conventions.quaternion_order)]
        rows = {"no turn": np.eye(3)[None], "half turns": half_turns()}
        made = {case: (matrix_to_quat(each)[..., order],) for case, each in rows.items()}
    return {case: tuple(array.astype(dtype) for array in arrays) for case, arrays in made.items()}


def _six_cases(role: Role, given: Arrays, conventions: Conventions) -> Cases:
    """Axes without a direction or a plane; of a delta, of what it makes of the identity."""
    codec, rows = Rot6d(conventions), [each[:4].astype(np.float64) for each in given]
    offset = np.tile(codec.identity(1), (4, 1)) * (conventions.output_mode != "delta")
    made: Cases = {}
    for place, kind in enumerate(role.takes):
        is_delta, (a, b) = kind == "residual", codec.split(rows[place])
        whose = ("", " of the previous pose", " of the delta")[0 if len(rows) == 1 else 1 + place]
        cases = {
            "zero axes": codec.join(0.0 * a, 0.0 * a), "a zero first axis": codec.join(0.0 * a, b),
            "a zero second axis": codec.join(a, 0.0 * a), "parallel axes": codec.join(a, 2.0 * a),
            f"tiny axes ({_TINY:g})": rows[place] * _TINY, f"huge axes ({_HUGE:g})": rows[place] * _HUGE,
        }  # fmt: skip
        if is_delta:  # a tiny delta is no tiny axis
            cases = {case: six - offset for case, six in cases.items() if "tiny" not in case}
            cases["no turn"] = np.tile(codec.identity(1), (4, 1)) - offset
        for case, six in cases.items():
            made[case + whose] = (*rows[:place], six, *rows[place + 1 :])
    return made
