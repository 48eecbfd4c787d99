"""Copies of a model whose inputs are declared in another order, made node by node with the package onnx."""

import copy

import onnx

NAMES = ("state", "cond", "contacts", "angvel", "pose_hist")
NEUTRAL = ("in0", "in1", "in2", "in3", "in4")


def permuted(model, order, names=None, *, widths=True):
    """A copy that declares its inputs in `order`, under other `names`; without `widths` the last axis is dynamic."""
    made = copy.deepcopy(model)
    by_name = {entry.name: copy.deepcopy(entry) for entry in made.graph.input}
    del made.graph.input[:]
    made.graph.input.extend(by_name[name] for name in order)
    if not widths:
        for place, entry in enumerate(made.graph.input):
            entry.type.tensor_type.shape.dim[1].Clear()
            entry.type.tensor_type.shape.dim[1].dim_param = f"W{place}"
    if names is not None:
        rename_inputs(made, dict(zip(order, names, strict=True)))
    return made


def rename_inputs(model, names):
    """Rename graph inputs where they are declared and where they are read."""
    for entry in model.graph.input:
        entry.name = names.get(entry.name, entry.name)
    for node in model.graph.node:
        for place, name in enumerate(node.input):
            node.input[place] = names.get(name, name)


def widened(model, width):
    """A copy that declares every input `width` wide and cuts each to its own width inside the graph."""
    made = copy.deepcopy(model)
    cuts = []
    for place, entry in enumerate(made.graph.input):
        own = entry.type.tensor_type.shape.dim[1].dim_value
        entry.type.tensor_type.shape.dim[1].dim_value = width
        for name, number in ((f"start{place}", 0), (f"end{place}", own), (f"axis{place}", 1)):
            made.graph.initializer.append(onnx.helper.make_tensor(name, onnx.TensorProto.INT64, [1], [number]))
        cut = [entry.name, f"start{place}", f"end{place}", f"axis{place}"]
        cuts.append(onnx.helper.make_node("Slice", cut, [f"{entry.name}_cut"]))
    for node in made.graph.node:
        for place, name in enumerate(node.input):
            node.input[place] = f"{name}_cut" if name in NAMES else name
    nodes = [*cuts, *made.graph.node]
    del made.graph.node[:]
    made.graph.node.extend(nodes)
    return made


def save(model, path):
    path.write_bytes(model.SerializeToString())
    return path
