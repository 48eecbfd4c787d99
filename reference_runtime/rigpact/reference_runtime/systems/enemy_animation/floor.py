"""Feet on the floor: contacts of a free run, slide while in contact, drift of the root, contact timing against the clip.

The deployed engine measures its feet against the world. Here the floor is the plane z = 0 of the clip, and forward kinematics
places the feet. The actor moves like the clip's root. Thresholds and timers are those of `UpdateFootContacts`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rigpact.contract.as_json import AsJson
from rigpact.contract.character import character_of
from rigpact.contract.errors import UnusableInput
from rigpact.contract.layout import CONTACTS, ROOT_POSITION, ROOT_VELOCITY, ROOT_YAW, ROTATIONS
from rigpact.contract.statistics import FloatArray, Statistics
from rigpact.contract.systems.contract import Contract
from rigpact.reference_runtime.files.declared import RunSetup
from rigpact.reference_runtime.graph.run import Changes, LiveFrames
from rigpact.reference_runtime.operations.scalars import stored, zscored_by
from rigpact.reference_runtime.operations.six_numbers import Rot6d
from rigpact.reference_runtime.recordings.clip import RawClip
from rigpact.reference_runtime.systems.enemy_animation.inputs import CONTACT_SCORE
from rigpact.reference_runtime.systems.enemy_animation.runs import ClipRows

FEET = ("ball_l", "ball_r")
_CM = 100.0
SOLE_OFFSET_CM = 2.0
MINIMUM_DURATION_S = 0.05
MINIMUM_FRAME_TIME_S = 1e-3
FOOT_REACH_CM = 40.0
CAPSULE_RADIUS_CM = 34.0


@dataclass(frozen=True)
class FootContact:
    """One foot's flag and the two timers that delay its change."""

    touching: bool = True
    on_time_s: float = 0.0
    off_time_s: float = 0.0


@dataclass(frozen=True)
class FootSample:
    """A foot relative to the floor, in centimetres and centimetres per second.

    `reachable` is False if the foot is farther than capsule radius + 40 cm in the plane.
    """

    distance_cm: float
    vertical_cm_s: float
    planar_cm_s: float
    reachable: bool = True

    @property
    def enters(self) -> bool:
        """Whether a lifted foot would come down."""
        return self.distance_cm <= 2.5 and self.vertical_cm_s <= 5.0 and self.planar_cm_s <= 12.0

    @property
    def stays(self) -> bool:
        """Whether a standing foot would stay; a number that is not finite does not lift it."""
        return not (self.distance_cm > 5.0 or self.vertical_cm_s >= 15.0 or self.planar_cm_s >= 18.0)


def foot_sample(
    position_cm: FloatArray, previous_cm: FloatArray | None, frame_time_s: float, actor_cm: FloatArray
) -> FootSample:
    """Measure one foot over the floor; positions are (3,) in world centimetres, z up.

    The sole is 2 cm below the bone. On the first frame there is no previous position and both speeds are zero.
    """
    motion = np.zeros_like(position_cm) if previous_cm is None else position_cm - previous_cm
    frame_time_s = max(MINIMUM_FRAME_TIME_S, frame_time_s)
    return FootSample(
        distance_cm=float(position_cm[2]) - SOLE_OFFSET_CM,
        vertical_cm_s=abs(float(motion[2])) / frame_time_s,
        planar_cm_s=float(np.hypot(*motion[:2])) / frame_time_s,
        reachable=float(np.hypot(*(position_cm - actor_cm)[:2])) <= CAPSULE_RADIUS_CM + FOOT_REACH_CM,
    )


def updated_contact(contact: FootContact, foot: FootSample, frame_time_s: float) -> FootContact:
    """One frame of contact hysteresis: a change is proposed by thresholds and must last 0.05 s."""
    if not foot.reachable:
        return contact
    proposed = foot.stays if contact.touching else foot.enters
    frame_time_s = max(MINIMUM_FRAME_TIME_S, frame_time_s)
    on_time_s = contact.on_time_s + frame_time_s if proposed else 0.0
    off_time_s = 0.0 if proposed else contact.off_time_s + frame_time_s
    lasted_s = on_time_s if proposed else off_time_s
    switches = proposed != contact.touching and lasted_s >= MINIMUM_DURATION_S
    timed = replace(contact, on_time_s=on_time_s, off_time_s=off_time_s)
    return replace(timed, touching=proposed) if switches else timed


