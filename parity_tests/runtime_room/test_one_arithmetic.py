"""One frame, a block, a crowd and a whole clip are the same arithmetic: bit for bit, whatever the conventions."""

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from rigpact.contract.errors import UnusableInput
from rigpact.contract.layout import INPUTS
from rigpact.contract.pages.registry import find_system
from rigpact.reference_runtime import CallableNetwork, ReplayNetwork, open_run
from rigpact.reference_runtime.graph.run import ClipDrive, LiveFrames
from rigpact.reference_runtime.operations import geometry
from rigpact.reference_runtime.operations.rot6d import Rot6d
from rigpact.reference_runtime.systems.enemy_animation.drive import clip_rows
from rigpact.reference_runtime.systems.enemy_animation.runs import free_crowd
from rigpact.reference_runtime.vocabulary.character.bone_rates import AngularVelocityInput, Motion
from rigpact.reference_runtime.vocabulary.character.state_features import StateNormaliser
from rigpact.reference_runtime.vocabulary.posing.outputs import OutputStages

from . import tiny_character as tiny

KNOBS = find_system("enemy_animation").knobs
enemy_conventions = find_system("enemy_animation").conventions

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
DRAWN = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


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


def same_bits(a, b, note):
    np.testing.assert_array_equal(a, b, err_msg=note)  # NaN equals NaN here
    finite = ~np.isnan(a)
    assert a[finite].tobytes() == b[finite].tobytes(), note


@DRAWN
@given(conventions=choices(ROTATION_KNOBS), y_norm=POSES, previous=POSES, published=POSES)
@example(
    conventions={},
    y_norm=np.zeros((2, 18), np.float32),
    previous=np.zeros((1, 18), np.float32),
    published=np.zeros((1, 18), np.float32),
)
def test_a_crowd_is_its_members(character, conventions, y_norm, previous, published):
    """A bone that lost an axis must not change what its neighbours in the same rows are computed by."""
    stages = OutputStages(character[0].with_conventions(conventions))
    previous, published = (np.resize(poses, y_norm.shape) for poses in (previous, published))
    together, many = stages(y_norm, previous, published), 90  # rows enough for a vector unit
    tiled = stages(*(np.tile(rows, (many, 1)) for rows in (y_norm, previous, published)))
    assert len(y_norm)
    for row in range(len(y_norm)):
        alone = stages(y_norm[row], previous[row], published[row])
        for name, values in alone.items():
            same_bits(together[name][row], values, name)
            same_bits(tiled[name][-len(y_norm) + row], values, name)


@DRAWN
@given(conventions=choices(ROTATION_KNOBS + INPUT_KNOBS))
def test_inputs_of_a_free_run_are_those_of_its_state(character, conventions):
    """A slice that is forgotten stays at the first frame's for ever."""
    contract, clip = character
    contract = contract.with_conventions(conventions)
    loop = open_run(contract, ReplayNetwork(OUTPUTS), clip, "free", engine="numpy")
    normaliser = StateNormaliser(contract)
    angvel, source = AngularVelocityInput(contract), contract.conventions.angvel_source
    for frame in range(STEPS):
        got = loop.step()
        same_bits(got["state"], normaliser.normalise(got["x_raw"]), f"state of frame {frame}")
        if source in {"aux_stats", "state_slice", "zeros"}:
            rows = (got[name][None].__getitem__ for name in ("x_raw", "state"))
            motion = Motion(*rows, clip.fps, np.zeros(1, int), None)  # of a free run: no frame after this one
            same_bits(got["angvel"], angvel.rows(motion)[0], f"angvel of frame {frame}")


def steps_of(contract, stages):
    """Every stage of a run with these inputs and answers, one frame at a time: each has what the frame before published."""
    given = {name: rows for name, rows in stages.items() if name in (*INPUTS, "x_raw", "y_norm")}
    frames = LiveFrames(contract, [ClipDrive(given)], None, mode="teacher")
    return {name: values[:, 0] for name, values in frames.record(range(len(given["x_raw"]))).items()}


@DRAWN
@given(conventions=choices(ROTATION_KNOBS + INPUT_KNOBS), lost=st.lists(st.integers(0, STEPS - 1), max_size=4))
@example(conventions={"output_mode": "residual", "degenerate_axis": "previous_frame_for_delta"}, lost=[1, 2, 3])
def test_clip_in_one_go_is_its_frames_one_by_one(character, conventions, lost):
    """Not one bit may differ; a lost axis takes the pose published before, frame after frame."""
    contract, clip = character
    contract = contract.with_conventions({**conventions, "previous_pose_lag": "0"})
    outputs, std = OUTPUTS.copy(), np.array(tiny.bundle()["StdY"], np.float32)
    for frame in lost:
        outputs[frame, :6] = -np.array([1, 0, 0, 0, 0, 1]) / std[:6]
    run = open_run(contract, ReplayNetwork(outputs), clip, "teacher")
    at_once = run.record(run.frame_limit)
    one_by_one = steps_of(contract, at_once)
    for name in {"delta6d", "next6d", "y_out", "quat"} & at_once.keys():
        same_bits(at_once[name], one_by_one[name], name)


def other_clip(tmp_path, fps=tiny.FPS):
    """The clip three frames later, which loops sooner."""
    document = tiny.clip_document()
    return tiny.clip(tmp_path, document | {"Frames": document["Frames"][3:], "NumFrames": 4, "FPS": fps})


def test_clips_that_cannot_go_in_lockstep_are_refused(character, tmp_path):
    """At another frame rate one frame is another time; a clip too few would leave a run without intent."""
    contract, clip = character
    network = CallableNetwork(lambda state, *rest: state[:, :18])
    with pytest.raises(UnusableInput, match="30, 60"):
        free_crowd(contract, network, [clip, other_clip(tmp_path, fps=60.0)])
    starts = clip_rows(clip, contract).x_raw[:3]
    with pytest.raises(UnusableInput, match="2 clips"):
        free_crowd(contract, network, [clip, clip], starts)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(conventions=choices(("rot6d_columns", "rot6d_packing", "derived_axis")), bones=st.integers(1, 40))
def test_the_codec_computes_what_geometry_defines(dtype, conventions, bones):
    """The order of the numbers and the guards are the codec's own; the maths is written once, without either."""
    codec, rng = Rot6d(enemy_conventions(conventions)), np.random.default_rng(bones)
    delta, previous = rng.normal(size=(2, 3, 6 * bones)).astype(dtype)
    axes = [geometry.gram_schmidt(*codec.split(flat)) for flat in (delta, previous)]
    matrices = [codec.assemble(*pair) for pair in axes]
    same_bits(codec.reproject(delta, previous), codec.join(*axes[0]), "reproject")
    same_bits(codec.decode(delta), matrices[0], "decode")
    same_bits(codec.compose(delta, previous), codec.encode(geometry.compose(*matrices)), "compose")
