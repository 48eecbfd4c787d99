"""Tolerances: two correct implementations never exceed them, and a small defect does."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rigpact.contract import load_contract
from rigpact.contract.pages.registry import find_system
from rigpact.contract.statistics import Statistics, frozen_float32
from rigpact.reference_runtime import OnnxNetwork, ReplayNetwork, open_run, read_clip, run_frames
from rigpact.reference_runtime.graph.bounds import stage_tolerances
from rigpact.reference_runtime.operations.rounding import gamma
from rigpact.reference_runtime.vocabulary.character.state_features import StateNormaliser
from rigpact.reference_runtime.vocabulary.posing.outputs import OutputStages

from ..every_case import every_case
from . import scalar_oracle as oracle
from . import tiny_character as tiny

KNOBS = find_system("enemy_animation").knobs

UNIT = 2.0**-24
FRAMES = 32


class Demo:
    """The demo bundle, run once; other runs replay its network so that only the runtime differs."""

    def __init__(self, folder):
        self.contract = load_contract(folder / "norm_template.json", folder / "pretrain_template.json")
        self.clip = read_clip(folder / "clips/Sneak_Turn.json")
        self.network = OnnxNetwork(folder / "model.onnx", self.contract)
        self.stages = self.run(self.contract, self.network)
        self.replay = ReplayNetwork(self.stages["y_norm"])

    def run(self, contract, network=None):
        runner = open_run(contract, network or self.replay, self.clip, "teacher")
        return run_frames(runner, range(FRAMES), None, "teacher").stages


@pytest.fixture(scope="module")
def demo(demo_bundle):
    return Demo(demo_bundle)


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """The tiny character, loaded once."""
    return tiny.contract(tmp_path_factory.mktemp("tolerances"))


def differences(a, b):
    """|a - b| of each stage; quaternions of either sign are one rotation."""
    for name, rows in a.items():
        other = b[name].astype(np.float64)
        if name == "quat":
            quats, others = rows.reshape(-1, 4), other.reshape(-1, 4)
            other = (others * np.sign(np.sum(quats * others, axis=-1, keepdims=True))).reshape(rows.shape)
        yield name, np.abs(rows - other)


def alarms(contract, a, b, bounds=None):
    bounds = bounds or stage_tolerances(contract, a)
    return {name for name, error in differences(a, b) if (error > bounds[name]).any()}


# --- wide enough ------------------------------------------------------------------------------------------------------

VALUES = [(name, value) for name, knob in KNOBS.items() for value in knob.values]


SMALL = {
    "x_raw": 1e-4, "state": 1e-3, "cond_raw": 1e-6, "cond": 1e-6, "contacts": 1e-6, "angvel": 1e-5, "pose_hist_raw": 1e-5,
    "pose_hist": 2e-3, "y_norm": 2e-4, "y_raw": 1e-4, "delta6d": 2e-4, "next6d": 2e-4, "y_out": 2e-4, "quat": 2e-4,
    "x_raw_next": 2e-4,
}  # fmt: skip
"""What shows in every channel and frame: a tenth of a millimetre, a hundredth of a degree, a thousandth of a deviation."""
HARDER_TO_SEE = {
    ("angvel_squash", "tanh_after_zscore"): {"x_raw", "x_raw_next"},  # near the ends of tanh many speeds are one number
    ("condition_speed_unit", "cm_s"): {"cond_raw", "cond"},  # a hundred times the number
    ("condition_norm", "zscore"): {"cond"},  # over a window in which a component may stand still
    ("angvel_source", "rotations"): {"angvel"},  # the difference of two poses, times the frame rate
    ("angvel_frame", "local"): {"angvel"},  # turned by the pose
    ("pose_history_start", "zeros"): {"pose_hist_raw", "pose_hist"},  # a pose that is none
    ("pose_history_norm", "linear"): {"pose_hist"},  # nothing shortens what a small scale makes large
    ("rot6d_packing", "interleaved"): {"pose_hist_raw", "pose_hist"},  # the clip's columns read as rows
}  # fmt: skip


@every_case(("knob", "value"), VALUES, by="knob")
def test_float32_maths_never_alarms_on_the_demo_and_a_small_defect_does(demo, knob, value):
    """UE 4 and UE 5 compute in different precision: a gate that alarms for that is switched off. One that is blind is none."""
    contract = demo.contract.with_conventions({knob: value})
    wide = demo.run(contract.with_conventions({"math": "f64"}))
    narrow = demo.run(contract.with_conventions({"math": "f32"}))
    bounds = stage_tolerances(contract, wide)
    assert alarms(contract, wide, narrow, bounds) == set()
    unseen = {name for name in wide if not (bounds[name] < SMALL[name]).all()}
    assert unseen <= HARDER_TO_SEE.get((knob, value), set())


states = st.lists(st.floats(-3.0, 3.0, width=32, allow_subnormal=False), min_size=33, max_size=33)


@given(x=states, y=st.lists(st.floats(-3.0, 3.0, width=32, allow_subnormal=False), min_size=18, max_size=18))
@example(x=[0.0] * 33, y=[0.0] * 18)
@example(x=[math.pi] * 33, y=[-1.0] * 18)
def test_float32_maths_never_alarms_on_drawn_states_and_outputs(plain, x, y):
    """Near-degenerate columns and headings at the seam are decisions within rounding: both answers are right."""
    x, y = np.array([x], np.float32), np.array([y], np.float32)
    previous = np.array([[n for r in tiny.pose(1) for n in oracle.encode_xz(r)]], np.float32)
    runs = []
    for math_mode in ("f64", "f32"):
        contract = plain.with_conventions({"math": math_mode})
        state = {"state": StateNormaliser(contract).normalise(x)}
        runs.append(state | OutputStages(contract)(y, previous, previous))
    assert alarms(plain, *runs) == set()


def test_torch_training_geometry_is_within_the_bound(demo):
    """The same network output through the training side's own composition."""
    torch = pytest.importorskip("torch")
    from rigpact.training.enemy_animation.geometry import compose_rot6d_delta

    place = demo.contract.numbers.state["BoneRotations6D"].range
    previous = torch.from_numpy(demo.stages["x_raw"][:, place].copy())
    residual = torch.from_numpy(demo.stages["y_norm"] * demo.contract.numbers.output_statistics.std)
    theirs = compose_rot6d_delta(previous, residual).numpy()
    bounds = stage_tolerances(demo.contract, demo.stages)
    assert (np.abs(theirs - demo.stages["y_out"]) <= bounds["y_out"]).all()


