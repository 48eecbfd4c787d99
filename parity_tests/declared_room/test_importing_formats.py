"""Each format that `rigpact init --from` reads, and the traps of each, on small files written by hand."""

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from rigpact.reference_runtime.recordings.labelled_vectors import labelled_vectors
from rigpact.reference_runtime.recordings.opened import open_file

from .foreign_files import (
    DEPLOY,
    DESCRIPTOR,
    LEAPP,
    METADATA,
    OBSERVED,
    changed,
    robot_recording,
    write_model,
    write_yaml,
)

Command = Callable[..., Any]


def _imported(command: Command, source: Path, *options: object) -> dict[str, Any]:
    """The contract that a file becomes, which `check` must pass."""
    out = source.parent / "contract.toml"
    made = command("init", "--from", source, "-o", out, "--force", *options)
    assert made.status == 0, made.err
    checked = command("check", out)
    assert checked.status == 0, checked.out
    return tomllib.loads(out.read_text(encoding="utf-8"))


def _stages(root: dict[str, Any]) -> dict[str, Any]:
    return {stage["name"]: stage for stage in root["stages"]}


def _given(root: dict[str, Any]) -> dict[str, Any]:
    return {vector["name"]: vector for vector in root["given"]}


def test_a_deploy_file_agrees_with_a_loop_written_by_hand(tmp_path: Path, command: Command) -> None:
    """Clip before scale, terms one after the other, the raw action, the map of the motors: each wrong reading shows here."""
    model = write_model(tmp_path / "policy.onnx", OBSERVED, 4)
    engine = tmp_path / "engine.safetensors"
    save_file(robot_recording(model), engine)
    source = write_yaml(tmp_path / "deploy.yaml", DEPLOY)
    root = _imported(command, source, "--onnx", model, "--recording", engine)
    answer = command("explain", engine, "--contract", tmp_path / "contract.toml")
    assert answer.status == 0, answer.out
    assert "AGREES" in answer.out
    assert root["recordings"] == {
        "imu_quat": "imu_quat_wxyz", "q": "q_sdk", "dq": "dq_sdk",
    }  # fmt: skip
    assert _given(root)["imu_quat"]["kind"] == "quaternion_wxyz"


def test_gains_of_every_motor_are_taken_by_the_map(tmp_path: Path, command: Command) -> None:
    """A robot whose policy leaves motors out: the exporter writes a gain for each motor, and the map says whose it is."""
    sparse = {
        **DEPLOY,
        "joint_ids_map": [0, 5, 1, 3],
        "stiffness": [10, 20, 0, 40, 0, 60],
        "damping": [1, 2, 0, 4, 0, 6],
    }
    root = _imported(command, write_yaml(tmp_path / "deploy.yaml", sparse))
    assert root["numbers"]["stiffness"]["value"] == [10, 20, 40, 60]
    assert root["numbers"]["damping"]["value"] == [1, 2, 4, 6]
    assert root["names"][root["numbers"]["stiffness"]["names"]] == ["joint_0", "joint_1", "joint_3", "joint_5"]


def test_numbered_columns_follow_their_numbers(tmp_path: Path) -> None:
    """An array for each joint: a file of arrays keeps them in no order, and x[10] stands before x[2] by name."""
    wide = {f"x[{place}]": np.full(3, place, "f") for place in reversed(range(12))}
    save_file(wide, tmp_path / "engine.safetensors")
    (tmp_path / "engine.csv").write_text(
        ",".join(wide) + "\n" + ",".join(str(each[0]) for each in wide.values()) + "\n"
    )
    for file in ("engine.safetensors", "engine.csv"):
        assert labelled_vectors(open_file(tmp_path / file))["x"][0][0].tolist() == list(range(12))


