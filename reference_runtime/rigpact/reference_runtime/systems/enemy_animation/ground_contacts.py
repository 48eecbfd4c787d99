"""Foot contacts from forward kinematics over a floor plane, so that a free run has real contacts.

The deployed engine measures its feet against the world. Here the floor is the plane z = 0 of the clip. The actor moves
like the clip's root. Thresholds and timers are those of contacts.py.
"""

from __future__ import annotations

import numpy as np

from rigpact.contract.bundle import Contract
from rigpact.contract.errors import UnusableInput
from rigpact.contract.layout import CONTACTS, ROOT_POSITION, ROOT_VELOCITY, ROOT_YAW, ROTATIONS
from rigpact.contract.skeleton import Skeleton
from rigpact.contract.statistics import FloatArray, Statistics
from rigpact.reference_runtime.operations.contacts import FootContact, foot_sample, updated_contact
from rigpact.reference_runtime.operations.normalisation import zscored_by
from rigpact.reference_runtime.operations.precision import stored
from rigpact.reference_runtime.operations.rot6d import Rot6d
from rigpact.reference_runtime.systems.enemy_animation.drive import ClipRows, FreeRunInputs, Stages

FEET = ("ball_l", "ball_r")
_CM = 100.0


class FeetInWorld:
    """World positions of both feet, (..., 2, 3) in centimetres, from a pose and the root's place."""

    def __init__(self, contract: Contract) -> None:
        """Find the feet; UnusableInput if the character has no skeleton or no feet."""
        self._skeleton = _skeleton_with_feet(contract)
        self._feet = [self._skeleton.names.index(name) for name in FEET]
        self._codec = Rot6d(contract.conventions)

    def positions_cm(self, pose6d: FloatArray, root_m: FloatArray, yaw_rad: FloatArray) -> FloatArray:
        """pose6d (..., 6·B), root_m (..., 3), yaw_rad (...,)."""
        joints, _ = self._skeleton.forward_kinematics(self._codec.decode(pose6d.astype(np.float64)))
        local = joints[..., self._feet, :]
        cosine, sine = np.cos(yaw_rad)[..., None], np.sin(yaw_rad)[..., None]
        x, y, z = (local[..., axis] for axis in range(3))
        turned = np.stack((cosine * x - sine * y, sine * x + cosine * y, z), axis=-1)
        return np.asarray((root_m[..., None, :] + turned) * _CM)


class RootPath:
    """Position of the actor at each frame of an endless run: the clip's start plus its integrated velocity.

    Each lap starts at the position and heading where the last lap ended. Points of the plane are complex numbers.
    """

    def __init__(self, contract: Contract, rows: ClipRows) -> None:
        """Read position, velocity and yaw from the clip's raw states."""
        self._steps = rows.steps
        x_raw = rows.x_raw.astype(np.float64)
        zeros = np.zeros((len(x_raw), 3))
        position = x_raw[:, contract.state[ROOT_POSITION].range] if ROOT_POSITION in contract.state else zeros
        velocity = x_raw[:, contract.state[ROOT_VELOCITY].range]
        self._velocity = velocity[:, 0] + 1j * velocity[:, 1]
        self._height, self._start = position[:, 2], complex(position[0, 0], position[0, 1])
        self._path = np.concatenate(([0.0], np.cumsum(self._velocity / rows.fps)))
        self._yaw = x_raw[:, contract.state[ROOT_YAW].start]
        self._turn = float(self._yaw[min(self._steps, len(self._yaw) - 1)] - self._yaw[0])
        self._lap_starts = [0j]

    def at(self, frame: int) -> tuple[FloatArray, FloatArray]:
        """Position (3,) in metres and yaw () in radians."""
        lap, row = divmod(frame, self._steps)
        while len(self._lap_starts) <= lap:
            turned = np.exp(1j * self._turn * (len(self._lap_starts) - 1))
            self._lap_starts.append(self._lap_starts[-1] + turned * self._path[self._steps])
        place = self._start + self._lap_starts[lap] + np.exp(1j * self._turn * lap) * self._path[row]
        return np.array([place.real, place.imag, self._height[row]]), np.asarray(self._yaw[row] + lap * self._turn)

    def distance_m(self, frames: int) -> float:
        """Distance that the actor travels in the first `frames` frames."""
        places = [self.at(frame)[0][:2] for frame in range(frames + 1)]
        return float(np.linalg.norm(np.diff(places, axis=0), axis=-1).sum())


