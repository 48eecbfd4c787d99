"""The roles of the training side's functions: names, inputs, results; what they are asked, and how near they must come.

Inputs are ordinary ones from a seed, far from every singularity (axes that are not nearly parallel, angles between 0.05 and 2.9
radians), and those where formulas divide by zero. Logarithm, angle, quaternion and six numbers are the reference runtime's,
whose tests compare them with mpmath. Columns are axes.

gamma(k) = k·u / (1 - k·u) bounds a chain of k roundings, with u of the dtype (as in the reference runtime's
tolerances). On the samples, the condition number of Gram–Schmidt is at most |b|/|b⊥| < 7. A simple but correct
logarithm, with acos and division by sin θ, amplifies the rounding of each entry of R by θ/sin²θ < 51 at 2.9 radians.
The training side may add an epsilon of 1e-8 to a length of at least 0.15 (|b⊥| of the shortest axis): that is 7e-8.

To add a role: a row in `ROLES`, its inputs in `_DRAW`, its operation in readings.py.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from rigpact.contract.conventions import Conventions
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.operations.geometry import (
    FROM_XYZW,
    TRAINING_EPSILON,
    exp_map,
    matrix_to_quat,
    same_hemisphere,
    transposed,
)
from rigpact.reference_runtime.operations.six_numbers import Rot6d

Kind = Literal[
    "six", "residual", "matrix", "vector", "quat", "point", "euler", "angle", "sequence", "quat_sequence",
    "six_sequence",
]  # fmt: skip

_KINDS: Mapping[Kind, tuple[tuple[int, ...], str]] = {
    **dict.fromkeys(("six", "residual", "six_sequence"), ((6,), "(six numbers)")),
    **dict.fromkeys(("matrix", "sequence"), ((3, 3), "(matrix entries)")),
    **dict.fromkeys(("quat", "quat_sequence"), ((4,), "(quaternion)")),
    **dict.fromkeys(("vector", "euler"), ((3,), "rad")), "angle": ((), "rad"), "point": ((3,), "(coordinates)"),
}  # fmt: skip
TRAILING: Mapping[Kind, tuple[int, ...]] = {kind: shape for kind, (shape, _) in _KINDS.items()}
"""Shape of one value of each kind; all axes before it are leading axes. A sequence's first axis is time."""
UNIT: Mapping[Kind, str] = {kind: unit for kind, (_, unit) in _KINDS.items()}


@dataclass(frozen=True)
class Role:
    """One function of the contract's geometry. aliases: its names in other libraries.

    loose: names that other functions have too. What such a function is meant to compute is certain only where it agrees
    with the role.
    """

    name: str
    takes: tuple[Kind, ...]
    gives: Kind
    aliases: tuple[str, ...] = ()
    loose: tuple[str, ...] = ()
    flat: bool = False
    timed: bool = False

    @property
    def is_euler(self) -> bool:
        """Whether it takes or gives Euler angles."""
        return "euler" in (self.gives, *self.takes)

    @property
    def names(self) -> tuple[str, ...]:
        """All names of the function, the contract's first."""
        return (self.name, *self.aliases, *self.loose)


