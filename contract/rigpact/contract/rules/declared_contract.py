"""RP756 to RP764, RP771: your own contract by itself: its profile, orders of joints, numbers and idle stages."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, combinations, pairwise
from typing import Any

import numpy as np

from rigpact.contract.declared.values import Profile, known_profiles
from rigpact.contract.findings import Finding
from rigpact.contract.rules.bundle_view import need
from rigpact.contract.rules.family import Need, Rules, findings_of
from rigpact.contract.rules.system_view import DeclaredView
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.layout import Field, FieldKind
from rigpact.contract.units import kind_of, numerator

rules = Rules("declared_contract")


_KINDS = {FieldKind.QUATERNION_WXYZ: "wxyz", FieldKind.QUATERNION_XYZW: "xyzw"}
_WAYS = {"breadth_first": "level by level", "depth_first": "limb by limb"}
_FEWEST_IN_ORDER = 3
"""0, 1 and 1, 0 are limits and flags as well."""
_NUMBERS = ("scale", "offset", "subtract", "mean", "std", "lowest", "highest", "start")
_ONE_BY_ONE = frozenset(
    {"affine", "normalise", "denormalise", "clip", "squash", "blend", "shift", "difference", "integrate"}
)
"""Operations whose result keeps each number of their first vector at its place."""
FEWEST = 4
"""Measured numbers that happen to end after three digits: one in a hundred. Four of them: one in 10^8."""
MOST_DIGITS = 3
_NO_NUMBERS = frozenset(
    {"name", "operation", "of", "fields", "names", "take", "kind", "unit", "space", "carried", "why"}
)
Names = tuple[str, ...]


def _check_profile(view: DeclaredView) -> Iterator[Finding]:
    profile = need(known_profiles().get(view.root.get("profile", "")))
    fps, expected = view.root.get("fps"), profile.says.get("fps")
    if None not in (fps, expected) and fps != expected:
        yield _contradicted(view, profile, "/fps", ("the rate", f"{fps:g}", f"{expected:g}"))
    for name, table in view.tables.items():
        fields = view.layout(name) if not view.inputs_of(name) else ()
        for found in list(chain.from_iterable(_of_field(profile, field) for field in fields))[:1]:
            yield _contradicted(view, profile, view.at(name), found)
        for key, value in table.items():
            own = profile.choice(view.operation(name), key)
            if own is not None and isinstance(value, str) and value != own:
                yield _contradicted(view, profile, view.at(name, key), (f"{key} of {name}", value, own))
    yield from _joints(view, profile)


def _contradicted(view: DeclaredView, profile: Profile, place: str, found: tuple[str, str, str]) -> Finding:
    what, value, expected = found
    return rules.CONTRADICTED.at(view.path, place, what=what, found=value, profile=profile.name, expected=expected)


def _of_field(profile: Profile, field: Field) -> Iterator[tuple[str, str, str]]:
    unit, is_rate = numerator(field.unit), field.kind is FieldKind.ANGULAR_RATE
    pairs = (
        ("quaternion", f"the quaternion {field.name}", _KINDS.get(field.kind)),
        ("length", f"the unit of {field.name}", unit if kind_of(unit) == "length" else None),
        ("angle", f"the unit of {field.name}", unit if kind_of(unit) == "angle" else None),
        ("angular_velocity", f"the frame of {field.name}", field.space if is_rate and field.space in ("body", "world") else None),
    )  # fmt: skip
    for key, what, found in pairs:
        if found is not None and key in profile.says and found != profile.says[key]:
            yield what, found, profile.says[key]


def _joints(view: DeclaredView, profile: Profile) -> Iterator[Finding]:
    answers = [name for network in view.networks() for name in network.outputs]
    sensors = [name for name in view.system.graph.given if "carried" not in view.tables[name]]
    for key, stages in (("network_joints", answers), ("sensor_joints", sensors)):
        expected = str(profile.says.get(key, ""))
        for name in stages if expected else ():
            other = _list_that_goes(expected, view, view.names(name))
            if other is not None:
                values = {
                    "stage": name,
                    "found": view.list_of(view.names(name)),
                    "profile": profile.name,
                    "other": other,
                }
                way = next(_WAYS[each] for each in _WAYS if each != expected)
                yield rules.JOINTS.at(view.path, view.at(name), way=way, expected=_WAYS[expected], **values)


def _list_that_goes(expected: str, view: DeclaredView, own: Names) -> str | None:
    """Another declared list of the same names that goes the expected way, where the own order goes the other way.

    A list that goes level by level changes between the left and the right side more often than one that goes limb by limb.
    """
    changes, sign = _changes_of_side(own), 1 if expected == "breadth_first" else -1
    for name, words in view.lists.items():
        if is_reordered(words, own) and sign * (_changes_of_side(words) - changes) > 0:
            return name
    return None


def _changes_of_side(names: Names) -> int:
    sides = [side for side in map(_side, names) if side]
    return sum(one != other for one, other in pairwise(sides))


def _side(name: str) -> str:
    word = re.search(r"(?i)(?<![a-z])(left|right|[lr])(?![a-z])|(Left|Right)(?=[A-Z])", name)
    return word[0][0].lower() if word else ""


def is_reordered(words: Sequence[str], other: Sequence[str]) -> bool:
    """Whether two lists hold the same names in two orders."""
    return words != other and sorted(words) == sorted(other)


def _check_orders_in_numbers(view: DeclaredView) -> Iterator[Finding]:
    for name, value in view.declaration.constants.get("numbers", {}).items():
        order = np.array(value).reshape(-1)
        if order.size < _FEWEST_IN_ORDER or not np.array_equal(np.sort(order), np.arange(order.size)):
            continue
        for (first, names), (second, others) in combinations(view.lists.items(), 2):
            if len(names) == order.size and is_reordered(names, others):
                places = order.astype(int).tolist()
                fits = (
                    f"the place in {one} of each name of {other}"
                    for one, own, other, theirs in ((first, names, second, others), (second, others, first, names))
                    if [own.index(each) for each in theirs] == places
                )
                values = {"numbers": name, "count": order.size, "first": first, "second": second}
                meaning = next(fits, "neither map between them")
                yield rules.BY_NUMBERS.at(view.path, ("numbers", name), meaning=meaning, **values)
                break


def _check_two_orders(view: DeclaredView) -> Iterator[Finding]:
    """Numbers without names: by position they fit one order of the names only, unless all of them are equal."""
    uses: dict[str, list[tuple[str, Names]]] = {}
    for stage, key, name in _uses(view):
        if not _has_names(view, name):
            uses.setdefault(name, []).append((view.at(stage, key), _order_at(view, stage)))
    for name, places in uses.items():
        value = np.array(view.declaration.constants["numbers"][name], np.float64).reshape(-1)
        for (first, order), (second, other) in combinations(places, 2):
            if is_reordered(order, other) and _moves(value, order, other):
                values = {"first": first, "order": view.list_of(order), "second": second, "other": view.list_of(other)}
                yield rules.TWO_ORDERS.at(view.path, ("numbers", name), numbers=name, **values)
                break


def _moves(value: FloatArray, order: Names, other: Names) -> bool:
    return value.size == len(order) and not np.array_equal(value, value[[order.index(name) for name in other]])


def _uses(view: DeclaredView) -> Iterator[tuple[str, str, str]]:
    for stage, table in view.tables.items():
        for key in _NUMBERS:
            given = table.get(key)
            word = given.get("value") if isinstance(given, dict) else given
            if isinstance(word, str) and word in view.root.get("numbers", {}):
                yield stage, key, word


def _has_names(view: DeclaredView, numbers: str) -> bool:
    entry = view.root["numbers"][numbers]
    return isinstance(entry, dict) and "names" in entry


def _order_at(view: DeclaredView, stage: str) -> Names:
    return view.names((view.inputs_of(stage) or (stage,))[0])


def _check_renamed(view: DeclaredView) -> Iterator[Finding]:
    for stage, table in view.tables.items():
        carried = (table["carried"],) if "carried" in table else ()
        own = view.names(stage)
        for source in view.inputs_of(stage) if view.operation(stage) in _ONE_BY_ONE else carried:
            theirs = view.names(source)
            if is_reordered(own, theirs):
                values = {"found": view.list_of(own), "source": source, "expected": view.list_of(theirs)}
                yield rules.RENAMED.at(view.path, view.at(stage), stage=stage, **values)
                break


def _check_other_names(view: DeclaredView) -> Iterator[Finding]:
    for stage, key, name in _uses(view):
        entry, own = view.root["numbers"][name], _order_at(view, stage)
        if not _has_names(view, name):
            continue
        words = view.lists[entry["names"]] if isinstance(entry["names"], str) else tuple(entry["names"])
        if len(words) == len(own) and sorted(words) != sorted(own):
            values = {"numbers": name, "found": words[0], "expected": own[0], "stage": stage}
            source = (view.inputs_of(stage) or (stage,))[0]
            yield rules.OTHER_NAMES.at(view.path, view.at(stage, key), source=source, **values)


def _check_numbers(view: DeclaredView) -> Iterator[Finding]:
    for stage, table in view.stages_of("normalise", "denormalise"):
        for key in ("mean", "std"):
            value = view.numbers(stage, key)
            if key in table and value is not None and is_rounded(value):
                values = {"count": value.size, "digits": MOST_DIGITS, "error": _largest_share(value)}
                yield rules.ROUNDED.at(view.path, view.at(stage, key), what=f"the {key} of {stage}", **values)
    for name in unused_numbers(view):
        count = np.size(view.declaration.constants["numbers"][name])
        yield rules.UNUSED.at(view.path, ("numbers", name), numbers=name, count=count)


def unused_numbers(view: DeclaredView) -> list[str]:
    """Entries of [numbers] that no stage and no start names."""
    tables = ({key: table[key] for key in table.keys() - _NO_NUMBERS} for table in view.tables.values())
    taken = {word for table in tables for word in _words(table)}
    return [name for name in view.root.get("numbers", {}) if name not in taken]


def _words(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _words(each)


def is_rounded(value: FloatArray) -> bool:
    """Whether measured numbers were cut to few digits; 0 and 1 stand for channels that are left as they are."""
    measured = value[(value != 0.0) & (value != 1.0)]
    return measured.size >= FEWEST and all(_significant_digits(each) <= MOST_DIGITS for each in measured)


def _significant_digits(value: float) -> int:
    """How many significant digits the shortest decimal of a number has: 0.25 has two, 1200 has two. float32 counts as such."""
    texts = (np.format_float_scientific(number, trim="-") for number in (np.float64(value), np.float32(value)))
    return min(len(text.partition("e")[0].replace(".", "").lstrip("-").rstrip("0")) for text in texts)


def _largest_share(value: FloatArray) -> float:
    """How far rounding to `MOST_DIGITS` digits moves a number at most, as a share: half a step of its last digit."""
    measured = np.abs(value[(value != 0.0) & (value != 1.0)])
    steps = 10.0 ** (np.floor(np.log10(measured)) - MOST_DIGITS + 1)
    return float(np.max(0.5 * steps / measured))


def _check_idle(view: DeclaredView) -> Iterator[Finding]:
    """Yield stages that hand their input on, unless the contract names them as a place where sides differ."""
    for stage, table in view.tables.items():
        idle = _IDLE.get(view.operation(stage))
        reason = "" if idle is None else idle(view, stage)
        if reason and not any(isinstance(value, dict) and "wrong" in value for value in (table, *table.values())):
            yield rules.IDENTITY.at(view.path, view.at(stage), stage=stage, reason=reason)


def _idle_affine(view: DeclaredView, stage: str) -> str:
    scale, table = view.scale(stage), view.tables[stage]
    # a factor of 1 alone is a second name for a vector, as a recording has it
    if table.get("applied") == "skipped" or (table.get("scale") == 1 and not {"offset", "subtract"} & table.keys()):
        return ""
    constants = [view.numbers(stage, key) for key in ("offset", "subtract", "mean")]
    is_idle = (scale is None or np.all(scale == 1.0)) and all(each is None or not each.any() for each in constants)
    return "the factor is 1 and nothing is added" if is_idle else ""


def _idle_select(view: DeclaredView, stage: str) -> str:
    own, theirs = view.names(stage), view.names(view.inputs_of(stage)[0])
    has_other_order = any(is_reordered(words, own) for words in view.lists.values())
    return "it takes every field, in order" if own == theirs and not has_other_order else ""


def _idle_clip(view: DeclaredView, stage: str) -> str:
    fields = view.layout(view.inputs_of(stage)[0])
    ends = ((view.numbers(stage, key), other) for key, other in (("lowest", -np.inf), ("highest", np.inf)))
    low, high = (np.broadcast_to(other if end is None else end, fields.width) for end, other in ends)
    is_within = all(
        field.low is not None
        and field.high is not None
        and np.all(low[field.range] <= field.low)
        and np.all(high[field.range] >= field.high)
        for field in fields
    )
    return "the declared ranges of its numbers lie within lowest and highest" if is_within else ""


_IDLE: Mapping[str, Callable[[DeclaredView, str], str]] = {
    **dict.fromkeys(("affine", "normalise", "denormalise"), _idle_affine), "select": _idle_select, "clip": _idle_clip,
}  # fmt: skip
"""Why a stage of an operation changes nothing; '' where it does."""


def _check_applied_twice(view: DeclaredView) -> Iterator[Finding]:
    for stage, _ in view.stages_of("affine", "normalise", "denormalise"):
        yield from findings_of((_check_scaled_before,), view, stage)


def _check_scaled_before(view: DeclaredView, stage: str) -> Iterator[Finding]:
    """Whether one stage multiplied every number of this stage's input by this stage's own factors."""
    own, channels = need(view.scale(stage)), view.channels(view.inputs_of(stage)[0])
    earlier = need(channels, when=len({name for name, _ in channels}) == 1)[0][0]
    before = need(view.scale(earlier))
    factors = np.broadcast_to(before, view.layout(earlier).width)[[place for _, place in channels]]
    if changes_much(own) and np.allclose(factors, own, rtol=1e-6, atol=0.0):
        yield rules.TWICE.at(view.path, view.at(stage), stage=stage, numbers=shown_numbers(own), earlier=earlier)


def changes_much(scale: FloatArray) -> bool:
    """Whether factors are more than signs: 1 and -1 may well follow one another."""
    return bool(np.any(np.abs(scale) != 1.0))


def shown_numbers(value: FloatArray) -> str:
    """The first of some numbers."""
    return f"{value[0]:g}" if np.all(value == value[0]) else f"{value[0]:g}, …"


_ORDERS = (_check_orders_in_numbers, _check_two_orders, _check_renamed, _check_other_names)
_CHECKS = (_check_profile, *_ORDERS, _check_numbers, _check_idle, _check_applied_twice)
FAMILY = rules.family("FAMILY", (Need.DECLARATION,), *_CHECKS)
