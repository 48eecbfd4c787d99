"""Each format that `rigpact init --from` reads, and the traps of each, on small files written by hand."""

import re
import shlex
from typing import Any

import numpy as np
import yaml
from safetensors.numpy import save_file

from rigpact.contract.contract_files import open_contract
from rigpact.reference_runtime.graph.run import stages_from
from rigpact.reference_runtime.recordings.opened import labelled_vectors, open_file
from rigpact.reports.importing.deployed import TABLES

from ..every_case import every_case
from .foreign_files import (
    DEPLOY,
    DESCRIPTOR,
    METADATA,
    OBSERVED,
    changed,
    imported,
    robot_recording,
    write_model,
    write_yaml,
)
from .samples_of_files import sample

NAMES = "left_hip_joint,right_hip_joint,left_knee_joint,right_knee_joint"


def _deployed(command, folder, change):
    """The contract of DEPLOY, with a recording that an engine could have made, and what `explain` says of both."""
    model, engine = write_model(folder / "policy.onnx", OBSERVED, 4), folder / "engine.safetensors"
    save_file(change(robot_recording(model)), engine)
    root = imported(command, write_yaml(folder / "deploy.yaml", DEPLOY), "--onnx", model, "--recording", engine)
    return root, command("explain", engine, "--contract", folder / "contract.toml")


def test_a_deploy_file_agrees_with_a_loop_written_by_hand(tmp_path, command):
    """Clip before scale, terms one after the other, the raw action, the map of the motors: each wrong reading shows here."""
    root, answer = _deployed(command, tmp_path, lambda rows: rows)
    assert (answer.status, "AGREES" in answer.out) == (0, True), answer.out
    assert root["recordings"] == {"imu_quat": "imu_quat_wxyz", "q": "q_sdk", "dq": "dq_sdk"}
    assert root["given"]["imu_quat"]["kind"] == "quaternion_wxyz"


def test_columns_are_told_apart_by_their_numbers(tmp_path, command):
    """Names say nothing where an engine calls its columns a and b; what the network was fed says it."""
    root, answer = _deployed(
        command, tmp_path, lambda rows: {"a": rows.pop("dq_sdk"), "b": rows.pop("q_sdk"), "c": rows.pop("gyro"), **rows}
    )
    assert {vector: root["recordings"][vector] for vector in ("q", "dq", "gyro")} == {"q": "b", "dq": "a", "gyro": "c"}
    assert answer.status == 0, answer.out


def test_a_column_with_the_name_of_another_vector_keeps_its_own(tmp_path, command):
    """Unitree's runtime calls the term before its scale base_ang_vel: read as the scaled one, a right engine is blamed."""
    signs = np.array([1, -1, -1], "f")
    root, answer = _deployed(
        command,
        tmp_path,
        lambda rows: {**rows, "base_ang_vel": rows["gyro"].copy(), "command": rows.pop("sticks") * signs},
    )
    assert answer.status == 0, answer.out
    assert "base_ang_vel_scaled" in root["stages"]["obs"]["of"]
    assert root["recordings"]["stick_velocities"] == "command"


def test_a_column_that_fits_two_vectors_fits_none(tmp_path, command):
    """A guess between two of one width is a coin toss, and the diagnosis blames the engine for it."""
    rows = robot_recording(write_model(tmp_path / "policy.onnx", OBSERVED, 4))
    del rows["obs"]  # its numbers would tell them apart
    save_file({"q_a": rows.pop("q_sdk"), "q_b": rows.pop("dq_sdk"), **rows}, tmp_path / "run.safetensors")
    source = write_yaml(tmp_path / "deploy.yaml", DEPLOY)
    root = imported(command, source, "--recording", tmp_path / "run.safetensors")
    assert not {"q", "dq"} & root.get("recordings", {}).keys()
    assert "Columns that belong to no vector here: q_a (4), q_b (4)." in root["text"]


def test_numbered_columns_follow_their_numbers(tmp_path):
    """An array for each joint: a file of arrays keeps them in no order, and x[10] stands before x[2] by name."""
    wide = {f"x[{place}]": np.full(3, place, "f") for place in reversed(range(12))}
    save_file(wide, tmp_path / "engine.safetensors")
    (tmp_path / "engine.csv").write_text(
        ",".join(wide) + "\n" + ",".join(str(each[0]) for each in wide.values()) + "\n"
    )
    for file in ("engine.safetensors", "engine.csv"):
        assert labelled_vectors(open_file(tmp_path / file))["x"][0][0].tolist() == list(range(12))


SAYS = yaml.safe_load(sample("import_says.yaml"))


def _says(root, row):
    """Each place of the contract holds what is expected there."""
    for place, value in row["says"].items():
        found: Any = root
        for key in place.split("/"):
            found = found[int(key)] if isinstance(found, list) else found.get(key, "...")
        if isinstance(value, dict) and "words" in value:
            assert [words for words in value["words"] if words not in found] == [], place
        else:
            assert found == value, place


def _with_changes(table, row):
    for path, value in row.get("changes", ()):
        table = changed(table, *path, to=value)
    return table


@every_case("what", SAYS["files"])
def test_what_a_file_says_stands_in_the_contract(tmp_path, command, what):
    """A number that is read at another place is a robot with another robot's numbers."""
    row = SAYS["files"][what]
    table = _with_changes(DEPLOY if row["of"] == "deploy" else DESCRIPTOR, row)
    _says(imported(command, write_yaml(tmp_path / "source.yaml", table)), row)