def test_a_column_that_fits_two_vectors_fits_none(tmp_path: Path, command: Command) -> None:
    """A guess between two of one width is a coin toss, and the diagnosis blames the engine for it."""
    model = write_model(tmp_path / "policy.onnx", OBSERVED, 4)
    rows = robot_recording(model)
    del rows["obs"]  # its numbers would tell them apart
    both = {"q_a": rows.pop("q_sdk"), "q_b": rows.pop("dq_sdk")}
    save_file({**rows, **both}, tmp_path / "engine.safetensors")
    root = _imported(
        command, write_yaml(tmp_path / "deploy.yaml", DEPLOY), "--recording", tmp_path / "engine.safetensors"
    )
    assert not {"q", "dq"} & root.get("recordings", {}).keys()
    assert "Columns that belong to no vector here: q_a (4), q_b (4)." in (tmp_path / "contract.toml").read_text("utf-8")


def test_columns_are_told_apart_by_their_numbers(tmp_path: Path, command: Command) -> None:
    """Names say nothing where an engine calls its columns a and b; what the network was fed says it."""
    model = write_model(tmp_path / "policy.onnx", OBSERVED, 4)
    rows, engine = robot_recording(model), tmp_path / "engine.safetensors"
    rows = {"a": rows.pop("dq_sdk"), "b": rows.pop("q_sdk"), "c": rows.pop("gyro"), **rows}
    save_file(rows, engine)
    root = _imported(command, write_yaml(tmp_path / "deploy.yaml", DEPLOY), "--onnx", model, "--recording", engine)
    assert {vector: root["recordings"][vector] for vector in ("q", "dq", "gyro")} == {"q": "b", "dq": "a", "gyro": "c"}
    assert command("explain", engine, "--contract", tmp_path / "contract.toml").status == 0


def test_a_column_with_the_name_of_another_vector_keeps_its_own(tmp_path: Path, command: Command) -> None:
    """Unitree's runtime calls the term before its scale base_ang_vel: read as the scaled one, a right engine is blamed."""
    model = write_model(tmp_path / "policy.onnx", OBSERVED, 4)
    rows, engine = robot_recording(model), tmp_path / "engine.safetensors"
    rows |= {"base_ang_vel": rows["gyro"].copy(), "command": rows.pop("sticks") * np.array([1, -1, -1], "f")}
    save_file(rows, engine)
    root = _imported(command, write_yaml(tmp_path / "deploy.yaml", DEPLOY), "--onnx", model, "--recording", engine)
    answer = command("explain", engine, "--contract", tmp_path / "contract.toml")
    assert answer.status == 0, answer.out
    assert "base_ang_vel_scaled" in _stages(root)["obs"]["of"]
    assert root["recordings"]["stick_velocities"] == "command"
    assert "sticks" not in _given(root)


def test_a_python_slice_is_all_joints_and_never_runs(tmp_path: Path, command: Command) -> None:
    """The tag names python code; a loader that follows it runs whatever a file says."""
    source = write_yaml(tmp_path / "deploy.yaml", DEPLOY)
    plain = source.read_text(encoding="utf-8")
    tagged = plain.replace("joint_ids: null", "joint_ids: !!python/object/apply:builtins.slice [null, null, null]")
    assert tagged != plain
    source.write_text(tagged, encoding="utf-8")
    assert _given(_imported(command, source))["last_action"]["names"] == "policy"
    trap = tmp_path / "trap"
    hostile = plain.replace("joint_ids: null", f"joint_ids: !!python/object/apply:pathlib.Path.touch ['{trap}']")
    source.write_text(hostile, encoding="utf-8")
    refused = command("init", "--from", source, "-o", tmp_path / "other.toml")
    assert refused.status == 2
    assert not trap.exists()


def test_the_order_of_gains_is_open_where_the_map_is_none_and_known_where_it_is(
    tmp_path: Path, command: Command
) -> None:
    """Runtimes set the gains without the map; people read them through it (unitree_rl_lab#145)."""
    source = write_yaml(tmp_path / "deploy.yaml", DEPLOY)
    _imported(command, source)
    told = command("check", tmp_path / "contract.toml").out
    assert "kp.order is not declared; sdk is assumed, it may be policy" in told
    write_yaml(source, changed(DEPLOY, "joint_ids_map", to=[0, 1, 2, 3]))
    root = _imported(command, source)
    assert "kp.order" not in command("check", tmp_path / "contract.toml").out
    assert root["numbers"]["stiffness"] == {"names": "sdk", "value": [10, 20, 30, 40]}


