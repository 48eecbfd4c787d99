"""The PoseHist input against tables written out by hand, and the free-run ring against the teacher's rows."""

import itertools
import math

import numpy as np
import pytest

from rigpact.contract.character import with_pose_history_length
from rigpact.contract.errors import UnusableInput
from rigpact.contract.pages.registry import find_system
from rigpact.reference_runtime.operations.definitions.history import ORDERS
from rigpact.reference_runtime.vocabulary.character.pose_history import (
    DELAY,
    FIRST_POSE,
    PoseHistory,
    refuse_one_pose,
)
from rigpact.reference_runtime.vocabulary.character.squashed_zscore import NORMALISE, HistoryNormaliser

from ..every_case import every_case
from . import tiny_character as tiny

KNOBS = find_system("enemy_animation").knobs

STORE = 2.0**-24
I, Z = "identity", "zeros"  # noqa: E741 - the table reads best with one letter
# Which frame stands in each of the three entries, oldest first, at t = 0..4. Frame k is the pose of frame k.
TABLE = {
    ("seed_pose", "includes_current"): ((0, 0, 0), (0, 0, 1), (0, 1, 2), (1, 2, 3), (2, 3, 4)),
    ("seed_pose", "excludes_current"): ((0, 0, 0), (0, 0, 0), (0, 0, 1), (0, 1, 2), (1, 2, 3)),
    ("identity", "includes_current"): ((I, I, 0), (I, 0, 1), (0, 1, 2), (1, 2, 3), (2, 3, 4)),
    ("identity", "excludes_current"): ((I, I, I), (I, I, 0), (I, 0, 1), (0, 1, 2), (1, 2, 3)),
    ("zeros", "includes_current"): ((Z, Z, 0), (Z, 0, 1), (0, 1, 2), (1, 2, 3), (2, 3, 4)),
    ("zeros", "excludes_current"): ((Z, Z, Z), (Z, Z, 0), (Z, 0, 1), (0, 1, 2), (1, 2, 3)),
    # a clip drives: the ring is filled with the seed pose
    ("identity_after_seed", "includes_current"): ((0, 0, 0), (0, 0, 1), (0, 1, 2), (1, 2, 3), (2, 3, 4)),
    ("identity_after_seed", "excludes_current"): ((0, 0, 0), (0, 0, 0), (0, 0, 1), (0, 1, 2), (1, 2, 3)),
    # spec 02: F_0 never appears, and the first rows hold their own target
    ("first_target", "includes_current"): ((1, 1, 1), (1, 1, 1), (1, 1, 2), (1, 2, 3), (2, 3, 4)),
    ("first_target", "excludes_current"): ((1, 1, 1), (1, 1, 1), (1, 1, 1), (1, 1, 2), (1, 2, 3)),
}
POSES = np.array([[100.0 * frame + channel for channel in range(18)] for frame in range(6)], np.float32)
EVERY_START = pytest.mark.parametrize(("start", "phase"), TABLE, ids=lambda word: word)


@pytest.fixture(scope="module")
def contract(tmp_path_factory):
    return tiny.contract(tmp_path_factory.mktemp("history"))


def history(contract, **conventions):
    return PoseHistory(contract.with_conventions(conventions))


def pose_of(entry):
    if entry == I:
        return [1, 0, 0, 0, 0, 1] * 3
    return [0] * 18 if entry == Z else POSES[entry].tolist()


def expected_rows(start, phase, order):
    rows = []
    for entries in TABLE[start, phase]:
        ordered = entries if order == "oldest_first" else entries[::-1]
        rows.append([number for entry in ordered for number in pose_of(entry)])
    return rows


def raw_rows(history, poses, steps):
    """The rows of a run that a clip of these poses drives."""
    if history.start == "first_target":
        refuse_one_pose(poses)
    padding = history.padding(poses[min(history.first, len(poses) - 1)])
    return history.rows(np.arange(steps), poses.__getitem__, np.broadcast_to(padding, (steps, poses.shape[1])))


