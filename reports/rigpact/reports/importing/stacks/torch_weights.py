"""The linear layers of a network in a file of weights: torch's state dicts and TorchScript, or arrays in a .npz.

A file is read without running anything of it: `torch.load(weights_only=True)`, `numpy.load(allow_pickle=False)`; of a TorchScript
file only the parameters are taken. What a state dict does not hold, the functions between its layers, is asked for.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import numpy as np

from rigpact.contract.declared.sources import read_arrays
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import read_bytes
from rigpact.contract.statistics import FloatArray

TORCH_SUFFIXES = (".pt", ".pth", ".pth.tar")
SUFFIXES = (*TORCH_SUFFIXES, ".npz", ".npy")
_MOST_DEEP = 4
Layers = tuple[tuple[FloatArray, FloatArray], ...]
"""(weight (in, out), bias (out,)) of each linear layer, in their order."""


def is_weights(path: Path) -> bool:
    """Whether a file's name is that of weights."""
    return path.name.lower().endswith(SUFFIXES)


def is_of_torch(path: Path) -> bool:
    """Whether a file's name is one that torch writes."""
    return path.name.lower().endswith(TORCH_SUFFIXES)


def read_layers(path: Path) -> Layers:
    """The chain of linear layers; UnusableInput where the file holds another network, or needs pickle."""
    arrays = arrays_of(path)
    matrices = {name: rows for name, rows in arrays.items() if rows.ndim == 2}
    others = sorted(name for name, rows in arrays.items() if rows.ndim > 2)
    if others or not matrices:
        held = ", ".join(others[:3]) or "no matrix"
        hint = "torch.onnx.export(model, ..., dynamo=True, dynamic_shapes=...) writes a network of any kind"
        raise UnusableInput(path, held, "linear layers, one behind the other", hint)
    biases = {name: rows for name, rows in arrays.items() if rows.ndim == 1}
    named = [(matrix, _bias_of(name, biases)) for name, matrix in matrices.items()]
    return _turned([pair[0] for pair in named], [pair[1] for pair in named], list(matrices), path)


def _bias_of(name: str, biases: Mapping[str, FloatArray]) -> FloatArray | None:
    """`layer.weight` and `layer.bias`, `W1` and `b1`."""
    for other in (name.removesuffix("weight") + "bias", name.replace("W", "b")):
        if other != name and other in biases:
            return biases[other]
    return None


def _turned(
    matrices: Sequence[FloatArray], biases: Sequence[FloatArray | None], names: Sequence[str], path: Path
) -> Layers:
    """Every matrix as (in, out). torch stores (out, in); which it is, is the same for all of them."""
    for is_torch in (True, False):
        ways = [matrix.T if is_torch else matrix for matrix in matrices]
        fits = all(bias is None or len(bias) == way.shape[1] for way, bias in zip(ways, biases, strict=True))
        if fits and all(one.shape[1] == other.shape[0] for one, other in pairwise(ways)):
            pairs = zip(ways, biases, strict=True)
            return tuple(
                (_single(way), _single(np.zeros(way.shape[1]) if bias is None else bias)) for way, bias in pairs
            )
    shapes = ", ".join(f"{name} {matrix.shape}" for name, matrix in zip(names, matrices, strict=True))
    raise UnusableInput(path, shapes, "layers of which each takes what the one before gives")


def _single(rows: FloatArray) -> FloatArray:
    return np.ascontiguousarray(rows, np.float32)


def arrays_of(path: Path) -> dict[str, FloatArray]:
    """Every array of a file by its name; of a dictionary in a dictionary by both names."""
    if is_of_torch(path):
        return dict(_flat(_torch_content(path), "", path, 0))
    content = read_bytes(path)
    if path.name.lower().endswith(".npy"):
        _refuse_objects(content, path)
        return {path.stem: np.asarray(read_arrays(content, path))}
    return {name: np.asarray(rows) for name, rows in read_arrays(content, path).items()}


def _refuse_objects(content: bytes, path: Path) -> None:
    """An array of objects is a pickle: say how its owner makes plain arrays of it."""
    header = content[:256].split(b"\n")[0]
    if b"'|O'" in header:
        hint = f"where you trust it: np.savez('weights.npz', **np.load('{path.name}', allow_pickle=True).item())"
        raise UnusableInput(path, "a pickled dictionary", "plain arrays: a pickle can run any program", hint)


def _torch_content(path: Path) -> Any:
    content = read_bytes(path)
    try:
        import torch
    except ModuleNotFoundError:
        raise UnusableInput(path, "a file of torch", "torch, to read it", 'pip install "rigpact[training]"') from None
    try:
        if _is_script(content):
            return dict(torch.jit.load(io.BytesIO(content), map_location="cpu").state_dict())
        return torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    except (UnpicklingError, RuntimeError, ValueError, LookupError, EOFError, AttributeError, OSError) as error:
        first = str(error).splitlines()[0][:80] if str(error) else type(error).__name__
        hint = "torch.save(model.state_dict(), path) writes one"
        raise UnusableInput(path, f"no plain weights ({first})", "a state dict of tensors and numbers", hint) from None


def _is_script(content: bytes) -> bool:
    """Whether an archive holds code of TorchScript beside its weights."""
    if not zipfile.is_zipfile(io.BytesIO(content)):
        return False
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return any(name.endswith("/constants.pkl") for name in archive.namelist())


def _flat(value: Any, name: str, path: Path, depth: int) -> Any:
    if depth > _MOST_DEEP:
        raise UnusableInput(path, "dictionaries without end", f"at most {_MOST_DEEP} levels")
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _flat(each, f"{name}.{key}" if name else str(key), path, depth + 1)
    elif hasattr(value, "detach") and hasattr(value, "numpy"):
        yield name, value.detach().cpu().float().numpy()