def test_a_group_with_flags_is_read_as_its_runtime_does(tmp_path: Path, command: Command) -> None:
    """unitree_rl_mjlab: a group is an input of the network; a flag puts the frames, not the terms, end to end."""
    terms = {**DEPLOY["observations"], "use_gym_history": True, "scale_first": True}
    root = _imported(
        command, write_yaml(tmp_path / "deploy.yaml", changed(DEPLOY, "observations", to={"policy_obs": terms}))
    )
    stages = _stages(root)
    assert root["networks"]["policy"]["inputs"] == ["policy_obs"]
    assert stages["policy_obs"]["layout"] == "frame_major"
    assert stages["joint_vel_rel"]["operation"] == "clip"  # the last of the two: scaled first


def test_names_of_the_model_replace_numbers(tmp_path: Path, command: Command) -> None:
    """A joint that is called joint_2 in a report must be looked up; the model's metadata knows its name."""
    names = "left_hip_joint,right_hip_joint,left_knee_joint,right_knee_joint"
    model = write_model(tmp_path / "policy.onnx", OBSERVED, 4, {"joint_names": names})
    root = _imported(command, write_yaml(tmp_path / "deploy.yaml", DEPLOY), "--onnx", model)
    assert root["names"]["policy"] == names.split(",")
    assert root["names"]["sdk"] == ["left_hip_joint", "left_knee_joint", "right_hip_joint", "right_knee_joint"]


def test_a_term_that_nobody_knows_is_given_and_said(tmp_path: Path, command: Command) -> None:
    """A term that is left out shifts every column behind it; one that nothing computes is compared with nothing."""
    terms = {"height_scan": {"params": {}, "clip": None, "scale": [1.0] * 7, "history_length": 1}}
    source, out = tmp_path / "deploy.yaml", tmp_path / "contract.toml"
    write_yaml(source, changed(DEPLOY, "observations", to={**DEPLOY["observations"], **terms}))
    imported = command("init", "--from", source, "-o", out)
    text = out.read_text(encoding="utf-8")
    root = tomllib.loads(text)
    assert _given(root)["height_scan"]["size"] == 7
    assert "LEFT OPEN: height_scan: its computation is not in the file" in text
    assert "note: nothing computes height_scan" in imported.out
    assert "RP772 warning: nothing computes height_scan" in command("check", out).out
    assert _stages(root)["obs"]["operation"] == "concatenate"  # lengths differ: each term has its own history


def test_metadata_is_text_with_semicolons_and_three_decimals(tmp_path: Path, command: Command) -> None:
    """mjlab puts the command last, and writes 3 frames of history as 3.000."""
    width = 3 * (3 + 3 + 2 + 2 + 2 + 3)
    model = write_model(tmp_path / "policy.onnx", width, 2, METADATA)
    root = _imported(command, model)
    stages = _stages(root)
    assert stages["obs"]["of"][-1] == "command"
    assert stages["obs"]["length"] == 3
    assert (stages["joint_vel_clipped"]["lowest"], stages["joint_vel_clipped"]["highest"]) == (-5, 5)
    assert _given(root)["command"]["size"] == 3  # what the other terms leave of the network's input
    assert root["numbers"]["action_scale"]["value"] == [0.548, 0.075]
    assert root["numbers"]["stiffness"]["names"] == "joints"
    assert "fps" not in root
    assert "LEFT OPEN: fps" in (tmp_path / "contract.toml").read_text(encoding="utf-8")
    assert _imported(command, model, "--fps", 50)["fps"] == 50


