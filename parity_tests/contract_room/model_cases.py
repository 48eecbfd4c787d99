"""Defects of a model: of its inputs and outputs as onnxruntime says them, and of a graph, as real files."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper
from onnx.numpy_helper import from_array

from rigpact.contract.model.graph import TensorSignature, open_model

from .edits import case
from .small_character import WIDTHS

F32 = "float32"
INPUTS = tuple(TensorSignature(name, F32, ("B", width)) for name, width in WIDTHS.items())


def value(name, *shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, list(shape))


def honest_model():
    """All five inputs joined, one layer with a bias, the motion: no clamp, no leftover."""
    weights = [from_array(np.full((89, 18), 0.5, np.float32), "w"), from_array(np.zeros(18, np.float32), "b")]
    nodes = [
        helper.make_node("Concat", list(WIDTHS), ["all"], axis=1),
        helper.make_node("Gemm", ["all", "w", "b"], ["motion_pred"]),
    ]
    inputs = [value(name, "B", width) for name, width in WIDTHS.items()]
    graph = helper.make_graph(nodes, "motion", inputs, [value("motion_pred", "B", 18)], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def node(op, inputs, output, *, at=None, **attributes):
    """A node at the end, or before one."""
    made = helper.make_node(op, inputs.split(" "), [output], **attributes)
    return lambda model: model.graph.node.insert(len(model.graph.node) if at is None else at, made)


def weight(name, values, kind=np.float32):
    return lambda model: model.graph.initializer.append(from_array(np.array(values, kind), name))


def read_weight(values, kind=np.float32):
    """A weight `v`, and a node that reads it."""
    return weight("v", values, kind), node("Sum", "v", "side")


def external(location, length, place=0):
    """A weight is to be read from `location`."""

    def edit(model):
        tensor = model.graph.initializer[place]
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        for key, said in (("location", location), ("offset", "0"), ("length", str(length))):
            tensor.external_data.add(key=key, value=said)

    return edit


def opset(version):
    return lambda model: setattr(model.opset_import[0], "version", version)


def dropout(*training):
    said = [weight("t", each, bool) for each in training]
    return weight("r", 0.5), *said, node("Dropout", "all r t" if training else "all r", "d")


def constant(name, number):
    made = helper.make_node("Constant", [], [name], value=from_array(np.array([number], np.float32)))
    return lambda model: model.graph.node.append(made)


def branch(model):
    """An If whose branches read `all` from outside."""
    layers = [helper.make_node("Gemm", ["all", "w", "b"], [f"side{k}"]) for k in range(2)]
    sides = [helper.make_graph([layer], f"side{k}", [], [value(f"side{k}", "B", 18)]) for k, layer in enumerate(layers)]
    chosen = helper.make_node("If", ["which"], ["motion_pred"], then_branch=sides[0], else_branch=sides[1])
    model.graph.node[1].CopyFrom(chosen)
    weight("which", values=True, kind=bool)(model)


def one_row(model):
    model.graph.input[2].type.tensor_type.shape.dim[0].dim_value = 1


def of_size(*shape, place=0):
    """A weight that says that it is of another shape, and has no numbers."""
    return lambda model: model.graph.initializer[place].dims.__setitem__(slice(None), shape)


def joins(inputs):
    """Other vectors are joined."""
    return lambda model: model.graph.node[0].CopyFrom(helper.make_node("Concat", inputs.split(" "), ["all"], axis=1))


def model(**changes):
    return lambda sample: setattr(sample, "model", replace(sample.model, **changes))


def graph(*edits, beside=None):
    """An edit that gives the sample's model the graph of the sound file, edited; beside: bytes of a file x.bin."""

    def edit(sample):
        made, path = honest_model(), sample.folder / "model.onnx"
        for each in edits:
            each(made)
        path.write_bytes(made.SerializeToString())
        (sample.folder / "x.bin").unlink(missing_ok=True)
        if beside is not None:
            (sample.folder / "x.bin").write_bytes(bytes(beside))
        model(graph=replace(open_model(path), path=Path("model.onnx")))(sample)

    return edit


