"""The Contacts input, and the engine's foot contacts with hysteresis.

Engine: `UpdateFootContacts`. Order is left foot, right foot. To add a source: a row in `SOURCE`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from rigpact.contract.bundle import CONTACTS_WIDTH, Contract
from rigpact.contract.errors import UnusableInput
from rigpact.contract.layout import CONTACTS
from rigpact.contract.statistics import FloatArray, Statistics
from rigpact.reference_runtime.operations.normalisation import zscored_by
from rigpact.reference_runtime.operations.precision import compute_dtype, stored

CONTACT_SCORE = 0.5
"""Soft scores from this value on count as contact if the input is binary."""
SOLE_OFFSET_CM = 2.0
ENTER_DISTANCE_CM, LEAVE_DISTANCE_CM = 2.5, 5.0
ENTER_VERTICAL_CM_S, LEAVE_VERTICAL_CM_S = 5.0, 15.0
ENTER_PLANAR_CM_S, LEAVE_PLANAR_CM_S = 12.0, 18.0
MINIMUM_DURATION_S = 0.05
MINIMUM_FRAME_TIME_S = 1e-3
FOOT_REACH_CM = 40.0
DEFAULT_CAPSULE_RADIUS_CM = 34.0


def _whitened(scores: FloatArray, contract: Contract) -> FloatArray:
    if CONTACTS not in contract.state:
        raise UnusableInput(
            "contacts_source", "'whitened' for a bundle whose state has no Contacts slice", "MuX and StdX of that slice"
        )
    place, statistics = contract.state[CONTACTS].range, contract.state_statistics
    return zscored_by(scores, Statistics(statistics.mean[place], statistics.std[place]))


SOURCE: Mapping[str, Callable[[FloatArray, Contract], FloatArray]] = {
    "soft_scores": lambda scores, _contract: scores,
    "binary": lambda scores, _contract: (scores >= CONTACT_SCORE).astype(scores.dtype),
    "whitened": _whitened,
    "zeros": lambda scores, _contract: np.zeros_like(scores),
    "swapped_feet": lambda scores, _contract: scores[..., ::-1],
}


def contact_rows(scores: FloatArray | None, frames: int, contract: Contract) -> FloatArray:
    """Contacts input of each frame, (N, 2), from soft contact scores (N, 2); zeros for a clip without any.

    The engine also uses zeros if the feet were not measured.
    """
    dtype = compute_dtype(contract.conventions)
    known = np.zeros((frames, CONTACTS_WIDTH), dtype) if scores is None else scores.astype(dtype)
    return stored(SOURCE[contract.conventions.contacts_source](known, contract))


@dataclass(frozen=True)
class FootContact:
    """One foot's flag and the two timers that delay its change."""

    touching: bool = True
    on_time_s: float = 0.0
    off_time_s: float = 0.0


@dataclass(frozen=True)
class FootSample:
    """A foot relative to the floor, in centimetres and centimetres per second.

    `reachable` is False without a walkable floor, or if the foot is farther than capsule radius + 40 cm in the plane.
    """

    distance_cm: float
    vertical_cm_s: float
    planar_cm_s: float
    reachable: bool = True


def foot_sample(
    position_cm: FloatArray,
    previous_cm: FloatArray | None,
    frame_time_s: float,
    *,
    actor_cm: FloatArray,
    floor_height_cm: float | None = 0.0,
    capsule_radius_cm: float = DEFAULT_CAPSULE_RADIUS_CM,
) -> FootSample:
    """Measure one foot over a horizontal floor; positions are (3,) in world centimetres, z up.

    The sole is 2 cm below the bone. On the first frame there is no previous position and both speeds are zero.
    """
    motion = np.zeros_like(position_cm) if previous_cm is None else position_cm - previous_cm
    frame_time_s = max(MINIMUM_FRAME_TIME_S, frame_time_s)
    reach = float(np.hypot(*(position_cm - actor_cm)[:2]))
    return FootSample(
        distance_cm=float(position_cm[2]) - SOLE_OFFSET_CM - (floor_height_cm or 0.0),
        vertical_cm_s=abs(float(motion[2])) / frame_time_s,
        planar_cm_s=float(np.hypot(*motion[:2])) / frame_time_s,
        reachable=floor_height_cm is not None and reach <= capsule_radius_cm + FOOT_REACH_CM,
    )


def updated_contact(contact: FootContact, foot: FootSample, frame_time_s: float) -> FootContact:
    """One frame of contact hysteresis: a change is proposed by thresholds and must last 0.05 s."""
    if not foot.reachable:
        return contact
    proposed = _stays(foot) if contact.touching else _enters(foot)
    frame_time_s = max(MINIMUM_FRAME_TIME_S, frame_time_s)
    on_time_s = contact.on_time_s + frame_time_s if proposed else 0.0
    off_time_s = 0.0 if proposed else contact.off_time_s + frame_time_s
    lasted_s = on_time_s if proposed else off_time_s
    switches = proposed != contact.touching and lasted_s >= MINIMUM_DURATION_S
    timed = replace(contact, on_time_s=on_time_s, off_time_s=off_time_s)
    return replace(timed, touching=proposed) if switches else timed


def _enters(foot: FootSample) -> bool:
    return (
        foot.distance_cm <= ENTER_DISTANCE_CM
        and foot.vertical_cm_s <= ENTER_VERTICAL_CM_S
        and foot.planar_cm_s <= ENTER_PLANAR_CM_S
    )


def _stays(foot: FootSample) -> bool:
    return not (
        foot.distance_cm > LEAVE_DISTANCE_CM
        or foot.vertical_cm_s >= LEAVE_VERTICAL_CM_S
        or foot.planar_cm_s >= LEAVE_PLANAR_CM_S
    )