@pytest.mark.parametrize("yaw", [6.3, -6.3, 12.6, 100.0])
def test_heading_of_more_than_one_turn_does_not_alarm(tmp_path, yaw):
    """An enemy that circles the player once must not fail against its own float32 run."""
    document = tiny.bundle()
    document["MuX"][5] = 0.0
    plain = tiny.contract(tmp_path, document)
    x = np.zeros((1, 33), np.float32)
    x[0, 5] = yaw
    runs = [
        {"x_raw": x, "state": StateNormaliser(plain.with_conventions({"math": m})).normalise(x)} for m in ("f64", "f32")
    ]
    assert alarms(plain, *runs) == set()


def test_heading_at_the_seam_does_not_alarm_in_radians(plain):
    """Facing exactly backwards is where float32 and float64 wrap to different sides."""
    contract = plain.with_conventions({"yaw_encoding": "radians"})
    bounds = []
    for z_of in (math.pi, -math.pi):
        std, mean = contract.numbers.state_statistics.std[5], contract.numbers.state_statistics.mean[5]
        z = np.zeros((1, 33), np.float32)
        z[0, 5] = (z_of - mean) / std
        bounds.append((z, stage_tolerances(contract, {"state": z})["state"]))
    assert abs(bounds[0][0] - bounds[1][0])[0, 5] <= bounds[0][1][0, 5]


