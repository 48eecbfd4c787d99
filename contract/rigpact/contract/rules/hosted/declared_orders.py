"""RP758, RP760, RP761 and RP771: orders of joints and bones in your own contract."""

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from rigpact.contract.findings import Finding, Rule
from rigpact.contract.rules.family import Family, Need, on_declaration, rules_in
from rigpact.contract.rules.views.declaration import DeclaredView
from rigpact.contract.statistics import FloatArray

BY_NUMBERS = Rule.titled(
    "RP758 warning declared-order-by-numbers",
    message="{numbers} orders by {count} numbers what {first} and {second} order by names: it is {meaning}",
    hint="leave the numbers out and select by name: take = the name of a list",
    why="a map of numbers does not say its direction, and its inverse looks as right",
)
TWO_ORDERS = Rule.titled(
    "RP760 error declared-numbers-in-two-orders",
    message="{numbers} has no names: by position it is used at {first} in the order {order}, at {second} in the order {other}",
    hint="say names = the list that the numbers follow; each stage then finds its own",
    why="at one of the two places every joint has the number of another one",
)
RENAMED = Rule.titled(
    "RP761 error declared-fields-renamed-by-position",
    message="{stage} says that its numbers are {found}, {source} gives the same names in the order {expected}",
    hint="put a select between them, or declare the order that the numbers have",
    why="the numbers stay where they are and get the names of others: left legs take the commands of right ones",
)
OTHER_NAMES = Rule.titled(
    "RP771 warning declared-numbers-of-other-names",
    message="{numbers} has names ({found}, …) that are not the fields of {source} ({expected}, …): {stage} takes it by position",
    hint="write both with the same names; a suffix such as _joint is enough to keep them apart",
    why="the names look as if they decided the order, and they do not",
)
FEWEST = 3
"""0, 1 and 1, 0 are limits and flags as well."""
_NUMBERS = ("scale", "offset", "subtract", "mean", "std", "lowest", "highest", "start")
_ONE_BY_ONE = frozenset(
    {"affine", "normalise", "denormalise", "clip", "squash", "blend", "shift", "difference", "integrate"}
)
"""Operations whose result keeps each number of their first vector at its place."""


def check_orders(view: DeclaredView) -> Iterator[Finding]:
    """Yield orders that numbers declare, and places where two orders meet without a select."""
    yield from _by_numbers(view)
    yield from _two_orders(view)
    yield from _renamed(view)
    yield from _other_names(view)


FAMILY = Family(__name__, rules_in(globals()), (Need.DECLARATION,), on_declaration(check_orders))


def _by_numbers(view: DeclaredView) -> Iterator[Finding]:
    for name, value in view.declaration.constants.get("numbers", {}).items():
        order = np.array(value).reshape(-1)
        if order.size < FEWEST or not np.array_equal(np.sort(order), np.arange(order.size)):
            continue
        for (first, names), (second, others) in combinations(view.lists.items(), 2):
            if len(names) == order.size and sorted(names) == sorted(others) and names != others:
                yield BY_NUMBERS.at(
                    view.path,
                    ("numbers", name),
                    numbers=name,
                    count=order.size,
                    first=first,
                    second=second,
                    meaning=_meaning(order.astype(int).tolist(), (first, names), (second, others)),
                )
                break


def _meaning(order: list[int], first: tuple[str, tuple[str, ...]], second: tuple[str, tuple[str, ...]]) -> str:
    for (one, names), (other, others) in ((first, second), (second, first)):
        if [names.index(name) for name in others] == order:
            return f"the place in {one} of each name of {other}"
    return "neither map between them"


def _two_orders(view: DeclaredView) -> Iterator[Finding]:
    """Numbers without names: by position they fit one order of the names only, unless all of them are equal."""
    uses: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
    for stage, key, name in _uses(view):
        if not _has_names(view, name):
            uses.setdefault(name, []).append((view.at(stage, key), _order_at(view, stage)))
    for name, places in uses.items():
        value = np.array(view.declaration.constants["numbers"][name], np.float64).reshape(-1)
        for (first, order), (second, other) in combinations(places, 2):
            if order != other and sorted(order) == sorted(other) and _moves(value, order, other):
                yield TWO_ORDERS.at(
                    view.path,
                    ("numbers", name),
                    numbers=name,
                    first=first,
                    order=view.list_of(order),
                    second=second,
                    other=view.list_of(other),
                )
                break


def _moves(value: FloatArray, order: tuple[str, ...], other: tuple[str, ...]) -> bool:
    return value.size == len(order) and not np.array_equal(value, value[[order.index(name) for name in other]])


def _uses(view: DeclaredView) -> Iterator[tuple[str, str, str]]:
    """Yield each stage and parameter that takes numbers by their name."""
    for stage, table in view.tables.items():
        for key in _NUMBERS:
            given = table.get(key)
            word = given.get("value") if isinstance(given, dict) else given
            if isinstance(word, str) and word in view.root.get("numbers", {}):
                yield stage, key, word


def _has_names(view: DeclaredView, numbers: str) -> bool:
    entry = view.root["numbers"][numbers]
    return isinstance(entry, dict) and "names" in entry


def _order_at(view: DeclaredView, stage: str) -> tuple[str, ...]:
    inputs = view.inputs_of(stage)
    return view.names(inputs[0] if inputs else stage)


def _renamed(view: DeclaredView) -> Iterator[Finding]:
    for stage, table in view.tables.items():
        if view.operation(stage) in _ONE_BY_ONE:
            sources = view.inputs_of(stage)
        else:
            sources = (table["carried"],) if "carried" in table else ()
        own = view.names(stage)
        for source in sources:
            theirs = view.names(source)
            if own != theirs and sorted(own) == sorted(theirs):
                yield RENAMED.at(
                    view.path,
                    view.at(stage),
                    stage=stage,
                    found=view.list_of(own),
                    source=source,
                    expected=view.list_of(theirs),
                )
                break


def _other_names(view: DeclaredView) -> Iterator[Finding]:
    for stage, key, name in _uses(view):
        entry = view.root["numbers"][name]
        if not _has_names(view, name):
            continue
        words = view.lists[entry["names"]] if isinstance(entry["names"], str) else tuple(entry["names"])
        own = _order_at(view, stage)
        if len(words) == len(own) and sorted(words) != sorted(own):
            source = (view.inputs_of(stage) or (stage,))[0]
            yield OTHER_NAMES.at(
                view.path,
                view.at(stage, key),
                numbers=name,
                found=words[0],
                source=source,
                expected=own[0],
                stage=stage,
            )
