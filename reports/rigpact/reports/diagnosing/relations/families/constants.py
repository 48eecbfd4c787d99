"""Numbers that nothing computed: zero, memory that nobody set, one number wherever it differs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.reports.diagnosing.relations.relation import CandidateEdit, Channels, listed
from rigpact.reports.diagnosing.relations.round_numbers import roundest
from rigpact.reports.diagnosing.relations.target import Target

_FEWEST = 4
"""Values of a channel that differ: fewer may be one by chance."""
FILL = {np.float32(0.0): "the number 0"} | {
    np.frombuffer(bytes([byte] * 4), np.float32)[0]: f"memory that was never set (0x{byte:02X} in every byte)"
    for byte in (0xCD, 0xCC, 0xFD, 0xDD)
}
"""Zeros, and what debug builds write into memory that nobody has set."""


def one_number(target: Target) -> Iterator[CandidateEdit]:
    """Every value of a place that differs is one number: zero, or memory that nobody has set."""
    for place in target.places:
        values = np.unique(target.held[:, place.channels][target.failing[:, place.channels]])
        if len(values) != 1 or np.float32(values[0]) not in FILL:
            continue
        words = FILL[np.float32(values[0])]
        words = f"{words} in place of {target.name}" if target.name else f"{words}, wherever it differs"
        rule = partial(_where_it_differs, target, place.channels, float(values[0]))
        is_rule = bool(values[0])  # memory that nobody set; who left a zero is not known
        yield from target.edit("constant", words, place.channels, rule, is_rule=is_rule)


def _where_it_differs(target: Target, channels: Channels, value: float, own: FloatArray) -> FloatArray:
    return np.where(target.failing[:, channels], value, own[:, channels])


def stuck(target: Target) -> Iterator[CandidateEdit]:
    """One number in all channels that differ, or a number of its own in each, in every frame that differs."""
    if not target.is_finite:
        return
    lowest = np.where(target.failing, target.held - target.bound, -np.inf).max(axis=0)
    highest = np.where(target.failing, target.held + target.bound, np.inf).min(axis=0)
    channels = np.flatnonzero((target.failing.sum(axis=0) >= _FEWEST) & (lowest <= highest))
    if not len(channels):
        return
    low, high = lowest[channels], highest[channels]
    if low.max() <= high.min():
        values = np.full(len(channels), roundest(float(low.max()), float(high.min())))
    else:
        values = np.array([roundest(a, b) for a, b in zip(low, high, strict=True)])
    shown = listed([f"{value:.6g}" for value in dict.fromkeys(values.tolist())])
    words = f"stuck at {shown} in place of {target.it}"
    fitted = 0 if not values.any() else len(np.unique(values))
    is_rule = fitted <= 1 and not np.ptp(target.own[:, channels], axis=0).any()  # another number of what never moves
    yield from target.edit("constant", words, channels, partial(_always, values), fitted=fitted, is_rule=is_rule)


def _always(values: FloatArray, own: FloatArray) -> FloatArray:
    return np.broadcast_to(values, (len(own), len(values)))


def zeroed(target: Target) -> Iterator[CandidateEdit]:
    """Zeros in the channels that differ, in every frame."""
    channels = target.channels
    if len(channels) and (np.abs(target.held[:, channels]) <= target.bound[:, channels]).all():
        words = f"zeros in place of {target.it}"
        yield from target.edit("constant", words, channels, lambda own: np.zeros((len(own), len(channels))))
