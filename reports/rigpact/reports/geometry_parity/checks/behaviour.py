"""Check how a function treats its input: types, axes, memory layout, NaN, repetition, changes in place.

Every check compares the function with its own results on ordinary inputs. So only meaning.py reports another
convention. A check yields findings, and notes facts that are not defects.
"""

from collections.abc import Callable, Iterator

import numpy as np

from rigpact.contract.findings import Finding
from rigpact.contract.rules.answers import geometry as rules
from rigpact.contract.statistics import FloatArray
from rigpact.reports.geometry_parity.calling.backend import Array
from rigpact.reports.geometry_parity.calling.function import CallFailed
from rigpact.reports.geometry_parity.calling.layouts import ALONE, LAYOUTS, ROWS, Layout, shown
from rigpact.reports.geometry_parity.meaning import Known
from rigpact.reports.geometry_parity.precision import row_errors, scale_of, tolerance
from rigpact.reports.geometry_parity.readings.velocity import RATES_HZ
from rigpact.reports.geometry_parity.roles import UNIT

# Check the axes before a value: one rotation, no rotation, frames and bones, several bones in one flat vector
Facts = dict[str, str]
Check = Callable[[Known, Facts], Iterator[Finding]]
_FRAMES_AND_BONES, _FLAT = LAYOUTS["(B, T, J, *)"], LAYOUTS["(N, J*)"]


def same(known: Known, value: FloatArray, expected: FloatArray, dtype: str = "") -> float:
    """The error between results that should be equal; 0 if they are equal within rounding."""
    if value.shape != expected.shape:
        return float("inf")
    errors = row_errors(known.function.role, value.astype(np.float64), expected.astype(np.float64))
    error = float(errors.max(initial=0.0))
    return error if error > tolerance(known.function.role, dtype or known.dtype, scale_of(expected)) else 0.0


def check_axes(known: Known, facts: Facts) -> Iterator[Finding]:
    """Check three leading axes, a single rotation, no rotation, several bones in one flat vector, and broadcasting."""
    if known.function.one_by_one or known.function.role.timed:
        facts["leading axes"] = "refused" if known.function.one_by_one else "taken"
        return
    if known.function.layout == ROWS:
        yield from _leading_axes(known, facts)
    else:
        facts["leading axes"] = f"as {shown(known.function.layout, known.function.role.takes[0])}"
    facts["one alone"] = _noted(known, tuple(array[:1] for array in known.arrays), ALONE)
    facts["none at all"] = _noted(known, tuple(array[:0] for array in known.arrays))
    if len(known.arrays) == 2 and known.function.plain:
        facts["broadcast"] = _noted(known, (known.arrays[0], known.arrays[1][:1]))
    if known.function.role.flat and known.function.plain:
        yield from _flat_bones(known, facts)


def _leading_axes(known: Known, facts: Facts) -> Iterator[Finding]:
    """A function of rows may refuse more axes, and say so; what it makes of them must not be something else."""
    shape = shown(_FRAMES_AND_BONES, known.function.role.takes[0])
    facts["leading axes"] = "taken"
    try:
        value = known.function.called(_FRAMES_AND_BONES)(*known.arrays)
        error = same(known, value, known.value)
        refusal = "" if not error else f"it returns the shape {list(value.shape)}, or other results"
    except CallFailed as failed:
        refusal = str(failed)
    if refusal:
        facts["leading axes"] = "refused"
        yield known.finding(rules.AXES_REFUSED, case=f"input of the shape {shape}", error=refusal)


def _noted(known: Known, arrays: tuple[Array, ...], layout: Layout | None = None) -> str:
    try:
        known.function.called(layout or known.function.layout)(*arrays)
    except CallFailed:
        return "refused"
    return "taken"