class FeetInWorld:
    """World positions of both feet, (..., 2, 3) in centimetres, from a pose and the root's place."""

    def __init__(self, contract: Contract) -> None:
        """Find the feet; UnusableInput if the character has no skeleton or no feet."""
        character = character_of(contract)
        skeleton = character.skeleton
        if skeleton is None or any(name not in skeleton.names for name in FEET):
            raise UnusableInput(
                contract.path, "no skeleton with ball_l and ball_r", "meta.skeleton", "contacts need forward kinematics"
            )
        if ROTATIONS not in character.state:
            raise UnusableInput(contract.path, "no rotations in the state", ROTATIONS)
        self._skeleton = skeleton
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
        character = character_of(contract)
        self._steps = rows.steps
        x_raw = rows.x_raw.astype(np.float64)
        zeros = np.zeros((len(x_raw), 3))
        position = x_raw[:, character.state[ROOT_POSITION].range] if ROOT_POSITION in character.state else zeros
        velocity = x_raw[:, character.state[ROOT_VELOCITY].range]
        self._velocity = velocity[:, 0] + 1j * velocity[:, 1]
        self._height, self._start = position[:, 2], complex(position[0, 0], position[0, 1])
        self._path = np.concatenate(([0.0], np.cumsum(self._velocity / rows.fps)))
        self._yaw = x_raw[:, character.state[ROOT_YAW].start]
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
    """Both feet's hysteresis over the floor; both are down at first, as in the engine."""

    def __init__(self, fps: float) -> None:
        self._frame_time_s = 1.0 / fps
        self._feet = [FootContact(), FootContact()]
        self._before: FloatArray | None = None

    def update(self, feet_cm: FloatArray, actor_cm: FloatArray) -> FloatArray:
        """Flags (2,) as 0 or 1 after one frame with the feet at (2, 3) cm."""
        for side in range(2):
            before = None if self._before is None else self._before[side]
            sample = foot_sample(feet_cm[side], before, self._frame_time_s, actor_cm)
            self._feet[side] = updated_contact(self._feet[side], sample, self._frame_time_s)
        self._before = feet_cm
        return np.array([foot.touching for foot in self._feet], np.float64)


def on_floor(contract: Contract, rows: ClipRows) -> Changes:
    """A free run with contacts measured on its own pose; z-scored if the schema has a Contacts slice.

    The flags also stand in the raw state's Contacts slice, if there is one.
    """
    character = character_of(contract)
    feet, path, contacts = FeetInWorld(contract), RootPath(contract, rows), FloorContacts(rows.fps)
    place = character.state[CONTACTS].range if CONTACTS in character.state else None
    flags: list[FloatArray] = []

    def x_raw(frames: LiveFrames, state: FloatArray) -> FloatArray:
        position, yaw = path.at(int(frames.frame[0]))
        feet_cm = feet.positions_cm(state[0, character.state[ROTATIONS].range], position, yaw)
        flags[:] = [contacts.update(feet_cm, position * _CM)]
        landed = state.copy()
        if place is not None:
            landed[:, place] = flags[0]
        return landed

    def as_input(_frames: LiveFrames, _of_clip: FloatArray) -> FloatArray:
        if place is None:
            return stored(flags[0])[None]
        own = character.state_statistics
        return stored(zscored_by(flags[0], Statistics(own.mean[place], own.std[place])))[None]

    return Changes(stages={"x_raw": x_raw, "contacts": as_input})


def contact_flags(poses6d: FloatArray, contract: Contract, rows: ClipRows) -> FloatArray:
    """Contact flags (T, 2) of a run's poses (T, 6·B) from frame 0 on."""
    path, contacts = RootPath(contract, rows), FloorContacts(rows.fps)
    feet = feet_positions_cm(poses6d, contract, rows)
    return np.stack([contacts.update(both, path.at(frame)[0] * _CM) for frame, both in enumerate(feet)])


def feet_positions_cm(poses6d: FloatArray, contract: Contract, rows: ClipRows) -> FloatArray:
    """World positions (T, 2, 3) of the feet over a run's poses, in centimetres."""
    path = RootPath(contract, rows)
    roots, yaws = map(np.stack, zip(*map(path.at, range(len(poses6d))), strict=True))
    return FeetInWorld(contract).positions_cm(poses6d, roots, yaws)


_STANDING_M = 0.01
"""A root that travels less than this stands still: a drift per metre has no meaning."""