def test_the_first_spelling_of_the_clip_is_read_too(tmp_path: Path, command: Command) -> None:
    """mjlab first wrote nested lists with brackets, under a key without s."""
    texts = {key: text for key, text in METADATA.items() if key != "observation_terms_clip"}
    texts["observation_term_clip"] = "[-inf, inf],[-inf, inf],[-inf, inf],[-5.0, 5.0],[-inf, inf],[-inf, inf]"
    model = write_model(tmp_path / "policy.onnx", 45, 2, texts)
    assert _stages(_imported(command, model))["joint_vel_clipped"]["highest"] == 5


def test_a_passive_joint_leaves_the_targets_open(tmp_path: Path, command: Command) -> None:
    """joint_names has every joint of the robot; a passive one makes it longer than the action."""
    width = 3 * (3 + 3 + 2 + 2 + 1 + 3)
    model = write_model(tmp_path / "policy.onnx", width, 1, METADATA)
    out = tmp_path / "contract.toml"
    made = command("init", "--from", model, "-o", out)
    assert made.status == 0, made.err
    assert "the network gives 1 numbers and the robot has 2 joints" in made.out
    assert "target" not in _stages(tomllib.loads(out.read_text(encoding="utf-8")))


def test_an_io_descriptor_takes_joints_by_name(tmp_path: Path, command: Command) -> None:
    """The action drives two of three joints, in another order than the articulation's."""
    root = _imported(command, write_yaml(tmp_path / "descriptor.yaml", DESCRIPTOR))
    stages = _stages(root)
    assert root["names"] == {"joints": ["hip", "neck", "knee"], "controlled": ["knee", "hip"]}
    assert stages["joint_pos_controlled"]["take"] == "controlled"
    assert stages["target_unclipped"]["scale"] == 0.5
    assert (stages["target"]["lowest"], stages["target"]["highest"]) == (-10, 10)
    assert stages["obs"]["of"] == [
        "base_ang_vel",
        "projected_gravity",
        "generated_commands",
        "joint_pos_rel",
        "last_action",
    ]
    told = command("check", tmp_path / "contract.toml").out
    assert "projected_gravity.quaternion_order is not declared" in told


def test_gains_of_an_articulation_reach_the_driven_joints_by_name(tmp_path: Path, command: Command) -> None:
    """By position the knee would get the hip's gains: 10 and 20 in place of 30 and 10."""
    _imported(command, write_yaml(tmp_path / "descriptor.yaml", DESCRIPTOR))
    from rigpact.contract.contract_files import open_contract
    from rigpact.reference_runtime.graph.run import stages_from

    contract = open_contract(tmp_path / "contract.toml")
    rows = {"action": np.zeros((3, 2), "f")}
    assert stages_from(contract, rows)["kp"].tolist() == [[30.0, 10.0]] * 3
    swapped = contract.with_conventions({"kp.order": "by_position"})
    assert stages_from(swapped, rows)["kp"].tolist() == [[10.0, 20.0]] * 3


def test_two_terms_of_one_function_keep_two_names(tmp_path: Path, command: Command) -> None:
    """The name of a term in a descriptor is its function's; two commands would be one vector."""
    terms = [*DESCRIPTOR["observations"]["policy"], DESCRIPTOR["observations"]["policy"][2]]
    root = _imported(
        command, write_yaml(tmp_path / "descriptor.yaml", changed(DESCRIPTOR, "observations", "policy", to=terms))
    )
    assert {"generated_commands", "generated_commands_2"} <= _given(root).keys()


def test_gravity_stays_a_unit_vector_whatever_its_unit_says(tmp_path: Path, command: Command) -> None:
    """The descriptor calls projected gravity m/s^2; fed 9.81 the policy sees a robot that falls."""
    root = _imported(command, write_yaml(tmp_path / "descriptor.yaml", DESCRIPTOR))
    text = (tmp_path / "contract.toml").read_text(encoding="utf-8")
    assert _stages(root)["projected_gravity"]["vector"] == [0, 0, -1]
    assert "the file calls it m/s^2; its length is 1" in text


