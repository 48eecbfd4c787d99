"""Vectors as they are: end to end, one of several, the last frames of each."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from rigpact.contract.conventions import CodeHint
from rigpact.contract.declared.cross_checks import MOST_FRAMES, refuse_wide
from rigpact.contract.declared.operation import Built, Input, Operation, Use
from rigpact.contract.declared.values import Choice
from rigpact.contract.errors import Wrong
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Frames
from rigpact.contract.systems.layout import Field, FieldKind, FieldLayout
from rigpact.contract.systems.plan import Read, Step, moved
from rigpact.contract.systems.stage import Bounds
from rigpact.reference_runtime.operations.scalars import ORDERS, ages
from rigpact.reference_runtime.vocabulary.code_hints import CODE_HINTS
from rigpact.reference_runtime.vocabulary.rounding_bounds import of_any_frame, of_same_frame, only_moved, samples


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

    layout = (interleaved_fields if use.table.get("layout") == "interleaved" else joined_fields)(use.inputs)
    return only_moved(layout, taken)


def _nesting(use: Use) -> Choice:
    """Whether vectors or fields are the outer loop; a choice only where a declaration interleaves vectors of as many fields."""
    if "layout" not in use.table:
        return Choice("end_to_end")
    counts = {len(tuple(each.fields)) for each in use.inputs}
    if use.table["layout"] == "interleaved" and len(counts) > 1:
        found = ", ".join(f"{each.name} {len(tuple(each.fields))}" for each in use.inputs)
        raise use.wrong(Wrong.WIDTH, "of", f"{found} fields", "as many fields of each vector")
    return use.choice("layout", {name: name for name in _NESTED}, "how vectors and their fields are nested", {
        "end_to_end": "the vectors stand one behind the other: take the first field of each, then the second of each",
        "interleaved": "the fields of the vectors take turns: the contract lays whole vectors end to end",
    })  # fmt: skip


def _turns(layouts: Sequence[FieldLayout]) -> list[int]:
    """The channels of vectors end to end, in the order in which their fields take turns."""
    starts = np.cumsum([0, *(layout.width for layout in layouts)])
    turns = zip(*layouts, strict=True)
    return [
        int(start) + channel
        for turn in turns
        for start, field in zip(starts, turn, strict=False)
        for channel in range(field.start, field.stop)
    ]


_NESTED: Mapping[str, Callable[[Sequence[FieldLayout]], Sequence[int]]] = {
    "end_to_end": lambda layouts: range(sum(each.width for each in layouts)), "interleaved": _turns,
}  # fmt: skip
"""Layouts of the vectors -> the channels of the vectors end to end, in the order of the result."""


def orders_of(names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The declared order, and the near ones that people write instead, by what is moved."""
    declared = tuple(names)
    orders, seen = {"as_declared": declared}, {declared}
    for name, order in _near_orders(declared):
        if order not in seen:
            orders[name] = order
            seen.add(order)
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


def interleaved_fields(inputs: Sequence[Input]) -> FieldLayout:
    """The fields of vectors taken in turn, each with its vector's name behind it: `hand.velocity`."""
    fields, start = [], 0
    for turn in zip(*(source.fields for source in inputs), strict=True):
        for source, each in zip(inputs, turn, strict=True):
            fields.append(replace(each, name=f"{each.name}.{source.name}", start=start))
            start += each.size
    return FieldLayout(tuple(fields))


def joined_fields(inputs: Sequence[Input]) -> FieldLayout:
    """The fields of vectors laid end to end; where names repeat, each has the name of its vector before it."""
    times = Counter(each.name for source in inputs for each in source.fields)
    fields, start = [], 0
    for source in inputs:
        for each in source.fields:
            name = each.name if times[each.name] == 1 else f"{source.name}.{each.name}"
            fields.append(Field(name, start, each.size, each.kind, each.unit, each.space, each.low, each.high))
            start += each.size
    return FieldLayout(tuple(fields))


CONCATENATE = Operation(
    "concatenate", "vectors end to end", _concatenate,
    {"layout": "end_to_end, as if left out, or interleaved: a field of each vector in turn"}, (1, 1 << 16),
    code=CODE_HINTS["concatenate"],
)  # fmt: skip


