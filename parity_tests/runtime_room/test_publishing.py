"""How a pose leaves the loop: the fixed step, the mailbox, the change of basis."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rigpact.reference_runtime.clock import tick
from rigpact.reference_runtime.mailbox import PoseMailbox, PublishedPose, quat_in_basis

from . import scalar_oracle as oracle
from .drawn import angles, axes

STEP = 1.0 / 64.0  # a power of two: sums of it are exact


def quat_of(axis, angle):
    unit = oracle.times(math.sin(angle / 2) / oracle.length(axis), axis)
    return np.array([*unit, math.cos(angle / 2)])


# frame times in eighths of a step -> which frames run a step, worked out by hand
@pytest.mark.parametrize(
    ("eighths", "steps"),
    [
        ((4, 4, 4, 4), (0, 1, 0, 1)),
        ((8, 8), (1, 1)),
        ((16, 0, 0), (1, 1, 0)),  # two steps are due: one now, one in the next frame
        ((80, 0, 0), (1, 1, 0)),  # a hitch of ten steps is capped at two
        ((7, 1, 7), (0, 1, 0)),
        ((-8, 8), (0, 1)),  # time does not run backwards
    ],
)
def test_at_most_one_step_runs_per_rendered_frame(eighths, steps):
    """After a hitch the enemy would replay the missed seconds at double speed."""
    accumulated, ran = 0.0, []
    for count in eighths:
        due, accumulated = tick(accumulated, count * STEP / 8, STEP)
        ran.append(int(due))
    assert tuple(ran) == steps


@given(frames=st.lists(st.integers(0, 40), max_size=40))
@example(frames=[40] * 5)
def test_carried_time_never_exceeds_the_cap(frames):
    """Time that piles up is spent later, all at once."""
    accumulated = 0.0
    for count in frames:
        _, accumulated = tick(accumulated, count * STEP / 8, STEP)
        assert 0.0 <= accumulated <= 2 * STEP


def test_sequence_counts_from_one_and_the_newest_pose_is_read():
    """0 means 'nothing yet' to the consumer."""
    mailbox = PoseMailbox()
    assert mailbox.read() is None
    for number in (1, 2, 3):
        assert mailbox.publish(np.full((2, 4), number), np.full(12, -number)) == number
        pose = mailbox.read()
        assert (pose.sequence, pose.quat[0, 0], pose.y_denorm[0]) == (number, number, -number)


def test_published_pose_is_a_copy():
    """The loop goes on writing into its own buffers while the animation thread reads."""
    mailbox, quat, y = PoseMailbox(), np.zeros((1, 4)), np.zeros(6)
    mailbox.publish(quat, y)
    quat[:], y[:] = 7.0, 7.0
    assert not mailbox.read().quat.any()
    assert not mailbox.read().y_denorm.any()


def test_torn_read_gives_no_pose():
    """Half of one pose and half of the next is a frame in which the elbow is where no elbow can be."""
    mailbox = PoseMailbox()
    mailbox.publish(np.zeros((1, 4)), np.zeros(6))
    # a writer that has filled the buffer of sequence 3 and not yet moved the number: its buffer is that of 1
    mailbox._buffers[1] = PublishedPose(3, np.ones((1, 4)), np.ones(6))
    assert mailbox.read() is None


@given(axis=axes, angle=angles, basis_axis=axes, basis_angle=angles)
@example(axis=(1.0, 0.0, 0.0), angle=0.4, basis_axis=(0.0, 0.0, 1.0), basis_angle=math.pi / 2)
def test_change_of_basis_turns_the_axis_and_keeps_the_angle(axis, angle, basis_axis, basis_angle):
    """Applied on one side only, the change of basis is a rotation of every bone."""
    got = quat_in_basis(quat_of(axis, angle), quat_of(basis_axis, basis_angle))
    basis = oracle.rodrigues(basis_axis, basis_angle)
    want = oracle.product(oracle.product(basis, oracle.rodrigues(axis, angle)), oracle.transposed(basis))
    np.testing.assert_allclose(oracle.quat_to_matrix(got.tolist()), want, rtol=0, atol=64 * 2.0**-53)
