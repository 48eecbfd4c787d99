"""The state of a server: clients after a handshake, counts of refusals, and whether the network still learns or already
solves.

This module has no sockets: datagrams go in with their sender's address, answers come out. So a test can try every
malformed byte, and the same code runs over any transport.
"""

import logging
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.operations.definitions.scaling import LENGTHS
from rigpact.reference_runtime.systems.neurarig.wire import (
    LEGS,
    PACKET,
    Frame,
    Handshake,
    Ping,
    Profile,
    Reason,
    Refusal,
    decode_at_server,
    encode_reply,
)

logger = logging.getLogger(__name__)
MOST_PEERS = 64
"""Number of remembered handshakes; the client that was silent for the longest time is removed first."""
LOGGED_EACH = 20
"""The first refusals of each reason are logged one by one, later only every hundredth."""
UNIT_WITHIN, LARGEST_VALUE = 1e-2, 1e5
STEADY_FRAMES = 30
"""Number of consecutive frames with a loss below the threshold before the network solves: one good frame is not
enough."""
_QUATERNIONS = [each.start for each in PACKET if each.name.endswith("_quat")]
_DEAD_TAIL = PACKET["ground_normal_r"].start
Address = tuple[str, int]


class Learner(Protocol):
    """The network of a session: it answers and may learn."""

    def learn(self, values: FloatArray) -> float | None:
        """Take one step on a frame and return its loss before the step; None if it does not learn."""
        ...

    def answer(self, values: FloatArray) -> FloatArray:
        """The reply's floats for a frame."""
        ...


@dataclass
class Counts:
    """Counts of received and sent messages."""

    frames: int = 0
    pings: int = 0
    handshakes: int = 0
    replies: int = 0
    refused: Counter[Reason] = field(default_factory=Counter)

    @property
    def datagrams(self) -> int:
        """Number of all received datagrams."""
        return self.frames + self.pings + self.handshakes + sum(self.refused.values())


class Session:
    """Datagrams in, answers out. No datagram can end a session."""

    def __init__(
        self,
        learner: Learner,
        profile: Profile = LEGS,
        solve_below: float | None = None,
        on_frame: Callable[[int, float], None] | None = None,
        *,
        needs_handshake: bool = True,
    ) -> None:
        """solve_below: the loss below which frames are answered; None: answer from the first frame and do not learn.

        needs_handshake: refuse frames of a client that did not name its bones; the public builds of 63 floats take them.
        """
        self.profile, self.counts = profile, Counts()
        self.solving = solve_below is None
        self.switched_at: int | None = None
        self.last_loss: float | None = None
        self._learner, self._solve_below, self._on_frame = learner, solve_below, on_frame
        self._peers: OrderedDict[Address, None] = OrderedDict()
        self._needs_handshake = needs_handshake
        self._steady: deque[bool] = deque(maxlen=STEADY_FRAMES)
        self._before: FloatArray | None = None

    def receive(self, datagram: bytes, sender: Address) -> bytes | None:
        """Handle one datagram; returns the reply, if there is one."""
        message = decode_at_server(datagram, self.profile)
        if isinstance(message, Frame):
            refusal = self._frame_refusal(message, sender)
            if refusal is None:
                return self._frame(message.values)
            self._refuse(refusal, sender)
        if isinstance(message, Ping):
            self.counts.pings += 1
        elif isinstance(message, Handshake):
            self._handshake(message, sender)
        elif isinstance(message, Refusal):
            self._refuse(message, sender)
        return None

    def refuse(self, reason: Reason, detail: str, sender: Address) -> None:
        """Count and log a datagram that the transport could not take."""
        self._refuse(Refusal(reason, detail), sender)

    def _handshake(self, message: Handshake, sender: Address) -> None:
        if message.bones != self.profile.bones:
            place = next(
                (
                    index
                    for index, pair in enumerate(zip(message.bones, self.profile.bones, strict=False))
                    if len(set(pair)) > 1
                ),
                min(len(message.bones), len(self.profile.bones)),
            )
            detail = f"{len(message.bones)} bones for {len(self.profile.bones)}, the first other one at place {place}"
            self._refuse(Refusal(Reason.OTHER_RIG, detail), sender)
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
        return frame_refusal(message.values, self.profile)

    def _frame(self, values: FloatArray) -> bytes | None:
        self.counts.frames += 1
        loss = None if self._solve_below is None else self._learner.learn(values)
        if loss is not None:
            self._judge(values, loss)
        if not self.solving:
            return None
        self.counts.replies += 1
        return encode_reply(self._learner.answer(values))

    def _judge(self, values: FloatArray, loss: float) -> None:
        """Switch to solving once the loss stays low on frames whose loss depends on the answer."""
        self.last_loss = loss
        if self._on_frame is not None:
            self._on_frame(self.counts.frames, loss)
        told = shows_something(values, self.profile)
        self._steady.append(told and loss < (self._solve_below or 0.0))
        if not self.solving and len(self._steady) == STEADY_FRAMES and all(self._steady):
            self.solving, self.switched_at = True, self.counts.frames
            logger.info("solving from frame %d on, loss %.3g", self.counts.frames, loss)

    def _refuse(self, refusal: Refusal, sender: Address) -> None:
        self.counts.refused[refusal.reason] += 1
        count = self.counts.refused[refusal.reason]
        if count <= LOGGED_EACH or count % 100 == 0:
            logger.warning(
                "refused from %s:%d: %s (%s), %d so far",
                sender[0],
                sender[1],
                refusal.reason.value,
                refusal.detail,
                count,
            )


def frame_refusal(values: FloatArray, profile: Profile) -> Refusal | None:
    """The problem with the numbers of a frame, or None. Only frames of the legs profile have fields to check."""
    if np.abs(values).max() > LARGEST_VALUE:
        return Refusal(Reason.TOO_LARGE_VALUE, f"float {int(np.argmax(np.abs(values)))}")
    if profile is not LEGS:
        return None
    if not values[_DEAD_TAIL:].any():
        filled = np.flatnonzero(values)
        return Refusal(Reason.DEAD_INPUT, f"everything from float {filled[-1] + 1 if len(filled) else 0} on is zero")
    lengths = np.array([LENGTHS["euclidean"](values[start : start + 4].astype(np.float64)) for start in _QUATERNIONS])
    wrong = np.flatnonzero(np.abs(lengths - 1.0) > UNIT_WITHIN)
    if len(wrong):
        return Refusal(Reason.NOT_UNIT, f"float {_QUATERNIONS[wrong[0]]} begins one of length {lengths[wrong[0]]:.3g}")
    return None


def shows_something(values: FloatArray, profile: Profile) -> bool:
    """Whether the loss of this frame depends on the answer: without a hit under any foot the loss is masked."""
    if profile is not LEGS:
        return True
    return any(values[PACKET[f"has_hit_{side}"].start] > 0.0 for side in ("r", "l"))
