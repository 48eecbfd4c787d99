"""A cause makes the error itself fall; one that only makes the tolerance wider is none."""

import numpy as np

from rigpact.contract.systems.layout import FieldKind, tiled
from rigpact.contract.systems.stage import Stage
from rigpact.reports.diagnosing.stage_error import StageError, error_between, is_earned

from ..every_case import every_case

STAGE = Stage("pose", tiled(("pose", 4, FieldKind.SCALAR)))


def error(off: float, tolerance: float, near: int = 0) -> StageError:
    """Ten frames of four numbers, each `off` from its replay, but the first `near` of them."""
    recorded = np.ones((10, 4))
    replayed = recorded - off
    replayed[:, :near] = recorded[:, :near] + 1e-9
    return error_between(STAGE, recorded, replayed, np.full((10, 4), tolerance))


CASES = {
    "no nearer": (error(0.00511, 1e-6), error(0.0051, 0.006), False),
    "a little nearer": (error(0.00511, 1e-6), error(0.003, 0.004), False),
    "any value would fit": (error(0.00511, 1e-6), error(0.00511, 1.0), False),
    "one value in ten fits by chance": (error(0.00511, 1e-6), error(0.0051, 0.006, near=1), False),
    "within the rounding of the unchanged contract": (error(0.00511, 1e-6), error(5e-7, 1.0), True),
    "a squash left out: rounding a million times as large": (error(1e6, 6e-8), error(0.05, 0.1), True),
    "bones that hardly turn outnumber those that do": (error(0.02, 1e-14, near=2), error(1e-7, 1e-4), True),
    "too few are left": (error(0.02, 1e-14, near=3), error(1e-7, 1e-4), False),
}


@every_case("name", CASES)
def test_a_cause_is_earned_by_the_error_and_not_by_the_tolerance(name: str) -> None:
    """`rot6d_packing = interleaved: from 0.00511 to 0.0051` sends an engineer to code that is right."""
    before, after, earned = CASES[name]
    assert is_earned(STAGE, before, after) == earned
