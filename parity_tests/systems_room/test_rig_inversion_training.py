"""Rig inversion: both networks, their training and the original's, and whether torch, ONNX and numpy agree."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

pytest.importorskip("torch", reason="the extra [training] is not installed")

import onnxruntime
import torch

from rigpact.training.rig_inversion import animation, networks, training
from rigpact.training.rig_inversion.build import write_data
from rigpact.training.rig_inversion.exporter import export_decoder, export_encoder
from rigpact.training.rig_inversion.rig import DECODER_WIDTHS, ENCODER_WIDTHS, SYSTEM, rig_mesh

from ..every_case import every_case
from ..measuring.scores.training_sides import parameter_count, published_recipe
from ..measuring.scores.training_sides import rig_inversion as parity


@pytest.fixture(scope="module")
def decoder() -> Any:
    """A narrow approximation after a second or two."""
    return training.train_decoder(training.SMALL).model


@pytest.fixture(scope="module")
def clip() -> tuple[np.ndarray, np.ndarray]:
    """Parameters and meshes of the seeded clip."""
    parameters = animation.animation_parameters()
    return parameters, animation.meshes(parameters)


@pytest.fixture(scope="module")
def encoder(decoder: Any, clip: tuple[np.ndarray, np.ndarray]) -> Any:
    """The clip's encoder."""
    return training.invert_clip(decoder, clip[1], training.SMALL).model


def test_the_networks_have_the_contracts_sizes() -> None:
    """1,081,368 and 15,878 numbers: counted from the widths, as the original's are."""
    assert parameter_count(networks.decoder(DECODER_WIDTHS)) == 1_081_368
    assert parameter_count(networks.encoder(ENCODER_WIDTHS)) == 15_878


def test_both_sides_have_one_rig() -> None:
    """If training uses another rig than the engine, all poses are wrong."""
    parameters = np.random.default_rng(8).random((500, 6))
    ours = networks.rig(torch.from_numpy(parameters)).numpy()
    assert ours == pytest.approx(rig_mesh(parameters).reshape(500, 24), abs=1e-13)
    single = networks.rig(torch.from_numpy(parameters.astype(np.float32))).numpy()
    assert single == pytest.approx(ours, abs=1e-5)


def test_a_clip_is_a_straight_line_that_never_arrives() -> None:
    """128 frames, each 1/128 of the way further."""
    parameters = animation.animation_parameters(5)
    steps = np.diff(parameters, axis=0)
    assert parameters.shape == (128, 6)
    assert steps == pytest.approx(np.broadcast_to(steps[0], steps.shape), abs=1e-12)
    assert parameters.min() >= 0.0
    assert parameters.max() <= 1.0


def test_the_committed_data_are_the_generators(checkout: Path, tmp_path: Path) -> None:
    """The committed files must be reproducible, or their numbers cannot be trusted."""
    write_data(tmp_path, training.COMMITTED)
    committed = checkout / "fixtures" / "bundles" / "rig_inversion"
    assert (tmp_path / "rig_inversion.json").read_bytes() == (committed / "rig_inversion.json").read_bytes()
    for name in ("clip", "labels"):
        ours, stored = (load_file(folder / f"{name}.trace.safetensors") for folder in (tmp_path, committed))
        for stage, rows in ours.items():
            assert stored[stage] == pytest.approx(rows, abs=1e-6)


def test_the_error_is_the_mean_distance_of_a_vertex() -> None:
    """The original prints losses 32 times too small beside it; the error itself is a mean of distances."""
    zeros = np.zeros((2, 24))
    moved = zeros.copy()
    moved[0, 0:2] = [3.0, 4.0]
    assert parity.mean_vertex_error(moved, zeros) == pytest.approx(5.0 / 16.0)


def test_seconds_of_training_beat_the_baseline(decoder: Any, encoder: Any, clip: tuple[np.ndarray, np.ndarray]) -> None:
    """A narrow net after 600 steps: 0.13 and 0.11 here, against 0.65 for the clip's mean frame."""
    parameters, mesh = clip
    baseline = parity.mean_frame_error(mesh)
    assert parity.mean_vertex_error(training.evaluate(decoder, parameters), mesh) < 0.3 * baseline
    found = training.evaluate(encoder, mesh)
    assert found.min() >= 0.0
    assert found.max() <= 1.0
    assert parity.mean_vertex_error(animation.meshes(found), mesh) < 0.3 * baseline


