"""NeuraRig's datagrams: bytes to messages and back. UDP, one message a datagram, little-endian, first byte the kind.

    0x01 handshake   repeated {i32 bone index, i32 length, that many bytes of name}
    0x02 frame       float32s of the engine's packet; 1 + 63 * 4 = 253 bytes
    0x03 reply       float32s of the rotations; 1 + 24 * 4 = 97 bytes
    0 or 1 byte      a ping

Decoding is total: every sequence of bytes is a message or a `Refusal`. Lengths are checked before floats are read.
"""

import struct
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from rigpact.contract.pages.registry import find_system
from rigpact.contract.statistics import FloatArray

HANDSHAKE, FRAME, REPLY = 0x01, 0x02, 0x03
LARGEST_DATAGRAM = 32_768
"""Size of the server's buffer. Every valid message is less than a hundredth of it."""
LONGEST_NAME, MOST_BONES = 256, 256
_BONE = struct.Struct("<ii")


class Reason(StrEnum):
    """Why a datagram is refused."""

    TOO_LARGE = "larger than the server's buffer"
    UNKNOWN_KIND = "a first byte that is not a kind of message"
    REPLY_TO_SERVER = "a reply, sent to the server"
    HANDSHAKE_CUT_OFF = "a handshake that ends inside an entry"
    NAME_LENGTH = "a name's length outside 1 to 256"
    NAME_BYTES = "a name with control characters"
    BONE_INDEX = "bone indices that do not count up from 0"
    BONE_REPEATED = "two bones of one name"
    TOO_MANY_BONES = "more than 256 bones"
    OTHER_RIG = "the bones of another rig, or in another order"
    NO_HANDSHAKE = "a frame before the handshake"
    FRAME_LENGTH = "a frame of another length"
    NOT_FINITE = "a value that is not finite"
    DEAD_INPUT = "a frame whose end is all zeros: were bytes counted as floats?"
    NOT_UNIT = "quaternions that are not of length one"
    TOO_LARGE_VALUE = "a value of more than a hundred thousand"


SYSTEM = find_system("neurarig")
PACKET = SYSTEM.vectors["packet"]
RIG_BONES: tuple[str, ...] = ("pelvis", *SYSTEM.template()["bones"])
"""The bones that a handshake names, in order."""


@dataclass(frozen=True)
class Ping:
    """A datagram of at most one byte."""


@dataclass(frozen=True)
class Handshake:
    """The bones of the sender, in order."""

    bones: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Frame:
    """The floats of one frame, (N,) float32."""

    values: FloatArray


@dataclass(frozen=True)
class Refusal:
    """A datagram that is not a valid message, and the reason."""

    reason: Reason
    detail: str


Message = Ping | Handshake | Frame | Refusal


def decode(datagram: bytes) -> Message:
    """A client's datagram as a message or a `Refusal`. The floats behind the first byte are not aligned: they are copied."""
    if len(datagram) > LARGEST_DATAGRAM:
        return Refusal(Reason.TOO_LARGE, f"{len(datagram)} bytes")
    if len(datagram) <= 1:
        return Ping()
    kind, expected = datagram[0], 1 + 4 * PACKET.width
    if kind == HANDSHAKE:
        return _handshake(datagram)
    if kind != FRAME:
        reason = Reason.REPLY_TO_SERVER if kind == REPLY else Reason.UNKNOWN_KIND
        return Refusal(reason, f"0x{kind:02x}, {len(datagram)} bytes")
    if len(datagram) != expected:
        return Refusal(Reason.FRAME_LENGTH, f"{len(datagram)} bytes, expected {expected}")
    values: FloatArray = np.frombuffer(datagram, "<f4", offset=1).astype(np.float32)
    bad = np.flatnonzero(~np.isfinite(values))
    return Refusal(Reason.NOT_FINITE, f"float {bad[0]}") if len(bad) else Frame(values)


def encode_reply(values: FloatArray) -> bytes:
    """0x03 and the floats: four bytes each. The published build used one byte each."""
    return bytes([REPLY]) + np.ascontiguousarray(values, "<f4").tobytes()


def _handshake(datagram: bytes) -> Message:
    bones: list[str] = []
    offset = 1
    while offset < len(datagram):
        if len(bones) == MOST_BONES:
            return Refusal(Reason.TOO_MANY_BONES, f"{len(datagram)} bytes")
        bone = _bone(datagram, offset, len(bones))
        if isinstance(bone, Refusal):
            return bone
        bones.append(bone)
        offset += _BONE.size + len(bone)
    if len(set(bones)) != len(bones):
        return Refusal(Reason.BONE_REPEATED, f"{len(bones)} bones, {len(set(bones))} names")
    return Handshake(tuple(bones))


def _bone(datagram: bytes, offset: int, place: int) -> str | Refusal:
    """The name at an offset; it must be the name of bone `place`."""
    left = len(datagram) - offset - _BONE.size
    if left < 0:
        return Refusal(Reason.HANDSHAKE_CUT_OFF, f"{len(datagram) - offset} bytes left at byte {offset}")
    index, length = _BONE.unpack_from(datagram, offset)
    if not 1 <= length <= LONGEST_NAME:
        return Refusal(Reason.NAME_LENGTH, f"{length} at byte {offset + 4}")
    if left < length:
        return Refusal(Reason.HANDSHAKE_CUT_OFF, f"a name of {length} bytes, {left} left")
    if index != place:
        return Refusal(Reason.BONE_INDEX, f"{index} at place {place}")
    raw = datagram[offset + _BONE.size : offset + _BONE.size + length]
    if not all(0x20 <= byte < 0x7F for byte in raw):
        return Refusal(Reason.NAME_BYTES, f"bone {place}")
    return raw.decode("ascii")
