"""A raw clip as rules read it: every part has a type, and is None where the file does not hold it in readable form."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rigpact.contract.rotation6d import rot6d_to_matrix
from rigpact.contract.rules.views.bundle import (
    FileView,
    declared_columns,
    is_finite_float32,
    json_to_array,
    json_to_names,
    json_to_rate,
    json_to_skeleton,
    member,
)
from rigpact.contract.skeleton import Skeleton
from rigpact.contract.statistics import FloatArray

BONE_CHANNELS = ("BoneRotations", "BoneAngularVelocities")
CHANNELS = (*BONE_CHANNELS, "RootPosition", "RootVelocityXY", "RootYaw", "ActionBits", "TrajectoryDir")
FPS_KEYS = ("fps", "FPS")


@dataclass(frozen=True, eq=False)
class ClipView(FileView):
    """The parts of a raw clip that rules judge."""

    @cached_property
    def frames(self) -> tuple[Mapping[str, Any], ...]:
        """Every frame that is an object."""
        frames = self.document.data.get("Frames")
        return tuple(frame for frame in frames if isinstance(frame, Mapping)) if isinstance(frames, list) else ()

    @cached_property
    def bone_names(self) -> tuple[str, ...]:
        """Names from the clip's own skeleton; empty if there are none."""
        return json_to_names(member(self.document.data, "meta", "skeleton", "bone_names")) or ()

    @cached_property
    def fps(self) -> float | None:
        """Frames a second: `fps`, else `FPS`; None if neither is a positive number."""
        rates = (json_to_rate(self.document.data.get(key)) for key in FPS_KEYS)
        return next((rate for rate in rates if rate is not None), None)

    def channel(self, key: str) -> FloatArray | None:
        """One channel of all frames, (T, …) float64; None if a frame lacks it or rows are ragged."""
        return self._channels[key]

    @cached_property
    def _channels(self) -> dict[str, FloatArray | None]:
        return {key: json_to_array([frame.get(key) for frame in self.frames]) for key in CHANNELS}

    def shaped(self, key: str, *shape: int) -> FloatArray | None:
        """A channel whose frames have a shape (-1: any length) and only finite numbers; None otherwise."""
        values = self.channel(key)
        if values is None or values.ndim != len(shape) + 1 or not is_finite_float32(values):
            return None
        fits = all(wanted in (-1, found) for wanted, found in zip(shape, values.shape[1:], strict=True))
        return values if fits and len(values) else None

    @cached_property
    def columns(self) -> str:
        """Which columns the six numbers are; the contract's default if the clip declares none that rigpact knows."""
        return declared_columns(self.root.get("meta"))

    @cached_property
    def rotations(self) -> FloatArray | None:
        """Every bone's rotation, (T, B, 3, 3); None if the channel is broken."""
        values = self.shaped("BoneRotations", -1, 6)
        return None if values is None else rot6d_to_matrix(values, self.columns)

    @cached_property
    def skeleton(self) -> Skeleton | None:
        """The clip's own bone table; None if it is broken."""
        return json_to_skeleton(member(self.document.data, "meta", "skeleton"))


def same_rate(found: float, expected: float) -> bool:
    """Whether two frame rates are the same number, of which one was rounded to float32."""
    return abs(found - expected) <= 2.0**-23 * expected
