"""The loop and runs of other systems: what is fed to the network, what is written back, what may not change a bit."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from rigpact.contract.contract_files import contract_in_memory, open_contract
from rigpact.contract.conventions import Knob
from rigpact.contract.errors import UnusableInput
from rigpact.contract.pages.registry import find_system
from rigpact.contract.systems.contract import Contract, Frames
from rigpact.contract.systems.layout import FieldKind, tiled
from rigpact.contract.systems.stage import Stage
from rigpact.contract.systems.system import System
from rigpact.reference_runtime import (
    CallableNetwork,
    RawClip,
    ReplayNetwork,
    open_run,
    run_frames,
)
from rigpact.reference_runtime.graph.network import OnnxSystemNetwork, answer_of
from rigpact.reference_runtime.graph.run import run_clip
from rigpact.reference_runtime.recordings.opened import read_trace
from rigpact.reference_runtime.recordings.trace import Trace

from ..every_case import every_case
from ..side_by_side import free_run, run_lanes
from . import scalar_oracle as oracle
from . import tiny_character as tiny

STAGE_NAMES = find_system("enemy_animation").graph.names

STORE = 2.0**-24
POSITION, VELOCITY, ROTATIONS, ANGVEL = slice(0, 3), slice(3, 5), slice(6, 24), slice(24, 33)
STEPS = tiny.FRAMES - 1
OUTPUTS = np.array([tiny.wave(18, 0.1, 1.2, 0.9 * frame) for frame in range(40)], np.float32)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("loop")


@pytest.fixture(scope="module")
def contract(folder):
    return tiny.contract(folder)


@pytest.fixture(scope="module")
def clip(folder):
    return tiny.clip(folder)


def shortened(clip: RawClip, frames: int) -> RawClip:
    arrays = {entry.name: getattr(clip, entry.name) for entry in fields(clip)}
    return replace(clip, **{name: rows[:frames] for name, rows in arrays.items() if isinstance(rows, np.ndarray)})


def run(contract, clip, mode, frames=STEPS, network=None, **conventions):
    network = network or ReplayNetwork(OUTPUTS)
    return run_frames(
        open_run(contract.with_conventions(conventions), network, clip, mode, engine="numpy"),
        range(frames),
        "Walk",
        mode,
    )


def pose6d(frame):
    return [number for rotation in tiny.pose(frame) for number in oracle.encode_xz(rotation)]


def composed(y_norm, previous):
    """y·StdY + identity, Gram-Schmidt, times the previous pose, for each bone: spec 01 sections 7 to 9."""
    std, following = np.array(tiny.bundle()["StdY"], np.float32).tolist(), []
    for bone in range(3):
        place = range(6 * bone, 6 * bone + 6)
        six = [float(y_norm[c]) * std[c] + i for c, i in zip(place, (1, 0, 0, 0, 0, 1), strict=True)]
        old = oracle.decode_xz([float(previous[c]) for c in place])
        following += oracle.encode_xz(oracle.product(oracle.decode_xz(six), old))
    return following


def test_stages_come_in_loop_order(contract, clip):
    """The report names the first stage that differs: a wrong order would name a stage that only inherits it."""
    for mode in ("teacher", "free"):
        stages = open_run(contract, ReplayNetwork(OUTPUTS), clip, mode, engine="numpy").step()
        assert list(stages) == list(STAGE_NAMES)
        assert {values.dtype for values in stages.values()} == {np.dtype(np.float32)}


# previous pose of rows 0..5, written out by hand
@pytest.mark.parametrize(
    ("lag", "frames"), [("0", (0, 1, 2, 3, 4, 5)), ("-1", (0, 0, 1, 2, 3, 4)), ("+1", (1, 2, 3, 4, 5, 6))]
)
def test_teacher_composes_with_the_frame_that_the_lag_names(contract, clip, lag, frames):
    """One frame stale is a limb that trails; one frame ahead is a score that no game will see."""
    stages = run(contract, clip, "teacher", previous_pose_lag=lag).stages
    want = [composed(OUTPUTS[row], pose6d(frame)) for row, frame in enumerate(frames)]
    np.testing.assert_allclose(stages["y_out"], want, atol=60 * STORE)


def test_free_run_feeds_itself_and_loops_with_the_clip(contract, clip):
    """The only mode that ships: the state is the pose of the frame before; the player's intent does not stop with the clip."""
    stages, pose = run(contract, clip, "free", 2 * STEPS).stages, np.array(pose6d(0), np.float32).tolist()
    poses = stages["x_raw"][:, ROTATIONS]
    for frame in range(2 * STEPS):
        np.testing.assert_allclose(poses[frame], pose, rtol=0, atol=60 * STORE * (frame + 1))
        pose = composed(OUTPUTS[frame], pose)
        # each frame turns by what y_out is off, and that adds up
        np.testing.assert_allclose(stages["y_out"][frame], pose, rtol=0, atol=60 * STORE * (frame + 1))
        # the newest pose of the history produced the current state; pushed before inference, it would be the future
        want = np.concatenate([poses[max(frame - back, 0)] for back in (2, 1, 0)])
        np.testing.assert_array_equal(stages["pose_hist_raw"][frame], want)
    np.testing.assert_array_equal(stages["x_raw_next"][:-1], stages["x_raw"][1:])
    for name in ("cond_raw", "contacts"):
        np.testing.assert_array_equal(stages[name][STEPS:], stages[name][:STEPS])
    np.testing.assert_allclose(stages["contacts"][0], (0.2, 0.9), rtol=2 * STORE)


