"""The stage is computed correctly, from another input than it should be: other channels, frame, stage, bits or values."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations, permutations, product
from typing import Any

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.layout import FieldKind
from rigpact.reports.diagnosing.relations.contract_arrays import arrays_of
from rigpact.reports.diagnosing.relations.families.maps import ROUNDINGS
from rigpact.reports.diagnosing.relations.lines import factors_of
from rigpact.reports.diagnosing.relations.relation import CandidateEdit, Group, groups_of
from rigpact.reports.diagnosing.relations.rotations import Codec, codec_of, transposed
from rigpact.reports.diagnosing.relations.subject import Change, DivergentStage

_FARTHEST = 12
"""Channels by which a slice may be read too early or too late; beyond, only whole bones and fields."""

_MOST_SLICES = 32
"""A vector of more slices is one of bones: which bone's numbers stand there is found at once, in `parts`."""


def inputs(subject: DivergentStage, names: Sequence[str], worked_back: Collection[str] = ()) -> Iterator[CandidateEdit]:
    """Every reading of some vectors that a stage is computed from, one at a time, and all together where bits are lost.

    worked_back: inputs whose numbers are known by themselves; what happens to single numbers is looked for there. A slice of one
    number is not tried elsewhere: a vector has hundreds, and every number of every vector fits the first frames of some.
    """
    yield from _rounded(subject)
    yield from _in_each_others_place(subject, names)
    for name in names:
        yield from _twice(subject, name)
        if name not in worked_back:
            yield from _late(subject, name)
            yield from _offset(subject, name)
            yield from _functions(subject, name)
        groups = groups_of(subject.contract.fields(name))
        if len(groups) > 1:
            whole = Group(name, 0, groups[-1].stop, groups[0].kind, groups[0].part)
            yield from _elsewhere(subject, name, whole)
        several = [group for group in groups if group.stop - group.start > 1 or len(groups) == 1]
        for group in filter(partial(subject.can_mend, name), several):
            if len(several) <= _MOST_SLICES:
                yield from _elsewhere(subject, name, group)
            yield from _inverted(subject, name, group)
            yield from _reordered(subject, name, group)
            yield from _with_constants(subject, name, group)


def _in_each_others_place(subject: DivergentStage, names: Sequence[str]) -> Iterator[CandidateEdit]:
    """Two vectors of the same kind and size."""
    kinds = {name: [(each.kind, each.part) for each in groups_of(subject.contract.fields(name))] for name in names}
    for one, other in combinations(names, 2):
        if kinds[one] == kinds[other] and subject.before[one].shape == subject.before[other].shape:
            words = f"{one} and {other} in each other's place"
            yield from _try(subject, words, partial(_exchanged, one, other))


def _exchanged(one: str, other: str, known: DivergentStage) -> Mapping[str, FloatArray]:
    return {one: known.before[other], other: known.before[one]}


def _try(subject: DivergentStage, words: str, change: Change) -> Iterator[CandidateEdit]:
    found = subject.recomputed("input", f"computed from {words}", change)
    if found is not None:
        yield found


def _of(name: str, changed: Callable[[FloatArray], FloatArray]) -> Change:
    """The change of one input by itself."""
    return lambda known: {name: changed(known.before[name])}


def _rounded(subject: DivergentStage) -> Iterator[CandidateEdit]:
    for name, rounded in ROUNDINGS.items():
        yield from _try(subject, f"inputs that were rounded to {name}", partial(_all_rounded, rounded))
        for stage in subject.before if len(subject.before) > 1 else ():
            yield from _try(subject, f"a {stage} that was rounded to {name}", _of(stage, rounded))


def _all_rounded(rounded: Callable[[FloatArray], FloatArray], known: DivergentStage) -> Mapping[str, FloatArray]:
    return {stage: rounded(rows) for stage, rows in known.before.items()}


def _late(subject: DivergentStage, name: str) -> Iterator[CandidateEdit]:
    for lag in filter(partial(subject.may_be_read, name), (-1, 1, -2, 2)):
        yield from _try(subject, f"the {name} of frame t{lag:+d}", partial(_of_frame, name, lag))
    first = int(subject.evidence.frame[0])
    yield from _try(subject, f"the {name} of frame {first}, in every frame", _of(name, _first_row))


def _of_frame(name: str, lag: int, known: DivergentStage) -> Mapping[str, FloatArray]:
    return {name: known.shifted(known.before[name], lag)}


def _first_row(rows: FloatArray) -> FloatArray:
    return np.broadcast_to(rows[:1], rows.shape)


def _offset(subject: DivergentStage, name: str) -> Iterator[CandidateEdit]:
    groups = groups_of(subject.contract.fields(name))
    steps = set(range(1, _FARTHEST + 1)) | {each.part for each in groups} | {each.start for each in groups}
    for step in sorted(steps - {0}):
        if step >= subject.before[name].shape[1]:
            continue
        for offset, word in ((step, "too late"), (-step, "too early")):
            words = f"{name} read {step} channels {word}"
            yield from _try(subject, words, _of(name, partial(np.roll, shift=-offset, axis=1)))


def _functions(subject: DivergentStage, name: str) -> Iterator[CandidateEdit]:
    """What is done to every number of an input, without a number that is fitted."""
    changes: Mapping[str, Callable[[FloatArray], FloatArray]] = {
        **{
            f"{word} times {name}": partial(np.multiply, factor)
            for word, factor in factors_of(subject.evidence.fps).items()
        },
        f"zeros in place of {name}": np.zeros_like,
        f"how much {name} changes in each frame": lambda rows: rows - _frame_before(rows),
        f"the mean of {name} and of that of the frame before": lambda rows: 0.5 * (rows + _frame_before(rows)),
        f"tanh({name})": np.tanh,
    }
    for words, change in changes.items():
        yield from _try(subject, words, _of(name, change))
    for array in arrays_of(subject.contract):
        if array.values.shape == (subject.before[name].shape[1],) and np.all(array.values > 0.0):
            words = f"tanh({name} / {array.name}): it is squashed once more than it should be"
            yield from _try(subject, words, _of(name, partial(_tanh_of, array.values)))


