"""Inputs where formulas divide by zero: zero and parallel axes, no turn, half turns, identical rotations."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.operations.rot6d import Rot6d
from rigpact.reports.geometry_parity.calling.backend import Array
from rigpact.reports.geometry_parity.meaning import Known
from rigpact.reports.geometry_parity.readings.quaternions import as_quat

Cases = dict[str, tuple[Array, ...]]
_TINY, _HUGE = 1e-12, 1e15
"""Lengths below the engine's threshold and far above a network's output; the squares of both fit in float32."""


def cases_of(known: Known, dtype: str) -> Cases:
    """The singular inputs of a role in one type; each case has one row or a few."""
    make = _CASES.get(known.function.role.name)
    made = {} if make is None else make(known, dtype)
    return {case: tuple(array.astype(dtype) for array in arrays) for case, arrays in made.items()}


def _six_cases(known: Known, _dtype: str) -> Cases:
    codec, six = Rot6d(known.conventions), known.arrays[0][:4].astype(np.float64)
    a, b = codec.split(six)
    zero = np.zeros_like(a)
    return {
        "zero axes": (codec.join(zero, zero),),
        "a zero first axis": (codec.join(zero, b),),
        "a zero second axis": (codec.join(a, zero),),
        "parallel axes": (codec.join(a, 2.0 * a),),
        f"tiny axes ({_TINY:g})": (six * _TINY,),
        f"huge axes ({_HUGE:g})": (six * _HUGE,),
    }


def _delta_cases(known: Known, dtype: str) -> Cases:
    codec = Rot6d(known.conventions)
    offset = np.tile(codec.identity(1), (4, 1)) * (known.conventions.output_mode != "delta")
    cases = {case: (six - offset,) for case, (six,) in _six_cases(known, dtype).items() if "tiny" not in case}
    return {**cases, "no turn": (np.tile(codec.identity(1), (4, 1)) - offset,)}


def _compose_cases(known: Known, dtype: str) -> Cases:
    previous, delta = (array[:4].astype(np.float64) for array in known.arrays)
    before = {f"{case} of the previous pose": (six, delta) for case, (six,) in _six_cases(known, dtype).items()}
    turn = {f"{case} of the delta": (previous, six) for case, (six,) in _delta_cases(known, dtype).items()}
    return {**before, **turn}


def half_turns() -> FloatArray:
    """Half turns about the coordinate axes and two diagonals, (5, 3, 3): R = 2aaᵀ - I; only the diagonal is rounded."""
    axes = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [1, -1, 1]], dtype=np.float64)
    axes /= np.linalg.norm(axes, axis=-1, keepdims=True)
    matrices: FloatArray = 2.0 * axes[:, :, None] * axes[:, None, :] - np.eye(3)
    return matrices


def _still(dtype: str) -> FloatArray:
    """No turn, exactly and with a rounding error in the trace."""
    return np.stack([np.eye(3), np.eye(3) * (1.0 + 4.0 * np.finfo(dtype).eps)])


def _matrix_cases(_known: Known, dtype: str) -> Cases:
    return {"no turn": (_still(dtype),), "half turns": (half_turns(),)}


def _vector_cases(_known: Known, _dtype: str) -> Cases:
    unit = np.array([[0.6, 0.0, 0.8], [0.0, 1.0, 0.0]])
    return {
        "a zero vector": (np.zeros((2, 3)),),
        "a tiny vector": (unit * _TINY,),
        "a whole turn": (unit * 2.0 * np.pi,),
    }


def _pair_cases(known: Known, _dtype: str) -> Cases:
    a = known.arrays[0]
    return {
        "identical rotations": (a, a),
        "rotations half a turn apart": (a[:5], a[:5] @ half_turns()),
    }


def _quat_cases(known: Known, _dtype: str) -> Cases:
    order = str(known.conventions.quaternion_order)
    return {"no turn": (as_quat(np.eye(3)[None], order),), "half turns": (as_quat(half_turns(), order),)}


def _still_cases(known: Known, _dtype: str) -> Cases:
    return {"a pose that stands still": (np.broadcast_to(known.arrays[0][:1], known.arrays[0].shape),)}


def _sequence_cases(known: Known, _dtype: str) -> Cases:
    still = np.broadcast_to(known.arrays[0][:1], known.arrays[0].shape)
    flips = np.array(still)
    flips[1::2] = half_turns()[0] @ flips[1::2]
    return {"a pose that stands still": (still,), "half a turn each frame": (flips,)}


_CASES: Mapping[str, Callable[[Known, str], Cases]] = {
    "rot6d_to_matrix": _six_cases,
    "rot6d_to_quat": _six_cases,
    "reproject_rot6d": _six_cases,
    "normalize_rot6d_delta": _delta_cases,
    "compose_rot6d_delta": _compose_cases,
    "so3_log_map": _matrix_cases,
    "so3_exp_map": _vector_cases,
    "geodesic_R": _pair_cases,
    "angvel_vec_from_R_seq": _sequence_cases,
    "angvel_from_quat_seq": _still_cases,
    "angvel_from_rot6d_seq": _still_cases,
    "matrix_to_quat": _matrix_cases,
    "matrix_to_euler": _matrix_cases,
    "quat_to_axis_angle": _quat_cases,
    "quat_to_euler": _quat_cases,
    "axis_angle_to_quat": _vector_cases,
}
