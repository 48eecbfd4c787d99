"""One frame, a block, a crowd and a whole clip are the same arithmetic: bit for bit, whatever the conventions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from rigpact.contract import load_contract
from rigpact.contract.errors import UnusableInput
from rigpact.reference_runtime import CallableNetwork, Loop, OnnxNetwork, ReplayNetwork, read_clip, run_frames
from rigpact.reference_runtime.operations import geometry
from rigpact.reference_runtime.operations.angular_velocity import AngularVelocityInput, Motion
from rigpact.reference_runtime.operations.lanes import BLOCK
from rigpact.reference_runtime.operations.normalisation import StateNormaliser
from rigpact.reference_runtime.operations.rot6d import Rot6d
from rigpact.reference_runtime.systems.enemy_animation.batch import evaluate_clip
from rigpact.reference_runtime.systems.enemy_animation.drive import clip_rows
from rigpact.reference_runtime.systems.enemy_animation.knobs import KNOBS, enemy_conventions
from rigpact.reference_runtime.systems.enemy_animation.lockstep import Lockstep
from rigpact.reference_runtime.systems.enemy_animation.output import OutputStages
from rigpact.reference_runtime.systems.enemy_animation.tolerances import stage_tolerances

from . import tiny_character as tiny

STEPS = tiny.FRAMES - 1
OUTPUTS = np.array([tiny.wave(18, 0.1, 1.2, 0.9 * frame) for frame in range(STEPS)], np.float32)
ROTATION_KNOBS = (
    "output_mode", "rot6d_columns", "rot6d_packing", "derived_axis", "compose_order", "delta_direction", "reproject",
    "degenerate_axis", "denorm", "mirror", "quaternion_order", "math",
)  # fmt: skip
INPUT_KNOBS = (
    "rootvel_squash", "angvel_squash", "yaw_encoding", "pose_history_order", "pose_history_phase", "pose_history_norm",
    "pose_history_start", "contacts_source", "condition_norm", "angvel_source", "angvel_angle", "angvel_frame",
    "angvel_lag", "previous_pose_lag", "writeback",
)  # fmt: skip
DRAWN = {"max_examples": 60, "deadline": None, "suppress_health_check": [HealthCheck.function_scoped_fixture]}


def choices(knobs):
    return st.fixed_dictionaries({name: st.sampled_from(KNOBS[name].values) for name in knobs})


SIX = st.sampled_from([0.0, 1.0, -1.0, 1e-4, -1e-4, 5e-5, 2e-4, 1e-9, 3e-39, 1e30, 0.3, -0.7, np.inf, np.nan])
"""Numbers at and around every threshold, and those that no pose holds."""
POSES = st.lists(st.lists(SIX, min_size=18, max_size=18), min_size=1, max_size=4).map(
    lambda rows: np.array(rows, np.float32)
)


@pytest.fixture(scope="module")
def character(tmp_path_factory):
    folder = tmp_path_factory.mktemp("one_arithmetic")
    return tiny.contract(folder, tiny.bundle(contacts=True)), tiny.clip(folder)


@pytest.fixture(scope="module")
def demo(demo_bundle):
    contract = load_contract(demo_bundle / "norm_template.json", demo_bundle / "pretrain_template.json")
    return contract, OnnxNetwork(demo_bundle / "model.onnx", contract), read_clip(demo_bundle / "clips/Sneak_Turn.json")


def same_bits(a, b, note):
    np.testing.assert_array_equal(a, b, err_msg=note)  # NaN equals NaN here
    finite = ~np.isnan(a)
    assert a[finite].tobytes() == b[finite].tobytes(), note


@settings(**DRAWN)
@given(conventions=choices(ROTATION_KNOBS), y_norm=POSES, previous=POSES, published=POSES)
@example(conventions={}, y_norm=np.zeros((2, 18), np.float32), previous=np.zeros((1, 18), np.float32),
         published=np.zeros((1, 18), np.float32))  # fmt: skip
def test_a_crowd_is_its_members(character, conventions, y_norm, previous, published):
    """A bone that lost an axis must not change what its neighbours in the same rows are computed by."""
    stages = OutputStages(character[0].with_conventions(conventions))
    previous, published = (np.resize(poses, y_norm.shape) for poses in (previous, published))
    with np.errstate(all="ignore"):
        run = stages.run(y_norm, previous, published)
    together, chained = stages(y_norm, previous, published), stages.stages_of(run)
    many = 90  # rows enough for a vector unit
    tiled = stages(*(np.tile(rows, (many, 1)) for rows in (y_norm, previous, published)))
    for row in range(len(y_norm)):
        alone = stages(y_norm[row], previous[row], published[row])
        for name, values in alone.items():
            same_bits(together[name][row], values, name)
            same_bits(tiled[name][-len(y_norm) + row], values, name)
            if name != "y_norm":
                same_bits(chained[name][row], values, name)


@settings(**DRAWN)
@given(conventions=choices(ROTATION_KNOBS + INPUT_KNOBS), mode=st.sampled_from(["teacher", "free"]))
def test_recording_and_advancing_are_stepping(character, conventions, mode):
    """A recorder that changes a bit records another run; a run without one must not take another way."""
    contract, clip = character
    contract = contract.with_conventions(conventions)
    stepped, advanced, recorded = (Loop(contract, ReplayNetwork(OUTPUTS), clip, mode) for _ in range(3))
    frames = range(stepped.frame_limit or STEPS)
    rows = [stepped.step() for _ in frames]
    published = [advanced.advance() for _ in frames]
    kept = run_frames(recorded, frames, None, mode).stages
    assert [name for name in rows[0] if all(name in row for row in rows)] == list(kept)
    for name, values in kept.items():
        same_bits(values, np.stack([row[name] for row in rows]), name)
    same_bits(np.stack(published), kept["y_out"], "y_out")


@settings(**DRAWN)
@given(conventions=choices(ROTATION_KNOBS + INPUT_KNOBS))
def test_carried_inputs_are_those_of_the_whole_state(character, conventions):
    """Only what was written back is normalised anew: a slice that is forgotten stays at the first frame's for ever."""
    contract, clip = character
    contract = contract.with_conventions(conventions)
    loop, normaliser = Loop(contract, ReplayNetwork(OUTPUTS), clip, "free"), StateNormaliser(contract)
    angvel, source = AngularVelocityInput(contract), contract.conventions.angvel_source
    for frame in range(STEPS):
        got = loop.step()
        same_bits(got["state"], normaliser.normalise(got["x_raw"]), f"state of frame {frame}")
        if source in {"aux_stats", "state_slice", "zeros"}:
            motion = Motion(got["x_raw"][None], got["state"][None], clip.fps, 1)
            same_bits(got["angvel"], angvel.rows(motion)[0], f"angvel of frame {frame}")


