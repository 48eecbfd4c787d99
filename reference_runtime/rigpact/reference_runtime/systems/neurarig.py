"""NeuraRig's datagrams, the state of a server, and its socket. Its loop is a page: `rigpact show neurarig`.

UDP, one message a datagram, little-endian, first byte the kind:
    0x01 handshake   repeated {i32 bone index, i32 length, that many bytes of name}
    0x02 frame       float32s of the engine's packet; 1 + 63 * 4 = 253 bytes
    0x03 reply       float32s of the rotations; 1 + 24 * 4 = 97 bytes
    0 or 1 byte      a ping
Decoding is total: every sequence of bytes is a message or `Refused`. Lengths are checked before floats are read.
A `Session` has no sockets: datagrams go in with their sender's address, answers come out. So a test can try every malformed
byte, and the same code runs over any transport. Only an interrupt or the number of frames ends a server; no datagram can.
"""

import logging
import socket
import struct
from collections import Counter, OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import zip_longest

import numpy as np

from rigpact.contract.errors import UnusableInput
from rigpact.contract.pages.registry import find_system
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.graph.network import Evaluate
from rigpact.reference_runtime.graph.run import stages_from
from rigpact.reference_runtime.operations.scalars import LENGTHS

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


class Refused(Exception):
    """A datagram that is not a valid message, and the reason."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(f"{reason.value} ({detail})")
        self.reason, self.detail = reason, detail


Message = tuple[str, ...] | FloatArray | None
"""The bones of a handshake, in order; the floats of a frame, (63,) float32; None of a ping."""


def decode(datagram: bytes) -> Message:
    """What a client's datagram says; `Refused` for one that is no message. The floats behind the first byte are copied."""
    if len(datagram) > LARGEST_DATAGRAM:
        raise Refused(Reason.TOO_LARGE, f"{len(datagram)} bytes")
    if len(datagram) <= 1:
        return None
    kind, expected = datagram[0], 1 + 4 * PACKET.width
    if kind == HANDSHAKE:
        return _bones(datagram)
    if kind != FRAME:
        reason = Reason.REPLY_TO_SERVER if kind == REPLY else Reason.UNKNOWN_KIND
        raise Refused(reason, f"0x{kind:02x}, {len(datagram)} bytes")
    if len(datagram) != expected:
        raise Refused(Reason.FRAME_LENGTH, f"{len(datagram)} bytes, expected {expected}")
    values: FloatArray = np.frombuffer(datagram, "<f4", offset=1).astype(np.float32)
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise Refused(Reason.NOT_FINITE, f"float {bad[0]}")
    return values


def encode_reply(values: FloatArray) -> bytes:
    """0x03 and the floats: four bytes each. The published build used one byte each."""
    return bytes([REPLY]) + np.ascontiguousarray(values, "<f4").tobytes()


def _bones(datagram: bytes) -> tuple[str, ...]:
    bones: list[str] = []
    offset = 1
    while offset < len(datagram):
        if len(bones) == MOST_BONES:
            raise Refused(Reason.TOO_MANY_BONES, f"{len(datagram)} bytes")
        bones.append(_bone(datagram, offset, len(bones)))
        offset += _BONE.size + len(bones[-1])
    if len(set(bones)) != len(bones):
        raise Refused(Reason.BONE_REPEATED, f"{len(bones)} bones, {len(set(bones))} names")
    return tuple(bones)


def _bone(datagram: bytes, offset: int, place: int) -> str:
    """The name at an offset; it must be the name of bone `place`."""
    left = len(datagram) - offset - _BONE.size
    if left < 0:
        raise Refused(Reason.HANDSHAKE_CUT_OFF, f"{len(datagram) - offset} bytes left at byte {offset}")
    index, length = _BONE.unpack_from(datagram, offset)
    raw = datagram[offset + _BONE.size : offset + _BONE.size + max(length, 0)]
    for is_wrong, reason, detail in (
        (not 1 <= length <= LONGEST_NAME, Reason.NAME_LENGTH, f"{length} at byte {offset + 4}"),
        (left < length, Reason.HANDSHAKE_CUT_OFF, f"a name of {length} bytes, {left} left"),
        (index != place, Reason.BONE_INDEX, f"{index} at place {place}"),
        (not all(0x20 <= byte < 0x7F for byte in raw), Reason.NAME_BYTES, f"bone {place}"),
    ):
        if is_wrong:
            raise Refused(reason, detail)
    return raw.decode("ascii")


logger = logging.getLogger(__name__)
MOST_PEERS = 64
"""Number of remembered handshakes; the client that was silent for the longest time is removed first."""
LOGGED_EACH = 20
"""The first refusals of each reason are logged one by one, later only every hundredth."""
UNIT_WITHIN, LARGEST_VALUE = 1e-2, 1e5
_QUATERNIONS = [each.start for each in PACKET if each.name.endswith("_quat")]
_DEAD_TAIL = PACKET["ground_normal_r"].start
Address = tuple[str, int]


@dataclass
class Counts:
    """Counts of received messages."""

    frames: int = 0
    pings: int = 0
    handshakes: int = 0
    refused: Counter[Reason] = field(default_factory=Counter)


