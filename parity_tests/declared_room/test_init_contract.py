"""`rigpact init`: a first contract from a model, a recording and statistics that lie in a folder."""

import json
import tomllib
from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import pytest

from ..every_case import every_case
from ..models import saved
from .foreign_files import weights_of, write_model

FRAMES = 20


def _project(folder, *, with_statistics=True):
    """An engine's files: gyro, quaternion and the last action, normalised outside the network."""
    rng, model = np.random.default_rng(4), write_model(folder / "net.onnx", 9, 2)
    mean, std = (rng.normal(size=9), rng.uniform(0.5, 2.0, 9)) if with_statistics else (np.zeros(9), np.ones(9))
    if with_statistics:
        np.savez(folder / "stats.npz", mean=mean, std=std)
    quaternion = rng.normal(size=(FRAMES, 4))
    quaternion /= np.linalg.norm(quaternion, axis=1, keepdims=True)
    rows = {"gyro": rng.normal(size=(FRAMES, 3)), "quat": quaternion}
    last, matrix = np.zeros((FRAMES + 1, 2)), weights_of(model)
    seen = []
    for t in range(FRAMES):
        seen.append(((np.concatenate([rows["gyro"][t], quaternion[t], last[t]]) - mean) / std).astype("f"))
        last[t + 1] = seen[-1] @ matrix
    rows |= {"last": last[:-1], "obs": np.array(seen), "actions": last[1:], "time": np.arange(FRAMES) / 50.0}
    np.savez(folder / "engine.npz", **{name: values.astype("f") for name, values in rows.items()})
    return folder


def _drafted(command, folder):
    made = command("init", folder)
    assert made.status == 0, made.err
    text = (folder / "contract.toml").read_text(encoding="utf-8")
    return tomllib.loads(text), text


def test_a_draft_holds_what_the_files_show_and_agrees_with_the_engine(tmp_path, command):
    """Statistics, the parts of the observation and the feedback stand in the files; nobody should type them."""
    root, text = _drafted(command, _project(tmp_path))
    stages = {stage["name"]: stage for stage in root["stages"]}
    assert root["fps"] == 50
    assert stages["obs_raw"]["of"] == ["gyro", "quat", "last"]
    assert stages["obs"]["operation"] == "normalise"
    assert {"name": "last", "size": 2, "carried": "actions", "start": "zeros"} in root["given"]
    assert text.count("GUESSED") >= 4
    assert command("check", tmp_path / "contract.toml").status == 0
    answer = command("explain", tmp_path / "engine.npz", "--contract", tmp_path / "contract.toml")
    assert answer.status == 0, answer.out
    assert "AGREES" in answer.out


def test_a_model_alone_leaves_its_inputs_open(tmp_path, command):
    """Without a recording nothing is known of the input, and only the metadata name the answer."""
    write_model(tmp_path / "net.onnx", 9, 2, {"joint_names": "hip,knee"})
    root, text = _drafted(command, tmp_path)
    assert root["given"] == [{"name": "obs", "size": 9, "left_open": ["operation"]}]
    assert "LEFT OPEN: write the stages that make obs" in text
    assert "fps" not in text
    assert (root["names"]["joint_names"], root["stages"][-1]["names"]) == (["hip", "knee"], "joint_names")
    assert command("check", tmp_path / "contract.toml").status == 0


def test_statistics_in_json_are_found_by_their_names(tmp_path, command):
    """Training sides write JSON; the word beside mean and std says what it belongs to."""
    folder = _project(tmp_path)
    held = {f"obs_{name}": rows.tolist() for name, rows in np.load(folder / "stats.npz").items()}
    (folder / "stats.npz").unlink()
    (folder / "norm.json").write_text(json.dumps({**held, "mean": [0.0] * 9, "std": [1.0] * 9}), encoding="utf-8")
    root, _ = _drafted(command, folder)
    assert root["numbers"]["obs_mean"] == {"file": "norm.json", "at": "obs_mean"}
    (obs,) = [stage for stage in root["stages"] if stage["name"] == "obs"]
    assert (obs["mean"], obs["std"]) == ("obs_mean", "obs_std")


NINE: Mapping[str, Any] = {"mean": [0.0] * 9, "std": [1.0] * 9}


