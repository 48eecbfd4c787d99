"""Constant: numbers that a runtime sets and never changes, one for each field of a vector: gains, limits.

What people get wrong: whose order the numbers follow. Where the numbers have no names and two lists hold the same names, the
order is a convention that the declaration must say.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.declared.problems import Misdeclared, Wrong
from rigpact.contract.declared.values import Choice, Number
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.plan import Step
from rigpact.reference_runtime.operations.precision import stored
from rigpact.reference_runtime.vocabulary.code_hints import CODE_HINTS
from rigpact.reference_runtime.vocabulary.rounding_bounds import exact


def build(use: Use) -> Built:
    """One number for each field of the vector `of`, in every frame."""
    source = use.inputs[0]
    own = [each.name for each in source.fields]
    if len(own) != source.fields.width:
        raise Misdeclared(
            Wrong.WIDTH, use.at("of"), f"{source.name}, fields of several numbers", "fields of one number"
        )
    given = use.table.get("value")
    named = use.numbers.get(given) if isinstance(given, str) else None
    if named is not None and named.names:
        order = _by_name(use, own, named.names, named.value)
        taken = use.number("value", len(named.names))
    else:
        taken = use.number("value")
        _refuse_width(use, taken, own)
        order = _by_position(use, own, use.value_of(taken))

    def row(frames: Frames) -> FloatArray:
        numbers = np.asarray(taken.of(frames)).reshape(-1)
        return np.broadcast_to(numbers, (len(own),)) if numbers.size == 1 else numbers[order.of(frames)]

    def compute(frames: Frames) -> FloatArray:
        return stored(np.broadcast_to(row(frames), (len(frames[source.name]), len(own))))

    def planned(frames: Frames) -> Step:
        return Step("constant", (), numbers=row(frames))

    return Built(source.fields, compute, exact, planned=planned)


def _by_name(use: Use, own: list[str], names: Sequence[str], numbers: FloatArray) -> Choice:
    """Numbers with names; where there are more of them than fields, other sides take the first ones."""
    if not set(own) <= set(names):
        missing = next(each for each in own if each not in names)
        raise use.wrong(Wrong.UNKNOWN_WORD, "value", f"no number for {missing}", "one for each field")
    if len(own) == len(names):
        return Choice(list(range(len(own))))  # `Use.number` has put them in order already
    picks = {"by_name": [names.index(name) for name in own], "by_position": list(range(len(own)))}
    return use.choice("order", _that_differ(picks, numbers), f"how {use.stage} is looked up", default="by_name")


def _by_position(use: Use, own: list[str], numbers: FloatArray) -> Choice:
    """Numbers without names: the lists that they may follow, the vector's own first."""
    as_given = list(range(len(own)))
    lists = {
        name: [words.index(each) for each in own] for name, words in use.names.items() if sorted(words) == sorted(own)
    }
    ranked = sorted(lists, key=lambda name: lists[name] != as_given)
    orders = _that_differ({name: lists[name] for name in ranked} or {"as_given": as_given}, numbers)
    hints = {name: f"the numbers are taken as if they stood in the order of {name}" for name in orders}
    default = next(iter(orders)) if len(orders) == 1 and "order" not in use.table else None
    return use.choice("order", orders, f"the order of the numbers of {use.stage}", hints, default=default)


def _refuse_width(use: Use, taken: Number, own: list[str]) -> None:
    size = use.value_of(taken).size
    if size not in (1, len(own)):
        raise use.wrong(Wrong.WIDTH, "value", f"{size} numbers", f"{len(own)}, as the stage has, or one for all")


def _that_differ(orders: Mapping[str, list[int]], numbers: FloatArray) -> dict[str, list[int]]:
    """The orders that give other numbers than each one before them."""
    flat, kept = numbers.reshape(-1), dict[str, list[int]]()
    for name, order in orders.items():
        if not kept or (flat.size > 1 and not any(np.array_equal(flat[order], flat[each]) for each in kept.values())):
            kept[name] = order
    return kept


OPERATION = Operation(
    "constant",
    "numbers that the runtime sets and never changes, one for each field of a vector",
    build,
    {
        "value": "the numbers: inline, or a name of [numbers]",
        "order": "the list of [names] whose order the numbers follow, where they have no names of their own",
    },
    choices=("order",),
    code=CODE_HINTS["constant"],
)
