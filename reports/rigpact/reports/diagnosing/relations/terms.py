"""Stages that were not recorded, where a recorded stage only holds their numbers: the terms of an observation, of a history.

They are searched as if they were recorded. What is wrong is simple at one term, and in a history of hundreds of numbers it is
not; and a term is replayed at a small part of the cost.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.graph.replayed import Evidence, ReplayedFrames

_MOSTLY = 0.5
"""A limit changes fewer frames than this share of them, in a channel that still holds a term's numbers."""


def with_terms(evidence: Evidence, contract: Contract, stages: Iterable[str]) -> Evidence | None:
    """The evidence with the terms that some recorded stages hold; None where they hold none.

    A number that is as it should be is the term's own: a limit on the way may have hidden it on both sides.
    """
    graph, frames, recorded = contract.system.graph, ReplayedFrames(evidence, contract), dict(evidence.recorded)
    for stage in stages:
        replayed = frames.computed(stage)
        for name in graph[stage].needs:
            own = None if name in recorded or graph[name].compute is None else frames.get(name)
            if replayed is None or own is None:
                continue
            channels = channels_of(replayed, own, but_for_limits=True)
            if channels is not None:
                held = recorded[stage][:, channels]
                recorded[name] = np.where(held == replayed[:, channels], own, held).astype(np.float32)
    return replace(evidence, recorded=recorded) if len(recorded) > len(evidence.recorded) else None


def channels_of(replayed: FloatArray, rows: FloatArray, *, but_for_limits: bool = False) -> list[int] | None:
    """For each channel of some rows the channel of a replay that holds it in every frame; None where one is missing.

    but_for_limits: or in all but the frames in which the replay is at an end of its range.
    """
    channels = list[int]()
    for column in rows.T:
        same = replayed == column[:, None]
        holds = np.flatnonzero(same.all(axis=0))
        if not len(holds) and but_for_limits:
            holds = np.flatnonzero(_is_limited(same, replayed))
        if not len(holds):
            return None
        following = channels[-1] + 1 if channels else -1
        channels.append(following if following in holds else int(holds[0]))
    return channels


def _is_limited(same: NDArray[np.bool_], replayed: FloatArray) -> NDArray[np.bool_]:
    """Whether the numbers of a replay, (T, W), that are not the same are all at an end of its channel, (W,)."""
    at_an_end = (replayed == replayed.min(axis=0)) | (replayed == replayed.max(axis=0))
    return np.asarray((same | at_an_end).all(axis=0) & (same.mean(axis=0) > _MOSTLY))
