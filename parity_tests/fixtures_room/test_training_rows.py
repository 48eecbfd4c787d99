"""Statistics and network inputs of the training side, re-derived from raw clips with plain Python floats."""

import math
import statistics as plain
from typing import Any

import numpy as np
import pytest

from rigpact.fixtures import generate_clip
from rigpact.training.enemy_animation.arrays import clip_arrays
from rigpact.training.enemy_animation.statistics import Statistics, fit_statistics, network_inputs, wrap_yaw

CLIPS = [
    generate_clip("idle", seed=1, frames=9),
    generate_clip("spin_past_pi", seed=2, frames=30),
    generate_clip("hop", seed=3, frames=24),
]
FLOOR = 1e-3


@pytest.fixture(scope="module")
def fitted() -> Statistics:
    return fit_statistics([clip_arrays(clip) for clip in CLIPS])


def f32(value: float) -> float:
    return float(np.float32(value))


def flat(rows: list[list[float]]) -> list[float]:
    return [f32(x) for row in rows for x in row]


def quantile(values: list[float], q: float) -> float:
    """Linear interpolation between order statistics."""
    ordered = sorted(values)
    place = q * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def scales(rows: list[list[float]]) -> list[float]:
    return [f32(max(quantile([abs(x) for x in column], 0.99), 0.05)) for column in zip(*rows, strict=True)]


def wrapped(yaw: float) -> float:
    return math.atan2(math.sin(yaw), math.cos(yaw))


def raw_state(frame: dict[str, Any]) -> list[float]:
    contacts = [frame["FootEvidence"][side]["soft_contact_score"] for side in "LR"]
    parts = [*frame["RootPosition"], *frame["RootVelocityXY"], frame["RootYaw"]]
    return [
        *(f32(x) for x in parts),
        *flat(frame["BoneRotations"]),
        *flat(frame["BoneAngularVelocities"]),
        *(f32(x) for x in contacts),
    ]


def squashed(raw: list[float], rootvel: list[float], angvel: list[float]) -> list[float]:
    """Yaw over pi, tanh on the two velocities, everything else as it is; offsets counted by hand."""
    values = list(raw)
    values[3:5] = [math.tanh(x / s) for x, s in zip(raw[3:5], rootvel, strict=True)]
    values[5] = wrapped(raw[5]) / math.pi
    values[282:420] = [math.tanh(x / s) for x, s in zip(raw[282:420], angvel, strict=True)]
    return values


def history(frames: list[dict[str, Any]], k: int) -> list[float]:
    """Oldest first; before the clip stands the seed, F_0."""
    return [x for back in (2, 1, 0) for x in flat(frames[max(k - back, 0)]["BoneRotations"])]


def assert_affine(mu: np.ndarray, std: np.ndarray, rows: list[list[float]]) -> None:
    for channel, column in enumerate(zip(*rows, strict=True)):
        # The stored values are rounded to float32 once; sums of a few dozen doubles add nothing visible to that.
        assert mu[channel] == pytest.approx(plain.fmean(column), rel=2**-23, abs=1e-15)
        assert std[channel] == pytest.approx(max(plain.pstdev(column), FLOOR), rel=2**-23)


def test_statistics_of_state_and_target(fitted: Statistics) -> None:
    """Statistics off by one frame or fitted before the squash whiten every input wrongly, for ever."""
    states = [raw_state(frame) for clip in CLIPS for frame in clip["Frames"][:-1]]
    rootvel = scales([row[3:5] for row in states])
    angvel = scales([row[282:420] for row in states])
    assert fitted.scale_root_velocity.tolist() == rootvel
    np.testing.assert_allclose(fitted.scale_angular_velocity, angvel, rtol=2**-23)
    assert_affine(fitted.x.mu, fitted.x.std, [squashed(row, rootvel, angvel) for row in states])
    assert_affine(
        fitted.y.mu, fitted.y.std, [flat(frame["BoneRotations"]) for clip in CLIPS for frame in clip["Frames"][1:]]
    )


