"""Tolerances: correct implementations and real exported files are within them, a small defect or a wrong convention is not."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rigpact.contract import load_contract
from rigpact.contract.pages.registry import find_system
from rigpact.contract.statistics import Statistics, frozen_float32
from rigpact.reference_runtime import OnnxNetwork, ReplayNetwork, open_run, read_clip, read_replay, run_frames
from rigpact.reference_runtime.graph.bounds import stage_tolerances
from rigpact.reference_runtime.systems.enemy_animation.answer import OutputStages
from rigpact.reference_runtime.systems.enemy_animation.inputs import condition_rows
from rigpact.reference_runtime.systems.enemy_animation.state import StateNormaliser

from ..every_case import every_case
from . import scalar_oracle as oracle
from . import tiny_character as tiny

FRAMES = 32
PREVIOUS = np.array([[n for r in tiny.pose(1) for n in oracle.encode_xz(r)]], np.float32)


class Demo:
    """The demo bundle, run once; other runs replay its network so that only the runtime differs."""

    def __init__(self, folder):
        self.contract = load_contract(folder / "norm_template.json", folder / "pretrain_template.json")
        self.clip = read_clip(folder / "clips/Sneak_Turn.json")
        self.stages = self.run(self.contract, OnnxNetwork(folder / "model.onnx", self.contract))
        self.bounds = stage_tolerances(self.contract, self.stages)

    def run(self, contract, network=None):
        network = network or ReplayNetwork(self.stages["y_norm"])
        return run_frames(open_run(contract, network, self.clip, "teacher"), range(FRAMES), None, "teacher").stages


@pytest.fixture(scope="module")
def demo(demo_bundle):
    return Demo(demo_bundle)


def alarms(contract, a, b, bounds=None):
    """The stages that differ by more than their bounds; quaternions of either sign are one rotation."""
    bounds, found = bounds or stage_tolerances(contract, a), set()
    for name, rows in a.items():
        other = b[name].astype(np.float64)
        if name == "quat":
            quats, others = rows.reshape(-1, 4), other.reshape(-1, 4)
            other = (others * np.sign(np.sum(quats * others, axis=-1, keepdims=True))).reshape(rows.shape)
        found |= {name} if (np.abs(rows - other) > bounds[name]).any() else set()
    return found


def honest(contract, run):
    """The alarms of a run in float32 beside one in float64."""
    return alarms(contract, *(run(contract.with_conventions({"math": each})) for each in ("f64", "f32")))


# --- wide enough ------------------------------------------------------------------------------------------------------


@given(
    x=st.lists(st.floats(-3.0, 3.0, width=32), min_size=33, max_size=33),
    y=st.lists(st.floats(-3.0, 3.0, width=32), min_size=18, max_size=18),
)
@example(x=[0.0] * 33, y=[0.0] * 18)
@example(x=[math.pi] * 33, y=[-1.0] * 18)
def test_float32_maths_never_alarms_on_drawn_states_and_outputs(plain, x, y):
    """Near-degenerate columns and headings at the seam are decisions within rounding: both answers are right."""
    x, y = np.array([x], np.float32), np.array([y], np.float32)
    assert (
        honest(plain, lambda of: {"state": StateNormaliser(of).normalise(x)} | OutputStages(of)(y, PREVIOUS, PREVIOUS))
        == set()
    )


@given(
    lost=st.sampled_from([(0, 0, 0, 0, 0, 1), (1, 0, 0, 2, 0, 0), (0, 0, 0, 0, 0, 0), (0, 0, 0, 0.3, -0.4, 0.5)]),
    mode=st.sampled_from(["residual", "absolute"]),
    policy=st.sampled_from(find_system("enemy_animation").knobs["degenerate_axis"].values),
)
def test_float32_maths_never_alarms_where_an_axis_is_lost(plain, lost, mode, policy):
    """A dead output of a network is legal; UE 4 and UE 5 must agree on what replaces it."""
    base = plain.with_conventions({"output_mode": mode, "degenerate_axis": policy})
    identity, statistics = (1, 0, 0, 0, 0, 1) if mode == "residual" else (0,) * 6, base.numbers.output_statistics
    mean = statistics.mean if mode == "absolute" else np.zeros(18)
    y_norm = ((np.subtract(lost, identity).tolist() * 3 - mean) / statistics.std).astype(np.float32)[None]
    assert honest(base, lambda of: OutputStages(of)(y_norm, PREVIOUS, PREVIOUS)) == set()


def test_torch_training_geometry_is_within_the_bound(demo):
    """The same network output through the training side's own composition."""
    torch = pytest.importorskip("torch", reason="whether training and engine agree is not known without torch")
    from rigpact.training.enemy_geometry import compose_rot6d_delta

    place = demo.contract.numbers.state["BoneRotations6D"].range
    residual = torch.from_numpy(demo.stages["y_norm"] * demo.contract.numbers.output_statistics.std)
    theirs = compose_rot6d_delta(torch.from_numpy(demo.stages["x_raw"][:, place].copy()), residual).numpy()
    assert (np.abs(theirs - demo.stages["y_out"]) <= demo.bounds["y_out"]).all()