@pytest.mark.parametrize("lag", ["-1", "+1"])
def test_free_run_composes_with_the_lagged_pose(contract, clip, lag):
    """A stale previous pose is a common defect of an engine with double buffers."""
    stages = run(contract, clip, "free", STEPS + 3, previous_pose_lag=lag).stages
    carried = stages["x_raw"][:, ROTATIONS]
    for frame in range(STEPS + 3):  # the clip begins again
        previous = pose6d(frame % STEPS + 1) if lag == "+1" else carried[max(frame - 1, 0)]
        np.testing.assert_allclose(stages["y_out"][frame], composed(OUTPUTS[frame], previous), atol=60 * STORE)


@pytest.mark.parametrize("mode", ["teacher", "free"])
def test_bone_without_any_turn_holds_its_pose(contract, clip, mode):
    """ΔR is decoded: its lost axes are coordinate axes, no turn. A played pose takes those that were on screen."""
    outputs = OUTPUTS[:5].copy()
    std = np.array(tiny.bundle()["StdY"], np.float32)
    outputs[3, :6] = -np.array([1, 0, 0, 0, 0, 1]) / std[:6]  # residual that takes the identity away: both columns zero
    stages = run(contract, clip, mode, 5, ReplayNetwork(outputs)).stages
    np.testing.assert_array_equal(stages["delta6d"][3, :6], (1, 0, 0, 0, 0, 1))
    np.testing.assert_allclose(stages["y_out"][3, :6], stages["x_raw"][3, ROTATIONS][:6], rtol=0, atol=8 * STORE)
    poses = clip.rotations6d.copy()
    poses[4] = 0.0
    playing = run(contract, replace(clip, rotations6d=poses), "playback", 5).stages
    np.testing.assert_array_equal(playing["y_out"][3], playing["y_out"][2])


# --- write-back -------------------------------------------------------------------------------------------------------


def test_only_slices_of_the_output_are_written_back(contract, clip):
    """Root and angular velocity keep their seed for ever: the deployed engine's frozen inputs. Under none the pose does, too."""
    kept = run(contract, clip, "free", 3, writeback="none").stages
    np.testing.assert_array_equal(kept["x_raw_next"], np.tile(kept["x_raw"][0], (3, 1)))
    stages = run(contract, clip, "free", 4).stages
    np.testing.assert_array_equal(stages["x_raw_next"][:, ROTATIONS], stages["y_out"])
    for place in (POSITION, VELOCITY, slice(5, 6), ANGVEL):
        np.testing.assert_array_equal(stages["x_raw_next"][:, place], np.tile(stages["x_raw"][0, place], (4, 1)))


