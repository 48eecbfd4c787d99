"""The layout of a flat vector: named fields with unit, space and kind, and a hash over all of it.

Width alone never decides whether two sides mean the same: two orders of the same 63 numbers pass every size check.
"""

import hashlib
import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

from rigpact.contract.as_json import AsJson
from rigpact.contract.layout import Span


class FieldKind(StrEnum):
    """What the numbers of a field are."""

    POSITION = "position"
    DIRECTION = "direction"
    QUATERNION_XYZW = "quaternion_xyzw"
    QUATERNION_WXYZ = "quaternion_wxyz"
    MATRIX = "matrix"
    ROTATION_VECTOR = "rotation_vector"
    EULER_XYZ = "euler_xyz"
    FLAG = "flag"
    SCALAR = "scalar"
    RIG_PARAMETER = "rig_parameter"
    MESH_POINTS = "mesh_points"
    ACCELERATION = "acceleration"
    ANGULAR_RATE = "angular_rate"
    MEAN = "mean"
    LOG_VARIANCE = "log_variance"
    LOGITS = "logits"
    PROBABILITY = "probability"
    ROT6D = "rot6d"
    VECTOR = "vector"
    RAW = "raw"


QUATERNION_KINDS = (FieldKind.QUATERNION_XYZW, FieldKind.QUATERNION_WXYZ)


@dataclass(frozen=True)
class Field(Span, AsJson):
    """`size` numbers from `start` on, of one kind; low and high bound each number where the system says so.

    bone: the part of a character that they belong to; fields of several bones then share a name.
    """

    KEYS = "name start size kind unit space low high"
    name: str
    start: int
    size: int
    kind: FieldKind
    unit: str = ""
    space: str = ""
    low: float | None = None
    high: float | None = None
    bone: str = ""


@dataclass(frozen=True)
class FieldLayout(AsJson):
    """The fields of one vector, in order of their start."""

    KEYS = "fields layout_hash"
    fields: tuple[Field, ...]

    @cached_property
    def width(self) -> int:
        """Numbers in the vector."""
        return max((field.stop for field in self.fields), default=0)

    @property
    def layout_hash(self) -> str:
        """SHA-256 over names, places, kinds, units and spaces: equal only where every number means the same.

        Ranges are left out: they judge values and do not change what a value means.
        """
        meaning = [[f.name, f.start, f.size, f.kind.value, f.unit, f.space] for f in self.fields]
        return hashlib.sha256(json.dumps(meaning, separators=(",", ":"), ensure_ascii=True).encode()).hexdigest()

    def __iter__(self) -> Iterator[Field]:
        return iter(self.fields)

    def __contains__(self, name: str) -> bool:
        return any(field.name == name for field in self.fields)

    def __getitem__(self, name: str) -> Field:
        """Return the field of that name; KeyError where there is none."""
        for field in self.fields:
            if field.name == name:
                return field
        raise KeyError(name)

    def field_at(self, channel: int) -> Field | None:
        """The field that holds a channel; None for a gap."""
        return next((each for each in self.fields if each.start <= channel < each.stop), None)

    def address(self, channel: int) -> str:
        """Name the place of a channel: `foot_r_target[2]`."""
        field = self.field_at(channel)
        if field is None:
            return f"channel {channel}"
        return field.name if field.size == 1 else f"{field.name}[{channel - field.start}]"


def known_fields(layout: FieldLayout | Callable[[Any], FieldLayout]) -> FieldLayout:
    """The fields that depend on no contract; none where a character makes them."""
    return layout if isinstance(layout, FieldLayout) else FieldLayout(())


def tiled(
    *entries: tuple[str, int, FieldKind, str, str] | tuple[str, int, FieldKind, str, str, float, float],
) -> FieldLayout:
    """Lay fields end to end: (name, size, kind, unit, space) or the same with low and high."""
    fields, start = [], 0
    for entry in entries:
        name, size, *rest = entry
        fields.append(Field(str(name), start, int(size), *rest))
        start += int(size)
    return FieldLayout(tuple(fields))


def json_to_fields(entries: Any) -> FieldLayout:
    """A vector's fields from a contract file that follows the schema."""
    return FieldLayout(tuple(_field(entry) for entry in entries))


def _field(entry: Mapping[str, Any]) -> Field:
    start, size = (_whole(entry[key]) for key in ("start", "size"))
    unit, space = (entry.get(key) or "" for key in ("unit", "space"))
    low, high = (range_end(entry.get(key)) for key in ("low", "high"))
    return Field(entry["name"], start, size, FieldKind(entry["kind"]), unit, space, low, high)


def _whole(place: Any) -> int:
    """A place or size as a file has it: 3 or 3.0; ValueError for another number and for what is not a number."""
    if type(place) is int:
        return place
    if type(place) is not float or not place.is_integer():
        raise ValueError(f"{place!r} is not a whole number")
    return int(place)


def range_end(value: float | None) -> float | None:
    """An end of a field's range as a file has it; infinite where that is an integer that no float holds."""
    if value is None or abs(value) <= sys.float_info.max:
        return value
    return math.inf if value > 0 else -math.inf