def ring_rows(ring, steps):
    """The rows of a free run that happens to produce the clip's own poses: each frame sees none but those before it."""
    padding, rows = ring.padding(POSES[ring.first])[None], []
    for frame in range(steps):
        known = np.where((np.arange(len(POSES)) <= frame)[:, None], POSES, np.nan)
        rows.append(ring.rows(np.array([frame]), known.__getitem__, padding)[0])
    return np.stack(rows)


def test_tables_have_a_row_for_every_value_of_their_knob():
    """If the runtime lacks a value that the command line accepts, a run stops in the middle."""
    assert set(NORMALISE) == set(KNOBS["pose_history_norm"].values)
    assert set(ORDERS) == set(KNOBS["pose_history_order"].values)
    assert set(DELAY) == set(KNOBS["pose_history_phase"].values)
    assert set(FIRST_POSE) == set(KNOBS["pose_history_start"].values) == {start for start, _ in TABLE}


@EVERY_START
@every_case("order", ["oldest_first", "newest_first"])
def test_history_holds_the_frames_of_the_table(contract, start, phase, order):
    """One frame off and the network sees a character that moves backwards in time."""
    made = history(contract, pose_history_start=start, pose_history_phase=phase, pose_history_order=order)
    got = raw_rows(made, POSES, 5)
    assert got.dtype == np.float32
    assert got.tolist() == expected_rows(start, phase, order)


@EVERY_START
@every_case("order", ["oldest_first", "newest_first"])
def test_ring_of_a_free_run_gives_the_teachers_rows(contract, start, phase, order):
    """Teacher-driven and free-run would otherwise disagree on the same poses, and neither would be wrong."""
    made = history(contract, pose_history_start=start, pose_history_phase=phase, pose_history_order=order)
    np.testing.assert_array_equal(ring_rows(made, 5), raw_rows(made, POSES, 5))
    assert ring_rows(made, 5).tolist() == expected_rows(start, phase, order)


def test_a_free_run_that_resets_its_history_never_sees_the_seed_pose(contract):
    """Without statistics in its file the engine resets every slot after the seed: its first frames see a T-pose."""
    made = PoseHistory(contract.with_conventions({"pose_history_start": "identity_after_seed"}), "free")
    entries = ((I, I, I), (I, I, 1), (I, 1, 2), (1, 2, 3), (2, 3, 4))
    expected = [[number for entry in row for number in pose_of(entry)] for row in entries]
    assert raw_rows(made, POSES, 5).tolist() == expected
    assert ring_rows(made, 5).tolist() == expected


@pytest.mark.parametrize("length", [1, 2, 5])
def test_length_comes_from_the_contract(contract, length):
    """Nothing may assume three frames."""
    for start, phase in itertools.product(FIRST_POSE, DELAY):
        changed = with_pose_history_length(contract, length)
        made = history(changed, pose_history_start=start, pose_history_phase=phase)
        rows = raw_rows(made, POSES, 5)
        assert rows.shape == (5, length * 18)
        np.testing.assert_array_equal(ring_rows(made, 5), rows)
    newest = raw_rows(history(with_pose_history_length(contract, length)), POSES, 5)[:, -18:]
    np.testing.assert_array_equal(newest, POSES[:5])


def test_a_crowd_has_a_row_for_each_character(contract):
    """Joined along the wrong axis, the history of one character continues in the next one's."""
    made = history(contract)
    crowd = np.stack([POSES, -POSES])
    got = made.rows(np.array([2, 2]), lambda wanted: crowd[[[0], [1]], wanted], np.zeros((2, 18), np.float32))
    assert got.tolist() == [POSES[:3].ravel().tolist(), (-POSES[:3]).ravel().tolist()]


def test_a_run_of_no_steps_has_no_rows(contract):
    """A recording of one pose has no step: a shape that is guessed would end the comparison."""
    assert raw_rows(history(contract), POSES[:1], 0).shape == (0, 54)


def test_padding_has_as_many_bones_as_the_poses(contract):
    """A character is not always of the three bones of this file."""
    seven = np.zeros(42, np.float32)
    assert history(contract, pose_history_start="identity").padding(seven).tolist() == [1, 0, 0, 0, 0, 1] * 7


