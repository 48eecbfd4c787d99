"""Blender IK: kinematics with rest orientations, rotations, the runtime stage by stage, the gate of data."""

import json
from importlib.resources import files
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from safetensors.numpy import load_file
from scipy.spatial.transform import Rotation

from rigpact.contract import pages
from rigpact.contract.contract_files import contract_in_memory
from rigpact.contract.pages.registry import find_system
from rigpact.contract.skeleton import forward_kinematics
from rigpact.reference_runtime.graph.run import stages_from
from rigpact.reference_runtime.operations.geometry import EULER, TRIPLES

from ..every_case import every_case
from . import declared_runs
from .declared_runs import BUNDLES

SYSTEM = find_system("blender_ik")
CONSTANTS: dict[str, Any] = dict(SYSTEM.template())
CONTRACT = contract_in_memory(SYSTEM, CONSTANTS)
BONES, TASKS, PARENTS = (tuple(CONSTANTS[name]) for name in ("bones", "tasks", "parents"))
HEADS_M, LENGTHS_M, LIMITS_RAD, ORIENTATIONS = (
    np.array(CONSTANTS[name]) for name in ("rest_heads_m", "bone_lengths_m", "limits_rad", "rest_orientations")
)
SIX_DECIMALS = 2e-4
"""The published thighs part by 2.5e-5 from a rotation matrix: an inverse parts from a transpose, for up to eight bones."""
CLIP = load_file(BUNDLES / "blender_ik" / "clip.trace.safetensors")
TRUTH = load_file(BUNDLES / "blender_ik" / "labels.trace.safetensors")["rotations"]


def true_run(contract: Any = CONTRACT, truth: np.ndarray = TRUTH) -> dict[str, np.ndarray]:
    return declared_runs.run(contract, CLIP, lambda _inputs: [truth])


