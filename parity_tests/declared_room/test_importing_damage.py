"""Damaged files of other stacks: one clear error each, with place, found, expected; no contract is written."""

from typing import Any

from ..every_case import every_case
from .foreign_files import DEPLOY, DESCRIPTOR, METADATA, changed, write_model, write_yaml

NAN = float("nan")


def _refused(command, source, out, *options: object):
    """The one line that a damaged file gives; nothing is written."""
    answer = command("init", "--from", source, "-o", out, *options)
    assert answer.status == 2, answer.out + answer.err
    assert not out.exists()
    assert answer.err.startswith("rigpact: error: ")
    assert answer.err.count("\n") == 1
    assert "found" in answer.err
    assert "expected" in answer.err
    return str(answer.err)


Damage = tuple[tuple[Any, ...], Any, list[str]]
DAMAGED_DEPLOY: list[Damage] = [
    (("joint_ids_map",), [0, 0, 1, 3], ["/joint_ids_map", "the motor 0 twice"]),
    (("joint_ids_map",), [0, -1, 1, 3], ["/joint_ids_map/1", "-1", "a whole number"]),
    (("joint_ids_map",), [], ["/joint_ids_map", "an empty list"]),
    (("joint_ids_map",), "0 1 2 3", ["/joint_ids_map", "expected a list"]),
    (("step_dt",), 0, ["/step_dt", "seconds of a step"]),
    (("step_dt",), True, ["/step_dt", "a number"]),
    (("step_dt",), ..., ["/step_dt", "found nothing"]),
    (("default_joint_pos",), [0.1, 0.2, 0.3], ["/default_joint_pos", "3 numbers", "4, one for each joint"]),
    (("default_joint_pos",), [0.1, 0.2, 0.3, NAN], ["/default_joint_pos/3", "nan", "a number"]),
    (("default_joint_pos",), [0.1, 0.2, 0.3, 10**400], ["/default_joint_pos/3", "a number"]),
    (("stiffness",), [1, 2, 3, 4, 5], ["/stiffness", "5 numbers", "4, one for each joint"]),
    (("commands", "base_velocity", "ranges", "lin_vel_x"), [1.0, -0.5], ["/lin_vel_x", "a low end below"]),
    (("actions",), {}, ["/actions", "actions: none", "one"]),
    (("actions", "JointPositionAction", "scale"), [0.25] * 3, ["/scale", "3 numbers", "4"]),
    (("actions", "JointPositionAction", "scale"), "0.25", ["/scale", "a number"]),
    (("actions", "JointPositionAction", "clip"), [[-1, 1]] * 3, ["/clip", "3 ranges", "4"]),
    (("actions", "JointPositionAction", "clip"), [[1, -1]] * 4, ["/clip", "1 to -1", "a low end below"]),
    (("actions", "JointPositionAction", "joint_ids"), [0, 1, 2, 9], ["/joint_ids", "places of the 4 joints"]),
    (("actions", "JointPositionAction", "joint_ids"), [None, 2], ["/joint_ids", "a slice of three"]),
    (("actions", "JointPositionAction", "joint_ids"), [None, None, 0], ["/joint_ids", "a slice with a step"]),
    (("actions", "JointPositionAction", "joint_ids"), [1, 1], ["/joint_ids", "each once"]),
    (("observations",), {}, ["/observations", "no term"]),
    (("observations",), {"policy": {**DEPLOY["observations"], "scale_first": "yes"}}, ["true or false"]),
    (("observations", "base_ang_vel"), 7, ["/observations/base_ang_vel", "a table"]),
    (("observations", "base_ang_vel", "scale"), [0.2] * 4, ["/base_ang_vel/scale", "4 numbers", "3"]),
    (("observations", "base_ang_vel", "history_length"), 2.5, ["/history_length", "2.5", "a whole number"]),
    (("observations", "joint_vel_rel", "clip"), [1, 2, 3], ["/clip", "3 numbers", "a low and a high end"]),
    (("observations", "mystery"), {"params": {}, "scale": None}, ["/mystery", "without a width"]),
]  # fmt: skip
DAMAGED_DESCRIPTOR: list[Damage] = [
    (("articulations",), {}, ["/articulations", "none", "one robot"]),
    (("articulations", "robot", "joint_names"), ["hip", "hip", "knee"], ["/joint_names", "'hip' twice"]),
    (("articulations", "robot", "default_joint_stiffness"), [1.0], ["/default_joint_stiffness", "1 numbers", "3"]),
    (("actions",), [], ["/actions", "0 actions", "one"]),
    (("actions", 0, "joint_names"), ["knee", "tail"], ["/actions/0/joint_names", "the joint tail"]),
    (("actions", 0, "shape"), [3], ["/actions/0/shape", "[2]"]),
    (("observations", "policy"), [], ["/observations/policy", "an empty list"]),
    (("observations", "policy", 0, "shape"), [4, 4], ["/policy/0/shape", "one axis"]),
    (("observations", "policy", 3, "joint_names"), ["knee"], ["/policy/3/joint_names", "1 names", "2"]),
    (("observations", "policy", 3, "joint_names"), ["knee", "tail"], ["tail"]),
    (("observations", "policy", 3, "joint_pos_offsets"), [0.1], ["/joint_pos_offsets", "1 numbers", "2"]),
    (("scene", "dt"), -0.02, ["/scene/dt", "seconds of a step"]),
]  # fmt: skip
DAMAGED_TABLES = ((DEPLOY, DAMAGED_DEPLOY), (DESCRIPTOR, DAMAGED_DESCRIPTOR))


