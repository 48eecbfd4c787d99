"""How a function behaves, whatever it computes: types, axes, memory layout, NaN, repetition, changes in place, and where
formulas divide by zero: zero and parallel axes, no turn, half turns, identical rotations.

The checks of behaviour compare the function with its own results on ordinary inputs. So only meaning.py reports another
convention. Singular inputs are made in float64 and float32: many functions are correct in only one type. A check yields
findings, and notes facts that are not defects.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product

import numpy as np

from rigpact.contract.findings import Finding
from rigpact.contract.rules.family import geometry as rules
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.operations.geometry import exp_map, rotation_angle_rad
from rigpact.reference_runtime.operations.six_numbers import Rot6d
from rigpact.reports.geometry_parity.calling import ALONE, LAYOUTS, ROWS, Array, CallFailed, RowLayout
from rigpact.reports.geometry_parity.forms import Compute
from rigpact.reports.geometry_parity.meaning import WORKING_TYPES, Known
from rigpact.reports.geometry_parity.roles import (
    RATES_HZ,
    UNIT,
    defect,
    fitted_ratio,
    half_turns,
    row_errors,
    scale_of,
    singular,
    tolerance,
)

Facts = dict[str, str]
Check = Callable[[Known, Facts], Iterator[Finding]]
_FRAMES_AND_BONES, _FLAT = LAYOUTS["(B, T, J, *)"], LAYOUTS["(N, J*)"]


def _error(known: Known, value: FloatArray, expected: FloatArray, dtype: str = "") -> float:
    if value.shape != expected.shape:
        return float("inf")
    errors = row_errors(known.function.role, value.astype(np.float64), expected.astype(np.float64))
    error = float(errors.max(initial=0.0))
    return error if error > tolerance(known.function.role, dtype or known.dtype, scale_of(expected)) else 0.0


def _called(known: Known, *arrays: Array, layout: RowLayout | None = None) -> FloatArray | None:
    function = known.function if layout is None else replace(known.function, layout=layout)
    try:
        return function(*arrays, fps=RATES_HZ[0])
    except CallFailed:
        return None


def check_axes(known: Known, facts: Facts) -> Iterator[Finding]:
    """Check three leading axes, a single rotation, no rotation, several bones in one flat vector, and broadcasting."""
    function, arrays = known.function, known.arrays
    if function.one_by_one or function.role.timed:
        facts["leading axes"] = "refused" if function.one_by_one else "taken"
        return
    if function.layout == ROWS:  # it may refuse more axes, and say so; what it makes of them must not be something else
        facts["leading axes"], refusal = "taken", ""
        try:
            value = replace(function, layout=_FRAMES_AND_BONES)(*arrays)
            if _error(known, value, known.value):
                refusal = f"it returns the shape {list(value.shape)}, or other results"
        except CallFailed as failed:
            refusal = str(failed)
        if refusal:
            facts["leading axes"] = "refused"
            case = f"input of the shape {_FRAMES_AND_BONES.shown(function.role.takes[0])}"
            yield known.finding(rules.AXES_REFUSED, case=case, error=refusal)
    else:
        facts["leading axes"] = f"as {function.layout.shown(function.role.takes[0])}"
    asked = {
        "one alone": ([array[:1] for array in arrays], ALONE),
        "none at all": ([array[:0] for array in arrays], None),
    }
    if len(arrays) == 2 and function.plain:
        asked["broadcast"] = ([arrays[0], arrays[1][:1]], None)
    for name, (given, layout) in asked.items():
        facts[name] = "refused" if _called(known, *given, layout=layout) is None else "taken"
    if function.role.flat and function.plain:  # several bones side by side, as poses are stored
        flat = _called(known, *arrays, layout=_FLAT)
        is_whole = flat is not None and flat.shape == known.value.shape
        facts["flat poses"] = "refused" if flat is None else "taken" if is_whole else f"give {list(flat.shape)}"
        if flat is not None and is_whole and (error := _error(known, flat, known.value)):
            yield known.finding(rules.ROWS_MIXED, case="when several bones stand in one flat vector", error=error)


def check_types(known: Known, facts: Facts) -> Iterator[Finding]:
    """The function must take float64 and float32 and keep the type. Cut integers fail; float16 is only noted."""
    for dtype in WORKING_TYPES:
        try:
            value = known.call(*(array.astype(dtype) for array in known.arrays))
        except CallFailed as error:
            facts[dtype] = "refused"
            yield known.finding(rules.TYPE_REFUSED, dtype=dtype, error=error)
            continue
        facts[dtype] = "kept" if value.dtype.name == dtype else f"becomes {value.dtype.name}"
        if value.shape != known.value.shape:
            shapes = [f"the shape {list(shape)}" for shape in (value.shape, known.value.shape)]
            yield known.finding(rules.OTHER_SHAPE, found=shapes[0], case=f"{dtype} input", expected=shapes[1])
        if value.dtype.name != dtype:
            yield known.finding(rules.TYPE_CHANGED, given=dtype, found=value.dtype.name)
    half, integers = _called(known, *(array.astype(np.float16) for array in known.arrays)), "refused"
    facts["float16"] = "refused"
    if half is not None:
        rounded = known.call(*(array.astype(np.float16).astype(known.dtype) for array in known.arrays))
        kept = "kept" if half.dtype == np.float16 else f"becomes {half.dtype.name}"
        facts["float16"] = f"{kept}, off by more than rounding" if _error(known, half, rounded, "float16") else kept
    whole = tuple(_whole(array, kind) for array, kind in zip(known.arrays, known.function.role.takes, strict=True))
    found, exact = _called(known, *whole), _called(known, *(array.astype(known.dtype) for array in whole))
    if found is not None and exact is not None:
        integers = f"become {found.dtype.name}"
        cut = float(np.abs(found.astype(np.float64) - exact).max(initial=0.0))
        if np.issubdtype(found.dtype, np.integer) and cut > 0.0:
            yield known.finding(rules.INTEGERS_CUT, error=cut)
    facts["integers"] = integers


def _whole(array: Array, kind: str) -> Array:
    """Whole numbers: scaled by 3 and rounded where the role allows it, else exact quarter turns."""
    if kind in ("matrix", "sequence"):  # quarter turns about the three axes
        turns = np.rint(exp_map(0.5 * np.pi * np.eye(3)))
        return turns[np.arange(array[..., 0, 0].size) % 3].reshape(array.shape).astype(np.int64)
    if kind == "quat_sequence":
        return np.broadcast_to(np.eye(4, dtype=np.int64)[0], array.shape)
    if kind == "quat":
        return np.eye(4, dtype=np.int64)[np.arange(len(array)) % 4]
    return np.rint(array * 3.0).astype(np.int64)


def check_precision(known: Known, facts: Facts) -> Iterator[Finding]:
    """A function that follows the contract must be within rounding of the definition, in both types."""
    role, reading = known.function.role, known.reading
    if reading is None:
        return
    for dtype in WORKING_TYPES:
        arrays = [array.astype(dtype) for array in known.arrays]
        expected = reading.compute(*(array.astype(np.float64) for array in arrays))
        value = _called(known, *arrays)
        if value is None or value.shape != expected.shape:
            continue
        error, allowed = float(row_errors(role, value, expected).max()), tolerance(role, dtype, scale_of(expected))
        facts[f"error in {dtype}"] = f"{error:.1e} {UNIT[role.gives]}"
        if error > allowed:
            values = {"error": error, "unit": UNIT[role.gives], "dtype": dtype, "tolerance": allowed}
            yield known.finding(rules.PRECISION_LOST, **values)
            return


def check_rows(known: Known, _facts: Facts) -> Iterator[Finding]:
    """A row's result must not depend on other rows or on the memory layout; NaN must stay in its own row."""
    if known.function.one_by_one or known.function.role.timed:
        return
    arrays, value = known.arrays, known.value
    for case, given, expected in (
        ("when the rows stand in another order", [array[::-1].copy() for array in arrays], value[::-1]),
        ("in a batch of three", [array[:3].copy() for array in arrays], value[:3]),
        ("from every other row of a buffer", [np.repeat(array, 2, axis=0)[::2] for array in arrays], value),
        ("from memory with its axes swapped", [np.array(array, order="F") for array in arrays], value),
    ):
        is_memory = case.startswith("from ")
        try:
            wrong = _error(known, known.function.call_keeping(given, RATES_HZ[0]), expected)
        except CallFailed as error:
            if not is_memory:
                raise
            yield known.finding(rules.AXES_REFUSED, case=case.removeprefix("from "), error=error)
            break
        if wrong:
            yield known.finding(rules.ROWS_MIXED, case=case, error=wrong)
            if not is_memory:
                return
            break
    yield from _not_a_number(known)


