"""Real ONNX files with one defect each: the signature and content that the reader finds, and the rule that fires."""

import math
from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from rigpact.contract.documents import read_document
from rigpact.contract.errors import UnusableInput
from rigpact.contract.model.binding import (
    ORDERS,
    Misfit,
    accepted_orders,
    interchangeable_pairs,
    misfits,
)
from rigpact.contract.model.copies import quantised_models
from rigpact.contract.model.edges import bound_clamps
from rigpact.contract.model.graph import TensorSignature, escapes_folder, open_model
from rigpact.contract.model.signature import read_model, read_model_signature
from rigpact.contract.rules.catalogue import check
from rigpact.contract.rules.family import Artefacts

from ..every_case import every_case
from .model_cases import external, honest_model, node, of_size, weight
from .small_character import WIDTHS

onnx = pytest.importorskip("onnx")
helper = onnx.helper
Edit = Callable[[Any], object]
EXTERNAL = 89 * 18 * 4


def codes(path):
    """The findings of the rules on a file: pointer by code."""
    return {finding.rule.code: finding.pointer for finding in check(Artefacts(model=read_model(path))).findings}


@pytest.fixture
def saved(tmp_path):
    """Write the honest model, edited."""

    def save(*edits, model=None, name="model"):
        model = model or honest_model()
        for edit in edits:
            edit(model)
        (tmp_path / f"{name}.onnx").write_bytes(model.SerializeToString())
        return tmp_path / f"{name}.onnx"

    return save


@pytest.mark.parametrize(("code", "edit"), [
    ("RP420", node("Sorcery", "all", "s", domain="com.acme")),
    # forty bytes of file must not ask for all memory of the build server
    ("RP439", of_size(2**40, 2**10)),
])  # fmt: skip
def test_a_model_that_onnxruntime_refuses_is_judged_all_the_same(saved, code, edit):
    """The graph shows the reason; model_cases.py has a file for each rule about it."""
    assert code in codes(saved(edit))


def test_sound_models_are_clean(saved, demo_bundle):
    """The demo model as torch exports it says where it clamps; its parameters are counted by hand, with two bounds."""
    assert codes(saved()) == {}
    path = demo_bundle / "model.onnx"
    found = check(Artefacts(read_document(demo_bundle / "norm_template.json"), model=read_model(path))).findings
    said = [(finding.rule.code, finding.values["name"]) for finding in found if finding.file == str(path)]
    assert said == [("RP430", "state"), ("RP430", "cond")]
    graph = open_model(path)
    assert [entry.shape for entry in graph.inputs][:2] == [("B", 422), ("B", 7)]
    assert graph.parameters == 48 * 829 + 512 * 618 + 276 * 651 + 2


def test_names_types_and_shapes_are_read_in_order(saved):
    """The engine binds by position: an order that is read wrongly is judged wrongly."""
    signature = read_model_signature(saved())
    assert signature.inputs == tuple(TensorSignature(name, "float32", ("B", width)) for name, width in WIDTHS.items())
    assert signature.outputs == (TensorSignature("motion_pred", "float32", ("B", 18)),)
    assert signature.inputs[1].width == 7


@pytest.mark.parametrize(
    "location", ["../secret.bin", "/etc/passwd", "C:\\secret.bin", "sub/../../secret.bin", "..\\secret.bin", ""]
)
def test_weights_outside_the_folder_are_never_opened(saved, tmp_path, location, monkeypatch):
    """A model from the internet must not read the build server's files into its first layer."""
    (tmp_path.parent / "secret.bin").write_bytes(bytes(EXTERNAL))
    opened = "rigpact.contract.model.signature.read_model_signature"
    monkeypatch.setattr(opened, lambda _: pytest.fail("the model was opened"))
    assert "RP436" in codes(saved(external(location, EXTERNAL)))


def test_a_link_out_of_the_folder_is_seen_through(tmp_path):
    """The name looks harmless; the file it leads to is not the model's."""
    (tmp_path / "models").mkdir()
    (tmp_path / "secret.bin").write_bytes(bytes(EXTERNAL))
    try:
        (tmp_path / "models" / "weights.bin").symlink_to(tmp_path / "secret.bin")
    except OSError:
        pytest.skip("no links here")
    assert escapes_folder(tmp_path / "models", "weights.bin")
    assert not escapes_folder(tmp_path / "models", "sub/weights.bin")