def reshape(index, **changes):
    """An edit of one input of the model."""
    return model(inputs=(*INPUTS[:index], replace(INPUTS[index], **changes), *INPUTS[index + 1 :]))


def reorder(*order):
    return model(inputs=tuple(INPUTS[index] for index in order))


def output(name, dtype, *shape):
    return TensorSignature(name, dtype, shape)


def clipped(inputs, **bounds):
    values = [weight(name, value) for name, value in bounds.items()]
    return graph(node("Clip", inputs, "cut", at=0), *values, _joins_the_cut)


def _joins_the_cut(model):
    model.graph.node[1].input[1] = "cut"


def masked(reader):
    """A single minus infinity that is put among the inputs, and then read by an operator."""
    return graph(weight("v", -np.inf), node("Where", "all v all", "chosen"), node(reader, "chosen", "side"))


def stored(location, beside=None, numbers=4):
    return graph(*read_weight(np.zeros(numbers)), external(location, 4 * numbers, 2), beside=beside)


BAD = np.ones((4, 4))
BAD[1, 3] = BAD[2, 0] = np.nan
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
    case("RP421 model/opset_import", graph(opset(6))),
    case("RP422 model/opset_import", graph(opset(21))),
    case("RP450 model/opset_import", graph(opset(9))),
    case("RP423 model/opset_import", graph(lambda made: setattr(made.opset_import[0], "domain", "com.acme"))),
    case("RP424 model/graph/input", graph(one_row)),
    case("RP425 model/graph/input/1", graph(joins("state contacts angvel pose_hist"))),
    case(
        "RP425 model/graph/input/0", graph(joins("cond contacts angvel pose_hist rows"), node("Shape", "state", "rows"))
    ),
    case("RP426 model/graph/node/2", graph(*dropout(True))),
    case("RP426 model/graph/node/2", graph(node("BatchNormalization", "all w b", "n", training_mode=1))),
    case("RP428 model/graph/node/2", graph(*(node("RandomNormalLike", "all", name) for name in "rs"))),
    case("RP429 model/graph/initializer/2", graph(*read_weight(BAD))),
    case("RP429 model/graph/node/3", graph(constant("one", 1.0), constant("inf", np.inf))),
    case("RP446 model/graph/initializer/2", masked("Softmax")),
    case("RP429 model/graph/initializer/2", masked("Sin")),
    case("RP430 model/graph/node/0", clipped("cond low high", low=-16.0, high=16.0)),
    case("RP431 model/graph/node/0", clipped("cond low high", low=16.0, high=-16.0)),
    case("RP432 model/graph/initializer/2", graph(*read_weight(np.ones(4), np.float64))),
    case("RP432 model/graph/node/2", graph(node("Cast", "all", "wide", to=TensorProto.DOUBLE))),
    case("RP433 model/graph/node/2", graph(node("Cast", "all", "half", to=TensorProto.FLOAT16))),
    case("RP433 model/graph/node/2", graph(node("Cast", "all", "half", to=TensorProto.BFLOAT16))),
    case("RP434 model/graph/node/2", graph(node("DequantizeLinear", "all", "q"))),
    case("RP435 model/graph/node/2", graph(node("FusedMatMul", "all", "m", domain="com.microsoft"))),
    case("RP436 model/graph/initializer/2", stored("../x")),
    case("RP437 model/graph/initializer/2", stored("x.bin")),
    case("RP437 model/graph/initializer/2", stored("x.bin", beside=8)),
    case("RP438 model/graph/initializer/2", stored("x.bin", beside=2_000_000, numbers=500_000)),
    case("RP439 model/graph/initializer", graph(*read_weight([]), of_size(2**30, 2, place=2))),
    case("RP440 model/graph/initializer/2", graph(weight("v", np.ones((4, 7))))),
    case("RP441 model/graph/initializer/2", graph(weight("w", np.ones((89, 18))))),
    case("RP442 model/graph/input/2", graph(weight("contacts", np.ones((9, 9))))),
    case("RP443 model/graph/input", graph(lambda made: made.graph.input.append(value("w", 9, 9)))),
    case("RP444 model/graph/initializer/2", graph(*read_weight(np.zeros((4, 7))))),
    case("RP445 model/graph/node/1", graph(branch)),
)
