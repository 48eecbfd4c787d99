"""Edges of small functions of contracts and runs: a limit, a default, a sign. Each stands where a slip was once not noticed."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

from rigpact.contract.bundle import load_contract
from rigpact.contract.character import character_of
from rigpact.contract.declared.problems import shown
from rigpact.contract.errors import UnusableInput

from ..every_case import every_case


def _is_rounded(*values: float) -> bool:
    from rigpact.contract.rules.hosted.declared_contract import is_rounded

    return is_rounded(np.array(values))


EDGES: dict[str, tuple[Callable[[], Any], Any]] = {
    "the longest word that is shown whole": (lambda: shown("x" * 58), repr("x" * 58)),
    "a word that is one longer": (lambda: shown("x" * 59), "'" + "x" * 59 + "…"),
    "four numbers of three digits": (lambda: _is_rounded(0.251, 0.33, 1.25, 7.0), True),
    "three of them, and zeros and ones": (lambda: _is_rounded(0.251, 0.33, 1.25, 0.0, 1.0, 1.0, 0.0), False),
    "one with all its digits": (lambda: _is_rounded(0.251, 0.33, 1.25, 7.0, 0.123456789), False),
}


@every_case("name", EDGES)
def test_the_edge_is_where_it_is_said(name: str) -> None:
    """A limit that is off by one, or a sign, is the difference between a hint and a wrong one."""
    call, expected = EDGES[name]
    assert call() == expected


def test_the_numbers_of_a_bundle_stand_under_their_names(demo_bundle: Path) -> None:
    """A search for the number that made the NaN looks at nothing where the names lead nowhere."""
    from rigpact.reference_runtime.systems.enemy_animation.investigating.numbers import bundle_numbers

    document = json.loads((demo_bundle / "norm_template.json").read_text(encoding="utf-8"))
    found = bundle_numbers(load_contract(demo_bundle / "norm_template.json"))
    for name in ("MuX", "StdX", "MuY", "StdY"):
        assert found[name].tolist() == np.float32(document[name]).tolist()


def test_the_widths_of_the_stages_are_those_of_the_network(demo_bundle: Path) -> None:
    """A width that is not known is not checked: any recording would fit."""
    session = onnxruntime.InferenceSession(str(demo_bundle / "model.onnx"), providers=["CPUExecutionProvider"])
    widths = load_contract(demo_bundle / "norm_template.json").stage_widths
    assert [widths[name] for name in ("state", "cond", "contacts", "angvel", "pose_hist")] == [
        each.shape[-1] for each in session.get_inputs()
    ]
    assert widths["y_norm"] == session.get_outputs()[0].shape[-1]


@pytest.mark.parametrize("parent", [-1, -2, 99])
def test_a_parent_that_is_no_bone_makes_no_skeleton(parent: int, demo_bundle: Path, tmp_path: Path) -> None:
    """Positions computed with bone -2 as parent are those of another character."""
    document = json.loads((demo_bundle / "norm_template.json").read_text(encoding="utf-8"))
    document["meta"]["skeleton"]["parents"][-1] = parent
    path = tmp_path / "norm_template.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    assert (character_of(load_contract(path)).skeleton is None) is (parent != -1)


@pytest.mark.parametrize(
    ("kind", "size"), [("float32", 12), ("float64", 24), ("float16", 6), ("int32", 12), ("bool", 3)]
)
def test_the_bytes_of_a_weight_are_counted(kind: str, size: int, tmp_path: Path) -> None:
    """A limit on bytes that are counted wrongly refuses a sound model."""
    from rigpact.contract.model.graph import open_model

    weight = numpy_helper.from_array(np.ones(3, kind), "w")
    value = helper.make_tensor_value_info("y", weight.data_type, [3])
    graph = helper.make_graph([helper.make_node("Identity", ["w"], ["y"])], "g", [], [value], [weight])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10), tmp_path / "m.onnx")
    (found,) = open_model(tmp_path / "m.onnx").weights
    assert (found.dtype, found.bytes) == (kind, size)


def test_a_companion_of_a_system_without_one_is_named(demo_bundle: Path, tmp_path: Path) -> None:
    """The error must say which of two files has no place here."""
    from rigpact.contract.compatibility.compare import compare_contracts
    from rigpact.contract.documents import read_document

    page = read_document(demo_bundle.parent / "blender_ik" / "blender_ik.json")
    other = tmp_path / "other.json"
    shutil.copy(demo_bundle / "pretrain_template.json", other)
    companions = read_document(demo_bundle / "pretrain_template.json"), read_document(other)
    with pytest.raises(UnusableInput) as refused:
        compare_contracts(page, page, companions)
    assert refused.value.found == str(other)
