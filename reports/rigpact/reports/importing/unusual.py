"""What looks unusual in a draft: of numbers and orders of one kind, the one or two that are not as the others.

A mistake of the side that recorded becomes the contract, and its numbers fit as well as right ones. What people get wrong in
single places, exchanged joints, a sign, a default, stands out beside its neighbours.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import combinations

from rigpact.reports.importing.draft import Draft, Entry

_FEWEST = 6
"""Of so many numbers one or two stand out."""
_FEW = 2


def mark_unusual(draft: Draft) -> None:
    """Write CAUTION above the stages whose numbers or orders stand out."""
    for stage, said in [*_scales(draft), *_poses(draft), *_orders(draft)]:
        draft.caution(stage, said)


def _scales(draft: Draft) -> Iterator[tuple[str, str]]:
    for entry in draft.stages:
        scale = _numbers(draft, entry, "scale")
        usual = Counter(scale.values()).most_common(1)
        odd = [f"{each:g} at {name}" for name, each in scale.items() if each != usual[0][0]]
        if 0 < len(odd) <= _FEW:
            yield entry.table["name"], f"the scale is {usual[0][0]:g}, but {', '.join(odd)}"


def _poses(draft: Draft) -> Iterator[tuple[str, str]]:
    """Of what is taken off one vector and added to another: the same pose, but for a few joints."""
    held = [(each.table["name"], _numbers(draft, each, key)) for each in draft.stages for key in ("offset", "subtract")]
    for (one, first), (other, second) in combinations([each for each in held if each[1]], 2):
        odd = [name for name in first if abs(abs(first[name]) - abs(second.get(name, 0.0))) > 1e-4]
        if first.keys() == second.keys() and 0 < len(odd) <= _FEW:
            yield other, f"the numbers of {one}, but for {', '.join(odd)}"


def _orders(draft: Draft) -> Iterator[tuple[str, str]]:
    """Two orders of the same names, or an order and that of the vector it is taken from, that differ in two names."""
    selects = [each.table for each in draft.stages if each.table.get("operation") == "select"]
    sources = {each["of"]: _words(draft, draft.names_of(each["of"]) or ()) for each in selects}
    takes = {each["name"]: _words(draft, each["take"]) for each in selects}
    said: dict[str, str] = {}
    for (one, names), (other, others) in combinations([*sources.items(), *takes.items()], 2):
        odd = [name for name, wanted in zip(names, others, strict=False) if name != wanted]
        if other in takes and len(names) >= _FEWEST and sorted(names) == sorted(others) and len(odd) == _FEW:
            said.setdefault(other, f"the order of {one}, but {odd[0]} and {odd[1]} exchanged")
    yield from said.items()


def _numbers(draft: Draft, entry: Entry, key: str) -> dict[str, float]:
    """Name -> number of a parameter of many numbers; of one with few, or without names, nothing."""
    value = entry.table.get(key)
    value = draft.numbers.get(value) if isinstance(value, str) else value
    value = value.get("value") if isinstance(value, Mapping) else value
    names = _words(draft, draft.names_of(entry.table["name"]) or ())
    if not isinstance(value, list) or len(value) < _FEWEST:
        return {}
    return dict(zip(names or map(str, range(len(value))), value, strict=False))


def _words(draft: Draft, said: object) -> tuple[str, ...]:
    return (
        draft.names[said] if isinstance(said, str) else tuple(map(str, said)) if isinstance(said, list | tuple) else ()
    )
