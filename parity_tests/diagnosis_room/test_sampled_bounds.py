"""A character whose history has deviations of 1e-6: from its pose alone the worst case of rounding says nothing."""

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from math import erf, erfc, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from rigpact.contract import load_contract
from rigpact.reference_runtime.graph.replayed import Evidence, ReplayedFrames
from rigpact.reference_runtime.graph.sampled_bound import DRAWS, MARGIN, JudgingBound, judging_bound
from rigpact.reference_runtime.network import OnnxNetwork
from rigpact.reference_runtime.recordings.clip import read_clip
from rigpact.reference_runtime.systems.enemy_animation.runs import drive_of
from rigpact.reports.diagnosing.budget import Budget
from rigpact.reports.diagnosing.diagnose import diagnose
from rigpact.reports.diagnosing.diagnosis import Diagnosis

from ..models import floats, saved
from ..scene import Scene, generated_scene
from ..trust_room.honest_engine import Engine, backwards, to_matrix, to_quaternion

Array = NDArray[Any]
WIDTHS = {"state": 420, "cond": 7, "contacts": 2, "angvel": 138, "pose_hist": 828}
"""The inputs of the deployed model; its layers have 512 units, and its inputs are clamped at 16."""
FRAMES, CLAMP = 3, 16.0


@cache
def layers() -> list[tuple[Array, Array]]:
    """Weights (inputs, outputs) and biases of three layers, drawn as training begins."""
    rng, sizes = np.random.default_rng(1), (sum(WIDTHS.values()), 512, 512, 276)
    gains = (2.0, 2.0, 0.16)
    return [
        (rng.normal(0.0, np.sqrt(gain / low), (low, high)).astype(np.float32), np.zeros(high, np.float32))
        for gain, low, high in zip(gains, sizes, sizes[1:], strict=False)
    ]


def write_model(path: Path) -> Path:
    """The network as ONNX, a clamp before every input."""
    numbers = {"low": np.float32(-CLAMP), "high": np.float32(CLAMP)}
    for place, layer in enumerate(layers()):
        numbers |= dict(zip((f"w{place}", f"b{place}"), layer, strict=True))
    clamped = " ".join(f"{name}_c = Clip({name}, low, high)" for name in WIDTHS)
    nodes = f"{clamped} x0 = Concat<axis = 1>({', '.join(f'{name}_c' for name in WIDTHS)}) g0 = Gemm(x0, w0, b0)"
    nodes += " x1 = Relu(g0) g1 = Gemm(x1, w1, b1) x2 = Relu(g1) motion_pred = Gemm(x2, w2, b2)"
    takes = ", ".join(floats(name, width) for name, width in WIDTHS.items())
    return saved(path, f"({takes}) => ({floats('motion_pred', 276)}) {{ {nodes} }}", **numbers)


def summed_backwards(inputs: Sequence[Array]) -> Array:
    """The same network in float32, every sum from its last number to its first: another library's order."""
    values = np.concatenate([np.clip(each, -CLAMP, CLAMP) for each in inputs], axis=1).astype(np.float32)
    for place, (weight, bias) in enumerate(layers()):
        values = backwards(values, weight.T.copy(), bias)
        values = values if place == 2 else np.maximum(values, 0.0)
    return values