def test_auxiliary_statistics_come_from_moving_clips(fitted: Statistics) -> None:
    """Were they equal to the bundle's, swapping the two tables would go unnoticed."""
    moving = CLIPS[1:]
    angular_scale = fitted.scale_angular_velocity.tolist()
    squash = [
        [math.tanh(x / s) for x, s in zip(flat(frame["BoneAngularVelocities"]), angular_scale, strict=True)]
        for clip in moving
        for frame in clip["Frames"][:-1]
    ]
    assert_affine(fitted.angular_velocity.mu, fitted.angular_velocity.std, squash)
    poses = [history(clip["Frames"], k) for clip in moving for k in range(len(clip["Frames"]) - 1)]
    history_scale = scales(poses)
    np.testing.assert_allclose(fitted.scale_pose_history, history_scale, rtol=2**-23)
    rows = [[math.tanh(x / s) for x, s in zip(row, fitted.scale_pose_history.tolist(), strict=True)] for row in poses]
    assert_affine(fitted.pose_history.mu, fitted.pose_history.std, rows)


def test_no_deviation_is_below_the_floor(fitted: Statistics) -> None:
    """A deviation of 1e-6 turns one float32 step into a tenth of a z: no comparison survives that."""
    for part in (fitted.x, fitted.y, fitted.angular_velocity, fitted.pose_history):
        assert part.std.min() >= np.float32(FLOOR)


@pytest.mark.parametrize("clip", CLIPS, ids=["idle", "spin", "hop"])
def test_input_rows(clip: dict[str, Any], fitted: Statistics) -> None:
    """Each of the five inputs from the raw clip: a shifted frame or a stale pose trains the wrong character."""
    frames = clip["Frames"]
    inputs = network_inputs(clip_arrays(clip), fitted)
    rootvel, angvel = fitted.scale_root_velocity.tolist(), fitted.scale_angular_velocity.tolist()
    assert inputs.state.shape == (len(frames) - 1, 422)
    for k, frame in enumerate(frames[:-1]):
        values = squashed(raw_state(frame), rootvel, angvel)
        assert_row(inputs.state[k], values, fitted.x.mu, fitted.x.std)
        omega = [math.tanh(x / s) for x, s in zip(flat(frame["BoneAngularVelocities"]), angvel, strict=True)]
        assert_row(inputs.angvel[k], omega, fitted.angular_velocity.mu, fitted.angular_velocity.std)
        scale = fitted.scale_pose_history.tolist()
        poses = [math.tanh(x / s) for x, s in zip(history(frames, k), scale, strict=True)]
        assert_row(inputs.pose_hist[k], poses, fitted.pose_history.mu, fitted.pose_history.std)
        assert inputs.contacts[k].tolist() == [f32(frame["FootEvidence"][s]["soft_contact_score"]) for s in "LR"]
        x, y = (f32(v) for v in frame["RootVelocityXY"])
        speed = math.hypot(x, y)
        direction = [x / speed, y / speed] if speed >= 1e-3 else [0.0, 0.0]
        assert inputs.cond[k].tolist() == pytest.approx([*frame["ActionBits"], *direction, speed], rel=2**-23)


def assert_row(got: np.ndarray, values: list[float], mu: np.ndarray, std: np.ndarray) -> None:
    want = [(v - float(m)) / max(float(s), 1e-6) for v, m, s in zip(values, mu, std, strict=True)]
    # Computed in float64 on both sides (errors near 1e-16 / 1e-3), then rounded to float32 once.
    np.testing.assert_allclose(got, want, rtol=2**-23, atol=1e-12)


@pytest.mark.parametrize(
    ("yaw", "expected"),
    [(0.5, 0.5), (4.0, 4.0 - 2 * math.pi), (-4.0, 2 * math.pi - 4.0), (math.pi, math.pi), (-math.pi, math.pi)],
)
def test_yaw_wraps_and_minus_pi_becomes_pi(yaw: float, expected: float) -> None:
    """At the seam one side says -1 and the other +1: the whole state flips sign for a frame."""
    assert float(wrap_yaw(yaw)) == pytest.approx(expected, abs=1e-15)