@every_case(("table", "path", "value", "says"), [(table, *case) for table, cases in DAMAGED_TABLES for case in cases])
def test_a_damaged_file_is_refused_at_its_place(tmp_path, command, table, path, value, says):
    """A list that is one short shifts every joint behind it."""
    source = write_yaml(tmp_path / "source.yaml", changed(table, *path, to=value))
    error = _refused(command, source, tmp_path / "contract.toml")
    assert [each for each in says if each not in error] == [], error


@every_case(
    ("key", "text", "says"),
    [
        ("joint_names", "hip,hip", ["/joint_names", "each name once"]),
        ("joint_names", "hip,,knee", ["/joint_names/1", "a name"]),
        ("action_scale", "0.5,x", ["action_scale/1", "'x'", "a number"]),
        ("action_scale", "0.5,0.5,0.5", ["action_scale", "3 numbers", "2"]),
        ("joint_stiffness", "10.000,nan", ["joint_stiffness/1", "nan", "a number"]),
        ("joint_stiffness", "10.000,20.000,30.000", ["joint_stiffness", "3 numbers", "one for each of joint_names"]),
        ("observation_terms_scale", "1.000", ["observation_terms_scale", "1 numbers", "6"]),
        ("observation_terms_clip", "-inf;inf", ["observation_terms_clip", "1 ranges", "6"]),
        ("observation_terms_clip", "1;2;3,-1;1,-1;1,-1;1,-1;1,-1;1", ["3 numbers", "a low and a high end"]),
        ("observation_names", "base_ang_vel,unknown,mystery,joint_vel,actions,command", ["without a width"]),
        ("observation_terms_history_length", "3.000,3.000,3.000,3.000,3.000,8.000", ["9 numbers left for command"]),
        (
            "observation_terms_history_length",
            "3.000,3.000,3.000,3.000,3.000,2.500",
            ["length/5", "2.5", "a whole number"],
        ),
    ],
)
def test_damaged_metadata_is_refused_at_its_key(tmp_path, command, key, text, says):
    """The metadata is text: a comma too many is a joint too many."""
    model = write_model(tmp_path / "policy.onnx", 45, 2, {**METADATA, key: text})
    error = _refused(command, model, tmp_path / "contract.toml")
    assert [each for each in says if each not in error] == [], error


@every_case(
    ("name", "content", "says"),
    [
        ("a.yaml", b"x: [1", ["not YAML"]),
        ("a.yaml", b"a: !!timestamp x", ["a tag that its text does not fit"]),
        ("a.yaml", b"a: !!bool x", ["a tag that its text does not fit"]),
        ("a.yaml", b"a: !!int ''", ["a tag that its text does not fit"]),
        ("a.yaml", b"a: !!float x", ["without plain data"]),
        ("a.yaml", b"\xff\xfe\x00", ["UTF-8"]),
        ("a.yaml", b"- 1\n- 2\n", ["YAML with list", "deploy.yaml", "LeRobot"]),
        ("a.yaml", b"joint_ids_map: [0]\n", ["nearest is deploy.yaml, but observations is missing"]),
        ("a.yaml", b"hello: world\n", ["none of their keys is there"]),
        ("a.yaml", b"", ["an empty file"]),
        ("a.json", b"{}", ["a file that ends in .json"]),
        ("a.onnx", b"no model", ["onnx"]),
    ],
)
def test_a_file_of_no_known_format_is_told_which_are_known(tmp_path, command, name, content, says):
    """A person with another file must see in one line whether theirs is meant."""
    (tmp_path / name).write_bytes(content)
    error = _refused(command, tmp_path / name, tmp_path / "contract.toml")
    assert [each for each in says if each not in error] == [], error


def test_files_of_two_runs_are_refused(tmp_path, command):
    """unitree_rl_mjlab#23: an observation that is too short is read past its end; nothing is refused there."""
    source, model = write_yaml(tmp_path / "deploy.yaml", DEPLOY), write_model(tmp_path / "policy.onnx", 48, 4)
    error = _refused(command, source, tmp_path / "contract.toml", "--onnx", model)
    assert "terms of 42 numbers together" in error
    assert "48, as the model's input has" in error


def test_a_model_without_metadata_names_the_other_way(tmp_path, command):
    """mjlab writes no metadata when the action term has another name; the contract can still be drafted."""
    model = write_model(tmp_path / "policy.onnx", 4, 2)
    assert "rigpact init" in _refused(command, model, tmp_path / "contract.toml")
