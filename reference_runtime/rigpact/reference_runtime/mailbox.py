"""How the engine hands a pose from the model's thread to the animation's thread.

Engine: `FPoseMailbox`, double-buffered. A reader takes the sequence number, copies, and takes it again: if it moved, the
copy may mix two poses and is thrown away.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from rigpact.contract.statistics import FloatArray


@dataclass(frozen=True, eq=False)
class PublishedPose:
    """One mailbox entry: sequence number from 1, quat (B, 4) xyzw local rotations, y_denorm (Dy,)."""

    sequence: int
    quat: FloatArray
    y_denorm: FloatArray


@dataclass
class PoseMailbox:
    """Two buffers; the sequence number's parity says which is the readable one."""

    sequence: int = 0
    _buffers: list[PublishedPose | None] = field(default_factory=lambda: [None, None])

    def publish(self, quat: FloatArray, y_denorm: FloatArray) -> int:
        """Fill the buffer that nobody reads, then make it the readable one; returns its sequence number."""
        following = self.sequence + 1
        self._buffers[following % 2] = PublishedPose(following, quat.copy(), y_denorm.copy())
        self.sequence = following
        return following

    def read(self) -> PublishedPose | None:
        """The newest whole pose; None before the first, or when a writer came twice during the read."""
        before = self.sequence
        pose = self._buffers[before % 2]
        return pose if pose is not None and pose.sequence == before == self.sequence else None


def quat_in_basis(quat: FloatArray, basis: FloatArray) -> FloatArray:
    """C·Q·C⁻¹: the rotation `quat` (..., 4) xyzw seen in axes turned by the unit quaternion `basis` (4,)."""
    return _product(_product(basis, quat), basis * np.array([-1.0, -1.0, -1.0, 1.0]))


def _product(a: FloatArray, b: FloatArray) -> FloatArray:
    ax, ay, az, aw = np.moveaxis(a, -1, 0)
    bx, by, bz, bw = np.moveaxis(b, -1, 0)
    return np.stack(
        (
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
            aw * bw - ax * bx - ay * by - az * bz,
        ),
        axis=-1,
    )
