"""Tolerances: two correct implementations never exceed them, and a small defect does."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rigpact.contract import load_contract
from rigpact.contract.pages.registry import find_system
from rigpact.contract.statistics import Statistics, frozen_float32
from rigpact.reference_runtime import OnnxNetwork, ReplayNetwork, open_run, read_clip, run_frames
from rigpact.reference_runtime.graph.bounds import stage_tolerances
from rigpact.reference_runtime.vocabulary.character.state_features import StateNormaliser
from rigpact.reference_runtime.vocabulary.posing.outputs import OutputStages

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
    from rigpact.training.enemy_animation.geometry import compose_rot6d_delta

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
