"""The state of a server: clients after a handshake, and counts of what came in.

This module has no sockets: datagrams go in with their sender's address, answers come out. So a test can try every
malformed byte, and the same code runs over any transport.
"""

import logging
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import zip_longest

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.graph.network import Evaluate
from rigpact.reference_runtime.graph.run import stages_from
from rigpact.reference_runtime.operations.scalars import LENGTHS
from rigpact.reference_runtime.systems.neurarig.wire import (
    PACKET,
    RIG_BONES,
    Frame,
    Handshake,
    Ping,
    Reason,
    Refusal,
    decode,
    encode_reply,
)

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
        message = decode(datagram)
        if isinstance(message, Frame):
            message = self._frame_refusal(message, sender) or message
        match message:
            case Frame():  # every one is answered
                self.counts.frames += 1
                return encode_reply(self._answer(message.values))
            case Ping():
                self.counts.pings += 1
            case Handshake():
                self._handshake(message, sender)
            case Refusal():
                self.refuse(message, sender)
        return None

    def _handshake(self, message: Handshake, sender: Address) -> None:
        if message.bones != RIG_BONES:
            differs = (here != there for here, there in zip_longest(message.bones, RIG_BONES))
            place = next(index for index, other in enumerate(differs) if other)
            detail = f"{len(message.bones)} bones for {len(RIG_BONES)}, the first other one at place {place}"
            self.refuse(Refusal(Reason.OTHER_RIG, detail), sender)
            return
        self.counts.handshakes += 1
        self._peers[sender] = None
        self._peers.move_to_end(sender)
        while len(self._peers) > MOST_PEERS:
            self._peers.popitem(last=False)

    def _frame_refusal(self, message: Frame, sender: Address) -> Refusal | None:
        """The reason to refuse a frame, or None."""
        if sender in self._peers:
            self._peers.move_to_end(sender)
        elif self._needs_handshake:
            return Refusal(Reason.NO_HANDSHAKE, f"from {sender[0]}:{sender[1]}")
        return frame_refusal(message.values)

    def refuse(self, refusal: Refusal, sender: Address) -> None:
        """Count and log a datagram that is no message, or that the transport could not take."""
        self.counts.refused[refusal.reason] += 1
        count = self.counts.refused[refusal.reason]
        if count <= LOGGED_EACH or count % 100 == 0:
            words = "refused from %s:%d: %s (%s), %d so far"
            logger.warning(words, *sender, refusal.reason.value, refusal.detail, count)


def frame_refusal(values: FloatArray) -> Refusal | None:
    """The problem with the numbers of a frame, or None."""
    if np.abs(values).max() > LARGEST_VALUE:
        return Refusal(Reason.TOO_LARGE_VALUE, f"float {int(np.argmax(np.abs(values)))}")
    if not values[_DEAD_TAIL:].any():
        filled = np.flatnonzero(values)
        return Refusal(Reason.DEAD_INPUT, f"everything from float {filled[-1] + 1 if len(filled) else 0} on is zero")
    lengths = np.array([LENGTHS["euclidean"](values[start : start + 4].astype(np.float64)) for start in _QUATERNIONS])
    wrong = np.flatnonzero(np.abs(lengths - 1.0) > UNIT_WITHIN)
    if len(wrong):
        return Refusal(Reason.NOT_UNIT, f"float {_QUATERNIONS[wrong[0]]} begins one of length {lengths[wrong[0]]:.3g}")
    return None
