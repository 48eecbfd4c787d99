"""Small models with a value that is not finite, and whether it arrives: known by how they are built.

Every model picks its numbers from the state and calls the node of interest `innocent` or `culprit`. Needs `onnx`.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from rigpact.contract.layout import INPUTS
from rigpact.contract.systems.contract import Contract

from ..models import floats, saved

Nodes = Sequence[tuple[str, str, str]]
"""Operator, inputs and output of each node, in order; an output of `innocent` or `culprit` also is the node's name."""

# zero, below (at most -1) and big (overflows Exp) are made from the picked state x: nothing can be folded away
SWALLOWED: Mapping[str, tuple[Nodes, float]] = {
    "Where drops NaN": ((("Sqrt", "below", "innocent"), ("Where", "never innocent x", "z")), np.nan),
    "Where drops an infinity": ((("Reciprocal", "zero", "innocent"), ("Where", "never innocent x", "z")), np.inf),
    "Clip caps 1/0": ((("Reciprocal", "zero", "innocent"), ("Clip", "innocent low high", "z")), np.inf),
    "Clip lifts log 0": ((("Log", "zero", "innocent"), ("Clip", "innocent low high", "z")), -np.inf),
    "Min caps 1/0": ((("Reciprocal", "zero", "innocent"), ("Min", "innocent high", "z")), np.inf),
    "Max lifts log 0": ((("Log", "zero", "innocent"), ("Max", "innocent low", "z")), -np.inf),
    "Relu drops log 0": ((("Log", "zero", "innocent"), ("Relu", "innocent", "z")), -np.inf),
    "Softmax of a mask chosen by Where": ((("Where", "half x minus", "innocent"), ("Softmax", "innocent", "z")), -np.inf),
    "Softmax of a mask that is added": ((("Add", "x mask", "innocent"), ("Softmax", "innocent", "z")), -np.inf),
    "Tanh of an overflow": ((("Exp", "big", "innocent"), ("Tanh", "innocent", "z")), np.inf),
    "Sigmoid of log 0": ((("Log", "zero", "innocent"), ("Sigmoid", "innocent", "z")), -np.inf),
    "Exp of log 0": ((("Log", "zero", "innocent"), ("Exp", "innocent", "z")), -np.inf),
    "Reciprocal of an overflow": ((("Exp", "big", "innocent"), ("Reciprocal", "innocent", "z")), np.inf),
    "Div by an overflow": ((("Exp", "big", "innocent"), ("Div", "x innocent", "z")), np.inf),
    "Where that is passed on to Relu": (
        (("Where", "half x minus", "innocent"), ("Identity", "innocent", "same"), ("Relu", "same", "z")), -np.inf,
    ),
}  # fmt: skip
"""Models whose output z is finite, and the value that was caught on the way."""
LESSER_KNOWN: Mapping[str, tuple[Nodes, tuple[tuple[str, float], ...]]] = {
    "Less": ((("Exp", "big", "made"), ("Less", "x made", "flag"), ("Where", "flag x low", "z")), (("made", np.inf),)),
    "Equal": ((("Exp", "big", "made"), ("Equal", "x made", "flag"), ("Where", "flag low x", "z")), (("made", np.inf),)),
    "IsNaN": ((("Sqrt", "below", "made"), ("IsNaN", "made", "flag"), ("Where", "flag x made", "z")), (("made", np.nan),)),
    "IsInf": ((("Exp", "big", "made"), ("IsInf", "made", "flag"), ("Where", "flag x made", "z")), (("made", np.inf),)),
    "Sign": ((("Exp", "big", "made"), ("Sign", "made", "z")), (("made", np.inf),)),
    "Erf": ((("Exp", "big", "made"), ("Erf", "made", "z")), (("made", np.inf),)),
    "Atan": ((("Exp", "big", "made"), ("Atan", "made", "z")), (("made", np.inf),)),
    "HardSigmoid": ((("Log", "zero", "made"), ("HardSigmoid", "made", "z")), (("made", -np.inf),)),
    "nothing": ((("Exp", "big", "made"), ("Identity", "x", "z")), (("made", np.inf),)),
    "a constant under Max": ((("Max", "x minus", "z"),), (("minus", -np.inf),)),
    "a constant below a fraction": ((("Div", "x minus", "z"),), (("minus", -np.inf),)),
    "a softmax over nothing": (
        (("Where", "never x minus", "mask_of_all"), ("Softmax", "mask_of_all", "made"), ("Where", "never made x", "z")),
        (("mask_of_all", -np.inf), ("made", np.nan)),
    ),
    "infinity less infinity": (
        (("Exp", "big", "first"), ("Sub", "first first", "made"), ("Where", "never made x", "z")),
        (("first", np.inf), ("made", np.nan)),
    ),
}  # fmt: skip
"""The same, with every value that was made on the way: by a node that had none, a NaN from infinities, a constant."""
EMPTY_MASKS: Mapping[str, Nodes] = {
    "Softmax": (("Where", "never x minus", "masked"), ("Softmax", "masked", "culprit")),
    "Softmax of a sum": (("Add", "x minus", "masked"), ("Softmax", "masked", "culprit")),
    "Sub": (("Where", "never x minus", "masked"), ("Identity", "masked", "most"), ("Sub", "masked most", "culprit")),
    "Div": (("Add", "x minus", "masked"), ("Div", "masked masked", "culprit")),
    "Mul": (("Where", "never x minus", "masked"), ("Mul", "masked zero", "culprit")),
    "LogSoftmax": (("Log", "zero", "masked"), ("LogSoftmax", "masked", "culprit")),
}
"""Models with a mask that leaves nothing, and the node that makes a NaN of it."""
REAL: Mapping[str, Nodes] = {
    "Sqrt": (("Sqrt", "below", "culprit"),),
    "Log": (("Log", "zero", "culprit"),),
    "Div": (("Div", "x zero", "culprit"),),
    "Exp": (("Exp", "big", "culprit"),),
    "Reciprocal": (("Reciprocal", "zero", "culprit"),),
}
"""Nodes whose value does arrive."""
_MADE: Nodes = (
    ("Gather", "state which", "x"), ("Sub", "x x", "zero"), ("Abs", "x", "size"), ("Neg", "size", "negative"),
    ("Sub", "negative one", "below"), ("Sub", "high below", "large"), ("Mul", "large large", "big"),
)  # fmt: skip


def write_model(path: Path, contract: Contract, nodes: Nodes, output: str = "z") -> Path:
    """A model of the engine's five inputs that computes `output` from the state; the other inputs add nothing."""
    width = contract.numbers.output.width
    half = np.arange(width) % 2 == 0
    weights = {
        "which": np.arange(width, dtype=np.int64), "one": np.float32(1), "low": np.float32(-16), "high": np.float32(16),
        "never": np.zeros(width, bool), "half": half, "minus": np.float32(-np.inf),
        "mask": np.where(half, 0.0, -np.inf).astype(np.float32),
    }  # fmt: skip
    made = [
        f"[{name}] {name} = {op}{'<axis = 1>' if op == 'Gather' else ''}({', '.join(read.split())})"
        for op, read, name in (*_MADE, *nodes, ("Identity", output, "motion_pred"))
    ]
    takes = ", ".join(floats(name, int(contract.numbers.input_widths[name] or 2), "B") for name in INPUTS)
    graph = f"({takes}) => ({floats('motion_pred', width, 'B')}) {{ {' '.join(made)} }}"
    is_read = " ".join(read for _, read, _ in (*_MADE, *nodes)).split()
    return saved(path, graph, **{name: value for name, value in weights.items() if name in is_read})
