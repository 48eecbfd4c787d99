"""A raw clip as rules read it, and its features as the state holds them: a part that cannot be read is `Unread`.

All numbers are float64, and the formulas are the contract's, so that a difference is a defect of the file.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from rigpact.contract.layout import ANGULAR_VELOCITIES, CONTACTS, ROOT_POSITION, ROOT_VELOCITY, ROOT_YAW, ROTATIONS
from rigpact.contract.rotation6d import rot6d_to_matrix
from rigpact.contract.rules.views.bundle import (
    BundleView,
    FileView,
    NamedArray,
    Unread,
    declared_columns,
    finite_array,
    is_finite_float32,
    json_to_array,
    json_to_names,
    json_to_rate,
    json_to_skeleton,
    known,
    member,
    need,
    one_slice,
)
from rigpact.contract.skeleton import Skeleton
from rigpact.contract.statistics import TANH_SCALE_FLOOR, FloatArray

BONE_CHANNELS = ("BoneRotations", "BoneAngularVelocities")
CHANNELS = (*BONE_CHANNELS, "RootPosition", "RootVelocityXY", "RootYaw", "ActionBits", "TrajectoryDir")
FPS_KEYS = ("fps", "FPS")
FEET = ("L", "R")
_SLOWEST_M_S = 1e-3
"""Below this speed the condition's direction is zero."""
_SPEEDS = (
    (ROOT_VELOCITY, "RootVelocityXY", "tanh_scales_rootvel"),
    (ANGULAR_VELOCITIES, "BoneAngularVelocities", "tanh_scales_angvel"),
)


@dataclass(frozen=True, eq=False)
class ClipView(FileView):
    """The parts of a raw clip that rules judge."""

    @cached_property
    def frames(self) -> tuple[Mapping[str, Any], ...]:
        """Every frame that is an object."""
        frames = self.root.get("Frames")
        return tuple(frame for frame in frames if isinstance(frame, Mapping)) if isinstance(frames, list) else ()

    @cached_property
    def bone_names(self) -> tuple[str, ...]:
        """Names from the clip's own skeleton; empty if there are none."""
        return json_to_names(member(self.root, "meta", "skeleton", "bone_names")) or ()

    @cached_property
    def fps(self) -> float:
        """Frames a second: `fps`, else `FPS`."""
        rates = (json_to_rate(self.root.get(key)) for key in FPS_KEYS)
        return need(next((rate for rate in rates if rate is not None), None))

    @cached_property
    def channels(self) -> dict[str, FloatArray | None]:
        """Each channel of all frames, (T, …) float64; None if a frame lacks it or rows are ragged."""
        return {key: json_to_array([frame.get(key) for frame in self.frames]) for key in CHANNELS}

    def shaped(self, key: str, *shape: int) -> FloatArray:
        """A channel whose frames have a shape (-1: any length) and only finite numbers."""
        values = need(self.channels[key])
        need(values, when=values.ndim == len(shape) + 1 and is_finite_float32(values) and len(values) > 0)
        fits = all(wanted in (-1, found) for wanted, found in zip(shape, values.shape[1:], strict=True))
        return need(values, when=fits)

    @cached_property
    def columns(self) -> str:
        """Which columns the six numbers are; the contract's default if the clip declares none that rigpact knows."""
        return declared_columns(self.root.get("meta"))

    @cached_property
    def rotations(self) -> FloatArray:
        """Every bone's rotation, (T, B, 3, 3)."""
        return rot6d_to_matrix(self.shaped("BoneRotations", -1, 6), self.columns)

    @cached_property
    def skeleton(self) -> Skeleton | None:
        """The clip's own bone table; None if it is broken."""
        return json_to_skeleton(member(self.root, "meta", "skeleton"))

    @cached_property
    def evidence(self) -> list[list[Any]]:
        """What is said of the left and the right foot in each frame; None where it is no object."""
        sides = [[member(frame, "FootEvidence", foot) for foot in FEET] for frame in self.frames]
        return [[side if isinstance(side, Mapping) else None for side in frame] for frame in sides]

    def foot_values(self, key: str) -> list[list[Any]]:
        """One entry of every frame and foot, flags as numbers; None where it is not there."""
        values = [[member(side, key) for side in frame] for frame in self.evidence]
        return [[int(value) if type(value) is bool else value for value in frame] for frame in values]

    def feet(self, key: str, dimensions: int = 2) -> FloatArray:
        """One entry of every frame and foot, (T, 2) or, of vectors, (T, 2, …)."""
        array = need(finite_array(self.foot_values(key)), when=bool(self.frames))
        return need(array, when=array.ndim == dimensions)


def same_rate(found: float, expected: float) -> bool:
    """Whether two frame rates are the same number, of which one was rounded to float32."""
    return abs(found - expected) <= 2.0**-23 * expected


def clip_features(clip: ClipView, bundle: BundleView) -> FloatArray:
    """The state of every frame before its z-score, (T, Dx); NaN where the clip has no such channel.

    `Unread` where the bundle's layout or the clip's rotations cannot be read.
    """
    layout = need(bundle.state)
    need(bundle.statistic("MuX", layout))  # a width from a broken file could fill the memory
    need(clip.rotations, when=all(entry.start >= 0 and entry.stop <= layout.width for entry in layout))
    parts = {
        ROOT_POSITION: known(lambda: clip.shaped("RootPosition", 3)),
        ROOT_YAW: known(lambda: np.angle(np.exp(1j * clip.shaped("RootYaw")))[:, None] / np.pi),
        ROTATIONS: clip.shaped("BoneRotations", -1, 6).reshape(len(clip.rotations), -1),
        CONTACTS: known(lambda: clip.feet("soft_contact_score")),
    }
    parts |= {array.layout.slices[0].name: np.tanh(scaled) for array, _, scaled in scaled_speeds(clip, bundle)}
    features = np.full((len(clip.frames), layout.width), np.nan)
    for entry in layout:
        values = parts.get(entry.name)
        if values is not None and values.shape == (len(features), entry.size):
            features[:, entry.range] = values
    return features


def scaled_speeds(clip: ClipView, bundle: BundleView) -> Iterator[tuple[NamedArray, str, FloatArray]]:
    """Yield each tanh scale with the clip's key and the speeds over it, (T, width), where both can be read."""
    for name, key, scale_key in _SPEEDS:
        if bundle.state is None or name not in bundle.state:
            continue
        with suppress(Unread):
            array = bundle.finite(scale_key, one_slice(name, bundle.state[name].size))
            values = clip.shaped(key, 2) if name == ROOT_VELOCITY else clip.shaped(key, -1, 3)
            flat = values.reshape(len(values), -1)
            if flat.shape[1] == len(array.values):
                yield array, key, flat / np.maximum(np.abs(array.values), TANH_SCALE_FLOOR)


def condition_of(clip: ClipView, direction: str = "velocity") -> FloatArray:
    """The condition of every frame, (T, 7): action bits, unit direction, speed in m/s.

    direction: `velocity` (RootVelocityXY, as training) or `trajectory` (the middle TrajectoryDir, as the engine).
    """
    bits, velocity = clip.shaped("ActionBits", 4), clip.shaped("RootVelocityXY", 2)
    speed = np.linalg.norm(velocity, axis=-1, keepdims=True)
    heading = np.where(speed < _SLOWEST_M_S, 0.0, velocity / np.maximum(speed, _SLOWEST_M_S))
    if direction == "trajectory":
        window = clip.shaped("TrajectoryDir", -1, 2)
        heading = need(window, when=window.shape[1] > 0)[:, window.shape[1] // 2]
    return np.concatenate([bits, heading, speed], axis=1)
