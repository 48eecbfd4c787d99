"""What the network is given beside the state: condition, velocity and history, against scalar arithmetic and tables by hand."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rigpact.contract.character import with_pose_history_length
from rigpact.reference_runtime.graph.replayed import Evidence, ReplayedFrames
from rigpact.reference_runtime.graph.run import ClipDrive, stages_from
from rigpact.reference_runtime.systems.enemy_animation.inputs import AngularVelocityInput, condition_rows, window_zscore
from rigpact.reference_runtime.systems.enemy_animation.past_poses import HistoryNormaliser, PoseHistory, refuse_one_pose
from rigpact.reference_runtime.systems.enemy_animation.state import StateNormaliser

from ..every_case import every_case
from . import scalar_oracle as oracle
from . import tiny_character as tiny
from .drawn import axes
from .trace_files import refused

STORE, ROTATIONS, ANGVEL = 2.0**-24, slice(6, 24), slice(24, 33)
DOCUMENT = tiny.bundle()


@pytest.fixture(scope="module")
def contract(tmp_path_factory):
    return tiny.contract(tmp_path_factory.mktemp("inputs"), DOCUMENT)


def f32(values):
    return np.array(values, np.float32).tolist()


# --- condition: bits, direction and speed -----------------------------------------------------------------------------

MIDDLE = (0.6, 0.8)
READING = {
    "velocity": lambda vx, vy: (vx, vy), "trajectory": lambda vx, vy: MIDDLE, "negated": lambda vx, vy: (-vx, -vy),
    "swapped_xy": lambda vx, vy: (vy, vx), "mirrored_y": lambda vx, vy: (vx, -vy),
}  # fmt: skip


def moving_at(folder, velocities, **changes):
    document = tiny.clip_document(len(velocities))
    for frame, velocity in zip(document["Frames"], velocities, strict=True):
        frame.update(RootVelocityXY=list(velocity), **changes)
    return tiny.clip(folder, document)


@every_case("direction", READING)
@every_case(("unit", "factor"), [("m_s", 1.0), ("cm_s", 100.0)])
def test_condition_is_bits_then_direction_then_speed(tmp_path, contract, direction, unit, factor):
    """A direction that is mirrored or of the wrong unit makes the enemy run sideways; no direction below 1 mm/s."""
    velocities = [(1.5, -2.0), (-0.3, 0.1), (0.0, 4.0), (0.0, -0.99e-3), (0.0, -1.01e-3), (0.0, 0.0)]
    of = contract.with_conventions({"condition_direction": direction, "condition_speed_unit": unit})
    got, want = condition_rows(moving_at(tmp_path, velocities), of), []
    for velocity in velocities:
        x, y = READING[direction](*velocity)
        size = math.hypot(x, y)
        unit_vector = (x / size, y / size) if size >= 1e-3 else (0.0, 0.0)
        want.append([0.0, 1.0, 0.0, 0.0, *unit_vector, factor * math.hypot(*velocity)])
    assert got.dtype == np.float32
    # inputs rounded once to float32, the result once more; a hypotenuse and a quotient between
    np.testing.assert_allclose(got, want, rtol=4 * STORE, atol=0)


def test_an_engine_looks_along_the_trajectory_and_training_along_the_velocity_unless_it_is_declared(tmp_path, contract):
    """One default for both sides makes one of them wrong; the middle sample is now, the first lies in the past."""
    clip = moving_at(tmp_path, [(1.5, -2.0)] * 2)
    trained = contract.with_conventions(contract.conventions.of_training)
    for of, expected in ((contract, MIDDLE), (trained, (0.6, -0.8))):
        np.testing.assert_allclose(condition_rows(clip, of)[0][4:6], expected, rtol=4 * STORE)
    for value in ("trajectory", "negated"):
        assert tiny.contract(tmp_path, condition_direction=value).conventions.of_training == {}
    for count in (1, 2, 5, 6):
        samples = [[math.cos(place), math.sin(place)] for place in range(count)]
        got = condition_rows(moving_at(tmp_path, [(1.0, 0.0)] * 2, TrajectoryDir=samples), contract)
        np.testing.assert_allclose(got[:, 4:6], [samples[count // 2]] * 2, rtol=0, atol=4 * STORE)


def test_bits_lie_between_0_and_1_and_the_limit_of_a_direction_is_included(tmp_path, contract):
    """A game that counts its button presses would send the network a 2, which it has never seen."""
    of = contract.with_conventions({"condition_direction": "velocity", "math": "f32"})
    clip = moving_at(tmp_path, [(-3.0, 0.0), (0.0, -1e-3)], ActionBits=[-1.0, 2.0, 0.25, 1.0])
    assert condition_rows(clip, of)[:, :6].tolist() == [
        [0.0, 1.0, 0.25, 1.0, -1.0, 0.0],
        [0.0, 1.0, 0.25, 1.0, 0.0, -1.0],
    ]


def expected_zscore(sample, window):
    """Spec 01 section 3, one channel after the other."""
    z = []
    for channel, value in enumerate(sample):
        samples = [row[channel] for row in window]
        first, third = oracle.quantile(samples, 0.25), oracle.quantile(samples, 0.75)
        low, high = first - 1.5 * (third - first), third + 1.5 * (third - first)
        kept = [x for x in samples if low <= x <= high] or samples
        mean = math.fsum(kept) / len(kept)
        variance = max(math.fsum((x - mean) ** 2 for x in kept) / len(kept), 1e-6)
        z.append((value - mean) / max(math.sqrt(variance), 1e-3))
    return z


eighths = st.integers(-80, 80).map(lambda k: k / 8.0)  # quartiles and fences are exact: no decision within rounding


@given(rows=st.lists(st.lists(eighths, min_size=7, max_size=7), min_size=1, max_size=60))
@example(rows=[[0.0] * 7])
@example(rows=[[1.0] * 7] * 9 + [[50.0] * 7])  # an outlier with no spread around it
@example(rows=[[0.0] * 7, [1.0] * 7])
@example(rows=[[0.0] * 7, [0.0] * 7, [1.0] * 7, [2.5] * 7, [1.0] * 7])  # exactly on the fence
@example(rows=[[0.0] * 7, [0.0] * 7, [1.0] * 7, [2.51] * 7, [1.0] * 7])
def test_zscore_leaves_outliers_out_and_floors_the_deviation(rows):
    """One teleport in the window would otherwise flatten the condition for a second."""
    # 60 additions and a division by at least 1e-3
    np.testing.assert_allclose(
        window_zscore(np.array(rows[-1]), np.array(rows)), expected_zscore(rows[-1], rows), rtol=1e-9, atol=1e-9
    )


def test_window_holds_the_last_sixty_samples_and_raw_passes_through(contract):
    """One sample more or less and engine and runtime part after exactly a second; a constant has no spread."""
    scored = contract.with_conventions({"condition_norm": "zscore"})
    rows = [[math.sin(0.37 * k + channel) * 8 // 1 / 8 for channel in range(7)] for k in range(70)]
    given = {"cond_raw": np.array(rows, np.float32)}
    got, raw = stages_from(scored, given)["cond"], stages_from(contract, given)["cond"]
    expected = [expected_zscore(rows[k], rows[max(0, k - 59) : k + 1]) for k in range(70)]
    np.testing.assert_allclose(got, expected, rtol=4 * STORE, atol=1e-6)
    assert (got.dtype, raw.tolist()) == (np.float32, rows)
    assert not stages_from(scored, {"cond_raw": np.full((3, 7), 1.25, np.float32)})["cond"].any()


# --- angular velocity -------------------------------------------------------------------------------------------------

POSES = [tiny.pose(frame) for frame in range(6)]
MEASURED = f32([[0.5 * frame + 0.1 * channel for channel in range(9)] for frame in range(6)])
# entries of both rotations are stored once: u each, times sqrt(6) for the vector, times fps, over scale >= 2 and std >= 0.3
FROM_STORED = 4 * STORE * tiny.FPS / 2.0 / 0.3


def expected_z(omega, statistics=("tanh_scales_angvel", "MuAngVel", "StdAngVel"), part=slice(None)):
    """tanh, then z-score, with the companion's statistics: spec 02."""
    columns = [f32(DOCUMENT[name])[part if len(DOCUMENT[name]) > 9 else slice(None)] for name in statistics]
    return [
        (math.tanh(w / max(abs(scale), 1e-6)) - mean) / max(abs(std), 1e-6)
        for w, scale, mean, std in zip(omega, *columns, strict=True)
    ]


