"""The Contacts input, and the engine's hysteresis at its thresholds."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rigpact.contract.errors import UnusableInput
from rigpact.contract.pages.registry import find_system
from rigpact.reference_runtime.systems.enemy_animation.ground_contacts import (
    FootContact,
    FootSample,
    foot_sample,
    updated_contact,
)
from rigpact.reference_runtime.vocabulary.character.foot_contacts import SOURCE, contact_rows

from ..every_case import every_case
from . import tiny_character as tiny

KNOBS = find_system("enemy_animation").knobs

ON = FootSample(distance_cm=0.0, vertical_cm_s=0.0, planar_cm_s=0.0)
OFF = FootSample(distance_cm=30.0, vertical_cm_s=0.0, planar_cm_s=0.0)
FRAME = 1.0 / 60.0


def after(contact, samples, frame_time=FRAME):
    for sample in samples:
        contact = updated_contact(contact, sample, frame_time)
    return contact


# --- proposals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("distance", "vertical", "planar", "enters"),
    [
        (2.5, 5.0, 12.0, True),
        (math.nextafter(2.5, 9), 5.0, 12.0, False),
        (2.5, math.nextafter(5.0, 9), 12.0, False),
        (2.5, 5.0, math.nextafter(12.0, 99), False),
        (-40.0, 0.0, 0.0, True),  # a foot inside the floor touches it
    ],
)
def test_foot_in_the_air_lands_at_the_engines_thresholds(distance, vertical, planar, enters):
    """The foot slides or hovers for the frames in which the two sides disagree."""
    air = FootContact(touching=False)
    got = updated_contact(air, FootSample(distance, vertical, planar), 0.06)  # longer than the minimum duration
    assert got.touching is enters


@pytest.mark.parametrize(
    ("distance", "vertical", "planar", "leaves"),
    [
        (5.0, math.nextafter(15.0, 0), math.nextafter(18.0, 0), False),
        (math.nextafter(5.0, 9), 0.0, 0.0, True),
        (0.0, 15.0, 0.0, True),  # >= for speeds, > for the distance
        (0.0, 0.0, 18.0, True),
        (3.0, 10.0, 15.0, False),  # between the two sets of thresholds: whatever it was
    ],
)
def test_foot_on_the_ground_lifts_at_the_engines_thresholds(distance, vertical, planar, leaves):
    """Without hysteresis a foot that rolls off flickers between planted and free."""
    got = updated_contact(FootContact(), FootSample(distance, vertical, planar), 0.06)
    assert got.touching is not leaves


def test_between_the_thresholds_both_states_hold():
    """Between the two thresholds the flag must not change, or a foot flickers."""
    middle = FootSample(distance_cm=3.0, vertical_cm_s=10.0, planar_cm_s=15.0)
    assert after(FootContact(touching=True), [middle] * 60).touching is True
    assert after(FootContact(touching=False), [middle] * 60).touching is False


# --- timers -----------------------------------------------------------------------------------------------------------


@every_case("start", [True, False])
@every_case(("frame_time", "frames"), [(1 / 60, 3), (1 / 30, 2), (0.009, 6), (0.025, 2), (0.05, 1), (0.02, 3)])
def test_change_must_last_a_twentieth_of_a_second(start, frame_time, frames):
    """One frame too early at 60 Hz is a third of the delay: stamps of the gait arrive before the foot does."""
    sample = OFF if start else ON
    contact = FootContact(touching=start)
    assert after(contact, [sample] * (frames - 1), frame_time).touching is start
    assert after(contact, [sample] * frames, frame_time).touching is not start


@pytest.mark.parametrize("start", [True, False])
def test_one_contrary_frame_restarts_the_timer(start):
    """A timer that only counts up lets noise add up to a step."""
    change, stay = (OFF, ON) if start else (ON, OFF)
    contact = FootContact(touching=start)
    assert after(contact, [change, change, stay, change, change]).touching is start
    assert after(contact, [change, change, stay, change, change, change]).touching is not start


@given(reach=st.lists(st.booleans(), max_size=12))
@example(reach=[False, False, True, False, True, True])
def test_unreachable_floor_stops_the_clock(reach):
    """Over a ledge the flag must wait, not decide: else the landing foot is already planted in the air."""
    contact = FootContact()
    lasted = 0
    for reachable in reach:
        sample = FootSample(30.0, 0.0, 0.0, reachable=reachable)
        before, contact = contact, updated_contact(contact, sample, FRAME)
        lasted += reachable
        if not reachable:
            assert contact == before
        assert contact.touching is (lasted < 3)


def test_both_flags_start_planted():
    """The engine's initial flags: a character spawns standing."""
    assert FootContact() == FootContact(touching=True, on_time_s=0.0, off_time_s=0.0)


@dataclass
class Foot:
    """Spec 01 section 4 once more, as one mutable record."""

    flag: bool = True
    on: float = 0.0
    off: float = 0.0

    def update(self, d, vz, vxy, dt):
        enters, leaves = d <= 2.5 and vz <= 5 and vxy <= 12, d > 5 or vz >= 15 or vxy >= 18
        proposed = not leaves if self.flag else enters
        dt = max(1e-3, dt)
        if proposed:
            self.on, self.off = self.on + dt, 0.0
        else:
            self.on, self.off = 0.0, self.off + dt
        if proposed != self.flag and (self.on if proposed else self.off) >= 0.05:
            self.flag = proposed


samples = st.tuples(
    st.sampled_from([0.0, 2.5, 2.6, 5.0, 5.1, 40.0]),
    st.sampled_from([0.0, 5.0, 5.1, 14.9, 15.0]),
    st.sampled_from([0.0, 12.0, 12.1, 17.9, 18.0]),
    st.sampled_from([0.0, 1 / 120, 1 / 60, 1 / 30, 0.05]),
)


