"""What a run is judged by: the contract's numbers by name, limits of a clip, answers almost right, watches, unused inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from rigpact.contract.character import character_of
from rigpact.contract.errors import UnusableInput
from rigpact.contract.layout import CONTACTS, ROTATIONS
from rigpact.contract.rules.bundle_body import largest_mean_step_rad
from rigpact.contract.rules.clip_motion import UNIT_TOLERANCE
from rigpact.contract.skeleton import rot6d_defect
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.files.declared import RunSetup
from rigpact.reference_runtime.files.sentinel import ORDINARY_Z, VISIBLE_RAD, Ordinary, Watch
from rigpact.reference_runtime.graph.replayed import Evidence, ReplayedFrames
from rigpact.reference_runtime.graph.run import ClipDrive
from rigpact.reference_runtime.network import ReplayNetwork, aligned
from rigpact.reference_runtime.operations.geometry import KINDA_SMALL_NUMBER, length, perpendicular, rotation_angle_rad
from rigpact.reference_runtime.operations.scalars import stored, zscored
from rigpact.reference_runtime.operations.six_numbers import Rot6d
from rigpact.reference_runtime.recordings.clip import Clip, RawClip
from rigpact.reference_runtime.systems.enemy_animation.answer import (
    IS_RESIDUAL,
    OutputStages,
    shared_slices,
)
from rigpact.reference_runtime.systems.enemy_animation.floor import measure_floor
from rigpact.reference_runtime.systems.enemy_animation.runs import clip_rows
from rigpact.reference_runtime.systems.enemy_animation.state import floored_scales

PLACES: Mapping[str, Sequence[str]] = {
    "MuX": ("state_statistics", "mean"),
    "StdX": ("state_statistics", "std"),
    "MuY": ("output_statistics", "mean"),
    "StdY": ("output_statistics", "std"),
    "tanh_scales_rootvel": ("rootvel_scales",),
    "tanh_scales_angvel": ("angvel_scales",),
    "MuPoseHist": ("pose_history", "statistics", "mean"),
    "StdPoseHist": ("pose_history", "statistics", "std"),
    "tanh_scales_pose_hist": ("pose_history", "scale"),
    "MuAngVel": ("angular_velocity", "statistics", "mean"),
    "StdAngVel": ("angular_velocity", "statistics", "std"),
    "tanh_scales_angvel of AngVel": ("angular_velocity", "scale"),
}
"""The place of each array of the bundle or its companion in the contract."""


def bundle_numbers(contract: Contract) -> dict[str, FloatArray]:
    """The arrays that the contract has."""
    found = {}
    for name, place in PLACES.items():
        value: Any = character_of(contract)
        for attribute in place:
            value = None if value is None else getattr(value, attribute)
        if value is not None:
            found[name] = np.asarray(value)
    return found


def with_bundle_numbers(contract: Contract, name: str, values: FloatArray) -> Contract:
    """The contract with another array under that name."""
    return contract.with_numbers(_replaced(character_of(contract), PLACES[name], values.astype(np.float32)))


def _replaced(owner: Any, place: Sequence[str], values: FloatArray) -> Any:
    first, *rest = place
    return replace(owner, **{first: _replaced(getattr(owner, first), rest, values) if rest else values})


def refuse_poses(path: Path, outputs: FloatArray, contract: Contract) -> None:
    """UnusableInput for poses where the contract's network answers with steps.

    Un-normalised, a pose is columns of a rotation in every row and bone; an answer is so only after reprojection. Exact
    steps are rotations too, but their mean over the rows is small, or they are so after the identity is added.
    """
    character = character_of(contract)
    mode, place = contract.conventions.output_mode, character.output[ROTATIONS].range
    if mode == "absolute" or outputs.ndim != 2 or outputs.shape[1] != character.output.width:
        return  # poses are meant, or the width is refused where the rows are used
    scaled = (outputs.astype(np.float64) * character.output_statistics.std)[:, place]
    codec, bones = Rot6d(contract.conventions), character.bone_count
    pose = (scaled + character.output_statistics.mean[place]).reshape(-1, bones, 6)
    step = scaled.reshape(-1, bones, 6) + codec.identity(1)
    if not _are_rotations(pose) or (mode == "residual" and _are_rotations(step)):
        return
    mean = codec.decode(pose.mean(axis=0).reshape(1, -1))
    if float(rotation_angle_rad(mean, np.eye(3)).max()) <= largest_mean_step_rad(contract.fps or 60.0):
        return
    raise UnusableInput(
        f"{path}#y_norm",
        "poses: un-normalised with MuY and StdY, every row is rotations far from the identity",
        f"the network's own output, which means {mode} here",
        "record the model's output itself; or --set output_mode=absolute to publish the poses as they are",
    )


def _are_rotations(columns: FloatArray) -> bool:
    """Whether all columns (T, B, 6) are those of rotations, as far as a file of a few decimals can say."""
    return bool(np.isfinite(columns).all()) and float(rot6d_defect(columns).max()) <= 2 * UNIT_TOLERANCE


_NETWORK_ERROR_Z = 0.05
"""Error of a well-trained network's output, in standard deviations."""