@pytest.mark.parametrize(("size", "code"), [(None, "RP437"), (100, "RP437"), (EXTERNAL, "RP438")], ids=str)
def test_weights_in_a_second_file(saved, tmp_path, size, code):
    """Copied without its weights, cut off while copying, or whole: three different answers."""
    path = saved(external("weights.bin", EXTERNAL))
    if size is None:
        with pytest.raises(UnusableInput) as refusal:
            read_model_signature(path)
        assert "second file" in refusal.value.hint
    else:
        (tmp_path / "weights.bin").write_bytes(b"\0\0\0\x3f" * (size // 4))
    assert code in codes(path)


def test_only_of_lost_weights_is_a_second_file_spoken(tmp_path):
    """Who looks for weights beside a file that is no model looks in vain."""
    (tmp_path / "model.onnx").write_bytes(b"no model")
    with pytest.raises(UnusableInput) as refusal:
        read_model_signature(tmp_path / "model.onnx")
    assert refusal.value.hint == ""


@every_case("content", [b"", b"junk", b"\x08\x09", bytes(range(256)) * 9, None], ids=repr)
def test_what_is_no_model_is_refused(tmp_path, content):
    """One line, not a protobuf's stack trace; a folder and a missing file are the most common mistakes."""
    path = tmp_path / "model.onnx"
    for read in (read_model, read_model_signature):
        if content is not None:
            path.write_bytes(content)
        for place in (path, tmp_path):
            with pytest.raises(UnusableInput):
                read(place)


def test_a_cut_model_is_refused_at_every_length(tmp_path):
    """An interrupted copy ends anywhere."""
    content, path, judged = honest_model().SerializeToString(), tmp_path / "model.onnx", 0
    for end in range(1, len(content), 211):
        path.write_bytes(content[:end])
        try:
            judged += bool(set(codes(path)) & {"RP400", "RP410", "RP420", "RP423"})
        except UnusableInput:
            judged += 1
    assert judged == len(range(1, len(content), 211))


def test_the_narrowest_clamp_of_each_input_is_known(saved):
    """A training row outside the clamp never reaches the network: what it would learn from it is lost without a word."""
    path = saved(
        weight("lo", -2), weight("hi", 3), weight("wide", 9), weight("low9", -9),
        node("Identity", "state", "same"),
        node("Clip", "same lo hi", "state_cut"),  # cuts state, though it stands behind another operation
        node("Clip", "state low9 wide", "state_wide"),  # wider than the other: cuts nothing more
        node("Clip", "cond lo ", "cond_cut"),  # no upper bound
        node("ReduceMax", "state", "largest", keepdims=0),
        node("Clip", "contacts lo largest", "contacts_cut"),  # a bound that only the run knows
        node("Clip", "all lo hi", "all_cut"),  # no input
    )  # fmt: skip
    found = bound_clamps(open_model(path))
    assert {place: (each.low, each.high) for place, each in found.items()} == {0: (-2.0, 3.0), 1: (-2.0, math.inf)}


def of_layers(*entries):
    """A model of unconnected layers, enough to read their weights."""
    nodes = [helper.make_node(op, names.split(), [f"y{n}"], **said) for n, (op, names, said) in enumerate(entries)]
    return helper.make_model(helper.make_graph(nodes, "layers", [], []))


SHAPES = {"gemm": (4, 6), "turned": (6, 4), "product": (4, 6), "kernel": (3, 4, 5), "w": (1, 9, 4), "r": (1, 9, 3)}
CHANNEL = {"gemm": 1, "turned": 0, "product": 1, "kernel": 0, "w": 1, "r": 1}
"""The axis of each layer's outputs: Gemm and MatMul take (in, out), transB and Conv (out, in), a GRU (1, out, in)."""


def test_an_int8_model_has_one_scale_for_each_output(saved):
    """Scales along the other axis are another model: the deployed one would not be recognised by its answers."""
    model = of_layers(
        ("Gemm", "x gemm", {}), ("Gemm", "x turned", {"transB": 1}), ("MatMul", "x product", {}), ("MatMul", "x y0", {}),
        ("Conv", "x kernel", {}), ("GRU", "x w r", {"hidden_size": 3}),
    )  # fmt: skip
    rng = np.random.default_rng(0)
    values = {name: rng.normal(size=shape).astype(np.float32) for name, shape in SHAPES.items()}
    found = quantised_models(saved(*(weight(name, rows) for name, rows in values.items()), model=model))
    (content,) = (content for words, content in found if "each channel" in words)
    tensors = onnx.load_model_from_string(content).graph.initializer
    assert {tensor.name for tensor in tensors} == set(SHAPES)
    for tensor in tensors:
        original = np.moveaxis(values[tensor.name].astype(np.float64), CHANNEL[tensor.name], 0)
        written = np.moveaxis(onnx.numpy_helper.to_array(tensor), CHANNEL[tensor.name], 0)
        for own, channel in zip(original, written, strict=True):
            step = np.abs(own).max() / 127.0
            np.testing.assert_allclose(channel, np.round(own / step) * step, rtol=1e-6)


def test_a_model_without_another_number_is_no_quantised_one(saved):
    """Weights of ±1 are the same in every format: naming one would name a cause that changes nothing."""
    layer = ("MatMul", "x w", {})
    assert list(quantised_models(saved(weight("w", [[1.0, -1.0], [-1.0, 1.0]]), model=of_layers(layer)))) == []
    assert list(quantised_models(saved(external("weights.bin", EXTERNAL), name="apart"))) == []
    thirds = saved(weight("w", [[1.0, -1.0 / 3.0], [-1.0 / 7.0, 1.0]]), model=of_layers(layer), name="thirds")
    assert len(list(quantised_models(thirds))) == 4


DEPLOYED = {"state": 420, "cond": 7, "contacts": 2, "angvel": 138, "pose_hist": 828}
NAMES = tuple(DEPLOYED)


def test_the_orders_that_survive_a_check_of_byte_sizes_are_those_of_brute_force():
    """A small character whose history is as wide as its state, swapped, plays noise; a dynamic axis takes every vector."""
    assert len(set(ORDERS)) == 120
    assert (ORDERS[0], accepted_orders(DEPLOYED), interchangeable_pairs(DEPLOYED)) == (NAMES, (NAMES,), ())
    assert len(accepted_orders(DEPLOYED, dict.fromkeys(NAMES))) == 120
    two_bones = {**DEPLOYED, "state": 24, "angvel": 6, "pose_hist": 24}
    assert interchangeable_pairs(two_bones) == (("state", "pose_hist"),)
    for equal in range(1, 6):
        widths = {name: 50 if place < equal else 100 + place for place, name in enumerate(NAMES)}
        assert len(accepted_orders(widths)) == math.factorial(equal)
        assert len(interchangeable_pairs(widths)) == equal * (equal - 1) // 2
    vectors = {"state": 4, "cond": 7, "contacts": 4, "angvel": 7, "pose_hist": 9}
    fits = {order for order in permutations(NAMES) if [vectors[n] for n in order] == [4, 7, 4, 7, 9]}
    assert set(accepted_orders(vectors)) == fits
    found = misfits(("state", "contacts", "cond", "angvel", "pose_hist"), DEPLOYED)
    assert found == (Misfit(1, "cond", "contacts", 2, 7), Misfit(2, "contacts", "cond", 7, 2))
    assert [each.action for each in found] == ["padded by 5", "cut by 5"]


def test_attributes_are_read_as_words_and_numbers(saved):
    """A word that is read as a row of bytes is another activation, and a list of words is no word."""
    said = {
        "activation": "Tanh",
        "activations": ["Tanh", "Relu"],
        "size": 3,
        "sizes": [3, 4],
        "alpha": 0.5,
        "alphas": [0.5],
    }
    (found,) = (each for each in open_model(saved(node("Own", "all", "own", **said))).nodes if each.op == "Own")
    assert found.attributes == {name: tuple(each) if isinstance(each, list) else each for name, each in said.items()}