def _flat_bones(known: Known, facts: Facts) -> Iterator[Finding]:
    """Several bones side by side, as poses are stored."""
    facts["flat poses"] = "taken"
    try:
        value = known.function.called(_FLAT)(*known.arrays)
    except CallFailed:
        facts["flat poses"] = "refused"
        return
    if value.shape != known.value.shape:
        facts["flat poses"] = f"give {list(value.shape)}"
        return
    error = same(known, value, known.value)
    if error:
        yield known.finding(rules.ROWS_MIXED, case="when several bones stand in one flat vector", error=error)


def check_types(known: Known, facts: Facts) -> Iterator[Finding]:
    """The function must take float64 and float32 and keep the type. Cut integers fail; float16 is only noted."""
    for dtype in ("float64", "float32"):
        try:
            value = known.call(*(array.astype(dtype) for array in known.arrays))
        except CallFailed as error:
            facts[dtype] = "refused"
            yield known.finding(rules.TYPE_REFUSED, dtype=dtype, error=error)
            continue
        facts[dtype] = "kept" if value.dtype.name == dtype else f"becomes {value.dtype.name}"
        if value.shape != known.value.shape:
            found, expected = (f"the shape {list(shape)}" for shape in (value.shape, known.value.shape))
            yield known.finding(rules.OTHER_SHAPE, found=found, case=f"{dtype} input", expected=expected)
        if value.dtype.name != dtype:
            yield known.finding(rules.TYPE_CHANGED, given=dtype, found=value.dtype.name)
    facts["float16"] = _half_precision(known)
    yield from _integers(known, facts)


def _half_precision(known: Known) -> str:
    try:
        value = known.call(*(array.astype(np.float16) for array in known.arrays))
    except CallFailed:
        return "refused"
    rounded = known.call(*(array.astype(np.float16).astype(known.dtype) for array in known.arrays))
    fine = value.shape == rounded.shape and not same(known, value, rounded, "float16")
    kept = "kept" if value.dtype == np.float16 else f"becomes {value.dtype.name}"
    return kept if fine else f"{kept}, off by more than rounding"


def _integers(known: Known, facts: Facts) -> Iterator[Finding]:
    """Whole-number inputs: scaled by 3 and rounded where the role allows it, else exact quarter turns."""
    whole = tuple(_whole(array, kind) for array, kind in zip(known.arrays, known.function.role.takes, strict=True))
    try:
        value = known.call(*whole)
        expected = known.call(*(array.astype(known.dtype) for array in whole))
    except CallFailed:
        facts["integers"] = "refused"
        return
    facts["integers"] = f"become {value.dtype.name}"
    if np.issubdtype(value.dtype, np.integer):
        error = float(np.abs(value.astype(np.float64) - expected).max(initial=0.0))
        if error > 0.0:
            yield known.finding(rules.INTEGERS_CUT, error=error)


def _whole(array: Array, kind: str) -> Array:
    if kind in ("matrix", "sequence"):  # quarter turns about the three axes
        turns = np.array(
            [[[1, 0, 0], [0, 0, -1], [0, 1, 0]], [[0, 0, 1], [0, 1, 0], [-1, 0, 0]], [[0, -1, 0], [1, 0, 0], [0, 0, 1]]]
        )
        picked = turns[np.arange(array[..., 0, 0].size) % 3].reshape(array.shape)
        return picked.astype(np.int64)
    if kind == "quat_sequence":
        return np.broadcast_to(np.eye(4, dtype=np.int64)[0], array.shape)
    if kind == "quat":
        return np.eye(4, dtype=np.int64)[np.arange(len(array)) % 4]
    return np.rint(array * 3.0).astype(np.int64)


