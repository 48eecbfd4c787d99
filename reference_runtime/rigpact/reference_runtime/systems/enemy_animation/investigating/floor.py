"""Feet on the floor: slide while in contact, drift of the root, and contact timing against the clip."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rigpact.contract.as_json import AsJson
from rigpact.contract.statistics import FloatArray
from rigpact.reference_runtime.files.declared import Subject
from rigpact.reference_runtime.recordings.clip import RawClip
from rigpact.reference_runtime.systems.enemy_animation.drive import ClipRows
from rigpact.reference_runtime.systems.enemy_animation.ground_contacts import RootPath, contact_flags, feet_positions_cm
from rigpact.reference_runtime.vocabulary.character.foot_contacts import CONTACT_SCORE

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
        drift = "" if self.root_drift_cm_per_m is None else f"; root drift {self.root_drift_cm_per_m:.2f} cm/m"
        planned = (
            ""
            if self.planned_slide_cm_per_s is None
            else f"; {self.planned_slide_cm_per_s:.2f} where the clip has a foot down"
        )
        timing = (
            ""
            if self.contact_f1 is None
            else f"; contact timing F1 {self.contact_f1:.3f} (the clip itself {self.clip_contact_f1:.3f})"
        )
        return (
            f"foot slide {self.slide_cm_per_s:.2f} cm for each second of contact ({self.contact_s:.1f} s; longest single "
            f"slide {self.slide_largest_cm:.2f} cm), the clip itself {self.clip_slide_cm_per_s:.2f}{planned}{drift}{timing}"
        )


def measure_floor(subject: Subject, poses6d: FloatArray) -> FloorReport:
    """Measure a free run's poses (T, 6·B); row t is the pose after step t. UnusableInput without feet."""
    contract, rows = subject.contract, subject.rows()
    run = np.concatenate((rows.poses[:1], poses6d))
    flags, own_flags = contact_flags(run, contract, rows), contact_flags(rows.poses, contract, rows)
    slide, largest, vector = foot_slide(feet_positions_cm(run, contract, rows), flags)
    own_slide, _, _ = foot_slide(feet_positions_cm(rows.poses, contract, rows), own_flags)
    touching_s, own_s = (float(kind[1:].sum()) / rows.fps for kind in (flags, own_flags))
    distance = RootPath(contract, rows).distance_m(len(poses6d))
    truth, own_truth = (teacher_contacts(subject, count, rows) for count in (len(run), rows.steps))
    return FloorReport(
        slide_cm_per_s=slide / touching_s if touching_s else 0.0,
        slide_largest_cm=largest,
        contact_s=touching_s,
        clip_slide_cm_per_s=own_slide / own_s if own_s else 0.0,
        planned_slide_cm_per_s=None
        if truth is None
        else _planned_slide(feet_positions_cm(run, contract, rows), truth, rows),
        root_drift_cm_per_m=vector / distance if distance > _STANDING_M else None,
        contact_f1=None if truth is None else f1_score(flags, truth),
        clip_contact_f1=None if own_truth is None else f1_score(own_flags[: rows.steps], own_truth),
    )


def _planned_slide(feet_cm: FloatArray, planned: FloatArray, rows: ClipRows) -> float:
    """Slide per second of contact in the clip: a run whose foot slides all the time has no contacts of its own."""
    seconds = float(planned[1:].sum()) / rows.fps
    return foot_slide(feet_cm, planned)[0] / seconds if seconds else 0.0


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


def teacher_contacts(subject: Subject, frames: int, rows: ClipRows) -> FloatArray | None:
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