@pytest.fixture
def at_mean_speed(tmp_path):
    """float64 and float32 runs of limbs at their mean speed: z is the rounding of a difference."""
    document = tiny.bundle(MuAngVel=[0.0] * 9)
    document["MuX"][24:33] = [0.6] * 9
    contract = tiny.contract(tmp_path, document, angvel_source="state_slice")
    moving = tiny.clip_document()
    mean_speed = [scale * math.atanh(0.6) for scale in document["tanh_scales_angvel"]]
    for frame in moving["Frames"]:
        frame["BoneAngularVelocities"] = [mean_speed[start : start + 3] for start in (0, 3, 6)]
    clip, outputs = tiny.clip(tmp_path, moving), ReplayNetwork(np.zeros((6, 18), np.float32))
    runs = []
    for math_mode in ("f64", "f32"):
        runner = open_run(contract.with_conventions({"math": math_mode}), outputs, clip, "teacher")
        runs.append(run_frames(runner, range(5), None, "teacher").stages)
    return contract, runs


def test_limbs_at_their_mean_speed_do_not_alarm_in_the_state(at_mean_speed):
    """The bound must include the rounding of the subtraction."""
    contract, (wide, narrow) = at_mean_speed
    state = {"state": wide["state"]}, {"state": narrow["state"]}
    assert alarms(contract, *state) == set()
    assert np.abs(wide["state"] - narrow["state"])[:, 24:].max() > 0  # the runs do differ


def test_state_slice_as_angular_velocity_does_not_alarm(at_mean_speed):
    """The very same numbers as in the state, judged as if nothing had been subtracted."""
    contract, runs = at_mean_speed
    np.testing.assert_array_equal(runs[0]["angvel"], runs[0]["state"][:, 24:])
    assert alarms(contract, *runs) == set()


@pytest.mark.parametrize("feature", [0.99, 0.9999, 0.9999985])
def test_velocity_in_an_output_does_not_alarm(tmp_path, feature):
    """atanh near 1 magnifies the rounding of its argument: a sprinting character is where it stands."""
    document = tiny.bundle(output={"BoneRotations6D": 18, "RootVelocity": 2})
    contract = tiny.contract(tmp_path, document)
    y_norm = np.zeros((1, 20), np.float32)
    y_norm[0, 18:] = [(feature - document["MuY"][c]) / document["StdY"][c] for c in (18, 19)]
    runs = [
        {"y_raw": OutputStages(contract.with_conventions({"math": math_mode})).y_raw(y_norm)}
        for math_mode in ("f64", "f32")
    ]
    assert alarms(contract, *runs) == set()


def test_quaternion_of_a_reflection_does_not_alarm(plain):
    """Three of its four candidates tie: float32 and float64 take different ones, a half turn apart."""
    contract = plain.with_conventions({"derived_axis": "first_cross_second"})
    turns = [oracle.rodrigues((math.sin(k), math.cos(k), 0.3), 1e-7 * k) for k in range(96)]
    y_out = np.array([oracle.encode_xz(turn) for turn in turns], np.float32).reshape(32, 18)
    runs = [
        {"y_out": y_out, "quat": OutputStages(contract.with_conventions({"math": math_mode})).quat(y_out)}
        for math_mode in ("f64", "f32")
    ]
    assert alarms(contract, *runs) == set()


# --- positive, and scaled with conditioning ---------------------------------------------------------------------------


def test_every_stage_has_a_bound_of_its_own_shape_and_none_is_negative(demo):
    """With a NaN bound everything passes, with a negative bound nothing."""
    bounds = stage_tolerances(demo.contract, demo.stages)
    assert set(bounds) == set(demo.stages)
    for name, bound in bounds.items():
        assert bound.shape == demo.stages[name].shape
        assert np.isfinite(bound).all()
        assert (bound >= 0).all()
    for name in ("state", "angvel", "pose_hist", "y_norm", "y_raw", "delta6d", "next6d", "y_out", "quat"):
        assert (bounds[name] > 0).all(), name


