"""Which of a vector's fields stand where: select, gather, replaced, constant."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from rigpact.contract.declared.operation import Built, Use
from rigpact.contract.declared.values import Choice
from rigpact.contract.errors import Wrong, shown
from rigpact.contract.json_pointer import Token
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Frames
from rigpact.contract.systems.layout import Field, FieldKind, FieldLayout
from rigpact.contract.systems.plan import Read, Step
from rigpact.contract.systems.stage import Bounds
from rigpact.reference_runtime.vocabulary.building import (
    channels_of,
    computed,
    found_fields,
    of_same_frame,
    only_moved,
    operation,
)


def _select(use: Use) -> Built:
    """Look every field up by its name; the readings of other sides are the orders that skip or turn round the map."""
    source, names = use.inputs[0], use.word_list("take")
    chosen = _found(use, names, ("take",))
    if len(set(names)) != len(names):
        raise use.wrong(Wrong.NAMED_TWICE, "take", "a field that is taken twice", "each field once")
    orders = {"by_name": channels_of(chosen)}
    for reading, other in (*_other_orders(chosen, source.fields), *_other_lists(use, names)):
        channels = channels_of(other)
        if len(channels) == len(orders["by_name"]) and channels not in orders.values():
            orders[reading] = channels
    knob = use.knob("order", orders, f"the order of the fields in {use.stage}")

    starts = np.concatenate([[0], np.cumsum([each.size for each in chosen])])
    laid = (
        Field(each.name, int(start), each.size, each.kind, each.unit, each.space, each.low, each.high)
        for each, start in zip(chosen, starts, strict=False)
    )
    reads, widths = [Read(source.name)], [source.fields.width]
    return only_moved(FieldLayout(tuple(laid)), lambda frames: (reads, widths, knob.of(frames)))


def _found(use: Use, names: Sequence[str], place: tuple[Token, ...]) -> list[Field]:
    """The fields of these names; with `part`, that part of each."""
    part = use.table.get("part")
    return found_fields(use, use.inputs[0], place, [name if part is None else f"{name}.{part}" for name in names])


def _other_lists(use: Use, names: Sequence[str]) -> list[tuple[str, list[Field]]]:
    """The fields that other sides take: the same names in the order of another list, and the lists that `wrong` holds."""
    found = [
        (f"in_order_of_{other}", _found(use, words, ("take",)))
        for other, words in use.names.items()
        if sorted(words) == sorted(names)
    ]
    wrong = use.table.get("wrong", {})
    if not isinstance(wrong, Mapping):
        raise use.wrong(Wrong.NUMBERS, "wrong", shown(wrong), "a table of lists of names")
    for reading, words in wrong.items():
        if not isinstance(words, list) or len(words) != len(names):
            raise use.wrong(Wrong.WIDTH, "wrong", f"{reading} = {shown(words)}", f"{len(names)} names, as take has")
        found.append((reading, _found(use, words, ("wrong", reading))))
    return found


def _other_orders(chosen: Sequence[Field], source: FieldLayout) -> list[tuple[str, list[Field]]]:
    """The fields that a side takes that looks at no name, at the map the wrong way round, from behind, or at the other side's."""
    fields = tuple(source)
    places = {each.name: place for place, each in enumerate(fields)}
    picked = [places[each.name] for each in chosen]
    others = {"as_given": sorted(picked)}
    if len(chosen) == len(places) and len({each.size for each in chosen}) == 1:
        others["inverse_map"] = [picked.index(place) for place in range(len(picked))]
    others["reversed"] = picked[::-1]
    others["swapped_sides"] = [places.get(_other_side(each.name), places[each.name]) for each in chosen]
    return [(name, [fields[place] for place in order]) for name, order in others.items()]


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


SELECT = operation("select", _select)


_SHAPED = {"shape", "order", "part"}


def _gather(use: Use) -> Built:
    """places: of every `of_each` groups of `together` numbers the groups that are taken; or the shape of a view and its order."""
    source = use.inputs[0]
    width, own = source.fields.width, use.table.get("places")
    channels = _channels(use, own, width)
    meaning = f"where {use.stage} takes its numbers in {source.name}"
    knob = use.named("places", own, channels, lambda places: _channels(use, places, width), meaning)
    is_whole = len(channels) == width
    fields = source.fields if is_whole else FieldLayout((Field(use.stage, 0, len(channels), FieldKind.RAW),))
    return only_moved(use.declared or fields, lambda frames: ([Read(source.name)], [width], knob.of(frames)))


