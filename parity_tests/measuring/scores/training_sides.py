"""The hosted systems' training sides: errors on held-out data, and differences between torch, ONNX, numpy and the runtime."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rigpact.contract.files import write_bytes
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.graph.network import OnnxSystemNetwork
from rigpact.reference_runtime.graph.run import stages_from
from rigpact.reference_runtime.graph.window import stream
from rigpact.reference_runtime.vocabulary.arranging.copied import first_bytes
from rigpact.training.blender_ik import losses
from rigpact.training.blender_ik.build import draw_surroundings
from rigpact.training.blender_ik.data import draw_poses
from rigpact.training.blender_ik.losses import FEET, PoseBatch, pose_batch
from rigpact.training.imu_pose import facts
from rigpact.training.making import evaluated
from rigpact.training.neurarig import build as neurarig
from rigpact.training.neurarig import data as legs
from rigpact.training.neurarig.data import random_rows


def parameter_count(model: Any) -> int:
    """Number of trainable parameters."""
    return sum(each.numel() for each in model.parameters())


def _network(content: bytes, system: Any) -> OnnxSystemNetwork:
    """An exported network as the runtime runs it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        write_bytes(path, content)
        return OnnxSystemNetwork(path, system)


# ---- Blender IK


def numpy_network(model: Any) -> Callable[[FloatArray], FloatArray]:
    """The network as a function of rows (N, 50) in numpy float32, without torch."""
    values = [np.ascontiguousarray(parameter.detach().numpy().T) for parameter in model.parameters()]
    *hidden, (weight, bias) = zip(values[0::2], values[1::2], strict=True)

    def forward(rows: FloatArray) -> FloatArray:
        for inner, shift in hidden:
            rows = np.tanh(rows @ inner + shift)
        return np.asarray(rows @ weight + bias)

    return forward


def held_out(count: int, seed: int, share: float | None = None) -> PoseBatch:
    """Poses that training does not see, drawn in the same way, or with another share of every joint's range."""
    random = np.random.default_rng(seed)
    rotations, tasks = draw_poses(count, random, share)
    return pose_batch(rotations, tasks, *draw_surroundings(tasks, random))


def effector_errors_m(rotations: Tensor, batch: PoseBatch) -> FloatArray:
    """Distances (N, 5) in metres of the reached effectors from their targets."""
    with torch.no_grad():
        distances: FloatArray = (losses.reached(rotations) - batch.effectors).norm(dim=2).numpy()
    return distances


def foot_errors_m(rotations: Tensor, pairs: PoseBatch) -> tuple[float, float]:
    """For feet on the ground, in metres: mean height error, and mean slide between the two frames of a pair."""
    with torch.no_grad():
        missed = (losses.reached(rotations) - pairs.effectors)[:, FEET]
        grounded = pairs.grounded > 0.0
        planted = grounded[0::2] & grounded[1::2]
        slide = (missed[1::2, :, :2] - missed[0::2, :, :2]).norm(dim=2)  # the true foot does not move
        return float(missed[..., 2].abs()[grounded].mean()), float(slide[planted].mean())


# ---- IMU pose


def exported_imu_pose(model: Any) -> OnnxSystemNetwork:
    """The network as the runtime runs it."""
    from rigpact.training.imu_pose import build  # it needs the extra [physics]

    return _network(build.export_imu_pose(model), facts.SYSTEM)


def imu_pose_export_error(model: Any, network: OnnxSystemNetwork) -> float:
    """The largest difference of any output, of batch sizes and lengths that differ from the export's."""
    random, errors = torch.Generator().manual_seed(3), []
    for shape in ((1, 60), (3, 137)):
        samples = torch.randn(*shape, 6, generator=random)
        with torch.no_grad():
            wanted = [output.numpy() for output in model(samples)]
        errors += [np.abs(a - w).max() for a, w in zip(network([samples.numpy()]), wanted, strict=True)]
    return float(max(errors))


def streaming_difference(network: OnnxSystemNetwork, samples: FloatArray) -> float:
    """Difference between the rows of a stream and of the same windows cut from the file; samples (T, 6)."""
    newest, rows = stream(samples, 50, lambda window: network([window[None]])[0][0], 7)
    windows = [samples[index - 49 : index + 1] for index in newest]
    return max(float(np.abs(network([w[None]])[0][0, -1] - row).max()) for w, row in zip(windows, rows, strict=True))


