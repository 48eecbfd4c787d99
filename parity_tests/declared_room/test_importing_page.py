"""docs/importing.md: every command on the page runs, on small files of the names that it uses."""

import re
import shlex

from safetensors.numpy import save_file

from .foreign_files import DEPLOY, DESCRIPTOR, LEAPP, METADATA, OBSERVED, robot_recording, write_model, write_yaml


def test_every_command_of_the_page_runs(checkout, tmp_path, command, monkeypatch):
    """People copy commands before they read."""
    page = (checkout / "docs" / "importing.md").read_text(encoding="utf-8")
    lines = re.findall(r"^\$ rigpact (.*)$", page, re.MULTILINE)
    model = write_model(tmp_path / "policy.onnx", OBSERVED, 4)
    save_file(robot_recording(model), tmp_path / "engine.safetensors")
    write_yaml(tmp_path / "deploy.yaml", DEPLOY)
    write_yaml(tmp_path / "walk_descriptor.yaml", DESCRIPTOR)
    write_yaml(tmp_path / "walk_leapp.yaml", LEAPP)
    write_model(tmp_path / "mjlab_policy.onnx", 45, 2, METADATA)
    monkeypatch.chdir(tmp_path)
    assert len(lines) >= 10
    for line in lines:
        if line == "init":
            for contract in tmp_path.glob("*.toml"):  # a new folder on the page
                contract.unlink()
        answer = command(*shlex.split(line))
        assert answer.status == 0, line + answer.out + answer.err
