"""Slices of two bundles: added, removed, moved, resized, renamed, or only written down otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from rigpact.contract.compatibility.change import Change, change
from rigpact.contract.compatibility.places import compare_parts, renamed_parts
from rigpact.contract.json_pointer import json_pointer
from rigpact.contract.layout import Layout, entry_to_slice, json_to_layout
from rigpact.contract.rules.bundle.view import BundleView

_SIDES = (("state_layout", "input_dim", "state"), ("output_layout", "output_dim", "output"))


def compare_layouts(old: BundleView, new: BundleView) -> Iterator[Change]:
    """Yield what changed in both layouts and in the widths of the two vectors."""
    for key, width_key, title in _SIDES:
        first, second = (_layout(view, key, width_key) for view in (old, new))
        found = [
            *compare_parts("slice", partial(json_pointer, "meta", key), first, second),
            *_compare_forms(old, new, key),
        ]
        yield from found
        yield from _compare_widths(old, new, width_key, title, (first, second))
        if not found and old.meta.get(key) != new.meta.get(key):
            message = f"meta.{key} is written otherwise; the engine reads the same slices"
            yield change("layout-written-differently", json_pointer("meta", key), None, None, message)


def slice_renames(old: BundleView, new: BundleView) -> Mapping[str, str]:
    """State and output slices that only changed their name, old to new."""
    renames: dict[str, str] = {}
    for key, width_key, _ in _SIDES:
        renames |= renamed_parts(*(_layout(view, key, width_key) for view in (old, new)))
    return renames


def _layout(view: BundleView, key: str, width_key: str) -> Layout:
    return json_to_layout(view.meta.get(key), view.root.get(width_key))


def _compare_forms(old: BundleView, new: BundleView, key: str) -> Iterator[Change]:
    """Entries that the engine reads alike and the training side does not."""
    for name in sorted(_entries(old, key).keys() & _entries(new, key).keys()):
        first, second = _entries(old, key)[name], _entries(new, key)[name]
        engine = [entry_to_slice(name, entry) for entry in (first, second)]
        if first != second and engine[0] == engine[1] and _training_size(first) != _training_size(second):
            message = f"{name} is read alike by the engine; training reads {_training_size(second)} numbers instead of"
            message += f" {_training_size(first)}"
            yield change("layout-ambiguous", json_pointer("meta", key, name), first, second, message)


def _entries(view: BundleView, key: str) -> Mapping[str, Any]:
    entries = view.meta.get(key)
    return entries if isinstance(entries, Mapping) else {}


def _training_size(entry: Any) -> Any:
    """The size that the training loader reads: the second number of an array is one to it."""
    return entry[1] if isinstance(entry, list) and len(entry) == 2 else member_size(entry)


def member_size(entry: Any) -> Any:
    """The declared size of an object entry, None where there is none."""
    return entry.get("size") if isinstance(entry, Mapping) else None


def _compare_widths(
    old: BundleView, new: BundleView, key: str, title: str, layouts: tuple[Layout, Layout]
) -> Iterator[Change]:
    first, second = layouts
    if first.width != second.width:
        message = f"the {title} is {second.width} wide, was {first.width}"
        yield change("vector-width-changed", json_pointer(key), first.width, second.width, message)
    elif old.root.get(key) != new.root.get(key):
        kind = _declaration_kind(old.root.get(key), new.root.get(key))
        yield change(kind, json_pointer(key), old.root.get(key), new.root.get(key), f"the {title} is as wide as before")


def _declaration_kind(first: Any, second: Any) -> str:
    if first is None or second is None:
        return "declaration-added" if first is None else "declaration-removed"
    return "spelled-differently"