def _not_a_number(known: Known) -> Iterator[Finding]:
    arrays = tuple(np.array(array) for array in known.arrays)
    arrays[-1][5] = np.nan
    value = _called(known, *arrays)
    if value is None:
        return  # refusing NaN is correct
    error = _error(known, np.delete(value, 5, axis=0), np.delete(known.value, 5, axis=0))
    if error:
        yield known.finding(rules.ROWS_MIXED, case="when another row holds NaN", error=error)
    elif np.isfinite(value[5]).all():
        shown = np.array2string(value[5].ravel()[:6], precision=3, separator=", ", suppress_small=True)
        yield known.finding(rules.NAN_HIDDEN, value=shown)


def check_repetition(known: Known, _facts: Facts) -> Iterator[Finding]:
    """The same call must give the same bits, and must not change its arguments."""
    function, again = known.function, known.call(*known.arrays)
    if again.shape != known.value.shape or not np.array_equal(again, known.value, equal_nan=True):
        same_shape = again.shape == known.value.shape
        error = float(np.abs(again - known.value).max()) if same_shape else float("inf")
        yield known.finding(rules.NOT_REPEATABLE, error=error)
    rows = [array[:, 0] if function.role.timed else array[0] for array in known.arrays]
    laid = function.lay(rows if function.one_by_one else known.arrays)
    given = [np.array(array, copy=True, order="K") for array in laid]
    function.call_laid(given, RATES_HZ[0])
    for place, (before, after) in enumerate(zip(laid, given, strict=True)):
        if not np.array_equal(before, after):
            argument = f"argument {place + 1} of {len(given)}"
            yield known.finding(rules.INPUT_CHANGED, argument=argument, error=float(np.abs(after - before).max()))


