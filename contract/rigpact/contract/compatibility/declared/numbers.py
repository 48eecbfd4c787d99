"""Numbers of the stages of two declared contracts: matched by the names of the fields that they belong to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from rigpact.contract.compatibility.change import Change, change
from rigpact.contract.json_pointer import json_pointer
from rigpact.contract.rules.hosted.declared_view import DeclaredView
from rigpact.contract.statistics import FloatArray

_NEUTRAL: Mapping[str, float] = {"scale": 1.0, "offset": 0.0, "subtract": 0.0, "epsilon": 0.0, "floor": 0.0}
"""What a parameter is where a stage does not have it."""


@dataclass(eq=False)
class _Use:
    """Numbers that stages on both sides take: where, by which name, the names of their fields, old and new values."""

    pointer: str
    names: tuple[str, ...]
    old: FloatArray
    new: FloatArray
    stages: list[str] = field(default_factory=list)


def compare_declared_numbers(old: DeclaredView, new: DeclaredView) -> Iterator[Change]:
    """Yield what changed in the numbers of stages that both sides have; numbers that several stages take, once."""
    uses: dict[str, _Use] = {}
    for stage in new.tables:
        if stage not in old.tables or old.tables[stage].get("operation") != new.tables[stage].get("operation"):
            continue
        is_given = "operation" not in new.tables[stage]
        is_fed_back = {"start"} if is_given and all("start" in each.tables[stage] for each in (old, new)) else set()
        for key in sorted((_number_keys(old, stage) | _number_keys(new, stage)) - {"start"} | is_fed_back):
            found = _matched(old, new, stage, key)
            uses.setdefault(found.pointer, found).stages.append(f"{stage}.{key}")
    for use in uses.values():
        yield from _compared(use)


def _number_keys(view: DeclaredView, stage: str) -> set[str]:
    """The parameters of a stage that are numbers, inline or by name."""
    numbers, table = view.root.get("numbers", {}), view.tables[stage]
    own = view.declaration.constants.get(stage, {}).keys()
    named = {
        key for key, value in table.items() if isinstance(value, str) and value in numbers and key not in _NO_NUMBERS
    }
    valued = {key for key, value in table.items() if isinstance(value, dict) and str(value.get("value")) in numbers}
    return (set(own) & set(table)) | named | valued


_NO_NUMBERS = frozenset({"name", "operation", "of", "names", "take", "kind", "unit", "space", "carried"})


def _matched(old: DeclaredView, new: DeclaredView, stage: str, key: str) -> _Use:
    """The numbers of both sides in the new order of the fields."""
    values = [_value(view, stage, key) for view in (old, new)]
    names = tuple(_field_names(view, stage) for view in (old, new))
    first, second = values
    if first.size == second.size == len(names[0]) and sorted(names[0]) == sorted(names[1]):
        first = first[[names[0].index(name) for name in names[1]]]
    words = {_word(view, stage, key) for view in (old, new)}
    pointer = json_pointer("numbers", *words) if len(words) == 1 and words != {""} else new.at(stage, key)
    return _Use(pointer, names[1], first, second)


def _value(view: DeclaredView, stage: str, key: str) -> FloatArray:
    value = np.zeros(1) if view.tables[stage].get(key) == "zeros" else view.numbers(stage, key)
    return np.array([_NEUTRAL.get(key, np.nan)]) if value is None else value


def _field_names(view: DeclaredView, stage: str) -> tuple[str, ...]:
    inputs = view.inputs_of(stage)
    return tuple(view.layout(inputs[0] if inputs else stage).address(i) for i in range(_width(view, stage)))


def _width(view: DeclaredView, stage: str) -> int:
    inputs = view.inputs_of(stage)
    return view.layout(inputs[0] if inputs else stage).width


def _word(view: DeclaredView, stage: str, key: str) -> str:
    """The name of the numbers, '' for inline ones."""
    given = view.tables[stage].get(key)
    given = given.get("value") if isinstance(given, dict) else given
    return given if isinstance(given, str) else ""


def _compared(use: _Use) -> Iterator[Change]:
    what = use.pointer.rpartition("/")[2] if use.pointer.startswith("/numbers/") else use.stages[0]
    where = f"{what} (at {', '.join(use.stages)})" if use.pointer.startswith("/numbers/") else what
    sizes = {use.old.size, use.new.size} - {1}
    if len(sizes) > 1:
        said = f"{where} has {use.new.size} numbers, had {use.old.size}"
        yield change("constant-changed", use.pointer, use.old.size, use.new.size, said)
        return
    old, new = np.broadcast_arrays(use.old, use.new)
    apart = np.abs(old - new)
    differs = ~(apart == 0.0)
    if not differs.any():
        return
    steps = np.spacing(np.maximum(np.abs(old), np.abs(new)).astype(np.float32)).astype(np.float64)
    kind = "constant-rounded" if np.all(apart[differs] <= steps[differs]) else "constant-changed"
    worst = int(np.argmax(np.where(differs, np.where(np.isnan(apart), np.inf, apart), 0.0)))
    address = f" at {use.names[worst]}" if old.size == len(use.names) > 1 else ""
    said = f"{where} goes from {old[worst]:.7g} to {new[worst]:.7g}{address}"
    if differs.sum() > 1:
        said += f"; {int(differs.sum())} of {old.size} numbers changed"
    yield change(kind, use.pointer, float(old[worst]), float(new[worst]), said)
