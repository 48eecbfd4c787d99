"""Concatenate: vectors end to end, in a declared order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from rigpact.contract.declared.operation import Built, Input, Operation, Use
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.layout import Field, FieldLayout
from rigpact.contract.systems.stage import Frames
from rigpact.reference_runtime.vocabulary.rounding_bounds import exact


def build(use: Use) -> Built:
    """Lay the vectors end to end; other readings exchange two of them, or move one to either end."""
    names = [each.name for each in use.inputs]
    knob = use.knob("order", orders_of(names), f"the order of the vectors in {use.stage}")

    def compute(frames: Frames) -> FloatArray:
        return np.hstack([frames[name] for name in knob.of(frames)])

    return Built(joined_fields(use.inputs), compute, exact)


def orders_of(names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The declared order, and the near ones that people write instead, by what is moved."""
    declared = tuple(names)
    orders: dict[str, tuple[str, ...]] = {"as_declared": declared}
    for name, order in _near_orders(declared):
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


def joined_fields(inputs: Sequence[Input]) -> FieldLayout:
    """The fields of vectors laid end to end; where names repeat, each has the name of its vector before it."""
    every = [each.name for source in inputs for each in source.fields]
    fields, start = [], 0
    for source in inputs:
        for each in source.fields:
            name = each.name if every.count(each.name) == 1 else f"{source.name}.{each.name}"
            fields.append(Field(name, start, each.size, each.kind, each.unit, each.space, each.low, each.high))
            start += each.size
    return FieldLayout(tuple(fields))


OPERATION = Operation("concatenate", "vectors end to end", build, inputs=(1, 1 << 16))