@every_case(
    ("answers", "arrays", "nested", "means", "says"),
    [
        (2, {"run_mean": 0, "run_std": 1, "walk_mean": 1, "walk_std": 1}, {}, 0, "9 numbers fit obs: run_mean, walk_mean"),
        (2, {"mean_pose": 0}, {"walk": {"mean": NINE["mean"], "deep": {"std": NINE["std"]}}}, 0, ""),
        (9, {"obs_mean": 0, "obs_std": 1}, {}, 1, ""),
    ],
    ids=["several are not chosen from", "a mean without a deviation is none", "one pair serves an input that is the answer too"],
)  # fmt: skip
def test_statistics_are_taken_where_there_is_no_doubt(tmp_path, command, answers, arrays, nested, means, says):
    """A wrong normaliser passes every check of widths."""
    write_model(tmp_path / "net.onnx", 9, answers)
    np.savez(tmp_path / "a.npz", **{name: np.full(9, float(value)) for name, value in arrays.items()})
    (tmp_path / "more.json").write_text(json.dumps(nested), "utf-8")
    root, text = _drafted(command, tmp_path)
    assert len([name for name in root.get("numbers", {}) if name.endswith("mean")]) == means
    assert says in text
    assert means or [stage["operation"] for stage in root["stages"]] == ["network"]


def _broken(folder, kind):
    """A folder of which no contract is drafted."""
    path = write_model(folder / "net.onnx", 9, 2)
    model = onnx.load(path)
    if kind in {"nothing", "foreign"}:
        path.unlink()
        for name in ("a.txt", "deploy.yaml") * (kind == "foreign"):
            (folder / name).touch()
    elif kind == "contract":
        (folder / "contract.toml").write_text("mine", encoding="utf-8")
    elif kind == "broken":
        path.write_bytes(b"no model")
    elif kind == "free":
        model.graph.input[0].type.tensor_type.shape.dim[1].dim_param = "width"
        onnx.save(model, path)
    else:
        tensor = model.graph.initializer[0]
        tensor.ClearField("raw_data")
        tensor.data_location = onnx.TensorProto.EXTERNAL
        entry = tensor.external_data.add()
        entry.key, entry.value = "location", "../secret.bin"
        path.write_bytes(model.SerializeToString())


@every_case(
    ("kind", "says"),
    [
        ("nothing", "no contract and no model"), ("foreign", "deploy.yaml` reads another stack's"),
        ("contract", "--force"), ("broken", "onnx"),
        ("free", "of a free width, expected fixed axes"), ("weights", "weights that are not in the model's folder"),
    ],
)  # fmt: skip
def test_what_cannot_be_drafted_is_said(tmp_path, command, kind, says):
    """A draft over a finished contract would lose it; weights from outside the folder are the build machine's."""
    _broken(tmp_path, kind)
    answer = command("init", tmp_path)
    assert (answer.status, answer.err.count("\n")) == (2, 1)
    assert says in answer.err


def _games_model(path, kind):
    """A network of three numbers and two answers as Godot RL Agents writes it, or Unity's ML-Agents; returns its weights."""
    weights = np.random.default_rng(8).normal(size=(3, 2)).astype("f")
    takes, gives, nodes = "float[batch, 3] obs", "float[batch, 2] moves", "moves = MatMul(obs, w)"
    if kind == "godot":
        takes, gives = f"{takes}, float[batch] state_ins", f"{gives}, float[batch] state_outs"
        nodes += " state_outs = Identity(state_ins)"
    else:
        gives = f"float[1] version, float[batch, 2] again, {gives}"
        nodes += " version = Identity(three) again = Identity(moves)"
    saved(path, f"({takes}) => ({gives}) {{ {nodes} }}", w=weights, three=np.array([3.0], "f"))
    return weights


@pytest.mark.parametrize(
    ("kind", "left_out"), [("godot", "state_ins, state_outs"), ("unity", "version, again")], ids=["godot", "unity"]
)
def test_what_a_games_model_has_beside_its_answers_is_left_out(tmp_path, command, kind, left_out):
    """Every model of Godot RL Agents has an input of one axis that nothing needs; Unity's have outputs of constants."""
    weights = _games_model(tmp_path / "net.onnx", kind)
    gyro = np.random.default_rng(9).normal(size=(FRAMES, 3)).astype("f")
    np.savez(tmp_path / "run.npz", gyro=gyro, obs=2 * gyro, moves=2 * gyro @ weights)
    made = command("init", tmp_path)
    assert f"left out, since no answer needs them: {left_out} " in made.out, made.out
    root = tomllib.loads((tmp_path / "contract.toml").read_text(encoding="utf-8"))
    assert root["networks"]["policy"] == {"file": "net.onnx", "inputs": {"obs": "obs"}, "outputs": {"moves": "moves"}}
    assert "fps" not in root
    assert command("check", tmp_path / "contract.toml").status == 0
    answer = command("explain", tmp_path / "run.npz", "--contract", tmp_path / "contract.toml")
    assert (answer.status, "no stage depends on it" in answer.out) == (0, True), answer.out


