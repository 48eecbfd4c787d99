"""NeuraRig: its poses against scipy, and its datagrams: golden bytes; every malformed one is refused and counted."""

import json
import logging
import re
import struct
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from rigpact.reference_runtime.systems import neurarig as wire
from rigpact.reference_runtime.vocabulary.vectors import first_bytes
from rigpact.training import neurarig as training

from ..every_case import every_case
from ..measuring.scores.upstream import neurarig_loop
from . import declared_runs
from .declared_runs import BUNDLES, scene

FEMUR_CM, TIBIA_CM = {"r": 45.751953, "l": 45.752106}, {"r": 41.705513, "l": 41.705494}
PEER, Reason = ("127.0.0.1", 40_001), wire.Reason
HELLO, SOUND_REPLY = training.encode_handshake(wire.RIG_BONES), wire.encode_reply(np.arange(24.0))


def test_generated_targets_are_within_reach() -> None:
    """A target beyond 87.5 cm teaches the network to stretch."""
    contract = scene("neurarig").contract
    fields = contract.system.vectors["packet"]
    raw = np.random.default_rng(105).normal(0.0, 3.0, (400, 24)).astype(np.float32)
    packet = declared_runs.run(contract, {"engine_pose": training.random_rows(5, 400), "raw_rotations": raw})[
        "packet"
    ].astype(float)
    for side in "rl":
        hip, target = (packet[:, fields[name].range] for name in (f"thigh_{side}_pos", f"foot_{side}_target"))
        assert np.linalg.norm(target - hip, axis=1).max() < FEMUR_CM[side] + TIBIA_CM[side] + 1e-3


def test_the_rotator_is_unreals() -> None:
    """The right-handed formula under the name FromUnreal puts one rotator 105.7 degrees from where it is."""
    ours = training.rotator_deg_to_quaternion(np.array([20.0, 35.0, -50.0]))
    apart = (Rotation.from_quat(ours).inv() * Rotation.from_quat(ours * (-1.0, -1.0, 1.0, 1.0))).magnitude()
    assert np.degrees(apart) == pytest.approx(105.7, abs=0.05)
    yaw = Rotation.from_quat(training.rotator_deg_to_quaternion(np.array([0.0, 90.0, 0.0])))
    np.testing.assert_allclose(yaw.apply([1.0, 0.0, 0.0]), [0.0, 1.0, 0.0], atol=1e-12)


def test_63_bytes_are_not_63_floats_and_zeros_are_no_rotation() -> None:
    """15 floats and three quarters of one arrive, and the loss is zero; a length of zero makes no NaN down the leg."""
    rows = training.random_rows(6, 3)
    copied = first_bytes(rows, 63)
    np.testing.assert_array_equal(copied[:, :15], rows[:, :15])
    assert not copied[:, 16:].any()
    assert first_bytes(rows, 252).tolist() == rows.tolist()
    known = {"engine_pose": rows, "raw_rotations": np.zeros((3, 24), np.float32)}
    unit = declared_runs.recomputed(scene("neurarig").contract, "rotations", known)
    np.testing.assert_array_equal(unit.reshape(-1, 4), np.tile([0.0, 0.0, 0.0, 1.0], (18, 1)))


def sound_packet() -> np.ndarray:
    """A frame whose quaternions are unit and whose end is filled; w is last."""
    values = np.zeros(63, np.float32)
    values[[6, 13, 20, 27, 34, 41, 48]] = 1.0
    values[0:3] = training.REST_POSITIONS_CM["pelvis"]
    values[49:57] = (0.0, 0.0, 1.0, 1.0) * 2
    values[57:63] = (3.0, 4.0, -80.0, -3.0, 4.0, -80.0)
    return values


class Answering:
    """What answers a session, and how many frames it has seen."""

    seen = 0

    def __call__(self, values: np.ndarray) -> np.ndarray:
        self.seen += 1
        return np.arange(24, dtype=np.float32)


