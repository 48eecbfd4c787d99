"""Two schema bundles, and companions beside them: their vectors, bones, numbers and declarations side by side.

Channels are matched by their meaning (slice, bone, component; frames of history are counted from the newest), not by their
place. So a slice that moved, or bones in another order, do not make every mean look changed.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rigpact.contract.compatibility.bundle_content as content
from rigpact.contract.compatibility.differences import (
    DECLARED,
    UNDECLARED,
    Both,
    Worst,
    differences,
    from_to,
    is_rounding,
    number_changes,
    part_changes,
    renamed_parts,
    word_changes,
)
from rigpact.contract.compatibility.kinds import KINDS, Change, Consumer, change
from rigpact.contract.documents import Document
from rigpact.contract.json_pointer import Token, json_pointer
from rigpact.contract.layout import PER_BONE, ROTATIONS, Layout, Slice, entry_to_slice, json_to_layout
from rigpact.contract.rules.bundle_view import POSE_HISTORY, BundleView, json_to_numbers, member, one_slice
from rigpact.contract.statistics import STD_FLOOR, FloatArray

RETRAIN_SHIFT_SIGMA = 0.05
"""The standard error of a mean over 400 independent poses: measuring the same clips again moves it as far."""
RETRAIN_RATIO = 1.05
"""The same for a deviation: its relative standard error over 400 poses is 1/sqrt(800) = 0.035."""
_SKELETON = ("meta", "skeleton")
LENGTHS = ("history-length-declared", "history-length-undeclared")
Channel = tuple[str, str, int]
"""Group (slice or frame of history), bone or '', component."""


@dataclass(frozen=True)
class Side:
    """One bundle, with the names of its bones, and the names that its slices have in the other one."""

    view: BundleView
    bones: tuple[str, ...]
    renames: Mapping[str, str] = field(default_factory=dict)

    def channels(self, of: str, count: int) -> list[Channel] | None:
        """The channels of an array of `count` numbers; None if it does not fit."""
        layout = self._layout(of, count)
        if layout is None or layout.width != count or any(each.start < 0 or each.stop > count for each in layout):
            return None
        named: list[Channel] = [("", "", place) for place in range(count)]
        for each in layout:
            per_bone = 6 if of == content.HISTORY else PER_BONE.get(each.name, 0)
            name = self.renames.get(each.name, each.name) if of in (content.STATE, content.OUTPUT) else each.name
            for place in range(each.size):
                own = (self._bone(place // per_bone), place % per_bone) if per_bone else ("", place)
                named[each.start + place] = (name, *own)
        return named

    def _layout(self, of: str, count: int) -> Layout | None:
        """Whose channels an array has: a vector's, those of one slice of the state, or of frames, the oldest first."""
        if of == content.HISTORY:
            width = 6 * (self.view.bone_count or 0)
            length = count // width if width else 0
            frames = (Slice(i * width, width, f"{POSE_HISTORY}[{i - length}]") for i in range(length))
            return Layout(tuple(frames), length * width) if width else None
        if of in (content.STATE, content.OUTPUT):
            return self.view.output if of == content.OUTPUT else self.view.state
        state = self.view.state
        return one_slice(of, state[of].size) if state is not None and of in state else None

    def _bone(self, place: int) -> str:
        return self.bones[place] if place < len(self.bones) else f"#{place}"


def bundle_differences(old: Document, new: Document, companions: tuple[Document, Document] | None) -> Iterator[Change]:
    """Yield where two bundles differ. Those that the engine would refuse are compared as far as they can be read.

    companions: the old and the new file with the auxiliary statistics, which training reads and the engine does not; their
    channels are those of the bundles they belong to.
    """
    first, second = old.once(BundleView), new.once(BundleView)
    match, renames = content.match_bones(first, second), dict[str, str]()
    for key, width_key, title in content.VECTORS:
        layouts = _layout(first, key, width_key), _layout(second, key, width_key)
        renames |= renamed_parts(*layouts)
        message = f"meta.{key} is written otherwise; the engine reads the same slices"
        otherwise = change("layout-written-differently", json_pointer("meta", key), None, None, message)
        is_same = first.meta.get(key) == second.meta.get(key)
        forms = tuple(_forms(first, second, key))
        pointer = partial(json_pointer, "meta", key)
        yield from part_changes("slice", key, pointer, layouts, forms, otherwise=None if is_same else otherwise)
        yield from _widths((first, second), width_key, title, layouts)
    yield from match.changes
    yield from content.compare_skeletons(first, second, match)
    sides = Side(first, match.old_keys, renames), Side(second, match.new_keys)
    yield from _families(first.root, second.root)
    for array in content.ARRAYS:
        yield from _array(array, *sides)
    yield from _declarations(first.root, second.root)
    for found in _of_companions(sides, companions) if companions else ():
        yield replace(found, message=f"companion: {found.message}")


