"""Orders of a model's five inputs: what the file gives away, and what only a recording shows."""

import copy
from dataclasses import replace
from itertools import permutations

import onnx
import pytest

from rigpact.contract import load_contract, read_document
from rigpact.contract.model.signature import read_model
from rigpact.contract.rules.catalogue import check
from rigpact.contract.rules.family import Artefacts
from rigpact.reference_runtime import OnnxNetwork
from rigpact.reference_runtime.network import aligned
from rigpact.reference_runtime.recordings.opened import read_trace, write_trace

from .demo import BUNDLE, COMPANION, CONTRACT, MODEL, PREDICTION

NAMES = ("state", "cond", "contacts", "angvel", "pose_hist")
NEUTRAL = ("in0", "in1", "in2", "in3", "in4")
ORDERS = tuple(permutations(NAMES))
OTHER = ("cond", "state", "contacts", "angvel", "pose_hist")


def permuted(path, order, names, *, widths=True):
    """The demo's model, which declares its inputs in `order`, under other `names`; without `widths` the last axis is dynamic."""
    made = onnx.load(MODEL)
    by_name = {entry.name: copy.deepcopy(entry) for entry in made.graph.input}
    del made.graph.input[:]
    made.graph.input.extend(by_name[name] for name in order)
    others = dict(zip(order, names or order, strict=True))
    for entry in made.graph.input:
        entry.name = others[entry.name]
        if not widths:
            entry.type.tensor_type.shape.dim[1].Clear()
    for node in made.graph.node:
        for place, name in enumerate(node.input):
            node.input[place] = others.get(name, name)
    path.write_bytes(made.SerializeToString())
    return path


@pytest.mark.parametrize("orders", [ORDERS[::10], pytest.param(ORDERS, marks=pytest.mark.nightly)], ids=len)
@pytest.mark.parametrize("names", [NEUTRAL, NAMES, None], ids=["neutral names", "lying names", "their own names"])
def test_names_and_widths_give_every_order_away(tmp_path, names, orders):
    """`input.1`, `onnx::Gemm_5`: exporters rename; the demo's five widths still tell them apart. The engine reads no name."""
    bundle, found = read_document(BUNDLE), {}
    for order in orders:
        path = permuted(tmp_path / "permuted.onnx", order, names)
        told = check(Artefacts(bundle, model=read_model(path))).findings
        found[order] = {each.rule.code for each in told if each.file == str(path) and each.rule.severity == "error"}
    code = "RP402" if names is None else "RP403"
    assert [order for order, codes in found.items() if code not in codes] == [NAMES]
    assert found[NAMES] == set()


def test_the_order_that_an_engine_bound_is_named(command, demo_run, tmp_path):
    """A C++ programmer gets the order that his code binds."""
    trace, contract = read_trace(demo_run), load_contract(BUNDLE, COMPANION)
    bound = contract.with_conventions({"input_order": ",".join(OTHER)})
    given = [trace.stages[name] for name in OTHER]
    network = OnnxNetwork(permuted(tmp_path / "unnamed.onnx", NAMES, NEUTRAL), bound)
    answer = network.run(aligned(given, network.bound_widths), 0)  # an engine pads and cuts
    stages = {name: trace.stages[name] for name in NAMES} | {"y_norm": answer}
    write_trace(replace(trace, stages=stages), tmp_path / "wrong.trace.jsonl")
    found = command("explain", tmp_path / "wrong.trace.jsonl", *CONTRACT, "--onnx", MODEL)
    assert (found.status, f"input_order = {','.join(OTHER)}" in found.out) == (1, True), found.out


def test_a_model_that_was_exported_in_another_order_is_named(command, tmp_path):
    """Without names and widths nothing in the file is wrong; the prediction of the training shows which place takes what."""
    loose = permuted(tmp_path / "loose.onnx", OTHER, NEUTRAL, widths=False)
    found = command("explain", PREDICTION, *CONTRACT, "--onnx", loose)
    assert (found.status, f"input_order = {','.join(OTHER)}" in found.out) == (1, True), found.out
