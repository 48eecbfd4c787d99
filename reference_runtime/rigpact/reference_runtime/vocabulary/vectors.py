"""Vectors as they are: end to end, one of several, the last frames of each, the bytes that arrive."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from rigpact.contract.conventions import CodeHint
from rigpact.contract.declared.cross_checks import MOST_FRAMES, refuse_wide
from rigpact.contract.declared.operation import Built, Input, Use
from rigpact.contract.declared.values import Choice
from rigpact.contract.errors import Wrong
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Frames
from rigpact.contract.systems.layout import Field, FieldKind, FieldLayout
from rigpact.contract.systems.plan import Read, Step, moved
from rigpact.contract.systems.stage import Bounds
from rigpact.reference_runtime.operations.scalars import ORDERS, ages
from rigpact.reference_runtime.vocabulary.building import (
    of_any_frame,
    of_same_frame,
    only_moved,
    operation,
    refuse_other_widths,
    samples,
)


def _concatenate(use: Use) -> Built:
    """Lay the vectors end to end; other readings exchange two of them, or move one to either end."""
    names = [each.name for each in use.inputs]
    knob = use.knob("order", orders_of(names), f"the order of the vectors in {use.stage}")
    fields = {each.name: each.fields for each in use.inputs}
    nesting = _nesting(use)

    def taken(frames: Frames) -> tuple[list[Read], list[int], Sequence[int]]:
        order = knob.of(frames)
        layouts = [fields[name] for name in order]
        places = _NESTED[nesting.of(frames)](layouts)
        return [Read(name) for name in order], [each.width for each in layouts], places

    layout = (_interleaved_fields if use.table.get("layout") == "interleaved" else _joined_fields)(use.inputs)
    return only_moved(layout, taken)


def _nesting(use: Use) -> Choice:
    """Whether vectors or fields are the outer loop; a choice only where a declaration interleaves vectors of as many fields."""
    if "layout" not in use.table:
        return Choice("end_to_end")
    counts = {len(tuple(each.fields)) for each in use.inputs}
    if use.table["layout"] == "interleaved" and len(counts) > 1:
        found = ", ".join(f"{each.name} {len(tuple(each.fields))}" for each in use.inputs)
        raise use.wrong(Wrong.WIDTH, "of", f"{found} fields", "as many fields of each vector")
    return use.choice("layout", {name: name for name in _NESTED}, "how vectors and their fields are nested")


def _turns(layouts: Sequence[FieldLayout]) -> list[int]:
    """The channels of vectors end to end, in the order in which their fields take turns."""
    starts = np.cumsum([0, *(layout.width for layout in layouts)])
    return [
        int(start) + channel
        for turn in zip(*layouts, strict=True)
        for start, field in zip(starts, turn, strict=False)
        for channel in range(field.start, field.stop)
    ]


_NESTED: Mapping[str, Callable[[Sequence[FieldLayout]], Sequence[int]]] = {
    "end_to_end": lambda layouts: range(sum(each.width for each in layouts)), "interleaved": _turns,
}  # fmt: skip
"""Layouts of the vectors -> the channels of the vectors end to end, in the order of the result."""


def orders_of(names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The declared order, and the near ones that people write instead, by what is moved."""
    orders = {"as_declared": tuple(names)}
    for name, order in _near_orders(tuple(names)):
        if order not in orders.values():
            orders[name] = order
    return orders


