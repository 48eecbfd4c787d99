"""`rigpact import` of weights: torch's files and arrays become the model that torch evaluates; nothing of a file runs."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

torch: Any = pytest.importorskip("torch", reason="the extra [training] is not installed")
nn = torch.nn


def _network(act: Callable[[], Any], last: Any = None) -> Any:
    torch.manual_seed(3)
    layers = [nn.Linear(6, 8), act(), nn.Linear(8, 8), act(), nn.Linear(8, 24)]
    return nn.Sequential(*layers, *([last] if last is not None else [])).eval()


def _checkpoint(model: Any, path: Path) -> None:
    state = {"model_state_dict": model.state_dict(), "model_shape": [8, 8], "num_ctrl": 6, "num_vertices": 8}
    torch.save(state, path)


def _turned_arrays(model: Any, path: Path) -> None:
    """W (in, out) and b, as a network of numpy has them; two square layers hide which way round they are."""
    arrays = {}
    for place, layer in enumerate(each for each in model if isinstance(each, nn.Linear)):
        arrays |= {f"W{place + 1}": layer.weight.detach().numpy().T, f"b{place + 1}": layer.bias.detach().numpy()}
    np.savez(path, **arrays)


WRITERS: dict[str, Callable[[Any, Path], None]] = {
    "state.pt": lambda model, path: torch.save(model.state_dict(), path),
    "old.pth": lambda model, path: torch.save(model.state_dict(), path, _use_new_zipfile_serialization=False),
    "rig2mesh.pth.tar": _checkpoint,
    "script.pt": lambda model, path: torch.jit.script(model).save(path),
    "turned.npz": _turned_arrays,
}
FUNCTIONS: dict[str, tuple[Callable[[], Any], Any, tuple[str, ...]]] = {
    "tanh": (nn.Tanh, None, ("--hidden", "tanh")),
    "leaky": (lambda: nn.LeakyReLU(0.1), nn.Sigmoid(), ("--hidden", "LeakyRelu:0.1", "--last", "Sigmoid")),
}


@pytest.mark.parametrize("functions", FUNCTIONS)
@pytest.mark.parametrize("name", WRITERS)
def test_the_model_answers_as_torch_does(
    command: Callable[..., Any], tmp_path: Path, name: str, functions: str
) -> None:
    """A matrix that is read the other way round fits where it is square, and every answer is another one."""
    act, last, options = FUNCTIONS[functions]
    model = _network(act, last)
    WRITERS[name](model, tmp_path / name)
    out = tmp_path / "model.onnx"
    answer = command("import", tmp_path / name, *options, "-o", out)
    assert answer.status == 0, answer.err
    assert "model 6-8-8-24" in answer.out
    rows = np.random.default_rng(1).normal(size=(5, 6)).astype(np.float32)
    found = onnxruntime.InferenceSession(out, providers=["CPUExecutionProvider"]).run(None, {"x": rows})[0]
    # float32 on both sides, sums of eight products of size one
    assert found == pytest.approx(model(torch.from_numpy(rows)).detach().numpy(), abs=1e-5)


class Evil:
    """A pickle that leaves a file where it is opened."""

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        """Write a file."""
        return Path.touch, (Path("opened"),)  # type: ignore[return-value]


def _refused(path: Path) -> dict[str, Callable[[], object]]:
    return {
        "a pickle": lambda: path.with_suffix(".pt").write_bytes(pickle.dumps(Evil())),
        "a whole module": lambda: torch.save(_network(nn.ReLU), path.with_suffix(".pt")),
        "a pickle in a .npy": lambda: np.save(path.with_suffix(".npy"), {"W1": np.eye(3)}, allow_pickle=True),
        "another network": lambda: torch.save(nn.Conv1d(3, 4, 5).state_dict(), path.with_suffix(".pt")),
        "layers that do not fit": lambda: np.savez(path.with_suffix(".npz"), W1=np.ones((3, 4)), W2=np.ones((7, 2))),
        "no matrix": lambda: np.savez(path.with_suffix(".npz"), mean=np.ones(3)),
        "cut off": lambda: path.with_suffix(".pt").write_bytes(b"PK\x03\x04 and no more"),
        "nothing": lambda: path.with_suffix(".pth").write_bytes(b""),
    }


@pytest.mark.parametrize("case", list(_refused(Path("x"))))
def test_what_is_no_chain_of_layers_is_refused(
    command: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    """A file of weights from the internet that runs when it is read is the oldest trick."""
    monkeypatch.chdir(tmp_path)
    _refused(tmp_path / "weights")[case]()
    (path,) = tmp_path.glob("weights.*")
    answer = command("import", path, "--hidden", "relu", "-o", "model.onnx")
    assert answer.status == 2, answer.out
    assert "Traceback" not in answer.err
    assert answer.err.count("error:") == 1
    assert sorted(each.name for each in tmp_path.iterdir()) == [path.name]


@pytest.mark.parametrize("options", [(), ("--hidden", "softmax"), ("--hidden", "Tanh:2"), ("--hidden", "LeakyRelu:x")])
def test_a_function_that_is_not_said_is_asked_for(
    command: Callable[..., Any], tmp_path: Path, options: tuple[str, ...]
) -> None:
    """A network with a guessed activation answers, and every answer is a little wrong."""
    np.savez(tmp_path / "w.npz", W1=np.ones((3, 4)), W2=np.ones((4, 2)))
    answer = command("import", tmp_path / "w.npz", *options, "-o", tmp_path / "m.onnx")
    assert answer.status == 2
    assert "LeakyRelu" in answer.err