def rates(*turns):
    """Axis times angle times fps of each bone's turn, in the parent's frame."""
    return [w for axis, angle in turns for w in oracle.times(tiny.FPS * angle / oracle.length(axis), axis)]


def motion(poses, velocities=None, steps=None, normaliser=None):
    """Raw states whose rotations are `poses` and whose measured velocity is `velocities`."""
    x_raw = np.zeros((len(poses), tiny.STATE_WIDTH), np.float32)
    x_raw[:, ROTATIONS] = [[x for rotation in pose for x in oracle.encode_xz(rotation)] for pose in poses]
    x_raw[:, ANGVEL] = 0.0 if velocities is None else velocities
    state = x_raw if normaliser is None else normaliser.normalise(x_raw)
    steps, clip = len(poses) - 1 if steps is None else steps, ClipDrive({"x_raw": x_raw}, tiny.FPS)
    return Evidence(np.arange(steps), tiny.FPS, "teacher", {"state": state[:steps]}, lambda _contract: clip)


def rows(contract, motion_of, source="rotations", **conventions):
    of = contract.with_conventions({"angvel_source": source, **conventions})
    return ReplayedFrames(motion_of, of)["angvel"]


turns = st.lists(st.tuples(axes, st.floats(-2.8, 2.8)), min_size=3, max_size=3)


