"""Rotations that are turned: by one rotation, by a heading, into another basis, inverted, or given in another space."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.character import skeleton_of
from rigpact.contract.skeleton import Skeleton
from rigpact.contract.statistics import FloatArray
from rigpact.contract.systems.layout import FieldKind
from rigpact.contract.units import UNITS, kind_of
from rigpact.reference_runtime.operations.geometry import rotation_vector, wrap_to_pi
from rigpact.reference_runtime.operations.scalars import gamma
from rigpact.reports.diagnosing.relations.relation import (
    NUMBERS_OF_A_ROTATION,
    CandidateEdit,
    Channels,
    ChannelSet,
    Group,
)
from rigpact.reports.diagnosing.relations.rotations import Codec, codec_of, transposed
from rigpact.reports.diagnosing.relations.subject import DivergentStage
from rigpact.reports.diagnosing.relations.target import Target
from rigpact.reports.diagnosing.stage_error import NEARLY

_OPERATIONS = 48
"""Two products of matrices, a change of representation and back: each number is a sum of nine products at most, and stored."""
_ROUGHLY = 1e-3
"""A first look at matrices, before a reading of them is judged by its bound."""
_AXES = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1)}


class _Rotations:
    """The rotations of a place: recorded and as they should be, (T, N, 3, 3)."""

    def __init__(self, subject: DivergentStage, place: ChannelSet, group: Group, codec: Codec) -> None:
        self.subject, self.place, self.codec = subject, place, codec
        self.group = group
        self.recorded = codec.decode(subject.recorded[:, place.channels])
        self.own = codec.decode(subject.replayed[:, place.channels])
        self._bound = subject.bound[:, place.channels]

    @property
    def every_one_differs(self) -> bool:
        """Whether there is no rotation in the place that is as it should be."""
        differs = self.subject.failing[:, self.place.channels].any(axis=0)
        return bool(differs.reshape(-1, self.codec.size).any(axis=1).all())

    @property
    def mixed(self) -> FloatArray:
        """(T, N, 1): a turn mixes the numbers of a rotation, so that each may be off by the sum of their bounds."""
        return np.asarray(self._bound.reshape(len(self._bound), -1, self.codec.size).sum(axis=-1, keepdims=True))

    def reading(
        self, kind: str, words: str, matrices: FloatArray, factors: float | FloatArray = 1.0, fitted: int = 0
    ) -> CandidateEdit:
        """A reading. factors: how many rotations are multiplied, for all or (N, 1) for each."""
        rows = self.codec.encode(matrices)
        bound = self.mixed * (1.0 + np.asarray(factors, np.float64)) + gamma(_OPERATIONS * float(np.max(factors)))
        parts = np.broadcast_to(bound, (len(rows), bound.shape[1], self.codec.size)).reshape(rows.shape)
        return self.subject.reading(self.place, kind, words, rows, parts, fitted)

    def inverse(self) -> CandidateEdit:
        """The inverse: of a quaternion only the sign of numbers changes."""
        words, rows = "the inverse (transposed, conjugated) of what it should be", transposed(self.own)
        if self.codec.size != NUMBERS_OF_A_ROTATION[FieldKind.QUATERNION_XYZW]:
            return self.reading("inverse", words, rows)
        bound = np.asarray(self._bound + gamma(_OPERATIONS))
        return self.subject.reading(self.place, "inverse", words, self.codec.encode(rows), bound)


def turned(subject: DivergentStage, place: ChannelSet) -> Iterator[CandidateEdit]:
    """Every reading of the rotations of a place."""
    found = _rotations(subject, place)
    if found is None:
        return
    yield found.inverse()
    yield from _in_another_space(found)
    yield from _by_one_turn(found)
    yield from _by_a_heading(found)
    yield from _in_another_basis(found)


def _rotations(subject: DivergentStage, place: ChannelSet) -> _Rotations | None:
    first = int(place.channels[0])
    group = next((each for each in subject.groups if each.start <= first < each.stop), None)
    if group is None or not (group.start <= place.channels.min() and place.channels.max() < group.stop):
        return None
    codec = codec_of(group, subject.contract)
    return None if codec is None or len(place.channels) % codec.size else _Rotations(subject, place, group, codec)


def _in_another_space(found: _Rotations) -> Iterator[CandidateEdit]:
    """Of the whole skeleton: rotations against the root where each should be against its parent, or the other way round."""
    skeleton = skeleton_of(found.subject.contract)
    if skeleton is None or found.own.shape[1] != len(skeleton.parents):
        return
    _, in_component = skeleton.forward_kinematics(found.own)
    yield found.reading(
        "space", "in component space; it should be against the parent bone", in_component, _depths(skeleton)
    )
    against = found.own.copy()
    for bone, parent in enumerate(skeleton.parents):
        if parent >= 0:
            against[:, bone] = transposed(found.own[:, parent]) @ found.own[:, bone]
    yield found.reading("space", "divided by the parent bone's rotation once more than it should be", against, 2.0)


def _depths(skeleton: Skeleton) -> FloatArray:
    """(B, 1): how many bones are above each, and itself."""
    depths = np.ones((len(skeleton.parents), 1))
    for bone in skeleton.depth_first:
        if skeleton.parents[bone] >= 0:
            depths[bone] += depths[skeleton.parents[bone]]
    return depths


def _by_one_turn(found: _Rotations) -> Iterator[CandidateEdit]:
    """The same turn in every frame: of all bones, or of each bone its own. The mean of the frames that differ."""
    rows = _sure_rows(found)
    if not rows.any():
        return
    for words, turns, applied in (
        ("turned by", found.recorded @ transposed(found.own), partial(_matmul, found.own)),
        ("turned, in its own axes, by", transposed(found.own) @ found.recorded, partial(np.matmul, found.own)),
    ):
        means = _mean_rotations(turns[rows])
        for one, fitted in ((in_whole_degrees(means[0]), 1), (means[0], 3)):
            if turn_words(one):
                yield found.reading("turned", f"{words} {turn_words(one)}", applied(one[None, None]), 3.0, fitted)
        if turns.shape[1] > 1 and found.every_one_differs:
            yield found.reading(
                "turned", f"{words} a turn of its own for each bone", applied(means[None]), 3.0, 3 * len(means)
            )


def turned_vectors(target: Target) -> Iterator[CandidateEdit]:
    """Three numbers whose length is kept, turned by the same rotation in every frame: a sensor mounted askew, a heading.

    The rotation is fitted to every second frame (Kabsch) and judged in all.
    """
    if not target.is_finite:
        return
    found: list[tuple[Channels, FloatArray]] = []
    for channels in kept_in_length(target):
        own, held = (rows[::2, channels].astype(np.float64) for rows in (target.own, target.held))
        u, sizes, vt = np.linalg.svd(held.T @ own)
        if sizes[1] > _ROUGHLY * sizes[0]:  # vectors along one line leave the turn about it open
            turn = u @ np.diag((1.0, 1.0, np.linalg.det(u @ vt))) @ vt
            same = next(
                (place for place, (_, known) in enumerate(found) if np.allclose(known, turn, atol=_ROUGHLY)), None
            )
            found = [*found, (channels, turn)] if same is None else found
            if same is not None:
                found[same] = (np.concatenate((found[same][0], channels)), found[same][1])
    for channels, turn in found:
        mixed = target.bound[:, channels].reshape(len(target.own), -1, 3).sum(axis=2).repeat(3, axis=1)
        for one, fitted in ((in_whole_degrees(turn), 1), (turn, 3)):
            if turn_words(one):
                rule = partial(_each_turned, one, channels)
                words = f"{target.prefix}turned by {turn_words(one)}"
                yield from target.edit("turned", words, channels, rule, extra=mixed, fitted=fitted)


def kept_in_length(target: Target) -> Iterator[Channels]:
    """Three neighbours of which two differ at least, and whose length is what it should be; none belongs to two."""
    size, width = np.abs(target.own), target.own.shape[1]
    start = 0
    while start + 3 <= width:
        channels = np.arange(start, start + 3)
        own, held = (np.linalg.norm(rows[:, channels], axis=1) for rows in (target.own, target.held))
        loose = 2.0 * target.bound[:, channels].sum(axis=1) + gamma(_OPERATIONS) * size[:, channels].sum(axis=1)
        differs = np.count_nonzero(target.failing[:, channels].any(axis=0))
        is_kept = differs > 1 and np.count_nonzero(np.abs(own - held) <= loose) >= NEARLY * len(own)
        if is_kept:
            yield channels
        start += 3 if is_kept else 1


def _each_turned(turn: FloatArray, channels: Channels, own: FloatArray) -> FloatArray:
    rows = own[:, channels].astype(np.float64).reshape(len(own), -1, 3) @ turn.T
    return np.asarray(rows.reshape(len(own), -1))


def _matmul(right: FloatArray, left: FloatArray) -> FloatArray:
    return np.asarray(left @ right)


def _sure_rows(found: _Rotations) -> NDArray[np.bool_]:
    """The frames that differ and are known, (T,)."""
    finite = np.isfinite(found.recorded).all(axis=(1, 2, 3)) & np.isfinite(found.own).all(axis=(1, 2, 3))
    return np.asarray(finite & found.subject.failing[:, found.place.channels].any(axis=1))


def _mean_rotations(turns: FloatArray) -> FloatArray:
    """The rotations (N, 3, 3) that are nearest to the mean of (T, N, 3, 3)."""
    u, _, vt = np.linalg.svd(turns.mean(axis=0))
    signs = np.ones((len(u), 1, 3))
    signs[:, 0, 2] = np.linalg.det(u @ vt)
    return np.asarray((u * signs) @ vt)


def in_whole_degrees(turn: FloatArray) -> FloatArray:
    """The turn about the nearest axis by the nearest whole number of degrees: what people write."""
    vector = rotation_vector(turn)
    axis = int(np.argmax(np.abs(vector)))
    angle = np.radians(np.rint(np.degrees(vector[axis])))
    return np.asarray(about(np.eye(3)[axis], np.array([angle]))[0])


def turn_words(turn: FloatArray) -> str:
    """A rotation as degrees about an axis: `90° about z`; nothing for one that float32 does not know from none."""
    vector = rotation_vector(turn)
    angle = float(np.degrees(np.linalg.norm(vector)))
    if angle < np.degrees(gamma(_OPERATIONS)):
        return ""
    axis = vector / np.linalg.norm(vector)
    for name, unit in _AXES.items():
        along = float(np.dot(axis, unit))
        if abs(along) > 1.0 - 1e-6:
            return f"{angle * np.sign(along):.4g}° about {name}"
    return f"{angle:.4g}° about ({', '.join(f'{part:.3g}' for part in axis)})"


def _by_a_heading(found: _Rotations) -> Iterator[CandidateEdit]:
    """Turned about an axis by an angle that the recording holds elsewhere, such as the root's yaw."""
    turns = found.recorded @ transposed(found.own)
    allowed = max(_ROUGHLY, 3.0 * float(np.nanmedian(found.mixed)))
    for name, angle in _angles(found.subject).items():
        for axis_name, axis in _AXES.items():
            for sign, word in ((1.0, ""), (-1.0, "minus ")):
                by = about(np.asarray(axis, float), sign * angle)[:, None]
                near = np.abs(turns - by)[np.isfinite(turns).all(axis=(2, 3))]
                if near.size and np.mean(near < allowed) > 0.9:
                    yield found.reading("heading", f"turned about {axis_name} by {word}{name}", by @ found.own, 2.0)