Layout = Callable[[list[list[FloatArray]]], list[FloatArray]]
"""[term][place in time] -> the blocks in the order of the vector."""

_LAYOUTS: Mapping[str, Layout] = {
    "term_major": lambda blocks: [block for term in blocks for block in term],
    "frame_major": lambda blocks: [block for moment in zip(*blocks, strict=True) for block in moment],
    "channel_major": lambda blocks: [np.stack(term, axis=-1).reshape(len(term[0]), -1) for term in blocks],
}
_STARTS = {"first": "first", "zeros": "zeros"}


def _history(use: Use) -> Built:
    """`length` frames of every term; a run that begins fills the buffer as `start` says."""
    names = [each.name for each in use.inputs]
    length = use.whole("length", low=1)
    widths = [each.fields.width for each in use.inputs]
    refuse_wide(length * sum(widths), use.at("length"))
    apart = use.whole("every", low=1, default=1)
    if length * apart > MOST_FRAMES:
        raise use.wrong(Wrong.NUMBERS, "every", apart, f"at most {MOST_FRAMES} frames in the whole history")
    readings = {"declared": apart, "each_frame": 1}
    stride = use.knob("every", readings, "how many frames lie between two entries of the history", {
        "each_frame": "an entry is pushed in each frame: push it when the slower loop ticks",
    }, shows=lambda frames: np.array([float(length > 1) * frames]))  # fmt: skip
    blocks = [[sample[None] for sample in samples(width, length) + place] for place, width in enumerate(widths)]
    layout = use.choice("layout", _LAYOUTS, "how terms and frames are nested in the history", {
        "term_major": "the frames of one term stand together, then the next term follows",
        "frame_major": "all terms of one frame stand together, then the next frame follows",
        "channel_major": "the frames of one channel stand together",
    }, shows=lambda nest: np.hstack(nest(blocks)))  # fmt: skip
    order = use.choice("order", ORDERS, "the end of the history where the oldest frame stands", {
        "newest_first": "the buffer is read from its other end",
        "oldest_first": "the buffer is read from its other end",
    }, shows=lambda taken: np.arange(float(length))[taken])  # fmt: skip
    start = use.choice("start", _STARTS, "the value before the first frame", {
        "zeros": "the buffer starts with zeros: fill it with the first value at the reset",
        "first": "the buffer is filled with the first value: start it with zeros",
    }, shows=lambda word: np.array([float(length > 1 and word == "zeros")]))  # fmt: skip
    delay = use.knob("delay", {"none": 0, "one_frame": 1}, "how old the newest frame of the history is", {
        "one_frame": "the history is read before the current frame is pushed",
    })  # fmt: skip
    terms = use.knob("terms", orders_of(names), "the order of the terms in the history")

    def compute(frames: Frames) -> FloatArray:
        places = ages(length, order.of(frames), delay.of(frames))
        lags = [-age * stride.of(frames) for age in places]
        blocks = [[frames.at(name, lag, start=start.of(frames)) for lag in lags] for name in terms.of(frames)]
        return np.hstack(layout.of(frames)(blocks)).astype(np.float32)

    def bound(frames: Frames, rows: FloatArray, upstream: Bounds) -> FloatArray:
        """Numbers are only moved. A term that was not recorded has the largest bound of the run, at any age."""
        widths = {each.name: each.fields.width for each in use.inputs}
        moved = {name: of_any_frame(upstream, name, (len(rows), width)) for name, width in widths.items()}
        return np.hstack(layout.of(frames)([[moved[name]] * length for name in terms.of(frames)]))

    def planned(frames: Frames) -> Step:
        places, word = ages(length, order.of(frames), delay.of(frames)), start.of(frames)
        sizes = {each.name: each.fields.width for each in use.inputs}
        reads = [Read(name, -age * stride.of(frames), word) for name in terms.of(frames) for age in places]
        every = [sizes[read.stage] for read in reads]
        numbered = np.split(np.arange(sum(every))[None], np.cumsum(every)[:-1], axis=1)
        blocks = [numbered[first : first + length] for first in range(0, len(reads), length)]
        return moved(reads, every, np.hstack(layout.of(frames)(blocks))[0])

    return Built(_fields(use, length), compute, bound, reach=(length * apart, 0), is_propagated=True, planned=planned)


