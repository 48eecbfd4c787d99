"""Generated clips and their skeleton: planted feet, channels that agree with each other, numbers that fit the engine."""

import itertools
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from rigpact.fixtures import STYLES, generate_clip
from rigpact.fixtures.motion import generate_motion
from rigpact.fixtures.skeleton import demo_skeleton, motion_in_the_world

FPS, SOLE_M = 60.0, 0.02
# A stored column is off by at most half a float32 step near 1, 2^-25 per entry; along the longest chain (6 joints from
# pelvis to ball) of 1.9 m the ball can be off by 6 * 3 * 2^-25 * 1.9 m = 1.0e-6 m, plus the rounding of the root
# position (at most 16 m away: 2^-20 m).
STORED_M = 1.0e-6 + 2.0**-20
SKELETON, MIRROR = demo_skeleton(), np.diag([1.0, -1.0, 1.0])
SHAPES = {"TrajectoryDir": (5, 2), "RootVelocityXY": (2,), "RootPosition": (3,), "RootYaw": (), "ActionBits": (4,),
          "BoneRotations": (46, 6), "BoneAngularVelocities": (46, 3)}  # fmt: skip


def rotations_of(clip: dict[str, Any]) -> np.ndarray:
    """(T, 46, 3, 3) from the stored X and Z columns, in float64."""
    columns = np.array([frame["BoneRotations"] for frame in clip["Frames"]])
    x, z = columns[..., :3], columns[..., 3:]
    x = x / np.linalg.norm(x, axis=-1, keepdims=True)
    z = z - (x * z).sum(-1, keepdims=True) * x
    z = z / np.linalg.norm(z, axis=-1, keepdims=True)
    return np.stack([x, np.cross(z, x), z], axis=-1)


def ball_positions(clip: dict[str, Any], side: str) -> np.ndarray:
    """World path (T, 3) of a ball joint: one bone after the other, one frame after the other."""
    table, local = clip["meta"]["skeleton"], rotations_of(clip)
    chain = [table["bone_names"].index(f"ball_{side}")]
    while table["parents"][chain[0]] >= 0:
        chain.insert(0, table["parents"][chain[0]])
    path = []
    for k, frame in enumerate(clip["Frames"]):
        turn, place = Rotation.from_euler("z", frame["RootYaw"]).as_matrix(), np.array(frame["RootPosition"])
        for bone in chain:
            place = place + turn @ np.array(table["ref_local_offsets_m"][bone])
            turn = turn @ local[k, bone]
        path.append(place)
    return np.array(path)


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.sampled(2)
def test_standing_feet_do_not_slide_and_motion_is_smooth(style: str) -> None:
    """Sliding feet in the training data become sliding feet in the game; a jump in the data is a tick in the animation."""
    clip = generate_clip(style, seed=11, frames=90)
    stance = generate_motion(style, seed=11, frames=90).stance
    for number, side in enumerate("lr"):
        ball = ball_positions(clip, side)
        slide = np.linalg.norm(np.diff(ball[:, :2], axis=0), axis=1)
        planted = stance[1:, number] & stance[:-1, number]
        assert planted.any()
        assert slide[planted].max() < 2.0 * STORED_M, "a foot that stands is locked, so only storage can move it"
        low = ball[:, 2] < SOLE_M + 0.001  # judged without the plan
        assert slide[low[1:] & low[:-1]].max() < 0.5e-3
        assert ball[:, 2].min() > SOLE_M - 0.005
        np.testing.assert_allclose(ball[stance[:, number], 2], SOLE_M, rtol=0, atol=STORED_M)
    velocity = np.array([frame["BoneAngularVelocities"] for frame in clip["Frames"]])[1:-1]
    # A sprinting knee turns at up to 20 rad/s and changes by about 1000 rad/s^2 (gait literature): 17 rad/s a frame.
    assert np.linalg.norm(velocity, axis=-1).max() < 20.0
    assert np.abs(np.diff(velocity, axis=0)).max() < 1000.0 / FPS


