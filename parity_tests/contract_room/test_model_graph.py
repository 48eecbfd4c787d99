"""Real ONNX files with one defect each: the content that the reader finds, and the rule that fires."""

import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rigpact.contract.documents import read_document
from rigpact.contract.errors import UnusableInput
from rigpact.contract.model.clamps import bound_clamps
from rigpact.contract.model.file import read_model
from rigpact.contract.model.graph import escapes_folder, read_model_graph
from rigpact.contract.model.quantised import quantised_models
from rigpact.contract.rules import Subject, check

from ..every_case import every_case

onnx = pytest.importorskip("onnx")
helper, FLOAT = onnx.helper, onnx.TensorProto.FLOAT
WIDTHS = {"state": 35, "cond": 7, "contacts": 2, "angvel": 9, "pose_hist": 36}
Edit = Callable[[Any], object]


def honest_model() -> Any:
    """Concat of the five inputs, one layer with a bias."""
    inputs = [helper.make_tensor_value_info(name, FLOAT, ["B", width]) for name, width in WIDTHS.items()]
    weights = [
        onnx.numpy_helper.from_array(np.full((89, 18), 0.5, np.float32), "w"),
        onnx.numpy_helper.from_array(np.zeros(18, np.float32), "b"),
    ]
    nodes = [
        helper.make_node("Concat", list(WIDTHS), ["all"], axis=1),
        helper.make_node("Gemm", ["all", "w", "b"], ["motion_pred"]),
    ]
    output = helper.make_tensor_value_info("motion_pred", FLOAT, ["B", 18])
    graph = helper.make_graph(nodes, "motion", inputs, [output], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def codes(path: Path) -> dict[str, str]:
    """The findings of the rules on a file: pointer by code."""
    return {finding.rule.code: finding.pointer for finding in check(Subject(model=read_model(path))).findings}


def save(model: Any, path: Path, **options: Any) -> Path:
    onnx.save(model, path, **options)
    return path


def test_an_honest_model_is_clean(tmp_path: Path) -> None:
    """No rule may report a sound model."""
    assert codes(save(honest_model(), tmp_path / "model.onnx")) == {}


def test_the_demo_model_says_where_it_clamps(demo_bundle: Path) -> None:
    """The demo model as torch exports it: the only finding is that state and cond are clamped at ±16."""
    subject = Subject(read_document(demo_bundle / "norm_template.json"), model=read_model(demo_bundle / "model.onnx"))

    found = [finding for finding in check(subject).findings if finding.file == str(demo_bundle / "model.onnx")]

    assert [finding.message for finding in found] == [
        "state is clamped to [-16, 16] inside the graph",
        "cond is clamped to [-16, 16] inside the graph",
    ]


def node(op: str, inputs: list[str], outputs: list[str], **attributes: Any) -> Edit:
    return lambda model: model.graph.node.append(helper.make_node(op, inputs, outputs, **attributes))


def weight(name: str, values: Any, kind: Any = np.float32) -> Edit:
    return lambda model: model.graph.initializer.append(onnx.numpy_helper.from_array(np.array(values, kind), name))


def both(*edits: Edit) -> Edit:
    return lambda model: [edit(model) for edit in edits]


def opset(version: int) -> Edit:
    return lambda model: setattr(model.opset_import[0], "version", version)


def not_finite(model: Any) -> None:
    values = np.full((89, 18), 0.5, np.float32)
    values[3, 5] = np.inf
    model.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(values, "w"))


def zeros(model: Any) -> None:
    model.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(np.zeros((89, 18), np.float32), "w"))


def cut_off(model: Any) -> None:
    """contacts goes nowhere: a third branch that the exporter lost."""
    model.graph.node[0].CopyFrom(
        helper.make_node("Concat", ["state", "cond", "angvel", "pose_hist", "spare"], ["all"], axis=1)
    )
    weight("spare", np.ones((1, 2)))(model)


def branch(model: Any) -> None:
    """An If whose branches read `all` from outside."""
    sides = [
        helper.make_graph(
            [helper.make_node("Gemm", ["all", "w", "b"], [f"side{k}"])],
            f"side{k}",
            [],
            [helper.make_tensor_value_info(f"side{k}", FLOAT, ["B", 18])],
        )
        for k in range(2)
    ]
    model.graph.node[1].CopyFrom(
        helper.make_node("If", ["which"], ["motion_pred"], then_branch=sides[0], else_branch=sides[1])
    )
    weight("which", True, bool)(model)