@pytest.mark.parametrize("start", ["seed_pose", "identity", "zeros", "identity_after_seed"])
def test_one_frame_is_enough_for_every_other_padding(contract, start):
    """A clip that only holds the pose to start from can drive a free run."""
    made = PoseHistory(contract.with_conventions({"pose_history_start": start}), "free")
    want = {"seed_pose": POSES[0].tolist(), "zeros": [0.0] * 18}.get(start, [1, 0, 0, 0, 0, 1] * 3)
    assert made.padding(POSES[0]).tolist() == want


def test_two_frames_have_a_first_target(contract):
    """It is the second one's pose, also where it is the last."""
    made = history(contract, pose_history_start="first_target")
    assert raw_rows(made, POSES[:2], 1).reshape(-1, 18)[0].tolist() == POSES[1].tolist()


def test_first_target_padding_needs_a_target(contract):
    """A clip of one frame has none: inventing one would hide that the clip is too short."""
    with pytest.raises(UnusableInput, match="at least two frames"):
        raw_rows(history(contract, pose_history_start="first_target"), POSES[:1], 1)


def test_history_without_a_length_is_refused(tmp_path):
    """Neither bundle nor network gives the number of frames: a guess would hide a layout error."""
    with pytest.raises(UnusableInput, match="pose_hist_len"):
        PoseHistory(tiny.contract(tmp_path, tiny.bundle(auxiliary=False)))


def squashed(value, scale, mean, std):
    return (math.tanh(value / max(abs(scale), 1e-6)) - mean) / max(abs(std), 1e-6)


NORM = {
    "tanh_zscore": squashed,
    "linear": lambda value, scale, mean, std: (value / max(abs(scale), 1e-6) - mean) / max(abs(std), 1e-6),
    "tanh": lambda value, scale, mean, std: math.tanh(value / max(abs(scale), 1e-6)),
    "tanh_unit_scale": lambda value, scale, mean, std: math.tanh(value),
    "raw": lambda value, scale, mean, std: value,
}


@pytest.mark.parametrize("norm", NORM)
def test_normalisation_of_every_variant(tmp_path, norm):
    """Without the companion's statistics, the engine silently uses `tanh_unit_scale`."""
    document = tiny.bundle()
    document["tanh_scales_pose_hist"][:3] = [0.0, -0.4, 1e-7]
    document["StdPoseHist"][:3] = [0.0, -0.5, 1e-7]
    contract = tiny.contract(tmp_path, document)
    raw = np.linspace(-1, 1, 108, dtype=np.float32).reshape(2, 54)
    got = HistoryNormaliser(contract.with_conventions({"pose_history_norm": norm}))(raw)
    names = ("tanh_scales_pose_hist", "MuPoseHist", "StdPoseHist")
    columns = [np.array(document[name], np.float32).tolist() for name in names]
    want = [[NORM[norm](value, *rest) for value, *rest in zip(row, *columns, strict=True)] for row in raw.tolist()]
    assert got.dtype == np.float32
    # the statistics are exact float32, the maths float64: stored once; 1e-6 as float32 is within u of 1e-6
    np.testing.assert_allclose(got, want, rtol=4 * STORE, atol=1e-9)


def test_bundle_without_statistics_normalises_with_scale_one(tmp_path):
    """Spec 01 section 0: the engine's silent fallback when the second file was not merged."""
    contract = with_pose_history_length(tiny.contract(tmp_path, tiny.bundle(auxiliary=False)), 3)
    raw = np.linspace(-1, 1, 54, dtype=np.float32)
    got = HistoryNormaliser(contract)(raw)
    np.testing.assert_allclose(got, [math.tanh(value) for value in raw.tolist()], rtol=2 * STORE)


@pytest.mark.parametrize(("phase", "poses"), [("includes_current", 3), ("excludes_current", 4)])
def test_a_history_of_three_reaches_back_as_far_as_its_oldest_pose(contract, phase, poses):
    """A run keeps so many poses: one fewer and the oldest is lost, one more and a crowd holds what nobody reads."""
    assert history(contract, pose_history_phase=phase).reach == poses