@dataclass(frozen=True)
class Evaluation:
    """Errors in metres (mean per joint), shares of correctly named windows, share of coordinates within one sigma."""

    error_m: float
    mean_pose_error_m: float
    exercise_accuracy: float
    form_accuracy: float
    coverage: float


def evaluated_imu_pose(model: Any, windows: Any, mean_pose_m: FloatArray, temperature: float = 1.0) -> Evaluation:
    """Score a network on windows; the runtime's stages compute the standard deviations."""
    from rigpact.training.imu_pose import build  # it needs the extra [physics]

    mean, sigma, exercise, form = build.answers(model, windows, temperature)
    of_network, of_mean = (
        float(np.linalg.norm((pose - windows.pose_m).reshape(-1, len(facts.JOINTS), 3), axis=-1).mean())
        for pose in (mean, mean_pose_m)
    )
    named = float(np.mean(exercise == windows.exercise)), float(np.mean(form == windows.form))
    scores = build.standard_scores(mean, sigma, windows.pose_m)
    return Evaluation(of_network, of_mean, *named, build.coverage(scores))


# ---- NeuraRig


def neurarig_errors(model: Any) -> dict[str, float]:
    """Worst differences of the runtime, with the exported network, from torch: rotations, and feet in metres."""
    known = stages_from(
        legs.PUBLISHED, {"engine_pose": random_rows(10, 64)}, _network(neurarig.export_legs(model), legs.SYSTEM)
    )
    sent = torch.from_numpy(known["packet"])
    raw = torch.from_numpy(evaluated(model, known["model_input"]))
    theirs = neurarig.unit(raw.reshape(len(raw), -1, 4))
    theirs = torch.where(theirs[..., 3:] < 0.0, -theirs, theirs).reshape(len(raw), -1).numpy()
    distance = (neurarig.feet_in_pelvis(sent, raw) - sent[:, 57:63].reshape(-1, 2, 3)).norm(dim=-1).numpy()
    feet_cm = np.abs(known["foot_error"] - distance).max()
    return {"rotations": float(np.abs(known["rotations"] - theirs).max()), "feet, m": float(feet_cm) / 100.0}


def losses_of_a_short_copy() -> tuple[float, float]:
    """Losses, without norm penalty, of a new network on a frame and on the same frame with only 63 bytes copied."""
    torch.manual_seed(0)
    model = neurarig.mlp().eval()
    sent, _ = neurarig.packets(random_rows(11, 1))
    found = []
    for rows in (sent, first_bytes(sent, 63)):
        answer = neurarig.unit(torch.from_numpy(evaluated(model, rows)).reshape(1, -1, 4)).reshape(1, -1)
        found.append(float(neurarig.foot_loss(torch.from_numpy(rows), answer)))
    return found[0], found[1]


def foot_errors_cm(model: Any) -> FloatArray:
    """Distances of feet from held-out targets; without a model, of an answer that repeats the input's rotations."""
    sent, seen = neurarig.packets(random_rows(2, 2_048))
    bones = [f"{bone}_{side}_quat" for side in legs.SIDES for bone in ("thigh", "calf", "foot")]
    raw = np.hstack([sent[:, legs.FRAME[bone].range] for bone in bones])
    if model is not None:
        raw = evaluated(model.eval(), seen)
    rows = torch.from_numpy(sent)
    distances: FloatArray = (
        (neurarig.feet_in_pelvis(rows, torch.from_numpy(raw)) - neurarig.targets(rows)).norm(dim=-1).numpy()
    )
    return distances


# ---- rig inversion


def mean_vertex_error(one: FloatArray, other: FloatArray) -> float:
    """Mean over frames and vertices of the Euclidean distance, of rows (T, 24); the published code prints it."""
    difference = (one.astype(np.float64) - other).reshape(len(one), -1, 3)
    return float(np.sqrt((difference**2).sum(axis=2)).mean())


def mean_frame_error(mesh: FloatArray) -> float:
    """The baseline: the error of the clip's mean mesh in every frame."""
    return mean_vertex_error(np.broadcast_to(mesh.mean(axis=0), mesh.shape), mesh)
