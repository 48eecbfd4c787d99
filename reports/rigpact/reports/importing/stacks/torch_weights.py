"""The linear layers of a network in a file of weights: torch's state dicts and TorchScript, or arrays in a .npz.

A file is read without running anything of it: torch_file.py reads those of torch, `numpy.load(allow_pickle=False)` the others.
What a state dict does not hold, the functions between its layers, is asked for.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from rigpact.contract.declared.sources import read_arrays
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import read_bytes
from rigpact.contract.statistics import FloatArray
from rigpact.reports.importing.stacks.torch_file import torch_arrays

TORCH_SUFFIXES = (".pt", ".pth", ".pth.tar")
SUFFIXES = (*TORCH_SUFFIXES, ".npz", ".npy")
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
        return torch_arrays(read_bytes(path), path)
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