def test_datagrams_have_their_published_bytes() -> None:
    """29 of a handshake, 253 of a frame, little-endian from byte 1, 97 of a reply; the early build sent a quarter of it."""
    handshake = bytes.fromhex("010000000006000000666f6f745f720100000006000000666f6f745f6c")
    assert wire.decode(handshake) == ("foot_r", "foot_l")
    assert training.encode_handshake(("foot_r", "foot_l")) == handshake
    frame = b"\x02" + struct.pack("<63f", *range(63))
    assert (len(frame), wire.decode(frame).tolist()) == (253, list(range(63)))
    assert training.encode_frame(np.arange(63.0)) == frame
    assert wire.encode_reply(np.arange(24.0)) == b"\x03" + struct.pack("<24f", *range(24))


def test_the_committed_datagrams_are_those_of_the_committed_clip() -> None:
    """Engine teams test their own encoder against these bytes."""
    text = json.loads((BUNDLES / "neurarig" / "golden_datagrams.json").read_text())
    golden = {name: bytes.fromhex(each) for name, each in text.items()}
    frame, reply = wire.decode(golden["frame"]), np.frombuffer(golden["reply"], "<f4", offset=1).reshape(6, 4)
    assert golden["handshake"] == HELLO
    np.testing.assert_array_equal(frame[:49], training.walk_rows()[0, :49])
    np.testing.assert_allclose(np.linalg.norm(reply, axis=1), 1.0, atol=1e-6)
    assert (reply[:, 3] >= 0.0).all()


def entry(index: int, name: bytes, length: int | None = None) -> bytes:
    return struct.pack("<ii", index, len(name) if length is None else length) + name


SOUND = training.encode_frame(sound_packet())
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
    ("four bones, of which a batch of none was made", training.encode_handshake(("a", "b", "c", "d")), Reason.OTHER_RIG),
    ("left leg first", training.encode_handshake(("pelvis", *training.BONES[3:], *training.BONES[:3])), Reason.OTHER_RIG),
    ("a number that is none", training.encode_frame(np.where(np.arange(63) == 5, np.nan, sound_packet())), Reason.NOT_FINITE),
    ("a huge number", training.encode_frame(np.where(np.arange(63) == 5, 1e30, sound_packet())), Reason.TOO_LARGE_VALUE),
    ("63 bytes instead of 63 floats", SOUND[:64] + bytes(189), Reason.DEAD_INPUT),
    ("all zeros", b"\x02" + bytes(252), Reason.DEAD_INPUT),
    ("w first", training.encode_frame(np.roll(sound_packet(), 1)), Reason.NOT_UNIT),
]  # fmt: skip


@every_case(("what", "datagram", "reason"), MALFORMED, ids=[what for what, _, _ in MALFORMED])
def test_a_malformed_datagram_is_refused_and_the_session_goes_on(
    what: str, datagram: bytes, reason: Reason | None, caplog: pytest.LogCaptureFixture
) -> None:
    """In the original each of these reads past the end, trains on zeros, or takes the server down."""
    answering = Answering()
    session = wire.Session(answering)
    session.receive(HELLO, PEER)
    with caplog.at_level(logging.WARNING):
        assert session.receive(datagram, PEER) is None
    assert answering.seen == 0, what
    assert dict(session.counts.refused) == ({} if reason is None else {reason: 1})
    assert session.counts.pings == (reason is None)
    assert len(caplog.records) == (reason is not None)
    assert session.receive(SOUND, PEER) == SOUND_REPLY
    assert (answering.seen, session.counts.frames) == (1, 1)


def test_a_frame_needs_its_peers_handshake_where_there_is_one_and_silent_peers_are_forgotten() -> None:
    """The original crashes before a handshake; a server that remembers every port runs out of memory in a week."""
    session = wire.Session(Answering())
    for port in range(100):
        session.receive(HELLO, ("127.0.0.1", port))
    assert session.receive(SOUND, ("127.0.0.1", 99)) is not None
    assert session.receive(SOUND, ("127.0.0.1", 0)) is None
    assert session.receive(SOUND, PEER) is None
    assert session.counts.refused == {Reason.NO_HANDSHAKE: 2}
    public = wire.Session(Answering(), needs_handshake=False)
    assert (public.receive(SOUND, PEER), public.counts.refused) == (SOUND_REPLY, {})


