"""The training sides of Blender IK, rig inversion and NeuraRig: data, losses, gradients; torch, ONNX, numpy, runtime agree."""

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

from rigpact.reference_runtime.graph.network import OnnxSystemNetwork
from rigpact.reference_runtime.graph.run import run_clip, stages_from
from rigpact.reference_runtime.vocabulary.vectors import first_bytes
from rigpact.training import blender_ik as ik
from rigpact.training import blender_ik_losses as losses
from rigpact.training import neurarig
from rigpact.training import rig_inversion as inversion
from rigpact.training.making import evaluated, exported
from rigpact.training.neurarig import PUBLISHED, random_rows
from rigpact.training.rig_inversion import animation_parameters, meshes

from ..every_case import every_case
from .declared_runs import BUNDLES, run
from .test_blender_ik import CONTRACT, LIMITS_RAD, SYSTEM, TASKS, posed

torch.set_num_threads(1)


def test_both_sides_have_one_rig() -> None:
    """Training computes in torch, the engine in numpy: both must give the same pose, or all of them are wrong."""
    poses, _ = losses.draw_poses(300, np.random.default_rng(0))
    theirs = posed(poses, np.zeros(3))
    heads, orientations = (part.numpy() for part in losses.forward_kinematics(torch.from_numpy(poses)))
    assert heads == pytest.approx(theirs[0], abs=1e-7)  # the contract file keeps nine decimals
    assert orientations == pytest.approx(theirs[1], abs=1e-7)


def test_drawn_poses_stay_within_the_limits_and_pass_the_gate() -> None:
    """Labels beyond the clamp can never be reached; a gate that refuses the generator's own data is switched off."""
    poses, tasks = losses.draw_poses(2000, np.random.default_rng(1))
    low, high = np.moveaxis(losses.sampling_limits_rad(), -1, 0)
    assert np.all((low - 1e-12 <= poses) & (poses <= high + 1e-12))
    assert set(tasks) == set(range(len(TASKS)))
    pairs = ik.draw_pairs(300, np.random.default_rng(3), wide=0.5)
    told = {"model_input": pairs.context.numpy(), "rotations": pairs.rotations.numpy().reshape(600, 69)}
    assert list(SYSTEM.data_problems(CONTRACT, told)) == []


def test_training_sees_what_the_runtime_tells() -> None:
    """The same pose on both sides gives the same fifty numbers: normalisation, heights and the way of turning included."""
    clip = ik.ik_clip(seed=3, tasks=("reach", "crouch"))
    rows = run(CONTRACT, clip.given, lambda _inputs: [clip.rotations])
    ground, motion = clip.given["ground"], clip.given["motion"]
    headings = Rotation.from_quat(clip.given["root"][:, 7:]).as_rotvec()[:, 2]
    assert np.ptp(headings) > 1.5
    places = (motion[:, 1], motion[:, 0], ground[:, [0, 6]], np.zeros(len(ground)), headings)
    taught = losses.pose_batch(clip.rotations.reshape(-1, 23, 3), *places)
    # float32 on both sides: 1e-6 of a matrix, over the cosine of the middle angle, which is 0.02 at least here
    assert rows["model_input"] == pytest.approx(taught.context.numpy(), abs=5e-5)


@every_case(("name", "write"), [
    ("blender_ik", ik.write_data), ("rig_inversion", lambda folder: inversion.write_data(folder, inversion.COMMITTED)),
], ids=lambda each: each if isinstance(each, str) else "")  # fmt: skip
def test_the_committed_data_are_the_generators(tmp_path: Path, name: str, write: Callable[[Path], None]) -> None:
    """The committed files must be reproducible, or their numbers cannot be trusted."""
    write(tmp_path)
    ours, stored = (json.loads((folder / f"{name}.json").read_bytes()) for folder in (tmp_path, BUNDLES / name))
    assert ours == stored
    for clip in ("clip", "labels"):
        ours, stored = (load_file(folder / f"{clip}.trace.safetensors") for folder in (tmp_path, BUNDLES / name))
        assert ours.keys() == stored.keys()
        for stage, rows in ours.items():
            assert stored[stage] == pytest.approx(rows, abs=1e-5)


# ---- losses of Blender IK


@pytest.fixture(scope="module")
def batch() -> losses.PoseBatch:
    """Four pairs of successive poses, in float64."""
    drawn = ik.draw_pairs(4, np.random.default_rng(5))
    return losses.PoseBatch(**{name: values.double() for name, values in vars(drawn).items()})