@dataclass(frozen=True)
class FloorReport(AsJson):
    """The feet of a run on the floor, with the clip's own feet for comparison.

    Slide is in cm for each second of contact: of the run, of the clip, and of the run where the clip has contact.
    root drift: vector sum of the movement of feet in contact, for each metre that the root travels. F1 compares the
    run's contacts with the clip's scores; `clip_contact_f1` does so for the clip's own contacts under the same
    hysteresis. None if the clip has no scores.
    """

    slide_cm_per_s: float
    slide_largest_cm: float
    contact_s: float
    clip_slide_cm_per_s: float
    planned_slide_cm_per_s: float | None
    root_drift_cm_per_m: float | None
    contact_f1: float | None
    clip_contact_f1: float | None

    @property
    def words(self) -> str:
        """The report in one line."""
        parts = [
            f"foot slide {self.slide_cm_per_s:.2f} cm for each second of contact ({self.contact_s:.1f} s; longest single "
            f"slide {self.slide_largest_cm:.2f} cm), the clip itself {self.clip_slide_cm_per_s:.2f}"
        ]
        if self.planned_slide_cm_per_s is not None:
            parts.append(f"{self.planned_slide_cm_per_s:.2f} where the clip has a foot down")
        if self.root_drift_cm_per_m is not None:
            parts.append(f"root drift {self.root_drift_cm_per_m:.2f} cm/m")
        if self.contact_f1 is not None:
            parts.append(f"contact timing F1 {self.contact_f1:.3f} (the clip itself {self.clip_contact_f1:.3f})")
        return "; ".join(parts)


def measure_floor(subject: RunSetup, poses6d: FloatArray) -> FloorReport:
    """Measure a free run's poses (T, 6·B); row t is the pose after step t. UnusableInput without feet."""
    contract, rows = subject.contract, subject.rows()
    run = np.concatenate((rows.poses[:1], poses6d))
    flags, own_flags = contact_flags(run, contract, rows), contact_flags(rows.poses, contract, rows)
    feet, own_feet = (feet_positions_cm(poses, contract, rows) for poses in (run, rows.poses))
    _, largest, vector = foot_slide(feet, flags)
    distance = RootPath(contract, rows).distance_m(len(poses6d))
    truth, own_truth = (teacher_contacts(subject, count, rows) for count in (len(run), rows.steps))

    def per_second(feet_cm: FloatArray, standing: FloatArray) -> float:
        seconds = float(standing[1:].sum()) / rows.fps
        return foot_slide(feet_cm, standing)[0] / seconds if seconds else 0.0

    return FloorReport(
        slide_cm_per_s=per_second(feet, flags),
        slide_largest_cm=largest,
        contact_s=float(flags[1:].sum()) / rows.fps,
        clip_slide_cm_per_s=per_second(own_feet, own_flags),
        # a run whose foot slides all the time has no contacts of its own
        planned_slide_cm_per_s=None if truth is None else per_second(feet, truth),
        root_drift_cm_per_m=vector / distance if distance > _STANDING_M else None,
        contact_f1=None if truth is None else f1_score(flags, truth),
        clip_contact_f1=None if own_truth is None else f1_score(own_flags[: rows.steps], own_truth),
    )


def foot_slide(feet_cm: FloatArray, flags: FloatArray) -> tuple[float, float, float]:
    """Planar path of feet in contact (T, 2, 3 and T, 2): length, length of the longest contact, size of the net vector.

    A step counts if the foot is in contact at both ends.
    """
    steps = np.diff(feet_cm[..., :2], axis=0)
    both = (flags[1:] > 0) & (flags[:-1] > 0)
    lengths = np.where(both, np.linalg.norm(steps, axis=-1), 0.0)
    longest = max(_longest(lengths[:, foot], both[:, foot]) for foot in range(2))
    net = np.linalg.norm(np.where(both[..., None], steps, 0.0).sum(axis=(0, 1)))
    return float(lengths.sum()), longest, float(net)


def _longest(lengths: FloatArray, touching: Any) -> float:
    largest = total = 0.0
    for size, holds in zip(lengths, touching, strict=True):
        total = total + float(size) if holds else 0.0
        largest = max(largest, total)
    return largest


def teacher_contacts(subject: RunSetup, frames: int, rows: ClipRows) -> FloatArray | None:
    """The clip's own scores as flags for each frame of an endless run; None if the clip has no scores."""
    clip = subject.clip
    scores = clip.contact_scores if isinstance(clip, RawClip) else clip.contacts
    if scores is None:
        return None
    flags: FloatArray = (scores >= CONTACT_SCORE).astype(np.float64)
    return flags[np.arange(frames) % rows.steps]


def f1_score(found: FloatArray, truth: FloatArray) -> float:
    """Harmonic mean of precision and recall of flags of the same shape; 1 if neither has a contact."""
    hits = float(np.sum((found > 0) & (truth > 0)))
    either = float(np.sum(found > 0) + np.sum(truth > 0))
    return 2.0 * hits / either if either else 1.0
