"""NeuraRig's datagrams: golden bytes in both directions; every malformed one is refused and counted."""

import json
import logging
import struct
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rigpact.fixtures.systems.neurarig.facts import BONES, REST_POSITIONS_CM
from rigpact.reference_runtime.systems.neurarig.client import play
from rigpact.reference_runtime.systems.neurarig.server import Server
from rigpact.reference_runtime.systems.neurarig.session import STEADY_FRAMES, Session
from rigpact.reference_runtime.systems.neurarig.wire import (
    LEGS,
    TWO_BONE,
    Frame,
    Handshake,
    Ping,
    Reason,
    Refusal,
    Reply,
    decode_at_client,
    decode_at_server,
    encode_frame,
    encode_handshake,
    encode_reply,
)
from rigpact.training.neurarig.walk import walk_rows

from ..every_case import every_case
from ..measuring.scores.training_sides.datagrams import damaged_datagrams

BUNDLE = Path(__file__).parents[2] / "fixtures" / "bundles" / "neurarig"
PEER, OTHER_PEER = ("127.0.0.1", 40_001), ("127.0.0.1", 40_002)
HELLO = encode_handshake(LEGS.bones)
SOUND_REPLY = encode_reply(np.arange(24.0))


def sound_packet() -> np.ndarray:
    """A frame whose quaternions are unit and whose end is filled; w is last."""
    values = np.zeros(63, np.float32)
    for start in (6, 13, 20, 27, 34, 41, 48):
        values[start] = 1.0
    values[0:3] = REST_POSITIONS_CM["pelvis"]
    values[49:53], values[53:57] = (0.0, 0.0, 1.0, 1.0), (0.0, 0.0, 1.0, 1.0)
    values[57:63] = 3.0, 4.0, -80.0, -3.0, 4.0, -80.0
    return values


class Teacher:
    """A learner with losses fixed in advance."""

    def __init__(self, losses: list[float] | None = None) -> None:
        self.losses, self.seen = list(losses or []), 0

    def learn(self, values: np.ndarray) -> float | None:
        self.seen += 1
        return self.losses.pop(0) if self.losses else 1e-9

    def answer(self, values: np.ndarray) -> np.ndarray:
        return np.arange(24, dtype=np.float32)


def test_the_published_handshake_is_read() -> None:
    """29 bytes: what the early build's log shows for two feet."""
    golden = bytes.fromhex("010000000006000000666f6f745f720100000006000000666f6f745f6c")

    assert len(golden) == 29
    assert decode_at_server(golden, TWO_BONE) == Handshake(("foot_r", "foot_l"))
    assert encode_handshake(("foot_r", "foot_l")) == golden


def test_a_frame_is_253_bytes_little_endian_from_byte_1() -> None:
    """Read big-endian or from byte 0, every number is another one."""
    datagram = b"\x02" + struct.pack("<63f", *[float(place) for place in range(63)])

    message = decode_at_server(datagram, LEGS)

    assert len(datagram) == 253
    assert isinstance(message, Frame)
    assert message.values.tolist() == list(range(63))
    assert encode_frame(np.arange(63.0)) == datagram


def test_a_reply_is_97_bytes_and_one_of_25_is_refused() -> None:
    """The published build counted floats as bytes: six of 24 rotations arrived, and the rest stayed where they were."""
    datagram = encode_reply(np.arange(24.0))
    whole, short = decode_at_client(datagram, LEGS), decode_at_client(datagram[:25], LEGS)

    assert datagram == b"\x03" + struct.pack("<24f", *[float(place) for place in range(24)])
    assert isinstance(whole, Reply)
    assert whole.values.tolist() == list(range(24))
    assert isinstance(short, Refusal)
    assert short.reason is Reason.REPLY_LENGTH


def test_the_committed_datagrams_are_those_of_the_committed_clip() -> None:
    """Engine teams test their own encoder against these bytes."""
    golden = {
        name: bytes.fromhex(text) for name, text in json.loads((BUNDLE / "golden_datagrams.json").read_text()).items()
    }
    frame, reply = decode_at_server(golden["frame"], LEGS), decode_at_client(golden["reply"], LEGS)

    assert golden["handshake"] == HELLO
    assert isinstance(frame, Frame)
    np.testing.assert_array_equal(frame.values[:49], walk_rows()[0, :49])
    assert isinstance(reply, Reply)
    np.testing.assert_allclose(np.linalg.norm(reply.values.reshape(6, 4), axis=1), 1.0, atol=1e-6)
    assert (reply.values.reshape(6, 4)[:, 3] >= 0.0).all()


def entry(index: int, name: bytes, length: int | None = None) -> bytes:
    """One bone of a handshake."""
    return struct.pack("<ii", index, len(name) if length is None else length) + name