def _of_companions(sides: tuple[Side, Side], companions: tuple[Document, Document]) -> Iterator[Change]:
    beside = [
        replace(side, view=_beside(side.view, own), renames={}) for side, own in zip(sides, companions, strict=True)
    ]
    for array in content.ARRAYS:
        if array.key in content.COMPANION:
            yield from _array(replace(array, kind="training-statistics"), *beside)
    yield from _declarations(companions[0].data, companions[1].data)


def _beside(view: BundleView, companion: Document) -> BundleView:
    """The companion's arrays under the layouts of its bundle."""
    bundle = {key: value for key, value in view.root.items() if key not in content.COMPANION}
    own = {key: value for key, value in companion.data.items() if key in content.COMPANION}
    return BundleView(replace(companion, file=replace(companion.file, data=bundle | own)))


# --- vectors ---


def _layout(view: BundleView, key: str, width_key: str) -> Layout:
    return json_to_layout(view.meta.get(key), view.root.get(width_key))


def _forms(old: BundleView, new: BundleView, key: str) -> Iterator[Change]:
    """Entries that the engine reads alike and the training side does not."""
    first, second = (each if isinstance(each := view.meta.get(key), Mapping) else {} for view in (old, new))
    for name in sorted(first.keys() & second.keys()):
        entries = first[name], second[name]
        sizes = [_training_size(entry) for entry in entries]
        is_alike = entry_to_slice(name, entries[0]) == entry_to_slice(name, entries[1])
        if entries[0] != entries[1] and is_alike and sizes[0] != sizes[1]:
            message = f"{name} is read alike by the engine; training reads {sizes[1]} numbers instead of {sizes[0]}"
            yield change("layout-ambiguous", json_pointer("meta", key, name), *entries, message)


def _training_size(entry: Any) -> Any:
    """The size that the training loader reads: the second number of an array is one to it."""
    return entry[1] if isinstance(entry, list) and len(entry) == 2 else member(entry, "size")


def _widths(
    views: tuple[BundleView, BundleView], key: str, title: str, layouts: tuple[Layout, Layout]
) -> Iterator[Change]:
    old, new = (layout.width for layout in layouts)
    if old != new:
        message = f"the {title} is {new} wide, was {old}"
        yield change("vector-width-changed", json_pointer(key), old, new, message)
        return
    written = views[0].root.get(key), views[1].root.get(key)
    if written[0] != written[1]:
        silent = "declaration-added" if written[0] is None else "declaration-removed"
        kind = silent if None in written else "spelled-differently"
        yield change(kind, json_pointer(key), *written, f"the {title} is as wide as before")


# --- numbers ---


