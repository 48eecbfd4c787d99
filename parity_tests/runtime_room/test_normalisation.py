"""State features, z-scores and contacts, channel by channel, against scalar arithmetic; and the way back."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rigpact.contract.pages.registry import find_system
from rigpact.contract.statistics import SquashedStatistics, Statistics, frozen_float32
from rigpact.reference_runtime.systems.enemy_animation.floor import (
    FootContact,
    FootSample,
    foot_sample,
    updated_contact,
)
from rigpact.reference_runtime.systems.enemy_animation.inputs import contact_rows
from rigpact.reference_runtime.systems.enemy_animation.shared import ENGINE
from rigpact.reference_runtime.systems.enemy_animation.state import YAW, StateNormaliser

from ..every_case import every_case
from . import tiny_character as tiny
from .scalar_oracle import wrapped
from .trace_files import refused

KNOBS = find_system("enemy_animation").knobs

ROOT_VELOCITY, YAW_AT, ANGVEL = range(3, 5), 5, range(24, 33)
ATANH_LIMIT = 1.0 - 1e-6
STORE = 2.0**-24
YAW_FEATURE = {
    "wrapped_over_pi": lambda yaw: wrapped(yaw) / math.pi,
    "unwrapped_over_pi": lambda yaw: yaw / math.pi,
    "radians": wrapped,
    "degrees_over_180": lambda yaw: yaw / 180.0,
    "absolute": lambda yaw: abs(wrapped(yaw)) / math.pi,
}
BEFORE_ZSCORE = {
    "tanh": lambda v, s: math.tanh(v / s),
    "linear": lambda v, s: v / s,
    "none": lambda v, s: v,
    "tanh_after_zscore": lambda v, s: v,
}


def as_float32(value):
    return float(np.float32(value))


def scale_of(document, channel):
    """The floored tanh scale of a velocity channel: max(|s|, 1e-3) of what the engine read as float32."""
    names = (("tanh_scales_rootvel", ROOT_VELOCITY), ("tanh_scales_angvel", ANGVEL))
    name, place = next((name, place) for name, place in names if channel in place)
    return max(abs(as_float32(document[name][channel - place.start])), as_float32(1e-3))


def expected_z(x, document, knobs):
    """Spec 01 section 2, one channel after the other."""
    z = []
    for channel, value in enumerate(x):
        feature, after = value, lambda z: z
        if channel == YAW_AT:
            feature = YAW_FEATURE[knobs.get("yaw_encoding", "wrapped_over_pi")](value)
        elif channel in ROOT_VELOCITY or channel in ANGVEL:
            way = knobs.get("rootvel_squash" if channel in ROOT_VELOCITY else "angvel_squash", "tanh")
            scale = scale_of(document, channel)
            feature = BEFORE_ZSCORE[way](value, scale)
            if way == "tanh_after_zscore":
                after = lambda z, scale=scale: math.tanh(z / scale)  # noqa: E731
        std = max(abs(as_float32(document["StdX"][channel])), as_float32(1e-6))
        z.append(after((feature - as_float32(document["MuX"][channel])) / std))
    return np.array(z)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("normalisation")


@pytest.mark.parametrize("encoding", YAW)
def test_the_seam_of_an_encoding_is_where_it_jumps(encoding):
    """A comparison forgives a whole turn there and nowhere else."""
    turn = YAW_FEATURE[encoding]
    below, above = (turn(math.pi + sign * 1e-9) for sign in (-1.0, 1.0))
    jumps = abs(above - below) > 1e-6
    assert YAW[encoding].seam == (pytest.approx(below, abs=1e-6) if jumps else None)


def states():
    channel = st.floats(-20.0, 20.0, allow_subnormal=False, width=32)
    return st.lists(channel, min_size=tiny.STATE_WIDTH, max_size=tiny.STATE_WIDTH)


KNOB_VALUES = [
    (name, value) for name in ("rootvel_squash", "angvel_squash", "yaw_encoding") for value in KNOBS[name].values
]
EVERY_KNOB = pytest.mark.parametrize(("knob", "value"), KNOB_VALUES, ids=lambda word: word)


MANY_CHANNELS = settings(max_examples=10)  # 33 channels each, and each by itself: a thousand numbers


@EVERY_KNOB
@MANY_CHANNELS
@given(x=states())
@example(x=[0.0] * 33)
@example(x=[6.3] * 33)  # one turn and a little
@example(x=[-20.0] * 33)
def test_state_is_squashed_and_zscored_channel_by_channel(plain, knob, value, x):
    """One channel in the wrong unit and the network believes that the enemy runs backwards."""
    document = tiny.bundle()
    got = StateNormaliser(plain.with_conventions({knob: value})).normalise(np.array(x, np.float32))
    want = expected_z([as_float32(number) for number in x], document, {knob: value})
    assert got.dtype == np.float32
    # stored once; before that float64, whose cancellations are 1e-16 of values below 70 / 1e-3
    np.testing.assert_allclose(got, want, rtol=1.01 * STORE, atol=1e-12)


@every_case(("knob", "value"), KNOB_VALUES)
def test_a_state_comes_back_from_its_scores(plain, knob, value):
    """The engine's startup seed comes through here: what is lost is a pop in the first frame."""
    normaliser, raw = (
        StateNormaliser(plain.with_conventions({knob: value})),
        np.linspace(0.05, 1.0, 33).astype(np.float32),
    )
    np.testing.assert_allclose(normaliser.denormalise(normaliser.normalise(raw)), raw, rtol=1e-3)  # atanh of a few 1e-6