_VELOCITY = "compute_angular_velocity? compute_angular_velocities? angular_velocity? compute_angvel?"
_ROLES = f"""
rot6d_to_matrix six matrix: rotation_6d_to_matrix rot6d_to_rotmat cont6d_to_matrix ortho6d_to_matrix
    compute_rotation_matrix_from_ortho6d
matrix_to_rot6d matrix six: matrix_to_rotation_6d rotmat_to_rot6d matrix_to_cont6d
reproject_rot6d six six flat: normalize_rot6d
normalize_rot6d_delta residual six flat: normalise_rot6d_delta
compose_rot6d_delta six+residual six flat:
so3_log_map matrix vector: matrix_to_axis_angle so3_log rotmat_to_rotvec matrix_to_rotvec rotation_matrix_to_axis_angle
    compact_axis_angle_from_matrix rotation_vector?
so3_exp_map vector matrix: axis_angle_to_matrix so3_exp rotvec_to_rotmat rotvec_to_matrix batch_rodrigues
    axis_angle_to_rotation_matrix axangle2mat angvec2r matrix_from_compact_axis_angle
geodesic_R matrix+matrix angle: geodesic_angle rotation_angle_rad so3_relative_angle rotmat_geodesic_distance
angvel_vec_from_R_seq sequence vector timed: angular_velocity_from_rotations? angular_velocity_from_rotmats? {_VELOCITY}
angvel_from_quat_seq quat_sequence vector timed: quat_to_angular_velocity? angular_velocity_from_quats? {_VELOCITY}
angvel_from_rot6d_seq six_sequence vector timed: rot6d_to_angular_velocity? angular_velocity_from_rot6d? {_VELOCITY}
quat_to_matrix quat matrix: quaternion_to_matrix quat_to_rotmat unitquat_to_rotmat matrix_from_quat quat_to_rot_mat
    quat_to_mat quat2mat q2r quaternion_to_rotation_matrix matrix_from_quaternion
matrix_to_quat matrix quat: matrix_to_quaternion rotmat_to_quat rotmat_to_unitquat quat_from_matrix mat2quat r2q
    rotation_matrix_to_quaternion quaternion_from_matrix
rot6d_to_quat six quat: rotation_6d_to_quaternion cont6d_to_quaternion cont6d_to_quat
quat_to_rot6d quat six: quaternion_to_rotation_6d quaternion_to_cont6d quat_to_cont6d quat_to_tan_norm
quat_to_axis_angle quat vector: quaternion_to_axis_angle axis_angle_from_quat quat_to_angle_axis quat_to_rotvec
    unitquat_to_rotvec quat_to_exp_map quat_to_scaled_angle_axis quat2axangle compact_axis_angle_from_quaternion
axis_angle_to_quat vector quat: axis_angle_to_quaternion quat_from_angle_axis angle_axis_to_quat rotvec_to_quat
    rotvec_to_unitquat exp_map_to_quat quat_from_scaled_angle_axis axangle2quat quaternion_from_compact_axis_angle
quat_mul quat+quat quat: quaternion_multiply quaternion_raw_multiply quat_multiply quat_product qmul qmult qqmul
    concatenate_quaternions
quat_inverse quat quat: quaternion_invert quat_conjugate quaternion_conjugate quat_conjugation quat_inv qinv qinverse q_conj
quat_rotate quat+point point: quaternion_apply quat_apply quat_rotate_vector quat_mul_vec quat_action qrot qvmul q_prod_vector
quat_rotate_inverse quat+point point: quat_apply_inverse quat_inv_mul_vec
euler_to_matrix euler matrix: euler_angles_to_matrix euler_to_rotmat euler_xyz_to_matrix euler2mat rpy2r
matrix_to_euler matrix euler: matrix_to_euler_angles rotmat_to_euler mat2euler
euler_to_quat euler quat: euler_to_quaternion euler_xyz_to_quat quat_from_euler_xyz quat_from_euler euler2quat
quat_to_euler quat euler: quaternion_to_euler euler_xyz_from_quat get_euler_xyz qeuler quat2euler
wrap_to_pi angle angle: wrap_angle wrap_yaw normalize_angle?
"""
"""Name, what it takes and gives, how it is laid out: its names in other libraries, loose ones with a question mark."""


def _roles() -> Iterator[Role]:
    for row in re.split(r"\n(?=\S)", _ROLES.strip()):
        head, _, names = row.partition(":")
        name, takes, gives, *flags = head.split()
        kinds, other = [*map(_kind, (*takes.split("+"), gives))], names.split()
        aliases, loose = (
            tuple(each.rstrip("?") for each in other if each.endswith("?") == end) for end in (False, True)
        )
        yield Role(name, tuple(kinds[:-1]), kinds[-1], aliases, loose, flat="flat" in flags, timed="timed" in flags)


