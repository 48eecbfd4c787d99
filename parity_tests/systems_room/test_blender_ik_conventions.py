"""Blender IK: every other convention has the effect that its name describes, recomputed for each frame."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file
from scipy.spatial.transform import Rotation

from ..every_case import every_case
from .blender_ik_by_hand import (
    CONTRACT,
    DOCUMENT_LIMITS_RAD,
    HEADS_M,
    LIMITS_RAD,
    ORIENTATIONS,
    PARENTS,
    SYSTEM,
    blenders_angles,
    root_axes,
)
from .declared_runs import alternatives, run

FRAME = 229
Stages = dict[str, np.ndarray]


@pytest.fixture(scope="module")
def given(checkout: Path) -> Stages:
    """The clip, and rotation vectors; some of them are beyond their limits."""
    folder = checkout / "fixtures" / "bundles" / "blender_ik"
    stages = load_file(folder / "clip.trace.safetensors")
    labels = load_file(folder / "labels.trace.safetensors")["rotations"]
    beyond = 0.3 * np.random.default_rng(2).normal(size=labels.shape)
    return {**stages, "rotations": (labels + beyond).astype(np.float32)}


@pytest.fixture(scope="module")
def honest(given: Stages) -> Stages:
    """Every stage under the contract's own conventions."""
    return run(CONTRACT, given)


def _turn(quaternion: np.ndarray) -> np.ndarray:
    return Rotation.from_quat(quaternion.astype(float)).as_matrix()


