"""The numbers of a schema bundle by their names in the files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rigpact.contract.character import character_of
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract

PLACES: Mapping[str, Sequence[str]] = {
    "MuX": ("state_statistics", "mean"),
    "StdX": ("state_statistics", "std"),
    "MuY": ("output_statistics", "mean"),
    "StdY": ("output_statistics", "std"),
    "tanh_scales_rootvel": ("rootvel_scales",),
    "tanh_scales_angvel": ("angvel_scales",),
    "MuPoseHist": ("pose_history", "statistics", "mean"),
    "StdPoseHist": ("pose_history", "statistics", "std"),
    "tanh_scales_pose_hist": ("pose_history", "scale"),
    "MuAngVel": ("angular_velocity", "statistics", "mean"),
    "StdAngVel": ("angular_velocity", "statistics", "std"),
    "tanh_scales_angvel of AngVel": ("angular_velocity", "scale"),
}
"""The place of each array of the bundle or its companion in the contract."""


def bundle_numbers(contract: Contract) -> dict[str, FloatArray]:
    """The arrays that the contract has."""
    found = {}
    for name, place in PLACES.items():
        value: Any = character_of(contract)
        for attribute in place:
            value = None if value is None else getattr(value, attribute)
        if value is not None:
            found[name] = np.asarray(value)
    return found


def with_bundle_numbers(contract: Contract, name: str, values: FloatArray) -> Contract:
    """The contract with another array under that name."""
    return contract.with_numbers(_replaced(character_of(contract), PLACES[name], values.astype(np.float32)))


def _replaced(owner: Any, place: Sequence[str], values: FloatArray) -> Any:
    first, *rest = place
    return replace(owner, **{first: _replaced(getattr(owner, first), rest, values) if rest else values})
