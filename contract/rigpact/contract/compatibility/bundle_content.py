"""The content of a schema bundle: its bones and skeleton, its vectors, its declarations with their meaning, its arrays as rows.

Names alone do not distinguish a renamed bone from a replaced one, or a reordered table from one whose labels were moved. The
statistics do: a bone keeps its mean pose and its deviation. A place without a row is one that nobody can judge: it may matter to
everybody.
"""

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

import numpy as np

from rigpact.contract.compatibility.differences import UNDECLARED, Worst, number_changes
from rigpact.contract.compatibility.kinds import Change, change
from rigpact.contract.json_pointer import Token, json_pointer
from rigpact.contract.layout import ANGULAR_VELOCITIES, ROOT_VELOCITY, ROTATIONS
from rigpact.contract.rules.bundle_view import BundleView, columns_word, json_to_array, json_to_names
from rigpact.contract.rules.wording import listed
from rigpact.contract.statistics import STD_FLOOR, TANH_SCALE_FLOOR, FloatArray
from rigpact.contract.units import spellings

_NAMES = "/meta/bone_names"
_SKELETON = "/meta/skeleton"
_OFFSETS = ("skeleton-offsets-rounded", "skeleton-offsets-moved", "skeleton-offsets-moved")
_SAME_SHIFT_SIGMA, _SAME_RATIO = 1.0, 2.0
"""Two rows of statistics nearer than this belong to one bone; the mean poses of other bones are many deviations away."""


@dataclass(frozen=True)
class BoneMatch:
    """Which bone of the new table is the same as which bone of the old table.

    old_keys, new_keys: one key a bone; bones that are the same have the same key.
    """

    old_keys: tuple[str, ...] = ()
    new_keys: tuple[str, ...] = ()
    changes: tuple[Change, ...] = field(default=())


def match_bones(old: BundleView, new: BundleView) -> BoneMatch:
    """Match the two tables of bone names, with the statistics as evidence."""
    names = [json_to_names(view.meta.get("bone_names")) for view in (old, new)]
    first, second = names
    if first is None or second is None:
        raw = [view.meta.get("bone_names") for view in (old, new)]
        return BoneMatch(changes=tuple(_names_appeared(first, second, differ=raw[0] != raw[1])))
    if len(set(first)) < len(first) or len(set(second)) < len(second):
        return _by_place(first, second)
    evidence = _Evidence(bone_rows(old), bone_rows(new))
    renamed = _renamed(first, second, evidence)
    keys = tuple(renamed.get(name, name) for name in first)
    if _is_relabelled(keys, second, evidence):
        places = tuple(f"#{place}" for place in range(len(second)))
        message = f"names moved, numbers stayed: {_first_moved(keys, second)}"
        moved = change("bones-relabelled", _NAMES, list(first), list(second), message)
        return BoneMatch(places, places, (moved,))
    return BoneMatch(keys, second, tuple(_table_changes(first, keys, second)))


@dataclass(frozen=True, eq=False)
class _Evidence:
    """Mean and deviation of each bone's rotation in both bundles, (B, 2, 6); None where they cannot be read."""

    old: FloatArray | None
    new: FloatArray | None

    def same(self, i: int, j: int, *, unknown: bool) -> bool:
        """Whether old bone i and new bone j have the numbers of one bone; `unknown` where the files do not show it."""
        if self.old is None or self.new is None or i >= len(self.old) or j >= len(self.new):
            return unknown
        return rows_agree(self.old[i], self.new[j])


def bone_rows(view: BundleView) -> FloatArray | None:
    """Mean and std of every bone's rotation output, (B, 2, 6)."""
    rows = [view.statistic(key, view.output) for key in ("MuY", "StdY")]
    if view.output is None or ROTATIONS not in view.output or any(row is None for row in rows):
        return None
    place = view.output[ROTATIONS]
    if place.size % 6 or not 0 <= place.start <= place.stop <= view.output.width:
        return None
    mean, std = (row.values[place.range].reshape(-1, 6) for row in rows if row is not None)
    return np.stack([mean, std], axis=1)


