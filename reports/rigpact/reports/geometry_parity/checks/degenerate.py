"""Check inputs where formulas divide by zero: zero and parallel axes, no turn, half turns, identical rotations.

Gradients are checked there too. Inputs are made in float64 and float32: many functions are correct in only one type.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import product

import numpy as np

from rigpact.contract.errors import error_text
from rigpact.contract.findings import Finding
from rigpact.contract.rules.answers import geometry as rules
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.operations.rot6d import Rot6d
from rigpact.reports.geometry_parity import oracle
from rigpact.reports.geometry_parity.calling.backend import Array
from rigpact.reports.geometry_parity.calling.function import CallFailed
from rigpact.reports.geometry_parity.checks.behaviour import Check, Facts
from rigpact.reports.geometry_parity.meaning import Known
from rigpact.reports.geometry_parity.precision import row_errors
from rigpact.reports.geometry_parity.readings.forms import as_quat
from rigpact.reports.geometry_parity.readings.scaled import fitted_ratio

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


def _matrix_cases(_known: Known, dtype: str) -> Cases:
    still = np.stack([np.eye(3), np.eye(3) * (1.0 + 4.0 * np.finfo(dtype).eps)])  # exactly, and with a rounding error
    return {"no turn": (still,), "half turns": (half_turns(),)}


def _vector_cases(_known: Known, _dtype: str) -> Cases:
    unit = np.array([[0.6, 0.0, 0.8], [0.0, 1.0, 0.0]])
    zero, whole = np.zeros((2, 3)), unit * 2.0 * np.pi
    return {"a zero vector": (zero,), "a tiny vector": (unit * _TINY,), "a whole turn": (whole,)}


def _pair_cases(known: Known, _dtype: str) -> Cases:
    a = known.arrays[0]
    return {"identical rotations": (a, a), "rotations half a turn apart": (a[:5], a[:5] @ half_turns())}


def _quat_cases(known: Known, _dtype: str) -> Cases:
    order = str(known.conventions.quaternion_order)
    return {"no turn": (as_quat(np.eye(3)[None], order),), "half turns": (as_quat(half_turns(), order),)}


def _still_cases(known: Known, _dtype: str) -> Cases:
    return {"a pose that stands still": (np.broadcast_to(known.arrays[0][:1], known.arrays[0].shape),)}


def _sequence_cases(known: Known, _dtype: str) -> Cases:
    cases = _still_cases(known, _dtype)
    flips = np.array(cases["a pose that stands still"][0])
    flips[1::2] = half_turns()[0] @ flips[1::2]
    return {**cases, "half a turn each frame": (flips,)}


_CASES: Mapping[str, Callable[[Known, str], Cases]] = {
    **dict.fromkeys(("rot6d_to_matrix", "rot6d_to_quat", "reproject_rot6d"), _six_cases),
    "normalize_rot6d_delta": _delta_cases,
    "compose_rot6d_delta": _compose_cases,
    **dict.fromkeys(("so3_log_map", "matrix_to_quat", "matrix_to_euler"), _matrix_cases),
    **dict.fromkeys(("so3_exp_map", "axis_angle_to_quat"), _vector_cases),
    "geodesic_R": _pair_cases,
    "angvel_vec_from_R_seq": _sequence_cases,
    **dict.fromkeys(("angvel_from_quat_seq", "angvel_from_rot6d_seq"), _still_cases),
    **dict.fromkeys(("quat_to_axis_angle", "quat_to_euler"), _quat_cases),
}


NO_ROTATION_FROM = 1e-3
"""A matrix that is off orthonormal by more than this is not a rotation; an epsilon of 1e-8 stays far below it."""
SMALL_ANGLES_RAD = (1e-4, 1e-3, 1e-2)
"""Turns per frame; at 60 frames per second, a bone turns by 0.3, 3 and 34 degrees per second."""
_LOST_SHARE = {"float64": 1e-3, "float32": 1e-2}
"""A relative error above this is not rounding: a step of 1e-4 from float32 entries is known to 1e-3."""
_FLOOR_RAD = {"float64": 1e-7, "float32": 64 * 2.0**-24}
"""Angles between equal rotations that count as rounding: 64 operations in float32, an invisible angle in float64."""
_HALF_TURN_LOST_DEG = 0.1
_TYPES = ("float64", "float32")


def check_degenerate(known: Known, facts: Facts) -> Iterator[Finding]:
    """Check for non-finite results, collapsed rotations, lost small angles and half turns, and a floor of angles."""
    refused: list[str] = []
    outcomes = list(_outcomes(known, refused))
    if refused:  # refusing an input without an answer is correct
        facts["refuses"] = ", ".join(dict.fromkeys(refused))
    broken = _cases_where(outcomes, lambda value: not np.isfinite(value).all())
    if broken:
        value = next(value for _, _, value in outcomes if not np.isfinite(value).all())
        shown = "NaN" if np.isnan(value).any() else "infinity"
        yield known.finding(rules.NOT_FINITE, value=shown, cases=broken)
    if known.function.role.gives in ("matrix", "six"):
        yield from _collapsed(known, outcomes)
    more = _MORE.get(known.function.role.name)
    yield from () if more is None else more(known)


Outcome = tuple[str, str, FloatArray]
"""(case, dtype, result)."""


def _outcomes(known: Known, refused: list[str]) -> Iterator[Outcome]:
    for dtype in _TYPES:
        for case, arrays in cases_of(known, dtype).items():
            try:
                value = known.call(*arrays).astype(np.float64)
            except CallFailed:
                refused.append(case)
                continue
            counts = (len(arrays[0]), len(arrays[0]) - 1)
            if value.ndim and len(value) in counts and value.shape[1:] == known.value.shape[1:]:
                yield case, dtype, value


def _cases_where(outcomes: list[Outcome], is_so: Callable[[FloatArray], bool]) -> str:
    """The cases in words; the type is named where the other type passes."""
    types: dict[str, list[str]] = {}
    for case, dtype, value in outcomes:
        if is_so(value):
            types.setdefault(case, []).append(dtype)
    return ", ".join(case if len(where) == len(_TYPES) else f"{case} in {where[0]}" for case, where in types.items())


def _collapsed(known: Known, outcomes: list[Outcome]) -> Iterator[Finding]:
    """Finite results that are not rotations, of a function whose ordinary results are rotations."""
    if known.conventions.degenerate_axis == "zero" or _defect(known, known.value) > NO_ROTATION_FROM:
        return
    finite = [(case, dtype, value) for case, dtype, value in outcomes if np.isfinite(value).all()]
    cases = _cases_where(finite, lambda value: _defect(known, value) > NO_ROTATION_FROM)
    if cases:
        yield known.finding(rules.NO_ROTATION, cases=cases, defect=max(_defect(known, value) for _, _, value in finite))


def _defect(known: Known, value: FloatArray) -> float:
    if known.function.role.gives == "matrix":
        return float(oracle.defect(value.astype(np.float64)).max())
    a, b = Rot6d(known.conventions).split(value.astype(np.float64))
    gram = [np.sum(first * second, axis=-1) for first, second in ((a, a), (b, b), (a, b))]
    return float(np.abs(np.stack(gram) - np.array([1.0, 1.0, 0.0])[:, None, None]).max())


def _log_more(known: Known) -> Iterator[Finding]:
    expected = oracle.rotation_vector(known.arrays[0].astype(np.float64))
    ratio = fitted_ratio(known.value.astype(np.float64), expected)
    if ratio is None:
        return
    axis = np.array([[0.48, -0.6, 0.64]])
    yield from _small_angles(known, lambda angle: oracle.exp_map(axis * angle), ratio * axis)

    def error_deg(value: FloatArray, turns: FloatArray) -> float:
        return float(np.degrees(oracle.rotation_angle_rad(oracle.exp_map(value / ratio), turns).max()))

    yield from _half_turns_lost(known, error_deg)


def _half_turns_lost(known: Known, error_deg: Callable[[FloatArray, FloatArray], float]) -> Iterator[Finding]:
    """The first type in which half turns are off. error_deg: of a result, and of the half turns that it is the result of."""
    for dtype in _TYPES:
        turns = half_turns().astype(dtype)
        value = _result(known, turns)
        if value is None or not np.isfinite(value).all() or value.shape != (len(turns), *known.value.shape[1:]):
            continue
        error = error_deg(value, turns.astype(np.float64))
        if error > _HALF_TURN_LOST_DEG:
            yield known.finding(rules.HALF_TURN_LOST, error_deg=error, case=dtype)
            return


def _small_angles(known: Known, make: Callable[[float], FloatArray], per_radian: FloatArray) -> Iterator[Finding]:
    """Check the relative error at small turns. per_radian: the expected result for a turn of one radian."""
    lost: list[tuple[float, float, str]] = []
    for dtype, angle in product(_TYPES, SMALL_ANGLES_RAD):
        value = _result(known, make(angle).astype(dtype))
        if value is not None and np.isfinite(value).all():
            share = float(np.abs(value - per_radian * angle).max() / (np.abs(per_radian).max() * angle))
            lost += [(share, angle, dtype)] if share > _LOST_SHARE[dtype] else []
    if lost:
        share, angle, dtype = max(lost, key=lambda each: each[0])
        values = {"percent": 100.0 * share, "angle_deg": float(np.degrees(angle))}
        yield known.finding(rules.SMALL_ANGLES_LOST, dtype=dtype, **values)


def _result(known: Known, *arrays: Array) -> FloatArray | None:
    try:
        return known.call(*arrays).astype(np.float64)
    except CallFailed:
        return None


def _velocity_more(known: Known) -> Iterator[Finding]:
    """A slow turn of two bones, one of them far from the rest pose."""
    if known.reading is None:
        return
    axis = np.array([0.48, -0.6, 0.64])
    start = np.stack([np.eye(3), known.arrays[0][0, 0].astype(np.float64)])

    def slow(angle: float) -> FloatArray:
        return np.stack([oracle.exp_map(axis * angle * frame) @ start for frame in range(5)])

    per_radian = known.reading.compute(slow(1e-2)) / 1e-2
    yield from _small_angles(known, slow, per_radian)


def _geodesic_more(known: Known) -> Iterator[Finding]:
    """Angles between equal rotations, in radians whatever the function's unit; none if it does not measure angles."""
    apart = oracle.rotation_angle_rad(*(array.astype(np.float64) for array in known.arrays))
    ratio = fitted_ratio(known.value.astype(np.float64), apart)
    if ratio is None:
        return
    floors: list[tuple[float, str]] = []
    for dtype in _TYPES:
        a = known.arrays[0].astype(dtype)
        value = _result(known, a, a)
        floor = 0.0 if value is None or not np.isfinite(value).all() else float(np.abs(value / ratio).max(initial=0.0))
        if floor > _FLOOR_RAD[dtype]:
            floors.append((floor, dtype))
    if floors:
        floor, dtype = max(floors)
        yield known.finding(rules.ANGLE_FLOOR, floor_deg=float(np.degrees(floor)), dtype=dtype)