def test_everything_is_written_back_under_all(contract, clip):
    """Velocity from the step just made, position moved on by the root's velocity."""
    stages = run(contract, clip, "free", 3, writeback="all").stages
    for frame in range(3):
        before, after = stages["x_raw"][frame], stages["x_raw_next"][frame]
        for bone in range(3):
            six = slice(6 + 6 * bone, 12 + 6 * bone)
            old, new = (oracle.decode_xz(each[six].tolist()) for each in (before, after))
            want = oracle.times(tiny.FPS, oracle.log_map(oracle.product(new, oracle.transposed(old))))
            got = after[24 + 3 * bone : 27 + 3 * bone]
            np.testing.assert_allclose(got, want, rtol=2 * STORE, atol=tiny.FPS * 1e-14)
        moved = [float(before[c]) + float(after[3 + c]) / tiny.FPS for c in (0, 1)]
        np.testing.assert_allclose(after[:2], moved, rtol=4 * STORE, atol=4 * STORE)
        assert after[2] == before[2]


def test_slice_of_another_size_is_not_written_back(folder, clip):
    """The engine copies by name *and* size; half a position would tear the character from its capsule."""
    document = tiny.bundle(output={"RootPosition": 2, "BoneRotations6D": 18, "RootVelocity": 2})
    outputs = np.tile(np.linspace(-0.4, 0.4, 22).astype(np.float32), (3, 1))
    network = ReplayNetwork(outputs)
    stages = run(tiny.contract(folder, document), clip, "free", 3, network=network).stages
    np.testing.assert_array_equal(stages["x_raw_next"][:, POSITION], np.tile(stages["x_raw"][0, POSITION], (3, 1)))
    np.testing.assert_array_equal(stages["x_raw_next"][:, VELOCITY], stages["y_out"][:, 20:22])
    np.testing.assert_array_equal(stages["x_raw_next"][:, ROTATIONS], stages["y_out"][:, 2:20])
    assert np.abs(stages["x_raw_next"][0, VELOCITY] - stages["x_raw"][0, VELOCITY]).max() > 0.1


# --- what the network sees --------------------------------------------------------------------------------------------


def recording_network(seen, bound=(None,) * 5):
    def answer(*inputs):
        seen.append([vector.copy() for vector in inputs])
        return np.zeros((1, 18))

    network = CallableNetwork(answer)
    network.bound_widths = bound
    return network


def test_every_pad_and_every_cut_is_recorded(contract, clip):
    """The engine pads and cuts silently; a layout error then looks like a badly trained network."""
    seen = []
    matching = open_run(contract, recording_network([], (33, 7, 2, 9, 54)), clip)
    matching.step()
    assert matching.alignments == set()  # people ignore a warning that always appears
    loop = open_run(contract, recording_network(seen, (30, 7, 4, None, 54)), clip)
    loop.step()
    loop.step()
    found = {(event.position, event.name, event.given, event.bound) for event in loop.alignments}
    assert found == {(0, "state", 33, 30), (2, "contacts", 2, 4)}
    assert [vector.shape[1] for vector in seen[0]] == [30, 7, 4, 9, 54]
    assert seen[0][2][0, 2:].tolist() == [0.0, 0.0]
    np.testing.assert_allclose(seen[0][2][0, :2], (0.2, 0.9), rtol=2 * STORE)
    full = open_run(contract, ReplayNetwork(OUTPUTS), clip).step()["state"]
    np.testing.assert_array_equal(seen[0][0][0], full[:30])


def test_history_length_comes_from_the_network_when_the_bundle_has_none(folder, clip):
    """Spec 01 section 0: H = the model's width / (6·B), scale 1, mean 0, std 1."""
    bare = tiny.contract(folder, tiny.bundle(auxiliary=False))
    stages = run(bare, clip, "teacher", 2, recording_network([], (33, 7, 2, 9, 36))).stages
    assert stages["pose_hist"].shape == (2, 36)
    want = [math.tanh(value) for value in stages["pose_hist_raw"][1].tolist()]
    np.testing.assert_allclose(stages["pose_hist"][1], want, rtol=2 * STORE)


# --- playback ---------------------------------------------------------------------------------------------------------


