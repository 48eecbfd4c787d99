"""A UDP socket around a session. It ends when it is told to, and through nothing that comes in."""

from __future__ import annotations

import socket
import threading

from rigpact.contract.errors import UnusableInput
from rigpact.reference_runtime.systems.neurarig.session import Session
from rigpact.reference_runtime.systems.neurarig.wire import LARGEST_DATAGRAM, Reason

DEFAULT_HOST, DEFAULT_PORT = "127.0.0.1", 6003
RECEIVE_BUFFER_BYTES = 4 << 20
"""Asked of the system, which may give less: four seconds of frames of a hundred clients."""
_LOOK_UP_S = 0.1


class Server:
    """Receives, hands to the session, sends back. `address` is where it listens; port 0 takes a free one."""

    def __init__(self, session: Session, host: str = DEFAULT_HOST, port: int = DEFAULT_PORT) -> None:
        """Bind; UnusableInput where the address cannot be had."""
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
        self.not_sent = 0

    def serve(self, frames: int | None = None) -> None:
        """Serve until `stop`, or until so many frames were taken."""
        while not self._stop.is_set() and (frames is None or self.session.counts.frames < frames):
            self._serve_one()

    def _serve_one(self) -> None:
        try:
            datagram, sender = self._socket.recvfrom(LARGEST_DATAGRAM + 1)
        except TimeoutError:
            return
        except ConnectionResetError:  # Windows, where an answer reached a port that is closed by now
            self.not_sent += 1
            return
        except OSError as error:
            if self._stop.is_set():
                return
            self.session.refuse(Reason.TOO_LARGE, str(error), ("?", 0))  # Windows, where it does not fit the buffer
            return
        answer = self.session.receive(datagram, sender)
        if answer is not None:
            try:
                self._socket.sendto(answer, sender)
            except OSError:  # whoever asked cannot be reached; that is no reason to stop for the others
                self.not_sent += 1

    def stop(self) -> None:
        """End `serve` after the datagram in hand."""
        self._stop.set()

    def close(self) -> None:
        """Give the address back."""
        self.stop()
        self._socket.close()
