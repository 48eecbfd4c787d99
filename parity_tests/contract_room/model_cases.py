"""A sound graph for the small character, and one defect for each rule about graphs.

The graph is written down here as values, so that the rules are exercised without the package onnx. The meta-test of
test_every_rule.py collects `CASES`: (code, pointer, edit of the sample, a word that the message must hold).
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from rigpact.contract.model.graph import Defect, External, ModelGraph, Node, Weight
from rigpact.contract.model.tensor import TensorSignature

Edit = Callable[[Any], object]
WIDTHS = {"state": 35, "cond": 7, "contacts": 2, "angvel": 9, "pose_hist": 36}
F32 = "float32"


def weight(place: int, name: str, *shape: int, **facts: Any) -> Weight:
    size = 4
    for length in shape:
        size *= length
    return Weight(
        f"/graph/initializer/{place}", name, facts.pop("dtype", F32), shape, facts.pop("bytes", size), **facts
    )


def node(place: int, op: str, inputs: str, outputs: str, **facts: Any) -> Node:
    return Node(f"/graph/node/{place}", op, tuple(inputs.split()), tuple(outputs.split()), **facts)


def honest_graph() -> ModelGraph:
    """All five inputs joined, one layer, the motion: no clamp, no leftover."""
    inputs = tuple(TensorSignature(name, F32, ("B", width)) for name, width in WIDTHS.items())
    return ModelGraph(
        path=Path("model.onnx"),
        opsets={"": 18},
        inputs=inputs,
        outputs=(TensorSignature("motion_pred", F32, ("B", 18)),),
        nodes=(node(0, "Concat", " ".join(WIDTHS), "all"), node(1, "Gemm", "all w b", "motion_pred")),
        weights=(weight(0, "w", 89, 18), weight(1, "b", 18, all_zero=True)),
    )


def graph(**changes: Any) -> Edit:
    """An edit that gives the sample's model the sound graph with some parts replaced."""
    return lambda sample: setattr(sample, "model", replace(sample.model, graph=replace(honest_graph(), **changes)))


def nodes(*added: Node) -> Edit:
    return graph(nodes=(*honest_graph().nodes, *added))


def weights(*added: Weight, read: bool = True) -> Edit:
    """An edit that adds weights, and a node that reads them."""
    reader = node(2, "Sum", " ".join(each.name for each in added), "side")
    return graph(weights=(*honest_graph().weights, *added), nodes=(*honest_graph().nodes, *([reader] if read else [])))


def clipped(op_inputs: str, **bounds: float) -> Edit:
    values = [weight(2 + place, name, values=(value,)) for place, (name, value) in enumerate(bounds.items())]
    clip, joined = node(0, "Clip", op_inputs, "cut"), node(1, "Concat", "state cut contacts angvel pose_hist", "all")
    layer = node(2, "Gemm", "all w b", "motion_pred")
    return graph(nodes=(clip, joined, layer), weights=(*honest_graph().weights, *values))


def joined(inputs: str, *others: Node) -> Edit:
    return graph(nodes=(node(0, "Concat", inputs, "all"), *others, node(9, "Gemm", "all w b", "motion_pred")))


def model(**changes: Any) -> Edit:
    return lambda sample: setattr(sample, "model", replace(sample.model, **changes))


def equal_widths(sample: Any) -> None:
    inputs = list(sample.model.inputs)
    inputs[3] = replace(inputs[3], shape=("B", 35))
    sample.model = replace(sample.model, inputs=tuple(inputs))


def batches(*axes: Any) -> Edit:
    inputs = zip(honest_graph().inputs, axes, strict=True)
    return graph(inputs=tuple(replace(entry, shape=(axis, *entry.shape[1:])) for entry, axis in inputs))


def listed_input(name: str) -> Edit:
    """A weight that stands among the graph's inputs too."""
    inputs = honest_graph().inputs
    added = () if name in WIDTHS else (TensorSignature(name, F32, (9, 9)),)
    extra = (weight(2, name, 9, 9),) if name != "w" else ()
    return graph(inputs=(*inputs, *added), weights=(*honest_graph().weights, *extra))


def masked(reader: str) -> Edit:
    """A single minus infinity that is put among the inputs, and then read by an operator."""
    mask = weight(2, "v", not_finite=Defect((), float("-inf"), 1, is_mask=True))
    read = (node(2, "Where", "all v all", "chosen"), node(3, reader, "chosen", "side"))
    return graph(weights=(*honest_graph().weights, mask), nodes=(*honest_graph().nodes, *read))


