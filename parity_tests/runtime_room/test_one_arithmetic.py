"""One frame, a block, a crowd and a whole clip are the same arithmetic: bit for bit, whatever the conventions."""

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from rigpact.contract.errors import UnusableInput
from rigpact.contract.pages.registry import find_system
from rigpact.reference_runtime import CallableNetwork, ReplayNetwork, open_run
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