SOUND = encode_frame(sound_packet())
MALFORMED = [
    ("a header alone is a ping", b"\x02", None),
    ("nothing is a ping", b"", None),
    ("a frame without its numbers", b"\x02\x00", Reason.FRAME_LENGTH),
    ("a frame of the bones' vectors, 49 bytes", b"\x02" + bytes(48), Reason.FRAME_LENGTH),
    ("a frame of the older build, 349 bytes", b"\x02" + bytes(348), Reason.FRAME_LENGTH),
    ("a frame of the next build, 265 bytes", b"\x02" + bytes(264), Reason.FRAME_LENGTH),
    ("a frame one byte short", SOUND[:-1], Reason.FRAME_LENGTH),
    ("a frame one byte long", SOUND + b"\x00", Reason.FRAME_LENGTH),
    ("a frame of the last build, without a header", struct.pack("<26f", *[2.0] * 26), Reason.UNKNOWN_KIND),
    ("an early frame of three doubles", struct.pack("<3d", 1.0, 2.0, 3.0), Reason.UNKNOWN_KIND),
    ("a debug message", b"\x04" + bytes(24), Reason.UNKNOWN_KIND),
    ("a reply to the server", b"\x03" + bytes(96), Reason.REPLY_TO_SERVER),
    ("more than the buffer", b"\x02" + bytes(32_768), Reason.TOO_LARGE),
    ("a handshake cut in an index", HELLO[:3], Reason.HANDSHAKE_CUT_OFF),
    ("a handshake cut in a name", HELLO[:-2], Reason.HANDSHAKE_CUT_OFF),
    ("a name of no length", b"\x01" + entry(0, b""), Reason.NAME_LENGTH),
    ("a name of negative length", b"\x01" + entry(0, b"pelvis", -1), Reason.NAME_LENGTH),
    ("a name of 257 bytes", b"\x01" + entry(0, b"p" * 257), Reason.NAME_LENGTH),
    ("a name that says it is longer than the datagram", b"\x01" + entry(0, b"pelvis", 200), Reason.HANDSHAKE_CUT_OFF),
    ("a name with a NUL", b"\x01" + entry(0, b"pelvis\x00"), Reason.NAME_BYTES),
    ("an index that is not the next", b"\x01" + entry(7, b"pelvis"), Reason.BONE_INDEX),
    ("a negative index", b"\x01" + entry(-1, b"pelvis"), Reason.BONE_INDEX),
    ("two bones of one name", b"\x01" + entry(0, b"pelvis") + entry(1, b"pelvis"), Reason.BONE_REPEATED),
    ("257 bones", b"\x01" + b"".join(entry(place, b"b%d" % place) for place in range(257)), Reason.TOO_MANY_BONES),
    ("four bones, of which a batch of none was made", encode_handshake(("a", "b", "c", "d")), Reason.OTHER_RIG),
    ("left leg first", encode_handshake(("pelvis", *BONES[3:], *BONES[:3])), Reason.OTHER_RIG),
    ("a number that is none", encode_frame(np.where(np.arange(63) == 5, np.nan, sound_packet())), Reason.NOT_FINITE),
    ("a huge number", encode_frame(np.where(np.arange(63) == 5, 1e30, sound_packet())), Reason.TOO_LARGE_VALUE),
    ("63 bytes instead of 63 floats", SOUND[:64] + bytes(189), Reason.DEAD_INPUT),
    ("all zeros", b"\x02" + bytes(252), Reason.DEAD_INPUT),
    ("w first", encode_frame(np.roll(sound_packet(), 1)), Reason.NOT_UNIT),
]  # fmt: skip


@every_case(("what", "datagram", "reason"), MALFORMED, ids=[what for what, _, _ in MALFORMED])
def test_a_malformed_datagram_is_refused_and_the_session_goes_on(
    what: str, datagram: bytes, reason: Reason | None, caplog: pytest.LogCaptureFixture
) -> None:
    """In the original each of these reads past the end, trains on zeros, or takes the server down."""
    teacher = Teacher([5.0] * 3)
    session = Session(teacher, LEGS, solve_below=1.0)
    session.receive(HELLO, PEER)

    with caplog.at_level(logging.WARNING):
        assert session.receive(datagram, PEER) is None

    assert teacher.seen == 0, what
    assert dict(session.counts.refused) == ({} if reason is None else {reason: 1})
    assert session.counts.pings == (reason is None)
    assert len(caplog.records) == (reason is not None)
    session.receive(SOUND, PEER)
    assert (teacher.seen, session.counts.frames) == (1, 1)


def test_a_frame_before_the_handshake_is_refused() -> None:
    """The original crashes here: it uses a trainee that does not exist yet."""
    session = Session(Teacher(), LEGS, solve_below=1.0)
    session.receive(HELLO, OTHER_PEER)
    session.receive(SOUND, PEER)

    assert session.counts.refused == {Reason.NO_HANDSHAKE: 1}


def test_a_server_without_a_handshake_takes_frames_at_once() -> None:
    """The public builds of 63 floats have no handshake: refused frames would leave a working engine without an answer."""
    session = Session(Teacher(), LEGS, needs_handshake=False)

    assert session.receive(SOUND, PEER) == encode_reply(np.arange(24.0))
    assert session.counts.refused == {}


