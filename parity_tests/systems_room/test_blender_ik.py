"""Blender IK: its contract, its runtime stage by stage, and the committed files."""

from copy import deepcopy
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from safetensors.numpy import load_file
from scipy.spatial.transform import Rotation

from rigpact.contract.systems.layout import FieldLayout
from rigpact.reference_runtime.graph.run import stages_from
from rigpact.training.blender_ik.facts import LAYER_WIDTHS, PARAMETER_COUNT

from ..every_case import every_case
from . import declared_runs
from .blender_ik_by_hand import (
    BONES,
    CONSTANTS,
    CONTRACT,
    SYSTEM,
    data_problems,
)


@pytest.fixture(scope="module")
def bundle(checkout: Path) -> Path:
    """The committed files."""
    return checkout / "fixtures" / "bundles" / "blender_ik"


@pytest.fixture(scope="module")
def clip(bundle: Path) -> dict[str, np.ndarray]:
    """The engine's inputs, by name."""
    return load_file(bundle / "clip.trace.safetensors")


@pytest.fixture(scope="module")
def truth(bundle: Path) -> np.ndarray:
    """The true rotation vectors of the clip."""
    return load_file(bundle / "labels.trace.safetensors")["rotations"]


@pytest.fixture(scope="module")
def true_run(clip: dict[str, np.ndarray], truth: np.ndarray) -> dict[str, np.ndarray]:
    """The runtime with the truth in place of a network."""
    return declared_runs.run(CONTRACT, clip, lambda _inputs: [truth])


# ---- contract


def test_the_fifty_inputs_stand_where_the_document_puts_them() -> None:
    """Fifty numbers in another order pass every check of a width."""
    layout = SYSTEM.vectors["context"]
    for place, effector in enumerate(("LeftHand", "RightHand", "LeftFoot", "RightFoot", "Head")):
        assert (layout[f"{effector}_position"].start, layout[f"{effector}_rotation"].start) == (
            6 * place,
            6 * place + 3,
        )
    starts = {"root_forward": 30, "root_up": 33, "LeftFoot_height": 36, "LeftFoot_ground_normal": 37}
    starts |= {"LeftFoot_grounded": 40, "LeftFoot_desired_contact": 41, "RightFoot_height": 42, "phase": 48, "task": 49}
    assert {name: layout[name].start for name in starts} == starts
    assert (layout.width, SYSTEM.vectors["rotations"].width) == (50, 69) == (LAYER_WIDTHS[0], LAYER_WIDTHS[-1])


def test_the_parameters_are_counted_not_quoted() -> None:
    """The document gives about 23,000, the number of another network."""
    pairs = list(pairwise(LAYER_WIDTHS))
    assert sum(i * o + o for i, o in pairs) == PARAMETER_COUNT == 25_605
    assert sum(i * o for i, o in pairs) == 25_312


def test_two_layouts_of_one_width_have_two_hashes() -> None:
    """Hands and feet exchanged: the same fifty numbers, another meaning."""
    fields = list(SYSTEM.vectors["context"])
    fields[0], fields[2] = fields[2], fields[0]
    assert FieldLayout(tuple(fields)).layout_hash != SYSTEM.vectors["context"].layout_hash


def test_the_declared_constants_are_without_problems() -> None:
    """Users ignore a check that reports problems in its own contract."""
    assert list(SYSTEM.problems_of(orjson.loads(orjson.dumps(CONSTANTS)))) == []


def _changed(*path: Any, to: Any) -> dict[str, Any]:
    constants: Any = deepcopy(CONSTANTS)
    node = constants
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = to
    return constants


def _transposed() -> dict[str, Any]:
    turns = np.array(CONSTANTS["rest_orientations"])
    return _changed("rest_orientations", to=np.swapaxes(turns, 1, 2).tolist())


@every_case(("constants", "pointer"), [
    (_changed("parents", 1, to=5), "/parents/1"),
    (_changed("parents", 9, to=7), "/parents/9"),
    (_changed("bones", 0, to="Pelvis"), "/bones"),
    (_changed("effectors", 0, to="RightHand"), "/effectors"),
    (_changed("rest_orientations", 8, 0, 0, to=2.0), "/rest_orientations/8"),
    (_changed("rest_orientations", 15, to=np.diag([-1.0, 1.0, 1.0]).tolist()), "/rest_orientations/15"),
    (_transposed(), "/rest_orientations/15"),
    (_changed("rest_orientations", to=[np.eye(3).tolist()] * 23), "/rest_orientations/0"),
    (_changed("limits_rad", 16, 0, to=[0.2, -2.6]), "/limits_rad/16/0"),
    (_changed("limits_rad", 16, 0, to=[0.2, 2.6]), "/limits_rad/16/0"),
    (_changed("rotation_scale", to=180.0), "/rotation_scale"),
    (_changed("height_scale", to=1.0), "/height_scale"),
    (_changed("rest_heads_m", to=[]), "/rest_heads_m"),
])  # fmt: skip
def test_a_contradiction_in_the_constants_is_found(constants: dict[str, Any], pointer: str) -> None:
    """Each of these exports, loads and moves the character, but wrongly."""
    assert pointer in [problem.pointer for problem in SYSTEM.problems_of(constants)]


