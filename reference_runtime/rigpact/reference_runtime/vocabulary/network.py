"""Network: a stage that a model gives. The table [networks.NAME] says which stages it takes and gives."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.stage import Bounds, Frames, NotKnown
from rigpact.reference_runtime.operations.rounding import UNIT_ROUNDOFF

_LONGEST_SUM = 4096.0


def build(use: Use) -> Built:
    """The stage's own fields; the network's inputs stand in its table."""
    network, layout = use.network, use.declared
    if layout is None:
        raise use.missing("size", "the fields of the answer: fields, names or size")
    if network is None:
        raise use.missing("name", f"a network with {use.stage} among its outputs", "[networks.NAME] outputs = [...]")

    def compute(frames: Frames) -> FloatArray:
        evaluate = frames.network
        if isinstance(evaluate, Mapping):
            if network.name not in evaluate:
                raise NotKnown(network.name)
            evaluate = evaluate[network.name]
        rows = evaluate([frames[name] for name in network.inputs])[network.outputs.index(use.stage)]
        return np.asarray(rows, np.float32)

    return Built(layout, compute, bound, is_answer=True)


def bound(_frames: Frames, rows: FloatArray, _upstream: Bounds) -> FloatArray:
    """Another order of summation changes an output by about sqrt(length of the longest sum), in ulp of the largest."""
    largest = np.nan_to_num(np.abs(rows.astype(np.float64))).max(axis=0, keepdims=True) + 1.0
    return np.broadcast_to(np.sqrt(_LONGEST_SUM) * 2.0 * UNIT_ROUNDOFF * largest, rows.shape)


OPERATION = Operation("network", "a model's answer", build, inputs=(0, 0))
