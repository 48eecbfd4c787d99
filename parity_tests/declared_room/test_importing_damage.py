"""Damaged files of other stacks: one clear error each, with place, found, expected; no contract is written."""

import yaml

from ..every_case import every_case
from .foreign_files import DEPLOY, DESCRIPTOR, METADATA, changed, write_model, write_yaml
from .samples_of_files import sample


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


DAMAGES = yaml.safe_load(sample("import_damages.yaml"))
TABLES = [
    *((DEPLOY, *row) for row in DAMAGES["deploy"]), *((DESCRIPTOR, *row) for row in DAMAGES["descriptor"]),
    (DEPLOY, ["default_joint_pos"], [0.1, 0.2, 0.3, 10**400], ["/default_joint_pos/3", "a number"]),
    (DEPLOY, ["observations"], {"policy": {**DEPLOY["observations"], "scale_first": "yes"}}, ["true or false"]),
]  # fmt: skip


@every_case(("table", "path", "value", "says"), TABLES)
def test_a_damaged_file_is_refused_at_its_place(tmp_path, command, table, path, value, says):
    """A list that is one short shifts every joint behind it."""
    source = write_yaml(tmp_path / "source.yaml", changed(table, *path, to=value))
    error = _refused(command, source, tmp_path / "contract.toml")
    assert [each for each in says if each not in error] == [], error


@every_case(("key", "text", "says"), DAMAGES["metadata"])
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
        ("a.yaml", b"- 1\n- 2\n", ["YAML with list", "deploy.yaml", "mjlab"]),
        ("a.yaml", b"joint_ids_map: [0]\n", ["nearest is deploy.yaml, but observations is missing"]),
        ("a.yaml", b"hello: world\n", ["none of their keys is there"]),
        ("a.yaml", b"", ["an empty file"]),
        ("a.json", b"{}", ["a file that ends in .json"]),
        ("config.json", b'{"type": "act", "input_features": {}, "output_features": {}}', ["importing.md, LeRobot"]),
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
