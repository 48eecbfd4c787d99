"""The engine's side of the protocol: send frames at a rate, and keep the replies with their frames."""

import socket
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from rigpact.contract.errors import UnusableInput
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.systems.neurarig.server import DEFAULT_HOST, DEFAULT_PORT
from rigpact.reference_runtime.systems.neurarig.wire import (
    LARGEST_DATAGRAM,
    LEGS,
    Message,
    Profile,
    Refusal,
    Reply,
    decode_at_client,
    encode_frame,
    encode_handshake,
)

LAST_REPLY_S = 0.5


@dataclass
class Played:
    """Data of a client's session.

    replies (N, reply floats); frame_of (N,): the assumed frame of each reply; refusals: datagrams that are not replies, by
    their fault.
    """

    sent: int = 0
    refusals: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    replies: list[FloatArray] = field(default_factory=list)
    frame_of: list[int] = field(default_factory=list)

    @property
    def refused(self) -> int:
        """Number of datagrams that are not replies."""
        return self.refusals.total()


def play(
    frames: FloatArray,
    host: str = DEFAULT_HOST,
    port: int = DEFAULT_PORT,
    rate_hz: float = 60.0,
    profile: Profile = LEGS,
    sleep: Callable[[float], None] = time.sleep,
    *,
    shakes_hands: bool = True,
) -> Played:
    """Shake hands, send rows (T, frame floats) at a rate and collect the replies.

    The protocol has no message numbers. Replies are assigned to frames in order, beginning with the first answered frame:
    no reply belongs to a frame that was sent after it came.
    """
    played, latest = Played(), len(frames)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as wire:
        try:
            wire.connect((host, port))
        except (OSError, OverflowError) as error:
            raise UnusableInput(f"{host}:{port}", f"an address that cannot be reached ({error})", "a server") from None
        wire.settimeout(0.0)  # receiving never blocks
        start = time.monotonic()
        if shakes_hands:
            _send(wire, encode_handshake(profile.bones), (host, port))
        for index, row in enumerate(frames):
            ahead = start + index / rate_hz - time.monotonic()
            if ahead > 0.0:
                sleep(ahead)
            _collect(wire, played, profile)
            if played.replies:
                latest = min(latest, played.sent - len(played.replies))
            _send(wire, encode_frame(row), (host, port))
            played.sent += 1
        _collect_last(wire, played, profile)
        played.seconds = time.monotonic() - start
    first = max(min(latest, played.sent - len(played.replies)), 0)
    played.frame_of = list(range(first, first + len(played.replies)))
    return played


def _send(wire: socket.socket, datagram: bytes, address: tuple[str, int]) -> None:
    try:
        wire.send(datagram)
    except ConnectionRefusedError:
        raise UnusableInput(
            f"{address[0]}:{address[1]}", "no server", "a server that listens there", "rigpact neurarig serve"
        ) from None


def _collect(wire: socket.socket, played: Played, profile: Profile) -> bool:
    """Take all received datagrams; return whether there was any."""
    found = False
    while True:
        try:
            message = decode_at_client(wire.recv(LARGEST_DATAGRAM), profile)
        except BlockingIOError:
            return found
        except (ConnectionRefusedError, ConnectionResetError):
            return found  # the next send reports the error
        found = True
        if isinstance(message, Reply):
            played.replies.append(message.values)
        else:
            played.refusals[_words(message)] += 1


def _words(message: Message) -> str:
    return (
        f"{message.reason.value}: {message.detail}" if isinstance(message, Refusal) else "a message that is not a reply"
    )


def _collect_last(wire: socket.socket, played: Played, profile: Profile) -> None:
    """Wait for the last replies until no more arrive."""
    deadline = time.monotonic() + LAST_REPLY_S
    while time.monotonic() < deadline and len(played.replies) < played.sent:
        if _collect(wire, played, profile):
            deadline = time.monotonic() + LAST_REPLY_S
        time.sleep(0.005)


def replies_of(played: Played, width: int) -> FloatArray:
    """The replies as rows, (N, width)."""
    return np.stack(played.replies) if played.replies else np.zeros((0, width), np.float32)
