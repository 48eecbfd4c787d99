"""A LeRobot-like policy: from its files to a verdict, and the mistakes that people make with one, each by its name."""

import json

import numpy as np
import pytest

from ..contract_room.edits import drop, put
from .samples import recorded, write_policy


def _verdict(command, folder, run, **files):
    """Import, then explain a recording: the verdict and the changes that it names."""
    config = write_policy(folder, **files)
    contract = folder / "contract.toml"
    made = command("init", "--from", config, "--onnx", folder / "policy.onnx", "--fps", 30, "-o", contract, "--force")
    assert made.status == 0, made.err
    checked = command("check", contract)
    assert checked.status == 0, checked.out
    np.savez(folder / "run.npz", **run)
    answer = json.loads(command("explain", folder / "run.npz", "--contract", contract, "--format", "json").out)
    return answer["verdict"], {key: value for cause in answer["causes"] for key, value in cause["changes"].items()}


@pytest.mark.parametrize(
    ("files", "mistake", "named"),
    [
        ({}, {}, {}), ({"state": "MIN_MAX", "action": "QUANTILES"}, {}, {}),
        ({"state": "QUANTILES", "action": "MIN_MAX"}, {}, {}),
        ({}, {"state": "MIN_MAX"}, {"observation_state_normalised.mode": "min_max"}),
        ({}, {"action": "MIN_MAX"}, {"action.mode": "min_max"}),
        ({"action": "QUANTILES"}, {"action": "EXCHANGED"}, {"action.ends": "exchanged"}),
        ({"state": "QUANTILES"}, {"state": "EXCHANGED"}, {"observation_state_normalised.ends": "exchanged"}),
        ({}, {"played": 50}, {"asked_every": "whole_chunk"}), ({}, {"played": 1}, {"asked_every": "each_frame"}),
        ({}, {"late": 1}, {"played_action.chunk": "one_before"}), ({}, {"index": 1}, {"played_action.index": "+1"}),
    ],
)  # fmt: skip
def test_a_right_loop_agrees_and_each_mistake_is_named(tmp_path, command, files, mistake, named):
    """The arm still moves, a little wrong: hours of looking at cameras and lighting before anybody looks at a queue."""
    verdict = "explained" if mistake else "agrees"
    assert _verdict(command, tmp_path, recorded(**{**files, **mistake}), **files) == (verdict, named)


@pytest.mark.parametrize(
    ("name", "keys", "value", "says"),
    [
        ("config", ("n_action_steps",), 60, ["/n_action_steps", "at most 50"]),
        ("config", ("chunk_size",), ..., ["/chunk_size", "nothing"]),
        ("config", ("temporal_ensemble_coeff",), 0.01, ["/n_action_steps", "an ensemble asks in every frame"]),
        ("config", ("output_features",), {}, ["/output_features", "an action"]),
        ("config", ("input_features", "observation.state", "shape"), [7], ["observation.state", "6 numbers", "7"]),
        ("config", ("input_features",), [], ["/input_features", "a table"]),
        ("policy_preprocessor", ("steps", 3, "config", "norm_map", "STATE"), "ZSCORE", ["/norm_map/STATE", "MEAN_STD"]),
        ("policy_preprocessor", ("steps", 3, "config", "norm_map", "STATE"), "QUANTILE10", ["state.q10", "QUANTILE10"]),
        ("policy_preprocessor", ("steps", 3, "config", "norm_map", "STATE"), {}, ["/norm_map/STATE", "a name"]),
        ("policy_preprocessor", ("steps", 3, "state_file"), "../x.safetensors", ["/steps/3/state_file", "in this folder"]),
        ("policy_preprocessor", ("steps", 3, "state_file"), "gone.safetensors", ["gone.safetensors", "nothing"]),
        ("policy_preprocessor", ("steps", 1), {"registry_name": "normalizer_processor"}, ["/steps/3", "a second one"]),
        ("policy_postprocessor", ("steps",), ..., ["policy_postprocessor.json#/steps", "the steps of the pipeline"]),
    ],
)  # fmt: skip
def test_a_damaged_policy_is_refused_at_its_place(tmp_path, command, name, keys, value, says):
    """Statistics of another width, or of another file, are applied without a word by whoever does not look."""
    config = write_policy(tmp_path)
    path = tmp_path / f"{name}.json"
    root = json.loads(path.read_text(encoding="utf-8"))
    (drop(*keys) if value is ... else put(value, *keys))(root)
    path.write_text(json.dumps(root), encoding="utf-8")
    answer = command("init", "--from", config, "-o", tmp_path / "contract.toml")
    assert answer.status == 2, answer.out
    assert not (tmp_path / "contract.toml").exists()
    assert [each for each in says if each not in answer.err] == [], answer.err


def test_what_the_files_do_silently_is_said(tmp_path, command):
    """LeRobot passes a feature without statistics as it is, without a word; ensembles and diffusion have no plain queue."""
    config = write_policy(tmp_path, state="MEAN_STD", n_action_steps=1, temporal_ensemble_coeff=0.01)
    tensors = tmp_path / "policy_preprocessor_step_3.safetensors"
    tensors.write_bytes(tensors.read_bytes().replace(b"observation.state.", b"observation.other."))
    made = command("init", "--from", config, "-o", tmp_path / "contract.toml")
    assert made.status == 0, made.err
    assert "no statistics are in the file" in made.out
    text = (tmp_path / "contract.toml").read_text(encoding="utf-8")
    assert "blend = 0.01" in text
    assert "range_normalise" not in text
    config = write_policy(tmp_path / "diffusion", type="diffusion", horizon=16, n_action_steps=8, n_obs_steps=2)
    assert command("init", "--from", config, "-o", tmp_path / "diffusion" / "contract.toml").status == 0
    text = (tmp_path / "diffusion" / "contract.toml").read_text(encoding="utf-8")
    assert "first = 1" in text
    assert 'operation = "history", length = 2' in text
