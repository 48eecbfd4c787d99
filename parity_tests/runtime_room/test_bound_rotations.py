"""Operations on the rotations of some frames and bones, in their own buffers, worked out again for one bone at a time."""

from __future__ import annotations

import numpy as np
import pytest

from rigpact.reference_runtime.operations.bound_rotations import (
    COMPOSE,
    DIRECTION,
    Composition,
    Decoding,
    Reprojection,
)
from rigpact.reference_runtime.operations.rot6d import Rot6d
from rigpact.reference_runtime.systems.enemy_animation.knobs import enemy_conventions

from . import scalar_oracle as oracle

FRAMES, BONES = 3, 2
PLACES = [(frame, bone) for frame in range(FRAMES) for bone in range(BONES)]
LOST, X, Y, Z = np.zeros(3), *np.eye(3)
SHORT = np.array([8e-5, 8e-5, 0.0])
"""Longer than 1e-4, and every component shorter: an axis of a pose is kept, one of a delta is lost."""
HALF = np.array([np.sqrt(0.5), np.sqrt(0.5), 0.0])


def codec(**knobs):
    return Rot6d(enemy_conventions(knobs))


def turn(frame, bone, which):
    """A rotation that belongs to one bone of one frame alone."""
    return oracle.rodrigues([1.0, 0.5 * frame - which, 2.0 * bone - 1.0], 0.3 + 0.7 * frame + 0.4 * bone + which)


def fill(room, rotations, factor=1.0):
    """The first and the last column of each rotation, as six numbers hold them, longer by a factor."""
    for frame, bone in PLACES:
        matrix = np.array(rotations(frame, bone))
        room[0, :, frame, bone], room[1, :, frame, bone] = factor * matrix[:, 0], factor * matrix[:, 2]


@pytest.mark.parametrize(
    ("policy", "is_delta", "first", "second", "expected", "has_looked"),
    [
        ("previous_frame", False, LOST, 2 * Z, (Y, Z), True), ("previous_frame", True, LOST, 2 * Z, (X, Z), False),
        ("canonical", False, LOST, 2 * Y, (X, Y), False), ("canonical", True, LOST, 2 * Y, (X, Y), False),
        ("previous_frame_for_delta", False, LOST, 2 * Z, (Y, Z), True),
        ("previous_frame_for_delta", True, LOST, 2 * Z, (Y, Z), True),
        ("previous_frame", False, 2 * Z, LOST, (Z, X), True), ("previous_frame", True, 2 * Y, LOST, (Y, Z), False),
        ("previous_frame", False, SHORT, Z, (HALF, Z), False), ("previous_frame", True, SHORT, Z, (X, Z), False),
        ("zero", False, LOST, 2 * Z, (LOST, Z), False), ("previous_frame", False, 3 * Y, Y + Z, (Y, Z), False),
    ],
)  # fmt: skip
@pytest.mark.parametrize("place", PLACES)
def test_a_lost_axis_is_replaced_in_its_own_bone_as_the_conventions_say(
    place, policy, is_delta, first, second, expected, has_looked
):
    """A pose takes the axis that was published before, a delta a coordinate axis; and who looked back must be run again."""
    operation = Reprojection(codec(degenerate_axis=policy), (FRAMES, BONES), np.float64, is_delta=is_delta)
    assert operation.looked_back is False
    fill(operation.axes, lambda *where: turn(*where, 0), factor=2.0)
    operation.axes[0, :, *place], operation.axes[1, :, *place] = first, second
    published = np.tile(np.concatenate((Z, Y)), (FRAMES, BONES))
    published[place[0], 6 * place[1] : 6 * place[1] + 6] = np.concatenate((Y, X))
    operation(published)

    assert operation.looked_back is has_looked
    wanted = np.empty_like(operation.axes)
    fill(wanted, lambda *where: turn(*where, 0))
    wanted[0, :, *place], wanted[1, :, *place] = expected
    np.testing.assert_allclose(operation.axes, wanted, atol=1e-12)


def test_an_operation_that_looked_back_once_says_so_from_then_on():
    """Every block of a clip counts, not the last one."""
    operation = Reprojection(codec(), (1, 1), np.float32)
    for first, second in ((X, Z), (LOST, Z), (X, Z)):
        operation.axes[0, :, 0, 0], operation.axes[1, :, 0, 0] = first, second
        operation(np.concatenate((X, Z))[None])
    assert operation.looked_back is True