def _numeric(function: Callable[[Any], Any], point: Any, row: int, columns: list[int]) -> list[float]:
    """Central differences of one row's own entries."""
    slopes = []
    for column in columns:
        ends = [point.clone(), point.clone()]
        for moved, step in zip(ends, (1e-6, -1e-6), strict=True):
            moved.view(len(point), -1)[row, column] += step
        slopes.append((float(function(ends[0])) - float(function(ends[1]))) / 2e-6)
    return slopes


LOSSES: dict[str, Callable[[Any, losses.PoseBatch], Any]] = {
    "distance": lambda turns, batch: losses.effector_distance(losses.reached(turns), batch.effectors),
    "pose": lambda turns, batch: losses.pose_loss(turns, batch.rotations),
    "contact": lambda turns, batch: losses.contact_loss(losses.reached(turns), batch),
    "limit": lambda turns, _batch: losses.limit_loss(turns),
    "slip": lambda turns, batch: losses.slip_loss(losses.reached(turns), batch),
}


@every_case("name", LOSSES)
def test_every_row_has_its_own_true_gradient(batch: losses.PoseBatch, name: str) -> None:
    """The original differenced the batch's mean and gave every row the same gradient; contact and slip had none."""
    noise = torch.randn(batch.rotations.shape, generator=torch.Generator().manual_seed(2)).double()
    turns = (batch.rotations + 0.1 * noise).requires_grad_()
    (gradient,) = torch.autograd.grad(LOSSES[name](turns, batch), turns)
    flat, columns = gradient.flatten(1), [0, 3, 25, 27, 45, 48, 57, 60]
    for row in (0, 3):
        numeric = _numeric(lambda at: LOSSES[name](at, batch), turns.detach(), row, columns)
        # central differences: h² of the third derivative and 2⁻⁵³ of the loss over h
        assert flat[row, columns].tolist() == pytest.approx(numeric, abs=1e-8)
    assert float(flat.abs().max()) > 1e-4
    assert not torch.allclose(flat[0], flat[2], atol=1e-7)


def test_losses_are_nought_at_the_truth_and_as_large_as_by_hand(batch: losses.PoseBatch) -> None:
    """A loss that is divided twice changes the declared balance of the losses."""
    reached = losses.reached(batch.rotations)
    assert torch.allclose(reached, batch.effectors, atol=1e-6)
    assert float(losses.slip_loss(reached, batch)) < 1e-12
    moved = batch.effectors + torch.tensor([0.0, 0.3, 0.4], dtype=torch.float64)
    assert float(losses.effector_distance(moved, batch.effectors)) == pytest.approx(0.5, abs=1e-5)
    grounded = float(batch.grounded.mean())
    assert grounded > 0.0
    assert float(losses.contact_loss(moved, batch)) == pytest.approx(0.16 * grounded)
    beyond = np.maximum(10.0 - LIMITS_RAD[..., 1], 0.0) ** 2
    assert float(losses.limit_loss(torch.full_like(batch.rotations, 10.0))) == pytest.approx(float(beyond.mean()))


def test_a_foot_that_slides_while_planted_is_slip() -> None:
    """Feet that skate are the first thing a player sees."""
    place = np.zeros((2, 23, 3)), np.zeros(2), np.zeros(2), np.zeros((2, 2))
    still, lifted = (losses.pose_batch(*place, np.array([0.0, lift]), np.zeros(2)) for lift in (0.0, 0.4))
    assert still.grounded.min() == 1.0
    moved = still.effectors.clone()
    moved[1, 2:4, 0] += 0.05
    assert float(losses.slip_loss(moved, still)) == pytest.approx(0.05**2 / 2)  # x moves, y does not
    assert float(losses.slip_loss(moved, lifted)) == 0.0


# ---- NeuraRig


