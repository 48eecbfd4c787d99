"""The linear layers of a network in a file of weights: torch's state dicts and TorchScript, or arrays in a .npz.

A file is read without running anything of it: plain_pickle.py reads those of torch, `numpy.load(allow_pickle=False)` the others.
Since torch 1.6 a file is an archive: `data.pkl` says which tensors there are, `data/0`, `data/1`, … hold their numbers. A
TorchScript is such an archive; of its code nothing is read. Before, it was five pickles with the numbers behind.
What a state dict does not hold, the functions between its layers, is asked for.
"""

import io
import re
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.declared.sources import DAMAGED, read_arrays
from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import read_bytes
from rigpact.contract.statistics import FloatArray
from rigpact.reports.importing.stacks.plain_pickle import Call, Name, ScriptObject, Unreadable, read_pickle

_MAGIC, _PROTOCOL = 0x1950A86A20F9469CFC6C, 1001
_MOST_DIMENSIONS, _MOST_VALUES, _MOST_DEEP = 8, 1 << 18, 16
_MOST_SHARED = 4
"""Tensors may share numbers, as tied weights do; together they are at most so many times the size of the file."""
_HOLDS = re.compile(r"[^/]+/(data\.pkl|byteorder|data/[^/]+)")
_TYPES = {
    "Float": "<f4", "Double": "<f8", "Half": "<f2", "BFloat16": "<u2", "Long": "<i8", "Int": "<i4", "Short": "<i2", "Char": "i1",
    "Byte": "u1", "Bool": "u1",
}  # fmt: skip


@dataclass(frozen=True)
class _Storage:
    """A block of numbers of the file."""

    kind: str
    key: str


@dataclass(frozen=True)
class _Tensor:
    """A view of a storage, counted in numbers."""

    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def torch_arrays(content: bytes, path: Path) -> dict[str, FloatArray]:
    """Every tensor as float32, by its name; of a dictionary in a dictionary by both names. UnusableInput for any other file."""
    try:
        whole, blocks = _archive(content) if zipfile.is_zipfile(io.BytesIO(content)) else _old_file(content)
        return _arrays(_named(whole), blocks, _MOST_SHARED * len(content))
    except Unreadable as error:
        hint = "torch.save(model.state_dict(), path) writes one"
        raise UnusableInput(path, f"no plain weights ({error})", "a state dict of tensors and numbers", hint) from None


def _archive(content: bytes) -> tuple[Any, Callable[[str], bytes]]:
    """The content of `data.pkl`, and what gives a block by its key."""
    try:
        members = _members(content)
    except Unreadable:
        raise
    except DAMAGED:
        raise Unreadable("a damaged archive") from None
    name = next((name for name in members if name.endswith("/data.pkl")), None)
    if name is None:
        raise Unreadable("an archive without data.pkl")
    root = name.removesuffix("data.pkl")
    if members.get(f"{root}byteorder", b"little") != b"little":
        raise Unreadable("numbers of a big-endian machine")
    return read_pickle(io.BytesIO(members[name]), _CALLS, _storage), lambda key: members[f"{root}data/{key}"]


