"""The inputs that the deployed engine leaves frozen or zero in a free run, and the effect on the model's output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rigpact.contract.character import character_of
from rigpact.contract.errors import UnusableInput
from rigpact.contract.layout import CONTACTS, ROTATIONS
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.files.subject import Subject
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
    return (_angular_velocity(subject, chosen), _contacts(subject, chosen))


def _angular_velocity(subject: Subject, sampled: Sequence[Inputs]) -> InputUse:
    deployed = "the seed's value: the write-back never renews it"
    try:
        source = AngularVelocityInput(subject.contract.with_conventions({"angvel_source": "rotations"}))
    except UnusableInput:
        return InputUse("angvel", _state(sampled, "angvel"), deployed, "", None, None)
    place, fps, codec = (
        character_of(subject.contract).state[ROTATIONS].range,
        subject.rows().fps,
        OutputStages(subject.contract),
    )
    changed = []
    for inputs in sampled:
        following = inputs["x_raw"].copy()
        following[:, place] = _next_pose(subject, codec, inputs)
        pair = np.concatenate((inputs["x_raw"], following))
        changed.append(source.rows(Motion.of_clip(pair, np.zeros_like(pair), fps, 1)))
    moved = _moved(subject, sampled, "angvel", changed)
    return InputUse("angvel", _state(sampled, "angvel"), deployed, "the log map of the run's own poses", *moved)


def _contacts(subject: Subject, sampled: Sequence[Inputs]) -> InputUse:
    contract = subject.contract
    zeros = [np.zeros_like(inputs["contacts"]) for inputs in sampled]
    has_slice = CONTACTS in character_of(contract).state
    deployed = "flags of the floor" if has_slice else "the schema has no Contacts slice: zeros are bound"
    moved = _moved(subject, sampled, "contacts", zeros)
    state = "live" if has_slice else "zero"
    return InputUse("contacts", state, deployed, "zeros in place of the clip's scores", *moved)


def _state(sampled: Sequence[Inputs], name: str) -> str:
    rows = np.concatenate([inputs[name] for inputs in sampled])
    if not rows.any():
        return "zero"
    return "frozen" if np.all(rows == rows[:1]) else "live"


def _next_pose(subject: Subject, stages: OutputStages, inputs: Inputs) -> FloatArray:
    previous = inputs["x_raw"][:, character_of(subject.contract).state[ROTATIONS].range]
    order = subject.contract.conventions.input_order
    frame = int(inputs["frame"][0])
    answer: FloatArray = subject.network.run(
        aligned([inputs[name] for name in order], subject.network.bound_widths), frame
    )
    return stages(answer, previous, stages.identity_pose()[None])["y_out"][:, stages.rotations]


def _moved(
    subject: Subject, sampled: Sequence[Inputs], name: str, changed: Sequence[FloatArray]
) -> tuple[float, float]:
    """Mean and largest angle between the poses of a step with the original and with the alternative input."""
    stages = OutputStages(subject.contract)
    angles = []
    for inputs, other in zip(sampled, changed, strict=True):
        poses = [_next_pose(subject, stages, use) for use in (inputs, {**inputs, name: other})]
        before, after = (stages.codec.decode(pose.astype(np.float64)) for pose in poses)
        angles.append(np.degrees(rotation_angle_rad(before, after)))
    return float(np.mean(angles)), float(np.max(angles))
