"""Skeletons of two bundles: the root's name, each bone's parent, each bone's offset."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from rigpact.contract.compatibility.bones import BoneMatch
from rigpact.contract.compatibility.change import Change, change
from rigpact.contract.json_pointer import json_pointer
from rigpact.contract.rules.bundle.view import BundleView, json_to_array, member
from rigpact.contract.rules.wording import listed
from rigpact.contract.statistics import FloatArray


def compare_skeletons(old: BundleView, new: BundleView, match: BoneMatch) -> Iterator[Change]:
    """Yield what changed in the skeleton beyond the table of names."""
    first, second = (view.meta.get("skeleton") for view in (old, new))
    if not isinstance(first, Mapping) or not isinstance(second, Mapping):
        if isinstance(second, Mapping):
            yield change("skeleton-added", "/meta/skeleton", None, sorted(second), "a skeleton is described")
        elif isinstance(first, Mapping):
            yield change("skeleton-removed", "/meta/skeleton", sorted(first), None, "no skeleton is described any more")
        return
    yield from _compare_tables(old, new)
    yield from _compare_root(first, second)
    yield from _compare_parents(first, second, match)
    yield from _compare_offsets(first, second, match)


def _compare_tables(old: BundleView, new: BundleView) -> Iterator[Change]:
    """The skeleton's own names, where they are not simply the bundle's."""
    own = [member(view.meta, "skeleton", "bone_names") for view in (old, new)]
    follows = [names == view.meta.get("bone_names") for names, view in zip(own, (old, new), strict=True)]
    if own[0] != own[1] and not all(follows):
        message = "the skeleton lists other bones, or in another order"
        yield change("skeleton-bones-changed", "/meta/skeleton/bone_names", own[0], own[1], message)


def _compare_root(first: Mapping[str, Any], second: Mapping[str, Any]) -> Iterator[Change]:
    old, new = first.get("root_bone"), second.get("root_bone")
    if old != new:
        yield change("root-bone-renamed", "/meta/skeleton/root_bone", old, new, f"the root is {new!r}, was {old!r}")


def _compare_parents(first: Mapping[str, Any], second: Mapping[str, Any], match: BoneMatch) -> Iterator[Change]:
    tables = [
        _parents(table.get("parents"), keys) for table, keys in ((first, match.old_keys), (second, match.new_keys))
    ]
    moved = {bone: (tables[0][bone], tables[1][bone]) for bone in tables[0].keys() & tables[1].keys()}
    moved = {bone: pair for bone, pair in moved.items() if pair[0] != pair[1]}
    if moved:
        said = listed([f"{bone} from {pair[0]} to {pair[1]}" for bone, pair in sorted(moved.items())], shown=3)
        old, new = ({bone: pair[side] for bone, pair in sorted(moved.items())} for side in (0, 1))
        yield change("bone-reparented", "/meta/skeleton/parents", old, new, f"other parents: {said}")
    elif first.get("parents") != second.get("parents") and not (tables[0] and tables[1]):
        yield change(
            "bone-reparented", "/meta/skeleton/parents", first.get("parents"), second.get("parents"),
            "the table of parents differs and cannot be read bone by bone",
        )  # fmt: skip


def _parents(table: Any, keys: Sequence[str]) -> dict[str, str]:
    if not isinstance(table, list) or not all(type(parent) is int for parent in table):
        return {}
    names = list(keys) or [f"#{place}" for place in range(len(table))]
    if len(names) != len(table):
        return {}
    pairs = zip(names, table, strict=True)
    return {name: names[parent] if 0 <= parent < len(names) else str(parent) for name, parent in pairs}


def _compare_offsets(first: Mapping[str, Any], second: Mapping[str, Any], match: BoneMatch) -> Iterator[Change]:
    raw = [table.get("ref_local_offsets_m") for table in (first, second)]
    offsets = [json_to_array(rows) for rows in raw]
    pointer = "/meta/skeleton/ref_local_offsets_m"
    counts = [len(match.old_keys), len(match.new_keys)]
    if any(not _is_offsets(rows, count) for rows, count in zip(offsets, counts, strict=True)):
        if raw[0] != raw[1]:
            yield change(
                "skeleton-offsets-moved", pointer, None, None, "offsets are missing or cannot be read in one version"
            )
        return
    pairs = _paired(match, *(len(rows) for rows in offsets if rows is not None))
    if not pairs:
        return
    a, b = (
        np.array([rows[pair[side]] for pair in pairs]).reshape(-1, 3)
        for side, rows in enumerate(offsets)
        if rows is not None
    )
    yield from _moved_offsets(
        a, b, [match.new_keys[j] if j < len(match.new_keys) else f"#{j}" for _, j in pairs], pairs
    )


def _is_offsets(rows: FloatArray | None, count: int) -> bool:
    """Whether an array holds three numbers for each bone; any number of bones is right where no bone has a name."""
    return rows is not None and rows.ndim == 2 and rows.shape[1] == 3 and len(rows) == (count or len(rows))


def _paired(match: BoneMatch, old_count: int, new_count: int) -> list[tuple[int, int]]:
    """Places of the same bone in both tables."""
    if not match.old_keys or not match.new_keys:
        return [(place, place) for place in range(min(old_count, new_count))]
    where = {key: place for place, key in enumerate(match.new_keys)}
    pairs = [(i, where[key]) for i, key in enumerate(match.old_keys) if key in where]
    return [(i, j) for i, j in pairs if i < old_count and j < new_count]


def _moved_offsets(a: FloatArray, b: FloatArray, names: list[str], pairs: list[tuple[int, int]]) -> Iterator[Change]:
    differs = (a != b) & ~(np.isnan(a) & np.isnan(b))
    if not differs.any():
        return
    with np.errstate(over="ignore", invalid="ignore"):
        step = np.spacing(np.maximum(np.abs(a), np.abs(b)).astype(np.float32)).astype(np.float64)
        distance_cm = 100 * np.linalg.norm(b - a, axis=1)
        rounded = bool((np.abs(b - a) <= step).all())
    worst = int(np.nanargmax(np.where(np.isnan(distance_cm), np.inf, distance_cm)))
    pointer = json_pointer("meta", "skeleton", "ref_local_offsets_m", pairs[worst][1])
    message = f"{int(differs.any(axis=1).sum())} offsets differ, {names[worst]} most: by {distance_cm[worst]:.3g} cm"
    kind = "skeleton-offsets-rounded" if rounded else "skeleton-offsets-moved"
    yield change(kind, pointer, a[worst].tolist(), b[worst].tolist(), message)
