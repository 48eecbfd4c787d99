"""Find an order of parts (bones, joints) in a recording: match each recorded part with the equal replayed part."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rigpact.contract.character import bone_names_of
from rigpact.contract.skeleton import left_right_permutation
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.reports.diagnosing.stage_error import StageError


def matched_order(error: StageError, contract: Contract) -> tuple[int, ...] | str | None:
    """The permutation from the replayed parts to the recorded ones; None if it is the declared one or none fits.

    The matching assigns to each recorded part a replayed part within its tolerance.
    """
    order = _matched(*_part_values(error, contract))
    if order is None or order == tuple(range(len(order))):
        return None
    names = bone_names_of(contract)
    return "left_right_swapped" if names and order == left_right_permutation(names) else order


def _part_values(error: StageError, contract: Contract) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Recorded values, replayed values and tolerances as (B, T, k), without rows that cannot be judged."""
    parts = contract.system.graph[error.stage].measure.parts
    if parts is None:
        raise ValueError(f"{error.stage} has no parts")
    place, width = parts(contract)
    arrays = [array[:, place] for array in (error.recorded, error.replayed, error.tolerance)]
    known = np.isfinite(np.concatenate(arrays, axis=1)).all(axis=1)
    recorded, replayed, tolerance = (
        array[known].reshape(int(known.sum()), array.shape[1] // width, width).swapaxes(0, 1).astype(np.float64)
        for array in arrays
    )
    return recorded, replayed, tolerance


def _matched(recorded: FloatArray, replayed: FloatArray, tolerance: FloatArray) -> tuple[int, ...] | None:
    """The replayed part for each recorded part; None when no permutation fits. Arrays (B, T, k)."""
    if recorded.size == 0:
        return None
    apart = np.abs(recorded - replayed) - 2.0 * tolerance
    row = int(np.argmax(apart.max(axis=(0, 2))))  # one frame shows most that do not fit
    fits: dict[int, list[int]] = {}
    for part in np.argsort(-apart.max(axis=(1, 2))).tolist():  # what differs most is the first to fit nowhere
        there = np.abs(recorded[part, row] - replayed[:, row]) <= tolerance[part, row] + tolerance[:, row]
        near = np.flatnonzero(there.all(axis=1))
        fit = (np.abs(recorded[part] - replayed[near]) <= tolerance[part] + tolerance[near]).all(axis=(1, 2))
        fits[part] = near[fit].tolist()
        if not fits[part]:
            return None
    taken: dict[int, int] = {}
    for part in range(len(fits)):
        if not _augment(part, fits, taken, set()):
            return None
    by_recorded = {part: source for source, part in taken.items()}
    return tuple(by_recorded[part] for part in range(len(fits)))


def _augment(part: int, fits: Mapping[int, list[int]], taken: dict[int, int], visited: set[int]) -> bool:
    """One augmenting path of bipartite matching; a part's own slot is tried first."""
    for source in sorted(fits[part], key=lambda source: source != part):
        if source in visited:
            continue
        visited.add(source)
        if source not in taken or _augment(taken[source], fits, taken, visited):
            taken[source] = part
            return True
    return False
