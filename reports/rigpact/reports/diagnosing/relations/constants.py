"""Numbers that nothing computed: zero, memory that nobody set, one number wherever it differs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.reports.diagnosing.relations.relation import Reading
from rigpact.reports.diagnosing.relations.target import Target

FILL = {np.float32(0.0): "the number 0"} | {
    np.frombuffer(bytes([byte] * 4), np.float32)[0]: f"memory that was never set (0x{byte:02X} in every byte)"
    for byte in (0xCD, 0xCC, 0xFD, 0xDD)
}
"""Zeros, and what debug builds write into memory that nobody has set."""


def one_number(target: Target) -> Iterator[Reading]:
    """Every value of a place that differs is one number: zero, or memory that nobody has set."""
    for place in target.places(np.ones(target.own.shape[1], bool)):
        differs = target.failing[:, place.channels]
        values = np.unique(target.held[:, place.channels][differs])
        if len(values) != 1 or np.float32(values[0]) not in FILL:
            continue
        value = float(values[0])
        words = (
            f"{FILL[np.float32(value)]}, wherever it differs"
            if not target.name
            else f"{value:g} in place of {target.name}"
        )

        def put(own: FloatArray, place=place, differs=differs, value=value) -> FloatArray:  # type: ignore[no-untyped-def]
            return np.where(differs, value, own[:, place.channels])

        reading = target.reading("constant", words, place.channels, put)
        if reading is not None:
            yield reading


def zeroed(target: Target) -> Iterator[Reading]:
    """Zeros in the channels that differ, in every frame."""
    differs = target.failing.any(axis=0)
    channels = np.flatnonzero(differs)
    if len(channels) and (np.abs(target.held[:, channels]) <= target.bound[:, channels]).all():
        words = f"zeros in place of {target.it}"
        reading = target.reading("constant", words, channels, lambda own: np.zeros((len(own), len(channels))))
        if reading is not None:
            yield reading
