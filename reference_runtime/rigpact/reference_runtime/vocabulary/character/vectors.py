"""The fields of a character's vectors: its slices in the order of the bundle, as many bones as it has."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Literal

from rigpact.contract.declared.operation import Use
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.layout import Field, FieldKind, FieldLayout

Fields = Callable[[Contract], FieldLayout]
Said = Mapping[str, Mapping[str, Any]]
"""What a page says of a slice: `size` numbers of a `kind` for every bone, or the kind and unit of the whole slice."""
_PARENT = "parent bone"


def vector_fields(use: Use, vector: Literal["state", "output"], *, is_raw: bool = True) -> Fields:
    """The fields of a character's state or output; of its z-scores if not `is_raw`."""
    return partial(_vector, vector, use.slices, is_raw)


def bone_fields(name: str, kind: FieldKind, size: int) -> Fields:
    """One field of `size` numbers for every bone."""

    def fields(contract: Contract) -> FieldLayout:
        names = _names(contract.numbers.bone_names, contract.numbers.bone_count)
        return FieldLayout(tuple(_bone_fields(name, 0, names, size, kind)))

    return fields


def rates_fields(contract: Contract, name: str) -> FieldLayout:
    """Three numbers for every bone of the slice that holds them."""
    names = _names(contract.numbers.bone_names, contract.numbers.state[name].size // 3)
    return FieldLayout(tuple(_bone_fields(name, 0, names, 3, FieldKind.ANGULAR_RATE)))


def history_fields(contract: Contract) -> FieldLayout:
    """Past poses; empty if only the network gives their number."""
    numbers = contract.numbers
    names, width = _names(numbers.bone_names, numbers.bone_count), 6 * numbers.bone_count
    found: list[Field] = []
    for entry in range(numbers.pose_history_length or 0):
        found += _bone_fields(f"history[{entry}]", entry * width, names, 6, FieldKind.ROT6D)
    return FieldLayout(tuple(found))


def _vector(vector: str, said: Said, is_raw: bool, contract: Contract) -> FieldLayout:  # noqa: FBT001 - bound by vector_fields
    numbers = contract.numbers
    layout = numbers.state if vector == "state" else numbers.output
    found: list[Field] = []
    for entry in layout:
        own = said.get(entry.name, {})
        kind, unit = FieldKind(own.get("kind", "scalar")), own.get("unit", "") if is_raw else "z"
        if "of_a_bone" in own:
            size = own["of_a_bone"]
            found += _bone_fields(
                entry.name, entry.start, _names(numbers.bone_names, entry.size // size), size, kind, unit
            )
        else:
            found.append(Field(entry.name, entry.start, entry.size, kind, unit))
    end = max((entry.stop for entry in found), default=0)
    if end < layout.width:
        found.append(Field("unused", end, layout.width - end, FieldKind.RAW))
    return FieldLayout(tuple(found))


def _names(bones: Sequence[str], count: int) -> list[str]:
    """A name for each bone of a slice: the bundle may name more or fewer (RP220)."""
    return [bones[place] if place < len(bones) else f"bone {place}" for place in range(count)]


def _bone_fields(
    name: str, start: int, bones: Sequence[str], size: int, kind: FieldKind, unit: str = ""
) -> Iterator[Field]:
    for place, bone in enumerate(bones):
        yield Field(name, start + place * size, size, kind, unit, _PARENT, bone=bone)
