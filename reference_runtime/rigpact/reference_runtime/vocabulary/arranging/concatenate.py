"""Concatenate: vectors end to end, in a declared order; or interleaved, the first field of each, then the second of each."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from rigpact.contract.declared.operation import Built, Input, Operation, Use
from rigpact.contract.declared.problems import Misdeclared, Wrong
from rigpact.contract.declared.values import Choice
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.layout import Field, FieldLayout
from rigpact.contract.systems.plan import Read, Step, moved
from rigpact.contract.systems.stage import Bounds
from rigpact.reference_runtime.vocabulary.code_hints import CODE_HINTS
from rigpact.reference_runtime.vocabulary.rounding_bounds import of_same_frame


def build(use: Use) -> Built:
    """Lay the vectors end to end; other readings exchange two of them, or move one to either end."""
    names = [each.name for each in use.inputs]
    knob = use.knob("order", orders_of(names), f"the order of the vectors in {use.stage}")
    fields = {each.name: each.fields for each in use.inputs}
    nesting = _nesting(use)

    def compute(frames: Frames) -> FloatArray:
        order = knob.of(frames)
        joined = np.hstack([frames[name] for name in order])
        return joined[:, _INTERLEAVED[nesting.of(frames)]([fields[name] for name in order])]

    def bound(frames: Frames, rows: FloatArray, upstream: Bounds) -> FloatArray:
        """Numbers are only moved, each with its own bound."""
        order = knob.of(frames)
        moved = [of_same_frame(upstream, name, (len(rows), fields[name].width)) for name in order]
        return np.hstack(moved)[:, _INTERLEAVED[nesting.of(frames)]([fields[name] for name in order])]

    def planned(frames: Frames) -> Step:
        order = knob.of(frames)
        widths = [fields[name].width for name in order]
        places = np.arange(sum(widths))[_INTERLEAVED[nesting.of(frames)]([fields[name] for name in order])]
        return moved([Read(name) for name in order], widths, places)

    layout = (interleaved_fields if use.table.get("layout") == "interleaved" else joined_fields)(use.inputs)
    return Built(layout, compute, bound, is_propagated=True, planned=planned)


def _nesting(use: Use) -> Choice:
    """Whether vectors or fields are the outer loop; a choice only where a declaration interleaves vectors of as many fields."""
    if "layout" not in use.table:
        return Choice("end_to_end")
    counts = {len(tuple(each.fields)) for each in use.inputs}
    if use.table["layout"] == "interleaved" and len(counts) > 1:
        found = ", ".join(f"{each.name} {len(tuple(each.fields))}" for each in use.inputs)
        raise Misdeclared(Wrong.WIDTH, use.at("of"), f"{found} fields", "as many fields of each vector")
    return use.choice("layout", {name: name for name in _INTERLEAVED}, "how vectors and their fields are nested", {
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


_INTERLEAVED: Mapping[str, Callable[[Sequence[FieldLayout]], Any]] = {
    "end_to_end": lambda _layouts: slice(None), "interleaved": _turns,
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


OPERATION = Operation(
    "concatenate", "vectors end to end", build,
    {"layout": "end_to_end, as if left out, or interleaved: a field of each vector in turn"}, (1, 1 << 16),
    code=CODE_HINTS["concatenate"],
)  # fmt: skip