@every_case(("filled", "place"), [(0, 0), (1, 1), (15, 15)])
def test_a_frame_that_was_copied_too_short_is_told_from_where_on(filled: int, place: int) -> None:
    """Who copies 63 bytes for 63 floats sees how many arrived."""
    with pytest.raises(wire.Refused) as told:
        wire.refuse_frame(np.where(np.arange(63) < filled, 1.0, 0.0))
    assert (told.value.reason, re.findall(r"\d+", told.value.detail)) == (Reason.DEAD_INPUT, [str(place)])


@settings(deadline=None)
@given(datagram=st.binary(max_size=400))
def test_any_bytes_are_a_message_or_a_refusal(datagram: bytes) -> None:
    """A byte from the network must never raise in the engine's loop."""
    with suppress(wire.Refused):
        assert isinstance(wire.decode(datagram), tuple | np.ndarray | None)


FLIPPED = {"x_sign_of_ay_bz": (0, 1, 2, -2), "x_sign_of_az_by": (0, 2, 1, 2), "y_sign_of_az_bx": (1, 2, 0, -2),
           "z_sign_of_ax_by": (2, 0, 1, -2), "z_sign_of_ay_bx": (2, 1, 0, 2)}  # fmt: skip
"""A component of Hamilton's product, and a term that holds no w: its factors' components, and what is added of it."""


def flipped(component, one, other, twice):
    def multiply(a, b, _mistakes=(), right=neurarig_loop.multiplied):
        return right(a, b) + twice * a[one] * b[other] * np.eye(4)[component]

    return multiply


def moved(**parts):
    """The packet with other numbers in some places; each a function of the pose and of the packet."""
    places = {"targets": slice(57, 63), "normals": [49, 50, 51, 53, 54, 55]}

    def change(pose, sent):
        found = sent.copy()
        for name, other in parts.items():
            found[:, places[name]] = other(pose[:, places[name]], pose)
        return found

    return change


def factor(channels, by):
    return lambda _pose, sent: sent * np.where(np.isin(np.arange(63), channels), by, 1.0)


TWO_PLACES = [each for start in neurarig_loop.POSITIONS for each in range(start, start + 3)]
PACKETS = [
    ({"target_space": "world"}, moved(targets=lambda own, _pose: own)),
    ({"target_space": "relative_not_turned"}, moved(targets=lambda own, pose: own - np.tile(pose[:, :3], 2))),
    ({"normal_space": "world"}, moved(normals=lambda own, _pose: own)),
    ({"handedness": "right_handed"}, factor([at + k for at in neurarig_loop.QUATERNIONS for k in (0, 1)], -1.0)),
    ({"unit": "m"}, factor(TWO_PLACES, 0.01)),
    ({"tail_order": "left_first"},
     lambda _pose, sent: sent[:, [*range(49), *range(53, 57), *range(49, 53), *range(60, 63), *range(57, 60)]]),
    ({"chain_order": "left_first"}, lambda _pose, sent: np.hstack([sent[:, :7], sent[:, 28:49], sent[:, 7:28], sent[:, 49:]])),
]  # fmt: skip
BENT = [
    ({"bone_axis": "x_both"}, {"AXES": ((1.0, 0.0, 0.0), (1.0, 0.0, 0.0))}, {}),
    ({"leg_lengths": "swapped"}, {"FEMUR": neurarig_loop.TIBIA, "TIBIA": neurarig_loop.FEMUR}, {}),
    ({"hip_offset": "one_early"}, {"HIPS": (6, 27)}, {}),
    ({"hip_offset": "bone_before"}, {"HIPS": (0, 21)}, {}),
    ({"fk_space": "pelvis"}, {}, {0: (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)}),
    ({"fk_space": "pelvis_turned"}, {}, {0: (0.0, 0.0, 0.0)}),
    ({"bone_turn": "parent"}, {}, {}),
    *(({"multiplication": name}, {"multiplied": flipped(*term)}, {}) for name, term in FLIPPED.items()),
]


