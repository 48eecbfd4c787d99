"""Twelve of the 120 input orders of the demo model (all of them nightly): each is seen in the file or found by the probe."""

import copy
import json
from dataclasses import replace
from itertools import permutations

import numpy as np
import onnx
import pytest

from rigpact.contract import load_contract, read_document
from rigpact.contract.errors import UnusableInput
from rigpact.contract.model.signature import read_model
from rigpact.contract.rules.catalogue import check
from rigpact.contract.rules.family import Artefacts
from rigpact.contract.rules.family import answers as rules
from rigpact.reference_runtime.recordings.opened import read_trace, write_trace
from rigpact.reports.engine.canary import PositionalModel, find_binding, matching, read_probe

from ..every_case import every_case
from .demo import BUNDLE, COMPANION, CONTRACT, DEMO, MODEL, PREDICTION, edited

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


def save(model, path):
    path.write_bytes(model.SerializeToString())
    return path


ORDERS = tuple(permutations(NAMES))
some_or_all = pytest.mark.parametrize(
    "orders", [ORDERS[::10], pytest.param(ORDERS, marks=pytest.mark.nightly)], ids=len
)
CODES = {rule.code for rule in rules.families["CANARY"].rules}
CHARACTER, NETWORK, CLIP = load_contract(BUNDLE, COMPANION), onnx.load(MODEL), DEMO / "clips" / "Walk_Spin.json"


@pytest.fixture(scope="module")
def prediction(tmp_path_factory):
    """Three rows of the demo's prediction: enough to tell the orders apart."""

    def cut(document):
        teacher = document["teacher"]
        for part in (teacher, document["prediction"], document["aux_inputs"], teacher["aux_inputs"]):
            part.update({key: rows[:3] for key, rows in part.items() if isinstance(rows, list)})
        document["num_pairs"] = 3

    return edited(PREDICTION, tmp_path_factory.mktemp("probe") / "short_prediction.json", cut)


@pytest.fixture
def fitting(prediction):
    """The orders of a model's inputs under which it answers as the prediction says."""
    probe = read_probe(prediction, CHARACTER)
    return lambda path: [each.order for each in matching(find_binding(PositionalModel(path), probe), probe)]


@pytest.fixture
def write(tmp_path):
    return lambda *arguments, **options: save(permuted(*arguments, **options), tmp_path / "permuted.onnx")


def static_codes(path):
    """The errors that the file alone gives away."""
    found = check(Artefacts(read_document(BUNDLE), model=read_model(path))).findings
    return {each.rule.code for each in found if each.file == str(path) and each.rule.severity == "error"}


@some_or_all
@pytest.mark.parametrize("names", [NEUTRAL, NAMES, None], ids=["neutral names", "lying names", "their own names"])
def test_names_and_widths_give_every_order_away(write, names, orders):
    """`input.1`, `onnx::Gemm_5`: exporters rename; the demo's five widths still tell them apart. The engine reads no name."""
    found = {order: static_codes(write(NETWORK, order, names=names)) for order in orders}
    code = "RP402" if names is None else "RP403"
    assert [order for order, codes in found.items() if code not in codes] == [NAMES]
    assert found[NAMES] == set()


@some_or_all
@pytest.mark.parametrize("names", [NEUTRAL, NAMES], ids=["neutral names", "lying names"])
def test_the_probe_finds_every_order_that_the_file_hides(write, fitting, names, orders):
    """Without names and widths nothing in the file is wrong; only running it shows which place takes what."""
    assert len(orders) > 1
    for order in orders:
        path = write(NETWORK, order, names=names, widths=False)
        assert (static_codes(path), fitting(path)) == (set(), [order])


def test_the_probe_needs_no_batch(fitting, tmp_path):
    """The deployed exporter fixes it to 1."""
    single = onnx.ModelProto.FromString(NETWORK.SerializeToString())
    for entry in (*single.graph.input, *single.graph.output):
        entry.type.tensor_type.shape.dim[0].Clear()
        entry.type.tensor_type.shape.dim[0].dim_value = 1
    assert fitting(save(single, tmp_path / "single.onnx")) == [NAMES]


@pytest.fixture
def checked(command):
    """`rigpact check` on the demo bundle with a model: status, the answers of the probes, the canary's findings."""

    def call(model, *words, contract=CONTRACT[1:]):
        answer = command("check", *contract, "--onnx", model, *words, "--format", "json")
        report = json.loads(answer.out)
        codes = [each["code"] for each in report["findings"] if each["code"] in CODES]
        return answer.status, report["summary"].get("canary", [{}]), codes

    return call


