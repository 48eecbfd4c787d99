"""Axes that are lost, worked out again for one bone at a time."""

import numpy as np
import pytest

from rigpact.contract.pages.registry import find_system
from rigpact.reference_runtime.operations.rot6d import Rot6d

from ..every_case import every_case
from . import scalar_oracle as oracle

enemy_conventions = find_system("enemy_animation").conventions

FRAMES, BONES = 3, 2
PLACES = [(frame, bone) for frame in range(FRAMES) for bone in range(BONES)]
LOST, X, Y, Z = np.zeros(3), *np.eye(3)
SHORT = np.array([8e-5, 8e-5, 0.0])
"""Longer than 1e-4, and every component shorter: an axis of a pose is kept, one of a delta is lost."""
HALF = np.array([np.sqrt(0.5), np.sqrt(0.5), 0.0])


def codec(**knobs):
    return Rot6d(enemy_conventions(knobs))


def turned(frame, bone):
    """A rotation that belongs to one bone of one frame alone."""
    return np.array(oracle.rodrigues([1.0, 0.5 * frame, 2.0 * bone - 1.0], 0.3 + 0.7 * frame + 0.4 * bone))


def poses(factor=1.0):
    """The first and the last column of each rotation, as six numbers hold them, longer by a factor: (frames, bones, 6)."""
    six = np.empty((FRAMES, BONES, 6))
    for place in PLACES:
        six[place] = factor * np.concatenate((turned(*place)[:, 0], turned(*place)[:, 2]))
    return six


@every_case(
    ("policy", "is_delta", "first", "second", "expected"),
    [
        ("previous_frame", False, LOST, 2 * Z, (Y, Z)), ("previous_frame", True, LOST, 2 * Z, (X, Z)),
        ("canonical", False, LOST, 2 * Y, (X, Y)), ("canonical", True, LOST, 2 * Y, (X, Y)),
        ("previous_frame_for_delta", False, LOST, 2 * Z, (Y, Z)), ("previous_frame_for_delta", True, LOST, 2 * Z, (Y, Z)),
        ("previous_frame", False, 2 * Z, LOST, (Z, X)), ("previous_frame", True, 2 * Y, LOST, (Y, Z)),
        ("previous_frame", False, SHORT, Z, (HALF, Z)), ("previous_frame", True, SHORT, Z, (X, Z)),
        ("zero", False, LOST, 2 * Z, (LOST, Z)), ("previous_frame", False, 3 * Y, Y + Z, (Y, Z)),
    ],
)  # fmt: skip
@every_case("place", PLACES)
def test_a_lost_axis_is_replaced_in_its_own_bone_as_the_conventions_say(
    place, policy, is_delta, first, second, expected
):
    """A pose takes the axis that was published before, a delta a coordinate axis; the other bones keep theirs."""
    operation = codec(degenerate_axis=policy)
    six, published = poses(factor=2.0), np.tile(np.concatenate((Z, Y)), (FRAMES, BONES, 1))
    six[place], published[place] = np.concatenate((first, second)), np.concatenate((Y, X))
    reproject = operation.reproject_delta if is_delta else operation.reproject
    got = reproject(six.reshape(FRAMES, -1), published.reshape(FRAMES, -1))
    wanted = poses()
    wanted[place] = np.concatenate(expected)
    np.testing.assert_allclose(got, wanted.reshape(FRAMES, -1), atol=1e-12)


@pytest.mark.parametrize("place", PLACES)
def test_a_lost_axis_of_any_bone_is_decoded_to_a_coordinate_axis(place):
    """In the last bone of the last frame too; its second axis stays what it is across the first."""
    six = poses()
    six[place] = np.concatenate((LOST, 2 * Y + X))
    got = codec().decode(six.reshape(FRAMES, -1))
    np.testing.assert_allclose(got[place], np.stack((X, -Z, Y), axis=1), atol=1e-12)
    for each in PLACES:
        if each != place:
            np.testing.assert_allclose(got[each], turned(*each), atol=1e-12)