def test_playback_publishes_the_clips_poses_and_loops(contract, clip):
    """Without the network, the game must show exactly the recorded poses."""
    stages = run(contract, clip, "playback", STEPS + 2).stages
    assert list(stages) == ["y_out", "quat"]
    for frame in range(STEPS + 2):
        np.testing.assert_allclose(stages["y_out"][frame], pose6d(frame % STEPS + 1), rtol=0, atol=8 * STORE)
        for quat, rotation in zip(stages["quat"][frame].reshape(3, 4), tiny.pose(frame % STEPS + 1), strict=True):
            np.testing.assert_allclose(oracle.quat_to_matrix(quat.tolist()), rotation, rtol=0, atol=20 * STORE)


def test_a_playback_looks_at_its_poses_alone(contract, clip):
    """It has no state and no history: under no convention may a long one miss what a run of the network would look back at."""
    stages = run(contract, clip, "playback", 90, pose_history_start="first_target", condition_norm="zscore").stages
    np.testing.assert_array_equal(stages["y_out"], run(contract, clip, "playback", 90).stages["y_out"])


def test_a_free_run_remembers_its_first_frame(contract, clip):
    """Frames that no stage looks back at are forgotten; what was frozen in the first frame is that frame's for ever."""
    stages = run(contract, clip, "free", 30, angvel_source="frozen", writeback="all").stages
    np.testing.assert_array_equal(stages["angvel"], np.tile(stages["angvel"][0], (30, 1)))
    assert not np.array_equal(stages["x_raw"][29, ANGVEL], stages["x_raw"][0, ANGVEL])


# --- clips that are too short -----------------------------------------------------------------------------------------


def test_loop_needs_a_network_unless_it_plays_back(contract, clip):
    """The message has to name what to give."""
    with pytest.raises(UnusableInput, match="frame 3"):  # the last row again would look like a character that freezes
        run(contract, clip, "teacher", 5, ReplayNetwork(OUTPUTS[:3]))
    with pytest.raises(UnusableInput, match="--onnx or --replay"):
        open_run(contract, None, clip, "free", engine="numpy")
    assert open_run(contract, None, clip, "playback").step()["y_out"].shape == (18,)


# --- bits -------------------------------------------------------------------------------------------------------------


@every_case("mode", ["teacher", "free", "playback"])
def test_same_input_twice_gives_the_same_bits_and_one_frame_is_no_clip(contract, clip, mode):
    """A run that cannot be repeated cannot be bisected; a reference pose exported as a clip is an ordinary file."""
    first, second = (run(contract, clip, mode).stages for _ in range(2))
    assert {name: rows.tobytes() for name, rows in first.items()} == {
        name: rows.tobytes() for name, rows in second.items()
    }
    assert np.isfinite(first["y_out"]).all()
    with pytest.raises(UnusableInput):
        run(contract, shortened(clip, 1), mode, 2)


BUNDLES = Path(__file__).parents[2] / "fixtures" / "bundles"
Rows = Mapping[str, np.ndarray]

_PAIR = tiled(("place", 2, FieldKind.RAW, "", ""))
GAIN = Knob("gain", {"half": 0.5, "double": 2.0}, "how strongly the network sees the speed")


def _speed(frames: Frames) -> np.ndarray:
    return (frames["place"] - frames.at("place", -1, "first")).astype(np.float32)


def _smooth(frames: Frames) -> np.ndarray:
    before = frames.at("speed", -1, "zeros") + frames.at("speed", -2, "zeros")
    return (frames.pick(GAIN) * (frames["speed"] + before) + frames["wish"]).astype(np.float32)


def _next(frames: Frames) -> np.ndarray:
    return (frames["place"] + np.float32(0.25) * frames["push"]).astype(np.float32)


CHASE = System(
    name="chase", title="A point that chases a wish", inputs=("smooth",), outputs=("push",), fps=30.0,
    stages=(
        Stage("place", _PAIR, carried="place_next"),
        Stage("wish", _PAIR),
        Stage("speed", _PAIR, ("place",), _speed),
        Stage("smooth", _PAIR, ("speed", "wish"), _smooth, knobs=(GAIN,)),
        Stage("push", _PAIR, ("smooth",), answer_of("push"), is_answer=True),
        Stage("place_next", _PAIR, ("place", "push"), _next),
    ),
)  # fmt: skip
CONTRACT = contract_in_memory(CHASE, {})