@given(first=turns, second=turns)
@example(first=[((0, 0, 1.0), 1.57)] * 3, second=[((1.0, 0, 0), 0.09)] * 3)
@example(first=[((0, 0, 1.0), 1e-4)] * 3, second=[((1.0, 1.0, 0), 2.8)] * 3)
def test_rotations_give_the_vector_that_turned_them(contract, first, second):
    """Half the vector where the network learned the full one, or the bone's frame: every swing is another."""
    poses = [[oracle.EYE] * 3]
    for step in (first, second):
        poses.append([oracle.product(oracle.rodrigues(*turn), old) for turn, old in zip(step, poses[-1], strict=True)])
    full, half, local = (
        rows(contract, motion(poses), **said) for said in ({}, {"angvel_angle": "half"}, {"angvel_frame": "local"})
    )
    for frame, step in enumerate((first, second)):
        omega = rates(*step)
        seen = [
            oracle.dot(column, omega[3 * k : 3 * k + 3])
            for k in range(3)
            for column in oracle.transposed(poses[frame][k])
        ]
        np.testing.assert_allclose(full[frame], expected_z(omega), rtol=0, atol=FROM_STORED)
        np.testing.assert_allclose(half[frame], expected_z([0.5 * w for w in omega]), rtol=0, atol=FROM_STORED)
        np.testing.assert_allclose(local[frame], expected_z(seen), rtol=0, atol=2 * FROM_STORED)


def test_two_frames_are_a_pair_and_one_frame_is_none(contract):
    """A single frame has turned nowhere: its own measured velocity is all that is known of it."""
    pair = rows(contract, motion(POSES[:2], MEASURED[:2]))
    np.testing.assert_allclose(pair, [expected_z(rates(*tiny.TURNS))], rtol=0, atol=FROM_STORED)
    alone = rows(contract, motion(POSES[:1], MEASURED[1:2], steps=1))
    np.testing.assert_allclose(alone, [expected_z(MEASURED[1])], rtol=4 * STORE, atol=1e-6)


# frame whose velocity each of the five rows holds, and pair k from frame k to k + 1, the last one repeated; by hand
LAGGED = {
    "0": ((0, 1, 2, 3, 4), (0, 1, 2, 3, 4)),
    "-1": ((0, 0, 1, 2, 3), (0, 0, 1, 2, 3)),
    "+1": ((1, 2, 3, 4, 5), (1, 2, 3, 4, 4)),
}


@every_case("lag", LAGGED)
def test_lag_shifts_rows_and_repeats_the_ends_of_the_clip(contract, lag):
    """Training looks one frame into the future: without the lag every swing arrives late."""
    measured = rows(contract, motion(POSES, MEASURED), "aux_stats", angvel_lag=lag)
    np.testing.assert_allclose(
        measured, [expected_z(MEASURED[frame]) for frame in LAGGED[lag][0]], rtol=4 * STORE, atol=1e-6
    )
    speeding = [[oracle.rodrigues((0, 0, 1), 0.02 * k * k)] * 3 for k in range(6)]
    want = [expected_z([0.0, 0.0, tiny.FPS * 0.02 * (2 * k + 1)] * 3) for k in LAGGED[lag][1]]
    np.testing.assert_allclose(rows(contract, motion(speeding), angvel_lag=lag), want, rtol=0, atol=FROM_STORED)


