"""Importers on the files that the stacks themselves ship. Skipped where these files are absent."""

import json
import shutil
import tomllib
from pathlib import Path

import pytest


@pytest.fixture
def others(real_data, tmp_path):
    """A copy of the other stacks' files, so that contracts can be written beside them."""
    if not (real_data / "others").is_dir():
        pytest.skip(f"no files of other stacks in {real_data}")
    return Path(shutil.copytree(real_data / "others", tmp_path / "others"))


def _verdict(answer):
    return str(json.loads(answer.out)["verdict"])


@pytest.mark.parametrize(
    ("folder", "model"), [("unitree_rl_lab_g1", "policy.onnx"), ("unitree_rl_mjlab_g1", "policy.onnx")]
)
def test_a_deploy_file_becomes_a_contract_that_the_engine_agrees_with(others, command, folder, model):
    """Three commands from the files of a robot to a verdict; a wrong reading of the file would be blamed on the engine."""
    home = others / folder
    golden, contract = home / "golden_24_frames.safetensors", home / "contract.toml"
    made = command(
        "init", "--from", home / "deploy.yaml", "--onnx", home / model, "--recording", golden, "-o", contract
    )
    assert made.status == 0, made.err
    assert command("check", contract).status == 0
    answer = command("explain", golden, "--contract", contract, "--format", "json")
    assert (answer.status, _verdict(answer)) == (0, "agrees"), answer.out
    assert {"obs", "action", "target"} <= {each["stage"] for each in json.loads(answer.out)["stages"]}
    text = contract.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 120
    assert max(map(len, text.splitlines())) <= 130


def test_two_files_of_one_robot_part_where_the_spec_says(others, command):
    """The metadata has the trained scale of the waist (0.548), deploy.yaml another (0.35): the robot turns too little."""
    home = others / "unitree_rl_mjlab_g1"
    golden, contract = home / "golden_24_frames.safetensors", home / "metadata.toml"
    made = command(
        "init", "--from", home / "policy_with_metadata.ours.onnx", "--fps", "50", "--recording", golden, "-o", contract
    )
    assert made.status == 0, made.err
    assert command("check", contract).status == 0
    answer = command("explain", golden, "--contract", contract)
    assert answer.status == 1
    assert "waist_yaw_joint" in answer.out
    stages = json.loads(command("explain", golden, "--contract", contract, "--format", "json").out)["stages"]
    assert {each["stage"]: each["ok"] for each in stages} == {"obs": True, "action": True, "target": False}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("folder", "recording"), [("lab", "right_lab_049"), ("mjlab", "right_mjlab_054"), ("lmm", "right_lmm_037")]
)
def test_a_right_recording_of_a_real_program_drafts_its_own_contract(real_data, tmp_path, command, folder, recording):
    """Nothing but models and a log: a draft that differs from the log that it was made of is of no use to anybody."""
    for path in (real_data / "mistakes" / folder).iterdir():
        if path.suffix in (".onnx", ".data") or path.name in ("norm.npz", f"{recording}.npz"):
            shutil.copyfile(path, tmp_path / path.name)
    assert command("init", tmp_path).status == 0
    answer = command(
        "explain", tmp_path / f"{recording}.npz", "--contract", tmp_path / "contract.toml", "--format", "json"
    )
    assert (answer.status, _verdict(answer)) == (0, "agrees"), answer.out
    text = (tmp_path / "contract.toml").read_text(encoding="utf-8")
    known = {
        "lab": 'operation = "history", length = 5, layout = "term_major", order = "oldest_first", start = "first"',
        "mjlab": '"base_ang_vel", "projected_gravity", "velocity_commands", "joint_pos_rel", "joint_vel_rel", "last_action"',
        "lmm": '{ name = "decompressor_input", operation = "concatenate", of = ["features", "latent"] }',
    }
    assert known[folder] in text


def test_gains_that_are_exchanged_are_not_paired_with_each_other(others, real_data, command):
    """Paired by its numbers alone, the column of kp becomes kd, and the mistake is written into the contract."""
    home, recording = others / "unitree_rl_mjlab_g1", real_data / "mistakes" / "mjlab" / "kp_kd_swapped.npz"
    contract = home / "contract.toml"
    command(
        "init", "--from", home / "deploy.yaml", "--onnx", home / "policy.onnx", "--recording", recording, "-o", contract
    )
    columns = tomllib.loads(contract.read_text(encoding="utf-8"))["recordings"]
    assert (columns["kp"], columns["kd"]) == ("motor_kp", "motor_kd")


@pytest.mark.parametrize(
    ("name", "width", "actions"),
    [
        ("io_descriptors/agile_g1_velocity_history.yaml", 255, 14),
        ("io_descriptors/isaaclab_anymal_d_velocity.yaml", 48, 12),
    ],
)
def test_descriptions_without_their_models_import_and_pass(others, command, name, width, actions):
    """What a stack ships must be readable without its training run."""
    from rigpact.contract.contract_files import open_contract

    contract = others / "contract.toml"
    made = command("init", "--from", others / name, "-o", contract)
    assert made.status == 0, made.err
    checked = command("check", contract)
    assert checked.status == 0, checked.out
    assert "RP749" in checked.out
    opened = open_contract(contract)
    assert (opened.fields("obs").width, opened.fields("target").width) == (width, actions)
    assert len(contract.read_text(encoding="utf-8").splitlines()) <= 120
