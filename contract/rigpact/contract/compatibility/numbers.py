"""Statistics and scales of two bundles, channel by channel: moved by how many deviations, scaled by what.

Channels are matched by their meaning (slice, bone, component; frames of history are counted from the newest), not by
their place. So a slice that moved, or bones in another order, do not make every mean look changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.compatibility.bones import BoneMatch
from rigpact.contract.compatibility.change import Change, change
from rigpact.contract.json_pointer import json_pointer
from rigpact.contract.layout import ANGULAR_VELOCITIES, ROOT_VELOCITY, ROTATIONS, Layout
from rigpact.contract.rules.bundle.view import BundleView, json_to_numbers
from rigpact.contract.statistics import STD_FLOOR, TANH_SCALE_FLOOR, FloatArray

RETRAIN_SHIFT_SIGMA = 0.05
"""The standard error of a mean over 400 independent poses: measuring the same clips again moves it as far."""
RETRAIN_RATIO = 1.05
"""The same for a deviation: its relative standard error over 400 poses is 1/sqrt(800) = 0.035."""
_ALIKE = 1e-3
SAME, ROUNDED, DRIFTED, MOVED = range(4)
_GRADES = ("", "rounded", "drifted", "moved")
_PER_BONE = {ROTATIONS: 6, ANGULAR_VELOCITIES: 3}
Channel = tuple[str, str, int]
"""Group (slice or frame of history), bone or '', component."""


@dataclass(frozen=True)
class Side:
    """One bundle, with the names of its channels."""

    view: BundleView
    bones: tuple[str, ...]
    renames: Mapping[str, str]

    def bone(self, place: int) -> str:
        """The key of a bone; its place where it has no name."""
        return self.bones[place] if place < len(self.bones) else f"#{place}"


Channels = Callable[[Side, int], "list[Channel] | None"]


@dataclass(frozen=True)
class Array:
    """One array of a bundle: what its channels are, which array holds its deviations, the floor that readers apply."""

    key: str
    channels: Channels
    kind: str
    deviation: str = ""
    floor: float = 0.0


def _layout_channels(layout_of: Callable[[BundleView], Layout | None]) -> Channels:
    def channels(side: Side, count: int) -> list[Channel] | None:
        layout = layout_of(side.view)
        if layout is None or layout.width != count or any(e.start < 0 or e.stop > count for e in layout):
            return None
        named: list[Channel] = [("", "", place) for place in range(count)]
        for entry in layout:
            name = side.renames.get(entry.name, entry.name)
            named[entry.range] = _slice_channels(side, name, _PER_BONE.get(entry.name, 0), entry.size)
        return named

    return channels


def _slice_channels(side: Side, name: str, per_bone: int, size: int) -> list[Channel]:
    if not per_bone:
        return [(name, "", place) for place in range(size)]
    return [(name, side.bone(place // per_bone), place % per_bone) for place in range(size)]


def _slice_of_state(name: str, per_bone: int) -> Channels:
    """The channels of an array that belongs to one slice of the state."""

    def channels(side: Side, count: int) -> list[Channel] | None:
        layout = side.view.state
        if layout is None or name not in layout or layout[name].size != count:
            return None
        return _slice_channels(side, name, per_bone, count)

    return channels


def _history_channels(side: Side, count: int) -> list[Channel] | None:
    frame = 6 * (side.view.bone_count or 0)
    if not frame or count % frame:
        return None
    frames = count // frame
    return [
        (f"PoseHistory[-{frames - place // frame}]", side.bone(place % frame // 6), place % 6) for place in range(count)
    ]


_X, _Y = _layout_channels(lambda view: view.state), _layout_channels(lambda view: view.output)
_ANGVEL = _slice_of_state(ANGULAR_VELOCITIES, 3)
ARRAYS = (
    Array("MuX", _X, "input-mean", "StdX"),
    Array("StdX", _X, "input-std", floor=STD_FLOOR),
    Array("MuY", _Y, "output-mean", "StdY"),
    Array("StdY", _Y, "output-std"),
    Array("tanh_scales_rootvel", _slice_of_state(ROOT_VELOCITY, 0), "squash-scale", floor=TANH_SCALE_FLOOR),
    Array("tanh_scales_angvel", _ANGVEL, "squash-scale", floor=TANH_SCALE_FLOOR),
    Array("tanh_scales_pose_hist", _history_channels, "squash-scale", floor=STD_FLOOR),
    Array("MuPoseHist", _history_channels, "input-mean", "StdPoseHist"),
    Array("StdPoseHist", _history_channels, "input-std", floor=STD_FLOOR),
    Array("MuAngVel", _ANGVEL, "training-statistics", "StdAngVel"),
    Array("StdAngVel", _ANGVEL, "training-statistics", floor=STD_FLOOR),
)  # fmt: skip
"""Every array of numbers in a bundle."""
_OPTIONAL = {
    "history-statistics": ("tanh_scales_pose_hist", "MuPoseHist", "StdPoseHist"),
    "angvel-statistics": ("MuAngVel", "StdAngVel"),
}
"""Families that live in the bundle or in a companion beside it."""


def compare_numbers(old: BundleView, new: BundleView, match: BoneMatch, renames: Mapping[str, str]) -> Iterator[Change]:
    """Yield what changed in every array, one change for each slice of it."""
    sides = Side(old, match.old_keys, renames), Side(new, match.new_keys, {})
    yield from _compare_families(old, new)
    for array in ARRAYS:
        yield from compare_array(array, *sides)


def _compare_families(old: BundleView, new: BundleView) -> Iterator[Change]:
    for family, keys in _OPTIONAL.items():
        come = [key for key in keys if key in new.root and key not in old.root]
        gone = [key for key in keys if key in old.root and key not in new.root]
        if come:
            yield change(
                f"{family}-merged", json_pointer(come[0]), None, come, f"{', '.join(come)} now stand in the bundle"
            )
        if gone:
            yield change(f"{family}-unmerged", json_pointer(gone[0]), gone, None, f"{', '.join(gone)} left the bundle")


def compare_array(array: Array, old: Side, new: Side) -> Iterator[Change]:
    """Yield what changed in one array, one change for each slice of it."""
    first, second = old.view.root.get(array.key), new.view.root.get(array.key)
    optional = any(array.key in keys for keys in _OPTIONAL.values())
    if optional and (array.key in old.view.root) != (array.key in new.view.root):
        return  # the family has been reported
    values = [json_to_numbers(each) for each in (first, second)]
    channels = [None if v is None else array.channels(side, len(v)) for v, side in zip(values, (old, new), strict=True)]
    a, b = values
    if a is None or b is None or channels[0] is None or channels[1] is None:
        yield from _compare_unreadable(array, first, second, [found is not None for found in channels])
        return
    yield from _compare_channels(array, (old, new), (a, b), (channels[0], channels[1]))


def _compare_unreadable(array: Array, first: object, second: object, readable: Sequence[bool]) -> Iterator[Change]:
    pointer = json_pointer(array.key)
    if readable[0] != readable[1]:
        kind = "array-mended" if readable[1] else "array-broken"
        yield change(kind, pointer, _size(first), _size(second), f"{array.key} does not fit its layout in one version")
    elif first != second:
        yield change(
            "array-unreadable", pointer, _size(first), _size(second), f"{array.key} fits its layout in neither version"
        )


def _size(value: object) -> str:
    return f"{len(value)} values" if isinstance(value, list) else type(value).__name__


def _compare_channels(
    array: Array,
    sides: tuple[Side, Side],
    values: tuple[FloatArray, FloatArray],
    channels: tuple[list[Channel], list[Channel]],
) -> Iterator[Change]:
    where = {channel: place for place, channel in enumerate(channels[0])}
    pairs = np.array([(where[c], j) for j, c in enumerate(channels[1]) if c in where], dtype=np.int64).reshape(-1, 2)
    a, b = values[0][pairs[:, 0]], values[1][pairs[:, 1]]
    deviations = [_deviations(array, side, pairs[:, place]) for place, side in enumerate(sides)]
    grade, amount = grades(array, a, b, deviations)
    groups: dict[str, list[int]] = {}
    for index in np.flatnonzero(grade).tolist():
        groups.setdefault(channels[1][pairs[index, 1]][0], []).append(index)
    for group, indices in groups.items():
        worst = max(indices, key=lambda index: (grade[index], amount[index]))
        place = int(pairs[worst, 1])
        alike = len(indices) > 1 and np.ptp(amount[indices]) <= _ALIKE * amount[worst]
        found = Found(
            group, channels[1][place][1], int(grade[worst]), float(amount[worst]), len(indices), alike=bool(alike)
        )
        yield _describe(array, sides, place, (float(a[worst]), float(b[worst])), found)


def _deviations(array: Array, side: Side, places: NDArray[np.int64]) -> FloatArray | None:
    values = json_to_numbers(side.view.root.get(array.deviation)) if array.deviation else None
    if values is None or (len(places) and len(values) <= places.max()):
        return None
    return np.maximum(np.abs(values[places]), STD_FLOOR)


def grades(
    array: Array, a: FloatArray, b: FloatArray, deviations: Sequence[FloatArray | None]
) -> tuple[NDArray[np.int64], FloatArray]:
    """How far each channel went: a grade, and by how many deviations (a mean) or by what factor (anything else)."""
    with np.errstate(all="ignore"):
        written_alike = (a == b) | (np.isnan(a) & np.isnan(b))
        seen = [_measured(array, *pair, deviations) for pair in _readings(array, a, b)]
        rounded = np.logical_and.reduce([each for each, _ in seen])
        amount = np.maximum.reduce([each for _, each in seen])
        limit = RETRAIN_SHIFT_SIGMA if array.deviation else RETRAIN_RATIO
        grade = np.select([written_alike, rounded, amount < limit], [SAME, ROUNDED, DRIFTED], default=MOVED)
    return grade.astype(np.int64), np.where(np.isnan(amount), np.inf, amount)


def _readings(array: Array, a: FloatArray, b: FloatArray) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Both values as each reader holds them: the engine takes max(|v|, floor), training max(v, 1e-6)."""
    if not array.floor:
        yield a, b
        return
    yield _floored(np.abs(a), array.floor), _floored(np.abs(b), array.floor)
    yield _floored(a, STD_FLOOR), _floored(b, STD_FLOOR)