def test_quaternion_of_a_reflection_does_not_alarm(plain):
    """Three of its four candidates tie: float32 and float64 take different ones, a half turn apart."""
    contract = plain.with_conventions({"derived_axis": "first_cross_second"})
    turns = [oracle.rodrigues((math.sin(k), math.cos(k), 0.3), 1e-7 * k) for k in range(96)]
    y_out = np.array([oracle.encode_xz(turn) for turn in turns], np.float32).reshape(32, 18)
    assert honest(contract, lambda of: {"y_out": y_out, "quat": OutputStages(of).quat(y_out)}) == set()


# --- narrow enough ----------------------------------------------------------------------------------------------------

SMALL = {
    "x_raw": 1e-4, "state": 1e-3, "cond_raw": 1e-6, "cond": 1e-6, "contacts": 1e-6, "angvel": 1e-5, "pose_hist_raw": 1e-5,
    "pose_hist": 2e-3,
    "y_norm": 2e-4, "y_raw": 1e-4, "delta6d": 2e-4, "next6d": 2e-4, "y_out": 2e-4, "quat": 2e-4, "x_raw_next": 2e-4,
}  # fmt: skip
"""What shows in every channel and frame: a tenth of a millimetre, a hundredth of a degree, a thousandth of a deviation."""


def test_every_stage_has_a_bound_that_a_small_defect_exceeds_and_none_is_negative(demo):
    """With a NaN bound everything passes, with a negative bound nothing; a gate that is blind is none."""
    assert set(demo.bounds) == set(demo.stages) == set(SMALL)
    for name, small in SMALL.items():
        bound = demo.bounds[name]
        assert (bound.shape, name) == (demo.stages[name].shape, name)
        assert ((bound >= 0) & (bound < small)).all(), name
    for name in ("state", "angvel", "pose_hist", "y_norm", "y_raw", "delta6d", "next6d", "y_out", "quat"):
        assert (demo.bounds[name] > 0).all(), name


def turned(rows, bone):
    """A hundredth of a degree on one bone in one frame: it adds up to 36 degrees in a minute of free-run."""
    turn, place = np.array(oracle.rodrigues((0.3, 1.0, -0.5), math.radians(0.01))), slice(6 * bone, 6 * bone + 6)
    rows[11, place] = np.concatenate((turn @ rows[11, place][:3], turn @ rows[11, place][3:]))


def swapped(rows, _):
    """The least different pair of neighbouring channels that differs at all: averages hide it."""
    spread = np.abs(np.diff(rows, axis=1)).max(axis=0)
    channel = int(np.argmin(np.where(spread > 0.02, spread, np.inf)))
    rows[:, [channel, channel + 1]] = rows[:, [channel + 1, channel]]


def late(rows, _):
    """One row is one frame late."""
    rows[5] = rows[4]


@every_case(
    ("defect", "stage", "bone"),
    [(turned, stage, bone) for stage in ("next6d", "y_out") for bone in (0, 7, 20, 45)]
    + [(swapped, stage, 0) for stage in ("x_raw", "state", "angvel", "pose_hist", "y_raw", "delta6d", "y_out", "quat")]
    + [(late, stage, 0) for stage in ("state", "angvel", "pose_hist", "y_out", "quat", "cond", "contacts")],
)
def test_a_small_defect_is_caught_in_its_stage(demo, defect, stage, bone):
    """Nothing that a player sees after a minute may be within a bound."""
    wrong = {name: rows.copy() for name, rows in demo.stages.items()}
    defect(wrong[stage], bone)
    assert stage in alarms(demo.contract, demo.stages, wrong, demo.bounds)