NO_ROTATION_FROM = 1e-3
"""A matrix that is off orthonormal by more than this is not a rotation; an epsilon of 1e-8 stays far below it."""
SMALL_ANGLES_RAD = (1e-4, 1e-3, 1e-2)
"""Turns per frame; at 60 frames per second, a bone turns by 0.3, 3 and 34 degrees per second."""
_LOST_SHARE = {"float64": 1e-3, "float32": 1e-2}
"""A relative error above this is not rounding: a step of 1e-4 from float32 entries is known to 1e-3."""
_FLOOR_RAD = {"float64": 1e-7, "float32": 64 * 2.0**-24}
"""Angles between equal rotations that count as rounding: 64 operations in float32, an invisible angle in float64."""
_HALF_TURN_LOST_DEG = 0.1
_AXIS = np.array([0.48, -0.6, 0.64])
Outcome = tuple[str, str, FloatArray]
"""(case, dtype, result)."""


def singular_inputs(known: Known, dtype: str) -> dict[str, tuple[FloatArray, ...]]:
    """The singular inputs of a function in one type, by case."""
    return singular(known.function.role, known.arrays, known.function.conventions, dtype)


def check_degenerate(known: Known, facts: Facts) -> Iterator[Finding]:
    """Check for non-finite results and collapsed rotations where formulas divide by zero."""
    refused: list[str] = []
    outcomes: list[Outcome] = []
    for dtype in WORKING_TYPES:
        for case, arrays in singular_inputs(known, dtype).items():
            value = _called(known, *arrays)
            if value is None:  # refusing an input without an answer is correct
                refused.append(case)
            elif value.ndim and len(value) - len(arrays[0]) in (0, -1) and value.shape[1:] == known.value.shape[1:]:
                outcomes.append((case, dtype, value.astype(np.float64)))
    if refused:
        facts["refuses"] = ", ".join(dict.fromkeys(refused))
    broken = [each for each in outcomes if not np.isfinite(each[2]).all()]
    if broken:
        shown = "NaN" if np.isnan(broken[0][2]).any() else "infinity"
        yield known.finding(rules.NOT_FINITE, value=shown, cases=_cases_in_words(broken))
    is_kept = known.function.conventions.degenerate_axis == "zero" or _defect(known, known.value) > NO_ROTATION_FROM
    finite = [each for each in outcomes if np.isfinite(each[2]).all()]
    collapsed = [each for each in finite if not is_kept and _defect(known, each[2]) > NO_ROTATION_FROM]
    if collapsed:
        worst = max(_defect(known, each[2]) for each in collapsed)
        yield known.finding(rules.NO_ROTATION, cases=_cases_in_words(collapsed), defect=worst)
    if known.reading is not None:
        yield from _edges(known, known.reading.compute)


def _cases_in_words(outcomes: list[Outcome]) -> str:
    """The cases in words; the type is named where the other type passes."""
    types: dict[str, list[str]] = {}
    for case, dtype, _ in outcomes:
        types.setdefault(case, []).append(dtype)
    return ", ".join(
        case if len(where) == len(WORKING_TYPES) else f"{case} in {where[0]}" for case, where in types.items()
    )


