"""Find the smallest run that fails in the same way: latest start, fewest frames, fewest non-default channels.

Channels are the columns of the clip that drives the run. The method is delta debugging (Zeller and Hildebrandt,
Simplifying and isolating failure-inducing input, 2002). The default values are 0 and no rotation.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rigpact.contract.errors import UnusableInput
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.files.sentinel import Watched, watch_run
from rigpact.reference_runtime.files.subject import Subject
from rigpact.reports.nonfinite.origin import Origin, origin_of_run

MOST_RUNS = 200
"""Largest number of runs for leaving channels out; after that, the present result is reported."""
Column = tuple[str, int]


@dataclass(frozen=True, eq=False)
class Shrunk:
    """A smaller subject that fails in the same way in `frames` frames; its non-default columns, and their total."""

    subject: Subject
    origin: Origin
    frames: int
    kept: tuple[Column, ...]
    columns: int
    runs: int


def shrink(subject: Subject, frames: int) -> Shrunk | None:
    """Shrink a run that fails within `frames` frames; None if it does not fail, or its clip has no columns to split."""
    watched, origin = _outcome(subject, frames)
    if origin is None or not subject.files.columns(subject.clip):
        return None
    search = _Search(origin)
    start = next((smaller for smaller in _later_starts(subject, watched) if search.fails_alike(smaller)), subject)
    shortest = _shortened(start, search)
    small, kept = _fewest_columns(shortest, search)
    _, final = _outcome(small, search.frames)
    if final is None:
        return None
    columns = sum(values.shape[1] for values in small.files.columns(shortest.clip).values())
    return Shrunk(small, final, final.frame + 1, tuple(kept), columns, search.runs)


def _outcome(subject: Subject, frames: int) -> tuple[Watched, Origin | None]:
    with np.errstate(all="ignore"):
        runner = subject.start(frames)
        watched = watch_run(runner, range(subject.frames_of(runner, frames)))
        return watched, origin_of_run(subject, watched, with_operands=False)


class _Search:
    """Tests whether a smaller run fails in the same way within the original number of frames; counts the runs."""

    def __init__(self, origin: Origin) -> None:
        self._identity, self.frames, self.runs = origin.identity, origin.frame + 2, 0

    def fails_alike(self, subject: Subject) -> bool:
        """Whether the same stage, channel, operation and node produce the value."""
        self.runs += 1
        try:
            _, origin = _outcome(subject, self.frames)
        except UnusableInput:
            return False
        return origin is not None and origin.identity == self._identity


def _length(subject: Subject) -> tuple[int, int]:
    """Number of frames that the clip drives, and its further rows: the last pose is only a target."""
    steps = int(subject.rows().steps)
    return steps, len(next(iter(subject.files.columns(subject.clip).values()))) - steps


def _later_starts(subject: Subject, watched: Watched) -> Iterator[Subject]:
    """The subject, started at each stored frame, the last frame first."""
    for frame, stages in reversed(watched.frames):
        if frame > 0:
            yield _started_at(subject, frame, stages)


def _started_at(subject: Subject, frame: int, stages: Mapping[str, FloatArray]) -> Subject:
    files, (steps, beyond) = subject.files, _length(subject)
    rows = (np.arange(max(steps - frame, 1) + beyond) + frame) % (steps + beyond * (subject.mode == "teacher"))
    clip = files.with_columns(subject.clip, files.columns(subject.clip), rows)
    if subject.mode == "free":
        carried = next(stage.name for stage in subject.contract.system.stages if stage.carried is not None)
        columns = {name: values.copy() for name, values in files.columns(clip).items()}
        for name, place in files.seeded_columns(subject.contract).items():
            if name in columns:
                columns[name][0] = stages[carried][place]
        clip = files.with_columns(clip, columns, slice(None))
    faults = tuple(replace(fault, frame=max(fault.frame - frame, 0)) for fault in subject.faults)
    return replace(subject, clip=clip, network=_answers_from(subject.network, frame), faults=faults)


def _answers_from(network: Any, frame: int) -> Any:
    """Recorded answers from a frame on; any other network stays unchanged."""
    outputs = getattr(network, "outputs", None)
    if outputs is None:
        return network
    cut = {name: rows[frame:] for name, rows in outputs.items()} if isinstance(outputs, Mapping) else outputs[frame:]
    changed = copy(network)
    changed.__dict__["outputs"] = cut
    return changed


def _shortened(subject: Subject, search: _Search) -> Subject:
    """The subject without the clip's rows after the failing one, if it still fails in the same way."""
    _, origin = _outcome(subject, search.frames)
    steps, beyond = _length(subject)
    if origin is None or steps <= origin.frame + 1:
        return subject
    files = subject.files
    clip = files.with_columns(subject.clip, files.columns(subject.clip), slice(origin.frame + 1 + beyond))
    shorter = replace(subject, clip=clip)
    return shorter if search.fails_alike(shorter) else subject


def _fewest_columns(subject: Subject, search: _Search) -> tuple[Subject, list[Column]]:
    """Delta debugging: leave out smaller and smaller parts of the columns while the failure stays the same."""
    columns = [
        (name, index)
        for name, values in subject.files.columns(subject.clip).items()
        for index in range(values.shape[1])
        if (values[:, index] != subject.files.default_number(subject.contract, name, index)).any()
    ]

    def fails(kept: Sequence[Column]) -> bool:
        return search.fails_alike(_with_columns(subject, kept))

    kept = _minimal(columns, fails, MOST_RUNS)
    return _with_columns(subject, kept), kept


def _minimal(items: list[Column], fails: Callable[[Sequence[Column]], bool], most_runs: int) -> list[Column]:
    if fails([]):
        return []
    parts, runs = 2, 1
    while len(items) >= 2 and runs < most_runs:
        groups = [items[index::parts] for index in range(parts)]
        # one group alone, then all groups but one
        smaller = None
        for candidate in [*groups, *([x for x in items if x not in set(group)] for group in groups if parts > 2)]:
            runs += 1
            if len(candidate) < len(items) and fails(candidate):
                smaller = candidate
                break
        if smaller is not None:
            parts = 2 if len(smaller) <= len(items) // parts + 1 else max(parts - 1, 2)
            items = smaller
        elif parts >= len(items):
            break
        else:
            parts = min(2 * parts, len(items))
    return items


def _with_columns(subject: Subject, kept: Sequence[Column]) -> Subject:
    """The subject with default values in all columns of its clip except the kept ones."""
    files, wanted, columns = subject.files, set(kept), {}
    for name, values in subject.files.columns(subject.clip).items():
        columns[name] = values.copy()
        for index in range(values.shape[1]):
            if (name, index) not in wanted:
                columns[name][:, index] = files.default_number(subject.contract, name, index)
    return replace(subject, clip=files.with_columns(subject.clip, columns, slice(None)))
