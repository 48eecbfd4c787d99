"""Formulas that hold for small angles only, in the place of a rotation: roll and pitch for their sines, 1 + ω/2 for a turn."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations, product

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.layout import QUATERNION_KINDS, FieldKind
from rigpact.reference_runtime.operations.geometry import conjugate
from rigpact.reference_runtime.operations.geometry import product as multiplied
from rigpact.reference_runtime.operations.scalars import gamma
from rigpact.reports.diagnosing.relations.relation import CandidateEdit, ChannelSet, Group, groups_of
from rigpact.reports.diagnosing.relations.rotations import as_xyzw, from_xyzw
from rigpact.reports.diagnosing.relations.subject import DivergentStage

_STORED = 8
"""What should be there was stored as float32: each of four numbers, in two products. The other side rounds as the stage does."""


def small_angles(subject: DivergentStage) -> Iterator[CandidateEdit]:
    """Directions of a frame that hardly tilts, and turns of one frame."""
    for group in groups_of(subject.contract.fields(subject.stage.name)):
        channels = np.arange(group.start, group.stop)
        if not subject.failing[:, channels].any():
            continue
        place = subject.place_of(channels)
        if group.kind is FieldKind.DIRECTION and len(channels) == 3:
            yield from _directions(subject, place)
        elif group.kind in QUATERNION_KINDS and group.part == 4:
            yield from _turns(subject, place, group)


def _directions(subject: DivergentStage, place: ChannelSet) -> Iterator[CandidateEdit]:
    """An axis of the world seen from a frame: the angles of its tilt, exact, stand for their sines, and 1 for the cosine."""
    own, bound = subject.replayed[:, place.channels], subject.bound[:, place.channels]
    axis = int(np.argmin(np.ptp(own, axis=0)))
    sign = float(np.sign(np.median(own[:, axis])))
    for first, second in permutations([each for each in range(3) if each != axis]):
        rows = np.full(own.shape, sign)
        rows[:, first] = np.arcsin(np.clip(own[:, first], -1.0, 1.0))
        rows[:, second] = np.arctan2(own[:, second], sign * own[:, axis])
        # the slopes of arcsin(x) and of the arc tangent of the other two, whose length is sqrt(1 - x²)
        steep = 1.0 / np.maximum(np.sqrt(np.maximum(1.0 - own[:, [first]] ** 2, 0.0)), np.finfo(np.float32).eps)
        wide = (bound.sum(axis=1, keepdims=True) + gamma(_STORED)) * steep
        words = f"its small-angle form, the angles of its tilt (pitch and roll) for their sines and {sign:+.0f} for the cosine"
        yield subject.reading(place, "small angle", words, rows, np.broadcast_to(wide, rows.shape))


def _turns(subject: DivergentStage, place: ChannelSet, group: Group) -> Iterator[CandidateEdit]:
    """A quaternion that an input is turned into: the turn of one frame as 1 + ω/2, normalised or not."""
    last = group.kind is FieldKind.QUATERNION_XYZW
    own = as_xyzw(subject.replayed[:, place.channels], last=last)
    wide = subject.bound[:, place.channels].max(axis=1, keepdims=True) + gamma(_STORED)
    for name, given in subject.inputs.items():
        kinds = {field.kind for field in subject.contract.fields(name)}
        if given.shape[1] != len(place.channels) or not kinds <= set(QUATERNION_KINDS):
            continue
        start = as_xyzw(given.astype(np.float64), last=FieldKind.QUATERNION_XYZW in kinds)
        for side, is_unit in product(("left", "right"), (True, False)):
            turn = multiplied(own, conjugate(start)) if side == "left" else multiplied(conjugate(start), own)
            small = _small(turn, is_unit=is_unit)
            turned = multiplied(small, start) if side == "left" else multiplied(start, small)
            rows = from_xyzw(turned, last=last)
            form = "1 + ω·step/2" if is_unit else "1 + ω·step/2, not normalised"
            words = f"{name} turned by the small-angle form of one frame's turn, {form}"
            yield subject.reading(place, "small angle", words, rows, np.broadcast_to(wide, rows.shape))


def _small(turn: FloatArray, *, is_unit: bool) -> FloatArray:
    """A turn, xyzw, whose half angle stands for its sine and 1 for its cosine."""
    sines = np.linalg.norm(turn[..., :3], axis=-1, keepdims=True)
    half = np.arctan2(sines, turn[..., 3:])
    half = np.where(half > 0.5 * np.pi, half - np.pi, half)  # a quaternion and its negative are one turn
    axis = np.divide(turn[..., :3], sines, out=np.zeros_like(turn[..., :3]), where=sines > 0.0)
    small = np.concatenate((axis * half, np.ones_like(half)), axis=-1)
    return small / np.linalg.norm(small, axis=-1, keepdims=True) if is_unit else small
