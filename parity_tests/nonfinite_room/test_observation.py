"""Observation must not change the run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rigpact.reference_runtime.files.runner import run_frames
from rigpact.reference_runtime.files.sentinel import watch_run
from rigpact.reference_runtime.files.subject import Subject
from rigpact.reference_runtime.systems.enemy_animation.lockstep import Lockstep
from rigpact.reference_runtime.systems.enemy_animation.loop import Loop
from rigpact.reports.nonfinite.investigation import investigate
from rigpact.reports.nonfinite.leaving import Growth
from rigpact.reports.nonfinite.network_node import same_values
from rigpact.reports.nonfinite.precursors import Envelope

from .nonfinite_models import damaged_demo_cases, failing_operation_cases

FRAMES = 120


@pytest.mark.parametrize("mode", ["free", "teacher"])
def test_sentinels_and_observers_leave_every_bit_as_it_was(demo_subject: Subject, mode: str) -> None:
    """A NaN that disappears during observation cannot be found."""
    subject = replace(demo_subject, mode=mode)
    frames = min(FRAMES, subject.start().frame_limit or FRAMES)
    plain = Loop(subject.contract, subject.network, subject.clip, subject.mode)
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
    mean = np.array(case.contract.state_statistics.mean)
    sound = np.array(case.contract.state_statistics.std)
    mean[0] = -1e30
    contract = replace(case.contract, state_statistics=type(case.contract.state_statistics)(mean, sound))
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
    many = Lockstep(contract, demo_subject.network, demo_subject.clip)
    one = Loop(contract, demo_subject.network, demo_subject.clip, "free")
    for _ in range(20):
        together, alone = many.step(), one.step()
        for name, value in alone.items():
            assert together[name][0].tobytes() == value.tobytes(), name


def test_lockstep_runs_do_not_mix(demo_subject: Subject) -> None:
    """Equal starts that part would count as chaos."""
    seed = demo_subject.rows().x_raw[0]
    other = demo_subject.rows().x_raw[40]
    many = Lockstep(demo_subject.contract, demo_subject.network, demo_subject.clip, np.stack((seed, other, seed)))
    for _ in range(10):
        stages = many.step()
    assert np.abs(stages["y_out"][0] - stages["y_out"][2]).max() <= 1e-6
    assert np.abs(stages["y_out"][0] - stages["y_out"][1]).max() > 1e-2


def test_one_nan_is_as_good_as_another_but_bits_count() -> None:
    """Kernels differ in the NaN they make."""
    a = np.array([np.nan, 0.0, 1.0], np.float32)
    assert same_values(a, np.array([-np.nan, 0.0, 1.0], np.float32))
    assert not same_values(a, np.array([np.nan, -0.0, 1.0], np.float32))