def ideal_network(clip: Clip, contract: Contract) -> ReplayNetwork:
    """A network that predicts a clip almost exactly, under the contract's own output mode.

    Why only almost: a perfect ΔR is already orthonormal, so the result would be the same with and without reprojection.
    """
    character = character_of(contract)
    rows = clip_rows(clip, contract)
    outputs, statistics = OutputStages(contract), character.output_statistics
    place, mode = character.output[ROTATIONS].range, contract.conventions.output_mode
    rotations = outputs.codec.decode(rows.poses.astype(np.float64))
    wanted = rotations[1:] if mode == "absolute" else rotations[1:] @ np.swapaxes(rotations[:-1], -1, -2)
    six = outputs.codec.encode(wanted) - IS_RESIDUAL[mode] * outputs.codec.identity(character.bone_count)
    mean = statistics.mean[place].astype(np.float64) * (not IS_RESIDUAL[mode])
    y_norm = np.zeros((len(wanted), character.output.width))
    y_norm[:, place] = zscored(six, mean, statistics.std_floored[place])
    y_norm += _NETWORK_ERROR_Z * np.sin(np.arange(y_norm.size)).reshape(y_norm.shape)
    return ReplayNetwork(y_norm.astype(np.float32))


def clip_limits(clip: Clip) -> list[str]:
    """The limits of a raw clip in words, each with its number."""
    if not isinstance(clip, RawClip):
        return []
    found = []
    yaw = float(np.abs(clip.root_yaw_rad).max())
    if yaw <= np.pi:
        found.append(f"root yaw never leaves ±{yaw:.2f} rad: a yaw-wrap bug would not show; add a turning clip")
    scores = clip.contact_scores
    if scores is None or float(np.abs(scores[:, 0] - scores[:, 1]).max()) < 0.5:
        found.append("both feet always score alike: swapped feet would not show; add a walking clip")
    speed = np.linalg.norm(clip.root_velocity_m_s, axis=1)
    if float(speed.max()) < 0.1:
        found.append(f"the root never moves faster than {float(speed.max()):.2f} m/s: add a clip that walks")
    return found


TANH_SATURATION = 9.02
"""Beyond atanh(1 - 2^-25) = 9.01 tanh rounds to 1 in float32: the channel carries no signal."""
NEAR_DEGENERATE = 10.0 * KINDA_SMALL_NUMBER
"""Ten times the length below which the engine replaces an axis."""


def watches(contract: Contract) -> list[Watch]:
    """The clamp, saturated tanh, axes near zero."""
    found = [Watch("clamp", name, ORDINARY_Z, itemgetter(name)) for name in ("state", "cond")]
    for name, scale in floored_scales(contract).items():
        found.append(_saturation(character_of(contract).state[name].range, scale))
    outputs = OutputStages(contract)
    identity = outputs.codec.identity(character_of(contract).bone_count)
    lengths = partial(_axis_lengths, outputs, identity * IS_RESIDUAL[contract.conventions.output_mode])
    return [*found, Watch("degenerate", "y_raw", NEAR_DEGENERATE, lengths, outputs.rotations.start, is_floor=True)]


def ordinary_state(clip: Clip | None, contract: Contract) -> Ordinary:  # noqa: ARG001 - as of every system
    """The state in z-scores. A change that nobody sees is not a departure, even of a channel that never moved in training.

    The least raw change is a degree in a column of a rotation; in a squashed velocity or a yaw as a share of half a
    turn, 2% of its whole range is less than that.
    """
    character = character_of(contract)
    deviation = character.state_statistics.std_floored.astype(np.float64)
    least = np.full(len(deviation), np.inf)
    for entry in shared_slices(contract):  # what is written back
        place = character.state[entry.name].range
        least[place] = VISIBLE_RAD / np.maximum(deviation[place], np.finfo(np.float32).tiny)
    return Ordinary("state", np.ones(len(deviation)), least)


def _saturation(place: slice, scale: FloatArray) -> Watch:
    return Watch("tanh", "x_raw", TANH_SATURATION, lambda stages: stages["x_raw"][place] / scale, place.start)


def _axis_lengths(outputs: OutputStages, offset: FloatArray, stages: Mapping[str, FloatArray]) -> FloatArray:
    """For each channel of the answered rotations: the length of its axis before normalisation."""
    a, b = outputs.codec.split(stages["y_raw"][outputs.rotations].astype(np.float64) + offset)
    size = length(a)
    rest = length(perpendicular(b, a / np.maximum(size, KINDA_SMALL_NUMBER)))
    return np.repeat(np.concatenate((size, rest), axis=-1), 3, axis=-1).reshape(-1)


Inputs = Mapping[str, FloatArray]
_SAMPLES = 32