@given(motion=st.lists(samples, max_size=30))
def test_flags_follow_the_engine_over_any_motion(motion):
    """Timers and thresholds act on each other: only whole sequences show it."""
    mine, theirs = FootContact(), Foot()
    for distance, vertical, planar, frame_time in motion:
        mine = updated_contact(mine, FootSample(distance, vertical, planar), frame_time)
        theirs.update(distance, vertical, planar, frame_time)
        assert (mine.touching, mine.on_time_s, mine.off_time_s) == (theirs.flag, theirs.on, theirs.off)


# --- measuring a foot -------------------------------------------------------------------------------------------------

ACTOR = np.array([100.0, 50.0, 90.0])


def measured(position, previous=None, frame_time=FRAME, **floor):
    before = None if previous is None else np.array(previous)
    return foot_sample(np.array(position), before, frame_time, actor_cm=ACTOR, **floor)


def test_sole_is_two_centimetres_below_the_bone():
    """`ball_l` is a joint inside the foot: without the offset no foot ever touches."""
    assert measured((100.0, 50.0, 7.25)).distance_cm == pytest.approx(5.25)
    assert measured((100.0, 50.0, 7.25), floor_height_cm=4.0).distance_cm == pytest.approx(1.25)


def test_first_frame_has_no_speed():
    """A speed from the origin of the world would lift both feet on the spawn frame."""
    sample = measured((100.0, 50.0, 2.0))
    assert (sample.vertical_cm_s, sample.planar_cm_s) == (0.0, 0.0)


def test_speeds_are_split_into_vertical_and_planar():
    """A foot that rolls over its ball moves up, one that slides moves along: they have thresholds of their own."""
    sample = measured((103.0, 46.0, 1.0), previous=(100.0, 50.0, 2.0), frame_time=0.5)
    assert sample.vertical_cm_s == pytest.approx(2.0)
    assert sample.planar_cm_s == pytest.approx(10.0)


def test_frame_time_is_at_least_a_millisecond():
    """Two renders of one game frame would give an infinite speed."""
    assert measured((100.0, 50.0, 2.01), previous=(100.0, 50.0, 2.0), frame_time=0.0).vertical_cm_s == pytest.approx(
        10.0
    )


@pytest.mark.parametrize(
    ("offset", "radius", "reachable"), [(74.0, 34.0, True), (74.01, 34.0, False), (82.0, 42.0, True)]
)
def test_foot_is_out_of_reach_beyond_the_capsule_and_forty_centimetres(offset, radius, reachable):
    """A foot that the solver threw away would drag the contact flag along."""
    sample = measured((100.0, 50.0 - offset, 2.0), capsule_radius_cm=radius)
    assert sample.reachable is reachable


@pytest.mark.parametrize(("offset", "reachable"), [(74.0, True), (74.01, False)])
def test_a_capsule_of_no_said_radius_has_34_centimetres(offset, reachable):
    """The default character's capsule: with another one, a foot at the end of a long step keeps or loses its contact."""
    assert measured((100.0, 50.0 - offset, 2.0)).reachable is reachable


def test_no_walkable_floor_is_out_of_reach():
    """In a jump over a gap nothing is below the feet."""
    assert measured((100.0, 50.0, 2.0), floor_height_cm=None).reachable is False


# --- the input --------------------------------------------------------------------------------------------------------

SCORES = np.array([[0.2, 0.9], [0.5, 0.49999997], [0.0, 1.0]], np.float32)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("soft_scores", SCORES.tolist()),
        ("binary", [[0, 1], [1, 0], [0, 1]]),
        ("zeros", [[0, 0]] * 3),
        ("swapped_feet", [row[::-1] for row in SCORES.tolist()]),
    ],
)
def test_contacts_input_of_each_source(tmp_path, source, expected):
    """The network was trained on soft scores, left foot first; the deployed engine feeds it zeros."""
    got = contact_rows(SCORES, 3, tiny.contract(tmp_path, contacts_source=source))
    assert got.dtype == np.float32
    assert got.tolist() == expected


def test_whitened_contacts_use_the_states_own_slice(tmp_path):
    """The engine whitens with MuX and StdX of `Contacts`, the deviation floored at a millionth."""
    document = tiny.bundle(contacts=True)
    document["StdX"][33:] = [0.25, 0.0]
    document["MuX"][33:] = [0.5, 0.75]
    got = contact_rows(SCORES, 3, tiny.contract(tmp_path, document, contacts_source="whitened"))
    want = [[(float(left) - 0.5) / 0.25, (float(right) - 0.75) / float(np.float32(1e-6))] for left, right in SCORES]
    np.testing.assert_allclose(got, want, rtol=2.0**-23)


def test_whitening_without_a_contacts_slice_is_refused_with_the_reason(tmp_path):
    """The deployed bundle has no such slice: guessed statistics would judge the engine by untrained numbers."""
    with pytest.raises(UnusableInput, match="Contacts slice"):
        contact_rows(SCORES, 3, tiny.contract(tmp_path, contacts_source="whitened"))


@pytest.mark.parametrize("source", ["soft_scores", "binary", "zeros", "swapped_feet"])
def test_clip_without_foot_evidence_gives_zeros(tmp_path, source):
    """Without a measurement of the feet, both contacts must be 0."""
    got = contact_rows(None, 4, tiny.contract(tmp_path, contacts_source=source))
    assert got.tolist() == [[0.0, 0.0]] * 4


def test_every_source_of_the_knob_has_a_row():
    """If the runtime lacks a value that the command line accepts, a run stops in the middle."""
    assert set(SOURCE) == set(KNOBS["contacts_source"].values)