@settings(**DRAWN | {"max_examples": 40})
@given(conventions=choices(ROTATION_KNOBS + INPUT_KNOBS), lost=st.lists(st.integers(0, STEPS - 1), max_size=4))
@example(conventions={"output_mode": "residual"}, lost=[1, 2, 3])
def test_clip_in_one_go_is_the_loop_over_its_frames(character, conventions, lost):
    """Given the same y_norm, not one bit may differ; a lost axis takes the pose published before, frame after frame."""
    contract, clip = character
    contract = contract.with_conventions(conventions)
    outputs, std = OUTPUTS.copy(), np.array(tiny.bundle()["StdY"], np.float32)
    for frame in lost:
        outputs[frame, :6] = -np.array([1, 0, 0, 0, 0, 1]) / std[:6]
    loop = Loop(contract, ReplayNetwork(outputs), clip, "teacher")
    frames = range(loop.frame_limit or STEPS)
    one_by_one = run_frames(loop, frames, None, "teacher")
    at_once = evaluate_clip(contract, ReplayNetwork(outputs), clip)
    assert list(at_once.stages) == list(one_by_one.stages)
    for name, values in one_by_one.stages.items():
        same_bits(at_once.stages[name], values, name)


def test_network_in_one_go_is_within_its_tolerance(demo):
    """A matrix product of 60 rows is summed in another order than 60 of one row: the last bits of float32, no more."""
    contract, network, clip = demo
    loop = Loop(contract, network, clip, "teacher")
    one_by_one = run_frames(loop, range(loop.frame_limit or 0), None, "teacher").stages
    at_once = evaluate_clip(contract, network, clip).stages
    bounds = stage_tolerances(contract, one_by_one)
    for name in at_once:
        if name in ("quat",):
            continue  # q and -q are one rotation
        excess = np.abs(at_once[name].astype(np.float64) - one_by_one[name]) - bounds[name]
        assert excess.max() <= 0.0, name
    for name in ("x_raw", "state", "cond", "contacts", "angvel", "pose_hist"):
        same_bits(at_once[name], one_by_one[name], name)


@settings(**DRAWN | {"max_examples": 25})
@given(
    conventions=choices(ROTATION_KNOBS + INPUT_KNOBS),
    frames=st.lists(st.integers(0, STEPS - 1), min_size=1, max_size=5),
)
def test_lockstep_is_loops_side_by_side(character, conventions, frames):
    """Runs that advance together are what each computes alone, from whatever frame it starts."""
    contract, clip = character
    contract = contract.with_conventions(conventions)
    starts = clip_rows(clip, contract).x_raw[frames]
    network = CallableNetwork(lambda state, cond, *rest: 0.1 * state[:, :18] + cond[:, :1])
    together = Lockstep(contract, network, clip, starts)
    alone = [Lockstep(contract, network, clip, starts[run : run + 1]) for run in range(len(starts))]
    for frame in range(5):
        stages = together.step()
        for run, one in enumerate(alone):
            for name, values in one.step().items():
                same_bits(stages[name][run], values[0], f"{name} of run {run} in frame {frame}")