def test_it_solves_only_after_the_loss_stayed_low() -> None:
    """One lucky frame saved the weights of a network that had learned nothing."""
    losses = [9.0, 0.5, 9.0, *[0.5] * STEADY_FRAMES]
    session = Session(Teacher(losses), LEGS, solve_below=1.0)
    session.receive(HELLO, PEER)
    answers = [session.receive(SOUND, PEER) for _ in losses]

    assert [answer is not None for answer in answers] == [False] * (len(losses) - 1) + [True]
    assert session.switched_at == len(losses)
    assert answers[-1] == encode_reply(np.arange(24.0))


def test_frames_without_a_hit_do_not_make_it_solve() -> None:
    """With both flags 0 the loss of positions is masked away: it is small whatever the legs do."""
    packet = sound_packet()
    packet[[52, 56]] = 0.0
    session = Session(Teacher(), LEGS, solve_below=1.0)
    session.receive(HELLO, PEER)
    for _ in range(3 * STEADY_FRAMES):
        session.receive(encode_frame(packet), PEER)

    assert session.counts.frames == 3 * STEADY_FRAMES
    assert not session.solving


def test_many_peers_are_forgotten_in_the_order_of_their_silence() -> None:
    """A server that remembers every port that ever spoke runs out of memory in a week."""
    session = Session(Teacher(), LEGS)
    for port in range(100):
        session.receive(HELLO, ("127.0.0.1", port))

    assert session.receive(SOUND, ("127.0.0.1", 99)) is not None
    assert session.receive(SOUND, ("127.0.0.1", 0)) is None


@settings(deadline=None)
@given(datagram=st.binary(max_size=400))
def test_any_bytes_are_a_message_or_a_refusal(datagram: bytes) -> None:
    """A byte from the network must never raise in the engine's loop."""
    kinds = (Ping, Handshake, Frame, Refusal)
    assert isinstance(decode_at_server(datagram, LEGS), kinds)
    assert isinstance(decode_at_client(datagram, LEGS), (Ping, Reply, Refusal))


@pytest.fixture
def served() -> object:
    """A server that answers, on a free port, in a thread."""
    server = Server(Session(Teacher(), LEGS), port=0)
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    yield server
    server.stop()
    thread.join(timeout=5.0)
    server.close()


class _Answers:
    """A server in a thread that answers a frame with bytes, `most` times, and takes all others."""

    def __init__(self, answer: bytes, most: int) -> None:
        import socket

        self.wire = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.wire.bind(("127.0.0.1", 0))
        self.wire.settimeout(3.0)
        self.address, self.answer, self.most, self.first = self.wire.getsockname(), answer, most, b""
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                datagram, sender = self.wire.recvfrom(1000)
            except OSError:
                return
            self.first = self.first or datagram
            if datagram[0] == 2 and self.most:
                self.most -= 1
                self.wire.sendto(self.answer, sender)


def test_a_client_says_what_it_refused_and_why() -> None:
    """The public server answers every frame with 25 bytes; `240 refused` alone does not tell that it counts floats as bytes."""
    server = _Answers(SOUND_REPLY[:25], 100)
    played = play(np.tile(sound_packet(), (8, 1)), *server.address, rate_hz=200.0)
    server.wire.close()

    assert played.refused == 8
    assert played.refusals == {
        "a reply of another length: 25 bytes, expected 97, as if its floats were counted as bytes": 8
    }


def test_the_answers_of_a_server_that_stops_belong_to_the_frames_that_it_took() -> None:
    """Given to the last frames of the clip, right answers look like wrong ones."""
    server = _Answers(SOUND_REPLY, 5)
    played = play(np.tile(sound_packet(), (40, 1)), *server.address, rate_hz=200.0)
    server.wire.close()

    assert played.frame_of == [0, 1, 2, 3, 4]


def test_a_client_without_a_handshake_begins_with_a_frame() -> None:
    """A build without 0x01 refuses it, or takes it as a frame."""
    server = _Answers(SOUND_REPLY, 100)
    played = play(np.tile(sound_packet(), (3, 1)), *server.address, rate_hz=200.0, shakes_hands=False)
    server.wire.close()

    assert (server.first[0], len(server.first), len(played.replies)) == (2, 253, 3)


def test_a_client_at_60_hz_loses_nothing(served: Server) -> None:
    """Each lost frame leaves a foot in the air for a frame."""
    played = play(np.tile(sound_packet(), (60, 1)), *served.address, rate_hz=60.0)

    assert (played.sent, len(played.replies), played.refused) == (60, 60, 0)
    assert served.session.counts.frames == 60
    assert 0.95 <= played.seconds < 4.0


def test_the_server_survives_what_is_thrown_at_its_socket(served: Server) -> None:
    """The same bytes through a real socket, and a sound client is served afterwards."""
    import socket

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as wire:
        for datagram in damaged_datagrams(3, 300, np.tile(sound_packet(), (4, 1))):
            if len(datagram) <= 32_769:
                wire.sendto(datagram, served.address)
    played = play(np.tile(sound_packet(), (5, 1)), *served.address, rate_hz=200.0)

    assert len(played.replies) == 5
    assert sum(served.session.counts.refused.values()) > 150
