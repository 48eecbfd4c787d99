"""`rigpact import` of weights: torch's files and arrays become the model that torch evaluates; nothing of a file runs."""

import io
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

from rigpact.reports.importing.stacks.torch_weights import arrays_of

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


class Stranger(nn.Module):  # type: ignore[misc]
    """A TorchScript that writes a file where it is loaded: `torch.jit.load` runs `__setstate__`."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.eye(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Nothing that matters."""
        return x @ self.weight

    @torch.jit.export
    def __getstate__(self) -> tuple[torch.Tensor, bool]:
        """What a reader hands to the code of the file."""
        return self.weight, self.training

    @torch.jit.export
    def __setstate__(self, state: tuple[torch.Tensor, bool]) -> None:
        """Write a file of 16 bytes."""
        self.weight = state[0] + torch.from_file("opened", True, 4).sum()
        self.training = state[1]


def test_the_code_of_a_torchscript_does_not_run(
    command: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A checkpoint of a pull request that is imported on a build machine writes a file of its author's choice."""
    monkeypatch.chdir(tmp_path)
    torch.jit.script(Stranger()).save("stranger.pt")
    (tmp_path / "opened").unlink(missing_ok=True)
    answer = command("import", "stranger.pt", "--hidden", "relu", "-o", "model.onnx")
    assert [each.name for each in tmp_path.iterdir()] == ["stranger.pt"]
    assert answer.status == 2
    assert "no plain weights" in answer.err


def _calls(module: str, name: str) -> bytes:
    """A pickle, as `pickle.loads` runs it: the name is imported and called with one text."""
    return b"\x80\x02c" + f"{module}\n{name}\n".encode() + b"X\x06\x00\x00\x00opened\x85R."


@pytest.mark.parametrize(
    "content",
    [
        _calls("os", "mkdir"),
        _calls("pathlib", "Path.touch"),
        _calls("__torch__.os", "mkdir").replace(b"__torch__.os", b"__torch__\nos"),
        b"\x80\x02c__main__\nA\n)\x81.",
        b"\x80\x02(X\x06\x00\x00\x00openedios\nmkdir\n.",  # INST
        b"\x80\x02\x82\x01.",  # EXT1
        b"\x80\x02]2.",  # DUP
        b"(" * 9 + b"t" * 20 + b".",
        b"\x80\x02}K\x01s.",
        b"\x80\x02h\x05.",
        b"\x80\x02]q\x00h\x00a.",
        b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(K\x01tR.",
        b"\x80\x02X\x01\x00\x00\x00aQ.",
    ],
)
def test_a_pickle_is_read_as_data(
    command: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    """`data.pkl` of a model from the internet names whatever its author likes."""
    monkeypatch.chdir(tmp_path)
    with zipfile.ZipFile("w.pt", "w") as archive:
        archive.writestr("w/data.pkl", content)
    answer = command("import", "w.pt", "--hidden", "relu", "-o", "model.onnx")
    assert (answer.status, answer.err.count("error:"), "Traceback" in answer.err) == (2, 1, False)
    assert [each.name for each in tmp_path.iterdir()] == ["w.pt"]


@pytest.mark.parametrize("kind", ["float64", "float16", "bfloat16"])
def test_numbers_of_every_precision_are_those_of_torch(tmp_path: Path, kind: str) -> None:
    """A view that is read from the start of its storage is another layer of the same shape."""
    rows = torch.arange(24).reshape(4, 6).to(getattr(torch, kind))
    held = {"turned": rows.T, "part": rows[1:3, ::2], "one": rows[2, 3], "none": rows[:0]}
    torch.save({"state": held, "epoch": 3}, tmp_path / "w.pt")
    found = arrays_of(tmp_path / "w.pt")
    assert list(found) == [f"state.{name}" for name in held]
    for name, tensor in held.items():
        np.testing.assert_array_equal(found[f"state.{name}"], tensor.float().numpy())


def test_a_small_file_fills_no_memory(command: Callable[..., Any], tmp_path: Path) -> None:
    """A tensor whose stride is 0 has as many numbers as its author says, in a file of a kilobyte."""
    torch.save({"weight": torch.ones(1, 1).expand(1 << 20, 1 << 20)}, tmp_path / "w.pt")
    answer = command("import", tmp_path / "w.pt", "--hidden", "relu", "-o", tmp_path / "m.onnx")
    assert answer.status == 2
    assert "times the size of the file" in answer.err


def _damaged_archive() -> bytes:
    """An archive whose list of members points elsewhere."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("w/data.pkl", b"}.")
    return stream.getvalue().replace(b"PK\x03\x04", b"PK\x03\x05")


def _misshapen() -> bytes:
    """An array of numpy that says (True,) of its shape."""
    stream = io.BytesIO()
    np.save(stream, np.ones(1))
    array = stream.getvalue().replace(b"(1,), }   ", b"(True,), }")
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("W1.npy", array)
    return stream.getvalue()


def _refused(path: Path) -> dict[str, Callable[[], object]]:
    return {
        "a pickle": lambda: path.with_suffix(".pt").write_bytes(pickle.dumps(Evil())),
        "a whole module": lambda: torch.save(_network(nn.ReLU), path.with_suffix(".pt")),
        "a pickle in a .npy": lambda: np.save(path.with_suffix(".npy"), {"W1": np.eye(3)}, allow_pickle=True),
        "another network": lambda: torch.save(nn.Conv1d(3, 4, 5).state_dict(), path.with_suffix(".pt")),
        "layers that do not fit": lambda: np.savez(path.with_suffix(".npz"), W1=np.ones((3, 4)), W2=np.ones((7, 2))),
        "no matrix": lambda: np.savez(path.with_suffix(".npz"), mean=np.ones(3)),
        "cut off": lambda: path.with_suffix(".pt").write_bytes(b"PK\x03\x04 and no more"),
        "a damaged archive": lambda: path.with_suffix(".pt").write_bytes(_damaged_archive()),
        "an array with a word for its shape": lambda: path.with_suffix(".npz").write_bytes(_misshapen()),
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