def _members(content: bytes) -> dict[str, bytes]:
    """The members that hold tensors. Unreadable for what torch does not write: packed ones, two of one name, overlapping ones."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = [entry for entry in archive.infolist() if _HOLDS.fullmatch(entry.filename)]
        if len({entry.filename for entry in entries}) < len(entries):
            raise Unreadable("an archive with a name twice")
        is_stored = (entry.compress_type == zipfile.ZIP_STORED for entry in entries)
        if not all(is_stored) or any(entry.file_size != entry.compress_size for entry in entries):
            raise Unreadable("an archive with packed members")
        if sum(entry.file_size for entry in entries) > len(content):
            raise Unreadable("an archive with members that overlap")
        return {entry.filename: archive.read(entry) for entry in entries}


def _old_file(content: bytes) -> tuple[Any, Callable[[str], bytes]]:
    stream = io.BytesIO(content)
    magic, protocol = (read_pickle(stream, {}, _storage) for _ in range(2))
    if (magic, protocol) != (_MAGIC, _PROTOCOL):
        raise Unreadable("no file that torch.save writes")
    machine = read_pickle(stream, {}, _storage)
    if not isinstance(machine, dict) or machine.get("little_endian") is not True:
        raise Unreadable("numbers of a big-endian machine")
    kinds: dict[str, str] = {}

    def storage(given: tuple[Any, ...]) -> _Storage:
        found = _storage(given)
        kinds[found.key] = found.kind
        return found

    whole, keys = read_pickle(stream, _CALLS, storage), read_pickle(stream, {}, _storage)
    blocks = {}
    for key in keys if isinstance(keys, list) else ():
        if not isinstance(key, str) or key not in kinds:
            raise Unreadable("numbers of no tensor")
        count = int.from_bytes(stream.read(8), "little") * np.dtype(_TYPES[kinds[key]]).itemsize
        if count > len(content) - stream.tell():
            raise Unreadable("a file that is cut off")
        blocks[key] = stream.read(count)
    return whole, blocks.__getitem__


def _storage(given: tuple[Any, ...]) -> _Storage:
    """('storage', torch.FloatStorage, key, where it was, count), and None for no view in an old file."""
    match given:
        case (("storage", Name(words), str(key), _, int()) | ("storage", Name(words), str(key), _, int(), None),):
            kind = words.removeprefix("torch.").removesuffix("Storage")
            if kind in _TYPES:
                return _Storage(kind, key)
            raise Unreadable(f"numbers of the kind {words[:60]}")
    raise Unreadable("a storage that torch does not write")


def _tensor(given: tuple[Any, ...]) -> _Tensor:
    """(storage, offset, sizes, strides, and what training needs)."""
    match given:
        case (_Storage() as storage, int(offset), tuple(sizes), tuple(strides), *_):
            are_counts = all(type(each) is int and each >= 0 for each in (offset, *sizes, *strides))
            if are_counts and len(sizes) == len(strides) <= _MOST_DIMENSIONS:
                return _Tensor(storage, offset, sizes, strides)
    raise Unreadable("a tensor that torch does not write")


def _parameter(given: tuple[Any, ...]) -> _Tensor:
    if given and isinstance(given[0], _Tensor):
        return given[0]
    raise Unreadable("a parameter without a tensor")


def _ordered(given: tuple[Any, ...]) -> dict[Any, Any]:
    if given:
        raise Unreadable("an ordered dictionary with its content in its call")
    return {}


_CALLS: Mapping[str, Call] = {
    "torch._utils._rebuild_tensor_v2": _tensor, "torch._utils._rebuild_tensor": _tensor,
    "torch._utils._rebuild_parameter": _parameter, "torch._utils._rebuild_parameter_with_state": _parameter,
    "collections.OrderedDict": _ordered,
    "torch.Size": lambda given: given, "torch.device": lambda given: given,
    "torch.jit._pickle.build_intlist": lambda given: given, "torch.jit._pickle.build_doublelist": lambda given: given,
    "torch.jit._pickle.build_boollist": lambda given: given, "torch.jit._pickle.build_tensorlist": lambda given: given,
    "__torch__.*": lambda _given: ScriptObject(),
}  # fmt: skip
"""What answers for the names of a file. Every class of a TorchScript is a table of attributes."""


def _named(whole: Any) -> dict[str, _Tensor]:
    """The tensors by name, in their order. A dictionary may stand in many places, so what is passed is counted."""
    found: dict[str, _Tensor] = {}
    waiting, passed = [("", whole, 0)], 0
    while waiting:
        name, value, depth = waiting.pop()
        passed += 1
        if depth > _MOST_DEEP or passed > _MOST_VALUES:
            raise Unreadable("dictionaries without end")
        if isinstance(value, dict):
            inside = [(f"{name}.{key}" if name else str(key), each, depth + 1) for key, each in value.items()]
            waiting += inside[::-1]
        elif isinstance(value, _Tensor):
            if name in found:
                raise Unreadable(f"two tensors named {name[:60]}")
            found[name] = value
    return found


def _arrays(tensors: Mapping[str, _Tensor], block: Callable[[str], bytes], room: int) -> dict[str, FloatArray]:
    arrays = {}
    for name, tensor in tensors.items():
        room -= prod(max(size, 1) for size in tensor.shape) * np.dtype(_TYPES[tensor.storage.kind]).itemsize
        if room < 0:
            raise Unreadable(f"tensors of more than {_MOST_SHARED} times the size of the file")
        arrays[name] = _array(tensor, block)
    return arrays


def _array(tensor: _Tensor, block: Callable[[str], bytes]) -> FloatArray:
    kind = np.dtype(_TYPES[tensor.storage.kind])
    try:
        content = block(tensor.storage.key)
    except KeyError:
        raise Unreadable(f"no numbers for the storage {tensor.storage.key[:60]}") from None
    numbers = np.frombuffer(content[: len(content) // kind.itemsize * kind.itemsize], kind)
    if tensor.storage.kind == "BFloat16":  # the upper half of a float32
        numbers = (numbers.astype(np.uint32) << 16).view(np.float32)
    if not prod(tensor.shape):
        return np.zeros(tensor.shape, np.float32)
    last = tensor.offset + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.strides, strict=True))
    if last >= len(numbers):
        raise Unreadable("a tensor beyond its numbers")
    strides = [stride * numbers.itemsize for stride in tensor.strides]
    view = np.lib.stride_tricks.as_strided(numbers[tensor.offset :], tensor.shape, strides, writeable=False)
    with np.errstate(over="ignore"):
        return np.array(view, np.float32)


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
    return _turned(matrices, [_bias_of(name, biases) for name in matrices], path)


def _bias_of(name: str, biases: Mapping[str, FloatArray]) -> FloatArray | None:
    """`layer.weight` and `layer.bias`, `W1` and `b1`."""
    for other in (name.removesuffix("weight") + "bias", name.replace("W", "b")):
        if other != name and other in biases:
            return biases[other]
    return None


def _turned(matrices: Mapping[str, FloatArray], biases: Sequence[FloatArray | None], path: Path) -> Layers:
    """Every matrix as (in, out). torch stores (out, in); which it is, is the same for all of them."""
    for is_torch in (True, False):
        ways = [matrix.T if is_torch else matrix for matrix in matrices.values()]
        pairs = [
            (way, np.zeros(way.shape[1]) if bias is None else bias) for way, bias in zip(ways, biases, strict=True)
        ]
        fits = all(len(bias) == way.shape[1] for way, bias in pairs)
        if fits and all(one.shape[1] == other.shape[0] for one, other in pairwise(ways)):
            return tuple((_single(way), _single(bias)) for way, bias in pairs)
    shapes = ", ".join(f"{name} {matrix.shape}" for name, matrix in matrices.items())
    raise UnusableInput(path, shapes, "layers of which each takes what the one before gives")


def _single(rows: FloatArray) -> FloatArray:
    return np.ascontiguousarray(rows, np.float32)


def arrays_of(path: Path) -> dict[str, FloatArray]:
    """Every array of a file by its name; of a dictionary in a dictionary by both names."""
    if is_of_torch(path):
        return torch_arrays(read_bytes(path), path)
    content = read_bytes(path)
    if not path.name.lower().endswith(".npy"):
        return {name: np.asarray(rows) for name, rows in read_arrays(content, path).items()}
    if b"'|O'" in content[:256].split(b"\n")[0]:  # an array of objects is a pickle
        hint = f"where you trust it: np.savez('weights.npz', **np.load('{path.name}', allow_pickle=True).item())"
        raise UnusableInput(path, "a pickled dictionary", "plain arrays: a pickle can run any program", hint)
    return {path.stem: np.asarray(read_arrays(content, path))}
