"""`rigpact init --contract`: a first contract from a model, a recording and statistics that lie in a folder."""

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from .foreign_files import weights_of, write_model

Command = Callable[..., Any]
FRAMES = 20


def _project(folder: Path, *, with_statistics: bool = True) -> Path:
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


def _drafted(command: Command, folder: Path) -> tuple[dict[str, Any], str]:
    made = command("init", folder, "--contract")
    assert made.status == 0, made.err
    text = (folder / "contract.toml").read_text(encoding="utf-8")
    return tomllib.loads(text), text


def test_a_draft_holds_what_the_files_show_and_agrees_with_the_engine(tmp_path: Path, command: Command) -> None:
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


def test_a_trace_of_the_engine_is_a_recording_too(tmp_path: Path, command: Command) -> None:
    """Who has put the recorder into the engine first has a trace, and no arrays: its header must not stop the draft."""
    folder = _project(tmp_path)
    arrays = dict(np.load(folder / "engine.npz"))
    of_arrays, _ = _drafted(command, folder)
    for name in ("engine.npz", "contract.toml"):
        (folder / name).unlink()
    times = arrays.pop("time").tolist()
    widths = {name: rows.shape[1] for name, rows in arrays.items()}
    entries: list[dict[str, Any]] = [
        {"format": "rigpact-trace", "version": 1, "fps": 50, "mode": "teacher", "system": "net", "stages": widths}
    ]
    for frame, time in enumerate(times):
        stages = {name: rows[frame].tolist() for name, rows in arrays.items()}
        entries.append({"frame": frame, "time": time, "stages": stages})
    (folder / "engine.trace.jsonl").write_text("\n".join(map(json.dumps, entries)) + "\n", encoding="utf-8")
    of_trace, text = _drafted(command, folder)

    assert "engine.trace.jsonl" in text.partition("\n\n")[2].splitlines()[0]
    assert of_trace == {**of_arrays, "name": "net"}  # as the trace says: under another name it would be refused


def test_a_model_alone_leaves_its_inputs_open(tmp_path: Path, command: Command) -> None:
    """Without a recording nothing is known of the input; the draft must not pretend."""
    write_model(tmp_path / "net.onnx", 9, 2)
    root, text = _drafted(command, tmp_path)

    assert root["given"] == [{"name": "obs", "size": 9, "left_open": ["operation"]}]
    assert "LEFT OPEN: write the stages that make obs" in text
    assert "LEFT OPEN: fps" in text
    assert command("check", tmp_path / "contract.toml").status == 0


def test_columns_in_another_order_are_found_where_they_stand(tmp_path: Path, command: Command) -> None:
    """The order of the columns in the file is not the order in the observation."""
    folder = _project(tmp_path, with_statistics=False)
    arrays = dict(np.load(folder / "engine.npz"))
    np.savez(
        folder / "engine.npz", **{name: arrays[name] for name in ("last", "time", "quat", "obs", "gyro", "actions")}
    )
    root, _ = _drafted(command, folder)

    (obs,) = [stage for stage in root["stages"] if stage["name"] == "obs"]
    assert obs["of"] == ["gyro", "quat", "last"]


def test_statistics_in_json_are_found_by_their_names(tmp_path: Path, command: Command) -> None:
    """Training sides write JSON; the word beside mean and std says what it belongs to."""
    folder = _project(tmp_path)
    arrays = dict(np.load(folder / "stats.npz"))
    (folder / "stats.npz").unlink()
    entries = {
        "obs_mean": arrays["mean"].tolist(),
        "obs_std": arrays["std"].tolist(),
        "mean": [0.0] * 9,
        "std": [1.0] * 9,
    }
    (folder / "norm.json").write_text(json.dumps(entries), encoding="utf-8")
    root, _ = _drafted(command, folder)

    assert root["numbers"]["obs_mean"] == {"file": "norm.json", "at": "obs_mean"}
    (obs,) = [stage for stage in root["stages"] if stage["name"] == "obs"]
    assert (obs["mean"], obs["std"]) == ("obs_mean", "obs_std")


def test_two_statistics_that_fit_are_not_chosen_from(tmp_path: Path, command: Command) -> None:
    """A wrong normaliser passes every check of widths."""
    write_model(tmp_path / "net.onnx", 9, 2)
    np.savez(tmp_path / "a.npz", run_mean=np.zeros(9), run_std=np.ones(9), walk_mean=np.ones(9), walk_std=np.ones(9))
    root, text = _drafted(command, tmp_path)

    assert "LEFT OPEN: several statistics of 9 numbers fit obs: run_mean, walk_mean" in text
    assert [stage["operation"] for stage in root["stages"]] == ["network"]


