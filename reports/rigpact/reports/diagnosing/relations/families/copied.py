"""Channels that hold other channels, as data, and the one rule that tells all of them, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.reports.diagnosing.relations.relation import listed, names_of
from rigpact.reports.diagnosing.relations.target import Target
from rigpact.reports.diagnosing.stage_error import NEARLY

FEWEST = 4
"""Values of a channel that differ, and channels of one rule: fewer prove nothing."""


@dataclass(frozen=True, eq=False)
class Vector:
    """What may stand in a wrong place, (T, K), and how far rounding may move it.

    is_own: whether it is the target itself. rightly: where a clip drives both, what it puts there.
    """

    words: str
    rows: FloatArray
    bound: FloatArray
    is_own: bool = False
    rightly: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class Copy:
    """A channel that holds `sign` times a channel of a vector."""

    channel: int
    vector: Vector
    source: int
    sign: float


def copy_words(target: Target, copies: Sequence[Copy]) -> tuple[str, int]:
    """What is said of some copies, and in how many pieces."""
    signed = component_words(target, copies)
    if signed:
        return signed, 1
    if all(copy.vector.is_own and copy.sign < 0 and copy.source == copy.channel for copy in copies):
        return f"-1 times {target.it}", 0
    pairs = {(copy.channel, copy.source) for copy in copies if copy.vector.is_own and copy.sign > 0}
    names = partial(names_of, target.layout)
    if pairs and len(pairs) == len(copies):
        exchanged = [(a, b) for a, b in sorted(pairs) if a < b and (b, a) in pairs]
        if 2 * len(exchanged) == len(copies):
            fields = _in_runs(target, exchanged)
            words = listed([f"{names(a)} and {names(b)}" for a, b in fields])
            return f"{_with(target)}{words} exchanged", len(fields)
    simple = _step_words(target, copies) or _left_out_words(target, copies) or _own_order(target, copies)
    if simple:
        return simple, 1
    runs = _runs(copies)
    return f"{target.prefix}filled from other channels: {_runs_words(target, runs)}", len(runs)


def _step_words(target: Target, copies: Sequence[Copy]) -> str:
    """An input that is read so many channels too early or too late."""
    step = step_of(target, copies)
    return f"{target.name} read {abs(step)} channels too {'late' if step > 0 else 'early'}" if step else ""


def step_of(target: Target, copies: Sequence[Copy]) -> int:
    """By how many channels an input is read too late, below 0 too early; 0 where almost all channels tell no one step."""
    steps = Counter(copy.source - copy.channel for copy in copies if copy.vector.is_own and copy.sign > 0)
    step, count = steps.most_common(1)[0] if steps else (0, 0)
    return step if target.name and count >= max(FEWEST, NEARLY * len(copies)) else 0


def _left_out_words(target: Target, copies: Sequence[Copy]) -> str:
    """A vector that stands in the place of what is computed from it."""
    vectors = {copy.vector.words for copy in copies}
    is_same = len(copies) == target.own.shape[1] and all(c.channel == c.source and c.sign > 0 for c in copies)
    if len(vectors) > 1 or not is_same or (" of frame" in copies[0].vector.words and not target.name):
        return ""
    if target.name:
        return f"{vectors.pop()} in place of {target.name}"
    return f"{vectors.pop()} as it is: what {target.subject.stage.name} does with it is left out"


def _with(target: Target) -> str:
    return f"{target.name} with " if target.name else "what it should be with "


def _in_runs(target: Target, pairs: Sequence[tuple[int, int]]) -> list[tuple[list[int], list[int]]]:
    """Pairs of channels by the fields that they are of: all channels of the one and of the other."""
    found = dict[tuple[int, int], tuple[list[int], list[int]]]()
    for a, b in pairs:
        ones, others = found.setdefault((_field_start(target, a), _field_start(target, b)), ([], []))
        ones.append(a)
        others.append(b)
    return list(found.values())


def _field_start(target: Target, channel: int) -> int:
    field = target.layout.field_at(channel)
    return channel if field is None else field.start


def component_words(target: Target, copies: Sequence[Copy]) -> str:
    """One order and choice of signs of the components of every vector: `-x, y, z in place of x, y, z`."""
    sizes = {group.part for group in target.groups if any(group.start <= copy.channel < group.stop for copy in copies)}
    size = sizes.pop() if len(sizes) == 1 else 0
    if size not in (3, 4) or not all(copy.vector.is_own for copy in copies):
        return ""
    order, signs = list(range(size)), [1.0] * size
    for copy in copies:
        group = next(each for each in target.groups if each.start <= copy.channel < each.stop)
        own, source = copy.channel - group.start, copy.source - group.start
        if own // size != source // size:
            return ""
        order[own % size], signs[own % size] = source % size, copy.sign
    if sorted(order) != list(range(size)):
        return ""
    names = {3: "xyz", 4: "xyzw"}[size]
    shown = ", ".join(f"{'-' if sign < 0.0 else ''}{names[place]}" for place, sign in zip(order, signs, strict=True))
    return f"{target.it} with {shown} in place of {', '.join(names)}"


def _own_order(target: Target, copies: Sequence[Copy]) -> str:
    """Whole fields in the order of another list of the contract's names."""
    if len(copies) < FEWEST or not all(copy.vector.is_own and copy.sign > 0 for copy in copies):
        return ""
    width = target.own.shape[1]
    order = np.arange(width)
    for copy in copies:
        order[copy.channel] = copy.source
    fields = [target.layout.field_at(channel) for channel in range(width)]
    if any(field is None or field.size != 1 for field in fields):
        return ""
    own = [field.name for field in fields if field is not None]
    for words, other in _orders(target.subject.contract, own):
        if (order == other).all():
            return f"{target.it} {words}"
    return ""


