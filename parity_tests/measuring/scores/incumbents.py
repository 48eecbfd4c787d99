"""The comparators that teams use today, with their default tolerances: numpy.allclose, Polygraphy, pytest-regressions.

Each gets the expected array and the array that was found. To add one: a row in `INCUMBENTS`. A comparator that is not
installed is left out (extra `bench`).
"""

from __future__ import annotations

import contextlib
import io
import tempfile
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from rigpact.contract.statistics import FloatArray

Arrays = Mapping[str, FloatArray]
Passes = Callable[[Arrays, Arrays], bool]


_SILENT = 10_000
"""A log level above every message of Polygraphy."""


def allclose_passes(expected: Arrays, found: Arrays) -> bool:
    """numpy.allclose(found, expected), rtol 1e-5, atol 1e-8; a shape that does not broadcast is an exception."""
    if expected.keys() != found.keys():
        return False
    try:
        return all(bool(np.allclose(found[name], expected[name])) for name in expected)
    except ValueError:
        return False


def polygraphy_passes(expected: Arrays, found: Arrays) -> bool:
    """`Comparator.compare_accuracy` of two recorded runs with its default comparison function."""
    from polygraphy.comparator import Comparator, IterationResult, RunResults
    from polygraphy.exception import PolygraphyException
    from polygraphy.logger import G_LOGGER

    results = RunResults()
    for name, arrays in (("expected", expected), ("found", found)):
        results.append((name, [IterationResult(dict(arrays), runner_name=name)]))
    with G_LOGGER.verbosity(_SILENT), contextlib.redirect_stdout(io.StringIO()):
        try:
            return bool(Comparator.compare_accuracy(results))
        except PolygraphyException:  # no output in common
            return False


def pytest_regressions_passes(expected: Arrays, found: Arrays) -> bool:
    """`ndarrays_regression.check` of pytest-regressions, outside a test run: the fixture's own comparison of two files."""
    from pytest_regressions.ndarrays_regression import NDArraysRegressionFixture

    with tempfile.TemporaryDirectory() as folder:
        fixture = NDArraysRegressionFixture(Path(folder), Path(folder), SimpleNamespace())
        paths = [Path(folder) / name for name in ("found.npz", "expected.npz")]
        for path, arrays in zip(paths, (found, expected), strict=True):
            fixture._dump_fn({name: np.asarray(rows) for name, rows in arrays.items()}, path)
        try:
            fixture._check_fn(*paths)
        except AssertionError:
            return False
    return True


INCUMBENTS: Mapping[str, tuple[str, Passes]] = {
    "numpy.allclose": ("numpy", allclose_passes),
    "Polygraphy": ("polygraphy", polygraphy_passes),
    "pytest-regressions": ("pytest_regressions", pytest_regressions_passes),
}
"""Each comparator with the module that it needs."""


def installed() -> dict[str, Passes]:
    """The comparators that can be run here."""
    return {name: passes for name, (module, passes) in INCUMBENTS.items() if find_spec(module) is not None}
