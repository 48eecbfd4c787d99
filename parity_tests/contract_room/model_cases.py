"""Defects of a model: of its inputs and outputs alone, and of a graph that is written down as values, without onnx."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from rigpact.contract.model.graph import Defect, External, ModelGraph, Node, TensorSignature, Weight

from .edits import Edit, case
from .small_character import WIDTHS

F32 = "float32"


def weight(place: int, name: str, *shape: int, **facts: Any) -> Weight:
    size = 4
    for length in shape:
        size *= length
    own = facts.pop("dtype", F32), shape, facts.pop("bytes", size)
    return Weight(f"/graph/initializer/{place}", name, *own, **facts)


def node(place: int, op: str, inputs: str, outputs: str, **facts: Any) -> Node:
    return Node(f"/graph/node/{place}", op, tuple(inputs.split()), tuple(outputs.split()), **facts)


INPUTS = tuple(TensorSignature(name, F32, ("B", width)) for name, width in WIDTHS.items())
NODES = node(0, "Concat", " ".join(WIDTHS), "all"), node(1, "Gemm", "all w b", "motion_pred")
WEIGHTS = weight(0, "w", 89, 18), weight(1, "b", 18, all_zero=True)
OUTPUT = TensorSignature("motion_pred", F32, ("B", 18))
HONEST = ModelGraph(Path("model.onnx"), {"": 18}, inputs=INPUTS, outputs=(OUTPUT,), nodes=NODES, weights=WEIGHTS)
"""All five inputs joined, one layer, the motion: no clamp, no leftover."""


def model(**changes: Any) -> Edit:
    return lambda sample: setattr(sample, "model", replace(sample.model, **changes))


def graph(**changes: Any) -> Edit:
    """An edit that gives the sample's model the sound graph with some parts replaced."""
    return model(graph=replace(HONEST, **changes))


def reshape(index: int, **changes: Any) -> Edit:
    """An edit of one input of the model."""
    return model(inputs=(*INPUTS[:index], replace(INPUTS[index], **changes), *INPUTS[index + 1 :]))


def reorder(*order: int) -> Edit:
    return model(inputs=tuple(INPUTS[index] for index in order))


def output(name: str, dtype: str, *shape: Any) -> TensorSignature:
    return TensorSignature(name, dtype, shape)


def nodes(*added: Node, weights: tuple[Weight, ...] = ()) -> Edit:
    return graph(nodes=(*NODES, *added), weights=(*WEIGHTS, *weights))


def weights(*added: Weight) -> Edit:
    """An edit that adds weights, and a node that reads them."""
    return nodes(node(2, "Sum", " ".join(each.name for each in added), "side"), weights=added)


def clipped(op_inputs: str, **bounds: float) -> Edit:
    values = [weight(2 + place, name, values=(value,)) for place, (name, value) in enumerate(bounds.items())]
    clip, joined = node(0, "Clip", op_inputs, "cut"), node(1, "Concat", "state cut contacts angvel pose_hist", "all")
    return graph(nodes=(clip, joined, node(2, "Gemm", "all w b", "motion_pred")), weights=(*WEIGHTS, *values))


def joined(inputs: str, *others: Node) -> Edit:
    return graph(nodes=(node(0, "Concat", inputs, "all"), *others, node(9, "Gemm", "all w b", "motion_pred")))


def batches(*axes: Any) -> Edit:
    pairs = zip(INPUTS, axes, strict=True)
    return graph(inputs=tuple(replace(each, shape=(axis, *each.shape[1:])) for each, axis in pairs))


def listed_input(name: str) -> Edit:
    """A weight that stands among the graph's inputs too."""
    names = [*WIDTHS, *(() if name in WIDTHS else (name,))]
    return graph(
        inputs=tuple(each for each in INPUTS if each.name != name),
        listed=tuple(names),
        weights=WEIGHTS if name == "w" else (*WEIGHTS, weight(2, name, 9, 9)),
    )


def masked(reader: str) -> Edit:
    """A single minus infinity that is put among the inputs, and then read by an operator."""
    mask = weight(2, "v", not_finite=Defect((), float("-inf"), 1, is_mask=True))
    return nodes(node(2, "Where", "all v all", "chosen"), node(3, reader, "chosen", "side"), weights=(mask,))


def stored(kind: str) -> Edit:
    return weights(weight(2, "v", 4, external=External("../x" if kind == "escapes" else "x.bin", kind)))


