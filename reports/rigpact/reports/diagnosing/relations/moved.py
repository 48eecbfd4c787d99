"""Channels of a stage that only hold numbers of another: where they stand, and how old they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.statistics import FloatArray
from rigpact.reports.diagnosing.relations.subject import Subject


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
    """How many frames old the number of each channel of a replay is, (W,), below `count`, and this frame's number, (T, W).

    -1 and zeros for a channel that holds no number of an input. A channel that stands still may be of any age: it is as old as
    the nearest one that is of one age only.
    """
    count = min(count, len(replayed))
    may_be, sources = np.zeros((count, replayed.shape[1]), bool), np.zeros((count, *replayed.shape))
    for age in range(count):
        for rows in inputs.values():
            for column in rows.astype(np.float64).T:
                holds = (replayed[age:] == column[: len(column) - age, None]).all(axis=0) & ~may_be[age]
                may_be[age, holds], sources[age][:, holds] = True, column[:, None]
    ages = may_be.argmax(axis=0)
    of_one = np.flatnonzero(may_be.sum(axis=0) == 1)
    for channel in np.flatnonzero(may_be.sum(axis=0) > 1):
        near = ages[of_one[np.argmin(np.abs(of_one - channel))]] if len(of_one) else ages[channel]
        ages[channel] = near if may_be[near, channel] else ages[channel]
    every = np.arange(replayed.shape[1])
    return np.where(may_be.any(axis=0), ages, -1), sources[ages, :, every].T


def only_moves(subject: Subject) -> bool:
    """Whether each channel of a stage that differs only holds, rightly, a number of an input, of this frame or an earlier one."""
    reach = subject.stage.reach_of(subject.contract)[0]
    ages, _ = ages_of(subject.replayed, subject.inputs, reach + 1)
    return reach < len(subject.replayed) and bool((ages[subject.failing.any(axis=0)] >= 0).all())


def told_by_digits(
    count: int, base: FloatArray, moved: Callable[[NDArray[np.int_]], FloatArray | None]
) -> NDArray[np.intp] | None:
    """For each column of `base`, (T, W), which of `count` numbers it comes from: -1 for none, -2 for several.

    moved: the rows where those numbers are moved that have a 1, (count,). Each is moved in the trials that the binary digits of
    its place name: the columns that change tell the digits. None where a trial gives no rows.
    """
    numbers, bits = np.arange(count), max(1, int(count - 1).bit_length())
    ones, zeros = np.zeros(base.shape[1], int), np.zeros(base.shape[1], int)
    for bit in range(bits):
        digit = (numbers >> bit) & 1
        with_one, with_zero = moved(digit), moved(1 - digit)
        if with_one is None or with_zero is None or with_one.shape != base.shape or with_zero.shape != base.shape:
            return None
        ones += (with_one != base).any(axis=0).astype(int) << bit
        zeros += (with_zero != base).any(axis=0).astype(int) << bit
    is_one = ((ones & zeros) == 0) & ((ones | zeros) == (1 << bits) - 1)
    return np.where(is_one, ones, np.where((ones | zeros) > 0, -2, -1))