def rows_agree(a: FloatArray, b: FloatArray) -> bool:
    """Whether two (2, 6) rows of mean and std are one bone's."""
    deviation = np.maximum(np.minimum(np.abs(a[1]), np.abs(b[1])), STD_FLOOR)
    widest = np.maximum(np.maximum(np.abs(a[1]), np.abs(b[1])), STD_FLOOR)
    with np.errstate(invalid="ignore"):
        near = np.abs(a[0] - b[0]) <= _SAME_SHIFT_SIGMA * deviation
        return bool(near.all() and (widest <= _SAME_RATIO * deviation).all())


def _names_appeared(first: Sequence[str] | None, second: Sequence[str] | None, *, differ: bool) -> Iterator[Change]:
    if first is None and second is not None:
        yield change("bone-names-added", _NAMES, None, list(second), f"{len(second)} bones are named")
    elif first is not None:
        yield change("bone-names-removed", _NAMES, list(first), None, f"{len(first)} bones lose their names")
    elif differ:
        yield change("bone-names-unreadable", _NAMES, None, None, "neither version's bone names are a list of strings")


def _by_place(first: Sequence[str], second: Sequence[str]) -> BoneMatch:
    """Tables with repeated names can only be compared place by place."""
    keys = [tuple(f"#{place}" for place in range(len(names))) for names in (first, second)]
    found = []
    if tuple(first) != tuple(second):
        message = f"tables with repeated names differ: {_first_moved(first, second)}"
        found = [change("bones-reordered", _NAMES, list(first), list(second), message)]
    return BoneMatch(keys[0], keys[1], tuple(found))


def _renamed(first: Sequence[str], second: Sequence[str], evidence: _Evidence) -> dict[str, str]:
    """Old names that became new ones: by their place if the tables have one length, else by their numbers."""
    gone = [place for place, name in enumerate(first) if name not in second]
    come = [place for place, name in enumerate(second) if name not in first]
    same_length = len(first) == len(second)
    pairs: dict[int, int] = {}
    for i in gone:
        at_place = [i] if same_length and i in come and evidence.same(i, i, unknown=True) else []
        elsewhere = [j for j in come if evidence.same(i, j, unknown=False)]
        free = [j for j in at_place + elsewhere if j not in pairs.values()]
        if free:
            pairs[i] = free[0]
    return {first[i]: second[j] for i, j in pairs.items()}


def _is_relabelled(keys: Sequence[str], second: Sequence[str], evidence: _Evidence) -> bool:
    """Whether a permuted table kept its numbers in place; only bones whose two places have different numbers count."""
    if sorted(keys) != sorted(second) or tuple(keys) == tuple(second):
        return False
    place = {name: index for index, name in enumerate(second)}
    moved = [(i, place[name]) for i, name in enumerate(keys) if place[name] != i]
    stayed = sum(evidence.same(i, i, unknown=False) for i, _ in moved)
    followed = sum(evidence.same(i, j, unknown=False) for i, j in moved)
    return stayed > followed


def _table_changes(first: Sequence[str], keys: Sequence[str], second: Sequence[str]) -> Iterator[Change]:
    for place, (name, key) in enumerate(zip(first, keys, strict=True)):
        if key not in second:
            yield change("bone-removed", json_pointer("meta", "bone_names", place), name, None, f"{name} is gone")
        elif key != name:
            pointer = json_pointer("meta", "bone_names", list(second).index(key))
            yield change("bone-renamed", pointer, name, key, f"{name} is called {key}")
    for place, name in enumerate(second):
        if name not in keys:
            yield change("bone-added", json_pointer("meta", "bone_names", place), None, name, f"{name} is new")
    kept = [key for key in keys if key in second]
    common = [name for name in second if name in keys]
    if kept != common:
        named = [name for name, key in zip(first, keys, strict=True) if key in second]
        message = f"the common bones stand in another order: {_first_moved(kept, common)}"
        yield change("bones-reordered", _NAMES, named, common, message)


def _first_moved(first: Sequence[str], second: Sequence[str]) -> str:
    moved = [f"{a} → {b} at {place}" for place, (a, b) in enumerate(zip(first, second, strict=False)) if a != b]
    return listed(moved, shown=2) or f"{len(first)} and {len(second)} bones"


# --- the skeleton ---


