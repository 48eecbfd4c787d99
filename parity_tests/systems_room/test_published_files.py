"""Files as the upstream projects write them: to a verdict with the commands of each page, in a folder with nothing else."""

import json
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from safetensors.numpy import load_file

from rigpact.contract.pages.registry import find_system
from rigpact.reference_runtime.recordings.trace import read_trace
from rigpact.reports.command_line import run_command_line

from . import published_files

HOSTED = ("neurarig", "blender_ik", "rig_inversion", "imu_pose")
Run = Callable[..., tuple[int, str]]


@pytest.fixture
def rigpact(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command in an empty folder: exit status, what it says."""
    monkeypatch.chdir(tmp_path)

    def run(*words: object) -> tuple[int, str]:
        status = run_command_line([str(word) for word in words])
        answer = capsys.readouterr()
        return status, answer.out + answer.err

    return run


def _committed(checkout: Path, system: str, name: str) -> dict[str, np.ndarray]:
    return load_file(checkout / "fixtures" / "bundles" / system / f"{name}.trace.safetensors")


def _run_of(rigpact: Run, checkout: Path, system: str) -> dict[str, np.ndarray]:
    """What the committed model does on the committed clip."""
    folder = checkout / "fixtures" / "bundles" / system
    shutil.copy(folder / "model.onnx", "model.onnx")
    clip = folder / "clip.trace.safetensors"
    drive = (
        "run",
        "--contract",
        folder / f"{system}.json",
        clip,
        "--onnx",
        "model.onnx",
        "-o",
        "own.trace.safetensors",
    )
    assert rigpact(*drive)[0] == 0
    stages = dict(read_trace(Path("own.trace.safetensors")).stages)
    Path("own.trace.safetensors").unlink()
    return stages


def _blender(checkout: Path, _rigpact: Run) -> None:
    labels = _committed(checkout, "blender_ik", "labels")
    published_files.training_data(Path("training_data/training_data.npz"), labels["context"], labels["rotations"])
    Path("training_data/weights").mkdir()
    np.save("training_data/weights/best.npy", {"W1": np.zeros((50, 128))}, allow_pickle=True)


def _toy(checkout: Path, _rigpact: Run) -> None:
    labels, clip = _committed(checkout, "rig_inversion", "labels"), _committed(checkout, "rig_inversion", "clip")
    published_files.toy_dataset(Path("dataset"), labels["rig_parameters"], labels["mesh"], clip["mesh"])


def _window(checkout: Path, rigpact: Run) -> None:
    published_files.window(Path("window.npz"), _run_of(rigpact, checkout, "imu_pose"))


def _session(checkout: Path, rigpact: Run) -> None:
    stages = _run_of(rigpact, checkout, "neurarig")
    np.savez("session.npz", packet=stages["packet"], reply=stages["reply"])


LIES_THERE = {"blender_ik": _blender, "rig_inversion": _toy, "imu_pose": _window, "neurarig": _session}


@pytest.mark.parametrize("system", HOSTED)
def test_the_pages_commands_give_a_verdict(rigpact: Run, checkout: Path, system: str) -> None:
    """Whoever has to write a converter first goes away."""
    LIES_THERE[system](checkout, rigpact)
    lines = published_files.console(checkout / "docs" / "systems.md", system)
    assert 1 < len(lines) <= 3
    for line in lines:
        status, said = rigpact(*shlex.split(line))
        assert status == 0, (line, said)
    assert "PASS" in said or "AGREES" in said.upper(), said


@pytest.mark.parametrize("system", HOSTED)
def test_a_contract_to_start_from_passes(rigpact: Run, system: str) -> None:
    """A first file with eight errors in it is the last file."""
    assert rigpact("show", system, "--write-contract", "contract.json")[0] == 0
    status, said = rigpact("check", "contract.json")
    assert status == 0, said
    assert set(find_system(system).template()) != set()


def test_what_is_not_declared_is_still_found(rigpact: Run, checkout: Path) -> None:
    """A reader of published files that passes whatever it reads is not a check."""
    _blender(checkout, rigpact)
    assert rigpact("init")[0] == 0
    status, said = rigpact("check", "blender_ik.json", "training_data/training_data.npz")
    assert (status, "RP728" in said) == (1, True)


def test_init_passes_over_a_pickle_and_names_weights(rigpact: Run, checkout: Path) -> None:
    """A pickle that is opened to look what it is has run already."""
    _blender(checkout, rigpact)
    Path("rig2mesh.pth.tar").write_bytes(b"PK")
    status, said = rigpact("init")
    assert status == 0
    assert "training_data/weights/best.npy is passed over" in said
    assert "rig2mesh.pth.tar is passed over: a pickle" in said
    assert "torch.onnx.export" in said


def test_init_without_a_contract_still_says_what_lies_there(rigpact: Run) -> None:
    """A checkout of the server holds a model and schemas: the way from there to a verdict begins with a contract."""
    Path("Tests/Datasets").mkdir(parents=True)
    Path("Tests/Datasets/trained_model.pt").write_bytes(b"PK")
    Path("Tests/Datasets/Foot_IK.json").write_text('{"Profile": "Foot_IK", "Schema": {"Inputs": []}}', encoding="utf-8")
    status, said = rigpact("init")
    assert status == 2
    assert "Tests/Datasets/trained_model.pt is passed over: a pickle" in said
    assert "torch.onnx.export" in said
    assert "rigpact show NAME --write-contract" in said


def test_init_writes_no_contract_where_two_systems_fit(rigpact: Run, checkout: Path) -> None:
    """Of two guesses, neither is written down as a fact."""
    _toy(checkout, rigpact)
    _blender(checkout, rigpact)
    status, said = rigpact("init")
    assert status == 2, said
    assert not list(Path().glob("*.json"))


def test_a_batch_of_several_windows_is_refused(rigpact: Run, checkout: Path) -> None:
    """Windows that are read as one have seams, and a network that looks both ways sees them."""
    stages = _run_of(rigpact, checkout, "imu_pose")
    np.savez("batch.npz", imu_data=np.stack([stages["imu"]] * 2))
    assert rigpact("show", "imu_pose", "--write-contract", "imu_pose.json")[0] == 0
    status, said = rigpact("check", "imu_pose.json", "batch.npz")
    assert status != 0, said


def test_the_published_sample_in_json_becomes_a_recording(rigpact: Run) -> None:
    """Five samples of one sequence, as the project's own file nests them."""
    rows = np.random.default_rng(2).normal(size=(5, 6)).round(6)
    poses = [[0.0] * 10] * 5
    sequence = {"sequence_id": 1, "first_5_timesteps": {"poses_first_10_dims": poses, "imu_data_full": rows.tolist()}}
    sample = {"dataset_info": {"exercise_type": "squat"}, "sample_sequences": [{"form_label": 1}, sequence]}
    Path("sample.json").write_text(json.dumps(sample), encoding="utf-8")
    place = "sample_sequences[1].first_5_timesteps"
    status, said = rigpact("convert", "sample.json", "--below", place, "-o", "window.npz")
    assert status == 0, said
    assert np.array_equal(np.load("window.npz")["imu_data_full"], rows)
    assert rigpact("show", "imu_pose", "--write-contract", "imu_pose.json")[0] == 0
    status, said = rigpact("check", "imu_pose.json", "window.npz")
    assert (status, "PASS" in said) == (0, True), said
    status, said = rigpact("convert", "sample.json", "--below", "nowhere", "-o", "other.npz")
    assert (status, "sample_sequences[1].first_5_timesteps.imu_data_full" in said) == (2, True)


def test_a_saved_dictionary_of_tensors_becomes_a_recording(rigpact: Run, checkout: Path) -> None:
    """`torch.save(output)` is what a notebook keeps."""
    torch = pytest.importorskip("torch", reason="the extra [training] is not installed")
    stages = _run_of(rigpact, checkout, "imu_pose")
    published_files.window(Path("by_hand.npz"), stages)
    torch.save({name: torch.from_numpy(rows) for name, rows in np.load("by_hand.npz").items()}, "output.pt")
    np.savez("window.npz", **torch.load("output.pt"))
    assert rigpact("show", "imu_pose", "--write-contract", "imu_pose.json")[0] == 0
    status, said = rigpact("explain", "window.npz", "--contract", "imu_pose.json", "--onnx", "model.onnx")
    assert status == 0, said


def _plugin_network(path: Path) -> None:
    """Three linear heads behind one layer, as ONNX."""
    from onnx import TensorProto, helper, numpy_helper

    random = np.random.default_rng(4)
    widths = {"pelvis": 7, "leg_r": 21, "leg_l": 21}
    arrays = {
        "W": random.normal(size=(26, 16)),
        **{f"W_{name}": random.normal(size=(16, n)) for name, n in widths.items()},
    }
    nodes = [helper.make_node("MatMul", ["frame", "W"], ["sum"]), helper.make_node("Elu", ["sum"], ["hidden"])]
    nodes += [helper.make_node("MatMul", ["hidden", f"W_{name}"], [name]) for name in widths]
    graph = helper.make_graph(
        nodes,
        "heads",
        [helper.make_tensor_value_info("frame", TensorProto.FLOAT, ["rows", 26])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["rows", width]) for name, width in widths.items()],
        [numpy_helper.from_array(array.astype(np.float32), name) for name, array in arrays.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    path.write_bytes(model.SerializeToString())


@pytest.mark.parametrize("swapped", [False, True])
def test_the_plug_ins_protocol_is_a_declared_contract(rigpact: Run, checkout: Path, swapped: bool) -> None:
    """26 to 49 floats, three heads: the legs swapped in the reply are found and named."""
    shutil.copy(checkout / "fixtures" / "bundles" / "neurarig" / "neurarig_plugin.toml", "plugin.toml")
    _plugin_network(Path("heads.onnx"))
    frames = np.random.default_rng(5).normal(size=(40, 26)).astype(np.float32)
    session = onnxruntime.InferenceSession("heads.onnx", providers=["CPUExecutionProvider"])
    pelvis, leg_r, leg_l = session.run(None, {"frame": frames})
    legs = (leg_l, leg_r) if swapped else (leg_r, leg_l)
    np.savez("session.npz", packet=frames, reply=np.hstack([pelvis, *legs]))
    status, said = rigpact("explain", "session.npz", "--contract", "plugin.toml", "--onnx", "heads.onnx")
    assert status == (1 if swapped else 0), said
    assert ("reply.order" in said) == swapped
