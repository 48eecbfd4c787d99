"""The contract of some bones: what it holds, and where it cannot be taken from a whole one."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rigpact.contract.errors import UnusableInput
from rigpact.contract.some_bones import columns_of_bones, contract_of_bones

from ..every_case import every_case
from . import tiny_character as tiny


def test_the_columns_are_those_of_the_bones_that_are_named(tmp_path: Path) -> None:
    """A recording of two legs that is read as pelvis and left leg shows a broken character."""
    whole = tiny.contract(tmp_path, tiny.bundle(auxiliary=False))
    some = contract_of_bones(whole, (2, 1))
    legs = [*range(12, 18), *range(6, 12)]
    assert some.numbers.bone_names == ("thigh_r", "thigh_l")
    assert columns_of_bones(some, "y_out").tolist() == legs
    state = [*range(6), *(6 + channel for channel in legs), 30, 31, 32, 27, 28, 29]
    assert columns_of_bones(some, "x_raw").tolist() == state
    np.testing.assert_array_equal(some.numbers.state_statistics.mean, whole.numbers.state_statistics.mean[state])
    # a bundle without statistics of its own for the auxiliary inputs has none for some bones either
    assert (some.numbers.pose_history, some.numbers.angular_velocity) == (None, None)
    with pytest.raises(ValueError, match="all bones"):
        columns_of_bones(whole, "y_out")


@every_case(
    ("name", "place", "more", "found"),
    [
        ("RootVelocity", {"start": 2}, {}, "slices that overlap"),
        ("BoneAngularVelocities", {"start": 27, "size": 6}, {"tanh_scales_angvel": [4.0] * 6},
        "2 bones in BoneAngularVelocities"),
    ],
)  # fmt: skip
def test_slices_that_cannot_be_cut_are_refused(tmp_path: Path, name: str, place: Any, more: Any, found: str) -> None:
    """Velocities of two bones beside rotations of three: which two is not said."""
    document = tiny.bundle(auxiliary=False) | more
    document["meta"]["state_layout"][name] |= place
    with pytest.raises(UnusableInput, match=found):
        contract_of_bones(tiny.contract(tmp_path, document), (0,))


def test_an_order_of_published_bones_is_kept_within_the_recorded_ones(tmp_path: Path) -> None:
    """An engine that publishes the legs in each other's places does so when only the legs are recorded."""
    whole = tiny.contract(tmp_path, bone_order="0,2,1")
    assert contract_of_bones(whole, (1, 2)).conventions.bone_order == (1, 0)
    assert contract_of_bones(whole, (0,)).conventions.bone_order == (0,)
    with pytest.raises(UnusableInput, match="in each other's places with others"):
        contract_of_bones(whole, (0, 1))