@pytest.fixture(scope="module")
def driven():
    """Drawn poses and answers, and what the contract makes of them."""
    raw = np.random.default_rng(8).normal(0.0, 1.0, (6, 24)).astype(np.float32)
    known = {"engine_pose": training.random_rows(8, 6), "raw_rotations": raw}
    return {**known, **declared_runs.run(scene("neurarig").contract, known)}


def read_otherwise(stage, changes, driven, *needs):
    known = {name: driven[name] for name in needs}
    return declared_runs.recomputed(scene("neurarig").contract.with_conventions(changes), stage, known)


@every_case(("changes", "expected"), PACKETS)
def test_what_no_published_mistake_is_makes_another_packet(changes, expected, driven):
    """A name for a mistake that computes something else sends a team to code that is right."""
    found = read_otherwise("packet", changes, driven, "engine_pose")
    pose, sent = (driven[name].astype(float) for name in ("engine_pose", "packet"))
    assert found == pytest.approx(expected(pose, sent), abs=1e-4)


@every_case(("changes", "patches", "parts"), BENT)
def test_what_no_published_mistake_is_places_the_legs_elsewhere(changes, patches, parts, driven):
    """The same for kinematics, by the published loop with other numbers in its place."""
    found = read_otherwise("joints", changes, driven, "engine_pose", "reply")
    assert len(found) == 6
    with pytest.MonkeyPatch.context() as patch:
        for name, value in patches.items():
            patch.setattr(neurarig_loop, name, value)
        for row, pose, reply in zip(
            found, *(driven[name].astype(float) for name in ("engine_pose", "reply")), strict=True
        ):
            for place, value in parts.items():
                pose[place : place + len(value)] = value
            legs = reply.reshape(2, 3, 4)
            if "bone_turn" in changes:
                legs = np.stack([np.tile([0.0, 0.0, 0.0, 1.0], (2, 1)), legs[:, 0], legs[:, 1]], axis=1)
            expected = [neurarig_loop.leg_of(leg, pose, legs.reshape(-1), ()) for leg in range(2)]
            assert row == pytest.approx(np.ravel(expected), abs=1e-3)


def test_zeros_in_place_of_rotations_leave_a_leg_unturned(driven):
    """Of a reply that is cut short the rest is zeros: code divides by the length plus 1e-8, and turns by nothing."""
    cut = {**driven, "reply": np.zeros_like(driven["reply"])}
    legs = read_otherwise("joints", {}, cut, "engine_pose", "reply").reshape(-1, 2, 3, 3)
    for leg, side in enumerate("rl"):
        along = np.array([[1.0, 0.0, 0.0]]) * (1 - 2 * leg)
        assert np.diff(legs[:, leg], axis=1)[:, 0] == pytest.approx(np.repeat(along * FEMUR_CM[side], 6, 0), abs=1e-4)
        assert np.diff(legs[:, leg], axis=1)[:, 1] == pytest.approx(np.repeat(along * TIBIA_CM[side], 6, 0), abs=1e-4)


def test_a_target_that_is_not_turned_back_and_a_reply_with_w_first(driven):
    """The last two names without a published mistake."""
    apart = read_otherwise(
        "foot_error", {"error_target": "moved_not_turned"}, driven, "engine_pose", "packet", "joints"
    )
    feet, sent = driven["joints"].reshape(-1, 6, 3)[:, [2, 5]], driven["packet"][:, 57:].reshape(-1, 2, 3)
    wanted = sent + driven["engine_pose"][:, None, :3]
    assert apart == pytest.approx(np.linalg.norm(feet - wanted, axis=2), abs=1e-3)
    reply = read_otherwise("reply", {"reply_order": "wxyz"}, driven, "rotations")
    assert reply.tolist() == np.roll(driven["rotations"].reshape(-1, 6, 4), 1, axis=2).reshape(-1, 24).tolist()