def other_clip(tmp_path, fps=tiny.FPS):
    """The clip three frames later, which loops sooner."""
    document = tiny.clip_document()
    return tiny.clip(tmp_path, document | {"Frames": document["Frames"][3:], "NumFrames": 4, "FPS": fps})


@settings(**DRAWN | {"max_examples": 25})
@given(conventions=choices(ROTATION_KNOBS + INPUT_KNOBS))
def test_clips_in_lockstep_are_driven_each_by_its_own(character, tmp_path, conventions):
    """In a batch of clips, each character must follow its own clip's intent."""
    contract, clip = character
    contract, clips = contract.with_conventions(conventions), [clip, other_clip(tmp_path), clip]
    network = CallableNetwork(lambda state, cond, *rest: 0.1 * state[:, :18] + cond[:, :1])
    together, alone = Lockstep(contract, network, clips), [Lockstep(contract, network, one) for one in clips]
    for frame in range(9):
        stages = together.step()
        for run, one in enumerate(alone):
            for name, values in one.step().items():
                same_bits(stages[name][run], values[0], f"{name} of run {run} in frame {frame}")


def test_clips_that_cannot_go_in_lockstep_are_refused(character, tmp_path):
    """At another frame rate one frame is another time; a clip too few would leave a run without intent."""
    contract, clip = character
    network = CallableNetwork(lambda state, *rest: state[:, :18])
    with pytest.raises(UnusableInput, match="30, 60"):
        Lockstep(contract, network, [clip, other_clip(tmp_path, fps=60.0)])
    starts = clip_rows(clip, contract).x_raw[:3]
    with pytest.raises(UnusableInput, match="2 clips"):
        Lockstep(contract, network, [clip, clip], starts)


@given(y_norm=st.floats(-(2.0**99), 2.0**99, width=32), std=st.floats(-(2.0**33), 2.0**33, width=32))
@example(y_norm=0.1, std=0.3)
@example(y_norm=1e-30, std=1e-12)
def test_a_product_is_rounded_once(y_norm, std):
    """A residual's y_raw takes a short cut through float32: it must be the float64 product, stored."""
    exact = np.float64(np.float32(y_norm)) * np.float64(np.float32(std))
    with np.errstate(over="ignore"):
        assert np.float32(y_norm) * np.float32(std) == np.float32(exact)


def test_y_raw_of_float64_is_stored_all_the_same(character):
    """Tolerances ask with float64: what they get back is what an engine stores."""
    stages = OutputStages(character[0])
    wide = OUTPUTS.astype(np.float64)
    assert stages.y_raw(wide).dtype == np.float32
    same_bits(stages.y_raw(wide), stages.y_raw(OUTPUTS), "y_raw")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(conventions=choices(("rot6d_columns", "rot6d_packing", "derived_axis")), bones=st.integers(1, 40))
def test_lanes_compute_what_geometry_defines(dtype, conventions, bones):
    """The maths for the reader and the maths for speed are two texts: a slip in one of them changes every verdict."""
    codec, rng = Rot6d(enemy_conventions(conventions)), np.random.default_rng(bones)
    delta, previous = rng.normal(size=(2, 3, 6 * bones)).astype(dtype)
    axes = [geometry.gram_schmidt(*codec.split(flat)) for flat in (delta, previous)]
    matrices = [codec.assemble(*pair) for pair in axes]
    same_bits(codec.reproject(delta, previous), codec.join(*axes[0]), "reproject")
    np.testing.assert_array_equal(codec.decode(delta), matrices[0])  # -0 equals 0: the sign of a cross product
    # entries of at most 1: three products and two sums on either side, and a matrix product may fuse them
    bound = 2 * 5 * np.finfo(dtype).eps / 2 * 3
    wanted = codec.encode(geometry.compose(*matrices))
    np.testing.assert_allclose(codec.compose(delta, previous), wanted, rtol=0, atol=bound)


def test_blocks_leave_no_seam():
    """A long clip is computed in blocks: the frames on both sides of a boundary, and the last few, are like any other."""
    codec, bones = Rot6d(enemy_conventions()), 5
    frames = 2 * (BLOCK // bones) + 3
    rng = np.random.default_rng(11)
    delta, previous = rng.normal(size=(2, frames, 6 * bones))
    whole = codec.compose(delta, previous), codec.reproject(delta, previous), codec.decode(delta)
    for frame in (0, BLOCK // bones - 1, BLOCK // bones, frames - 4, frames - 3, frames - 1):
        one = (codec.compose(delta[frame], previous[frame]), codec.reproject(delta[frame], previous[frame]),
               codec.decode(delta[frame]))  # fmt: skip
        for several, single in zip(whole, one, strict=True):
            same_bits(several[frame], single, f"frame {frame}")