def _families(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    """Families of arrays that came into the bundle, or left it for a companion."""
    for family in dict.fromkeys(array.family for array in content.ARRAYS if array.family):
        keys = [array.key for array in content.ARRAYS if array.family == family]
        come = [key for key in keys if key in new and key not in old]
        gone = [key for key in keys if key in old and key not in new]
        if come:
            said = f"{', '.join(come)} now stand in the bundle"
            yield change(f"{family}-merged", json_pointer(come[0]), None, come, said)
        if gone:
            yield change(f"{family}-unmerged", json_pointer(gone[0]), gone, None, f"{', '.join(gone)} left the bundle")


def _array(array: content.BundleArray, old: Side, new: Side) -> Iterator[Change]:
    if array.family and (array.key in old.view.root) != (array.key in new.view.root):
        return  # the family has been reported
    raw = [side.view.root.get(array.key) for side in (old, new)]
    values = [json_to_numbers(each) for each in raw]
    channels = [
        None if each is None else side.channels(array.of, len(each))
        for each, side in zip(values, (old, new), strict=True)
    ]
    (a, b), (first, second) = values, channels
    if a is None or b is None or first is None or second is None:
        yield from _unreadable(array.key, (raw[0], raw[1]), [found is not None for found in channels])
        return
    where = {channel: place for place, channel in enumerate(first)}
    pairs = np.array([(where[c], j) for j, c in enumerate(second) if c in where], dtype=np.int64).reshape(-1, 2)
    yield from _matched(
        array, (old, new), (a[pairs[:, 0]], b[pairs[:, 1]]), pairs, [second[j] for j in pairs[:, 1].tolist()]
    )


def _unreadable(key: str, raw: Both, is_readable: list[bool]) -> Iterator[Change]:
    old, new = (f"{len(each)} values" if isinstance(each, list) else type(each).__name__ for each in raw)
    if is_readable[0] != is_readable[1]:
        kind = "array-repaired" if is_readable[1] else "array-broken"
        yield change(kind, json_pointer(key), old, new, f"{key} does not fit its layout in one version")
    elif raw[0] != raw[1]:
        yield change("array-unreadable", json_pointer(key), old, new, f"{key} fits its layout in neither version")


def _matched(
    array: content.BundleArray,
    sides: tuple[Side, Side],
    values: tuple[FloatArray, FloatArray],
    pairs: NDArray[np.int64],
    channels: list[Channel],
) -> Iterator[Change]:
    """Numbers of the same channels: a mean moves by deviations, anything else by a factor, as each reader holds it."""
    readings = [*_readings(array, *values)]
    with np.errstate(all="ignore"):
        deviations = [_deviations(array, side, pairs[:, place]) for place, side in enumerate(sides)]
        amount = np.maximum.reduce([_shift(a, b, deviations) if array.deviation else _ratio(a, b) for a, b in readings])
    residual = array.key == "MuY" and all(side.view.output_mode == "residual" for side in sides)

    def say(found: Worst) -> tuple[str, str]:
        group, bone, _ = channels[found.place]
        place = int(pairs[found.place, 1])
        by = f"by {found.amount:.3g} deviations" if array.deviation else f"by a factor of {found.amount:.4g}"
        said = from_to(
            f"{array.key}[{place}]", found, f", {by} ({', '.join(filter(None, (group, bone))) or 'no slice'})"
        )
        if found.count > 1:
            said += f"; {found.count} channels of {group or 'no slice'} changed" + ", all alike" * found.are_alike
        return json_pointer(array.key, place), said

    def kinds(group: str) -> tuple[str, str, str]:
        kind = "recorded-mean" if residual and group == ROTATIONS else array.kind
        return f"{kind}-rounded", f"{kind}-drifted", f"{kind}-moved"

    rounded = np.logical_and.reduce([is_rounding(*each) for each in readings])
    limit = RETRAIN_SHIFT_SIGMA if array.deviation else RETRAIN_RATIO
    return number_changes(
        *values, amount, kinds, say, limit=limit, groups=[group for group, *_ in channels], rounded=rounded
    )


def _deviations(array: content.BundleArray, side: Side, places: NDArray[np.int64]) -> FloatArray | None:
    values = json_to_numbers(side.view.root.get(array.deviation))
    if values is None or (len(places) and len(values) <= places.max()):
        return None
    return np.maximum(np.abs(values[places]), STD_FLOOR)


def _readings(array: content.BundleArray, a: FloatArray, b: FloatArray) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Both values as each reader holds them: the engine takes max(|v|, floor), training max(v, 1e-6)."""
    if not array.floor:
        yield a, b
        return
    yield _floored(np.abs(a), array.floor), _floored(np.abs(b), array.floor)
    yield _floored(a, STD_FLOOR), _floored(b, STD_FLOOR)


def _floored(values: FloatArray, floor: float) -> FloatArray:
    return np.where(np.isfinite(values), np.maximum(values, floor), values)


def _shift(a: FloatArray, b: FloatArray, deviations: list[FloatArray | None]) -> FloatArray:
    known = [each for each in deviations if each is not None]
    return np.asarray(np.abs(a - b) / (np.minimum.reduce(known) if known else np.ones_like(a)))


def _ratio(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.where((a * b) > 0, np.maximum(a / b, b / a), np.inf)


# --- declarations ---


def _declarations(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    """Every place that is not a vector, number or bone."""
    has_skeleton = [isinstance(member(root, *_SKELETON), Mapping) for root in (old, new)]
    skeletons = {_SKELETON} if has_skeleton[0] != has_skeleton[1] else set[tuple[Token, ...]]()
    for path, written in differences(old, new):
        beginnings = {path[:end] for end in range(1, len(path) + 1)}
        # a skeleton that only one side has is reported as a whole
        if not beginnings & content.COMPARED_AS_PARTS and not (beginnings & skeletons and UNDECLARED in written):
            yield from _judged(path, written, (old, new))


def _judged(
    path: tuple[Token, ...], written: Both, roots: tuple[Mapping[str, Any], Mapping[str, Any]]
) -> Iterator[Change]:
    row = next(
        (content.DECLARATIONS[path[:end]] for end in range(len(path), 0, -1) if path[:end] in content.DECLARATIONS),
        None,
    )
    place = json_pointer(*path), ".".join(map(str, path)), written
    if row is None:
        # nobody can judge it, unless it is an object that could hold declarations and holds none
        is_empty = (
            {} in written and UNDECLARED in written and any(each[: len(path)] == path for each in content.DECLARATIONS)
        )
        return word_changes("unjudged-change", *place, meant=("", "") if is_empty else None)
    if Consumer.COSMETIC in KINDS[row.kind].classes:
        return word_changes(row.kind, *place)
    defaults = [_implied_length(root) if row.path == content.LENGTH else row.default for root in roots]
    meant = [each if value is UNDECLARED else value for value, each in zip(written, defaults, strict=True)]
    if UNDECLARED not in meant:
        meant = [*map(row.meaning, meant)]
    return word_changes(
        row.kind, *place, meant=(meant[0], meant[1]), silent=LENGTHS if row.path == content.LENGTH else DECLARED
    )


def _implied_length(root: Mapping[str, Any]) -> Any:
    """How many frames of history a file's statistics hold; UNDECLARED where it does not say."""
    history, layout = root.get("MuPoseHist"), json_to_layout(member(root, "meta", "output_layout"))
    bones = member(root, "J")
    width = layout[ROTATIONS].size if ROTATIONS in layout else 6 * bones if type(bones) is int else 0
    if not isinstance(history, list) or width <= 0 or len(history) % width:
        return UNDECLARED
    return len(history) // width
