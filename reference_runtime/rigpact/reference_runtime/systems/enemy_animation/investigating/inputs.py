"""The inputs that the deployed engine leaves frozen or zero in a free run, and the effect on the model's output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rigpact.contract.character import character_of
from rigpact.contract.errors import UnusableInput
from rigpact.contract.layout import CONTACTS, ROTATIONS
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.files.declared import Subject
from rigpact.reference_runtime.network import aligned
from rigpact.reference_runtime.operations.geometry import rotation_angle_rad
from rigpact.reference_runtime.vocabulary.character.bone_rates import AngularVelocityInput, Motion
from rigpact.reference_runtime.vocabulary.posing.outputs import OutputStages

Inputs = dict[str, FloatArray]
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
        """The result in words."""
        words = f"input {self.name} is {self.state} in free-run ({self.deployed})"
        if self.mean_deg is None or self.largest_deg is None:
            return words
        return (
            f"{words}; with {self.alternative} a step's pose moves by {self.mean_deg:.3g} deg on average, "
            f"{self.largest_deg:.3g} at most"
        )


def input_uses(subject: Subject, sampled: Sequence[Inputs]) -> tuple[InputUse, ...]:
    """Measure the inputs of sampled frames (each (1, width), with x_raw and frame)."""
    chosen = [sampled[int(index)] for index in np.unique(np.linspace(0, len(sampled) - 1, _SAMPLES).astype(int))]
    poses = _next_poses(subject, chosen)
    return (_angular_velocity(subject, chosen, poses), _contacts(subject, chosen, poses))


def _angular_velocity(subject: Subject, sampled: Sequence[Inputs], poses: FloatArray) -> InputUse:
    deployed = "the seed's value: the write-back never renews it"
    try:
        source = AngularVelocityInput(subject.contract.with_conventions({"angvel_source": "rotations"}))
    except UnusableInput:
        return InputUse("angvel", _state(sampled, "angvel"), deployed, "", None, None)
    place, fps = character_of(subject.contract).state[ROTATIONS].range, subject.rows().fps
    changed = []
    for inputs, pose in zip(sampled, poses, strict=True):
        following = inputs["x_raw"].copy()
        following[:, place] = pose
        pair = np.concatenate((inputs["x_raw"], following))
        changed.append(source.rows(Motion.of_clip(pair, np.zeros_like(pair), fps, 1)))
    moved = _moved(subject, sampled, poses, "angvel", changed)
    return InputUse("angvel", _state(sampled, "angvel"), deployed, "the log map of the run's own poses", *moved)


def _contacts(subject: Subject, sampled: Sequence[Inputs], poses: FloatArray) -> InputUse:
    contract = subject.contract
    zeros = [np.zeros_like(inputs["contacts"]) for inputs in sampled]
    has_slice = CONTACTS in character_of(contract).state
    deployed = "flags of the floor" if has_slice else "the schema has no Contacts slice: zeros are bound"
    moved = _moved(subject, sampled, poses, "contacts", zeros)
    state = "live" if has_slice else "zero"
    return InputUse("contacts", state, deployed, "zeros in place of the clip's scores", *moved)


def _state(sampled: Sequence[Inputs], name: str) -> str:
    rows = np.concatenate([inputs[name] for inputs in sampled])
    if not rows.any():
        return "zero"
    return "frozen" if np.all(rows == rows[:1]) else "live"


def _run(subject: Subject, inputs: Inputs) -> FloatArray:
    order = subject.contract.conventions.input_order
    frame = int(inputs["frame"][0])
    answer: FloatArray = subject.network.run(
        aligned([inputs[name] for name in order], subject.network.bound_widths), frame
    )
    return answer


def _next_poses(subject: Subject, sampled: Sequence[Inputs]) -> FloatArray:
    """The pose after each frame, (frames, 6·B)."""
    stages, rotations = OutputStages(subject.contract), character_of(subject.contract).state[ROTATIONS].range
    previous = np.concatenate([inputs["x_raw"][:, rotations] for inputs in sampled])
    y_raw = stages.y_raw(np.concatenate([_run(subject, inputs) for inputs in sampled]))
    published = np.broadcast_to(stages.identity_pose(), previous.shape)
    return stages.published(y_raw, previous, published)["y_out"][:, stages.rotations]


def _moved(
    subject: Subject, sampled: Sequence[Inputs], poses: FloatArray, name: str, changed: Sequence[FloatArray]
) -> tuple[float, float]:
    """Mean and largest angle between the poses of a step, (frames, 6·B), and those with the alternative input."""
    other = _next_poses(subject, [{**inputs, name: rows} for inputs, rows in zip(sampled, changed, strict=True)])
    codec = OutputStages(subject.contract).codec
    before, after = (codec.decode(each.astype(np.float64)) for each in (poses, other))
    angles = np.degrees(rotation_angle_rad(before, after))
    return float(np.mean(angles)), float(np.max(angles))