ONES = {"MuX": [0.0] * 33, "StdX": [1.0] * 33}


@every_case("small", [0.0, 1e-7, 1e-6, 1e-4, 1e-3, 2e-3, -0.5])
def test_deviations_and_scales_have_a_floor_and_lose_their_sign(folder, small):
    """A constant channel divides by zero, tanh of 0/0 is NaN from the first frame on; larger floors blind the network."""
    x = np.full(33, 5e-4, np.float32)
    got = StateNormaliser(tiny.contract(folder, tiny.bundle(MuX=[0.1] * 33, StdX=[small] * 33))).normalise(x)[0]
    floored = max(abs(as_float32(small)), as_float32(1e-6))
    assert got == pytest.approx((float(x[0]) - as_float32(0.1)) / floored, rel=2 * STORE)
    got = StateNormaliser(tiny.contract(folder, tiny.bundle(tanh_scales_rootvel=[small, 1.0], **ONES))).normalise(x)[3]
    assert got == pytest.approx(math.tanh(float(x[3]) / max(abs(as_float32(small)), as_float32(1e-3))), rel=2 * STORE)


@every_case("z", [0.5, 1.0, -1.0, 1.5, -7.0, 9.0])
def test_atanh_is_clamped_a_millionth_before_one_and_yaw_to_half_a_turn(folder, z):
    """Teacher rows that touch 1 would seed the character with an infinite velocity, or turn it past its own back."""
    document, inside = tiny.bundle(**ONES), max(min(z, ATANH_LIMIT), -ATANH_LIMIT)
    got = StateNormaliser(tiny.contract(folder, document)).denormalise(np.full(33, z, np.float32))
    # the float32 z is read exactly; the result is stored once
    assert got[3] == pytest.approx(1.5 * math.atanh(inside), rel=2 * STORE)
    assert got[24] == pytest.approx(as_float32(document["tanh_scales_angvel"][0]) * math.atanh(inside), rel=2 * STORE)
    assert got[YAW_AT] == pytest.approx(math.pi * max(min(z, 1.0), -1.0), rel=2 * STORE)


