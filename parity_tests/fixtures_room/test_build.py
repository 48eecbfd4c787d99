"""The bundle builder: same bytes twice, a graph that equals torch, no torch where none is needed."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("onnx")

import onnx
import onnxruntime
import torch

from rigpact.training.enemy_animation.bundle import build_bundle, small_plan
from rigpact.training.enemy_animation.exporter import export_model
from rigpact.training.enemy_animation.model import INPUT_NAMES, MotionModel

WIDTHS = {"state": 30, "cond": 7, "contacts": 2, "angvel": 9, "pose_hist": 54}


@pytest.fixture(scope="module")
def small_build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out: Path = tmp_path_factory.mktemp("small")
    build_bundle(out, small_plan(seed=3))
    return out


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.nightly
def test_two_builds_of_one_seed_have_the_same_bytes(small_build: Path, tmp_path: Path) -> None:
    """A bundle that differs on every build makes every regression comparison a false alarm."""
    build_bundle(tmp_path, small_plan(seed=3))
    first, second = contents(small_build), contents(tmp_path)
    assert sorted(first) == sorted(second)
    assert [name for name in first if first[name] != second[name]] == []


@pytest.mark.nightly
def test_another_seed_gives_other_statistics(small_build: Path, tmp_path: Path) -> None:
    """A seed that changes nothing would make the previous test meaningless."""
    build_bundle(tmp_path, small_plan(seed=4))
    assert (tmp_path / "norm_template.json").read_bytes() != (small_build / "norm_template.json").read_bytes()
    assert (tmp_path / "model.onnx").read_bytes() != (small_build / "model.onnx").read_bytes()


def test_no_unfinished_files_and_unix_line_ends(small_build: Path) -> None:
    """A half-written JSON loads as a parse error on someone else's machine."""
    files = contents(small_build)
    assert not [name for name in files if name.endswith(".part")]
    assert not [name for name, data in files.items() if name.endswith((".json", ".md")) and b"\r" in data]


@pytest.fixture(scope="module")
def random_model() -> MotionModel:
    torch.manual_seed(0)
    model: MotionModel = MotionModel(WIDTHS, output_width=18, hidden=16)
    model.eval()
    return model


@pytest.mark.parametrize("batch", [1, 2, 3, 17])
def test_the_graph_equals_torch_at_any_batch_size(random_model: MotionModel, batch: int) -> None:
    """A batch axis frozen at trace time broadcasts one character's pose to all of them."""
    generator = np.random.default_rng(batch)
    # Beyond 16 the graph clamps state and condition; the other three inputs pass.
    inputs = {
        name: (12.0 * generator.standard_normal((batch, WIDTHS[name]))).astype(np.float32) for name in INPUT_NAMES
    }
    session = onnxruntime.InferenceSession(export_model(random_model), providers=["CPUExecutionProvider"])
    (got,) = session.run(None, inputs)
    with torch.no_grad():
        want = random_model(*(torch.from_numpy(inputs[name]) for name in INPUT_NAMES)).numpy()
    # Dot products of at most 98 terms: float32 error below 98 * 2^-24 times the sum of |weight * value|, three layers.
    magnitude = 40.0 * max(1.0, float(np.abs(want).max()))
    np.testing.assert_allclose(got, want, rtol=0, atol=98 * 2.0**-24 * magnitude)


def test_state_and_condition_are_clamped_inside_the_graph(random_model: MotionModel) -> None:
    """Without the clamp one broken statistic throws the character across the map."""
    session = onnxruntime.InferenceSession(export_model(random_model), providers=["CPUExecutionProvider"])
    zeros = {name: np.zeros((1, WIDTHS[name]), np.float32) for name in INPUT_NAMES}
    for name in ("state", "cond"):
        at_limit, beyond = (
            session.run(None, {**zeros, name: np.full((1, WIDTHS[name]), v, np.float32)})[0] for v in (16.0, 1e6)
        )
        np.testing.assert_array_equal(at_limit, beyond)


def test_the_graph_is_what_the_engine_binds_by_position(small_build: Path) -> None:
    """The engine binds inputs by position: another order feeds contacts into the state."""
    model = onnx.load(small_build / "model.onnx")
    assert [item.name for item in model.graph.input] == ["state", "cond", "contacts", "angvel", "pose_hist"]
    assert [item.name for item in model.graph.output] == ["motion_pred"]
    assert [(entry.domain, entry.version) for entry in model.opset_import] == [("", 18)]
    shapes = [[d.dim_param or d.dim_value for d in item.type.tensor_type.shape.dim] for item in model.graph.input]
    assert shapes == [["B", 422], ["B", 7], ["B", 2], ["B", 138], ["B", 828]]
    assert not [item for item in model.graph.initializer if item.data_location == onnx.TensorProto.EXTERNAL]


def test_importing_the_package_does_not_import_torch() -> None:
    """Torch takes seconds and is optional: a command that needs no training must not need it."""
    code = "import sys, rigpact.fixtures; sys.exit('torch' in sys.modules or 'onnxruntime' in sys.modules)"
    root = Path(sys.modules["rigpact.fixtures"].__file__ or "").resolve().parents[2]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, check=False)
    assert done.returncode == 0