def _channels(use: Use, places: Any, width: int) -> list[int]:
    """The channels that are taken."""
    every, size = np.arange(width), use.whole("together", low=1, default=1)
    if places is None:
        return every.tolist()
    if isinstance(places, str) and places in use.numbers:
        places = use.numbers[places].value
    try:
        if isinstance(places, Mapping) and places.keys() <= _SHAPED:
            part, parts = places.get("part", (0, 1))
            view = every.reshape(places["shape"])
            return [int(each) for each in np.split(view.transpose(places["order"]).ravel(), parts)[part]]
        groups = every.reshape(-1, use.whole("of_each", low=1, default=max(width // size, 1)), size)
        return [int(each) for each in groups[:, np.array(places, np.int64).reshape(-1)].ravel()]
    except (ValueError, TypeError, LookupError) as error:
        expected = f"places of {width} numbers: a list, or {{ shape = [...], order = [...], part = [k, n] }}"
        raise use.wrong(Wrong.WIDTH, "places", shown(places), expected) from error


GATHER = operation("gather", _gather)


def _replaced(use: Use) -> Built:
    """of = [vector, new]: the numbers of `new` are those of the fields that `taken` names, in this order."""
    source, new = use.inputs
    places = channels_of(found_fields(use, source, ("taken",), use.word_list("taken")))
    if len(places) != new.fields.width:
        found = f"{new.name}, {new.fields.width} numbers"
        raise use.wrong(Wrong.WIDTH, "of", found, f"{len(places)}, as the fields of `taken` have")

    def put(rows: FloatArray, numbers: FloatArray) -> FloatArray:
        found = rows.copy()
        found[:, places] = numbers
        return found

    def bound(_frames: Frames, rows: FloatArray, upstream: Bounds) -> FloatArray:
        """Numbers are only moved, each with its own bound."""
        of_new = of_same_frame(upstream, new.name, (len(rows), len(places)))
        return put(of_same_frame(upstream, source.name, rows.shape), of_new)

    return Built(source.fields, lambda frames: put(frames[source.name], frames[new.name]), bound, is_propagated=True)


REPLACED = operation("replaced", _replaced, (2, 2))


def _constant(use: Use) -> Built:
    """One number for each field of the vector `of`, in every frame; both sides have the same bits of it."""
    source = use.inputs[0]
    own = [each.name for each in source.fields]
    if len(own) != source.fields.width:
        raise use.wrong(Wrong.WIDTH, "of", f"{source.name}, fields of several numbers", "fields of one number")
    given = use.table.get("value")
    named = use.numbers.get(given) if isinstance(given, str) else None
    if named is not None and named.names:
        order = _by_name(use, own, named.names, named.value)
        taken = use.number("value", len(named.names))
    else:
        taken = use.number("value")
        size = use.value_of(taken).size
        if size not in (1, len(own)):
            raise use.wrong(Wrong.WIDTH, "value", f"{size} numbers", f"{len(own)}, as the stage has, or one for all")
        order = _by_position(use, own, use.value_of(taken))

    def row(frames: Frames) -> FloatArray:
        numbers = np.asarray(taken.of(frames)).reshape(-1)
        return np.broadcast_to(numbers, (len(own),)) if numbers.size == 1 else numbers[order.of(frames)]

    return computed(
        source.fields,
        lambda frames: np.broadcast_to(row(frames), (len(frames[source.name]), len(own))),
        lambda _frames, rows, _upstream: np.zeros(rows.shape),
        lambda frames: Step("constant", (), numbers=row(frames)),
    )


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


def _of(numbers: FloatArray) -> Callable[[list[int]], FloatArray]:
    """What an order makes of the numbers; of one for all, always the same."""
    numbers = numbers.reshape(-1)
    return lambda order: numbers if numbers.size == 1 else numbers[order]


CONSTANT = operation("constant", _constant, choices=("order",))
