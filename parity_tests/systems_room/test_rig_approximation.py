"""The approximation that upstream trains first and keeps, and rigs of your own: declared contracts over upstream's data sets."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from safetensors.numpy import load_file

from rigpact.reports.command_line import run_command_line

from ..measuring.scores.upstream.rig_inversion_side import meshes_of, transform_of

Command = Callable[..., tuple[int, str]]
ROWS = 300
"""The published script draws 1000; each mistake shows in every row."""


@pytest.fixture
def rigpact(capsys: pytest.CaptureFixture[str]) -> Command:
    """Run a command in this process: exit status, stdout and stderr."""

    def run(*words: object) -> tuple[int, str]:
        status = run_command_line([str(word) for word in words])
        said = capsys.readouterr()
        return status, said.out + said.err

    return run


@pytest.fixture(scope="module")
def contract(checkout: Path) -> Path:
    """The committed contract of the approximation, beside its model."""
    return checkout / "fixtures" / "bundles" / "rig_inversion" / "rig_inversion_approximation.toml"


def data_set(folder: Path, mistake: str = "") -> Path:
    """dataset.npz as generate_toy_dataset.py writes it: arr_0 (N, 6) and arr_1 (N, 8, 3), float64."""
    parameters = np.random.default_rng(11).random((ROWS, 6))
    np.savez(folder / "dataset.npz", parameters, meshes_of(transform_of(parameters, mistake), mistake))
    return folder / "dataset.npz"


def test_a_published_data_set_passes_check_run_diff_and_explain(
    rigpact: Command, contract: Path, tmp_path: Path
) -> None:
    """The approximation is what a studio ships; a tool that knows the inversion alone leaves it unwatched."""
    data, run = data_set(tmp_path), tmp_path / "run.trace.safetensors"
    assert rigpact("check", contract, data)[0] == 0
    assert rigpact("run", "--contract", contract, data, "-o", run)[0] == 0
    assert rigpact("diff", run, data, "--contract", contract, "--stage", "rig_mesh")[0] == 0
    status, said = rigpact("explain", data, "--contract", contract)
    assert (status, "AGREES" in said) == (0, True), said
    rows, arrays = load_file(run), np.load(data)
    truth = arrays["arr_1"].reshape(ROWS, 24)
    assert rows["rig_mesh"] == pytest.approx(truth, abs=1e-6)
    session = onnxruntime.InferenceSession(contract.parent / "approximation.onnx", providers=["CPUExecutionProvider"])
    answer = session.run(None, {session.get_inputs()[0].name: arrays["arr_0"].astype(np.float32)})[0]
    error = np.linalg.norm((answer - truth).reshape(ROWS, 8, 3), axis=2)
    assert rows["vertex_error"] == pytest.approx(error, abs=1e-5)


@pytest.mark.parametrize(
    ("mistake", "words"),
    [
        ("capital_letters", "rotation.reads = XYZ_rad"),
        ("left_handed", "angles.scale = negated"),
        ("mended_cube", "scaled_7.scale = none"),
    ],
)
def test_a_data_set_of_another_rig_is_refused(
    rigpact: Command, contract: Path, tmp_path: Path, mistake: str, words: str
) -> None:
    """The network learns whatever rig the export had that day; nothing crashes."""
    status, said = rigpact("explain", data_set(tmp_path, mistake), "--contract", contract)
    assert (status, words in said) == (1, True), said


def test_the_answers_of_an_engine_with_another_activation_are_named(
    rigpact: Command, contract: Path, tmp_path: Path
) -> None:
    """An engine that writes the layers by hand takes ReLU for LeakyReLU; every mesh is a little off."""
    import onnx
    from onnx import numpy_helper

    graph = onnx.load(str(contract.parent / "approximation.onnx")).graph
    arrays = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    rows = parameters = np.random.default_rng(3).random((64, 6)).astype(np.float32)
    layers = [node for node in graph.node if node.op_type == "Gemm"]
    for place, node in enumerate(layers):
        rows = rows @ arrays[node.input[1]].T + arrays[node.input[2]]
        rows = np.maximum(rows, 0.0) if place < len(layers) - 1 else rows
    np.savez(tmp_path / "engine.npz", arr_0=parameters, mesh=rows)
    status, said = rigpact("explain", tmp_path / "engine.npz", "--contract", contract)
    assert status == 1, said
    assert "with Relu in place of LeakyRelu" in said


OWN_RIG = """
import numpy as np

from rigpact.contract.declared.operation import Built, Operation
from rigpact.contract.systems.layout import FieldKind, tiled
from rigpact.reference_runtime.operations.rounding import gamma

NEUTRAL = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0])
SMILE = np.array([0.0, 0.1, 0.0, 0.2, 0.3, 0.0, 0.0, 0.0, 0.4])


def build(use):
    source = use.inputs[0]
    sense = use.choice("sense", {"added": 1.0, "subtracted": -1.0}, "whether the shape is added")

    def compute(frames):
        return NEUTRAL + sense.of(frames) * frames[source.name][:, :1].astype(float) * SMILE

    def bound(frames, rows, upstream):
        return np.full(rows.shape, gamma(4) * 2.0)

    fields = tiled(*((f"vertex_{i}", 3, FieldKind.POSITION, "", "") for i in range(3)))
    return Built(fields, compute, bound)


FACE = Operation("face", "a face of three vertices", build, {"sense": "added or subtracted"}, choices=("sense",))
"""
OWN_CONTRACT = """
format = "rigpact-contract"
version = 1
name = "face"
title = "A face"
fps = 30
given = [{ name = "controls", size = 1 }]
stages = [{ name = "mesh", operation = "face", of = "controls", sense = "added" }]

[recordings]
controls = "arr_0"
mesh = "arr_1"
"""


def test_a_rig_of_ones_own_takes_the_toys_place(rigpact: Command, tmp_path: Path) -> None:
    """Nobody ships the toy; the rig's forward function comes from a module of the studio."""
    (tmp_path / "face.py").write_text(OWN_RIG, encoding="utf-8")
    (tmp_path / "face.toml").write_text(OWN_CONTRACT, encoding="utf-8")
    controls = np.random.default_rng(5).random((40, 1))
    neutral, smile = [[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 0.1, 0], [0.2, 0.3, 0], [0, 0, 0.4]]
    for sign, status, words in ((1.0, 0, "AGREES"), (-1.0, 1, "mesh.sense = subtracted")):
        np.savez(tmp_path / "face.npz", controls, neutral + sign * controls[:, :, None] * np.array(smile))
        found, said = rigpact(
            "explain", tmp_path / "face.npz", "--contract", tmp_path / "face.toml", "--operations", tmp_path / "face.py"
        )
        assert (found, words in said) == (status, True), said