def constant(name: str, value: float) -> Edit:
    return node("Constant", [], [name], value=onnx.numpy_helper.from_array(np.array([value], np.float32)))


DEFECTS: dict[str, tuple[str, str, Edit]] = {
    "old opset": ("RP421", "/opset_import", opset(6)),
    "new opset": ("RP422", "/opset_import", opset(21)),
    "no opset": ("RP423", "/opset_import", lambda model: model.ClearField("opset_import")),
    "unused input": ("RP425", "/graph/input/2", cut_off),
    "dropout": ("RP426", "/graph/node/2",
                both(weight("r", 0.5), weight("t", True, bool), node("Dropout", ["all", "r", "t"], ["d"]))),
    "random": ("RP428", "/graph/node/2", node("RandomNormalLike", ["all"], ["noise"])),
    "infinite weight": ("RP429", "/graph/initializer/0", not_finite),
    "clamp": ("RP430", "/graph/node/2", both(weight("lo", -2), weight("hi", 2), node("Clip", ["state", "lo", "hi"], ["c"]))),
    "swapped clamp": ("RP431", "/graph/node/2",
                      both(weight("lo", 2), weight("hi", -2), node("Clip", ["all", "lo", "hi"], ["c"]))),
    "double": ("RP432", "/graph/node/2", node("Cast", ["all"], ["wide"], to=onnx.TensorProto.DOUBLE)),
    "half": ("RP433", "/graph/node/2", node("Cast", ["all"], ["half"], to=onnx.TensorProto.FLOAT16)),
    "bfloat16": ("RP433", "/graph/node/2", node("Cast", ["all"], ["half"], to=onnx.TensorProto.BFLOAT16)),
    "foreign": ("RP435", "/graph/node/2", node("FusedMatMul", ["all", "w"], ["m"], domain="com.microsoft")),
    "unused weight": ("RP440", "/graph/initializer/2", weight("lost", np.ones((3, 3)))),
    "default": ("RP442", "/graph/input/2", weight("contacts", np.zeros((1, 2)))),
    "zeros": ("RP444", "/graph/initializer/0", zeros),
    "branch": ("RP445", "/graph/node/1", branch),
    "infinite constant": ("RP429", "/graph/node/3",
                          both(node("Constant", [], ["one"], value_float=1.0), constant("inf", np.inf))),
}  # fmt: skip