@pytest.fixture(scope="module")
def character(real_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """The deployed character's files with a model of its size."""
    contract = load_contract(
        real_data / "norm_template.json", real_data / "pretrain_template.json", {"output_mode": "residual"}
    )
    model = write_model(tmp_path_factory.mktemp("model") / "model.onnx")
    clip = read_clip(real_data / "Walk_L_To_R.json")
    return Scene("deployed", contract, OnnxNetwork(model, contract), clip, frames=FRAMES)


def explained(scene: Scene, stage: str, rows: Array, budget: Budget | None = None) -> Diagnosis:
    """The diagnosis of one recorded stage, clip and model given."""
    evidence = Evidence(
        np.arange(len(rows)), scene.clip.fps, "teacher", {stage: rows}, drive_of(scene.clip), scene.network
    )
    return diagnose(evidence, scene.contract, budget=budget)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("stage", ["y_out", "quat"])
def test_an_honest_engine_agrees_by_what_rounding_does(character: Scene, real_data: Path, stage: str) -> None:
    """By the worst case nothing could be judged: an engine that is right, and one that is wrong, got the same answer."""
    engine = Engine(real_data / "norm_template.json", real_data / "pretrain_template.json", summed_backwards)
    stages = engine.run(real_data / "Walk_L_To_R.json")
    stages["quat"] = to_quaternion(to_matrix(stages["y_out"])).reshape(len(stages["y_out"]), -1)
    as_it_computes = {"output_mode": "delta", "angvel_source": "state_slice"}
    scene = replace(character, contract=character.contract.with_conventions(as_it_computes))

    found = explained(scene, stage, stages[stage][:FRAMES])

    assert found.verdict == "agrees"
    (row,) = found.stages
    assert row.sampled is not None
    assert row.sampled.worst_case is None or row.sampled.worst_case > 10.0 * row.sampled.sampled


def test_a_convention_is_named_from_the_pose_alone(tmp_path: Path) -> None:
    """The deployed character could not be diagnosed. Here the demo's, with such a history; two of its state's numbers are cut."""
    scene, change = generated_scene(frames=FRAMES), {"compose_order": "prev_delta"}
    numbers, history = scene.contract.numbers, scene.contract.numbers.pose_history
    narrow = replace(history.statistics, std=np.full_like(history.statistics.std, 1e-6))
    own = scene.contract.with_numbers(replace(numbers, pose_history=replace(history, statistics=narrow)))
    own = own.with_conventions({"output_mode": "residual"})
    scene = replace(scene, contract=own, network=OnnxNetwork(write_model(tmp_path / "model.onnx"), own))
    found = explained(scene, "y_out", scene.record(change).stages["y_out"])
    readings = [reading for cause in found.causes for reading in (cause.changes, *cause.equivalents)]
    assert (found.verdict, len(found.causes), change in readings) == ("explained", 1, True)
    assert found.stages[0].sampled is not None


def test_the_answer_alone_is_judged_by_what_rounding_does(character: Scene) -> None:
    """The network's answer itself has the widest worst case."""
    honest = character.record({"math": "f32"}).stages["y_norm"]

    found = explained(character, "y_norm", honest)
    sampled = json.loads(json.dumps(found.to_json()))["stages"][0]["sampled"]
    assert found.verdict == "agrees"
    assert 0 < sampled["values"] <= sampled["of"] == FRAMES * 276
    assert sampled["sampled"] > 0.0
    assert explained(character, "y_norm", honest[:, ::-1].copy(), Budget.spent()).verdict != "agrees"


@pytest.mark.sampled(3)
@pytest.mark.parametrize("stage", ["y_out", "y_norm", "quat"])
def test_the_bound_does_not_follow_the_recording(character: Scene, stage: str) -> None:
    """A bound drawn from the recorded rows themselves is as wide as any mistake in them, and lets it pass."""
    honest, bounds = character.record().stages[stage], []
    for rows in (honest, honest + np.float32(0.1)):
        evidence = Evidence(
            np.arange(FRAMES), 60.0, "teacher", {stage: rows}, drive_of(character.clip), character.network
        )
        frames = ReplayedFrames(evidence, character.contract)
        replayed = frames.computed(stage)
        assert replayed is not None
        bounds.append(judging_bound(frames, stage, replayed))
    assert bounds[0].is_sampled.any()
    np.testing.assert_array_equal(bounds[0].bound, bounds[1].bound)


def test_four_times_the_largest_of_64_draws_is_beyond_chance() -> None:
    """A correct recording beyond the bound would be an alarm: P(|x| > 4 max |x_1 … x_64|) of normal numbers, integrated here."""
    at = np.linspace(0.0, 8.0, 8001)
    largest = np.array([erf(each / sqrt(2.0)) ** DRAWS for each in at])
    beyond = np.array([erfc(MARGIN * each / sqrt(2.0)) for each in at])

    assert np.sum(np.diff(largest) * beyond[:-1]) < 3e-12


def test_a_sampled_bound_judges_where_the_worst_case_is_ten_times_as_wide() -> None:
    """Elsewhere the derived bound judges: it needs no chance."""
    bound = JudgingBound(np.array([[1.0, 1.0, np.inf]]), np.array([[0.2, 0.01, 0.5]]))

    assert bound.bound.tolist() == [[1.0, 0.01, 0.5]]
    assert bound.is_sampled.tolist() == [[False, True, True]]