def test_a_prediction_or_a_clip_among_the_files_probes_the_model(checked, write, prediction):
    """Without a request. A model only approximates the next pose: a clip proves no order, but excludes a bad one."""
    status, (summary,), codes = checked(MODEL, prediction)
    assert (status, summary["confirmed"], codes) == (0, True, [])
    assert summary["declared_error"] < 1e-4 < summary["nearest_other_error"]
    wrong = ("cond", "state", "contacts", "angvel", "pose_hist")
    status, (summary,), codes = checked(write(NETWORK, wrong, names=NEUTRAL, widths=False), prediction)
    assert (status, codes, summary["fitting"]) == (1, ["RP415"], [list(wrong)])
    status, (summary,), codes = checked(MODEL, CLIP)
    assert (status, codes, summary["confirmed"]) == (0, ["RP418"], False)
    wild = write(NETWORK, ("angvel", "cond", "contacts", "state", "pose_hist"), names=NEUTRAL, widths=False)
    assert "RP415" in checked(wild, CLIP)[2]


def changed(path, name, change):
    """The demo's model with one weight changed."""
    model = onnx.ModelProto.FromString(NETWORK.SerializeToString())
    (weight,) = (each for each in model.graph.initializer if each.name == name)
    weight.CopyFrom(onnx.numpy_helper.from_array(change(onnx.numpy_helper.to_array(weight).copy()), name))
    return save(model, path)


def deaf(values):
    """Exported as zeros: the character never hears the player."""
    values[:, 422:429] = 0.0
    return values


def test_what_the_recording_says_of_another_model_or_meaning_is_named(checked, prediction, tmp_path):
    """An old prediction confirms no new model; a residual taken for a pose collapses the character in its first frame."""
    other = changed(tmp_path / "other.onnx", "output.weight", lambda values: np.roll(values, 7, axis=0))
    status, (summary,), codes = checked(other, prediction)
    assert (status, codes, summary["fitting"]) == (0, ["RP417"], [])
    assert "RP427" in checked(changed(tmp_path / "deaf.onnx", "hidden.weight", deaf), prediction)[2]
    spec = {"output_mode": "absolute"}
    absolute = edited(BUNDLE, tmp_path / "absolute.json", lambda bundle: bundle["meta"]["rot6d_spec"].update(spec))
    for beside in (prediction, CLIP):
        status, _, codes = checked(MODEL, beside, contract=(absolute, *CONTRACT[2:]))
        assert (status, "RP451" in codes) == (1, True)


def engine_trace(run, order, out):
    """The demo run as an engine records it that binds in another order."""
    trace = read_trace(run)
    answer = PositionalModel(MODEL).run([trace.stages[name] for name in order])
    write_trace(replace(trace, stages={**trace.stages, "y_norm": answer}), out)
    return out


def test_the_order_that_an_engine_bound_is_named(checked, demo_run, prediction, tmp_path):
    """A C++ programmer gets the order that his code binds. One engine of two may bind otherwise."""
    right = engine_trace(demo_run, NAMES, tmp_path / "right.trace.jsonl")
    for order in ORDERS[1::40]:
        wrong = engine_trace(demo_run, order, tmp_path / "wrong.trace.jsonl")
        status, canary, codes = checked(MODEL, right, wrong, prediction)
        assert (status, codes, canary[1]["fitting"]) == (1, ["RP416"], [list(order)])
        assert [each["confirmed"] for each in canary] == [True, False, True]


@every_case(
    ("stages", "says"),
    [
        (("cond", "state"), "y_norm, the network's output"), (("y_norm",), "none of the network's inputs"),
        (("y_norm", "cond", "state"), "only the inputs state, cond"),
    ],
)  # fmt: skip
def test_a_recording_without_what_the_model_took_confirms_nothing(checked, demo_run, tmp_path_factory, stages, says):
    """Inputs that are filled up with zeros would accuse an engine of an order that it does not have."""
    whole, path = read_trace(demo_run), tmp_path_factory.mktemp("part") / "part.trace.jsonl"
    write_trace(replace(whole, stages={name: whole.stages[name] for name in stages}), path)
    with pytest.raises(UnusableInput, match=says):
        read_probe(path, CHARACTER)
    status, (summary,), _ = checked(MODEL, path)
    assert (status, "not_probed" in summary) == (2, True)