def _kind(word: str) -> Kind:
    return next(kind for kind in _KINDS if kind == word)


ROLES: Mapping[str, Role] = {role.name: role for role in _roles()}
"""All roles by name."""


MATCH = 1e-4
"""A function within this distance follows a convention; two conventions differ by tenths on the samples."""
RATES_HZ = (50.0, 24.0)
"""Two rates, so that a fixed rate inside a function of time shows."""
_UNIT_ROUNDOFF = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11}
_OPERATIONS = {"vector": 512, "angle": 512, "euler": 512}
_FEW_OPERATIONS = 64
_SHORTEST = 0.15
_LARGEST_RADIANS = 2.0 * np.pi + MATCH
"""No angle in radians is larger; angles in degrees of the samples are."""


def encoded(matrices: FloatArray, codec: Rot6d) -> FloatArray:
    """The six numbers (..., 6) of (..., 3, 3)."""
    return codec.encode(matrices[..., None, :, :])


def decoded(six: FloatArray, codec: Rot6d) -> FloatArray:
    """The rotations (..., 3, 3) of (..., 6)."""
    matrices: FloatArray = codec.decode(six)[..., 0, :, :]
    return matrices


def defect(matrix: FloatArray) -> FloatArray:
    """How far (..., 3, 3) is from a rotation: the largest entry of |RᵀR - I| and |det - 1|, (...,); inf if not finite."""
    with np.errstate(all="ignore"):
        gram = np.abs(transposed(matrix) @ matrix - np.eye(3)).max(axis=(-1, -2))
        worst = np.maximum(gram, np.abs(np.linalg.det(matrix) - 1.0))
    return np.where(np.isfinite(worst), worst, np.inf)


def tolerance(role: Role, dtype: str, scale: float) -> float:
    """The largest error that rounding explains, for results of size `scale`."""
    steps = _OPERATIONS.get(role.gives, _FEW_OPERATIONS) * _UNIT_ROUNDOFF[dtype]
    return scale * (steps / (1.0 - steps) + TRAINING_EPSILON / _SHORTEST)


def scale_of(expected: FloatArray) -> float:
    """The size of a result: its largest entry, at least 1."""
    return max(1.0, float(np.abs(expected).max(initial=0.0)))


def row_errors(role: Role, value: FloatArray, expected: FloatArray) -> FloatArray:
    """Largest error of each row, (rows,); infinite for non-finite values.

    q and -q are the same rotation; so are Euler angles that differ by whole turns.
    """
    if role.gives == "euler":
        turn = 2.0 * np.pi if np.abs(expected).max(initial=0.0) <= _LARGEST_RADIANS else 360.0
        return _row_errors(value - turn * np.round((value - expected) / turn), expected)
    if role.gives == "quat":
        return np.minimum(_row_errors(value, expected), _row_errors(-value, expected))
    return _row_errors(value, expected)


def _row_errors(value: FloatArray, expected: FloatArray) -> FloatArray:
    with np.errstate(invalid="ignore"):
        difference = np.abs(value.astype(np.float64) - expected)
    difference = np.where(np.isfinite(difference), difference, np.inf)
    worst: FloatArray = difference.reshape(len(difference), -1).max(axis=-1, initial=0.0)
    return worst


def fitted_ratio(value: FloatArray, expected: FloatArray) -> float | None:
    """The number r with value = r · expected, within `MATCH` of its size; None if there is none or r is 0."""
    if value.shape != expected.shape or not np.isfinite(value).all():
        return None
    ratio = float(np.sum(value * expected) / np.sum(expected * expected))
    rest = float(np.abs(value - ratio * expected).max())
    size = abs(ratio) * float(np.abs(expected).max())
    return ratio if size > 0.0 and rest <= MATCH * size else None


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