DROPOUT = node(2, "Dropout", "all ratio training", "dropped")
CASES: tuple[tuple[str, str, Edit, str], ...] = (
    ("RP409", "/graph/input", equal_widths, "state and angvel are both 35 wide: 2 of the 120"),
    ("RP420", "", model(refusal="No such operator"), "No such operator"),
    ("RP421", "/opset_import", graph(opsets={"": 6}), "6"),
    ("RP422", "/opset_import", graph(opsets={"": 21, "com.acme": 1}), "21"),
    ("RP450", "/opset_import", graph(opsets={"": 9}), "operator set 9"),
    ("RP423", "/opset_import", graph(opsets={"com.acme": 1}), "no version"),
    ("RP424", "/graph/input", batches("B", "B", 1, "B", "B"), "contacts 1"),
    ("RP425", "/graph/input/1", joined("state contacts angvel pose_hist"), "cond"),
    ("RP425", "/graph/input/0", joined("cond contacts angvel pose_hist rows", node(1, "Shape", "state", "rows")), "shape"),
    ("RP426", "/graph/node/2", graph(nodes=(*honest_graph().nodes, DROPOUT),
     weights=(*honest_graph().weights, weight(2, "training", dtype="bool", values=(1.0,)))), "Dropout"),
    ("RP426", "/graph/node/2", nodes(node(2, "BatchNormalization", "all w b", "n", attributes={"training_mode": 1})), "Batch"),
    ("RP428", "/graph/node/2", nodes(node(2, "RandomNormalLike", "all", "r"), node(3, "RandomNormalLike", "all", "q")), "1 more"),
    ("RP429", "/graph/initializer/2",
     weights(weight(2, "v", 4, 4, not_finite=Defect((1, 3), float("nan"), 2))), "v[1, 3] = nan (and 1 more"),
    ("RP446", "/graph/initializer/2", masked("Softmax"), "every way to the output passes Softmax"),
    ("RP429", "/graph/initializer/2", masked("Sin"), "v = -inf"),
    ("RP430", "/graph/node/0", clipped("cond low high", low=-16.0, high=16.0), "cond is clamped to [-16, 16]"),
    ("RP431", "/graph/node/0", clipped("cond low high", low=16.0, high=-16.0), "16 to -16"),
    ("RP432", "/graph/initializer/2", weights(weight(2, "v", 4, dtype="float64")), "the weight v"),
    ("RP432", "/graph/node/2", nodes(node(2, "Cast", "all", "wide", attributes={"to": 11})), "a Cast"),
    ("RP433", "/graph/node/2", nodes(node(2, "Cast", "all", "half", attributes={"to": 10})), "float16"),
    ("RP434", "/graph/node/2", nodes(node(2, "DequantizeLinear", "all", "q")), "DequantizeLinear"),
    ("RP435", "/graph/node/2", nodes(node(2, "FusedMatMul", "all", "m", domain="com.microsoft")), "com.microsoft"),
    ("RP436", "/graph/initializer/2", weights(weight(2, "v", 4, external=External("../x", "escapes"))), "'../x'"),
    ("RP437", "/graph/initializer/2", weights(weight(2, "v", 4, external=External("x.bin", "missing"))), "not there"),
    ("RP437", "/graph/initializer/2", weights(weight(2, "v", 4, external=External("x.bin", "short"))), "too short"),
    ("RP438", "/graph/initializer/2", weights(weight(2, "v", 500_000, external=External("x.bin"))), "2.0 MB"),
    ("RP439", "/graph/initializer", weights(weight(2, "v", 2**30, 2)), "8589"),
    ("RP440", "/graph/initializer/2", weights(weight(2, "v", 4, 7), read=False), "v (4 × 7)"),
    ("RP441", "/graph/initializer/2", weights(weight(2, "w", 89, 18)), "2 weights are called w"),
    ("RP442", "/graph/input/2", listed_input("contacts"), "contacts"),
    ("RP443", "/graph/input", listed_input("w"), "1 weights"),
    ("RP444", "/graph/initializer/2", weights(weight(2, "v", 4, 7, all_zero=True)), "zero throughout"),
    ("RP445", "/graph/node/2", nodes(node(2, "If", "all", "branch")), "If"),
)  # fmt: skip