def test_gamma_is_highams():
    """k roundings of u each: k u / (1 - k u)."""
    assert gamma(1) == pytest.approx(UNIT, rel=1e-6)
    assert gamma(1 << 23) == pytest.approx(1.0)


def test_bound_of_a_zscore_grows_as_the_deviation_shrinks(plain):
    """One number for all channels is either blind on the wide ones or alarms on the narrow ones."""
    z = np.full((1, 33), 0.5, np.float32)
    bounds = []
    for std in (1.0, 1e-6):
        statistics = Statistics(frozen_float32(np.full(33, 0.25)), frozen_float32(np.full(33, std)))
        bounds.append(stage_tolerances(_with_state(plain, statistics), {"state": z})["state"][0, 0])
    # a raw value near 0.25 is known to about u·0.25: a few e-8 of a deviation of 1, and a hundredth of one of 1e-6
    assert 1e-8 < bounds[0] < 1e-6
    assert 0.01 < bounds[1] < 1.0


def _with_state(contract, statistics):
    from dataclasses import replace

    return contract.with_numbers(replace(contract.numbers, state_statistics=statistics))


@pytest.mark.parametrize("angle_deg", [90.0, 10.0, 1.0])
def test_bound_of_reprojection_grows_as_the_columns_fall_together(plain, angle_deg):
    """Two almost parallel columns leave the second axis to rounding: |b|/|b_perp|."""
    b = (math.cos(math.radians(angle_deg)), 0.0, math.sin(math.radians(angle_deg)))
    y_raw = np.array([[1, 0, 0, *b] * 3], np.float32) - np.array([1, 0, 0, 0, 0, 1] * 3, np.float32)
    stages = {"y_norm": np.ones((1, 18), np.float32), "y_raw": y_raw, "delta6d": np.ones((1, 18), np.float32)}
    bound = stage_tolerances(plain, stages)["delta6d"][0]
    gain = 1.0 / math.sin(math.radians(angle_deg))
    square = stage_tolerances(plain, stages | {"y_raw": np.zeros((1, 18), np.float32)})["delta6d"][0]
    assert 0.3 * gain < bound[3] / square[3] < 3.0 * gain + 2.0


def _bound_of_delta(contract, first_axis):
    """The bound of ΔR where a residual gives this first axis, and Z as the second."""
    six = [*np.subtract(first_axis, (1, 0, 0)), 0, 0, 0]
    y_raw = np.array([six * 3], np.float32)
    known = {"y_norm": np.zeros((1, 18), np.float32), "y_raw": y_raw, "delta6d": np.ones((1, 18), np.float32)}
    return stage_tolerances(contract, known)["delta6d"].reshape(3, 6)


def test_axis_that_both_sides_replace_has_a_bound_of_rounding(plain):
    """The replacement is a coordinate axis: a limb that takes another axis turns by degrees, and must be seen."""
    assert (_bound_of_delta(plain, (0, 0, 0)) < 100 * UNIT).all()
    assert (_bound_of_delta(plain, (5e-5, 0, 0)) < 100 * UNIT).all()


def test_axis_at_the_threshold_of_replacing_cannot_be_judged(plain):
    """One side may replace it and the other not: both are right, so nothing there may count as agreed."""
    assert np.isposinf(_bound_of_delta(plain, (np.float32(1e-4), 0, 0))).all()


