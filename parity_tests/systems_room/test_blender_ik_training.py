"""Blender IK: the training side, its losses and gradients, and whether it agrees with the runtime and with ONNX."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file
from scipy.spatial.transform import Rotation

pytest.importorskip("torch", reason="the extra [training] is not installed")

import onnxruntime
import torch

from rigpact.reference_runtime.operations.definitions.quaternions import exponential, to_matrix
from rigpact.reference_runtime.vocabulary.rigs import kinematics
from rigpact.training.blender_ik import losses, training
from rigpact.training.blender_ik.build import write_data
from rigpact.training.blender_ik.clips import ik_clip
from rigpact.training.blender_ik.context import PoseBatch, pose_batch
from rigpact.training.blender_ik.exporter import export_blender_ik
from rigpact.training.blender_ik.facts import PARAMETER_COUNT
from rigpact.training.blender_ik.kinematics import forward_kinematics
from rigpact.training.blender_ik.poses import draw_poses, sampling_limits_rad

from ..every_case import every_case
from ..measuring.scores.training_sides import blender_ik as parity
from .blender_ik_by_hand import CONTRACT, HEADS_M, LIMITS_RAD, ORIENTATIONS, PARENTS, SYSTEM, TASKS
from .declared_runs import run as run_stages


@pytest.fixture(scope="module")
def trained() -> Any:
    """A network after a few seconds of training."""
    return training.train_network(training.SMALL)


@pytest.fixture(scope="module")
def batch() -> PoseBatch:
    """Four pairs of successive poses, in float64."""
    drawn = training.draw_pairs(4, np.random.default_rng(5))
    return PoseBatch(**{name: values.double() for name, values in vars(drawn).items()})


def test_the_network_has_the_contracts_size() -> None:
    """50 to 128 to 96 to 69: 25,605 numbers; the document gives another count."""
    assert sum(parameter.numel() for parameter in training.ik_network().parameters()) == PARAMETER_COUNT


def test_both_sides_kinematics_agree() -> None:
    """Training computes bone by bone in torch, the engine depth by depth in numpy: both must give the same pose."""
    poses, _ = draw_poses(300, np.random.default_rng(0))
    heads, world = (part.numpy() for part in forward_kinematics(torch.from_numpy(poses)))
    theirs, turned = kinematics.forward_kinematics(
        kinematics.chain_of(PARENTS, HEADS_M, ORIENTATIONS), to_matrix(exponential(0.5 * poses)), np.zeros((300, 3))
    )
    assert heads == pytest.approx(theirs, abs=1e-7)  # the contract file keeps nine decimals
    assert world == pytest.approx(turned, abs=1e-7)


def test_drawn_poses_stay_within_the_limits() -> None:
    """Labels beyond the clamp can never be reached."""
    poses, tasks = draw_poses(2000, np.random.default_rng(1))
    low, high = np.moveaxis(sampling_limits_rad(), -1, 0)
    assert np.all(poses >= low - 1e-12)
    assert np.all(poses <= high + 1e-12)
    assert set(tasks) == set(range(len(TASKS)))


def test_drawn_poses_pass_the_gate() -> None:
    """If the gate refuses the generator's own data, users switch the gate off."""
    pairs = training.draw_pairs(300, np.random.default_rng(3), wide=0.5)
    told = {"model_input": pairs.context.numpy(), "rotations": pairs.rotations.numpy().reshape(600, 69)}
    assert list(SYSTEM.data_problems(CONTRACT, told)) == []


def test_training_sees_what_the_runtime_tells() -> None:
    """The same pose on both sides gives the same fifty numbers: normalisation, heights and the way of turning included."""
    clip = ik_clip(seed=3, tasks=("reach", "crouch"))
    run = run_stages(CONTRACT, clip.given, lambda _inputs: [clip.rotations])
    ground, motion = clip.given["ground"], clip.given["motion"]
    headings = Rotation.from_quat(clip.given["root"][:, 7:]).as_rotvec()[:, 2]
    assert np.ptp(headings) > 1.5
    taught = pose_batch(
        clip.rotations.reshape(-1, 23, 3),
        motion[:, 1],
        motion[:, 0],
        ground[:, [0, 6]],
        np.zeros(len(ground)),
        headings,
    )
    # float32 on both sides: 1e-6 of a matrix, over the cosine of the middle angle, which is 0.02 at least here
    assert run["model_input"] == pytest.approx(taught.context.numpy(), abs=5e-5)


def test_the_committed_data_are_the_generators(checkout: Path, tmp_path: Path) -> None:
    """The committed files must be reproducible, or their numbers cannot be trusted."""
    write_data(tmp_path)
    committed = checkout / "fixtures" / "bundles" / "blender_ik"
    ours, stored = (json.loads((folder / "blender_ik.json").read_bytes()) for folder in (tmp_path, committed))
    assert ours == stored
    for name in ("clip", "labels"):
        ours, stored = (load_file(folder / f"{name}.trace.safetensors") for folder in (tmp_path, committed))
        assert ours.keys() == stored.keys()
        for stage, rows in ours.items():
            assert stored[stage] == pytest.approx(rows, abs=1e-5)