@every_case(("name", "stage"), [("state_statistics", "state"), ("output_statistics", "y_raw")])
def test_mean_off_by_a_thousandth_of_a_deviation_is_caught(demo, name, stage):
    """Statistics of another training run are this close, and the drift is not."""
    base = demo.contract.with_conventions({"output_mode": "absolute"})  # a residual has no mean to shift
    own = getattr(base.numbers, name)
    shifted = Statistics(frozen_float32(own.mean.astype(np.float64) + 1e-3 * own.std_floored), own.std)
    wrong, right = demo.run(base.with_numbers(replace(base.numbers, **{name: shifted}))), demo.run(base)
    caught = (np.abs(wrong[stage] - right[stage]) > stage_tolerances(base, right)[stage]).any(axis=0)
    assert caught[own.std_floored > 1e-2].mean() > 0.95


TRAINING = {
    "angvel_source": "rotations", "angvel_angle": "half", "angvel_lag": "+1", "pose_history_start": "first_target",
    "output_mode": "residual", "previous_pose_lag": "+1",
}  # fmt: skip
RECORDED = {"contacts": "contacts", "angvel": "angvel_norm", "pose_hist": "pose_hist_norm"}


class Real:
    """The files, read once."""

    def __init__(self, folder):
        read = lambda name: json.loads((folder / f"{name}.json").read_text())  # noqa: E731
        self.folder, files = folder, (folder / "norm_template.json", folder / "pretrain_template.json")
        self.engine = load_contract(*files)
        contract = load_contract(*files, TRAINING)
        self.contract = contract.with_conventions(contract.conventions.of_training)
        self.clip, self.replay = read_clip(folder / "Walk_F.json"), read_replay(folder / "Walk_F_network_output.json")
        self.raw_clip, document = read("Walk_F")["Frames"], read("Walk_F_prediction")
        self.bundle, self.companion = (
            {k: np.array(v) for k, v in read(name).items() if k[:2] in ("St", "Mu") or k[:4] == "tanh"}
            for name in ("norm_template", "pretrain_template")
        )
        rows = {"state": document["teacher"]["state_norm"], "cond": document["teacher"]["cond"]}
        rows |= {stage: document["aux_inputs"][name] for stage, name in RECORDED.items()}
        self.recorded = {name: np.array(values, np.float64) for name, values in rows.items()}
        self.y_norm, self.y_raw = (np.array(document["prediction"][name]) for name in ("y_norm", "y_raw"))
        self.recorded["y_out"] = self.y_norm * self.bundle["StdY"] + self.bundle["MuY"]
        self.answers, self.stages = np.array(read("Walk_F_network_output")["prediction"]["y_norm"]), self.run()

    def run(self, **changes):
        runner = open_run(self.contract.with_conventions(changes), self.replay, self.clip, "teacher")
        return run_frames(runner, range(87), "Walk_F", "teacher").stages

    def rotation(self, frame, bone):
        return oracle.decode_xz(self.raw_clip[min(frame, 87)]["BoneRotations"][bone])


@pytest.fixture(scope="module")
def real(real_data):
    return Real(real_data)


# what the real files were found to agree to; StdX and its like near 1e-6 magnify one float32 step to 0.1 in z
@every_case(
    ("stage", "deviations", "figure"),
    [
        ("state", "StdX", 1.2e-5),
        ("angvel", "StdAngVel", 2.7e-5),
        ("pose_hist", "StdPoseHist", 1.4e-4),
        ("cond", None, 0),
        ("contacts", None, 0),
    ],
)
def test_recorded_input_is_recomputed_within_its_bound_and_the_specs_figure(real, stage, deviations, figure):
    """With one wrong input, the character still moves, only worse; the figures of spec 02 were measured with another program."""
    recorded, own = real.recorded[stage], real.stages[stage]
    bound = stage_tolerances(real.contract, {name: real.stages[name] for name in ("state", "cond", *RECORDED)})[stage]
    assert own.shape == recorded.shape
    assert (np.abs(own - recorded) <= bound).all()
    if deviations is None:  # nothing is normalised there: they are the same float32 numbers
        np.testing.assert_array_equal(own, recorded.astype(np.float32))
    else:
        error = np.abs(own - recorded)[:, (real.bundle | real.companion)[deviations] > 1e-5]
        assert (error.max() <= figure, error.shape[1] > 0.75 * own.shape[1]) == (True, True)