@dataclass(frozen=True)
class InputUse:
    """An input of the deployed free run: the engine's value, an alternative, and the change of a step's pose (degrees).

    state: `frozen`, `zero` or `live`, as measured.
    """

    name: str
    state: str
    deployed: str
    alternative: str
    mean_deg: float | None
    largest_deg: float | None

    def __str__(self) -> str:
        words = f"input {self.name} is {self.state} in free-run ({self.deployed})"
        if self.mean_deg is None or self.largest_deg is None:
            return words
        return (
            f"{words}; with {self.alternative} a step's pose moves by {self.mean_deg:.3g} deg on average, "
            f"{self.largest_deg:.3g} at most"
        )


def drift_notes(
    subject: RunSetup, published: FloatArray, sampled: Mapping[int, Inputs]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Feet on the floor, and inputs that the deployed engine leaves frozen or zero."""
    uses = _input_uses(subject, [{**stages, "frame": np.array([float(frame)])} for frame, stages in sampled.items()])
    facts: dict[str, Any] = {"floor": None, "inputs": [vars(use) for use in uses]}
    lines = [str(use) for use in uses]
    try:
        floor = measure_floor(subject, published[:, character_of(subject.contract).output[ROTATIONS].range])
    except UnusableInput as refusal:
        return facts, (*lines, f"feet not measured: {refusal.found}")
    return facts | {"floor": floor.to_json()}, (floor.words, *lines)


def _input_uses(subject: RunSetup, sampled: Sequence[Inputs]) -> tuple[InputUse, ...]:
    """Measure the inputs of sampled frames (each (1, width), with x_raw and frame)."""
    chosen = [sampled[int(index)] for index in np.unique(np.linspace(0, len(sampled) - 1, _SAMPLES).astype(int))]
    poses = _next_poses(subject, chosen)
    has_slice = CONTACTS in character_of(subject.contract).state
    deployed = "flags of the floor" if has_slice else "the schema has no Contacts slice: zeros are bound"
    zeros = [np.zeros_like(inputs["contacts"]) for inputs in chosen]
    moved, state = _moved(subject, chosen, poses, "contacts", zeros), "live" if has_slice else "zero"
    contacts = InputUse("contacts", state, deployed, "zeros in place of the clip's scores", *moved)
    return _angular_velocity(subject, chosen, poses), contacts


def _angular_velocity(subject: RunSetup, sampled: Sequence[Inputs], poses: FloatArray) -> InputUse:
    deployed = "the seed's value: the write-back never renews it"
    rows = np.concatenate([inputs["angvel"] for inputs in sampled])
    state = "zero" if not rows.any() else "frozen" if np.all(rows == rows[:1]) else "live"
    contract = subject.contract.with_conventions({"angvel_source": "rotations"})
    if character_of(contract).angular_velocity is None:
        return InputUse("angvel", state, deployed, "", None, None)
    place, fps = character_of(subject.contract).state[ROTATIONS].range, subject.rows().fps
    changed = []
    for inputs, pose in zip(sampled, poses, strict=True):
        following = inputs["x_raw"].copy()
        following[:, place] = pose
        pair = ClipDrive({"x_raw": np.concatenate((inputs["x_raw"], following))}, fps)
        first = Evidence(np.arange(1), fps, "teacher", {}, lambda _contract, pair=pair: pair)  # type: ignore[misc]
        changed.append(ReplayedFrames(first, contract)["angvel"])
    moved = _moved(subject, sampled, poses, "angvel", changed)
    return InputUse("angvel", state, deployed, "the log map of the run's own poses", *moved)


def _next_poses(subject: RunSetup, sampled: Sequence[Inputs]) -> FloatArray:
    """The pose after each frame, (frames, 6·B)."""
    contract, network = subject.contract, subject.network
    stages, rotations, answers = OutputStages(contract), character_of(contract).state[ROTATIONS].range, []
    for inputs in sampled:
        vectors = [inputs[name] for name in contract.conventions.input_order]
        answers.append(network.run(aligned(vectors, network.bound_widths), int(inputs["frame"][0])))
    previous = np.concatenate([inputs["x_raw"][:, rotations] for inputs in sampled])
    published = np.tile(stored(stages.codec.identity(character_of(contract).bone_count)), (len(previous), 1))
    return stages(np.concatenate(answers), previous, published)["y_out"][:, stages.rotations]


def _moved(
    subject: RunSetup, sampled: Sequence[Inputs], poses: FloatArray, name: str, changed: Sequence[FloatArray]
) -> tuple[float, float]:
    """Mean and largest angle between the poses of a step, (frames, 6·B), and those with the alternative input."""
    other = _next_poses(subject, [{**inputs, name: rows} for inputs, rows in zip(sampled, changed, strict=True)])
    codec = OutputStages(subject.contract).codec
    before, after = (codec.decode(each.astype(np.float64)) for each in (poses, other))
    angles = np.degrees(rotation_angle_rad(before, after))
    return float(np.mean(angles)), float(np.max(angles))
