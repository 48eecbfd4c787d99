"""A UDP socket around a session. Only `stop` or the number of frames ends it; no datagram can."""

import socket
import threading
from contextlib import suppress

from rigpact.contract.errors import UnusableInput
from rigpact.reference_runtime.systems.neurarig.session import Session
from rigpact.reference_runtime.systems.neurarig.wire import LARGEST_DATAGRAM, Reason, Refusal

RECEIVE_BUFFER_BYTES = 4 << 20
"""Requested buffer size: four seconds of frames from a hundred clients. The operating system may give less."""
_LOOK_UP_S = 0.1


class Server:
    """Receives, hands to the session, sends back. `address` is where it listens; port 0 takes a free one."""

    def __init__(self, session: Session, host: str = "127.0.0.1", port: int = 6003) -> None:
        """Bind; UnusableInput if the address is not available."""
        self.session = session
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)
        self._socket.settimeout(_LOOK_UP_S)
        try:
            self._socket.bind((host, port))
        except (OSError, OverflowError) as error:
            self._socket.close()
            raise UnusableInput(
                f"{host}:{port}", f"an address that cannot be bound ({error})", "a free UDP port"
            ) from None
        self.address: tuple[str, int] = self._socket.getsockname()
        self._stop = threading.Event()

    def serve(self, frames: int | None = None) -> None:
        """Serve until `stop`, or until `frames` frames were received."""
        while not self._stop.is_set() and (frames is None or self.session.counts.frames < frames):
            self._serve_one()

    def _serve_one(self) -> None:
        try:
            datagram, sender = self._socket.recvfrom(LARGEST_DATAGRAM + 1)
        except (TimeoutError, ConnectionResetError):  # the second on Windows: an answer reached a closed port
            return
        except OSError as error:
            if self._stop.is_set():
                return
            self.session.refuse(Refusal(Reason.TOO_LARGE, str(error)), ("?", 0))  # on Windows: larger than the buffer
            return
        answer = self.session.receive(datagram, sender)
        if answer is not None:
            with suppress(OSError):  # this client cannot be reached; the others are still served
                self._socket.sendto(answer, sender)

    def stop(self) -> None:
        """End `serve` after the current datagram."""
        self._stop.set()

    def close(self) -> None:
        """Release the address."""
        self.stop()
        self._socket.close()
