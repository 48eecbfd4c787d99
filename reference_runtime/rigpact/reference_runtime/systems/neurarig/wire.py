"""NeuraRig's datagrams: bytes to messages and back. UDP, one message a datagram, little-endian, first byte the kind.

    0x01 handshake   repeated {i32 bone index, i32 length, that many bytes of name}
    0x02 frame       float32s of the engine's packet; 1 + 63 * 4 = 253 bytes
    0x03 reply       float32s of the rotations; 1 + 24 * 4 = 97 bytes
    0 or 1 byte      a ping

The public plug-in speaks without a first byte: a datagram is its float32s, and the port says whether it is a frame or a reply.

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
    REPLY_LENGTH = "a reply of another length"
    NOT_FINITE = "a value that is not finite"
    DEAD_INPUT = "a frame whose end is all zeros: were bytes counted as floats?"
    NOT_UNIT = "quaternions that are not of length one"
    TOO_LARGE_VALUE = "a value of more than a hundred thousand"


@dataclass(frozen=True)
class Profile:
    """One use of the protocol: the bones of the handshake, floats of a frame and a reply, whether a first byte says the kind."""

    name: str
    bones: tuple[str, ...]
    frame_floats: int
    reply_floats: int
    has_header: bool = True


SYSTEM = find_system("neurarig")
PACKET = SYSTEM.vectors["packet"]
LEGS = Profile("legs", ("pelvis", *SYSTEM.template()["bones"]), PACKET.width, SYSTEM.vectors["reply"].width)
TWO_BONE = Profile("two-bone", ("foot_r", "foot_l"), 12, 6)
"""The build with the published losses: two input and two target vectors in, two vectors out."""
PROFILES = {profile.name: profile for profile in (LEGS, TWO_BONE)}


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


@dataclass(frozen=True, eq=False)
class Reply:
    """The floats of one reply, (N,) float32."""

    values: FloatArray


@dataclass(frozen=True)
class Refusal:
    """A datagram that is not a valid message, and the reason."""

    reason: Reason
    detail: str


Message = Ping | Handshake | Frame | Reply | Refusal


def decode_at_server(datagram: bytes, profile: Profile) -> Message:
    """A client's datagram as a message or a `Refusal`."""
    if len(datagram) > LARGEST_DATAGRAM:
        return Refusal(Reason.TOO_LARGE, f"{len(datagram)} bytes")
    if len(datagram) <= 1:
        return Ping()
    kind = datagram[0] if profile.has_header else FRAME
    if kind == HANDSHAKE:
        return _handshake(datagram)
    if kind != FRAME:
        reason = Reason.REPLY_TO_SERVER if kind == REPLY else Reason.UNKNOWN_KIND
        return Refusal(reason, f"0x{kind:02x}, {len(datagram)} bytes")
    values = _floats(datagram, profile, profile.frame_floats, Reason.FRAME_LENGTH)
    return values if isinstance(values, Refusal) else Frame(values)


def decode_at_client(datagram: bytes, profile: Profile) -> Message:
    """The server's datagram as a message or a `Refusal`, also for a wrong length (the published bug: 25 bytes)."""
    if len(datagram) <= 1:
        return Ping()
    if profile.has_header and datagram[0] != REPLY:
        return Refusal(Reason.UNKNOWN_KIND, f"0x{datagram[0]:02x}")
    values = _floats(datagram, profile, profile.reply_floats, Reason.REPLY_LENGTH)
    return values if isinstance(values, Refusal) else Reply(values)


def _floats(datagram: bytes, profile: Profile, floats: int, wrong: Reason) -> FloatArray | Refusal:
    """The floats behind the first byte, if there is one; they are not aligned there, so they are copied out."""
    head = int(profile.has_header)
    expected = head + 4 * floats
    if len(datagram) != expected:
        is_cut = head and wrong is Reason.REPLY_LENGTH and len(datagram) == head + floats
        cut = ", as if its floats were counted as bytes" if is_cut else ""
        return Refusal(wrong, f"{len(datagram)} bytes, expected {expected}{cut}")
    values: FloatArray = np.frombuffer(datagram, "<f4", offset=head).astype(np.float32)
    bad = np.flatnonzero(~np.isfinite(values))
    return Refusal(Reason.NOT_FINITE, f"float {bad[0]}") if len(bad) else values


def encode_handshake(bones: tuple[str, ...]) -> bytes:
    """0x01 and the bones, numbered from 0."""
    entries = [(place, name.encode("ascii")) for place, name in enumerate(bones)]
    return bytes([HANDSHAKE]) + b"".join(_BONE.pack(place, len(name)) + name for place, name in entries)


def encode_frame(values: FloatArray) -> bytes:
    """0x02 and the floats."""
    return bytes([FRAME]) + np.ascontiguousarray(values, "<f4").tobytes()


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
