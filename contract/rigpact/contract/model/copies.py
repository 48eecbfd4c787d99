"""The same model with weights of fewer bits, or with the hash of its contract, so that `rigpact check` knows where it belongs to.

Fewer bits: float16, bfloat16, or int8 with one scale for each tensor or each channel. An int8 weight is the nearest of 255
multiples of a scale, the largest weight divided by 127; biases keep their bits. To add a format: a function of a weight and the
axes that share a scale, and a row in `FORMATS`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.errors import UnusableInput
from rigpact.contract.files import copy_file, write_bytes
from rigpact.contract.model.graph import open_model

Array = NDArray[np.float32]
_LARGEST_INT8 = 127.0
_FLOAT = 1
_WEIGHTS: Mapping[str, Sequence[int]] = {"Gemm": (1,), "MatMul": (1,), "Conv": (1,), "GRU": (1, 2), "LSTM": (1, 2)}
"""The inputs of an operation that are matrices of weights."""


def quantised_models(path: Path) -> Iterator[tuple[str, bytes]]:
    """Each format in words, and the model's bytes with its weights in it; none of a model whose weights are in another file."""
    from onnx import numpy_helper

    graph = open_model(path)
    for words, (rounded, only_matrices) in () if graph.beside else FORMATS.items():
        model = deepcopy(graph.proto)
        shared, is_changed = _shared_axes(model.graph), False
        for tensor in model.graph.initializer:
            if tensor.data_type != _FLOAT or (only_matrices and tensor.name not in shared):
                continue
            weight = np.asarray(numpy_helper.to_array(tensor), np.float32)
            with np.errstate(over="ignore"):  # a weight beyond float16's range is infinite there
                other = rounded(weight, shared.get(tensor.name, ()))
            is_changed |= not np.array_equal(weight, other)
            tensor.CopyFrom(numpy_helper.from_array(other.astype(np.float32), tensor.name))
        if is_changed:
            yield words, bytes(model.SerializeToString())


def _shared_axes(graph: Any) -> dict[str, tuple[int, ...]]:
    """For each matrix of weights the axes over which one output is summed: its numbers share a channel's scale."""
    ranks = {tensor.name: len(tensor.dims) for tensor in graph.initializer}
    found = {}
    for node in graph.node:
        for place in _WEIGHTS.get(node.op_type, ()):
            name = node.input[place] if place < len(node.input) else ""
            if ranks.get(name, 0) >= 2:
                found[name] = _summed(node, ranks[name])
    return found


def _summed(node: Any, rank: int) -> tuple[int, ...]:
    is_transposed = any(each.name == "transB" and each.i for each in node.attribute)
    if node.op_type == "Gemm":
        return (1,) if is_transposed else (0,)
    if node.op_type == "MatMul":
        return (rank - 2,)
    return tuple(range(1, rank)) if node.op_type == "Conv" else (rank - 1,)


def _bfloat16(weight: Array) -> Array:
    """Eight bits, ties to even."""
    bits = np.ascontiguousarray(weight).view(np.uint32).astype(np.uint64)
    kept = ((bits + 0x7FFF + ((bits >> np.uint64(16)) & np.uint64(1))) >> np.uint64(16)) << np.uint64(16)
    return kept.astype(np.uint32).view(np.float32).reshape(weight.shape)


def _multiples(weight: Array, shared: tuple[int, ...] | None = None) -> Array:
    """shared: the axes that have one scale; all of them where None."""
    largest = np.abs(weight).max(axis=shared, keepdims=True)
    scale = np.where(largest > 0.0, largest / np.float32(_LARGEST_INT8), np.float32(1.0))
    return np.asarray(np.rint(weight / scale) * scale, np.float32)


FORMATS: Mapping[str, tuple[Callable[[Array, tuple[int, ...]], Array], bool]] = {
    "rounded to float16": (lambda weight, _: weight.astype(np.float16).astype(np.float32), False),
    "rounded to bfloat16": (lambda weight, _: _bfloat16(weight), False),
    "quantised to int8, with one scale for each tensor": (lambda weight, _: _multiples(weight), True),
    "quantised to int8, with one scale for each channel": (_multiples, True),
}
"""What is done to a weight, and whether only to matrices."""


STAMP = "rigpact_contract_sha256"
"""The key of the hash."""


def write_stamped(model: Path, sha256: str, out: Path) -> None:
    """Write the model with the hash; everything else stays byte for byte. Weights in other files are copied beside it."""
    from onnx.helper import set_model_props

    graph = open_model(model)
    if not graph.nodes:  # any bytes can look like an empty model
        raise UnusableInput(model, "a file without nodes", "an ONNX model")
    set_model_props(graph.proto, {**graph.metadata, STAMP: sha256})
    for name, problem in graph.beside.items() if out.resolve().parent != model.resolve().parent else ():
        if problem:
            raise UnusableInput(model, f"weights in {name!r} ({problem})", "weights in a file beside the model")
        target = out.parent / name
        if target.exists():
            raise UnusableInput(target, "a file", "no file: the model's weights go there", "choose another folder")
        target.parent.mkdir(parents=True, exist_ok=True)
        copy_file(model.parent / name, target)
    write_bytes(out, graph.proto.SerializeToString())