NEAR_MISSES: dict[str, tuple[str, Edit]] = {
    "a clamp of what the model computed": (
        "RP430", both(weight("lo", -2), weight("hi", 2), node("Clip", ["all", "lo", "hi"], ["c"])),
    ),
    "a dropout that an exporter left in": ("RP426", both(weight("r", 0.5), node("Dropout", ["all", "r"], ["d"]))),
    "a dropout that says that it does not train": (
        "RP426", both(weight("r", 0.5), weight("t", False, bool), node("Dropout", ["all", "r", "t"], ["d"])),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("code", "edit"), NEAR_MISSES.values(), ids=NEAR_MISSES.keys())
def test_what_is_meant_so_is_not_reported(tmp_path: Path, code: str, edit: Edit) -> None:
    """A rule that reports sound exports is switched off, and then misses the others."""
    model = honest_model()
    edit(model)
    assert code not in codes(save(model, tmp_path / "model.onnx"))


@every_case(("code", "pointer", "edit"), DEFECTS.values(), ids=DEFECTS.keys())
def test_the_defect_is_read_from_the_file(tmp_path: Path, code: str, pointer: str, edit: Edit) -> None:
    """Some tool before the game imports each of these without a message."""
    model = honest_model()
    edit(model)

    assert codes(save(model, tmp_path / "model.onnx")).get(code) == pointer


def test_inputs_that_only_a_branch_reads_count_as_used(tmp_path: Path) -> None:
    """A subgraph takes `all` from outside: the inputs behind it are not unused."""
    model = honest_model()
    branch(model)

    assert "RP425" not in codes(save(model, tmp_path / "model.onnx"))


def test_a_model_that_onnxruntime_refuses_is_still_judged(tmp_path: Path) -> None:
    """'Not a registered function' alone is misleading; the report must name the node."""
    model = honest_model()
    model.graph.node.append(helper.make_node("Sorcery", ["all"], ["s"], domain="com.acme"))

    found = codes(save(model, tmp_path / "model.onnx"))

    assert {"RP420", "RP435"} <= set(found)


def external(path: Path, location: str, length: int = 89 * 18 * 4) -> Path:
    """Write a model whose weights are to be read from `location`."""
    model = honest_model()
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", "0"), ("length", str(length))):
        entry = tensor.external_data.add()
        entry.key, entry.value = key, value
    path.write_bytes(model.SerializeToString())
    return path


@pytest.mark.parametrize(
    "location", ["../secret.bin", "/etc/passwd", "C:\\secret.bin", "sub/../../secret.bin", "..\\secret.bin", ""]
)
def test_weights_outside_the_folder_are_never_opened(
    tmp_path: Path, location: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model from the internet must not read the build server's files into its first layer."""
    folder = tmp_path / "models"
    folder.mkdir()
    (tmp_path / "secret.bin").write_bytes(np.ones((89, 18), np.float32).tobytes())
    path = external(folder / "model.onnx", location)
    monkeypatch.setattr(
        "rigpact.contract.model.file.read_model_signature", lambda _: pytest.fail("the model was opened")
    )

    assert "RP436" in codes(path)


def test_a_link_out_of_the_folder_is_seen_through(tmp_path: Path) -> None:
    """The name looks harmless; the file it leads to is not the model's."""
    folder, outside = tmp_path / "models", tmp_path / "secret.bin"
    folder.mkdir()
    outside.write_bytes(b"\0" * 89 * 18 * 4)
    try:
        (folder / "weights.bin").symlink_to(outside)
    except OSError:
        pytest.skip("no links here")

    assert escapes_folder(folder, "weights.bin")
    assert not escapes_folder(folder, "sub/weights.bin")


@pytest.mark.parametrize(("size", "code"), [(None, "RP437"), (100, "RP437"), (89 * 18 * 4, "RP438")], ids=str)
def test_weights_in_a_second_file(tmp_path: Path, size: int | None, code: str) -> None:
    """Copied without its weights, cut off while copying, or whole: three different answers."""
    path = external(tmp_path / "model.onnx", "weights.bin")
    if size is not None:
        (tmp_path / "weights.bin").write_bytes(b"\0\0\0\x3f" * (size // 4))

    assert code in codes(path)


def test_a_weight_that_claims_terabytes_is_not_allocated(tmp_path: Path) -> None:
    """Forty bytes of file must not ask for all memory of the build server."""
    model = honest_model()
    model.graph.initializer[0].dims[:] = [2**40, 2**10]
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())

    assert "RP439" in codes(tmp_path / "model.onnx")


@pytest.mark.parametrize("content", [b"junk", b"\x08\x09", bytes(range(256)) * 9], ids=["text", "cut", "bytes"])
def test_what_is_no_model_is_refused(tmp_path: Path, content: bytes) -> None:
    """One line, not a protobuf's stack trace."""
    path = tmp_path / "model.onnx"
    path.write_bytes(content)

    with pytest.raises(UnusableInput):
        read_model(path)


def test_a_cut_model_is_refused_at_every_length(tmp_path: Path) -> None:
    """An interrupted copy ends anywhere."""
    content = honest_model().SerializeToString()
    path = tmp_path / "model.onnx"
    for end in range(1, len(content), 211):
        path.write_bytes(content[:end])
        try:
            found = {finding.rule.code for finding in check(Subject(model=read_model(path))).findings}
        except UnusableInput:
            continue
        assert found & {"RP400", "RP410", "RP420", "RP423"}


def test_the_rules_about_graphs_need_no_onnx() -> None:
    """The gate's own modules load where only the core dependencies are installed."""
    code = (
        "import sys; sys.modules['onnx'] = None; import rigpact.contract.rules.catalogue, rigpact.contract.model.file"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, env=environment)


def test_batch_axes_and_sizes_are_read(demo_bundle: Path) -> None:
    """What describe prints about the demo model, counted by hand: 48·829 + 512·618 + 276·651 and two clamp bounds."""
    graph = read_model_graph(demo_bundle / "model.onnx")

    assert [entry.shape for entry in graph.inputs][:2] == [("B", 422), ("B", 7)]
    assert graph.parameters == 48 * 829 + 512 * 618 + 276 * 651 + 2


def test_the_narrowest_clamp_of_each_input_is_known(tmp_path: Path) -> None:
    """A training row outside the clamp never reaches the network: what it would learn from it is lost, and nothing says so."""
    model = honest_model()
    low, high = weight("lo", -2), weight("hi", 3)
    both(low, high, weight("wide", 9), weight("low9", -9))(model)
    for edit in (
        node("Identity", ["state"], ["same"]),
        node("Clip", ["same", "lo", "hi"], ["state_cut"]),  # cuts state, though it stands behind another operation
        node("Clip", ["state", "low9", "wide"], ["state_wide"]),  # wider than the other: cuts nothing more
        node("Clip", ["cond", "lo", ""], ["cond_cut"]),  # no upper bound
        node("ReduceMax", ["state"], ["largest"], keepdims=0),
        node("Clip", ["contacts", "lo", "largest"], ["contacts_cut"]),  # a bound that only the run knows
        node("Clip", ["all", "lo", "hi"], ["all_cut"]),  # no input
    ):
        edit(model)
    found = bound_clamps(read_model_graph(save(model, tmp_path / "model.onnx")))
    assert {place: (clamp.low, clamp.high) for place, clamp in found.items()} == {0: (-2.0, 3.0), 1: (-2.0, math.inf)}


def of_layers(*entries: tuple[str, tuple[str, ...], dict[str, Any]]) -> Any:
    """A model of unconnected layers, enough to read their weights."""
    nodes = [
        helper.make_node(op, list(names), [f"y{place}"], **said) for place, (op, names, said) in enumerate(entries)
    ]
    return helper.make_model(helper.make_graph(nodes, "layers", [], []))


SHAPES = {"gemm": (4, 6), "turned": (6, 4), "product": (4, 6), "kernel": (3, 4, 5), "w": (1, 9, 4), "r": (1, 9, 3)}
CHANNEL = {"gemm": 1, "turned": 0, "product": 1, "kernel": 0, "w": 1, "r": 1}
"""The axis of each layer's outputs: Gemm and MatMul take (in, out), Gemm with transB and Conv (out, in), a GRU (1, out, in)."""


def test_an_int8_model_has_one_scale_for_each_output(tmp_path: Path) -> None:
    """Scales along the other axis are another model: the deployed one would not be recognised by its answers."""
    model, rng = (
        of_layers(
            ("Gemm", ("x", "gemm"), {}),
            ("Gemm", ("x", "turned"), {"transB": 1}),
            ("MatMul", ("x", "product"), {}),
            ("MatMul", ("x", "y0"), {}),
            ("Conv", ("x", "kernel"), {}),
            ("GRU", ("x", "w", "r"), {"hidden_size": 3}),
        ),
        np.random.default_rng(0),
    )
    values = {name: rng.normal(size=shape).astype(np.float32) for name, shape in SHAPES.items()}
    for name, numbers in values.items():
        weight(name, numbers)(model)
    found = dict(quantised_models(save(model, tmp_path / "model.onnx")))
    (content,) = (content for words, content in found.items() if "each channel" in words)
    for tensor in onnx.load_model_from_string(content).graph.initializer:
        original = np.moveaxis(values[tensor.name].astype(np.float64), CHANNEL[tensor.name], 0)
        written = np.moveaxis(onnx.numpy_helper.to_array(tensor), CHANNEL[tensor.name], 0)
        for own, channel in zip(original, written, strict=True):
            step = np.abs(own).max() / 127.0
            np.testing.assert_allclose(channel, np.round(own / step) * step, rtol=1e-6)


def test_a_model_without_another_number_is_no_quantised_one(tmp_path: Path) -> None:
    """Weights of ±1 are the same in every format: naming one would name a cause that changes nothing."""
    model = of_layers(("MatMul", ("x", "w"), {}))
    weight("w", [[1.0, -1.0], [-1.0, 1.0]])(model)
    path = save(model, tmp_path / "model.onnx")
    assert list(quantised_models(path)) == []
    assert list(quantised_models(external(tmp_path / "apart.onnx", "weights.bin"))) == []
    assert len(list(quantised_models(save(of_thirds(), tmp_path / "thirds.onnx")))) == 4


def of_thirds() -> Any:
    """Weights that no format holds exactly."""
    model = of_layers(("MatMul", ("x", "w"), {}))
    weight("w", [[1.0, -1.0 / 3.0], [-1.0 / 7.0, 1.0]])(model)
    return model
