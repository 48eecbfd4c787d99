"""Observation must not change the run."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from rigpact.reference_runtime.files.declared import open_run
from rigpact.reference_runtime.files.runner import run_frames
from rigpact.reference_runtime.files.sentinel import watch_run
from rigpact.reference_runtime.files.subject import Subject
from rigpact.reference_runtime.systems.enemy_animation.runs import free_crowd
from rigpact.reports.nonfinite.investigation import Envelope, investigate
from rigpact.reports.nonfinite.leaving import Growth
from rigpact.reports.nonfinite.network_node import name_node, same_values

from .nonfinite_models import damaged_demo_cases, failing_operation_cases

FRAMES = 120


@pytest.mark.parametrize("mode", ["free", "teacher"])
def test_sentinels_and_observers_leave_every_bit_as_it_was(demo_subject: Subject, mode: str) -> None:
    """A NaN that disappears during observation cannot be found."""
    subject = replace(demo_subject, mode=mode)
    frames = min(FRAMES, subject.start().frame_limit or FRAMES)
    plain = open_run(subject.contract, subject.network, subject.clip, subject.mode)
    recorded = run_frames(plain, range(frames), None, subject.mode)
    seen: list[dict[str, object]] = []
    observers = [Growth("state"), Envelope(subject, subject.contract), lambda _frame, stages: seen.append(stages)]
    watched = watch_run(subject.start(), range(frames), observers)
    assert watched.is_finite
    assert watched.finite_frames == frames
    for name, rows in recorded.stages.items():
        again = np.stack([stages[name] for stages in seen])
        assert again.tobytes() == rows.tobytes(), name


def test_the_observed_network_gives_the_bits_that_failed(tmp_path: Path) -> None:
    """An extra output can stop a fusion; a node found on other numbers may be the wrong one."""
    for case in (*damaged_demo_cases(tmp_path, 6), *failing_operation_cases(tmp_path)):
        origin = investigate(Subject(case.contract, case.network, case.clip), 2, guard_frames=0).origin
        assert origin is not None
        assert origin.node is not None
        assert origin.node.same_bits, case.name


def test_weights_are_blamed_for_a_bad_weight_and_named(tmp_path: Path) -> None:
    """The training side must know which tensor is wrong."""
    case = next(iter(damaged_demo_cases(tmp_path, 1)))
    origin = investigate(Subject(case.contract, case.network, case.clip), 2, guard_frames=0).origin
    assert origin is not None
    assert origin.node is not None
    assert (origin.node.blame, origin.node.op) == ("weights", "Gemm")
    assert origin.node.weight is not None
    assert origin.node.weight.startswith("encode_history.weight[0, 0")


def test_inputs_are_blamed_when_ordinary_ones_would_have_done(tmp_path: Path) -> None:
    """If a statistic is 1e36, the cause is the input, and retraining the model does not help."""
    case = next(case for case in failing_operation_cases(tmp_path) if case.name == "failing Exp")
    mean = np.array(case.contract.numbers.state_statistics.mean)
    sound = np.array(case.contract.numbers.state_statistics.std)
    mean[0] = -1e30
    contract = case.contract.with_numbers(
        replace(case.contract.numbers, state_statistics=type(case.contract.numbers.state_statistics)(mean, sound))
    )
    origin = investigate(Subject(contract, _Overflowing(case.network, tmp_path), case.clip), 2, guard_frames=0).origin
    assert origin is not None
    assert origin.node is not None
    assert origin.node.blame == "inputs"


def _Overflowing(network: object, folder: Path) -> object:
    """A model that multiplies the state by itself: fine for ordinary values, infinite for 1e30."""
    import onnx
    from onnx import helper

    from rigpact.reference_runtime.network import OnnxNetwork

    from .nonfinite_character import sound_contract

    model = onnx.load(str(folder / "failing_Exp.onnx"))
    kept = [node for node in model.graph.node if node.name in {"node_picked", "node_out"}]
    square = helper.make_node("Mul", ["picked", "picked"], ["culprit_out"], name="culprit")
    del model.graph.node[:]
    model.graph.node.extend([kept[0], square, kept[1]])
    path = folder / "square.onnx"
    path.write_bytes(model.SerializeToString())
    return OnnxNetwork(path, sound_contract())


@pytest.mark.parametrize("source", ["aux_stats", "rotations", "frozen", "state_slice", "zeros"])
def test_lockstep_is_the_same_run(demo_subject: Subject, source: str) -> None:
    """An envelope from a different loop cannot judge this loop."""
    contract = demo_subject.contract.with_conventions({"angvel_source": source})
    many = free_crowd(contract, demo_subject.network, demo_subject.clip, engine="numpy")
    one = open_run(contract, demo_subject.network, demo_subject.clip, "free", engine="numpy")
    for _ in range(20):
        together, alone = many.step(), one.step()
        for name, value in alone.items():
            assert together[name][0].tobytes() == value.tobytes(), name


def test_lockstep_runs_do_not_mix(demo_subject: Subject) -> None:
    """Equal starts that part would count as chaos."""
    seed = demo_subject.rows().x_raw[0]
    other = demo_subject.rows().x_raw[40]
    starts = np.stack((seed, other, seed))
    many = free_crowd(demo_subject.contract, demo_subject.network, demo_subject.clip, starts, "numpy")
    for _ in range(10):
        stages = many.step()
    assert np.abs(stages["y_out"][0] - stages["y_out"][2]).max() <= 1e-6
    assert np.abs(stages["y_out"][0] - stages["y_out"][1]).max() > 1e-2


def test_one_nan_is_as_good_as_another_but_bits_count() -> None:
    """Kernels differ in the NaN they make."""
    a = np.array([np.nan, 0.0, 1.0], np.float32)
    assert same_values(a, np.array([-np.nan, 0.0, 1.0], np.float32))
    assert not same_values(a, np.array([np.nan, -0.0, 1.0], np.float32))


F = np.float32
INFINITE = 1e3
"""exp(1000) has no float32."""


def small(folder: Path, nodes: list[tuple[str, list[str], str]], **constants: float) -> Path:
    """A model x (1, 2) -> y (1, 2); the constants stand in nodes of their own."""
    made = [
        helper.make_node("Constant", [], [name], value=numpy_helper.from_array(np.array([[number]], F)))
        for name, number in constants.items()
    ]
    made += [helper.make_node(op, inputs, [output], name=f"node_{output}") for op, inputs, output in nodes]
    ends = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 2])] for name in ("x", "y")]
    model = helper.make_model(
        helper.make_graph(made, "small", *ends), opset_imports=[helper.make_opsetid("", 17)], ir_version=9
    )
    onnx.save(model, folder / "small.onnx")
    return folder / "small.onnx"


TWO = [("Exp", ["x"], "a"), ("Exp", ["x"], "b")]
ONE = np.ones((1, 2), F)
BAD = np.full((1, 2), np.inf, F)


def test_of_two_values_that_only_together_are_bad_the_first_is_named(tmp_path: Path) -> None:
    """The smaller of two infinities: neither alone makes the output bad, and mending one is enough."""
    path = small(tmp_path, [*TWO, ("Min", ["a", "b"], "y")])
    found = name_node(path, [ONE * F(INFINITE)], BAD)
    assert found is not None
    assert found.name == "node_a"


def test_where_no_single_value_is_enough_one_is_still_named(tmp_path: Path) -> None:
    """Two pairs, each bad only together: the first is where somebody who mends them must begin."""
    four = [*TWO, ("Exp", ["x"], "c"), ("Exp", ["x"], "d")]
    ends = [("Min", ["a", "b"], "first"), ("Min", ["c", "d"], "second"), ("Max", ["first", "second"], "y")]
    found = name_node(small(tmp_path, four + ends), [ONE * F(INFINITE)], BAD)
    assert found is not None
    assert found.name == "node_a"


def test_a_bad_constant_of_a_node_is_the_models_own(tmp_path: Path) -> None:
    """Exporters write numbers as nodes: one that is not finite is as much a weight as any other."""
    path = small(tmp_path, [("Mul", ["x", "factor"], "y")], factor=np.inf)
    found = name_node(path, [ONE], BAD)
    assert found is not None
    assert (found.name, found.blame) == ("node_y", "weights")
    assert found.weight is not None
    assert found.weight.startswith("factor")


def test_other_numbers_than_those_that_failed_are_said_to_be_others(tmp_path: Path) -> None:
    """A fused group gave the value: what is seen apart may be another one, and the report must say so."""
    path = small(tmp_path, [("Exp", ["x"], "a"), ("Neg", ["a"], "y")])
    found = name_node(path, [ONE * F(INFINITE)], BAD)  # the observed run gives -inf
    assert found is not None
    assert (found.name, found.same_bits) == ("node_a", False)
    assert not same_values(ONE, np.ones((1, 3), F))


def test_a_network_that_was_given_bad_numbers_made_none(tmp_path: Path) -> None:
    """The stage before it is to blame: naming a node would send a person into the model."""
    path = small(tmp_path, [("Exp", ["x"], "y")])
    assert name_node(path, [BAD], BAD) is None
