"""The generated character's bone table."""

import numpy as np
import pytest

from rigpact.fixtures.motion.skeleton import demo_skeleton, forward_kinematics

from ..every_case import every_case

SKELETON = demo_skeleton()
MIRROR = np.diag([1.0, -1.0, 1.0])
PAIRS = [
    (SKELETON.names.index(name), SKELETON.names.index(name[:-1] + "r")) for name in SKELETON.names if name[-2:] == "_l"
]


def test_there_are_46_bones_with_unique_names_and_parents_come_first() -> None:
    """A parent after its child makes every engine that walks the table once pose the child from stale data."""
    assert len(SKELETON.names) == len(set(SKELETON.names)) == len(SKELETON.parents) == 46
    assert (SKELETON.names[0], SKELETON.parents[0]) == ("pelvis", -1)
    assert all(0 <= parent < bone for bone, parent in enumerate(SKELETON.parents) if bone)


def test_every_side_bone_has_a_twin() -> None:
    """A missing twin makes mirrored motion crash, or bend an arm with a leg's data."""
    assert len(PAIRS) == 20
    assert sum(name.endswith("_r") for name in SKELETON.names) == 20


@every_case(("left", "right"), PAIRS, ids=lambda bone: SKELETON.names[bone])
def test_left_and_right_mirror_exactly_in_y(left: int, right: int) -> None:
    """A rig that is a millimetre lopsided limps, and a handedness defect can hide behind it."""
    np.testing.assert_array_equal(SKELETON.offsets_m[left], MIRROR @ SKELETON.offsets_m[right])
    np.testing.assert_array_equal(SKELETON.frames[left], MIRROR @ SKELETON.frames[right] @ MIRROR)


def test_rest_pose_has_human_proportions() -> None:
    """Offsets in centimetres, or a bone hung on the wrong parent, put the head in the sky or the feet underground."""
    canonical = np.broadcast_to(np.eye(3), (1, 46, 3, 3))
    _, joints = forward_kinematics(SKELETON, SKELETON.canonical_to_local(canonical), np.zeros((1, 3)), np.zeros(1))
    height = dict(zip(SKELETON.names, joints[0, :, 2], strict=True))
    assert height["ball_l"] == pytest.approx(0.02, abs=1e-12)
    assert height["ball_r"] == pytest.approx(0.02, abs=1e-12)
    assert 0.4 < height["calf_l"] < 0.55
    assert 0.55 < height["hand_l"] < 0.95
    assert 1.3 < height["upperarm_l"] < 1.55 < height["head"] < 1.8
    assert joints[0, SKELETON.index("hand_r"), 1] > 0.15, "the right hand is on the right: y is right"
    assert joints[0, SKELETON.index("ball_r"), 0] > 0.1, "toes point forward: x is forward"


def test_bone_frames_are_rotations() -> None:
    """A reflected frame turns a rotation inside out: columns that no engine accepts."""
    np.testing.assert_allclose(
        SKELETON.frames @ np.swapaxes(SKELETON.frames, 1, 2), np.broadcast_to(np.eye(3), (46, 3, 3)), atol=1e-15
    )
    assert (np.linalg.det(SKELETON.frames) > 0.999).all()