def test_other_sources_of_velocity(contract, tmp_path):
    """The deployed engine uses the state's own statistics, or the first row for ever; an unbound input is not an absent one."""
    moving = motion(POSES, MEASURED, normaliser=StateNormaliser(contract))
    of_state = [expected_z(each, ("tanh_scales_angvel", "MuX", "StdX"), ANGVEL) for each in MEASURED[:5]]
    for source, want in (
        ("state_slice", of_state),
        ("frozen", [expected_z(MEASURED[0])] * 5),
        ("zeros", [[0.0] * 9] * 5),
    ):
        got = rows(contract, moving, source)
        np.testing.assert_allclose(got, want, rtol=4 * STORE, atol=1e-6)
        assert got.dtype == np.float32
    for source in ("aux_stats", "rotations"):  # a silent scale of 1 is a defect that rigpact must find in an engine
        assert refused(
            AngularVelocityInput, tiny.contract(tmp_path, tiny.bundle(auxiliary=False), angvel_source=source)
        )
    assert tiny.contract(tmp_path, tiny.bundle(auxiliary=False)).conventions.angvel_source == "state_slice"
    assert contract.conventions.angvel_source == "aux_stats"


# --- pose history -----------------------------------------------------------------------------------------------------

I, Z = "identity", "zeros"  # noqa: E741 - the table reads best with one letter
CURRENT, BEFORE = (
    ((0, 0, 0), (0, 0, 1), (0, 1, 2), (1, 2, 3), (2, 3, 4)),
    ((0, 0, 0), (0, 0, 0), (0, 0, 1), (0, 1, 2), (1, 2, 3)),
)
# Which frame stands in each of the three entries, oldest first, at t = 0..4. Frame k is the pose of frame k.
TABLE = {
    ("seed_pose", "includes_current"): CURRENT, ("seed_pose", "excludes_current"): BEFORE,
    ("identity", "includes_current"): ((I, I, 0), (I, 0, 1), (0, 1, 2), (1, 2, 3), (2, 3, 4)),
    ("identity", "excludes_current"): ((I, I, I), (I, I, 0), (I, 0, 1), (0, 1, 2), (1, 2, 3)),
    ("zeros", "includes_current"): ((Z, Z, 0), (Z, 0, 1), (0, 1, 2), (1, 2, 3), (2, 3, 4)),
    ("zeros", "excludes_current"): ((Z, Z, Z), (Z, Z, 0), (Z, 0, 1), (0, 1, 2), (1, 2, 3)),
    # a clip drives: the ring is filled with the seed pose
    ("identity_after_seed", "includes_current"): CURRENT, ("identity_after_seed", "excludes_current"): BEFORE,
    # spec 02: F_0 never appears, and the first rows hold their own target
    ("first_target", "includes_current"): ((1, 1, 1), (1, 1, 1), (1, 1, 2), (1, 2, 3), (2, 3, 4)),
    ("first_target", "excludes_current"): ((1, 1, 1), (1, 1, 1), (1, 1, 1), (1, 1, 2), (1, 2, 3)),
}  # fmt: skip
NUMBERED = np.array([[100.0 * frame + channel for channel in range(18)] for frame in range(6)], np.float32)
IDENTITY = [1, 0, 0, 0, 0, 1] * 3


def history(contract, mode="teacher", **conventions):
    return PoseHistory(
        contract.with_conventions({f"pose_history_{name}": value for name, value in conventions.items()}), mode
    )


def expected_rows(table, order="oldest_first"):
    pose = {I: IDENTITY, Z: [0] * 18} | dict(enumerate(NUMBERED.tolist()))
    return [
        [number for entry in (entries if order == "oldest_first" else entries[::-1]) for number in pose[entry]]
        for entries in table
    ]


def raw_rows(made, poses, steps):
    """The rows of a run that a clip of these poses drives."""
    if made.start == "first_target":
        refuse_one_pose(poses)
    padding = made.padding(poses[min(made.first, len(poses) - 1)])
    return made.rows(np.arange(steps), poses.__getitem__, np.broadcast_to(padding, (steps, poses.shape[1])))


def ring_rows(ring, steps):
    """The rows of a free run that happens to produce the clip's own poses: each frame sees none but those before it."""
    padding, found = ring.padding(NUMBERED[ring.first])[None], []
    for frame in range(steps):
        known = np.where((np.arange(len(NUMBERED)) <= frame)[:, None], NUMBERED, np.nan)
        found.append(ring.rows(np.array([frame]), known.__getitem__, padding)[0].tolist())
    return found


