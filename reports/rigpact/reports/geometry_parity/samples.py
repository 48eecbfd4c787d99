"""Ordinary inputs for the functions, from a seed, in float64.

Ordinary means far from every singularity: axes that are not nearly parallel, angles between 0.05 and 2.9 radians. The
singular inputs are in degenerate.py.
"""

from collections.abc import Callable, Mapping

import numpy as np

from rigpact.contract.conventions import Conventions
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.operations.rot6d import Rot6d
from rigpact.reports.geometry_parity import oracle
from rigpact.reports.geometry_parity.roles import Kind, Role

ROWS = 70
FRAMES, BONES = 9, 10
SMALLEST_ANGLE_RAD, LARGEST_ANGLE_RAD = 0.05, 2.9
_LARGEST_STEP_RAD = 1.2
_SHEAR = 0.25
"""Range of the entries added to an axis before scaling: at most 0.25·√3 in total, so |b⊥| > 0.3 |b|."""
_LARGEST_SINE = 0.9
Generator = np.random.Generator


def ordinary(role: Role, rng: Generator, conventions: Conventions) -> tuple[FloatArray, ...]:
    """The arguments of a role's function, each (70, …); a sequence is (9, 10, …), time first.

    Two rotations are never nearly half a turn apart, where a clamped cosine is coarse. Rotations for Euler angles stay away
    from the gimbal lock of every order. Quaternions for a logarithm have w > 0: of -q, the long way round is right too.
    """
    if role.gives == "euler":
        matrices = _off_gimbal(rng)
        return (matrices,) if role.takes == ("matrix",) else (_ordered(oracle.matrix_to_quat(matrices), conventions),)
    if role.takes == ("matrix", "matrix"):
        first = rotations(rng)
        return first, first @ rotations(rng)
    if role.takes == ("quat",) and role.gives == "vector":
        quats = oracle.matrix_to_quat(rotations(rng))
        return (_ordered(np.where(quats[:, 3:] < 0, -quats, quats), conventions),)
    return tuple(_DRAW[kind](rng, conventions) for kind in role.takes)


def vectors(rng: Generator, shape: tuple[int, ...], largest_rad: float = LARGEST_ANGLE_RAD) -> FloatArray:
    """Rotation vectors (*shape, 3) in all directions, angles uniform between 0.05 and `largest_rad`."""
    axis = rng.normal(size=(*shape, 3))
    axis /= np.linalg.norm(axis, axis=-1, keepdims=True)
    return axis * rng.uniform(SMALLEST_ANGLE_RAD, largest_rad, size=(*shape, 1))


def rotations(rng: Generator, rows: int = ROWS) -> FloatArray:
    """Rotation matrices (rows, 3, 3)."""
    return oracle.exp_map(vectors(rng, (rows,)))


def encoded(matrices: FloatArray, codec: Rot6d) -> FloatArray:
    """The six numbers (..., 6) of (..., 3, 3)."""
    return codec.encode(matrices[..., None, :, :])


def decoded(six: FloatArray, codec: Rot6d) -> FloatArray:
    """The rotations (..., 3, 3) of (..., 6)."""
    matrices: FloatArray = codec.decode(six)[..., 0, :, :]
    return matrices


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


def _ordered(xyzw: FloatArray, conventions: Conventions) -> FloatArray:
    return xyzw if conventions.quaternion_order == "xyzw" else np.roll(xyzw, 1, axis=-1)


def _quat(rng: Generator, conventions: Conventions) -> FloatArray:
    return _ordered(oracle.matrix_to_quat(rotations(rng)) * rng.choice([-1.0, 1.0], size=(ROWS, 1)), conventions)


def _quat_sequence(rng: Generator, conventions: Conventions) -> FloatArray:
    """Quaternions without a jump of sign, as a clip holds them."""
    quats = oracle.matrix_to_quat(_sequence(rng, conventions))
    flips = np.sum(quats[1:] * quats[:-1], axis=-1, keepdims=True) < 0
    quats[1:] *= np.where(np.cumsum(flips, axis=0) % 2 == 1, -1.0, 1.0)
    return _ordered(quats, conventions)


def _sequence(rng: Generator, _conventions: Conventions) -> FloatArray:
    frames = [oracle.exp_map(vectors(rng, (BONES,)))]
    for _ in range(FRAMES - 1):
        frames.append(oracle.exp_map(vectors(rng, (BONES,), _LARGEST_STEP_RAD)) @ frames[-1])
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
    "quat": _quat,
    "sequence": _sequence,
    "angle": _angles,
    "point": lambda rng, _: rng.normal(size=(ROWS, 3)),
    "euler": lambda rng, _: rng.uniform(0.1, 1.3, size=(ROWS, 3)) * rng.choice([-1.0, 1.0], size=(ROWS, 3)),
    "quat_sequence": _quat_sequence,
    "six_sequence": lambda rng, conventions: encoded(_sequence(rng, conventions), Rot6d(conventions)),
}