def _near_orders(declared: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    for one, other in combinations(declared, 2):
        exchange = {one: other, other: one}
        yield f"{one}_and_{other}_exchanged", tuple(exchange.get(name, name) for name in declared)
    for name in declared:
        rest = tuple(each for each in declared if each != name)
        yield f"{name}_last", (*rest, name)
        yield f"{name}_first", (name, *rest)
    yield "alphabetical", tuple(sorted(declared))


def _interleaved_fields(inputs: Sequence[Input]) -> FieldLayout:
    """The fields of vectors taken in turn, each with its vector's name behind it: `hand.velocity`."""
    fields, start = [], 0
    for turn in zip(*(source.fields for source in inputs), strict=True):
        for source, each in zip(inputs, turn, strict=True):
            fields.append(replace(each, name=f"{each.name}.{source.name}", start=start))
            start += each.size
    return FieldLayout(tuple(fields))


def _joined_fields(inputs: Sequence[Input]) -> FieldLayout:
    """The fields of vectors laid end to end; where names repeat, each has the name of its vector before it."""
    times = Counter(each.name for source in inputs for each in source.fields)
    fields, start = [], 0
    for source in inputs:
        for each in source.fields:
            name = each.name if times[each.name] == 1 else f"{source.name}.{each.name}"
            fields.append(Field(name, start, each.size, each.kind, each.unit, each.space, each.low, each.high))
            start += each.size
    return FieldLayout(tuple(fields))


CONCATENATE = operation("concatenate", _concatenate, (1, 1 << 16))


Layout = Callable[[list[list[FloatArray]]], list[FloatArray]]
"""[term][place in time] -> the blocks in the order of the vector."""

_LAYOUTS: Mapping[str, Layout] = {
    "term_major": lambda blocks: [block for term in blocks for block in term],
    "frame_major": lambda blocks: [block for moment in zip(*blocks, strict=True) for block in moment],
    "channel_major": lambda blocks: [np.stack(term, axis=-1).reshape(len(term[0]), -1) for term in blocks],
}


def _history(use: Use) -> Built:
    """`length` frames of every term; a run that begins fills the buffer as `start` says."""
    sizes = {each.name: each.fields.width for each in use.inputs}
    length = use.whole("length", low=1)
    refuse_wide(length * sum(each.fields.width for each in use.inputs), use.at("length"))
    apart = use.whole("every", low=1, default=1)
    if length * apart > MOST_FRAMES:
        raise use.wrong(Wrong.NUMBERS, "every", apart, f"at most {MOST_FRAMES} frames in the whole history")
    stride = use.knob(
        "every", {"declared": apart, "each_frame": 1}, "how many frames lie between two entries of the history",
        shows=lambda frames: np.array([float(length > 1) * frames]),
    )  # fmt: skip
    probe = [
        [sample[None] for sample in samples(each.fields.width, length) + place] for place, each in enumerate(use.inputs)
    ]
    layout = use.choice(
        "layout", _LAYOUTS, "how terms and frames are nested in the history", shows=lambda nest: np.hstack(nest(probe))
    )
    order = use.choice(
        "order", ORDERS, "the end of the history where the oldest frame stands",
        shows=lambda taken: np.arange(float(length))[taken],
    )  # fmt: skip
    start = use.choice(
        "start", {"first": "first", "zeros": "zeros"}, "the value before the first frame",
        shows=lambda word: np.array([float(length > 1 and word == "zeros")]),
    )  # fmt: skip
    delay = use.knob("delay", {"none": 0, "one_frame": 1}, "how old the newest frame of the history is")
    terms = use.knob("terms", orders_of([each.name for each in use.inputs]), "the order of the terms in the history")

    def compute(frames: Frames) -> FloatArray:
        lags = [-age * stride.of(frames) for age in ages(length, order.of(frames), delay.of(frames))]
        blocks = [[frames.at(name, lag, start=start.of(frames)) for lag in lags] for name in terms.of(frames)]
        return np.hstack(layout.of(frames)(blocks)).astype(np.float32)

    def bound(frames: Frames, rows: FloatArray, upstream: Bounds) -> FloatArray:
        """Numbers are only moved. A term that was not recorded has the largest bound of the run, at any age."""
        moved = {name: of_any_frame(upstream, name, (len(rows), width)) for name, width in sizes.items()}
        return np.hstack(layout.of(frames)([[moved[name]] * length for name in terms.of(frames)]))

    def planned(frames: Frames) -> Step:
        places, word = ages(length, order.of(frames), delay.of(frames)), start.of(frames)
        reads = [Read(name, -age * stride.of(frames), word) for name in terms.of(frames) for age in places]
        every = [sizes[read.stage] for read in reads]
        numbered = np.split(np.arange(sum(every))[None], np.cumsum(every)[:-1], axis=1)
        blocks = [numbered[first : first + length] for first in range(0, len(reads), length)]
        return moved(reads, every, np.hstack(layout.of(frames)(blocks))[0])

    fields = _history_fields(use, ages(length, ORDERS[use.table.get("order", "oldest_first")], 0))
    return Built(fields, compute, bound, reach=(length * apart, 0), is_propagated=True, planned=planned)


def _history_fields(use: Use, places: Sequence[int]) -> FieldLayout:
    """One field for each term and age, as the declared layout and order place them."""
    terms, layout = [(each.name, each.fields.width) for each in use.inputs], use.table.get("layout", "term_major")
    if layout == "frame_major":
        entries = [(f"{name}_{age}", width) for age in places for name, width in terms]
    elif layout == "channel_major":
        entries = [
            (f"{name}_{channel}_{age}", 1) for name, width in terms for channel in range(width) for age in places
        ]
    else:
        entries = [(f"{name}_{age}", width) for name, width in terms for age in places]
    starts = np.cumsum([0, *(width for _, width in entries)])
    placed = zip(entries, starts, strict=False)
    return FieldLayout(tuple(Field(name, int(start), width, FieldKind.RAW) for (name, width), start in placed))


HISTORY = operation("history", _history, (1, 1 << 16), choices=("layout", "order", "start"))


def _either(use: Use) -> Built:
    """of = vectors of one width; the first is taken if nothing else is said."""
    refuse_other_widths(use)
    names, width = [each.name for each in use.inputs], use.inputs[0].fields.width
    use.code = {"taken": {name: CodeHint(f"y = {name};", name) for name in names}}
    taken = use.choice("taken", {name: name for name in names}, f"what {use.stage} is", default=names[0])
    return only_moved(use.inputs[0].fields, lambda frames: ([Read(taken.of(frames))], [width], range(width)))


EITHER = operation("either", _either, (2, 1 << 10))


_TAKES = {
    "second_where_set": lambda flag: flag > 0.5, "first_where_set": lambda flag: flag <= 0.5,
    "first_always": lambda flag: np.zeros(flag.shape, bool), "second_always": lambda flag: np.ones(flag.shape, bool),
}  # fmt: skip


def _switch(use: Use) -> Built:
    """of = [first, second, flag]: two vectors of one width, and a flag for all, or one for each of their numbers."""
    first, second, flag = use.inputs
    width = first.fields.width
    for each, allowed in ((second, (width,)), (flag, (1, width))):
        if each.fields.width not in allowed:
            found = f"{each.fields.width} numbers of {each.name}"
            raise use.wrong(Wrong.WIDTH, "of", found, " or ".join(map(str, allowed)))
    takes = use.knob("takes", _TAKES, f"which vector {flag.name} chooses")

    def compute(frames: Frames) -> FloatArray:
        is_second = takes.of(frames)(np.asarray(frames[flag.name]))
        return np.where(is_second, frames[second.name], frames[first.name]).astype(np.float32)

    def bound(_frames: Frames, rows: FloatArray, upstream: Bounds) -> FloatArray:
        return np.maximum(*(of_same_frame(upstream, each.name, rows.shape) for each in (first, second)))

    return Built(first.fields, compute, bound, is_propagated=True)


SWITCH = operation("switch", _switch, (3, 3))


def first_bytes(rows: FloatArray, count: int) -> FloatArray:
    """Rows of float32 with only the first `count` bytes copied (little-endian); the rest is zero."""
    raw = np.ascontiguousarray(rows, "<f4").view(np.uint8).copy()
    raw[:, count:] = 0
    return raw.view("<f4").astype(np.float32)


def _copied(use: Use) -> Built:
    """The same numbers, or as many bytes of them as there are numbers."""
    source, width = use.inputs[0], use.inputs[0].fields.width
    counts = {"whole": 4 * width, "floats_as_bytes": width}
    copied = use.choice("bytes", counts, f"how many bytes of {source.name} arrive")
    return Built(
        source.fields, lambda frames: first_bytes(frames[source.name], copied.of(frames)),
        lambda _frames, rows, upstream: of_same_frame(upstream, source.name, rows.shape), is_propagated=True,
    )  # fmt: skip


COPIED = operation("copied", _copied, choices=("bytes",))
