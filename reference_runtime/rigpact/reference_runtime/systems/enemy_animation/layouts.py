"""The fields of the enemy animation's vectors under a contract."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rigpact.contract.bundle import CONDITION_WIDTH, Contract
from rigpact.contract.layout import (
    ANGULAR_VELOCITIES,
    CONTACTS,
    ROOT_POSITION,
    ROOT_VELOCITY,
    ROOT_YAW,
    ROTATIONS,
    Layout,
)
from rigpact.contract.systems.layout import Field, FieldKind, FieldLayout

_PER_BONE = {ROTATIONS: (6, FieldKind.ROT6D, ""), ANGULAR_VELOCITIES: (3, FieldKind.ANGULAR_RATE, "rad/s")}
_UNITS = {ROOT_YAW: "rad", ROOT_VELOCITY: "m/s", ROOT_POSITION: "m"}
CONDITION_NAMES = ("idle", "walk", "run", "jump", "direction x", "direction y", "speed")
FEET = ("left foot", "right foot")
_PARENT = "parent bone"


def raw_state(contract: Contract) -> FieldLayout:
    """The state in metres, radians and seconds."""
    return _vector(contract.state, contract.bone_names, is_raw=True)


def state(contract: Contract) -> FieldLayout:
    """The state's z-scores."""
    return _vector(contract.state, contract.bone_names, is_raw=False)


def output(contract: Contract) -> FieldLayout:
    """The network's answer, or the published output."""
    return _vector(contract.output, contract.bone_names, is_raw=True)


def condition(_contract: Contract) -> FieldLayout:
    """The player's intent."""
    names = CONDITION_NAMES[:CONDITION_WIDTH]
    return FieldLayout(tuple(Field(name, place, 1, FieldKind.SCALAR) for place, name in enumerate(names)))


def contacts(contract: Contract) -> FieldLayout:
    """One number per foot."""
    width = contract.state[CONTACTS].size if CONTACTS in contract.state else len(FEET)
    names = [FEET[place] if place < len(FEET) else f"contact {place}" for place in range(width)]
    return FieldLayout(tuple(Field(name, place, 1, FieldKind.SCALAR) for place, name in enumerate(names)))


def angular_velocities(contract: Contract) -> FieldLayout:
    """The AngVel input: three numbers per bone."""
    size, kind, _ = _PER_BONE[ANGULAR_VELOCITIES]
    count = contract.state[ANGULAR_VELOCITIES].size // size
    return FieldLayout(tuple(_bone_fields(ANGULAR_VELOCITIES, 0, _names(contract.bone_names, count), size, kind)))


def pose_history(contract: Contract) -> FieldLayout:
    """Past poses; empty if only the network gives their number."""
    width = 6 * contract.bone_count
    found: list[Field] = []
    for entry in range(contract.pose_history_length or 0):
        found += _bone_fields(f"history[{entry}]", entry * width, contract.bone_names, 6, FieldKind.ROT6D)
    return FieldLayout(tuple(found))


def pose(contract: Contract) -> FieldLayout:
    """Six numbers per bone."""
    return FieldLayout(tuple(_bone_fields(ROTATIONS, 0, contract.bone_names, 6, FieldKind.ROT6D)))


def quaternions(contract: Contract) -> FieldLayout:
    """Four numbers per bone."""
    return FieldLayout(tuple(_bone_fields("", 0, contract.bone_names, 4, FieldKind.QUATERNION_XYZW)))


def _vector(layout: Layout, bones: Sequence[str], *, is_raw: bool) -> FieldLayout:
    found: list[Field] = []
    for entry in layout:
        if entry.name in _PER_BONE:
            size, kind, unit = _PER_BONE[entry.name]
            names = _names(bones, entry.size // size)
            found += _bone_fields(entry.name, entry.start, names, size, kind, unit if is_raw else "z")
        else:
            unit = _UNITS.get(entry.name, "") if is_raw else "z"
            found.append(Field(entry.name, entry.start, entry.size, FieldKind.SCALAR, unit))
    end = max((entry.stop for entry in found), default=0)
    if end < layout.width:
        found.append(Field("unused", end, layout.width - end, FieldKind.RAW))
    return FieldLayout(tuple(found))


def _names(bones: Sequence[str], count: int) -> list[str]:
    return [bones[place] if place < len(bones) else f"bone {place}" for place in range(count)]


def _bone_fields(
    name: str, start: int, bones: Sequence[str], size: int, kind: FieldKind, unit: str = ""
) -> Iterator[Field]:
    for place, bone in enumerate(bones):
        yield Field(name, start + place * size, size, kind, unit, _PARENT, bone=bone)