class FloorContacts:
    """Both feet's hysteresis over the floor."""

    def __init__(self, fps: float) -> None:
        """Start with both feet down, as the engine does."""
        self._frame_time_s = 1.0 / fps
        self._feet = [FootContact(), FootContact()]
        self._before: FloatArray | None = None

    def update(self, feet_cm: FloatArray, actor_cm: FloatArray) -> FloatArray:
        """Flags (2,) as 0 or 1 after one frame with the feet at (2, 3) cm."""
        for side in range(2):
            before = None if self._before is None else self._before[side]
            sample = foot_sample(feet_cm[side], before, self._frame_time_s, actor_cm=actor_cm)
            self._feet[side] = updated_contact(self._feet[side], sample, self._frame_time_s)
        self._before = feet_cm
        return np.array([foot.touching for foot in self._feet], np.float64)


class GroundedInputs(FreeRunInputs):
    """Free run with contacts measured on the loop's own pose; z-scored if the schema has a Contacts slice."""

    def __init__(self, contract: Contract, rows: ClipRows) -> None:
        """Put the character on the floor."""
        super().__init__(contract, rows)
        self._feet = FeetInWorld(contract)
        self._path = RootPath(contract, rows)
        self._contacts = FloorContacts(rows.fps)
        self._place = contract.state[CONTACTS].range if CONTACTS in contract.state else None
        self._state_statistics = contract.state_statistics

    def at(self, frame: int) -> Stages:
        """The input stages of one frame; the flags also stand in the raw state's Contacts slice, if there is one."""
        position, yaw = self._path.at(frame)
        feet = self._feet.positions_cm(self.current[self._rotations], position, yaw)
        flags = self._contacts.update(feet, position * _CM)
        if self._place is not None:
            self.current = self.current.copy()
            self.current[self._place] = flags
        return super().at(frame) | {"contacts": self._as_input(flags)}

    def _as_input(self, flags: FloatArray) -> FloatArray:
        if self._place is None:
            return stored(flags)
        statistics = self._state_statistics
        return stored(zscored_by(flags, Statistics(statistics.mean[self._place], statistics.std[self._place])))


def contact_flags(poses6d: FloatArray, contract: Contract, rows: ClipRows) -> FloatArray:
    """Contact flags (T, 2) of a run's poses (T, 6·B) from frame 0 on."""
    path, contacts = RootPath(contract, rows), FloorContacts(rows.fps)
    feet = feet_positions_cm(poses6d, contract, rows)
    return np.stack([contacts.update(both, path.at(frame)[0] * _CM) for frame, both in enumerate(feet)])


def feet_positions_cm(poses6d: FloatArray, contract: Contract, rows: ClipRows) -> FloatArray:
    """World positions (T, 2, 3) of the feet over a run's poses, in centimetres."""
    path = RootPath(contract, rows)
    places = [path.at(frame) for frame in range(len(poses6d))]
    roots, yaws = np.stack([place[0] for place in places]), np.stack([place[1] for place in places])
    return FeetInWorld(contract).positions_cm(poses6d, roots, yaws)


def _skeleton_with_feet(contract: Contract) -> Skeleton:
    skeleton = contract.skeleton
    if skeleton is None or any(name not in skeleton.names for name in FEET):
        raise UnusableInput(
            contract.path, "no skeleton with ball_l and ball_r", "meta.skeleton", "contacts need forward kinematics"
        )
    if ROTATIONS not in contract.state:
        raise UnusableInput(contract.path, "no rotations in the state", ROTATIONS)
    return skeleton
