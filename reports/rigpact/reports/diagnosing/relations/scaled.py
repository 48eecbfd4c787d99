"""k·x, −x, x + c, one number everywhere, limits, and rounding to fewer bits: what happens to a value by itself."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.operations.rounding import gamma
from rigpact.reports.diagnosing.relations.relation import Reading
from rigpact.reports.diagnosing.relations.subject import Place, Subject

FACTORS = {
    "-1": -1.0, "2": 2.0, "1/2": 0.5, "100": 100.0, "1/100": 0.01, "180/π": 180.0 / math.pi, "π/180": math.pi / 180.0,
    "π": math.pi, "1/π": 1.0 / math.pi, "2π": 2.0 * math.pi,
}  # fmt: skip
"""Factors that mistakes have: a sign, half an angle, centimetres, degrees, half turns."""
_OPERATIONS = 4
"""A factor is rounded, multiplied, and the product is stored once on each side."""
FILL = {np.float32(0.0): "the number 0"} | {
    np.frombuffer(bytes([byte] * 4), np.float32)[0]: f"memory that was never set (0x{byte:02X} in every byte)"
    for byte in (0xCD, 0xCC, 0xFD, 0xDD)
}
"""Zeros, and what debug builds write into memory that nobody has set."""


def factors_of(fps: float) -> dict[str, float]:
    """Every factor by name, with the frame rate and its inverse."""
    rate = {} if fps in (0.0, 1.0) else {f"the frame rate, {fps:g},": fps, f"1/{fps:g}, a frame's time,": 1.0 / fps}
    return {**FACTORS, **rate}


def scaled(subject: Subject, place: Place) -> Iterator[Reading]:
    """Each factor times what it should be."""
    own, bound = subject.replayed[:, place.channels], subject.unwritten[:, place.channels]
    lost = subject.lost_in_writing(subject.recorded[:, place.channels])  # after the factor: it does not scale that
    for name, factor in factors_of(subject.evidence.fps).items():
        rows = factor * own
        moved = abs(factor) * bound + lost + gamma(_OPERATIONS) * np.abs(rows)
        yield subject.reading(place, "scaled", f"{name} times what it should be", rows, moved)


def one_number(subject: Subject, place: Place) -> Iterator[Reading]:
    """Every value that differs is zero, or memory that nobody has set."""
    differs = subject.failing[:, place.channels]
    values = np.unique(subject.recorded[:, place.channels][differs])
    if len(values) != 1 or np.float32(values[0]) not in FILL:
        return
    words = f"{FILL[np.float32(values[0])]}, wherever it differs"
    rows = np.where(differs, values[0], subject.replayed[:, place.channels])
    yield subject.reading(place, "constant", words, rows, subject.bound[:, place.channels])


def stuck(subject: Subject, place: Place) -> Iterator[Reading]:
    """From some frame on, every channel that differs holds what it rightly held before."""
    differs = subject.failing[:, place.channels]
    frames = np.flatnonzero(differs.any(axis=1))
    if place.is_whole or not len(frames) or frames[0] == 0:
        return
    last = int(frames[0]) - 1
    held = np.broadcast_to(subject.recorded[last, place.channels], differs.shape)
    after = (np.arange(len(differs)) > last)[:, None] & differs.any(axis=0)
    rows = np.where(after, held, subject.replayed[:, place.channels])
    count = int(np.count_nonzero(differs.any(axis=0)))
    where = f", in {count} of its {len(place.channels)} channels" if count < len(place.channels) else ""
    words = f"stuck at its value of frame {int(subject.evidence.frame[last])}{where}"
    yield subject.reading(place, "stuck", words, rows, subject.bound[:, place.channels])


def one_factor(subject: Subject, place: Place) -> Iterator[Reading]:
    """One factor in every channel, taken from the value that is known best."""
    own, bound = subject.replayed[:, place.channels], subject.bound[:, place.channels]
    recorded = subject.recorded[:, place.channels]
    if not (np.isfinite(own).all() and np.isfinite(recorded).all() and own.any()):
        return
    relative = np.divide(bound, np.abs(own), out=np.full(own.shape, np.inf), where=own != 0.0)
    node = np.unravel_index(int(np.argmin(relative)), own.shape)
    factor = float(recorded[node] / own[node])
    rows = factor * own
    moved = max(abs(factor), 1.0) * bound + (relative[node] + gamma(_OPERATIONS)) * np.abs(rows)
    yield subject.reading(place, "scaled", f"{factor:.6g} times what it should be", rows, moved, 1)


def added(subject: Subject, place: Place) -> Iterator[Reading]:
    """One constant more than it should be, the same in every channel: taken from the value with the narrowest bound."""
    own, bound = subject.replayed[:, place.channels], subject.bound[:, place.channels]
    recorded = subject.recorded[:, place.channels]
    known = np.isfinite(own) & np.isfinite(recorded) & np.isfinite(bound)
    if not known.any():
        return
    node = np.unravel_index(int(np.argmin(np.where(known, bound, np.inf))), bound.shape)
    constant = float(recorded[node] - own[node])
    rows = own + constant
    moved = bound + bound[node] + gamma(_OPERATIONS) * (np.abs(rows) + abs(constant))
    yield subject.reading(place, "added", f"{constant:.6g} more than it should be", rows, moved, 1)


def clamped(subject: Subject, place: Place) -> Iterator[Reading]:
    """Held at the smallest or the largest value that was recorded, or between them; several values must stand at a limit."""
    recorded = subject.recorded[:, place.channels]
    if not np.isfinite(recorded).all():
        return
    failing = subject.failing[:, place.channels]
    low, high = float(recorded.min()), float(recorded.max())
    at_low, at_high = (np.count_nonzero((recorded == limit) & failing) for limit in (low, high))
    if at_low + at_high < 4:
        return
    words = f"held between {low:.6g} and {high:.6g}"
    if not (at_low and at_high):
        words = f"held at {low:.6g} and above" if at_low else f"held at {high:.6g} and below"
    rows = np.clip(subject.replayed[:, place.channels], low, high)
    yield subject.reading(place, "clamped", words, rows, subject.bound[:, place.channels], 1)


def fewer_bits(subject: Subject, place: Place) -> Iterator[Reading]:
    """Rounded to float16 or bfloat16; a value within its bound of the middle of two steps may be on either."""
    if subject.evidence.precision is not None:  # numbers that were written coarsely do not show who rounded them
        return
    own, bound = subject.replayed[:, place.channels], subject.bound[:, place.channels]
    recorded = subject.recorded[:, place.channels]
    for name, rounded in ROUNDINGS.items():
        steps = np.stack([rounded(own), rounded(own - bound), rounded(own + bound)])
        nearest = np.argmin(np.abs(steps - recorded), axis=0)
        rows = np.take_along_axis(steps, nearest[None], axis=0)[0]
        yield subject.reading(place, "rounded", f"what it should be, rounded to {name}", rows, bound)


def to_float16(rows: FloatArray) -> FloatArray:
    """Rounded to eleven bits."""
    with np.errstate(over="ignore"):
        return rows.astype(np.float16).astype(np.float64)


def to_bfloat16(rows: FloatArray) -> FloatArray:
    """Rounded to eight bits, ties to even."""
    bits = np.ascontiguousarray(rows, np.float32).view(np.uint32).astype(np.uint64)
    rounded = ((bits + 0x7FFF + ((bits >> np.uint64(16)) & np.uint64(1))) >> np.uint64(16)) << np.uint64(16)
    return rounded.astype(np.uint32).view(np.float32).astype(np.float64)


ROUNDINGS = {"float16": to_float16, "bfloat16": to_bfloat16}
