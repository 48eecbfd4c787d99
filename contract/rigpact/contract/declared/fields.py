"""The fields of a declared vector: one by one, or one for each name of a list, or several `parts` for each name."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from rigpact.contract.errors import Misdeclared, Wrong, shown, unknown
from rigpact.contract.json_pointer import Token
from rigpact.contract.systems.layout import QUATERNION_KINDS, Field, FieldKind, FieldLayout, known_fields, range_end
from rigpact.contract.systems.stage import QUATERNIONS, RAW, Measure, Stage

OF_A_VECTOR = ("name", "fields", "names", "parts", "join", "size", "kind", "unit", "space", "low", "high")
"""What the table of every vector may say."""
Names = Mapping[str, tuple[str, ...]]
Entry = tuple[Mapping[str, Any], tuple[Token, ...]]
"""A field's table, and where it stands."""


def declared_fields(table: Mapping[str, Any], place: tuple[Token, ...], names: Names) -> FieldLayout | None:
    """The fields that a stage declares: `fields`, groups of `names` among them; `names`; one of `size`; None for none."""
    entries: Iterator[Entry]
    if "fields" in table:
        groups = ((entry, (*place, "fields", index)) for index, entry in enumerate(table["fields"]))
        entries = chain.from_iterable(_group(entry, where, names) for entry, where in groups)
    elif "names" in table:
        listed = _listed(table["names"], (*place, "names"), names)
        entries = _of_names(table, listed, place)
    elif "size" in table or "kind" in table:
        entries = iter([(table, place)])
    else:
        return None
    fields, start, seen = [], 0, set()
    for entry, where in entries:
        field = _field(entry, start, where)
        if field.name in seen:
            raise Misdeclared(Wrong.NAMED_TWICE, where, f"two fields {field.name}", "each name once")
        seen.add(field.name)
        fields.append(field)
        start = field.stop
    return FieldLayout(tuple(fields))


def _group(entry: Mapping[str, Any], place: tuple[Token, ...], names: Names) -> Iterable[Entry]:
    return _of_names(entry, _listed(entry["names"], place, names), place) if "names" in entry else [(entry, place)]


def _of_names(table: Mapping[str, Any], listed: tuple[str, ...], place: tuple[Token, ...]) -> Iterator[Entry]:
    """A field for each name; with `parts` one for each part of each name, `hand.velocity`, name by name; `join` for the dot."""
    for name in listed:
        if "parts" not in table:
            yield {**table, "name": name}, place
        for index, part in enumerate(table.get("parts", [])):
            own = {"space": table["space"], **part} if "space" in table else part
            yield {**own, "name": f"{name}{table.get('join', '.')}{part['name']}"}, (*place, "parts", index)


def _listed(value: Any, place: tuple[Token, ...], names: Names) -> tuple[str, ...]:
    if isinstance(value, str):
        if value not in names:
            raise unknown(place, value, names, "a name of [names], or a list of names")
        return names[value]
    return tuple(value)


def _field(entry: Mapping[str, Any], start: int, place: tuple[Token, ...]) -> Field:
    kind = entry.get("kind", "raw" if entry.get("size", 1) > 1 else "scalar")
    if kind not in _KINDS:
        raise unknown((*place, "kind"), kind, [each.value for each in FieldKind], "a kind of field")
    size = int(entry.get("size", _SIZES.get(kind, 1)))
    if kind in _WHOLE and size % _SIZES[kind]:
        raise Misdeclared(Wrong.WIDTH, (*place, "size"), f"{size} numbers of the kind {kind}", f"{_SIZES[kind]} each")
    low, high = range_end(entry.get("low")), range_end(entry.get("high"))
    if low is not None and high is not None and low >= high:
        raise Misdeclared(
            Wrong.NUMBERS, (*place, "low"), f"{shown(low)} to {shown(high)}", "a low end below the high end"
        )
    return Field(entry["name"], start, size, FieldKind(kind), entry.get("unit", ""), entry.get("space", ""), low, high)


_KINDS = frozenset(FieldKind)
_WHOLE = {
    FieldKind.QUATERNION_XYZW: 4, FieldKind.QUATERNION_WXYZ: 4, FieldKind.ROT6D: 6, FieldKind.ROTATION_VECTOR: 3,
    FieldKind.EULER_XYZ: 3, FieldKind.MATRIX: 9,
}  # fmt: skip
"""Numbers of one rotation; a field holds one or several."""
_SIZES = {
    **_WHOLE, FieldKind.POSITION: 3, FieldKind.DIRECTION: 3, FieldKind.ANGULAR_RATE: 3, FieldKind.ACCELERATION: 3,
}  # fmt: skip
"""Numbers of a field that does not say its size; a position on the ground may have two."""


def measure_of_given(layout: FieldLayout) -> Measure:
    """What comes from outside says a rotation by either of two quaternions."""
    turns = [each for each in layout if each.kind in QUATERNION_KINDS]
    starts = tuple(start for each in turns for start in range(each.start, each.stop, 4))
    if 4 * len(starts) == layout.width:
        return QUATERNIONS
    return Measure(quaternions_at=starts) if starts else RAW


def with_signs_that_are_read(stages: Sequence[Stage]) -> tuple[Stage, ...]:
    """The stages of a loop, where the sign of a quaternion counts whose numbers come to a network as they are.

    As a rotation q is -q. A network reads four numbers, and answers otherwise.
    """
    by_name = {stage.name: stage for stage in stages}
    read, waiting = set[str](), [name for stage in stages if stage.is_answer for name in stage.needs]
    while waiting:
        name = waiting.pop()
        if (
            name not in by_name
            or name in read
            or not any(each.kind in QUATERNION_KINDS for each in known_fields(by_name[name].layout))
        ):
            continue
        read.add(name)
        carried = by_name[name].carried
        waiting += [*by_name[name].needs, *([] if carried is None else [carried])]
    return tuple(
        replace(stage, measure=RAW) if stage.name in read and (stage.compute or stage.carried) else stage
        for stage in stages
    )