@settings(deadline=None, max_examples=8)
@given(style=st.sampled_from(sorted(STYLES)), seed=st.integers(0, 2**31), frames=st.integers(3, 40))
def test_velocities_and_the_trajectory_are_those_of_the_path(style: str, seed: int, frames: int) -> None:
    """A velocity that disagrees with the path, half an angle, world axes: the network's clues are then wrong."""
    clip = generate_clip(style, seed, frames)
    path, stored, spins = (np.array([frame[key] for frame in clip["Frames"]])
                           for key in ("RootPosition", "RootVelocityXY", "BoneAngularVelocities"))  # fmt: skip
    local = rotations_of(clip)
    assert len(path) == frames
    for k, frame in enumerate(clip["Frames"]):
        before, after = max(k - 1, 0), min(k + 1, frames - 1)
        expected = (path[after, :2] - path[before, :2]) * FPS / (after - before)
        # Two stored positions below 16 m: half a step of 2^-20 m each, times at most fps, plus the velocity's own.
        np.testing.assert_allclose(stored[k], expected, rtol=2.0**-24, atol=2.0 * 2.0**-21 * FPS)
        step = Rotation.from_matrix(local[after] @ np.swapaxes(local[before], -1, -2)).as_rotvec()
        # Six stored columns, each off by up to sqrt(3) 2^-25, in two rotations: an angle of 2 * 2 * sqrt(3) * 2^-25.
        spin_error = 4.0 * 3.0**0.5 * 2.0**-25 * FPS
        np.testing.assert_allclose(spins[k], step * FPS / (after - before), rtol=2.0**-23, atol=spin_error)
        window, speed = np.array(frame["TrajectoryDir"]), np.hypot(*stored[k])
        np.testing.assert_allclose(np.linalg.norm(window, axis=1), 1.0, atol=1e-6)
        if speed >= 2e-3:
            heading = np.arctan2(stored[k, 1], stored[k, 0]) - frame["RootYaw"]
            # The velocity's float32 rounding (below 8 m/s: 2^-22) seen at this speed, plus the stored direction's.
            limit = 2.0**-21 / speed + 2.0**-20
            np.testing.assert_allclose(window[2], [np.cos(heading), np.sin(heading)], rtol=0, atol=limit)


@pytest.mark.parametrize("style", ["walk", "idle"])
def test_every_bone_turns_about_more_than_one_axis(style: str) -> None:
    """Rotations about one shared axis commute: a swapped product would go unnoticed."""
    clip = generate_clip(style, seed=5, frames=240)
    local = rotations_of(clip)
    relative = Rotation.from_matrix((local @ np.swapaxes(local[:1], -1, -2)).reshape(-1, 3, 3)).as_rotvec()
    spread = relative.reshape(240, 46, 3)
    names = clip["meta"]["skeleton"]["bone_names"]
    assert len(names) == 46
    for bone, name in enumerate(names):
        second_axis_rad = np.linalg.svd(spread[:, bone] - spread[:, bone].mean(0), compute_uv=False)[1] / 240**0.5
        assert np.degrees(second_axis_rad) > 0.2, name


def test_large_turns_leave_the_principal_range() -> None:
    """Yaw that never passes pi cannot show that one side wraps and the other does not."""
    yaw = np.array([frame["RootYaw"] for frame in generate_clip("spin_past_pi", seed=1, frames=200)["Frames"]])
    assert yaw.max() > np.pi > yaw.min()
    assert np.abs(np.diff(yaw)).max() < 0.1, "continuous: the reader wraps, not the file"


def test_contact_scores_follow_the_foot() -> None:
    """Scores that ignore the foot teach the network to skate."""
    clip = generate_clip("walk", seed=2, frames=180)
    stance = generate_motion("walk", seed=2, frames=180).stance
    for number, side in enumerate("LR"):
        score = np.array([frame["FootEvidence"][side]["soft_contact_score"] for frame in clip["Frames"]])
        height = ball_positions(clip, side.lower())[:, 2] - SOLE_M
        steady = stance[:-2, number] & stance[1:-1, number] & stance[2:, number]
        assert ((score >= 0.0) & (score <= 1.0)).all()
        assert score[1:-1][steady].min() > 0.9
        assert score[height > 0.05].max() < 0.05


