"""Observation must not change the run; and the node of a model that is named for a value that is not finite."""

from dataclasses import replace

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from rigpact.reference_runtime.files.declared import open_run
from rigpact.reference_runtime.files.run import run_frames
from rigpact.reference_runtime.files.sentinel import watch_run
from rigpact.reference_runtime.systems.enemy_animation.runs import free_crowd
from rigpact.reports.nonfinite.network_node import name_node, same_values
from rigpact.reports.nonfinite.observers import Envelope, Leaving

from ..every_case import every_case

FRAMES = 40
F = np.float32


@pytest.mark.parametrize("mode", ["free", "teacher"])
def test_sentinels_and_observers_leave_every_bit_as_it_was(demo_subject, mode):
    """A NaN that disappears during observation cannot be found."""
    subject = replace(demo_subject, mode=mode)
    plain = open_run(subject.contract, subject.network, subject.clip, subject.mode)
    recorded = run_frames(plain, range(FRAMES), None, subject.mode)
    seen = []
    leaving = Leaving(subject.contract, mode, subject.clip)
    observers = [leaving, Envelope(subject, subject.contract), lambda _frame, stages: seen.append(stages)]
    watched = watch_run(subject.start(), range(FRAMES), observers)
    assert (watched.is_finite, watched.finite_frames) == (True, FRAMES)
    for name, rows in recorded.stages.items():
        assert np.stack([stages[name] for stages in seen]).tobytes() == rows.tobytes(), name


@pytest.mark.parametrize("source", ["aux_stats", "rotations", "frozen", "state_slice", "zeros"])
def test_lockstep_is_the_same_run_and_runs_do_not_mix(demo_subject, source):
    """An envelope from a different loop cannot judge this loop; equal starts that part would count as chaos."""
    contract, rows = demo_subject.contract.with_conventions({"angvel_source": source}), demo_subject.rows().x_raw
    starts = rows[[0, 40, 0]]
    many = free_crowd(contract, demo_subject.network, demo_subject.clip, starts, engine="numpy")
    alone = free_crowd(contract, demo_subject.network, demo_subject.clip, rows[:1], engine="numpy")
    one = open_run(contract, demo_subject.network, demo_subject.clip, "free", engine="numpy")
    for _ in range(10):
        together, single, expected = many.step(), alone.step(), one.step()
        for name, value in expected.items():
            assert single[name][0].tobytes() == value.tobytes(), name
    assert np.abs(together["y_out"][0] - together["y_out"][2]).max() <= 1e-6
    assert np.abs(together["y_out"][0] - together["y_out"][1]).max() > 1e-2


def test_one_nan_is_as_good_as_another_but_bits_count():
    """Kernels differ in the NaN they make."""
    a = np.array([np.nan, 0.0, 1.0], F)
    assert same_values(a, np.array([-np.nan, 0.0, 1.0], F))
    assert not same_values(a, np.array([np.nan, -0.0, 1.0], F))
    assert not same_values(np.ones((1, 2), F), np.ones((1, 3), F))


TWO = [("Exp", ["x"], "a"), ("Exp", ["x"], "b")]
FOUR = [*TWO, ("Exp", ["x"], "c"), ("Exp", ["x"], "d"), ("Min", ["a", "b"], "one"), ("Min", ["c", "d"], "two")]
NODES = {  # nodes, constants, every number of x, the bad answer; (node, who is to blame, whether the bits are the same)
    "two values bad only together": ([*TWO, ("Min", ["a", "b"], "y")], {}, 1e3, np.inf, ("node_a", "inputs", True)),
    "no single value is enough": ([*FOUR, ("Max", ["one", "two"], "y")], {}, 1e3, np.inf, ("node_a", "inputs", True)),
    "a constant of the model": ([("Mul", ["x", "c"], "y")], {"c": np.inf}, 1.0, np.inf, ("node_y", "weights", True)),
    "other numbers than those that failed": (
        [("Exp", ["x"], "a"), ("Neg", ["a"], "y")], {}, 1e3, np.inf, ("node_a", "inputs", False)),
    "ordinary inputs would have done": ([("Mul", ["x", "x"], "y")], {}, 1e30, np.inf, ("node_y", "inputs", True)),
    "ordinary inputs fail too": (
        [("Sub", ["x", "x"], "zero"), ("Log", ["zero"], "y")], {}, 1.0, -np.inf, ("node_y", "weights", True)),
    "bad numbers were given": ([("Exp", ["x"], "y")], {}, np.inf, np.inf, None),
}  # fmt: skip


@every_case("name", NODES)
def test_the_node_that_made_it_is_named(tmp_path, name):
    """A wrong node, or the model blamed for its inputs, sends a person to retrain what is right."""
    nodes, constants, number, failed, expected = NODES[name]
    made = [
        helper.make_node("Constant", [], [key], value=numpy_helper.from_array(np.full((1, 1), value, F)))
        for key, value in constants.items()
    ]
    made += [helper.make_node(op, inputs, [output], name=f"node_{output}") for op, inputs, output in nodes]
    ends = [[helper.make_tensor_value_info(end, TensorProto.FLOAT, [1, 2])] for end in ("x", "y")]
    opset = [helper.make_opsetid("", 17)]
    model = helper.make_model(helper.make_graph(made, "small", *ends), opset_imports=opset, ir_version=9)
    onnx.save(model, tmp_path / "small.onnx")
    found = name_node(tmp_path / "small.onnx", [np.full((1, 2), number, F)], np.full((1, 2), failed, F))
    assert (None if found is None else (found.name, found.blame, found.same_bits)) == expected
    assert found is None or (found.weight is not None and found.weight.startswith("c")) == bool(constants)