# ---- losses


def _numeric(function: Callable[[Any], Any], point: Any, row: int, columns: list[int]) -> list[float]:
    """Central differences of one row's own entries."""
    step, slopes = 1e-6, []
    for column in columns:
        ends = []
        for sign in (1.0, -1.0):
            moved = point.clone()
            moved.view(len(point), -1)[row, column] += sign * step
            ends.append(float(function(moved)))
        slopes.append((ends[0] - ends[1]) / (2.0 * step))
    return slopes


LOSSES: dict[str, Callable[[Any, PoseBatch], Any]] = {
    "effector": lambda turns, batch: losses.effector_loss(losses.reached(turns), batch.effectors),
    "distance": lambda turns, batch: losses.effector_distance(losses.reached(turns), batch.effectors),
    "pose": lambda turns, batch: losses.pose_loss(turns, batch.rotations),
    "contact": lambda turns, batch: losses.contact_loss(losses.reached(turns), batch),
    "limit": lambda turns, _batch: losses.limit_loss(turns),
    "slip": lambda turns, batch: losses.slip_loss(losses.reached(turns), batch),
}


@pytest.mark.parametrize("name", LOSSES)
def test_every_row_has_its_own_true_gradient(batch: PoseBatch, name: str) -> None:
    """The original differenced the batch's mean and gave every row the same gradient; contact and slip had none."""
    turns = (
        batch.rotations + 0.1 * torch.randn(batch.rotations.shape, generator=torch.Generator().manual_seed(2)).double()
    )
    turns.requires_grad_()
    loss = LOSSES[name](turns, batch)
    (gradient,) = torch.autograd.grad(loss, turns)
    flat, columns = gradient.flatten(1), [0, 3, 25, 27, 45, 48, 57, 60]
    for row in range(4):
        numeric = _numeric(lambda at: LOSSES[name](at, batch), turns.detach(), row, columns)
        # central differences: h² of the third derivative and 2⁻⁵³ of the loss over h
        assert flat[row, columns].tolist() == pytest.approx(numeric, abs=1e-8)
    assert float(flat.abs().max()) > 1e-4
    assert not torch.allclose(flat[0], flat[2], atol=1e-7)


def test_losses_are_nought_at_the_truth_and_as_large_as_by_hand(batch: PoseBatch) -> None:
    """A loss that is divided twice changes the declared balance of the losses."""
    reached = losses.reached(batch.rotations)
    assert float(losses.effector_loss(reached, batch.effectors)) < 1e-12
    assert float(losses.slip_loss(reached, batch)) < 1e-12
    moved = batch.effectors + torch.tensor([0.0, 0.3, 0.4], dtype=torch.float64)
    assert float(losses.effector_loss(moved, batch.effectors)) == pytest.approx(0.25)
    assert float(losses.effector_distance(moved, batch.effectors)) == pytest.approx(0.5, abs=1e-5)
    grounded = float(batch.grounded.mean())
    assert grounded > 0.0
    assert float(losses.contact_loss(moved, batch)) == pytest.approx(0.16 * grounded)
    beyond = torch.full_like(batch.rotations, 10.0)
    high = LIMITS_RAD[..., 1]
    assert float(losses.limit_loss(beyond)) == pytest.approx(float((np.maximum(10.0 - high, 0.0) ** 2).mean()))


def test_a_foot_that_slides_while_planted_is_slip() -> None:
    """Feet that skate are the first thing a player sees."""
    still = pose_batch(np.zeros((2, 23, 3)), np.zeros(2), np.zeros(2), np.zeros((2, 2)), np.zeros(2), np.zeros(2))
    assert still.grounded.min() == 1.0
    moved = still.effectors.clone()
    moved[1, 2:4, 0] += 0.05
    assert float(losses.slip_loss(moved, still)) == pytest.approx(0.05**2 / 2)  # x moves, y does not
    lifted = pose_batch(
        np.zeros((2, 23, 3)), np.zeros(2), np.zeros(2), np.zeros((2, 2)), np.array([0.0, 0.4]), np.zeros(2)
    )
    assert float(losses.slip_loss(moved, lifted)) == 0.0


