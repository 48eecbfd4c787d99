"""The slices of a vector, the places in it where something may be wrong, and their names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.systems.layout import Field, FieldKind, FieldLayout
from rigpact.reports.diagnosing.relations.relation import ChannelSet, listed

NUMBERS_OF_A_ROTATION = {
    FieldKind.QUATERNION_XYZW: 4,
    FieldKind.QUATERNION_WXYZ: 4,
    FieldKind.ROT6D: 6,
    FieldKind.MATRIX: 9,
}
_LISTED = 3
"""More names than these in a row are said by the first and the last."""


@dataclass(frozen=True)
class Group:
    """Neighbouring fields of one name and one kind: a slice of an engine's vector. part: numbers of one bone, or of one field."""

    name: str
    start: int
    stop: int
    kind: FieldKind
    part: int

    @property
    def range(self) -> slice:
        """The group as Python's own index object."""
        return slice(self.start, self.stop)


def groups_of(layout: FieldLayout) -> list[Group]:
    """The slices of a vector: neighbouring fields of one name; a field of several rotations has parts too."""
    found: list[Group] = []
    for (name, kind), same in groupby(layout, key=lambda field: (field.name, field.kind)):
        fields = list(same)
        per_rotation = NUMBERS_OF_A_ROTATION.get(kind)
        size = fields[0].size
        part = per_rotation if per_rotation and size % per_rotation == 0 else size
        whole = (fields[-1].stop - fields[0].start) % part == 0
        found.append(Group(name, fields[0].start, fields[-1].stop, kind, part if whole else 1))
    return found


def places_of(stage: str, layout: FieldLayout, failing: NDArray[np.bool_]) -> list[ChannelSet]:
    """All of a vector, each slice that differs, the bones or fields of it that differ."""
    width = failing.shape[1]
    found = [ChannelSet(stage, np.arange(width), is_whole=True)]
    differs: NDArray[np.bool_] = np.asarray(failing.any(axis=0))
    own = np.flatnonzero(differs)
    for group in groups_of(layout):
        channels = np.arange(group.start, group.stop)
        if differs[channels].any() and len(channels) < width:
            found.append(ChannelSet(f"{stage}[{group.name or stage}]", channels))
        parts = [part for part in channels.reshape(-1, group.part) if differs[part].any()]
        if parts and len(parts) * group.part < len(channels):
            names = dict.fromkeys(_named(layout, int(part[0])) for part in parts)
            found.append(ChannelSet(f"{stage} of {_some(list(names))}", np.concatenate(parts)))
    if not any(np.array_equal(place.channels, own) for place in found):
        found.append(ChannelSet(f"{stage} of {names_of(layout, own)}", own))
    return found


def names_of(layout: FieldLayout, channels: Iterable[int]) -> str:
    """The channels of a vector in words: fields or bones by name, a number behind those of which only some are meant."""
    wanted = sorted({int(channel) for channel in channels})
    chosen = np.zeros(max(layout.width, wanted[-1] + 1), bool)
    chosen[wanted] = True
    names = [name for field in layout for name in _names_in(field, chosen[field.range])]
    names = list(dict.fromkeys((*names, *(f"channel {each}" for each in wanted if each >= layout.width))))
    if len(names) > _LISTED and wanted[-1] - wanted[0] == len(wanted) - 1:
        return f"{names[0]} to {names[-1]} (channels {wanted[0]} to {wanted[-1]})"
    return _some(names)


def _names_in(field: Field, chosen: NDArray[np.bool_]) -> list[str]:
    name = field.bone or field.name
    return [name] if chosen.all() else [f"{name}[{place}]" for place in np.flatnonzero(chosen)]


def _named(layout: FieldLayout, channel: int) -> str:
    field = layout.field_at(channel)
    return f"channel {channel}" if field is None else field.bone or field.name


def _some(names: Sequence[str]) -> str:
    return listed(names, _LISTED if len(names) <= _LISTED else _LISTED - 1)