def answer_with(contract: Contract, evaluate: Evaluate) -> Callable[[FloatArray], FloatArray]:
    """A function from a packet (63,) to a reply (24,): scaled, through the network, unit, w not negative."""

    def answer(packet: FloatArray) -> FloatArray:
        known = {"packet": np.asarray(packet, np.float32)[None]}
        reply: FloatArray = stages_from(contract, known, evaluate)["reply"][0]
        return reply

    return answer


class Session:
    """Datagrams in, answers out. No datagram can end a session."""

    def __init__(self, answer: Callable[[FloatArray], FloatArray], *, needs_handshake: bool = True) -> None:
        """answer: from a packet (63,) to the reply's floats.

        needs_handshake: refuse frames of a client that did not name its bones; the public builds of 63 floats take them.
        """
        self.counts, self._answer = Counts(), answer
        self._peers: OrderedDict[Address, None] = OrderedDict()
        self._needs_handshake = needs_handshake

    def receive(self, datagram: bytes, sender: Address) -> bytes | None:
        """Handle one datagram; returns the reply, if there is one."""
        try:
            match decode(datagram):
                case None:
                    self.counts.pings += 1
                case tuple(bones):
                    self._handshake(bones, sender)
                case values:  # every sound frame is answered
                    self._refuse_frame(values, sender)
                    self.counts.frames += 1
                    return encode_reply(self._answer(values))
        except Refused as refusal:
            self.refuse(refusal, sender)
        return None

    def _handshake(self, bones: tuple[str, ...], sender: Address) -> None:
        if bones != RIG_BONES:
            differs = (here != there for here, there in zip_longest(bones, RIG_BONES))
            place = next(index for index, other in enumerate(differs) if other)
            detail = f"{len(bones)} bones for {len(RIG_BONES)}, the first other one at place {place}"
            raise Refused(Reason.OTHER_RIG, detail)
        self.counts.handshakes += 1
        self._peers[sender] = None
        self._peers.move_to_end(sender)
        while len(self._peers) > MOST_PEERS:
            self._peers.popitem(last=False)

    def _refuse_frame(self, values: FloatArray, sender: Address) -> None:
        if sender in self._peers:
            self._peers.move_to_end(sender)
        elif self._needs_handshake:
            raise Refused(Reason.NO_HANDSHAKE, f"from {sender[0]}:{sender[1]}")
        refuse_frame(values)

    def refuse(self, refusal: Refused, sender: Address) -> None:
        """Count and log a datagram that is no message, or that the transport could not take."""
        self.counts.refused[refusal.reason] += 1
        count = self.counts.refused[refusal.reason]
        if count <= LOGGED_EACH or count % 100 == 0:
            logger.warning("refused from %s:%d: %s, %d so far", *sender, refusal, count)


def refuse_frame(values: FloatArray) -> None:
    """`Refused` for the numbers of a frame that no engine sends."""
    if np.abs(values).max() > LARGEST_VALUE:
        raise Refused(Reason.TOO_LARGE_VALUE, f"float {int(np.argmax(np.abs(values)))}")
    if not values[_DEAD_TAIL:].any():
        filled = np.flatnonzero(values)
        raise Refused(Reason.DEAD_INPUT, f"everything from float {filled[-1] + 1 if len(filled) else 0} on is zero")
    lengths = np.array([LENGTHS["euclidean"](values[start : start + 4].astype(np.float64)) for start in _QUATERNIONS])
    wrong = np.flatnonzero(np.abs(lengths - 1.0) > UNIT_WITHIN)
    if len(wrong):
        raise Refused(Reason.NOT_UNIT, f"float {_QUATERNIONS[wrong[0]]} begins one of length {lengths[wrong[0]]:.3g}")


RECEIVE_BUFFER_BYTES = 4 << 20
"""Requested buffer size: four seconds of frames from a hundred clients. The operating system may give less."""
_LOOK_UP_S = 0.1


class Server:
    """Receives, hands to the session, sends back. `address`, which must be free, is where it listens; port 0 takes any."""

    def __init__(self, session: Session, host: str = "127.0.0.1", port: int = 6003) -> None:
        self.session = session
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)
        self._socket.settimeout(_LOOK_UP_S)
        try:
            self._socket.bind((host, port))
        except (OSError, OverflowError) as error:
            self._socket.close()
            found = f"an address that cannot be bound ({error})"
            raise UnusableInput(f"{host}:{port}", found, "a free UDP port") from None
        self.address: tuple[str, int] = self._socket.getsockname()

    def serve(self, frames: int | None = None) -> None:
        """Serve until `frames` frames were received; without a number, until it is interrupted. Then release the address."""
        with self._socket:
            while frames is None or self.session.counts.frames < frames:
                try:
                    datagram, sender = self._socket.recvfrom(LARGEST_DATAGRAM + 1)
                except (TimeoutError, ConnectionResetError):  # the second on Windows: an answer reached a closed port
                    continue
                except OSError as error:  # on Windows: larger than the buffer
                    self.session.refuse(Refused(Reason.TOO_LARGE, str(error)), ("?", 0))
                    continue
                answer = self.session.receive(datagram, sender)
                if answer is not None:
                    with suppress(OSError):  # this client cannot be reached; the others are still served
                        self._socket.sendto(answer, sender)