def test_feet_are_measured_where_they_stand() -> None:
    """Miss and slide of one foot, put there by hand: hips turned by 0.2 rad move the feet, and the truth does not."""
    pairs = training.draw_pairs(200, np.random.default_rng(12))
    assert parity.foot_errors_m(pairs.rotations, pairs) == pytest.approx((0.0, 0.0), abs=1e-6)
    turned = pairs.rotations.clone()
    turned[1::2, 0, 0] += 0.2
    heads = [forward_kinematics(losses.limited(turns))[0][:, [17, 21]] for turns in (pairs.rotations, turned)]
    missed = (heads[1] - heads[0]).double().numpy()
    grounded = pairs.grounded.numpy() > 0
    heights = [abs(missed[row, foot, 2]) for row in range(400) for foot in range(2) if grounded[row, foot]]
    slides = [
        np.hypot(*(missed[row + 1, foot, :2] - missed[row, foot, :2]))
        for row in range(0, 400, 2)
        for foot in range(2)
        if grounded[row, foot] and grounded[row + 1, foot]
    ]
    expected = (float(np.mean(heights)), float(np.mean(slides)))
    assert min(expected) > 0.01
    assert parity.foot_errors_m(turned, pairs) == pytest.approx(expected, abs=1e-6)


# ---- the network


@pytest.mark.nightly
def test_a_few_seconds_beat_both_baselines(trained: Any) -> None:
    """200 steps: 0.14 m here, against 0.53 m for the mean pose and 0.6 m untrained."""
    held_out = parity.held_out(1000, seed=77)
    error = parity.effector_errors_m(training.predicted(trained.model, held_out), held_out).mean()
    mean = held_out.rotations.mean(dim=0, keepdim=True).expand_as(held_out.rotations)
    untrained = parity.effector_errors_m(training.predicted(training.ik_network(), held_out), held_out).mean()
    assert error < 0.5 * parity.effector_errors_m(mean, held_out).mean()
    assert error < 0.5 * untrained


@pytest.mark.nightly
def test_the_same_plan_gives_the_same_weights(trained: Any) -> None:
    """A build that cannot be repeated cannot be bisected."""
    short = training.Plan(steps=3, batch=32)
    one, other = (training.train_network(short).model.state_dict() for _ in range(2))
    assert all(torch.equal(one[name], other[name]) for name in one)


def _by_hand(model: Any, rows: np.ndarray) -> np.ndarray:
    """The network in numpy float64."""
    answer = rows.astype(np.float64)
    weights = [parameter.detach().numpy().astype(np.float64) for parameter in model.parameters()]
    for place in range(0, len(weights), 2):
        answer = answer @ weights[place].T + weights[place + 1]
        answer = np.tanh(answer) if place + 2 < len(weights) else answer
    return answer


@pytest.fixture(scope="module")
def exported(trained: Any) -> bytes:
    """The trained network as ONNX."""
    return export_blender_ik(trained.model)


@every_case("rows", [1, 5, 64])
def test_onnx_torch_and_numpy_agree_at_any_batch(trained: Any, exported: bytes, rows: int) -> None:
    """Traced with two rows: an exporter that freezes the batch shows here, not in the game."""
    session = onnxruntime.InferenceSession(exported, providers=["CPUExecutionProvider"])
    told = parity.held_out(rows, seed=rows).context.numpy()
    answered = session.run(None, {session.get_inputs()[0].name: told})[0]
    with torch.no_grad():
        ours = trained.model(torch.from_numpy(told)).numpy()
    assert answered == pytest.approx(ours, abs=1e-5)
    assert ours == pytest.approx(_by_hand(trained.model, told), abs=1e-5)
    assert [entry.name for entry in session.get_inputs()] == list(SYSTEM.inputs)
    assert [entry.name for entry in session.get_outputs()] == list(SYSTEM.outputs)


def test_the_runtime_scores_as_training_does(trained: Any) -> None:
    """The error that training prints must equal the error in the engine."""
    clip = ik_clip(seed=9, tasks=("reach", "grab"))
    answer: Callable[[Any], Any] = lambda inputs: [trained.model(torch.from_numpy(inputs[0])).detach().numpy()]  # noqa: E731
    run = run_stages(CONTRACT, clip.given, answer)
    told = PoseBatch(*[torch.from_numpy(part) for part in _pose_parts(clip)])
    errors = parity.effector_errors_m(torch.from_numpy(run["rotations"]).unflatten(1, (-1, 3)), told)
    assert run["effector_error"] == pytest.approx(errors, abs=1e-5)


def _pose_parts(clip: Any) -> list[np.ndarray]:
    """A pose batch of a clip's truth; only its effectors are used."""
    effectors = clip.given["effectors"].reshape(-1, 5, 7)
    turned = Rotation.from_quat(clip.given["root"][:, 7:]).as_matrix()
    positions = np.einsum("tba,tkb->tka", turned, effectors[..., :3] - clip.given["root"][:, None, :3])
    turns = Rotation.from_quat(effectors[..., 3:].reshape(-1, 4)).as_matrix().reshape(-1, 5, 3, 3)
    rows = len(positions)
    return [
        clip.rotations.reshape(-1, 23, 3),
        positions,
        turns,
        *[np.zeros((rows, 2))] * 2,
        np.zeros((rows, 50)),
    ]
