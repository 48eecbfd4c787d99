"""A cause makes the error itself fall; one that only makes the tolerance wider is none."""

import numpy as np
import pytest

from rigpact.contract.systems.layout import FieldKind, tiled
from rigpact.contract.systems.stage import Stage
from rigpact.reports.diagnosing.stage_error import StageError, error_between, is_earned

STAGE = Stage("pose", tiled(("pose", 4, FieldKind.SCALAR)))


def error(off: float, tolerance: float) -> StageError:
    """Ten frames of four numbers, each `off` from its replay."""
    recorded = np.ones((10, 4))
    return error_between(STAGE, recorded, recorded - off, np.full((10, 4), tolerance))


@pytest.mark.parametrize(
    ("off_after", "tolerance_after"),
    [(0.0051, 0.006), (0.003, 0.004), (0.00511, 1.0)],
    ids=["no nearer", "a little nearer", "any value would fit"],
)
def test_a_wider_tolerance_explains_nothing(off_after: float, tolerance_after: float) -> None:
    """`rot6d_packing = interleaved: from 0.00511 to 0.0051` sends an engineer to code that is right."""
    assert not is_earned(STAGE, error(0.00511, 1e-6), error(off_after, tolerance_after))


def test_an_error_within_the_rounding_of_the_unchanged_contract_is_explained() -> None:
    """What every true convention does."""
    assert is_earned(STAGE, error(0.00511, 1e-6), error(5e-7, 1.0))


def test_a_convention_that_makes_rounding_larger_is_explained_by_a_strict_tolerance() -> None:
    """A squash left out: numbers a million times as large, whose rounding is larger than all of what the squash gave."""
    assert is_earned(STAGE, error(1e6, 6e-8), error(0.05, 0.1))


def test_few_values_may_be_nearer_by_chance() -> None:
    """One value in ten that fits well does not carry the nine that only have room."""
    after = error(0.0051, 0.006)
    after.replayed[0] = after.recorded[0]
    assert not is_earned(STAGE, error(0.00511, 1e-6), after)


def test_values_within_the_wider_tolerance_all_along_say_nothing() -> None:
    """Bones that hardly turn outnumber those that do: the velocity read from rotations was not named on real recordings."""
    before, after = error(0.02, 1e-14), error(1e-7, 1e-4)
    before.replayed[:, :2] = before.recorded[:, :2] + 1e-9
    assert is_earned(STAGE, error_again(before), after)
    before.replayed[:, 2] = before.recorded[:, 2] + 1e-9  # three of four: too few are left
    assert not is_earned(STAGE, error_again(before), after)


def error_again(changed: StageError) -> StageError:
    """The same values, judged again."""
    return error_between(STAGE, changed.recorded, changed.replayed, changed.tolerance)
