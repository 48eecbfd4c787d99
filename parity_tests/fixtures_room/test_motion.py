"""Generated clips: planted feet, channels that agree with each other, numbers that fit the engine."""

import itertools
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from rigpact.fixtures import STYLES, generate_clip
from rigpact.fixtures.motion.motion import generate_motion

FPS = 60.0
SOLE_M = 0.02
# A stored column is off by at most half a float32 step near 1, 2^-25 per entry; along the longest chain (6 joints from
# pelvis to ball) of 1.9 m the ball can be off by 6 * 3 * 2^-25 * 1.9 m = 1.0e-6 m, plus the rounding of the root
# position (at most 16 m away: 2^-20 m).
STORED_M = 1.0e-6 + 2.0**-20

styles = st.sampled_from(sorted(STYLES))
seeds = st.integers(0, 2**31)


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
    table = clip["meta"]["skeleton"]
    local = rotations_of(clip)
    chain = [table["bone_names"].index(f"ball_{side}")]
    while table["parents"][chain[0]] >= 0:
        chain.insert(0, table["parents"][chain[0]])
    path = []
    for k, frame in enumerate(clip["Frames"]):
        turn = Rotation.from_euler("z", frame["RootYaw"]).as_matrix()
        place = np.array(frame["RootPosition"])
        for bone in chain:
            place = place + turn @ np.array(table["ref_local_offsets_m"][bone])
            turn = turn @ local[k, bone]
        path.append(place)
    return np.array(path)


@pytest.mark.parametrize("style", STYLES)
def test_standing_feet_do_not_slide_and_nothing_sinks_into_the_floor(style: str) -> None:
    """Sliding feet in the training data become sliding feet in the game; a sunken foot never reads as contact."""
    clip = generate_clip(style, seed=11, frames=150)
    stance = generate_motion(style, seed=11, frames=150).stance
    for number, side in enumerate("lr"):
        ball = ball_positions(clip, side)
        slide = np.linalg.norm(np.diff(ball[:, :2], axis=0), axis=1)
        planted = stance[1:, number] & stance[:-1, number]
        assert planted.any()
        assert slide[planted].max() < 2.0 * STORED_M, "a foot that stands is locked, so only storage can move it"
        # Judged without the plan: a ball within 1 mm of its standing height is on the floor.
        low = ball[:, 2] < SOLE_M + 0.001
        assert slide[low[1:] & low[:-1]].max() < 0.5e-3
        assert ball[:, 2].min() > SOLE_M - 0.005
        np.testing.assert_allclose(ball[stance[:, number], 2], SOLE_M, rtol=0, atol=STORED_M)


@settings(deadline=None)
@given(style=styles, seed=seeds, frames=st.integers(3, 90))
def test_velocity_is_the_central_difference_of_position(style: str, seed: int, frames: int) -> None:
    """A velocity that disagrees with the path makes the network steer to where the character is not going."""
    clip = generate_clip(style, seed, frames)
    path = np.array([frame["RootPosition"][:2] for frame in clip["Frames"]])
    stored = np.array([frame["RootVelocityXY"] for frame in clip["Frames"]])
    last = frames - 1
    for k in range(frames):
        before, after = max(k - 1, 0), min(k + 1, last)
        expected = (path[after] - path[before]) * FPS / (after - before)
        # Two stored positions below 16 m: half a step of 2^-20 m each, times at most fps, plus the velocity's own.
        np.testing.assert_allclose(stored[k], expected, rtol=2.0**-24, atol=2.0 * 2.0**-21 * FPS)


@settings(deadline=None)
@given(style=styles, seed=seeds, frames=st.integers(3, 60))
def test_angular_velocity_is_the_full_log_map_in_the_parents_frame(style: str, seed: int, frames: int) -> None:
    """Half the angle, or the bone's own frame: the network's main clue to the next pose is then wrong."""
    clip = generate_clip(style, seed, frames)
    local = rotations_of(clip)
    stored = np.array([frame["BoneAngularVelocities"] for frame in clip["Frames"]])
    for k in range(frames):
        before, after = max(k - 1, 0), min(k + 1, frames - 1)
        step = Rotation.from_matrix(local[after] @ np.swapaxes(local[before], -1, -2)).as_rotvec()
        expected = step * FPS / (after - before)
        # Six stored columns, each off by up to sqrt(3) 2^-25, in two rotations: an angle of 2 * 2 * sqrt(3) * 2^-25.
        np.testing.assert_allclose(stored[k], expected, rtol=2.0**-23, atol=4.0 * 3.0**0.5 * 2.0**-25 * FPS)


@pytest.mark.parametrize("style", STYLES)
def test_motion_is_smooth(style: str) -> None:
    """A jump in the data is a tick in the animation, and it blows up every velocity statistic."""
    clip = generate_clip(style, seed=3, frames=180)
    velocity = np.array([frame["BoneAngularVelocities"] for frame in clip["Frames"]])[1:-1]
    # A sprinting knee turns at up to 20 rad/s and changes by about 1000 rad/s^2 (gait literature): 17 rad/s a frame.
    assert np.linalg.norm(velocity, axis=-1).max() < 20.0
    assert np.abs(np.diff(velocity, axis=0)).max() < 1000.0 / FPS


