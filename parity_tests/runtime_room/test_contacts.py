"""The Contacts input, and the engine's hysteresis at its thresholds."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rigpact.reference_runtime.systems.enemy_animation.ground_contacts import (
    FootContact,
    FootSample,
    foot_sample,
    updated_contact,
)
from rigpact.reference_runtime.vocabulary.character.foot_contacts import contact_rows

from ..every_case import every_case
from . import tiny_character as tiny
from .trace_files import refused

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


def measured(position, previous=None, frame_time=FRAME, **floor):
    before, actor = None if previous is None else np.array(previous), np.array([100.0, 50.0, 90.0])
    return foot_sample(np.array(position), before, frame_time, actor_cm=actor, **floor)


@every_case(
    ("given", "expected"),
    [
        ({"position": (100.0, 50.0, 7.25)}, (5.25, 0.0, 0.0)),
        ({"position": (100.0, 50.0, 7.25), "floor_height_cm": 4.0}, (1.25, 0.0, 0.0)),
        ({"position": (103.0, 46.0, 1.0), "previous": (100.0, 50.0, 2.0), "frame_time": 0.5}, (-1.0, 2.0, 10.0)),
        ({"position": (100.0, 50.0, 2.01), "previous": (100.0, 50.0, 2.0), "frame_time": 0.0}, (0.01, 10.0, 0.0)),
    ],
)  # fmt: skip
def test_a_foot_is_measured_two_centimetres_below_its_bone(given, expected):
    """Without the offset no foot ever touches; a frame takes a millisecond at least, and the first one has no speed."""
    sample = measured(**given)
    assert (sample.distance_cm, sample.vertical_cm_s, sample.planar_cm_s) == pytest.approx(expected)


@every_case(
    ("offset", "floor", "reachable"),
    [(74.0, {"capsule_radius_cm": 34.0}, True), (74.01, {"capsule_radius_cm": 34.0}, False),
    (82.0, {"capsule_radius_cm": 42.0}, True),
     (74.0, {}, True), (74.01, {}, False), (0.0, {"floor_height_cm": None}, False)],
)  # fmt: skip
def test_foot_is_out_of_reach_beyond_the_capsule_and_forty_centimetres(offset, floor, reachable):
    """A foot that the solver threw away, or one above a gap, would drag the contact flag along; its capsule has 34 cm."""
    assert measured((100.0, 50.0 - offset, 2.0), **floor).reachable is reachable


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
