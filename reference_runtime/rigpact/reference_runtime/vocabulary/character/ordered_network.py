"""Ordered network: a model's answer to vectors that are bound by position, in an order that sides confuse.

The engine cuts a vector that is too long for its position, and fills up one that is too short: see `network.aligned`.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from rigpact.contract.conventions import InputOrder
from rigpact.contract.declared.operation import Built, Operation, Use
from rigpact.contract.layout import INPUTS
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.contract.systems.frames import Frames
from rigpact.contract.systems.stage import Bounds, Measure
from rigpact.reference_runtime.network import aligned
from rigpact.reference_runtime.operations.rounding import gamma
from rigpact.reference_runtime.vocabulary.character.vectors import vector_fields

INPUT_ORDER = InputOrder(
    "input_order", {",".join(INPUTS): INPUTS},
    "which vector is bound at each of the network's five positions; any permutation", items=INPUTS,
)  # fmt: skip


def build(use: Use) -> Built:
    """An answer as wide as the character's output."""
    if use.network is None:
        raise use.missing("name", f"a network with {use.stage} among its outputs", "[networks.NAME] outputs = [...]")
    fields = vector_fields(use, "output")
    return Built(
        fields,
        compute,
        bound,
        measure=Measure("z"),
        is_answer=True,
        is_propagated=True,
        source=use.word("record"),
        in_place=partial(_in_place, use.stage),
    )


def compute(frames: Frames) -> FloatArray:
    """The network's answer to its inputs, in the order in which they are bound."""
    vectors = [frames[name] for name in frames.contract.conventions.input_order]
    network = frames.network
    return np.asarray(network.run(aligned(vectors, network.bound_widths), int(frames.frame[0])))


def _in_place(stage: str, frames: Frames) -> Callable[[], None] | None:
    """What makes the network read and write the very memory of these frames; None where a vector must be made to fit."""
    vectors, network = [frames[name] for name in frames.contract.conventions.input_order], frames.network
    if any(width not in (None, rows.shape[1]) for width, rows in zip(network.bound_widths, vectors, strict=True)):
        return None
    found: Callable[[], None] | None = network.bound_to(vectors, frames[stage])
    return found


def bound(frames: Frames, rows: FloatArray, _bounds: Bounds) -> FloatArray:
    """Same weights and inputs, another summation order: inner products are as long as all inputs together."""
    largest = np.abs(rows, dtype=np.float64).max(axis=1, keepdims=True)
    return np.asarray(np.broadcast_to(gamma(network_depth(frames.contract)) * largest, rows.shape))


def network_depth(contract: Contract) -> int:
    """Longest inner product that the network can have at its inputs: all vectors together."""
    return sum(width for width in contract.numbers.input_widths.values() if width)


OPERATION = Operation(
    "ordered_network", "a model's answer to vectors bound by position, in an order that sides confuse", build,
    {"record": "the inputs that are needed to judge the answer"}, (0, 0), shared=(INPUT_ORDER,), only_on_pages=True,
)  # fmt: skip