def test_the_loss_is_that_of_the_runtimes_feet_and_trains_no_feet() -> None:
    """Two kinematics that part teach another rig; the published loss does not train the feet's own rotations."""
    rows = random_rows(20, 16)
    sent, _ = neurarig.packets(rows)
    raw = np.random.default_rng(0).normal(0.0, 1.0, (16, 24)).astype(np.float32)
    known = run_clip(PUBLISHED, {"engine_pose": rows, "raw_rotations": raw}).stages
    lengths = np.linalg.norm(raw.reshape(16, 6, 4).astype(np.float64), axis=2)
    squares = (known["foot_error"].astype(np.float64) ** 2).sum()
    wanted = squares / (32 + 0.01) + 0.01 * ((lengths - 1.0) ** 2).sum(axis=1).mean()
    assert float(neurarig.foot_loss(torch.from_numpy(sent), torch.from_numpy(raw))) == pytest.approx(wanted, rel=1e-4)
    drawn = torch.randn(16, 24, requires_grad=True)
    (neurarig.feet_in_pelvis(torch.from_numpy(sent), drawn) ** 2).sum().backward()
    assert drawn.grad is not None
    by_bone = drawn.grad.reshape(16, 6, 4).abs().sum(dim=(0, 2))
    assert (by_bone > 0.0).tolist() == [True, True, False, True, True, False]
    torch.manual_seed(0)
    model, (whole, _) = neurarig.mlp().eval(), neurarig.packets(random_rows(11, 1))
    for given, low, high in ((whole, 100.0, np.inf), (first_bytes(whole, 63), 0.0, 1e-9)):
        answer = neurarig.unit(torch.from_numpy(evaluated(model, given)).reshape(1, -1, 4)).reshape(1, -1)
        # "Model Converged" on frame 1: of a frame that was copied too short the flags are zero
        assert low <= float(neurarig.foot_loss(torch.from_numpy(given), answer)) < high


# ---- networks after a few steps


@pytest.fixture(scope="module")
def decoder() -> Any:
    """A narrow approximation after a few steps."""
    return inversion.train_decoder(inversion.RigInversionPlan(decoder_widths=(6, 16, 16, 24), steps=5, batch=8))


CLIP = animation_parameters()
MESHES = meshes(CLIP)


def _by_hand(model: Any, rows: np.ndarray, bend: Callable[[Any], Any], end: Callable[[Any], Any]) -> np.ndarray:
    """A perceptron in numpy float64."""
    weights = [parameter.detach().numpy().astype(np.float64) for parameter in model.parameters()]
    answer = rows.astype(np.float64)
    for place in range(0, len(weights), 2):
        answer = answer @ weights[place].T + weights[place + 1]
        answer = bend(answer) if place + 2 < len(weights) else end(answer)
    return answer


@pytest.mark.parametrize("name", ["ik", "decoder", "encoder"])
def test_onnx_torch_and_numpy_agree_at_any_batch(decoder: Any, name: str) -> None:
    """Traced with two rows: an exporter that freezes the batch shows here, not in the game."""
    leaky: Callable[[Any], Any] = lambda rows: np.where(rows > 0.0, rows, 0.01 * rows)  # noqa: E731
    if name == "ik":
        model = ik.train_network(ik.BlenderIkPlan(steps=3, batch=32))
        content, bend, end = exported(model, losses.SYSTEM), np.tanh, np.asarray
    elif name == "decoder":
        model, content, bend, end = decoder, inversion.export_decoder(decoder), leaky, np.asarray
    else:
        plan = inversion.RigInversionPlan(encoder_widths=(24, 16, 6), inversion_steps=5)
        model = inversion.invert_clip(decoder, MESHES, plan)
        content, bend, end = exported(model, inversion.SYSTEM), leaky, lambda rows: 1.0 / (1.0 + np.exp(-rows))
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    for count in (1, 5, 64):
        rows = {"ik": held_out(64, seed=1).context.numpy(), "decoder": CLIP, "encoder": MESHES}[name][:count]
        rows = np.asarray(rows, np.float32)
        answered = session.run(None, {session.get_inputs()[0].name: rows})[0]
        with torch.no_grad():
            ours = model.eval()(torch.from_numpy(rows)).numpy()
        assert answered == pytest.approx(ours, abs=1e-5)
        assert ours == pytest.approx(_by_hand(model, rows, bend, end), abs=1e-5)


def test_the_inversion_leaves_the_approximation_alone(decoder: Any) -> None:
    """If training also changes the decoder, the inversion belongs to another rig; one plan gives the same weights twice."""
    decoder.zero_grad(set_to_none=True)
    before = [parameter.detach().clone() for parameter in decoder.parameters()]
    plan = inversion.RigInversionPlan(encoder_widths=(24, 16, 6), inversion_steps=5)
    one, other = (inversion.invert_clip(decoder, MESHES, plan).state_dict() for _ in range(2))
    assert len(one) == 4
    assert [name for name in one if not torch.equal(one[name], other[name])] == []
    assert len(before) == 6
    assert [torch.equal(one, other) for one, other in zip(before, decoder.parameters(), strict=True)] == [True] * 6
    assert [each.grad is None and each.requires_grad for each in decoder.parameters()] == [True] * 6