def _fields(use: Use, length: int) -> FieldLayout:
    """One field for each term and age, as the declared layout and order place them."""
    places = ages(length, ORDERS[use.table.get("order", "oldest_first")], 0)
    terms = [(source.name, source.fields.width) for source in use.inputs]
    return FieldLayout(tuple(_tiled(_entries(use.table.get("layout", "term_major"), terms, places))))


def _entries(layout: str, terms: Sequence[tuple[str, int]], places: Sequence[int]) -> list[tuple[str, int]]:
    if layout == "frame_major":
        return [(f"{name}_{age}", width) for age in places for name, width in terms]
    if layout == "channel_major":
        return [(f"{name}_{channel}_{age}", 1) for name, width in terms for channel in range(width) for age in places]
    return [(f"{name}_{age}", width) for name, width in terms for age in places]


def _tiled(entries: Sequence[tuple[str, int]]) -> list[Field]:
    starts = np.cumsum([0, *(width for _, width in entries)])
    return [
        Field(name, int(start), width, FieldKind.RAW)
        for (name, width), start in zip(entries, starts, strict=False)
    ]  # fmt: skip


HISTORY = Operation(
    "history",
    "the last frames of several vectors",
    _history,
    {
        "length": "number of frames, the current one included",
        "layout": "term_major, frame_major or channel_major",
        "order": "oldest_first or newest_first",
        "start": "the value before the first frame: first (its own value) or zeros",
        "every": "frames between two entries, 1 if left out: of a loop that ticks every n-th frame, whose vectors are `held`",
    },
    (1, 1 << 16),
    ("layout", "order", "start"),
    code=CODE_HINTS["history"],
)


def _either(use: Use) -> Built:
    """of = vectors of one width; the first is taken if nothing else is said."""
    width = use.inputs[0].fields.width
    for each in use.inputs:
        if each.fields.width != width:
            raise use.wrong(Wrong.WIDTH, "of", f"{each.fields.width} numbers of {each.name}", str(width))
    names = [each.name for each in use.inputs]
    use.code = {"taken": {name: CodeHint(f"y = {name};", name) for name in names}}
    taken = use.choice("taken", {name: name for name in names}, f"what {use.stage} is", default=names[0])

    return only_moved(use.inputs[0].fields, lambda frames: ([Read(taken.of(frames))], [width], range(width)))


EITHER = Operation(
    "either",
    "one of several vectors, the same in every frame",
    _either,
    {"taken": "the vector that is taken, the first if left out"},
    (2, 1 << 10),
)


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
    takes = use.knob("takes", _TAKES, f"which vector {flag.name} chooses", {
        "first_where_set": "the flag is read the other way round",
        "first_always": "the flag is not looked at", "second_always": "the flag is not looked at",
    })  # fmt: skip

    def compute(frames: Frames) -> FloatArray:
        is_second = takes.of(frames)(np.asarray(frames[flag.name]))
        return np.where(is_second, frames[second.name], frames[first.name]).astype(np.float32)

    def bound(_frames: Frames, rows: FloatArray, upstream: Bounds) -> FloatArray:
        moved = [of_same_frame(upstream, each.name, rows.shape) for each in (first, second)]
        return np.maximum(*moved)

    return Built(first.fields, compute, bound, is_propagated=True)


_SWITCH_CODE = {
    "takes": {
        "second_where_set": CodeHint("y = flag ? b : a;", "torch.where(flag > 0.5, b, a)"),
        "first_where_set": CodeHint("y = flag ? a : b;", "torch.where(flag > 0.5, a, b)"),
        "first_always": CodeHint("y = a;", "a"),
        "second_always": CodeHint("y = b;", "b"),
    }
}
SWITCH = Operation(
    "switch", "one of two vectors, by a flag", _switch, {}, (3, 3), code=_SWITCH_CODE,
)  # fmt: skip