@given(
    lost=st.sampled_from([(0, 0, 0, 0, 0, 1), (1, 0, 0, 2, 0, 0), (0, 0, 0, 0, 0, 0), (0, 0, 0, 0.3, -0.4, 0.5)]),
    mode=st.sampled_from(["residual", "absolute"]),
    policy=st.sampled_from(KNOBS["degenerate_axis"].values),
)
def test_float32_maths_never_alarms_where_an_axis_is_lost(plain, lost, mode, policy):
    """A dead output of a network is legal; UE 4 and UE 5 must agree on what replaces it."""
    base = plain.with_conventions({"output_mode": mode, "degenerate_axis": policy})
    identity = (1, 0, 0, 0, 0, 1) if mode == "residual" else (0,) * 6
    statistics = base.numbers.output_statistics
    mean = statistics.mean if mode == "absolute" else np.zeros(18)
    y_norm = ((np.subtract(lost, identity).tolist() * 3 - mean) / statistics.std).astype(np.float32)[None]
    previous = np.array([[n for r in tiny.pose(1) for n in oracle.encode_xz(r)]], np.float32)
    wide, narrow = (
        OutputStages(base.with_conventions({"math": math_mode}))(y_norm, previous, previous)
        for math_mode in ("f64", "f32")
    )
    assert alarms(base, wide, narrow) == set()


# --- narrow enough ----------------------------------------------------------------------------------------------------


def rotated(six, degrees):
    turn = np.array(oracle.rodrigues((0.3, 1.0, -0.5), math.radians(degrees)))
    return np.concatenate((turn @ six[:3], turn @ six[3:])).astype(np.float32)


@pytest.mark.parametrize("bone", [0, 7, 20, 45])
@pytest.mark.parametrize("stage", ["next6d", "y_out"])
def test_hundredth_of_a_degree_on_one_bone_is_caught(demo, stage, bone):
    """It adds up to 36 degrees in a minute of free-run."""
    wrong = {name: rows.copy() for name, rows in demo.stages.items()}
    place = slice(6 * bone, 6 * bone + 6)
    wrong[stage][11, place] = rotated(wrong[stage][11, place], 0.01)
    assert stage in alarms(demo.contract, demo.stages, wrong)


@pytest.mark.parametrize("stage", ["x_raw", "state", "angvel", "pose_hist", "y_raw", "delta6d", "y_out", "quat"])
def test_two_swapped_channels_are_caught(demo, stage):
    """Averages hide a swap of two neighbouring channels."""
    wrong = {name: rows.copy() for name, rows in demo.stages.items()}
    spread = np.abs(np.diff(wrong[stage], axis=1)).max(axis=0)
    channel = int(np.argmin(np.where(spread > 0.02, spread, np.inf)))  # the least different pair that differs at all
    wrong[stage][:, [channel, channel + 1]] = wrong[stage][:, [channel + 1, channel]]
    assert stage in alarms(demo.contract, demo.stages, wrong)


@pytest.mark.parametrize("letter", ["X", "Y"])
def test_mean_off_by_a_thousandth_of_a_deviation_is_caught(demo, letter):
    """Statistics of another training run are this close, and the drift is not."""
    from dataclasses import replace

    name = "state_statistics" if letter == "X" else "output_statistics"
    own = getattr(demo.contract.numbers, name)
    shifted = frozen_float32(own.mean.astype(np.float64) + 1e-3 * own.std_floored)
    contract = demo.contract.with_numbers(replace(demo.contract.numbers, **{name: Statistics(shifted, own.std)}))
    if letter == "Y":  # a residual has no mean to shift
        contract = contract.with_conventions({"output_mode": "absolute"})
    base = demo.contract.with_conventions({"output_mode": contract.conventions.output_mode})
    wrong, right = demo.run(contract), demo.run(base)
    stage = "state" if letter == "X" else "y_raw"
    error, bound = np.abs(wrong[stage] - right[stage]), stage_tolerances(base, right)[stage]
    caught = (error > bound).any(axis=0)
    wide = own.std_floored > 1e-2
    assert caught[wide].mean() > 0.95


@pytest.mark.parametrize("stage", ["state", "angvel", "pose_hist", "y_out", "quat", "cond", "contacts"])
def test_row_of_the_frame_before_is_caught(demo, stage):
    """Averages hide a row that is one frame late."""
    wrong = {name: rows.copy() for name, rows in demo.stages.items()}
    wrong[stage][5] = wrong[stage][4]
    assert stage in alarms(demo.contract, demo.stages, wrong)