def compare_skeletons(old: BundleView, new: BundleView, match: BoneMatch) -> Iterator[Change]:
    """Yield what changed in the skeleton beyond the table of names."""
    first, second = (view.meta.get("skeleton") for view in (old, new))
    if not isinstance(first, Mapping) or not isinstance(second, Mapping):
        if isinstance(second, Mapping):
            yield change("skeleton-added", _SKELETON, None, sorted(second), "a skeleton is described")
        elif isinstance(first, Mapping):
            yield change("skeleton-removed", _SKELETON, sorted(first), None, "no skeleton is described any more")
        return
    own = [table.get("bone_names") for table in (first, second)]
    follows = [names == view.meta.get("bone_names") for names, view in zip(own, (old, new), strict=True)]
    if own[0] != own[1] and not all(follows):  # they are not simply the bundle's
        said = "the skeleton lists other bones, or in another order"
        yield change("skeleton-bones-changed", f"{_SKELETON}/bone_names", own[0], own[1], said)
    roots = first.get("root_bone"), second.get("root_bone")
    if roots[0] != roots[1]:
        yield change(
            "root-bone-renamed", f"{_SKELETON}/root_bone", *roots, f"the root is {roots[1]!r}, was {roots[0]!r}"
        )
    yield from _compare_parents(first, second, match)
    yield from _compare_offsets(first, second, match)


def _compare_parents(first: Mapping[str, Any], second: Mapping[str, Any], match: BoneMatch) -> Iterator[Change]:
    raw, place = (first.get("parents"), second.get("parents")), f"{_SKELETON}/parents"
    old, new = _parents(raw[0], match.old_keys), _parents(raw[1], match.new_keys)
    moved = sorted(bone for bone in old.keys() & new.keys() if old[bone] != new[bone])
    if moved:
        said = listed([f"{bone} from {old[bone]} to {new[bone]}" for bone in moved], shown=3)
        first_of, second_of = ({bone: side[bone] for bone in moved} for side in (old, new))
        yield change("bone-reparented", place, first_of, second_of, f"other parents: {said}")
    elif raw[0] != raw[1] and not (old and new):
        said = "the table of parents differs and cannot be read bone by bone"
        yield change("bone-reparented", place, *raw, said)


def _parents(table: Any, keys: Sequence[str]) -> dict[str, str]:
    if not isinstance(table, list) or not all(type(parent) is int for parent in table):
        return {}
    names = list(keys) or [f"#{place}" for place in range(len(table))]
    if len(names) != len(table):
        return {}
    pairs = zip(names, table, strict=True)
    return {name: names[parent] if 0 <= parent < len(names) else str(parent) for name, parent in pairs}


def _compare_offsets(first: Mapping[str, Any], second: Mapping[str, Any], match: BoneMatch) -> Iterator[Change]:
    raw, place = [table.get("ref_local_offsets_m") for table in (first, second)], f"{_SKELETON}/ref_local_offsets_m"
    a, b = (_offsets(rows, len(keys)) for rows, keys in zip(raw, (match.old_keys, match.new_keys), strict=True))
    if a is None or b is None:
        if raw[0] != raw[1]:
            said = "offsets are missing or cannot be read in one version"
            yield change("skeleton-offsets-moved", place, None, None, said)
        return
    pairs = [*_paired(match, min(len(a), len(b)))]
    if not pairs:
        return
    old, new = a[[i for i, _ in pairs]], b[[j for _, j in pairs]]
    names = [match.new_keys[j] if match.new_keys else f"#{j}" for _, j in pairs]

    def say(found: Worst) -> tuple[str, str]:
        said = f"{found.count} offsets differ, {names[found.place]} most: by {found.amount:.3g} cm"
        return f"{place}/{pairs[found.place][1]}", said

    with np.errstate(over="ignore", invalid="ignore"):
        distance_cm = 100 * np.linalg.norm(new - old, axis=1)
    yield from number_changes(old, new, distance_cm, lambda _group: _OFFSETS, say)


def _offsets(rows: Any, count: int) -> FloatArray | None:
    """Three numbers for each bone; any number of bones is right where no bone has a name."""
    found = json_to_array(rows)
    fits = found is not None and found.ndim == 2 and found.shape[1] == 3 and len(found) == (count or len(found))
    return found if fits else None


def _paired(match: BoneMatch, count: int) -> Iterator[tuple[int, int]]:
    """Places of the same bone in both tables; the same place where one side has no names."""
    if not match.old_keys or not match.new_keys:
        yield from zip(range(count), range(count), strict=True)
    where = {key: place for place, key in enumerate(match.new_keys)}
    yield from ((i, where[key]) for i, key in enumerate(match.old_keys) if key in where)