def test_a_pose_is_what_is_reprojected_unless_it_is_said_to_be_a_delta():
    """A delta would take a coordinate axis."""
    operation = Reprojection(codec(), (1, 1), np.float32)
    operation.axes[0, :, 0, 0], operation.axes[1, :, 0, 0] = LOST, Z
    operation(np.concatenate((Y, Z))[None])
    assert operation.axes[0, :, 0, 0].tolist() == [0.0, 1.0, 0.0]
    assert operation.axes.dtype == np.float32


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_decoding_gives_every_bone_its_own_matrix(dtype):
    """Two bones mixed up turn the character inside out."""
    operation = Decoding(codec(), (FRAMES, BONES), dtype)
    fill(operation.held, lambda *where: turn(*where, 0), factor=3.0)
    operation()
    assert operation.matrices.shape == (3, 3, FRAMES, BONES)
    assert operation.matrices.dtype == dtype
    for place in PLACES:
        np.testing.assert_allclose(
            operation.matrices[:, :, *place], turn(*place, 0), atol=1e-6 if dtype == np.float32 else 1e-12
        )


@pytest.mark.parametrize("place", PLACES)
def test_a_lost_axis_of_any_bone_is_decoded_to_a_coordinate_axis(place):
    """In the last bone of the last frame too; its second axis stays what it is across the first."""
    operation = Decoding(codec(), (FRAMES, BONES), np.float64)
    fill(operation.held, lambda *where: turn(*where, 0))
    operation.held[0, :, *place], operation.held[1, :, *place] = LOST, 2 * Y + X
    operation()
    np.testing.assert_allclose(operation.matrices[:, :, *place], np.stack((X, -Z, Y), axis=1), atol=1e-12)
    others = [each for each in PLACES if each != place]
    for each in others:
        np.testing.assert_allclose(operation.matrices[:, :, *each], turn(*each, 0), atol=1e-12)


@pytest.mark.parametrize("order", COMPOSE)
@pytest.mark.parametrize("direction", DIRECTION)
@pytest.mark.parametrize("decodes_delta", [True, False])
def test_composing_multiplies_every_delta_with_its_own_pose(order, direction, decodes_delta):
    """Turns do not commute, and the inverse of one is its transposed matrix; a delta may come decoded already."""
    operation = Composition(
        codec(),
        (FRAMES, BONES),
        np.float64,
        compose=COMPOSE[order],
        direct=DIRECTION[direction],
        decodes_delta=decodes_delta,
    )
    fill(operation.delta, lambda *where: turn(*where, 0), factor=2.0 if decodes_delta else 1.0)
    fill(operation.previous, lambda *where: turn(*where, 1), factor=5.0)
    operation()
    assert operation.result.shape == (2, 3, FRAMES, BONES)
    for place in PLACES:
        delta, previous = turn(*place, 0), turn(*place, 1)
        delta = oracle.transposed(delta) if direction == "inverse" else delta
        factors = (delta, previous) if order == "delta_prev" else (previous, delta)
        columns = oracle.transposed(oracle.product(*factors))
        np.testing.assert_allclose(operation.result[0, :, *place], columns[0], atol=1e-12)
        np.testing.assert_allclose(operation.result[1, :, *place], columns[2], atol=1e-12)


def test_what_is_not_said_of_a_composition_is_the_contract_documents():
    """R_next = ΔR · R_prev, forward, of a delta that is decoded."""
    said, unsaid = (
        Composition(codec(), (1, 1), np.float64, **how)
        for how in ({"compose": COMPOSE["delta_prev"], "direct": DIRECTION["forward"], "decodes_delta": True}, {})
    )
    for operation in (said, unsaid):
        for room, which in ((operation.delta, 0), (operation.previous, 1)):
            matrix = np.array(turn(1, 1, which))
            room[0, :, 0, 0], room[1, :, 0, 0] = 2.0 * matrix[:, 0], 2.0 * matrix[:, 2]
        operation()
    np.testing.assert_array_equal(said.result, unsaid.result)
    np.testing.assert_allclose(unsaid.result[0, :, 0, 0], np.matmul(turn(1, 1, 0), turn(1, 1, 1))[:, 0], atol=1e-12)
