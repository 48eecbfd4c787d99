"""A function of your own against a recording, in a test: `rigpact.testing.agrees(step, "engine.npz")`."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rigpact.reports.diagnosing.script_side import results_of_step
from rigpact.reports.diagnosing.two_files import Arrays, compare_arrays, compared_sides


def agrees(
    step: Callable[..., Any],
    recording: str | Path,
    *,
    state: Mapping[str, str] | None = None,
    tolerance: float | None = None,
) -> None:
    """AssertionError with the cause where a function makes other numbers than a recording holds.

    step: takes recorded arrays by the names of its parameters, one row each (or all rows), and returns {name: numbers}.
    state: parameter -> the result of the row before that it takes over. tolerance: in the unit of the numbers; None for what
    rounding does. UnusableInput where nothing can be compared.
    """
    recorded = Arrays.of(Path(recording), ())
    made = results_of_step(step, recorded.rows, state or {}, step.__name__)
    found = compare_arrays(*compared_sides(made, recorded, Path(step.__name__)), tolerance=tolerance)
    if found.exit_code:
        raise AssertionError("\n".join((f"{found.word}: {found.headline}", *found.notes)))
