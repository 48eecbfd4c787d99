"""Select: fields of one vector by their names, in a declared order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.declared.problems import Misdeclared, Wrong, unknown
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.layout import Field, FieldLayout
from rigpact.contract.systems.stage import Frames
from rigpact.reference_runtime.vocabulary.rounding_bounds import exact


def build(use: Use) -> Built:
    """Look every field up by its name; the readings of other sides are the orders that skip or turn round the map."""
    source, names = use.inputs[0], use.word_list("take")
    for place, name in enumerate(names):
        if name not in source.fields:
            raise unknown(
                use.at("take", place), name, [each.name for each in source.fields], f"a field of {source.name}"
            )
    chosen = [source.fields[name] for name in names]
    if len(set(names)) != len(names):
        raise Misdeclared(Wrong.NAMED_TWICE, use.at("take"), "a field that is taken twice", "each field once")
    knob = use.knob(
        "order", _orders(chosen, source.fields, use.names), f"the order of the fields in {use.stage}", _HINTS
    )

    def compute(frames: Frames) -> FloatArray:
        return frames[source.name][:, knob.of(frames)]

    return Built(_laid_end_to_end(chosen), compute, exact)


_HINTS = {
    "as_given": "the numbers are copied by position: look them up by name, or through the declared map",
    "inverse_map": "the map is applied the wrong way round: target[i] = source[map[i]], not target[map[i]] = source[i]",
    "reversed": "the order is turned round",
    "swapped_sides": "left and right are exchanged",
}


def _orders(chosen: Sequence[Field], source: FieldLayout, lists: Mapping[str, tuple[str, ...]]) -> dict[str, list[int]]:
    """The declared channels, and those of other readings where they differ. lists: the declared lists of names."""
    declared = _channels(chosen)
    orders = {"by_name": declared}
    places = {each.name: place for place, each in enumerate(source)}
    picked = [places[each.name] for each in chosen]
    whole = len(chosen) == len(places) and len({each.size for each in chosen}) == 1
    others = {"as_given": sorted(picked)}
    if whole:
        others["inverse_map"] = [picked.index(place) for place in range(len(picked))]
    others["reversed"] = picked[::-1]
    others["swapped_sides"] = [places.get(_other_side(each.name), places[each.name]) for each in chosen]
    for name, listed in lists.items():
        if sorted(listed) == sorted(each.name for each in chosen):
            others[f"in_order_of_{name}"] = [places[each] for each in listed]
    fields = tuple(source)
    for name, order in others.items():
        channels = _channels([fields[place] for place in order])
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


def _channels(fields: Sequence[Field]) -> list[int]:
    return [channel for each in fields for channel in range(each.start, each.stop)]


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
    {"take": "names of the fields to take, in order, or a name of [names]"},
)