@every_case(("start", "phase"), TABLE)
@every_case("order", ["oldest_first", "newest_first"])
def test_history_holds_the_frames_of_the_table_in_either_mode(contract, start, phase, order):
    """One frame off and the network sees a character that moves backwards in time."""
    made = history(contract, start=start, phase=phase, order=order)
    got, expected = raw_rows(made, NUMBERED, 5), expected_rows(TABLE[start, phase], order)
    assert (got.dtype, got.tolist(), ring_rows(made, 5)) == (np.float32, expected, expected)
    assert 1 - made.offsets.min() == (3 if phase == "includes_current" else 4)
    for length in (1, 2, 5):  # nothing may assume three frames
        longer = history(with_pose_history_length(contract, length), start=start, phase=phase, order=order)
        assert (raw_rows(longer, NUMBERED, 5).shape, ring_rows(longer, 5)) == (
            (5, length * 18),
            raw_rows(longer, NUMBERED, 5).tolist(),
        )


def test_a_free_run_that_resets_its_history_never_sees_the_seed_pose(contract):
    """Without statistics in its file the engine resets every slot after the seed: its first frames see a T-pose."""
    made = history(contract, "free", start="identity_after_seed")
    expected = expected_rows(((I, I, I), (I, I, 1), (I, 1, 2), (1, 2, 3), (2, 3, 4)))
    assert (raw_rows(made, NUMBERED, 5).tolist(), ring_rows(made, 5)) == (expected, expected)


def test_histories_of_crowds_of_no_steps_and_of_other_bones(contract, tmp_path):
    """Joined along the wrong axis, the history of one character continues in the next one's."""
    made, crowd = history(contract), np.stack([NUMBERED, -NUMBERED])
    got = made.rows(np.array([2, 2]), lambda wanted: crowd[[[0], [1]], wanted], np.zeros((2, 18), np.float32))
    assert got.tolist() == [NUMBERED[:3].ravel().tolist(), (-NUMBERED[:3]).ravel().tolist()]
    assert raw_rows(made, NUMBERED[:1], 0).shape == (0, 54)
    assert history(contract, start="identity").padding(np.zeros(42, np.float32)).tolist() == [1, 0, 0, 0, 0, 1] * 7
    for start, want in (
        ("seed_pose", NUMBERED[0].tolist()),
        ("identity", IDENTITY),
        ("zeros", [0.0] * 18),
        ("identity_after_seed", IDENTITY),
    ):
        assert history(contract, "free", start=start).padding(NUMBERED[0]).tolist() == want
    target = history(contract, start="first_target")
    assert raw_rows(target, NUMBERED[:2], 1).reshape(-1, 18)[0].tolist() == NUMBERED[1].tolist()
    assert refused(lambda: raw_rows(target, NUMBERED[:1], 1))  # a clip of one frame has no target
    assert refused(
        PoseHistory, tiny.contract(tmp_path, tiny.bundle(auxiliary=False))
    )  # nobody gives the number of frames


NORM = {
    "tanh_zscore": lambda value, scale, mean, std: (math.tanh(value / scale) - mean) / std, "linear": lambda value, scale,
    mean, std: (value / scale - mean) / std,
    "tanh": lambda value, scale, mean, std: math.tanh(value / scale), "tanh_unit_scale": lambda value, *_: math.tanh(value),
    "raw": lambda value, *_: value,
}  # fmt: skip


@every_case("norm", NORM)
def test_normalisation_of_every_variant(tmp_path, norm):
    """Without the companion's statistics, the engine silently uses scale 1, mean 0 and deviation 1; floors are a millionth."""
    document = tiny.bundle()
    document["tanh_scales_pose_hist"][:3], document["StdPoseHist"][:3] = [0.0, -0.4, 1e-7], [0.0, -0.5, 1e-7]
    raw = np.linspace(-1, 1, 108, dtype=np.float32).reshape(2, 54)
    got = HistoryNormaliser(tiny.contract(tmp_path, document, pose_history_norm=norm))(raw)
    scale, mean, std = (f32(document[name]) for name in ("tanh_scales_pose_hist", "MuPoseHist", "StdPoseHist"))
    floored = [[max(abs(each), 1e-6) for each in column] for column in (scale, std)]
    want = [[NORM[norm](*each) for each in zip(row, floored[0], mean, floored[1], strict=True)] for row in raw.tolist()]
    assert got.dtype == np.float32
    # the statistics are exact float32, the maths float64: stored once; 1e-6 as float32 is within u of 1e-6
    np.testing.assert_allclose(got, want, rtol=4 * STORE, atol=1e-9)
    bare = with_pose_history_length(tiny.contract(tmp_path, tiny.bundle(auxiliary=False)), 3)
    np.testing.assert_allclose(
        HistoryNormaliser(bare)(raw[0]), [math.tanh(value) for value in raw[0].tolist()], rtol=2 * STORE
    )