def _orders(contract: Contract, own: Sequence[str]) -> Iterator[tuple[str, NDArray[np.intp]]]:
    """Every order in which another vector of the contract has the same fields: taken by name, or through the map once more."""
    seen = {tuple(own)}
    for name in contract.system.graph.names:
        other = tuple(field.name for field in contract.fields(name))
        if other not in seen and sorted(other) == sorted(own):
            seen.add(other)
            to_other = np.array([own.index(each) for each in other])
            yield f"in the order of {name}", to_other
            yield f"reordered: sent through the map to the order of {name} once more", np.argsort(to_other)


def _runs(copies: Sequence[Copy]) -> list[list[Copy]]:
    """Neighbouring channels that hold neighbouring channels of one vector, the longest run first."""
    runs: list[list[Copy]] = []
    for copy in copies:
        last = runs[-1][-1] if runs else None
        if last is not None and (last.vector, last.channel + 1, last.source + 1, last.sign) == (
            copy.vector,
            copy.channel,
            copy.source,
            copy.sign,
        ):
            runs[-1].append(copy)
        else:
            runs.append([copy])
    return sorted(runs, key=lambda run: -len(run))


def _runs_words(target: Target, runs: Sequence[Sequence[Copy]]) -> str:
    more = f" and {len(runs) - 3} more runs" if len(runs) > 3 else ""
    return ", ".join(_run_words(target, run[0], len(run)) for run in runs[:3]) + more


def _run_words(target: Target, first: Copy, length: int) -> str:
    """`[3:6] from NAME[0:3] of frame t-1`; whole fields of the same vector by their names."""
    vector, sign = first.vector, "" if first.sign > 0 else "minus "
    to, source = range(first.channel, first.channel + length), range(first.source, first.source + length)
    if vector.is_own and (_is_field(target, to) and _is_field(target, source)):
        return f"{names_of(target.layout, to)} from {sign}{names_of(target.layout, source)}"
    name, _, when = (vector.words or target.name or target.subject.stage.name).partition(" of frame")
    shown = names_of(target.layout, to) if length == 1 else f"[{to.start}:{to.stop}]"
    return f"{shown} from {sign}{name}[{source.start}:{source.stop}]{' of frame' * bool(when)}{when}"


def _is_field(target: Target, channels: range) -> bool:
    field = target.layout.field_at(channels.start)
    if field is None or sum(each.name == field.name and each.bone == field.bone for each in target.layout) > 1:
        return False
    return (field.start, field.stop) == (channels.start, channels.stop)
