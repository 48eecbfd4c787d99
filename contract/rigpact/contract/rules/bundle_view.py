"""A bundle and its companion as rules read them: every part has a type, and is None or `Unread` where it is not readable.

Rules run on broken files too. structure.py reports a part that cannot be read; a rule about its meaning skips it.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rigpact.contract.documents import Document
from rigpact.contract.findings import Finding, Rule
from rigpact.contract.layout import ANGULAR_VELOCITIES, ROTATIONS, Layout, Slice, is_whole, json_to_layout
from rigpact.contract.rules.wording import and_more, is_beyond_float64
from rigpact.contract.skeleton import COLUMN_PAIRS, OUTPUT_MODES, Skeleton, parent_cycle, rot6d_to_matrix
from rigpact.contract.statistics import FloatArray, frozen_float32

T = TypeVar("T")
DEFAULT_FPS = 60.0
"""What the engine assumes when the bundle has no root `fps`."""
POSE_HISTORY = "PoseHistory"
_CHANNELS_PER_BONE = {ROTATIONS: 6, POSE_HISTORY: 6, ANGULAR_VELOCITIES: 3}


class Unread(Exception):
    """A part is not there in readable form. Another rule says so, and a rule that reads it judges nothing."""


def need(value: T | None, *, when: bool = True) -> T:
    """Return a part that a rule reads; `Unread` without it, and without what the rule also needs."""
    if value is None or not when:
        raise Unread
    return value


def known(read: Callable[[], T]) -> T | None:
    """What is read; None where it is `Unread`."""
    try:
        return read()
    except Unread:
        return None


def to_float32(values: FloatArray) -> NDArray[np.float32]:
    """Numbers in float32, as both sides hold them; infinite beyond its range."""
    with np.errstate(over="ignore"):
        return values.astype(np.float32)


def json_to_numbers(value: Any) -> FloatArray | None:
    """Read a flat array of JSON numbers as float64, infinite beyond its range; None for anything else."""
    if not isinstance(value, list) or not set(map(type, value)) <= {int, float}:
        return None
    try:
        return np.array(value, dtype=np.float64)
    except OverflowError:
        return np.array([np.inf if is_beyond_float64(number) else number for number in value], dtype=np.float64)


def json_to_array(rows: Any) -> FloatArray | None:
    """Read nested JSON arrays as float64; None if they are ragged or hold anything but numbers."""
    try:
        array = np.array(rows)
    except ValueError:  # ragged
        return None
    if array.dtype.kind == "O" and array.size and {type(value) for value in array.flat} <= {int, float}:
        array = np.array([np.inf if is_beyond_float64(value) else value for value in array.flat]).reshape(array.shape)
    return array.astype(np.float64) if array.dtype.kind in "if" else None


def json_to_rate(value: Any) -> float | None:
    """Read frames a second; None for anything but a positive finite number."""
    return float(value) if type(value) in (int, float) and 0 < value <= sys.float_info.max else None


def is_finite_float32(values: FloatArray) -> bool:
    """Whether every number is finite in float32; only then can rules compute with them."""
    return bool((np.abs(values) <= np.finfo(np.float32).max).all())  # False for NaN too


def json_to_names(value: Any) -> tuple[str, ...] | None:
    """Read an array of strings; None for anything else."""
    return tuple(value) if isinstance(value, list) and all(type(name) is str for name in value) else None


def finite_array(rows: Any) -> FloatArray | None:
    """Read nested JSON arrays as float64; None if they are ragged, hold anything but numbers, or are not finite in float32."""
    array = json_to_array(rows)
    return array if array is not None and is_finite_float32(array) else None


def json_to_skeleton(declared: Any) -> Skeleton | None:
    """Read names, parents and offsets; None if a part is missing or broken, or if the parents form a cycle."""
    names, parents = json_to_names(member(declared, "bone_names")), member(declared, "parents")
    offsets = finite_array(member(declared, "ref_local_offsets_m"))
    if names is None or not isinstance(parents, list) or {type(parent) for parent in parents} != {int}:
        return None
    fits = offsets is not None and offsets.shape == (len(names), 3) and len(parents) == len(names)
    if not fits or not all(-1 <= parent < len(parents) for parent in parents) or parent_cycle(parents):
        return None
    return Skeleton(names, tuple(parents), frozen_float32(offsets))


def member(value: Any, *keys: str) -> Any:
    """Walk down objects by key; None where a step is missing or is not an object."""
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


@dataclass(frozen=True, eq=False)
class NamedArray:
    """Numbers of a file whose channels have names: which slice, which bone."""

    path: Path
    name: str
    values: FloatArray
    layout: Layout
    bone_names: tuple[str, ...]

    @property
    def float32(self) -> NDArray[np.float32]:
        return to_float32(self.values)

    def where(self, index: int) -> str:
        """Name a channel: 'BoneRotations6D, spine_01'."""
        entry = self.layout.slice_at(index)
        if entry is None:
            return "no slice"
        channels = _CHANNELS_PER_BONE.get(entry.name.partition("[")[0])
        number = (index - entry.start) // channels if channels else len(self.bone_names)
        bone = self.bone_names[number] if number < len(self.bone_names) else ""
        return f"{entry.name}, {bone}" if bone else entry.name

    def at_slices(self, rule: Rule, bad: NDArray[np.bool_], place: str = "slice", **values: Any) -> Iterator[Finding]:
        """Yield one finding for each slice with bad channels; a value that is an array gives its number there."""
        seen: dict[Slice | None, list[int]] = {}
        for index in np.flatnonzero(bad).tolist():
            seen.setdefault(self.layout.slice_at(index), []).append(index)
        for index, *others in seen.values():
            here = {key: value[index] if isinstance(value, np.ndarray) else value for key, value in values.items()}
            here = {"array": self.name, "index": index, "value": self.values[index], **here}
            here |= {"where": self.where(index), "more": and_more(len(others), f"in this {place}")}
            yield rule.at(self.path, (self.name, index), **here)


@dataclass(frozen=True, eq=False)
class FileView:
    """One JSON file as rules read it."""

    document: Document

    @property
    def path(self) -> Path:
        return self.document.path

    @property
    def root(self) -> dict[str, Any]:
        return self.document.data

    @property
    def bone_names(self) -> tuple[str, ...]:
        return ()

    @cached_property
    def columns(self) -> str:
        """Which columns the six numbers are; the contract's default if the file declares none that rigpact knows."""
        declared = columns_word(member(self.root, "meta", "rot6d_spec", "columns"))
        return declared if declared in COLUMN_PAIRS else COLUMN_PAIRS[0]

    def bone(self, index: int) -> str:
        return self.bone_names[index] if index < len(self.bone_names) else f"bone {index}"

    def numbers(self, key: str) -> FloatArray | None:
        """A flat array at the root, read-only."""
        if key not in self._numbers:
            values = self._numbers[key] = json_to_numbers(self.root.get(key))
            if values is not None:
                values.setflags(write=False)  # every rule gets the same array
        return self._numbers[key]

    @cached_property
    def _numbers(self) -> dict[str, FloatArray | None]:
        return {}

    def statistic(self, key: str, layout: Layout | None) -> NamedArray | None:
        """A statistic whose channels are a layout's; None if either cannot be read or the lengths differ."""
        values = self.numbers(key)
        if values is None or layout is None or len(values) != layout.width:
            return None
        return NamedArray(self.path, key, values, layout, self.bone_names)

    def finite(self, key: str, layout: Layout | None) -> NamedArray:
        """A statistic that rules compute with; `Unread` where it cannot be read, or is not finite in float32."""
        array = need(self.statistic(key, layout))
        return need(array, when=is_finite_float32(array.values))