def _floored(values: FloatArray, floor: float) -> FloatArray:
    """max(value, floor), where the value is a number."""
    found: FloatArray = np.where(np.isfinite(values), np.maximum(values, floor), values)
    return found


def _measured(
    array: Array, a: FloatArray, b: FloatArray, deviations: Sequence[FloatArray | None]
) -> tuple[NDArray[np.bool_], FloatArray]:
    """Whether the two are within one float32 step, and how far they are apart."""
    amount = _shift(a, b, deviations) if array.deviation else _ratio(a, b)
    step = np.spacing(np.maximum(np.abs(a), np.abs(b)).astype(np.float32)).astype(np.float64)
    return (a == b) | (np.abs(a - b) <= step), amount


def _shift(a: FloatArray, b: FloatArray, deviations: Sequence[FloatArray | None]) -> FloatArray:
    """|Δ| in the smaller of the two deviations; in units where neither bundle says how wide the channel is."""
    known = [each for each in deviations if each is not None]
    smallest = np.minimum.reduce(known) if known else np.ones_like(a)
    shift: FloatArray = np.abs(a - b) / smallest
    return shift


def _ratio(a: FloatArray, b: FloatArray) -> FloatArray:
    """The larger over the smaller; infinite across zero or a sign."""
    ratio: FloatArray = np.where((a * b) > 0, np.maximum(a / b, b / a), np.inf)
    return ratio


@dataclass(frozen=True)
class Found:
    """The worst channel of a group: where, how bad, by how much; how many changed, and whether all by the same amount."""

    group: str
    bone: str
    grade: int
    amount: float
    count: int
    alike: bool = False


def _describe(array: Array, sides: tuple[Side, Side], place: int, values: tuple[float, float], found: Found) -> Change:
    residual = array.key == "MuY" and found.group == ROTATIONS and all(s.view.output_mode == "residual" for s in sides)
    kind = "recorded-mean" if residual else array.kind
    where = ", ".join(filter(None, (found.group, found.bone)))
    by = f"by {found.amount:.3g} deviations" if array.deviation else f"by a factor of {found.amount:.4g}"
    message = f"{array.key}[{place}] goes from {values[0]:.7g} to {values[1]:.7g}, {by} ({where or 'no slice'})"
    if found.count > 1:
        message += f"; {found.count} channels of {found.group or 'no slice'} changed" + ", all alike" * found.alike
    return change(f"{kind}-{_GRADES[found.grade]}", json_pointer(array.key, place), *values, message)
