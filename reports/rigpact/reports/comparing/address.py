"""Where in a character a channel of a stage lies: slice, bone, component, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rigpact.contract.bundle import Contract
from rigpact.contract.layout import ANGULAR_VELOCITIES, ROTATIONS, Layout

_PER_BONE = {ROTATIONS: 6, ANGULAR_VELOCITIES: 3}
_CONDITION = ("idle", "walk", "run", "jump", "direction x", "direction y", "speed")
_FEET = ("left foot", "right foot")
_NAMED = {"cond": _CONDITION, "cond_raw": _CONDITION, "contacts": _FEET}
_ROTATION_STAGES = ("delta6d", "next6d")


@dataclass(frozen=True)
class Address:
    """A channel's place: the stage, its index, and the slice, bone and component where it has them."""

    stage: str
    channel: int
    slice: str | None = None
    bone: str | None = None
    component: str | None = None

    def __str__(self) -> str:
        """In words, the bone first: people look for it."""
        words = [word for word in (self.bone, self.slice, self.component) if word]
        return f"{', '.join(words)} (channel {self.channel})" if words else f"channel {self.channel}"


def channel_address(stage: str, channel: int, contract: Contract | None, bones: Sequence[str]) -> Address:
    """Name the place of one channel of a stage; without a contract only rotations can be named."""
    names = _NAMED.get(stage, ())
    if channel < len(names):
        return Address(stage, channel, component=names[channel])
    if stage in ("pose_hist", "pose_hist_raw"):
        return _history_address(stage, channel, bones)
    if stage == "quat":
        return Address(stage, channel, bone=_bone(bones, channel // 4), component="xyzw"[channel % 4])
    if stage == "angvel":
        return _bone_address(stage, channel, channel, ANGULAR_VELOCITIES, bones)
    if stage in _ROTATION_STAGES or contract is None:
        return _bone_address(stage, channel, channel, ROTATIONS, bones)
    layout = contract.output if stage.startswith("y") else contract.state
    return _layout_address(stage, channel, layout, bones)


def _layout_address(stage: str, channel: int, layout: Layout, bones: Sequence[str]) -> Address:
    place = layout.slice_at(channel)
    if place is None:
        return Address(stage, channel)
    if place.name in _PER_BONE:
        return _bone_address(stage, channel, channel - place.start, place.name, bones)
    return Address(stage, channel, place.name, component=f"[{channel - place.start}]")


def _bone_address(stage: str, channel: int, offset: int, name: str, bones: Sequence[str]) -> Address:
    per_bone = _PER_BONE[name]
    component = f"{'6D' if per_bone == 6 else 'xyz'}[{offset % per_bone}]"
    return Address(stage, channel, name, _bone(bones, offset // per_bone), component)


def _history_address(stage: str, channel: int, bones: Sequence[str]) -> Address:
    entry, offset = divmod(channel, 6 * len(bones)) if bones else (0, channel)
    return Address(stage, channel, f"history[{entry}]", _bone(bones, offset // 6), f"6D[{offset % 6}]")


def _bone(bones: Sequence[str], index: int) -> str:
    return bones[index] if index < len(bones) else f"bone {index}"