def _defect(known: Known, value: FloatArray) -> float:
    """How far results are from rotations; 0 where they are none by their role."""
    gives, wide = known.function.role.gives, value.astype(np.float64)
    matrices = Rot6d(known.function.conventions).decode_as_is(wide) if gives == "six" else wide
    return float(defect(matrices).max()) if gives in ("six", "matrix") else 0.0


def _finite(known: Known, *arrays: Array) -> FloatArray | None:
    value = _called(known, *arrays)
    return value.astype(np.float64) if value is not None and np.isfinite(value).all() else None


def _edges(known: Known, compute: Compute) -> Iterator[Finding]:
    """Small angles and half turns that are lost, and a floor of angles. compute: what the function should compute."""
    name = known.function.role.name
    if name == "so3_log_map":
        yield from _small_angles(known, compute, lambda angle: exp_map(_AXIS[None] * angle))
    elif name == "angvel_vec_from_R_seq":  # a slow turn of two bones, one of them far from the rest pose
        start = np.stack([np.eye(3), known.arrays[0][0, 0].astype(np.float64)])
        frames = np.arange(5.0)[:, None, None]
        yield from _small_angles(known, compute, lambda angle: exp_map(_AXIS * angle * frames) @ start)
    elif name == "geodesic_R":
        yield from _angle_floor(known)
    if name in _HALF_TURN_RAD:
        yield from _half_turns_lost(known, compute, _HALF_TURN_RAD[name])


_HALF_TURN_RAD = {"so3_log_map": np.pi, "matrix_to_quat": 2.0}
"""What an error as large as the result is in radians, where half turns are asked."""


def _half_turns_lost(known: Known, compute: Compute, size_rad: float) -> Iterator[Finding]:
    """The first type in which half turns are off; both directions of an axis are right."""
    for dtype in WORKING_TYPES:
        turns = half_turns().astype(dtype)
        value, expected = _finite(known, turns), compute(turns.astype(np.float64))
        if value is None or value.shape != expected.shape:
            continue
        off = np.minimum(*(np.linalg.norm(value + sign * expected, axis=-1) for sign in (-1.0, 1.0)))
        error = float(np.degrees(size_rad * (off / np.linalg.norm(expected, axis=-1)).max()))
        if error > _HALF_TURN_LOST_DEG:
            yield known.finding(rules.HALF_TURN_LOST, error_deg=error, case=dtype)
            return


def _small_angles(known: Known, compute: Compute, make: Callable[[float], FloatArray]) -> Iterator[Finding]:
    """The relative error at small turns. make: an input for an angle."""
    lost: list[tuple[float, float, str]] = []
    for dtype, angle in product(WORKING_TYPES, SMALL_ANGLES_RAD):
        value, per_radian = _finite(known, make(angle).astype(dtype)), compute(make(1e-2)) / 1e-2
        if value is not None:
            share = float(np.abs(value - per_radian * angle).max() / (np.abs(per_radian).max() * angle))
            lost += [(share, angle, dtype)] if share > _LOST_SHARE[dtype] else []
    if lost:
        share, angle, dtype = max(lost, key=lambda each: each[0])
        values = {"percent": 100.0 * share, "angle_deg": float(np.degrees(angle))}
        yield known.finding(rules.SMALL_ANGLES_LOST, dtype=dtype, **values)


def _angle_floor(known: Known) -> Iterator[Finding]:
    """Angles between equal rotations, in radians whatever the function's unit; none if it does not measure angles."""
    apart = rotation_angle_rad(*(array.astype(np.float64) for array in known.arrays))
    ratio = fitted_ratio(known.value.astype(np.float64), apart)
    floors: list[tuple[float, str]] = []
    for dtype in WORKING_TYPES if ratio is not None else ():
        value = _finite(known, *[known.arrays[0].astype(dtype)] * 2)
        floor = 0.0 if value is None or ratio is None else float(np.abs(value / ratio).max(initial=0.0))
        floors += [(floor, dtype)] if floor > _FLOOR_RAD[dtype] else []
    if floors:
        floor, dtype = max(floors)
        yield known.finding(rules.ANGLE_FLOOR, floor_deg=float(np.degrees(floor)), dtype=dtype)


CHECKS: tuple[Check, ...] = (
    check_types, check_precision, check_axes, check_rows, check_repetition, check_degenerate,
)  # fmt: skip
"""Of a function of any library; torch_backend.py has the gradients."""
