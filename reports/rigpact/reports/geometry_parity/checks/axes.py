"""Check the axes before a value: one rotation, no rotation, frames and bones, several bones in one flat vector."""

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
