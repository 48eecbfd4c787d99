"""Select: fields of one vector by their names, in a declared order."""

from collections.abc import Mapping, Sequence

import numpy as np

from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.declared.problems import Misdeclared, Wrong, shown
from rigpact.contract.json_pointer import Token
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.layout import Field, FieldLayout
from rigpact.contract.systems.plan import Read, Step, moved
from rigpact.contract.systems.stage import Bounds
from rigpact.reference_runtime.vocabulary.code_hints import CODE_HINTS
from rigpact.reference_runtime.vocabulary.named_fields import channels_of, found_fields
from rigpact.reference_runtime.vocabulary.rounding_bounds import of_same_frame


def build(use: Use) -> Built:
    """Look every field up by its name; the readings of other sides are the orders that skip or turn round the map."""
    source, names = use.inputs[0], use.word_list("take")
    chosen = _found(use, names, ("take",))
    if len(set(names)) != len(names):
        raise Misdeclared(Wrong.NAMED_TWICE, use.at("take"), "a field that is taken twice", "each field once")
    orders = _orders(chosen, source.fields)
    for reading, other in _other_lists(use, names).items():
        channels = channels_of(other)
        if len(channels) == len(orders["by_name"]) and channels not in orders.values():
            orders[reading] = channels
    knob = use.knob("order", orders, f"the order of the fields in {use.stage}", _HINTS)

    def compute(frames: Frames) -> FloatArray:
        return frames[source.name][:, knob.of(frames)]

    def bound(frames: Frames, rows: FloatArray, upstream: Bounds) -> FloatArray:
        """Numbers are only moved, each with its own bound."""
        moved = of_same_frame(upstream, source.name, (len(rows), source.fields.width))
        return moved[:, knob.of(frames)]

    def planned(frames: Frames) -> Step:
        return moved([Read(source.name)], [source.fields.width], knob.of(frames))

    return Built(_laid_end_to_end(chosen), compute, bound, is_propagated=True, planned=planned)


def _found(use: Use, names: Sequence[str], place: tuple[Token, ...]) -> list[Field]:
    """The fields of these names; with `part`, that part of each."""
    part = use.table.get("part")
    return found_fields(use, use.inputs[0], place, [name if part is None else f"{name}.{part}" for name in names])


def _other_lists(use: Use, names: Sequence[str]) -> dict[str, list[Field]]:
    """The fields that other sides take: the same names in the order of another list, and the lists that `wrong` holds."""
    found = {
        f"in_order_of_{other}": _found(use, words, ("take",))
        for other, words in use.names.items()
        if sorted(words) == sorted(names)
    }
    wrong = use.table.get("wrong", {})
    if not isinstance(wrong, Mapping):
        raise use.wrong(Wrong.NUMBERS, "wrong", shown(wrong), "a table of lists of names")
    for reading, words in wrong.items():
        if not isinstance(words, list) or len(words) != len(names):
            raise use.wrong(Wrong.WIDTH, "wrong", f"{reading} = {shown(words)}", f"{len(names)} names, as take has")
        found[reading] = _found(use, words, ("wrong", reading))
    return found


_HINTS = {
    "as_given": "the numbers are copied by position: look them up by name, or through the declared map",
    "inverse_map": "the map is applied the wrong way round: target[i] = source[map[i]], not target[map[i]] = source[i]",
    "reversed": "the order is turned round",
    "swapped_sides": "left and right are exchanged",
}


def _orders(chosen: Sequence[Field], source: FieldLayout) -> dict[str, list[int]]:
    """The declared channels, and those of other readings where they differ."""
    declared = channels_of(chosen)
    orders = {"by_name": declared}
    places = {each.name: place for place, each in enumerate(source)}
    picked = [places[each.name] for each in chosen]
    whole = len(chosen) == len(places) and len({each.size for each in chosen}) == 1
    others = {"as_given": sorted(picked)}
    if whole:
        others["inverse_map"] = [picked.index(place) for place in range(len(picked))]
    others["reversed"] = picked[::-1]
    others["swapped_sides"] = [places.get(_other_side(each.name), places[each.name]) for each in chosen]
    fields = tuple(source)
    for name, order in others.items():
        channels = channels_of([fields[place] for place in order])
        if len(channels) == len(declared) and channels not in orders.values():
            orders[name] = channels
    return orders


_SIDES = (("left", "right"), ("Left", "Right"), ("L_", "R_"), ("l_", "r_"), ("_l", "_r"), ("_L", "_R"))


def _other_side(name: str) -> str:
    """The name of the same part on the other side; the name itself where it has no side."""
    for one, other in _SIDES:
        for here, there in ((one, other), (other, one)):
            begins, ends = here.endswith("_") or here.isalpha(), here.startswith("_")
            if begins and name.startswith(here):
                return there + name[len(here) :]
            if ends and name.endswith(here):
                return name[: -len(here)] + there
    return name


def _laid_end_to_end(fields: Sequence[Field]) -> FieldLayout:
    starts = np.concatenate([[0], np.cumsum([each.size for each in fields])])
    laid = (
        Field(each.name, int(start), each.size, each.kind, each.unit, each.space, each.low, each.high)
        for each, start in zip(fields, starts, strict=False)
    )
    return FieldLayout(tuple(laid))


OPERATION = Operation(
    "select",
    "fields of one vector by name, in a declared order",
    build,
    {
        "take": "names of the fields to take, in order, or a name of [names]",
        "part": "the part of each name to take, where the vector has parts: velocity of hand.velocity",
        "wrong": "lists of names that other sides take in their place: { NAME = [...] }",
    },
    code=CODE_HINTS["select"],
)
