"""A model with a defect, under the demo's gate

Each defect is planted here with the package onnx alone, which every installation has; none of them is one that `selftest` plants.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from rigpact.reports.gate.setup.status import EXTRAS

from .tried import passes, refused

Command = Callable[..., Any]
Edit = Callable[[Any], object]
MODEL = """[gate]
bundle = "norm_template.json"
companion = "pretrain_template.json"
model = "model.onnx"
free-run = false
"""
RECORDED = """[[gate.teacher]]
file = "teacher_predictions/Sneak_Turn_prediction.json"
clip = "clips/Sneak_Turn.json"
"""
DIFFERS = "RP801"
"""What no rule about a file can see shows in what training recorded."""
HIDDEN, OUTPUT = "linear_1", "motion_pred"


def _constant(graph: Any, name: str, values: Any) -> str:
    graph.initializer.append(numpy_helper.from_array(np.asarray(values), name))
    return name


def _after(graph: Any, value: str, operator: str, *more: str, outputs: int = 1, **attributes: Any) -> None:
    """Put a node behind a value inside the graph; all readers of the value take the node's first output."""
    place = next(index for index, node in enumerate(graph.node) if value in node.output)
    for node in graph.node:
        for index, name in enumerate(node.input):
            if name == value:
                node.input[index] = f"{value}_edited"
    names = [f"{value}_edited", *(f"{value}_more_{index}" for index in range(1, outputs))]
    graph.node.insert(place + 1, helper.make_node(operator, [value, *more], names, **attributes))


def _before_output(graph: Any, operator: str, *more: str, **attributes: Any) -> None:
    """Put a node between the last one and the graph's output."""
    last = next(node for node in graph.node if OUTPUT in node.output)
    last.output[0] = "unfinished"
    graph.node.append(helper.make_node(operator, ["unfinished", *more], [OUTPUT], **attributes))


def _dropout(model: Any) -> None:
    training = _constant(model.graph, "training", True)
    _after(model.graph, HIDDEN, "Dropout", _constant(model.graph, "ratio", np.float32(0.1)), training)


def _random(model: Any) -> None:
    model.graph.node.append(helper.make_node("RandomNormalLike", [HIDDEN], ["noise"], scale=1e-3))
    place = next(index for index, node in enumerate(model.graph.node) if HIDDEN in node.output)
    model.graph.node.insert(place + 1, model.graph.node.pop())
    _after(model.graph, HIDDEN, "Add", "noise")
    nodes = list(model.graph.node)
    nodes[place + 1], nodes[place + 2] = nodes[place + 2], nodes[place + 1]
    del model.graph.node[:]
    model.graph.node.extend(nodes)


def _weight(name: str, change: Callable[[Any], Any]) -> Edit:
    def edit(model: Any) -> None:
        tensor = next(each for each in model.graph.initializer if each.name == name)
        tensor.CopyFrom(numpy_helper.from_array(np.asarray(change(numpy_helper.to_array(tensor).copy())), name))

    return edit


def _one(value: float) -> Callable[[Any], Any]:
    def change(values: Any) -> Any:
        values.flat[1234] = value
        return values

    return change


def _ignored(model: Any) -> None:
    """The input stays declared, and zeros are read in its place."""
    _replace(model.graph, "angvel", "silent")
    zero = _constant(model.graph, "silence", np.float32(0.0))
    model.graph.node.insert(0, helper.make_node("Mul", ["angvel", zero], ["silent"]))


def _replace(graph: Any, old: str, new: str) -> None:
    for node in graph.node:
        for index, name in enumerate(node.input):
            if name == old:
                node.input[index] = new


def _batch(size: int) -> Edit:
    def edit(model: Any) -> None:
        for entry in (*model.graph.input, *model.graph.output):
            entry.type.tensor_type.shape.dim[0].Clear()
            entry.type.tensor_type.shape.dim[0].dim_value = size

    return edit


def _no_activation(model: Any) -> None:
    """The activation was lost when the module was rewritten."""
    _replace(model.graph, "sigmoid", _constant(model.graph, "one", np.float32(1.0)))


def _not_a_number(model: Any) -> None:
    zero = _constant(model.graph, "zero", np.float32(0.0))
    _before_output(model.graph, "Div", zero)


DEFECTS: dict[str, tuple[Edit, str]] = {
    "dropout in training mode": (_dropout, "RP426"),
    "a NaN among the weights": (_weight("hidden.weight", _one(np.nan)), "RP429"),
    "an input multiplied by zero": (_ignored, DIFFERS),
    "a layer that was never trained": (_weight("output.weight", np.zeros_like), DIFFERS),
    "an activation that was lost": (_no_activation, DIFFERS),
    "0/0 at the output": (_not_a_number, DIFFERS),
}
"""Two that a rule of the file names, and what no rule can see; contract_room/model_cases.py has a model for every rule."""


@pytest.fixture
def project(game: Path) -> Path:
    """The demo under the gate."""
    (game / "rigpact.toml").write_text(MODEL, encoding="utf-8")
    return game


@passes("the demo's own model, under the same gate")
def test_the_demo_passes(command: Command, project: Path) -> None:
    """The passing case of every defect below; nothing is planted."""
    path = project / "model.onnx"
    path.write_bytes(onnx.load(path).SerializeToString())  # written again, as an edit does
    for text in (MODEL, MODEL + RECORDED):
        (project / "rigpact.toml").write_text(text, encoding="utf-8")
        assert command("gate").status == 0


@refused(
    f"each of {len(DEFECTS)} defects of a model: {', '.join(DEFECTS)}",
    "the gate exits with 1 or 2 and names the defect, after a plain install",
)
@pytest.mark.parametrize("name", DEFECTS)
@pytest.mark.usefixtures("no_search")
def test_a_model_defect_fails_the_gate(command: Command, project: Path, name: str) -> None:
    """Each of these plays in the game without a message, or keeps the character from loading."""
    edit, code = DEFECTS[name]
    if code == DIFFERS:
        (project / "rigpact.toml").write_text(MODEL + RECORDED, encoding="utf-8")
    path = project / "model.onnx"
    model = onnx.load(path)
    edit(model)
    path.write_bytes(model.SerializeToString())
    answer = command("gate", "--format", "json")
    found = {each["code"] for part in json.loads(answer.out)["parts"] for each in part["findings"]}
    assert answer.status in (1, 2)
    assert code in found, found


@refused("dropout in training mode, with none of rigpact's extras installed", "RP426, exit 1")
def test_the_extras_are_not_needed_to_see_them(project: Path) -> None:
    """Every recipe for CI is a plain install; there a model in training mode passed."""
    path = project / "model.onnx"
    model = onnx.load(path)
    _dropout(model)
    path.write_bytes(model.SerializeToString())
    absent = f"sys.modules.update(dict.fromkeys({[*EXTRAS, 'scipy', 'onnxscript']!r}))"
    code = f"import sys; {absent}; from rigpact.reports.command_line import main; main(['gate'])"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stderr) == (1, "")
    assert "RP426" in done.stdout