def test_input_is_not_changed_in_place(folder):
    """A normaliser that writes into the raw state feeds z-scores back as poses."""
    x = np.linspace(-3, 3, 33).astype(np.float32)
    kept = x.copy()
    normaliser = StateNormaliser(tiny.contract(folder))
    z = normaliser.normalise(x)
    z_kept = z.copy()
    normaliser.denormalise(z)
    np.testing.assert_array_equal(x, kept)
    np.testing.assert_array_equal(z, z_kept)


def test_an_overflowing_state_is_stored_as_infinite_not_raised(folder):
    """The search for the origin of a non-finite value needs to see it, not a crash."""
    document = tiny.bundle(StdX=[1e-6] * 33, MuX=[0.0] * 33)
    got = StateNormaliser(tiny.contract(folder, document)).normalise(np.full(33, 1e35, np.float32))
    assert np.isposinf(got[0])


@given(value=st.floats(-50, 50, width=32), scale=st.sampled_from([0.0, 1e-7, 1e-6, 0.3, -2.0]))
@example(value=0.0, scale=0.0)
def test_auxiliary_inputs_are_tanh_then_zscore_with_their_own_floor(value, scale):
    """Pose history and angular velocity use 1e-6 where the state uses 1e-3: mixing them saturates a whole input."""
    statistics = Statistics(frozen_float32([0.25]), frozen_float32([1e-8]))
    auxiliary = SquashedStatistics(frozen_float32([scale]), statistics, None)
    got = ENGINE.zscored(np.array([value], np.float64), auxiliary)[0]
    want = (math.tanh(value / max(abs(as_float32(scale)), as_float32(1e-6))) - 0.25) / as_float32(1e-6)
    assert got == pytest.approx(want, rel=1e-12)


ON, OFF = FootSample(0.0, 0.0, 0.0), FootSample(30.0, 0.0, 0.0)
FRAME = 1.0 / 60.0


def after(contact, samples, frame_time=FRAME):
    for sample in samples:
        contact = updated_contact(contact, sample, frame_time)
    return contact


@every_case(
    ("was", "distance", "vertical", "planar", "touches"),
    [
        (False, 2.5, 5.0, 12.0, True), (False, math.nextafter(2.5, 9), 5.0, 12.0, False),
        (False, 2.5, math.nextafter(5.0, 9), 12.0, False),
        (False, 2.5, 5.0, math.nextafter(12.0, 99), False),
        (False, -40.0, 0.0, 0.0, True),  # a foot inside the floor touches it
        (True, 5.0, math.nextafter(15.0, 0), math.nextafter(18.0, 0), True), (True, math.nextafter(5.0, 9), 0.0, 0.0, False),
        (True, 0.0, 15.0, 0.0, False), (True, 0.0, 0.0, 18.0, False),  # >= for speeds, > for the distance
        (True, 3.0, 10.0, 15.0, True), (False, 3.0, 10.0, 15.0, False),  # between the two sets of thresholds: whatever it was
    ],
)  # fmt: skip
def test_foot_lands_and_lifts_at_the_engines_thresholds(was, distance, vertical, planar, touches):
    """The foot slides or hovers for the frames in which the two sides disagree; without hysteresis it flickers."""
    got = updated_contact(
        FootContact(touching=was), FootSample(distance, vertical, planar), 0.06
    )  # longer than the minimum
    assert got.touching is touches
    assert FootContact() == FootContact(touching=True, on_time_s=0.0, off_time_s=0.0)  # a character spawns standing


@every_case("start", [True, False])
@every_case(("frame_time", "frames"), [(1 / 60, 3), (1 / 30, 2), (0.009, 6), (0.025, 2), (0.05, 1), (0.02, 3)])
def test_change_must_last_a_twentieth_of_a_second(start, frame_time, frames):
    """One frame too early at 60 Hz is a third of the delay; one contrary frame restarts the timer."""
    (change, stay), contact = ((OFF, ON) if start else (ON, OFF)), FootContact(touching=start)
    assert after(contact, [change] * (frames - 1), frame_time).touching is start
    assert after(contact, [change] * frames, frame_time).touching is not start
    assert after(contact, [change] * (frames - 1) + [stay] + [change] * (frames - 1), frame_time).touching is start