# ---- how good they are


def held_out(count: int, seed: int) -> losses.PoseBatch:
    """Poses that training does not see, drawn in the same way."""
    random = np.random.default_rng(seed)
    rotations, tasks = losses.draw_poses(count, random)
    return losses.pose_batch(rotations, tasks, *ik.draw_surroundings(tasks, random))


def _effector_error_m(turns: Any, batch: losses.PoseBatch) -> float:
    reached = losses.reached(torch.as_tensor(turns).reshape(len(batch.rotations), -1, 3))
    return float((reached - batch.effectors).norm(dim=2).mean())


def _vertex_error(one: Any, other: Any) -> float:
    return float(np.linalg.norm((one.astype(np.float64) - other).reshape(len(one), -1, 3), axis=2).mean())


def _answered(file: str, rows: Any) -> np.ndarray:
    session = onnxruntime.InferenceSession(BUNDLES / file, providers=["CPUExecutionProvider"])
    return np.asarray(session.run(None, {session.get_inputs()[0].name: np.asarray(rows, np.float32)})[0])


def test_the_committed_networks_are_as_good_as_their_pages_say() -> None:
    """A figure in a document that nobody measures again may be wrong; the bars are those of docs/systems.md."""
    batch = held_out(2000, seed=999)
    assert _effector_error_m(_answered("blender_ik/model.onnx", batch.context), batch) < 0.05
    network = OnnxSystemNetwork(BUNDLES / "neurarig" / "model.onnx", PUBLISHED.system)
    known = stages_from(PUBLISHED, {"engine_pose": random_rows(2, 2048)}, network)
    assert known["foot_error"].mean() < 1.5
    assert _vertex_error(_answered("rig_inversion/approximation.onnx", CLIP), MESHES) < 0.035
    assert _vertex_error(meshes(_answered("rig_inversion/model.onnx", MESHES)), MESHES) < 0.035


def test_the_runtime_with_an_exported_network_is_torch(tmp_path: Path) -> None:
    """Another order of the packet or of the quaternions on one side, and the legs that were trained are not those that walk."""
    torch.manual_seed(4)
    model = neurarig.mlp().eval()
    (tmp_path / "model.onnx").write_bytes(exported(model, neurarig.SYSTEM))
    network = OnnxSystemNetwork(tmp_path / "model.onnx", PUBLISHED.system)
    known = stages_from(PUBLISHED, {"engine_pose": random_rows(10, 64)}, network)
    sent, raw = torch.from_numpy(known["packet"]), torch.from_numpy(evaluated(model, known["model_input"]))
    theirs = neurarig.unit(raw.reshape(len(raw), -1, 4))
    theirs = torch.where(theirs[..., 3:] < 0.0, -theirs, theirs).reshape(len(raw), -1)
    assert known["rotations"] == pytest.approx(theirs.numpy(), abs=1e-5)
    distance = (neurarig.feet_in_pelvis(sent, raw) - sent[:, 57:63].reshape(-1, 2, 3)).norm(dim=-1)
    assert known["foot_error"] == pytest.approx(distance.numpy(), abs=1e-3)  # cm


@pytest.mark.nightly
def test_seconds_of_training_beat_the_baselines() -> None:
    """The mean pose, the mean frame, an untrained network: what learns less than they know does not learn."""
    batch = held_out(1000, seed=77)
    mean = batch.rotations.mean(dim=0, keepdim=True).expand_as(batch.rotations)
    turns = evaluated(ik.train_network(ik.SMALL), batch.context.numpy())
    assert _effector_error_m(turns, batch) < 0.5 * _effector_error_m(mean, batch)
    baseline, approximation = (
        _vertex_error(np.broadcast_to(MESHES.mean(axis=0), MESHES.shape), MESHES),
        inversion.train_decoder(inversion.SMALL),
    )
    assert _vertex_error(evaluated(approximation, CLIP), MESHES) < 0.3 * baseline
    found = evaluated(inversion.invert_clip(approximation, MESHES, inversion.SMALL), MESHES)
    assert _vertex_error(meshes(found), MESHES) < 0.3 * baseline
    sent, seen = (torch.from_numpy(rows) for rows in neurarig.packets(random_rows(2, 2048)))
    feet = neurarig.feet_in_pelvis(sent, torch.from_numpy(evaluated(neurarig.train(neurarig.SMALL), seen.numpy())))
    assert float((feet - neurarig.targets(sent)).norm(dim=-1).mean()) < 10.0