def leaves(node: Any) -> Any:
    below = node.values() if isinstance(node, dict) else node if isinstance(node, list) else None
    return [node] if below is None else list(itertools.chain.from_iterable(map(leaves, below)))


@pytest.mark.parametrize("style", ["idle", "walk", "run_turn", "hop"])
def test_the_document_has_the_engines_shape_and_the_numbers_of_its_seed(style: str) -> None:
    """The engine fills short rows with zeros: a T-pose; digits beyond float32 promise what the game cannot hold."""
    clip, action = generate_clip(style, seed=0, frames=5), STYLES[style].action
    assert set(clip) == {"NumFrames", "FPS", "ClipAction", "meta", "Frames"}
    assert (clip["NumFrames"], clip["FPS"], len(clip["Frames"])) == (5, 60, 5)
    assert clip["ClipAction"] == f"EAction::{action.name.capitalize()}"
    for frame in clip["Frames"]:
        assert set(frame) == {*SHAPES, "FootEvidence"}
        assert {name: np.shape(frame[name]) for name in SHAPES} == SHAPES
        assert frame["ActionBits"] == [float(action == k) for k in range(4)]
    numbers = leaves(json.loads(json.dumps(clip["Frames"])))
    assert [value for value in numbers if float(value) != float(str(np.float32(value)))] == []
    assert generate_clip(style, 0, 5) == clip != generate_clip(style, 1, 5)


def test_unknown_styles_and_single_frames_are_refused() -> None:
    """A typo in a style must not quietly produce an idle."""
    with pytest.raises(ValueError, match="unknown style 'wlak'"):
        generate_clip("wlak", 0, 10)
    with pytest.raises(ValueError, match="at least 3 frames"):
        generate_clip("walk", 0, 2)


def test_the_skeleton_is_a_tree_of_46_bones_that_mirrors_in_y() -> None:
    """A parent after its child poses the child from stale data; a rig that is a millimetre lopsided limps."""
    names, parents = SKELETON.names, SKELETON.parents
    assert len(names) == len(set(names)) == len(parents) == 46
    assert (names[0], parents[0]) == ("pelvis", -1)
    assert [bone for bone, parent in enumerate(parents) if bone and not 0 <= parent < bone] == []
    pairs = [(names.index(name), names.index(f"{name[:-1]}r")) for name in names if name.endswith("_l")]
    assert len(pairs) == sum(name.endswith("_r") for name in names) == 20
    for left, right in pairs:
        np.testing.assert_array_equal(SKELETON.offsets_m[left], MIRROR @ SKELETON.offsets_m[right])
        np.testing.assert_array_equal(SKELETON.frames[left], MIRROR @ SKELETON.frames[right] @ MIRROR)
    identity = np.broadcast_to(np.eye(3), (46, 3, 3))
    np.testing.assert_allclose(SKELETON.frames @ np.swapaxes(SKELETON.frames, 1, 2), identity, atol=1e-15)
    assert (np.linalg.det(SKELETON.frames) > 0.999).all()


def test_rest_pose_has_human_proportions() -> None:
    """Offsets in centimetres, or a bone hung on the wrong parent, put the head in the sky or the feet underground."""
    local = SKELETON.canonical_to_local(np.broadcast_to(np.eye(3), (1, 46, 3, 3)))
    _, joints = motion_in_the_world(SKELETON, local, np.zeros((1, 3)), np.zeros(1))
    height = dict(zip(SKELETON.names, joints[0, :, 2], strict=True))
    assert [height["ball_l"], height["ball_r"]] == pytest.approx([0.02, 0.02], abs=1e-12)
    assert 0.4 < height["calf_l"] < 0.55 < height["hand_l"] < 0.95
    assert 1.3 < height["upperarm_l"] < 1.55 < height["head"] < 1.8
    assert joints[0, SKELETON.index("hand_r"), 1] > 0.15, "the right hand is on the right: y is right"
    assert joints[0, SKELETON.index("ball_r"), 0] > 0.1, "toes point forward: x is forward"
