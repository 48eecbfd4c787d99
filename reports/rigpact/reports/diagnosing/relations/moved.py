"""Channels of a stage that only hold numbers of another: where they stand, and how old they are."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.statistics import FloatArray


def channels_of(replayed: FloatArray, rows: FloatArray) -> list[int] | None:
    """For each channel of some rows the channel of the replay that holds it in every frame; None where one is missing."""
    channels = list[int]()
    for column in rows.T:
        holds = np.flatnonzero((replayed == column[:, None]).all(axis=0))
        following = channels[-1] + 1 if channels else -1
        if not len(holds):
            return None
        channels.append(following if following in holds else int(holds[0]))
    return channels


def ages_of(replayed: FloatArray, inputs: Mapping[str, FloatArray], count: int) -> tuple[NDArray[np.intp], FloatArray]:
    """For each channel of a replay, (T, W), how many frames old its number is, up to `count` - 1, and this frame's number, (T, W).

    -1 and zeros for a channel that holds no number of an input. A channel that stands still is taken for the newest.
    """
    ages, sources = np.full(replayed.shape[1], -1), np.zeros(replayed.shape)
    for age in range(min(count, len(replayed))):
        for rows in inputs.values():
            for column in rows.astype(np.float64).T:
                holds = (replayed[age:] == column[: len(column) - age, None]).all(axis=0) & (ages < 0)
                ages[holds], sources[:, holds] = age, column[:, None]
    return ages, sources