DROPOUT = node(2, "Dropout", "all ratio training", "dropped")
TRAINING = weight(2, "training", dtype="bool", values=(1.0,))
BATCH_NORM = node(2, "BatchNormalization", "all w b", "n", attributes={"training_mode": 1})
CASES = (
    case("RP400 model/graph/input", reorder(0, 1, 2, 3)),
    case("RP401 model/graph/input/1", reshape(1, name="condition")),
    case("RP402 model/graph/input", reorder(0, 2, 1, 3, 4)),
    case("RP403 model/graph/input/0", reshape(0, shape=("B", 33))),
    case("RP403 model/graph/input/3", reshape(3, shape=("B", 10))),
    case("RP404 model/graph/input/2", reshape(2, dtype="float16")),
    case("RP405 model/graph/input/4", reshape(4, shape=("B", 2, 18))),
    case("RP406 model/graph/input/0", reshape(0, shape=(32, 35))),
    case("RP407 model/graph/input/0", reshape(0, shape=("B", None))),
    case("RP408 model/graph/input/4", reshape(4, shape=(1, 37))),
    case("RP409 model/graph/input", reshape(3, shape=("B", 35))),
    case("RP410 model/graph/output", model(outputs=())),
    case("RP411 model/graph/output/0", model(outputs=(output("y", F32, 1, 12),))),
    case("RP412 model/graph/output/0", model(outputs=(output("y", F32, "B", "W"),))),
    case("RP413 model/graph/output/0", model(outputs=(output("y", "float64", "B", 18),))),
    case("RP414 model/graph/output", model(outputs=(output("y", F32, "B", 18), output("z", F32, "B", 18)))),
    case("RP420 model", model(refusal="No such operator")),
    case("RP421 model/opset_import", graph(opsets={"": 6})),
    case("RP422 model/opset_import", graph(opsets={"": 21, "com.acme": 1})),
    case("RP450 model/opset_import", graph(opsets={"": 9})),
    case("RP423 model/opset_import", graph(opsets={"com.acme": 1})),
    case("RP424 model/graph/input", batches("B", "B", 1, "B", "B")),
    case("RP425 model/graph/input/1", joined("state contacts angvel pose_hist")),
    case("RP425 model/graph/input/0", joined("cond contacts angvel pose_hist rows", node(1, "Shape", "state", "rows"))),
    case("RP426 model/graph/node/2", nodes(DROPOUT, weights=(TRAINING,))),
    case("RP426 model/graph/node/2", nodes(BATCH_NORM)),
    case("RP428 model/graph/node/2", nodes(*(node(place, "RandomNormalLike", "all", f"r{place}") for place in (2, 3)))),
    case("RP429 model/graph/initializer/2", weights(weight(2, "v", 4, 4, not_finite=Defect((1, 3), float("nan"), 2)))),
    case("RP446 model/graph/initializer/2", masked("Softmax")),
    case("RP429 model/graph/initializer/2", masked("Sin")),
    case("RP430 model/graph/node/0", clipped("cond low high", low=-16.0, high=16.0)),
    case("RP431 model/graph/node/0", clipped("cond low high", low=16.0, high=-16.0)),
    case("RP432 model/graph/initializer/2", weights(weight(2, "v", 4, dtype="float64"))),
    case("RP432 model/graph/node/2", nodes(node(2, "Cast", "all", "wide", attributes={"to": 11}))),
    case("RP433 model/graph/node/2", nodes(node(2, "Cast", "all", "half", attributes={"to": 10}))),
    case("RP434 model/graph/node/2", nodes(node(2, "DequantizeLinear", "all", "q"))),
    case("RP435 model/graph/node/2", nodes(node(2, "FusedMatMul", "all", "m", domain="com.microsoft"))),
    case("RP436 model/graph/initializer/2", stored("escapes")),
    case("RP437 model/graph/initializer/2", stored("missing")),
    case("RP437 model/graph/initializer/2", stored("short")),
    case("RP438 model/graph/initializer/2", weights(weight(2, "v", 500_000, external=External("x.bin")))),
    case("RP439 model/graph/initializer", weights(weight(2, "v", 2**30, 2))),
    case("RP440 model/graph/initializer/2", graph(weights=(*WEIGHTS, weight(2, "v", 4, 7)))),
    case("RP441 model/graph/initializer/2", weights(weight(2, "w", 89, 18))),
    case("RP442 model/graph/input/2", listed_input("contacts")),
    case("RP443 model/graph/input", listed_input("w")),
    case("RP444 model/graph/initializer/2", weights(weight(2, "v", 4, 7, all_zero=True))),
    case("RP445 model/graph/node/2", nodes(node(2, "If", "all", "branch"))),
)