def check_precision(known: Known, facts: Facts) -> Iterator[Finding]:
    """A function that follows the contract must be within rounding of the definition, in both types."""
    reading = known.reading
    if reading is None:
        return
    for dtype in ("float64", "float32"):
        arrays = tuple(array.astype(dtype) for array in known.arrays)
        expected = reading.compute(*(array.astype(np.float64) for array in arrays))
        try:
            value = known.call(*arrays)
        except CallFailed:
            continue
        if value.shape != expected.shape:
            continue
        error, unit = float(row_errors(known.function.role, value, expected).max()), UNIT[known.function.role.gives]
        allowed = tolerance(known.function.role, dtype, scale_of(expected))
        facts[f"error in {dtype}"] = f"{error:.1e} {unit}"
        if error > allowed:
            yield known.finding(rules.PRECISION_LOST, error=error, unit=unit, dtype=dtype, tolerance=allowed)
            return


def check_rows(known: Known, _facts: Facts) -> Iterator[Finding]:
    """A row's result must not depend on other rows or on the memory layout; NaN must stay in its own row."""
    if known.function.one_by_one or known.function.role.timed:
        return
    reversed_rows = known.call(*(array[::-1] for array in known.arrays))[::-1]
    few = known.call(*(array[:3] for array in known.arrays))
    for case, value, expected in (
        ("when the rows stand in another order", reversed_rows, known.value),
        ("in a batch of three", few, known.value[:3]),
    ):
        error = same(known, value, expected)
        if error:
            yield known.finding(rules.ROWS_MIXED, case=case, error=error)
            return
    yield from _layout(known)
    yield from _not_a_number(known)


def _layout(known: Known) -> Iterator[Finding]:
    """The same numbers in memory that is not contiguous: every other row of a buffer, axes swapped."""
    strided = [np.repeat(array, 2, axis=0)[::2] for array in known.arrays]
    swapped = [np.asfortranarray(array) for array in known.arrays]
    for case, arrays in (("every other row of a buffer", strided), ("memory with its axes swapped", swapped)):
        try:
            value = known.function.call_keeping(arrays, RATES_HZ[0])
        except CallFailed as error:
            yield known.finding(rules.AXES_REFUSED, case=case, error=error)
            return
        wrong = same(known, value, known.value)
        if wrong:
            yield known.finding(rules.ROWS_MIXED, case=f"from {case}", error=wrong)
            return


def _not_a_number(known: Known) -> Iterator[Finding]:
    arrays = tuple(np.array(array) for array in known.arrays)
    arrays[-1][5] = np.nan
    try:
        value = known.call(*arrays)
    except CallFailed:
        return  # refusing NaN is correct
    error = same(known, np.delete(value, 5, axis=0), np.delete(known.value, 5, axis=0))
    if error:
        yield known.finding(rules.ROWS_MIXED, case="when another row holds NaN", error=error)
    elif np.isfinite(value[5]).all():
        shown = np.array2string(value[5].ravel()[:6], precision=3, separator=", ", suppress_small=True)
        yield known.finding(rules.NAN_HIDDEN, value=shown)


def check_repetition(known: Known, _facts: Facts) -> Iterator[Finding]:
    """The same call must give the same bits, and must not change its arguments."""
    again = known.call(*known.arrays)
    if again.shape != known.value.shape or not np.array_equal(again, known.value, equal_nan=True):
        same_shape = again.shape == known.value.shape
        error = float(np.abs(again - known.value).max()) if same_shape else float("inf")
        yield known.finding(rules.NOT_REPEATABLE, error=error)
    yield from _changed_inputs(known)


def _changed_inputs(known: Known) -> Iterator[Finding]:
    rows = [array[:, 0] if known.function.role.timed else array[0] for array in known.arrays]
    laid = known.function.lay(rows if known.function.one_by_one else known.arrays)
    given = [np.array(array, copy=True, order="K") for array in laid]
    known.function.call_laid(given, RATES_HZ[0])
    for place, (before, after) in enumerate(zip(laid, given, strict=True)):
        if not np.array_equal(before, after):
            argument = f"argument {place + 1} of {len(given)}"
            yield known.finding(rules.INPUT_CHANGED, argument=argument, error=float(np.abs(after - before).max()))


BEHAVIOUR: tuple[Check, ...] = (check_types, check_precision, check_axes, check_rows, check_repetition)
