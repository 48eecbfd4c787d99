"""What is done to vectors and quaternions with the rotations of the recording: turned by one, multiplied, limited in length."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import permutations, product

import numpy as np

from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.layout import QUATERNION_KINDS, FieldKind
from rigpact.reference_runtime.operations.geometry import conjugate, rotated
from rigpact.reference_runtime.operations.geometry import product as multiplied
from rigpact.reference_runtime.operations.scalars import gamma
from rigpact.reports.diagnosing.relations.families.turned import kept_in_length
from rigpact.reports.diagnosing.relations.lines import almost_all, is_odd, roundest
from rigpact.reports.diagnosing.relations.relation import CandidateEdit, Channels, Group
from rigpact.reports.diagnosing.relations.rotations import as_xyzw, from_xyzw
from rigpact.reports.diagnosing.relations.target import Rule, Target

_OPERATIONS = 48
"""Two products of quaternions: each number is a sum of at most so many roundings."""
_MOST = 12
"""Quaternions of the recording that are tried; a skeleton has hundreds, and each vector is then turned by some of them."""
_SMALLEST = float(np.finfo(np.float32).tiny)


def by_rotations(target: Target) -> Iterator[CandidateEdit]:
    """Vectors whose length is kept, by each quaternion; quaternions as each product of two; vectors that are too long."""
    if not target.is_finite:
        return
    known = _quaternions(target)
    of_quaternions = {
        each for group in target.groups if group.kind in QUATERNION_KINDS for each in range(group.start, group.stop)
    }
    for channels in kept_in_length(target) if known else ():
        if not of_quaternions.isdisjoint(channels.tolist()):
            continue
        for (name, quats), is_inverse in product(known.items(), (False, True)):
            by = conjugate(quats) if is_inverse else quats
            words = f"{target.it}, rotated by {'the inverse of ' * is_inverse}{name} once more than it should be"
            yield from _edit(target, channels, 3, words, partial(_rotated, by))
    for group in target.groups:
        parts = target.failing[:, group.range].reshape(len(target.own), -1, group.part).any(axis=(0, 2))
        channels = np.arange(group.start, group.stop)[parts.repeat(group.part)]
        if len(channels) and group.kind in QUATERNION_KINDS and group.part == 4:
            yield from _of_quaternions(target, group, channels, known)
        if len(channels) and 1 < group.part <= 4:
            yield from _limited_in_length(target, group.part, channels)


def _quaternions(target: Target) -> dict[str, FloatArray]:
    """The quaternions of the recording by name, xyzw, (T, 1, 4), as far as they do not come from what is explained."""
    subject, found = target.subject, dict[str, FloatArray]()
    for name, rows in subject.known.items():
        if name in (target.name, subject.stage.name) or not subject.may_be_read(name, 0) or not np.isfinite(rows).all():
            continue
        fields = [each for each in subject.contract.fields(name) if each.kind in QUATERNION_KINDS and each.size == 4]
        for field in fields:
            is_last = field.kind is FieldKind.QUATERNION_XYZW
            own = as_xyzw(rows[:, field.range].astype(np.float64), last=is_last)
            found.setdefault(name if len(fields) == 1 else f"{name}[{field.name}]", own)
    return dict(list(found.items())[:_MOST])


def _edit(
    target: Target,
    channels: Channels,
    part: int,
    words: str,
    rule: Callable[[FloatArray], FloatArray],
    fitted: int = 0,
    pieces: int = 0,
) -> Iterator[CandidateEdit]:
    """The reading of a rule that mixes the numbers of a part: each may be off by the sum of what they are off."""
    own, bound = (np.abs(rows[:, channels]).reshape(len(rows), -1, part) for rows in (target.own, target.bound))
    mixed = (bound + gamma(_OPERATIONS) * own).sum(axis=-1).repeat(part, axis=-1)
    of: Rule = partial(_on, channels, rule)
    yield from target.edit("turned", words, channels, of, extra=mixed, fitted=fitted, pieces=pieces)


def _on(channels: Channels, rule: Callable[[FloatArray], FloatArray], own: FloatArray) -> FloatArray:
    return rule(own[:, channels])


def _rotated(by: FloatArray, rows: FloatArray) -> FloatArray:
    return np.asarray(rotated(by, rows.reshape(len(rows), -1, 3)).reshape(rows.shape))


def _of_quaternions(
    target: Target, group: Group, channels: Channels, known: dict[str, FloatArray]
) -> Iterator[CandidateEdit]:
    """A quaternion with its w made positive, and as any product of two others."""
    is_last = group.kind is FieldKind.QUATERNION_XYZW
    yield from _edit(
        target,
        channels,
        4,
        f"{target.it} or its negative, whichever has w above 0",
        partial(_w_above_0, is_last=is_last),
    )
    for (one, first), (other, second) in permutations(known.items(), 2):
        for inverted in product((False, True), repeat=2):
            a, b = (conjugate(q) if is_inverse else q for q, is_inverse in zip((first, second), inverted, strict=True))
            rows = from_xyzw(multiplied(a, b), last=is_last)
            said = " · ".join(
                f"{'inverse ' * is_inverse}{name}" for name, is_inverse in zip((one, other), inverted, strict=True)
            )
            yield from _edit(target, channels, 4, f"{said} in place of it", partial(_given, rows))


def _given(rows: FloatArray, own: FloatArray) -> FloatArray:
    return np.asarray(np.broadcast_to(np.tile(rows, own.shape[1] // rows.shape[1]), own.shape))


def _w_above_0(rows: FloatArray, *, is_last: bool) -> FloatArray:
    quats = as_xyzw(rows, last=is_last)
    return from_xyzw(quats * np.where(quats[..., 3:] < 0.0, -1.0, 1.0), last=is_last)


def _limited_in_length(target: Target, part: int, channels: Channels) -> Iterator[CandidateEdit]:
    """Scaled down where it is longer than so much: told by the length that it has where it differs."""
    parts = [rows[:, channels].reshape(len(target.own), -1, part) for rows in (target.own, target.held, target.bound)]
    failing = target.failing[:, channels].reshape(parts[0].shape).any(axis=-1)
    own, held = (np.linalg.norm(rows, axis=-1)[failing] for rows in parts[:2])
    reach = parts[2].sum(axis=-1)[failing]
    if not len(held) or not np.isfinite(reach).any():
        return
    low, high = almost_all(held - reach, held + reach)
    if low <= high and np.median(own) > high + reach.min() and high > 0.0:
        most = roundest(low, high)
        words = f"{target.it}, limited in its length to at most {most:.6g}"
        yield from _edit(target, channels, part, words, partial(_shortened, part, most), 1, is_odd(most))


def _shortened(part: int, most: float, rows: FloatArray) -> FloatArray:
    parts = rows.reshape(len(rows), -1, part)
    length = np.linalg.norm(parts, axis=-1, keepdims=True)
    return np.asarray((parts * np.minimum(1.0, most / np.maximum(length, _SMALLEST))).reshape(rows.shape))