def test_names_of_the_metadata_become_the_names_of_the_answer(tmp_path: Path, command: Command) -> None:
    """actions[1] is looked up in a list; knee is read."""
    write_model(tmp_path / "net.onnx", 9, 2, {"joint_names": "hip,knee"})
    root, _ = _drafted(command, tmp_path)
    assert root["names"]["joint_names"] == ["hip", "knee"]
    assert root["stages"][-1]["names"] == "joint_names"


def test_a_mean_without_a_deviation_is_no_statistics(tmp_path: Path, command: Command) -> None:
    """Half a normaliser is none: a mean pose beside the model must not be subtracted from its input."""
    write_model(tmp_path / "net.onnx", 9, 2)
    np.savez(tmp_path / "pose.npz", mean_pose=np.zeros(9))
    (tmp_path / "more.json").write_text(json.dumps({"walk": {"mean": [0.0] * 9, "deep": {"std": [1.0] * 9}}}), "utf-8")
    root, _ = _drafted(command, tmp_path)

    assert [stage["operation"] for stage in root["stages"]] == ["network"]


def test_numbers_of_several_lengths_are_no_recording(tmp_path: Path, command: Command) -> None:
    """A table of settings beside the model has no frames: the next file is looked at."""
    folder = _project(tmp_path)
    np.savez(folder / "a_settings.npz", gains=np.ones(2), limits=np.ones((3, 2)))
    root, text = _drafted(command, folder)

    assert "engine.npz" in text.partition("\n\n")[2].splitlines()[0]
    assert {"name": "last", "size": 2, "carried": "actions", "start": "zeros"} in root["given"]


def test_an_answer_that_is_the_input_again_is_denormalised_once(tmp_path: Path, command: Command) -> None:
    """A network that predicts its own input has one pair of statistics for both sides."""
    write_model(tmp_path / "net.onnx", 9, 9)
    np.savez(tmp_path / "stats.npz", obs_mean=np.zeros(9), obs_std=np.ones(9))
    root, _ = _drafted(command, tmp_path)

    assert [name for name in root["numbers"] if name.endswith("mean")] == ["obs_mean"]


def test_a_width_that_only_the_run_knows_is_not_drafted(tmp_path: Path, command: Command) -> None:
    """A contract of a free width would accept every recording."""
    path = write_model(tmp_path / "net.onnx", 9, 2)
    model = onnx.load(path)
    model.graph.input[0].type.tensor_type.shape.dim[1].dim_param = "width"
    onnx.save(model, path)
    answer = command("init", tmp_path, "--contract")
    assert (answer.status, answer.err.count("\n")) == (2, 1)
    assert "of a free width, expected fixed axes" in answer.err


def test_a_model_without_all_its_weights_is_not_opened(tmp_path: Path, command: Command) -> None:
    """Weights from outside the folder would be read from the build machine."""
    path = write_model(tmp_path / "net.onnx", 9, 2)
    model = onnx.load(path)
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    entry = tensor.external_data.add()
    entry.key, entry.value = "location", "../secret.bin"
    path.write_bytes(model.SerializeToString())
    answer = command("init", tmp_path, "--contract")
    assert (answer.status, answer.err.count("\n")) == (2, 1)
    assert "weights that are not in the model's folder" in answer.err


@pytest.mark.parametrize("kind", ["nothing", "contract", "broken"])
def test_what_cannot_be_drafted_is_said(tmp_path: Path, command: Command, kind: str) -> None:
    """A draft over a finished contract would lose it."""
    if kind != "nothing":
        write_model(tmp_path / "net.onnx", 9, 2)
    if kind == "contract":
        (tmp_path / "contract.toml").write_text("mine", encoding="utf-8")
    if kind == "broken":
        (tmp_path / "net.onnx").write_bytes(b"no model")
    answer = command("init", tmp_path, "--contract")

    assert answer.status == 2
    assert {"nothing": "an .onnx file", "contract": "--force", "broken": "onnx"}[kind] in answer.err
    assert answer.err.count("\n") == 1


def test_a_file_is_no_folder_of_a_project(tmp_path: Path, command: Command) -> None:
    """Given the model itself, init must not look for others beside it."""
    answer = command("init", write_model(tmp_path / "net.onnx", 9, 2), "--contract")
    assert (answer.status, answer.err.count("\n")) == (2, 1)
