"""NeuraRig's datagrams in a capture of a network: .pcap, as tcpdump and Wireshark write it. Engine and server stay as they are.

Only IPv4 and UDP of the ports that are named are looked at; what else the capture holds is passed over. A reply belongs to the
last frame before it, because the messages have no numbers.
"""

import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from rigpact.contract.errors import UnusableInput
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.systems.neurarig.wire import (
    LEGS,
    Frame,
    Profile,
    Refusal,
    Reply,
    decode_at_client,
    decode_at_server,
)

_MAGIC = {b"\xa1\xb2\xc3\xd4": ">", b"\xd4\xc3\xb2\xa1": "<", b"\xa1\xb2\x3c\x4d": ">", b"\x4d\x3c\xb2\xa1": "<"}
"""Byte order by the first four bytes; the last two are of captures with nanoseconds."""
_NEXT_GENERATION = b"\x0a\x0d\x0d\x0a"
_LINK_BYTES = {0: 4, 1: 14, 12: 0, 101: 0, 113: 16, 228: 0, 276: 20}
"""Bytes before the IPv4 header by the kind of link: loopback, Ethernet, raw, Linux cooked 1, raw IPv4, Linux cooked 2."""
_FILE_HEADER, _RECORD_HEADER, _UDP, _MOST_BYTES = 24, 16, 17, 65_535


@dataclass
class Captured:
    """The frames (T, floats) of a capture, and of which each reply is; datagrams that are neither, by what is wrong with them."""

    frames: FloatArray
    replies: dict[int, FloatArray] = field(default_factory=dict)
    refusals: Counter[str] = field(default_factory=Counter)


def read_capture(
    content: bytes, path: Path, port: int, profile: Profile = LEGS, reply_port: int | None = None
) -> Captured:
    """The frames sent to a port, and the replies; UnusableInput where there are no frames.

    reply_port: the port that replies are sent to; None: they come from the port of the frames.
    """
    frames: list[FloatArray] = []
    captured = Captured(np.empty((0, profile.frame_floats), np.float32))
    for source, destination, datagram in _datagrams(content, path):
        is_reply = source == port if reply_port is None else destination == reply_port
        if destination != port and not is_reply:
            continue
        message = decode_at_server(datagram, profile) if destination == port else decode_at_client(datagram, profile)
        if isinstance(message, Frame):
            frames.append(message.values)
        elif isinstance(message, Reply) and frames and len(frames) - 1 not in captured.replies:
            captured.replies[len(frames) - 1] = message.values
        elif isinstance(message, Reply):
            captured.refusals["a reply without a frame before it, or a second one"] += 1
        elif isinstance(message, Refusal):
            captured.refusals[f"{message.reason}: {message.detail}"] += 1
    if not frames:
        refused = "".join(f"; refused {count} times: {words}" for words, count in captured.refusals.items())
        raise UnusableInput(
            path, f"no frame to port {port}{refused}", "datagrams of NeuraRig", "--port is the server's"
        )
    captured.frames = np.stack(frames)
    return captured


def _datagrams(content: bytes, path: Path) -> Iterator[tuple[int, int, bytes]]:
    """Source port, destination port and payload of every UDP datagram."""
    order = _MAGIC.get(content[:4])
    if order is None:
        hint = "editcap -F pcap IN OUT" if content[:4] == _NEXT_GENERATION else "tcpdump -w capture.pcap udp port 6003"
        found = "a pcapng file" if content[:4] == _NEXT_GENERATION else "another kind of file"
        raise UnusableInput(path, found, "a .pcap file", hint)
    if len(content) < _FILE_HEADER:
        raise UnusableInput(path, f"{len(content)} bytes", f"a file header of {_FILE_HEADER}")
    link = struct.unpack_from(f"{order}I", content, 20)[0] & 0xFFFF
    if link not in _LINK_BYTES:
        raise UnusableInput(path, f"a link of kind {link}", f"one of {', '.join(map(str, _LINK_BYTES))}")
    at = _FILE_HEADER
    while at < len(content):
        if at + _RECORD_HEADER > len(content):
            raise UnusableInput(
                path, f"{len(content) - at} bytes at the end", "whole packets", "the capture was cut off"
            )
        kept, sent = struct.unpack_from(f"{order}II", content, at + 8)
        start = at + _RECORD_HEADER
        if kept > _MOST_BYTES or start + kept > len(content):
            raise UnusableInput(
                path, f"a packet of {kept} bytes at byte {at}", "whole packets", "the capture was cut off"
            )
        if kept < sent:
            raise UnusableInput(path, f"{kept} of {sent} bytes of a packet", "whole packets", "tcpdump -s 0")
        yield from _udp(content[start + _LINK_BYTES[link] : start + kept])
        at = start + kept


def _udp(packet: bytes) -> Iterator[tuple[int, int, bytes]]:
    """The datagram of an IPv4 packet, if it is one of UDP and whole."""
    if len(packet) < 20 or packet[0] >> 4 != 4 or packet[9] != _UDP:
        return
    header, fragment = 4 * (packet[0] & 0x0F), struct.unpack_from(">H", packet, 6)[0] & 0x3FFF
    if fragment or len(packet) < header + 8:
        return
    source, destination, length = struct.unpack_from(">HHH", packet, header)
    payload = packet[header + 8 : header + length]
    if length >= 8 and len(payload) == length - 8:
        yield source, destination, payload