def _frame_before(rows: FloatArray) -> FloatArray:
    return np.vstack((rows[:1], rows[:-1]))


def _twice(subject: DivergentStage, name: str) -> Iterator[CandidateEdit]:
    """The stage's own answer in the place of an input as wide."""
    if subject.before[name].shape == subject.replayed.shape:
        words = f"its own answer in place of {name}: it is done twice"
        yield from _try(subject, words, lambda known: {name: known.replayed})


def _elsewhere(subject: DivergentStage, name: str, group: Group) -> Iterator[CandidateEdit]:
    """A slice of the input taken from another slice of the same size and kind, of the input itself or of another stage."""
    size = group.stop - group.start
    for other in dict.fromkeys((name, *subject.before, *subject.others)):
        layout = subject.contract.fields(other)
        is_whole = layout.width == subject.contract.fields(name).width == size
        for source in [Group(other, 0, size, group.kind, group.part)] if is_whole else groups_of(layout):
            if (source.stop - source.start, source.kind) != (size, group.kind) or (other == name and is_whole):
                continue
            for lag in (0, -1) if other != name else (0,) if source != group else ():
                if not subject.may_be_read(other, lag):
                    continue
                when = "" if lag == 0 else f" of frame t{lag:+d}"
                parts = ("", "") if is_whole else (f"[{source.name}]", f"[{group.name}]")
                what = f"{other}{parts[0]}{when} in place of {name}{parts[1]}"
                yield from _try(subject, what, partial(_put, name, group, other, source, lag))


def _put(
    name: str, group: Group, other: str, source: Group, lag: int, known: DivergentStage
) -> Mapping[str, FloatArray]:
    """Another slice in the place of one; where its frame was not recorded, the slice itself."""
    values = {**known.before, **known.others}[other]
    changed = known.before[name].astype(np.float64)
    moved = known.frames.shifted(values[:, source.range].astype(np.float32), lag)
    changed[:, group.range] = np.where(np.isnan(moved), changed[:, group.range], moved)
    return {name: changed}


def _reordered(subject: DivergentStage, name: str, group: Group) -> Iterator[CandidateEdit]:
    """The components of every vector or quaternion in another order, or some with the other sign."""
    names = _COMPONENTS.get((group.kind, group.part)) or _COMPONENTS.get(group.part)
    if names is None or (group.stop - group.start) % group.part:
        return
    own = tuple(range(group.part))
    orders = [(order, (1.0,) * group.part) for order in permutations(own) if order != own]
    signs = [(own, sign) for sign in product((1.0, -1.0), repeat=group.part) if min(sign) < 0.0]
    for order, sign in (*orders, *signs):
        shown = ", ".join(f"{'-' if sign[place] < 0.0 else ''}{names[place]}" for place in order)
        words = f"{name} with {shown} in place of {', '.join(names)}"
        yield from _try(subject, words, _of(name, partial(_with_components, group, order, sign)))


def _with_components(group: Group, order: Sequence[int], sign: Sequence[float], rows: FloatArray) -> FloatArray:
    changed = rows.astype(np.float64)
    parts = changed[:, group.range].reshape(len(rows), -1, group.part) * np.asarray(sign)
    changed[:, group.range] = parts[..., list(order)].reshape(len(rows), -1)
    return changed


_COMPONENTS: Mapping[Any, str] = {
    (FieldKind.QUATERNION_XYZW, 4): "xyzw", (FieldKind.QUATERNION_WXYZ, 4): "wxyz", 3: "xyz", 2: "xy",
}  # fmt: skip
"""What the numbers of a vector or of a quaternion are called."""


def _inverted(subject: DivergentStage, name: str, group: Group) -> Iterator[CandidateEdit]:
    codec = codec_of(group, subject.contract)
    if codec is not None:
        words = f"the inverse (transposed) rotations of {name}[{group.name}]"
        yield from _try(subject, words, _of(name, partial(_with_inverses, group, codec)))


def _with_inverses(group: Group, codec: Codec, rows: FloatArray) -> FloatArray:
    changed = rows.astype(np.float64)
    changed[:, group.range] = codec.encode(transposed(codec.decode(changed[:, group.range])))
    return changed


def _with_constants(subject: DivergentStage, name: str, group: Group) -> Iterator[CandidateEdit]:
    """1 more or less in one or two components of every rotation: an identity that is forgotten, or stands in other columns."""
    codec = codec_of(group, subject.contract)
    if codec is None:
        return
    signs = [(place, sign) for place in range(codec.size) for sign in (1.0, -1.0)]
    chosen = [(each,) for each in signs] + [pair for pair in combinations(signs, 2) if pair[0][0] != pair[1][0]]
    for constants in chosen:
        added = np.zeros(codec.size)
        for place, sign in constants:
            added[place] = sign
        shown = ", ".join(f"{value:+.0f}" if value else "0" for value in added)
        words = f"{name} with ({shown}) added to each rotation"
        yield from _try(subject, words, _of(name, partial(_with_added, group, added)))


def _with_added(group: Group, added: FloatArray, rows: FloatArray) -> FloatArray:
    changed = rows.astype(np.float64)
    changed[:, group.range] += np.tile(added, (group.stop - group.start) // len(added))
    return changed


def _tanh_of(scale: FloatArray, rows: FloatArray) -> FloatArray:
    return np.asarray(np.tanh(rows / scale))
