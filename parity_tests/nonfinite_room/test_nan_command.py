"""`rigpact nan` as its users meet it, also of a declared contract's model with its own order of inputs and outputs."""

import json
import shlex
from dataclasses import replace

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from rigpact.fixtures.skeleton import demo_skeleton
from rigpact.reference_runtime import open_run, run_frames, write_trace

from ..every_case import every_case

FRAMES = 5


def test_a_sound_run_is_finite_and_says_so(nan_command):
    """A good build must give no alarm."""
    status, document = nan_command("--frames", 60)
    said = tuple(document[key] for key in ("format", "version", "verdict", "origin"))
    assert (status, said) == (0, ("rigpact-nonfinite", 1, "finite", None))


def test_statistics_that_training_had_otherwise_are_guards(nan_command, command, demo_bundle):
    """The scale that the engine divides by is not training's; a merge that was forgotten leaves 1 and 0."""
    words = ("--frames", 9, "--perturb", "state@3:0")
    status, document = nan_command(*words, damage=("tanh_scales_angvel", 7, 123.0))
    changes = {guard["guard"]: guard["change"] for guard in document["guards"]}
    assert status == 1
    assert "angvel-scale-clobbered-by-merge" in {finding["name"] for finding in document["suspects"]}
    assert changes["training-scales"].startswith("tanh_scales_angvel[7] = 123, training")
    files = ["--contract", demo_bundle / "norm_template.json", "--onnx", demo_bundle / "model.onnx"]
    answer = command("nan", demo_bundle / "clips" / "Sneak_Turn.json", *files, *words, "--format", "json")
    assert answer.status == 1
    assert "merged-statistics" in {guard["guard"] for guard in json.loads(answer.out)["guards"]}


def test_an_overflow_is_told_with_its_operands_and_the_printed_command_fails_alike(nan_command, command):
    """What is pasted into a bug must show the same place, in as few frames as there can be."""
    _, first = nan_command("--frames", 30, damage=("MuX", 100, 1e39))
    assert first["origin"]["operands"]["MuX[100]"] == "Infinity"
    assert first["guard"]["change"].startswith("MuX[100] = inf")
    assert first["guard"]["survives_frames"] == 30
    again = shlex.split(first["command"])
    assert (again[:2], again[-2:]) == (["rigpact", "nan"], ["--frames", "1"])
    assert json.loads(command(*again[1:], "--format", "json").out)["origin"] == first["origin"]


def test_a_recorded_engine_run_is_looked_into(nan_command, demo_subject, tmp_path):
    """The NaN happened in the engine: only its trace is there."""
    loop = open_run(demo_subject.contract, demo_subject.network, demo_subject.clip, "free")
    trace = run_frames(loop, range(12), "Walk_Spin", "free")
    write_trace(trace, tmp_path / "run.trace.jsonl")
    stages = {name: rows.copy() for name, rows in trace.stages.items()}
    stages["delta6d"][7, 33] = np.nan
    for stage in ("next6d", "y_out", "quat", "x_raw_next"):
        stages[stage][7, 30] = np.nan
    for stage in ("x_raw", "state"):
        stages[stage][8:, 36] = np.nan
    write_trace(replace(trace, stages=stages), tmp_path / "engine.trace.jsonl")
    status, document = nan_command(tmp_path / "engine.trace.jsonl", runs=False)
    found = [document["origin"][key] for key in ("frame", "stage", "channel", "bone")]
    assert (status, found) == (1, [7, "delta6d", 33, demo_skeleton().names[5]])
    assert [link["stage"] for link in document["chain"]] == ["next6d", "y_out", "quat", "x_raw_next"]
    assert nan_command(tmp_path / "run.trace.jsonl", runs=False)[0] == 0


@every_case("word", ["gremlins", "state@x", "state@1=abc"])
def test_a_perturbation_that_is_none_is_refused(nan_command, word):
    """A misspelt fault that injects nothing would pass as 'survives'."""
    status, said = nan_command("--perturb", word)
    assert (status, "--perturb" in said) == (2, True)


def test_neither_model_nor_recording_cannot_be_judged(nan_command):
    """Without a run, the answer must not be a pass."""
    assert nan_command(runs=False)[0] == 2


CONTRACT = """
format = "rigpact-contract"
version = 1
name = "two"
fps = 50
given = [{ name = "a", size = 6 }, { name = "b", size = 4 }]
stages = [{ name = "y", operation = "network", size = 4 }, { name = "w", operation = "network", size = 4 }]
[networks.policy]
file = "model.onnx"
inputs = { a = "a", b = "b" }
outputs = { y = "y", w = "w" }
"""


@pytest.fixture
def declared(command, tmp_path):
    """`rigpact nan` of a model with inputs b (1, 4), a (1, 2, 3) and outputs w, y: the contract has them the other way round."""

    def ask(*last, judged="clip"):
        nodes = [("ReduceSum", ["a"], "total"), ("Identity", ["b"], "y"), ("Add", ["b", "total"], "sum"),
                 ("Sub", ["sum", "sum"], "zero"), ("Reciprocal", ["zero"], "made"), *last]  # fmt: skip
        made = [
            helper.make_node(op, inputs, [output], name=output, **({"keepdims": 0} if op == "ReduceSum" else {}))
            for op, inputs, output in nodes
        ]
        takes = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in (("b", [1, 4]), ("a", [1, 2, 3]))]
        gives = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 4]) for n in ("w", "y")]
        low, high = (numpy_helper.from_array(np.float32(value), name) for name, value in (("low", -1), ("high", 1)))
        graph = helper.make_graph(made, "own", takes, gives, [low, high])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
        onnx.save(model, str(tmp_path / "model.onnx"))
        (tmp_path / "contract.toml").write_text(CONTRACT, encoding="utf-8")
        a, b = (np.random.default_rng(3).normal(size=(FRAMES, width)).astype(np.float32) for width in (6, 4))
        np.savez(tmp_path / "clip.npz", a=a, b=b, frame=np.arange(FRAMES))
        np.savez(tmp_path / "engine.npz", a=a, b=b, y=b, w=np.ones_like(b), frame=np.arange(FRAMES))
        files = ("--contract", tmp_path / "contract.toml", "--onnx", tmp_path / "model.onnx")
        return json.loads(command("nan", tmp_path / f"{judged}.npz", *files, "--format", "json").out)

    return ask


@pytest.mark.parametrize("judged", ["clip", "engine"])
def test_what_does_not_arrive_is_told_of_any_model(declared, judged):
    """Looked at with its inputs exchanged, the model fails to run, and its values would be nobody's."""
    found = declared(("Clip", ["made", "low", "high"], "w"), judged=judged)
    assert found["verdict"] == "finite"
    assert [(each["node"], each["frame"], each["frames"]) for each in found["swallowed"]] == [("made", 0, FRAMES)]


def test_the_node_of_a_second_output_is_named(declared):
    """The contract's second output is the model's first."""
    origin = declared(("Identity", ["made"], "w"))["origin"]
    assert (origin["stage"], origin["network_node"], origin["network"]["same_bits"]) == ("w", "made", True)