@pytest.mark.parametrize(
    ("inputs", "outputs", "says"),
    [
        ('["obs"]', '["moves"]', None),
        ('["obs", "memory"]', '["moves"]', None),
        ('{ obs = "obs", state_ins = "memory" }', '{ moves = "moves" }', None),
        ('["obs"]', '["answers"]', None),
        ('{ state_ins = "memory" }', '{ moves = "moves" }', "RP713"),
        ('["obs", "memory"]', '["moves", "memory_out"]', None),
        ('["obs"]', '["moves", "memory_out"]', "RP713"),
        ('["obs", "gyro"]', '["moves"]', "RP714"),
    ],
)
def test_a_models_tensors_are_bound_by_name_or_left_out_where_no_answer_needs_them(
    tmp_path, command, inputs, outputs, says
):
    """By hand too; what an answer is made of must stay bound, and one axis alone is one number a row."""
    weights = _games_model(tmp_path / "net.onnx", "godot")
    names = [word.strip('[]" ') for word in outputs.split(",")] if outputs[0] == "[" else ["moves"]
    stages = "\n".join(
        f'[[stages]]\nname = "{name}"\noperation = "network"\nsize = {1 if "memory" in name else 2}' for name in names
    )
    (tmp_path / "hand.toml").write_text(
        'format = "rigpact-contract"\nversion = 1\nname = "hand"\nfps = 60\n'
        'given = [{ name = "obs", size = 3 }, { name = "memory", size = 1 }, { name = "gyro", size = 3 }]\n'
        f'{stages}\n[networks.policy]\nfile = "net.onnx"\ninputs = {inputs}\noutputs = {outputs}\n',
        encoding="utf-8",
    )
    answer = command("check", tmp_path / "hand.toml")
    assert (answer.status, "RP71" in answer.out) == ((0, False) if says is None else (1, True)), answer.out
    assert says is None or says in answer.out, answer.out
    if says is None:
        run = dict.fromkeys(("obs", "gyro"), np.ones((FRAMES, 3), "f")) | {"memory": np.ones((FRAMES, 1), "f")}
        held = {name: run["memory"] if "memory" in name else run["obs"] @ weights for name in names}
        np.savez(tmp_path / "run.npz", **run, **held)
        ran = command("explain", tmp_path / "run.npz", "--contract", tmp_path / "hand.toml")
        assert ran.status == 0, ran.out + ran.err


def test_only_the_files_that_are_named_are_drafted_from(tmp_path, command):
    """Old recordings lie beside the new one, and a draft states what its recording does."""
    (tmp_path / "project").mkdir()
    folder = _project(tmp_path / "project")
    assert command("init", folder / "net.onnx").status == 0
    assert "engine.npz" not in (folder / "contract.toml").read_text(encoding="utf-8")
    apart = command("init", folder / "net.onnx", write_model(tmp_path / "other.onnx", 9, 2))
    assert (apart.status, "files of one folder" in apart.err) == (2, True)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--status", "--fps", 50), "--fps: found --status"),
        (("--onnx", "net.onnx", "--recording", "r.npz"), "--onnx, --recording: found no --from"),
        (("net.onnx", "--from", "deploy.yaml"), "files: found --from deploy.yaml"),
        (("nte.onnx",), "nte.onnx: found nothing, expected a project's folder"),
        (("--status", "nowhere"), "nowhere: found nothing, expected a project's folder"),
    ],
)
def test_an_option_of_another_use_is_refused(words, says, tmp_path, command, monkeypatch):
    """An option that is passed over looks as if it had been obeyed."""
    write_model(tmp_path / "net.onnx", 9, 2)
    monkeypatch.chdir(tmp_path)
    answer = command("init", *words)
    assert (answer.status, answer.err.count("\n"), len(list(tmp_path.iterdir()))) == (2, 1, 1)
    assert says in answer.err
