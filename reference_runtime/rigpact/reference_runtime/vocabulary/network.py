"""Network: a stage that a model gives. The table [networks.NAME] says which stages it takes and gives."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.declared.operation import Built, Use
from rigpact.contract.files import read_bytes
from rigpact.contract.model.graph import computable, open_model
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Frames
from rigpact.contract.systems.stage import Bounds, NotKnown
from rigpact.reference_runtime.operations.scalars import UNIT_ROUNDOFF
from rigpact.reference_runtime.vocabulary.building import operation

# The table of positions in a model: found by its numbers, because exporters rename it.
_NEAR = 1e-6
"""Sines of single precision: those of small angles differ between libraries by an ulp of 1 or two."""


def without_positions(path: Path) -> bytes | None:
    """The model's file with zeros in place of its table of positions; None where it holds no such table, or several."""
    content = read_bytes(path)
    tables = [values for values in computable(open_model(path)).constants.values() if _is_table(values)]
    if len(tables) != 1:
        return None
    numbers = np.ascontiguousarray(tables[0], "<f4").tobytes()
    return content.replace(numbers, bytes(len(numbers))) if content.count(numbers) == 1 else None


def _is_table(values: Any) -> bool:
    """Whether the rows are sines and cosines of 0, 1, 2 …: the first row is 0, 1, 0, 1, the first pair has frequency 1."""
    rows = np.squeeze(np.asarray(values))
    if rows.dtype != np.float32 or rows.ndim != 2 or len(rows) < 3 or rows.shape[1] < 4 or rows.shape[1] % 2:
        return False
    first = np.tile([0.0, 1.0], rows.shape[1] // 2)
    places = np.arange(len(rows), dtype=np.float64)
    pairs = np.stack([np.sin(places), np.cos(places)], axis=1)
    return bool(np.array_equal(rows[0], first) and np.abs(rows[:, :2] - pairs).max() <= _NEAR)


_LONGEST_SUM = 4096.0
_POSITIONS = "positional_encoding"


def _network(use: Use) -> Built:
    """The stage's own fields; the network's inputs stand in its table."""
    network, layout = use.network, use.declared
    if layout is None:
        raise use.missing("size", "the fields of the answer: fields, names or size")
    if network is None:
        raise use.missing("name", f"a network with {use.stage} among its outputs", "[networks.NAME] outputs = [...]")
    if _POSITIONS in use.table or use.said(_POSITIONS):
        readings = {"added": None, "missing": without_positions}
        use.choice(_POSITIONS, readings, "whether the network knows when a sample was", is_in_model=True)

    def compute(frames: Frames) -> FloatArray:
        evaluate = frames.network
        if isinstance(evaluate, Mapping):
            if network.name not in evaluate:
                raise NotKnown(network.name)
            evaluate = evaluate[network.name]
        return answered(frames, evaluate, network.inputs, network.outputs.index(use.stage))

    return Built(layout, compute, _bound, is_answer=True)


def answered(frames: Frames, evaluate: Any, inputs: Sequence[str], place: int) -> FloatArray:
    """One output of a network, (N, width). An output of a whole window is repeated in each of its rows."""
    rows = [frames[name] for name in inputs]
    if not frames.contract.system.windowed:
        return np.asarray(evaluate(rows)[place], np.float32)
    answer = evaluate([each[None] for each in rows])[place][0]
    return np.broadcast_to(answer, (len(rows[0]), answer.shape[-1])).astype(np.float32)


def _bound(_frames: Frames, rows: FloatArray, _upstream: Bounds) -> FloatArray:
    """Another order of summation changes an output by about sqrt(length of the longest sum), in ulp of the largest."""
    largest = np.nan_to_num(np.abs(rows.astype(np.float64))).max(axis=0, keepdims=True) + 1.0
    return np.broadcast_to(np.sqrt(_LONGEST_SUM) * 2.0 * UNIT_ROUNDOFF * largest, rows.shape)


NETWORK = operation("network", _network, (0, 0))