@every_case("what", SAYS["metadata"])
def test_what_metadata_says_stands_in_the_contract(tmp_path, command, what):
    """mjlab writes text: semicolons inside ranges, three decimals for whole numbers."""
    row = SAYS["metadata"][what]
    _says(imported(command, write_model(tmp_path / "policy.onnx", row["width"], 2, _with_changes(METADATA, row))), row)


def test_the_rate_that_a_file_lacks_is_given_beside_it(tmp_path, command):
    """Metadata holds no rate: an option says it."""
    assert imported(command, write_model(tmp_path / "policy.onnx", 45, 2, METADATA), "--fps", 50)["fps"] == 50


def test_a_python_slice_is_all_joints_and_never_runs(tmp_path, command):
    """The tag names python code; a loader that follows it runs whatever a file says."""
    source, trap = write_yaml(tmp_path / "deploy.yaml", DEPLOY), tmp_path / "trap"
    plain, tag = source.read_text(encoding="utf-8"), "joint_ids: !!python/object/apply:"
    assert "joint_ids: null" in plain
    source.write_text(plain.replace("joint_ids: null", f"{tag}builtins.slice [null, null, null]"), encoding="utf-8")
    assert imported(command, source)["given"]["last_action"]["names"] == "policy"
    source.write_text(plain.replace("joint_ids: null", f"{tag}pathlib.Path.touch ['{trap}']"), encoding="utf-8")
    assert command("init", "--from", source, "-o", tmp_path / "other.toml").status == 2
    assert not trap.exists()


def test_isaac_labs_order_of_joints_is_breadth_first():
    """The nearest joints of every limb first; a joint that stands twice would take another's gains."""
    for name, table in TABLES.items():
        assert all(
            len(set(order)) == len(order) and set(order) <= set(table.sdk) for order in (table.gym, table.lab)
        ), name
    g1 = TABLES["g1"]
    starts = (0, 6, 12, 15, 22)  # of the legs, the waist and the arms, which hang on the waist's third joint
    depth = [at - max(each for each in starts if each <= at) + 3 * (at >= 15) for at in range(29)]
    assert [g1.sdk.index(joint) for joint in g1.lab] == sorted(range(29), key=lambda at: (depth[at], at))


def test_names_of_the_model_replace_numbers(tmp_path, command):
    """A joint that is called joint_2 in a report must be looked up; the model's metadata knows its name."""
    model = write_model(tmp_path / "policy.onnx", OBSERVED, 4, {"joint_names": NAMES})
    root = imported(command, write_yaml(tmp_path / "deploy.yaml", DEPLOY), "--onnx", model)
    assert root["names"]["policy"] == NAMES.split(",")
    assert root["names"]["sdk"] == ["left_hip_joint", "left_knee_joint", "right_hip_joint", "right_knee_joint"]


def test_a_passive_joint_leaves_the_targets_open(tmp_path, command):
    """joint_names has every joint of the robot; a passive one makes it longer than the action."""
    root = imported(command, write_model(tmp_path / "policy.onnx", 42, 1, METADATA))
    assert "the network gives 1 numbers and the robot has 2 joints" in root["told"]
    assert "target" not in root["stages"]


def test_gains_of_an_articulation_reach_the_driven_joints_by_name(tmp_path, command):
    """By position the knee would get the hip's gains: 10 and 20 in place of 30 and 10."""
    imported(command, write_yaml(tmp_path / "descriptor.yaml", DESCRIPTOR))
    contract, rows = open_contract(tmp_path / "contract.toml"), {"action": np.zeros((3, 2), "f")}
    assert stages_from(contract, rows)["kp"].tolist() == [[30.0, 10.0]] * 3
    swapped = contract.with_conventions({"kp.order": "by_position"})
    assert stages_from(swapped, rows)["kp"].tolist() == [[10.0, 20.0]] * 3


def test_a_model_of_another_folder_is_left_open(tmp_path, command):
    """A contract names no file outside its folder: the model is asked for."""
    (tmp_path / "game").mkdir()
    source, model = write_yaml(tmp_path / "deploy.yaml", DEPLOY), write_model(tmp_path / "policy.onnx", OBSERVED, 4)
    text = imported(command, source, "--onnx", model, out=tmp_path / "game" / "contract.toml")["text"]
    assert "LEFT OPEN: file. policy.onnx is not in this folder" in text


def test_every_command_of_the_page_runs(checkout, tmp_path, command, monkeypatch):
    """People copy commands before they read."""
    page = (checkout / "docs" / "importing.md").read_text(encoding="utf-8")
    lines = re.findall(r"^\$ rigpact (.*)$", page, re.MULTILINE)
    model = write_model(tmp_path / "policy.onnx", OBSERVED, 4)
    save_file(robot_recording(model), tmp_path / "engine.safetensors")
    write_yaml(tmp_path / "deploy.yaml", DEPLOY)
    write_yaml(tmp_path / "walk_descriptor.yaml", DESCRIPTOR)
    write_model(tmp_path / "mjlab_policy.onnx", 45, 2, METADATA)
    monkeypatch.chdir(tmp_path)
    assert len(lines) >= 9
    for line in lines:
        if line == "init":
            for contract in tmp_path.glob("*.toml"):  # a new folder on the page
                contract.unlink()
        answer = command(*shlex.split(line))
        assert answer.status == 0, line + answer.out + answer.err
