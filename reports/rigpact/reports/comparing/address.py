"""Name the place of a channel of a stage in words: slice, bone, component."""

from collections.abc import Sequence
from dataclasses import dataclass

from rigpact.contract.layout import ROTATIONS
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.layout import QUATERNION_KINDS, FieldKind


@dataclass(frozen=True)
class Address:
    """A channel's place: stage and index, and slice, bone and component where the channel has them."""

    stage: str
    channel: int
    slice: str | None = None
    bone: str | None = None
    component: str | None = None

    def __str__(self) -> str:
        """The place in words, the bone first."""
        words = [word for word in (self.bone, self.slice, self.component) if word]
        return f"{', '.join(words)} (channel {self.channel})" if words else f"channel {self.channel}"


def channel_address(stage: str, channel: int, contract: Contract | None, bones: Sequence[str] = ()) -> Address:
    """Name the place of one channel by its field. Without a contract, only published rotations have a name."""
    if contract is None:
        bone, offset = divmod(channel, 6)
        name = bones[bone] if bone < len(bones) else f"bone {bone}"
        return Address(stage, channel, ROTATIONS, name, f"6D[{offset}]")
    field = contract.fields(stage).field_at(channel)
    if field is None:
        return Address(stage, channel)
    offset = channel - field.start
    if not field.bone:
        return Address(stage, channel, field.name if field.size == 1 else f"{field.name}[{offset}]")
    return Address(stage, channel, field.name or None, field.bone, _component(field.kind, offset))


def _component(kind: FieldKind, offset: int) -> str:
    if kind in QUATERNION_KINDS:
        return ("xyzw" if kind is FieldKind.QUATERNION_XYZW else "wxyz")[offset % 4]
    return f"{'6D' if kind is FieldKind.ROT6D else 'xyz'}[{offset}]"