def test_a_parent_that_comes_later_is_told_from_another_parent() -> None:
    """The one cannot be computed, the other is another rig: who repairs them looks for different mistakes."""
    later = next(SYSTEM.problems_of(_changed("parents", 1, to=5)))
    other = next(SYSTEM.problems_of(_changed("parents", 9, to=7)))
    assert later.expected == "a bone before 1"
    assert other.expected == "8 (LeftArm)"


@every_case("junk", [None, 5, "x", [], {}, [[]], [None], [["x"]], True], ids=repr)
@every_case("name", CONSTANTS)
def test_junk_in_a_constant_is_a_problem_and_no_crash(name: str, junk: Any) -> None:
    """If an exporter writes null, the check must report it with its place."""
    assert list(SYSTEM.problems_of(_changed(name, to=junk)))


# ---- runtime


def test_the_truth_reaches_its_effectors(true_run: dict[str, np.ndarray]) -> None:
    """The check that the original lacked: its kinematics missed its own labels by 0.39 m."""
    assert true_run["effector_error"].max() <= 1e-4


def unscaled(rows: np.ndarray, contract: Any) -> np.ndarray:
    """The context of scaled inputs, as the gate of data reads them."""
    undone = SYSTEM.graph["model_input"].undone
    assert undone is not None
    return undone(stages_from(contract, {"model_input": rows}))


def test_bones_behind_the_effectors_cannot_move_them(clip: dict[str, np.ndarray], truth: np.ndarray) -> None:
    """21 of 69 outputs have no effector gradient: only the pose loss teaches head, hands, feet and toes."""
    spoilt = truth.reshape(-1, 23, 3).copy()
    ends = [place for place, bone in enumerate(BONES) if bone.endswith(("Hand", "Foot", "ToeBase", "Head"))]
    assert len(ends) == 7
    spoilt[:, ends] = 0.0
    run = declared_runs.run(CONTRACT, clip, lambda _inputs: [spoilt.reshape(-1, 69)])
    assert run["effector_error"].max() <= 1e-4


def test_every_knob_has_a_stage_and_every_value_a_hint() -> None:
    """A named cause without a hint does not help an engineer."""
    declared_runs.assert_every_value_has_its_hint(SYSTEM)


def _single_euler(quaternion: np.ndarray) -> np.ndarray:
    """Euler angles of xyzw quaternions, every operation in float32, the middle one by an arc sine."""
    one, two = np.float32(1), np.float32(2)
    x, y, z, w = np.moveaxis(quaternion.astype(np.float32), -1, 0)
    first = np.arctan2(two * (y * z + x * w), one - two * (x * x + y * y))
    middle = np.arcsin(np.clip(two * (y * w - x * z), -one, one))
    last = np.arctan2(two * (x * y + z * w), one - two * (y * y + z * z))
    half = np.float32(np.pi)
    one_triple = np.stack([first, middle, last], axis=-1)
    other = np.stack(
        [first - np.copysign(half, first), np.copysign(half, middle) - middle, last - np.copysign(half, last)], axis=-1
    )
    sums = [np.abs(triple).sum(axis=-1, keepdims=True) for triple in (one_triple, other)]
    return np.where(sums[0] > sums[1], other, one_triple)


def test_angles_in_single_precision_stay_within_their_bound(clip: dict[str, np.ndarray]) -> None:
    """Near gimbal lock and at half a turn two right engines differ by a lot: that is not a defect, and half a degree is."""
    random = np.random.default_rng(6)
    angles = random.uniform(-3.1, 3.1, (360, 5, 3))
    angles[..., 1] = random.uniform(-1.5, 1.5, (360, 5))
    angles[:40, :, 0] = np.pi * np.sign(random.normal(size=(40, 5))) + random.normal(0.0, 1e-7, (40, 5))
    angles[40:80, :, 1] = 0.5 * np.pi - 10.0 ** random.uniform(-3.0, -1.0, (40, 5))
    turned = Rotation.from_euler("xyz", angles.reshape(-1, 3)).as_quat().reshape(360, 5, 4).astype(np.float32)
    effectors = clip["effectors"].reshape(360, 5, 7).copy()
    effectors[..., 3:] = turned
    given = {**clip, "effectors": effectors.reshape(360, 35)}
    ours = declared_runs.recomputed(CONTRACT, "context", given)
    bound = declared_runs.bound_of(CONTRACT, "context", given, ours)[:, :30].reshape(360, 5, 6)[..., 3:]
    difference = np.abs(ours[:, :30].reshape(360, 5, 6)[..., 3:] - _single_euler(turned).astype(float))
    assert np.all(difference <= bound)
    assert np.median(bound) < 3e-5  # 64 operations of 4 rad, over the cosine of a middle angle anywhere
    assert np.mean(bound > np.deg2rad(0.5)) < 0.1  # the rows that were put on the seam, and no more