@given(reach=st.lists(st.booleans(), max_size=12))
@example(reach=[False, False, True, False, True, True])
def test_unreachable_floor_stops_the_clock(reach):
    """Over a ledge the flag must wait, not decide: else the landing foot is already planted in the air."""
    contact, lasted = FootContact(), 0
    for reachable in [True, *reach]:
        before, contact = contact, updated_contact(contact, FootSample(30.0, 0.0, 0.0, reachable=reachable), FRAME)
        lasted += reachable
        assert reachable or contact == before
        assert contact.touching is (lasted < 3)


def measured(position, previous=None, frame_time=FRAME):
    before = None if previous is None else np.array(previous)
    return foot_sample(np.array(position), before, frame_time, np.array([100.0, 50.0, 90.0]))


@every_case(
    ("given", "expected"),
    [
        ({"position": (100.0, 50.0, 7.25)}, (5.25, 0.0, 0.0)),
        ({"position": (103.0, 46.0, 1.0), "previous": (100.0, 50.0, 2.0), "frame_time": 0.5}, (-1.0, 2.0, 10.0)),
        ({"position": (100.0, 50.0, 2.01), "previous": (100.0, 50.0, 2.0), "frame_time": 0.0}, (0.01, 10.0, 0.0)),
    ],
)  # fmt: skip
def test_a_foot_is_measured_two_centimetres_below_its_bone(given, expected):
    """Without the offset no foot ever touches; a frame takes a millisecond at least, and the first one has no speed."""
    sample = measured(**given)
    assert (sample.distance_cm, sample.vertical_cm_s, sample.planar_cm_s) == pytest.approx(expected)


@every_case(("offset", "reachable"), [(74.0, True), (74.01, False)])
def test_foot_is_out_of_reach_beyond_the_capsule_and_forty_centimetres(offset, reachable):
    """A foot that the solver threw away would drag the contact flag along; its capsule has 34 cm."""
    assert measured((100.0, 50.0 - offset, 2.0)).reachable is reachable


SCORES = np.array([[0.2, 0.9], [0.5, 0.49999997], [0.0, 1.0]], np.float32)
RIGHT = {
    "soft_scores": SCORES.tolist(),
    "binary": [[0, 1], [1, 0], [0, 1]],
    "zeros": [[0, 0]] * 3,
    "swapped_feet": SCORES[:, ::-1].tolist(),
}


@every_case("source", RIGHT)
def test_contacts_input_of_each_source(tmp_path, source):
    """The network was trained on soft scores, left foot first; the deployed engine feeds it zeros, without a measurement."""
    contract = tiny.contract(tmp_path, contacts_source=source)
    got = contact_rows(SCORES, 3, contract)
    assert (got.dtype, got.tolist(), contact_rows(None, 4, contract).tolist()) == (
        np.float32,
        RIGHT[source],
        [[0.0, 0.0]] * 4,
    )


def test_whitened_contacts_use_the_states_own_slice_and_are_refused_without_it(tmp_path):
    """The engine whitens with MuX and StdX of `Contacts`, floored at a millionth: guessed ones would be untrained."""
    document = tiny.bundle(contacts=True)
    document["StdX"][33:], document["MuX"][33:] = [0.25, 0.0], [0.5, 0.75]
    got = contact_rows(SCORES, 3, tiny.contract(tmp_path, document, contacts_source="whitened"))
    want = [[(float(left) - 0.5) / 0.25, (float(right) - 0.75) / float(np.float32(1e-6))] for left, right in SCORES]
    np.testing.assert_allclose(got, want, rtol=2.0**-23)
    assert (
        "no Contacts slice" in refused(contact_rows, SCORES, 3, tiny.contract(tmp_path, contacts_source="whitened"))[1]
    )
