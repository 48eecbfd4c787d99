"""Constant: numbers that a runtime sets and never changes, one for each field of a vector: gains, limits.

What people get wrong: whose order the numbers follow. Where the numbers have no names and two lists hold the same names, the
order is a convention that the declaration must say.
"""

from collections.abc import Callable, Sequence

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
    return use.choice("order", picks, f"how {use.stage} is looked up", default="by_name", shows=_of(numbers))


def _by_position(use: Use, own: list[str], numbers: FloatArray) -> Choice:
    """Numbers without names: the lists that they may follow, the vector's own first."""
    as_given = list(range(len(own)))
    lists = {
        name: [words.index(each) for each in own] for name, words in use.names.items() if sorted(words) == sorted(own)
    }
    ranked = {name: lists[name] for name in sorted(lists, key=lambda name: lists[name] != as_given)}
    hints = {name: f"the numbers are taken as if they stood in the order of {name}" for name in ranked}
    said = f"the order of the numbers of {use.stage}"
    return use.choice("order", ranked or {"as_given": as_given}, said, hints, shows=_of(numbers))


def _refuse_width(use: Use, taken: Number, own: list[str]) -> None:
    size = use.value_of(taken).size
    if size not in (1, len(own)):
        raise use.wrong(Wrong.WIDTH, "value", f"{size} numbers", f"{len(own)}, as the stage has, or one for all")


def _of(numbers: FloatArray) -> Callable[[list[int]], FloatArray]:
    """What an order makes of the numbers; of one for all, always the same."""
    flat = numbers.reshape(-1)
    return lambda order: flat if flat.size == 1 else flat[order]


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