# ---- data gate


@pytest.fixture(scope="module")
def data(true_run: dict[str, np.ndarray], truth: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Contexts and labels that nothing is wrong with."""
    return true_run["context"], truth


def test_good_data_pass_the_gate(data: tuple[np.ndarray, np.ndarray]) -> None:
    """Users switch off a gate that refuses good data."""
    context, rotations = data
    assert data_problems(context, rotations) == []


def _one_pose(context: np.ndarray, rotations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.repeat(context[:1], len(context), axis=0), np.repeat(rotations[:1], len(rotations), axis=0)


def _at(rows: np.ndarray, place: Any, value: Any) -> np.ndarray:
    changed = rows.copy()
    changed[place] = value
    return changed


BAD_DATA = {
    "one pose": (_one_pose, "rotations", "1 different poses in 360 rows"),
    "ten poses, again and again": (
        lambda c, r: (np.tile(c[:100:10], (36, 1)), np.tile(r[:100:10], (36, 1))), "rotations", "10 different poses",
    ),
    "noise on the effectors alone": (
        lambda c, r: (_at(c, np.s_[:, 0:3], c[:, 0:3] + np.float32(0.02)), r), "context/LeftHand_position", "m from where",
    ),
    "labels of the next frame": (lambda c, r: (c, np.roll(r, 1, axis=0)), "context", "m from where"),
    "beyond a limit": (lambda c, r: (c, _at(r, np.s_[5, 48], 1.4)), "rotations/LeftShin[0]", "degrees beyond its limit"),
    "more than half a turn": (lambda c, r: (c, _at(r, np.s_[5, 0:3], [3.5, 0, 0])), "rotations/Hips", "an angle of 201"),
    "a joint that never moves": (lambda c, r: (c, _at(r, np.s_[:, 3], 0.0)), "rotations", "1 components that never move"),
    "an input that never changes": (lambda c, r: (_at(c, np.s_[:, 48], 0.0), r), "context", "1 inputs that never change"),
    "a phase in frames": (lambda c, r: (_at(c, np.s_[:, 48], c[:, 48] * 60), r), "context/phase", "0 to 59"),
    "a task one-hot": (lambda c, r: (_at(c, np.s_[3, 49], 0.5), r), "context/task", "0.5"),
    "a row lost": (lambda c, r: (c, r[1:]), "rotations", "359 rows"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_DATA)
def test_bad_data_are_refused(data: tuple[np.ndarray, np.ndarray], name: str) -> None:
    """The original trained on a single pose; its losses meant nothing."""
    make, place, words = BAD_DATA[name]
    problems = data_problems(*make(*data))
    assert any(problem.pointer.startswith(place) and words in problem.found for problem in problems), problems


DECLARED: dict[str, dict[str, str]] = {
    "as the published data": {"root_relative": "out_of_hips_axes"},
    "posed hips": {"root_frame": "posed_hips"},
    "posed hips, as the published data": {"root_frame": "posed_hips", "root_relative": "out_of_hips_axes"},
    "the armature's axes": {"root_frame": "armature"},
    "not turned": {"root_relative": "translation_only"},
    "other axes": {"root_axes": "z_forward_y_up", "root_relative": "translation_only"},
    "tails": {"effector_point": "tail"},
    "right before left": {"effector_order": "right_before_left"},
}


@pytest.mark.parametrize("name", DECLARED)
def test_the_gate_judges_data_under_the_declared_conventions(
    clip: dict[str, np.ndarray], truth: np.ndarray, name: str
) -> None:
    """Published data turn positions the other way: a gate that alarms on what the contract declares is switched off."""
    contract = CONTRACT.with_conventions(DECLARED[name])
    context = declared_runs.run(contract, clip, lambda _inputs: [truth])["context"]
    assert data_problems(context, truth, contract) == []
    found = [problem.pointer for problem in data_problems(context, truth)]
    assert found == ["context/" + found[0].split("/")[1]]
    assert found[0].endswith("_position")


def test_scaled_inputs_are_read_back_under_the_declared_conventions(
    clip: dict[str, np.ndarray], truth: np.ndarray
) -> None:
    """An angle that was never divided by pi is an angle, not three times one."""
    declared = {"rotation_scale": "none", "height_scale": "none", "phase_unit": "radians", "task_scale": "fifth"}
    for changes in (declared, {"normalisation": "missing"}):
        contract = CONTRACT.with_conventions(changes)
        run = declared_runs.run(contract, clip, lambda _inputs: [truth])
        assert unscaled(run["model_input"], contract) == pytest.approx(run["context"], abs=1e-5)


def test_a_bone_whose_name_is_a_number_is_a_problem_of_the_file() -> None:
    """A name is looked for among others by its letters: a number was an internal error."""
    bones = [*CONSTANTS["bones"]]
    bones[13] = 5
    assert [problem.pointer for problem in SYSTEM.problems_of({**CONSTANTS, "bones": bones})] == ["/bones"]