def _angles(subject: DivergentStage) -> Mapping[str, FloatArray]:
    """Every recorded angle, (T,) radians, by name."""
    found: dict[str, FloatArray] = {}
    for stage in (each for each in subject.others if subject.may_be_read(each, 0)):
        rows = subject.others[stage]
        for field in subject.contract.fields(stage):
            if kind_of(field.unit) == "angle" and field.size == 1:
                values = rows[:, field.start].astype(np.float64)
                found.setdefault(f"{stage}[{field.name}]", UNITS[field.unit].si * values)
    return {name: wrap_to_pi(values) for name, values in found.items() if np.ptp(values) > 0.0}


def about(axis: FloatArray, angle: FloatArray) -> FloatArray:
    """Rotations (T, 3, 3) about a unit axis."""
    x, y, z = axis
    across = np.array(((0.0, -z, y), (z, 0.0, -x), (-y, x, 0.0)))
    sine, versine = np.sin(angle)[:, None, None], (1.0 - np.cos(angle))[:, None, None]
    return np.asarray(np.eye(3) + sine * across + versine * (across @ across))


def _in_another_basis(found: _Rotations) -> Iterator[CandidateEdit]:
    """C·R·C⁻¹ with one C: the rotation vectors are turned by it. C is fitted to all of them (Kabsch)."""
    finite = np.isfinite(found.own).all(axis=(2, 3)) & np.isfinite(found.recorded).all(axis=(2, 3))
    own, recorded = (rotation_vector(side[finite]) for side in (found.own, found.recorded))
    # a rotation by half a turn has two vectors
    tame = (np.linalg.norm(own, axis=-1) < 3.0) & (np.linalg.norm(recorded, axis=-1) < 3.0)
    if np.count_nonzero(tame) < 4:
        return
    u, _, vt = np.linalg.svd(recorded[tame].T @ own[tame])
    basis = u @ np.diag((1.0, 1.0, np.linalg.det(u @ vt))) @ vt
    if not turn_words(basis):
        return
    words = f"in another basis, C·R·C⁻¹ with C = {turn_words(basis)}"
    yield found.reading("basis", words, basis @ found.own @ basis.T, 4.0, 3)