@pytest.mark.parametrize("style", ["walk", "idle"])
def test_every_bone_turns_about_more_than_one_axis(style: str) -> None:
    """Rotations about one shared axis commute: a swapped product would go unnoticed."""
    clip = generate_clip(style, seed=5, frames=240)
    local = rotations_of(clip)
    relative = Rotation.from_matrix((local @ np.swapaxes(local[:1], -1, -2)).reshape(-1, 3, 3)).as_rotvec()
    spread = relative.reshape(240, 46, 3)
    names = clip["meta"]["skeleton"]["bone_names"]
    for bone, name in enumerate(names):
        second_axis_rad = np.linalg.svd(spread[:, bone] - spread[:, bone].mean(0), compute_uv=False)[1] / 240**0.5
        assert np.degrees(second_axis_rad) > 0.2, name


@settings(deadline=None)
@given(style=styles, seed=seeds)
def test_trajectory_middle_is_the_velocity_seen_by_the_character(style: str, seed: int) -> None:
    """In world axes the same walk looks different after every turn, and the character drifts sideways."""
    clip = generate_clip(style, seed, frames=24)
    for frame in clip["Frames"]:
        window = np.array(frame["TrajectoryDir"])
        np.testing.assert_allclose(np.linalg.norm(window, axis=1), 1.0, atol=1e-6)
        velocity = np.array(frame["RootVelocityXY"])
        speed = np.hypot(*velocity)
        expected = np.arctan2(velocity[1], velocity[0]) - frame["RootYaw"] if speed >= 2e-3 else None
        if expected is not None:
            # The velocity's float32 rounding (below 8 m/s: 2^-22) seen at this speed, plus the stored direction's.
            limit = 2.0**-21 / speed + 2.0**-20
            np.testing.assert_allclose(window[2], [np.cos(expected), np.sin(expected)], rtol=0, atol=limit)


def test_large_turns_leave_the_principal_range() -> None:
    """Yaw that never passes pi cannot show that one side wraps and the other does not."""
    clip = generate_clip("spin_past_pi", seed=1, frames=200)
    yaw = np.array([frame["RootYaw"] for frame in clip["Frames"]])
    assert yaw.max() > np.pi > yaw.min()
    assert np.abs(np.diff(yaw)).max() < 0.1, "continuous: the reader wraps, not the file"


def test_contact_scores_follow_the_foot() -> None:
    """Scores that ignore the foot teach the network to skate."""
    clip = generate_clip("walk", seed=2, frames=180)
    stance = generate_motion("walk", seed=2, frames=180).stance
    for number, side in enumerate("LR"):
        score = np.array([frame["FootEvidence"][side]["soft_contact_score"] for frame in clip["Frames"]])
        height = ball_positions(clip, side.lower())[:, 2] - SOLE_M
        assert ((score >= 0.0) & (score <= 1.0)).all()
        steady = stance[:-2, number] & stance[1:-1, number] & stance[2:, number]
        assert score[1:-1][steady].min() > 0.9
        assert score[height > 0.05].max() < 0.05


@pytest.mark.parametrize("style", ["idle", "walk", "run", "hop"])
def test_the_document_has_the_engines_shape(style: str) -> None:
    """The engine silently fills short rows with zeros: a wrong shape gives a T-pose."""
    clip = generate_clip(style, seed=0, frames=5)
    assert set(clip) == {"NumFrames", "FPS", "ClipAction", "meta", "Frames"}
    assert (clip["NumFrames"], clip["FPS"], len(clip["Frames"])) == (5, 60, 5)
    action = STYLES[style].action
    assert clip["ClipAction"] == f"EAction::{action.name.capitalize()}"
    shapes = {"TrajectoryDir": (5, 2), "RootVelocityXY": (2,), "RootPosition": (3,), "RootYaw": (), "ActionBits": (4,),
              "BoneRotations": (46, 6), "BoneAngularVelocities": (46, 3)}  # fmt: skip
    for frame in clip["Frames"]:
        assert set(frame) == {*shapes, "FootEvidence"}
        assert {name: np.shape(frame[name]) for name in shapes} == shapes
        assert frame["ActionBits"] == [float(action == k) for k in range(4)]


def leaves(node: Any) -> Any:
    if isinstance(node, dict):
        return itertools.chain.from_iterable(leaves(value) for value in node.values())
    if isinstance(node, list):
        return itertools.chain.from_iterable(leaves(value) for value in node)
    return iter([node])


def test_numbers_are_the_shortest_text_of_a_float32() -> None:
    """Digits beyond float32 are lost in the engine: the file would promise what the game cannot hold."""
    clip = generate_clip("run_turn", seed=9, frames=6)
    for value in leaves(json.loads(json.dumps(clip["Frames"]))):
        assert float(value) == float(str(np.float32(value)))


def test_the_same_seed_gives_the_same_clip_and_another_does_not() -> None:
    """A fixture that changes between runs turns every regression test into a coin toss."""
    assert generate_clip("limp", 4, 12) == generate_clip("limp", 4, 12)
    assert generate_clip("limp", 4, 12) != generate_clip("limp", 5, 12)


def test_unknown_styles_and_single_frames_are_refused() -> None:
    """A typo in a style must not quietly produce an idle."""
    with pytest.raises(ValueError, match="unknown style 'wlak'"):
        generate_clip("wlak", 0, 10)
    with pytest.raises(ValueError, match="at least 3 frames"):
        generate_clip("walk", 0, 2)