def _parts(honest: Stages) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The frame's effectors (5, 7), hips' position and axes at rest, ground (2, 6)."""
    root = honest["root"][FRAME].astype(float)
    effectors = honest["effectors"][FRAME].astype(float).reshape(5, 7)
    return effectors, root[:3], root_axes(root), honest["ground"][FRAME].astype(float).reshape(2, 6)


def _positions(change: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Callable[[Stages], np.ndarray]:
    def expected(honest: Stages) -> np.ndarray:
        effectors, hips, axes, _ = _parts(honest)
        row = honest["context"][FRAME].astype(float)
        for place in range(5):
            row[6 * place : 6 * place + 3] = change(axes, effectors[place, :3] - hips)
        return row

    return expected


def _angles(change: Callable[[np.ndarray, Rotation], np.ndarray]) -> Callable[[Stages], np.ndarray]:
    def expected(honest: Stages) -> np.ndarray:
        effectors, _, axes, _ = _parts(honest)
        row = honest["context"][FRAME].astype(float)
        for place in range(5):
            row[6 * place + 3 : 6 * place + 6] = change(axes, Rotation.from_quat(effectors[place, 3:]))
        return row

    return expected


def _w_first(turn: Rotation) -> Rotation:
    return Rotation.from_quat(np.roll(turn.as_quat(), -1))


def _in_posed_axes(honest: Stages) -> np.ndarray:
    return _among(honest, _turn(honest["root"][FRAME, 3:7]))


def _among(honest: Stages, axes: np.ndarray) -> np.ndarray:
    effectors, hips, _, _ = _parts(honest)
    row = honest["context"][FRAME].astype(float)
    for place in range(5):
        row[6 * place : 6 * place + 3] = (effectors[place, :3] - hips) @ axes
    row[30:36] = [*axes[:, 1], *axes[:, 2]]
    return row


def _to_tails(honest: Stages) -> np.ndarray:
    effectors, hips, axes, _ = _parts(honest)
    row = honest["context"][FRAME].astype(float)
    for place, length in enumerate((0.071973, 0.071865, 0.162069, 0.162069, 0.270918)):
        tail = effectors[place, :3] + length * _turn(effectors[place, 3:])[:, 1]
        row[6 * place : 6 * place + 3] = (tail - hips) @ axes
    return row


def _order(order: list[int]) -> Callable[[Stages], np.ndarray]:
    def expected(honest: Stages) -> np.ndarray:
        row = honest["context"][FRAME].astype(float)
        row[:30] = np.concatenate([row[6 * place : 6 * place + 6].copy() for place in order])
        return row

    return expected


def _smaller(angles: np.ndarray) -> np.ndarray:
    """The triple of the smaller sum, whatever its order of turns."""
    x, y, z = (np.copysign(np.pi, angle) for angle in angles)
    other = np.array([angles[0] - x, y - angles[1], angles[2] - z])
    return min((angles, other), key=lambda triple: float(np.abs(triple).sum()))


def _axes(forward: int, up: int) -> Callable[[Stages], np.ndarray]:
    def expected(honest: Stages) -> np.ndarray:
        row, axes = honest["context"][FRAME].astype(float), _parts(honest)[2]
        row[30:36] = [*axes[:, forward], *axes[:, up]]
        return row

    return expected


def _at(stage: str, places: list[int], change: Callable[[Stages, np.ndarray], Any]) -> Callable[[Stages], np.ndarray]:
    def expected(honest: Stages) -> np.ndarray:
        row = honest[stage][FRAME].astype(float)
        row[places] = change(honest, row[places])
        return row

    return expected


def _clamped(limits: np.ndarray) -> Callable[[Stages], np.ndarray]:
    return lambda honest: np.clip(honest["rotations"][FRAME], limits[..., 0].ravel(), limits[..., 1].ravel())


def _heads(
    stage: str = "limited",
    twice: float = 1.0,
    rest: Any = None,
    root: Any = None,
    first: str = "",
    still: bool = False,
    flat: bool = False,
) -> Any:
    """Bone by bone with scipy; `first`: `every` bone turns before its rest turn, or those `below`.

    `still`: no armature; `flat`: offsets as they stand.
    """

    def expected(honest: Stages) -> np.ndarray:
        turns = Rotation.from_rotvec(twice * honest[stage][FRAME].astype(float).reshape(23, 3)).as_matrix()
        axes = ORIENTATIONS if rest is None else rest
        heads = [honest["root"][FRAME, :3].astype(float) if root is None else np.array(root)]
        armature = np.eye(3) if still else _turn(honest["root"][FRAME, 7:])
        world = [armature @ (turns[0] @ axes[0] if first == "every" else axes[0] @ turns[0])]
        for bone, parent in enumerate(PARENTS[1:], start=1):
            between = axes[parent].T @ axes[bone]
            rest_turn = np.eye(3) if flat else axes[parent].T
            heads.append(heads[parent] + world[parent] @ rest_turn @ (HEADS_M[bone] - HEADS_M[parent]))
            world.append(world[parent] @ (turns[bone] @ between if first else between @ turns[bone]))
        return np.concatenate(heads)

    return expected


def _errors_among_the_hips_axes(honest: Stages) -> np.ndarray:
    effectors, hips, axes, _ = _parts(honest)
    heads = honest["positions"][FRAME].astype(float).reshape(23, 3)[[10, 14, 17, 21, 6]]
    return np.linalg.norm(heads - (effectors[:, :3] - hips) @ axes, axis=1)


def _ways(honest: Stages) -> np.ndarray:
    return honest["positions"][FRAME].astype(float).reshape(23, 3)[[10, 14, 17, 21, 6]] - _parts(honest)[0][:, :3]


def _apart(honest: Stages) -> np.ndarray:
    return np.linalg.norm(_ways(honest), axis=1)


ANGLES = [6 * place + 3 + axis for place in range(5) for axis in range(3)]
FEET = np.array([2, 3])
_LEFT_OF = [place - 4 if 11 <= place <= 14 or place >= 19 else place for place in range(23)]
"""The left bone of each bone."""
MEANINGS: dict[tuple[str, str], tuple[str, Callable[[Stages], Any]]] = {
    ("root_frame", "posed_hips"): ("context", _in_posed_axes),
    ("root_frame", "armature"): ("context", lambda h: _among(h, _turn(h["root"][FRAME, 7:]))),
    ("effector_quaternion", "wxyz"): ("context", _angles(lambda _axes, turn: blenders_angles(_w_first(turn)))),
    ("effector_rotation_sense", "inverse"): ("context", _angles(lambda _axes, turn: blenders_angles(turn.inv()))),
    ("euler_triple", "middle_within_90_deg"): ("context", _angles(lambda _axes, turn: turn.as_euler("xyz"))),
    ("effector_point", "tail"): ("context", _to_tails),
    ("feet_order", "right_left"): ("context", _at("context", [*range(36, 48)], lambda _, row: [*row[6:], *row[:6]])),
    ("task_numbers", "sorted_by_name"): ("context", _at("context", [49], lambda _, _row: [1.0])),
    ("task_numbers", "grab_is_reach"): ("context", _at("context", [49], lambda _, _row: [2.0])),
    ("root_relative", "out_of_hips_axes"): ("context", _positions(lambda axes, d: axes @ d)),
    ("root_relative", "translation_only"): ("context", _positions(lambda _axes, d: d)),
    ("root_axes", "z_forward_y_up"): ("context", _axes(2, 1)),
    ("root_axes", "x_forward_z_up"): ("context", _axes(0, 2)),
    ("euler_order", "zyx"): ("context", _angles(lambda _axes, turn: _smaller(turn.as_euler("zyx")[::-1]))),
    ("effector_rotation_space", "hips"): (
        "context", _angles(lambda axes, turn: blenders_angles(Rotation.from_matrix(axes).inv() * turn)),
    ),
    ("effector_order", "feet_hands_head"): ("context", _order([2, 3, 0, 1, 4])),
    ("effector_order", "right_before_left"): ("context", _order([1, 0, 3, 2, 4])),
    ("height", "ground_height"): ("context", _at("context", [36, 42], lambda h, _: _parts(h)[3][:, 0])),
    ("height", "above_zero"): ("context", _at("context", [36, 42], lambda h, _: _parts(h)[0][FEET, 2])),
    ("contact_flags", "desired_grounded"): ("context", _at("context", [40, 41, 46, 47], lambda _, row: row[[1, 0, 3, 2]])),
    ("normalisation", "missing"): ("model_input", lambda h: h["context"][FRAME]),
    ("rotation_scale", "none"): ("model_input", _at("model_input", ANGLES, lambda _, row: row * np.pi)),
    ("rotation_scale", "degrees_over_180"): ("model_input", _at("model_input", ANGLES, lambda _, row: row * 180 / np.pi)),
    ("height_scale", "none"): ("model_input", _at("model_input", [36, 42], lambda _, row: 2 * row)),
    ("task_scale", "fifth"): ("model_input", _at("model_input", [49], lambda _, row: row / 5)),
    ("phase_unit", "radians"): ("model_input", _at("model_input", [48], lambda _, row: 2 * np.pi * row)),
    ("clamp", "none"): ("limited", lambda h: h["rotations"][FRAME]),
    ("limit_set", "document"): ("limited", _clamped(DOCUMENT_LIMITS_RAD)),
    ("limit_set", "in_degrees"): ("limited", _clamped(np.rad2deg(LIMITS_RAD))),
    ("limit_set", "y_and_z_swapped"): ("limited", _clamped(LIMITS_RAD[:, [0, 2, 1]])),
    ("limit_set", "right_as_left"): ("limited", _clamped(LIMITS_RAD[_LEFT_OF])),
    ("clamp_place", "behind_kinematics"): ("positions", _heads("rotations")),
    ("rotation_vector", "norm_is_half_angle"): ("positions", _heads(twice=2.0)),
    ("quaternion_order", "wxyz"): ("pose", lambda h: h["pose"][FRAME].reshape(23, 4)[:, [3, 0, 1, 2]].ravel()),
    ("rest_orientation", "ignored"): ("positions", _heads(rest=np.broadcast_to(np.eye(3), (23, 3, 3)))),
    ("rest_orientation", "ignored_in_offsets"): ("positions", _heads(flat=True)),
    ("local_order", "local_then_rest"): ("positions", _heads(first="every")),
    ("local_order", "local_then_rest_below_root"): ("positions", _heads(first="below")),
    ("kinematics_sense", "clockwise"): ("positions", _heads(twice=-1.0)),
    ("armature_rotation", "ignored"): ("positions", _heads(still=True)),
    ("fk_root", "default"): ("positions", _heads(root=(0.0, 0.0, 1.0))),
    ("error_measure", "squared"): ("effector_error", lambda h: _apart(h) ** 2),
    ("error_measure", "largest"): ("effector_error", lambda h: np.abs(_ways(h)).max(axis=1)),
    ("target_space", "hips_relative"): ("effector_error", _errors_among_the_hips_axes),
}  # fmt: skip


def test_every_convention_has_its_meaning_here() -> None:
    """A new value without an oracle would go untested."""
    assert set(MEANINGS) == set(alternatives(SYSTEM))


@every_case(("knob", "value"), MEANINGS)
def test_a_convention_does_what_its_name_says(given: Stages, honest: Stages, knob: str, value: str) -> None:
    """A wrong name for a cause is worse than no name."""
    stage, expected = MEANINGS[knob, value]
    found = run(CONTRACT, given, **{knob: value})[stage][FRAME]
    # float32 of metres and radians; angles of arc tangents and nine decimals of rest orientations
    assert found == pytest.approx(expected(honest), rel=1e-5, abs=2e-5)
    assert found != pytest.approx(honest[stage][FRAME], rel=1e-5, abs=2e-5)