def test_replayed_network_gives_the_recorded_poses(real):
    """Denormalise, reproject, compose, encode, against a tool that shares no line; it composed the first frame with F_0."""
    for lag, right, wrong, least in (("+1", slice(1, None), slice(1), 1e-4), ("0", slice(1), slice(1, None), 1e-2)):
        error = np.abs(real.run(previous_pose_lag=lag)["y_out"] - real.recorded["y_out"])
        assert (error[right].max() <= 1e-6, error[wrong].max() > least) == (True, True)
    y_raw = OutputStages(real.contract.with_conventions({"output_mode": "absolute"})).y_raw(
        real.y_norm.astype(np.float32)
    )
    assert np.abs(y_raw - real.y_raw).max() <= 1e-6  # the spec's figure


@every_case("file", ["Walk_F_teacher", "Walk_F_prediction", "Walk_F_prediction_best"])
def test_every_recorded_direction_of_the_training_side_is_the_velocity_and_opposite_to_the_engines(real, file):
    """The engine looks along the trajectory: on this clip the network is asked to walk the other way than it learnt."""
    recorded = np.array(json.loads((real.folder / f"{file}.json").read_text())["teacher"]["cond"])[:, 4:6]
    frames = real.raw_clip[: len(recorded)]
    velocity = [np.divide(frame["RootVelocityXY"], math.hypot(*frame["RootVelocityXY"])) for frame in frames]
    middle = [frame["TrajectoryDir"][len(frame["TrajectoryDir"]) // 2] for frame in frames]
    np.testing.assert_allclose(recorded, velocity, rtol=0, atol=4 * 2.0**-24)
    assert (np.sum(recorded * middle, axis=1) < -0.99).all()
    sides = [real.engine, real.engine.with_conventions(real.engine.conventions.of_training)]
    of_engine, of_training = (condition_rows(real.clip, side)[: len(recorded), 4:6] for side in sides)
    np.testing.assert_allclose(of_engine, [np.divide(v, math.hypot(*v)) for v in middle], rtol=0, atol=4 * 2.0**-24)
    np.testing.assert_array_equal(of_training, recorded.astype(np.float32))


WRONG = {
    "angvel": ["angvel_angle=full", "angvel_lag=0", "angvel_lag=-1", "angvel_frame=local", "angvel_source=aux_stats",
    "angvel_source=state_slice",
               "angvel_source=zeros"],
    "pose_hist": ["pose_history_start=seed_pose", "pose_history_start=identity", "pose_history_order=newest_first",
                  "pose_history_phase=excludes_current", "pose_history_norm=tanh", "pose_history_norm=linear",
                  "pose_history_norm=tanh_unit_scale"],
    "cond": ["condition_direction=trajectory", "condition_direction=negated", "condition_speed_unit=cm_s"],
    "contacts": ["contacts_source=swapped_feet", "contacts_source=binary"],
    "state": ["rootvel_squash=linear", "angvel_squash=none"],
    "y_out": ["compose_order=prev_delta", "output_mode=delta", "output_mode=absolute", "delta_direction=inverse",
    "previous_pose_lag=0",
              "previous_pose_lag=-1", "denorm=variance", "bone_order=left_right_swapped", "mirror=y", "rot6d_packing=rows",
              "rot6d_columns=xy",
              "denorm=state_stats"],
}  # fmt: skip


@every_case(("stage", "wrong"), [(stage, wrong) for stage, each in WRONG.items() for wrong in each])
def test_wrong_convention_misses_its_tolerance_by_a_wide_margin(real, stage, wrong):
    """If a wrong convention fits within the bound, a broken character passes."""
    name, _, value = wrong.partition("=")
    bound = stage_tolerances(real.contract, {name: real.stages[name] for name in real.recorded})[stage]
    judged = bound < (
        1e-2 if stage == "y_out" else 1.0
    )  # if one float32 step is a whole deviation, StdX is only a floor
    error = np.where(judged, np.abs(real.run(**{name: value})[stage] - real.recorded[stage]), 0.0)[1:]
    over = error / np.maximum(bound[1:], 1e-12)
    assert (over > 100).any(axis=1).mean() > (0.01 if name == "pose_history_start" else 0.5)