def test_the_inversion_leaves_the_approximation_alone(decoder: Any, clip: tuple[np.ndarray, np.ndarray]) -> None:
    """If training also changes the decoder, the inversion belongs to another rig."""
    decoder.zero_grad(set_to_none=True)
    before = [parameter.detach().clone() for parameter in decoder.parameters()]
    training.invert_clip(decoder, clip[1], training.Plan(encoder_widths=(24, 16, 6), inversion_steps=5))
    assert all(torch.equal(one, other) for one, other in zip(before, decoder.parameters(), strict=True))
    assert all(parameter.grad is None for parameter in decoder.parameters())
    assert all(parameter.requires_grad for parameter in decoder.parameters())


@pytest.mark.nightly
def test_the_same_plan_gives_the_same_weights() -> None:
    """A build that cannot be repeated cannot be bisected."""
    plan = training.Plan(decoder_widths=(6, 16, 16, 24), steps=5, batch=8)
    one, other = (training.train_decoder(plan).model.state_dict() for _ in range(2))
    assert all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.nightly
def test_the_originals_recipe_is_worse_under_one_budget(decoder: Any, clip: tuple[np.ndarray, np.ndarray]) -> None:
    """Two seconds of processor time each, one width: what the benchmark measures at full size."""
    parameters, mesh = clip
    ours = training.train_decoder(training.SMALL)
    theirs = published_recipe.train_decoder(ours.cpu_s, seed=7, widths=training.SMALL.decoder_widths)
    inverted = published_recipe.invert_clip(theirs.model, mesh, 0.3, seed=7, widths=training.SMALL.encoder_widths)
    approximation = parity.mean_vertex_error(training.evaluate(theirs.model, parameters), mesh)
    assert parity.mean_vertex_error(training.evaluate(ours.model, parameters), mesh) < approximation
    assert parity.mean_vertex_error(animation.meshes(training.evaluate(inverted.model, mesh)), mesh) < 5.0


@pytest.mark.nightly
def test_the_originals_recipe_learns_at_all(clip: tuple[np.ndarray, np.ndarray]) -> None:
    """The baseline must work: with more time it must improve."""
    short, longer = (
        published_recipe.train_decoder(budget, seed=7, widths=(6, 128, 128, 24)).model for budget in (0.2, 1.5)
    )
    errors = [parity.mean_vertex_error(training.evaluate(model, clip[0]), clip[1]) for model in (short, longer)]
    assert errors[1] < 0.9 * errors[0]


def _by_hand(model: Any, rows: np.ndarray, *, sigmoid: bool) -> np.ndarray:
    """The network in numpy float64: a slope of a hundredth below zero."""
    answer = rows.astype(np.float64)
    weights = [parameter.detach().numpy().astype(np.float64) for parameter in model.parameters()]
    for place in range(0, len(weights), 2):
        answer = answer @ weights[place].T + weights[place + 1]
        if place + 2 < len(weights):
            answer = np.where(answer > 0.0, answer, 0.01 * answer)
    return 1.0 / (1.0 + np.exp(-answer)) if sigmoid else answer


@pytest.fixture(scope="module")
def exports(decoder: Any, encoder: Any) -> tuple[bytes, bytes]:
    """Both networks as ONNX."""
    return export_decoder(decoder), export_encoder(encoder)


@every_case("rows", [1, 5, 64])
def test_onnx_torch_and_numpy_agree_at_any_batch(
    decoder: Any, encoder: Any, exports: tuple[bytes, bytes], rows: int
) -> None:
    """Traced with two rows: an exporter that freezes the batch shows here, not in the game."""
    parameters = np.random.default_rng(rows).random((rows, 6)).astype(np.float32)
    mesh = animation.meshes(parameters)
    for model, content, told in (
        (decoder, exports[0], parameters),
        (encoder, exports[1], mesh),
    ):
        session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
        exported = session.run(None, {session.get_inputs()[0].name: told})[0]
        ours = training.evaluate(model, told)
        assert exported == pytest.approx(ours, abs=1e-5)
        assert ours == pytest.approx(_by_hand(model, told, sigmoid=model is encoder), abs=1e-5)
    assert session.get_inputs()[0].name == SYSTEM.inputs[0]
    assert session.get_outputs()[0].name == SYSTEM.outputs[0]
