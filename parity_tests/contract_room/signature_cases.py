"""Defects that a model shows in its inputs and outputs alone."""

from rigpact.contract.model.tensor import TensorSignature

from .rule_cases import F32, Case, outputs, reorder, reshape

CASES = (
    Case("RP400", "model", "/graph/input", reorder(0, 1, 2, 3), "4 inputs"),
    Case("RP401", "model", "/graph/input/1", reshape(1, name="condition"), "'condition'"),
    Case("RP402", "model", "/graph/input", reorder(0, 2, 1, 3, 4), "state, contacts, cond"),
    Case("RP403", "model", "/graph/input/0", reshape(0, shape=("B", 33)), "cut off the last 2 numbers"),
    Case("RP403", "model", "/graph/input/3", reshape(3, shape=("B", 10)), "pad it with 1 zeros"),
    Case("RP404", "model", "/graph/input/2", reshape(2, dtype="float16"), "float16"),
    Case("RP405", "model", "/graph/input/4", reshape(4, shape=("B", 2, 18)), "[B, 2, 18]"),
    Case("RP406", "model", "/graph/input/0", reshape(0, shape=(32, 35)), "32"),
    Case("RP407", "model", "/graph/input/0", reshape(0, shape=("B", None)), "[B, ?]"),
    Case("RP408", "model", "/graph/input/4", reshape(4, shape=(1, 37)), "multiple of 18"),
    Case("RP410", "model", "/graph/output", outputs()),
    Case("RP411", "model", "/graph/output/0", outputs(TensorSignature("y", F32, (1, 12))), "12 wide"),
    Case("RP412", "model", "/graph/output/0", outputs(TensorSignature("y", F32, ("B", "W"))), "[B, W]"),
    Case("RP413", "model", "/graph/output/0", outputs(TensorSignature("y", "float64", ("B", 18))), "float64"),
    Case("RP414", "model", "/graph/output", outputs(*[TensorSignature(n, F32, ("B", 18)) for n in "yz"]), "y, z"),
)  # fmt: skip