def _quat_more(known: Known) -> Iterator[Finding]:
    reading = known.reading
    if reading is None:
        return

    def error_deg(value: FloatArray, turns: FloatArray) -> float:
        return float(np.degrees(2.0 * row_errors(known.function.role, value, reading.compute(turns)).max()))

    yield from _half_turns_lost(known, error_deg)


_MORE: Mapping[str, Callable[[Known], Iterator[Finding]]] = {
    "so3_log_map": _log_more,
    "angvel_vec_from_R_seq": _velocity_more,
    "geodesic_R": _geodesic_more,
    "matrix_to_quat": _quat_more,
}


def check_gradients(known: Known, facts: Facts) -> Iterator[Finding]:
    """Gradients of torch functions must be finite on ordinary and on singular input."""
    cases: Cases = {"ordinary input": known.arrays, **cases_of(known, known.dtype)}
    broken: dict[str, str] = {}
    for case, arrays in cases.items():
        try:
            bad = _bad_gradients(known, arrays)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - anything may go wrong in somebody else's function
            facts["gradient"] = error_text(error)
            return
        if bad is None:
            facts["gradient"] = "none: the result does not depend on its input for autograd"
            return
        if bad and np.isfinite(known.value).all():
            broken.setdefault(case, "NaN" if any(np.isnan(gradient).any() for gradient in bad) else "infinite")
    facts["gradient"] = "finite" if not broken else f"not finite: {', '.join(broken)}"
    if broken:
        yield known.finding(rules.GRADIENT_NOT_FINITE, value=next(iter(broken.values())), cases=", ".join(broken))


def _bad_gradients(known: Known, arrays: tuple[Array, ...]) -> list[FloatArray] | None:
    """The gradients that are not finite; None where autograd finds no path, as for a result in parts."""
    from rigpact.reports.geometry_parity.calling.torch_backend import input_gradients

    bad: list[FloatArray] = []
    rows = [arrays]
    if known.function.one_by_one:
        rows = [tuple(each[:, 0] for each in arrays)] if known.function.role.timed else list(zip(*arrays, strict=True))
    for row in rows:
        gradients = input_gradients(known.function.native_call, known.function.lay(row))
        if gradients is None:
            return None
        bad += [gradient for gradient in gradients if not np.isfinite(gradient).all()]
    return bad


DEGENERATE: tuple[Check, ...] = (check_degenerate,)
GRADIENTS: tuple[Check, ...] = (check_gradients,)