@dataclass(frozen=True, eq=False)
class BundleView(FileView):
    """The parts of a schema bundle that rules judge."""

    @cached_property
    def meta(self) -> Mapping[str, Any]:
        """`meta`, empty if it is not an object."""
        meta = self.root.get("meta")
        return meta if isinstance(meta, Mapping) else {}

    @cached_property
    def state(self) -> Layout | None:
        """The state's layout as the engine reads it."""
        return self._layout("state_layout", "input_dim")

    @cached_property
    def output(self) -> Layout | None:
        """The output's layout as the engine reads it."""
        return self._layout("output_layout", "output_dim")

    def _layout(self, key: str, width_key: str) -> Layout | None:
        layout = json_to_layout(self.meta.get(key), self.root.get(width_key))
        return layout if layout.slices else None

    @cached_property
    def bone_count(self) -> int | None:
        """Bones of the output's rotation slice; every other count must agree with it."""
        if self.output is None or ROTATIONS not in self.output:
            return None
        return max(self.output[ROTATIONS].size // 6, 0)

    @cached_property
    def bone_names(self) -> tuple[str, ...]:
        return json_to_names(self.meta.get("bone_names")) or ()

    @cached_property
    def fps(self) -> float:
        """Frames a second as the engine reads them: the root key, else 60."""
        return json_to_rate(self.root.get("fps")) or DEFAULT_FPS

    @cached_property
    def skeleton(self) -> Skeleton | None:
        """The bone table; None if it is broken or not of the output's bones."""
        skeleton = json_to_skeleton(self.meta.get("skeleton"))
        return skeleton if skeleton is not None and len(skeleton.names) == self.bone_count else None

    @cached_property
    def mean_pose(self) -> FloatArray:
        """The pose that the state's means decode to, (B, 3, 3)."""
        return self._mean_pose("MuX", self.state)

    @cached_property
    def mean_output_pose(self) -> FloatArray:
        """The rotations that the output's means decode to, (B, 3, 3)."""
        return self._mean_pose("MuY", self.output)

    def _mean_pose(self, key: str, layout: Layout | None) -> FloatArray:
        array = self.finite(key, layout)
        return rot6d_to_matrix(self.rotations_of(array.values, array.layout), self.columns)

    def rotations_of(self, values: FloatArray, layout: Layout | None) -> FloatArray:
        """The six numbers of each bone, (..., B, 6), from vectors of a layout; `Unread` without a usable slice."""
        bones, slices = need(self.bone_count, when=bool(self.bone_count)), need(layout)
        channels = values[..., need(slices, when=ROTATIONS in slices)[ROTATIONS].range]
        sizes = (*values.shape[:-1], bones, 6)
        return need(channels, when=channels.size == np.prod(sizes)).reshape(sizes)

    @cached_property
    def output_mode(self) -> str:
        """What the network's rotations mean; undeclared or unknown means `delta`."""
        declared = member(self.meta, "rot6d_spec", "output_mode")
        return declared if declared in OUTPUT_MODES else OUTPUT_MODES[0]


def one_slice(name: str, size: int) -> Layout:
    """The layout of an array that is one feature."""
    return Layout((Slice(0, size, name),), size)


def columns_word(declared: Any) -> str | None:
    """Join a declared column list to a word such as 'xz'; None if nothing is declared."""
    if declared is None:
        return None
    names = declared if isinstance(declared, list) else [declared]
    return "".join(str(name) for name in names).lower()


POSE_HISTORY_KEYS = ("tanh_scales_pose_hist", "MuPoseHist", "StdPoseHist")
ANGVEL_KEYS = ("MuAngVel", "StdAngVel")
SCALE_KEYS = {
    "PoseHist": "tanh_scales_pose_hist", "AngVel": "tanh_scales_angvel", "PoseTarget": "tanh_scales_pose_target"
}  # fmt: skip
TARGET_KEYS = ("tanh_scales_pose_target", "MuPoseTarget", "StdPoseTarget")


@dataclass(frozen=True, eq=False)
class Auxiliary(FileView):
    """The auxiliary statistics in one file, bundle or companion, of a character of so many bones."""

    bone_count: int
    bone_names: tuple[str, ...] = ()

    @cached_property
    def history_length(self) -> int | None:
        """Frames of history: declared, else from the width of the statistics."""
        declared: Any = self.document.data.get("pose_hist_len")
        if is_whole(declared) and declared > 0:
            return int(declared)
        means = self.numbers("MuPoseHist")
        return len(means) // (6 * self.bone_count) if means is not None else None

    @cached_property
    def pose_history_layout(self) -> Layout | None:
        """One slice for each frame of history, oldest first; None if there are no statistics of it."""
        width, length, means = 6 * self.bone_count, self.history_length, self.numbers("MuPoseHist")
        if not length or means is None or length > len(means):
            return None
        frames = tuple(Slice(frame * width, width, f"{POSE_HISTORY}[{frame}]") for frame in range(length))
        return Layout(frames, length * width)

    @property
    def angvel_layout(self) -> Layout:
        """One slice, three numbers a bone."""
        return one_slice(ANGULAR_VELOCITIES, 3 * self.bone_count)

    @cached_property
    def features(self) -> dict[str, tuple[NamedArray | None, ...]]:
        """Mean, deviation and tanh scale of each auxiliary input; None where one cannot be read."""
        target = one_slice(POSE_HISTORY, 6 * self.bone_count)
        layouts = {"PoseHist": self.pose_history_layout, "AngVel": self.angvel_layout, "PoseTarget": target}
        keys = {name: (f"Mu{name}", f"Std{name}", SCALE_KEYS[name]) for name in layouts}
        return {name: tuple(self.statistic(key, layouts[name]) for key in keys[name]) for name in layouts}


def auxiliaries(view: BundleView | None, companion: Document | None) -> tuple[Auxiliary, ...]:
    """The files that may hold auxiliary statistics: the bundle, then the companion; none without a number of bones.

    A companion without a bundle says by itself how many bones it is for.
    """
    if view is None:
        bones = companion.data.get("J") if companion else None
        return (Auxiliary(companion, bones),) if companion and type(bones) is int and bones > 0 else ()
    documents = [document for document in (view.document, companion) if document is not None and view.bone_count]
    return tuple(Auxiliary(document, view.bone_count or 0, view.bone_names) for document in documents)


def history_length(files: Sequence[Auxiliary]) -> int | None:
    """Frames of pose history as the contract takes them: what the companion says goes before what the bundle says."""
    return next((file.history_length for file in reversed(files) if file.history_length), None)