def posed(local_rad: np.ndarray, root: np.ndarray, armature: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Heads (N, 23, 3) and orientations (N, 23, 3, 3) of the stage that places the bones."""
    turn = [0.0, 0.0, 0.0, 1.0] if armature is None else Rotation.from_matrix(armature).as_quat()
    vectors = local_rad.reshape(-1, 69)
    place = np.tile(np.hstack([root, [0.0, 0.0, 0.0, 1.0], turn]), (len(vectors), 1))
    frames = stages_from(CONTRACT, {"rotations": vectors, "limited": vectors, "root": place})
    stage = SYSTEM.graph["positions"]
    assert stage.details is not None
    part = stage.details(frames)
    heads, world = forward_kinematics(PARENTS, part("turned"), part("ways").reshape(-1, 3), place[:, :3])
    assert frames["positions"].reshape(-1, 23, 3) == pytest.approx(heads, abs=1e-5)
    return heads, world


def problems(context: np.ndarray, rotations: np.ndarray, contract: Any = CONTRACT) -> list[Any]:
    return list(SYSTEM.data_problems(contract, {"context": context, "rotations": rotations}))


def posed_by_hand(local_rad: np.ndarray, root: np.ndarray, armature: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Blender's definition with 4 x 4 matrices: pose = parent's pose · (parent's rest)⁻¹ · rest · turn."""

    def transform(turn: np.ndarray, place: np.ndarray) -> np.ndarray:
        matrix = np.eye(4)
        matrix[:3, :3], matrix[:3, 3] = turn, place
        return matrix

    rest = [transform(turn, head) for turn, head in zip(ORIENTATIONS, HEADS_M, strict=True)]
    posed: list[np.ndarray] = []
    for bone, parent in enumerate(PARENTS):
        turn = transform(Rotation.from_rotvec(local_rad[bone]).as_matrix(), np.zeros(3))
        above = (
            posed[parent] @ np.linalg.inv(rest[parent]) @ rest[bone]
            if parent >= 0
            else transform(armature @ ORIENTATIONS[bone], root)
        )
        posed.append(above @ turn)
    return np.array([matrix[:3, 3] for matrix in posed]), np.array([matrix[:3, :3] for matrix in posed])


@settings(deadline=None)
@given(local=arrays(np.float64, (23, 3), elements=st.floats(-3.0, 3.0)))
def test_kinematics_are_blenders(local: np.ndarray) -> None:
    """With another attachment to their parents, the bones miss every target."""
    root, armature = np.array([0.3, -1.2, 0.9]), Rotation.from_rotvec([0.2, -0.1, 2.0]).as_matrix()
    found = posed(local, root, armature)
    assert len(found) == 2
    for ours, expected in zip(found, posed_by_hand(local, root, armature), strict=True):
        assert ours[0] == pytest.approx(expected, abs=SIX_DECIMALS)


def test_the_rest_pose_is_the_rest_pose_and_each_bone_lies_along_its_y_axis() -> None:
    """No rotation must give the export's heads and axes; two tables of the same rig, each proves the other."""
    (heads,), (orientations,) = posed(np.zeros((23, 3)), HEADS_M[0])
    assert heads == pytest.approx(HEADS_M, abs=SIX_DECIMALS)
    assert orientations == pytest.approx(ORIENTATIONS, abs=SIX_DECIMALS)
    followed = [child for child, parent in enumerate(PARENTS) if child == parent + 1 and parent >= 0]
    assert len(followed) > 10
    for child in followed:
        along = HEADS_M[child] - HEADS_M[child - 1]
        # Spine2 ends 0.6 mm beside the neck, the others at the next head: 0.6 mm of 15 cm
        assert ORIENTATIONS[child - 1][:, 1] == pytest.approx(along / np.linalg.norm(along), abs=4e-3)
        assert LENGTHS_M[child - 1] == pytest.approx(np.linalg.norm(along), abs=2e-5)
    assert np.linalg.det(ORIENTATIONS) == pytest.approx(np.ones(23), abs=SIX_DECIMALS)


BLENDERS = (
    ((0.46, -0.46, 0.35, 0.04), (0.761613, -2.42664, 1.273916)),
    ((0.41, 1.56, -0.89, 0.93), (1.132238, 2.120458, 0.169915)),
    ((-0.71, -0.78, -0.18, 0.07), (-0.167139, -2.818741, -1.449626)),
    ((0.42, 0.51, 2.23, 0.22), (0.492361, -0.306895, 2.867232)),
    ((-0.29, -1.17, -0.92, 0.31), (-1.317606, -2.588209, -0.053117)),
)
"""Quaternions xyzw, and what `to_euler('XYZ')` of Blender 4.5 says of them."""


@every_case(("quaternion", "angles"), BLENDERS)
def test_of_two_triples_blenders_is_told(quaternion: tuple[float, ...], angles: tuple[float, ...]) -> None:
    """A hand behind the back jumps by half a turn in three numbers that the network sees."""
    triple = EULER["xyz_rad"][1](Rotation.from_quat(quaternion).as_matrix())
    assert TRIPLES["smaller_sum"](triple) == pytest.approx(angles, abs=2e-6)
    assert abs(TRIPLES["middle_within_90_deg"](triple)[1]) <= np.pi / 2


@every_case(("bone", "turn_deg", "moves", "sign"), [
    ("LeftThigh", (40, 0, 0), "LeftShin", 1), ("RightShin", (-60, 0, 0), "RightFoot", -1), ("Spine", (30, 0, 0), "Head", 1),
    ("LeftForeArm", (0, 0, 40), "LeftHand", 1), ("RightForeArm", (0, 0, -40), "RightHand", 1),
])  # fmt: skip
def test_limits_bend_joints_the_way_they_bend(bone: str, turn_deg: tuple[float, ...], moves: str, sign: int) -> None:
    """With the document's limits a knee bends forward: thighs and spine flex forward, knees back, elbows forward."""
    place, local, there = BONES.index(bone), np.zeros((23, 3)), BONES.index(moves)
    local[place] = np.deg2rad(turn_deg)
    low, high = np.moveaxis(LIMITS_RAD[place], -1, 0)
    assert np.all((low - 1e-9 <= local[place]) & (local[place] <= high + 1e-9))
    (heads,), _ = posed(local, HEADS_M[0])
    assert sign * (heads[there, 1] - HEADS_M[there, 1]) > 0.05


def test_the_truth_reaches_its_effectors_whatever_stands_behind_them() -> None:
    """The check that the original lacked: its kinematics missed its own labels by 0.39 m. 21 of 69 outputs move no effector."""
    assert true_run()["effector_error"].max() <= 1e-4
    spoilt = TRUTH.reshape(-1, 23, 3).copy()
    ends = [place for place, bone in enumerate(BONES) if bone.endswith(("Hand", "Foot", "ToeBase", "Head"))]
    assert len(ends) == 7
    spoilt[:, ends] = 0.0
    assert true_run(truth=spoilt.reshape(-1, 69))["effector_error"].max() <= 1e-4


def _single_euler(quaternion: np.ndarray) -> np.ndarray:
    """Euler angles of xyzw quaternions, every operation in float32, the middle one by an arc sine."""
    one, two, half = np.float32(1), np.float32(2), np.float32(np.pi)
    x, y, z, w = np.moveaxis(quaternion.astype(np.float32), -1, 0)
    first = np.arctan2(two * (y * z + x * w), one - two * (x * x + y * y))
    middle = np.arcsin(np.clip(two * (y * w - x * z), -one, one))
    last = np.arctan2(two * (x * y + z * w), one - two * (y * y + z * z))
    turned = [first - np.copysign(half, first), np.copysign(half, middle) - middle, last - np.copysign(half, last)]
    triples = np.stack([first, middle, last], axis=-1), np.stack(turned, axis=-1)
    sums = [np.abs(triple).sum(axis=-1, keepdims=True) for triple in triples]
    return np.where(sums[0] > sums[1], triples[1], triples[0])


def test_angles_in_single_precision_stay_within_their_bound() -> None:
    """Near gimbal lock and at half a turn two right engines differ by a lot: that is not a defect, and half a degree is."""
    random = np.random.default_rng(6)
    angles = random.uniform(-3.1, 3.1, (360, 5, 3))
    angles[..., 1] = random.uniform(-1.5, 1.5, (360, 5))
    angles[:40, :, 0] = np.pi * np.sign(random.normal(size=(40, 5))) + random.normal(0.0, 1e-7, (40, 5))
    angles[40:80, :, 1] = 0.5 * np.pi - 10.0 ** random.uniform(-3.0, -1.0, (40, 5))
    turned = Rotation.from_euler("xyz", angles.reshape(-1, 3)).as_quat().reshape(360, 5, 4).astype(np.float32)
    effectors = CLIP["effectors"].reshape(360, 5, 7).copy()
    effectors[..., 3:] = turned
    given_rows = {**CLIP, "effectors": effectors.reshape(360, 35)}
    ours = declared_runs.recomputed(CONTRACT, "context", given_rows)
    bound = declared_runs.bound_of(CONTRACT, "context", given_rows, ours)[:, :30].reshape(360, 5, 6)[..., 3:]
    difference = np.abs(ours[:, :30].reshape(360, 5, 6)[..., 3:] - _single_euler(turned).astype(float))
    assert np.all(difference <= bound)
    assert np.median(bound) < 3e-5  # 64 operations of 4 rad, over the cosine of a middle angle anywhere
    assert np.mean(bound > np.deg2rad(0.5)) < 0.1  # the rows that were put on the seam, and no more


def test_readings_that_no_published_program_has_are_their_definitions() -> None:
    """The others are compared with the published program; these are rows of a table that nobody else computes."""
    rows = true_run()
    axes = Rotation.from_quat(CLIP["root"][:, 7:].astype(float)).as_matrix() @ ORIENTATIONS[0]
    told = declared_runs.recomputed(CONTRACT, "context", CLIP, root_axes="x_forward_z_up")[:, 30:36]
    assert told == pytest.approx(np.hstack([axes[:, :, 0], axes[:, :, 2]]), abs=1e-4)
    scaled = declared_runs.recomputed(CONTRACT, "model_input", rows, rotation_scale="degrees_over_180")
    assert scaled[:, 3:6] == pytest.approx(np.rad2deg(rows["context"][:, 3:6]) / np.pi, rel=1e-5)
    wide = {"rotations": 3.0 * TRUTH}
    document = json.loads(files(pages).joinpath("blender_ik_rig.json").read_text("utf-8"))["document_limits_rad"]
    low, high = np.moveaxis(np.array(document), -1, 0)
    limited = declared_runs.recomputed(CONTRACT, "limited", wide, limit_set="document")
    assert limited.reshape(-1, 23, 3) == pytest.approx(
        np.clip(wide["rotations"].reshape(-1, 23, 3), low, high), abs=1e-6
    )
    missed = rows["positions"] + np.float32(0.25)
    error = declared_runs.recomputed(CONTRACT, "effector_error", {**rows, "positions": missed}, error_measure="largest")
    assert error == pytest.approx(0.25, abs=2e-4)


# ---- data gate


def _at(rows: np.ndarray, place: Any, value: Any) -> np.ndarray:
    changed = rows.copy()
    changed[place] = value
    return changed


BAD_DATA = {
    "one pose": (lambda c, r: (c[:1].repeat(360, 0), r[:1].repeat(360, 0)), "rotations", "1 different poses in 360 rows"),
    "ten poses": (lambda c, r: (np.tile(c[:100:10], (36, 1)), np.tile(r[:100:10], (36, 1))), "rotations", "10 different poses"),
    "noise": (lambda c, r: (_at(c, np.s_[:, 0:3], c[:, 0:3] + np.float32(0.02)), r), "context/LeftHand_position", ""),
    "labels of the next frame": (lambda c, r: (c, np.roll(r, 1, axis=0)), "context", "m from where"),
    "beyond a limit": (lambda c, r: (c, _at(r, np.s_[5, 48], 1.4)), "rotations/LeftShin[0]", "degrees beyond its limit"),
    "more than half a turn": (lambda c, r: (c, _at(r, np.s_[5, 0:3], [3.5, 0, 0])), "rotations/Hips", "an angle of 201"),
    "a joint that never moves": (lambda c, r: (c, _at(r, np.s_[:, 3], 0.0)), "rotations", "1 components that never move"),
    "an input that never changes": (lambda c, r: (_at(c, np.s_[:, 48], 0.0), r), "context", "1 inputs that never change"),
    "a phase in frames": (lambda c, r: (_at(c, np.s_[:, 48], c[:, 48] * 60), r), "context/phase", "0 to 59"),
    "a task one-hot": (lambda c, r: (_at(c, np.s_[3, 49], 0.5), r), "context/task", "0.5"),
    "a row lost": (lambda c, r: (c, r[1:]), "rotations", "359 rows"),
}  # fmt: skip


@every_case("name", BAD_DATA)
def test_bad_data_are_refused_and_good_data_pass(name: str) -> None:
    """The original trained on a single pose; its losses meant nothing."""
    make, place, words = BAD_DATA[name]
    context = true_run()["context"]
    found = problems(*make(context, TRUTH))
    assert any(each.pointer.startswith(place) and words in each.found for each in found), found
    assert problems(context, TRUTH) == []


DECLARED: tuple[dict[str, str], ...] = (
    {"root_relative": "out_of_hips_axes"},
    {"root_frame": "posed_hips"},
    {"root_frame": "posed_hips", "root_relative": "out_of_hips_axes"},
    {"root_frame": "armature"},
    {"root_relative": "translation_only"},
    {"root_axes": "z_forward_y_up", "root_relative": "translation_only"},
    {"effector_point": "tail"},
    {"effector_order": "right_before_left"},
)


@every_case("declared", DECLARED)
def test_the_gate_judges_data_under_the_declared_conventions(declared: dict[str, str]) -> None:
    """Published data turn positions the other way: a gate that alarms on what the contract declares is switched off."""
    contract = CONTRACT.with_conventions(declared)
    context = true_run(contract)["context"]
    assert problems(context, TRUTH, contract) == []
    (found,) = (problem.pointer for problem in problems(context, TRUTH))
    assert found.startswith("context/")
    assert found.endswith("_position")


@every_case("changes", [
    {"rotation_scale": "none", "height_scale": "none", "phase_unit": "radians", "task_scale": "fifth"},
    {"normalisation": "missing"},
])  # fmt: skip
def test_scaled_inputs_are_read_back_under_the_declared_conventions(changes: dict[str, str]) -> None:
    """An angle that was never divided by pi is an angle, not three times one."""
    contract = CONTRACT.with_conventions(changes)
    rows, undone = true_run(contract), SYSTEM.graph["model_input"].undone
    assert undone is not None
    found = undone(stages_from(contract, {"model_input": rows["model_input"]}))
    assert found == pytest.approx(rows["context"], abs=1e-5)
