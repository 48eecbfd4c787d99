"""Stages that were not recorded, where a recorded stage only holds their numbers: the terms of an observation, of a history.

They are searched as if they were recorded. What is wrong is simple at one term, and in a history of hundreds of numbers it is
not; and a term is replayed at a small part of the cost.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.graph.replayed import Evidence, ReplayedFrames

_MOSTLY = 0.5
"""A limit changes fewer frames than this share of them, in a channel that still holds a term's numbers."""
_PROBES = (np.float32(2.0**-6), np.float32(2.0**6))


def with_terms(evidence: Evidence, contract: Contract, stages: Iterable[str]) -> Evidence | None:
    """The evidence with the terms that some recorded stages hold; None where they hold none.

    What stands at a limit on the way is hidden: what the term was there is not known.
    """
    graph, frames = contract.system.graph, ReplayedFrames(evidence, contract)
    recorded, hidden = dict(evidence.recorded), dict(evidence.hidden)
    for stage in stages:
        replayed = frames.computed(stage)
        for name in graph[stage].needs:
            own = None if name in recorded or graph[name].compute is None else frames.get(name)
            if replayed is None or own is None:
                continue
            probes = [(replayed, own), *_probed(evidence, contract, stage, name, own)]
            passing, every = (list(map(np.concatenate, zip(*each, strict=True))) for each in (probes[:2], probes))
            channels = channels_of(*passing, but_for_limits=True)
            if channels is not None:
                held = recorded[stage][:, channels]
                recorded[name], hidden[name] = held, _at_a_limit(held, every[0][:, channels], every[1])
                if stage in hidden:
                    hidden[name] |= hidden[stage][:, channels]
    return replace(evidence, recorded=recorded, hidden=hidden) if len(recorded) > len(evidence.recorded) else None


def _probed(
    evidence: Evidence, contract: Contract, stage: str, name: str, own: FloatArray
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """The stage, and its term, where that is small, so that limits let it pass, and where it is large."""
    for scale in _PROBES:
        frames = ReplayedFrames(replace(evidence, recorded={**evidence.recorded, name: own * scale}), contract)
        replayed = frames.computed(stage)
        if replayed is not None:
            yield replayed, frames[name]


def _at_a_limit(held: FloatArray, held_by: FloatArray, of: FloatArray) -> NDArray[np.bool_]:
    """Which numbers, (T, W), stand at a limit: at an end of what holds the term where it is not the term's own number."""
    limits = np.where(held_by != of, held_by, np.nan)
    with np.errstate(all="ignore"):
        return np.asarray((held == np.fmin.reduce(limits, axis=0)) | (held == np.fmax.reduce(limits, axis=0)))


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
