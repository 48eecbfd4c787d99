"""The contracts of hosted systems: where each number stands, what contradicts a rig, and files that mean something else."""

import json
import math
from collections.abc import Callable
from copy import deepcopy
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from rigpact.contract import ContractRefused
from rigpact.contract.contract_files import contract_to_bytes, contract_to_json, open_contract
from rigpact.contract.pages.registry import find_system
from rigpact.contract.systems.layout import json_to_fields
from rigpact.training.blender_ik_losses import LAYER_WIDTHS
from rigpact.training.imu_motion import EXERCISES, FORMS, JOINTS
from rigpact.training.neurarig import walk_rows

from ..every_case import every_case
from .declared_runs import BUNDLES, SYSTEMS, scene

TEMPLATES: dict[str, dict[str, Any]] = {
    name: json.loads(json.dumps(dict(find_system(name).template()))) for name in SYSTEMS
}
IK, RIG = (find_system(name).vectors for name in ("blender_ik", "rig_inversion"))


def test_every_number_stands_where_the_documents_put_it() -> None:
    """Numbers in another order pass every check of a width."""
    layout = IK["context"]
    for place, effector in enumerate(("LeftHand", "RightHand", "LeftFoot", "RightFoot", "Head")):
        starts = layout[f"{effector}_position"].start, layout[f"{effector}_rotation"].start
        assert starts == (6 * place, 6 * place + 3)
    starts = {"root_forward": 30, "root_up": 33, "LeftFoot_height": 36, "LeftFoot_ground_normal": 37}
    starts |= {"LeftFoot_grounded": 40, "LeftFoot_desired_contact": 41, "RightFoot_height": 42, "phase": 48, "task": 49}
    assert {name: layout[name].start for name in starts} == starts
    assert (layout.width, IK["rotations"].width) == (50, 69) == (LAYER_WIDTHS[0], LAYER_WIDTHS[-1])
    assert sum(i * o + o for i, o in pairwise(LAYER_WIDTHS)) == 25_605
    names = ["rotate_x", "rotate_y", "rotate_z", "scale_x", "scale_y", "scale_z"]
    assert [(each.name, each.low, each.high) for each in RIG["rig_parameters"]] == [(name, 0.0, 1.0) for name in names]
    assert [(field.start, field.size) for field in RIG["mesh"]] == [(3 * v, 3) for v in range(8)]
    imu = find_system("imu_pose")
    assert [field.name for field in imu.vectors["exercise_logits"]] == list(EXERCISES)
    assert [field.name for field in imu.vectors["form_logits"]] == list(FORMS)
    assert imu.vectors["head"].width == 102
    orders = {word: [first // 3 for first in each[::3]] for word, each in imu.knobs["joint_order"].effects.items()}
    swapped = orders["left_right_swapped"]
    assert [JOINTS[place] for place in swapped[:5]] == ["pelvis", "spine", "head", "shoulder_r", "shoulder_l"]
    for order in (swapped, orders["constraint_loss"]):
        assert sorted(order) == list(range(17))


def changed(system: str, *path: Any, to: Any) -> dict[str, Any]:
    """A template with another value at one place."""
    constants = deepcopy(TEMPLATES[system])
    node: Any = constants
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = to
    return constants


TURNED = np.swapaxes(np.array(TEMPLATES["blender_ik"]["rest_orientations"]), 1, 2).tolist()
MIRROR = np.diag([-1.0, 1.0, 1.0]).tolist()
CONTRADICTIONS: tuple[tuple[str, tuple[Any, ...], Any, str], ...] = (
    ("blender_ik", ("parents", 1), 5, "/parents/1"),
    ("blender_ik", ("parents", 9), 7, "/parents/9"),
    ("blender_ik", ("bones", 0), "Pelvis", "/bones"),
    ("blender_ik", ("bones", 13), 5, "/bones"),
    ("blender_ik", ("effectors", 0), "RightHand", "/effectors"),
    ("blender_ik", ("rest_orientations", 8, 0, 0), 2.0, "/rest_orientations/8"),
    ("blender_ik", ("rest_orientations", 15), MIRROR, "/rest_orientations/15"),
    ("blender_ik", ("rest_orientations",), TURNED, "/rest_orientations/15"),
    ("blender_ik", ("rest_orientations",), [np.eye(3).tolist()] * 23, "/rest_orientations/0"),
    ("blender_ik", ("limits_rad", 16, 0), [0.2, -2.6], "/limits_rad/16/0"),
    ("blender_ik", ("limits_rad", 16, 0), [0.2, 2.6], "/limits_rad/16/0"),
    ("blender_ik", ("rotation_scale",), 180.0, "/rotation_scale"),
    ("blender_ik", ("height_scale",), 1.0, "/height_scale"),
    ("blender_ik", ("rest_heads_m",), [], "/rest_heads_m"),
    ("rig_inversion", ("vertices", 7), [1.0, 1.0, 1.0], "/vertices/7"),
    ("rig_inversion", ("vertices", 2), [1.0, 1.0, 1.0], "/vertices/2"),
    ("rig_inversion", ("vertices",), "cube", "/vertices"),
    ("rig_inversion", ("duplicate_vertices",), [], "/duplicate_vertices"),
    ("rig_inversion", ("angle_range_deg",), 45.0, "/angle_range_deg"),
    ("rig_inversion", ("scale_range",), [0.0, 2.5], "/scale_range/1"),
    ("rig_inversion", ("neutral_parameters",), [0.0] * 6, "/neutral_parameters/0"),
    ("rig_inversion", ("neutral_parameters", 4), 0.5, "/neutral_parameters/4"),
    ("rig_inversion", ("neutral_parameters",), [0.5] * 5, "/neutral_parameters"),
    ("rig_inversion", ("decoder_widths",), [24, 512, 6], "/decoder_widths"),
    ("rig_inversion", ("encoder_widths",), [], "/encoder_widths"),
    ("neurarig", ("bones",), ["calf_l", "thigh_l", "thigh_r", "calf_r"], "/bones"),
    ("neurarig", ("bones",), None, "/bones"),
    ("neurarig", ("bones",), 0.5, "/bones"),
    ("neurarig", ("tibia_cm",), [45.0, math.inf], "/tibia_cm"),
    ("neurarig", ("bone_axes",), [[-2.0, 0.0, 0.0], [1.0, 0.0, 0.0]], "/bone_axes"),
    ("neurarig", ("bone_axes",), [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]], "/bone_axes"),
    ("neurarig", ("position_scale",), 0.0, "/position_scale"),
    ("neurarig", ("femur_cm",), "45", "/femur_cm"),
    *(("imu_pose", ("temperature",), bad, "/temperature") for bad in (0.0, -1.0, math.inf, "0.4", None, True)),
)


@every_case(("system", "path", "value", "pointer"), CONTRADICTIONS)
def test_a_contradiction_in_the_constants_is_found(
    system: str, path: tuple[Any, ...], value: Any, pointer: str
) -> None:
    """Each of these exports, loads and moves the character, but wrongly: another rig, half a range, an exact pose claimed."""
    assert list(find_system(system).problems_of(deepcopy(TEMPLATES[system]))) == []
    found = [problem.pointer for problem in find_system(system).problems_of(changed(system, *path, to=value))]
    assert pointer in found, found


NAMES = [(system, name) for system in ("blender_ik", "rig_inversion") for name in TEMPLATES[system]]


@every_case(
    ("name", "junk"), [(name, junk) for name in NAMES for junk in (None, 5, "x", [], {}, [[]], [None], [["x"]], True)]
)
def test_junk_in_a_constant_is_a_problem_and_no_crash(name: tuple[str, str], junk: Any) -> None:
    """If an exporter writes null, the check must report it with its place."""
    assert list(find_system(name[0]).problems_of(changed(*name, to=junk)))


def _swap(names: tuple[str, str], fields: list[dict[str, Any]]) -> None:
    first, second = (next(field for field in fields if field["name"] == name) for name in names)
    first["start"], second["start"] = second["start"], first["start"]
    fields.sort(key=lambda field: field["start"])


MEANINGS: tuple[tuple[str, Callable[[list[dict[str, Any]]], Any]], ...] = (
    ("imu", lambda fields: _swap(("acceleration", "angular_rate"), fields)),
    ("pose", lambda fields: _swap(("knee_l", "knee_r"), fields)),
    ("head", lambda fields: _swap(("pelvis_x_mean", "pelvis_x_log_variance"), fields)),
    ("imu", lambda fields: fields[1].update(unit="deg/s")),
    ("pose", lambda fields: [field.update(space="world, y up") for field in fields]),
)


@every_case(("vector", "change"), MEANINGS, ids=lambda each: str(each)[:5])
@every_case("with_new_hash", [False, True])
def test_the_same_width_with_another_meaning_is_refused(
    tmp_path: Path, vector: str, change: Callable[[list[dict[str, Any]]], Any], *, with_new_hash: bool
) -> None:
    """Every size check passes: only the layout's hash tells the two apart, whether or not the exporter kept it true."""
    document = json.loads((BUNDLES / "imu_pose" / "imu_pose.json").read_text(encoding="utf-8"))
    entry = document["vectors"][vector]
    before = json_to_fields(entry["fields"])
    change(entry["fields"])
    after = json_to_fields(entry["fields"])
    assert (before.width == after.width, before.layout_hash == after.layout_hash) == (True, False)
    entry["layout_hash"] = after.layout_hash if with_new_hash else entry["layout_hash"]
    (tmp_path / "imu_pose.json").write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(ContractRefused):
        open_contract(tmp_path / "imu_pose.json")


def test_the_committed_files_of_neurarig_are_what_the_builder_writes() -> None:
    """A file need not list what only goes into the next frame: those exported before a system fed itself go on loading."""
    system, folder = find_system("neurarig"), BUNDLES / "neurarig"
    built = contract_to_json(system, system.template())
    del built["vectors"]["engine_pose_next"]
    assert (folder / "neurarig.json").read_bytes() == contract_to_bytes(built)
    np.testing.assert_allclose(load_file(folder / "clip.trace.safetensors")["engine_pose"], walk_rows(), atol=1e-5)
    contract = scene("neurarig").contract
    assert "engine_pose_next" not in contract.vectors
    assert contract.fields("engine_pose_next") == contract.fields("engine_pose")