VECTORS = (("state_layout", "input_dim", "state"), ("output_layout", "output_dim", "output"))
"""Keys of a layout and of its width, and what its vector is called."""
STATE, OUTPUT, HISTORY = "state", "output", "history"


@dataclass(frozen=True)
class BundleArray:
    """One array of a bundle: whose channels it has, which array holds its deviations, the floor that readers apply.

    of: the state, the output, the history, or one slice of the state. family: the arrays that are in the bundle or in a companion
    beside it.
    """

    key: str
    of: str
    kind: str
    deviation: str = ""
    floor: float = 0.0
    family: str = ""


_HISTORY, _ANGVEL = "history-statistics", "angvel-statistics"
ARRAYS = (
    BundleArray("MuX", STATE, "input-mean", "StdX"),
    BundleArray("StdX", STATE, "input-std", floor=STD_FLOOR),
    BundleArray("MuY", OUTPUT, "output-mean", "StdY"),
    BundleArray("StdY", OUTPUT, "output-std"),
    BundleArray("tanh_scales_rootvel", ROOT_VELOCITY, "squash-scale", floor=TANH_SCALE_FLOOR),
    BundleArray("tanh_scales_angvel", ANGULAR_VELOCITIES, "squash-scale", floor=TANH_SCALE_FLOOR),
    BundleArray("tanh_scales_pose_hist", HISTORY, "squash-scale", floor=STD_FLOOR, family=_HISTORY),
    BundleArray("MuPoseHist", HISTORY, "input-mean", "StdPoseHist", family=_HISTORY),
    BundleArray("StdPoseHist", HISTORY, "input-std", floor=STD_FLOOR, family=_HISTORY),
    BundleArray("MuAngVel", ANGULAR_VELOCITIES, "training-statistics", "StdAngVel", family=_ANGVEL),
    BundleArray("StdAngVel", ANGULAR_VELOCITIES, "training-statistics", floor=STD_FLOOR, family=_ANGVEL),
)
"""Every array of numbers in a bundle."""
COMPANION = ("tanh_scales_angvel", "MuAngVel", "StdAngVel", "tanh_scales_pose_hist", "MuPoseHist", "StdPoseHist")
"""Those that a companion may hold."""
COMPARED_AS_PARTS: frozenset[tuple[Token, ...]] = frozenset(
    [(array.key,) for array in ARRAYS]
    + [("input_dim",), ("output_dim",), ("meta", "state_layout"), ("meta", "output_layout"), ("meta", "bone_names")]
    + [("meta", "skeleton", key) for key in ("bone_names", "root_bone", "parents", "ref_local_offsets_m")]
)
"""Places without a declaration: vectors, numbers, bones."""


def _word(value: Any) -> Any:
    """A value as its readers hold it: words without case, numbers in float32."""
    if isinstance(value, list):
        return [_word(each) for each in value]
    if isinstance(value, float):
        with np.errstate(over="ignore"):
            return float(np.float32(value))
    return value.strip().lower() if isinstance(value, str) else value


@dataclass(frozen=True)
class DeclaredChange:
    """A place (a path, or the beginning of one), the kind of its change, the value that readers assume where it is absent."""

    path: tuple[Token, ...]
    kind: str
    default: Any = UNDECLARED
    meaning: Callable[[Any], Any] = _word


_READS: Mapping[str, Callable[[Any], Any]] = {
    "word": _word,
    "unit": lambda value: "meters" if _word(value) in spellings("m") else _word(value),
    "exact": lambda value: value,  # letter by letter
    "columns": columns_word,
    "size": lambda value: 7 if value is None else value,
}
_TABLE = tomllib.loads(files(__package__).joinpath("bundle_declarations.toml").read_text(encoding="utf-8"))
_ROWS = _TABLE["declarations"] | {place: {"kind": "bookkeeping-changed"} for place in _TABLE["bookkeeping"]}
DECLARATIONS: Mapping[tuple[Token, ...], DeclaredChange] = {
    path: DeclaredChange(path, row["kind"], row.get("default", UNDECLARED), _READS[row.get("reads", "word")])
    for path, row in ((tuple(place.split(".")), row) for place, row in _ROWS.items())
}
"""What each declaration means, by its path; bundle_declarations.toml has them."""
LENGTH = ("pose_hist_len",)
"""Undeclared, it follows from the history's own statistics, if they are in the same file."""
