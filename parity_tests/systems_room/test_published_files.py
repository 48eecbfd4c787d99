"""Files as the upstream projects write them, made without rigpact's writers: to a verdict with the commands of each page."""

import json
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import numpy_helper
from safetensors.numpy import load_file

from rigpact.contract.systems.layout import json_to_fields
from rigpact.reference_runtime.recordings.opened import read_trace

from ..every_case import every_case
from ..measuring.scores.upstream.rig_inversion_side import meshes_of, transform_of
from ..models import floats, saved
from .declared_runs import BUNDLES, SYSTEMS

Run = Callable[..., tuple[int, str]]
RIG, IMU = BUNDLES / "rig_inversion", BUNDLES / "imu_pose"


@pytest.fixture
def rigpact(command: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command in an empty folder: exit status, what it says."""
    monkeypatch.chdir(tmp_path)

    def run(*words: object) -> tuple[int, str]:
        answer = command(*words)
        return answer.status, answer.out + answer.err

    return run


def _run_of(rigpact: Run, system: str) -> dict[str, np.ndarray]:
    """What the committed model does on the committed clip."""
    folder = BUNDLES / system
    shutil.copy(folder / "model.onnx", "model.onnx")
    words = ("--contract", folder / f"{system}.json", folder / "clip.trace.safetensors", "--onnx", "model.onnx")
    assert rigpact("run", *words, "-o", "own.trace.safetensors")[0] == 0
    stages = dict(read_trace(Path("own.trace.safetensors")).stages)
    Path("own.trace.safetensors").unlink()
    return stages


def training_data(_rigpact: Run) -> None:
    """The add-on's data set: positions are the root's axes times the way from the hips, not their transpose."""
    labels = load_file(BUNDLES / "blender_ik" / "labels.trace.safetensors")
    told, forward, up = labels["context"].copy(), labels["context"][:, 30:33], labels["context"][:, 33:36]
    axes = np.stack([np.cross(forward, up), forward, up], axis=-1).astype(float)
    for place in range(0, 30, 6):
        way = np.einsum("tab,tb->ta", axes, labels["context"][:, place : place + 3])
        told[:, place : place + 3] = np.einsum("tab,tb->ta", axes, way)
    Path("training_data/weights").mkdir(parents=True)
    rest = {"test_inputs": told[:9], "train_ground_heights": np.zeros((9, 2))}
    np.savez("training_data/training_data.npz", train_inputs=told, train_outputs=labels["rotations"], **rest)
    np.save("training_data/weights/best.npy", {"W1": np.zeros((50, 128))}, allow_pickle=True)


def toy_dataset(_rigpact: Run) -> None:
    """`generate_toy_dataset.py`: float64, arrays without names."""
    labels, clip = (load_file(RIG / f"{name}.trace.safetensors") for name in ("labels", "clip"))
    Path("dataset").mkdir()
    meshes, anim = (rows["mesh"].reshape(-1, 8, 3).astype(float) for rows in (labels, clip))
    np.savez("dataset/dataset.npz", labels["rig_parameters"].astype(float), meshes)
    np.save("dataset/anim_4D.npy", anim)


def window(rigpact: Run) -> None:
    """The dictionary that the network answers, a batch of one window, beside its input."""
    stages = _run_of(rigpact, "imu_pose")
    rows, heads = (
        len(stages["imu"]),
        {name: stages[name][:1] for name in ("exercise_logits", "form_logits", "uncertainty")},
    )
    pose, spread = (stages[name].reshape(1, rows, 17, 3) for name in ("pose", "log_variance"))
    features = np.zeros((1, rows, 256))
    np.savez(
        "window.npz", imu_data=stages["imu"][None], pose_mean=pose, pose_log_var=spread, cnn_features=features, **heads
    )


def session(rigpact: Run) -> None:
    """Two datagrams a frame, as a client at the end of the wire keeps them."""
    stages = _run_of(rigpact, "neurarig")
    np.savez("session.npz", packet=stages["packet"], reply=stages["reply"])


LIES_THERE = {"blender_ik": training_data, "rig_inversion": toy_dataset, "imu_pose": window, "neurarig": session}


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_pages_commands_give_a_verdict(rigpact: Run, checkout: Path, system: str) -> None:
    """Whoever has to write a converter first goes away."""
    LIES_THERE[system](rigpact)
    below = (checkout / "docs" / "systems.md").read_text(encoding="utf-8").partition(f"\n## {system}\n")[2]
    lines = below.split("```console\n")[1].split("```")[0].strip().splitlines()
    assert 1 < len(lines) <= 3
    for line in lines:
        status, said = rigpact(*shlex.split(line.removeprefix("$ rigpact ")))
        assert status == 0, (line, said)
    assert "PASS" in said or "AGREES" in said.upper(), said


def test_init_passes_over_pickles_and_declares_what_it_finds(rigpact: Run) -> None:
    """A pickle that is opened to look what it is has run already; a reader that passes whatever it reads is no check."""
    training_data(rigpact)
    Path("rig2mesh.pth.tar").write_bytes(b"PK")
    status, said = rigpact("init")
    assert status == 0
    for words in (
        "training_data/weights/best.npy is passed over",
        "rig2mesh.pth.tar is passed over: a pickle",
        "torch.onnx.export",
    ):
        assert words in said
    status, said = rigpact("check", "blender_ik.json", "training_data/training_data.npz")
    assert (status, "RP728" in said) == (1, True)


def test_init_guesses_nothing(rigpact: Run) -> None:
    """Without a contract it says what lies there and where one begins; of two systems that fit, neither is written down."""
    Path("Tests").mkdir()
    Path("Tests/trained_model.pt").write_bytes(b"PK")
    Path("Tests/Foot_IK.json").write_text('{"Profile": "Foot_IK", "Schema": {"Inputs": []}}', encoding="utf-8")
    status, said = rigpact("init")
    assert status == 2
    assert "Tests/trained_model.pt is passed over: a pickle" in said
    assert "rigpact show NAME --write-contract" in said
    toy_dataset(rigpact)
    training_data(rigpact)
    assert rigpact("init")[0] == 2
    assert not list(Path().glob("*.json"))


def test_windows_of_imu_pose_are_read_as_projects_keep_them(rigpact: Run) -> None:
    """A sample nested in JSON, a saved dictionary of tensors; a batch of windows read as one would have seams."""
    window(rigpact)
    assert rigpact("show", "imu_pose", "--write-contract", "imu_pose.json")[0] == 0
    kept = np.load("window.npz")
    np.savez("batch.npz", imu_data=np.concatenate([kept["imu_data"]] * 2))
    assert rigpact("check", "imu_pose.json", "batch.npz")[0] != 0
    rows = np.random.default_rng(2).normal(size=(5, 6)).round(6)
    sequence = {"first_5_timesteps": {"poses_first_10_dims": [[0.0] * 10] * 5, "imu_data_full": rows.tolist()}}
    sample = {"dataset_info": {"exercise_type": "squat"}, "sample_sequences": [{"form_label": 1}, sequence]}
    Path("sample.json").write_text(json.dumps(sample), encoding="utf-8")
    place = "sample_sequences[1].first_5_timesteps"
    assert rigpact("convert", "sample.json", "--below", place, "-o", "nested.npz")[0] == 0
    assert np.array_equal(np.load("nested.npz")["imu_data_full"], rows)
    status, said = rigpact("check", "imu_pose.json", "nested.npz")
    assert (status, "PASS" in said) == (0, True), said
    status, said = rigpact("convert", "sample.json", "--below", "nowhere", "-o", "other.npz")
    assert (status, f"{place}.imu_data_full" in said) == (2, True)
    torch = pytest.importorskip("torch", reason="the extra [training] is not installed")
    torch.save({name: torch.from_numpy(values) for name, values in kept.items()}, "output.pt")
    np.savez("tensors.npz", **torch.load("output.pt"))
    assert rigpact("explain", "tensors.npz", "--contract", "imu_pose.json", "--onnx", "model.onnx")[0] == 0


def _plugin_network(path: Path) -> None:
    """Three linear heads behind one layer, as ONNX."""
    random, widths = np.random.default_rng(4), {"pelvis": 7, "leg_r": 21, "leg_l": 21}
    arrays = {
        "W": random.normal(size=(26, 16)),
        **{f"W_{name}": random.normal(size=(16, n)) for name, n in widths.items()},
    }
    heads = " ".join(f"{name} = MatMul(hidden, W_{name})" for name in widths)
    gives = ", ".join(floats(name, width) for name, width in widths.items())
    nodes = f"sum = MatMul(frame, W) hidden = Elu(sum) {heads}"
    stored = {name: array.astype(np.float32) for name, array in arrays.items()}
    saved(path, f"({floats('frame', 26)}) => ({gives}) {{ {nodes} }}", **stored)


def test_the_plug_ins_protocol_is_a_declared_contract(rigpact: Run) -> None:
    """26 to 49 floats, three heads: the legs swapped in the reply are found and named."""
    shutil.copy(BUNDLES / "neurarig" / "neurarig_plugin.toml", "plugin.toml")
    _plugin_network(Path("heads.onnx"))
    frames = np.random.default_rng(5).normal(size=(40, 26)).astype(np.float32)
    network = onnxruntime.InferenceSession("heads.onnx", providers=["CPUExecutionProvider"])
    pelvis, right, left = network.run(None, {"frame": frames})
    for legs, expected in (((right, left), (0, False)), ((left, right), (1, True))):
        np.savez("session.npz", packet=frames, reply=np.hstack([pelvis, *legs]))
        status, said = rigpact("explain", "session.npz", "--contract", "plugin.toml", "--onnx", "heads.onnx")
        assert (status, "reply.order" in said) == expected, said


# ---- the approximation that rig inversion trains first and keeps: a declared contract over the published data set

APPROXIMATION = RIG / "rig_inversion_approximation.toml"


def _data_set(mistake: str = "") -> dict[str, np.ndarray]:
    """dataset.npz as generate_toy_dataset.py writes it: arr_0 (N, 6) and arr_1 (N, 8, 3), float64."""
    parameters = np.random.default_rng(11).random((300, 6))
    np.savez("dataset.npz", parameters, meshes_of(transform_of(parameters, mistake), mistake))
    return dict(np.load("dataset.npz"))


def test_a_published_data_set_passes_check_run_diff_and_explain(rigpact: Run) -> None:
    """The approximation is what a studio ships; a tool that knows the inversion alone leaves it unwatched."""
    arrays, run = _data_set(), "run.trace.safetensors"
    assert rigpact("check", APPROXIMATION, "dataset.npz")[0] == 0
    assert rigpact("run", "--contract", APPROXIMATION, "dataset.npz", "-o", run)[0] == 0
    assert rigpact("diff", run, "dataset.npz", "--contract", APPROXIMATION, "--stage", "rig_mesh")[0] == 0
    status, said = rigpact("explain", "dataset.npz", "--contract", APPROXIMATION)
    assert (status, "AGREES" in said) == (0, True), said
    rows, truth = load_file(run), arrays["arr_1"].reshape(300, 24)
    assert rows["rig_mesh"] == pytest.approx(truth, abs=1e-6)
    network = onnxruntime.InferenceSession(RIG / "approximation.onnx", providers=["CPUExecutionProvider"])
    answer = network.run(None, {network.get_inputs()[0].name: arrays["arr_0"].astype(np.float32)})[0]
    error = np.linalg.norm((answer - truth).reshape(300, 8, 3), axis=2)
    assert rows["vertex_error"] == pytest.approx(error, abs=1e-5)


@every_case(("mistake", "words"), [
    ("capital_letters", "rotation.reads = XYZ_rad"),
    ("left_handed", "angles.scale = negated"),
    ("mended_cube", "scaled_7.scale = none"),
])  # fmt: skip
def test_a_data_set_of_another_rig_is_refused(rigpact: Run, mistake: str, words: str) -> None:
    """The network learns whatever rig the export had that day; nothing crashes."""
    _data_set(mistake)
    status, said = rigpact("explain", "dataset.npz", "--contract", APPROXIMATION)
    assert (status, words in said) == (1, True), said


# ---- IMU pose with the exercises and forms of another project: upstream's presets have one and ten

FORMS = ("excellent", "good", "fair", "poor", "dangerous")
TEN = tuple(f"exercise_{number}" for number in range(10))


def imu_contract(exercises: tuple[str, ...], **changed: Any) -> None:
    """The committed contract with other classes; changed: of every class's field."""
    document = json.loads((IMU / "imu_pose.json").read_text(encoding="utf-8"))
    for vector, names in (("exercise_logits", exercises), ("form_logits", FORMS)):
        one = document["vectors"][vector]["fields"][0]
        fields = [{**one, "name": name, "start": place, **changed} for place, name in enumerate(names)]
        document["vectors"][vector] = {"fields": fields, "layout_hash": json_to_fields(fields).layout_hash}
    Path("imu_pose.json").write_text(json.dumps(document), encoding="utf-8")


def _imu_model(count: int) -> str:
    """The committed network with another last layer of its exercises."""
    model = onnx.load(str(IMU / "model.onnx"))
    for array in model.graph.initializer:
        if array.name.startswith("exercise_head.3."):
            rows = np.resize(numpy_helper.to_array(array), (count, *array.dims[1:]))
            array.CopyFrom(numpy_helper.from_array(rows, array.name))
    output = next(each for each in model.graph.output if each.name == "exercise_logits")
    output.type.tensor_type.shape.dim[1].dim_value = count
    del model.graph.value_info[:]
    onnx.save(model, f"{count}.onnx")
    return f"{count}.onnx"


@every_case("exercises", [("squat",), TEN])
def test_a_project_names_its_own_exercises_and_forms(rigpact: Run, exercises: tuple[str, ...]) -> None:
    """A contract with only the three classes of the committed model would shut out every published preset."""
    imu_contract(exercises)
    model, run, contract = _imu_model(len(exercises)), "run.trace.safetensors", "imu_pose.json"
    assert rigpact("check", contract, model)[0] == 0
    assert rigpact("run", "--contract", contract, IMU / "clip.trace.safetensors", "--onnx", model, "-o", run)[0] == 0
    status, said = rigpact("explain", run, "--contract", contract, "--onnx", model)
    assert (status, "8 of 8 stages judged" in said) == (0, True)
    assert "dangerous" in rigpact("show", contract)[1]
    status, said = rigpact("check", IMU / contract, run)
    assert (status, f"exercise_logits: found {len(exercises)} numbers, expected 3" in said) == (2, True)


@every_case(("exercises", "changed", "status", "code"), [
    (("squat",), {"kind": "probability"}, 1, "RP702"),
    (("squat",), {"unit": "%"}, 1, "RP702"),
    (("squat",), {"space": "the newest sample"}, 1, "RP702"),
    (("squat", "squat"), {}, 1, "RP706"),
    ((), {}, 2, "RP022"),
    (("squat",), {}, 1, "RP714"),
])  # fmt: skip
def test_classes_have_their_own_names_and_nothing_else(
    rigpact: Run, exercises: tuple[str, ...], changed: dict[str, str], status: int, code: str
) -> None:
    """Probabilities in place of logits have the same number of numbers; the last is a model of ten under a contract of one."""
    imu_contract(exercises, **changed)
    found, said = rigpact("check", "imu_pose.json", *([_imu_model(10)] if code == "RP714" else []))
    assert (found, code in said) == (status, True), said