def push(inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """A network whose rows do not know of each other."""
    return [np.tanh(inputs[0][:, ::-1] * np.float32(0.5))]


def clip_of(seed: int, steps: int) -> dict[str, np.ndarray]:
    """A clip of both given stages."""
    random = np.random.default_rng(seed)
    return {name: random.normal(size=(steps, 2)).astype(np.float32) for name in ("place", "wish")}


@pytest.mark.parametrize("gain", ["half", "double"])
def test_a_free_run_starts_at_the_clip_and_goes_on_from_itself(gain: str) -> None:
    """Seeded anywhere else, or following the clip, a free run shows nothing of what errors do to it."""
    clip, count = clip_of(4, 12), 50
    trace = free_run(CONTRACT.with_conventions({"gain": gain}), clip, push, count)
    factor = np.float32({"half": 0.5, "double": 2.0}[gain])
    place, before = clip["place"][0], clip["place"][0]
    speeds = [np.zeros(2, np.float32)] * 2
    for frame in range(count):
        np.testing.assert_array_equal(trace.stages["place"][frame], place)
        speeds.append(place - before)
        smooth = factor * (speeds[-1] + (speeds[-2] + speeds[-3])) + clip["wish"][frame % 12]
        before, place = place, place + np.float32(0.25) * np.tanh(smooth[::-1] * np.float32(0.5))
        np.testing.assert_array_equal(trace.stages["place_next"][frame], place)
    assert (trace.header.mode, trace.header.system, len(trace.frame)) == ("free", "chase", count)


def bits(trace: Trace) -> dict[str, bytes]:
    """The stages in their order."""
    return {name: rows.tobytes() for name, rows in trace.stages.items()}


def test_a_run_without_a_network_or_with_recorded_answers_and_frame_by_frame() -> None:
    """Inputs can be checked before anything was trained, and an engine's answers are enough to judge what follows."""
    clip = clip_of(6, 9)
    trace, whole = run_clip(CONTRACT, clip), run_clip(CONTRACT, clip, push)
    given = {**clip, "push": whole.stages["push"]}
    assert list(trace.stages) == ["place", "wish", "speed", "smooth"]
    assert bits(run_lanes(CONTRACT, [clip], None, 9, "teacher")[0]) == bits(trace)
    assert bits(run_clip(CONTRACT, given)) == bits(run_lanes(CONTRACT, [given], None, 9, "teacher")[0]) == bits(whole)


@pytest.mark.parametrize(
    ("given", "count", "says"),
    [
        ({"place": np.zeros((3, 2), np.float32)}, 3, "no wish"),
        ({**clip_of(1, 5), "wish": np.zeros((4, 2), np.float32)}, 3, "as many rows"),
        (clip_of(1, 5), 6, "at most 5"),
    ],
)
def test_a_run_without_its_clip_is_refused(given: Rows, count: int, says: str) -> None:
    """Rows of nothing would go on as zeros or NaN, and the report would blame the first stage."""
    with pytest.raises(UnusableInput, match=says):
        run_clip(CONTRACT, given, push, count)


# ---- rigpact's own systems


def files_of(name: str) -> tuple[Contract, dict[str, np.ndarray], OnnxSystemNetwork]:
    """Contract, clip and model of a hosted system."""
    folder = BUNDLES / name
    clip = read_trace(folder / "clip.trace.safetensors").stages
    network = OnnxSystemNetwork(folder / "model.onnx", find_system(name))
    return open_contract(folder / f"{name}.json"), clip, network


def test_a_model_of_four_outputs_runs_once() -> None:
    """Four stages ask for its answers one after the other."""
    contract, clip, network = files_of("imu_pose")
    calls: list[int] = []
    evaluate = network._evaluate
    network._evaluate = lambda inputs: (calls.append(1), evaluate(inputs))[1]  # type: ignore[method-assign, func-returns-value]
    run_clip(contract, clip, network)
    assert len(calls) == 1
