"""Other statistics: each channel is scaled and moved by constants of its own."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rigpact.reference_runtime.operations.rounding import gamma
from rigpact.reports.diagnosing.relations.relation import Reading
from rigpact.reports.diagnosing.relations.subject import Place, Subject

_OPERATIONS = 8
_CLEARLY = 16.0
"""A channel must move by so many bounds, or a line through two of its values says nothing."""


def other_statistics(subject: Subject, place: Place) -> Iterator[Reading]:
    """a·x, x + c, a·x + c for each channel: through the two values that are farthest apart, or one of them.

    Between its two nodes a line is no farther from the true one than at them, so a value may be off by its own bound and
    the larger of theirs.
    """
    own, recorded = subject.replayed[:, place.channels], subject.recorded[:, place.channels]
    bound = subject.bound[:, place.channels]
    if subject.stage.is_answer or not (np.isfinite(own).all() and np.isfinite(recorded).all() and len(own) > 3):
        return
    columns = np.arange(own.shape[1])
    low, high = np.argmin(own, axis=0), np.argmax(own, axis=0)
    reach = own[high, columns] - own[low, columns]
    error = np.maximum(bound[low, columns], bound[high, columns])
    moves = reach > _CLEARLY * error
    slope = np.where(moves, (recorded[high, columns] - recorded[low, columns]) / np.where(moves, reach, 1.0), 1.0)
    far = np.where(np.abs(own[low, columns]) > np.abs(own[high, columns]), low, high)
    size = own[far, columns]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(np.abs(size) > _CLEARLY * error, recorded[far, columns] / size, 1.0)
    shift = recorded[low, columns] - own[low, columns]
    constant = recorded[low, columns] - slope * own[low, columns]
    lines = (
        ("scaled by a constant of its own in each channel, as with another scale, σ or floor", ratio, 0.0, 1),
        ("moved by a constant of its own in each channel, as with another mean", 1.0, shift, 1),
        ("scaled and moved by constants of its own in each channel, as with other statistics", slope, constant, 2),
    )
    for words, factor, summand, fitted in lines:
        rows = factor * own + summand
        moved = np.maximum(np.abs(factor), 1.0) * (bound + error) + gamma(_OPERATIONS) * (
            np.abs(rows) + np.abs(summand)
        )
        yield subject.reading(place, "statistics", words, rows, moved, fitted)