def _leapp_model(path: Path, *, turned_round: bool = False) -> Path:
    from onnx import TensorProto, helper, save

    def value(name: str, shape: list[int]) -> Any:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

    inputs = [value("root_quat_w", [1, 4]), value("h_pos_in", [3, 1, 2])]
    outputs = [value("target", [1, 2]), value("h_pos_out", [3, 1, 2])]
    nodes = [
        helper.make_node("Slice", ["root_quat_w", "zero", "two", "one"], ["target"]),
        helper.make_node("Slice", ["h_pos_in", "one", "three", "zero"], ["kept"]),
        helper.make_node("Unsqueeze", ["target", "zero"], ["newest"]),
        helper.make_node("Concat", ["kept", "newest"], ["h_pos_out"], axis=0),
    ]
    numbers = {"zero": 0, "one": 1, "two": 2, "three": 3}
    step = -1 if turned_round else 1
    constants = [helper.make_tensor(name, TensorProto.INT64, [1], [number]) for name, number in numbers.items()]
    graph = helper.make_graph(nodes, "walk", inputs[::step], outputs[::step], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 9
    save(model, path)
    return path


@pytest.mark.parametrize("turned_round", [False, True])
def test_leapp_binds_by_name_and_starts_from_its_file(tmp_path: Path, command: Command, turned_round: bool) -> None:
    """A history of [3, 1, 2] is one vector of six numbers; the model may list its inputs and outputs in another order."""
    _leapp_model(tmp_path / "walk.onnx", turned_round=turned_round)
    start = np.arange(6, dtype=np.float32).reshape(3, 1, 2)
    save_file({"walk/h_pos_in": start}, tmp_path / "walk_initial_values.safetensors")
    root = _imported(command, write_yaml(tmp_path / "leapp.yaml", LEAPP))
    assert _given(root)["root_quat_w"] == {"name": "root_quat_w", "kind": "quaternion_xyzw", "space": "world"}
    assert _given(root)["h_pos_in"]["carried"] == "h_pos_out"
    assert root["networks"]["walk"]["inputs"] == {"root_quat_w": "root_quat_w", "h_pos_in": "h_pos_in"}
    assert "RP424" not in command("check", tmp_path / "contract.toml").out  # three frames are not a batch
    clip, run = tmp_path / "clip.npz", tmp_path / "run.trace.safetensors"
    np.savez(clip, root_quat_w=np.tile(np.array([7.0, 8.0, 0.0, 0.0], "f"), (2, 1)))
    contract = tmp_path / "contract.toml"
    assert command("run", "--contract", contract, clip, "--mode", "free", "--frames", 2, "-o", run).status == 0
    from rigpact.reference_runtime.recordings.trace import read_trace

    rows = read_trace(run).stages
    assert rows["h_pos_in"].tolist() == [[0, 1, 2, 3, 4, 5], [2, 3, 4, 5, 7, 8]]


def test_leapp_without_its_files_says_what_is_missing(tmp_path: Path, command: Command) -> None:
    """The runtime takes zeros where the file of initial values is missing; nobody is told."""
    _imported(command, write_yaml(tmp_path / "leapp.yaml", LEAPP))
    text = (tmp_path / "contract.toml").read_text(encoding="utf-8")
    assert "LEFT OPEN: start" in text
    assert "LEFT OPEN: file. walk.onnx was not here" in text


def test_files_of_another_folder_are_left_open_and_their_numbers_kept(tmp_path: Path, command: Command) -> None:
    """A contract names no file outside its folder: the start's numbers stand in it, and the model is asked for."""
    (tmp_path / "export").mkdir()
    (tmp_path / "game").mkdir()
    _leapp_model(tmp_path / "export" / "walk.onnx")
    start = np.arange(6, dtype=np.float32).reshape(3, 1, 2)
    save_file({"walk/h_pos_in": start}, tmp_path / "export" / "walk_initial_values.safetensors")
    out = tmp_path / "game" / "contract.toml"
    made = command("init", "--from", write_yaml(tmp_path / "export" / "leapp.yaml", LEAPP), "-o", out)
    assert made.status == 0, made.err
    text = out.read_text(encoding="utf-8")
    assert tomllib.loads(text)["numbers"]["start_h_pos_in"]["value"] == [0, 1, 2, 3, 4, 5]
    assert "LEFT OPEN: file. walk.onnx is not in this folder" in text


def test_two_nodes_with_one_name_keep_two_vectors(tmp_path: Path, command: Command) -> None:
    """Each node calls its input `obs`: read as one vector, the second would get the first one's numbers."""
    second = {
        "inputs": [{"name": "root_quat_w", "shape": [1, 4]}], "outputs": [{"name": "torque", "shape": [1, 2]}],
        "parameters": {},
    }  # fmt: skip
    root = _imported(command, write_yaml(tmp_path / "leapp.yaml", changed(LEAPP, "models", "drive", to=second)))
    assert {"root_quat_w", "drive_root_quat_w"} <= set(_given(root))
    assert root["networks"]["drive"]["inputs"] == {"root_quat_w": "drive_root_quat_w"}


@pytest.mark.parametrize("key", ["stiffness", "damping"])
def test_gains_of_which_one_is_missing_are_left_out(tmp_path: Path, command: Command, key: str) -> None:
    """Half a pair of gains is a motor without a brake."""
    root = _imported(command, write_yaml(tmp_path / "deploy.yaml", changed(DEPLOY, key, to=...)))
    assert not {"stiffness", "damping"} & set(root["numbers"])
    (tmp_path / "contract.toml").unlink()
    own = f"default_joint_{key}"
    table = changed(DESCRIPTOR, "articulations", "robot", own, to=...)
    root = _imported(command, write_yaml(tmp_path / "descriptor.yaml", table))
    assert not {"stiffness", "damping"} & set(root["numbers"])


def test_metadata_of_an_older_exporter_has_no_scales_and_no_ranges(tmp_path: Path, command: Command) -> None:
    """Keys that came later are missing there: the terms are what they are, one frame each."""
    texts = {key: text for key, text in METADATA.items() if not key.startswith("observation_terms")}
    width = 3 + 3 + 2 + 2 + 2 + 3
    stages = _stages(_imported(command, write_model(tmp_path / "policy.onnx", width, 2, texts)))
    assert not {"joint_vel_clipped", "base_ang_vel_scaled"} & set(stages)


def test_two_nodes_feed_each_other_in_one_call(tmp_path: Path, command: Command) -> None:
    """data_flow is the same call, feedback_flow the next one."""
    second = {
        "inputs": [{"name": "wish", "shape": [1, 2]}], "outputs": [{"name": "torque", "shape": [1, 2]}], "parameters": {},
    }  # fmt: skip
    table = changed(LEAPP, "models", "drive", to=second)
    table = changed(table, "pipeline", "data_flow", to={"walk/target": ["drive/wish"]})
    root = _imported(command, write_yaml(tmp_path / "leapp.yaml", table))
    refused = command(
        "init", "--from", tmp_path / "leapp.yaml", "-o", tmp_path / "x.toml", "--onnx", tmp_path / "one.onnx"
    )
    assert "no model for 2 nodes" in refused.err
    assert root["networks"]["drive"]["inputs"] == {"wish": "target"}
    assert "wish" not in _given(root)


def test_hostile_names_stay_text(tmp_path: Path, command: Command) -> None:
    """A joint's name with quotation marks and line ends must not write its own lines into the contract."""
    name = 'hip"\nformat = "x" # '
    table = changed(DESCRIPTOR, "articulations", "robot", "joint_names", to=[name, "neck", "knee"])
    table = changed(table, "actions", 0, "joint_names", to=["knee", name])
    table = changed(table, "observations", "policy", 3, "joint_names", to=["knee", name])
    root = _imported(command, write_yaml(tmp_path / "descriptor.yaml", table))
    assert root["names"]["joints"][0] == name
    assert root["format"] == "rigpact-contract"
