"""NeuraRig's stages against scipy, the contract's refusals, and what a wrong copy of the packet does."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file
from scipy.spatial.transform import Rotation

from rigpact.contract import ContractRefused
from rigpact.contract.contract_files import contract_in_memory, contract_to_bytes, contract_to_json, open_contract
from rigpact.contract.pages.registry import find_system
from rigpact.reference_runtime.vocabulary.limbs.received import first_bytes
from rigpact.training.neurarig.poses import random_rows, rotator_deg_to_quaternion
from rigpact.training.neurarig.walk import walk_rows

from . import declared_runs
from .declared_runs import Rows
from .system_rule_cases import SYSTEM_CASES, Sample

BUNDLE = Path(__file__).parents[2] / "fixtures" / "bundles" / "neurarig"
SYSTEM = find_system("neurarig")
CONTRACT = contract_in_memory(SYSTEM, SYSTEM.template())
FRAME = SYSTEM.vectors["packet"]
FEMUR_CM, TIBIA_CM = {"r": 45.751953, "l": 45.752106}, {"r": 41.705513, "l": 41.705494}


def run(seed: int, count: int = 40, **changes: str) -> Rows:
    """Every stage on random poses, the right foot in the air in every second one, and random raw answers."""
    raw = np.random.default_rng(seed + 100).normal(0.0, 3.0, (count, 24)).astype(np.float32)
    poses = random_rows(seed, count)
    poses[::2, FRAME["has_hit_r"].start] = 0.0
    given_rows = {"engine_pose": poses, "raw_rotations": raw}
    return declared_runs.run(CONTRACT, given_rows, **changes)


def part(rows: np.ndarray, name: str) -> np.ndarray:
    """A field of the 63 numbers, float64."""
    return rows[:, FRAME[name].range].astype(np.float64)


def test_generated_targets_are_within_reach() -> None:
    """A target beyond 87.5 cm teaches the network to stretch."""
    known = run(5, 400)
    for side in "rl":
        hip, target = part(known["packet"], f"thigh_{side}_pos"), part(known["packet"], f"foot_{side}_target")
        assert np.linalg.norm(target - hip, axis=1).max() < FEMUR_CM[side] + TIBIA_CM[side] + 1e-3


def test_the_rotator_is_unreals() -> None:
    """The right-handed formula under the name FromUnreal puts one rotator 105.7 degrees from where it is."""
    ours = rotator_deg_to_quaternion(np.array([20.0, 35.0, -50.0]))
    mirrored = ours * (-1.0, -1.0, 1.0, 1.0)
    yaw_only = rotator_deg_to_quaternion(np.array([0.0, 90.0, 0.0]))
    apart = (Rotation.from_quat(ours).inv() * Rotation.from_quat(mirrored)).magnitude()

    assert np.degrees(apart) == pytest.approx(105.7, abs=0.05)
    np.testing.assert_allclose(Rotation.from_quat(yaw_only).apply([1.0, 0.0, 0.0]), [0.0, 1.0, 0.0], atol=1e-12)


def test_63_bytes_are_not_63_floats() -> None:
    """15 floats and three quarters of one arrive; the rest is zero, and so is the loss."""
    rows = random_rows(6, 3)
    copied = first_bytes(rows, 63)

    np.testing.assert_array_equal(copied[:, :15], rows[:, :15])
    assert not copied[:, 16:].any()
    assert first_bytes(rows, 252).tolist() == rows.tolist()


def test_an_answer_of_zeros_is_no_rotation_and_no_nan() -> None:
    """Dividing by its length makes a NaN that spreads down the leg."""
    known = {**run(8, 2), "raw_rotations": np.zeros((2, 24), np.float32)}
    unit = declared_runs.recomputed(CONTRACT, "rotations", known)

    np.testing.assert_array_equal(unit.reshape(-1, 4), np.tile([0.0, 0.0, 0.0, 1.0], (12, 1)))


def test_the_older_order_of_the_same_63_floats_is_refused(tmp_path: Path) -> None:
    """Both are 253 bytes: a target read as a normal, a flag as a height, and every check of sizes content."""
    sample = Sample(tmp_path)
    next(case for case in SYSTEM_CASES if case.code == "RP702").edit(sample)
    path = tmp_path / "older.json"
    path.write_text(json.dumps(sample.document), encoding="utf-8")

    with pytest.raises(ContractRefused) as refused:
        open_contract(path)

    assert "RP702" in refused.value.found
    assert "foot_r_target" in refused.value.found


def test_the_committed_files_are_what_the_builder_writes() -> None:
    """A definition that moved without its committed contract makes every example in the documents wrong."""
    committed = BUNDLE / "neurarig.json"
    built = contract_to_json(SYSTEM, SYSTEM.template())
    del built["vectors"]["engine_pose_next"]  # the file is older than this stage, and need not list it

    assert committed.read_bytes() == contract_to_bytes(built)
    np.testing.assert_allclose(load_file(BUNDLE / "clip.trace.safetensors")["engine_pose"], walk_rows(), atol=1e-5)
    assert sum(path.stat().st_size for path in BUNDLE.iterdir()) < 2_000_000


def test_every_knob_says_what_it_decides_and_every_value_has_a_hint() -> None:
    """A named cause without a hint does not help an engineer."""
    declared_runs.assert_every_value_has_its_hint(SYSTEM)


def test_a_file_need_not_list_what_only_goes_into_the_next_frame() -> None:
    """Files that were exported before a system fed itself go on loading; the stage has the fields of the one it goes into."""
    contract = open_contract(BUNDLE / "neurarig.json")

    assert "engine_pose_next" not in contract.vectors
    assert contract.fields("engine_pose_next") == contract.fields("engine_pose")


@pytest.mark.parametrize(
    ("name", "value", "pointer"),
    [
        ("bones", ["calf_l", "thigh_l", "thigh_r", "calf_r"], "/bones"),
        ("tibia_cm", [45.0, float("inf")], "/tibia_cm"),
        ("bone_axes", [[-2.0, 0.0, 0.0], [1.0, 0.0, 0.0]], "/bone_axes"),
        ("bone_axes", [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]], "/bone_axes"),
        ("position_scale", 0.0, "/position_scale"),
        ("femur_cm", "45", "/femur_cm"),
    ],
)
def test_constants_of_another_rig_are_found(name: str, value: Any, pointer: str) -> None:
    """Each file loads: a rotation would turn the bone beside, a leg would be longer, or the left one point up."""
    sound = SYSTEM.template()
    assert list(SYSTEM.problems_of(sound)) == []
    assert pointer in [problem.pointer for problem in SYSTEM.problems_of({**sound, name: value})]
